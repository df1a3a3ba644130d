//! `archi3d run explain`: one job, why it is where it is, and what to type next.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::cli::Global;
use crate::cli::attempts::of_job;
use crate::cli::error::{CliError, Exit};
use crate::cli::program;
use crate::cli::run_arg::JobArg;
use crate::cli::table::{Page, dollars, lines_of, short_duration, straight_table};
use crate::cli::ui::Ui;
use archi3d_core::domain::id::{JobId, RunId};
use archi3d_core::domain::reason::ReasonCode;
use archi3d_core::domain::text::{counted, one_line, shell_word};
use archi3d_core::ops::explain::run_explain;
use archi3d_core::ops::select::WorkerRequest;
use archi3d_core::ops::view::explain::{Explanation, RunOptions, Step};
use archi3d_core::ops::view::status::Liveness;

/// The options of `run explain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d run explain 335888
      the only job of this product in the latest run; several are listed
  archi3d run explain r1 d610
      a job of another run, by the beginning of its id
  archi3d run explain r1 d610 --json | jq -r '.next[].command'")]
pub struct ExplainArgs {
    #[command(flatten)]
    target: JobArg,
}

/// Explains the job.
pub fn run(args: &ExplainArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    let (run_id, job) = args.target.or_latest(&context, ui)?;
    let request = WorkerRequest::plain(run_id);
    let told = run_explain(&context, &request, &job)?;
    for warning in &told.warnings {
        ui.warn(warning);
    }
    if ui.is_json() {
        ui.answer(&Answer {
            next: typed(&told),
            told: &told,
        })?;
    } else {
        ui.data(&to_text(&told, Page::of_terminal()))?;
    }
    Ok(Exit::Done)
}

/// What machines read of a job.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    told: &'a Explanation,
    next: Vec<Typed<'a>>,
}

/// A step as it is typed.
#[derive(Serialize)]
struct Typed<'a> {
    what: &'a str,
    command: String,
}

fn typed(told: &Explanation) -> Vec<Typed<'_>> {
    let steps = told.next.iter().map(|next| Typed {
        what: &next.what,
        command: program::as_typed(&command(&next.step, &told.run_id, &told.job_id)),
    });
    steps.collect()
}

/// Returns the command that takes a step.
fn command(step: &Step, run: &RunId, job: &JobId) -> String {
    let run = shell_word(run.as_str());
    match step {
        Step::Run(options) => worker(options, &run, job),
        Step::Plan => format!("archi3d run plan --run-id {run} --jobs '{job}'"),
        Step::Adopt => format!("archi3d run adopt --run-id {run} '{job}'"),
        Step::UndoCancel => format!("archi3d run cancel --run-id {run} --jobs '{job}' --undo"),
        Step::Settle => format!("archi3d cost settle --run-id {run} '{job}' --usd AMOUNT"),
        Step::Watch => format!("archi3d run status --run-id {run} --watch"),
        Step::RebuildRows => format!("archi3d registry rebuild --run-id {run}"),
        Step::CompleteBatch => format!("archi3d batch create --run-id {run}"),
        Step::Resume(key) => format!("archi3d adapters resume {key}"),
        Step::ListAdapters => "archi3d adapters list".to_owned(),
    }
}

fn worker(options: &RunOptions, run: &str, job: &JobId) -> String {
    let mut text = format!("archi3d run worker --run-id {run} --jobs '{job}'");
    if let Some(status) = options.only_status {
        let _ = write!(text, " --only-status {status}");
    }
    if let Some(retries) = options.retries {
        let _ = write!(text, " --retries {retries}");
    }
    for (given, flag) in [
        (options.redo, " --redo"),
        (options.resubmit_unknown, " --resubmit-unknown"),
        (options.raises, " --budget-usd AMOUNT"),
    ] {
        text.push_str(if given { flag } else { "" });
    }
    text
}

fn to_text(told: &Explanation, page: Page) -> String {
    // A person must never take a rehearsal for a result.
    let state = match told.code {
        ReasonCode::RehearsedOnly => "rehearsed".to_owned(),
        code if code.word() == told.state => told.state.clone(),
        code => format!("{} ({})", one_line(&told.state), code.word()),
    };
    let head = format!(
        "{} with {} in run {}: {state}, job {}",
        told.name.item(),
        one_line(&told.name.algo),
        told.run_id,
        told.job_id,
    );
    let mut text = format!("{}\n", page.wrap(&head, 0));
    for sentence in &told.why {
        let _ = writeln!(text, "{}", page.wrap(&one_line(sentence), 2));
    }
    text.push('\n');
    text.push_str(&numbers(told, page));
    if !told.attempts.is_empty() {
        text.push('\n');
        text.push_str(&attempts(told, page));
    }
    for Typed { what, command } in typed(told) {
        let _ = write!(text, "\n  {what}:\n    {}\n", one_line(&command));
    }
    text.truncate(text.trim_end().len());
    text
}

fn numbers(told: &Explanation, page: Page) -> String {
    let numbers = &told.numbers;
    let mut table = straight_table();
    let mut add = |name: &str, value: String| {
        table.add_row([format!("  {name}"), value]);
    };
    add(
        "tried",
        match (numbers.failures, numbers.retries) {
            // Put off without a retry, as when a provider is out of credit.
            (failures, retries) if failures > retries => {
                let times = counted(failures as usize, "time");
                format!("{} so far, requeued {times}", told.attempt)
            }
            (failures, retries) => format!(
                "{} so far, {failures} of {retries} retries used",
                told.attempt
            ),
        },
    );
    let price = numbers.unit_usd.map_or_else(|| "unknown".into(), dollars);
    add("price", price);
    if let Some(reserved) = numbers.reserved_usd {
        add("reserved", dollars(reserved));
    }
    if let Some(id) = &numbers.request_id {
        add("bought as", one_line(id));
    }
    if let Some(median) = numbers.median_s {
        let time = Duration::try_from_secs_f64(median).unwrap_or_default();
        add("usual time", short_duration(time));
    }
    if let Some(at) = numbers.not_before {
        let (at, zone) = (page.zone.second(at), page.zone.name(at));
        add("not before", format!("{at} {zone}"));
    }
    if let Some(provider) = &numbers.provider {
        let closed = match &numbers.closed {
            Some(closed) => match closed.until {
                Some(until) => format!(
                    ", closed until {} {}",
                    page.zone.minute(until),
                    page.zone.name(until)
                ),
                None => ", closed until `archi3d adapters resume`".to_owned(),
            },
            None => ", open".to_owned(),
        };
        add("provider", format!("{provider}{closed}"));
    }
    if let Some(most) = numbers.limits.max_parallel {
        add(
            "at once",
            format!("{most} of its provider, over all workers"),
        );
    }
    if let Some(rate) = numbers.limits.rate_per_min {
        add("a minute", format!("{rate} starts of its provider"));
    }
    if let Some(pause) = &numbers.paused {
        add("breaker", format!("paused: {}", one_line(&pause.reason)));
    } else if numbers.breaker_failures > 0 {
        let most = numbers.breaker_failures;
        add("breaker", format!("pauses after {most} failures in a row"));
    }
    for limit in &numbers.money.limits {
        let left = format!(
            "{} of {} left",
            dollars(limit.left_usd.dollars()),
            dollars(limit.cap_usd)
        );
        add(&format!("limit of the {}", limit.of), left);
    }
    if let Some(holder) = &told.holder {
        let lives = Liveness::of(Some(holder.verdict)).word();
        add("held by", format!("{} ({lives})", one_line(&holder.worker)));
    }
    lines_of(&table)
}

fn attempts(told: &Explanation, page: Page) -> String {
    let first = told.attempts.first().map(|attempt| attempt.started);
    let zone = first.map(|at| format!(" (times in {})", page.zone.name(at)));
    let head = format!("  attempts{}", zone.unwrap_or_default());
    let lines = of_job(&told.attempts, page);
    format!("{head}\n{}\n", lines.join("\n"))
}
