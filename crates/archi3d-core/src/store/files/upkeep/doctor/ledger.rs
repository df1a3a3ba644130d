//! The ledger of money against its other copy and the journals of the runs.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::domain::budget::Ledger;
use crate::domain::finding::{Code, Finding};
use crate::domain::id::RunId;
use crate::domain::lease::Rhythm;
use crate::domain::text::{counted, shell_word};
use crate::store::files::upkeep::{FileUpkeep, lost_money};
use crate::store::files::{self, LedgerFile};

use super::exam::damaged_journal;
use super::{Checkup, DoctorRequest, runs, unreadable};

const SHOWN: &str = "tables/budget.jsonl";

/// A line is written to both copies within a moment.
const BETWEEN_WRITES: Duration = Duration::from_millis(50);

/// Looks at the ledger, and at the journals: `unread` are those of which nobody has told
/// yet what of them is damaged.
pub(super) fn look(
    upkeep: &FileUpkeep,
    request: &DoctorRequest,
    unread: &HashSet<PathBuf>,
    checkup: &mut Checkup,
) {
    let workspace = &upkeep.workspace;
    let mut file = LedgerFile::new(workspace);
    let readable = look_at_file(&mut file, checkup);
    // What cannot be listed was told with the runs.
    let folders = runs::folders(workspace, &mut Checkup::default());
    let wanted = |run| request.run_id.as_ref().is_none_or(|only| only == run);
    for run_id in folders.iter().filter(|run| wanted(*run)) {
        let now = upkeep.clock.now();
        let found = match files::all_attempts(workspace, run_id, Rhythm::default(), now) {
            Ok(found) => found,
            Err(error) => {
                let finding = unreadable(&format!("runs/{run_id}/state"), &error);
                checkup.find(finding.of_run(run_id));
                continue;
            }
        };
        for (path, lines) in &found.damaged_journals {
            if unread.contains(path) {
                let shown = workspace.relative(path);
                let shown = shown.unwrap_or_else(|| path.display().to_string());
                checkup.find(damaged_journal(run_id, shown, *lines));
            }
        }
        if !readable {
            continue;
        }
        // Read after the journals: whoever works now has reserved before.
        let lost = match file.look() {
            Ok(ledger) => lost_money::missing(run_id, &found, ledger),
            Err(_) => lost_money::missing(run_id, &found, &Ledger::default()),
        };
        let known: Vec<f64> = lost.iter().filter_map(|one| one.usd).collect();
        if known.is_empty() {
            continue;
        }
        let sum: f64 = known.iter().sum();
        let what = format!(
            "run {run_id}: the journals have {}, ${sum:.2} together, that the ledger does not \
             know",
            counted(known.len(), "purchase")
        );
        checkup.find(behind(run_id, what));
    }
}

/// Looks at the ledger alone; returns whether it can be read.
fn look_at_file(file: &mut LedgerFile, checkup: &mut Checkup) -> bool {
    if let Err(error) = file.look() {
        let finding = Finding::new(Code::LedgerUnreadable, format!("cannot be read: {error}"));
        let fix = "see that it is a plain file that you may read";
        checkup.find(finding.at(SHOWN, None).fix(fix));
        return false;
    }
    if file.damaged() > 0 {
        let lines = counted(file.damaged(), "line");
        let what = format!("{lines} cannot be read");
        let fix = "remove these lines; a worker under a limit writes back what the journals have";
        checkup.find(
            Finding::new(Code::LedgerUnreadable, what)
                .at(SHOWN, None)
                .fix(fix),
        );
    }
    look_beside(file, checkup);
    true
}

/// Tells of lines that the ledger has lost and its other copy has.
fn look_beside(file: &mut LedgerFile, checkup: &mut Checkup) {
    let mut lost = file.take_lost();
    if !lost.is_empty() {
        // Somebody may have been between his two writes.
        thread::sleep(BETWEEN_WRITES);
        lost = match file.look() {
            Ok(_) => file.take_lost(),
            Err(_) => Vec::new(),
        };
    }
    let mut runs: BTreeMap<RunId, usize> = BTreeMap::new();
    for entry in lost {
        *runs.entry(entry.attempt_key.run_id).or_default() += 1;
    }
    for (run_id, lines) in runs {
        let what = format!(
            "run {run_id}: the ledger lacks {} that its other copy, runs/.budget/ledger.jsonl, has",
            counted(lines, "line")
        );
        checkup.find(behind(&run_id, what));
    }
}

/// Returns the finding about money of a run that the ledger has lost.
fn behind(run_id: &RunId, what: String) -> Finding {
    let fix = format!(
        "archi3d run worker --run-id {} --budget-usd 0 writes them back and buys nothing new; jobs \
         that are free and purchases already made continue",
        shell_word(run_id.as_str())
    );
    let finding = Finding::new(Code::LedgerBehind, what).of_run(run_id);
    finding.at(SHOWN, None).fix(fix)
}
