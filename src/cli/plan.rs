//! `archi3d run plan`: what a worker would do, for people and machines.
//!
//! Takes every option of `run worker`, so that a command can be planned by
//! changing one word of it. Shows what `ops::plan` found; decides nothing.

use std::fmt::Write as _;

use clap::Args;

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::table::{Fitted, Page, dollars, short_duration};
use crate::cli::ui::Ui;
use crate::cli::worker::WorkerArgs;
use archi3d_core::domain::money::Usd;
use archi3d_core::domain::order::JobOrder;
use archi3d_core::domain::reason::ReasonCode;
use archi3d_core::domain::text::{counted, one_line};
use archi3d_core::ops::plan::run_plan;
use archi3d_core::ops::view::plan::{AlgoPlan, Plan, Sums, starting};

/// So many jobs are listed without being asked for.
const FEW_JOBS: usize = 20;

/// The options of `run plan`.
#[derive(Debug, Args)]
#[command(
    after_help = "Takes the options of `run worker` and writes nothing. Expected: every job that starts
is billed once. Worst: every attempt that its retries allow is billed, up to the limits
(capped). New: what the ledger does not hold yet. An unknown price is unknown, never zero.

Examples:
  archi3d run plan
  archi3d run plan r1 --only-status failed --retries 3
  archi3d run plan r1 --json | jq '.cost.expected_usd'"
)]
pub struct PlanArgs {
    #[command(flatten)]
    worker: WorkerArgs,
    /// List every job with what would become of it
    #[arg(long)]
    list: bool,
}

/// Plans and prints the plan.
pub fn run(args: &PlanArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    let run_id = args.worker.selection.run.or_latest(&context, ui)?;
    let request = args.worker.to_request(run_id)?;
    let plan = run_plan(&context, &request)?;
    for warning in &plan.warnings {
        ui.warn(warning);
    }
    if let Some(reading) = &plan.reading {
        ui.say(reading);
    }
    let exit = match plan.jobs.len() {
        0 => Exit::NoMatch,
        _ => Exit::Done,
    };
    if ui.is_json() {
        ui.answer(&plan)?;
        return Ok(exit);
    }
    let page = Page {
        verbose: args.list || ui.is_verbose(),
        ..Page::of_terminal()
    };
    ui.data(&to_text(&plan, page))?;
    Ok(exit)
}

fn to_text(plan: &Plan, page: Page) -> String {
    let mut sections = vec![
        head(plan),
        reasons(plan, page),
        algos(plan, page),
        money(plan),
    ];
    if page.verbose || plan.jobs.len() <= FEW_JOBS {
        sections.push(jobs(plan, page));
    } else {
        sections.push(vec!["  --list shows every job".to_owned()]);
    }
    sections.retain(|section| !section.is_empty());
    let lines = sections.join(&String::new());
    let lines: Vec<String> = lines.iter().map(|line| page.cut(line)).collect();
    lines.join("\n")
}

fn head(plan: &Plan) -> Vec<String> {
    let mut line = format!(
        "run {}: {} of {} would start, {} at a time",
        plan.run_id,
        plan.starting(),
        counted(plan.jobs.len(), "job"),
        plan.max_parallel
    );
    if plan.order != JobOrder::Manifest {
        let _ = write!(line, ", in the order {}", plan.order.word());
    }
    if plan.dry_run {
        line.push_str(", rehearsal (--dry-run)");
    }
    vec![line]
}

fn reasons(plan: &Plan, page: Page) -> Vec<String> {
    let mut table = Fitted::new([""; 3]).indent(2).cut(&[2]).right([1]);
    for reason in &plan.reasons {
        table.row([
            reason.fate.word().to_owned(),
            reason.jobs.to_string(),
            one_line(&reason.words),
        ]);
    }
    table.lines(page)
}

fn algos(plan: &Plan, page: Page) -> Vec<String> {
    let starts = |algo: &&AlgoPlan| starting(&algo.fates) > 0;
    let shown: Vec<&AlgoPlan> = plan.algos.iter().filter(starts).collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let mut table = Fitted::new([
        "algo", "start", "each", "expected", "worst", "median", "time",
    ]);
    table = table.indent(2).cut(&[0]).right(1..7);
    for algo in &shown {
        table.row([
            one_line(&algo.algo),
            starting(&algo.fates).to_string(),
            algo.unit_usd.map_or_else(|| "unknown".into(), dollars),
            amount(algo.cost.expected_usd, algo.cost.unknown),
            worst(&algo.cost),
            seconds(algo.median_s),
            algo.time.map_or_else(|| "unknown".into(), short_duration),
        ]);
    }
    table.row([
        "all".to_owned(),
        plan.starting().to_string(),
        String::new(),
        amount(plan.cost.expected_usd, plan.cost.unknown),
        worst(&plan.cost),
        String::new(),
        plan.time.map_or_else(|| "unknown".into(), short_duration),
    ]);
    table.lines(page)
}

/// Returns the worst case, and whether a limit keeps it there.
fn worst(sums: &Sums) -> String {
    let worst = amount(sums.worst_usd, sums.unknown);
    if sums.worst_capped {
        format!("{worst} (capped)")
    } else {
        worst
    }
}

/// Returns an amount; what nobody knows is never shown as nothing.
fn amount(usd: Usd, unknown: usize) -> String {
    match (usd, unknown) {
        (Usd::ZERO, 1..) => "unknown".to_owned(),
        _ => amount_more(usd, unknown),
    }
}

/// Returns a sum to which some unknown amounts are still to be added.
fn amount_more(usd: Usd, unknown: usize) -> String {
    let usd = dollars(usd.dollars());
    match unknown {
        0 => usd,
        _ => format!("{usd} + {unknown} unknown"),
    }
}

fn seconds(seconds: Option<f64>) -> String {
    let time = seconds.and_then(|s| std::time::Duration::try_from_secs_f64(s).ok());
    time.map_or_else(|| "unknown".into(), short_duration)
}

fn money(plan: &Plan) -> Vec<String> {
    if plan.dry_run {
        return vec!["  a rehearsal buys nothing".to_owned()];
    }
    let mut lines = vec![format!(
        "  money: {} new, {} reserved for these jobs already",
        amount(plan.cost.new_usd, plan.cost.unknown),
        dollars(plan.cost.reserved_usd.dollars()),
    )];
    lines.push(format!(
        "  the run has {} spent and {} reserved; afterwards {}",
        dollars(plan.money.spent_usd),
        dollars(plan.money.reserved_usd),
        amount_more(plan.after_usd, plan.cost.unknown),
    ));
    if let Some(listed) = &plan.listed {
        let age = short_duration(plan.at.since(listed.fetched_at));
        let (source, algos) = (&listed.source, one_line(&listed.algos.join(", ")));
        lines.push(format!("  prices of {source}, {age} old: {algos}"));
    }
    if plan.identical.results > 0 {
        let least = if plan.identical.at_least {
            "at least "
        } else {
            ""
        };
        let exist = match plan.identical.results {
            1 => "1 identical result exists".to_owned(),
            count => format!("{count} identical results exist"),
        };
        lines.push(format!(
            "  {least}{exist}; --reuse saves {least}{}",
            dollars(plan.identical.saves_usd.dollars())
        ));
    }
    for limit in &plan.money.limits {
        let refused = plan
            .jobs
            .iter()
            .filter(|job| job.reason.code == ReasonCode::OverBudget)
            .count();
        lines.push(format!(
            "  limit of the {} ({}): {}, {} left; {} would be refused",
            limit.of,
            limit.set_by,
            dollars(limit.cap_usd),
            dollars(limit.left_usd.dollars()),
            counted(refused, "job"),
        ));
    }
    lines
}

fn jobs(plan: &Plan, page: Page) -> Vec<String> {
    if plan.jobs.is_empty() {
        return Vec::new();
    }
    let mut table = Fitted::new(["item", "algo", "would", "cost", "why", "job"]);
    table = table.indent(2).cut(&[0, 1, 4]);
    for job in &plan.jobs {
        let cost = if job.fate.starts() {
            amount(job.price.expected, usize::from(job.price.unknown))
        } else {
            String::new()
        };
        table.row([
            job.name.item(),
            one_line(&job.name.algo),
            job.fate.word().to_owned(),
            cost,
            one_line(&job.reason.of_job),
            job.job_id.to_string(),
        ]);
    }
    table.lines(page)
}
