//! What a catalog build found and did, for the person, the log and machines.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

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

    /// Returns the record of the log.
    pub fn log_record(&self) -> Map<String, Value> {
        let missing: Map<String, Value> = IssueKind::METADATA
            .iter()
            .map(|kind| (kind.word().to_owned(), self.issue_count(*kind).into()))
            .collect();
        let record = json!({
            "event": "catalog_build",
            "timestamp": self.build_time,
            "dataset": self.dataset,
            "products_json": self.products_json,
            "items_total": self.items_total,
            "items_with_img": self.items_with_img,
            "items_with_gt": self.items_with_gt,
            "no_images_count": self.issue_count(IssueKind::NoImages),
            "too_many_images_count": self.issue_count(IssueKind::TooManyImages),
            "missing_meta_counts": missing,
            "multi_gt_candidates": self.issue_count(IssueKind::MultipleGtCandidates),
        });
        match record {
            Value::Object(record) => record,
            _ => Map::new(),
        }
    }

    /// Returns everything, as machines read it.
    pub fn to_json(&self) -> Value {
        let mut record = self.log_record();
        let counts = self.issues.iter();
        let issues: Map<String, Value> = counts
            .map(|(kind, count)| (kind.word().to_owned(), (*count).into()))
            .collect();
        record.insert("issues".into(), issues.into());
        record.insert("kept_name_order".into(), json!(self.kept_name_order));
        record.insert("risky_cells".into(), json!(self.risky_cells));
        record.insert("notices".into(), json!(self.notices));
        record.insert("warnings".into(), json!(self.warnings));
        record.into()
    }
}

fn some(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
