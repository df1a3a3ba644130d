//! `archi3d run worker`: reads the options, lets `ops` run the jobs, and says
//! how it ended and what to type next.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::cli::Global;
use crate::cli::confirm;
use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::figures::Figures;
use crate::cli::fleet_args::{FleetArgs, StopArgs};
use crate::cli::guard;
use crate::cli::progress::{Progress, summary_line};
use crate::cli::resume;
use crate::cli::selection_args::SelectionArgs;
use crate::cli::signal::Signals;
use crate::cli::ui::Ui;
use archi3d_core::cancel::{Cancel, Stage};
use archi3d_core::domain::id::{AlgoKey, RunId};
use archi3d_core::domain::lease::Rhythm;
use archi3d_core::domain::order::JobOrder;
use archi3d_core::engine::Canary;
use archi3d_core::engine::event::Summary;
use archi3d_core::ops::budget::Question;
use archi3d_core::ops::run::run_worker_asking;
use archi3d_core::ops::select::{FleetRequest, Spending, WorkerRequest};
use archi3d_core::ops::{OpsContext, notify, submit};

/// More threads than this help nobody and exhaust the machine.
const MAX_PARALLEL: usize = 1024;

/// The longest time an option takes, in seconds: a year.
const MAX_SECONDS: f64 = 366.0 * 86_400.0;

/// The options of `run worker`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d run worker r1 --dry-run
      rehearse: nothing is bought, everything else happens
  archi3d run worker -j 4
      run everything that waits in the latest run, four jobs at a time
  archi3d run worker r1 --only-status enqueued,running
      resume after a crash
  archi3d run worker r1 --only-status failed
      try failed jobs again
  archi3d run worker r1 --item 335888 --redo
      make the results of a product again
  archi3d run worker r1 --canary 2
      try two jobs of each algorithm, look, then release the rest
  archi3d run worker r1 --budget-usd 5
      start nothing that would bring the run above $5
  archi3d run worker r2 --reuse
      copy what an earlier run has made from the same pictures, buy the rest

Ctrl-C once: no new job starts and running ones finish. Twice: running jobs are
stopped and given back. Three times: the program ends at once.")]
pub struct WorkerArgs {
    #[command(flatten)]
    pub(super) selection: SelectionArgs,

    /// How many jobs run at once, from 1 to 1024
    #[arg(long, short = 'j', value_name = "N", default_value = "1", value_parser = parallel, allow_hyphen_values = true)]
    max_parallel: usize,

    /// Carry out every job with this algorithm instead of its own
    #[arg(long, value_name = "ALGO", allow_hyphen_values = true)]
    adapter: Option<String>,

    /// Rehearse: everything happens but the generation itself, and nothing is bought
    #[arg(long)]
    dry_run: bool,

    /// Stop at the first failure; running jobs may finish
    #[arg(long)]
    fail_fast: bool,

    /// Make completed jobs again; never widens a given --only-status
    #[arg(long)]
    redo: bool,

    /// Start at most this many jobs; trying one of them again does not count
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_hyphen_values = true)]
    limit: Option<usize>,

    /// The longest a job may take, in seconds; a job that takes longer fails
    #[arg(long, value_name = "SECS", value_parser = seconds, allow_hyphen_values = true)]
    timeout: Option<Duration>,

    /// Try a job again this often after failures that may pass [default: what
    /// the algorithm's entry says, else 0]
    #[arg(long, value_name = "N")]
    retries: Option<u32>,

    /// Buy failed jobs again that may have been billed and cannot be looked up
    #[arg(long)]
    resubmit_unknown: bool,

    /// Give up what earlier attempts bought and buy again; for jobs whose request
    /// is dead at the provider
    #[arg(long)]
    forget_requests: bool,

    /// Copy the result of an earlier identical job of any run instead of buying it:
    /// same pictures byte by byte, same algorithm, version and parameters
    #[arg(long)]
    reuse: bool,

    /// How long a rehearsed job takes, in milliseconds
    #[arg(long, value_name = "MS")]
    simulate_ms: Option<u64>,

    /// How often this worker shows that it lives, in seconds [default: 10, or a
    /// quarter of --stale-secs where that is less]
    #[arg(long, value_name = "SECS", value_parser = seconds, allow_hyphen_values = true)]
    heartbeat_secs: Option<Duration>,

    /// After how long a silent worker on another machine counts as dead, in seconds
    #[arg(long, value_name = "SECS", default_value = "600", value_parser = seconds, allow_hyphen_values = true)]
    stale_secs: Duration,

    #[command(flatten)]
    stop: StopArgs,

    /// On a fleet run: take up to N jobs that cost nothing ahead of the threads that will run
    /// them, and send their endings together; for jobs of milliseconds
    #[arg(long, value_name = "N", default_value = "0")]
    ahead: usize,

    /// On a fleet run: stay this many seconds after the last job, in case more are pushed
    #[arg(long, value_name = "SECS", value_parser = seconds, allow_hyphen_values = true)]
    until_idle: Option<Duration>,

    /// Start no job that would bring the run above this many US dollars, counting
    /// what all workers have spent and reserved; a limit in global.yaml holds too
    #[arg(long, value_name = "USD", value_parser = dollars, allow_hyphen_values = true)]
    budget_usd: Option<f64>,

    /// Try the first K jobs of each algorithm, then stop and say how they did
    #[arg(long, value_name = "K", value_parser = at_least_one, allow_hyphen_values = true)]
    canary: Option<usize>,

    /// With --canary: continue algorithms whose canaries all succeeded
    #[arg(long, requires = "canary")]
    release: bool,

    /// The order in which jobs are taken: manifest, cheapest, or row-first (all
    /// algorithms of one item before the next item)
    #[arg(long, value_name = "ORDER", default_value = "manifest", value_parser = order, hide_default_value = true)]
    order: JobOrder,

    /// Stay, and carry out every run that is submitted over HTTP, within the cost that it allows;
    /// takes no run and no filter
    #[cfg(feature = "serve")]
    #[arg(long, conflicts_with_all = ["run", "run_id", "item", "jobs", "only_status", "algo", "adapter", "dry_run", "redo", "limit", "canary", "budget_usd"])]
    follow: bool,

    /// Write figures for Prometheus into this file, every 15 seconds and at the end
    #[arg(long, value_name = "FILE")]
    metrics_file: Option<PathBuf>,

    /// Ask nothing: take every question as answered with yes
    #[arg(long, short = 'y')]
    yes: bool,

    /// Run on a drive whose file locks cannot be trusted; only safe if this is
    /// the only worker
    #[arg(long)]
    allow_unsafe_locks: bool,

    #[command(flatten)]
    fleet: FleetArgs,
}

/// Runs the jobs and says how it ended.
pub fn run(args: &WorkerArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    #[cfg(feature = "serve")]
    if args.follow {
        return crate::cli::followers::follow(global, args.max_parallel, args.stop.stop_grace, ui);
    }
    let context = global.context()?;
    let run_id = match guard::chosen_run() {
        Some(run_id) => run_id,
        None => args.selection.run.or_latest(&context, ui)?,
    };
    let request = args.to_request(run_id)?;
    if let Some(exit) = guard::stand(&context, &request, ui)? {
        return Ok(exit);
    }
    for warning in &context.settings.warnings {
        ui.warn(warning);
    }
    let cancel = Cancel::new();
    let signals = Signals::listen_with(&cancel, args.stop.stop_grace, ui).map_err(|error| {
        let source = anyhow::Error::new(error).context("cannot listen to signals");
        CliError::new(ErrorKind::Internal, source)
    })?;
    guard::accept(&cancel, ui);
    let progress = Arc::new(Progress::new(ui));
    let asks = |question: &Question| {
        if guard::is_guarded() {
            return guard::is_agreed(question);
        }
        let stopped = || cancel.stage() != Stage::Go;
        confirm::can_ask(ui) && confirm::ask_unless(&confirm::to_run(question), stopped)
    };
    let figures = args
        .metrics_file
        .clone()
        .map(|path| Figures::start(&context, path));
    let tells = !request.dry_run;
    if tells && let Err(error) = notify::begin(&context) {
        ui.warn(&format!("notifications cannot be sent: {error}"));
    }
    let ended = run_worker_asking(&context, &request, &cancel, progress.clone(), &asks);
    drop(figures);
    let heard = progress.finish();
    if tells {
        tell(&context, ui);
    }
    match ended {
        Ok(summary) => {
            let exit = Exit::of(&summary, signals.first());
            show_summary(&summary, ui);
            say_where(&summary, &request.run_id, &context, ui);
            // What cannot be read is told by whoever needs it.
            let bounded = submit::bounded(&context, &request).unwrap_or_else(|_| request.clone());
            for hint in resume::hints(&summary, &bounded) {
                ui.hint(&hint);
            }
            if ui.is_json() {
                ui.answer(&Answer {
                    run_id: &request.run_id,
                    summary: &summary,
                    exit_code: exit.code(),
                })?;
            }
            Ok(exit)
        }
        Err(error) => {
            if let Some(summary) = heard {
                show_summary(&summary, ui);
            }
            match signals.first() {
                Some(signal) if error.was_cut_short() || error.is_setup() => {
                    ui.say(&error.to_string());
                    Ok(Exit::Interrupted(signal))
                }
                _ => Err(error.into()),
            }
        }
    }
}

/// Tells people outside of what happened; what does not arrive is sent by the next worker or server.
fn tell(context: &OpsContext, ui: &Ui) {
    match notify::attend(context) {
        Ok(done) => done.troubles.iter().for_each(|trouble| ui.warn(trouble)),
        Err(error) => ui.warn(&format!("notifications could not be sent: {error}")),
    }
}

fn show_summary(summary: &Summary, ui: &Ui) {
    ui.say(&summary_line(summary));
}

/// Says where the results of a worker are, and how to look at them.
fn say_where(summary: &Summary, run_id: &RunId, context: &OpsContext, ui: &Ui) {
    if summary.dry_run || summary.completed == 0 {
        return;
    }
    let run = resume::quoted(run_id.as_str());
    let paths = context.workspace.run(run_id);
    if !paths.manifest().exists() {
        ui.say(&format!(
            "results: `fleet pull --run-id {run}`, in the workspace that pushed the run, brings them there"
        ));
        return;
    }
    let outputs = paths.outputs();
    let folder = match std::env::current_dir() {
        Ok(here) => outputs.strip_prefix(&here).unwrap_or(&outputs).to_owned(),
        Err(_) => outputs,
    };
    ui.say(&format!(
        "results: {}/<job>/generated.glb, for any glTF viewer",
        folder.display()
    ));
    if paths.fleet().exists() {
        ui.say(&format!(
            "to have them in the tables and in reports: archi3d fleet pull --run-id {run}"
        ));
    }
    ui.say(&format!("which is which: archi3d run status {run} --list"));
    ui.say(&format!(
        "to look at them: archi3d report build {run} --open"
    ));
}

/// What machines read of a worker.
#[derive(Serialize)]
struct Answer<'a> {
    run_id: &'a RunId,
    #[serde(flatten)]
    summary: &'a Summary,
    exit_code: u8,
}

impl WorkerArgs {
    /// Checks the options that clap cannot, before anything is touched.
    pub(super) fn to_request(&self, run_id: RunId) -> Result<WorkerRequest, CliError> {
        let rhythm = Rhythm {
            heartbeat: self
                .heartbeat_secs
                .unwrap_or_else(|| usual_heartbeat(self.stale_secs)),
            stale: self.stale_secs,
        };
        if rhythm.stale < rhythm.heartbeat * 2 {
            return Err(CliError::usage(format!(
                "--stale-secs {} is too short for --heartbeat-secs {}: live workers would count as dead",
                rhythm.stale.as_secs_f64(),
                rhythm.heartbeat.as_secs_f64(),
            ))
            .hint("make --stale-secs at least twice --heartbeat-secs, for all workers of the run"));
        }
        if self.simulate_ms.is_some() && !self.dry_run {
            return Err(CliError::usage(
                "--simulate-ms needs --dry-run; without it jobs run for real".to_owned(),
            )
            .hint("add --dry-run, or leave --simulate-ms out"));
        }
        Ok(WorkerRequest {
            run_id,
            query: self.selection.read()?,
            adapter: self.adapter.as_deref().map(AlgoKey::parse).transpose()?,
            max_parallel: self.max_parallel,
            dry_run: self.dry_run,
            fail_fast: self.fail_fast,
            redo: self.redo,
            limit: self.limit,
            timeout: self.timeout,
            simulate_ms: self.simulate_ms,
            rhythm,
            fleet: FleetRequest {
                ahead: self.ahead,
                until_idle: self.until_idle,
                ..self.fleet.request()
            },
            retries: self.retries,
            resubmit_unknown: self.resubmit_unknown,
            forget_requests: self.forget_requests,
            reuse: self.reuse,
            allow_unsafe_locks: self.allow_unsafe_locks,
            spending: Spending {
                budget_usd: self.budget_usd,
                ordered_usd: None,
                confirmed: self.yes,
                order: self.order,
                canary: self.canary.map(|per_algo| Canary {
                    per_algo,
                    release: self.release,
                }),
            },
        })
    }
}

pub(super) fn parallel(text: &str) -> Result<usize, String> {
    let number = at_least_one(text)?;
    if number > MAX_PARALLEL {
        return Err(format!("must be at most {MAX_PARALLEL}"));
    }
    Ok(number)
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.trim().parse::<i128>() {
        Ok(number) if number < 1 => Err("must be at least 1".into()),
        Ok(number) => usize::try_from(number).map_err(|_| "is too large".into()),
        Err(_) => Err("must be a whole number, at least 1".into()),
    }
}

fn order(text: &str) -> Result<JobOrder, String> {
    JobOrder::parse(text.trim()).ok_or_else(|| {
        let words: Vec<&str> = JobOrder::ALL.iter().map(|order| order.word()).collect();
        format!("must be one of {}", words.join(", "))
    })
}

/// Returns how often a worker shows that it lives where nobody says how often.
pub(super) fn usual_heartbeat(stale: Duration) -> Duration {
    Rhythm::default().heartbeat.min(stale / 4)
}

pub(super) fn dollars(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_start_matches('$').parse::<f64>();
    match number {
        Ok(usd) if usd.is_finite() && usd >= 0.0 => Ok(usd),
        _ => Err("must be a number of US dollars, 0 or more, such as 2.50".into()),
    }
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text
        .trim()
        .parse()
        .map_err(|_| "must be a number of seconds, such as 90 or 0.5".to_owned())?;
    if !number.is_finite() || number > MAX_SECONDS {
        return Err("must be at most a year".into());
    }
    let duration = Duration::try_from_secs_f64(number).unwrap_or_default();
    if duration < Duration::from_millis(1) {
        return Err("must be at least 0.001".into());
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use archi3d_core::domain::job::Status;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        args: WorkerArgs,
    }

    fn typed(text: &str) -> Result<WorkerRequest, String> {
        let words = std::iter::once("worker").chain(text.split_whitespace());
        let typed = Typed::try_parse_from(words).map_err(|error| error.to_string())?;
        let run = RunId::parse("r1").expect("valid");
        typed.args.to_request(run).map_err(|error| error.render())
    }

    #[test]
    fn only_the_run_id_is_required_and_the_rest_is_careful() {
        let request = typed("--run-id r1").expect("valid");
        assert_eq!(request.run_id.as_str(), "r1");
        assert_eq!(request.max_parallel, 1);
        assert_eq!(request.query.only_status, None);
        assert_eq!(request.rhythm, Rhythm::default());
        assert!(!request.dry_run && !request.redo && !request.fail_fast);
    }

    #[test]
    fn every_option_reaches_the_request() {
        let request = typed(
            "--run-id r1 --jobs d6* --only-status failed,running --max-parallel 8 \
             --adapter mock --dry-run --fail-fast --algo a,b --algo b --redo --limit 3 \
             --timeout 1.5 --simulate-ms 20 --heartbeat-secs 0.2 --stale-secs 2 --yes \
             --allow-unsafe-locks --budget-usd 2.5 --canary 2 --release --order row-first",
        )
        .expect("valid");
        assert_eq!(request.spending.order, JobOrder::RowFirst);
        let canary = request.spending.canary.expect("given");
        assert!(canary.per_algo == 2 && canary.release);
        assert_eq!(request.spending.budget_usd, Some(2.5));
        assert!(request.spending.confirmed);
        assert_eq!(request.query.jobs.expect("given").text(), "d6*");
        assert_eq!(
            request.query.only_status,
            Some(vec![Status::Failed, Status::Running])
        );
        assert_eq!(request.max_parallel, 8);
        assert_eq!(request.query.algo.len(), 2);
        assert_eq!(request.limit, Some(3));
        assert_eq!(request.timeout, Some(Duration::from_millis(1500)));
        assert_eq!(request.simulate_ms, Some(20));
        assert_eq!(request.rhythm.heartbeat, Duration::from_millis(200));
        assert_eq!(request.rhythm.stale, Duration::from_secs(2));
    }

    #[test]
    fn options_that_cannot_be_used_are_refused_with_the_reason() {
        for (text, reason) in [
            ("--run-id r1 --max-parallel 0", "must be at least 1"),
            ("--run-id r1 --max-parallel -3", "must be at least 1"),
            ("--run-id r1 --max-parallel 1025", "must be at most 1024"),
            ("--run-id r1 --max-parallel many", "must be a whole number"),
            ("--run-id r1 --limit 0", "must be at least 1"),
            ("--run-id r1 --budget-usd -1", "0 or more"),
            (
                "--run-id r1 --order random",
                "must be one of manifest, cheapest, row-first",
            ),
            ("--run-id r1 --release", "--canary"),
            ("--run-id r1 --canary 0", "must be at least 1"),
            ("--run-id r1 --budget-usd nan", "0 or more"),
            ("--run-id r1 --timeout 0", "must be at least 0.001"),
            ("--run-id r1 --timeout -1", "must be at least 0.001"),
            ("--run-id r1 --timeout nan", "must be at most a year"),
            (
                "--run-id r1 --heartbeat-secs x",
                "must be a number of seconds",
            ),
            (
                "--run-id r1 --heartbeat-secs 10 --stale-secs 15",
                "live workers would count as dead",
            ),
            ("--run-id r1 --jobs [", "unclosed character class"),
            ("--run-id r1 --only-status done", "is no status"),
            ("--run-id r1 --algo a/b", "algo key \"a/b\" contains '/'"),
        ] {
            let error = typed(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
