//! `batch create`: items × algorithms → rows of the registry and the run's manifest.
//!
//! Works under the registry's lock on fresh rows, adds only jobs the run lacks
//! and leaves every existing row as it is. A record of the new rows is written
//! first, then the registry: if the process dies before the manifest, the same
//! command completes the manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::config::Settings;
use crate::domain::algo::{AlgoSettings, ImageMode};
use crate::domain::id::{AlgoKey, IdError, RunId};
use crate::domain::plan::{
    AlgoError, AlgoSelection, CatalogItem, ECOTEST, ItemFilter, KnownAlgo, Plan, select_algos,
};
use crate::domain::text::shell_word;
use crate::domain::time::{Clock, Timestamp};
use crate::ops::table_file::{self, RiskyCell};
use crate::ops::{OpsContext, adapters, created_rows};
use crate::platform::fault;
use crate::store::error::{IoContext, StoreError};
use crate::store::files::{refuse_links_outside, refuse_pushed};
use crate::table::Table;
use crate::workspace::durable;
use crate::workspace::lock::FileLock;
use crate::workspace::paths::Workspace;
use crate::workspace::pictures::PictureMarks;

mod items;
pub(in crate::ops) mod manifest;
mod report;
mod rows;

pub use report::BatchReport;
pub(super) use rows::REGISTRY_COLUMNS;

/// The only way images are chosen so far.
pub const IMAGE_POLICY: &str = "use_up_to_6";

/// What is to be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchRequest {
    /// The run; without it one is named after the time.
    pub run_id: Option<RunId>,
    /// A comma-separated list of algorithms, or `ecotest`; without it the first that can run here.
    pub algos: Option<String>,
    /// Which items are considered.
    pub filter: ItemFilter,
    /// Write nothing but the log line.
    pub dry_run: bool,
    /// The items themselves, instead of those of the table.
    pub items: Option<Vec<CatalogItem>>,
}

/// The algorithms that are configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfiguredAlgos {
    /// Everything that can be asked for by name.
    pub known: Vec<KnownAlgo>,
    /// Those listed for `ecotest`; the first that can run is taken where none is asked for.
    pub listed: Vec<AlgoKey>,
    /// Those that cannot run here now, and why.
    pub not_runnable: BTreeMap<AlgoKey, String>,
    /// Those that only pretend; never taken unless asked for.
    pub pretending: BTreeSet<AlgoKey>,
}

impl ConfiguredAlgos {
    /// Takes the algorithms that the settings know.
    pub fn of(settings: &Settings) -> Self {
        let mut known: Vec<KnownAlgo> = settings
            .algos
            .iter()
            .map(|algo| KnownAlgo {
                key: algo.key.clone(),
                mode: algo.image_mode,
            })
            .collect();
        let listed = settings.global.algorithms.clone();
        let endpoints = settings.algos.iter().filter(|algo| algo.kind.is_none());
        let mut not_runnable: BTreeMap<_, _> = endpoints
            .map(|algo| (algo.key.clone(), "only an endpoint, no command".to_owned()))
            .collect();
        for key in &listed {
            if !known.iter().any(|algo| algo.key == *key) {
                not_runnable.insert(key.clone(), "not in adapters.yaml".to_owned());
                known.push(KnownAlgo {
                    mode: mode_by_name(key),
                    key: key.clone(),
                });
            }
        }
        let pretends = |algo: &&AlgoSettings| {
            let kind = algo.kind.as_deref();
            kind.is_some_and(|kind| matches!(kind, "mock" | "simulate"))
        };
        let pretending = settings.algos.iter().filter(pretends);
        let pretending = pretending.map(|algo| algo.key.clone()).collect();
        Self {
            known,
            listed,
            not_runnable,
            pretending,
        }
    }

    /// The same, and what keeps each of them from running here and now.
    pub fn here(context: &OpsContext) -> Self {
        let mut configured = Self::of(&context.settings);
        // What cannot be read keeps nothing from being asked for.
        for entry in adapters::list(context).unwrap_or_default() {
            let problem = entry.problems.first().map(|problem| {
                let named = format!("algo {}: ", entry.key);
                problem.strip_prefix(&named).unwrap_or(problem).to_owned()
            });
            let closed = entry.closed.map(|_| "its provider is closed".to_owned());
            let paused = entry.paused.map(|_| "it is paused".to_owned());
            if let Some(why) = problem.or(closed).or(paused) {
                configured.not_runnable.entry(entry.key).or_insert(why);
            }
        }
        configured
    }

    /// Returns what is taken where none is asked for: the first listed one that can
    /// run, else the first of `adapters.yaml` that can.
    fn default(&self) -> Option<&AlgoKey> {
        let runs = |key: &&AlgoKey| !self.not_runnable.contains_key(*key);
        let known = self.known.iter().map(|algo| &algo.key);
        let mut real = known.filter(|key| !self.pretending.contains(*key));
        let listed = self.listed.iter().find(runs);
        listed.or_else(|| real.find(runs))
    }

    /// Says which listed ones were passed over, and why.
    fn passed_over(&self, taken: &AlgoKey) -> String {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for key in self.listed.iter().take_while(|key| *key != taken) {
            let Some(why) = self.not_runnable.get(key) else {
                continue;
            };
            match reasons.iter_mut().find(|(known, _)| *known == why.as_str()) {
                Some((_, keys)) => keys.push(key.as_str()),
                None => reasons.push((why, vec![key.as_str()])),
            }
        }
        let reasons = reasons.iter();
        let reasons = reasons.map(|(why, keys)| match &keys[..] {
            [a, b, c, _, _, ..] => format!("{a}, {b}, {c} and {} more ({why})", keys.len() - 3),
            keys => format!("{} ({why})", keys.join(", ")),
        });
        let reasons: Vec<String> = reasons.collect();
        if reasons.is_empty() {
            return String::new();
        }
        format!("\nleft out, cannot run here: {}", reasons.join("; "))
    }
}

/// A listed algorithm without an entry of its own is judged by its name.
fn mode_by_name(key: &AlgoKey) -> ImageMode {
    if key.as_str().ends_with("_multi") {
        ImageMode::Multi
    } else {
        ImageMode::Single
    }
}

/// Why there is no batch.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// An algorithm cannot be used.
    #[error(transparent)]
    Algo(#[from] AlgoError),
    /// None is asked for and none can run.
    #[error("no --algos given, and no configured algo can run here")]
    NoAlgo,
    /// The run cannot have this name.
    #[error(transparent)]
    RunId(#[from] IdError),
    /// The run's name would be a formula in a table.
    #[error("run id {:?} starts like a formula, which a spreadsheet would run", .0.as_str())]
    Formula(RunId),
    /// A table cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Whoever waited for the registry's lock gave up.
    #[error("gave up waiting for {lock}, which another program holds")]
    Busy {
        /// The lock, relative to the workspace.
        lock: String,
    },
}

impl BatchError {
    /// Tells whether the request or the set-up is wrong, rather than the disk.
    pub fn is_setup(&self) -> bool {
        match self {
            Self::Store(error) => error.is_setup(),
            Self::Busy { .. } => false,
            _ => true,
        }
    }

    /// Returns what to do next.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Algo(AlgoError::Unknown { known, .. }) => Some(known),
            Self::Algo(AlgoError::Empty) => {
                Some("name algos with --algos a,b or list some in config/global.yaml")
            }
            Self::NoAlgo => {
                Some("`archi3d adapters list` says why; --algos a,b makes jobs all the same")
            }
            Self::RunId(_) | Self::Formula(_) => Some("give another name with --run-id"),
            Self::Store(error) => error.hint(),
            Self::Busy { .. } => Some("nothing was changed; try again later"),
        }
    }
}

/// Creates the jobs of a batch. While the registry's lock is busy, `waiting`
/// hears for how long and gives up by returning `false`.
pub fn create(
    workspace: &Workspace,
    clock: &dyn Clock,
    configured: &ConfiguredAlgos,
    request: &BatchRequest,
    waiting: &mut dyn FnMut(Duration) -> bool,
) -> Result<BatchReport, BatchError> {
    let (algos, notice) = chosen_algos(configured, request.algos.as_deref())?;
    let run_id = match &request.run_id {
        // The name stands in a cell of its own, which a spreadsheet would run.
        Some(run_id) if run_id.as_str().starts_with(['=', '+', '@']) => {
            return Err(BatchError::Formula(run_id.clone()));
        }
        Some(run_id) => run_id.clone(),
        None => default_run_id(clock.now())?,
    };
    let (items, no_table) = match &request.items {
        Some(items) => (items.clone(), None),
        None => items::read(workspace)?,
    };
    refuse_links_outside(workspace, Some(&run_id))?;
    let mut plan = Plan::new(&items, &algos, &request.filter);
    let mut warnings = Vec::new();
    let manifest_jobs = if request.dry_run {
        let registry = table_file::read(&workspace.registry())?;
        rows::leave_out_existing(&mut plan, registry, workspace, &run_id)?;
        None
    } else {
        let lock = workspace.registry_lock();
        fs::create_dir_all(workspace.tables()).context("create", &workspace.tables())?;
        let held = FileLock::acquire(&lock, waiting).context("lock", &lock)?;
        let _held = held.ok_or_else(|| BatchError::Busy {
            lock: workspace.relative(&lock).unwrap_or_default(),
        })?;
        let (jobs, found_wrong) = write(workspace, clock, &run_id, &mut plan)?;
        warnings = found_wrong;
        Some(jobs)
    };
    let mut report = BatchReport::new(clock.now(), run_id, algos.clone(), &plan);
    report.dry_run = request.dry_run;
    report.manifest_jobs = manifest_jobs;
    report.notices.extend(notice);
    report.warnings.extend(no_table);
    let not_runnable = algos.algos.iter().filter_map(|key| {
        let why = configured.not_runnable.get(key)?;
        Some(format!(
            "algo {key} cannot run here ({why}); `archi3d adapters list` shows what can"
        ))
    });
    report.warnings.extend(not_runnable);
    report.warnings.extend(warnings);
    if refuse_pushed(workspace, &report.run_id).is_err() {
        report.warnings.push(format!(
            "run {} lives in a fleet: `archi3d fleet push --run-id {}` hands its new jobs over",
            report.run_id,
            shell_word(report.run_id.as_str())
        ));
    }
    report.risky_cells = risky_cells(&plan);
    report.log(workspace);
    Ok(report)
}

/// Returns the rows that a new run would have, each with its job, and the line above them.
#[cfg(feature = "postgres")]
pub(in crate::ops) fn new_rows(plan: &Plan<'_>, run_id: &RunId, clock: &dyn Clock) -> Table {
    let mut table = Table::with_header(rows::REGISTRY_COLUMNS);
    rows::append(&mut table, plan, run_id, clock);
    table
}

/// Returns the items of the table; without a table there are none.
pub fn catalog(workspace: &Workspace) -> Result<Vec<CatalogItem>, StoreError> {
    match items::read(workspace) {
        Ok((items, _)) => Ok(items),
        Err(StoreError::Setup { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn chosen_algos(
    configured: &ConfiguredAlgos,
    given: Option<&str>,
) -> Result<(AlgoSelection, Option<String>), BatchError> {
    let known = &configured.known;
    match given {
        Some(given) if given.trim() == ECOTEST => {
            let listed: Vec<KnownAlgo> = configured
                .listed
                .iter()
                .filter_map(|key| known.iter().find(|algo| algo.key == *key))
                .cloned()
                .collect();
            Ok((select_algos(given, &listed)?, None))
        }
        Some(given) => Ok((select_algos(given, known)?, None)),
        None => {
            let first = configured.default().ok_or(BatchError::NoAlgo)?;
            let passed_over = configured.passed_over(first);
            let notice = format!("algo: {first}, the first that can run here{passed_over}");
            Ok((select_algos(first.as_str(), known)?, Some(notice)))
        }
    }
}

fn default_run_id(now: Timestamp) -> Result<RunId, IdError> {
    RunId::parse(&now.as_datetime().format("%Y-%m-%dT%H-%M-%SZ").to_string())
}

/// Adds rows that a fleet has and the registry lacks, and completes the run's manifest; returns whether it could: while
/// the registry's lock is busy, `waiting` hears for how long and gives up by returning `false`.
#[cfg(feature = "postgres")]
pub(in crate::ops) fn arrive(
    workspace: &Workspace,
    run_id: &RunId,
    header: &[u8],
    rows: &[Vec<u8>],
    waiting: &mut dyn FnMut(Duration) -> bool,
) -> Result<bool, StoreError> {
    let lock = workspace.registry_lock();
    fs::create_dir_all(workspace.tables()).context("create", &workspace.tables())?;
    let Some(_held) = FileLock::acquire(&lock, waiting).context("lock", &lock)? else {
        return Ok(false);
    };
    let path = workspace.registry();
    let mut registry = registry(&path)?;
    let first_new = registry.len();
    crate::store::files::restore(&mut registry, header, rows, run_id, &path)?;
    let names = &rows::REGISTRY_COLUMNS[21..27];
    let places: Vec<usize> = names
        .iter()
        .filter_map(|name| registry.column(name))
        .collect();
    let new = (first_new..registry.len()).flat_map(|row| places.iter().map(move |at| (row, *at)));
    let images = new.map(|(row, at)| String::from_utf8_lossy(&registry.cell(row, at)).into_owned());
    let images: Vec<String> = images.filter(|path| !path.is_empty()).collect();
    publish(workspace, run_id, &mut registry, first_new, &images)?;
    Ok(true)
}

fn registry(path: &Path) -> Result<Table, StoreError> {
    let found = table_file::read(path)?;
    Ok(found.unwrap_or_else(|| Table::with_header(rows::REGISTRY_COLUMNS)))
}

/// Adds the jobs the run lacks; returns how many jobs its manifest has then, and
/// what looked wrong.
/// The caller holds the registry's lock.
fn write(
    workspace: &Workspace,
    clock: &dyn Clock,
    run_id: &RunId,
    plan: &mut Plan<'_>,
) -> Result<(usize, Vec<String>), StoreError> {
    let mut registry = registry(&workspace.registry())?;
    rows::leave_out(plan, &mut registry, workspace, run_id)?;
    let first_new = registry.len();
    rows::append(&mut registry, plan, run_id, clock);
    let images = plan.jobs.iter().flat_map(|job| &job.item.images).cloned();
    let images: Vec<String> = images.collect();
    publish(workspace, run_id, &mut registry, first_new, &images)
}

/// Writes the registry's rows from `first_new` on, and what else a run has of them.
fn publish(
    workspace: &Workspace,
    run_id: &RunId,
    registry: &mut Table,
    first_new: usize,
    images: &[String],
) -> Result<(usize, Vec<String>), StoreError> {
    let registry_path = workspace.registry();
    let manifest_path = workspace.run(run_id).manifest();
    // Both files are ready before the first is touched.
    let manifest = manifest::complete(registry, &registry_path, &manifest_path, run_id)?;
    let tag = format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
    fault::here("batch.before");
    let folder = workspace.run(run_id).root().to_owned();
    let grows = registry.len() > first_new;
    if manifest.changed || grows {
        fs::create_dir_all(&folder).context("create", &folder)?;
        workspace.make_reports();
        fault::here("batch.folder_made");
    }
    if grows {
        // First, so that no row is ever without the record it can be made again from.
        let record_path = workspace.run(run_id).rows();
        let record = created_rows::with_new_rows(registry, &record_path, run_id, first_new)?;
        replace(&record_path, &record, &tag)?;
        fault::here("batch.record_written");
        let pictures_path = workspace.run(run_id).pictures();
        let mut pictures = PictureMarks::read(&pictures_path);
        pictures.look(workspace, images.iter().map(String::as_str));
        let pictures = pictures.to_bytes().context("write", &pictures_path)?;
        replace(&pictures_path, &pictures, &tag)?;
        fault::here("batch.pictures_written");
        replace(&registry_path, registry.bytes(), &tag)?;
    }
    fault::here("batch.registry_written");
    if manifest.changed {
        replace(&manifest_path, manifest.table.bytes(), &tag)?;
        fault::here("batch.manifest_written");
    }
    Ok((manifest.table.len(), manifest.warnings))
}

fn replace(path: &Path, bytes: &[u8], tag: &str) -> Result<(), StoreError> {
    // What dead writers left goes; it is never read, and only takes room.
    durable::sweep_temporaries(path).context("look through the folder of", path)?;
    durable::replace(path, bytes, tag).context("replace", path)?;
    Ok(())
}

fn risky_cells(plan: &Plan<'_>) -> Vec<RiskyCell> {
    let mut cells = Vec::new();
    let mut last: Option<&CatalogItem> = None;
    for job in &plan.jobs {
        if last.is_some_and(|last| std::ptr::eq(last, job.item)) {
            continue;
        }
        last = Some(job.item);
        let product = (job.item.product_id.as_str(), job.item.variant.as_str());
        let texts = rows::outside_texts(job.item).into_iter();
        cells.extend(texts.filter_map(|(name, text)| RiskyCell::check(product, name, text)));
    }
    cells
}
