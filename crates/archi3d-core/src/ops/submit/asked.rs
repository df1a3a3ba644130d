//! What was asked for when a run was made, looked for where the run lives.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::id::RunId;
use crate::ops::{OpsContext, OpsError};

use super::Intent;
#[cfg(feature = "postgres")]
use super::fleet;
use super::log::Lines;

/// Returns the submissions that led to runs, by run.
pub fn intents(context: &OpsContext) -> Result<BTreeMap<RunId, Arc<Intent>>, OpsError> {
    let lines = Lines::read(&context.workspace)?;
    let intents = lines.intents.iter().cloned();
    let made = intents.filter(|intent| lines.made.contains_key(&intent.run_id));
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_mut, reason = "a fleet adds some")
    )]
    let mut intents: BTreeMap<_, _> = made.map(|intent| (intent.run_id.clone(), intent)).collect();
    #[cfg(feature = "postgres")]
    if let Some(server) = context.fleet()? {
        let others = fleet::intents(&*server)?.into_iter();
        intents.extend(others.map(|(run, intent)| (run, Arc::new(intent))));
    }
    Ok(intents)
}

/// Returns the submission that led to a run, as far as this program can read it. Asks where the run lives, and nobody else.
fn known_of(
    context: &OpsContext,
    run: &RunId,
) -> Result<Option<serde_json::Result<Arc<Intent>>>, OpsError> {
    #[cfg(feature = "postgres")]
    {
        let server = if is_elsewhere(context, run) {
            context.fleet()?
        } else {
            None
        };
        let asked = server.map(|server| fleet::asked(&*server, run));
        if let Some(asked) = asked.transpose()?.flatten() {
            return Ok(Some(asked.map(Arc::new)));
        }
    }
    let lines = Lines::read(&context.workspace)?;
    Ok(lines.of_run(run).cloned().map(Ok))
}

/// Tells whether a run does not live in this folder.
#[cfg(feature = "postgres")]
pub(super) fn is_elsewhere(context: &OpsContext, run: &RunId) -> bool {
    let paths = context.workspace.run(run);
    paths.in_fleet() || !paths.manifest().exists()
}

/// Returns the submission that led to a run, for those who look: one that cannot be read shows nothing.
pub fn intent_of(context: &OpsContext, run: &RunId) -> Result<Option<Arc<Intent>>, OpsError> {
    Ok(known_of(context, run)?.and_then(Result::ok))
}

/// Returns the workspace as a run sees it, with the options that were chosen for it.
pub(in crate::ops) fn as_chosen(context: &OpsContext, run: &RunId) -> Result<OpsContext, OpsError> {
    Ok(match asked_for(context, run)? {
        Some(intent) => context.choosing(&intent.options()),
        None => context.clone(),
    })
}

/// Returns the submission that led to a run, for those who act: what cannot be read sets terms that nobody knows.
pub(in crate::ops) fn asked_for(
    context: &OpsContext,
    run: &RunId,
) -> Result<Option<Arc<Intent>>, OpsError> {
    let known = known_of(context, run)?;
    known.transpose().map_err(|_| unreadable(run))
}

pub(super) fn unreadable(run: &RunId) -> OpsError {
    OpsError::Setup {
        message: format!("the order of run {run} cannot be read, so nothing of it is started"),
        hint: Some(
            "it may be of a newer archi3d: use that one; else restore its row in the table \
             orders from a backup"
                .to_owned(),
        ),
    }
}
