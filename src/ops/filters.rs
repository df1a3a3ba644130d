//! Which jobs of a run a request means, whatever their state: one answer for every
//! command that takes `--jobs`, `--item` and `--algo`.

use std::collections::BTreeSet;

use crate::domain::filter::{Chosen, JobsFilter};
use crate::domain::id::{AlgoKey, RunId};
use crate::domain::item_name::{ItemName, any_matches};
use crate::domain::nearest::suggestion;
use crate::store::JobRecord;

/// The filters of a request, understood among the jobs of its run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filters<'r> {
    jobs: Option<(&'r JobsFilter, Chosen<'r>)>,
    items: &'r [ItemName],
    algo: &'r [AlgoKey],
}

impl<'r> Filters<'r> {
    /// Reads the filters among `run`, all jobs of the run.
    pub(super) fn among(
        jobs: Option<&'r JobsFilter>,
        items: &'r [ItemName],
        algo: &'r [AlgoKey],
        run: &[JobRecord],
    ) -> Self {
        let ids = run.iter().map(|job| job.job_id.as_str());
        Self {
            jobs: jobs.map(|filter| (filter, filter.among(ids))),
            items,
            algo,
        }
    }

    /// Tells whether the filters let a job through.
    pub(super) fn pass(&self, job: &JobRecord) -> bool {
        let id = self
            .jobs
            .is_none_or(|(_, chosen)| chosen.matches(job.job_id.as_str()));
        let has_algo = |key: &AlgoKey| self.algo.contains(key);
        id && any_matches(self.items, &job.product_id, &job.variant)
            && (self.algo.is_empty() || job.algo.as_ref().is_ok_and(has_algo))
    }

    /// Returns how `--jobs` was understood, if it was given and matches a job.
    pub(super) fn kind(&self) -> Option<&'static str> {
        self.jobs.and_then(|(_, chosen)| chosen.kind())
    }

    /// Says how `--jobs` was understood.
    pub(super) fn reading(&self) -> Option<String> {
        let (filter, chosen) = self.jobs?;
        let kind = chosen.kind()?;
        Some(format!("--jobs {:?} was taken as {kind}", filter.text()))
    }

    /// Says which filters match nothing in the run, and what may have been meant.
    pub(super) fn unmatched(&self, run_id: &RunId, run: &[JobRecord]) -> Vec<String> {
        let algos: BTreeSet<&str> = run
            .iter()
            .filter_map(|job| Some(job.algo.as_ref().ok()?.as_str()))
            .collect();
        let strange = self.algo.iter().map(AlgoKey::as_str);
        let mut said: Vec<String> = strange
            .filter(|key| !algos.contains(key))
            .map(|key| {
                let hint = suggestion(key, algos.iter().copied());
                format!("no job of run {run_id} has the algo {key}{hint}")
            })
            .collect();
        let products: BTreeSet<&str> = run.iter().map(|job| job.product_id.as_str()).collect();
        for item in self.items {
            let mut jobs = run.iter();
            if !jobs.any(|job| item.matches(&job.product_id, &job.variant)) {
                let text = item.as_str();
                let hint = suggestion(text, products.iter().copied());
                said.push(format!("run {run_id} has no product {text}{hint}"));
            }
        }
        if let Some((filter, chosen)) = self.jobs
            && chosen.kind().is_none()
        {
            let text = filter.text();
            let hint = suggestion(text, run.iter().map(|job| job.job_id.as_str()));
            said.push(format!(
                "no job id of run {run_id} matches --jobs {text:?}{hint}"
            ));
        }
        said
    }
}
