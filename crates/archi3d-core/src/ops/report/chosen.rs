//! Which jobs a report is about.

use std::collections::BTreeSet;

use crate::domain::filter::JobQuery;
use crate::domain::id::AlgoKey;
use crate::domain::nearest::suggestion;

/// What is asked for; an empty list means everything.
#[derive(Debug, Clone, Default)]
pub struct Chosen {
    /// Only these jobs.
    pub query: JobQuery,
    /// Only products of these categories, of whatever level.
    pub categories: Vec<String>,
}

/// A row as far as choosing goes.
pub(super) struct Candidate {
    pub(super) job_id: String,
    pub(super) product: String,
    pub(super) variant: String,
    pub(super) algo: String,
    pub(super) state: String,
    pub(super) categories: [String; 3],
}

impl Chosen {
    /// Says how it was narrowed down, as it is typed; nothing if it was not.
    pub(super) fn options(&self) -> String {
        let query = &self.query;
        let used = [
            ("--item", !query.items.is_empty()),
            ("--jobs", query.jobs.is_some()),
            ("--only-status", query.only_status.is_some()),
            ("--algo", !query.algo.is_empty()),
            ("--category", !self.categories.is_empty()),
        ];
        let used = used.iter().filter(|(_, used)| *used);
        used.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    /// Tells for every candidate whether it was asked for.
    pub(super) fn of(&self, candidates: &[Candidate]) -> Vec<bool> {
        let ids = candidates.iter().map(|one| one.job_id.as_str());
        let filter = self.query.among(ids);
        let statuses = self.query.only_status.as_deref();
        let fits = |one: &Candidate| {
            filter.matches(&one.job_id, &one.product, &one.variant, Some(&one.algo))
                && statuses.is_none_or(|all| all.iter().any(|it| it.word() == one.state))
                && (self.categories.is_empty()
                    || one.categories.iter().any(|it| self.categories.contains(it)))
        };
        candidates.iter().map(fits).collect()
    }

    /// Says which names fit no job at all, and what may have been meant.
    pub(super) fn unmatched(&self, candidates: &[Candidate]) -> Vec<String> {
        let mut said = Vec::new();
        let known = |value: fn(&Candidate) -> &str| -> BTreeSet<&str> {
            candidates.iter().map(value).collect()
        };
        let algos = known(|one| &one.algo);
        for algo in self.query.algo.iter().map(AlgoKey::as_str) {
            if !algos.contains(algo) {
                let hint = suggestion(algo, algos.iter().copied());
                said.push(format!("no job has the algo {algo}{hint}"));
            }
        }
        let products = known(|one| &one.product);
        for item in &self.query.items {
            let mut all = candidates.iter();
            if !all.any(|one| item.matches(&one.product, &one.variant)) {
                let hint = suggestion(item.as_str(), products.iter().copied());
                said.push(format!("there is no product {}{hint}", item.as_str()));
            }
        }
        let categories = candidates.iter().flat_map(|one| &one.categories);
        let categories: BTreeSet<&str> = categories.map(String::as_str).collect();
        for category in &self.categories {
            if !categories.contains(category.as_str()) {
                let hint = suggestion(category, categories.iter().copied());
                said.push(format!("there is no category {category}{hint}"));
            }
        }
        said
    }
}
