//! Items × algorithms × policy → the jobs of a batch, and why others are none.
//!
//! Used by `ops::batch`, which reads the items and writes the jobs. The same
//! items and options always give the same jobs in the same order.

use serde::Serialize;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use crate::domain::algo::ImageMode;
use crate::domain::id::AlgoKey;
use crate::domain::identity::{image_set_hash, job_id, new_job_id};
use crate::domain::nearest::nearest_few;

/// The word for "the algorithms that fit an item's number of images".
pub const ECOTEST: &str = "ecotest";

/// Words that another common reader of these tables takes for an empty cell.
const NULL_WORDS: &[&str] = &[
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>",
    "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// One row of the item table, its text trimmed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogItem {
    /// The product.
    pub product_id: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// Who makes it.
    pub manufacturer: String,
    /// What it is called.
    pub product_name: String,
    /// Up to three levels of categories.
    pub categories: [String; 3],
    /// What is said about it.
    pub description: String,
    /// Its pictures, in order.
    pub images: Vec<String>,
    /// Its ground truth; may be empty.
    pub gt: String,
}

impl CatalogItem {
    /// Returns the texts that come from outside, with their columns in the registry, in that order.
    pub fn outside_texts(&self) -> [(&'static str, &str); 8] {
        [
            ("product_id", &self.product_id),
            ("variant", &self.variant),
            ("manufacturer", &self.manufacturer),
            ("product_name", &self.product_name),
            ("category_l1", &self.categories[0]),
            ("category_l2", &self.categories[1]),
            ("category_l3", &self.categories[2]),
            ("description", &self.description),
        ]
    }
}

/// An algorithm that can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAlgo {
    /// Its key.
    pub key: AlgoKey,
    /// How many pictures it takes.
    pub mode: ImageMode,
}

/// The algorithms of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlgoSelection {
    /// All of them, as they were given.
    pub algos: Vec<AlgoKey>,
    /// Those that take one picture, as they were given.
    pub single: Vec<AlgoKey>,
    /// Those that take several, as they were given.
    pub multi: Vec<AlgoKey>,
    /// Whether an item's number of images decides which of the two it gets.
    pub by_images: bool,
}

/// Why algorithms cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AlgoError {
    /// One is not configured.
    #[error("unknown algo {given:?}{}", offer(nearest))]
    Unknown {
        /// What was given.
        given: String,
        /// What may have been meant.
        nearest: Vec<String>,
        /// A sentence that lists everything that is known.
        known: String,
    },
    /// The list holds nothing.
    #[error("the list of algos is empty")]
    Empty,
}

fn offer(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}

/// Chooses from `known` what `given` names: a comma-separated list, or `ecotest`.
pub fn select_algos(given: &str, known: &[KnownAlgo]) -> Result<AlgoSelection, AlgoError> {
    let by_images = given.trim() == ECOTEST;
    let mut chosen: Vec<&KnownAlgo> = Vec::new();
    if by_images {
        chosen.extend(known);
    } else {
        for name in given
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let algo = known
                .iter()
                .find(|algo| algo.key.as_str() == name)
                .ok_or_else(|| unknown(name, known))?;
            if !chosen.contains(&algo) {
                chosen.push(algo);
            }
        }
    }
    if chosen.is_empty() {
        return Err(AlgoError::Empty);
    }
    let of_mode = |mode| {
        let fits = chosen.iter().filter(|algo| algo.mode == mode);
        fits.map(|algo| algo.key.clone()).collect()
    };
    Ok(AlgoSelection {
        algos: chosen.iter().map(|algo| algo.key.clone()).collect(),
        single: of_mode(ImageMode::Single),
        multi: of_mode(ImageMode::Multi),
        by_images,
    })
}

fn unknown(name: &str, known: &[KnownAlgo]) -> AlgoError {
    let names = || known.iter().map(|algo| algo.key.as_str());
    AlgoError::Unknown {
        given: name.to_owned(),
        nearest: nearest_few(name, names())
            .into_iter()
            .map(str::to_owned)
            .collect(),
        known: format!("configured are {}", names().collect::<Vec<_>>().join(", ")),
    }
}

/// Which items are considered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemFilter {
    /// Only items whose id, variant or name contains this, in any case.
    pub include: Option<String>,
    /// No items whose id, variant or name contains this, in any case.
    pub exclude: Option<String>,
    /// Only items with a ground truth.
    pub with_gt_only: bool,
    /// At most this many items; zero and less mean all.
    pub limit: Option<i64>,
}

/// Why an item or a job was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The item does not contain the text to include.
    FilteredInclude,
    /// The item contains the text to exclude.
    FilteredExclude,
    /// The item has no ground truth.
    WithGtOnly,
    /// The item has no images.
    NoImages,
    /// No chosen algorithm takes the item's number of images.
    NoMatchingAlgo,
    /// The run has the job.
    AlreadyExists,
    /// The item table names the same job twice.
    DuplicateJob,
}

impl SkipReason {
    /// Returns the word in the summary.
    pub fn word(self) -> &'static str {
        match self {
            Self::FilteredInclude => "filtered_include",
            Self::FilteredExclude => "filtered_exclude",
            Self::WithGtOnly => "with_gt_only",
            Self::NoImages => "no_images",
            Self::NoMatchingAlgo => "no_matching_algo",
            Self::AlreadyExists => "already_exists",
            Self::DuplicateJob => "duplicate_job",
        }
    }
}

/// One job to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedJob<'a> {
    /// What it shows.
    pub item: &'a CatalogItem,
    /// What makes it.
    pub algo: &'a AlgoKey,
    /// The hash of its pictures.
    pub image_set_hash: Rc<str>,
    /// Its id.
    pub job_id: String,
    /// The id by which earlier versions know it, where that looks like a number.
    pub usual_id: Option<String>,
    /// The id under which a table written by another tool may already have it.
    pub other_id: Option<String>,
}

/// The jobs of a batch, and what was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan<'a> {
    /// The jobs, in order.
    pub jobs: Vec<PlannedJob<'a>>,
    /// How many items passed every filter.
    pub candidates: usize,
    /// How many items or jobs were left out, by reason.
    pub skips: BTreeMap<SkipReason, usize>,
}

impl<'a> Plan<'a> {
    /// Plans the jobs of `items`; filters apply in the order of [`ItemFilter`]'s
    /// fields, and items without images are left out before the limit counts.
    pub fn new(items: &'a [CatalogItem], algos: &'a AlgoSelection, filter: &ItemFilter) -> Self {
        let mut plan = Self::default();
        let filter = Needles::new(filter);
        let mut seen = HashSet::new();
        for item in items {
            if filter.limit.is_some_and(|limit| plan.candidates >= limit) {
                // The limit leaves no reason: later items were never looked at.
                break;
            }
            if let Some(reason) = filter.refuses(item) {
                plan.skip(reason);
                continue;
            }
            plan.candidates += 1;
            plan.add_item(item, algos, &mut seen);
        }
        plan
    }

    fn add_item(
        &mut self,
        item: &'a CatalogItem,
        algos: &'a AlgoSelection,
        seen: &mut HashSet<String>,
    ) {
        let many = item.images.len() > 1;
        let single = algos.single.iter().filter(|_| !(algos.by_images && many));
        let multi = algos.multi.iter().filter(|_| !algos.by_images || many);
        let hash: Rc<str> = image_set_hash(&item.images).into();
        let mut matched = false;
        for algo in single.chain(multi) {
            matched = true;
            let job = PlannedJob::new(item, algo, hash.clone());
            if seen.insert(job.job_id.clone()) {
                self.jobs.push(job);
            } else {
                self.skip(SkipReason::DuplicateJob);
            }
        }
        if !matched {
            self.skip(SkipReason::NoMatchingAlgo);
        }
    }

    fn skip(&mut self, reason: SkipReason) {
        *self.skips.entry(reason).or_default() += 1;
    }

    /// Returns the ids by which earlier versions may know jobs of the plan.
    pub fn usual_ids(&self) -> impl Iterator<Item = &str> {
        self.jobs.iter().filter_map(|job| job.usual_id.as_deref())
    }

    /// Keeps the ids that the run `has` for jobs of earlier versions.
    pub fn keep_usual_ids(&mut self, has: impl Fn(&str) -> bool) {
        for job in &mut self.jobs {
            if let Some(usual) = job.usual_id.take_if(|usual| has(usual)) {
                job.job_id = usual;
            }
        }
    }

    /// Leaves out the jobs that the run `has` already.
    pub fn leave_out_existing(&mut self, has: impl Fn(&str) -> bool) {
        let before = self.jobs.len();
        self.jobs.retain(|job| {
            let other = job.other_id.as_deref();
            !has(&job.job_id) && !other.is_some_and(&has)
        });
        let existing = before - self.jobs.len();
        if existing > 0 {
            self.skips.insert(SkipReason::AlreadyExists, existing);
        }
    }

    /// Returns how many items and jobs were left out.
    pub fn skipped(&self) -> usize {
        self.skips.values().sum()
    }
}

impl<'a> PlannedJob<'a> {
    fn new(item: &'a CatalogItem, algo: &'a AlgoKey, hash: Rc<str>) -> Self {
        let id = |product: &str, variant: &str| job_id(product, variant, algo.as_str(), &hash);
        let usual = id(&item.product_id, &item.variant);
        let new = new_job_id(&item.product_id, &item.variant, algo.as_str(), &hash);
        let as_other_tools = (or_empty(&item.product_id), or_empty(&item.variant));
        let other_id = (as_other_tools != (item.product_id.as_str(), item.variant.as_str()))
            .then(|| id(as_other_tools.0, as_other_tools.1));
        Self {
            usual_id: (new != usual).then_some(usual),
            job_id: new,
            item,
            algo,
            other_id,
            image_set_hash: hash,
        }
    }
}

/// Returns nothing for a word that other tools read as nothing.
pub fn or_empty(text: &str) -> &str {
    if NULL_WORDS.contains(&text) { "" } else { text }
}

/// The filter, made ready to be asked often.
struct Needles {
    include: Option<String>,
    exclude: Option<String>,
    with_gt_only: bool,
    limit: Option<usize>,
}

impl Needles {
    fn new(filter: &ItemFilter) -> Self {
        let needle = |text: &Option<String>| {
            let text = text.as_deref().filter(|text| !text.is_empty());
            text.map(str::to_lowercase)
        };
        Self {
            include: needle(&filter.include),
            exclude: needle(&filter.exclude),
            with_gt_only: filter.with_gt_only,
            limit: filter
                .limit
                .and_then(|limit| usize::try_from(limit).ok())
                .filter(|limit| *limit > 0),
        }
    }

    fn refuses(&self, item: &CatalogItem) -> Option<SkipReason> {
        let has = |needle: &String| {
            [&item.product_id, &item.variant, &item.product_name]
                .iter()
                .any(|text| lower(text).contains(needle.as_str()))
        };
        if self.include.as_ref().is_some_and(|needle| !has(needle)) {
            Some(SkipReason::FilteredInclude)
        } else if self.exclude.as_ref().is_some_and(has) {
            Some(SkipReason::FilteredExclude)
        } else if self.with_gt_only && item.gt.is_empty() {
            Some(SkipReason::WithGtOnly)
        } else if item.images.is_empty() {
            Some(SkipReason::NoImages)
        } else {
            None
        }
    }
}

fn lower(text: &str) -> Cow<'_, str> {
    let plain = |b: u8| b.is_ascii() && !b.is_ascii_uppercase();
    if text.bytes().all(plain) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.to_lowercase())
    }
}

#[cfg(test)]
mod tests;
