//! What may be spent: limits from the files and the command line, and the
//! question before something expensive.
//!
//! Used by `run worker` and by whatever shows money; nothing here spends any.

use crate::config::Settings;
use crate::domain::budget::Caps;
use crate::ops::OpsError;

/// Returns the limits of a run. The lower of the command line's and the file's
/// holds: what the workspace allows is raised in its file only.
pub fn caps(settings: &Settings, budget_usd: Option<f64>) -> Caps {
    let own = settings.global.budget_run_usd;
    let lower = match (budget_usd, own) {
        (Some(asked), Some(own)) => Some(asked.min(own)),
        (asked, own) => asked.or(own),
    };
    Caps {
        run_usd: lower,
        day_usd: settings.global.budget_day_usd,
    }
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
