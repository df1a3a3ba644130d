//! `report build`: the page, its figures and its files.

use std::fs;
use std::time::SystemTime;

use serde_json::Value;

use crate::support::TestWorkspace;

const PRICED: &str = "adapters:
  priced: {kind: mock, unit_price_usd: 0.25}
";

/// Three products, made with a priced algo.
fn made() -> TestWorkspace {
    let place = TestWorkspace::with_products(3)
        .algo("priced")
        .adapters(PRICED)
        .build();
    let _ = place.worker(&[]).run().expect_code(0);
    place
}

/// Reads what the page of a report gets.
fn data(place: &TestWorkspace, folder: &str) -> Value {
    let script = fs::read_to_string(place.path(&format!("{folder}/data.js"))).expect("data.js");
    let json = script
        .strip_prefix("window.archi3dData=")
        .and_then(|rest| rest.strip_suffix(";\n"))
        .expect("one assignment");
    assert!(!json.contains('<'), "nothing can begin markup");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn a_report_holds_its_page_models_and_pictures_of_them() {
    let place = made();
    let built = place
        .archi3d(&["report", "build", "rk", "--single-file"])
        .run()
        .expect_code(0)
        .expect_stdout("reports/rk/index.html")
        .expect_stdout("3 jobs of 3 items");
    for file in [
        "index.html",
        "app.js",
        "app.css",
        "viewer.js",
        "draco.js",
        "LICENSES.txt",
    ] {
        assert!(
            place.path(&format!("reports/rk/{file}")).exists(),
            "{file}: {built}"
        );
    }
    let data = data(&place, "reports/rk");
    let model = &data["jobs"][0]["model"];
    let hash = model["sha256"].as_str().expect("a hash");
    assert_eq!(model["poster"], true, "{model}");
    assert!(
        place
            .path(&format!("reports/rk/posters/{hash}.jpg"))
            .exists()
    );
    let payload = place.path(&format!("reports/rk/models/{hash}.glb.txt"));
    let text = fs::read_to_string(payload).expect("a payload");
    assert!(
        text.starts_with(&format!("archi3d.model(\"{hash}\",\"H4sI")),
        "gzip as base64"
    );
    let single = fs::read_to_string(place.path("reports/rk/report.html")).expect("one file");
    assert!(single.contains(&format!("id=\"file:models/{hash}.glb.txt\"")));
}

#[test]
fn the_figures_of_a_report_are_those_of_the_other_commands() {
    let place = made();
    let _ = place
        .archi3d(&["report", "build", "rk"])
        .run()
        .expect_code(0);
    let cost = place
        .archi3d(&["cost", "report", "--run-id", "rk", "--json"])
        .run()
        .expect_code(0);
    let cost = cost.json();
    let data = data(&place, "reports/rk");
    let sum = |list: &Value, field: &str| -> i64 {
        let list = list.as_array().expect("a list");
        list.iter().filter_map(|one| one[field].as_i64()).sum()
    };
    assert_eq!(sum(&data["costs"], "spent_micros"), 750_000, "{data}");
    assert_eq!(sum(&data["jobs"], "cost_micros"), 750_000, "{data}");
    let billed = cost["total"]["billed_usd"].as_f64().expect("a sum");
    assert!((billed - 0.75).abs() < 1e-9, "{cost}");
}

#[test]
fn rehearsals_are_left_out_and_counted() {
    let place = TestWorkspace::with_products(2)
        .algo("priced")
        .adapters(PRICED)
        .build();
    let _ = place.worker(&["--dry-run"]).run().expect_code(0);
    let _ = place.archi3d(&["report", "build"]).run().expect_code(0);
    let data = data(&place, "reports/rk");
    assert_eq!(data["jobs"].as_array().map(Vec::len), Some(0));
    assert_eq!(data["left_out"][0]["jobs"], 2);
}

#[test]
fn building_again_writes_only_what_is_new() {
    let place = made();
    let build = || {
        place
            .archi3d(&["report", "build", "rk"])
            .run()
            .expect_code(0)
    };
    let _ = build();
    let times = || -> Vec<(String, SystemTime)> {
        let mut found = Vec::new();
        for kind in ["posters", "models"] {
            for entry in fs::read_dir(place.path(&format!("reports/rk/{kind}"))).expect("listed") {
                let entry = entry.expect("an entry");
                let modified = entry
                    .metadata()
                    .expect("metadata")
                    .modified()
                    .expect("a time");
                found.push((entry.file_name().to_string_lossy().into_owned(), modified));
            }
        }
        found.sort();
        found
    };
    let first = times();
    let _ = build();
    assert_eq!(times(), first);
}

#[test]
fn damaged_and_missing_models_are_told_in_a_sentence_and_the_rest_is_shown() {
    let place = made();
    let model = |job: usize| format!("runs/rk/outputs/{}/generated.glb", place.jobs()[job].id);
    place.write(&model(0), b"glTF\x02\0\0\0\x0c\0\0\0");
    fs::remove_file(place.path(&model(1))).expect("removed");
    let _ = place
        .archi3d(&["report", "build", "rk"])
        .run()
        .expect_code(0)
        .expect_stdout("2 models could not be drawn");
    let data = data(&place, "reports/rk");
    let notes: Vec<&str> = data["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .filter_map(|job| job["model"]["note"].as_str())
        .collect();
    assert_eq!(notes.len(), 2, "{data}");
    assert!(
        notes.iter().any(|note| note.contains("missing")),
        "{notes:?}"
    );
    assert!(
        notes.iter().any(|note| note.contains("no JSON")),
        "{notes:?}"
    );
}

#[test]
fn a_folder_that_is_no_report_is_never_written_into() {
    let place = made();
    place.write("mine/notes.txt", b"keep");
    let mine = format!("--out={}", place.path("mine").display());
    let _ = place
        .archi3d(&["report", "build", "rk", &mine])
        .run()
        .expect_code(2)
        .expect_stderr("holds no report");
    let _ = place
        .archi3d(&["report", "build", "nope"])
        .run()
        .expect_code(2)
        .expect_stderr("run nope does not exist");
    assert_eq!(fs::read_dir(place.path("mine")).expect("listed").count(), 1);
}
