//! How a worker comes to a run: two connections, a look at the schema, an introduction.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connect::Connection;
use super::crew;
use super::import;
use super::link::Link;
use super::listen::Pulse;
use super::migrate;
use super::spool::Spool;
use super::together::Endings;
use super::url::StoreUrl;
use super::worker::{POLL, PgStore};
use crate::domain::id::RunId;
use crate::store::error::{IoContext, StoreError};
use crate::store::{Artifacts, NoticeSink, StoreNotice, WorkerIdentity};
use crate::workspace::paths::Workspace;

/// How long the thread that listens keeps beats waiting at most, and how long it leaves the connection to them.
const HEAR: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(40));

/// How long a lease lasts that is only held ahead: so soon others have the jobs of a worker that was killed.
const AHEAD: Duration = Duration::from_secs(10);

/// How long nobody may say anything before the server counts as away: at least, and at most.
const SILENCE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(30));

/// So often a spool is tried that another worker looks into this moment, every 20 ms.
const LOOKS: u32 = 50;

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
    /// Where notices go.
    pub notices: NoticeSink,
}

/// Opens the spool of a worker, whose lock is that of its name on this machine.
fn own_spool(folder: &Path, worker: &str) -> Result<Spool, StoreError> {
    let mut looks = 0;
    loop {
        match Spool::open(folder) {
            // Whoever starts looks for what the dead left, and removes what is empty.
            Err(error)
                if looks < LOOKS
                    && matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotFound) =>
            {
                looks += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(name_in_use(worker)),
            opened => return opened.context("use the spool", folder),
        }
    }
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

impl PgStore {
    /// Connects to the store of a run and introduces this worker.
    pub fn open(options: PgStoreOptions) -> Result<Self, StoreError> {
        let worker = options.identity.worker_id.to_string();
        let spool = own_spool(&options.spool.join(&worker), &worker)?;
        let name = format!("archi3d/{worker}");
        let mut work = Connection::open(&options.url, &name)?;
        migrate::require(&mut work)?;
        let run = import::run(&mut work, options.run_id.as_str())?;
        let run = run.ok_or_else(|| StoreError::Server {
            what: format!("run {} is not in the database", options.run_id),
            hint: format!(
                "hand it over: archi3d fleet push --run-id {}",
                options.run_id
            ),
            setup: true,
        })?;
        let mut pulse = Pulse::new(Connection::open(&options.url, &format!("{name} pulse"))?);
        let heard = pulse.probe(&mut work)?;
        work.note_serving()?;
        if heard {
            pulse.listen(run.run_no)?;
        } else {
            (options.notices)(StoreNotice::Warning(
                "the server's messages do not arrive (a connection pooler stands between); \
                 new jobs are looked for once a second"
                    .to_owned(),
            ));
        }
        let usual = Duration::from_secs(u64::from(run.lease_seconds));
        let lease = options.lease.unwrap_or(usual);
        let limit = (lease / 3).clamp(SILENCE.0, SILENCE.1);
        work.limit(Some(limit));
        pulse.connection().limit(Some(limit));
        let facts = &options.identity.facts;
        let slots = u32::try_from(options.slots).unwrap_or(u32::MAX);
        let registered = crew::register(
            &mut work,
            &crew::Worker {
                worker_id: &worker,
                host: &facts.host,
                pid: options.identity.pid,
                version: env!("CARGO_PKG_VERSION"),
                run_no: Some(run.run_no),
                slots,
                lease,
                facts: "{}",
            },
        )?;
        if !registered {
            return Err(name_in_use(&worker));
        }
        let link = Link::new(
            (work, pulse),
            spool,
            (run.run_no, options.run_id.clone()),
            worker,
            lease,
            options.notices,
        );
        let paths = options.workspace.run(&options.run_id);
        let staging = paths.staging();
        fs::create_dir_all(&staging).context("create", &staging)?;
        let store = Self {
            link: Arc::new(link),
            paths,
            artifacts: options.artifacts,
            workspace: options.workspace,
            identity: options.identity,
            rehearsal: options.rehearsal,
            cursors: Mutex::default(),
            progress: Mutex::default(),
            endings: Endings::default(),
            sending: Mutex::default(),
            ahead: options.ahead.then(|| AHEAD.min(lease)),
            spools: options.spool,
            news: Arc::new(AtomicBool::new(false)),
            rare: Mutex::new(Instant::now()),
            unanswered: AtomicBool::new(false),
            ended: Arc::new(AtomicBool::new(false)),
            closed: AtomicBool::new(false),
        };
        if heard {
            store.listen();
        }
        Ok(store)
    }

    /// Hears of news until the store is closed. What it misses the next poll finds.
    fn listen(&self) {
        let (pulse, news, ended) = (
            self.link.shared_pulse(),
            Arc::clone(&self.news),
            Arc::clone(&self.ended),
        );
        std::thread::spawn(move || {
            while !ended.load(Ordering::SeqCst) {
                let heard = {
                    let mut pulse = pulse.lock().unwrap_or_else(PoisonError::into_inner);
                    pulse.open().and_then(|()| pulse.hear(HEAR.0))
                };
                match heard {
                    Ok(Some(_)) => news.store(true, Ordering::SeqCst),
                    Ok(None) => std::thread::sleep(HEAR.1),
                    Err(_) => {
                        // Whatever was said meanwhile was not heard.
                        news.store(true, Ordering::SeqCst);
                        std::thread::sleep(POLL);
                    }
                }
            }
        });
    }
}
