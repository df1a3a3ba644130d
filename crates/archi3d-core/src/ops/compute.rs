//! `compute`: measures models that were made and writes what comes out into the registry.
//!
//! Every result is kept in `runs/<run>/metrics/<metric>/<job>/result.json` with the hashes
//! of the files it is about, written before the registry. So a command that was cut off
//! goes on where it stopped, a model that was made again is measured again, and nothing
//! else is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::cancel::{Cancel, JobStop, Stage};
use crate::domain::id::RunId;
use crate::domain::job::JobState;
use crate::domain::text::{formula_safe, hex, number_cell, one_line};
use crate::ops::results::{Choice, Made, results};
use crate::ops::{OpsContext, OpsError};
use crate::store::bounds;
use crate::store::error::{IoContext, StoreError};
use crate::store::table_file;
use crate::table::RowEdit;
use crate::workspace::durable;
use crate::workspace::lock::TableLock;
use crate::workspace::log::append_record;

mod fscore;
mod scorer;

pub use fscore::Fscore;
pub use scorer::{ProgramScorer, prefix_of};

/// What the columns that tell how something was measured end in.
pub const BOOKKEEPING: [&str; 6] = [
    "_status",
    "_error",
    "_tool_version",
    "_runtime_s",
    "_config_hash",
    "_model_sha256",
];

/// Larger models are not measured.
const MAX_MODEL_BYTES: u64 = 2 << 30;

/// How long results may wait until they are in the registry.
const FOLD_EVERY: Duration = Duration::from_secs(5);

/// What to measure.
#[derive(Debug, Clone)]
pub struct ComputeRequest {
    /// Which models.
    pub choice: Choice,
    /// Measure also what has a result.
    pub redo: bool,
    /// Only say what would be measured.
    pub dry_run: bool,
    /// How many at once.
    pub parallel: usize,
    /// How long one may take.
    pub timeout: Option<Duration>,
}

/// A file that is measured.
#[derive(Debug)]
pub struct Subject {
    path: PathBuf,
    bytes: Vec<u8>,
    sha256: String,
}

impl Subject {
    fn read(path: PathBuf) -> io::Result<Self> {
        let bytes = durable::read_plain(&path, MAX_MODEL_BYTES)?;
        let sha256 = hex(&Sha256::digest(&bytes));
        Ok(Self {
            path,
            bytes,
            sha256,
        })
    }
}

/// A model and what it is measured against.
pub struct Case<'a> {
    context: &'a OpsContext,
    made: &'a Made,
    run_id: &'a RunId,
    model: Subject,
    /// The real model, if there is one that can be read.
    truth: Result<Option<Subject>, String>,
    /// Where everything about this case is kept.
    folder: PathBuf,
    stop: JobStop,
}

/// What measuring a model brought.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// `ok`, or why the numbers are to be taken with care.
    status: &'static str,
    /// Columns and values.
    cells: Vec<(String, Value)>,
    /// More, for `result.json` alone.
    detail: Map<String, Value>,
    /// What measured it.
    tool_version: String,
}

/// Why a model was not measured.
#[derive(Debug, Clone)]
pub enum Unmeasured {
    /// There is nothing to measure it against.
    NoTruth,
    /// It could not be done.
    Failed(String),
    /// Somebody asked for an end.
    Stopped,
}

/// A way of measuring.
pub trait Metric: Sync {
    /// Returns its name, which its folder has too.
    fn name(&self) -> &str;
    /// Returns what its own columns begin with.
    fn prefix(&self) -> &str;
    /// Returns a text that is another one if it would measure otherwise.
    fn settings(&self) -> String;
    /// Measures a model.
    fn measure(&self, case: &Case<'_>) -> Result<Measured, Unmeasured>;
}

/// What became of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Scored { doubtful: bool },
    Known { doubtful: bool },
    Pending,
    NoTruth,
    Failed,
    Stopped,
}

/// What measuring came to.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ComputeReport {
    /// The run.
    pub run_id: String,
    /// The metric.
    pub metric: String,
    /// Jobs that the filters mean.
    pub matched: usize,
    /// Models that were measured now.
    pub scored: usize,
    /// Models that had a result already.
    pub up_to_date: usize,
    /// Models that would be measured.
    pub pending: usize,
    /// Of all results, those that leave a doubt.
    pub ambiguous: usize,
    /// Models without anything to measure them against.
    pub without_truth: usize,
    /// Models that could not be measured.
    pub failed: usize,
    /// Models that were not looked at because somebody asked for an end.
    pub left: usize,
    /// Jobs that were only rehearsed.
    pub rehearsed: usize,
    /// Jobs without a model.
    pub without_model: usize,
    /// What went wrong with which job.
    pub errors: Vec<JobError>,
    /// What is worth telling, one sentence each.
    pub warnings: Vec<String>,
}

/// What went wrong with a job.
#[derive(Debug, Clone, Serialize)]
pub struct JobError {
    /// The job.
    pub job_id: String,
    /// What went wrong.
    pub error: String,
}

/// Who hears how it goes.
pub struct ComputeHooks<'a> {
    /// Hears after every model how many are done, and of how many.
    pub each: &'a (dyn Fn(usize, usize) + Sync),
    /// Hears for how long another program has kept the registry locked.
    pub waiting: &'a (dyn Fn(Duration) + Sync),
}

/// Measures models and writes what comes out.
pub fn compute(
    context: &OpsContext,
    request: &ComputeRequest,
    metric: &dyn Metric,
    cancel: &Cancel,
    hooks: &ComputeHooks<'_>,
) -> Result<ComputeReport, OpsError> {
    let run_id = &request.choice.run_id;
    bounds::refuse_links_outside(&context.workspace, Some(run_id))?;
    let metrics = context.workspace.run(run_id).root().join("metrics");
    for folder in [&metrics, &metrics.join(metric.name())] {
        bounds::refuse_link_outside(&context.workspace, folder)?;
    }
    let found = results(context, &request.choice, &["gt_object_path"])?;
    let work = Work {
        context,
        request,
        metric,
        cancel,
        waiting: hooks.waiting,
        // A letter first: a spreadsheet takes digits alone for a number.
        settings: format!("c{}", &hex(&Sha256::digest(metric.settings()))[..15]),
        state: Mutex::new(State::default()),
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(request.parallel)
        .build();
    let pool = pool.map_err(|error| OpsError::Setup {
        message: format!("no threads can be started: {error}"),
        hint: Some("try a smaller -j".to_owned()),
    })?;
    let total = found.made.len();
    let outcomes: Vec<Outcome> = pool.install(|| {
        let outcomes = found.made.par_iter().with_max_len(1).map(|made| {
            let outcome = work.look_at(made)?;
            (hooks.each)(work.count_one(), total);
            Ok(outcome)
        });
        outcomes.collect::<Result<_, OpsError>>()
    })?;
    work.fold()?;
    let state = work.state.into_inner();
    let state = state.unwrap_or_else(PoisonError::into_inner);
    let mut report = ComputeReport {
        run_id: run_id.to_string(),
        metric: metric.name().to_owned(),
        matched: found.matched,
        rehearsed: found.rehearsed,
        without_model: found.without_model,
        warnings: found.warnings,
        errors: state.errors,
        ..ComputeReport::default()
    };
    report.errors.sort_by(|a, b| a.job_id.cmp(&b.job_id));
    for outcome in outcomes {
        report.count(outcome);
    }
    if !request.dry_run {
        report.log(context);
    }
    Ok(report)
}

impl ComputeReport {
    fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Scored { .. } => self.scored += 1,
            Outcome::Known { .. } => self.up_to_date += 1,
            Outcome::Pending => self.pending += 1,
            Outcome::NoTruth => self.without_truth += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Stopped => self.left += 1,
        }
        if let Outcome::Scored { doubtful: true } | Outcome::Known { doubtful: true } = outcome {
            self.ambiguous += 1;
        }
    }

    fn log(&mut self, context: &OpsContext) {
        let mut record = Map::new();
        record.insert("event".into(), json!("compute_summary"));
        record.insert("timestamp".into(), json!(context.clock.now().iso()));
        if let Ok(Value::Object(fields)) = serde_json::to_value(&*self) {
            let counts = fields.into_iter();
            record.extend(counts.filter(|(_, value)| !value.is_array()));
        }
        let trouble = append_record(&context.workspace.log("metrics"), &record);
        self.warnings.extend(trouble);
    }
}

#[derive(Default)]
struct State {
    done: usize,
    waiting: Vec<(String, Vec<(String, String)>)>,
    last_fold: Option<Instant>,
    errors: Vec<JobError>,
}

struct Work<'a> {
    context: &'a OpsContext,
    request: &'a ComputeRequest,
    metric: &'a dyn Metric,
    cancel: &'a Cancel,
    waiting: &'a (dyn Fn(Duration) + Sync),
    settings: String,
    state: Mutex<State>,
}

impl Work<'_> {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_one(&self) -> usize {
        let mut state = self.state();
        state.done += 1;
        state.done
    }

    fn look_at(&self, made: &Made) -> Result<Outcome, OpsError> {
        if self.cancel.stage() != Stage::Go {
            return Ok(Outcome::Stopped);
        }
        let case = match self.case(made) {
            Ok(case) => case,
            Err(reason) => return self.failed(made, &reason, None),
        };
        let path = case.folder.join("result.json");
        if !self.request.redo
            && let Some((doubtful, cells)) = self.known(&case, &path)
        {
            self.hand_in(made, cells)?;
            return Ok(Outcome::Known { doubtful });
        }
        if self.request.dry_run {
            let has_truth = !matches!(case.truth, Ok(None));
            return Ok(if has_truth {
                Outcome::Pending
            } else {
                Outcome::NoTruth
            });
        }
        let begun = Instant::now();
        let measured = match self.metric.measure(&case) {
            Ok(measured) => measured,
            Err(Unmeasured::NoTruth) => return Ok(Outcome::NoTruth),
            Err(Unmeasured::Stopped) => return Ok(Outcome::Stopped),
            Err(Unmeasured::Failed(reason)) => return self.failed(made, &reason, Some(&case)),
        };
        let doubtful = measured.status != "ok";
        let cells = self.cells_of(
            &case,
            measured.status,
            None,
            Some(&measured),
            begun.elapsed(),
        );
        self.keep(&case, &cells, measured.detail)?;
        self.hand_in(made, as_texts(&cells))?;
        Ok(Outcome::Scored { doubtful })
    }

    fn case<'c>(&'c self, made: &'c Made) -> Result<Case<'c>, String> {
        let workspace = &self.context.workspace;
        let run_id = &self.request.choice.run_id;
        let reason = |what: &str, error: io::Error| format!("{what} cannot be read: {error}");
        let model =
            Subject::read(made.model.clone()).map_err(|error| reason("the made model", error))?;
        let stored = made.cells[0].as_str();
        let truth = match workspace.absolute(stored) {
            _ if stored.is_empty() => Ok(None),
            None => Err(format!("{stored} leads out of the workspace")),
            Some(path) => Subject::read(path)
                .map(Some)
                .map_err(|error| reason("the real model", error)),
        };
        let deadline = self.request.timeout.map(|limit| Instant::now() + limit);
        let folder = workspace.run(run_id).root().join("metrics");
        Ok(Case {
            context: self.context,
            made,
            run_id,
            model,
            truth,
            folder: folder
                .join(self.metric.name())
                .join(made.job.job_id.as_str()),
            stop: JobStop::new(self.cancel.clone(), deadline),
        })
    }

    /// Returns the cells of a result that is there and is about these very files.
    fn known(&self, case: &Case<'_>, path: &Path) -> Option<(bool, Vec<(String, String)>)> {
        let bytes = durable::read_plain(path, 16 << 20).ok()?;
        let result: Map<String, Value> = serde_json::from_slice(&bytes).ok()?;
        let said = |name: &str| result.get(name).and_then(Value::as_str);
        let truth = case.truth.as_ref().ok()?.as_ref();
        let same = said("settings") == Some(&self.settings)
            && said("model_sha256") == Some(&case.model.sha256)
            && said("truth_sha256") == truth.map(|truth| truth.sha256.as_str());
        let cells = result.get("columns")?.as_object()?;
        let status = cells.get(&format!("{}_status", self.metric.prefix()))?;
        let status = status.as_str().filter(|status| *status != "error")?;
        same.then(|| {
            let cells: Vec<(String, Value)> = cells.clone().into_iter().collect();
            (status != "ok", as_texts(&cells))
        })
    }

    fn cells_of(
        &self,
        case: &Case<'_>,
        status: &str,
        error: Option<&str>,
        measured: Option<&Measured>,
        took: Duration,
    ) -> Vec<(String, Value)> {
        let prefix = self.metric.prefix();
        let own = |name: &str| format!("{prefix}_{name}");
        let mut cells = vec![
            (own("status"), json!(status)),
            (own("error"), json!(error.unwrap_or_default())),
        ];
        if let Some(measured) = measured {
            cells.extend(measured.cells.iter().cloned());
            cells.push((own("tool_version"), json!(measured.tool_version)));
        }
        let millis = (took.as_secs_f64() * 1000.0).round() / 1000.0;
        cells.push((own("runtime_s"), json!(millis)));
        cells.push((own("config_hash"), json!(self.settings)));
        cells.push((own("model_sha256"), json!(case.model.sha256)));
        cells
    }

    /// Writes `result.json`, whole or not at all.
    fn keep(
        &self,
        case: &Case<'_>,
        cells: &[(String, Value)],
        detail: Map<String, Value>,
    ) -> Result<(), StoreError> {
        let truth = case.truth.as_ref().ok().and_then(Option::as_ref);
        let relative = |path: &Path| self.context.workspace.relative(path);
        let columns: Map<String, Value> = cells.iter().cloned().collect();
        let mut result = Map::new();
        for (name, value) in [
            ("metric", json!(self.metric.name())),
            ("job_id", json!(case.made.job.job_id)),
            ("run_id", json!(case.run_id)),
            ("at", json!(self.context.clock.now().iso())),
            ("settings", json!(self.settings)),
            ("model", json!(relative(&case.model.path))),
            ("model_sha256", json!(case.model.sha256)),
            ("truth", json!(truth.map(|truth| relative(&truth.path)))),
            ("truth_sha256", json!(truth.map(|truth| &truth.sha256))),
            ("columns", Value::Object(columns)),
        ] {
            result.insert(name.to_owned(), value);
        }
        result.extend(detail);
        let mut text = serde_json::to_vec_pretty(&result).unwrap_or_default();
        text.push(b'\n');
        fs::create_dir_all(&case.folder).context("create", &case.folder)?;
        let path = case.folder.join("result.json");
        durable::replace(&path, &text, &tag()).context("write", &path)?;
        Ok(())
    }

    fn failed(
        &self,
        made: &Made,
        reason: &str,
        case: Option<&Case<'_>>,
    ) -> Result<Outcome, OpsError> {
        let reason = one_line(reason);
        self.state().errors.push(JobError {
            job_id: made.job.job_id.to_string(),
            error: reason.clone(),
        });
        if let Some(case) = case {
            let cells = self.cells_of(case, "error", Some(&reason), None, Duration::ZERO);
            self.keep(case, &cells, Map::new())?;
            self.hand_in(made, as_texts(&cells))?;
        }
        Ok(Outcome::Failed)
    }

    /// Notes cells for the registry, which is written every now and then.
    fn hand_in(&self, made: &Made, cells: Vec<(String, String)>) -> Result<(), OpsError> {
        if self.request.dry_run {
            return Ok(());
        }
        let mut state = self.state();
        state.waiting.push((made.job.job_id.to_string(), cells));
        let due = state.last_fold.get_or_insert_with(Instant::now).elapsed() > FOLD_EVERY;
        drop(state);
        if due {
            self.fold()?;
        }
        Ok(())
    }

    /// Brings what waits into the registry: single cells of rows that are there.
    fn fold(&self) -> Result<(), OpsError> {
        let waiting = {
            let mut state = self.state();
            state.last_fold = Some(Instant::now());
            std::mem::take(&mut state.waiting)
        };
        if waiting.is_empty() {
            return Ok(());
        }
        let path = self.context.workspace.registry();
        let patience = |waited| {
            (self.waiting)(waited);
            self.cancel.stage() != Stage::Kill
        };
        let held = TableLock::acquire(&self.context.workspace, patience);
        let Some(_held) = held.context("lock", &path)? else {
            return Err(OpsError::Setup {
                message: "stopped before the registry could be written".to_owned(),
                hint: Some("the results are kept; the same command brings them in".to_owned()),
            });
        };
        let Some(mut table) = table_file::read(&path)? else {
            return Ok(());
        };
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in waiting.iter().flat_map(|(_, cells)| cells) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let widened = table.ensure_columns(&names);
        let place = |table: &crate::table::Table, name: &str| table.column(name);
        let mut edits = Vec::new();
        let run_id = self.request.choice.run_id.as_str();
        let rows: Vec<Vec<usize>> = {
            let index = table.index(run_id);
            let of_job = |(job, _): &(String, _)| index.rows_of(job).collect();
            waiting.iter().map(of_job).collect()
        };
        for ((_, cells), rows) in waiting.iter().zip(rows) {
            for row in rows {
                let cells = cells
                    .iter()
                    .filter_map(|(name, text)| Some((place(&table, name)?, text.clone())));
                edits.push(RowEdit {
                    row,
                    cells: cells.collect(),
                });
            }
        }
        if table.patch(&edits) || widened {
            durable::replace(&path, table.bytes(), &tag()).context("replace", &path)?;
        }
        Ok(())
    }
}

fn tag() -> String {
    format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple())
}

/// Returns values as the tables have them.
fn as_texts(cells: &[(String, Value)]) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.to_string(),
            // So many digits are the same however often a number is written and read.
            (None, Some(value)) => number_cell(format!("{value:.11e}").parse().unwrap_or(value)),
            (None, None) => number.to_string(),
        },
        Value::String(text) => formula_safe(&one_line(text)),
        other => other.to_string(),
    };
    let cells = cells.iter();
    cells
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

/// Returns the attempt that made a model.
fn attempt_of(made: &Made) -> u32 {
    match &made.job.snapshot {
        crate::store::JobSnapshot::Known {
            state: JobState::Completed { attempt, .. },
            ..
        } => *attempt,
        _ => 1,
    }
}
