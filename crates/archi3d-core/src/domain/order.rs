//! The order in which jobs are taken, and which of them go first on trial.
//!
//! Pure; `ops` uses it for the worker and for whatever shows a plan.

use std::collections::HashMap;

use serde::Serialize;

/// The order in which jobs are taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobOrder {
    /// As the manifest has them.
    #[default]
    Manifest,
    /// The cheapest first; those of unknown price last.
    Cheapest,
    /// All jobs of one item before the next item.
    RowFirst,
}

impl JobOrder {
    /// Every order.
    pub const ALL: [Self; 3] = [Self::Manifest, Self::Cheapest, Self::RowFirst];

    /// Returns the word of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Cheapest => "cheapest",
            Self::RowFirst => "row-first",
        }
    }

    /// Reads a word of the command line.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.word() == word)
    }

    /// Puts jobs that are in manifest order into this one. What is equal stays in
    /// manifest order.
    pub fn arrange<T>(
        self,
        jobs: &mut [T],
        price: impl Fn(&T) -> Option<f64>,
        item: impl Fn(&T) -> String,
    ) {
        match self {
            Self::Manifest => {}
            Self::Cheapest => jobs.sort_by(|a, b| {
                let (a, b) = (price(a), price(b));
                a.unwrap_or(f64::INFINITY)
                    .total_cmp(&b.unwrap_or(f64::INFINITY))
            }),
            Self::RowFirst => {
                let mut rows: HashMap<String, usize> = HashMap::new();
                for job in &*jobs {
                    let next = rows.len();
                    rows.entry(item(job)).or_insert(next);
                }
                jobs.sort_by_cached_key(|job| rows[&item(job)]);
            }
        }
    }
}

/// Marks the first `per_algo` jobs of each algorithm.
pub fn canaries<'a>(algos: impl IntoIterator<Item = &'a str>, per_algo: usize) -> Vec<bool> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mark = |algo| {
        let count = seen.entry(algo).or_default();
        *count += 1;
        *count <= per_algo
    };
    algos.into_iter().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Job = (&'static str, &'static str, Option<f64>);

    const JOBS: [Job; 5] = [
        ("chair", "a", Some(0.4)),
        ("table", "a", Some(0.4)),
        ("chair", "b", None),
        ("table", "b", Some(0.0)),
        ("chair", "c", Some(0.02)),
    ];

    fn arranged(order: JobOrder) -> Vec<(&'static str, &'static str)> {
        let mut jobs = JOBS;
        order.arrange(&mut jobs, |job| job.2, |job| job.0.to_owned());
        jobs.iter().map(|job| (job.0, job.1)).collect()
    }

    #[test]
    fn manifest_order_stays_as_it_is() {
        let manifest: Vec<_> = JOBS.iter().map(|job| (job.0, job.1)).collect();
        assert_eq!(arranged(JobOrder::Manifest), manifest);
    }

    #[test]
    fn the_cheapest_come_first_and_unknown_prices_last() {
        assert_eq!(
            arranged(JobOrder::Cheapest),
            [
                ("table", "b"),
                ("chair", "c"),
                ("chair", "a"),
                ("table", "a"),
                ("chair", "b")
            ]
        );
    }

    #[test]
    fn row_first_finishes_an_item_before_the_next() {
        assert_eq!(
            arranged(JobOrder::RowFirst),
            [
                ("chair", "a"),
                ("chair", "b"),
                ("chair", "c"),
                ("table", "a"),
                ("table", "b")
            ]
        );
    }

    #[test]
    fn the_first_jobs_of_each_algo_are_canaries() {
        let marks = canaries(["a", "b", "a", "a", "b"], 2);
        assert_eq!(marks, [true, true, true, false, true]);
    }

    #[test]
    fn every_order_has_its_word() {
        for order in JobOrder::ALL {
            assert_eq!(JobOrder::parse(order.word()), Some(order));
        }
        assert_eq!(JobOrder::parse("random"), None);
    }
}
