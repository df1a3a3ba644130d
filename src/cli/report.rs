//! `archi3d report build`: a run as a page that opens anywhere.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::run::parse_run_id;
use crate::cli::run_arg;
use crate::cli::selection_args::FilterArgs;
use crate::cli::ui::Ui;
use crate::cli::working::Counted;
use archi3d_core::domain::text::counted;
use archi3d_core::ops::report::{Chosen, LeftOut, Models, ReportBuilt, ReportRequest, build, show};

/// The commands about reports.
#[derive(Debug, Subcommand)]
pub enum ReportCommand {
    /// Build a report that opens in any browser, without a server or a network
    Build(BuildArgs),
}

/// The options of `report build`.
#[derive(Debug, Args)]
#[command(
    mut_arg("only_status", |arg| arg.help(
        "Only jobs in one of these states, separated by commas [default: all]"
    )),
    after_help = "Examples:
  archi3d report build r1 --open
      build reports/r1 and show it
  archi3d report build r2 --against r1
      compare two runs
  archi3d report build r1 --category Chairs --zip
      only the chairs, and a zip of it to hand over
  archi3d report build r1 --single-file --models none
      one small file for a mail

The folder can be copied or opened from a network drive; everything it needs is inside.
Building again writes only what is new. More about it: docs/report.md."
)]
pub struct BuildArgs {
    /// The runs to show; the latest if none is named
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// The runs to show, as options
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: Vec<String>,
    /// Compare with this run
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    against: Option<String>,
    /// Where to put the report; reports/RUN unless said
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Only products of this category; may be repeated
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    category: Vec<String>,
    /// Which models to put into the report: as many as fit, all, or pictures only
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    models: ModelsArg,
    /// How large the models may be together, with --models auto
    #[arg(long, value_name = "N", default_value_t = 500)]
    max_mb: u64,
    /// Also write everything as one file, report.html
    #[arg(long)]
    single_file: bool,
    /// Also write the folder as a zip beside it
    #[arg(long)]
    zip: bool,
    /// Open the report in the browser
    #[arg(long)]
    open: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModelsArg {
    Auto,
    All,
    None,
}

/// Builds a report and says where it is.
pub fn run(command: &ReportCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let ReportCommand::Build(args) = command;
    let query = args.filter.read()?;
    let context = global.context()?;
    let named = args.runs.iter().chain(&args.run_id);
    let mut runs = named
        .map(|run| parse_run_id(run))
        .collect::<Result<Vec<_>, _>>()?;
    if runs.is_empty() {
        runs.push(run_arg::or_latest(&context, ui)?);
    }
    let request = ReportRequest {
        runs,
        against: args.against.as_deref().map(parse_run_id).transpose()?,
        out: args.out.clone(),
        chosen: Chosen {
            query,
            categories: args.category.clone(),
        },
        models: match args.models {
            ModelsArg::Auto => Models::Auto,
            ModelsArg::All => Models::All,
            ModelsArg::None => Models::None,
        },
        most_bytes: args.max_mb.saturating_mul(1_000_000),
        single_file: args.single_file,
        zip: args.zip,
    };
    let bar = Counted::new(ui, "drawing models");
    let built = build(&context, &request, &|done, of| bar.at(done, of));
    bar.finish();
    let built = built?;
    for warning in context.settings.warnings.iter().chain(&built.warnings) {
        ui.warn(warning);
    }
    if ui.is_json() {
        ui.data_json(&serde_json::to_value(&built).expect("plain data"))?;
    } else {
        ui.data(to_text(&built).trim_end())?;
    }
    if args.open {
        open(&built.index, ui);
    } else if !ui.is_json() {
        ui.hint("open it in a browser; `--open` does that for you");
    }
    Ok(Exit::Done)
}

fn to_text(built: &ReportBuilt) -> String {
    let mut text = format!(
        "report: {}\n  {} of {}, {} ({} inside), {:.1} MB\n",
        built.index.display(),
        counted(built.jobs, "job"),
        counted(built.items, "item"),
        counted(built.models, "model"),
        built.models_inside,
        built.bytes as f64 / 1e6,
    );
    if let Some(file) = &built.single_file {
        let _ = writeln!(text, "  one file: {}", file.display());
    }
    if let Some(file) = &built.zip {
        let _ = writeln!(text, "  zip: {}", file.display());
    }
    for LeftOut { jobs, reason } in &built.left_out {
        let jobs = counted(*jobs, "job");
        let _ = writeln!(text, "  left out: {jobs} {reason}");
    }
    if built.models_inside < built.models {
        let models = counted(built.models - built.models_inside, "model");
        let _ = writeln!(
            text,
            "  {models} only as pictures; `--models all` puts them in"
        );
    }
    if built.without_poster > 0 {
        let models = counted(built.without_poster, "model");
        let _ = writeln!(text, "  {models} could not be drawn; the page says why");
    }
    text
}

/// Opens a report in the browser, or says where it is.
pub(super) fn open(page: &Path, ui: &Ui) {
    if show(page).is_err() {
        ui.hint(&format!(
            "no browser could be started; open {}",
            page.display()
        ));
    }
}
