//! `batch create`: items × algorithms → rows of the registry and the run's manifest.
//!
//! Here: which algorithms and which items. How jobs become rows is the matter of the store.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::Settings;
use crate::domain::algo::{AlgoSettings, ImageMode};
use crate::domain::id::{AlgoKey, IdError, RunId};
use crate::domain::plan::{
    AlgoError, AlgoSelection, CatalogItem, ECOTEST, ItemFilter, KnownAlgo, Plan, select_algos,
};
use crate::domain::text::shell_word;
use crate::domain::time::Timestamp;
use crate::ops::{OpsContext, adapters};
use crate::store::StoreError;
use crate::store::bounds::{refuse_forgotten, refuse_links_outside, refuse_pushed};
use crate::store::table_file::RiskyCell;
use crate::store::upkeep::Waiting;
use crate::workspace::paths::Workspace;

mod items;
mod report;

pub use report::BatchReport;

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
        for entry in adapters::list_here(context).unwrap_or_default() {
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
        format!("\nskipped, cannot run here: {}", reasons.join("; "))
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
    context: &OpsContext,
    configured: &ConfiguredAlgos,
    request: &BatchRequest,
    waiting: Waiting<'_>,
) -> Result<BatchReport, BatchError> {
    let (workspace, clock) = (&context.workspace, &context.clock);
    let (algos, notice) = chosen_algos(configured, request.algos.as_deref())?;
    let run_id = match &request.run_id {
        // The name stands in a cell of its own, which a spreadsheet would run.
        Some(run_id) if run_id.as_str().starts_with(['=', '+', '@']) => {
            return Err(BatchError::Formula(run_id.clone()));
        }
        Some(run_id) => run_id.clone(),
        None => default_run_id(clock.now())?,
    };
    refuse_forgotten(workspace, &run_id)?;
    let (items, no_table) = match &request.items {
        Some(items) => (items.clone(), None),
        None => items::read(workspace)?,
    };
    refuse_links_outside(workspace, Some(&run_id))?;
    let mut plan = Plan::new(&items, &algos, &request.filter);
    let mut warnings = Vec::new();
    let local = context.local();
    let manifest_jobs = if request.dry_run {
        local.leave_out_existing(&run_id, &mut plan)?;
        None
    } else {
        let added = local.add_jobs(&mut [(&run_id, &mut plan)], waiting)?;
        let added = added.ok_or_else(|| busy(workspace))?;
        let listed = added.iter().map(|added| added.listed).sum();
        warnings = added.into_iter().flat_map(|added| added.warnings).collect();
        Some(listed)
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

fn busy(workspace: &Workspace) -> BatchError {
    let lock = workspace.relative(&workspace.registry_lock());
    BatchError::Busy {
        lock: lock.unwrap_or_default(),
    }
}

/// A run that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// Its name.
    pub run_id: RunId,
    /// Its algorithms.
    pub algos: AlgoSelection,
    /// Its items.
    pub items: Vec<CatalogItem>,
}

/// Creates the jobs of several runs in one step: what a run has already stays as it is.
pub fn create_together(
    context: &OpsContext,
    runs: &[NewRun],
    waiting: Waiting<'_>,
) -> Result<(), BatchError> {
    let workspace = &context.workspace;
    let mut plans = Vec::new();
    for run in runs {
        refuse_links_outside(workspace, Some(&run.run_id))?;
        plans.push(Plan::new(&run.items, &run.algos, &ItemFilter::default()));
    }
    let mut named: Vec<(&RunId, &mut Plan<'_>)> = Vec::new();
    named.extend(runs.iter().map(|run| &run.run_id).zip(&mut plans));
    let added = context.local().add_jobs(&mut named, waiting)?;
    let added = added.ok_or_else(|| busy(workspace))?;
    for ((run, plan), added) in runs.iter().zip(&plans).zip(added) {
        let (now, run_id) = (context.clock.now(), run.run_id.clone());
        let mut report = BatchReport::new(now, run_id, run.algos.clone(), plan);
        report.manifest_jobs = Some(added.listed);
        report.log(workspace);
    }
    Ok(())
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

fn risky_cells(plan: &Plan<'_>) -> Vec<RiskyCell> {
    let mut cells = Vec::new();
    let mut last: Option<&CatalogItem> = None;
    for job in &plan.jobs {
        if last.is_some_and(|last| std::ptr::eq(last, job.item)) {
            continue;
        }
        last = Some(job.item);
        let product = (job.item.product_id.as_str(), job.item.variant.as_str());
        let texts = job.item.outside_texts().into_iter();
        cells.extend(texts.filter_map(|(name, text)| RiskyCell::check(product, name, text)));
    }
    cells
}
