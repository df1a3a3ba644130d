//! `archi3d compute`: measures models, and writes what comes out into the registry.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::Global;
use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::selection_args::SelectionArgs;
use crate::cli::signal::Signals;
use crate::cli::ui::Ui;
use crate::cli::waiting;
use crate::cli::worker::{parallel, seconds};
use crate::cli::working::Counted;
use archi3d_core::cancel::Cancel;
use archi3d_core::domain::text::{counted, shell_word};
use archi3d_core::ops::OpsContext;
use archi3d_core::ops::compute::{
    ComputeHooks, ComputeReport, ComputeRequest, Fscore, Metric, ProgramScorer, compute,
};
use archi3d_core::ops::results::Choice;

/// Fewer points say little, more take memory for nothing.
const POINTS: std::ops::RangeInclusive<u64> = 100..=5_000_000;

/// How many failures are told one by one.
const SHOWN: usize = 20;

/// The commands about measuring.
#[derive(Debug, Subcommand)]
pub enum ComputeCommand {
    /// Measure how near models come to the real ones
    Fscore(FscoreArgs),
    /// Measure models with a program of yours, from config/scorers.yaml
    Scorer(ScorerArgs),
}

/// The options of `compute fscore`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d compute fscore
      measure what is new in the latest run
  archi3d compute fscore r1 --algo trellis_single -j 4
  archi3d compute fscore r1 --redo --n-points 200000

Every model is brought onto the real one by a turn, one scale and a shift, upright unless another
pose fits better by a fifth; the F-score is the share of both surfaces within 1 % of the real
model's diagonal. Where another pose is nearly as good the status is `ambiguous`. The numbers go
to tables/generations.csv and to runs/RUN/metrics/fscore/JOB/result.json; the same command again
measures only what is new.")]
pub struct FscoreArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// How many points each surface gets [default: 100000, or what global.yaml says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(POINTS))]
    n_points: Option<u64>,
}

/// The options of `compute scorer`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d compute scorer vfscore r1

A scorer is a program that speaks the adapter protocol: it gets the model in `extra` and says
what it found in `raw_metadata`, by column. docs/scores.md shows one.")]
pub struct ScorerArgs {
    /// The scorer's name in config/scorers.yaml
    #[arg(value_name = "NAME")]
    scorer: String,
    #[command(flatten)]
    common: CommonArgs,
}

/// What both understand.
#[derive(Debug, Args)]
struct CommonArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Measure also what has a result
    #[arg(long)]
    redo: bool,
    /// Only say how many models would be measured
    #[arg(long)]
    dry_run: bool,
    /// How many models are measured at once [default: one per processor]
    #[arg(long, short = 'j', value_name = "N", value_parser = parallel, allow_hyphen_values = true)]
    max_parallel: Option<usize>,
    /// The longest one model may take, in seconds
    #[arg(long, value_name = "SECS", value_parser = seconds, allow_hyphen_values = true)]
    timeout_s: Option<Duration>,
}

/// Measures the models and says what came out.
pub fn run(command: &ComputeCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    let settings = &context.settings.global;
    match command {
        ComputeCommand::Fscore(args) => {
            let points = args.n_points.or(settings.fscore_n_points);
            let points = points
                .unwrap_or(100_000)
                .clamp(*POINTS.start(), *POINTS.end());
            let metric = Fscore {
                points: usize::try_from(points).unwrap_or(usize::MAX),
            };
            let limit = settings.fscore_timeout_s;
            measure(&args.common, limit, &metric, &context, ui)
        }
        ComputeCommand::Scorer(args) => {
            let metric = ProgramScorer::find(&context, &args.scorer)?;
            let limit = metric.timeout_s();
            measure(&args.common, limit, &metric, &context, ui)
        }
    }
}

fn measure(
    args: &CommonArgs,
    usual_limit: Option<f64>,
    metric: &dyn Metric,
    context: &OpsContext,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let run_id = args.selection.run.or_latest(context, ui)?;
    let usual_limit = usual_limit.and_then(|limit| Duration::try_from_secs_f64(limit).ok());
    let request = ComputeRequest {
        choice: Choice {
            run_id,
            query: args.selection.read()?,
        },
        redo: args.redo,
        dry_run: args.dry_run,
        parallel: args
            .max_parallel
            .unwrap_or_else(|| available_parallelism().map_or(1, usize::from)),
        timeout: args.timeout_s.or(usual_limit),
    };
    for warning in &context.settings.warnings {
        ui.warn(warning);
    }
    let cancel = Cancel::new();
    let signals = Signals::listen(&cancel, ui).map_err(|error| {
        let source = anyhow::Error::new(error).context("cannot listen to signals");
        CliError::new(ErrorKind::Internal, source)
    })?;
    let bar = Counted::new(ui, "measuring models");
    let waiting = Mutex::new(waiting::for_registry(ui));
    let hooks = ComputeHooks {
        each: &|done, total| bar.at(done, total),
        waiting: &|waited| {
            let mut tell = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = (*tell)(waited);
        },
    };
    let report = compute(context, &request, metric, &cancel, &hooks);
    bar.finish();
    let report = report?;
    for warning in &report.warnings {
        ui.warn(warning);
    }
    for failed in report.errors.iter().take(SHOWN) {
        ui.failure(&format!("job {}: {}", failed.job_id, failed.error));
    }
    if ui.is_json() {
        ui.data_json(&serde_json::to_value(&report).expect("plain data"))?;
    } else {
        ui.data(&to_text(&report))?;
        if report.scored > 0 {
            ui.hint(&format!(
                "to look at models and scores: archi3d report build {} --open",
                shell_word(&report.run_id)
            ));
        }
    }
    Ok(match (report.matched, signals.first()) {
        (_, Some(signal)) => Exit::Interrupted(signal),
        (0, None) => Exit::NoMatch,
        _ if report.failed > 0 => Exit::JobsFailed,
        _ => Exit::Done,
    })
}

fn to_text(report: &ComputeReport) -> String {
    let mut text = format!(
        "{}: {} measured",
        report.metric,
        counted(report.scored, "model")
    );
    for (count, what) in [
        (report.up_to_date, "up to date"),
        (report.pending, "to be measured"),
        (report.failed, "failed"),
        (report.left, "left for later"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    if report.ambiguous > 0 {
        let _ = write!(
            text,
            "\nambiguous: {} of them fit nearly as well in another pose; the report leaves them out of averages",
            report.ambiguous
        );
    }
    for (count, what) in [
        (report.without_truth, "without a real model"),
        (report.rehearsed, "only rehearsed"),
        (report.without_model, "without a model"),
    ] {
        if count > 0 {
            let _ = write!(text, "\nskipped: {} {what}", counted(count, "job"));
        }
    }
    text
}
