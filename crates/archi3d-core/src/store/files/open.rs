//! Opening a run: everything is checked before anything is created.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::domain::id::{JobId, RunId};
use crate::domain::nearest::suggestion;
use crate::domain::text::shell_word;
use crate::platform::{self, FileVersion, fault};
use crate::store::StoreError;
use crate::store::bounds::{refuse_links_outside, refuse_pushed};
use crate::store::error::IoContext;
use crate::store::manifest::{self, Manifest};
use crate::workspace::paths::{RunPaths, Workspace};

use super::committer::{Committer, Shared};
use super::evidence::Evidence;
use super::journal::What;
use super::liveness::{self, LockReach, Watch};
use super::marker::{Pulse, RecordKind};
use super::pen::Journal;
use super::projection::StateNames;
use super::registry::Registry;
use super::subject::Contradictions;
use super::{FileStore, FileStoreOptions, ensure_dir};
use crate::table::Table;

impl FileStore {
    /// Opens the run for one worker. Nothing is created unless the registry and
    /// the manifest are there and usable. A run that lives in a fleet is refused.
    pub fn open(options: FileStoreOptions) -> Result<Self, StoreError> {
        let (workspace, run_id) = (options.workspace.clone(), options.run_id.clone());
        refuse_pushed(&workspace, &run_id)?;
        let store = Self::open_any(options)?;
        // Whoever hands a run over marks it and then looks for workers: one of both sees the other.
        refuse_pushed(&workspace, &run_id)?;
        Ok(store)
    }

    /// Opens the run to hand it over, wherever it lives.
    pub fn open_any(options: FileStoreOptions) -> Result<Self, StoreError> {
        let FileStoreOptions {
            workspace,
            run_id,
            identity,
            rhythm,
            ..
        } = &options;
        let paths = workspace.run(run_id);
        let mut registry = Registry::new(workspace.registry(), identity.worker_id.as_str());
        let manifest_version = version_of(&paths.manifest());
        let manifest = check_run(&mut registry, workspace, run_id, &paths)?;
        refuse_links_outside(workspace, Some(run_id))?;
        for folder in [
            workspace.logs(),
            paths.outputs(),
            paths.staging(),
            paths.state(),
            paths.journals(),
        ] {
            ensure_dir(&folder)?;
        }
        workspace.make_reports();
        let (reach, proves) = liveness::lock_reach(workspace, &paths)?;
        if reach == LockReach::Unsafe && !options.allow_unsafe_locks {
            refuse_other_host(&options, &paths)?;
        }
        let path = paths.journal(&identity.worker_id);
        fault::here("open.folders_made");
        let journal = Journal::create(path.clone()).context("create", &path)?;
        let opened = What::Opened {
            v: 1,
            worker_id: identity.worker_id.clone(),
            pid: identity.pid,
            boot_id: identity.boot_id.clone(),
            worker: identity.facts.clone(),
            pulse: Some(Pulse::new(*rhythm)),
        };
        journal
            .append(options.clock.now(), opened)
            .context("append to", &path)?;
        fault::here("open.opened");
        let watch = Watch::new(&identity.boot_id, proves, *rhythm, true);
        let shared = Arc::new(Shared {
            workspace: workspace.clone(),
            run_id: run_id.clone(),
            paths,
            journal,
            registry: Mutex::new(registry),
            facts: identity.facts.clone(),
            notices: options.notices.clone(),
            clock: options.clock.clone(),
            names_synced: AtomicBool::new(false),
            hurry: AtomicBool::new(false),
            trouble: Mutex::new(None),
        });
        let committer = Committer::start(shared.clone())
            .context("start the writer of", &workspace.registry())?;
        Ok(Self {
            shared,
            identity: options.identity,
            watch,
            committer,
            leases: Mutex::default(),
            rows: Mutex::default(),
            ended: Mutex::default(),
            unpublished: Mutex::default(),
            made: Mutex::default(),
            safe: Mutex::default(),
            manifest: Mutex::new(manifest_version.map(|version| (version, manifest))),
            listed: Mutex::new(None),
            rhythm: options.rhythm,
            rehearsal: options.rehearsal,
            past: OnceLock::new(),
            folders: OnceLock::new(),
            locked_out: Mutex::default(),
            moved: AtomicBool::new(false),
            made_results: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        })
    }
}

/// Checks that the run exists and has jobs, and that both tables can be used.
pub(super) fn check_run(
    registry: &mut Registry,
    workspace: &Workspace,
    run_id: &RunId,
    paths: &RunPaths,
) -> Result<Manifest, StoreError> {
    let is_known = || Ok::<_, StoreError>(!registry.load()?.index(run_id.as_str()).is_empty());
    let (known, manifest) = rayon::join(is_known, || manifest::read(paths));
    // The registry's fault comes first: without it the manifest says little.
    let known = known?;
    if !known && !paths.root().exists() {
        return Err(StoreError::Setup {
            what: format!("run {run_id} does not exist: no row of the registry names it"),
            path: workspace.registry(),
            hint: format!(
                "check --run-id{}, or make the run with `archi3d batch create`",
                alike(workspace, run_id)
            ),
        });
    }
    let manifest = manifest?;
    if manifest.rows.is_empty() && manifest.faults.is_empty() {
        return Err(StoreError::Setup {
            what: format!("the manifest of run {run_id} has no jobs"),
            path: paths.manifest(),
            hint: "`archi3d doctor` names the command that puts them in again".into(),
        });
    }
    if !known {
        return Err(StoreError::Setup {
            what: format!("run {run_id} has a manifest but no row in the registry"),
            path: workspace.registry(),
            hint: format!(
                "make the rows again with `archi3d registry rebuild --run-id {}`",
                shell_word(run_id.as_str())
            ),
        });
    }
    Ok(manifest)
}

/// Returns ` (did you mean …?)` if a run is called almost so.
fn alike(workspace: &Workspace, run_id: &RunId) -> String {
    let mut runs = workspace.run_ids().unwrap_or_default();
    runs.retain(|run| workspace.run(run).manifest().is_file());
    suggestion(run_id.as_str(), runs.iter().map(RunId::as_str))
}

/// Returns which version of a file is on disk, if there is one.
fn version_of(path: &Path) -> Option<FileVersion> {
    let metadata = path.symlink_metadata().ok()?;
    Some(platform::version(&metadata))
}

impl FileStore {
    /// Gives away the manifest that was read when the run was opened, or reads it
    /// again if it has changed since or was given away.
    pub(super) fn take_manifest(&self) -> Result<Manifest, StoreError> {
        let mut kept = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        let now = version_of(&self.paths().manifest());
        match kept.take() {
            Some((version, manifest)) if now == Some(version) => Ok(manifest),
            _ => manifest::read(self.paths()),
        }
    }
}

/// Compares the rows of a run with its manifest; nothing contradicts one that cannot be read.
pub fn contradictions(table: &mut Table, run_id: &RunId, paths: &RunPaths) -> Contradictions {
    let Ok(manifest) = manifest::table(paths) else {
        return Contradictions::default();
    };
    Contradictions::find_among(table, run_id, &|take| {
        // Without a column of ids it lists nothing.
        let _ = Manifest::read_rows(&manifest, |row| take(&row));
    })
}

/// Where locks do not reach other machines, only one machine may work at a time.
fn refuse_other_host(options: &FileStoreOptions, paths: &RunPaths) -> Result<(), StoreError> {
    let state = paths.state();
    let names = StateNames::list(paths).context("list", &state)?;
    let now = options.clock.now();
    let held = names
        .jobs()
        .filter(|(_, kinds)| kinds.has(RecordKind::InProgress));
    for job in held.filter_map(|(name, _)| JobId::parse(name).ok()) {
        let evidence = Evidence::read(paths, &job).context("read markers in", &state)?;
        let Some(lease) = evidence.lease() else {
            continue;
        };
        let host = lease.host.as_deref().unwrap_or("another machine");
        let pulse = lease.record().and_then(|record| record.pulse.as_ref());
        let stale = pulse.map_or(options.rhythm, Pulse::rhythm).stale;
        let fresh = lease.beat.is_some_and(|beat| now.since(beat) < stale);
        if fresh && host != options.identity.facts.host {
            return Err(StoreError::Setup {
                what: format!(
                    "{host} is working on this run, and locks do not exclude other machines here"
                ),
                path: state,
                hint: "wait until it is done, use one machine at a time in a synced folder, \
                       or pass --allow-unsafe-locks if you are sure"
                    .into(),
            });
        }
    }
    Ok(())
}
