//! `archi3d run status`: how a run stands, once or for as long as one watches.
//!
//! Reads the options and shows what `ops::status` found; how it looks is in
//! [`text`], how it is drawn again and again in [`crate::cli::watch`].

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::resume::{quoted, workspace_option};
use crate::cli::run_arg::RunArg;
use crate::cli::selection_args::items;
use crate::cli::table::{Fitted, Page};
use crate::cli::ui::Ui;
use crate::cli::watch;
use crate::domain::id::RunId;
use crate::domain::job::Status;
use crate::domain::text::one_line;
use crate::ops::OpsContext;
use crate::ops::job_list::{ListedJob, job_list};
use crate::ops::money::Money;
use crate::ops::status::{RunStatus, run_status};

pub mod text;

pub use crate::cli::table::{lines_of, plain_table, short_duration};

/// The options of `run status`.
#[derive(Debug, Args)]
#[command(
    after_help = "Reads only and takes no lock, so it can be asked from any terminal while workers run.
--watch draws it again until nothing waits and no worker runs; Ctrl-C ends it, the
workers go on. Where standard output is no terminal, one block follows another.

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
    let context = OpsContext::open(global.workspace.as_deref())?;
    let items = items(&args.item)?;
    let run_id = args.run.or_latest(&context, ui)?;
    if args.list || !items.is_empty() {
        let jobs = job_list(&context, &run_id, &items)?;
        if ui.is_json() {
            ui.data_json(&jobs_json(&run_id, &jobs))?;
        } else {
            ui.data(&jobs_text(&jobs, Page::of_list()))?;
        }
        return Ok(Exit::Done);
    }
    if args.watch {
        return watch::run(ui, args.interval, || {
            let status = run_status(&context, &run_id)?;
            Ok(watch::Look {
                over: status.is_over(),
                json: to_json(&status),
                draw: Box::new(move |page| text::render(&status, page)),
            })
        });
    }
    let status = run_status(&context, &run_id)?;
    for warning in &status.warnings {
        ui.warn(warning);
    }
    if ui.is_json() {
        ui.data_json(&to_json(&status))?;
        return Ok(Exit::Done);
    }
    let page = Page {
        verbose: ui.is_verbose(),
        ..Page::of_terminal()
    };
    ui.data(&text::render(&status, page))?;
    let (run, folder) = (quoted(run_id.as_str()), workspace_option(global));
    if status.running.iter().any(|job| job.verdict == "dead") {
        ui.hint(&format!(
            "to resume jobs whose worker died: archi3d run worker {run} \
             --only-status enqueued,running{folder}"
        ));
    }
    if let Some(group) = status.failure_groups.first() {
        let job = quoted(group.job_id.as_str());
        ui.hint(&format!(
            "why it failed and what to do: archi3d run explain {run} {job}{folder}"
        ));
    }
    Ok(Exit::Done)
}

fn jobs_json(run_id: &RunId, jobs: &[ListedJob]) -> Value {
    let jobs = jobs.iter().map(|job| {
        json!({
            "product_id": job.name.product_id,
            "variant": job.name.variant,
            "algo": job.name.algo,
            "state": job.state,
            "result": job.result,
            "job_id": job.job_id,
        })
    });
    json!({"run_id": run_id, "jobs": jobs.collect::<Vec<_>>()})
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

/// Returns the money of a run for machines.
pub fn money_json(money: &Money) -> Value {
    let limits = money.limits.iter().map(|limit| {
        json!({
            "of": limit.of,
            "cap_usd": limit.cap_usd,
            "used_usd": limit.used_usd,
            "left_usd": limit.left_usd(),
        })
    });
    json!({
        "spent_usd": money.spent_usd,
        "reserved_usd": money.reserved_usd,
        "limits": limits.collect::<Vec<_>>(),
    })
}

fn counts_json(count: impl Fn(Status) -> usize) -> Value {
    let counts = Status::ALL.map(|status| (status.word().to_owned(), json!(count(status))));
    Value::Object(counts.into_iter().collect())
}

fn to_json(status: &RunStatus) -> Value {
    let seconds = |age: Option<Duration>| age.map(|age| age.as_millis() as f64 / 1e3);
    let mut money = money_json(&status.money);
    money["to_finish_usd"] = json!(status.to_finish_usd);
    money["to_finish_unpriced_jobs"] = json!(status.to_finish_unpriced);
    json!({
        "run_id": status.run_id,
        "at": status.at,
        "total": status.total,
        "unknown_status": status.unknown_status,
        "without_row": status.without_row,
        "counts": counts_json(|s| status.count(s)),
        "rehearsed": status.rehearsed,
        "algos": status.algos.iter().map(|algo| json!({
            "algo": algo.algo,
            "counts": counts_json(|s| algo.counts[s as usize]),
            "median_s": algo.median_s,
            "unit_price_usd": algo.unit_usd,
            "cost_usd": algo.cost_usd,
        })).collect::<Vec<_>>(),
        "pace": status.pace.map(|pace| json!({
            "jobs_per_hour": pace.per_hour,
            "parallel": pace.parallel,
            "window_s": pace.window_s,
        })),
        "time_left_s": seconds(status.time_left),
        "money": money,
        "made": status.made(),
        "running": status.running.iter().map(|job| json!({
            "job_id": job.job_id,
            "product_id": status.name(&job.job_id).product_id,
            "variant": status.name(&job.job_id).variant,
            "algo": job.algo,
            "attempt": job.attempt,
            "worker": job.worker,
            "host": job.host,
            "age_s": seconds(job.age),
            "last_beat_age_s": seconds(job.last_beat_age),
            "verdict": job.verdict,
            "progress": job.progress,
            "slow": job.slow,
            "stalled": job.stalled,
            "cancel_asked": job.cancel_asked,
        })).collect::<Vec<_>>(),
        "closed_providers": status.closed,
        "paused_algos": status.paused,
        "failures": status.failures.iter().map(|job| json!({
            "job_id": job.job_id,
            "product_id": status.name(&job.job_id).product_id,
            "variant": status.name(&job.job_id).variant,
            "algo": status.name(&job.job_id).algo,
            "message": job.message,
        })).collect::<Vec<_>>(),
        "failure_groups": status.failure_groups.iter().map(|group| json!({
            "count": group.count,
            "message": group.message,
            "newest_job_id": group.job_id,
            "newest_at": group.last,
            "algos": group.algos,
        })).collect::<Vec<_>>(),
        "warnings": status.warnings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::status::text::tests::sample;

    #[test]
    fn machines_see_every_status_even_if_it_is_zero() {
        let value = to_json(&sample());
        assert_eq!(
            value["counts"].to_string(),
            r#"{"enqueued":3,"running":1,"completed":0,"failed":1,"cancelled":0}"#
        );
        assert_eq!(value["running"][0]["age_s"], json!(192.0));
        assert_eq!(value["running"][0]["host"], Value::Null);
        assert_eq!(value["time_left_s"], json!(750.0));
    }
}
