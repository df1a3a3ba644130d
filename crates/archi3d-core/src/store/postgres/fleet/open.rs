//! How a worker comes to a run that lives in PostgreSQL.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::{PgFleet, bytes};
use crate::domain::id::RunId;
use crate::domain::lease::advice;
use crate::domain::text::hex;
use crate::store::artifacts::Shared;
use crate::store::files::FileReuse;
use crate::store::postgres::opening::own_name;
use crate::store::postgres::{
    Connection, Lines, PgBudget, PgProviders, PgStore, PgStoreOptions, import, keep, view,
};
use crate::store::reuse::Chain;
use crate::store::{Artifacts, OpenRun, Opening, StoreError};

/// So many results tell how long a lease should last.
const LATELY: usize = 1_000;

/// How long a name is waited for that somebody else looks into.
const AWAIT: Duration = Duration::from_secs(1);

/// Names the folder for what could not be sent.
const SPOOL: &str = "ARCHI3D_SPOOL";

/// Opens a run, over the connections of a worker that serves many or its own.
pub(super) fn open(
    fleet: &PgFleet,
    opening: Opening,
    lines: Option<Lines>,
) -> Result<OpenRun, StoreError> {
    let (artifacts, name_of_fleet) = artifacts_of(fleet, &opening)?;
    let run = fleet.workspace.run(&opening.run_id);
    // What was made lies in this very folder, so nobody else can tell of it.
    let alone = artifacts.is_remote().then(|| fleet.workspace.root());
    let name = opening.run_id.as_str();
    let beside = run.root().join("spool");
    let spool = spool_of(fleet, name, &beside, alone, &name_of_fleet);
    let spool_before = spool_of(fleet, name, &beside, alone, &fleet.url.to_string());
    let wake = fleet.wake(opening.fleet.wake.as_deref())?;
    let lease = if opening.fleet.auto_lease {
        advised_lease(fleet, &opening.run_id)?
    } else {
        opening.fleet.lease
    };
    let named = opening.fleet.worker_id.is_some() && lines.is_none();
    let identity = opening.fleet.name(opening.identity);
    let name = named
        .then(|| own_name(&names_of_workers(fleet), identity.worker_id.as_str(), AWAIT))
        .transpose()?;
    let store = PgStore::open(PgStoreOptions {
        url: fleet.url.clone(),
        workspace: fleet.workspace.clone(),
        run_id: opening.run_id,
        identity: identity.clone(),
        lease,
        slots: opening.slots,
        ahead: opening.fleet.ahead > 0,
        rehearsal: opening.rehearsal,
        artifacts,
        spool,
        spool_before: Some(spool_before),
        lines,
        notices: opening.notices,
    })?;
    if let Some(name) = name {
        store.link().keep_name(name);
    }
    if let Some(wake) = wake {
        store.hear_from(wake);
    }
    // Also what runs on files have made.
    let on_files = FileReuse::new(fleet.workspace.clone());
    Ok(OpenRun {
        identity,
        providers: Arc::new(PgProviders::new(Arc::clone(store.link()))),
        budget: Arc::new(PgBudget::new(Arc::clone(store.link()))),
        reuse: Arc::new(Chain(vec![store.reuse(), Arc::new(on_files)])),
        artifacts: store.artifacts(),
        rhythm: store.rhythm(),
        on_server: true,
        store: Box::new(store),
    })
}

/// Returns where pictures and results of a run lie: where its push said; and what tells the database from others.
fn artifacts_of(
    fleet: &PgFleet,
    opening: &Opening,
) -> Result<(Arc<dyn Artifacts>, String), StoreError> {
    let run_id = &opening.run_id;
    let mut connection = Connection::open(&fleet.url, "archi3d/artifacts")?;
    let name_of_fleet = keep::fleet_name(&mut connection)?;
    let run = import::run(&mut connection, run_id.as_str())?;
    let place = run.and_then(|run| run.artifacts_url);
    let Some(place) = place.filter(|_| opening.fleet.works) else {
        let paths = fleet.workspace.run(run_id);
        let shared = Shared::new(fleet.workspace.clone(), paths);
        return Ok((Arc::new(shared), name_of_fleet));
    };
    let (cache_gb, notices) = (opening.fleet.cache_gb, opening.notices.clone());
    let named = (run_id, name_of_fleet.clone());
    let remote = bytes::remote(fleet, named, &place, cache_gb, notices)?;
    Ok((remote, name_of_fleet))
}

/// Returns how long leases should last, by how long jobs of the run took; nothing where none has ended.
fn advised_lease(fleet: &PgFleet, run_id: &RunId) -> Result<Option<Duration>, StoreError> {
    let mut connection = Connection::open(&fleet.url, "archi3d/lease")?;
    let Some(run) = import::run(&mut connection, run_id.as_str())? else {
        return Ok(None);
    };
    let took = view::durations(&mut connection, run.run_no, LATELY)?;
    let longest = took.iter().map(|algo| algo.p95_s).fold(0.0, f64::max);
    let longest = Duration::try_from_secs_f64(longest).unwrap_or_default();
    Ok((!took.is_empty()).then(|| advice(longest)))
}

/// Returns the folder on this machine for the names of the workers of all runs.
pub(super) fn names_of_workers(fleet: &PgFleet) -> PathBuf {
    let beside = fleet.workspace.root().join("spool");
    spool_of(fleet, "workers", &beside, None, &fleet.url.to_string())
}

/// Returns the folder on this machine for what workers of a run could not send, or that of workers of all runs for their
/// names. It outlives them, so that the next one sends it, also where the server has another address by then: `store` names
/// what is in it. Workers of a folder that nobody else sees have one for themselves.
pub(super) fn spool_of(
    fleet: &PgFleet,
    whose: &str,
    otherwise: &Path,
    alone: Option<&Path>,
    store: &str,
) -> PathBuf {
    let named = |name: &str| {
        let text = (fleet.variables_now)(name).filter(|text| !text.is_empty());
        text.map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let state = || {
        let home = || Some(named("HOME")?.join(".local/state"));
        let state = named("XDG_STATE_HOME").or_else(home)?;
        Some(state.join("archi3d/spool"))
    };
    let base = named(SPOOL).or_else(state);
    let base = base.unwrap_or_else(|| otherwise.to_owned());
    let mut server = Sha256::new_with_prefix(store.as_bytes());
    if let Some(folder) = alone {
        server.update(folder.as_os_str().as_encoded_bytes());
    }
    let server = server.finalize();
    base.join(format!("{whose}-{}", hex(&server[..4])))
}
