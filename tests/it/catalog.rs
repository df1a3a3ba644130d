//! `catalog build` through the real binary: what becomes of a dataset, and of a bad one.

use std::fs;

use serde_json::json;

use crate::support::binary::Invocation;
use crate::support::dataset::{build, issues, items, plain_products, product, products_json};
use crate::support::fixture;
use crate::support::read::Registry;
use crate::support::workspace::TestWorkspace;

fn without(table: &Registry, column: &str) -> Vec<Vec<String>> {
    let kept = || table.columns.iter().filter(|name| *name != column);
    let rows = table.rows.iter();
    rows.map(|row| kept().map(|name| row[name.as_str()].to_owned()).collect())
        .collect()
}

fn images(table: &Registry, row: usize) -> Vec<&str> {
    let row = &table.rows[row];
    let paths = (1..=6).filter_map(|n| row.get(&format!("image_{n}_path")));
    paths
        .filter_map(|path| path.rsplit('/').next())
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn the_catalog_of_an_existing_workspace_is_built_field_by_field_as_it_was() {
    let original = fixture("original_workspace");
    let workspace = TestWorkspace::copy_of(&original, "r1");
    fs::remove_dir_all(workspace.path("tables")).expect("a copy");
    let built = build(&workspace, &["--image-order", "name"]);
    let expected = Registry::read(&original.join("tables/items.csv"));
    assert_eq!(built.columns, expected.columns);
    assert_eq!(
        without(&built, "build_time"),
        without(&expected, "build_time")
    );
    let issues = workspace.bytes("tables/items_issues.csv");
    assert_eq!(
        issues,
        fs::read(original.join("tables/items_issues.csv")).expect("shipped")
    );
    let log = String::from_utf8(workspace.bytes("logs/catalog_build.log")).expect("text");
    let line = log.lines().last().expect("one line");
    let ours: serde_json::Value = serde_json::from_str(line).expect("JSON");
    let old = fs::read_to_string(original.join("logs/catalog_build.log")).expect("shipped");
    let (_, old) = old.trim_end().split_once(' ').expect("time and record");
    let old: serde_json::Value = serde_json::from_str(old).expect("JSON");
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().expect("object").keys().cloned().collect()
    };
    assert_eq!(keys(&ours), keys(&old));
    for key in keys(&old).iter().filter(|key| *key != "timestamp") {
        assert_eq!(ours[key], old[key], "{key}");
    }
    assert_eq!(ours["timestamp"], built.rows[0]["build_time"]);
}

#[test]
fn building_again_changes_nothing_but_the_time() {
    let workspace = plain_products(3);
    let first = build(&workspace, &[]);
    let issues = workspace.bytes("tables/items_issues.csv");
    let second = build(&workspace, &[]);
    assert_eq!(
        without(&first, "build_time"),
        without(&second, "build_time")
    );
    assert_ne!(first.rows[0]["build_time"], second.rows[0]["build_time"]);
    assert_eq!(issues, workspace.bytes("tables/items_issues.csv"));
    assert!(
        workspace
            .bytes("tables/items.csv")
            .starts_with(b"\xef\xbb\xbfproduct_id,")
    );
    assert_eq!(workspace.leftovers(), [""; 0]);
}

#[test]
fn tagged_images_come_first_unless_name_order_is_asked_for() {
    let workspace = TestWorkspace::empty();
    product(
        &workspace,
        "1",
        &[
            "images/zeta_A.jpg",
            "images/front_b.jpg",
            "images/alpha.jpg",
        ],
    );
    let many = ["aaa", "bbb", "v_A", "v_B", "v_C", "v_D", "v_E", "v_F"];
    let files = many.map(|name| format!("images/{name}.jpg"));
    product(&workspace, "2", &files.each_ref().map(String::as_str));
    let table = build(&workspace, &[]);
    assert_eq!(
        images(&table, 0),
        ["zeta_A.jpg", "front_b.jpg", "alpha.jpg"]
    );
    assert_eq!(images(&table, 1).last(), Some(&"v_F.jpg"));
    let table = build(&workspace, &["--image-order", "name"]);
    assert_eq!(
        images(&table, 0),
        ["alpha.jpg", "front_b.jpg", "zeta_A.jpg"]
    );
    assert_eq!(images(&table, 1)[0], "aaa.jpg");
}

#[test]
fn an_order_that_existing_job_ids_depend_on_is_kept_and_told() {
    let workspace = TestWorkspace::empty();
    product(&workspace, "1", &["images/zeta_A.jpg", "images/alpha.jpg"]);
    product(&workspace, "2", &["images/p_A.jpg"]);
    build(&workspace, &["--image-order", "name"]);
    let create = ["batch", "create", "--run-id", "r", "--algos", "mock"];
    let _ = workspace.archi3d(&create).run().expect_code(0);
    for evidence in ["items and registry", "registry"] {
        if evidence == "registry" {
            fs::remove_file(workspace.path("tables/items.csv")).expect("there");
        }
        let output = workspace
            .archi3d(&["catalog", "build", "--json"])
            .run()
            .expect_code(0);
        assert_eq!(
            output.json()["kept_name_order"],
            json!(["dataset/1"]),
            "{evidence}"
        );
        let _ = output.expect_stderr("name order");
        assert_eq!(images(&items(&workspace), 0), ["alpha.jpg", "zeta_A.jpg"]);
    }
    let _ = workspace
        .archi3d(&["catalog", "build", "--image-order", "tags"])
        .run()
        .expect_code(0)
        .expect_stderr("their jobs get new ids");
    assert_eq!(images(&items(&workspace), 0), ["zeta_A.jpg", "alpha.jpg"]);
    // Asked for once, the new order stays.
    assert_eq!(
        images(&build(&workspace, &[]), 0),
        ["zeta_A.jpg", "alpha.jpg"]
    );
}

#[test]
fn every_issue_of_an_item_is_told_with_the_real_count() {
    let workspace = TestWorkspace::empty();
    let eight: Vec<String> = (1..=8).map(|n| format!("images/{n}.jpg")).collect();
    product(
        &workspace,
        "1",
        &eight.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    product(&workspace, "2", &["images/a.JPG", "gt/m.glb", "gt/m.fbx"]);
    product(&workspace, "3", &["images", "gt/m.fbx"]);
    products_json(&workspace, &json!([{"_id": "2"}]));
    build(&workspace, &[]);
    assert_eq!(issues(&workspace, "1"), ["too_many_images", "missing_gt"]);
    assert_eq!(
        issues(&workspace, "2"),
        [
            "multiple_gt_candidates",
            "missing_manufacturer",
            "missing_product_name",
            "missing_description",
            "missing_categories"
        ]
    );
    assert_eq!(issues(&workspace, "3"), ["no_images", "not_a_folder"]);
    let table = Registry::read(&workspace.path("tables/items_issues.csv"));
    assert_eq!(&table.rows[0]["detail"], "Found 8 images, capped at 6");
    assert_eq!(
        &items(&workspace).rows[1]["gt_object_path"],
        "dataset/2/gt/m.glb"
    );
}

#[test]
fn a_products_file_one_level_up_with_a_byte_order_mark_works() {
    let workspace = TestWorkspace::empty();
    product(&workspace, "00123", &["images/a.jpg"]);
    let json = json!({"00123": {"Name": {"it": "Sedia"}, "ShortDescription": {"it": ""},
        "Description": "lunga\nriga", "Manufacturer": "M", "Categories": ["A", "B > C"]}});
    let text = format!("\u{feff}{json}");
    fs::write(workspace.outside().join("products-with-3d.json"), text).expect("writable");
    let table = build(&workspace, &[]);
    let row = &table.rows[0];
    assert_eq!(&row["product_id"], "00123");
    assert_eq!(&row["product_name"], "Sedia");
    assert_eq!(&row["description"], "lunga\nriga");
    assert_eq!((&row["category_l1"], &row["category_l2"]), ("B", "C"));
    assert_eq!(&row["source_json_present"], "True");
    let log = String::from_utf8(workspace.bytes("logs/catalog_build.log")).expect("text");
    assert!(log.contains("products-with-3d.json"), "{log}");
}

#[test]
fn without_a_products_file_the_catalog_is_built_and_says_so() {
    let workspace = TestWorkspace::empty();
    product(&workspace, "1", &["images/a.jpg"]);
    let _ = workspace
        .archi3d(&["catalog", "build"])
        .run()
        .expect_code(0)
        .expect_stderr("there is no products-with-3d.json");
    assert_eq!(&items(&workspace).rows[0]["source_json_present"], "False");
    let _ = workspace
        .archi3d(&["catalog", "build", "--products-json", "nope.json"])
        .run()
        .expect_code(2)
        .expect_stderr("there is no products file nope.json");
}

#[test]
fn broken_json_names_line_and_column_and_changes_nothing() {
    let workspace = plain_products(2);
    build(&workspace, &[]);
    workspace.write("products-with-3d.json", b"[\n  {\"_id\": \"1\",}\n]");
    let before = workspace.tree();
    let _ = workspace
        .archi3d(&["catalog", "build"])
        .run()
        .expect_code(2)
        .expect_stderr("products-with-3d.json")
        .expect_stderr("broken JSON at line 2, column 15");
    assert_eq!(workspace.tree(), before);
}

#[test]
fn an_empty_dataset_gives_tables_with_headers_and_an_empty_batch() {
    let workspace = TestWorkspace::empty();
    fs::create_dir(workspace.path("dataset")).expect("writable");
    let table = build(&workspace, &[]);
    assert_eq!((table.columns.len(), table.rows.len()), (19, 0));
    let create = ["batch", "create", "--run-id", "r", "--algos", "mock"];
    let _ = workspace
        .archi3d(&create)
        .run()
        .expect_code(0)
        .expect_stdout("0 jobs");
    // What another tool leaves for an empty dataset is understood too.
    workspace.write("tables/items.csv", b"\xef\xbb\xbf\n");
    let _ = workspace
        .archi3d(&create)
        .run()
        .expect_code(0)
        .expect_stdout("0 jobs");
    assert!(!workspace.path("runs/r").exists());
}

#[cfg(unix)]
#[test]
fn links_that_leave_the_workspace_or_lead_nowhere_are_issues_and_not_the_end() {
    use std::os::unix::fs::symlink;
    let workspace = plain_products(2);
    fs::write(workspace.outside().join("o.jpg"), b"x").expect("writable");
    let images_of = |product: &str| workspace.path(&format!("dataset/{product}/images"));
    let link = |target: &str, place: std::path::PathBuf| {
        symlink(target, place).expect("linkable");
    };
    link("../../../../o.jpg", images_of("100001").join("out.jpg"));
    link("p_A.jpg", images_of("100001").join("in.jpg"));
    link("nothing", images_of("100001").join("broken.jpg"));
    product(&workspace, "3", &["gt/m.glb"]);
    link("images", images_of("3"));
    link("../..", workspace.path("dataset/4"));
    let table = build(&workspace, &[]);
    assert_eq!(images(&table, 0), ["p_A.jpg", "p_B.jpg", "in.jpg"]);
    assert_eq!(images(&table, 1), ["p_A.jpg", "p_B.jpg"]);
    assert_eq!(
        issues(&workspace, "100001"),
        ["outside_workspace", "unreadable"]
    );
    assert_eq!(issues(&workspace, "3"), ["no_images", "unreadable"]);
    assert_eq!(issues(&workspace, "4"), ["outside_workspace"]);
    assert_eq!(table.rows.len(), 3);
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_utf8_are_issues_and_not_the_end() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let workspace = plain_products(1);
    let dataset = workspace.path("dataset");
    let folder = dataset.join(OsStr::from_bytes(b"7 - caf\xE9"));
    fs::create_dir_all(folder.join("images")).expect("writable");
    let file = dataset
        .join("100001/images")
        .join(OsStr::from_bytes(b"\xFF.jpg"));
    fs::write(file, b"x").expect("writable");
    assert_eq!(build(&workspace, &[]).rows.len(), 1);
    let table = Registry::read(&workspace.path("tables/items_issues.csv"));
    let found: Vec<_> = table
        .rows
        .iter()
        .map(|row| (&row["issue"], &row["detail"]))
        .collect();
    assert_eq!(
        found,
        [
            ("not_utf8_name", "dataset/100001/images/\\xFF.jpg"),
            ("not_utf8_name", "dataset/7 - caf\\xE9")
        ]
    );
}

#[test]
fn a_dataset_that_cannot_be_used_is_refused_before_anything_is_written() {
    let workspace = TestWorkspace::empty();
    workspace.write("file", b"x");
    let outside = workspace.outside().to_str().expect("text").to_owned();
    let before = workspace.tree();
    for (options, message) in [
        (vec![], "the dataset folder is missing"),
        (vec!["--dataset", "file"], "the dataset is not a folder"),
        (vec!["--dataset", &outside], "is outside the workspace"),
    ] {
        let mut arguments = vec!["catalog", "build"];
        arguments.extend(options);
        let _ = workspace
            .archi3d(&arguments)
            .run()
            .expect_code(2)
            .expect_stderr(message);
    }
    assert_eq!(workspace.tree(), before);
}

#[test]
fn strange_names_become_items_and_twins_are_told() {
    let workspace = TestWorkspace::empty();
    let long = "x".repeat(255);
    let names = [
        "1 - a\nb",
        "2 - 🪑",
        "3 - שלום",
        "4 - caf\u{e9}",
        "4 - cafe\u{301}",
        "800008 - NA",
        "700009 - ",
        &long,
    ];
    for name in names {
        product(&workspace, name, &["images/p.jpg"]);
    }
    let table = build(&workspace, &[]);
    let dirs: Vec<&str> = table.rows.iter().map(|row| &row["dataset_dir"]).collect();
    assert_eq!(dirs.len(), names.len());
    for name in names {
        assert!(
            dirs.contains(&format!("dataset/{name}").as_str()),
            "{name:?}"
        );
    }
    assert_eq!(
        issues(&workspace, "4")
            .iter()
            .filter(|issue| *issue == "twin_name")
            .count(),
        2
    );
    let variant = |product: &str| {
        let row = table.rows.iter().find(|row| &row["product_id"] == product);
        row.map(|row| row["variant"].to_owned())
    };
    assert_eq!(variant("800008").as_deref(), Some("NA"));
    assert_eq!(variant("700009").as_deref(), Some(" "));
    assert_eq!(variant("1").as_deref(), Some("a\nb"));
}

#[test]
fn line_ends_of_existing_tables_are_kept() {
    let workspace = plain_products(2);
    build(&workspace, &[]);
    for name in ["tables/items.csv", "tables/items_issues.csv"] {
        let text = String::from_utf8(workspace.bytes(name)).expect("text");
        workspace.write(name, text.replace('\n', "\r\n").as_bytes());
    }
    build(&workspace, &[]);
    for name in ["tables/items.csv", "tables/items_issues.csv"] {
        let text = String::from_utf8(workspace.bytes(name)).expect("text");
        assert_eq!(
            text.matches('\n').count(),
            text.matches("\r\n").count(),
            "{name}"
        );
        assert!(text.ends_with("\r\n"), "{name}");
    }
}

#[test]
fn outside_text_that_a_spreadsheet_would_run_is_kept_and_named() {
    let workspace = TestWorkspace::empty();
    product(&workspace, "1", &["images/a.jpg"]);
    products_json(
        &workspace,
        &json!([{"_id": "1", "Name": "=1+1", "Manufacturer": "\tM"}]),
    );
    let output = workspace
        .archi3d(&["catalog", "build", "--json"])
        .run()
        .expect_code(0);
    let cells = output.json()["risky_cells"].clone();
    let columns: Vec<&str> = cells
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|cell| cell["column"].as_str())
        .collect();
    assert_eq!(columns, ["manufacturer", "product_name"]);
    let _ = output.expect_stderr("product_name begins with '='");
    assert_eq!(&items(&workspace).rows[0]["product_name"], "=1+1");
}

#[test]
fn the_dataset_is_never_touched() {
    let workspace = TestWorkspace::empty();
    product(&workspace, "1", &["images/fóto_A.PNG", "gt/Ünï.glb"]);
    let of_dataset = || -> Vec<(String, String)> {
        let tree = workspace.tree().into_iter();
        tree.filter(|(path, _)| path.starts_with("dataset"))
            .collect()
    };
    let before = of_dataset();
    build(&workspace, &[]);
    let create = ["batch", "create", "--run-id", "r", "--algos", "mock"];
    let _ = workspace.archi3d(&create).run().expect_code(0);
    assert_eq!(of_dataset(), before);
    assert_eq!(
        &items(&workspace).rows[0]["image_1_path"],
        "dataset/1/images/fóto_A.PNG"
    );
}

#[test]
fn both_commands_work_from_any_folder_with_the_workspace_in_the_environment() {
    let workspace = plain_products(1);
    for arguments in [
        vec!["catalog", "build"],
        vec![
            "batch",
            "create",
            "--run-id",
            "r",
            "--algos",
            "trellis_single",
        ],
    ] {
        let _ = Invocation::archi3d(arguments)
            .env("ARCHI3D_WORKSPACE", workspace.root())
            .run()
            .expect_code(0);
    }
    assert_eq!(&workspace.registry().rows[0]["job_id"], "d610ebfd455b");
}

#[test]
fn a_folder_in_the_place_of_a_table_is_refused_and_the_other_table_kept() {
    let workspace = plain_products(1);
    build(&workspace, &[]);
    fs::remove_file(workspace.path("tables/items_issues.csv")).expect("there");
    fs::create_dir(workspace.path("tables/items_issues.csv")).expect("writable");
    let before = workspace.bytes("tables/items.csv");
    let _ = workspace
        .archi3d(&["catalog", "build"])
        .run()
        .expect_code(2)
        .expect_stderr("items_issues.csv");
    assert_eq!(workspace.bytes("tables/items.csv"), before);
    assert_eq!(workspace.leftovers(), [""; 0]);
}
