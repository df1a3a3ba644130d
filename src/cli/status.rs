//! `archi3d run status`: how a run stands, once or for as long as one watches.
//!
//! Reads the options and shows what `ops::status` found; how it looks is in
//! [`text`], how it is drawn again and again in [`crate::cli::watch`].

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::resume::quoted;
use crate::cli::run_arg::RunArg;
use crate::cli::selection_args::items;
use crate::cli::table::{Fitted, Page};
use crate::cli::ui::{self, Ui};
use crate::cli::watch;
use archi3d_core::domain::job::Status;
use archi3d_core::domain::text::one_line;
use archi3d_core::ops::job_list::job_list;
use archi3d_core::ops::status::run_status;
use archi3d_core::ops::view::status::RunStatus;
use archi3d_core::ops::view::status::{ListedJob, Liveness};

pub mod text;

pub use crate::cli::table::{lines_of, plain_table, short_duration};

/// The options of `run status`.
#[derive(Debug, Args)]
#[command(
    after_help = "Reads only and takes no lock, so it can be asked from any terminal while workers run.
--watch draws it again until nothing waits and no worker runs; Ctrl-C ends it, the
workers continue. Where standard output is no terminal, one block follows another.

Examples:
  archi3d run status
  archi3d run status r1 --watch
  archi3d run status r1 --list
  archi3d run status --item 335888
  archi3d run status r1 --json | jq .counts"
)]
pub struct StatusArgs {
    #[command(flatten)]
    run: RunArg,
    /// List every job with its product, state and result
    #[arg(long, conflicts_with = "watch")]
    list: bool,
    /// List only the jobs of this product, or of one variant of it; may be repeated
    #[arg(
        long,
        value_name = "PRODUCT[:VARIANT]",
        value_delimiter = ',',
        conflicts_with = "watch"
    )]
    item: Vec<String>,
    /// Show it again and again until nothing is left to do
    #[arg(long, short)]
    watch: bool,
    /// How often --watch looks, in seconds
    #[arg(long, value_name = "SECS", default_value = "2", value_parser = crate::cli::worker::seconds, requires = "watch")]
    interval: Duration,
}

/// Reads the run and prints how it stands.
pub fn run(args: &StatusArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    let items = items(&args.item)?;
    let run_id = args.run.or_latest(&context, ui)?;
    if args.list || !items.is_empty() {
        let jobs = job_list(&context, &run_id, &items)?;
        if ui.is_json() {
            ui.answer(&jobs)?;
        } else {
            ui.data(&jobs_text(&jobs.jobs, Page::of_list()))?;
        }
        return Ok(Exit::Done);
    }
    if args.watch {
        return watch::run(ui, args.interval, || {
            let status = run_status(&context, &run_id)?;
            Ok(watch::Look {
                over: status.is_over(),
                json: ui::value(&Shown::of(&status)),
                draw: Box::new(move |page| text::render(&status, page)),
            })
        });
    }
    let status = run_status(&context, &run_id)?;
    for warning in &status.warnings {
        ui.warn(warning);
    }
    if ui.is_json() {
        ui.answer(&Shown::of(&status))?;
        return Ok(Exit::Done);
    }
    let page = Page {
        verbose: ui.is_verbose(),
        ..Page::of_terminal()
    };
    ui.data(&text::render(&status, page))?;
    let run = quoted(run_id.as_str());
    if status
        .running
        .iter()
        .any(|job| job.verdict == Liveness::Dead)
    {
        ui.hint(&format!(
            "to resume jobs whose worker died: archi3d run worker {run} \
             --only-status enqueued,running"
        ));
    }
    if let Some(group) = status.failure_groups.first() {
        let job = quoted(group.job_id.as_str());
        ui.hint(&format!(
            "why it failed and what to do: archi3d run explain {run} {job}"
        ));
    }
    Ok(Exit::Done)
}

fn jobs_text(jobs: &[ListedJob], page: Page) -> String {
    let mut table = Fitted::new(["item", "algo", "state", "result, else job"]).cut(&[0, 1]);
    for job in jobs {
        let id = job.job_id.to_string();
        table.row([
            job.name.item(),
            one_line(&job.name.algo),
            one_line(&job.state),
            job.result.clone().unwrap_or(id),
        ]);
    }
    table.lines(page).join("\n")
}

/// What machines read of a run: the counts also in the words of services.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    status: &'a RunStatus,
    states: BTreeMap<&'static str, usize>,
}

impl<'a> Shown<'a> {
    fn of(status: &'a RunStatus) -> Self {
        let count = |one: Status| (one.state(), status.counts[one as usize]);
        Self {
            status,
            states: Status::ALL.into_iter().map(count).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::cli::status::text::tests::sample;

    #[test]
    fn machines_see_every_status_even_if_it_is_zero() {
        let value = json!(sample());
        assert_eq!(
            value["counts"].to_string(),
            r#"{"enqueued":3,"running":1,"completed":0,"failed":1,"cancelled":0}"#
        );
        assert_eq!(value["running"][0]["age_s"], json!(192.0));
        assert_eq!(value["running"][0]["host"], Value::Null);
        assert_eq!(value["time_left_s"], json!(750.0));
    }
}
