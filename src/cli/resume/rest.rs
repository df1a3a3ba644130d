//! Going on with what is left after options that make or buy again what has a
//! result: the same command would do that to what was just made, too.

use archi3d_core::domain::filter::JobsFilter;
use archi3d_core::domain::id::JobId;
use archi3d_core::domain::job::Status;
use archi3d_core::engine::event::{NAMED_AT_MOST, Summary};
use archi3d_core::ops::select::WorkerRequest;

use super::command;

/// Returns what to type to go on with the jobs that are left.
pub(super) fn rest(summary: &Summary, request: &WorkerRequest, statuses: &[Status]) -> String {
    if !buys_again(request) {
        return command(request, statuses);
    }
    let left = &summary.left;
    if summary.processed == 0 && left.begun.is_empty() {
        return command(request, statuses) + agreed_to(request);
    }
    let (mut unbegun, mut begun) = (left.waiting.clone(), left.begun.clone());
    if !request.forget_requests {
        unbegun.append(&mut begun);
    }
    let mut commands = Vec::new();
    if !unbegun.is_empty() {
        let command = only(&unbegun, request, statuses);
        commands.push(command.map(|command| command + agreed_to(request)));
    }
    if !begun.is_empty() {
        // What they bought meanwhile is not to be given up.
        commands.push(only(&begun, request, statuses));
    }
    let commands: Option<Vec<String>> = commands.into_iter().collect();
    commands
        .filter(|commands| !commands.is_empty())
        .map_or_else(too_many, |commands| commands.join(" and "))
}

/// Tells whether the same command would make or buy again what was just made.
pub(super) fn buys_again(request: &WorkerRequest) -> bool {
    request.redo || request.resubmit_unknown || request.forget_requests
}

/// Returns the command for these jobs alone, if they can be named.
pub(super) fn only(jobs: &[JobId], request: &WorkerRequest, statuses: &[Status]) -> Option<String> {
    if jobs.len() > NAMED_AT_MOST {
        return None;
    }
    let ids: Vec<String> = jobs.iter().map(|job| regex::escape(job.as_str())).collect();
    let pattern = format!("^({})$", ids.join("|"));
    let mut narrowed = request.clone();
    narrowed.query.jobs = Some(JobsFilter::parse(&pattern).ok()?);
    Some(command(&narrowed, statuses))
}

/// None of the jobs was started, so what was agreed to still holds for them.
fn agreed_to(request: &WorkerRequest) -> &'static str {
    match (request.resubmit_unknown, request.forget_requests) {
        (true, true) => " --resubmit-unknown --forget-requests",
        (true, false) => " --resubmit-unknown",
        (false, true) => " --forget-requests",
        (false, false) => "",
    }
}

/// Says what to do where there are too many jobs to name.
pub(super) fn too_many() -> String {
    "choose them with --jobs (the same command would buy again what was just made; `archi3d run \
     attempts` tells which jobs that is)"
        .to_owned()
}
