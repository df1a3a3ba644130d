//! What to type after a worker has ended: the exact commands, ready to paste.

use crate::cli::attempts::dollars;
use crate::cli::progress::budget_words;
use crate::cli::worker::usual_heartbeat;
use archi3d_core::domain::budget::CapKind;
use archi3d_core::domain::job::Status;
use archi3d_core::domain::lease::Rhythm;
use archi3d_core::domain::order::JobOrder;
use archi3d_core::domain::text::plural;
pub(super) use archi3d_core::domain::text::shell_word as quoted;
use archi3d_core::engine::event::Summary;
use archi3d_core::ops::select::{Spending, WorkerRequest};

mod rest;

use rest::{buys_again, only, rest, too_many};

/// Returns what a person may want to do next, one sentence with a command each.
pub fn hints(summary: &Summary, request: &WorkerRequest) -> Vec<String> {
    let mut hints = Vec::new();
    // What was begun counts against `--limit`.
    let left = request
        .limit
        .map(|limit| limit.saturating_sub(summary.processed).max(1));
    let interrupted = &WorkerRequest {
        limit: left,
        ..request.clone()
    };
    let request = &WorkerRequest {
        limit: None,
        ..request.clone()
    };
    let unfinished = summary.not_started + summary.released;
    let stopped_early = summary
        .stopped_by
        .as_deref()
        .is_some_and(|by| !matches!(by, "limit" | "budget" | "canary"));
    if summary.resumable > 0 {
        let command = command(request, &[Status::Enqueued, Status::Running]);
        hints.push(format!(
            "{} left by a worker that died; to resume: {command}",
            jobs(summary.resumable)
        ));
    } else if stopped_early && unfinished > 0 {
        let statuses = statuses_to_go_on(summary, request);
        hints.push(format!(
            "{} not finished; to resume: {}",
            jobs(unfinished),
            rest(summary, interrupted, &statuses)
        ));
    }
    hints.extend(budget_hint(summary, request));
    hints.extend(canary_hint(summary, request));
    hints.extend(unrecorded_hints(summary, request));
    if summary.without_row > 0 {
        let run = quoted(request.run_id.as_str());
        hints.push(format!(
            "{} in tables/generations.csv, which another program changed meanwhile; nothing is lost, to \
             bring them in: archi3d registry rebuild --run-id {run}",
            plural(
                summary.without_row,
                "result has no row, or one of another status or product,",
                "results have no row, or one of another status or product,"
            ),
        ));
    }
    hints.extend(doubt_hints(summary, request));
    if summary.failed > summary.in_doubt && !request.redo {
        let command = command(request, &[Status::Failed]);
        let billed = match summary.left.billed {
            0 => String::new(),
            billed => format!(
                "{} billed without a result, or may have been, and would be bought again: check why first; ",
                jobs(billed)
            ),
        };
        hints.push(format!("{billed}to try failed jobs again: {command}"));
    }
    if summary.dry_run && summary.completed > 0 {
        let real = WorkerRequest {
            dry_run: false,
            simulate_ms: None,
            ..request.clone()
        };
        let command = command(&real, &[]);
        hints.push(format!(
            "{} only rehearsed, no model was made; to make them: {command}",
            jobs(summary.completed)
        ));
    }
    hints
}

/// Says how to bring in what was made and could not be recorded: what is told here
/// of the disk is what the disk has confirmed.
fn unrecorded_hints(summary: &Summary, request: &WorkerRequest) -> Vec<String> {
    let command = command(request, &[Status::Enqueued, Status::Running]);
    let mut hints = Vec::new();
    let confirmed = summary.unrecorded.saturating_sub(summary.unconfirmed);
    if confirmed > 0 {
        hints.push(format!(
            "{} finished but could not be recorded; what they made is on disk. Once the cause is \
             repaired, to bring it in without making it again: {command}",
            jobs(confirmed)
        ));
    }
    if summary.unconfirmed > 0 {
        hints.push(format!(
            "{} finished, but the disk has not confirmed that it keeps what they made: copy \
             runs/{}/outputs/.staging elsewhere before it is repaired or mounted again, then: \
             {command}",
            jobs(summary.unconfirmed),
            request.run_id
        ));
    }
    hints
}

/// Says how to go on with jobs that may have been billed, once somebody has looked.
fn doubt_hints(summary: &Summary, request: &WorkerRequest) -> Vec<String> {
    let redone = summary.left.redos_in_doubt.len();
    let failed = summary.in_doubt.saturating_sub(redone);
    let mut hints = Vec::new();
    let mut hint = |count: usize, command: String| {
        hints.push(format!(
            "{} possibly billed without a result; look for them at the provider, and only then: \
             {command}",
            jobs(count)
        ));
    };
    if failed > 0 {
        let plain = WorkerRequest {
            redo: false,
            ..request.clone()
        };
        let command = command(&plain, &[Status::Failed]);
        hint(failed, format!("{command} --resubmit-unknown"));
    }
    if redone > 0 {
        // A redo that failed leaves its job completed.
        let again = WorkerRequest {
            redo: true,
            ..request.clone()
        };
        let named = only(&summary.left.redos_in_doubt, &again, &[]);
        hint(redone, named.unwrap_or_else(too_many));
    }
    hints
}

/// Says where to look at what the canaries made, and how to release the rest.
fn canary_hint(summary: &Summary, request: &WorkerRequest) -> Option<String> {
    if summary.stopped_by.as_deref() != Some("canary") {
        return None;
    }
    let waiting: usize = summary.canaries.iter().map(|canary| canary.waiting).sum();
    let released = WorkerRequest {
        spending: Spending {
            canary: None,
            ..request.spending.clone()
        },
        ..request.clone()
    };
    let statuses = request.query.only_status.clone().unwrap_or_default();
    let wait = if waiting == 1 {
        "job waits"
    } else {
        "jobs wait"
    };
    Some(format!(
        "look at runs/{}/outputs, {waiting} {wait}; to release the rest: {}",
        request.run_id,
        rest(summary, &released, &statuses)
    ))
}

/// Says what waits for money, how the limit stands and how to go on.
fn budget_hint(summary: &Summary, request: &WorkerRequest) -> Option<String> {
    let priced = summary.blocked_by_budget - summary.unpriced_blocked;
    let level = summary.budget.filter(|_| priced > 0)?;
    // Whole cents, in millionths: sums of dollars in floating point end just above.
    let needed = [
        level.spent_usd,
        level.reserved_usd,
        summary.blocked_cost_usd,
    ];
    let needed: f64 = needed.iter().map(|usd| (usd * 1e6).round()).sum();
    let needed = (needed / 1e4).ceil() / 100.0;
    let statuses = request.query.only_status.clone().unwrap_or_default();
    let spending = &request.spending;
    let said = spending.budget_usd.or(spending.ordered_usd);
    let by_flag = said.is_some_and(|usd| usd <= level.cap_usd);
    let remedy = match level.cap {
        CapKind::Day => "resume tomorrow (a day ends at midnight UTC), or raise budget.day_usd in \
                         config/global.yaml"
            .to_owned(),
        CapKind::Run if by_flag => {
            let raised = WorkerRequest {
                spending: Spending {
                    budget_usd: Some(needed),
                    ..request.spending.clone()
                },
                ..request.clone()
            };
            let command = rest(summary, &raised, &statuses);
            match spending.budget_usd {
                Some(_) => format!("for all of them: {command}"),
                None => format!(
                    "the run was ordered with max_cost_usd {:.2}; to let it cost more, for all of them: {command}",
                    level.cap_usd
                ),
            }
        }
        CapKind::Run => format!(
            "to resume, raise budget.run_usd in config/global.yaml ({} is enough for all of them)",
            dollars(needed)
        ),
    };
    let remedy = if buys_again(request) && !by_flag {
        let command = rest(summary, request, &statuses);
        format!("{remedy}; then: {command}")
    } else {
        remedy
    };
    let wait = if priced == 1 {
        "job waits"
    } else {
        "jobs wait"
    };
    Some(format!(
        "{priced} {wait}: {}; {remedy}",
        budget_words(&level)
    ))
}

fn jobs(count: usize) -> String {
    match count {
        1 => "1 job was".to_owned(),
        _ => format!("{count} jobs were"),
    }
}

/// Jobs given back wait again, whatever they were before.
fn statuses_to_go_on(summary: &Summary, request: &WorkerRequest) -> Vec<Status> {
    let mut statuses = request.query.only_status.clone().unwrap_or_default();
    if summary.released > 0 && !statuses.is_empty() && !statuses.contains(&Status::Enqueued) {
        statuses.insert(0, Status::Enqueued);
    }
    statuses
}

/// Returns the command that selects jobs in `statuses` and otherwise does the same.
fn command(request: &WorkerRequest, statuses: &[Status]) -> String {
    let mut words = vec!["archi3d run worker --run-id".to_owned()];
    words.push(quoted(request.run_id.as_str()));
    let mut option = |name: &str, value: String| {
        words.push(name.to_owned());
        words.push(quoted(&value));
    };
    if !statuses.is_empty() {
        let list: Vec<&str> = statuses.iter().map(|status| status.word()).collect();
        option("--only-status", list.join(","));
    }
    if let Some(filter) = &request.query.jobs {
        option("--jobs", filter.text().to_owned());
    }
    for item in &request.query.items {
        option("--item", item.as_str().to_owned());
    }
    if let Some(usd) = request.spending.budget_usd {
        option("--budget-usd", dollars(usd).replace('$', ""));
    }
    if let Some(canary) = &request.spending.canary {
        option("--canary", canary.per_algo.to_string());
    }
    if let Some(limit) = request.limit {
        option("--limit", limit.to_string());
    }
    if request.spending.order != JobOrder::Manifest {
        option("--order", request.spending.order.word().to_owned());
    }
    for key in &request.query.algo {
        option("--algo", key.to_string());
    }
    if let Some(key) = &request.adapter {
        option("--adapter", key.to_string());
    }
    if request.max_parallel > 1 {
        option("--max-parallel", request.max_parallel.to_string());
    }
    if let Some(retries) = request.retries {
        option("--retries", retries.to_string());
    }
    if let Some(timeout) = request.timeout {
        option("--timeout", timeout.as_secs_f64().to_string());
    }
    if let Some(ms) = request.simulate_ms {
        option("--simulate-ms", ms.to_string());
    }
    let fleet = &request.fleet;
    if let Some(lease) = fleet.lease {
        option("--lease-secs", lease.as_secs_f64().to_string());
    }
    if fleet.auto_lease {
        option("--lease-secs", "auto".to_owned());
    }
    if let Some(wake) = &fleet.wake {
        option("--wake", wake.clone());
    }
    if fleet.ahead > 0 {
        option("--ahead", fleet.ahead.to_string());
    }
    if let Some(gigabytes) = fleet.cache_gb {
        option("--cache-gb", gigabytes.to_string());
    }
    if let Some(idle) = fleet.until_idle {
        option("--until-idle", idle.as_secs_f64().to_string());
    }
    if let Some(name) = &fleet.worker_id {
        option("--worker-id", name.clone());
    }
    let rhythm = request.rhythm;
    if rhythm.stale != Rhythm::default().stale {
        option("--stale-secs", rhythm.stale.as_secs_f64().to_string());
    }
    if rhythm.heartbeat != usual_heartbeat(rhythm.stale) {
        option(
            "--heartbeat-secs",
            rhythm.heartbeat.as_secs_f64().to_string(),
        );
    }
    for (given, name) in [
        (
            request.spending.canary.is_some_and(|canary| canary.release),
            "--release",
        ),
        (request.fail_fast, "--fail-fast"),
        (request.allow_unsafe_locks, "--allow-unsafe-locks"),
        (request.dry_run, "--dry-run"),
        (request.redo, "--redo"),
        (request.reuse, "--reuse"),
    ] {
        if given {
            words.push(name.to_owned());
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use archi3d_core::domain::filter::{JobQuery, JobsFilter};
    use archi3d_core::domain::id::RunId;
    use archi3d_core::engine::event::Left;

    fn request(run: &str) -> WorkerRequest {
        WorkerRequest::plain(RunId::parse(run).expect("valid"))
    }

    #[test]
    fn a_run_that_went_well_needs_no_hint() {
        let summary = Summary {
            completed: 4,
            ..Summary::default()
        };
        assert!(hints(&summary, &request("r1")).is_empty());
    }

    #[test]
    fn jobs_of_a_dead_worker_and_failed_jobs_each_get_their_command() {
        let summary = Summary {
            failed: 2,
            resumable: 1,
            ..Summary::default()
        };
        assert_eq!(
            hints(&summary, &request("r1")),
            [
                "1 job was left by a worker that died; to resume: \
                 archi3d run worker --run-id r1 --only-status enqueued,running",
                "to try failed jobs again: archi3d run worker --run-id r1 --only-status failed",
            ]
        );
        let summary = Summary {
            failed: 2,
            left: Box::new(Left {
                billed: 1,
                ..Left::default()
            }),
            ..Summary::default()
        };
        assert_eq!(
            hints(&summary, &request("r1")),
            [
                "1 job was billed without a result, or may have been, and would be bought again: check why first; to try failed jobs again: archi3d run worker --run-id r1 \
                 --only-status failed"
            ]
        );
    }

    #[test]
    fn an_interrupted_rehearsal_goes_on_as_a_rehearsal_with_the_same_choice_of_jobs() {
        let summary = Summary {
            released: 1,
            not_started: 2,
            dry_run: true,
            stopped_by: Some("interrupted".into()),
            ..Summary::default()
        };
        let request = WorkerRequest {
            query: JobQuery {
                jobs: Some(JobsFilter::parse("d6*").expect("valid")),
                only_status: Some(vec![Status::Failed]),
                ..JobQuery::default()
            },
            max_parallel: 4,
            dry_run: true,
            retries: Some(2),
            ..request("it's 1")
        };
        assert_eq!(
            hints(&summary, &request),
            [
                "3 jobs were not finished; to resume: archi3d run worker --run-id 'it'\\''s 1' \
              --only-status enqueued,failed --jobs 'd6*' --max-parallel 4 --retries 2 --dry-run"
            ]
        );
    }

    #[test]
    fn what_was_on_trial_stays_on_trial_and_a_limit_counts_what_was_begun() {
        let summary = Summary {
            processed: 2,
            not_started: 3,
            stopped_by: Some("fail-fast".into()),
            ..Summary::default()
        };
        let request = WorkerRequest {
            limit: Some(4),
            spending: Spending {
                canary: Some(archi3d_core::engine::Canary {
                    per_algo: 1,
                    release: true,
                }),
                ..Spending::default()
            },
            ..request("r1")
        };
        assert_eq!(
            hints(&summary, &request),
            [
                "3 jobs were not finished; to resume: archi3d run worker --run-id r1 \
              --canary 1 --limit 2 --release"
            ]
        );
    }

    #[test]
    fn a_rehearsal_ends_with_the_command_that_performs() {
        let summary = Summary {
            completed: 3,
            dry_run: true,
            ..Summary::default()
        };
        let request = WorkerRequest {
            dry_run: true,
            ..request("r1")
        };
        assert_eq!(
            hints(&summary, &request),
            [
                "3 jobs were only rehearsed, no model was made; to make them: archi3d run worker --run-id r1"
            ]
        );
    }

    /// Options that a command to go on leaves out on purpose: those by which a person
    /// agreed to something this once, which have done their work, or which say nothing of the jobs.
    const SPENT: [&str; 7] = [
        "follow",
        "metrics-file",
        "stop-grace",
        "only-status",
        "yes",
        "resubmit-unknown",
        "forget-requests",
    ];

    /// A value of every option that takes one.
    const SAMPLES: [(&str, &str); 22] = [
        ("limit", "6"),
        ("canary", "2"),
        ("ahead", "9"),
        ("cache-gb", "2.5"),
        ("wake", "redis://h:1"),
        ("run-id", "r1"),
        ("jobs", "d6*"),
        ("item", "100001"),
        ("algo", "one"),
        ("adapter", "two"),
        ("max-parallel", "3"),
        ("timeout", "90.5"),
        ("retries", "2"),
        ("simulate-ms", "7"),
        ("heartbeat-secs", "3"),
        ("stale-secs", "77"),
        ("lease-secs", "30"),
        ("until-idle", "9"),
        ("worker-id", "w1"),
        ("budget-usd", "5"),
        ("order", "cheapest"),
        ("only-status", "failed"),
    ];

    #[test]
    fn a_command_to_go_on_keeps_every_option_that_was_given() {
        use crate::cli::worker::WorkerArgs;
        use clap::{Args as _, FromArgMatches as _};
        let bare = || WorkerArgs::augment_args(clap::Command::new("worker"));
        for argument in bare().get_arguments() {
            let Some(name) = argument.get_long().filter(|name| !SPENT.contains(name)) else {
                continue;
            };
            let option = format!("--{name}");
            let mut given = vec!["worker".to_owned(), option.clone()];
            if argument.get_action().takes_values() {
                let sample = SAMPLES.iter().find(|(known, _)| known == &name);
                let (_, value) = sample.unwrap_or_else(|| panic!("{option} has no sample"));
                given.push((*value).to_owned());
            }
            match name {
                "simulate-ms" => given.push("--dry-run".to_owned()),
                "release" => given.extend(["--canary", "2"].map(str::to_owned)),
                _ => {}
            }
            let matches = bare().try_get_matches_from(&given).expect("valid");
            let args = WorkerArgs::from_arg_matches(&matches).expect("valid");
            let run = RunId::parse("r1").expect("valid");
            let command = command(&args.to_request(run).expect("valid"), &[]);
            assert!(command.contains(&option), "{option} is lost: {command}");
        }
    }
}
