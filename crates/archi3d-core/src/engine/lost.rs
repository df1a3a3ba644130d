//! Jobs that were begun and of which every record is gone.
//!
//! Used by the pool right after it has taken a job.

use crate::domain::purchase::OpenIntent;
use crate::engine::Pool;
use crate::store::{Claim, JobRecord};

impl Pool<'_> {
    /// Takes a job that costs money and whose records are lost for one that was just being
    /// bought: its adapter looks for that at the provider, or a person is asked, whatever
    /// its entry says of interruptions.
    pub(super) fn doubt_if_lost(&self, job: &JobRecord, claim: Claim) -> Claim {
        let Claim::Taken(mut lease) = claim else {
            return claim;
        };
        let costs = self.carrier_of(job).is_ok_and(|carrier| {
            let unit = carrier.price.unit_usd;
            unit.is_some_and(|usd| usd > 0.0) || carrier.adapter.reconciles() && unit != Some(0.0)
        });
        if let Some(at) = lease.lost.filter(|_| costs && !self.conditions.dry_run) {
            let correlation = lease.idempotency_key.clone();
            // So that it is known also if this attempt is cut off; if it cannot be written,
            // it holds for this attempt at least.
            let _ = self.store.intent(&lease, &correlation, at);
            lease.intent = Some(Box::new(OpenIntent { correlation, at }));
        }
        Claim::Taken(lease)
    }
}
