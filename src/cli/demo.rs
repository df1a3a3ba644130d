//! `archi3d demo`: everything at once, on pictures that the program draws.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::cli::Global;
use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::program;
use crate::cli::progress::{Progress, summary_line};
use crate::cli::report;
use crate::cli::resume::quoted;
use crate::cli::signal::Signals;
use crate::cli::ui::Ui;
use archi3d_core::cancel::Cancel;
use archi3d_core::ops::demo::{DemoReport, DemoRequest, DemoStep, RUN, demo};
use archi3d_core::ops::is_taken_by_default;

/// The options of `demo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d demo
  archi3d demo /tmp/look --picture-size 256 --open

Draws pictures of a few products, builds their catalog, makes a batch over two algos, runs it,
builds its report and says where to look. A second time on the same folder nothing is done again.")]
pub struct DemoArgs {
    /// The folder to make: new, empty, or an earlier demo
    #[arg(value_name = "DIR", default_value = "archi3d-demo")]
    dir: PathBuf,
    /// Width and height of the pictures in pixels
    #[arg(long, value_name = "PX", default_value = "512", value_parser = clap::value_parser!(u32).range(16..=4096))]
    picture_size: u32,
    /// Open the report in the browser
    #[arg(long)]
    open: bool,
}

/// Makes the demo and says where to look.
pub fn run(args: &DemoArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    if global.workspace.is_some() {
        return Err(CliError::usage("a demo makes a workspace of its own")
            .hint("leave --workspace out and name the folder: `archi3d demo DIR`"));
    }
    let request = DemoRequest {
        folder: args.dir.clone(),
        picture_size: args.picture_size,
        most_products: None,
    };
    let cancel = Cancel::new();
    let signals = Signals::listen(&cancel, ui).map_err(|error| {
        let source = anyhow::Error::new(error).context("cannot listen to signals");
        CliError::new(ErrorKind::Internal, source)
    })?;
    let progress = Arc::new(Progress::new(ui));
    let ended = demo(&request, &cancel, progress.clone(), &mut |step| {
        ui.say(&step_text(&step));
    });
    progress.finish();
    let report = ended?;
    for warning in &report.warnings {
        ui.warn(warning);
    }
    let exit = match &report.summary {
        Some(summary) => {
            ui.say(&summary_line(summary));
            Exit::of(summary, signals.first())
        }
        None => Exit::Done,
    };
    if ui.is_json() {
        ui.answer(&report)?;
    } else {
        let stopped = report.summary.as_ref();
        if stopped.is_some_and(|summary| summary.stopped_by.as_deref() == Some("interrupted")) {
            ui.say("stopped; the same command continues");
            return Ok(exit);
        }
        ui.data(&to_text(&report, &args.dir))?;
    }
    if let (true, Some(page)) = (args.open, &report.page) {
        report::open(page, ui);
    }
    Ok(exit)
}

fn step_text(step: &DemoStep<'_>) -> String {
    match step {
        DemoStep::Drawing => "drawing pictures…".to_owned(),
        DemoStep::Pictures { drawn, kept: 0 } => format!("pictures: {drawn} drawn"),
        DemoStep::Pictures { drawn, kept } => {
            format!("pictures: {drawn} drawn, {kept} were there")
        }
        DemoStep::Catalog(report) => format!(
            "catalog: {} items, {} of them with their real model",
            report.items_total, report.items_with_gt
        ),
        DemoStep::Batch(report) => format!(
            "batch: {} jobs in run {} ({} algos)",
            report.enqueued,
            report.run_id,
            report.algos.algos.len()
        ),
        DemoStep::Report => "drawing the models for the report…".to_owned(),
    }
}

fn to_text(report: &DemoReport, dir: &Path) -> String {
    let counts: Vec<String> = report
        .counts
        .iter()
        .map(|(status, count)| format!("{count} {status}"))
        .collect();
    let done = if report.was_done {
        "everything is done already; nothing was run again"
    } else {
        "done"
    };
    let mut places = vec![
        ("dataset/".to_owned(), "the pictures"),
        (
            "tables/generations.csv".to_owned(),
            "one row per generation",
        ),
        (
            format!("runs/{RUN}/outputs/"),
            "the models, for any glTF viewer",
        ),
    ];
    if report.page.is_some() {
        let page = format!("reports/{RUN}/index.html");
        places.push((page, "everything on one page, for any browser"));
    }
    let width = places.iter().map(|(place, _)| place.len()).max();
    let width = width.unwrap_or_default();
    let mut text = format!("{done}: {}\n\nWhere to look:", counts.join(", "));
    for (place, what) in places {
        let root = report.workspace.display();
        let _ = write!(text, "\n  {root}/{place:width$}  {what}");
    }
    text.push_str("\n\nWhat to type next:");
    for command in next_commands(report, dir) {
        let _ = write!(text, "\n  {command}");
    }
    text
}

/// Returns commands that act on the demo, whatever other workspace is configured.
fn next_commands(report: &DemoReport, dir: &Path) -> Vec<String> {
    // A program that was started by a path is not found from within another folder.
    let can_change = program::is_on_path() || !is_relative(program::typed());
    let is_default = can_change && is_taken_by_default(&report.workspace);
    let is_here = std::env::current_dir()
        .and_then(|here| here.canonicalize())
        .is_ok_and(|here| here == report.workspace);
    let option = if is_default {
        String::new()
    } else {
        let root = if can_change { &report.workspace } else { dir };
        format!(" --workspace {}", quoted(&root.display().to_string()))
    };
    let change = (is_default && !is_here).then(|| {
        let typed = dir.display().to_string();
        format!("cd {}", quoted(&typed))
    });
    let commands = [
        format!("archi3d report build {RUN} --open{option}"),
        format!("archi3d run status {RUN}{option}"),
        format!("archi3d batch create --run-id mine --algos relief --limit 3{option}"),
        format!("archi3d run worker mine{option}"),
    ];
    change.into_iter().chain(commands).collect()
}

fn is_relative(program: &str) -> bool {
    Path::new(program.trim_matches('\'')).is_relative()
}
