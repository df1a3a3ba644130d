//! `fleet push`: hands a run over, whole, with all that is known of its jobs.
//!
//! The order is what keeps a file worker and a worker of the fleet from buying the same: first the mark `pushing`, which
//! keeps workers on files off; then the run is recovered and read; then all of its jobs become visible in one transaction;
//! then its markers are put aside and the mark says `pushed`. Cut short anywhere, the same command goes on from there.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::PgFleet;
use super::bytes::{self, Pictures};
use crate::domain::id::RunId;
use crate::domain::lease::Rhythm;
use crate::domain::money::Usd;
use crate::domain::text::shell_word;
use crate::domain::time::Timestamp;
use crate::platform::fault;
use crate::store::bounds::refuse_links_outside;
use crate::store::error::{IoContext, StoreError};
use crate::store::files::{
    FileRuns, FileStore, FileStoreOptions, HandedJob, HandedRun, LedgerFile, retire_markers,
};
use crate::store::fleet::{PushRequest, Pushed};
use crate::store::postgres::hand_over::{self, ComingJob};
use crate::store::postgres::import::{self, MAX_ATTEMPTS, NewJob, NewRun};
use crate::store::postgres::record::{Payload, Picture};
use crate::store::postgres::{Connection, PgError};
use crate::store::{Runs as _, WorkerIdentity, WorkerStore as _, manifest};
use crate::workspace::fleet::{FleetMark, FleetState};
use crate::workspace::lock::FileLock;
use crate::workspace::paths::RunPaths;

/// From so many new jobs on the server is asked to gather statistics at once.
const MANY: usize = 10_000;

/// Hands a run over, or what is new of one that was handed over before.
pub(super) fn push(
    context: &PgFleet,
    request: &PushRequest,
    identity: &dyn Fn() -> WorkerIdentity,
    provider_of: &dyn Fn(&str) -> Option<String>,
) -> Result<Pushed, StoreError> {
    let run_id = &request.run_id;
    let paths = context.workspace.run(run_id);
    if !paths.root().is_dir() {
        return Err(StoreError::Refused {
            message: format!("run {run_id} does not exist"),
            hint: Some("`archi3d run list` shows the runs".into()),
        });
    }
    refuse_links_outside(&context.workspace, Some(run_id))?;
    let wake = context.wake(None)?;
    let mut connection = context.connect("push")?;
    hand_over::may_write(&mut connection)?;
    let _alone = lock(&paths, run_id)?;
    let (mark, ours) = marked(context, request, &mut connection, &paths)?;
    let mut push = Push {
        context,
        request,
        provider_of,
        paths: &paths,
        mark,
        sent: false,
    };
    let done = push.carry_out(&mut connection, identity);
    if done.is_err() && ours && !push.sent {
        // Nothing of it is in the database: it lives in files as before.
        FleetMark::remove(&paths).context("remove", &paths.fleet())?;
    }
    let mut pushed = done?;
    if let Some(wake) = wake
        && let Some(run) = import::run(&mut connection, run_id.as_str())?
        && let Err(error) = wake.tell(run.run_no)
    {
        let warning = format!("Redis could not be notified ({error}); workers poll the database");
        pushed.warnings.push(warning);
    }
    if pushed.added >= MANY {
        // The server does it by itself otherwise, in the middle of the work; not everybody may ask for it.
        let _ = import::tidy(&mut connection);
    }
    Ok(pushed)
}

/// Lets one at a time in.
fn lock(paths: &RunPaths, run_id: &RunId) -> Result<FileLock, StoreError> {
    let state = paths.state();
    std::fs::create_dir_all(&state).context("create", &state)?;
    let path = paths.push_lock();
    let held = FileLock::try_acquire(&path).context("lock", &path)?;
    held.ok_or_else(|| StoreError::Refused {
        message: format!("another process is pushing run {run_id} now"),
        hint: Some("`archi3d fleet runs` shows it when that is done; nothing was changed".into()),
    })
}

/// Returns the mark of the run, and whether it is a new one.
fn marked(
    context: &PgFleet,
    request: &PushRequest,
    connection: &mut Connection,
    paths: &RunPaths,
) -> Result<(FleetMark, bool), StoreError> {
    let run_id = &request.run_id;
    if let Some(mark) = FleetMark::read(paths).context("read", &paths.fleet())? {
        let known = super::pushed_run(connection, run_id, &mark)?.is_some();
        let elsewhere = mark.server != connection.url().to_string();
        if !known && (mark.state != FleetState::Pushing || elsewhere) {
            return Err(super::unknown_run(context, run_id, &mark));
        }
        return Ok((mark, false));
    }
    let mark = FleetMark {
        v: 1,
        state: FleetState::Pushing,
        pulled: false,
        push: Uuid::new_v4().simple().to_string(),
        run_id: run_id.to_string(),
        server: connection.url().to_string(),
        database: connection.url().database.clone(),
        pushed_at: context.clock.now(),
        pushed_by: context.by(),
    };
    super::pushed_run(connection, run_id, &mark)?;
    // A run that cannot be opened must leave no trace.
    manifest::read(paths)?;
    fault::here("push.before");
    if !mark.create(paths).context("write", &paths.fleet())? {
        return Err(StoreError::Refused {
            message: format!("another process is pushing run {run_id} now"),
            hint: Some("try again later; nothing was changed".into()),
        });
    }
    fault::here("push.marked");
    Ok((mark, true))
}

struct Push<'a> {
    context: &'a PgFleet,
    request: &'a PushRequest,
    provider_of: &'a dyn Fn(&str) -> Option<String>,
    paths: &'a RunPaths,
    mark: FleetMark,
    /// Whether the jobs were sent, so that they may be in the database whatever was answered.
    sent: bool,
}

/// What the transaction did.
struct Imported {
    added: usize,
    again: bool,
    handed: HandedRun,
}

impl Push<'_> {
    fn carry_out(
        &mut self,
        connection: &mut Connection,
        identity: &dyn Fn() -> WorkerIdentity,
    ) -> Result<Pushed, StoreError> {
        let now = self.context.clock.now();
        let store = FileStore::open_any(FileStoreOptions {
            workspace: self.context.workspace.clone(),
            run_id: self.request.run_id.clone(),
            identity: identity(),
            rhythm: Rhythm::default(),
            rehearsal: false,
            allow_unsafe_locks: false,
            notices: Arc::new(|_| ()),
            clock: self.context.clock.clone(),
        })?;
        let warnings = self.settle(&store, now)?;
        let run = import::run(connection, self.request.run_id.as_str())?;
        let (again, known) = (run.is_some(), run.and_then(|run| run.artifacts_url));
        let said = self.request.artifacts.as_deref();
        let pictures = if again && known.is_none() && said.is_none() {
            Pictures::default()
        } else {
            let known = known.as_deref();
            bytes::put_pictures(self.context, said, known, self.paths)?
        };
        if again && known.is_none() && pictures.place.is_some() {
            return Err(StoreError::Refused {
                message: format!(
                    "run {} was pushed before, with its files in the workspace",
                    self.request.run_id
                ),
                hint: Some("leave --artifacts out; a new run can have its files elsewhere".into()),
            });
        }
        fault::here("push.pictures_put");
        let imported = self.import(connection, &store, &pictures, now)?;
        fault::here("push.committed");
        drop(store);
        if self.mark.state == FleetState::Pushing {
            retire_markers(self.paths)?;
            fault::here("push.retired");
            self.mark.state = FleetState::Pushed;
            let path = self.paths.fleet();
            self.mark.replace(self.paths).context("write", &path)?;
            fault::here("push.done");
        }
        let path = self.paths.fleet();
        let noted = self.mark.note_pulled(self.paths, false);
        noted.context("write", &path)?;
        Ok(Pushed {
            run_id: self.request.run_id.clone(),
            server: connection.url().to_string(),
            database: connection.url().database.clone(),
            added: imported.added,
            known: imported.handed.jobs - imported.added.min(imported.handed.jobs),
            again: imported.again,
            pushed_by: self.mark.pushed_by.clone(),
            artifacts: pictures.place,
            pictures_put: pictures.sent,
            bytes_put: pictures.bytes,
            warnings: [warnings, imported.handed.warnings].concat(),
        })
    }

    /// Brings a run that lived in files to rest: nobody works on it, and what the dead left is told.
    fn settle(&self, store: &FileStore, now: Timestamp) -> Result<Vec<String>, StoreError> {
        if self.mark.state == FleetState::Pushed {
            store.close(now)?;
            return Ok(Vec::new());
        }
        if let Some(who) = store.others_at_work(now)? {
            store.close(now)?;
            let run = shell_word(self.request.run_id.as_str());
            return Err(StoreError::Refused {
                message: format!("run {} is being worked on: {who}", self.request.run_id),
                hint: Some(format!(
                    "stop that worker or wait for it, then `archi3d fleet push --run-id {run}`; nothing was changed"
                )),
            });
        }
        let recovery = store.recover(now)?;
        store.close(now)?;
        fault::here("push.recovered");
        Ok(recovery.warnings)
    }

    fn import(
        &mut self,
        connection: &mut Connection,
        store: &FileStore,
        pictures: &Pictures,
        now: Timestamp,
    ) -> Result<Imported, StoreError> {
        let header = store.registry_header()?;
        let ledger = LedgerFile::read_by_job(&self.context.workspace, &self.request.run_id)?;
        let files = FileRuns::new(self.context.workspace.clone(), self.context.clock.clone());
        let algos = files.algos(&self.request.run_id)?;
        // Trouble that is not the server's ends the transaction; what it was is told afterwards.
        let mut trouble: Option<StoreError> = None;
        let url = connection.url().clone();
        let sent = &mut self.sent;
        let (context, request, mark) = (self.context, self.request, &self.mark);
        let provider_of = self.provider_of;
        let imported = connection.transaction(|connection| {
            hand_over::prepare(connection)?;
            let place = pictures.place.as_deref();
            let run = add_run(connection, request, mark, context, (&header, place))?;
            if !run.is_new
                && let Some(known) = import::run(connection, request.run_id.as_str())?
                && let Err(error) = super::same_push(&url, known, &request.run_id, mark)
            {
                // Somebody else pushed another run of this name since we looked.
                trouble = Some(error);
                return Err(not_ours());
            }
            let mut position = hand_over::last_position(connection, run.run_no)?;
            let mut added = 0;
            let mut page = |jobs: Vec<HandedJob>| -> Result<(), Trouble> {
                let coming: Vec<ComingJob> = jobs
                    .into_iter()
                    .map(|job| {
                        position += 1;
                        coming(provider_of, job, position, pictures)
                    })
                    .collect();
                added += hand_over::add(
                    connection,
                    run.run_no,
                    request.run_id.as_str(),
                    &coming,
                    request.priority,
                    MAX_ATTEMPTS,
                )?;
                fault::here("push.page_sent");
                Ok(())
            };
            let handed = match store.hand_over(run.is_new, now, &mut page) {
                Ok(handed) => handed,
                Err(Trouble::Server(error)) => return Err(error),
                Err(Trouble::Files(error)) => {
                    trouble = Some(error);
                    return Err(not_ours());
                }
            };
            if run.is_new {
                let mut spent_by_algo: BTreeMap<String, Usd> = BTreeMap::new();
                for (job, usd) in ledger.spent_by_job() {
                    if let Some(algo) = algos.of(job) {
                        *spent_by_algo.entry(algo.to_owned()).or_default() += usd;
                    }
                }
                let spent = Usd::of(ledger.usage(&request.run_id).spent_usd);
                let open = ledger.open(&request.run_id).into_iter();
                let reserved: Vec<_> = open
                    .map(|(attempt_key, usd)| {
                        let nonce = Uuid::parse_str(attempt_key.nonce.as_str()).ok();
                        (
                            attempt_key.job_id.to_string(),
                            attempt_key.attempt,
                            nonce,
                            Usd::of(usd),
                        )
                    })
                    .collect();
                hand_over::bring_money(
                    connection,
                    run.run_no,
                    request.run_id.as_str(),
                    (spent, &spent_by_algo),
                    &|day| ledger.spent_on(day),
                    &reserved,
                )?;
            }
            if added > 0 {
                import::added(connection, run.run_no)?;
            }
            fault::here("push.all_sent");
            *sent = true;
            Ok(Imported {
                added,
                again: !run.is_new,
                handed,
            })
        });
        match trouble {
            Some(error) => Err(error),
            None => Ok(imported?),
        }
    }
}

/// Ends a transaction for a reason that the server has nothing to do with.
fn not_ours() -> PgError {
    PgError::Unexpected {
        statement: "hand_over",
        reason: "the run cannot be handed over".into(),
    }
}

/// What can end the import.
enum Trouble {
    Files(StoreError),
    Server(PgError),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Files(error)
    }
}

impl From<PgError> for Trouble {
    fn from(error: PgError) -> Self {
        Self::Server(error)
    }
}

fn add_run(
    connection: &mut Connection,
    request: &PushRequest,
    mark: &FleetMark,
    context: &PgFleet,
    (header, artifacts_url): (&[u8], Option<&str>),
) -> Result<import::AddedRun, PgError> {
    let parameters = json!({
        "push": mark.push,
        "by": mark.pushed_by,
        "workspace": context.workspace.root().to_string_lossy(),
    })
    .to_string();
    let run = NewRun {
        run_id: request.run_id.as_str(),
        parameters: &parameters,
        payload_hash: &Sha256::digest(parameters.as_bytes()),
        header,
        lease_seconds: request.lease_seconds,
        artifacts_url,
    };
    import::add_run(connection, &run)
}

fn coming(
    provider_of: &dyn Fn(&str) -> Option<String>,
    job: HandedJob,
    position: i64,
    pictures: &Pictures,
) -> ComingJob {
    let images = job.listed.images.into_iter();
    let payload = Payload {
        images: images
            .map(|path| match pictures.blobs.get(&path) {
                Some(blob) => Picture::Put {
                    path,
                    blob: blob.clone(),
                },
                None => Picture::Named(path),
            })
            .collect(),
        created_at: job.created_at,
        image_set_hash: job.image_set_hash,
    };
    let payload = json!(payload).to_string();
    ComingJob {
        job: NewJob {
            position,
            job_id: job.listed.job_id.to_string(),
            provider: provider_of(&job.listed.algo),
            algo: job.listed.algo,
            product_id: job.listed.product_id,
            variant: job.listed.variant,
            payload_hash: Sha256::digest(payload.as_bytes()).to_vec(),
            payload,
            row: job.row,
        },
        past: job.past,
    }
}
