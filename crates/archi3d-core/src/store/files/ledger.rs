//! The ledger file: `tables/budget.jsonl`, appended and read under
//! `tables/budget.lock`, shared by every worker of the workspace, and kept twice
//! (`pair`): what one copy has lost comes back from the other one before the next
//! dollar is promised, and where both have lost what a process knows, it stops.
//!
//! Used by the budget; whoever only shows money reads it through
//! [`LedgerFile::look`], which takes no lock and writes nothing.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::domain::budget::{AttemptKey, Caps, Change, Grant, Ledger, LedgerEntry};
use crate::domain::id::{JobId, RunId};
use crate::domain::time::Timestamp;
use crate::platform::fault;
use crate::store::error::StoreError;
use crate::workspace::lock::FileLock;
use crate::workspace::paths::Workspace;

mod accounted;
mod pair;

use pair::{News, Pair};

pub use accounted::Journals;

/// Nobody holds the lock for longer than one line takes to write.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Nobody waits longer who was told to hurry.
const SHORT_WAIT: Duration = Duration::from_millis(200);

/// The lock of the ledger. What may only be written under it takes one.
#[derive(Debug)]
struct LedgerLock(FileLock);

/// A process's view of the ledger; reads only what was added since it last looked.
#[derive(Debug)]
pub struct LedgerFile {
    pair: Pair,
    lock: PathBuf,
    /// The folder of the other copy.
    safe: PathBuf,
    ledger: Ledger,
    damaged: usize,
    /// What the ledger lacked and the other copy has.
    lost: Vec<LedgerEntry>,
    /// Whether the sums are of two copies that differ, which nobody has repaired yet.
    provisional: bool,
    hurry: Arc<AtomicBool>,
}

impl LedgerFile {
    /// Names the ledger of a workspace; nothing is created.
    pub fn new(workspace: &Workspace) -> Self {
        Self {
            pair: Pair::new(workspace),
            lock: workspace.tables().join("budget.lock"),
            safe: workspace.budget(),
            ledger: Ledger::default(),
            damaged: 0,
            lost: Vec::new(),
            provisional: false,
            hurry: Arc::default(),
        }
    }

    /// Returns what is raised when there is no time to wait for others.
    pub fn hurry(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.hurry)
    }

    /// Returns where the ledger is.
    pub fn path(&self) -> &Path {
        &self.pair.ledger
    }

    /// Returns the lines that the ledger had lost and its other copy has, and forgets
    /// them. What was only looked at is still lost there.
    pub fn take_lost(&mut self) -> Vec<LedgerEntry> {
        std::mem::take(&mut self.lost)
    }

    /// Returns how many lines could not be read when it was last looked at.
    pub fn damaged(&self) -> usize {
        self.damaged
    }

    /// Reserves the price of a job if the limits allow it. When this returns
    /// [`Grant::Yes`], the reservation survives the process and a power loss.
    pub fn reserve(
        &mut self,
        attempt_key: &AttemptKey,
        price: f64,
        caps: Caps,
        now: Timestamp,
    ) -> io::Result<Grant> {
        let lock = self.agreed()?;
        let (run, job) = (&attempt_key.run_id, &attempt_key.job_id);
        let grant = self.ledger.grant(run, job, price, caps, now);
        if matches!(grant, Grant::Yes(_)) {
            let file = self.append(&lock, attempt_key, Change::Reserved { usd: price }, now)?;
            file.sync_data()?;
            fault::here("ledger.synced");
        }
        Ok(grant)
    }

    /// Reserves the price of a job beside what an earlier attempt of it has
    /// reserved, which counts as spent then. If the limits do not allow that,
    /// nothing changes.
    pub fn reserve_additional(
        &mut self,
        attempt_key: &AttemptKey,
        price: f64,
        caps: Caps,
        now: Timestamp,
    ) -> io::Result<Grant> {
        let lock = self.agreed()?;
        let grant = self
            .ledger
            .grant_additional(&attempt_key.run_id, price, caps, now);
        if matches!(grant, Grant::Yes(_)) {
            if let Some((earlier, usd)) = self.reserved_for(attempt_key) {
                self.append_settled(&lock, &earlier, usd, now)?;
            }
            let file = self.append(&lock, attempt_key, Change::Reserved { usd: price }, now)?;
            file.sync_data()?;
        }
        Ok(grant)
    }

    /// Counts what an earlier attempt of the job has reserved as spent, so that
    /// the next one does not take it over.
    pub fn write_off(&mut self, attempt_key: &AttemptKey, now: Timestamp) -> io::Result<()> {
        let lock = self.agreed()?;
        match self.reserved_for(attempt_key) {
            Some((earlier, usd)) => self.append_settled(&lock, &earlier, usd, now),
            None => Ok(()),
        }
    }

    fn reserved_for(&self, attempt_key: &AttemptKey) -> Option<(AttemptKey, f64)> {
        let open = self.ledger.open(&attempt_key.run_id);
        open.into_iter()
            .find(|(own, _)| own.job_id == attempt_key.job_id)
    }

    /// Settles an attempt with what it really cost. Settling again changes
    /// nothing. Not synced: a journal tells the same after a power loss.
    pub fn settle(&mut self, attempt_key: &AttemptKey, usd: f64, now: Timestamp) -> io::Result<()> {
        let lock = self.agreed()?;
        self.append_settled(&lock, attempt_key, usd, now)
    }

    /// Settles what is reserved for a job because a person says what it cost;
    /// returns whose it was and how much, or nothing if nothing is reserved. Synced:
    /// no journal tells the same.
    pub fn settle_by_hand(
        &mut self,
        run: &RunId,
        job: &JobId,
        usd: f64,
        now: Timestamp,
    ) -> io::Result<Option<(AttemptKey, f64)>> {
        let lock = self.agreed()?;
        let open = self.ledger.open(run);
        let Some((attempt_key, reserved)) = open
            .into_iter()
            .find(|(attempt_key, _)| attempt_key.job_id == *job)
        else {
            return Ok(None);
        };
        let file = self.append_entry(
            &lock,
            &LedgerEntry {
                at: now,
                attempt_key: attempt_key.clone(),
                change: Change::Settled { usd },
                by_hand: true,
            },
        )?;
        file.sync_data()?;
        Ok(Some((attempt_key, reserved)))
    }

    /// Writes a line back that was lost, unless one names the attempt meanwhile.
    pub fn restore(
        &mut self,
        attempt_key: &AttemptKey,
        change: Change,
        at: Timestamp,
    ) -> io::Result<()> {
        let lock = self.agreed()?;
        if self.ledger.knows(&attempt_key.nonce) {
            return Ok(());
        }
        self.append(&lock, attempt_key, change, at).map(drop)
    }

    /// Sees that both copies of the ledger say the same, and repairs the one that does not.
    pub fn repair(&mut self) -> io::Result<()> {
        self.agreed().map(drop)
    }

    /// Returns the journals that the ledger accounts for.
    pub fn accounted(&self) -> io::Result<Journals> {
        accounted::read(&self.safe, &self.pair)
    }

    /// Notes that the ledger accounts for these journals of ended workers too.
    pub fn account_for(&mut self, journals: Journals) -> io::Result<()> {
        let lock = self.agreed()?;
        let mut all = accounted::read(&self.safe, &self.pair)?;
        all.extend(journals);
        accounted::write(&lock, &self.safe, &self.pair, all)
    }

    /// Returns the sums as they are now, without taking the lock. A workspace
    /// without a ledger has an empty one.
    pub fn look(&mut self) -> io::Result<&Ledger> {
        self.catch_up()?;
        Ok(&self.ledger)
    }

    /// Reads the whole ledger of a workspace as [`LedgerFile::look`] does, to keep it.
    pub fn read(workspace: &Workspace) -> Result<Ledger, StoreError> {
        Self::read_into(workspace, Ledger::default())
    }

    /// Reads it with what each job of a run costs.
    pub fn read_by_job(workspace: &Workspace, run: &RunId) -> Result<Ledger, StoreError> {
        Self::read_into(workspace, Ledger::by_job(run.clone()))
    }

    fn read_into(workspace: &Workspace, empty: Ledger) -> Result<Ledger, StoreError> {
        let mut file = Self::new(workspace);
        file.ledger = empty;
        match file.catch_up() {
            Ok(()) => Ok(file.ledger),
            Err(error) => Err(StoreError::Content {
                what: format!("cannot be read: {error}"),
                path: file.path().to_owned(),
                hint: "see that it is a plain file that you may read".into(),
            }),
        }
    }

    fn append_settled(
        &mut self,
        lock: &LedgerLock,
        attempt_key: &AttemptKey,
        usd: f64,
        now: Timestamp,
    ) -> io::Result<()> {
        let nothing = usd <= 0.0 && !self.ledger.may_free(attempt_key);
        if nothing || self.ledger.is_settled(&attempt_key.nonce) {
            return Ok(());
        }
        self.append(lock, attempt_key, Change::Settled { usd }, now)
            .map(drop)
    }

    fn lock(&self) -> io::Result<LedgerLock> {
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(lock) = FileLock::try_acquire(&self.lock)? {
                return Ok(LedgerLock(lock));
            }
            let hurried = self.hurry.load(Ordering::SeqCst);
            let longest = if hurried { SHORT_WAIT } else { LONGEST_WAIT };
            if start.elapsed() > longest {
                let (lock, waited) = (self.lock.display(), start.elapsed().as_secs());
                return Err(io::Error::other(format!(
                    "{lock} has been locked for {waited} s"
                )));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(16));
        }
    }

    /// Reads the lines that were added, as far as both copies tell them. Takes no lock
    /// and writes nothing; copies that differ are put together in memory by whoever
    /// has read nothing before, and left to whoever holds the lock by the others.
    fn catch_up(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.provisional) {
            self.forget();
            self.pair.rewind();
        }
        let fresh = self.pair.is_unread();
        let (ledger, damaged) = (&mut self.ledger, &mut self.damaged);
        let news = self.pair.news(&mut |line| take(ledger, damaged, line))?;
        self.provisional = news == News::Alone;
        if fresh && news == News::Differ {
            let repaired = self.pair.put_together()?;
            self.lost = repaired.lost;
            self.forget();
            self.take(&repaired.bytes);
            self.provisional = true;
        }
        Ok(())
    }

    /// Takes the lock, reads the lines that were added and sees that both copies say the same.
    fn agreed(&mut self) -> io::Result<LedgerLock> {
        let lock = self.lock()?;
        if std::mem::take(&mut self.provisional) {
            self.forget();
            self.pair.rewind();
        }
        let (ledger, damaged) = (&mut self.ledger, &mut self.damaged);
        let news = self.pair.news(&mut |line| take(ledger, damaged, line))?;
        if news == News::Agree {
            return Ok(lock);
        }
        let repaired = self.pair.put_together()?;
        fault::io("ledger.mending")?;
        self.pair.rewrite(&lock, &repaired.bytes)?;
        self.lost = repaired.lost;
        self.forget();
        self.take(&repaired.bytes);
        Ok(lock)
    }

    fn take(&mut self, lines: &[u8]) {
        for line in lines.split(|byte| *byte == b'\n') {
            take(&mut self.ledger, &mut self.damaged, line);
        }
    }

    fn forget(&mut self) {
        self.ledger = self.ledger.emptied();
        self.damaged = 0;
    }

    fn append(
        &mut self,
        lock: &LedgerLock,
        attempt_key: &AttemptKey,
        change: Change,
        at: Timestamp,
    ) -> io::Result<File> {
        let attempt_key = attempt_key.clone();
        self.append_entry(
            lock,
            &LedgerEntry {
                at,
                attempt_key,
                change,
                by_hand: false,
            },
        )
    }

    fn append_entry(&mut self, lock: &LedgerLock, entry: &LedgerEntry) -> io::Result<File> {
        let mut line = serde_json::to_vec(entry).expect("an entry has only plain fields");
        line.push(b'\n');
        let file = self.pair.append(lock, &line)?;
        self.ledger.take(entry);
        Ok(file)
    }
}

/// Takes one line into the sums, or counts it as damaged.
fn take(ledger: &mut Ledger, damaged: &mut usize, line: &[u8]) {
    match serde_json::from_slice::<LedgerEntry>(line) {
        Ok(entry) => ledger.take(&entry),
        Err(_) if line.trim_ascii().is_empty() => {}
        Err(_) => *damaged += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::budget::Usage;
    use crate::domain::id::{JobId, Nonce, RunId, WorkerId};

    struct Bench {
        _folder: tempfile::TempDir,
        workspace: Workspace,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let workspace = Workspace::new(folder.path());
            std::fs::create_dir(workspace.tables()).unwrap();
            Self {
                _folder: folder,
                workspace,
            }
        }

        fn open(&self) -> LedgerFile {
            LedgerFile::new(&self.workspace)
        }

        fn append(&self, bytes: &[u8]) {
            let path = self.workspace.tables().join("budget.jsonl");
            let mut file = crate::workspace::durable::open_append(&path).unwrap();
            std::io::Write::write_all(&mut file, bytes).unwrap();
        }
    }

    fn now() -> Timestamp {
        Timestamp::parse("2026-01-01T00:00:00Z").unwrap()
    }

    fn attempt_key(job: u8, attempt: u32) -> AttemptKey {
        AttemptKey {
            run_id: RunId::parse("r").unwrap(),
            job_id: JobId::parse(&format!("j{job}")).unwrap(),
            attempt,
            nonce: Nonce::new(format!("{job}-{attempt}")),
            worker_id: WorkerId::parse("w").unwrap(),
        }
    }

    const DOLLAR: Caps = Caps {
        run_usd: Some(1.0),
        day_usd: None,
    };

    fn usage(ledger: &mut LedgerFile) -> (f64, f64) {
        let run = RunId::parse("r").unwrap();
        let Usage {
            spent_usd,
            reserved_usd,
        } = ledger.look().unwrap().usage(&run);
        (spent_usd, reserved_usd)
    }

    #[test]
    fn two_processes_share_one_ledger_and_a_torn_line_harms_nobody() {
        let bench = Bench::new();
        let (mut one, mut two) = (bench.open(), bench.open());
        let grant = one.reserve(&attempt_key(1, 1), 0.6, DOLLAR, now()).unwrap();
        assert!(matches!(grant, Grant::Yes(_)));
        let grant = two.reserve(&attempt_key(2, 1), 0.6, DOLLAR, now()).unwrap();
        assert!(matches!(grant, Grant::No(_)));
        bench.append(b"{\"at\":");
        one.settle(&attempt_key(1, 1), 0.2, now()).unwrap();
        assert_eq!(usage(&mut two), (0.2, 0.0));
        assert_eq!(two.damaged(), 0, "what was never finished is gone");
        let grant = two.reserve(&attempt_key(2, 1), 0.6, DOLLAR, now()).unwrap();
        assert!(matches!(grant, Grant::Yes(_)));
    }

    #[test]
    fn settling_again_writes_nothing() {
        let bench = Bench::new();
        let mut ledger = bench.open();
        ledger
            .reserve(&attempt_key(1, 1), 0.6, Caps::default(), now())
            .unwrap();
        for _ in 0..3 {
            ledger.settle(&attempt_key(1, 1), 0.6, now()).unwrap();
        }
        let text = std::fs::read_to_string(ledger.path()).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert_eq!(usage(&mut ledger), (0.6, 0.0));
    }

    #[test]
    fn what_is_written_off_is_spent_and_not_taken_over() {
        let bench = Bench::new();
        let mut ledger = bench.open();
        let first = attempt_key(1, 1);
        ledger.reserve(&first, 0.6, Caps::default(), now()).unwrap();
        let second = attempt_key(1, 2);
        let grant = ledger
            .reserve_additional(&second, 0.6, DOLLAR, now())
            .unwrap();
        assert!(matches!(grant, Grant::No(_)));
        assert_eq!(usage(&mut ledger), (0.0, 0.6), "nothing changed");
        ledger
            .reserve_additional(&second, 0.4, DOLLAR, now())
            .expect("the rest of the dollar");
        assert_eq!(usage(&mut ledger), (0.6, 0.4));
        ledger.write_off(&second, now()).unwrap();
        assert_eq!(usage(&mut ledger), (1.0, 0.0));
    }

    #[test]
    fn a_job_that_costs_nothing_leaves_no_file() {
        let bench = Bench::new();
        let mut ledger = bench.open();
        ledger.settle(&attempt_key(1, 1), 0.0, now()).unwrap();
        assert_eq!(usage(&mut ledger), (0.0, 0.0));
        assert!(!ledger.path().exists());
    }

    #[test]
    fn whoever_is_in_a_hurry_does_not_wait_for_the_lock() {
        let bench = Bench::new();
        let mut ledger = bench.open();
        let held = FileLock::try_acquire(&ledger.lock).unwrap().unwrap();
        ledger.hurry().store(true, Ordering::SeqCst);
        let error = ledger.settle(&attempt_key(1, 1), 0.6, now()).unwrap_err();
        assert!(error.to_string().contains("has been locked"), "{error}");
        drop(held);
        ledger.settle(&attempt_key(1, 1), 0.6, now()).unwrap();
        assert_eq!(usage(&mut ledger), (0.6, 0.0));
    }

    /// What can become of a file while workers have it open.
    fn harms() -> Vec<fn(&Path)> {
        vec![
            |path| std::fs::remove_file(path).unwrap(),
            |path| std::fs::write(path, b"").unwrap(),
            |path| {
                let text = std::fs::read(path).unwrap();
                std::fs::write(path, &text[..text.len() / 2]).unwrap();
            },
            |path| {
                let text = std::fs::read_to_string(path).unwrap();
                std::fs::write(path, text.replace("0.6", "0.1")).unwrap();
            },
            |path| {
                let text = std::fs::read_to_string(path).unwrap();
                let first = text.lines().next().unwrap().to_owned() + "\n";
                std::fs::remove_file(path).unwrap();
                std::fs::write(path, first).unwrap();
            },
        ]
    }

    #[test]
    fn a_copy_that_is_harmed_is_mended_by_whoever_needs_it_next() {
        for harm in harms() {
            for name in ["tables/budget.jsonl", "runs/.budget/ledger.jsonl"] {
                let bench = Bench::new();
                let (mut spends, mut waits) = (bench.open(), bench.open());
                assert_eq!(usage(&mut waits), (0.0, 0.0));
                spends
                    .reserve(&attempt_key(1, 1), 0.6, DOLLAR, now())
                    .unwrap();
                spends.settle(&attempt_key(1, 1), 0.6, now()).unwrap();
                let whole = std::fs::read(spends.path()).unwrap();
                harm(&bench.workspace.root().join(name));
                assert_eq!(usage(&mut bench.open()), (0.6, 0.0), "{name}");
                let grant = waits
                    .reserve(&attempt_key(2, 1), 0.6, DOLLAR, now())
                    .unwrap();
                assert!(matches!(grant, Grant::No(_)), "{name}");
                assert_eq!(std::fs::read(spends.path()).unwrap(), whole, "{name}");
                spends.settle(&attempt_key(3, 1), 0.1, now()).unwrap();
                assert_eq!(usage(&mut waits), (0.7, 0.0), "{name}");
            }
        }
    }

    #[test]
    fn where_both_copies_are_harmed_whoever_knows_more_stops() {
        for harm in harms().into_iter().take(3) {
            let bench = Bench::new();
            let mut ledger = bench.open();
            ledger
                .reserve(&attempt_key(1, 1), 0.6, DOLLAR, now())
                .unwrap();
            for name in ["tables/budget.jsonl", "runs/.budget/ledger.jsonl"] {
                harm(&bench.workspace.root().join(name));
            }
            let error = ledger.reserve(&attempt_key(2, 1), 0.1, DOLLAR, now());
            let error = error.unwrap_err().to_string();
            assert!(error.contains("while this worker spent money"), "{error}");
            assert_eq!(usage(&mut ledger), (0.0, 0.6), "what is known, stays known");
        }
    }

    #[test]
    fn a_ledger_without_a_second_copy_gets_one_and_keeps_every_byte() {
        let bench = Bench::new();
        let mut ledger = bench.open();
        ledger
            .reserve(&attempt_key(1, 1), 0.6, DOLLAR, now())
            .unwrap();
        std::fs::remove_dir_all(bench.workspace.budget()).unwrap();
        bench.append(b"spoilt\n");
        let mut later = bench.open();
        assert_eq!(usage(&mut later), (0.0, 0.6));
        later.settle(&attempt_key(1, 1), 0.5, now()).unwrap();
        assert_eq!((usage(&mut later), later.damaged()), ((0.5, 0.0), 1));
        let copy = bench.workspace.budget().join("ledger.jsonl");
        assert_eq!(
            std::fs::read(copy).unwrap(),
            std::fs::read(later.path()).unwrap()
        );
    }
}
