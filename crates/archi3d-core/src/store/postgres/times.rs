//! How long statements take, for whoever measures a worker.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Names a file to which every connection adds a line for each of its statements when it is closed.
const VARIABLE: &str = "ARCHI3D_STATEMENT_TIMES";

/// The statements of one connection: name, how long it took and when it was over, in microseconds.
pub(super) struct Times {
    file: PathBuf,
    taken: Vec<(&'static str, u128, u128)>,
}

impl Times {
    /// Measures if somebody asks for it.
    #[expect(
        clippy::disallowed_methods,
        reason = "a connection is made in many places, and none of them has a use for it"
    )]
    pub(super) fn wanted() -> Option<Self> {
        let file = PathBuf::from(std::env::var(VARIABLE).ok()?);
        let taken = Vec::new();
        Some(Self { file, taken })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one clock that all processes of a machine share"
    )]
    pub(super) fn add(&mut self, statement: &'static str, took: Duration) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        let at = at.unwrap_or_default().as_micros();
        self.taken.push((statement, took.as_micros(), at));
    }
}

impl Drop for Times {
    fn drop(&mut self) {
        let mut text = String::new();
        for (statement, micros, at) in &self.taken {
            let _ = writeln!(text, "{statement}\t{micros}\t{at}");
        }
        // Nobody loses anything by figures that are missing.
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.file);
        let _ = file.and_then(|mut file| file.write_all(text.as_bytes()));
    }
}
