//! `run worker` and `adapters check` under a guard, when programs will be
//! started: this process becomes the guard and the worker its child.
//!
//! What a guard does is in `ops::guard`; here its worker's end becomes the end of
//! the program.

use crate::cli::confirm;
use crate::cli::error::{CliError, Exit};
use crate::cli::ui::Ui;
use archi3d_core::cancel::Cancel;
use archi3d_core::domain::id::{AlgoKey, RunId};
use archi3d_core::ops::OpsContext;
use archi3d_core::ops::budget::Question;
use archi3d_core::ops::guard;
use archi3d_core::ops::run::question;
use archi3d_core::ops::select::WorkerRequest;

/// Tells whether this process is the child of a guard.
pub fn is_guarded() -> bool {
    guard::is_guarded()
}

/// Returns the run that was chosen before the guard was set up.
pub fn chosen_run() -> Option<RunId> {
    guard::chosen_run()
}

/// Runs the worker under a guard if it needs one; returns how it ended then. What
/// a person must agree to is asked here: a guarded worker cannot read from the
/// terminal.
pub fn stand(
    context: &OpsContext,
    request: &WorkerRequest,
    ui: &Ui,
) -> Result<Option<Exit>, CliError> {
    if !guard::is_needed(context, request) {
        return Ok(None);
    }
    let mut agreed_usd = None;
    if confirm::can_ask(ui)
        && let Some(question) = question(context, request)
    {
        if !confirm::ask(&confirm::to_run(&question)) {
            return Err(question.refused().into());
        }
        agreed_usd = Some(question.expected_usd);
    }
    let hint = "nothing finished is lost; the same command with --only-status enqueued,running \
                resumes, including the jobs that were cut off";
    Ok(under_guard(
        "worker",
        hint,
        || guard::stand(agreed_usd, Some(&request.run_id)),
        ui,
    ))
}

/// Tells whether a person agreed to this before the guard was set up.
pub fn is_agreed(question: &Question) -> bool {
    guard::agreed_usd().is_some_and(|usd| question.expected_usd <= usd)
}

/// Runs a worker of all runs under a guard if one of these algorithms, or of all, starts programs; returns how it ended
/// then.
#[cfg(feature = "postgres")]
pub fn stand_to_serve(context: &OpsContext, algos: &[AlgoKey], ui: &Ui) -> Option<Exit> {
    let needed = match algos {
        [] => guard::is_needed_to_check(context, None),
        some => some
            .iter()
            .any(|key| guard::is_needed_to_check(context, Some(key))),
    };
    let hint = "nothing finished is lost; another worker, or the same command, resumes its jobs within one lease";
    needed
        .then(|| under_guard("worker", hint, || guard::stand(None, None), ui))
        .flatten()
}

/// Runs a check under a guard if it needs one; returns how it ended then.
pub fn stand_to_check(context: &OpsContext, key: Option<&AlgoKey>, ui: &Ui) -> Option<Exit> {
    let needed = guard::is_needed_to_check(context, key);
    let hint = "a check changes nothing; run the same command again";
    needed
        .then(|| under_guard("check", hint, || guard::stand(None, None), ui))
        .flatten()
}

fn under_guard(
    what: &str,
    hint: &str,
    stand: impl FnOnce() -> std::io::Result<Option<guard::Ended>>,
    ui: &Ui,
) -> Option<Exit> {
    match stand() {
        Ok(Some(guard::Ended::Code(code))) => {
            Some(Exit::Worker(u8::try_from(code).unwrap_or(u8::MAX)))
        }
        Ok(Some(guard::Ended::Signal(number))) => {
            ui.say(&format!(
                "the {what} was ended by signal {number}, and with it everything it had started"
            ));
            ui.hint(hint);
            let code = u8::try_from(number).unwrap_or_default();
            Some(Exit::Worker(code.saturating_add(128)))
        }
        Ok(None) => None,
        Err(error) => {
            ui.warn(&format!(
                "the {what} runs without a guard ({error}): if it is killed, programs it \
                 has started may run on"
            ));
            None
        }
    }
}

/// Makes the worker stop when its guard is gone.
pub fn accept(cancel: &Cancel, ui: &Ui) {
    let teller = ui.clone();
    let accepted = guard::accept(cancel, move || {
        teller.say("the guard of this worker is gone: running jobs are stopped and given back");
    });
    if let Err(error) = accepted {
        ui.warn(&format!(
            "what programs leave behind may run on after their job: {error}"
        ));
    }
}
