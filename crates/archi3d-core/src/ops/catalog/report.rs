//! What a catalog build found and did, for the person, the log and machines.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::issue::IssueKind;
use crate::domain::text::counted;
use crate::domain::time::Timestamp;
use crate::ops::catalog::Catalog;
use crate::ops::catalog::order::Chosen;
use crate::store::table_file::RiskyCell;
use crate::workspace::log::append_record;
use crate::workspace::paths::Workspace;

/// How many names a notice lists before it only counts.
const NAMED: usize = 3;

/// What a catalog build found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogReport {
    /// When it was built.
    pub build_time: Timestamp,
    /// The dataset, relative to the workspace.
    pub dataset: String,
    /// The products file, if there was one.
    pub products_json: Option<String>,
    /// How many items there are.
    pub items_total: usize,
    /// How many of them have images.
    pub items_with_img: usize,
    /// How many of them have a ground truth.
    pub items_with_gt: usize,
    /// How many issues there are of each kind.
    pub issues: BTreeMap<IssueKind, usize>,
    /// Folders that get the order by name because existing tables hold it.
    pub kept_name_order: Vec<String>,
    /// Outside text that a spreadsheet would run.
    pub risky_cells: Vec<RiskyCell>,
    /// What a person should know, one sentence each.
    pub notices: Vec<String>,
    /// What looked wrong, one sentence each.
    pub warnings: Vec<String>,
}

impl CatalogReport {
    pub(super) fn new(build_time: Timestamp, dataset: &str) -> Self {
        Self {
            build_time,
            dataset: dataset.to_owned(),
            products_json: None,
            items_total: 0,
            items_with_img: 0,
            items_with_gt: 0,
            issues: BTreeMap::new(),
            kept_name_order: Vec::new(),
            risky_cells: Vec::new(),
            notices: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn take_order(&mut self, chosen: &Chosen) {
        self.warnings.extend(chosen.warnings.iter().cloned());
        self.kept_name_order.clone_from(&chosen.kept);
        if !chosen.kept.is_empty() {
            self.notices.push(format!(
                "existing tables hold images in name order, which job ids depend on; that order is kept \
                 for {}, new and changed ones too ({}); --image-order tags changes it",
                counted(chosen.kept.len(), "item"),
                some(&chosen.kept)
            ));
        }
        if !chosen.changed.is_empty() {
            self.warnings.push(format!(
                "{} had images in name order that now follow their tags ({}); \
                 their jobs get new ids; --image-order name keeps the old ones",
                counted(chosen.changed.len(), "item"),
                some(&chosen.changed)
            ));
        }
    }

    pub(super) fn count(&mut self, catalog: &Catalog<'_>) {
        let items = || catalog.items.iter().map(|(item, _)| item);
        self.items_total = items().count();
        self.items_with_img = items().filter(|item| !item.images.is_empty()).count();
        self.items_with_gt = items().filter(|item| item.gt.is_some()).count();
        self.issues = catalog.issue_counts();
        if catalog.without_gt {
            self.notices.push(
                "no product has a ground truth (gt/*.glb or gt/*.fbx); only scores need one".into(),
            );
        }
        self.risky_cells = catalog.risky_cells();
    }

    pub(super) fn log(&mut self, workspace: &Workspace) {
        let trouble = append_record(&workspace.log("catalog_build"), &self.log_record());
        self.warnings.extend(trouble);
    }

    fn issue_count(&self, kind: IssueKind) -> usize {
        self.issues.get(&kind).copied().unwrap_or(0)
    }

    fn log_record(&self) -> Record<'_> {
        let count = |kind: &IssueKind| (*kind, self.issue_count(*kind));
        Record {
            event: "catalog_build",
            timestamp: self.build_time,
            dataset: &self.dataset,
            products_json: self.products_json.as_deref(),
            items_total: self.items_total,
            items_with_img: self.items_with_img,
            items_with_gt: self.items_with_gt,
            no_images_count: self.issue_count(IssueKind::NoImages),
            too_many_images_count: self.issue_count(IssueKind::TooManyImages),
            missing_meta_counts: IssueKind::METADATA.iter().map(count).collect(),
            multi_gt_candidates: self.issue_count(IssueKind::MultipleGtCandidates),
        }
    }

    /// Returns everything, as machines read it.
    pub fn told(&self) -> impl Serialize {
        Told {
            record: self.log_record(),
            issues: &self.issues,
            kept_name_order: &self.kept_name_order,
            risky_cells: &self.risky_cells,
            notices: &self.notices,
            warnings: &self.warnings,
        }
    }
}

/// What the log keeps.
#[derive(Serialize)]
struct Record<'a> {
    event: &'static str,
    timestamp: Timestamp,
    dataset: &'a str,
    products_json: Option<&'a str>,
    items_total: usize,
    items_with_img: usize,
    items_with_gt: usize,
    no_images_count: usize,
    too_many_images_count: usize,
    missing_meta_counts: BTreeMap<IssueKind, usize>,
    multi_gt_candidates: usize,
}

/// Everything, as machines read it.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    record: Record<'a>,
    issues: &'a BTreeMap<IssueKind, usize>,
    kept_name_order: &'a [String],
    risky_cells: &'a [RiskyCell],
    notices: &'a [String],
    warnings: &'a [String],
}

fn some(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
