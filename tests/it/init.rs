//! `init`: an empty workspace, made without changing anything that is there.

use std::fs;

use crate::support::{Invocation, TestWorkspace};

#[test]
fn it_makes_a_workspace_that_every_command_accepts() {
    let place = TestWorkspace::empty();
    let folder = place.path("chairs");
    let made = Invocation::archi3d(["init", "--json"])
        .arg(&folder)
        .run()
        .expect_code(0)
        .json();
    let made: Vec<&str> = made["made"]
        .as_array()
        .expect("list")
        .iter()
        .filter_map(|name| name.as_str())
        .collect();
    assert_eq!(
        made,
        [
            "dataset/",
            "tables/",
            "runs/",
            "reports/",
            "logs/",
            "config/",
            "config/global.yaml",
            "config/adapters.yaml",
            ".gitignore",
            "README.md"
        ]
    );
    let shown = Invocation::archi3d(["config", "show", "--json"])
        .current_dir(&folder)
        .run()
        .expect_code(0)
        .json();
    assert_eq!(shown["workspace"], folder.to_string_lossy().as_ref());
    let built = Invocation::archi3d(["catalog", "build", "--json"])
        .current_dir(&folder)
        .run()
        .expect_code(0)
        .json();
    assert_eq!(built["items_total"], 0);
}

#[test]
fn what_is_there_is_never_changed_and_is_named() {
    let place = TestWorkspace::empty();
    place.write("config/adapters.yaml", b"adapters: {mine: {kind: mock}}\n");
    place.write("README.md", b"my words");
    place.write("dataset/1/images/a.png", b"x");
    let init = || {
        Invocation::archi3d(["init"])
            .current_dir(place.root())
            .run()
            .expect_code(0)
    };
    let _ = init()
        .expect_stdout("was there config/adapters.yaml")
        .expect_stdout("made      config/global.yaml");
    assert_eq!(place.bytes("README.md"), b"my words");
    assert_eq!(
        place.bytes("config/adapters.yaml"),
        b"adapters: {mine: {kind: mock}}\n"
    );
    let before = place.tree();
    let second = init();
    assert!(!second.stdout.contains("made "), "{second}");
    assert_eq!(place.tree(), before);
}

#[test]
fn something_in_the_way_is_named_and_nothing_is_made() {
    let place = TestWorkspace::empty();
    place.write("ws/runs", b"a file");
    let before = place.tree();
    let _ = Invocation::archi3d(["init"])
        .arg(place.path("ws"))
        .run()
        .expect_code(2)
        .expect_stderr("expected a folder, found a file");
    fs::remove_file(place.path("ws/runs")).expect("there");
    fs::create_dir_all(place.path("ws/README.md")).expect("created");
    let _ = Invocation::archi3d(["init"])
        .arg(place.path("ws"))
        .run()
        .expect_code(2)
        .expect_stderr("expected a file, found a folder");
    fs::remove_dir(place.path("ws/README.md")).expect("there");
    place.write("ws/runs", b"a file");
    assert_eq!(place.tree(), before);
}

#[test]
fn names_with_spaces_and_letters_of_the_world_are_fine() {
    let place = TestWorkspace::empty();
    let folder = place.path("Già fatto 椅子");
    let _ = Invocation::archi3d(["init"])
        .arg(&folder)
        .run()
        .expect_code(0)
        .expect_stdout("椅子");
    assert!(folder.join("config/adapters.yaml").is_file());
}

#[test]
fn its_configuration_teaches_every_key_and_leaves_the_shipped_values_in_force() {
    let place = TestWorkspace::empty();
    let _ = Invocation::archi3d(["init"])
        .arg(place.root())
        .run()
        .expect_code(0);
    let show = || {
        let shown = place.archi3d(&["config", "show", "--json"]).run();
        shown.expect_code(0).json()["entries"].take()
    };
    let entries = show();
    let entries = entries.as_array().expect("a list");
    let is_shipped = |entry: &&serde_json::Value| entry["origin"] == "shipped";
    assert_eq!(
        entries.iter().filter(is_shipped).count(),
        entries.len() - 1,
        "all but the workspace"
    );
}

#[test]
fn the_next_command_acts_on_the_new_workspace_whatever_is_configured() {
    let place = TestWorkspace::empty();
    let init = |name: &str| Invocation::archi3d(["init"]).arg(place.path(name));
    let here = place.path("here");
    std::fs::create_dir(&here).expect("writable");
    let inside = Invocation::archi3d(["init"]).current_dir(&here).run();
    let _ = inside
        .expect_code(0)
        .expect_stderr("then: archi3d catalog build\n");
    let wanted = format!("--workspace {}", place.path("a").display());
    let _ = init("a").run().expect_code(0).expect_stderr(&wanted);
    let wanted = format!("--workspace {}", place.path("b").display());
    let _ = init("b")
        .env("ARCHI3D_WORKSPACE", place.path("a"))
        .run()
        .expect_code(0)
        .expect_stderr(&wanted);
}

#[test]
fn a_workspace_inside_another_one_is_told() {
    let place = TestWorkspace::empty();
    let init = |name: &str| {
        let output = Invocation::archi3d(["init"]).arg(place.path(name)).run();
        output.expect_code(0)
    };
    let outer = init("a");
    assert!(!outer.stderr.contains("inside another"), "{outer}");
    let _ = init("a/dataset").expect_stderr("this workspace lies inside another one");
}
