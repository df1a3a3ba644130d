//! `archi3d batch …`: the jobs of a run, made from the catalog.

use std::fmt::Write as _;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::Global;
use crate::cli::catalog::tell;
use crate::cli::error::{CliError, Exit};
use crate::cli::resume::quoted;
use crate::cli::run::parse_run_id;
use crate::cli::ui::Ui;
use crate::cli::waiting;
use crate::cli::working::while_working;
use archi3d_core::domain::plan::ItemFilter;
use archi3d_core::domain::text::counted;
use archi3d_core::ops::OpsError;
use archi3d_core::ops::batch::{self, BatchReport, BatchRequest, ConfiguredAlgos};

/// What can be done with batches.
#[derive(Debug, Subcommand)]
pub enum BatchCommand {
    /// Add jobs to a run: items × algos, without those it has already
    Create(CreateArgs),
}

/// The options of `batch create`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d batch create --run-id chairs --algos trellis_single,rodin_multi
  archi3d batch create --run-id eco --algos ecotest --with-gt-only
  archi3d batch create --include sofa --limit 5 --dry-run")]
pub struct CreateArgs {
    /// The run to add to [default: a new one, named after the time]
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: Option<String>,
    /// Algos separated by commas, or `ecotest`: single-image algos for items with
    /// one image, multi-image algos for the others [default: the first that can run here]
    #[arg(long, value_name = "LIST")]
    algos: Option<String>,
    /// Which of an item's images a job uses
    #[arg(long, value_enum, value_name = "POLICY", default_value = "use_up_to_6")]
    image_policy: ImagePolicy,
    /// At most this many items; 0 and less mean all
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    limit: Option<i64>,
    /// Only items whose id, variant or name contains this, in any case
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    include: Option<String>,
    /// No items whose id, variant or name contains this, in any case
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    exclude: Option<String>,
    /// Only items with a ground truth
    #[arg(long)]
    with_gt_only: bool,
    /// Show what would be created and write only the log line
    #[arg(long)]
    dry_run: bool,
}

/// The ways to choose images.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ImagePolicy {
    /// All of them, six at most
    #[value(name = "use_up_to_6")]
    UseUpTo6,
}

/// Carries out the command.
pub fn run(command: &BatchCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    match command {
        BatchCommand::Create(args) => create(args, global, ui),
    }
}

fn create(args: &CreateArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let run_id = args.run_id.as_deref().map(parse_run_id).transpose()?;
    let context = global.context()?;
    let ImagePolicy::UseUpTo6 = args.image_policy;
    let request = BatchRequest {
        run_id,
        algos: args.algos.clone(),
        filter: ItemFilter {
            include: args.include.clone(),
            exclude: args.exclude.clone(),
            with_gt_only: args.with_gt_only,
            limit: args.limit,
        },
        dry_run: args.dry_run,
        items: None,
    };
    let mut waiting = waiting::for_registry(ui);
    let configured = ConfiguredAlgos::here(&context);
    let work = || batch::create(&context, &configured, &request, &mut waiting);
    let report = while_working(ui, "creating jobs", work)
        .map_err(|error| CliError::from(OpsError::from(error)))?;
    let warnings = context.settings.warnings.iter().chain(&report.warnings);
    tell(ui, warnings, &report.risky_cells, &report.notices);
    if ui.is_json() {
        ui.answer(&report.told())?;
    } else {
        ui.data(&to_text(&report))?;
    }
    if !report.dry_run && report.enqueued > 0 {
        let run = quoted(report.run_id.as_str());
        if context.workspace.run(&report.run_id).in_fleet() {
            ui.hint(&format!(
                "first, to hand the new jobs over: archi3d fleet push --run-id {run}"
            ));
        }
        ui.hint(&format!("to see what it costs: archi3d run plan {run}"));
        ui.hint(&format!("to make the models: archi3d run worker {run}"));
    }
    Ok(Exit::Done)
}

fn to_text(report: &BatchReport) -> String {
    let verb = if report.dry_run { "would be " } else { "" };
    let mut text = format!(
        "run {}: {} {verb}enqueued from {}",
        report.run_id,
        counted(report.enqueued, "job"),
        counted(report.candidates, "item")
    );
    if let Some(jobs) = report.manifest_jobs {
        let _ = write!(text, " ({} in its manifest)", counted(jobs, "job"));
    }
    if report.skipped > 0 {
        let _ = write!(text, "\n{} skipped:", report.skipped);
        for (why, count) in &report.skip_reasons {
            let _ = write!(text, "\n  {:<20}{count}", why.word());
        }
    }
    text
}
