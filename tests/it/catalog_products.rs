//! `catalog build` with products files that are odd, huge or about something else.

use crate::support::dataset::{build, product};
use crate::support::workspace::TestWorkspace;

fn one_product() -> TestWorkspace {
    let workspace = TestWorkspace::empty();
    product(&workspace, "1", &["images/a.jpg"]);
    workspace
}

#[test]
fn a_pipe_in_the_place_of_the_products_file_is_not_waited_for() {
    let workspace = one_product();
    let pipe = workspace.path("products-with-3d.json");
    let made = std::process::Command::new("mkfifo").arg(pipe).status();
    assert!(made.expect("mkfifo is there").success());
    let output = workspace.archi3d(&["catalog", "build"]).run();
    assert_ne!(output.code(), Some(0));
    let _ = output
        .expect_stderr("products-with-3d.json")
        .expect_stderr("not a plain file");
}

#[test]
fn a_file_that_python_wrote_beyond_the_standard_is_read() {
    let workspace = one_product();
    let json =
        br#"[{"_id": "1", "Name": "Sedia \ud83e", "Price": NaN, "Weights": [Infinity, -Infinity],
        "Manufacturer": NaN}]"#;
    workspace.write("products-with-3d.json", json);
    let table = build(&workspace, &[]);
    assert_eq!(&table.rows[0]["product_name"], "Sedia \u{fffd}");
    assert_eq!(&table.rows[0]["manufacturer"], "");
}

#[test]
fn a_file_in_which_nothing_belongs_to_a_product_is_warned_of() {
    for (json, entries) in [
        ("[1,2]", "2 entries"),
        (r#"[{"_id":"9"}]"#, "1 entry"),
        ("{}", "0"),
    ] {
        let workspace = one_product();
        workspace.write("products-with-3d.json", json.as_bytes());
        let _ = workspace
            .archi3d(&["catalog", "build"])
            .run()
            .expect_code(0)
            .expect_stderr(&format!("none of its {entries}"));
    }
}

#[test]
fn a_text_beyond_any_cell_is_cut_and_told() {
    let workspace = one_product();
    let long = "x".repeat(3 << 20);
    let json = format!(r#"[{{"_id":"1","Name":"Sedia","Description":"{long}"}}]"#);
    workspace.write("products-with-3d.json", json.as_bytes());
    let _ = workspace
        .archi3d(&["catalog", "build"])
        .run()
        .expect_code(0)
        .expect_stderr("1 text longer than 1 MiB");
}

#[cfg(target_os = "linux")]
#[test]
fn a_large_entry_of_another_product_costs_little_memory() {
    let workspace = one_product();
    let mut json = String::from(r#"[{"Categories":["#);
    for _ in 0..1_000_000 {
        json.push_str(r#"{"Name":{"it":"Arredo"}},"#);
    }
    json.push_str(r#""x"],"Description":""#);
    json.push_str(&"y".repeat(20 << 20));
    json.push_str(r#"","_id":"9"},{"_id":"1","Name":"Sedia"}]"#);
    workspace.write("products-with-3d.json", json.as_bytes());
    // A limit on the address space, with room for the program and its threads' stacks.
    let line = r#"ulimit -v 400000; exec "$0" --workspace "$1" catalog build"#;
    let arguments = [
        "-c",
        line,
        env!("CARGO_BIN_EXE_archi3d"),
        workspace.root().to_str().expect("text"),
    ];
    let shell = std::path::Path::new("/bin/sh");
    let _ = crate::support::Invocation::program(shell, arguments)
        .env("RAYON_NUM_THREADS", "2")
        .run()
        .expect_code(0);
    let table = crate::support::dataset::items(&workspace);
    assert_eq!(&table.rows[0]["product_name"], "Sedia");
}
