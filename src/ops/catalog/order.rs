//! Which image order each item gets: what was asked for, unless existing tables
//! hold job ids that only the order by name explains.
//!
//! Job ids depend on the order of images. Changing it under a workspace that
//! has results would make every job new, and paid for, again.

use std::collections::HashSet;

use crate::domain::identity::image_set_hash;
use crate::domain::item::{ImageOrder, Item, MAX_IMAGES};
use crate::ops::table_file::{self, Columns};
use crate::store::csv::table::{Table, TableError};
use crate::store::error::StoreError;
use crate::workspace::paths::Workspace;
use crate::workspace::scan::Scan;

/// The order of every item, and where it was not the expected one.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// One per folder found.
    pub(super) orders: Vec<ImageOrder>,
    /// Folders that keep the order by name though tags would rule.
    pub(super) kept: Vec<String>,
    /// Folders whose existing order by name is given up, as was asked for.
    pub(super) changed: Vec<String>,
    /// What looked wrong.
    pub(super) warnings: Vec<String>,
}

/// Chooses the order of every item.
pub(super) fn choose(
    workspace: &Workspace,
    found: &Scan,
    asked: Option<ImageOrder>,
) -> Result<Chosen, StoreError> {
    let mut chosen = Chosen {
        orders: vec![asked.unwrap_or(ImageOrder::Tags); found.folders.len()],
        ..Chosen::default()
    };
    if asked == Some(ImageOrder::Name) {
        return Ok(chosen);
    }
    let hash =
        |index: usize, order| image_set_hash(&Item::new(&found.folders[index], order).images);
    let differing: Vec<(usize, String, String)> = (0..found.folders.len())
        .map(|index| {
            let by_tags = hash(index, ImageOrder::Tags);
            (index, by_tags, hash(index, ImageOrder::Name))
        })
        .filter(|(_, by_tags, by_name)| by_tags != by_name)
        .collect();
    if differing.is_empty() {
        return Ok(chosen);
    }
    let evidence = Evidence::read(workspace, &mut chosen.warnings)?;
    for (index, by_tags, by_name) in differing {
        if !evidence.only_name_explains(&by_tags, &by_name) {
            continue;
        }
        let dir = found.folders[index].dir.clone();
        if asked.is_some() {
            chosen.changed.push(dir);
        } else {
            chosen.orders[index] = ImageOrder::Name;
            chosen.kept.push(dir);
        }
    }
    Ok(chosen)
}

/// The image sets that existing tables know, by their hash.
#[derive(Debug, Default)]
struct Evidence {
    items: HashSet<String>,
    registry: HashSet<String>,
}

impl Evidence {
    fn read(workspace: &Workspace, warnings: &mut Vec<String>) -> Result<Self, StoreError> {
        let mut evidence = Self::default();
        let sources = [
            (workspace.items(), "image_", "", &mut evidence.items),
            (
                workspace.registry(),
                "used_image_",
                "image_set_hash",
                &mut evidence.registry,
            ),
        ];
        for (path, prefix, hash_column, hashes) in sources {
            let Some(bytes) = table_file::read_bytes(&path)? else {
                continue;
            };
            let read =
                Table::parse(bytes).and_then(|table| image_sets(&table, prefix, hash_column));
            match read {
                Ok(sets) => *hashes = sets,
                // A table without a header is how an empty dataset used to be written.
                Err(TableError::Empty | TableError::NoHeader) => {}
                Err(error) => warnings.push(format!(
                    "cannot tell the image order in {}: {error}",
                    path.display()
                )),
            }
        }
        Ok(evidence)
    }

    fn only_name_explains(&self, by_tags: &str, by_name: &str) -> bool {
        if self.items.contains(by_name) {
            return true;
        }
        let tags_known = self.items.contains(by_tags) || self.registry.contains(by_tags);
        self.registry.contains(by_name) && !tags_known
    }
}

fn image_sets(
    table: &Table,
    prefix: &str,
    hash_column: &str,
) -> Result<HashSet<String>, TableError> {
    let images: Vec<String> = (1..=MAX_IMAGES)
        .map(|n| format!("{prefix}{n}_path"))
        .collect();
    let mut names: Vec<&str> = images.iter().map(String::as_str).collect();
    names.push(hash_column);
    let columns = Columns::find(table, &names);
    let mut sets = HashSet::new();
    for row in 0..table.len() {
        let hash = columns.text(table, row, MAX_IMAGES)?;
        if !hash.is_empty() {
            sets.insert(hash.into_owned());
            continue;
        }
        let mut paths = Vec::with_capacity(MAX_IMAGES);
        for index in 0..MAX_IMAGES {
            let path = columns.text(table, row, index)?;
            if !path.is_empty() {
                paths.push(path);
            }
        }
        sets.insert(image_set_hash(&paths));
    }
    Ok(sets)
}
