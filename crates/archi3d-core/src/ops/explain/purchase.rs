//! The timeline of a purchase: what was meant to be bought, when, and what came of it.

use crate::domain::retry::ErrorClass;
use crate::ops::attempts::AttemptRecord;

/// Tells what the attempts noted before and after they bought, one sentence each.
pub(super) fn timeline(attempts: &[AttemptRecord]) -> Vec<String> {
    let mut told = Vec::new();
    // Whether an earlier attempt meant to buy and nobody knows what came of it.
    let mut open = false;
    for attempt in attempts {
        let number = attempt.attempt;
        let id = attempt.request_id.as_deref().unwrap_or("an unknown id");
        let error = attempt.error.as_deref().unwrap_or(attempt.outcome.word());
        match (attempt.intent_at, attempt.submitted_at) {
            (Some(intent), Some(bought)) => {
                open = false;
                told.push(format!(
                    "attempt {number} noted at {} that it was about to buy, and at {} that it \
                     had bought {id}",
                    intent.iso(),
                    bought.iso()
                ));
            }
            (Some(intent), None) => {
                let not_bought = attempt.class.filter(|class| *class != ErrorClass::Unknown);
                open = not_bought.is_none();
                let billed = attempt.cost_usd.is_some_and(|usd| usd > 0.0);
                let rest = match (open, billed) {
                    (true, _) => "no answer was noted",
                    (false, true) => "it was billed without a model",
                    (false, false) => "nothing was bought",
                };
                told.push(format!(
                    "attempt {number} noted at {} that it was about to buy; {rest} ({error})",
                    intent.iso()
                ));
            }
            (None, Some(found)) if open => {
                open = false;
                told.push(format!(
                    "attempt {number} looked for that purchase and found it at {} as {id}",
                    found.iso()
                ));
            }
            (None, None) if open => {
                let until = attempt.ended.unwrap_or(attempt.started).iso();
                told.push(format!(
                    "attempt {number} ended at {until} and does not know either what came of it ({error})"
                ));
            }
            (None, _) => {}
        }
    }
    told
}
