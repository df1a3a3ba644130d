//! How the program ends: exit codes, and errors with what to do next.
//!
//! Every error a command meets becomes a [`CliError`]; how it looks is decided
//! here, where it is printed is decided by `ui`.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::program;
use crate::cli::signal::Signal;
use archi3d_core::domain::filter::FilterError;
use archi3d_core::domain::id::IdError;
use archi3d_core::engine::event::{NO_MATCH, Summary};
use archi3d_core::ops::OpsError;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for is done.
    Done,
    /// Some jobs failed.
    JobsFailed,
    /// The request or the set-up is wrong.
    Request,
    /// The store or the disk failed.
    Store,
    /// The budget is used up.
    Budget,
    /// No job of the run is what the filters ask for.
    NoMatch,
    /// The program has a bug.
    Bug,
    /// A signal stopped it.
    Interrupted(Signal),
    /// The worker that this process guarded ended so.
    Worker(u8),
}

impl Exit {
    /// Returns the number the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::JobsFailed => 1,
            Self::Request => 2,
            Self::Store => 3,
            Self::Budget => 4,
            Self::NoMatch => 5,
            Self::Bug => 70,
            Self::Interrupted(signal) => signal.exit_code(),
            Self::Worker(code) => code,
        }
    }

    /// Tells how a worker's work ended. Trouble that keeps work from being
    /// recorded is told before the reasons to stop, and these before failures.
    pub fn of(summary: &Summary, signal: Option<Signal>) -> Self {
        let stopped_by = summary.stopped_by.as_deref();
        match (stopped_by, signal) {
            (Some("store"), _) => Self::Store,
            (_, Some(signal)) => Self::Interrupted(signal),
            (Some("interrupted"), None) => Self::Interrupted(Signal::Interrupt),
            (Some("budget"), None) => Self::Budget,
            (Some(NO_MATCH), None) => Self::NoMatch,
            _ if summary.failed + summary.blocked > 0 => Self::JobsFailed,
            _ if summary.without_row + summary.locked > 0 || summary.contradicted => {
                Self::JobsFailed
            }
            _ => Self::Done,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// What kind of trouble an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The arguments cannot be used.
    Usage,
    /// The workspace or its configuration cannot be used.
    Setup,
    /// The store or the disk failed.
    Store,
    /// The program has a bug.
    Internal,
}

/// An error on its way to the person.
#[derive(Debug)]
pub struct CliError {
    /// What kind of trouble it is.
    pub kind: ErrorKind,
    /// What happened, with its causes.
    pub source: anyhow::Error,
    /// What to do next, one sentence each.
    pub hints: Vec<String>,
}

impl CliError {
    /// Makes an error without hints.
    pub fn new(kind: ErrorKind, source: impl Into<anyhow::Error>) -> Self {
        Self {
            kind,
            source: source.into(),
            hints: Vec::new(),
        }
    }

    /// Makes an error about the arguments.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, anyhow::Error::msg(message.into()))
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns how the program ends because of it.
    pub fn exit(&self) -> Exit {
        match self.kind {
            ErrorKind::Usage | ErrorKind::Setup => Exit::Request,
            ErrorKind::Store => Exit::Store,
            ErrorKind::Internal => Exit::Bug,
        }
    }

    /// Returns the text a person reads, before it is cleaned for the terminal.
    pub fn render(&self) -> String {
        let mut text = format!("error: {}", self.source);
        for cause in self.causes() {
            let _ = write!(text, "\ncaused by: {cause}");
        }
        if !self.hints.is_empty() {
            text.push('\n');
        }
        for hint in &self.hints {
            let _ = write!(text, "\nhint: {hint}");
        }
        text
    }

    /// Returns the error as machines read it.
    pub fn told(&self) -> ToldError {
        ToldError {
            error: self.source.to_string(),
            caused_by: self.causes(),
            hints: self
                .hints
                .iter()
                .map(|hint| program::as_typed(hint))
                .collect(),
            exit_code: self.exit().code(),
        }
    }

    fn causes(&self) -> Vec<String> {
        self.source
            .chain()
            .skip(1)
            .map(ToString::to_string)
            .collect()
    }
}

impl From<OpsError> for CliError {
    fn from(error: OpsError) -> Self {
        let kind = if error.is_setup() {
            ErrorKind::Setup
        } else {
            ErrorKind::Store
        };
        let mut hints: Vec<String> = error.hint().map(str::to_owned).into_iter().collect();
        if kind == ErrorKind::Store && hints.is_empty() {
            hints.push(
                "what finished is kept; once the cause is fixed, the same command continues".into(),
            );
        }
        Self {
            kind,
            source: error.into(),
            hints,
        }
    }
}

impl From<IdError> for CliError {
    fn from(error: IdError) -> Self {
        Self::new(ErrorKind::Usage, error)
    }
}

impl From<FilterError> for CliError {
    fn from(error: FilterError) -> Self {
        Self::new(ErrorKind::Usage, error)
    }
}

/// An error as machines read it.
#[derive(Debug, Serialize)]
pub struct ToldError {
    error: String,
    caused_by: Vec<String>,
    hints: Vec<String>,
    exit_code: u8,
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use archi3d_core::domain::id::RunId;

    fn summary(failed: usize, stopped_by: Option<&str>) -> Summary {
        Summary {
            failed,
            stopped_by: stopped_by.map(str::to_owned),
            ..Summary::default()
        }
    }

    #[test]
    fn the_exit_code_tells_how_a_worker_ended() {
        let int = Some(Signal::Interrupt);
        for (failed, stopped_by, signal, code) in [
            (0, None, None, 0),
            (0, Some("limit"), None, 0),
            (2, None, None, 1),
            (1, Some("fail_fast"), None, 1),
            (1, Some("store"), int, 3),
            (0, Some("budget"), None, 4),
            (0, Some("no_match"), None, 5),
            (1, Some("interrupted"), int, 130),
            (0, Some("interrupted"), Some(Signal::Terminate), 143),
            (0, Some("interrupted"), Some(Signal::Hangup), 129),
            (0, Some("interrupted"), None, 130),
            (0, None, int, 130),
        ] {
            let exit = Exit::of(&summary(failed, stopped_by), signal);
            assert_eq!(exit.code(), code, "{failed} {stopped_by:?} {signal:?}");
        }
    }

    #[test]
    fn an_error_is_followed_by_its_causes_and_then_by_hints() {
        let source = anyhow::Error::new(io::Error::other("no space left on device"))
            .context("cannot write runs/r/state/j.completed");
        let error = CliError::new(ErrorKind::Store, source).hint("make room");
        assert_eq!(error.exit().code(), 3);
        insta::assert_snapshot!(error.render(), @r"
        error: cannot write runs/r/state/j.completed
        caused by: no space left on device

        hint: make room
        ");
    }

    #[test]
    fn an_error_in_the_set_up_carries_the_hint_of_whoever_found_it() {
        let error = CliError::from(OpsError::Setup {
            message: "there is no manifest: runs/r/manifest.csv".into(),
            hint: Some("make it with `archi3d batch create --run-id r`".into()),
        });
        assert_eq!(error.exit().code(), 2);
        insta::assert_snapshot!(error.render(), @r"
        error: there is no manifest: runs/r/manifest.csv

        hint: make it with `archi3d batch create --run-id r`
        ");
    }

    #[test]
    fn a_refused_id_is_a_usage_error() {
        let error = CliError::from(RunId::parse("-x").expect_err("refused"));
        assert_eq!(error.exit(), Exit::Request);
        insta::assert_snapshot!(error.render(), @r#"error: run id "-x" starts with a dot, a dash or a space"#);
    }

    #[test]
    fn machines_get_the_same_error_as_an_object() {
        let error = CliError::usage("no").hint("yes");
        assert_eq!(
            serde_json::to_string(&error.told()).expect("plain fields"),
            r#"{"error":"no","caused_by":[],"hints":["yes"],"exit_code":2}"#
        );
    }
}
