//! `demo`: from nothing to finished models with one command.

use std::fs;

use crate::support::binary::Output;
use crate::support::{Invocation, Registry, TestWorkspace};

fn demo(place: &TestWorkspace) -> Invocation {
    Invocation::archi3d(["demo", "d", "--picture-size", "24"]).current_dir(place.root())
}

/// Looks at how a finished demo ends, from wherever and whatever else is configured.
fn check_commands(place: &TestWorkspace, first: &Output) {
    assert!(first.stderr.contains("drawing pictures…"), "{first}");
    assert!(first.stdout.contains("  cd d\n"), "{first}");
    assert!(
        first.stdout.contains("archi3d report build demo --open"),
        "{first}"
    );
    let starts = [
        "the pictures",
        "one row",
        "the models",
        "everything on one page",
    ]
    .map(|what| first.stdout.lines().find_map(|line| line.find(what)));
    assert!(
        starts.iter().all(|s| s.is_some() && *s == starts[0]),
        "{first}"
    );
    let inside = Invocation::archi3d(["demo", "."])
        .current_dir(&place.path("d"))
        .run()
        .expect_code(0);
    assert!(!inside.stdout.contains("  cd "), "{inside}");
    let other = demo(place)
        .env("ARCHI3D_WORKSPACE", place.root())
        .run()
        .expect_code(0)
        .expect_stdout(&format!(
            "archi3d run worker mine --workspace {}",
            place.path("d").display()
        ));
    assert!(!other.stdout.contains("  cd "), "{other}");
}

#[test]
fn it_goes_from_nothing_to_models_and_a_second_time_runs_nothing() {
    let place = TestWorkspace::empty();
    let first = demo(&place)
        .run()
        .expect_code(0)
        .expect_stdout("Where to look:")
        .expect_stdout("What to type next:");
    let items = Registry::read(&place.path("d/tables/items.csv"));
    let products: std::collections::BTreeSet<&str> =
        items.rows.iter().map(|row| &row["product_id"]).collect();
    assert!(products.len() >= 6, "{first}");
    assert!(
        items
            .rows
            .iter()
            .any(|row| &row["variant"] == "Curved backrest")
    );
    assert!(items.rows.iter().any(|row| &row["n_images"] == "3"));
    assert!(
        items
            .rows
            .iter()
            .any(|row| !row["gt_object_path"].is_empty())
    );
    assert!(
        items
            .rows
            .iter()
            .all(|row| !row["product_name"].is_empty() && !row["category_l3"].is_empty())
    );
    let jobs = Registry::read(&place.path("d/tables/generations.csv"));
    assert_eq!(jobs.rows.len(), 2 * items.rows.len());
    for row in &jobs.rows {
        assert_eq!(&row["status"], "completed");
        let model = place.bytes(&format!("d/{}", &row["gen_object_path"]));
        assert_eq!(&model[..4], b"glTF");
    }
    let before = place.tree();
    let again = demo(&place)
        .run()
        .expect_code(0)
        .expect_stdout("everything is done already");
    assert_eq!(place.tree(), before, "{again}");
    let said = demo(&place).arg("--json").run().expect_code(0).json();
    assert_eq!(said["was_done"], true);
    let page = said["report"].as_str().expect("a page");
    assert!(page.ends_with("d/reports/demo/index.html"), "{said}");
    let _ = fs::read(page).expect("the page");
    let shown = fs::read_to_string(place.path("d/reports/demo/data.js")).expect("its data");
    assert_eq!(
        shown.matches("\"run_id\":\"demo\",\"job_id\"").count(),
        jobs.rows.len()
    );
    assert_eq!(said["counts"]["completed"], jobs.rows.len());
    check_commands(&place, &first);
}

#[test]
fn its_pictures_and_ground_truths_are_real_and_differ() {
    let place = TestWorkspace::empty();
    let _ = demo(&place).run().expect_code(0);
    let mut pictures = std::collections::BTreeSet::new();
    let (mut count, mut clear, mut models) = (0, 0, 0);
    for name in place
        .tree()
        .into_keys()
        .filter(|name| name.starts_with("d/dataset/"))
    {
        let ending = name.rsplit('.').next().unwrap_or_default();
        if ["png", "jpg"].contains(&ending) {
            let picture = image::load_from_memory(&place.bytes(&name))
                .expect("a picture")
                .to_rgba8();
            assert_eq!(picture.dimensions(), (24, 24));
            clear += usize::from(picture.pixels().any(|pixel| pixel[3] == 0));
            count += 1;
            pictures.insert(picture.into_raw());
        } else if ending == "glb" {
            let model = place.bytes(&name);
            let declared = u32::from_le_bytes(model[8..12].try_into().expect("four bytes"));
            assert_eq!(declared as usize, model.len());
            models += 1;
        }
    }
    assert!(
        count >= 10 && clear >= 2 && models >= 3,
        "{count} {clear} {models}"
    );
    assert_eq!(pictures.len(), count, "no two pictures are the same");
}

#[test]
fn a_folder_with_other_files_is_refused_and_left_alone() {
    let place = TestWorkspace::empty();
    place.write("d/thesis.txt", b"three years of work");
    let before = place.tree();
    let _ = demo(&place)
        .run()
        .expect_code(2)
        .expect_stderr("files that are not a demo's");
    assert_eq!(place.tree(), before);
    fs::remove_dir_all(place.path("d")).expect("there");
    place.write("d", b"a file");
    let _ = demo(&place).run().expect_code(2);
    let _ = demo(&place)
        .arg("--workspace")
        .arg(place.root())
        .run()
        .expect_code(2);
}

#[test]
fn a_demo_that_was_interrupted_goes_on_where_it_was() {
    let place = TestWorkspace::empty();
    let running = demo(&place).spawn();
    place.wait_for_file("d/runs/demo/manifest.csv");
    let _ = running.kill();
    let _ = demo(&place).run().expect_code(0).expect_stdout("completed");
    let jobs = Registry::read(&place.path("d/tables/generations.csv"));
    assert!(jobs.rows.iter().all(|row| &row["status"] == "completed"));
}
