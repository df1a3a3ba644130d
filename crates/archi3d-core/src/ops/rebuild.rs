//! `registry rebuild`: makes the registry's rows again from what is recorded.

use crate::ops::{OpsContext, OpsError};
use crate::store::upkeep::Waiting;

pub use crate::store::upkeep::{RebuildReport, RebuildRequest};

/// Makes the rows again. While the registry's lock is busy, `waiting` hears for
/// how long and gives up by returning `false`.
pub fn rebuild(
    context: &OpsContext,
    request: &RebuildRequest,
    waiting: Waiting<'_>,
) -> Result<RebuildReport, OpsError> {
    Ok(context.local().rebuild(request, waiting)?)
}
