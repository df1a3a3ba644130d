//! What may be spent: limits from the files and the command line, and the
//! question before something expensive.
//!
//! Used by `run worker` and by whatever shows money; nothing here spends any.

use crate::config::Settings;
use crate::domain::budget::{CapKind, Caps};
use crate::ops::OpsError;
use crate::ops::select::Spending;

/// Returns the limits of a run. The lower of the command line's, or else the order's, and the
/// file's holds: what the workspace allows is raised in its file only.
pub fn caps(settings: &Settings, spending: &Spending) -> Caps {
    let said = spending.budget_usd.or(spending.ordered_usd);
    let own = settings.global.budget_run_usd;
    Caps {
        run_usd: said.into_iter().chain(own).reduce(f64::min),
        day_usd: settings.global.budget_day_usd,
    }
}

/// Returns who said the limit that holds.
pub fn set_by(settings: &Settings, spending: &Spending, of: CapKind) -> &'static str {
    let said = spending.budget_usd.or(spending.ordered_usd);
    let own = settings.global.budget_run_usd;
    match of {
        CapKind::Day => "budget.day_usd",
        CapKind::Run if said.is_none_or(|said| own.is_some_and(|own| own < said)) => {
            "budget.run_usd"
        }
        CapKind::Run if spending.budget_usd.is_some() => "--budget-usd",
        CapKind::Run => "max_cost_usd",
    }
}

/// Says that the limit of the command line is above the one under which the run was ordered.
pub fn raised(spending: &Spending) -> Option<String> {
    let (said, ordered) = spending.budget_usd.zip(spending.ordered_usd)?;
    (said > ordered).then(|| {
        format!(
            "the run was ordered with max_cost_usd {ordered:.2}; --budget-usd {said:.2} raises that for this worker"
        )
    })
}

/// What a person is asked before something expensive starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// How many jobs are to run.
    pub jobs: usize,
    /// What they are expected to cost, as far as prices are known.
    pub expected_usd: f64,
    /// How many of them have no known price.
    pub unpriced: usize,
    /// The amount above which a person is asked.
    pub above_usd: f64,
}

impl Question {
    /// Returns the figures as one sentence.
    pub fn figures(&self) -> String {
        let known = match self.jobs - self.unpriced.min(self.jobs) {
            0 => None,
            1 => Some("1 job is".to_owned()),
            count => Some(format!("{count} jobs are")),
        };
        let known = known.map(|jobs| format!("{jobs} expected to cost ${:.2}", self.expected_usd));
        let unknown = match self.unpriced {
            0 => None,
            1 => Some("1 job of unknown price".to_owned()),
            count => Some(format!("{count} jobs of unknown price")),
        };
        let unknown = unknown.map(|jobs| format!("{jobs} may cost anything"));
        let parts: Vec<String> = known.into_iter().chain(unknown).collect();
        format!(
            "{}; confirm_above_usd is ${:.2}",
            parts.join(", and "),
            self.above_usd
        )
    }

    /// Returns the error for a question that was not answered with yes.
    pub fn refused(&self) -> OpsError {
        OpsError::Setup {
            message: format!("not confirmed: {}", self.figures()),
            hint: Some("nothing was started; add --yes to run them without a question".into()),
        }
    }
}
