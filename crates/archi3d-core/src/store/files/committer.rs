//! The one thread of a process that writes the registry.
//!
//! It folds many jobs at a time: at once when it is idle, in batches when it is
//! busy, with a rest between folds so that other tools get their turn. It waits
//! for a busy lock as long as it takes; results are safe in the meantime.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::domain::patch::WorkerFacts;
use crate::domain::time::{Clock, Timestamp};
use crate::domain::traceparent::TraceParent;
use crate::platform::{self, fault};
use crate::store::error::{IoContext, StoreError};
use crate::store::{NoticeSink, StoreNotice};
use crate::trace;
use crate::workspace::durable;
use crate::workspace::lock::{FileLock, TableLock};
use crate::workspace::paths::{RunPaths, Workspace};

use super::journal::What;
use super::pen::Journal;
use super::projection::{self, Hint, Wanted};
use super::registry::Registry;

/// How a result's file answers that is there no more, or is no plain file any more.
const GONE: [io::ErrorKind; 2] = [io::ErrorKind::NotFound, io::ErrorKind::InvalidInput];

/// The least time between two changes of the table, whoever made the first.
const MIN_REST: Duration = Duration::from_millis(60);
/// A fold is followed by a rest of this many times its own duration, so that large
/// tables cost no more than a tenth of a core,
const REST_FACTOR: u32 = 9;
/// but never by a longer one than this.
const MAX_REST: Duration = Duration::from_secs(10);
/// With so many hints waiting only the time for which the table was locked counts:
/// long syncs make long rests, and what waits is kept in memory.
const MANY_HINTS: usize = 8 << 10;
/// How many times as long as we kept the table it is left to others, whatever waits.
const TABLE_REST_FACTOR: u32 = 4;
/// After this long a person hears that a lock is busy, and then every so often.
const TELL_AFTER: Duration = Duration::from_secs(2);
const TELL_AGAIN: Duration = Duration::from_secs(10);
/// How long to wait after a fold that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Up to this many results are synced file by file; beyond it the file system is.
const SYNC_SINGLY: usize = 8;

/// What the committer and the store share.
pub(super) struct Shared {
    pub(super) workspace: Workspace,
    pub(super) run_id: RunId,
    pub(super) paths: RunPaths,
    pub(super) journal: Journal,
    pub(super) registry: Mutex<Registry>,
    pub(super) facts: WorkerFacts,
    pub(super) notices: NoticeSink,
    pub(super) clock: Arc<dyn Clock>,
    /// Whether the names of the run's folders are known to be durable.
    pub(super) names_synced: AtomicBool,
    /// Set when waiting for others must end.
    pub(super) hurry: AtomicBool,
    /// Why nothing more may be claimed, if so.
    pub(super) trouble: Mutex<Option<String>>,
}

/// What a fold did.
pub(super) struct Folded {
    /// How many rows changed.
    pub(super) rows: usize,
    /// For how long others were kept from the table.
    locked: Duration,
}

impl Shared {
    /// Takes the registry's lock; nothing if told to hurry.
    pub(super) fn lock_table(&self) -> Result<Option<TableLock>, StoreError> {
        let path = self.workspace.registry_lock();
        TableLock::acquire(&self.workspace, self.patience(&path)).context("lock", &path)
    }

    /// Takes a lock however long it takes, telling the person when it is busy for
    /// long. Returns nothing if [`Shared::hurry`] ended the wait.
    pub(super) fn wait_for(&self, path: &Path) -> Result<Option<FileLock>, StoreError> {
        FileLock::acquire(path, self.patience(path)).context("lock", path)
    }

    /// Returns what hears how long a lock has been waited for.
    fn patience(&self, path: &Path) -> impl FnMut(Duration) -> bool {
        let shown = self.workspace.relative(path).unwrap_or_default();
        let mut told_at = Duration::ZERO;
        move |waited: Duration| {
            let due = if told_at.is_zero() {
                TELL_AFTER
            } else {
                told_at + TELL_AGAIN
            };
            if waited >= due {
                told_at = waited;
                (self.notices)(StoreNotice::WaitingFor {
                    lock: shown.clone(),
                    waited,
                });
            }
            !self.hurry.load(Ordering::SeqCst)
        }
    }

    /// Makes durable what rows are about to say: results' files, and the journal that vouches for every row. A row
    /// that outlives its record says less than nothing: `running`, and nobody knows whether anything was bought.
    fn make_durable(&self, hints: &[Cow<'_, Hint>]) -> Result<(), StoreError> {
        let beliefs = hints.iter().map(|hint| (&hint.job, &hint.wanted));
        let results: Vec<_> = beliefs
            .clone()
            .filter(|(_, wanted)| wanted.status == Status::Completed && !wanted.simulated)
            .collect();
        if results.len() > SYNC_SINGLY {
            self.sync_everything()?;
        } else {
            for (job, wanted) in &results {
                self.sync_result(job, wanted)?;
            }
            if !results.is_empty() {
                let outputs = self.paths.outputs();
                platform::sync_dir(&outputs).context("sync", &outputs)?;
            }
        }
        let mut beliefs = beliefs;
        if beliefs.any(|(_, wanted)| wanted.status != Status::Enqueued && !wanted.simulated) {
            self.sync_names()?;
            self.journal.sync().context("sync", self.journal.path())?;
        }
        Ok(())
    }

    /// Makes the names of the journal and of the run's folders survive a power
    /// loss; once is enough.
    pub(super) fn sync_names(&self) -> Result<(), StoreError> {
        if self.names_synced.load(Ordering::SeqCst) {
            return Ok(());
        }
        let run = self.paths.root();
        let folders = [
            self.paths.journals(),
            self.paths.state(),
            self.paths.outputs(),
            run.to_owned(),
        ];
        for folder in folders {
            platform::sync_dir(&folder).context("sync", &folder)?;
        }
        fault::here("names.synced");
        self.names_synced.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn sync_result(&self, job: &JobId, wanted: &Wanted) -> Result<(), StoreError> {
        let folder = self.paths.output(job);
        let mut folders = BTreeSet::from([folder.clone()]);
        for artifact in &wanted.artifacts {
            let path = folder.join(&artifact.name);
            folders.extend(path.parent().map(Path::to_owned));
            let file = match durable::open_plain(&path) {
                Ok(file) => file,
                // Moved away or replaced by a person since: nothing of it is left to sync.
                Err(error) if GONE.contains(&error.kind()) => continue,
                Err(error) => return Err(error).context("sync", &path),
            };
            file.sync_all().context("sync", &path)?;
        }
        fault::here("fold.result_synced");
        for folder in folders {
            match platform::sync_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other.context("sync", &folder)?,
            }
        }
        Ok(())
    }

    /// Syncs the whole file system, or each result where that cannot be done.
    pub(super) fn sync_everything(&self) -> Result<(), StoreError> {
        let state = self.paths.state();
        let folder = File::open(&state).context("open", &state)?;
        platform::sync_file_system(&folder).context("sync", &state)?;
        Ok(())
    }

    /// Projects `hints` into the registry; returns nothing if the wait for the lock
    /// was cut short.
    pub(super) fn fold<'a>(
        &self,
        hints: impl Iterator<Item = &'a Hint>,
        now: Timestamp,
    ) -> Result<Option<Folded>, StoreError> {
        let state = self.paths.state();
        let mut looked = Vec::new();
        for hint in hints {
            let hint = hint
                .look(&self.paths, &self.facts)
                .context("read markers in", &state)?;
            looked.extend(hint);
        }
        fault::here("fold.before");
        self.make_durable(&looked)?;
        fault::here("fold.synced");
        let Some(lock) = self.lock_table()? else {
            return Ok(None);
        };
        fault::here("fold.locked");
        let locked = Instant::now();
        let changed = self.fold_locked(&lock, &looked)?;
        fault::here("fold.saved");
        if changed > 0 {
            let what = What::Folded { rows: changed };
            self.journal
                .append(now, what)
                .context("append to", self.journal.path())?;
            fault::here("fold.noted");
        }
        Ok(Some(Folded {
            rows: changed,
            locked: locked.elapsed(),
        }))
    }

    fn fold_locked(&self, lock: &TableLock, hints: &[Cow<'_, Hint>]) -> Result<usize, StoreError> {
        let mut settled = Vec::with_capacity(hints.len());
        for hint in hints {
            let found = hint.settle(&self.paths, &self.facts);
            let Some(wanted) = found.context("read markers in", &self.paths.state())? else {
                continue;
            };
            // A claim or an ending that appeared since was not made durable here; its
            // own worker will fold it.
            let is_believed = matches!(wanted, Cow::Borrowed(_));
            let synced = is_believed || hint.wanted.patch == wanted.patch;
            if synced || wanted.status == Status::Enqueued || wanted.simulated {
                settled.push((&hint.job, wanted));
            }
        }
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        registry.change(lock, |table| {
            let settled = settled.iter().map(|(job, wanted)| (*job, wanted.as_ref()));
            let changed = projection::apply(table, &self.run_id, settled);
            if changed > 0 {
                fault::here("fold.applied");
            }
            Ok(changed)
        })
    }

    /// Sees to it that nothing more is claimed, or told to a thread that is gone, and
    /// that what is finished is durable; returns what to say.
    fn writer_panicked(&self, post: &Post) -> StoreError {
        let mut inbox = post.open();
        (inbox.closed, inbox.hints, inbox.traced) = (true, Vec::new(), Vec::new());
        drop(inbox);
        let durable = self.sync_everything().and_then(|()| {
            let synced = self.journal.sync();
            synced.context("sync", self.journal.path())
        });
        let results = match durable {
            Ok(()) => "finished results are on disk and the next start brings them in",
            Err(_) => "finished results may not be on disk yet",
        };
        let reason = format!(
            "the thread that writes tables/generations.csv panicked, which is a bug: {results}"
        );
        self.set_trouble(Some(reason.clone()));
        StoreError::Closed {
            run_id: self.run_id.to_string(),
            reason,
        }
    }

    /// Notes that nothing more may be claimed.
    pub(super) fn set_trouble(&self, reason: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = reason;
    }

    /// Returns why nothing more may be claimed.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// What the threads of the pool leave for the committer.
#[derive(Default)]
struct Inbox {
    hints: Vec<Hint>,
    /// The spans of the jobs that they are about.
    traced: Vec<TraceParent>,
    /// Nobody will leave anything any more; what is there is folded without rest.
    closed: bool,
}

/// The inbox and how to tell of its first hint, and of very many. Others wake nobody:
/// a busy worker would otherwise wake the committer twice a job, for nothing.
#[derive(Default)]
struct Post {
    inbox: Mutex<Inbox>,
    news: Condvar,
}

impl Post {
    fn open(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The handle on the thread.
pub(super) struct Committer {
    shared: Arc<Shared>,
    post: Arc<Post>,
    thread: Mutex<Option<JoinHandle<Result<(), StoreError>>>>,
}

impl Committer {
    /// Starts the thread.
    pub(super) fn start(shared: Arc<Shared>) -> io::Result<Self> {
        let (post, shared_too) = (Arc::new(Post::default()), shared.clone());
        let thread = thread::Builder::new().name("committer".into()).spawn({
            let post = post.clone();
            move || {
                let fold = || Loop::new(shared.clone(), post.clone()).run();
                let ended = catch_unwind(AssertUnwindSafe(fold));
                ended.unwrap_or_else(|_| Err(shared.writer_panicked(&post)))
            }
        })?;
        Ok(Self {
            shared: shared_too,
            post,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Tells the thread that a job's row may be behind.
    pub(super) fn hint(&self, hint: Hint) {
        let mut inbox = self.post.open();
        // After the end there is nobody to tell; recovery reads the markers.
        if inbox.closed {
            return;
        }
        inbox.hints.push(hint);
        inbox.traced.extend(trace::outermost());
        let waiting = inbox.hints.len();
        drop(inbox);
        if waiting == 1 || waiting == MANY_HINTS {
            self.post.news.notify_one();
        }
    }

    /// Folds everything hinted so far, without resting, and ends the thread.
    pub(super) fn stop(&self) -> Result<(), StoreError> {
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(thread) = thread else {
            return Ok(());
        };
        self.post.open().closed = true;
        self.post.news.notify_one();
        let panicked = |_| Err(self.shared.writer_panicked(&self.post));
        thread.join().unwrap_or_else(panicked)
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

struct Loop {
    shared: Arc<Shared>,
    post: Arc<Post>,
    pending: BTreeMap<JobId, Hint>,
    traced: Vec<TraceParent>,
    /// Until when the table is left to others, whatever waits,
    table_rest_until: Instant,
    /// and until when the disk is, unless much waits.
    rest_until: Instant,
    last_complaint: Option<String>,
}

impl Loop {
    fn new(shared: Arc<Shared>, post: Arc<Post>) -> Self {
        Self {
            shared,
            post,
            pending: BTreeMap::new(),
            traced: Vec::new(),
            table_rest_until: Instant::now(),
            rest_until: Instant::now(),
            last_complaint: None,
        }
    }

    /// Folds until the inbox is closed and returns how the last fold went.
    fn run(mut self) -> Result<(), StoreError> {
        loop {
            self.wait_for_hints();
            if self.rest() {
                return self.fold_all().map(drop);
            }
            self.fold_and_rest();
        }
    }

    /// Waits until there is something to fold or everything ends.
    fn wait_for_hints(&mut self) {
        if !self.pending.is_empty() {
            return;
        }
        let inbox = self.post.open();
        let idle = |inbox: &mut Inbox| inbox.hints.is_empty() && !inbox.closed;
        let inbox = self.post.news.wait_while(inbox, idle);
        drop(inbox.unwrap_or_else(PoisonError::into_inner));
        let earliest = Instant::now() + MIN_REST.saturating_sub(self.table_age());
        self.table_rest_until = self.table_rest_until.max(earliest);
    }

    /// Lets others have their turn; tells whether everything ends.
    fn rest(&self) -> bool {
        self.sleep_until(self.table_rest_until, |_| true)
            || self.sleep_until(self.rest_until, |inbox| inbox.hints.len() < MANY_HINTS)
    }

    /// Sleeps while `idle` holds, until a time or the end; tells whether it is the end.
    fn sleep_until(&self, time: Instant, idle: impl Fn(&Inbox) -> bool) -> bool {
        let inbox = self.post.open();
        let rest = time.saturating_duration_since(Instant::now());
        let waits = |inbox: &mut Inbox| !inbox.closed && idle(inbox);
        let waited = self.post.news.wait_timeout_while(inbox, rest, waits);
        waited.unwrap_or_else(PoisonError::into_inner).0.closed
    }

    /// Returns how long ago anybody changed the table.
    fn table_age(&self) -> Duration {
        std::fs::symlink_metadata(self.shared.workspace.registry())
            .and_then(|metadata| metadata.modified())
            .ok()
            .and_then(|changed| changed.elapsed().ok())
            .unwrap_or(MIN_REST)
    }

    fn fold_and_rest(&mut self) {
        let start = Instant::now();
        match self.fold_all() {
            Ok(locked) => {
                let rest = |time: Duration| Instant::now() + time.clamp(MIN_REST, MAX_REST);
                self.table_rest_until = rest(locked * TABLE_REST_FACTOR);
                self.rest_until = rest(start.elapsed() * REST_FACTOR);
            }
            Err(error) => {
                self.complain(&error);
                self.table_rest_until = Instant::now() + RETRY_PAUSE;
            }
        }
    }

    /// Folds everything there is; returns for how long the table was locked.
    fn fold_all(&mut self) -> Result<Duration, StoreError> {
        // Of two hints for a job the later one counts.
        let began = Instant::now();
        let mut inbox = self.post.open();
        let hints = std::mem::take(&mut inbox.hints);
        self.traced.append(&mut inbox.traced);
        drop(inbox);
        let hints = hints.into_iter().map(|hint| (hint.job.clone(), hint));
        self.pending.extend(hints);
        if self.pending.is_empty() {
            return Ok(Duration::ZERO);
        }
        let now = self.shared.clock.now();
        match self.shared.fold(self.pending.values(), now) {
            Ok(Some(folded)) => {
                self.pending.clear();
                for job in self.traced.drain(..) {
                    trace::past("fold", job, began, Instant::now());
                }
                self.recovered();
                Ok(folded.locked)
            }
            Ok(None) => Err(StoreError::Closed {
                run_id: self.shared.run_id.to_string(),
                reason: format!(
                    "{} rows are not in the registry yet because its lock is busy; \
                     their results are safe and the next start brings them in",
                    self.pending.len()
                ),
            }),
            Err(error) => Err(error),
        }
    }

    fn complain(&mut self, error: &StoreError) {
        let busy = matches!(error, StoreError::Io { source, .. } if platform::is_busy(source));
        let reason = describe(error);
        if !busy {
            self.shared.set_trouble(Some(reason.clone()));
        }
        if self.last_complaint.as_ref() != Some(&reason) {
            (self.shared.notices)(StoreNotice::RegistryBlocked {
                reason: reason.clone(),
            });
            self.last_complaint = Some(reason);
        }
    }

    fn recovered(&mut self) {
        if self.last_complaint.take().is_some() {
            self.shared.set_trouble(None);
        }
    }
}

/// Returns an error with its cause on one line.
pub(super) fn describe(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
