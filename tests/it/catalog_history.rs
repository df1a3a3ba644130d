//! `catalog build` on a workspace with a past: orders that ids depend on, deaths and neighbours.

use std::fs;

use serde_json::json;

use crate::support::dataset::{build, items, plain_products, product};
use crate::support::read::Registry;
use crate::support::workspace::TestWorkspace;

fn images(table: &Registry, product: &str) -> Vec<String> {
    let row = table.rows.iter().find(|row| &row["product_id"] == product);
    let row = row.expect("the product has a row");
    let paths = (1..=6).filter_map(|n| row.get(&format!("image_{n}_path")));
    let names = paths.filter_map(|path| path.rsplit('/').next());
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

#[test]
fn where_tables_hold_name_order_new_and_changed_items_get_it_too() {
    let workspace = TestWorkspace::empty();
    product(&workspace, "1", &["images/zeta_A.jpg", "images/alpha.jpg"]);
    product(&workspace, "2", &["images/zeta_A.jpg", "images/alpha.jpg"]);
    build(&workspace, &["--image-order", "name"]);
    let create = ["batch", "create", "--run-id", "r", "--algos", "mock"];
    let _ = workspace.archi3d(&create).run().expect_code(0);
    product(&workspace, "2", &["images/beta.jpg"]);
    product(&workspace, "3", &["images/zeta_A.jpg", "images/alpha.jpg"]);
    let output = workspace.archi3d(&["catalog", "build", "--json"]).run();
    let output = output.expect_code(0).expect_stderr("name order");
    let told = output.json()["kept_name_order"].clone();
    assert_eq!(told, json!(["dataset/1", "dataset/2", "dataset/3"]));
    let table = items(&workspace);
    assert_eq!(images(&table, "2"), ["alpha.jpg", "beta.jpg", "zeta_A.jpg"]);
    assert_eq!(images(&table, "3"), ["alpha.jpg", "zeta_A.jpg"]);
    // Only a changed item is left to tell by.
    for gone in ["1", "3"] {
        fs::remove_dir_all(workspace.path(&format!("dataset/{gone}"))).expect("there");
    }
    product(&workspace, "2", &["images/gamma.jpg"]);
    assert_eq!(images(&build(&workspace, &[]), "2")[0], "alpha.jpg");
    let tags = ["catalog", "build", "--image-order", "tags"];
    let output = workspace.archi3d(&tags).run().expect_code(0);
    assert_eq!(images(&items(&workspace), "2")[0], "zeta_A.jpg", "{output}");
    product(&workspace, "4", &["images/zeta_A.jpg", "images/alpha.jpg"]);
    assert_eq!(images(&build(&workspace, &[]), "4")[0], "zeta_A.jpg");
}

#[test]
fn what_killed_builds_left_is_swept_and_nothing_else() {
    let workspace = plain_products(2);
    let whole = build(&workspace, &[]);
    workspace.write("tables/.items.csv.7-dead.tmp", b"half");
    workspace.write("tables/.items_issues.csv.7-dead.tmp", b"half");
    workspace.write("tables/.others.csv.7-dead.tmp", b"theirs");
    let again = build(&workspace, &[]);
    assert_eq!(again.rows.len(), whole.rows.len());
    assert_eq!(workspace.leftovers(), ["tables/.others.csv.7-dead.tmp"]);
}

#[test]
fn a_build_killed_at_any_moment_leaves_whole_tables_and_the_next_one_cleans_up() {
    let workspace = plain_products(40);
    build(&workspace, &[]);
    for _ in 0..8 {
        let _ = workspace.archi3d(&["catalog", "build"]).spawn().kill();
        assert_eq!(items(&workspace).rows.len(), 40);
        let issues = workspace.path("tables/items_issues.csv");
        assert_eq!(Registry::read(&issues).rows.len(), 0);
    }
    build(&workspace, &[]);
    assert_eq!(workspace.leftovers(), [""; 0]);
}

#[test]
fn builds_at_the_same_time_all_succeed() {
    let workspace = plain_products(5);
    let running = [(); 4].map(|()| workspace.archi3d(&["catalog", "build"]).spawn());
    for build in running {
        let _ = build.wait().expect_code(0);
    }
    assert_eq!(items(&workspace).rows.len(), 5);
    assert_eq!(workspace.leftovers(), [""; 0]);
}
