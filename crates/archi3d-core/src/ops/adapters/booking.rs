//! The money of `adapters check`: reserved before something is bought, settled after
//! it, under a name that no run has; and the folder in which what it made is kept.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::budget::{AttemptKey, Caps, Grant};
use crate::domain::id::{JobId, Nonce, RunId, WorkerId};
use crate::domain::retry::ErrorClass;
use crate::domain::text::dollars;
use crate::ops::{OpsContext, OpsError};
use crate::store::Budget;

use super::AdapterEntry;
use super::check::{CheckOutcome, Checked};

/// The name under which the ledger has what checks cost.
pub(in crate::ops) const CHECKS: &str = "adapter-checks";

/// One check that costs something.
pub(super) struct Booking {
    budget: Arc<dyn Budget>,
    attempt_key: AttemptKey,
    price: Option<f64>,
    /// Where the adapter works, and what it made is kept.
    pub(super) folder: PathBuf,
}

impl Booking {
    /// Reserves the price; refuses if the limit of the day does not allow it.
    pub(super) fn open(context: &OpsContext, entry: &AdapterEntry) -> Result<Self, OpsError> {
        let now = context.clock.now();
        let id = uuid::Uuid::new_v4().simple().to_string();
        let key = &entry.key;
        let price = entry.unit_price_usd;
        let setup = |message: String| OpsError::Setup {
            message,
            hint: None,
        };
        let bad = |error: &dyn std::fmt::Display| setup(error.to_string());
        let attempt_key = AttemptKey {
            run_id: RunId::parse(CHECKS).map_err(|error| bad(&error))?,
            job_id: JobId::parse(&format!("{key}-{}", &id[..12])).map_err(|error| bad(&error))?,
            attempt: 1,
            nonce: Nonce::new(id.clone()),
            worker_id: WorkerId::parse(&format!("check-{}", &id[..12]))
                .map_err(|error| bad(&error))?,
        };
        let budget = context.local().budget(Arc::new(|_| {}));
        let caps = Caps {
            run_usd: None,
            day_usd: context.settings.global.budget_day_usd,
        };
        if price.is_none() && caps.any() {
            let message =
                format!("algo {key} has no price; it is not checked while a budget is set");
            return Err(setup(message));
        }
        let granted = budget.reserve(&attempt_key, price.unwrap_or_default(), caps, now)?;
        if let Grant::No(level) = granted {
            let left = dollars(level.left_usd());
            return Err(setup(format!(
                "checking {key} would exceed the limit of the day, which has {left} left"
            )));
        }
        let stamp: String = now
            .iso()
            .chars()
            .filter(char::is_ascii_digit)
            .take(14)
            .collect();
        let name = format!("{key}-{stamp}-{}", &id[..4]);
        Ok(Self {
            budget,
            attempt_key,
            price,
            folder: context.workspace.runs().join(".checks").join(name),
        })
    }

    /// Settles what the check cost, and tells where what it made is kept.
    pub(super) fn close(self, context: &OpsContext, checked: &mut Checked) -> Result<(), OpsError> {
        // An empty folder is worth nothing.
        if fs::remove_dir(&self.folder).is_err() {
            checked.kept_in = context.workspace.relative(&self.folder);
        }
        let bought = checked.request_id.is_some();
        let usd = match &checked.outcome {
            CheckOutcome::Made { cost_usd, .. } => cost_usd.or(self.price).unwrap_or_default(),
            // What may have been billed stays reserved.
            CheckOutcome::Failed { class, .. } if bought || *class == ErrorClass::Unknown => {
                return Ok(());
            }
            CheckOutcome::Failed { .. } | CheckOutcome::Skipped { .. } => 0.0,
        };
        self.budget
            .settle(&self.attempt_key, usd, context.clock.now())?;
        Ok(())
    }
}
