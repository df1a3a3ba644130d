//! What is configured: can it be read, can the adapters of waiting jobs run, are
//! providers closed. Nothing is started.

use std::collections::BTreeMap;

use crate::config::ConfigError;
use crate::domain::finding::{Code, Finding, Severity};
use crate::domain::job::Status;
use crate::domain::text::counted;
use crate::ops::adapters::{self, AdapterEntry};
use crate::ops::submit;
use crate::store::providers::Closable;
use crate::store::upkeep::{Checkup, unreadable};
use crate::table::Table;

use super::Target;

pub(super) fn look(target: &Target, table: Option<&Table>, checkup: &mut Checkup) {
    look_at_providers(target, checkup);
    look_at_orders(target, checkup);
    let context = match &target.context {
        Ok(context) => context,
        Err(error) => {
            let (path, line) = match error {
                ConfigError::Invalid { path, line, .. } => (path.clone(), *line),
                ConfigError::Unreadable { path, .. } => (path.clone(), None),
                _ => (target.workspace.config(), None),
            };
            let shown = target.workspace.relative(&path);
            let shown = shown.unwrap_or_else(|| path.display().to_string());
            let finding = Finding::new(Code::ConfigError, error.to_string()).at(shown, line);
            checkup.find(finding.fix("set the file right; archi3d config show checks it"));
            return;
        }
    };
    let waiting = table.map(waiting_jobs).unwrap_or_default();
    let entries = match adapters::list_here(context) {
        Ok(entries) => entries,
        Err(error) => return checkup.find(unreadable("config/adapters.yaml", &error)),
    };
    for (algo, jobs) in waiting {
        let entry = entries.iter().find(|entry| entry.key.as_str() == algo);
        let problem = match entry {
            Some(entry) => problem_of(entry),
            None => Some(format!("algo {algo} is not in adapters.yaml")),
        };
        if let Some(problem) = problem {
            let what = format!("{problem} (waiting: {})", counted(jobs, "job"));
            let finding = Finding::new(Code::AdapterNotRunnable, what);
            let finding = finding.at("config/adapters.yaml", None);
            checkup.find(finding.fix(format!("archi3d adapters check {algo}")));
        }
    }
}

fn problem_of(entry: &AdapterEntry) -> Option<String> {
    entry.problems.first().map(|problem| {
        let more = entry.problems.len() - 1;
        if more == 0 {
            problem.clone()
        } else {
            format!("{problem} (and {more} more)")
        }
    })
}

/// Counts the jobs that a worker would still run, by algorithm.
fn waiting_jobs(table: &Table) -> BTreeMap<String, usize> {
    let mut waiting = BTreeMap::new();
    let (Some(status), Some(algo)) = (table.column("status"), table.column("algo")) else {
        return waiting;
    };
    for row in 0..table.len() {
        let word = table.cell(row, status);
        let waits = matches!(
            Status::parse(&String::from_utf8_lossy(&word)),
            Some(Status::Enqueued | Status::Running)
        );
        if waits {
            let algo = String::from_utf8_lossy(&table.cell(row, algo)).into_owned();
            *waiting.entry(algo).or_default() += 1;
        }
    }
    waiting
}

fn look_at_orders(target: &Target, checkup: &mut Checkup) {
    let path = "tables/submissions.jsonl";
    let lines = match submit::damaged_lines(&target.workspace) {
        Ok(lines) => lines,
        Err(error) => return checkup.find(unreadable(path, &error)),
    };
    if lines.is_empty() {
        return;
    }
    let what = format!("{} cannot be read", counted(lines.len(), "order"));
    let finding = Finding::new(Code::LostOrder, what);
    let finding = lines
        .into_iter()
        .fold(finding, |finding, line| finding.at(path, Some(line)));
    checkup.find(finding.fix(
        "put each line back from a backup, or, once its order is known, remove it while no service runs",
    ));
}

fn look_at_providers(target: &Target, checkup: &mut Checkup) {
    let providers = target.local().providers();
    let closed = match providers.all_closed(Closable::Provider, target.clock.now()) {
        Ok(closed) => closed,
        Err(error) => return checkup.find(unreadable("runs/.providers", &error)),
    };
    for closure in closed {
        let provider = &closure.provider;
        let (until, severity) = match closure.until {
            Some(until) => (format!("until {}", until.iso()), Severity::Note),
            None => ("until it is opened".to_owned(), Severity::Warning),
        };
        let what = format!("provider {provider} is closed {until}: {}", closure.reason);
        checkup.find(
            Finding::new(Code::ProviderClosed, what)
                .at(format!("runs/.providers/{provider}.closed.json"), None)
                .fix(format!("archi3d adapters resume {provider}"))
                .severity(severity),
        );
    }
}
