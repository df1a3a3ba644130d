//! What to type next, for every reason a job can have.

use crate::domain::id::RunId;
use crate::domain::job::{JobState, Status};
use crate::domain::money::Usd;
use crate::domain::text::shell_word;
use crate::store::csv::Kept;
use crate::store::{JobRecord, Standing};

use crate::ops::view::explain::{NextStep, Numbers};

/// Returns what to type next.
pub(super) fn next_steps(
    run_id: &RunId,
    record: &JobRecord,
    (code, planned): (&str, &str),
    numbers: &Numbers,
    kept: &[Kept],
) -> Vec<NextStep> {
    let job = &record.job_id;
    let run_id = shell_word(run_id.as_str());
    let worker =
        |options: &str| format!("archi3d run worker --run-id {run_id} --jobs '{job}'{options}");
    let step = |what: &str, command: String| NextStep {
        what: what.to_owned(),
        command,
    };
    let mut steps = Vec::new();
    let has_result = matches!(&record.standing, Standing::Known { state, .. }
        if matches!(state, JobState::Completed { simulated: false, .. }));
    if !has_result && kept.iter().any(|kept| kept.whole) {
        steps.push(step(
            "bring in the model that is kept, without buying",
            format!("archi3d run adopt --run-id {run_id} '{job}'"),
        ));
    }
    if let Some(closed) = &numbers.closed {
        let command = format!("archi3d adapters resume {}", closed.provider);
        steps.push(step("open the provider when it can be used again", command));
    }
    if let Some(pause) = &numbers.paused {
        let command = format!("archi3d adapters resume {}", pause.provider);
        steps.push(step("resume its algorithm when it works again", command));
    }
    let own = match code {
        "cancel_asked" => Some(step(
            "take the request back",
            format!("archi3d run cancel --run-id {run_id} --jobs '{job}' --undo"),
        )),
        "completed" => Some(step("make it again", worker(" --redo"))),
        "resumable" | "finished_unpublished" => {
            Some(step("resume it", worker(" --only-status running")))
        }
        "possibly_billed" if numbers.request_id.is_some() || planned == "possibly_bought" => {
            Some(step(
                "ask the provider for its result",
                worker(" --only-status failed"),
            ))
        }
        "possibly_billed" => Some(step(
            "buy it again, if the provider knows nothing of it",
            worker(" --only-status failed --resubmit-unknown"),
        )),
        "retries_used_up" => Some(step(
            "try it again, several times",
            worker(" --only-status failed --retries 3"),
        )),
        "bad_input" | "permanent" | "out_of_credit" | "failed" => Some(step(
            "try it again once the cause is fixed",
            worker(" --only-status failed"),
        )),
        "cancelled" => Some(step(
            "put it back",
            format!("archi3d run cancel --run-id {run_id} --jobs '{job}' --undo"),
        )),
        "running" | "slow" | "stalled" => Some(step(
            "watch it",
            format!("archi3d run status --run-id {run_id} --watch"),
        )),
        "unusable_algo" => Some(step(
            "see what is wrong with it",
            "archi3d adapters list".into(),
        )),
        "not_registered" | "not_in_manifest" => Some(step(
            "bring both tables together",
            format!("archi3d batch create --run-id {run_id}"),
        )),
        "ask_first" => {
            let waits = record.standing.holder_died();
            let options = if waits { "" } else { " --only-status running" };
            steps.push(step("end it as failed, to be looked at", worker(options)));
            Some(step(
                "then buy it again, if the provider knows nothing of it",
                worker(" --only-status failed --resubmit-unknown"),
            ))
        }
        "over_budget" => Some(step(&more_money(numbers), worker(""))),
        "unknown_price" => Some(step(
            "give it a unit_price_usd in config/adapters.yaml, then see",
            format!("archi3d run plan --run-id {run_id} --jobs '{job}'"),
        )),
        _ if matches!(&record.standing, Standing::Known { state, .. }
            if state.status() != Status::Running) =>
        {
            Some(step("run it", worker("")))
        }
        _ => None,
    };
    steps.extend(own);
    let over = matches!(&record.standing, Standing::Known { state, .. }
        if matches!(state.status(), Status::Failed | Status::Cancelled));
    if numbers.reserved_usd.is_some() && over {
        let command = format!("archi3d cost settle --run-id {run_id} '{job}' --usd AMOUNT");
        let what = "if it will not run again: note what the provider billed, 0 if nothing";
        steps.push(step(what, command));
    }
    steps
}

/// Says when a job that a limit refuses can run.
fn more_money(numbers: &Numbers) -> String {
    let price = Usd::of(numbers.unit_usd.unwrap_or_default())
        - Usd::of(numbers.reserved_usd.unwrap_or_default());
    let refuses = |of: &str| {
        let mut limits = numbers.money.limits.iter();
        limits.any(|limit| limit.of == of && limit.left_usd < price)
    };
    if refuses("run") {
        "run it once budget.run_usd in config/global.yaml is raised".to_owned()
    } else {
        "run it tomorrow (a day ends at midnight UTC), or once budget.day_usd in \
         config/global.yaml is raised"
            .to_owned()
    }
}
