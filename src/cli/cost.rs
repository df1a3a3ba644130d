//! `archi3d cost report`: what was paid, and whether an invoice agrees.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::cli::Global;
use crate::cli::confirm;
use crate::cli::error::{CliError, Exit};
use crate::cli::resume::quoted;
use crate::cli::run::parse_run_id;
use crate::cli::run_arg::JobArg;
use crate::cli::table::{Fitted, Page, dollars};
use crate::cli::ui::Ui;
use crate::domain::text::{counted, one_line};
use crate::ops::OpsContext;
use crate::ops::cost::invoice::{self, Comparison};
use crate::ops::cost::settle::{self, OpenReservation};
use crate::ops::cost::{By, CostReport, Tally, cost_report};

/// Lists of this length are shown whole.
const MOST_IDS: usize = 20;

/// What can be asked about money.
#[derive(Debug, Subcommand)]
pub enum CostCommand {
    /// Show what was paid, by algorithm, day, worker or run
    Report(ReportArgs),
    /// Record the actual cost of a job that still holds a reservation
    Settle(SettleArgs),
}

/// The options of `cost settle`.
#[derive(Debug, Args)]
#[command(
    after_help = "A job that may have been billed keeps its money reserved until its next attempt. If there
will be none, look for it at the provider and note what was billed.

Examples:
  archi3d cost settle r1 335888 --usd 0.30
  archi3d cost settle r1 335888 --usd 0 --yes"
)]
pub struct SettleArgs {
    #[command(flatten)]
    target: JobArg,
    /// What the provider billed, in US dollars; 0 if nothing
    #[arg(long, value_name = "USD", value_parser = crate::cli::worker::dollars, allow_hyphen_values = true)]
    usd: f64,
    /// Ask nothing
    #[arg(long, short = 'y')]
    yes: bool,
}

/// What the lines of a report are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ByWord {
    /// One line for each algorithm
    Algo,
    /// One line for each day, in UTC
    Day,
    /// One line for each worker process
    Worker,
    /// One line for each run
    Run,
}

/// The options of `cost report`.
#[derive(Debug, Args)]
#[command(
    after_help = "Read from the journals of all workers; rehearsals are left out, and what nobody knows
is counted as unknown. --match ends with exit code 1 if anything differs.

Examples:
  archi3d cost report
  archi3d cost report r1 --by day --csv > costs.csv
  archi3d cost report --match invoice.csv --match-id 'Request ID' --match-amount Total"
)]
pub struct ReportArgs {
    /// Only this run [default: all runs of the workspace]
    #[arg(value_name = "RUN", conflicts_with = "run_id")]
    run: Option<String>,
    /// The run, named by an option instead of by its place
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: Option<String>,
    /// What the lines are about
    #[arg(long, value_enum, value_name = "WHAT", default_value = "algo")]
    by: ByWord,
    /// Write a CSV table
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Compare with a provider's invoice, a CSV table, by request id
    #[arg(long = "match", value_name = "FILE", conflicts_with = "csv")]
    invoice: Option<PathBuf>,
    /// The invoice's column of request ids [default: the likeliest]
    #[arg(long, value_name = "COLUMN", requires = "invoice")]
    match_id: Option<String>,
    /// The invoice's column of amounts in dollars [default: the likeliest]
    #[arg(long, value_name = "COLUMN", requires = "invoice")]
    match_amount: Option<String>,
}

/// Carries out the command.
pub fn run(command: &CostCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    match command {
        CostCommand::Report(args) => show(args, global, ui),
        CostCommand::Settle(args) => settle(args, global, ui),
    }
}

fn settle(args: &SettleArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = OpsContext::open(global.workspace.as_deref())?;
    let (run_id, job) = args.target.or_only(&context, ui)?;
    let agrees = |open: &OpenReservation| {
        let question = format!(
            "{} is reserved for {} with {}, job {} ({}); {} was billed. Settle it?",
            dollars(open.usd),
            open.name.item(),
            open.name.algo,
            open.job_id,
            open.state,
            dollars(args.usd)
        );
        args.yes || (confirm::can_ask(ui) && confirm::ask(&question))
    };
    let Some(open) = settle::settle(&context, &run_id, &job, args.usd, &agrees)? else {
        return Err(
            CliError::usage("not confirmed: nothing was settled".to_owned())
                .hint("add --yes to settle it without a question"),
        );
    };
    if ui.is_json() {
        ui.data_json(&json!({
            "run_id": open.run_id,
            "job_id": open.job_id,
            "reserved_usd": open.usd,
            "settled_usd": args.usd,
        }))?;
    } else {
        ui.say(&format!(
            "job {}: {} settled, {} was reserved",
            open.job_id,
            dollars(args.usd),
            dollars(open.usd)
        ));
    }
    Ok(Exit::Done)
}

fn show(args: &ReportArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let run_id = args.run.as_deref().or(args.run_id.as_deref());
    let run_id = run_id.map(parse_run_id).transpose()?;
    let context = OpsContext::open(global.workspace.as_deref())?;
    let by = match args.by {
        ByWord::Algo => By::Algo,
        ByWord::Day => By::Day,
        ByWord::Worker => By::Worker,
        ByWord::Run => By::Run,
    };
    let report = cost_report(&context, run_id.as_ref(), by, args.invoice.is_some())?;
    for warning in &report.warnings {
        ui.warn(warning);
    }
    let compared = match &args.invoice {
        Some(path) => Some(invoice::compare(
            path,
            args.match_id.as_deref(),
            args.match_amount.as_deref(),
            &report.purchases,
        )?),
        None => None,
    };
    if ui.is_json() {
        let mut value = to_json(&report);
        if let Some(compared) = &compared {
            value["match"] = match_json(compared);
        }
        ui.data_json(&value)?;
    } else if args.csv {
        ui.data(&to_csv(&report))?;
    } else {
        let mut text = to_text(&report, Page::of_terminal());
        if let Some(compared) = &compared {
            text.push_str(&match_text(compared));
        }
        ui.data(text.trim_end())?;
    }
    Ok(match compared {
        Some(compared) if !compared.agrees() => Exit::JobsFailed,
        _ => Exit::Done,
    })
}

fn usd(micros: i64) -> f64 {
    micros as f64 / 1e6
}

fn word(by: By) -> &'static str {
    match by {
        By::Algo => "algo",
        By::Day => "day",
        By::Worker => "worker",
        By::Run => "run",
    }
}

fn tally_json(tally: &Tally) -> Value {
    json!({
        "attempts": tally.attempts,
        "completed": tally.completed,
        "failed": tally.failed,
        "retried": tally.retried,
        "jobs": tally.jobs,
        "completed_jobs": tally.completed_jobs,
        "failed_jobs": tally.failed_jobs,
        "unfinished": tally.unfinished,
        "reused": tally.reused,
        "billed_usd": usd(tally.billed_micros),
        "unknown_cost_attempts": tally.unknown,
    })
}

fn to_json(report: &CostReport) -> Value {
    let line = |(name, tally): &(String, Tally)| {
        let mut value = tally_json(tally);
        value[word(report.by)] = json!(name);
        value
    };
    json!({
        "by": word(report.by),
        "lines": report.lines.iter().map(line).collect::<Vec<_>>(),
        "total": tally_json(&report.total),
        "ledger": {
            "spent_usd": report.ledger_spent_usd,
            "reserved_usd": report.ledger_reserved_usd,
            "open": report.open.iter().map(|open| json!({
                "run_id": open.run_id,
                "job_id": open.job_id,
                "usd": open.usd,
                "state": open.state,
                "request_id": open.request_id,
            })).collect::<Vec<_>>(),
        },
        "warnings": report.warnings,
    })
}

fn match_json(found: &Comparison) -> Value {
    let amount = |(id, micros): &(String, i64)| json!({"request_id": id, "usd": usd(*micros)});
    json!({
        "agrees": found.agrees(),
        "id_column": found.columns.0,
        "amount_column": found.columns.1,
        "equal": found.equal.iter().map(amount).collect::<Vec<_>>(),
        "different": found.different.iter().map(|(id, ours, theirs)| json!({
            "request_id": id,
            "ours_usd": ours.map(usd),
            "invoice_usd": usd(*theirs),
        })).collect::<Vec<_>>(),
        "only_in_invoice": found.only_theirs.iter().map(amount).collect::<Vec<_>>(),
        "only_ours": found.only_ours.iter().map(|(id, ours)| json!({
            "request_id": id,
            "usd": ours.map(usd),
        })).collect::<Vec<_>>(),
        "repeated_in_invoice": found.repeated,
    })
}

fn to_csv(report: &CostReport) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let head = [
        word(report.by),
        "attempts",
        "completed",
        "failed",
        "unfinished",
        "reused",
        "billed_usd",
        "unknown_cost_attempts",
    ];
    // Writing to memory does not fail.
    let _ = writer.write_record(head);
    let total = ("total".to_owned(), report.total);
    for (name, tally) in report.lines.iter().chain([&total]) {
        let _ = writer.write_record([
            crate::domain::text::formula_safe(name),
            tally.attempts.to_string(),
            tally.completed.to_string(),
            tally.failed.to_string(),
            tally.unfinished.to_string(),
            tally.reused.to_string(),
            format!("{:.6}", usd(tally.billed_micros)),
            tally.unknown.to_string(),
        ]);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

fn to_text(report: &CostReport, page: Page) -> String {
    let mut table = Fitted::new([
        word(report.by),
        "billed",
        "jobs",
        "made",
        "reused",
        "failed",
        "attempts",
        "retried",
        "unknown cost",
    ]);
    table = table.cut(&[0]).right(1..9);
    let shown = |count: usize| match count {
        0 => String::new(),
        count => count.to_string(),
    };
    let total = ("total".to_owned(), report.total);
    for (name, tally) in report.lines.iter().chain([&total]) {
        table.row([
            one_line(name),
            dollars(usd(tally.billed_micros)),
            tally.jobs.to_string(),
            shown(tally.completed_jobs),
            shown(tally.reused),
            shown(tally.failed_jobs),
            tally.attempts.to_string(),
            shown(tally.retried),
            shown(tally.unknown),
        ]);
    }
    table.drop_empty();
    let mut text = format!(
        "{}\nledger: {} spent, {} reserved for jobs that run or may have been billed\n",
        table.lines(page).join("\n"),
        dollars(report.ledger_spent_usd),
        dollars(report.ledger_reserved_usd),
    );
    text.push_str(&open_text(&report.open));
    text
}

/// Names what is reserved for jobs that nobody works on.
fn open_text(open: &[OpenReservation]) -> String {
    let Some(first) = open.first() else {
        return String::new();
    };
    let mut lines = Vec::new();
    let one = |open: &OpenReservation| {
        let (usd, name) = (dollars(open.usd), &open.name);
        let (job, run, state) = (&open.job_id, &open.run_id, &open.state);
        format!(
            "{usd} for {} with {} in run {run}, {state}, job {job}",
            name.item(),
            name.algo
        )
    };
    list(
        &mut lines,
        "reserved for a job that no worker runs",
        open.iter().map(one),
    );
    lines.push("the next attempt takes it over; if there will be none:".to_owned());
    lines.push(format!(
        "  archi3d cost settle {} {} --usd AMOUNT",
        quoted(first.run_id.as_str()),
        quoted(first.job_id.as_str())
    ));
    format!("{}\n", lines.join("\n"))
}

fn match_text(found: &Comparison) -> String {
    let sum: i64 = found.equal.iter().map(|(_, micros)| micros).sum();
    let mut lines = vec![
        String::new(),
        format!(
            "invoice (columns {:?} and {:?}): {} equal, {}",
            found.columns.0,
            found.columns.1,
            counted(found.equal.len(), "request"),
            dollars(usd(sum)),
        ),
    ];
    let unknown = |micros: Option<i64>| micros.map_or("unknown".into(), |m| dollars(usd(m)));
    list(
        &mut lines,
        "with another amount",
        found.different.iter().map(|(id, ours, theirs)| {
            format!(
                "{id}: ours {}, invoice {}",
                unknown(*ours),
                dollars(usd(*theirs))
            )
        }),
    );
    list(
        &mut lines,
        "only in the invoice",
        found
            .only_theirs
            .iter()
            .map(|(id, micros)| format!("{id}: {}", dollars(usd(*micros)))),
    );
    list(
        &mut lines,
        "only with us",
        found
            .only_ours
            .iter()
            .map(|(id, micros)| format!("{id}: {}", unknown(*micros))),
    );
    list(
        &mut lines,
        "on several lines of the invoice, added up",
        found.repeated.iter().cloned(),
    );
    lines.join("\n")
}

fn list(lines: &mut Vec<String>, what: &str, entries: impl Iterator<Item = String>) {
    let entries: Vec<String> = entries.map(|entry| one_line(&entry)).collect();
    if entries.is_empty() {
        return;
    }
    lines.push(format!("{} {what}:", entries.len()));
    let more = entries.len().saturating_sub(MOST_IDS);
    lines.extend(
        entries
            .into_iter()
            .take(MOST_IDS)
            .map(|entry| format!("  {entry}")),
    );
    if more > 0 {
        lines.push(format!("  … {more} more (--json has all)"));
    }
}
