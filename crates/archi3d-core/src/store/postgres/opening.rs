//! How a worker comes to a run, or to all of them: two connections, a look at the schema, an introduction.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::claim;
use super::connect::Connection;
use super::error::PgResult;
use super::following::Following;
use super::import;
use super::lines::Lines;
use super::link::Link;
use super::membership;
use super::spool::{self, Spool};
use super::together::Endings;
use super::url::StoreUrl;
use super::worker::{POLL, PgStore};
use crate::domain::id::RunId;
use crate::domain::naming;
use crate::store::error::{IoContext, StoreError};
use crate::store::{Artifacts, NoticeSink, StoreNotice, WorkerIdentity};
use crate::workspace::paths::Workspace;

/// What is said where messages do not arrive.
pub const UNHEARD: &str = "the server's notifications do not arrive (is there a connection pooler in between?); \
                           polling for new jobs once a second";

/// How long a lease lasts that is only held ahead: so soon others have the jobs of a worker that was killed.
const AHEAD: Duration = Duration::from_secs(10);

/// How long a spool is tried that is on its way out, and how long one that another worker sends for its dead worker.
const SOON: Duration = Duration::from_secs(1);
const USUAL_LEASE: Duration = Duration::from_secs(60);

/// What is needed to work on a run in PostgreSQL.
#[derive(Clone)]
pub struct PgStoreOptions {
    /// Where the server is.
    pub url: StoreUrl,
    /// The folder that the workers share.
    pub workspace: Workspace,
    /// The run.
    pub run_id: RunId,
    /// Who we are.
    pub identity: WorkerIdentity,
    /// How long a lease lasts without a beat; `None` means what the run says.
    pub lease: Option<Duration>,
    /// How many jobs run at once.
    pub slots: usize,
    /// Whether jobs are taken ahead and their endings kept here until they are sent with others.
    pub ahead: bool,
    /// Whether it rehearses: nothing is bought.
    pub rehearsal: bool,
    /// Where pictures and results lie.
    pub artifacts: Arc<dyn Artifacts>,
    /// A folder on this machine's own disk for what cannot be sent.
    pub spool: PathBuf,
    /// Where earlier versions kept it, if that is another folder.
    pub spool_before: Option<PathBuf>,
    /// The connections of a worker that serves many runs; its own for one that serves this run alone.
    pub lines: Option<Lines>,
    /// Where notices go.
    pub notices: NoticeSink,
}

/// Opens the spool of a worker, whose lock is that of its name on this machine. Whoever starts looks for what the dead
/// left, sends it and removes what is empty: one that comes back under its name waits for that, a lease at most.
fn own_spool(folder: &Path, worker: &str, lease: Option<Duration>) -> Result<Spool, StoreError> {
    let end = Instant::now() + lease.unwrap_or(USUAL_LEASE);
    let mut patience = Instant::now() + SOON;
    loop {
        if Spool::is_taken_over(folder) {
            patience = end.min(Instant::now() + SOON);
        }
        match Spool::open(folder) {
            Err(error)
                if Instant::now() < patience
                    && matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotFound) =>
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(name_in_use(worker)),
            opened => return opened.context("use the spool", folder),
        }
    }
}

/// Takes the lock of a worker's name on this machine, whichever run it serves.
pub(super) fn own_name(names: &Path, worker: &str, lease: Duration) -> Result<Spool, StoreError> {
    own_spool(&names.join(naming::spool_dir(worker)), worker, Some(lease))
}

fn name_in_use(worker: &str) -> StoreError {
    StoreError::Server {
        what: format!("a worker called {worker} is at work already"),
        hint: "give each worker a name of its own with --worker-id or WORKER_ID, or none; one that died on another \
               machine frees its name after one lease"
            .to_owned(),
        setup: true,
    }
}

/// A worker process that serves many runs: its name, its lines, and its place among the workers.
#[derive(Debug)]
pub struct Hand {
    lines: Lines,
    worker: String,
    lease: Duration,
    /// The lock of its name on this machine.
    _name: Spool,
}

impl Hand {
    /// Connects and introduces a worker that serves every run. Its leases last as long as each run says, unless `lease`
    /// says more.
    pub fn open(
        url: &StoreUrl,
        identity: &WorkerIdentity,
        slots: usize,
        lease: Duration,
        spool: &Path,
    ) -> Result<Self, StoreError> {
        let worker = identity.worker_id.to_string();
        let name = own_name(spool, &worker, lease)?;
        let lines = Lines::open(url, &worker)?;
        lines.limit(lease);
        introduce(&lines, identity, None, slots, lease, spool)?;
        Ok(Self {
            lines,
            worker,
            lease,
            _name: name,
        })
    }

    /// Returns the connections, for the runs that it serves.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Shows that it lives, whether it has jobs or not.
    pub fn beat(&self) -> PgResult<()> {
        let mut pulse = self.lines.pulse();
        pulse.open()?;
        claim::beat(pulse.connection(), &[], &self.worker, self.lease).map(drop)
    }

    /// Asks over the connection for work.
    pub fn ask<T>(&self, ask: impl FnOnce(&mut Connection) -> PgResult<T>) -> PgResult<T> {
        let mut work = self.lines.work();
        Link::open(&mut work)?;
        ask(&mut work)
    }

    /// Says goodbye.
    pub fn end(&self) -> PgResult<()> {
        self.ask(|c| membership::end(c, &self.worker))
    }
}

/// Introduces a worker for one run or for all.
fn introduce(
    lines: &Lines,
    identity: &WorkerIdentity,
    run_no: Option<i64>,
    slots: usize,
    lease: Duration,
    spool: &Path,
) -> Result<(), StoreError> {
    let worker = identity.worker_id.to_string();
    let spools = spool.parent().unwrap_or(spool);
    let spools = spool::name_of(spools).context("use the spools in", spools)?;
    let registered = membership::register(
        &mut lines.work(),
        &membership::Worker {
            worker_id: &worker,
            host: &identity.facts.host,
            pid: identity.pid,
            version: env!("CARGO_PKG_VERSION"),
            run_no,
            slots: u32::try_from(slots).unwrap_or(u32::MAX),
            lease,
            connecting: lines.age(),
            facts: &membership::facts(&spools),
        },
    )?;
    if registered {
        Ok(())
    } else {
        Err(name_in_use(&worker))
    }
}

impl PgStore {
    /// Connects to the store of a run and introduces this worker, unless that was done for all runs.
    pub fn open(options: PgStoreOptions) -> Result<Self, StoreError> {
        let worker = options.identity.worker_id.to_string();
        let spool = own_spool(
            &options.spool.join(naming::spool_dir(&worker)),
            &worker,
            options.lease,
        )?;
        if options.ahead {
            spool.is_busy();
        }
        let shared = options.lines.is_some();
        let lines = match options.lines {
            Some(lines) => lines,
            None => Lines::open(&options.url, &worker)?,
        };
        let run = import::run(&mut lines.work(), options.run_id.as_str())?;
        let run = run.ok_or_else(|| StoreError::Server {
            what: format!("run {} is not in the database", options.run_id),
            hint: format!(
                "hand it over: archi3d fleet push --run-id {}",
                options.run_id
            ),
            setup: true,
        })?;
        let news = Arc::new(AtomicBool::new(false));
        lines.listen(run.run_no, &news)?;
        let usual = Duration::from_secs(u64::from(run.lease_seconds));
        let lease = options.lease.unwrap_or(usual);
        if !shared {
            if !lines.is_heard() {
                (options.notices)(StoreNotice::Warning(UNHEARD.to_owned()));
            }
            lines.limit(lease);
            introduce(
                &lines,
                &options.identity,
                Some(run.run_no),
                options.slots,
                lease,
                &options.spool,
            )?;
        }
        let link = Link::new(
            lines,
            spool,
            (run.run_no, options.run_id.clone()),
            worker,
            lease,
            options.notices,
        );
        let paths = options.workspace.run(&options.run_id);
        let staging = paths.staging();
        fs::create_dir_all(&staging).context("create", &staging)?;
        Ok(Self {
            link: Arc::new(link),
            shared,
            paths,
            artifacts: options.artifacts,
            workspace: options.workspace,
            identity: options.identity,
            rehearsal: options.rehearsal,
            cursors: Mutex::default(),
            progress: Mutex::default(),
            endings: Endings::default(),
            following: Following::default(),
            sending: Mutex::default(),
            ahead: options.ahead.then(|| AHEAD.min(lease)),
            spools: options.spool,
            spools_before: options.spool_before,
            news,
            rare: Mutex::default(),
            unanswered: Mutex::default(),
            ended: Arc::new(AtomicBool::new(false)),
            closed: AtomicBool::new(false),
        })
    }

    /// Ends the worker; one that serves other runs too only listens no more.
    pub(super) fn leave(&self) -> PgResult<()> {
        if self.shared {
            // A connection that is gone listens to nothing.
            let _ = self.link.pulse().unlisten(self.link.run_no);
            return Ok(());
        }
        let worker = &self.link.worker;
        let ended = self.link.ask(POLL, |c| membership::end(c, worker));
        self.link.give_name_up();
        ended
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};

    use super::*;

    #[test]
    fn who_comes_back_waits_for_whoever_sends_what_it_left_and_not_for_a_namesake_at_work() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("w");
        drop(Spool::open(&path).expect("opened"));
        let taken = Spool::take_over(&path).expect("taken over");
        let (told, heard) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let opened = own_spool(&path, "w", Some(Duration::from_secs(60)));
                told.send(opened.is_ok()).expect("heard");
            });
            let early = heard.recv_timeout(SOON + Duration::from_millis(200));
            assert_eq!(early, Err(RecvTimeoutError::Timeout));
            drop(taken);
            assert_eq!(heard.recv(), Ok(true));
        });
        let _at_work = Spool::open(&path).expect("opened");
        assert!(own_spool(&path, "w", Some(Duration::from_secs(60))).is_err());
    }
}
