//! `archi3d doctor`: what is wrong with a workspace, why it matters, and what
//! sets it right.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde::{Serialize, Serializer};

use crate::cli::Global;
use crate::cli::confirm;
use crate::cli::error::{CliError, Exit};
use crate::cli::program;
use crate::cli::run::parse_run_id;
use crate::cli::ui::Ui;
use crate::cli::working::while_working;
use archi3d_core::domain::finding::{Finding, Severity};
use archi3d_core::domain::text::{counted, one_line};
use archi3d_core::ops::doctor::{Checkup, DoctorRequest, Target, examine, probe_lock, repair};

/// How many lines of one list are shown.
const SHOWN: usize = 5;

/// The options of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d doctor
      look at everything; exit 1 if something is wrong (notes do not count)
  archi3d doctor --run-id r1 --deep
      look at one run, compare every result with what its worker recorded, and look for
      links among its files
  archi3d doctor --fix
      show what can be repaired safely, ask, and repair it
  archi3d doctor --json | jq -r '.findings[] | [.severity, .code, .what] | @tsv'

Without --fix nothing is written. --fix does only what loses and buys nothing: it brings rows
in line with markers, publishes endings that only a journal knows, closes journals of dead
workers, removes their leftovers and records how rows were made. Workers may keep running.")]
pub struct DoctorArgs {
    /// Only this run, beside the workspace as a whole
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: Option<String>,
    /// Also read every result, compare it with its record, and look for links beside it
    #[arg(long)]
    deep: bool,
    /// Repair what can be repaired safely, after showing it
    #[arg(long)]
    fix: bool,
    /// Repair without asking
    #[arg(long, requires = "fix")]
    yes: bool,
    /// Try a lock that the starting process holds, and tell by the exit code
    #[arg(long, value_name = "FILE", hide = true)]
    probe_lock: Option<PathBuf>,
}

/// Looks, tells, and repairs if asked to.
pub fn run(args: &DoctorArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    if let Some(path) = &args.probe_lock {
        return Ok(Exit::Worker(probe_lock(path).code()));
    }
    let request = DoctorRequest {
        run_id: args.run_id.as_deref().map(parse_run_id).transpose()?,
        deep: args.deep,
    };
    let target = Target::find(global.workspace.as_deref())?;
    let look = || examine(&target, &request);
    let mut checkup = while_working(ui, "looking at everything", look)?;
    let mut repaired = Vec::new();
    if args.fix {
        let changes: Vec<String> = checkup
            .findings
            .iter()
            .flat_map(|finding| finding.changes.clone())
            .collect();
        if changes.is_empty() {
            ui.say("nothing can be repaired by --fix");
        } else if agreed(args, ui, &changes)? {
            for trouble in repair(&target, &checkup.findings)? {
                ui.warn(&trouble);
            }
            repaired = changes;
            checkup = while_working(ui, "looking again", look)?;
        }
    }
    for fix in checkup.findings.iter_mut().flat_map(|one| &mut one.fix) {
        *fix = program::as_typed(fix);
    }
    show(&checkup, &repaired, ui)?;
    Ok(if checkup.is_healthy() {
        Exit::Done
    } else {
        Exit::JobsFailed
    })
}

/// Shows what would change and asks; without a terminal only `--yes` agrees.
fn agreed(args: &DoctorArgs, ui: &Ui, changes: &[String]) -> Result<bool, CliError> {
    ui.say(&format!(
        "--fix would make {}:",
        counted(changes.len(), "change")
    ));
    for change in changes {
        ui.say(&format!("  {}", one_line(change)));
    }
    if args.yes {
        return Ok(true);
    }
    if !confirm::can_ask(ui) {
        return Err(CliError::usage("these changes are not confirmed")
            .hint("nothing was changed; add --yes to make them"));
    }
    let yes = confirm::ask("make these changes?");
    if !yes {
        ui.say("nothing was changed");
    }
    Ok(yes)
}

#[derive(Serialize)]
struct Answer<'a> {
    healthy: bool,
    #[serde(serialize_with = "by_name")]
    facts: &'a [(&'static str, String)],
    findings: &'a [Finding],
    mended: &'a [String],
}

fn by_name<S: Serializer>(
    facts: &[(&'static str, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        facts
            .iter()
            .map(|(name, said)| (name.replace(' ', "_"), said)),
    )
}

fn show(checkup: &Checkup, repaired: &[String], ui: &Ui) -> Result<(), CliError> {
    if ui.is_json() {
        return ui.answer(&Answer {
            healthy: checkup.is_healthy(),
            facts: &checkup.facts,
            findings: &checkup.findings,
            mended: repaired,
        });
    }
    ui.data(&to_text(checkup))
}

fn to_text(checkup: &Checkup) -> String {
    let mut text = String::new();
    for (name, value) in &checkup.facts {
        let _ = writeln!(text, "{name:<14} {}", one_line(value));
    }
    for finding in &checkup.findings {
        text.push('\n');
        tell(finding, &mut text);
    }
    let count = |severity| {
        let found = checkup.findings.iter();
        found.filter(|finding| finding.severity == severity).count()
    };
    let counts = [
        (count(Severity::Error), "error"),
        (count(Severity::Warning), "warning"),
        (count(Severity::Note), "note"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| counted(*count, noun))
        .collect();
    let verdict = if checkup.is_healthy() {
        "healthy"
    } else {
        "not healthy"
    };
    let _ = write!(text, "\n{verdict}");
    if !counts.is_empty() {
        let _ = write!(text, ": {}", counts.join(", "));
    }
    text
}

fn tell(finding: &Finding, text: &mut String) {
    let _ = writeln!(
        text,
        "{}: {} [{}]",
        finding.severity.word(),
        one_line(&finding.what),
        finding.code.word()
    );
    let places = finding.places.iter().take(SHOWN);
    let places: Vec<String> = places.map(ToString::to_string).collect();
    if !places.is_empty() {
        let more = if finding.places.len() > SHOWN {
            ", …"
        } else {
            ""
        };
        let _ = writeln!(text, "  where: {}{more}", one_line(&places.join(", ")));
    }
    let _ = writeln!(text, "  why:   {}", finding.why);
    if let Some(fix) = &finding.fix {
        let _ = writeln!(text, "  fix:   {}", one_line(fix));
    }
}
