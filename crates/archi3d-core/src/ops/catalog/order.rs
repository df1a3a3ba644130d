//! Which image order each item gets: what was asked for, unless existing tables
//! hold images in an order that only names explain.
//!
//! Job ids depend on the order of images. Changing it under a workspace that
//! has results would make every job new, and paid for, again; and new items must
//! get the ids that colleagues with other tools give them.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::domain::identity::image_set_hash;
use crate::domain::item::{ImageOrder, Item, MAX_IMAGES, sorted_images};
use crate::store::error::StoreError;
use crate::store::table_file::{self, Columns};
use crate::table::{Table, TableError};
use crate::workspace::paths::Workspace;
use crate::workspace::scan::Scan;

/// The order of every item, and where it was not the expected one.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// One per folder found.
    pub(super) orders: Vec<ImageOrder>,
    /// Folders that get the order by name though tags would rule.
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
    let name_rules = asked.is_none() && evidence.whole_workspace_is_by_name();
    for (index, by_tags, by_name) in differing {
        let follows = name_rules && !evidence.knows(&by_tags);
        if !follows && !evidence.only_name_explains(&by_tags, &by_name) {
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

/// What one existing table knows of image sets.
#[derive(Debug, Default)]
struct Known {
    /// The sets, by their hash.
    sets: HashSet<String>,
    /// Whether a set stands in an order that only names explain,
    by_name: bool,
    /// or only tags.
    by_tags: bool,
}

/// What the existing tables know of image sets.
#[derive(Debug, Default)]
struct Evidence {
    items: Known,
    registry: Known,
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
        for (path, prefix, hash_column, known) in sources {
            let Some(bytes) = table_file::read_bytes(&path)? else {
                continue;
            };
            let read =
                Table::parse(bytes).and_then(|table| image_sets(&table, prefix, hash_column));
            match read {
                Ok(sets) => *known = sets,
                // A table without a header is how an empty dataset used to be written.
                Err(TableError::Empty | TableError::NoHeader) => {}
                Err(error) => warnings.push(format!(
                    "cannot read the image order of {}: {error}",
                    path.display()
                )),
            }
        }
        Ok(evidence)
    }

    fn knows(&self, set: &str) -> bool {
        self.items.sets.contains(set) || self.registry.sets.contains(set)
    }

    fn only_name_explains(&self, by_tags: &str, by_name: &str) -> bool {
        self.items.sets.contains(by_name)
            || (self.registry.sets.contains(by_name) && !self.knows(by_tags))
    }

    /// The item table is the newer word; the registry also holds what was given up.
    fn whole_workspace_is_by_name(&self) -> bool {
        let items_say_nothing = !self.items.by_name && !self.items.by_tags;
        let registry_says_name = self.registry.by_name && !self.registry.by_tags;
        self.items.by_name || (items_say_nothing && registry_says_name)
    }
}

fn image_sets(table: &Table, prefix: &str, hash_column: &str) -> Result<Known, TableError> {
    let images: Vec<String> = (1..=MAX_IMAGES)
        .map(|n| format!("{prefix}{n}_path"))
        .collect();
    let mut names: Vec<&str> = images.iter().map(String::as_str).collect();
    names.push(hash_column);
    let columns = Columns::find(table, &names);
    let mut known = Known::default();
    for row in 0..table.len() {
        let mut paths = Vec::with_capacity(MAX_IMAGES);
        for index in 0..MAX_IMAGES {
            let path = columns.text(table, row, index)?;
            if !path.is_empty() {
                paths.push(path);
            }
        }
        let hash = columns.text(table, row, MAX_IMAGES)?;
        let hash = match &*hash {
            "" => image_set_hash(&paths),
            hash => hash.to_owned(),
        };
        if !known.sets.insert(hash) {
            continue;
        }
        match only_order_of(&paths) {
            Some(ImageOrder::Name) => known.by_name = true,
            Some(ImageOrder::Tags) => known.by_tags = true,
            None => {}
        }
    }
    Ok(known)
}

/// Returns the only order that explains how these paths stand, if there is one.
fn only_order_of(paths: &[Cow<'_, str>]) -> Option<ImageOrder> {
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.rsplit('/').next().unwrap_or(path).to_owned())
        .collect();
    let stands = |order| sorted_images(&names, order) == names;
    match (stands(ImageOrder::Tags), stands(ImageOrder::Name)) {
        (true, false) => Some(ImageOrder::Tags),
        (false, true) => Some(ImageOrder::Name),
        _ => None,
    }
}
