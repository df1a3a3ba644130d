//! How a worker comes to a run that lives in PostgreSQL.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::domain::id::{AlgoKey, RunId, WorkerId};
use crate::domain::lease::advice;
use crate::domain::order::JobOrder;
use crate::domain::text::hex;
use crate::engine::Share;
use crate::engine::event::Summary;
use crate::ops::select::{FleetRequest, WorkerRequest};
use crate::ops::{OpsContext, OpsError, fleet, reuse};
use crate::store::artifacts::Shared;
use crate::store::postgres::{
    Connection, Lines, PgBudget, PgProviders, PgStore, PgStoreOptions, StoreUrl, import, view,
};
use crate::store::reuse::ReuseIndex;
use crate::store::{Artifacts, NoticeSink, WorkerIdentity, WorkerStore as _};

use super::{Crew, Task, run_with};

/// So many results tell how long a lease should last.
const LATELY: usize = 1_000;

/// Names the folder for what could not be sent.
const SPOOL: &str = "ARCHI3D_SPOOL";

/// Tells whether a run was handed over to a fleet.
pub(super) fn is_pushed(context: &OpsContext, run_id: &RunId) -> bool {
    context.workspace.run(run_id).fleet().exists()
}

/// Returns where a run lives that was handed over to a fleet.
pub(super) fn url_of_run(
    context: &OpsContext,
    run_id: &RunId,
) -> Result<Option<StoreUrl>, OpsError> {
    if is_pushed(context, run_id) {
        return fleet::url_of_pushed(context, run_id).map(Some);
    }
    if context.workspace.run(run_id).manifest().exists() {
        return Ok(None);
    }
    // Not of this folder: perhaps one that is worked on from anywhere.
    fleet::url_of_remote(context, run_id)
}

/// Gives a worker the name that was asked for.
pub(super) fn named(identity: WorkerIdentity, request: &FleetRequest) -> WorkerIdentity {
    match &request.worker_id {
        Some(name) => WorkerIdentity {
            worker_id: WorkerId::named(name),
            ..identity
        },
        None => identity,
    }
}

/// What a worker that serves many runs gives to each of them.
pub(super) struct Joined {
    /// Its connections.
    pub(super) lines: Lines,
    /// The run's way to its places.
    pub(super) share: Arc<Share>,
}

/// Works on a run that lives in PostgreSQL.
pub(super) fn work(
    task: Task<'_>,
    identity: &WorkerIdentity,
    url: StoreUrl,
    joined: Option<Joined>,
) -> Result<Summary, OpsError> {
    let Task {
        context, request, ..
    } = task;
    let (log, notices) = task.voices();
    let (lines, share) = match joined {
        Some(Joined { lines, share }) => (Some(lines), Some(share)),
        None => (None, None),
    };
    let store = open_run(context, request, url, identity, lines, notices)?;
    let crew = Crew {
        identity,
        ask: task.ask,
        providers: Arc::new(PgProviders::new(Arc::clone(store.link()))),
        // Also what runs on files have made.
        reuse: request.reuse.then(|| {
            let both = vec![store.reuse(), reuse::index(context)];
            Arc::new(reuse::Chain(both)) as Arc<dyn ReuseIndex>
        }),
        budget: Arc::new(PgBudget::new(Arc::clone(store.link()))),
        files: None,
        served: algos_to_serve(request, &store)?,
        artifacts: store.artifacts(),
        rhythm: store.rhythm(),
        begin: &|algos| store.perform_rehearsed(algos),
        store: &store,
        share,
    };
    run_with(task, &log, &crew, &|| store.hurry())
}

/// Opens a run that lives in PostgreSQL for a worker.
fn open_run(
    context: &OpsContext,
    request: &WorkerRequest,
    url: StoreUrl,
    identity: &WorkerIdentity,
    lines: Option<Lines>,
    notices: NoticeSink,
) -> Result<PgStore, OpsError> {
    let artifacts = artifacts_of(context, request, &url, &notices)?;
    let run = context.workspace.run(&request.run_id);
    let beside = run.root().join("spool");
    // What was made lies in this very folder, so nobody else can tell of it.
    let alone = artifacts
        .is_remote()
        .then(|| context.workspace.root().to_owned());
    let spool = spool_of(
        context,
        request.run_id.as_str(),
        &beside,
        (&url, alone.as_deref()),
    );
    let wake = context.wake(request.fleet.wake.as_deref())?;
    let lease = if request.fleet.auto_lease {
        advised_lease(&url, &request.run_id)?
    } else {
        request.fleet.lease
    };
    let store = PgStore::open(PgStoreOptions {
        url,
        workspace: context.workspace.clone(),
        run_id: request.run_id.clone(),
        identity: identity.clone(),
        lease,
        slots: request.max_parallel,
        ahead: request.fleet.ahead > 0,
        rehearsal: request.dry_run,
        artifacts,
        spool,
        lines,
        notices,
    })?;
    if let Some(wake) = wake {
        store.hear_from(wake);
    }
    Ok(store)
}

/// Returns where pictures and results of a run lie: where its push said.
fn artifacts_of(
    context: &OpsContext,
    request: &WorkerRequest,
    url: &StoreUrl,
    notices: &NoticeSink,
) -> Result<Arc<dyn Artifacts>, OpsError> {
    let run_id = &request.run_id;
    let mut connection = Connection::open(url, "archi3d/artifacts")?;
    let run = import::run(&mut connection, run_id.as_str())?;
    let place = run.and_then(|run| run.artifacts_url);
    let workspace = context.workspace.clone();
    match place.filter(|_| request.fleet.works) {
        Some(place) => {
            let cache_gb = request.fleet.cache_gb;
            fleet::bytes::remote(context, run_id, &place, cache_gb, notices.clone())
        }
        None => Ok(Arc::new(Shared::new(
            workspace.clone(),
            workspace.run(run_id),
        ))),
    }
}

/// Returns how long leases should last, by how long jobs of the run took; nothing where none has ended.
fn advised_lease(url: &StoreUrl, run_id: &RunId) -> Result<Option<Duration>, OpsError> {
    let mut connection = Connection::open(url, "archi3d/lease")?;
    let Some(run) = import::run(&mut connection, run_id.as_str())? else {
        return Ok(None);
    };
    let took = view::durations(&mut connection, run.run_no, LATELY)?;
    let longest = took.iter().map(|algo| algo.p95_s).fold(0.0, f64::max);
    let longest = Duration::try_from_secs_f64(longest).unwrap_or_default();
    Ok((!took.is_empty()).then(|| advice(longest)))
}

/// Opens a run for a change that a person asked for, if it lives in PostgreSQL.
pub(in crate::ops) fn open_in_fleet(
    context: &OpsContext,
    run_id: &RunId,
    identity: &WorkerIdentity,
    notices: &NoticeSink,
) -> Result<Option<PgStore>, OpsError> {
    let Some(url) = url_of_run(context, run_id)? else {
        return Ok(None);
    };
    let mut request = WorkerRequest::plain(run_id.clone());
    request.fleet.works = false;
    open_run(context, &request, url, identity, None, notices.clone()).map(Some)
}

/// Returns the folder on this machine for what workers of a run could not send, or that of workers of all runs for their
/// names. It outlives them, so that the next one sends it. Workers of a folder that nobody else sees have one for themselves.
pub(super) fn spool_of(
    context: &OpsContext,
    whose: &str,
    otherwise: &Path,
    (url, alone): (&StoreUrl, Option<&Path>),
) -> PathBuf {
    let known = context.variables().now(&[SPOOL, "XDG_STATE_HOME", "HOME"]);
    let named = |name: &str| {
        let text = known.get(name).filter(|text| !text.is_empty());
        text.map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let state = || {
        let home = || Some(named("HOME")?.join(".local/state"));
        let state = named("XDG_STATE_HOME").or_else(home)?;
        Some(state.join("archi3d/spool"))
    };
    let base = named(SPOOL).or_else(state);
    let base = base.unwrap_or_else(|| otherwise.to_owned());
    let mut server = Sha256::new_with_prefix(url.to_string().as_bytes());
    if let Some(folder) = alone {
        server.update(folder.as_os_str().as_encoded_bytes());
    }
    let server = server.finalize();
    base.join(format!("{whose}-{}", hex(&server[..4])))
}

/// Returns the algorithms whose jobs the store is to hand out, with how many wait. Nothing for
/// a worker that was asked for certain jobs, or for another order: it lists them.
pub(super) fn algos_to_serve(
    request: &WorkerRequest,
    store: &PgStore,
) -> Result<Option<Vec<(AlgoKey, usize)>>, OpsError> {
    let query = &request.query;
    let picks = query.jobs.is_some() || !query.items.is_empty() || query.only_status.is_some();
    let again = request.redo || request.resubmit_unknown || request.forget_requests;
    let spending = &request.spending;
    let ordered = spending.order != JobOrder::default();
    if picks || again || ordered || request.adapter.is_some() {
        return Ok(None);
    }
    let algos = store.algos()?.into_iter().filter_map(|(algo, waiting)| {
        let key = AlgoKey::parse(&algo).ok()?;
        (query.algo.is_empty() || query.algo.contains(&key)).then_some((key, waiting))
    });
    Ok(Some(algos.collect()))
}
