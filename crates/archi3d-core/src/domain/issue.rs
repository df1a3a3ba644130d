//! What is wrong with the items of a dataset, as rows of `items_issues.csv`.
//!
//! Rows stand in a fixed order per item: images, ground truth, metadata, then
//! what could not be read or used. Only `ops::catalog` writes them.

use serde::Serialize;

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization;

use crate::domain::item::{Item, MAX_IMAGES, split_folder_name};
use crate::domain::products::Enrichment;

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueKind {
    /// The folder holds no pictures.
    NoImages,
    /// It holds more than six.
    TooManyImages,
    /// It has no ground truth.
    MissingGt,
    /// It has more than one file that could be it.
    MultipleGtCandidates,
    /// The products file knows the product, but not who makes it.
    MissingManufacturer,
    /// … but not its name.
    MissingProductName,
    /// … but not its description.
    MissingDescription,
    /// … but not its categories.
    MissingCategories,
    /// A link leads out of the workspace; what it names is left out.
    OutsideWorkspace,
    /// A folder or link cannot be read.
    Unreadable,
    /// A file stands where a folder is expected.
    NotAFolder,
    /// A name is not UTF-8, so no table can hold it; it is left out.
    NotUtf8Name,
    /// Another folder has the same product and variant, or a name that looks the same.
    TwinName,
}

impl IssueKind {
    /// The four that are raised only for products in the products file.
    pub const METADATA: [Self; 4] = [
        Self::MissingManufacturer,
        Self::MissingProductName,
        Self::MissingDescription,
        Self::MissingCategories,
    ];

    /// Returns the word in the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoImages => "no_images",
            Self::TooManyImages => "too_many_images",
            Self::MissingGt => "missing_gt",
            Self::MultipleGtCandidates => "multiple_gt_candidates",
            Self::MissingManufacturer => "missing_manufacturer",
            Self::MissingProductName => "missing_product_name",
            Self::MissingDescription => "missing_description",
            Self::MissingCategories => "missing_categories",
            Self::OutsideWorkspace => "outside_workspace",
            Self::Unreadable => "unreadable",
            Self::NotAFolder => "not_a_folder",
            Self::NotUtf8Name => "not_utf8_name",
            Self::TwinName => "twin_name",
        }
    }
}

/// Something in a folder that could not be read or used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What is wrong.
    pub kind: IssueKind,
    /// Which path, and what the system said.
    pub detail: String,
}

/// One row of `items_issues.csv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The product.
    pub product_id: String,
    /// Its variant.
    pub variant: String,
    /// What is wrong.
    pub kind: IssueKind,
    /// More about it; often empty.
    pub detail: String,
}

impl Issue {
    /// Makes the row of a folder that gave no item.
    pub fn of_folder(shown_name: &str, trouble: Trouble) -> Self {
        let (product_id, variant) = split_folder_name(shown_name);
        Self {
            product_id,
            variant,
            kind: trouble.kind,
            detail: trouble.detail,
        }
    }
}

/// Returns what is wrong with `item`; `known` is its entry of the products file.
pub fn issues_of(item: &Item, known: Option<&Enrichment>, troubles: &[Trouble]) -> Vec<Issue> {
    let mut found: Vec<(IssueKind, String)> = Vec::new();
    let mut note = |kind, detail: String| found.push((kind, detail));
    if item.images_found == 0 {
        note(IssueKind::NoImages, item.why_no_images.clone());
    } else if item.images_found > MAX_IMAGES {
        let detail = format!("Found {} images, capped at {MAX_IMAGES}", item.images_found);
        note(IssueKind::TooManyImages, detail);
    }
    match item.gt_candidates {
        0 => note(IssueKind::MissingGt, String::new()),
        1 => {}
        _ => note(IssueKind::MultipleGtCandidates, String::new()),
    }
    if let Some(known) = known {
        let fields = [
            known.manufacturer.as_str(),
            &known.product_name,
            &known.description,
            &known.categories[0],
        ];
        for (kind, text) in IssueKind::METADATA.into_iter().zip(fields) {
            if text.trim().is_empty() {
                note(kind, String::new());
            }
        }
    }
    for trouble in troubles {
        note(trouble.kind, trouble.detail.clone());
    }
    found
        .into_iter()
        .map(|(kind, detail)| Issue {
            product_id: item.product_id.clone(),
            variant: item.variant.clone(),
            kind,
            detail,
        })
        .collect()
}

/// Returns, for each of `folders`, which other folder it is easily confused with.
///
/// Two folders are lookalikes when product and variant are the same, or look the same
/// because only the Unicode form of a letter differs.
pub fn lookalikes<'a>(folders: &[&'a str]) -> Vec<Option<&'a str>> {
    let mut groups: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (index, folder) in folders.iter().enumerate() {
        let (product, variant) = split_folder_name(folder);
        let key = (
            product.trim().nfc().collect(),
            variant.trim().nfc().collect(),
        );
        groups.entry(key).or_default().push(index);
    }
    let mut lookalikes = vec![None; folders.len()];
    for group in groups.into_values().filter(|group| group.len() > 1) {
        for &index in &group {
            let other = group.iter().find(|other| **other != index);
            lookalikes[index] = other.map(|other| folders[*other]);
        }
    }
    lookalikes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(images_found: usize, gt_candidates: usize) -> Item {
        Item {
            product_id: "1".into(),
            variant: "default".into(),
            dir: "dataset/1".into(),
            images: Vec::new(),
            why_no_images: String::new(),
            images_found,
            gt: None,
            gt_candidates,
        }
    }

    fn words(issues: &[Issue]) -> Vec<&str> {
        issues.iter().map(|issue| issue.kind.word()).collect()
    }

    #[test]
    fn too_many_images_says_how_many_there_really_are() {
        let issues = issues_of(&item(8, 1), None, &[]);
        assert_eq!(words(&issues), ["too_many_images"]);
        assert_eq!(issues[0].detail, "Found 8 images, capped at 6");
    }

    #[test]
    fn metadata_is_missed_only_where_the_product_is_known() {
        assert_eq!(words(&issues_of(&item(1, 1), None, &[])), [""; 0]);
        let known = Enrichment {
            product_name: "x".into(),
            ..Enrichment::default()
        };
        let trouble = Trouble {
            kind: IssueKind::OutsideWorkspace,
            detail: "dataset/1/images/a.jpg".into(),
        };
        assert_eq!(
            words(&issues_of(&item(0, 2), Some(&known), &[trouble])),
            [
                "no_images",
                "multiple_gt_candidates",
                "missing_manufacturer",
                "missing_description",
                "missing_categories",
                "outside_workspace"
            ]
        );
    }

    #[test]
    fn folders_that_look_the_same_are_twins_of_each_other() {
        let folders = [
            "1 - caf\u{e9}",
            "1 - cafe\u{301}",
            "2 - Tight",
            "2-Tight",
            "3",
        ];
        assert_eq!(
            lookalikes(&folders),
            [
                Some("1 - cafe\u{301}"),
                Some("1 - caf\u{e9}"),
                Some("2-Tight"),
                Some("2 - Tight"),
                None
            ]
        );
    }
}
