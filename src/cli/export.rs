//! `archi3d export`: models under names that tell what they are.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::selection_args::SelectionArgs;
use crate::cli::ui::Ui;
use crate::cli::working::Counted;
use archi3d_core::domain::text::counted;
use archi3d_core::ops::export::{ExportReport, ExportRequest, USUAL_NAME, export};
use archi3d_core::ops::results::Choice;

/// The options of `export`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d export ~/models
      every model of the latest run, as PRODUCT_VARIANT_ALGO.glb
  archi3d export //server/share/r1 r1 --algo trellis_single
      those of one algo
  archi3d export models --run-id r1 --name '{product_name}_{algo}_{job_id}.glb'

Between braces: product_id, variant, algo, run_id, job_id, product_name, manufacturer,
category_l1, category_l2, category_l3. What cannot be part of a file name on Windows becomes _.
Nothing is ever overwritten, and nothing is copied if two models would get one name. A copy that
is there already is not copied again. A model that is missing or not whole is named and skipped (exit 1).")]
pub struct ExportArgs {
    /// The folder to copy to
    #[arg(value_name = "DEST")]
    dest: PathBuf,
    #[command(flatten)]
    selection: SelectionArgs,
    /// What the copies are called
    #[arg(long, value_name = "PATTERN", default_value = USUAL_NAME, allow_hyphen_values = true)]
    name: String,
}

/// Copies the models and says where they are.
pub fn run(args: &ExportArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    let run_id = args.selection.run.or_latest(&context, ui)?;
    let request = ExportRequest {
        choice: Choice {
            run_id,
            query: args.selection.read()?,
        },
        name: args.name.clone(),
        folder: args.dest.clone(),
    };
    let bar = Counted::new(ui, "copying models");
    let report = export(&context, &request, &mut |done, total| bar.at(done, total));
    bar.finish();
    let report = report?;
    for warning in context.settings.warnings.iter().chain(&report.warnings) {
        ui.warn(warning);
    }
    for one in &report.skipped {
        ui.warn(&format!(
            "skipped: {} ({} by {}): {}",
            one.job_id, one.product_id, one.algo, one.reason
        ));
    }
    if ui.is_json() {
        ui.data_json(&serde_json::to_value(&report).expect("plain data"))?;
    } else {
        ui.data(&to_text(&report))?;
    }
    Ok(match report.matched {
        0 => Exit::NoMatch,
        _ if !report.skipped.is_empty() => Exit::JobsFailed,
        _ => Exit::Done,
    })
}

fn to_text(report: &ExportReport) -> String {
    if report.matched == 0 {
        let states = report.otherwise.iter();
        let states: Vec<String> = states
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        return if states.is_empty() {
            format!("nothing copied: no job of run {} matches", report.run_id)
        } else {
            format!(
                "nothing copied: no matching job of run {} has a model ({})",
                report.run_id,
                states.join(", ")
            )
        };
    }
    let mut text = format!(
        "{} copied to {}",
        counted(report.copied, "model"),
        report.folder.display()
    );
    if report.were_there > 0 {
        let _ = write!(text, ", {} were there already", report.were_there);
    }
    for (count, what) in [
        (report.rehearsed, "only rehearsed"),
        (report.without_model, "without a model"),
    ] {
        if count > 0 {
            let _ = write!(text, "\nskipped: {} {what}", counted(count, "job"));
        }
    }
    text
}
