//! Figures for Prometheus, computed from what the workspace holds: for `/metrics` and for
//! `run worker --metrics-file`. Reads only.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use crate::domain::id::{JobId, RunId};
use crate::domain::job::{Entry, Status};
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;
use crate::ops::attempts::{AttemptOutcome, NamedAttempt, run_attempts};
use crate::ops::names::{self, RunLine};
use crate::ops::status::run_status;
use crate::ops::view::status::{Liveness, RunStatus};
use crate::ops::{OpsContext, OpsError, adapters, health, workers};
use crate::store::error::IoContext as _;
use crate::workspace::durable;

mod text;

pub use text::text;

/// Runs that were active within this many seconds have figures of their own.
const ACTIVE_S: u64 = 86_400;

/// A run that is over is read again after so many seconds.
const READ_AGAIN_S: u64 = 60;

/// So many runs at most.
const MOST_RUNS: usize = 50;

/// The name of all other runs together.
const OTHER: &str = "other";

/// Bounds of the times of attempts, in seconds.
const BOUNDS: [f64; 12] = [
    1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0,
];

/// What kind of figure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Goes up and down.
    Gauge,
    /// Only goes up.
    Counter,
    /// Counts by size.
    Histogram,
}

/// Figures of one name.
#[derive(Debug, Clone)]
pub struct Family {
    name: &'static str,
    kind: Kind,
    help: &'static str,
    samples: BTreeMap<(u8, String), f64>,
    /// Whether the highest of several figures counts, not their sum.
    highest: bool,
}

impl Family {
    /// Makes one without figures.
    pub fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self {
            name,
            kind,
            help,
            samples: BTreeMap::new(),
            highest: false,
        }
    }

    fn join(&mut self, other: &Self) {
        self.highest |= other.highest;
        for (key, value) in &other.samples {
            let known = self.samples.entry(key.clone()).or_default();
            *known = if self.highest {
                known.max(*value)
            } else {
                *known + value
            };
        }
    }

    /// Adds to the figure with these labels.
    pub fn add(&mut self, labels: &[(&str, &str)], value: f64) {
        self.add_named("", 0, labels, value);
    }

    /// Sets the figure with these labels if it is more than what is there.
    pub fn raise(&mut self, labels: &[(&str, &str)], value: f64) {
        self.highest = true;
        let key = (0, format!("{}{}", self.name, written(labels)));
        let found = self.samples.entry(key).or_insert(value);
        *found = found.max(value);
    }

    fn add_named(&mut self, suffix: &str, order: u8, labels: &[(&str, &str)], value: f64) {
        let key = (order, format!("{}{suffix}{}", self.name, written(labels)));
        *self.samples.entry(key).or_default() += value;
    }

    /// Adds counts by size; `below` has how many were not above each bound.
    pub fn add_histogram(
        &mut self,
        labels: &[(&str, &str)],
        bounds: &[f64],
        below: &[u64],
        count: u64,
        sum: f64,
    ) {
        for (place, (bound, below)) in (0u8..).zip(bounds.iter().zip(below)) {
            let bound = bound.to_string();
            let labels: Vec<_> = labels
                .iter()
                .copied()
                .chain([("le", bound.as_str())])
                .collect();
            self.add_named("_bucket", place, &labels, *below as f64);
        }
        let labels_inf: Vec<_> = labels.iter().copied().chain([("le", "+Inf")]).collect();
        self.add_named("_bucket", 100, &labels_inf, count as f64);
        self.add_named("_sum", 101, labels, sum);
        self.add_named("_count", 102, labels, count as f64);
    }

    fn observe(&mut self, labels: &[(&str, &str)], value: f64) {
        let below = BOUNDS.map(|bound| u64::from(value <= bound));
        self.add_histogram(labels, &BOUNDS, &below, 1, value);
    }
}

fn written(labels: &[(&str, &str)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let labels = labels.iter().map(|(name, value)| {
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    });
    format!("{{{}}}", labels.collect::<Vec<_>>().join(","))
}

/// Writes the figures of a workspace into a file that a collector reads, in one step.
pub fn write_file(context: &OpsContext, seen: &mut Seen, path: &Path) -> Result<(), OpsError> {
    let text = text(&measure(context, seen)?);
    durable::replace_unsynced(path, text.as_bytes(), &std::process::id().to_string())
        .context("write", path)?;
    Ok(())
}

#[derive(Debug, Default)]
struct Figures {
    families: BTreeMap<&'static str, Family>,
}

/// What was tried in each run, as it was computed last: most runs are over.
#[derive(Debug, Default)]
pub struct Seen(HashMap<RunId, SeenRun>);

#[derive(Debug)]
struct SeenRun {
    /// How the run stood then.
    mark: Mark,
    /// When it was read last.
    at: Timestamp,
    figures: Figures,
    status: RunStatus,
    /// When its last attempt ended.
    last: Option<Timestamp>,
    /// When a job of it was last completed.
    completed: Option<Timestamp>,
    /// Jobs whose last attempt may have been billed with nobody knowing, and how that ended.
    unsure: HashMap<JobId, AttemptOutcome>,
}

/// By what a run is known to be as it was: its counts, and how much its journals hold.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    counts: [usize; Status::ALL.len()],
    rehearsed: usize,
    journals: u64,
}

impl Mark {
    fn of(context: &OpsContext, run: &RunId, line: &RunLine) -> Self {
        let journals = std::fs::read_dir(context.workspace.run(run).journals());
        let journals = journals.into_iter().flatten().flatten();
        let sizes = journals.filter_map(|journal| Some(journal.metadata().ok()?.len()));
        Self {
            counts: line.counts,
            rehearsed: line.rehearsed,
            journals: sizes.sum(),
        }
    }

    fn is_open(&self) -> bool {
        let open = [Status::Enqueued, Status::Running];
        open.iter().any(|status| self.counts[*status as usize] > 0)
    }
}

impl Figures {
    fn join(&mut self, other: &Self) {
        for (name, family) in &other.families {
            let known = self.of(name, family.kind, family.help);
            known.join(family);
        }
    }

    fn of(&mut self, name: &'static str, kind: Kind, help: &'static str) -> &mut Family {
        self.families
            .entry(name)
            .or_insert_with(|| Family::new(name, kind, help))
    }

    fn gauge(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
        value: f64,
    ) {
        self.of(name, Kind::Gauge, help).add(labels, value);
    }

    fn counter(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
        value: f64,
    ) {
        self.of(name, Kind::Counter, help).add(labels, value);
    }
}

/// Computes all figures of a workspace; of runs that `seen` knows as they are only what is new is read.
pub fn measure(context: &OpsContext, seen: &mut Seen) -> Result<Vec<Family>, OpsError> {
    let mut figures = Figures::default();
    let version = env!("CARGO_PKG_VERSION");
    let labels = [
        ("version", version),
        ("commit", option_env!("ARCHI3D_COMMIT").unwrap_or("")),
    ];
    figures.gauge("archi3d_build_info", "The version that runs.", &labels, 1.0);
    let (mut lines, _) = names::runs(context)?;
    let rows: usize = lines.iter().map(|line| line.jobs).sum();
    figures.gauge(
        "archi3d_registry_rows",
        "Rows of the registry.",
        &[],
        rows as f64,
    );
    lines.retain(|line| line.has_manifest);
    lines.reverse();
    lines.sort_by_key(|line| std::cmp::Reverse(line.created));
    let (mut own, mut unreadable) = (0, 0);
    for line in &lines {
        let Ok(run) = RunId::parse(&line.run) else {
            continue;
        };
        // One that is harmed keeps nobody from the figures of the others, and goes on counting as it was.
        unreadable += u32::from(seen.read(context, &run, line).is_err());
        let Some(tried) = seen.0.get(&run) else {
            continue;
        };
        figures.join(&tried.figures);
        let is_own = own < MOST_RUNS && is_active(context, line, tried.last);
        own += usize::from(is_own);
        let name = if is_own { run.as_str() } else { OTHER };
        of_run(&mut figures, name, tried);
    }
    figures.gauge(
        "archi3d_unreadable_runs",
        "Runs that cannot be read; they count as they were.",
        &[],
        f64::from(unreadable),
    );
    of_workers(&mut figures, context)?;
    of_providers(&mut figures, context)?;
    if let Some(free) = health::free_bytes(context) {
        figures.gauge(
            "archi3d_workspace_free_bytes",
            "Room on the disk of the workspace.",
            &[],
            free as f64,
        );
    }
    Ok(figures.families.into_values().collect())
}

impl Seen {
    /// Reads what may be new of a run: one that is over is read again when it changes, and now and then.
    fn read(&mut self, context: &OpsContext, run: &RunId, line: &RunLine) -> Result<(), OpsError> {
        let (mark, now) = (Mark::of(context, run, line), context.clock.now());
        let known = self.0.get_mut(run).filter(|seen| seen.mark == mark);
        let age_s = known.as_ref().map(|seen| now.since(seen.at).as_secs());
        if !mark.is_open() && age_s.is_some_and(|age_s| age_s < READ_AGAIN_S) {
            return Ok(());
        }
        let mut status = run_status(context, run)?;
        // Of failures only the jobs count here.
        status.failure_groups = Vec::new();
        for failure in &mut status.failures {
            failure.message = String::new();
        }
        // What a fleet did shows only in counts.
        if let Some(seen) = known.filter(|_| line.fleet.is_none()) {
            (seen.at, seen.status) = (now, status);
            return Ok(());
        }
        let attempts = run_attempts(context, run, None, &[])?.attempts;
        let mut figures = Figures::default();
        of_attempts(&mut figures, context, line.created, &attempts);
        let seen = SeenRun {
            mark,
            at: now,
            status,
            figures,
            last: attempts.iter().filter_map(|one| one.record.ended).max(),
            completed: last_completed(&attempts),
            unsure: unsure(&attempts),
        };
        self.0.insert(run.clone(), seen);
        Ok(())
    }
}

fn is_active(context: &OpsContext, line: &RunLine, last: Option<Timestamp>) -> bool {
    let now = context.clock.now();
    let open = [Status::Enqueued, Status::Running];
    let recent = |at: Timestamp| now.since(at).as_secs() < ACTIVE_S;
    open.iter().any(|status| line.counts[*status as usize] > 0)
        || last.or(line.created).is_some_and(recent)
}

fn last_completed(attempts: &[NamedAttempt]) -> Option<Timestamp> {
    let records = attempts.iter().map(|attempt| &attempt.record);
    let real = records.filter(|one| !one.simulated && one.outcome == AttemptOutcome::Completed);
    real.filter_map(|one| one.ended).max()
}

fn unsure(attempts: &[NamedAttempt]) -> HashMap<JobId, AttemptOutcome> {
    let of_jobs = attempts.chunk_by(|one, next| one.record.job_id == next.record.job_id);
    let last = of_jobs.filter_map(|attempts| Some(&attempts.last()?.record));
    let unsure = last.filter(|one| match one.outcome {
        AttemptOutcome::Failed => one.class == Some(ErrorClass::Unknown),
        outcome => outcome == AttemptOutcome::Interrupted,
    });
    unsure
        .map(|one| (one.job_id.clone(), one.outcome))
        .collect()
}

/// Adds how a run stands, under its name or that of all others.
fn of_run(figures: &mut Figures, name: &str, tried: &SeenRun) {
    let (own, status) = (name != OTHER, &tried.status);
    for algo in &status.algos {
        for state in Status::ALL {
            let labels = [
                ("run", name),
                ("algo", algo.algo.as_str()),
                ("status", state.word()),
            ];
            figures.gauge(
                "archi3d_jobs",
                "Jobs by state.",
                &labels,
                algo.counts[state as usize] as f64,
            );
        }
        let open = [Status::Enqueued, Status::Running].map(|state| algo.counts[state as usize]);
        let unpriced = if algo.unit_usd.is_none() {
            open.iter().sum::<usize>()
        } else {
            0
        };
        figures.gauge(
            "archi3d_unpriced_jobs",
            "Jobs to come whose price is unknown.",
            &[("algo", &algo.algo)],
            unpriced as f64,
        );
        let failed = status.failures.iter();
        let failed = failed.filter(|job| job.name.algo == algo.algo);
        let unsure = failed.filter_map(|job| tried.unsure.get(&job.job_id));
        let unsure: Vec<&AttemptOutcome> = unsure.collect();
        figures.gauge(
            "archi3d_unsure_jobs",
            "Failed jobs that may have been billed.",
            &[("algo", &algo.algo)],
            unsure.len() as f64,
        );
        let lost = unsure.iter();
        let lost = lost.filter(|outcome| ***outcome == AttemptOutcome::Interrupted);
        recovered(figures, "failed", lost.count());
    }
    figures
        .of(
            "archi3d_fold_lag_seconds",
            Kind::Gauge,
            "For how long the longest has ended that the registry does not show.",
        )
        .raise(&[], status.behind.as_secs_f64());
    if let Some(at) = tried.completed {
        figures
            .of(
                "archi3d_last_completion_timestamp_seconds",
                Kind::Gauge,
                "When a job of a run was last completed.",
            )
            .raise(&[("run", name)], at.as_datetime().timestamp() as f64);
    }
    let money = &status.money.of_run;
    let labels = [("run", name)];
    figures.gauge(
        "archi3d_spent_usd",
        "What a run has cost.",
        &labels,
        money.spent_usd,
    );
    figures.gauge(
        "archi3d_reserved_usd",
        "What is reserved for jobs of a run.",
        &labels,
        money.reserved_usd,
    );
    if own {
        for limit in &money.limits {
            let labels = [("scope", limit.of), ("run", name)];
            figures
                .of("archi3d_budget_usd", Kind::Gauge, "Spending limits.")
                .raise(&labels, limit.cap_usd);
            figures
                .of(
                    "archi3d_budget_used_usd",
                    Kind::Gauge,
                    "What is spent or reserved of spending limits.",
                )
                .raise(&labels, limit.used_usd);
        }
    }
    let beats = status.running.iter().filter_map(|job| job.last_beat_age);
    let oldest = beats.max().map_or(0.0, |age| age.as_secs_f64());
    figures
        .of(
            "archi3d_oldest_heartbeat_seconds",
            Kind::Gauge,
            "The age of the oldest heartbeat of a job that is held.",
        )
        .raise(&[], oldest);
}

fn recovered(figures: &mut Figures, outcome: &str, jobs: usize) {
    figures.counter(
        "archi3d_recovered_jobs_total",
        "Jobs of dead workers that were requeued, or failed.",
        &[("outcome", outcome)],
        jobs as f64,
    );
}

fn of_attempts(
    figures: &mut Figures,
    context: &OpsContext,
    created: Option<Timestamp>,
    attempts: &[NamedAttempt],
) {
    let mut seen: Vec<&str> = Vec::new();
    let mut begun: HashSet<&str> = HashSet::new();
    let pairs = attempts
        .windows(2)
        .map(|pair| (&pair[0].record, &pair[1].record));
    let lost = pairs.filter(|(one, next)| {
        one.outcome == AttemptOutcome::Interrupted && one.job_id == next.job_id
    });
    // What a person had to start again had failed.
    let (failed, went_on): (Vec<_>, Vec<_>) =
        lost.partition(|(_, next)| next.entry == Entry::Retry);
    recovered(figures, "requeued", went_on.len());
    recovered(figures, "failed", failed.len());
    for attempt in attempts.iter().filter(|attempt| !attempt.record.simulated) {
        let record = &attempt.record;
        let algo = attempt.name.algo.as_str();
        let class = record
            .class
            .and_then(|class| serde_json::to_value(class).ok());
        let class = class
            .as_ref()
            .and_then(|class| class.as_str())
            .unwrap_or("");
        let outcome = match record.outcome {
            AttemptOutcome::Completed => "completed",
            AttemptOutcome::Failed | AttemptOutcome::PutOff => "failed",
            AttemptOutcome::Cancelled => "cancelled",
            AttemptOutcome::Running => continue,
            AttemptOutcome::Released | AttemptOutcome::Fenced | AttemptOutcome::Interrupted => {
                "released"
            }
        };
        let labels = [("algo", algo), ("outcome", outcome), ("class", class)];
        figures.counter(
            "archi3d_attempts_total",
            "Attempts that ended.",
            &labels,
            1.0,
        );
        if let Some(took) = record.duration_s {
            figures
                .of(
                    "archi3d_attempt_duration_seconds",
                    Kind::Histogram,
                    "How long attempts took.",
                )
                .observe(&labels[..2], took);
        }
        if begun.insert(record.job_id.as_str())
            && let Some(created) = created
        {
            let waited = record.started.since(created).as_secs_f64();
            figures
                .of(
                    "archi3d_queue_wait_seconds",
                    Kind::Histogram,
                    "How long jobs waited for their first attempt.",
                )
                .observe(&[("algo", algo)], waited);
        }
        if record.entry == Entry::Takeover {
            figures.counter(
                "archi3d_takeovers_total",
                "Jobs taken over from dead workers.",
                &[("reason", "dead")],
                1.0,
            );
        }
        if record.outcome == AttemptOutcome::Interrupted {
            figures.counter(
                "archi3d_lease_expirations_total",
                "Attempts whose worker died.",
                &[("reason", "dead")],
                1.0,
            );
        }
        let again = record
            .request_id
            .as_deref()
            .is_some_and(|request| seen.contains(&request));
        seen.extend(record.request_id.as_deref());
        if let Some(usd) = record.cost_usd.filter(|_| !again) {
            let settings = context.settings.algo(algo);
            let provider = settings.and_then(|settings| adapters::provider_of(settings).ok());
            let provider = provider.as_ref().map_or("", |provider| provider.as_str());
            let labels = [("algo", algo), ("provider", provider)];
            figures.counter("archi3d_cost_usd_total", "What was billed.", &labels, usd);
        }
    }
}

fn of_workers(figures: &mut Figures, context: &OpsContext) -> Result<(), OpsError> {
    for worker in workers::workers(context)? {
        let state = match worker.state {
            Liveness::Dead => "dead",
            Liveness::Alive | Liveness::Silent => "alive",
        };
        let labels = [
            ("host", worker.host.as_deref().unwrap_or("")),
            ("state", state),
        ];
        figures.gauge("archi3d_workers", "Workers.", &labels, 1.0);
    }
    Ok(())
}

fn of_providers(figures: &mut Figures, context: &OpsContext) -> Result<(), OpsError> {
    for entry in adapters::list(context)? {
        let open = f64::from(u8::from(entry.closed.is_none()));
        figures
            .of(
                "archi3d_provider_open",
                Kind::Gauge,
                "Whether jobs of a provider may start.",
            )
            .raise(&[("provider", &entry.provider)], open);
        let paused = f64::from(u8::from(entry.paused.is_some()));
        figures
            .of(
                "archi3d_breaker_open",
                Kind::Gauge,
                "Whether an algo is paused after failures in a row.",
            )
            .raise(&[("algo", entry.key.as_str())], paused);
    }
    Ok(())
}
