//! `compute`: models measured against the real ones, by the program and by others.

use std::f64::consts::PI;
use std::fs;

use serde_json::{Value, json};

use crate::support::shapes::{Shape, chair, made};
use crate::support::{Invocation, TestWorkspace, python_with_scores};

/// Few points: enough to tell good from bad, and quick.
const FEW: &str = "12000";

fn fscore(place: &TestWorkspace, more: &[&str]) -> Value {
    let words = ["compute", "fscore", "rk", "--json"];
    let call = place.archi3d(&[&words[..], more].concat());
    call.run().json()
}

fn cell(place: &TestWorkspace, row: usize, column: &str) -> String {
    let rows = place.registry().rows;
    rows[row].get(column).unwrap_or_default().to_owned()
}

fn number(place: &TestWorkspace, row: usize, column: &str) -> f64 {
    let text = cell(place, row, column);
    text.parse()
        .unwrap_or_else(|_| panic!("{column}: {text:?}"))
}

/// A thin card with the outline of the chair.
fn card() -> Shape {
    Shape::default().block([0.0, 0.55, 0.0], [0.26, 0.55, 0.004])
}

#[test]
fn scores_stand_in_the_table_and_beside_the_run_and_are_not_made_twice() {
    let turn = |[x, y, z]: [f32; 3]| [2.0 * z + 5.0, 2.0 * y, 3.0 - 2.0 * x];
    let place = made(&[
        (chair().moved(turn).glb(), Some(chair().glb())),
        (card().glb(), Some(chair().glb())),
        (chair().glb(), None),
    ]);
    let before = place.registry();
    let report = fscore(&place, &["--n-points", FEW, "--dry-run"]);
    assert_eq!(
        (&report["pending"], &report["without_truth"]),
        (&2.into(), &1.into())
    );
    let report = fscore(&place, &["--n-points", FEW]);
    assert_eq!(report["scored"], 2, "{report}");
    assert_eq!(report["without_truth"], 1, "{report}");
    assert!(number(&place, 0, "fscore") > 0.97);
    assert!(number(&place, 1, "fscore") < 0.3, "a flat card is no chair");
    assert_eq!(cell(&place, 0, "fscore_status"), "ok");
    assert_eq!(cell(&place, 0, "fscore_pose"), "upright");
    assert_eq!(cell(&place, 0, "fscore_tool_version"), "archi3d-fscore-1");
    assert!((number(&place, 0, "fscore_scale") - 0.5).abs() < 0.005);
    // A quarter around the upright axis, back.
    assert!((number(&place, 0, "fscore_rot_y").abs() - (PI / 4.0).sin()).abs() < 0.01);
    assert_eq!(cell(&place, 2, "fscore_status"), "");
    for (old, new) in before.rows.iter().zip(&place.registry().rows) {
        assert_eq!(old["status"], new["status"], "other cells stay as they are");
    }
    let job = cell(&place, 0, "job_id");
    let path = format!("runs/rk/metrics/fscore/{job}/result.json");
    let result: Value = serde_json::from_slice(&place.bytes(&path)).expect("JSON");
    let kept = result["columns"]["fscore"].as_f64().expect("a number");
    assert!((kept - number(&place, 0, "fscore")).abs() < 1e-9);
    let table = place.bytes("tables/generations.csv");
    let report = fscore(&place, &["--n-points", FEW]);
    assert_eq!(
        (&report["scored"], &report["up_to_date"]),
        (&0.into(), &2.into())
    );
    assert!(place.bytes("tables/generations.csv") == table, "{report}");
}

#[test]
fn what_was_measured_before_a_kill_is_brought_in_and_a_new_model_is_measured_anew() {
    let place = made(&[(chair().glb(), Some(chair().glb()))]);
    let without = place.bytes("tables/generations.csv");
    let _ = fscore(&place, &["--n-points", FEW]);
    let with = place.bytes("tables/generations.csv");
    // As a kill between both writes leaves it.
    place.write("tables/generations.csv", &without);
    let report = fscore(&place, &["--n-points", FEW]);
    assert_eq!(report["up_to_date"], 1);
    assert!(place.bytes("tables/generations.csv") == with, "{report}");
    place.write("made/101.glb", &card().glb());
    let _ = place.worker(&["--redo"]).run().expect_code(0);
    let _ = place
        .archi3d(&["report", "build", "rk"])
        .run()
        .expect_code(0);
    let page = fs::read_to_string(place.path("reports/rk/data.js")).expect("data");
    assert!(page.contains("\"score\":null"), "a score is of one file");
    let report = fscore(&place, &["--n-points", FEW]);
    assert_eq!(report["scored"], 1, "{report}");
    assert!(number(&place, 0, "fscore") < 0.3);
    let _ = place
        .archi3d(&["report", "build", "rk"])
        .run()
        .expect_code(0);
    let page = fs::read_to_string(place.path("reports/rk/data.js")).expect("data");
    assert!(page.contains("\"pose\":{\"scale\":"), "{page}");
}

#[test]
fn what_cannot_be_measured_says_why_and_costs_nothing_else() {
    let place = made(&[
        (chair().glb(), Some(b"glTF and nothing else".to_vec())),
        (chair().glb(), Some(chair().glb())),
        (chair().glb(), None),
    ]);
    place.write("dataset/103/gt/real.fbx", b"Kaydara");
    let path = "tables/generations.csv";
    let table = String::from_utf8(place.bytes(path)).expect("text");
    let header = table.trim_start_matches('\u{feff}').lines().next();
    let names = header.expect("a header").split(',');
    let at = names.into_iter().position(|name| name == "gt_object_path");
    let lines: Vec<String> = table
        .lines()
        .map(|line| {
            let mut cells: Vec<&str> = line.split(',').collect();
            if cells[0] == "103" {
                cells[at.expect("the column")] = "dataset/103/gt/real.fbx";
            }
            cells.join(",")
        })
        .collect();
    place.write(path, (lines.join("\n") + "\n").as_bytes());
    let told = place
        .archi3d(&["compute", "fscore", "rk", "--n-points", FEW])
        .run()
        .expect_code(1)
        .expect_stdout("1 model measured, 2 failed")
        .expect_stderr("convert it to GLB");
    assert_eq!(cell(&place, 0, "fscore_status"), "error", "{told}");
    assert!(cell(&place, 0, "fscore_error").contains("the real model"));
    assert_eq!(cell(&place, 0, "fscore"), "");
    assert_eq!(cell(&place, 1, "fscore_status"), "ok");
    let _ = place
        .archi3d(&["compute", "fscore", "rk", "--item", "999"])
        .run()
        .expect_code(5);
    let _ = place
        .archi3d(&["compute", "fscore", "rk", "--n-points", "3"])
        .run()
        .expect_code(2);
}

const SCORER: &str = "
import json, sys
request = json.loads(sys.stdin.readline())
extra = request['extra']
size = len(open(extra['generated_glb'], 'rb').read())
if request['product_id'] == '102':
    print(json.dumps({'event': 'error', 'class': 'bad_input', 'message': 'too ugly'}))
    sys.exit()
open('seen.txt', 'w').write(str(extra['gt_object']))
print(json.dumps({'event': 'result', 'success': True, 'algo_version': '7',
                  'raw_metadata': {'look_bytes': size, 'look_good': True, 'look_word': '=1+1'}}))
";

#[test]
fn a_program_in_any_language_fills_columns_of_its_own() {
    let place = made(&[
        (chair().glb(), Some(chair().glb())),
        (chair().glb(), None),
        (chair().glb(), None),
    ]);
    place.write("tools/look.py", SCORER.as_bytes());
    let entry = "scorers:\n  look:\n    command: [python3, tools/look.py]\n";
    place.write("config/scorers.yaml", entry.as_bytes());
    let score = || place.archi3d(&["compute", "scorer", "look", "rk"]).run();
    let _ = score()
        .expect_code(1)
        .expect_stdout("look: 2 models measured, 1 failed")
        .expect_stderr("too ugly");
    assert_eq!(cell(&place, 0, "look_status"), "ok");
    assert_eq!(cell(&place, 0, "look_tool_version"), "7");
    assert_eq!(cell(&place, 0, "look_good"), "True");
    assert_eq!(cell(&place, 0, "look_word"), "'=1+1");
    let size = chair().glb().len().to_string();
    assert_eq!(cell(&place, 2, "look_bytes"), size);
    assert_eq!(cell(&place, 1, "look_status"), "error");
    assert_eq!(cell(&place, 1, "look_error"), "too ugly");
    let job = cell(&place, 0, "job_id");
    let seen = place.bytes(&format!("runs/rk/metrics/look/{job}/seen.txt"));
    assert!(String::from_utf8_lossy(&seen).ends_with("dataset/101/gt/real.glb"));
    let build = place.archi3d(&["report", "build", "rk"]).run();
    let _ = build.expect_code(0);
    let data = String::from_utf8(place.bytes("reports/rk/data.js")).expect("text");
    let shown = format!("{{\"name\":\"look_bytes\",\"value\":\"{size}\"}}");
    assert_eq!(data.matches(&shown).count(), 2, "{data}");
    assert!(!data.contains("look_tool_version"), "{data}");
    // What failed is tried again, the rest is not.
    let _ = score()
        .expect_code(1)
        .expect_stdout("0 models measured, 2 up to date, 1 failed");
    let odd = SCORER.replace("'look_bytes': size", "'look_bytes': float('nan')");
    place.write("tools/look.py", odd.as_bytes());
    let _ = place
        .archi3d(&["compute", "scorer", "look", "rk", "--redo"])
        .run()
        .expect_code(1)
        .expect_stderr("its score look_bytes is \"NaN\", not a number");
    assert_eq!(cell(&place, 0, "look_status"), "error");
    let stray = SCORER.replace("look_bytes", "status");
    place.write("tools/look.py", stray.as_bytes());
    let _ = place
        .archi3d(&["compute", "scorer", "look", "rk", "--redo"])
        .run()
        .expect_code(1)
        .expect_stderr("begins with look");
    assert_eq!(cell(&place, 0, "status"), "completed");
    let _ = place
        .archi3d(&["compute", "scorer", "other"])
        .run()
        .expect_code(2)
        .expect_stderr("known: look");
}

/// Pairs that differ as models of services do, in poses that must be found.
fn pairs() -> Vec<(Shape, Shape)> {
    let spin = |angle: f32| {
        move |[x, y, z]: [f32; 3]| {
            let (sin, cos) = angle.sin_cos();
            [cos * x + sin * z, y, cos * z - sin * x]
        }
    };
    let lamp = || {
        Shape::default()
            .ball([0.0, 0.9, 0.0], [0.2, 0.12, 0.2])
            .block([0.0, 0.45, 0.0], [0.015, 0.4, 0.015])
            .block([0.05, 0.02, 0.0], [0.15, 0.02, 0.1])
    };
    let sofa = |arm: f32| {
        Shape::default()
            .block([0.0, 0.2, 0.0], [0.9, 0.1, 0.4])
            .block([0.0, 0.5, -0.35], [0.9, 0.3, 0.08])
            .block([0.85, 0.35, 0.0], [0.08, arm, 0.4])
    };
    let bent = |[x, y, z]: [f32; 3]| [x + 0.04 * y * y, y, z + 0.02 * (9.0 * y).sin()];
    let rough = |[x, y, z]: [f32; 3]| {
        let wave = 0.006 * ((37.0 * x).sin() + (29.0 * y).cos() + (23.0 * z).sin());
        [x + wave, y - wave, z + wave]
    };
    vec![
        (chair(), chair()),
        (chair().moved(bent).moved(spin(0.7)), chair()),
        (
            chair().moved(rough).moved(|at| at.map(|v| 0.37 * v + 2.0)),
            chair(),
        ),
        (lamp().moved(spin(2.0)), lamp()),
        (lamp().moved(bent), lamp()),
        (sofa(0.15).moved(spin(-1.2)), sofa(0.25)),
        (
            sofa(0.25).moved(rough).moved(|at| at.map(|v| 3.0 * v)),
            sofa(0.25),
        ),
        (Shape::default().ball([0.0; 3], [0.3, 0.5, 0.3]), lamp()),
    ]
}

/// Takes two files and a pose, samples and measures with other tools.
const PEERS: &str = "
import json, sys
import numpy, trimesh
from scipy.spatial import cKDTree
case = json.loads(sys.argv[1])
load = lambda path: trimesh.load(path, force='mesh', process=False)
made, real = load(case['made']), load(case['real'])
pose = numpy.eye(4)
pose[:3, :3] = trimesh.transformations.quaternion_matrix(case['turn'])[:3, :3] * case['scale']
pose[:3, 3] = case['shift']
made.apply_transform(pose)
a = trimesh.sample.sample_surface(made, case['points'], seed=7)[0]
b = trimesh.sample.sample_surface(real, case['points'], seed=8)[0]
there, back = cKDTree(b).query(a)[0], cKDTree(a).query(b)[0]
limit = 0.01 * numpy.linalg.norm(real.bounds[1] - real.bounds[0])
precision, recall = (there <= limit).mean(), (back <= limit).mean()
print(json.dumps({'fscore': 2 * precision * recall / (precision + recall),
                  'precision': precision, 'recall': recall,
                  'chamfer_l2': (there ** 2).mean() + (back ** 2).mean()}))
";

#[test]
fn trimesh_and_scipy_find_the_same_f_scores() {
    let Some(python) = python_with_scores() else {
        return;
    };
    let pairs = pairs();
    let files: Vec<_> = pairs
        .iter()
        .map(|(a, b)| (a.glb(), Some(b.glb())))
        .collect();
    let place = made(&files);
    for row in 0..pairs.len() {
        let product = (101 + row).to_string();
        let report = fscore(&place, &["--item", &product]);
        assert_eq!(report["scored"], 1, "{report}");
        let get = |name: &str| number(&place, row, &format!("fscore_{name}"));
        let case = json!({
            "made": place.path(&cell(&place, row, "gen_object_path")),
            "real": place.path(&format!("dataset/{product}/gt/real.glb")),
            "scale": get("scale"),
            "turn": [get("rot_w"), get("rot_x"), get("rot_y"), get("rot_z")],
            "shift": [get("tx"), get("ty"), get("tz")],
            "points": 100_000,
        });
        let found = Invocation::program(&python, ["-c", PEERS, &case.to_string()]).run();
        let theirs = found.expect_code(0).json();
        for (name, most) in [
            ("fscore", 0.005),
            ("precision", 0.008),
            ("recall", 0.008),
            ("chamfer_l2", 5e-5),
        ] {
            let ours = number(&place, row, name);
            let theirs = theirs[name].as_f64().expect("a number");
            let share = if name == "chamfer_l2" {
                0.03 * theirs
            } else {
                0.0
            };
            assert!(
                (ours - theirs).abs() < most + share,
                "pair {row}, {name}: {ours} and {theirs}"
            );
        }
    }
    let best = number(&place, 0, "fscore");
    assert!(best > 0.999 && number(&place, 7, "fscore") < 0.3, "{best}");
}
