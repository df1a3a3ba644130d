//! What to do next, for every reason a job can have.

use crate::domain::job::{JobState, Status};
use crate::domain::money::Usd;
use crate::domain::reason::ReasonCode;
use crate::ops::adopt::Kept;
use crate::store::{JobRecord, JobSnapshot};

use crate::ops::view::explain::{NextStep, Numbers, RunOptions, Step};

/// Returns what to do next.
pub(super) fn next_steps(
    record: &JobRecord,
    (code, planned): (ReasonCode, ReasonCode),
    numbers: &Numbers,
    kept: &[Kept],
) -> Vec<NextStep> {
    let run = |only_status: Option<Status>| RunOptions {
        only_status,
        ..RunOptions::default()
    };
    let plain = Step::Run(RunOptions::default());
    let resumed = Step::Run(run(Some(Status::Running)));
    let again = Step::Run(run(Some(Status::Failed)));
    let bought_again = Step::Run(RunOptions {
        resubmit_unknown: true,
        ..run(Some(Status::Failed))
    });
    let step = |what: &str, step: Step| NextStep {
        what: what.to_owned(),
        step,
    };
    let mut steps = Vec::new();
    let has_result = matches!(&record.snapshot, JobSnapshot::Known { state, .. }
        if matches!(state, JobState::Completed { simulated: false, .. }));
    if !has_result && kept.iter().any(|kept| kept.whole) {
        steps.push(step(
            "bring in the model that is kept, without buying",
            Step::Adopt,
        ));
    }
    if let Some(closed) = &numbers.closed {
        let open = Step::Resume(closed.provider.clone());
        steps.push(step("open the provider when it can be used again", open));
    }
    if let Some(pause) = &numbers.paused {
        let resume = Step::Resume(pause.provider.clone());
        steps.push(step("resume its algorithm when it works again", resume));
    }
    let own = match code {
        ReasonCode::CancelAsked => Some(step("take the request back", Step::UndoCancel)),
        ReasonCode::Completed => {
            let redo = RunOptions {
                redo: true,
                ..RunOptions::default()
            };
            Some(step("make it again", Step::Run(redo)))
        }
        ReasonCode::Resumable | ReasonCode::FinishedUnpublished => Some(step("resume it", resumed)),
        ReasonCode::PossiblyBilled
            if numbers.request_id.is_some() || planned == ReasonCode::PossiblyBought =>
        {
            Some(step("ask the provider for its result", again))
        }
        ReasonCode::PossiblyBilled => Some(step(
            "buy it again, if the provider knows nothing of it",
            bought_again,
        )),
        ReasonCode::RetriesUsedUp => {
            let several = RunOptions {
                retries: Some(3),
                ..run(Some(Status::Failed))
            };
            Some(step("try it again, several times", Step::Run(several)))
        }
        ReasonCode::BadInput
        | ReasonCode::Permanent
        | ReasonCode::OutOfCredit
        | ReasonCode::Failed => Some(step("try it again once the cause is fixed", again)),
        ReasonCode::Cancelled => Some(step("put it back", Step::UndoCancel)),
        ReasonCode::Running | ReasonCode::Slow | ReasonCode::Stalled => {
            Some(step("watch it", Step::Watch))
        }
        ReasonCode::UnusableAlgo => Some(step("see what is wrong with it", Step::ListAdapters)),
        ReasonCode::NotInManifest if record.snapshot == JobSnapshot::NotInManifest => {
            Some(step("bring both tables together", Step::CompleteBatch))
        }
        ReasonCode::NotRegistered | ReasonCode::NotInManifest => {
            Some(step("make its row again", Step::RebuildRows))
        }
        ReasonCode::AskFirst => {
            let waits = record.snapshot.holder_died();
            let ended = if waits { plain } else { resumed };
            steps.push(step("end it as failed, to be looked at", ended));
            Some(step(
                "then buy it again, if the provider knows nothing of it",
                bought_again,
            ))
        }
        ReasonCode::OverBudget => Some(more_money(numbers)),
        ReasonCode::UnknownPrice => Some(step(
            "give it a unit_price_usd in config/adapters.yaml, then see",
            Step::Plan,
        )),
        _ if matches!(&record.snapshot, JobSnapshot::Known { state, .. }
            if state.status() != Status::Running) =>
        {
            Some(step("run it", plain))
        }
        _ => None,
    };
    steps.extend(own);
    if numbers.reserved_usd.is_some() && is_over(&record.snapshot) {
        let what = "if it will not run again: note what the provider billed, 0 if nothing";
        steps.push(step(what, Step::Settle));
    }
    steps
}

/// Tells whether a job ended without a result.
fn is_over(snapshot: &JobSnapshot) -> bool {
    matches!(snapshot, JobSnapshot::Known { state, .. }
        if matches!(state.status(), Status::Failed | Status::Cancelled))
}

/// Says when a job that a limit refuses can run.
fn more_money(numbers: &Numbers) -> NextStep {
    let price = Usd::of(numbers.unit_usd.unwrap_or_default())
        - Usd::of(numbers.reserved_usd.unwrap_or_default());
    let mut limits = numbers.money.limits.iter();
    let refuses = limits.find(|limit| limit.of == "run" && limit.left_usd < price);
    let set_by = refuses.map(|limit| limit.set_by);
    let what = match set_by {
        Some("max_cost_usd") => {
            "run it above the max_cost_usd of its order; AMOUNT is what the run may cost in all"
        }
        Some(_) => "run it once budget.run_usd in config/global.yaml is raised",
        None => {
            "run it tomorrow (a day ends at midnight UTC), or once budget.day_usd in \
             config/global.yaml is raised"
        }
    };
    NextStep {
        what: what.to_owned(),
        step: Step::Run(RunOptions {
            raises: set_by == Some("max_cost_usd"),
            ..RunOptions::default()
        }),
    }
}
