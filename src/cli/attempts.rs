//! `archi3d run attempts`: what every attempt of a run came to, for people and machines.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::run::parse_run_id;
pub use crate::cli::table::dollars;
use crate::cli::table::{lines_of, plain_table, short_duration};
use crate::cli::ui::Ui;
use crate::domain::patch::REUSED;
use crate::domain::text::one_line;
use crate::ops::OpsContext;
use crate::ops::attempts::{AttemptRecord, AttemptsReport, run_attempts};

/// The options of `run attempts`.
#[derive(Debug, Args)]
#[command(
    after_help = "Attempts are listed by job in the order of the manifest, then by number.

Examples:
  archi3d run attempts --run-id r1
  archi3d run attempts --run-id r1 --job d610ebfd455b
  archi3d run attempts --run-id r1 --json | jq .cost_usd"
)]
pub struct AttemptsArgs {
    /// The run, as it is called under runs/
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: String,
    /// Only the attempts of this job: its id, or the beginning of it
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    job: Option<String>,
}

/// Reads the journals and prints the attempts.
pub fn run(args: &AttemptsArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let run_id = parse_run_id(&args.run_id)?;
    let context = OpsContext::open(global.workspace.as_deref())?;
    let report = run_attempts(&context, &run_id, args.job.as_deref())?;
    for warning in &report.warnings {
        ui.warn(warning);
    }
    if ui.is_json() {
        ui.data_json(&to_json(&report))?;
    } else {
        ui.data(&to_text(&report))?;
    }
    Ok(Exit::Done)
}

fn to_json(report: &AttemptsReport) -> Value {
    json!({
        "run_id": report.run_id,
        "attempts": report.attempts,
        "cost_usd": report.cost_usd,
        "damaged_lines": report.damaged_lines,
        "warnings": report.warnings,
    })
}

fn to_text(report: &AttemptsReport) -> String {
    let count =
        |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let mut text = format!(
        "run {}: {} of {}",
        report.run_id,
        count(report.attempts.len(), "attempt", "attempts"),
        count(report.jobs, "job", "jobs"),
    );
    if report.cost_usd > 0.0 {
        let _ = write!(text, ", {}", dollars(report.cost_usd));
    }
    if report.attempts.is_empty() {
        return text;
    }
    let mut table = plain_table();
    table.set_header([
        "  job", "attempt", "outcome", "class", "started", "took", "cost", "request", "worker",
        "error",
    ]);
    for attempt in &report.attempts {
        let took = attempt
            .duration_s
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let request = attempt.request_id.as_deref().map(one_line);
        table.add_row([
            format!("  {}", attempt.job_id),
            attempt.attempt.to_string(),
            outcome(attempt),
            attempt
                .class
                .map(|class| class.to_string())
                .unwrap_or_default(),
            attempt.started.iso(),
            took.map(short_duration).unwrap_or_default(),
            attempt.cost_usd.map(dollars).unwrap_or_default(),
            request
                .map(|id| {
                    if attempt.resumed {
                        format!("{id} (resumed)")
                    } else {
                        id
                    }
                })
                .unwrap_or_default(),
            attempt.worker.to_string(),
            attempt.error.clone().unwrap_or_default(),
        ]);
    }
    text.push('\n');
    text.push_str(&lines_of(&table));
    text.truncate(text.trim_end().len());
    text
}

/// Says what became of an attempt, and whether it made anything.
pub fn outcome(attempt: &AttemptRecord) -> String {
    let word = attempt.outcome.word();
    if attempt.simulated {
        format!("{word} (rehearsed)")
    } else if attempt.price_source.as_deref() == Some(REUSED) {
        format!("{word} (reused)")
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::{JobId, Nonce, RunId, WorkerId};
    use crate::domain::job::Entry;
    use crate::domain::retry::ErrorClass;
    use crate::domain::time::Timestamp;
    use crate::ops::attempts::AttemptOutcome;

    #[test]
    fn people_see_one_line_for_each_attempt() {
        let started = Timestamp::parse("2026-01-01T00:00:00Z").expect("valid");
        let failed = AttemptRecord {
            job_id: JobId::parse("d610ebfd455b").expect("valid"),
            attempt: 1,
            worker: WorkerId::parse("box-1-ab").expect("valid"),
            host: None,
            entry: Entry::Fresh,
            started,
            ended: Some(started.plus(Duration::from_millis(1500))),
            outcome: AttemptOutcome::PutOff,
            class: Some(ErrorClass::Transient),
            duration_s: Some(1.5),
            cost_usd: None,
            request_id: None,
            resumed: false,
            price_source: None,
            simulated: false,
            nonce: Nonce::new("n"),
            cut_off: false,
            void: false,
            error: Some("503".into()),
        };
        let made = AttemptRecord {
            attempt: 2,
            outcome: AttemptOutcome::Completed,
            class: None,
            cost_usd: Some(0.4),
            request_id: Some("req-7".into()),
            resumed: true,
            error: None,
            ..failed.clone()
        };
        let report = AttemptsReport {
            run_id: RunId::parse("r1").expect("valid"),
            attempts: vec![failed, made],
            jobs: 1,
            cost_usd: 0.4,
            damaged_lines: 0,
            warnings: vec![],
        };
        insta::assert_snapshot!(to_text(&report), @r"
        run r1: 2 attempts of 1 job, $0.40
          job           attempt  outcome    class      started                    took   cost   request          worker    error
          d610ebfd455b  1        put off    transient  2026-01-01T00:00:00+00:00  1.5 s                          box-1-ab  503
          d610ebfd455b  2        completed             2026-01-01T00:00:00+00:00  1.5 s  $0.40  req-7 (resumed)  box-1-ab
        ");
    }
}
