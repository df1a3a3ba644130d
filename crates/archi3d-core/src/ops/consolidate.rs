//! `consolidate`: makes the registry agree with what is on disk.

use crate::ops::OpsContext;
use crate::store::upkeep::Waiting;

pub use crate::store::upkeep::{
    ConsolidateError, ConsolidateReport, ConsolidateRequest, JobNote, MergedRow, RowChange,
};

/// Sets the rows of a run right. While the registry's lock is busy, `waiting`
/// hears for how long and gives up by returning `false`.
pub fn consolidate(
    context: &OpsContext,
    request: &ConsolidateRequest,
    waiting: Waiting<'_>,
) -> Result<ConsolidateReport, ConsolidateError> {
    context.local().consolidate(request, waiting)
}
