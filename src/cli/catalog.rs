//! `archi3d catalog …`: the table of products that batches are made from.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::ui::Ui;
use crate::cli::working::while_working;
use archi3d_core::domain::issue::IssueKind;
use archi3d_core::domain::item::ImageOrder;
use archi3d_core::domain::text::counted;
use archi3d_core::ops::OpsError;
use archi3d_core::ops::catalog::RiskyCell;
use archi3d_core::ops::catalog::{self, CatalogReport, CatalogRequest};

/// How many cells are warned about one by one.
const WARNED: usize = 10;

/// What can be done with the catalog.
#[derive(Debug, Subcommand)]
pub enum CatalogCommand {
    /// Make tables/items.csv and tables/items_issues.csv from the dataset
    Build(BuildArgs),
}

/// The options of `catalog build`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d catalog build
  archi3d catalog build --products-json exports/products.json
  archi3d catalog build --image-order name     # job ids as in an existing workspace")]
pub struct BuildArgs {
    /// The folder of product folders, inside the workspace [default: dataset/]
    #[arg(long, value_name = "DIR")]
    dataset: Option<PathBuf>,
    /// What is known about the products
    /// [default: products-with-3d.json in the workspace, else one level up]
    #[arg(long, value_name = "FILE")]
    products_json: Option<PathBuf>,
    /// Which images come first: names ending in _A to _F, or plain name order
    /// [default: tags, except where existing tables hold name order]
    #[arg(long, value_enum, value_name = "ORDER")]
    image_order: Option<OrderArg>,
}

/// The words for an image order.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum OrderArg {
    /// Names that end in _A to _F first, by letter, then the rest by name
    Tags,
    /// By name, as existing workspaces have it
    Name,
}

/// Carries out the command.
pub fn run(command: &CatalogCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    match command {
        CatalogCommand::Build(args) => build(args, global, ui),
    }
}

fn build(args: &BuildArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    let request = CatalogRequest {
        dataset: args.dataset.clone(),
        products_json: args.products_json.clone(),
        image_order: args.image_order.map(|order| match order {
            OrderArg::Tags => ImageOrder::Tags,
            OrderArg::Name => ImageOrder::Name,
        }),
    };
    let work = || catalog::build(&context.workspace, &*context.clock, &request);
    let report = while_working(ui, "looking through the dataset", work)
        .map_err(|error| CliError::from(OpsError::from(error)))?;
    let warnings = context.settings.warnings.iter().chain(&report.warnings);
    tell(ui, warnings, &report.risky_cells, &report.notices);
    if ui.is_json() {
        ui.answer(&report.told())?;
    } else {
        ui.data(&to_text(&report))?;
    }
    Ok(Exit::Done)
}

/// Says what is odd about a table that was made, and of cells the first one by one.
pub(super) fn tell<'a>(
    ui: &Ui,
    warnings: impl Iterator<Item = &'a String>,
    cells: &[RiskyCell],
    notices: &[String],
) {
    for warning in warnings {
        ui.warn(warning);
    }
    for cell in cells.iter().take(WARNED) {
        ui.warn(&cell.warning());
    }
    if cells.len() > WARNED {
        let more = counted(cells.len() - WARNED, "more such cell");
        ui.warn(&format!("… and {more}"));
    }
    for notice in notices {
        ui.say(notice);
    }
}

fn to_text(report: &CatalogReport) -> String {
    let mut text = format!(
        "{} in tables/items.csv ({} with images, {} with ground truth)",
        counted(report.items_total, "item"),
        report.items_with_img,
        report.items_with_gt
    );
    let total: usize = report.issues.values().sum();
    if total == 0 {
        text.push_str("\nno issues");
        return text;
    }
    let _ = write!(
        text,
        "\n{} in tables/items_issues.csv:",
        counted(total, "issue")
    );
    for (kind, count) in &report.issues {
        let _ = write!(text, "\n  {:<24}{count}", kind.word());
        if *kind == IssueKind::MissingGt {
            text.push_str(" (only scores need a ground truth)");
        }
    }
    text
}
