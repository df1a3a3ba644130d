//! The ledger file: `tables/budget.jsonl`, appended and read under
//! `tables/budget.lock`, shared by every worker of the workspace.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::Duration;

use crate::domain::budget::{Caps, Change, Entry, Grant, Ledger};
use crate::domain::id::{JobId, RunId};
use crate::domain::time::Timestamp;
use crate::platform::{self, FileIdentity};
use crate::workspace::durable;
use crate::workspace::lock::FileLock;
use crate::workspace::paths::Workspace;

/// A process's view of the ledger; reads only what was added since it last looked.
#[derive(Debug)]
pub struct LedgerFile {
    path: PathBuf,
    lock: PathBuf,
    ledger: Ledger,
    read_to: u64,
    identity: Option<FileIdentity>,
}

impl LedgerFile {
    /// Names the ledger of a workspace; nothing is created.
    pub fn new(workspace: &Workspace) -> Self {
        Self {
            path: workspace.tables().join("budget.jsonl"),
            lock: workspace.tables().join("budget.lock"),
            ledger: Ledger::default(),
            read_to: 0,
            identity: None,
        }
    }

    /// Reserves the price of a job if the limits allow it. When this returns
    /// [`Grant::Yes`], the reservation survives the process and a power loss.
    pub fn reserve(
        &mut self,
        run: &RunId,
        job: &JobId,
        price: f64,
        caps: Caps,
        now: Timestamp,
    ) -> io::Result<Grant> {
        let _lock = self.lock()?;
        self.catch_up()?;
        let grant = self.ledger.grant(run, job, price, caps, now);
        if matches!(grant, Grant::Yes { .. }) {
            self.append(run, job, Change::Reserved { usd: price }, now)?;
        }
        Ok(grant)
    }

    /// Ends a job's reservation with what it really cost.
    pub fn settle(&mut self, run: &RunId, job: &JobId, usd: f64, now: Timestamp) -> io::Result<()> {
        let _lock = self.lock()?;
        self.catch_up()?;
        self.append(run, job, Change::Settled { usd }, now)
    }

    /// Returns the sums as they are now, without taking the lock.
    pub fn look(&mut self) -> io::Result<&Ledger> {
        self.catch_up()?;
        Ok(&self.ledger)
    }

    fn lock(&self) -> io::Result<FileLock> {
        FileLock::acquire(&self.lock, |waited| waited < Duration::from_secs(60))?.ok_or_else(|| {
            io::Error::other(format!("{} is busy for a minute", self.lock.display()))
        })
    }

    /// Reads the lines that were added. A torn last line is not there yet.
    fn catch_up(&mut self) -> io::Result<()> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.forget(None);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        let identity = platform::identity(&metadata);
        if self.identity != Some(identity) || metadata.len() < self.read_to {
            self.forget(Some(identity));
        }
        file.seek(SeekFrom::Start(self.read_to))?;
        let mut added = Vec::new();
        file.read_to_end(&mut added)?;
        let whole = added
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        for line in added[..whole].split(|byte| *byte == b'\n') {
            // A line of another version or a damaged one changes no sum we know.
            if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
                self.ledger.take(&entry);
            }
        }
        self.read_to += whole as u64;
        Ok(())
    }

    fn forget(&mut self, identity: Option<FileIdentity>) {
        self.ledger = Ledger::default();
        self.read_to = 0;
        self.identity = identity;
    }

    fn append(
        &mut self,
        run: &RunId,
        job: &JobId,
        change: Change,
        at: Timestamp,
    ) -> io::Result<()> {
        let entry = Entry {
            at,
            run_id: run.clone(),
            job_id: job.clone(),
            change,
        };
        let mut line = serde_json::to_vec(&entry).expect("an entry has only plain fields");
        line.push(b'\n');
        let mut file = durable::open_append(&self.path)?;
        let length = file.metadata()?.len();
        if length > self.read_to {
            // Somebody died in the middle of a line: end it before ours.
            file.write_all(b"\n")?;
        }
        file.write_all(&line)?;
        file.sync_data()?;
        self.catch_up()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::budget::Standing;

    #[test]
    fn two_processes_share_one_ledger_and_a_torn_line_harms_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(folder.path());
        std::fs::create_dir(workspace.tables()).unwrap();
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let run = RunId::parse("r").unwrap();
        let job = |n: u8| JobId::parse(&format!("j{n}")).unwrap();
        let caps = Caps {
            run_usd: Some(1.0),
            day_usd: None,
        };
        let (mut one, mut two) = (LedgerFile::new(&workspace), LedgerFile::new(&workspace));
        assert!(matches!(
            one.reserve(&run, &job(1), 0.6, caps, now).unwrap(),
            Grant::Yes { .. }
        ));
        assert!(matches!(
            two.reserve(&run, &job(2), 0.6, caps, now).unwrap(),
            Grant::No { .. }
        ));
        let mut file = durable::open_append(&workspace.tables().join("budget.jsonl")).unwrap();
        file.write_all(b"{\"at\":").unwrap();
        one.settle(&run, &job(1), 0.2, now).unwrap();
        let standing = two.look().unwrap().standing(&run);
        assert_eq!(
            standing,
            Standing {
                spent_usd: 0.2,
                reserved_usd: 0.0
            }
        );
        assert!(matches!(
            two.reserve(&run, &job(2), 0.6, caps, now).unwrap(),
            Grant::Yes { .. }
        ));
    }
}
