//! The rows of the item table and the table of issues, column by column.

use crate::domain::item::Item;
use crate::domain::products::Enrichment;
use crate::domain::time::Timestamp;
use crate::ops::catalog::Catalog;
use crate::store::table_file::empty_like;
use crate::table::Table;

const ITEM_COLUMNS: &[&str] = &[
    "product_id",
    "variant",
    "manufacturer",
    "product_name",
    "category_l1",
    "category_l2",
    "category_l3",
    "description",
    "n_images",
    "image_1_path",
    "image_2_path",
    "image_3_path",
    "image_4_path",
    "image_5_path",
    "image_6_path",
    "gt_object_path",
    "dataset_dir",
    "build_time",
    "source_json_present",
];

/// Where the cells after the outside texts stand.
const N_IMAGES: usize = 8;
const FIRST_IMAGE: usize = 9;
const GT: usize = 15;
const DATASET_DIR: usize = 16;
const BUILD_TIME: usize = 17;
const SOURCE_JSON: usize = 18;

const ISSUE_COLUMNS: &[&str] = &["product_id", "variant", "issue", "detail"];

/// Returns the cells whose text comes from outside, in column order.
pub(super) fn outside_texts<'a>(
    item: &'a Item,
    known: Option<&'a Enrichment>,
) -> [(&'static str, &'a str); 8] {
    let known = |field: fn(&Enrichment) -> &str| known.map_or("", field);
    let texts = [
        item.product_id.as_str(),
        &item.variant,
        known(|known| &known.manufacturer),
        known(|known| &known.product_name),
        known(|known| &known.categories[0]),
        known(|known| &known.categories[1]),
        known(|known| &known.categories[2]),
        known(|known| &known.description),
    ];
    std::array::from_fn(|index| (ITEM_COLUMNS[index], texts[index]))
}

/// Returns the item table; `replaced` is the file it takes the place of.
pub(super) fn items_table(
    catalog: &Catalog<'_>,
    build_time: Timestamp,
    replaced: Option<&[u8]>,
) -> Table {
    let mut table = empty_like(ITEM_COLUMNS, replaced);
    let build_time = build_time.iso();
    let has_products = if catalog.has_products {
        "True"
    } else {
        "False"
    };
    let rows: Vec<Vec<(usize, String)>> = catalog
        .items
        .iter()
        .map(|(item, known)| {
            let outside = outside_texts(item, *known).into_iter().enumerate();
            let mut cells: Vec<(usize, String)> = outside
                .map(|(column, (_, text))| (column, text.to_owned()))
                .collect();
            cells.push((N_IMAGES, item.images.len().to_string()));
            let images = item.images.iter().enumerate();
            cells.extend(images.map(|(n, path)| (FIRST_IMAGE + n, path.clone())));
            cells.extend(item.gt.clone().map(|path| (GT, path)));
            cells.push((DATASET_DIR, item.dir.clone()));
            cells.push((BUILD_TIME, build_time.clone()));
            cells.push((SOURCE_JSON, has_products.to_owned()));
            cells
        })
        .collect();
    table.append(&rows);
    table
}

/// Returns the table of issues; `replaced` is the file it takes the place of.
pub(super) fn issues_table(catalog: &Catalog<'_>, replaced: Option<&[u8]>) -> Table {
    let mut table = empty_like(ISSUE_COLUMNS, replaced);
    let rows: Vec<Vec<(usize, String)>> = catalog
        .issues
        .iter()
        .map(|issue| {
            let cells = [
                issue.product_id.clone(),
                issue.variant.clone(),
                issue.kind.word().to_owned(),
                issue.detail.clone(),
            ];
            cells.into_iter().enumerate().collect()
        })
        .collect();
    table.append(&rows);
    table
}
