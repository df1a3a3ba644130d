//! `archi3d cost report`: what was paid, and whether an invoice agrees.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use crate::cli::Global;
use crate::cli::confirm;
use crate::cli::error::{CliError, Exit};
use crate::cli::resume::quoted;
use crate::cli::run::parse_run_id;
use crate::cli::run_arg::JobArg;
use crate::cli::table::{Fitted, Page, dollars};
use crate::cli::ui::Ui;
use archi3d_core::domain::id::{JobId, RunId};
use archi3d_core::domain::money::Usd;
use archi3d_core::domain::text::{counted, one_line};
use archi3d_core::ops::cost::{cost_report, invoice, settle};
use archi3d_core::ops::view::cost::{Billed, By, Comparison, CostReport, OpenReservation, Tally};

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
    after_help = "Read from the journals of all workers; rehearsals are left out, and an unknown amount
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
    /// The invoice's column of request ids [default: request_id]
    #[arg(long, value_name = "COLUMN", requires = "invoice")]
    match_id: Option<String>,
    /// The invoice's column of amounts in dollars [default: amount]
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
    let context = global.context()?;
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
        ui.answer(&Answer {
            run_id: &open.run_id,
            job_id: &open.job_id,
            reserved_usd: open.usd,
            settled_usd: args.usd,
        })?;
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

#[derive(Serialize)]
struct Answer<'a> {
    run_id: &'a RunId,
    job_id: &'a JobId,
    reserved_usd: f64,
    settled_usd: f64,
}

fn show(args: &ReportArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let run_id = args.run.as_deref().or(args.run_id.as_deref());
    let run_id = run_id.map(parse_run_id).transpose()?;
    let context = global.context()?;
    let by = match args.by {
        ByWord::Algo => By::Algo,
        ByWord::Day => By::Day,
        ByWord::Worker => By::Worker,
        ByWord::Run => By::Run,
    };
    let mut report = cost_report(&context, run_id.as_ref(), by, args.invoice.is_some())?;
    for warning in &report.warnings {
        ui.warn(warning);
    }
    if let Some(path) = &args.invoice {
        report.invoice = Some(invoice::compare(
            path,
            args.match_id.as_deref(),
            args.match_amount.as_deref(),
            &report.purchases,
        )?);
    }
    if ui.is_json() {
        ui.answer(&report)?;
    } else if args.csv {
        ui.data(&to_csv(&report))?;
    } else {
        let mut text = to_text(&report, Page::of_terminal());
        if let Some(compared) = &report.invoice {
            text.push_str(&match_text(compared));
        }
        ui.data(text.trim_end())?;
    }
    Ok(match report.invoice {
        Some(compared) if !compared.agrees => Exit::JobsFailed,
        _ => Exit::Done,
    })
}

/// Returns the lines by name, and their total.
fn lines(report: &CostReport) -> impl Iterator<Item = (&str, &Tally)> {
    let lines = report.lines.iter();
    let lines = lines.map(|line| (line.name.1.as_str(), &line.tally));
    lines.chain([("total", &report.total)])
}

fn to_csv(report: &CostReport) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let head = [
        report.by.word(),
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
    for (name, tally) in lines(report) {
        let _ = writer.write_record([
            archi3d_core::domain::text::formula_safe(name),
            tally.attempts.to_string(),
            tally.completed.to_string(),
            tally.failed.to_string(),
            tally.unfinished.to_string(),
            tally.reused.to_string(),
            format!("{:.6}", tally.billed_usd.dollars()),
            tally.unknown.to_string(),
        ]);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

fn to_text(report: &CostReport, page: Page) -> String {
    let mut table = Fitted::new([
        report.by.word(),
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
    for (name, tally) in lines(report) {
        table.row([
            one_line(name),
            dollars(tally.billed_usd.dollars()),
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
        dollars(report.ledger.spent_usd),
        dollars(report.ledger.reserved_usd),
    );
    text.push_str(&open_text(&report.ledger.open));
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
    let sum: Usd = found.equal.iter().filter_map(|billed| billed.usd).sum();
    let mut lines = vec![
        String::new(),
        format!(
            "invoice (columns {:?} and {:?}): {} equal, {}",
            found.id_column,
            found.amount_column,
            counted(found.equal.len(), "request"),
            dollars(sum.dollars()),
        ),
    ];
    let known = |usd: Option<Usd>| usd.map_or("unknown".into(), |usd| dollars(usd.dollars()));
    let one = |billed: &Billed| format!("{}: {}", billed.request_id, known(billed.usd));
    list(
        &mut lines,
        "with another amount",
        found.different.iter().map(|other| {
            let (ours, theirs) = (known(other.ours_usd), known(Some(other.invoice_usd)));
            format!("{}: ours {ours}, invoice {theirs}", other.request_id)
        }),
    );
    list(
        &mut lines,
        "only in the invoice",
        found.only_theirs.iter().map(one),
    );
    list(&mut lines, "only with us", found.only_ours.iter().map(one));
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
