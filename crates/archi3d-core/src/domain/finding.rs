//! What a check-up can find: a code that stays the same, how bad it is, why it
//! matters.
//!
//! `ops::doctor` looks and makes findings of what it sees; `cli::doctor` shows
//! them. Whether a workspace is healthy is decided here.

use serde::Serialize;

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Wrong, and can be set right without loss.
    Warning,
    /// Work cannot go on, or something is in danger.
    Error,
}

impl Severity {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

macro_rules! codes {
    ($($name:ident $word:literal $severity:ident $why:literal,)*) => {
        /// What was found. The words never change their meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum Code {
            $(#[doc = $why] #[serde(rename = $word)] $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the word for it, for people and for scripts.
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// Returns how bad it is, as a rule.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// Returns why it matters.
            pub fn why(self) -> &'static str {
                match self { $(Self::$name => $why,)* }
            }
        }
    };
}

codes! {
    LocksDoNotExclude "locks_do_not_exclude" Error
        "two workers could write the same file at once and lose what one of them wrote",
    LocksUntested "locks_untested" Note
        "whether locks work here shows when a worker has run once",
    NoLockMount "mounted_without_locks" Error
        "locks do not reach other machines, so two of them could run the same job",
    SyncedFolder "synced_folder" Warning
        "a sync program copies files between machines without regard to locks",
    NetworkFolder "network_folder" Note
        "holders on other machines count as dead only after --stale-secs of silence",
    ReadOnly "read_only" Error
        "nothing can be recorded",
    LowSpace "low_space" Warning
        "a full disk stops the worker; what is finished stays safe",
    LowInodes "low_inodes" Warning
        "without room for new files no job can start",
    ClockSkew "clock_skew" Warning
        "times in the table are wrong, and other tools take a fresh job for a stale one",
    WorldWritable "world_writable" Warning
        "every user of this machine can forge or remove records",
    Unreadable "unreadable" Error
        "what cannot be read cannot be checked or worked on",
    LinkOutside "link_outside" Error
        "records must stay inside the workspace; such a link is not followed",
    ConfigError "config_error" Error
        "no command that needs the configuration can run",
    AdapterNotRunnable "adapter_not_runnable" Warning
        "its waiting jobs would be skipped",
    ProviderClosed "provider_closed" Warning
        "jobs of this provider wait until it is opened",
    TableMissing "table_missing" Error
        "nothing can run without the registry",
    TableUnreadable "table_unreadable" Error
        "nothing can run until the registry can be read",
    TableOpen "table_open" Note
        "saving it there writes over what was recorded since it was opened",
    NotUtf8 "not_utf8" Warning
        "tools that expect UTF-8 refuse the table or show other letters",
    LedgerBehind "ledger_behind" Warning
        "a spending limit would allow again what is spent already",
    LedgerUnreadable "ledger_unreadable" Warning
        "what cannot be read of the money is in no sum",
    LostOrder "lost_order" Warning
        "its cost is unknown, so tokens with a daily cap order nothing",
    ConflictCopy "conflict_copy" Warning
        "the copy has changes that the table lacks",
    StaleCopy "copy_of_table" Note
        "it says nothing that the table does not say; a program or a person left it",
    CopyBeside "copy_of_file" Note
        "a program or a person left it; what only the copy says is not read",
    DuplicateKey "duplicate_key" Warning
        "two rows speak of one job, and tools disagree about which one counts",
    UnsafeCell "unsafe_cell" Warning
        "a spreadsheet may run it, or a terminal obey it",
    FormulaLike "formula_like_cell" Note
        "a spreadsheet may take it for a formula",
    ManifestUnreadable "manifest_unreadable" Error
        "the run cannot be worked on",
    RunWithoutFolder "run_without_folder" Warning
        "the rows' results and records are not in this workspace",
    RunWithoutRows "run_without_rows" Warning
        "the run has records but no row shows them",
    JobWithoutRow "job_without_row" Warning
        "the job is in the manifest but does not run without a row",
    AlteredId "altered_id" Warning
        "a spreadsheet took the job's id for a number or a word of its own; the job does not run",
    MixedUpRow "mixed_up_row" Warning
        "the row has the id of one job and the product of another; the job does not run",
    RowNotInManifest "row_not_in_manifest" Note
        "a job that the manifest does not list and that no marker knows is never started",
    Unrecorded "rows_not_recorded" Note
        "if the table were lost, some of what these rows say could not be made again",
    RowBehind "row_behind" Warning
        "the table does not show what happened",
    Unmarked "completed_without_marker" Note
        "the table alone says so; workers take it as completed",
    Unpublished "unpublished_result" Warning
        "a finished result is safe in a journal and not published yet",
    KeptResult "kept_result" Warning
        "a model that was made, and perhaps paid for, is not its job's result",
    LateResult "late_result" Note
        "an attempt left files beside the result that counts; they are kept",
    UnknownStatus "unknown_status" Warning
        "no command knows what it means: the job is skipped and in no count",
    RunningUnheld "running_without_holder" Warning
        "the job does not progress, and a worker that resumes it makes and pays for it again",
    DeadLease "dead_lease" Warning
        "the job does not progress: its worker died",
    DeadWorker "dead_worker" Note
        "a worker ended without closing its journal; the next one closes it",
    OrphanStaging "orphan_staging" Warning
        "files of an abandoned attempt take up room",
    LeftoverFile "leftover_file" Warning
        "a writer died before its file had its name; it takes room and is never read",
    DamagedMarker "damaged_marker" Warning
        "a damaged marker is never counted as finished",
    DamagedJournal "damaged_journal" Warning
        "lines that cannot be read are left out of costs and recovery",
    ReplacedPicture "replaced_picture" Note
        "results made before show the old picture, jobs that wait are made from the new one",
    ResultMissing "result_missing" Warning
        "the table promises a model that is not there",
    ResultAltered "result_altered" Warning
        "the files are not those that the worker recorded",
}

/// Where something was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// A path, relative to the workspace where it is inside.
    pub path: String,
    /// A line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.path),
            None => f.write_str(&self.path),
        }
    }
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind of thing it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What exactly, in one sentence.
    pub what: String,
    /// Where; the first few places of many.
    pub places: Vec<Place>,
    /// Why it matters.
    pub why: &'static str,
    /// The command that sets it right, or what a person must do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// What `--fix` would change, one line each; empty if it changes nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// The run it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

/// How many places of one finding are told.
const MAX_PLACES: usize = 20;

impl Finding {
    /// Makes a finding that says `what`.
    pub fn new(code: Code, what: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            what: what.into(),
            places: Vec::new(),
            why: code.why(),
            fix: None,
            changes: Vec::new(),
            run_id: None,
        }
    }

    /// Adds where it is.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>, line: Option<usize>) -> Self {
        if self.places.len() < MAX_PLACES {
            let path = path.into();
            self.places.push(Place { path, line });
        }
        self
    }

    /// Adds what sets it right.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Adds what `--fix` would change.
    #[must_use]
    pub fn changes(mut self, changes: impl IntoIterator<Item = String>) -> Self {
        self.changes.extend(changes);
        self
    }

    /// Adds the run it is about.
    #[must_use]
    pub fn of_run(mut self, run_id: impl ToString) -> Self {
        self.run_id = Some(run_id.to_string());
        self
    }

    /// Makes it better or worse than the rule.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Tells whether `--fix` can set it right.
    pub fn is_repairable(&self) -> bool {
        !self.changes.is_empty()
    }
}

/// Tells whether nothing is wrong; notes do not count.
pub fn is_healthy(findings: &[Finding]) -> bool {
    findings
        .iter()
        .all(|finding| finding.severity == Severity::Note)
}

/// Returns `count` things with the first few names: `3 jobs (a, b, c)`.
pub fn such_as(count: usize, noun: &str, names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names.iter().take(SHOWN).map(String::as_str);
    let shown: Vec<&str> = shown.collect();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    let counted = crate::domain::text::counted(count, noun);
    if shown.is_empty() {
        return counted;
    }
    format!("{counted} ({}{more})", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_code_has_a_word_of_its_own_and_a_reason() {
        let words: HashSet<&str> = Code::ALL.iter().map(|code| code.word()).collect();
        assert_eq!(words.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!(!code.why().is_empty());
            assert_eq!(serde_json::json!(code), code.word());
        }
    }

    #[test]
    fn notes_do_not_make_a_workspace_unhealthy() {
        let note = Finding::new(Code::TableOpen, "open");
        assert!(is_healthy(std::slice::from_ref(&note)));
        assert!(!is_healthy(&[note, Finding::new(Code::DeadLease, "dead")]));
    }

    #[test]
    fn many_things_are_told_by_their_first_names() {
        let names: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        assert_eq!(such_as(4, "job", &names), "4 jobs (a, b, c, …)");
        assert_eq!(such_as(1, "job", &names[..1]), "1 job (a)");
        assert_eq!(such_as(2, "job", &[]), "2 jobs");
    }
}
