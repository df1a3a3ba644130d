//! `export`: models under telling names, and never over anything.

use std::fs;

use crate::support::TestWorkspace;
use crate::support::shapes::{chair, made};

fn models(count: usize) -> TestWorkspace {
    let pairs: Vec<_> = (0..count).map(|_| (chair().glb(), None)).collect();
    made(&pairs)
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .map(|entries| {
            let names = entries.map(|entry| entry.expect("an entry").file_name());
            names
                .map(|name| name.into_string().expect("text"))
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}

#[test]
fn models_are_copied_under_telling_names_and_again_without_effect() {
    let place = models(2);
    let out = place.outside().join("out");
    let export = |more: &[&str]| {
        let call = place.archi3d(&["export", "--run-id", "rk"]).arg(&out);
        more.iter().fold(call, |call, word| call.arg(*word)).run()
    };
    let _ = export(&[]).expect_code(0).expect_stdout("2 models copied");
    let expected = ["101_default_copied.glb", "102_default_copied.glb"];
    assert_eq!(names(&out), expected);
    assert_eq!(
        fs::read(out.join(expected[0])).expect("a model"),
        chair().glb()
    );
    let again = export(&["--json"]).expect_code(0).json();
    assert_eq!(
        (&again["copied"], &again["were_there"]),
        (&0.into(), &2.into())
    );
    let other = export(&["--item", "102", "--name", "{job_id}-{algo}"]).expect_code(0);
    let name = format!(
        "{}-copied.glb",
        place.registry().rows[1]["job_id"].to_owned()
    );
    assert!(names(&out).contains(&name), "{other}");
    assert_eq!(names(&out).len(), 3);
    let _ = export(&["--item", "999"]).expect_code(5);
}

#[test]
fn nothing_is_copied_where_a_name_would_mean_two_models_or_is_taken() {
    let place = models(3);
    let out = place.outside().join("out");
    let export = |name: &str| {
        let call = place.archi3d(&["export", "--run-id", "rk"]).arg(&out);
        call.arg("--name").arg(name).run()
    };
    let _ = export("{algo}.glb")
        .expect_code(2)
        .expect_stderr("copied.glb");
    assert!(!out.exists(), "not even the folder is made");
    fs::create_dir(&out).expect("a folder");
    // Capitals do not count on a share.
    fs::write(out.join("102_DEFAULT_copied.glb"), b"mine").expect("written");
    let _ = export("{product_id}_{variant}_{algo}.glb")
        .expect_code(2)
        .expect_stderr("something else is there already");
    assert_eq!(names(&out), ["102_DEFAULT_copied.glb"]);
    assert_eq!(
        fs::read(out.join("102_DEFAULT_copied.glb")).expect("kept"),
        b"mine"
    );
    let _ = export("a/{job_id}").expect_code(2).expect_stderr("'/'");
    let _ = export("{price}").expect_code(2).expect_stderr("no {price}");
}

#[test]
fn names_are_safe_on_windows_shares() {
    let place = models(1);
    let table = String::from_utf8(place.bytes("tables/generations.csv")).expect("text");
    let header = table.lines().next().expect("a header");
    let at = header.split(',').position(|name| name == "product_name");
    let lines: Vec<String> = table
        .lines()
        .enumerate()
        .map(|(number, line)| {
            let mut cells: Vec<&str> = line.split(',').collect();
            if number > 0 {
                cells[at.expect("the column")] = "Nul? <a:b|c>*";
            }
            cells.join(",")
        })
        .collect();
    place.write(
        "tables/generations.csv",
        (lines.join("\n") + "\n").as_bytes(),
    );
    let out = place.outside().join("out");
    for (name, expected) in [
        ("{product_name}.glb", "Nul_ _a_b_c__.glb"),
        ("com1.{product_id}", "_com1.101.glb"),
    ] {
        let call = place
            .archi3d(&["export"])
            .arg(&out)
            .arg("rk")
            .arg("--name")
            .arg(name);
        let _ = call.run().expect_code(0);
        assert!(
            names(&out).contains(&expected.to_owned()),
            "{:?}",
            names(&out)
        );
    }
}

#[test]
fn rehearsals_are_never_exported() {
    let place = TestWorkspace::with_products(2).algo("relief").build();
    let _ = place.worker(&["--dry-run"]).run().expect_code(0);
    let out = place.outside().join("out");
    let told = place.archi3d(&["export", "--run-id", "rk"]).arg(&out).run();
    let _ = told.expect_code(0).expect_stdout("2 jobs only rehearsed");
    assert!(!out.exists());
}

#[test]
fn a_model_that_is_missing_or_not_whole_is_named_and_never_copied() {
    let place = models(4);
    let rows = place.registry().rows;
    let model = |row: usize| place.path(&rows[row]["gen_object_path"]);
    fs::write(model(0), b"").expect("emptied");
    let half = chair().glb();
    fs::write(model(1), &half[..half.len() / 2]).expect("cut");
    fs::remove_file(model(2)).expect("removed");
    let out = place.outside().join("out");
    let export = place.archi3d(&["export", "--run-id", "rk"]).arg(&out).run();
    let mut export = export.expect_code(1).expect_stdout("1 model copied");
    for (row, reason) in [(0, "empty"), (1, "bytes and has"), (2, "file is missing")] {
        let job = rows[row]["job_id"].to_owned();
        export = export.expect_stderr(&format!("skipped: {job} (10{} by copied): ", row + 1));
        export = export.expect_stderr(reason);
    }
    assert_eq!(names(&out), ["104_default_copied.glb"]);
}

#[test]
fn an_empty_name_and_a_folder_among_the_runs_are_refused() {
    let place = models(1);
    let export = |folder: &std::path::Path, name: &str| {
        let call = place.archi3d(&["export", "--run-id", "rk"]).arg(folder);
        call.arg("--name").arg(name).run()
    };
    let out = place.outside().join("out");
    let _ = export(&out, "").expect_code(2).expect_stderr("empty");
    for folder in [
        "runs",
        "runs/rk/outputs",
        "runs/new/deeper",
        "dataset/../runs/x",
    ] {
        let told = export(&place.path(folder), "{job_id}").expect_code(2);
        let _ = told.expect_stderr("holds the runs themselves");
    }
    assert!(!place.path("runs/new").exists() && !out.exists());
}

#[test]
fn an_export_of_nothing_says_why() {
    let place = TestWorkspace::with_products(2).algo("relief").build();
    let out = place.outside().join("out");
    let told = place.archi3d(&["export", "--run-id", "rk"]).arg(&out).run();
    let _ = told
        .expect_code(5)
        .expect_stdout("no matching job of run rk has a model (2 enqueued)");
}
