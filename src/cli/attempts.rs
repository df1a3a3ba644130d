//! `archi3d run attempts`: what every attempt of a run came to, for people and machines.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::run_arg::RunArg;
use crate::cli::selection_args::items;
pub use crate::cli::table::dollars;
use crate::cli::table::{Fitted, Page, short_duration};
use crate::cli::ui::Ui;
use archi3d_core::domain::patch::REUSED;
use archi3d_core::domain::text::{counted, one_line};
use archi3d_core::ops::attempts::{
    AttemptOutcome, AttemptRecord, AttemptsReport, NamedAttempt, run_attempts,
};

/// The options of `run attempts`.
#[derive(Debug, Args)]
#[command(
    after_help = "Attempts are listed by job in the order of the manifest, then by number.

Examples:
  archi3d run attempts
  archi3d run attempts r1 --item 335888
  archi3d run attempts r1 --json | jq .cost_usd"
)]
pub struct AttemptsArgs {
    #[command(flatten)]
    run: RunArg,
    /// Only the attempts of this job: its id, the beginning of it, or its product
    #[arg(long, value_name = "JOB", allow_hyphen_values = true)]
    job: Option<String>,
    /// Only the attempts of this product, or of one variant of it; may be repeated
    #[arg(long, value_name = "PRODUCT[:VARIANT]", value_delimiter = ',')]
    item: Vec<String>,
}

/// Reads the journals and prints the attempts.
pub fn run(args: &AttemptsArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let items = items(&args.item)?;
    let context = global.context()?;
    let run_id = args.run.or_latest(&context, ui)?;
    let report = run_attempts(&context, &run_id, args.job.as_deref(), &items)?;
    for warning in &report.warnings {
        ui.warn(warning);
    }
    if ui.is_json() {
        ui.answer(&report)?;
    } else {
        let page = Page {
            verbose: ui.is_verbose(),
            ..Page::of_terminal()
        };
        ui.data(&to_text(&report, page))?;
    }
    Ok(Exit::Done)
}

fn to_text(report: &AttemptsReport, page: Page) -> String {
    let mut text = format!(
        "run {}: {} of {}",
        report.run_id,
        counted(report.attempts.len(), "attempt"),
        counted(report.jobs, "job"),
    );
    let rehearsed = report
        .attempts
        .iter()
        .filter(|a| a.record.simulated)
        .count();
    if rehearsed > 0 {
        let _ = write!(text, ", {rehearsed} rehearsed");
    }
    if report.cost_usd > 0.0 {
        let _ = write!(text, ", {}", dollars(report.cost_usd));
    }
    if let Some(first) = report.attempts.first() {
        let _ = write!(text, " (times in {})", page.zone.name(first.record.started));
    }
    let mut lines = vec![page.cut(&text)];
    let of_one = |a: &NamedAttempt, b: &NamedAttempt| a.record.job_id == b.record.job_id;
    for job in report.attempts.chunk_by(of_one) {
        let (id, name) = (&job[0].record.job_id, &job[0].name);
        let head = [name.item(), one_line(&name.algo), id.to_string()];
        let head: Vec<String> = head.into_iter().filter(|part| !part.is_empty()).collect();
        lines.push(String::new());
        lines.push(page.cut(&head.join("  ")));
        lines.extend(of_job(job.iter().map(|attempt| &attempt.record), page));
    }
    lines.join("\n")
}

/// Returns the attempts of one job, one line each.
pub fn of_job<'a>(
    attempts: impl IntoIterator<Item = &'a AttemptRecord>,
    page: Page,
) -> Vec<String> {
    let mut table = Fitted::new([""; 6]).indent(2).cut(&[5]).right([0, 3, 4]);
    for attempt in attempts {
        let took = attempt.duration_s;
        let took = took.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let mut said = Vec::new();
        match (attempt.class, &attempt.error) {
            (Some(class), Some(error)) => said.push(format!("{class}: {}", one_line(error))),
            (Some(class), None) => said.push(class.to_string()),
            (None, error) => said.extend(error.as_deref().map(one_line)),
        }
        let resumed = if attempt.resumed { " (resumed)" } else { "" };
        let request = attempt.request_id.as_deref().map(one_line);
        said.extend(request.map(|id| format!("request {id}{resumed}")));
        if page.verbose {
            said.push(format!("by {}", attempt.worker));
        }
        table.row([
            attempt.attempt.to_string(),
            outcome(attempt),
            page.zone.second(attempt.started),
            took.map(short_duration).unwrap_or_default(),
            attempt.cost_usd.map(dollars).unwrap_or_default(),
            said.join("; "),
        ]);
    }
    table.lines(page)
}

/// Says what became of an attempt, and whether it made anything.
pub fn outcome(attempt: &AttemptRecord) -> String {
    let word = attempt.outcome.word();
    if attempt.simulated && attempt.outcome == AttemptOutcome::Completed {
        "rehearsed".to_owned()
    } else if attempt.simulated {
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
    use crate::cli::local_time::Zone;
    use archi3d_core::domain::id::{JobId, RunId, WorkerId};
    use archi3d_core::domain::retry::ErrorClass;
    use archi3d_core::domain::time::Timestamp;
    use archi3d_core::ops::find::JobName;

    #[test]
    fn people_see_one_line_for_each_attempt() {
        let started = Timestamp::parse("2026-01-01T00:00:00Z").expect("valid");
        let job_id = JobId::parse("d610ebfd455b").expect("valid");
        let worker = WorkerId::parse("box-1-ab").expect("valid");
        let failed = AttemptRecord {
            ended: Some(started.plus(Duration::from_millis(1500))),
            outcome: AttemptOutcome::PutOff,
            class: Some(ErrorClass::Transient),
            duration_s: Some(1.5),
            error: Some("503".into()),
            ..AttemptRecord::begun(job_id, 1, worker, started)
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
        let name = JobName {
            product_id: "335888".into(),
            variant: "oak".into(),
            algo: "relief".into(),
        };
        let report = AttemptsReport {
            run_id: RunId::parse("r1").expect("valid"),
            attempts: [failed, made]
                .map(|record| NamedAttempt {
                    record,
                    name: name.clone(),
                })
                .to_vec(),
            jobs: 1,
            cost_usd: 0.4,
            damaged_lines: 0,
            warnings: vec![],
        };
        let page = Page {
            width: 80,
            height: None,
            verbose: false,
            zone: Zone::Utc,
        };
        insta::assert_snapshot!(to_text(&report, page), @r"
        run r1: 2 attempts of 1 job, $0.40 (times in UTC)

        335888:oak  relief  d610ebfd455b
          1  deferred   01-01 00:00:00  1.5 s         transient: 503
          2  completed  01-01 00:00:00  1.5 s  $0.40  request req-7 (resumed)
        ");
    }
}
