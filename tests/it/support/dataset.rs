//! Datasets to build catalogs from: product folders made of names and empty pictures.

use serde_json::{Value, json};

use super::read::Registry;
use super::workspace::TestWorkspace;

/// Adds a product folder with these files, each named below the folder.
pub fn product(workspace: &TestWorkspace, folder: &str, files: &[&str]) {
    for file in files {
        workspace.write(&format!("dataset/{folder}/{file}"), b"x");
    }
}

/// Makes `count` products from `100001` on: two images, ground truth, an entry in the products file.
pub fn plain_products(count: usize) -> TestWorkspace {
    let workspace = TestWorkspace::empty();
    let mut entries = Vec::new();
    for id in (100_001..).take(count) {
        let files = ["images/p_A.jpg", "images/p_B.jpg", "gt/m.glb"];
        product(&workspace, &id.to_string(), &files);
        entries.push(json!({
            "_id": id.to_string(),
            "Manufacturer": {"Name": "Maker"},
            "Name": {"Value": {"it": format!("Prodotto {id}")}},
            "ShortDescription": {"Value": {"it": "Descr"}},
            "Categories": [{"Name": {"it": "Arredo > Sedie"}}],
        }));
    }
    products_json(&workspace, &entries.into());
    workspace
}

/// Writes the products file.
pub fn products_json(workspace: &TestWorkspace, entries: &Value) {
    workspace.write("products-with-3d.json", entries.to_string().as_bytes());
}

/// Builds the catalog, which must work, and returns the item table.
#[track_caller]
pub fn build(workspace: &TestWorkspace, options: &[&str]) -> Registry {
    let mut arguments = vec!["catalog", "build"];
    arguments.extend(options);
    let _ = workspace.archi3d(&arguments).run().expect_code(0);
    items(workspace)
}

/// Reads the item table.
#[track_caller]
pub fn items(workspace: &TestWorkspace) -> Registry {
    Registry::read(&workspace.path("tables/items.csv"))
}

/// Returns the issues of a product as words.
#[track_caller]
pub fn issues(workspace: &TestWorkspace, product: &str) -> Vec<String> {
    let table = Registry::read(&workspace.path("tables/items_issues.csv"));
    let rows = table
        .rows
        .iter()
        .filter(|row| &row["product_id"] == product);
    rows.map(|row| row["issue"].to_owned()).collect()
}
