//! Marker files: the state of a job that one can see with `ls`.
//!
//! The first lines (`timestamp:`, `pid:`, `host:`) are for other tools; the
//! `archi3d:` line carries the whole record and `check:` vouches for it. A
//! marker without an `archi3d:` line was written by another tool.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::id::{JobId, Nonce, RunId, WorkerId};
use crate::domain::job::{Entry, Status};
use crate::domain::lease::Rhythm;
use crate::domain::naming::StateFile;
use crate::domain::patch::{self, Patch, WorkerFacts};
use crate::domain::purchase::{OpenIntent, OpenPurchase};
use crate::domain::retry::ErrorClass;
use crate::domain::text::hex;
use crate::domain::time::Timestamp;
use crate::platform::{self, FileVersion};
use crate::store::{Artifact, WorkerIdentity};
use crate::workspace::durable;

/// A larger marker is damaged or not ours.
const MAX_MARKER_BYTES: u64 = 1 << 20;

/// A higher attempt is damage; below it the next one can always be counted.
const MAX_ATTEMPT: u32 = 1 << 30;

/// Where the time stands in a marker, for rewriting it in place.
pub(super) const TIMESTAMP_OFFSET: u64 = "timestamp: ".len() as u64;

/// What a marker's `archi3d:` line says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) v: u32,
    pub(super) kind: RecordKind,
    pub(super) run_id: RunId,
    pub(super) job_id: JobId,
    pub(super) attempt: u32,
    /// The last redo that brought nothing and left no marker of its own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) tried: u32,
    pub(super) nonce: Nonce,
    pub(super) worker_id: WorkerId,
    pub(super) boot_id: String,
    pub(super) claimed_at: Timestamp,
    pub(super) entry: Entry,
    /// A purchase that was made and has not brought its result yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<String>,
    /// An intent to buy after which no id came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) intent: Option<OpenIntent>,
    /// How many failures were followed by another attempt.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) failures: u32,
    /// How many purchases of this job are over, with a result or void; part of its
    /// idempotency key.
    #[serde(default)]
    pub(super) purchases: u32,
    /// Whether a holder died with the job and no attempt has begun since: what it
    /// bought, nobody knows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) holder_died: bool,
    /// Since when nobody knows what that holder bought, whatever its adapter's entry says of interruptions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lost: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) simulated: bool,
    /// A person wants it tried again, and whether they would have bought again what may have been billed. Such a
    /// marker rules over the ending that it follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) again: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) class: Option<ErrorClass>,
    /// How its holder shows that it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pulse: Option<Pulse>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) not_before: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) patch: Option<Patch>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) outputs: Vec<Artifact>,
}

/// Which attempt a record is of, and whose.
pub(super) struct AttemptOf<'a> {
    pub(super) run_id: &'a RunId,
    pub(super) job_id: &'a JobId,
    pub(super) attempt: u32,
    pub(super) nonce: Nonce,
    pub(super) worker_id: &'a WorkerId,
    pub(super) boot_id: &'a str,
    pub(super) claimed_at: Timestamp,
    pub(super) entry: Entry,
}

impl Record {
    /// Returns the record of an attempt of which nothing else is known.
    pub(super) fn new(kind: RecordKind, of: AttemptOf<'_>) -> Self {
        Self {
            v: 1,
            kind,
            run_id: of.run_id.clone(),
            job_id: of.job_id.clone(),
            attempt: of.attempt,
            tried: 0,
            nonce: of.nonce,
            worker_id: of.worker_id.clone(),
            boot_id: of.boot_id.to_owned(),
            claimed_at: of.claimed_at,
            entry: of.entry,
            request_id: None,
            intent: None,
            failures: 0,
            purchases: 0,
            holder_died: false,
            lost: None,
            simulated: false,
            again: None,
            class: None,
            pulse: None,
            not_before: None,
            patch: None,
            outputs: Vec::new(),
        }
    }
}

/// How a worker shows that it lives, in its own words: whoever judges it goes by them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pulse {
    pub(super) heartbeat_ms: u64,
    pub(super) stale_ms: u64,
    /// Which file its journal is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) journal: Option<String>,
}

impl Pulse {
    pub(super) fn new(rhythm: Rhythm) -> Self {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            heartbeat_ms: millis(rhythm.heartbeat),
            stale_ms: millis(rhythm.stale),
            journal: None,
        }
    }

    pub(super) fn rhythm(&self) -> Rhythm {
        Rhythm {
            heartbeat: Duration::from_millis(self.heartbeat_ms),
            stale: Duration::from_millis(self.stale_ms),
        }
    }
}

/// Which marker a record stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RecordKind {
    InProgress,
    Completed,
    Failed,
    Released,
    Cancelled,
}

impl RecordKind {
    /// The markers in the order in which they are looked for.
    pub(super) const ALL: [Self; 5] = [
        Self::InProgress,
        Self::Completed,
        Self::Failed,
        Self::Released,
        Self::Cancelled,
    ];

    /// Returns the file this kind stands in.
    pub(super) fn file(self) -> StateFile {
        match self {
            Self::InProgress => StateFile::InProgress,
            Self::Completed => StateFile::Completed,
            Self::Failed => StateFile::Failed,
            Self::Released => StateFile::Released,
            Self::Cancelled => StateFile::Cancelled,
        }
    }

    /// Returns the status a job has by this marker.
    pub(super) fn status(self) -> Status {
        match self {
            Self::InProgress => Status::Running,
            Self::Completed => Status::Completed,
            Self::Failed => Status::Failed,
            Self::Released => Status::Enqueued,
            Self::Cancelled => Status::Cancelled,
        }
    }

    pub(super) fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

impl Record {
    /// Returns what the job has bought or meant to buy.
    pub(super) fn purchase(&self) -> OpenPurchase {
        OpenPurchase {
            request_id: self.request_id.clone(),
            intent: self.intent.clone(),
            ended: self.purchases,
        }
    }

    /// Changes what the job has bought or meant to buy; what is over stays over.
    pub(super) fn set_purchase(&mut self, purchase: OpenPurchase) {
        self.request_id = purchase.request_id;
        self.intent = purchase.intent;
        self.purchases = self.purchases.max(purchase.ended);
    }

    /// Returns the cells that bring the job's row to what this record says.
    pub(super) fn row_patch(&self, worker: &WorkerFacts) -> Patch {
        if let Some(patch) = &self.patch {
            return patch.clone();
        }
        match self.kind {
            RecordKind::InProgress => {
                let mut patch = patch::running(self.claimed_at, worker);
                if self.entry == Entry::Perform {
                    patch.forget_rehearsal();
                }
                patch
            }
            kind => Patch::status(kind.status()),
        }
    }

    /// Returns the marker's whole text.
    pub(super) fn text(&self, worker: &WorkerIdentity, beat: Timestamp) -> String {
        let json = serde_json::to_string(self).expect("a record has only plain fields");
        let host: String = worker
            .facts
            .host
            .chars()
            .filter(|c| !c.is_control())
            .collect();
        format!(
            "timestamp: {}\npid: {}\nhost: {host}\narchi3d: {json}\ncheck: {}\n",
            beat.fixed_width(),
            worker.pid,
            check(&json),
        )
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn check(json: &str) -> String {
    let digest = Sha256::digest(json.as_bytes());
    hex(&digest[..8])
}

/// A marker as it was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Marker {
    pub(super) kind: RecordKind,
    pub(super) version: FileVersion,
    /// The time in its first line.
    pub(super) beat: Option<Timestamp>,
    pub(super) pid: Option<u32>,
    pub(super) host: Option<String>,
    pub(super) body: Body,
}

/// What a marker holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Body {
    /// Our own record.
    Ours(Box<Record>),
    /// Another tool's marker.
    Foreign,
    /// Damaged, or not a marker at all; says why.
    Corrupt(String),
}

impl Marker {
    /// Returns whether a person who wants it tried again would have bought again what may have been billed; nothing if
    /// nobody wants that.
    pub(super) fn again(&self) -> Option<bool> {
        self.record()?.again
    }

    /// Reads the marker of `kind` at `path`; nothing if there is none.
    pub(super) fn read(path: &Path, kind: RecordKind, job: &JobId) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.read(true);
        let (metadata, text) = match platform::without_waiting(&mut options).open(path) {
            Ok(file) => {
                let metadata = file.metadata()?;
                let text = durable::read_known(file, &metadata, MAX_MARKER_BYTES);
                (metadata, text)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // A link, or nothing that we may read.
            Err(error) => match std::fs::symlink_metadata(path) {
                Ok(metadata) => (metadata, Err(error)),
                Err(gone) if gone.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            },
        };
        let mut marker = Self {
            kind,
            version: platform::version(&metadata),
            beat: None,
            pid: None,
            host: None,
            body: Body::Foreign,
        };
        match text {
            _ if !metadata.is_file() => {
                marker.body = Body::Corrupt("is not a regular file".into());
            }
            Ok(bytes) => marker.take_text(&bytes, job),
            Err(error) => marker.body = Body::Corrupt(error.to_string()),
        }
        Ok(Some(marker))
    }

    fn take_text(&mut self, bytes: &[u8], job: &JobId) {
        if !bytes.is_empty() && bytes.iter().all(|byte| *byte == 0) {
            // The name and the length survived a power loss, the content did not.
            self.body = Body::Corrupt("it holds nothing but zeros".into());
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
        };
        self.beat = field("timestamp:").and_then(Timestamp::parse);
        self.pid = field("pid:").and_then(|pid| pid.parse().ok());
        self.host = field("host:").map(str::to_owned);
        let Some(json) = field("archi3d:") else {
            return;
        };
        self.body = match parse_record(json, field("check:"), job) {
            // A lease may hold the text of the ending that it was about to become; the
            // reverse is an ending whose text a power loss has dropped.
            Ok(record) if self.kind != RecordKind::InProgress && record.kind != self.kind => {
                Body::Corrupt("its text is that of another marker".into())
            }
            Ok(record) => Body::Ours(Box::new(record)),
            Err(reason) => Body::Corrupt(reason),
        };
    }

    /// Returns our record, if it is one.
    pub(super) fn record(&self) -> Option<&Record> {
        match &self.body {
            Body::Ours(record) => Some(record),
            _ => None,
        }
    }

    /// Returns until when the job waits, seen at `now`: never longer than was asked for
    /// when this was written, whatever the clock showed then.
    pub(super) fn not_before(&self, now: Timestamp) -> Option<Timestamp> {
        let moment = self.record()?.not_before.filter(|moment| *moment > now)?;
        let asked = self.beat.map_or(Duration::ZERO, |at| moment.since(at));
        Some(moment.min(now.plus(asked)))
    }

    /// Returns the attempt; 0 for another tool's marker.
    pub(super) fn attempt(&self) -> u32 {
        self.record().map_or(0, |record| record.attempt)
    }
}

fn parse_record(json: &str, stored_check: Option<&str>, job: &JobId) -> Result<Record, String> {
    if stored_check != Some(check(json).as_str()) {
        return Err("checksum mismatch".into());
    }
    let record: Record = serde_json::from_str(json).map_err(|error| error.to_string())?;
    if record.job_id != *job {
        return Err(format!("it belongs to job {}", record.job_id));
    }
    if record.v != 1 {
        return Err(format!("its version {} is not known here", record.v));
    }
    if record.attempt > MAX_ATTEMPT {
        return Err(format!("nothing is tried {} times", record.attempt));
    }
    Ok(record)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::store::files) fn record(kind: RecordKind, attempt: u32) -> Record {
        let worker = identity();
        let of = AttemptOf {
            run_id: &RunId::parse("r").unwrap(),
            job_id: &JobId::parse("j").unwrap(),
            attempt,
            nonce: Nonce::new(format!("nonce-{attempt}")),
            worker_id: &worker.worker_id,
            boot_id: &worker.boot_id,
            claimed_at: Timestamp::parse("2026-01-01T00:00:00Z").unwrap(),
            entry: Entry::Fresh,
        };
        Record::new(kind, of)
    }

    pub(in crate::store::files) fn identity() -> WorkerIdentity {
        WorkerIdentity {
            worker_id: WorkerId::parse("w-1-x").unwrap(),
            pid: 42,
            boot_id: "boot".into(),
            facts: WorkerFacts {
                host: "node7".into(),
                ..WorkerFacts::default()
            },
        }
    }

    fn read(text: &[u8]) -> Marker {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.inprogress");
        std::fs::write(&path, text).unwrap();
        let job = JobId::parse("j").unwrap();
        Marker::read(&path, RecordKind::InProgress, &job)
            .unwrap()
            .unwrap()
    }

    #[test]
    fn a_marker_reads_back_as_it_was_written() {
        let written = record(RecordKind::InProgress, 2);
        let beat = Timestamp::parse("2026-01-01T00:00:07Z").unwrap();
        let text = written.text(&identity(), beat);
        let marker = read(text.as_bytes());
        assert_eq!(marker.record(), Some(&written));
        assert_eq!(marker.beat, Some(beat));
        assert_eq!(marker.pid, Some(42));
        assert_eq!(marker.host.as_deref(), Some("node7"));
    }

    #[test]
    fn the_time_stands_where_heartbeats_write_it() {
        let beat = Timestamp::parse("2026-01-01T00:00:07Z").unwrap();
        let text = record(RecordKind::InProgress, 1).text(&identity(), beat);
        let at = usize::try_from(TIMESTAMP_OFFSET).unwrap();
        assert!(text[at..].starts_with("2026-01-01T00:00:07.000000+00:00\n"));
    }

    #[test]
    fn a_marker_of_another_tool_is_foreign_and_its_time_is_read() {
        let marker = read(b"pid: 7\ntimestamp: 2026-01-01T00:00:00+00:00\n");
        assert_eq!(marker.body, Body::Foreign);
        assert!(marker.beat.is_some());
        assert_eq!(read(b"").body, Body::Foreign);
    }

    #[test]
    fn a_marker_that_was_torn_or_changed_is_corrupt() {
        let text = record(RecordKind::InProgress, 1).text(
            &identity(),
            Timestamp::parse("2026-01-01T00:00:07Z").unwrap(),
        );
        let torn = &text[..text.len() - 30];
        assert!(matches!(read(torn.as_bytes()).body, Body::Corrupt(_)));
        let changed = text.replace("\"attempt\":1", "\"attempt\":9");
        assert!(matches!(read(changed.as_bytes()).body, Body::Corrupt(_)));
        for attempt in ["-1", "1000000000000000000", "\"1\""] {
            let json = serde_json::to_string(&record(RecordKind::InProgress, 1))
                .unwrap()
                .replace("\"attempt\":1", &format!("\"attempt\":{attempt}"));
            let text = format!("archi3d: {json}\ncheck: {}\n", check(&json));
            assert!(
                matches!(read(text.as_bytes()).body, Body::Corrupt(_)),
                "{attempt}"
            );
        }
    }
}
