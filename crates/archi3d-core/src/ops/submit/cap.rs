//! What a token may order in a day, whatever it orders and wherever that lives.

use crate::domain::money::Usd;
use crate::domain::time::Timestamp;
use crate::ops::{OpsContext, OpsError};
use crate::store::error::StoreError;
use crate::workspace::paths::Workspace;

use super::log::{self, Held, Lines};
use super::{SubmissionPlan, SubmitError};

/// Refuses what may cost more than is left of a cap.
pub(super) fn fits_cap(plan: &SubmissionPlan, most: Usd, left: f64) -> Result<(), SubmitError> {
    if plan.unknown_price_jobs > 0 {
        return Err(SubmitError::Unpriced(plan.unknown_price_jobs));
    }
    // Sums of amounts that people write are right to a millionth.
    if most > Usd::of((left + 1e-9).max(0.0)) {
        return Err(SubmitError::OverCap {
            jobs: plan.jobs,
            most,
            // No debt, and no nothing with a sign.
            left: left.max(0.0) + 0.0,
        });
    }
    Ok(())
}

/// Returns the numbers of the lines of what was ordered that cannot be read.
pub fn damaged_lines(workspace: &Workspace) -> Result<Vec<usize>, StoreError> {
    Ok(Lines::read(workspace)?.damaged.clone())
}

/// Returns what somebody ordered today of runs on files. What cannot be read may have been such an order.
pub(super) fn ordered_on_files(
    context: &OpsContext,
    lines: &Lines,
    by: &str,
    now: Timestamp,
) -> Result<f64, OpsError> {
    if let Some(line) = lines.damaged.first() {
        let path = log::path(&context.workspace);
        return Err(OpsError::Setup {
            message: format!(
                "line {line} of {} cannot be read, so it is not known what was ordered today",
                context.workspace.relative(&path).unwrap_or_default()
            ),
            hint: Some("`archi3d doctor` says what to do".to_owned()),
        });
    }
    let today = now.as_datetime().date_naive();
    let is_today = |at: Timestamp| at.as_datetime().date_naive() == today;
    let runs = lines
        .intents
        .iter()
        .filter(|one| one.by == by && is_today(one.at));
    let retries = lines
        .retries
        .iter()
        .filter(|one| one.by == by && is_today(one.at));
    let runs = runs.map(|one| one.committed_usd());
    Ok(runs.chain(retries.map(|one| one.expected_usd)).sum())
}

/// Returns what somebody with a cap ordered today, on files and in a fleet. The book of files is held before that of a fleet,
/// whoever orders, so that orders of one workspace take turns and nobody waits in a circle.
pub(super) fn ordered_anywhere(
    context: &OpsContext,
    held: &Held,
    by: &str,
    now: Timestamp,
) -> Result<f64, OpsError> {
    let on_files = ordered_on_files(context, &held.lines, by, now)?;
    #[cfg(feature = "postgres")]
    if let Some(server) = context.fleet()? {
        let in_fleet = server.look(|c| c.ordered_today(by))?;
        return Ok(on_files + in_fleet.dollars());
    }
    Ok(on_files)
}

/// Before somebody with a cap orders in a fleet: holds the book of files, and says what they ordered today on files.
#[cfg(feature = "postgres")]
pub(super) fn under_cap(
    context: &OpsContext,
    by: &str,
    cap: Option<f64>,
    now: Timestamp,
) -> Result<(Option<Held>, f64), SubmitError> {
    if cap.is_none() {
        return Ok((None, 0.0));
    }
    let held = Held::take(&context.workspace)?.ok_or(SubmitError::Busy)?;
    let ordered = ordered_on_files(context, &held.lines, by, now)?;
    Ok((Some(held), ordered))
}
