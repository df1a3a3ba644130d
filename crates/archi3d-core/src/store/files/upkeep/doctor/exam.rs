//! What the check-up of a run's markers and journals found, in words.

use crate::domain::finding::{Code, Finding, such_as};
use crate::domain::id::RunId;
use crate::domain::text::{counted, shell_word};
use crate::store::files::{Remedy, RunExam};
use crate::workspace::artifact;

use super::runs::{FIX, REGISTRY, RunCheck};

/// A clock that is off by less does no harm.
const HARMLESS_SECONDS: i64 = 30;

impl RunCheck<'_> {
    pub(super) fn tell(&mut self, exam: &RunExam) {
        self.tell_dead(exam);
        self.tell_states(exam);
        self.tell_results(exam);
        self.tell_leftovers(exam);
        let off = exam.skews.iter().filter(|skew| {
            let dead = |job: &str| {
                exam.dead_leases
                    .iter()
                    .any(|lease| lease.job_id.as_str() == job)
            };
            let job = skew.path.file_stem().unwrap_or_default().to_string_lossy();
            // Copying a dead run makes its files look newer than they are.
            skew.seconds > HARMLESS_SECONDS || (skew.seconds < -HARMLESS_SECONDS && !dead(&job))
        });
        let off: Vec<_> = off.collect();
        if let Some(worst) = off.iter().max_by_key(|skew| skew.seconds.abs()) {
            let what = format!(
                "a worker's clock and the disk's are {} s apart",
                worst.seconds.abs()
            );
            let shown = self.shown(&worst.path);
            let fix = "set the clocks of all machines by the network (NTP)";
            self.find(Finding::new(Code::ClockSkew, what).at(shown, None).fix(fix));
        }
    }

    fn tell_dead(&mut self, exam: &RunExam) {
        let Some(first) = exam.dead_leases.first() else {
            return;
        };
        let run_id = self.run_id;
        let typed = shell_word(run_id.as_str());
        let names: Vec<String> = exam
            .dead_leases
            .iter()
            .map(|lease| lease.job_id.to_string())
            .collect();
        let host = first.host.as_deref().unwrap_or("an unknown machine");
        let what = format!(
            "{} held by a worker that is dead ({} on {host})",
            such_as(names.len(), "job", &names),
            first.worker
        );
        let finding = Finding::new(Code::DeadLease, what).fix(format!(
            "archi3d run worker --run-id {typed} --only-status enqueued,running"
        ));
        let finding = names.iter().take(20).fold(finding, |finding, job| {
            finding.at(format!("runs/{run_id}/state/{job}.inprogress"), None)
        });
        // A job whose row is gone keeps it until the row is back.
        let made = exam
            .dead_leases
            .iter()
            .filter_map(|lease| lease.made.as_ref());
        let finding = made.fold(finding, |finding, folder| {
            finding.at(self.shown(folder), None)
        });
        self.find(finding);
    }

    fn tell_states(&mut self, exam: &RunExam) {
        let run_id = self.run_id;
        if !exam.behind.is_empty() {
            let names: Vec<String> = exam
                .behind
                .iter()
                .map(|row| row.job_id.to_string())
                .collect();
            let what = format!(
                "{} not saying what the markers say",
                such_as(names.len(), "row", &names)
            );
            let changes = exam.behind.iter().map(|row| {
                let cells = row.cells.iter();
                let cells: Vec<String> = cells
                    .map(|(column, old, new)| format!("{column}: {old:?} → {new:?}"))
                    .collect();
                format!(
                    "{REGISTRY}:{} {} {}",
                    row.line,
                    row.job_id,
                    cells.join(", ")
                )
            });
            let finding = Finding::new(Code::RowBehind, what)
                .changes(changes)
                .fix(FIX);
            let finding = exam
                .behind
                .iter()
                .fold(finding, |finding, row| finding.at(REGISTRY, Some(row.line)));
            self.find(finding);
        }
        if !exam.unpublished.is_empty() {
            let names: Vec<String> = exam
                .unpublished
                .iter()
                .map(|(job, _)| job.to_string())
                .collect();
            let what = format!(
                "{} ended, which only a journal knows",
                such_as(names.len(), "job", &names)
            );
            let changes = exam.unpublished.iter().map(|(job, completed)| {
                let how = if *completed { "completed" } else { "failed" };
                format!("publish the ending of {job} ({how})")
            });
            let places = format!("runs/{run_id}/state/journal");
            self.find(
                Finding::new(Code::Unpublished, what)
                    .at(places, None)
                    .changes(changes)
                    .fix(FIX),
            );
        }
    }

    fn tell_results(&mut self, exam: &RunExam) {
        let run_id = self.run_id;
        let typed = shell_word(run_id.as_str());
        for (kept, has_result) in &exam.kept {
            let what = format!("what attempt {} of job {} made", kept.attempt, kept.job_id);
            let finding = if *has_result {
                Finding::new(Code::LateResult, what)
            } else {
                let adopt = format!("archi3d run adopt --run-id {typed} {}", kept.job_id);
                let first = format!("put a whole generated.glb into {}, then ", kept.path);
                let first = if kept.whole { "" } else { &first };
                Finding::new(Code::KeptResult, what).fix(format!("{first}{adopt}"))
            };
            self.find(finding.at(&kept.path, None));
        }
        for (job, file) in &exam.altered {
            let what = format!("job {job}: {file} is missing or not what the worker recorded");
            let path = format!("runs/{run_id}/outputs/{job}/{file}");
            let fix =
                format!("archi3d run worker --run-id {typed} --redo --jobs {job}, if it is spoilt");
            self.find(
                Finding::new(Code::ResultAltered, what)
                    .at(path, None)
                    .fix(fix),
            );
        }
    }

    fn tell_leftovers(&mut self, exam: &RunExam) {
        let run_id = self.run_id;
        let typed = shell_word(run_id.as_str());
        for marker in &exam.damaged_markers {
            let shown = self.shown(&marker.path);
            let what = format!("cannot be used: {}", marker.reason);
            let finding = Finding::new(Code::DamagedMarker, what).at(&shown, None);
            self.find(match marker.remedy {
                Remedy::FromJournal => finding
                    .changes([format!("make {shown} again from the journal")])
                    .fix(FIX),
                Remedy::SetAside => finding
                    .changes([format!("set {shown} aside, which no journal explains")])
                    .fix(FIX),
                Remedy::AtClaim => finding.fix(format!(
                    "archi3d run worker --run-id {typed} --only-status enqueued,running: it is set \
                     aside when its job is claimed"
                )),
            });
        }
        for (path, lines) in &exam.damaged_journals {
            let shown = self.shown(path);
            self.find(damaged_journal(run_id, shown, *lines));
        }
        for (code, what, paths) in [
            (
                Code::OrphanStaging,
                "files of an attempt that is over",
                &exam.orphan_staging,
            ),
            (
                Code::LeftoverFile,
                "left by a writer that died",
                &exam.temporaries,
            ),
        ] {
            for path in paths {
                let shown = self.shown(path);
                let change = if artifact::holds_model(path) {
                    format!("move {shown} to outputs/.late")
                } else {
                    format!("remove {shown}")
                };
                self.find(
                    Finding::new(code, what)
                        .at(shown, None)
                        .changes([change])
                        .fix(FIX),
                );
            }
        }
        if let Some(first) = exam.dead_journals.first() {
            let shown = self.shown(first);
            let count = exam.dead_journals.len();
            let what = format!("{} not closed by dead workers", counted(count, "journal"));
            let change = format!("close {}", counted(count, "journal"));
            self.find(
                Finding::new(Code::DeadWorker, what)
                    .at(shown, None)
                    .changes([change])
                    .fix(FIX),
            );
        }
    }
}

/// Returns the finding about a journal with lines that cannot be read.
pub(super) fn damaged_journal(run_id: &RunId, shown: String, lines: usize) -> Finding {
    let what = format!("{} cannot be read", counted(lines, "line"));
    let typed = shell_word(run_id.as_str());
    let fix = format!("archi3d run attempts --run-id {typed} shows what is left");
    let finding = Finding::new(Code::DamagedJournal, what).of_run(run_id);
    finding.at(shown, None).fix(fix)
}
