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

/// Every file of a folder with the moment it was written, below `folder`.
fn written(place: &TestWorkspace, folder: &str) -> Vec<(String, SystemTime)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(place.path(folder)).expect("listed") {
        let entry = entry.expect("an entry");
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        let metadata = entry.metadata().expect("metadata");
        if metadata.is_dir() {
            found.extend(written(place, &name));
        } else {
            found.push((name, metadata.modified().expect("a time")));
        }
    }
    found.sort();
    found
}

/// Two chairs by each of three algos: one needs two attempts, one is dear, one never works.
fn mixed() -> TestWorkspace {
    let place = TestWorkspace::with_products(6)
        .algo("cheap")
        .adapters(
            "adapters:
  cheap: {kind: mock, unit_price_usd: 0.07, fail_first: 1, fail_class: transient}
  dear: {kind: mock, unit_price_usd: 0.42}
  broken: {kind: mock, unit_price_usd: 0.9, fail: no chairs today, fail_class: permanent}
",
        )
        .build();
    for file in ["tables/generations.csv", "runs/rk/manifest.csv"] {
        let text = fs::read_to_string(place.path(file)).expect("a table");
        let rows = text.lines().enumerate().map(|(number, row)| {
            let algo = ["broken", "cheap", "dear"][number % 3];
            row.replace(",cheap,", &format!(",{algo},"))
                .replace(",,,,,2,", ",Furniture,,Chairs,,2,")
        });
        place.write(
            file,
            (rows.collect::<Vec<_>>().join("\n") + "\n").as_bytes(),
        );
    }
    let _ = place
        .worker(&["--retries", "2", "--yes"])
        .run()
        .expect_code(1);
    place
}

fn sum(list: &Value, field: &str) -> i64 {
    let list = list.as_array().expect("a list");
    list.iter().filter_map(|one| one[field].as_i64()).sum()
}

#[test]
fn sums_and_states_are_those_of_cost_report_and_run_status_to_the_millionth() {
    let place = mixed();
    let json = |args: &[&str]| place.archi3d(args).run().json();
    let _ = json(&["report", "build", "rk", "--json"]);
    let data = data(&place, "reports/rk");
    let cost = json(&["cost", "report", "rk", "--json"]);
    let status = json(&["run", "status", "rk", "--json"]);
    let micros = |usd: &Value| -> i64 {
        let micros = usd.as_f64().expect("dollars") * 1e6;
        format!("{micros:.0}").parse().expect("a whole number")
    };
    let spent = sum(&data["costs"], "spent_micros");
    assert_eq!(spent, micros(&cost["total"]["billed_usd"]), "{cost}");
    assert_eq!(spent, micros(&status["money"]["spent_usd"]), "{status}");
    assert_eq!(spent, sum(&data["jobs"], "cost_micros"));
    for line in cost["lines"].as_array().expect("lines") {
        let of_algo = data["costs"].as_array().expect("costs").iter();
        let mut of_algo = of_algo.filter(|one| one["algo"] == line["algo"]);
        let page = of_algo.next().expect("a line of it");
        assert_eq!(page["spent_micros"], micros(&line["billed_usd"]), "{line}");
    }
    let jobs = data["jobs"].as_array().expect("jobs");
    for state in ["completed", "failed", "enqueued", "running"] {
        let shown = jobs.iter().filter(|job| job["state"] == state).count();
        assert_eq!(status["counts"][state], shown, "{state}: {status}");
    }
}

#[test]
fn filters_choose_what_a_report_shows_and_what_it_counts() {
    let place = mixed();
    let build = |args: &[&str]| {
        let words = [&["report", "build", "rk"], args].concat();
        place.archi3d(&words).run()
    };
    let shown = |args: &[&str]| {
        let _ = build(args).expect_code(0);
        data(&place, "reports/rk")
    };
    let algos = |data: &Value| -> Vec<String> {
        let jobs = data["jobs"].as_array().expect("jobs").iter();
        jobs.map(|job| job["algo"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let dear = shown(&["--algo", "dear"]);
    assert_eq!(algos(&dear), ["dear"; 2]);
    assert_eq!(sum(&dear["costs"], "spent_micros"), 2 * 420_000, "{dear}");
    assert_eq!(dear["left_out"][0]["jobs"], 4);
    assert_eq!(dear["left_out"][0]["reason"], "not chosen by --algo");
    let failed = shown(&["--only-status", "failed"]);
    assert_eq!(algos(&failed), ["broken"; 2]);
    let job = place.jobs()[0].id.clone();
    assert_eq!(algos(&shown(&["--jobs", &job])).len(), 1);
    let item = dear["items"][0]["product_id"].as_str().expect("a product");
    assert_eq!(algos(&shown(&["--item", item])).len(), 1);
    assert_eq!(algos(&shown(&["--category", "Chairs"])).len(), 6);
    assert_eq!(algos(&shown(&["--category", "Furniture"])).len(), 6);
    let _ = build(&["--algo", "deer"])
        .expect_code(2)
        .expect_stderr("no job fits --algo")
        .expect_stderr("did you mean `dear`?");
    let _ = build(&["--category", "Spaceships"])
        .expect_code(2)
        .expect_stderr("there is no category Spaceships");
}

#[test]
fn a_zip_holds_the_whole_report() {
    let place = made();
    let _ = place
        .archi3d(&["report", "build", "rk", "--zip"])
        .run()
        .expect_code(0)
        .expect_stdout("reports/rk.zip");
    let unpacked = std::process::Command::new("python3")
        .args(["-m", "zipfile", "-e"])
        .arg(place.path("reports/rk.zip"))
        .arg(place.path("unpacked"))
        .status();
    assert!(unpacked.expect("python3").success());
    for (name, _) in written(&place, "reports/rk") {
        let short = name.trim_start_matches("reports/");
        if short.contains("/.") {
            continue;
        }
        let packed = fs::read(place.path(&format!("unpacked/{short}"))).expect(short);
        assert!(
            packed == fs::read(place.path(&name)).expect("read"),
            "{short}"
        );
    }
}

#[test]
fn building_again_touches_no_file_but_the_data() {
    let place = made();
    let build = || {
        let _ = place
            .archi3d(&["report", "build", "rk"])
            .run()
            .expect_code(0);
        let mut files = written(&place, "reports/rk");
        files.retain(|(name, _)| !name.ends_with("/data.js") && !name.contains("/.archi3d"));
        files
    };
    let first = build();
    assert!(first.len() > 6, "{first:?}");
    assert_eq!(build(), first);
}

#[test]
fn two_builders_at_once_give_one_whole_report() {
    let place = made();
    let builders: Vec<_> = ["", "--models=none"]
        .iter()
        .map(|more| {
            let words: Vec<&str> = ["report", "build", "rk", more]
                .into_iter()
                .filter(|word| !word.is_empty())
                .collect();
            place.archi3d(&words).spawn()
        })
        .collect();
    for builder in builders {
        let _ = builder.wait().expect_code(0);
    }
    let data = data(&place, "reports/rk");
    for job in data["jobs"].as_array().expect("jobs") {
        let hash = job["model"]["sha256"].as_str().expect("a hash");
        assert!(
            place
                .path(&format!("reports/rk/posters/{hash}.jpg"))
                .exists()
        );
        if job["model"]["payload"] == true {
            let payload = place.path(&format!("reports/rk/models/{hash}.glb.txt"));
            assert!(payload.exists());
        }
    }
    let left = written(&place, "reports/rk");
    assert!(
        left.iter().all(|(name, _)| !name.contains(".tmp")),
        "{left:?}"
    );
}

#[test]
fn a_build_that_was_cut_off_can_be_done_again_and_foreign_data_are_never_replaced() {
    let place = made();
    // What a killed build leaves: its mark and some posters, but no page.
    place.write("reports/rk/.archi3d-report.json", b"{}");
    place.write("reports/rk/posters/half.jpg", b"");
    let _ = place
        .archi3d(&["report", "build", "rk"])
        .run()
        .expect_code(0);
    place.write("mine/data.js", b"const prices = [1, 2, 3];");
    let mine = format!("--out={}", place.path("mine").display());
    let _ = place
        .archi3d(&["report", "build", "rk", &mine])
        .run()
        .expect_code(2)
        .expect_stderr("holds no report");
    let kept = fs::read(place.path("mine/data.js")).expect("kept");
    assert_eq!(kept, b"const prices = [1, 2, 3];");
}

#[test]
fn money_of_jobs_whose_rows_are_gone_stays_in_the_sum() {
    let place = made();
    let table = place.path("tables/generations.csv");
    let text = fs::read_to_string(&table).expect("the table");
    let mut lines: Vec<&str> = text.lines().collect();
    let gone = lines.pop().expect("a row");
    assert!(gone.contains("priced"));
    fs::write(&table, lines.join("\n") + "\n").expect("written");
    let _ = place
        .archi3d(&["report", "build", "rk"])
        .run()
        .expect_code(0);
    let data = data(&place, "reports/rk");
    assert_eq!(data["jobs"].as_array().map(Vec::len), Some(2));
    assert_eq!(sum(&data["costs"], "spent_micros"), 750_000, "{data}");
}

#[test]
fn a_single_file_holds_only_what_this_report_shows() {
    let place = made();
    let _ = place
        .archi3d(&["report", "build", "rk"])
        .run()
        .expect_code(0);
    let _ = place
        .archi3d(&["report", "build", "rk", "--models", "none", "--single-file"])
        .run()
        .expect_code(0);
    let single = fs::read_to_string(place.path("reports/rk/report.html")).expect("one file");
    assert!(!single.contains("file:models/"));
    assert!(single.contains("file:posters/"));
}

#[test]
fn whoever_looks_while_it_is_built_finds_everything_that_the_page_names() {
    let place = made();
    let outputs: Vec<String> = place.jobs().iter().map(|job| job.id.clone()).collect();
    let whole = || {
        let folder = place.path("reports/rk");
        let has_page = folder.join("index.html").exists();
        let Ok(script) = fs::read_to_string(folder.join("data.js")) else {
            assert!(!has_page, "a page without data");
            return 0;
        };
        let data: Value =
            serde_json::from_str(&script["window.archi3dData=".len()..script.len() - 2])
                .expect("never half of it");
        for job in data["jobs"].as_array().expect("jobs") {
            let hash = job["model"]["sha256"].as_str().expect("a hash");
            for name in [
                format!("posters/{hash}.jpg"),
                format!("models/{hash}.glb.txt"),
            ] {
                assert!(folder.join(&name).exists(), "{name} is named and missing");
            }
        }
        1
    };
    for output in outputs.iter().take(2) {
        let mut builder = place.archi3d(&["report", "build", "rk"]).spawn();
        while !builder.has_ended() {
            let _ = whole();
        }
        let _ = builder.wait().expect_code(0);
        assert_eq!(whole(), 1);
        // Another model for the next round: what is in a chunk of its own changes its content.
        let path = format!("runs/rk/outputs/{output}/generated.glb");
        let mut model = fs::read(place.path(&path)).expect("a model");
        let length = model.len();
        model.extend([4, 0, 0, 0, b'M', b'I', b'N', b'E', 1, 2, 3, 4]);
        let total = u32::try_from(length + 12).expect("small");
        model[8..12].copy_from_slice(&total.to_le_bytes());
        place.write(&path, &model);
    }
}
