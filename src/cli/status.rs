//! `archi3d run status`: how the jobs of a run stand, for people and machines.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::run::parse_run_id;
use crate::cli::ui::{Ui, clean};
use crate::domain::job::Status;
use crate::domain::text::one_line;
use crate::ops::OpsContext;
use crate::ops::status::{RunStatus, run_status};

/// The options of `run status`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d run status --run-id r1
  archi3d run status --run-id r1 --json | jq .counts")]
pub struct StatusArgs {
    /// The run, as it is called under runs/
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: String,
}

/// Reads the run and prints how it stands.
pub fn run(args: &StatusArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let run_id = parse_run_id(&args.run_id)?;
    let context = OpsContext::open(global.workspace.as_deref())?;
    let status = run_status(&context, &run_id)?;
    for warning in &status.warnings {
        ui.warn(warning);
    }
    if ui.is_json() {
        ui.data_json(&to_json(&status))?;
    } else {
        ui.data(&to_text(&status))?;
        if status.running.iter().any(|job| job.verdict == "dead") {
            ui.hint(&format!(
                "jobs of dead workers go on with: archi3d run worker --run-id {run_id} \
                 --only-status enqueued,running"
            ));
        }
    }
    Ok(Exit::Done)
}

fn to_json(status: &RunStatus) -> Value {
    let count = |s: &Status| status.counts.get(s).copied().unwrap_or(0);
    let counts: serde_json::Map<String, Value> = Status::ALL
        .iter()
        .map(|s| (s.word().to_owned(), json!(count(s))))
        .collect();
    let seconds = |age: Option<Duration>| age.map(|age| age.as_millis() as f64 / 1e3);
    json!({
        "run_id": status.run_id,
        "total": status.total,
        "counts": counts,
        "rehearsed": status.rehearsed,
        "running": status.running.iter().map(|job| json!({
            "job_id": job.job_id,
            "worker": job.worker,
            "host": job.host,
            "age_s": seconds(job.age),
            "last_beat_age_s": seconds(job.last_beat_age),
            "verdict": job.verdict,
        })).collect::<Vec<_>>(),
        "failures": status.failures.iter().map(|job| json!({
            "job_id": job.job_id,
            "message": job.message,
        })).collect::<Vec<_>>(),
        "warnings": status.warnings,
    })
}

fn to_text(status: &RunStatus) -> String {
    let mut text = format!("run {}: {} jobs\n", status.run_id, status.total);
    let mut counts = plain_table();
    for (word, count) in &status.counts {
        let shown = match (word, status.rehearsed) {
            (Status::Completed, 1..) => format!("{count} ({} only rehearsed)", status.rehearsed),
            _ => count.to_string(),
        };
        counts.add_row([format!("  {word}"), shown]);
    }
    text.push_str(&lines_of(&counts));
    if !status.running.is_empty() {
        let mut table = plain_table();
        table.set_header(["  running", "worker", "host", "for", "last beat", "holder"]);
        for job in &status.running {
            table.add_row([
                format!("  {}", job.job_id),
                one_line(&job.worker),
                one_line(job.host.as_deref().unwrap_or("?")),
                age(job.age),
                job.last_beat_age
                    .map_or_else(|| "?".into(), |_| format!("{} ago", age(job.last_beat_age))),
                job.verdict.to_owned(),
            ]);
        }
        let _ = write!(text, "\n{}", lines_of(&table));
    }
    if !status.failures.is_empty() {
        let mut table = plain_table();
        table.set_header(["  failed", "reason"]);
        for job in &status.failures {
            table.add_row([format!("  {}", job.job_id), one_line(&job.message)]);
        }
        let _ = write!(text, "\n{}", lines_of(&table));
    }
    text.truncate(text.trim_end().len());
    text
}

/// Starts a table without lines.
pub(super) fn plain_table() -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table
}

/// Returns the table's lines without the blanks that fill their ends.
pub(super) fn lines_of(table: &Table) -> String {
    let mut text = String::new();
    for line in clean(&table.to_string()).lines() {
        // The preset pads every cell by one blank.
        let line = line.strip_prefix(' ').unwrap_or(line);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn age(age: Option<Duration>) -> String {
    age.map_or_else(|| "?".to_owned(), short_duration)
}

/// Returns a duration as people say it: `4.2 s`, `3 min 12 s`, `2 h 5 min`.
pub fn short_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..172_800 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::domain::id::{JobId, RunId};
    use crate::ops::status::{FailedJob, RunningJob};

    fn sample() -> RunStatus {
        RunStatus {
            run_id: RunId::parse("r1").expect("valid"),
            counts: BTreeMap::from([
                (Status::Enqueued, 3),
                (Status::Running, 1),
                (Status::Failed, 1),
            ]),
            total: 5,
            rehearsed: 0,
            running: vec![RunningJob {
                job_id: JobId::parse("d610ebfd455b").expect("valid"),
                worker: "box-12-ab".into(),
                host: None,
                age: Some(Duration::from_secs(192)),
                last_beat_age: Some(Duration::from_millis(4200)),
                verdict: "alive",
            }],
            failures: vec![FailedJob {
                job_id: JobId::parse("41ee2eedbabf").expect("valid"),
                message: "GPU\u{1b}[2J out of memory".into(),
            }],
            warnings: vec![],
        }
    }

    #[test]
    fn people_see_counts_running_jobs_and_failures() {
        insta::assert_snapshot!(to_text(&sample()), @r"
        run r1: 5 jobs
          enqueued  3
          running   1
          failed    1

          running       worker     host  for         last beat  holder
          d610ebfd455b  box-12-ab  ?     3 min 12 s  4.2 s ago  alive

          failed        reason
          41ee2eedbabf  GPU [2J out of memory
        ");
    }

    #[test]
    fn machines_see_every_status_even_if_it_is_zero() {
        let value = to_json(&sample());
        assert_eq!(
            value["counts"].to_string(),
            r#"{"enqueued":3,"running":1,"completed":0,"failed":1,"cancelled":0}"#
        );
        assert_eq!(value["running"][0]["age_s"], json!(192.0));
        assert_eq!(value["running"][0]["host"], Value::Null);
    }

    #[test]
    fn durations_read_like_speech() {
        for (millis, text) in [
            (0, "0.0 s"),
            (4200, "4.2 s"),
            (59_999, "59 s"),
            (192_000, "3 min 12 s"),
            (7_500_000, "2 h 5 min"),
            (864_000_000, "10 days"),
        ] {
            assert_eq!(short_duration(Duration::from_millis(millis)), text);
        }
    }
}
