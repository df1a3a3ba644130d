//! `archi3d run explain`: one job, why it is where it is, and what to type next.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;

use crate::cli::Global;
use crate::cli::attempts::of_job;
use crate::cli::error::{CliError, Exit};
use crate::cli::program;
use crate::cli::run_arg::JobArg;
use crate::cli::table::{Page, dollars, lines_of, short_duration, straight_table};
use crate::cli::ui::Ui;
use crate::domain::text::{counted, one_line};
use crate::ops::OpsContext;
use crate::ops::explain::run_explain;
use crate::ops::select::WorkerRequest;
use crate::ops::view::explain::Explanation;
use crate::ops::view::status::Liveness;

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
    let context = OpsContext::open(global.workspace.as_deref())?;
    let (run_id, job) = args.target.or_latest(&context, ui)?;
    let request = WorkerRequest::plain(run_id);
    let mut told = run_explain(&context, &request, &job)?;
    for step in &mut told.next {
        step.command = program::as_typed(&step.command);
    }
    for warning in &told.warnings {
        ui.warn(warning);
    }
    if ui.is_json() {
        ui.answer(&told)?;
    } else {
        ui.data(&to_text(&told, Page::of_terminal()))?;
    }
    Ok(Exit::Done)
}

fn to_text(told: &Explanation, page: Page) -> String {
    // A person must never take a rehearsal for a result.
    let state = match told.code {
        "rehearsed_only" => "rehearsed".to_owned(),
        code if code == told.state => code.to_owned(),
        code => format!("{} ({code})", one_line(&told.state)),
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
    for step in &told.next {
        let _ = write!(
            text,
            "\n  {}:\n    {}\n",
            step.what,
            one_line(&step.command)
        );
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
                format!("{} so far, put off {times}", told.attempt)
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
