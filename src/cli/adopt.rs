//! `archi3d run adopt`: brings in a result that could not be published.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::run_arg::JobArg;
use crate::cli::ui::Ui;
use archi3d_core::domain::id::RunId;
use archi3d_core::ops::adopt::{AdoptRequest, Adopted, adopt};
use archi3d_core::ops::cancel::Warn;

/// The options of `run adopt`.
#[derive(Debug, Args)]
#[command(
    after_help = "A model that an adapter made is never thrown away: where it could not be published, it is
kept under runs/RUN/outputs/.late. This command makes it the result of its job. Nothing is
made again and nothing is bought. A job that has a result keeps it.

Examples:
  archi3d run adopt r1 d610
  archi3d run adopt r1 d610 --from runs/r1/outputs/.late/d610ebfd455b.2-0f3a91c4"
)]
pub struct AdoptArgs {
    #[command(flatten)]
    target: JobArg,

    /// The folder that holds the result [default: the latest with a whole model]
    #[arg(long, value_name = "FOLDER")]
    from: Option<PathBuf>,

    /// Continue where file locks cannot be trusted; only safe if no other machine
    /// works on the run
    #[arg(long)]
    allow_unsafe_locks: bool,
}

/// Brings the result in and says where it is.
pub fn run(args: &AdoptArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    let (run_id, job) = args.target.or_only(&context, ui)?;
    let request = AdoptRequest {
        run_id,
        job,
        from: args.from.clone(),
        allow_unsafe_locks: args.allow_unsafe_locks,
    };
    let printer = ui.clone();
    let warn: Warn = Arc::new(move |message| printer.warn(message));
    let adopted = adopt(&context, &request, &warn)?;
    if ui.is_json() {
        let run_id = &request.run_id;
        ui.answer(&Answer {
            run_id,
            adopted: &adopted,
        })?;
    } else {
        ui.say(&format!(
            "adopted: job {} has its result, {}; nothing was bought",
            adopted.job_id, adopted.model
        ));
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Answer<'a> {
    run_id: &'a RunId,
    #[serde(flatten)]
    adopted: &'a Adopted,
}
