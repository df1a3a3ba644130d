//! The item table as a batch reads it: text trimmed, images in their order.

use crate::domain::item::MAX_IMAGES;
use crate::domain::plan::CatalogItem;
use crate::store::error::StoreError;
use crate::store::table_file::{self, Columns};
use crate::table::{Table, TableError};
use crate::workspace::paths::Workspace;

const COLUMNS: [&str; 9] = [
    "product_id",
    "variant",
    "manufacturer",
    "product_name",
    "category_l1",
    "category_l2",
    "category_l3",
    "description",
    "gt_object_path",
];

/// Reads the items; a table that an empty dataset left without a header has none,
/// and the sentence returned beside it says so.
pub(super) fn read(
    workspace: &Workspace,
) -> Result<(Vec<CatalogItem>, Option<String>), StoreError> {
    let path = workspace.items();
    let Some(bytes) = table_file::read_bytes(&path)? else {
        return Err(StoreError::Setup {
            what: "there is no item table".to_owned(),
            path,
            hint: "make it with `archi3d catalog build`".to_owned(),
        });
    };
    let table = match Table::parse(bytes) {
        Ok(table) => table,
        Err(TableError::Empty | TableError::NoHeader) => {
            let warning = format!("{} is empty: there are no items", path.display());
            return Ok((Vec::new(), Some(warning)));
        }
        Err(error) => return Err(table_file::content(&path, &error)),
    };
    let items = table
        .require(&["product_id", "variant", "image_1_path"])
        .and_then(|()| items_of(&table));
    match items {
        Ok(items) => Ok((items, None)),
        Err(error) => Err(table_file::content(&path, &error)),
    }
}

fn items_of(table: &Table) -> Result<Vec<CatalogItem>, TableError> {
    let image_names: Vec<String> = (1..=MAX_IMAGES)
        .map(|n| format!("image_{n}_path"))
        .collect();
    let names: Vec<&str> = COLUMNS
        .into_iter()
        .chain(image_names.iter().map(String::as_str))
        .collect();
    let columns = Columns::find(table, &names);
    (0..table.len())
        .map(|row| {
            let text = |index| {
                let text = columns.text(table, row, index)?;
                Ok::<_, TableError>(text.trim().to_owned())
            };
            let mut images = Vec::new();
            for index in COLUMNS.len()..names.len() {
                // Paths are not trimmed: a file's name may end in a blank.
                let path = columns.text(table, row, index)?;
                if !path.is_empty() {
                    images.push(path.into_owned());
                }
            }
            Ok(CatalogItem {
                product_id: text(0)?,
                variant: text(1)?,
                manufacturer: text(2)?,
                product_name: text(3)?,
                categories: [text(4)?, text(5)?, text(6)?],
                description: text(7)?,
                gt: columns.text(table, row, 8)?.into_owned(),
                images,
            })
        })
        .collect()
}
