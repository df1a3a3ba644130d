//! `runs/<run>/fleet.json`: the mark of a run that was handed over to a fleet.
//!
//! It is there before the first job is in the database, so that no moment exists at which both a worker on files and
//! one of the fleet may buy. While it says `pushing` nobody may work on the run until `fleet push` has ended.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

use crate::domain::time::Timestamp;
use crate::platform;
use crate::workspace::durable;
use crate::workspace::paths::RunPaths;

/// A mark is small; a larger file is none.
const MAX_BYTES: u64 = 1 << 16;

/// How far a run is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FleetState {
    /// Somebody began to hand it over, and nobody knows whether its jobs arrived.
    Pushing,
    /// Its jobs are in the database.
    Pushed,
    /// All of it came back and the database has forgotten it: what is known of it lies in files, and nobody works on it any more.
    Forgotten,
}

/// What is known of a run that lives in a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetMark {
    /// The version of this format.
    pub v: u32,
    /// How far it is.
    pub state: FleetState,
    /// Names this handing over; the database has it too, so that a run of the same name from elsewhere is told apart.
    pub push: String,
    /// The run.
    pub run_id: String,
    /// The server, without any password.
    pub server: String,
    /// The database.
    pub database: String,
    /// When it was handed over.
    pub pushed_at: Timestamp,
    /// By whom, as `user@host`.
    pub pushed_by: String,
    /// Whether the last pull brought all of it back and found it over, so that the database may forget it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pulled: bool,
}

impl FleetMark {
    /// Reads the mark of a run; nothing if it lives in files.
    pub fn read(paths: &RunPaths) -> io::Result<Option<Self>> {
        match durable::read_plain(&paths.fleet(), MAX_BYTES) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the first mark of a run, durably; false if somebody else just did.
    pub fn create(&self, paths: &RunPaths) -> io::Result<bool> {
        let path = paths.fleet();
        let Some(file) = platform::publish(&path, &self.bytes())? else {
            return Ok(false);
        };
        file.sync_all()?;
        platform::sync_dir(paths.root())?;
        Ok(true)
    }

    /// Writes the mark over the one that is there, durably.
    pub fn replace(&self, paths: &RunPaths) -> io::Result<()> {
        durable::replace(&paths.fleet(), &self.bytes(), &self.push)
    }

    /// Notes whether all of the run is back; nothing is written where that is known.
    pub fn note_pulled(&mut self, paths: &RunPaths, pulled: bool) -> io::Result<()> {
        if self.pulled == pulled {
            return Ok(());
        }
        self.pulled = pulled;
        self.replace(paths)
    }

    /// Notes that the database has forgotten the run.
    pub fn note_forgotten(&mut self, paths: &RunPaths) -> io::Result<()> {
        self.state = FleetState::Forgotten;
        self.replace(paths)
    }

    /// Removes the mark, durably: the run lives in files.
    pub fn remove(paths: &RunPaths) -> io::Result<()> {
        fs::remove_file(paths.fleet())?;
        platform::sync_dir(paths.root())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("a mark has only plain fields");
        bytes.push(b'\n');
        bytes
    }
}

impl RunPaths {
    /// Tells whether a fleet knows more of the run than its files, or may.
    pub fn in_fleet(&self) -> bool {
        match FleetMark::read(self) {
            Ok(mark) => mark.is_some_and(|mark| mark.state != FleetState::Forgotten),
            Err(_) => true,
        }
    }
}
