//! Every file and folder name the program makes, in one place.

use crate::domain::id::{JobId, Nonce, WorkerId};

/// The standard name of a result.
pub const GENERATED_GLB: &str = "generated.glb";

/// The file beside a result that tells how it was made.
pub const METADATA_JSON: &str = "metadata.json";

/// What a `metadata.json` that an adapter wrote itself is called then.
pub const ADAPTER_METADATA_JSON: &str = "adapter_metadata.json";

/// The folder inside `outputs/` in which attempts work.
pub const STAGING: &str = ".staging";

/// The folder inside `outputs/` for results that arrived too late.
pub const LATE: &str = ".late";

/// The folder inside `outputs/` for results that a redo replaced.
pub const PREVIOUS: &str = ".previous";

/// How many previews a result can have.
pub const MAX_PREVIEWS: usize = 3;

/// Returns the standard name of preview `number` (from 1).
pub fn preview_png(number: usize) -> String {
    format!("preview_{number}.png")
}

/// The endings of the files in `state/` that belong to one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateFile {
    /// The lease.
    InProgress,
    /// The terminal of a result.
    Completed,
    /// The terminal of a failure.
    Failed,
    /// A lease given back.
    Released,
    /// A job taken out.
    Cancelled,
    /// A request to stop a running job.
    Cancel,
    /// The lock of the job's state changes.
    Lock,
    /// The full error text.
    ErrorText,
}

impl StateFile {
    const ALL: [Self; 8] = [
        Self::InProgress,
        Self::Completed,
        Self::Failed,
        Self::Released,
        Self::Cancelled,
        Self::Cancel,
        Self::Lock,
        Self::ErrorText,
    ];

    /// Those that tell a job's state.
    pub const MARKERS: [Self; 5] = [
        Self::InProgress,
        Self::Completed,
        Self::Failed,
        Self::Released,
        Self::Cancelled,
    ];

    /// Returns the ending, with its dot.
    pub fn ending(self) -> &'static str {
        match self {
            Self::InProgress => ".inprogress",
            Self::Completed => ".completed",
            Self::Failed => ".failed",
            Self::Released => ".released",
            Self::Cancelled => ".cancelled",
            Self::Cancel => ".cancel",
            Self::Lock => ".lock",
            Self::ErrorText => ".error.txt",
        }
    }

    /// Returns the name of this file for `job`.
    pub fn name(self, job: &JobId) -> String {
        [job.as_str(), self.ending()].concat()
    }

    /// Splits a file name of `state/` into the job's id and the kind of file.
    pub fn split(name: &str) -> Option<(&str, Self)> {
        Self::ALL
            .into_iter()
            .find_map(|kind| Some((name.strip_suffix(kind.ending())?, kind)))
            .filter(|(job, _)| !job.is_empty())
    }
}

/// Returns the name of one attempt's private folder in `outputs/.staging/`.
pub fn staging_dir(job: &JobId, attempt: u32, nonce: &Nonce) -> String {
    format!("{job}.{attempt}-{nonce}")
}

/// Returns the name under which an older result of a job is kept.
pub fn kept_dir(job: &JobId, attempt: u32, nonce: &Nonce) -> String {
    let short: String = nonce.as_str().chars().take(8).collect();
    format!("{job}.{attempt}-{short}")
}

/// Returns the name of a worker's journal in `state/journal/`.
pub fn journal_file(worker: &WorkerId) -> String {
    format!("{worker}.jsonl")
}

/// What the folder of a spool begins with whose worker's name no file system takes as it is.
const SPELT: char = '=';

/// Returns the name of the folder in which a worker keeps what it could not send. Names that a folder can have stay as they
/// are, also those that earlier versions gave.
pub fn spool_dir(worker: &str) -> String {
    let is_plain = |c: char| !c.is_control() && !r#"/\:*?"<>|"#.contains(c);
    let taken = worker.starts_with([SPELT, '.']) || worker.starts_with("spools.");
    if worker.chars().all(is_plain) && !taken {
        return worker.to_owned();
    }
    let mut name = String::from(SPELT);
    for c in worker.chars() {
        if is_plain(c) && !"%.".contains(c) {
            name.push(c);
        } else {
            let bytes = c.to_string().into_bytes();
            name.extend(bytes.iter().map(|byte| format!("%{byte:02X}")));
        }
    }
    name
}

/// Returns whose folder this is.
pub fn worker_of_spool(folder: &str) -> String {
    let Some(spelt) = folder.strip_prefix(SPELT) else {
        return folder.to_owned();
    };
    let mut pieces = spelt.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let byte = piece.get(..2);
        match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(&piece.as_bytes()[2..]);
            }
            // Not of our making.
            None => return folder.to_owned(),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| folder.to_owned())
}

/// Returns the long GLB name that existing workspaces use.
pub fn long_glb_name(product_id: &str, variant: &str, algo: &str, job: &JobId) -> String {
    let ending = long_glb_ending(job);
    format!("{product_id}_{}_{algo}{ending}", variant_slug(variant))
}

/// Returns how the long GLB name of a job ends, whatever its product is.
pub fn long_glb_ending(job: &JobId) -> String {
    let short: String = job.as_str().chars().take(8).collect();
    format!("_{short}.glb")
}

/// Returns a variant as it stands in long GLB names.
pub fn variant_slug(variant: &str) -> String {
    let mut slug = String::new();
    for c in variant.trim().to_lowercase().chars() {
        let c = if c.is_whitespace() { '-' } else { c };
        let kept = c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if kept && !(c == '-' && slug.ends_with('-')) {
            slug.push(c);
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() {
        "default".to_owned()
    } else {
        slug.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_worker_is_read_from_its_folder() {
        for name in [
            "w1",
            "rack1/node3",
            "../../escaped",
            "..",
            ".",
            "=w",
            "100%",
            "a:b\\c",
            "Gerät 7",
            "spools.name",
        ] {
            let folder = spool_dir(name);
            assert!(
                !folder.contains(['/', '\\']) && !folder.starts_with('.'),
                "{folder}"
            );
            assert_eq!(worker_of_spool(&folder), name);
        }
        assert_eq!(spool_dir("host-7-abcd"), "host-7-abcd");
        assert_eq!(worker_of_spool("=old%zz"), "=old%zz");
    }

    #[test]
    fn variant_slugs_agree_with_existing_files() {
        for (variant, slug) in [
            ("default", "default"),
            ("Curved backrest", "curved-backrest"),
            ("Già \"speciale\", blu", "gi-speciale-blu"),
            ("", "default"),
            (" -- ", "default"),
        ] {
            assert_eq!(variant_slug(variant), slug, "{variant:?}");
        }
    }

    #[test]
    fn the_long_name_agrees_with_existing_files() {
        let job = JobId::parse("0d1823602e03").expect("valid");
        assert_eq!(
            long_glb_name("100003", "Curved backrest", "trellis_single", &job),
            "100003_curved-backrest_trellis_single_0d182360.glb"
        );
    }

    #[test]
    fn state_files_are_split_back_into_job_and_kind() {
        assert_eq!(
            StateFile::split("a.b.completed"),
            Some(("a.b", StateFile::Completed))
        );
        assert_eq!(
            StateFile::split("x.error.txt"),
            Some(("x", StateFile::ErrorText))
        );
        assert_eq!(StateFile::split(".completed"), None);
        assert_eq!(StateFile::split("journal"), None);
    }
}
