//! The log that all workers write, read from a place in it: what a service streams. Also the log
//! of the service itself.

use std::io::{Read as _, Seek as _, SeekFrom};

use serde_json::{Map, Value};

use crate::domain::id::RunId;
use crate::ops::OpsContext;
use crate::workspace::durable;
use crate::workspace::log::{LogFile, append_record};

/// So much is read at once.
const PIECE: u64 = 256 << 10;

/// A line of the log, and the place behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEvent {
    /// Where the next line begins.
    pub end: u64,
    /// What it says.
    pub line: Map<String, Value>,
}

/// Returns how long the log is now.
pub fn end(context: &OpsContext) -> u64 {
    let found = context.workspace.log("worker").symlink_metadata();
    found.map_or(0, |found| found.len())
}

/// Returns the whole lines behind `place`, some of them where there are many, and the place to go on
/// from. A log that is shorter than that was begun anew, and is read from its beginning.
pub fn after(context: &OpsContext, place: u64) -> (Vec<LoggedEvent>, u64) {
    let read = || -> std::io::Result<(Vec<u8>, u64)> {
        let mut file = durable::open_plain(&context.workspace.log("worker"))?;
        let place = if file.metadata()?.len() < place {
            0
        } else {
            place
        };
        file.seek(SeekFrom::Start(place))?;
        let mut bytes = Vec::new();
        file.take(PIECE).read_to_end(&mut bytes)?;
        Ok((bytes, place))
    };
    let Ok((bytes, mut place)) = read() else {
        return (Vec::new(), place);
    };
    let mut events = Vec::new();
    let full = bytes.len() as u64 == PIECE && !bytes.contains(&b'\n');
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if line.last() != Some(&b'\n') && !full {
            break;
        }
        place += line.len() as u64;
        if let Ok(line) = serde_json::from_slice(line) {
            events.push(LoggedEvent { end: place, line });
        }
    }
    (events, place)
}

/// Adds a line about a run to the log that workers write.
pub fn note(context: &OpsContext, event: &str, run: &RunId, more: Map<String, Value>) {
    let mut line = Map::new();
    line.insert("event".into(), event.into());
    line.insert("timestamp".into(), context.clock.now().iso().into());
    line.insert("run_id".into(), run.as_str().into());
    line.extend(more);
    // A log that cannot be written keeps nothing from happening.
    let _ = append_record(&context.workspace.log("worker"), &line);
}

/// The log of the service, `logs/serve.log`.
pub struct ServiceLog(Option<LogFile>);

impl ServiceLog {
    /// Opens it; one that cannot be opened is not written.
    pub fn open(context: &OpsContext) -> Self {
        Self(LogFile::open(&context.workspace.log("serve")).ok())
    }

    /// Adds a line.
    pub fn add(&self, line: &Map<String, Value>) {
        if let Some(log) = &self.0 {
            // A log that cannot be written keeps nothing from happening.
            let _ = log.append_json(line);
        }
    }
}
