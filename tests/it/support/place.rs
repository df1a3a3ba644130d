//! A workspace with a run, opened as `ops` opens it: in its files, or handed over to a server by the program.
//!
//! Time is the test's: [`Place::at`] moves the clock of the place, which is the server's where it has one.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use archi3d_core::domain::content::ContentKey;
use archi3d_core::domain::id::{JobId, RunId};
use archi3d_core::domain::job::Entry;
use archi3d_core::domain::lease::{Lease, Rhythm};
use archi3d_core::domain::naming::StateFile;
use archi3d_core::domain::patch::{self, DRY_RUN, Price, Product, Span};
use archi3d_core::domain::time::{Clock, Timestamp};
use archi3d_core::platform;
use archi3d_core::store::backend::FleetRequest;
use archi3d_core::store::{self, Backend, Ending, OpenRun, Opening, Outcome, Runs, WorkerIdentity};
use archi3d_core::workspace::artifact;
use archi3d_core::workspace::lock::{self, FileLock};
use archi3d_core::workspace::paths::Workspace;

use super::bench::{at, facts, run_id, take, worker_id};
use super::mocks::jobs_of;
use super::wait_until;
use super::workspace::TestWorkspace;

/// A clock that a test moves, in seconds after the tests' beginning of time.
#[derive(Default)]
struct Moment(AtomicU64);

impl Clock for Moment {
    fn now(&self) -> Timestamp {
        at(self.0.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

/// A workspace with a run of some algorithms, in one of the places where runs live.
pub struct Place {
    pub workspace: TestWorkspace,
    pub backend: Arc<dyn Backend>,
    clock: Arc<Moment>,
    #[cfg(all(target_os = "linux", feature = "postgres"))]
    server: Option<Mutex<crate::fleet::Fleet>>,
}

/// Makes a run with a job of each algorithm on some kind of place; the function is what happens on files before the run
/// comes to its place.
pub type MakePlace = fn(&[&str], &dyn Fn(&Place)) -> Place;

impl Place {
    /// Makes a run in files.
    pub fn files(algos: &[&str], before: &dyn Fn(&Self)) -> Self {
        let mut known: Vec<(&str, &str)> = algos.iter().map(|algo| (*algo, "")).collect();
        known.sort_unstable();
        known.dedup();
        let workspace = jobs_of(&known, algos);
        let clock = Arc::new(Moment::default());
        let shared: Arc<dyn Clock> = clock.clone();
        let place = Self {
            backend: store::local(&Workspace::new(workspace.root()), &shared),
            workspace,
            clock,
            #[cfg(all(target_os = "linux", feature = "postgres"))]
            server: None,
        };
        before(&place);
        place
    }

    /// Makes a run in files and hands it over to a server.
    #[cfg(all(target_os = "linux", feature = "postgres"))]
    pub fn server(algos: &[&str], before: &dyn Fn(&Self)) -> Self {
        use archi3d_core::store::fleet::{Lookup, Site, fleet};

        let place = Self::files(algos, before);
        let server = crate::fleet::Fleet::on_test_time().expect("there is a server");
        let _ = server.push(&place.workspace);
        let spool = place.workspace.outside().join("spool");
        let variables: Lookup = Arc::new(move |name| {
            (name == "ARCHI3D_SPOOL").then(|| spool.to_string_lossy().into_owned())
        });
        let site = Site {
            workspace: Workspace::new(place.workspace.root()),
            clock: place.clock.clone(),
            user: "tester".to_owned(),
            host: "testhost".to_owned(),
            variables: variables.clone(),
            variables_now: variables,
            artifacts: None,
        };
        let opened = fleet(site, (&server.url, "a test"), &Arc::default());
        let place = Self {
            backend: opened.expect("a URL that can be used"),
            server: Some(Mutex::new(server)),
            ..place
        };
        place.at(place.clock.0.load(Ordering::SeqCst));
        place
    }

    /// Lets it be `seconds` after the beginning, and returns that moment.
    pub fn at(&self, seconds: u64) -> Timestamp {
        let now = at(seconds);
        self.clock.0.store(seconds, Ordering::SeqCst);
        // Whoever lives has beaten meanwhile.
        self.change(&format!(
            "DELETE FROM test_time.moment; INSERT INTO test_time.moment VALUES ('{0}');
             UPDATE archi3d.workers SET last_seen = '{0}' WHERE last_seen > 'epoch'",
            now.fixed_width()
        ));
        now
    }

    /// Changes the server's tables, if there is one.
    fn change(&self, sql: &str) {
        #[cfg(all(target_os = "linux", feature = "postgres"))]
        if let Some(server) = &self.server {
            server.lock().expect("no test panics in it").change(sql);
        }
        #[cfg(not(all(target_os = "linux", feature = "postgres")))]
        let _ = sql;
    }

    /// Returns the runs, as a person who asks now sees them.
    pub fn runs(&self) -> Arc<dyn Runs> {
        self.backend.runs().expect("it answers")
    }

    /// Opens the run for a worker and recovers it.
    pub fn worker(&self, worker: &str) -> OpenRun {
        let run = self.backend.open(opening(worker)).expect("it opens");
        run.store.recover(self.clock.now()).expect("recovered");
        run
    }

    /// Lets a worker die.
    pub fn die(&self, run: OpenRun) {
        let worker = run.identity.worker_id.clone();
        drop(run);
        let paths = Workspace::new(self.workspace.root()).run(&run_id());
        let journal = paths.journal(&worker);
        wait_until("nobody holds the journal any more", || {
            !lock::is_held(&journal).unwrap_or(false)
        });
        self.change(&format!(
            "UPDATE archi3d.jobs SET lease_expires_at = 'epoch' WHERE lease_owner = '{worker}';
             UPDATE archi3d.workers SET last_seen = 'epoch' WHERE worker_id = '{worker}'"
        ));
    }

    /// Returns the id of a job, from 0.
    pub fn job(&self, index: usize) -> JobId {
        JobId::parse(self.workspace.id(index)).expect("a valid id")
    }

    /// Takes a job and ends it with this result.
    pub fn make(&self, run: &OpenRun, job: usize, entry: Entry, result: &Result) -> Lease {
        let begun = self.clock.0.load(Ordering::SeqCst);
        let lease = take(&*run.store, &self.job(job), entry, self.at(begun));
        let ending = result.ending(&lease);
        self.at(begun + result.seconds);
        run.store.finish(&lease, ending).expect("finished");
        lease
    }

    /// Returns everything that is on record, so that what changes it can be told.
    pub fn records(&self) -> Vec<String> {
        let tree = self.workspace.tree().into_iter();
        #[cfg_attr(
            not(feature = "postgres"),
            allow(unused_mut, reason = "one store only")
        )]
        let mut all: Vec<String> = tree.map(|(name, mark)| format!("{name} {mark}")).collect();
        #[cfg(all(target_os = "linux", feature = "postgres"))]
        if let Some(server) = &self.server {
            all.extend(server.lock().expect("no test panics in it").records());
        }
        all
    }

    /// Does something while others hold every lock that workers wait for.
    pub fn while_locked<T>(&self, act: impl FnOnce() -> T) -> T {
        let workspace = Workspace::new(self.workspace.root());
        let paths = workspace.run(&run_id());
        let mut locks = vec![workspace.registry_lock()];
        locks.extend(
            (0..self.workspace.jobs().len())
                .map(|n| paths.state_file(&self.job(n), StateFile::Lock)),
        );
        let held: Vec<FileLock> = locks
            .iter()
            .filter_map(|path| FileLock::try_acquire(path).expect("locks work"))
            .collect();
        assert_eq!(held.len(), locks.len());
        #[cfg(all(target_os = "linux", feature = "postgres"))]
        let rows = self.server.as_ref().map(|server| {
            let server: MutexGuard<'_, _> = server.lock().expect("no test panics in it");
            server.lock_rows()
        });
        let answer = act();
        #[cfg(all(target_os = "linux", feature = "postgres"))]
        drop(rows);
        drop(held);
        answer
    }
}

/// Returns how the run is opened for a worker called so.
pub fn opening(worker: &str) -> Opening {
    Opening {
        run_id: run_id(),
        identity: WorkerIdentity {
            worker_id: worker_id(worker),
            pid: std::process::id(),
            boot_id: platform::boot_id(),
            facts: facts(worker),
        },
        rhythm: Rhythm::default(),
        rehearsal: false,
        allow_unsafe_locks: false,
        slots: 1,
        fleet: FleetRequest::default(),
        notices: Arc::new(|_| {}),
    }
}

/// A result that brings a model.
#[derive(Clone)]
pub struct Result {
    pub model: &'static str,
    pub seconds: u64,
    pub simulated: bool,
    pub version: Option<&'static str>,
    pub key: Option<ContentKey>,
}

impl Result {
    /// A real result of one second.
    pub fn real() -> Self {
        Self {
            model: "model",
            seconds: 1,
            simulated: false,
            version: Some("v1"),
            key: None,
        }
    }

    /// The ending of an attempt that made this.
    pub fn ending(&self, lease: &Lease) -> Ending {
        fs::write(lease.staging.join("generated.glb"), self.model).expect("staging is writable");
        let files = artifact::inventory(&lease.staging).expect("plain files");
        let source = self.simulated.then(|| DRY_RUN.to_owned());
        let product = Product {
            object: format!(
                "runs/{}/outputs/{}/generated.glb",
                lease.run_id, lease.job_id
            ),
            previews: Vec::new(),
            algo_version: self.version.map(str::to_owned),
            price: Price {
                source,
                ..Price::default()
            },
        };
        let took = Duration::from_secs(self.seconds);
        let span = Span {
            start: lease.claimed_at,
            duration: took,
        };
        Ending {
            outcome: Outcome::Completed {
                simulated: self.simulated,
                artifacts: files,
            },
            patch: patch::completed(span, &facts(lease.worker_id.as_str()), &product),
            cost_usd: None,
            content_key: self.key.clone(),
            at: lease.claimed_at.plus(took),
        }
    }
}

/// Returns the id of a run that is nowhere.
pub fn no_run() -> RunId {
    RunId::parse("r-none").expect("a valid id")
}
