//! `doctor` where records were lost or spoilt: what is lost is told as what it is, and the remedy
//! that is named is one.

use std::fs;

use crate::support::mocks::executions;
use crate::support::workspace::TestWorkspace;

use super::doctor::{REGISTRY, codes, doctor, finished, found, job, waiting};

const COPY: &str = "tables/generations-NODE7.csv";

/// What a worker writes when a job ends.
const ENDING: [&str; 5] = [
    "generation_end",
    "generation_duration_s",
    "unit_price_usd",
    "estimated_cost_usd",
    "gen_object_path",
];

/// Sets cells of the registry's first `rows` rows.
pub fn set_cells(workspace: &TestWorkspace, rows: usize, cells: &[(&str, &str)]) {
    let table = workspace.registry();
    let mut writer = csv::Writer::from_writer(b"\xef\xbb\xbf".to_vec());
    writer.write_record(&table.columns).expect("in memory");
    for (number, row) in table.rows.iter().enumerate() {
        let cell = |column: &String| {
            let new = cells.iter().find(|(name, _)| name == column);
            let new = new.filter(|_| number < rows).map(|(_, text)| *text);
            new.unwrap_or(&row[column]).to_owned()
        };
        let record: Vec<String> = table.columns.iter().map(cell).collect();
        writer.write_record(&record).expect("in memory");
    }
    workspace.write(REGISTRY, &writer.into_inner().expect("in memory"));
}

/// Makes the registry forget how its first `rows` rows ended.
fn forget_endings(workspace: &TestWorkspace, rows: usize, status: &str) {
    let mut cells = ENDING.map(|column| (column, "")).to_vec();
    cells.push(("status", status));
    set_cells(workspace, rows, &cells);
}

#[test]
fn a_copy_with_endings_that_the_table_lost_is_no_copy_with_nothing_new() {
    for status in ["running", "enqueued"] {
        let workspace = finished();
        workspace.write(COPY, &workspace.bytes(REGISTRY));
        forget_endings(&workspace, 2, status);
        fs::remove_dir_all(workspace.path("runs/rk/state")).expect("there");
        let output = doctor(&workspace, &[]).expect_code(1);
        let finding = found(&output, "conflict_copy");
        let what = finding["what"].as_str().expect("a sentence");
        assert!(
            what.contains("2 rows (") && what.contains("ending that the table does not have"),
            "{what}"
        );
        assert_eq!(finding["places"].as_array().map(Vec::len), Some(2));
        assert!(finding["fix"].to_string().contains("consolidate"));
    }
}

#[test]
fn a_copy_that_knows_the_price_of_the_same_ending_has_news() {
    let workspace = finished();
    workspace.write(COPY, &workspace.bytes(REGISTRY));
    set_cells(&workspace, 1, &[("gen_object_path", "")]);
    let output = doctor(&workspace, &[]).expect_code(1);
    let what = found(&output, "conflict_copy")["what"].to_string();
    assert!(
        what.contains("with text where the table is blank"),
        "{what}"
    );
}

#[test]
fn what_an_earlier_attempt_left_in_a_copy_is_no_news() {
    let workspace = finished();
    workspace.write(COPY, &workspace.bytes(REGISTRY));
    let again = ["--redo", "--jobs", &job(&workspace, 0)];
    let _ = workspace.worker(&again).run().expect_code(0);
    let output = doctor(&workspace, &[]).expect_code(0);
    assert_eq!(codes(&output), ["copy_of_table"], "{output}");
}

#[test]
fn copies_of_other_files_of_ours_are_named() {
    let workspace = finished();
    workspace.write("tables/items (1).csv", &workspace.bytes("tables/items.csv"));
    let manifest = workspace.bytes("runs/rk/manifest.csv");
    workspace.write("runs/rk/manifest - Copy.csv", &manifest);
    let output = doctor(&workspace, &[]).expect_code(0);
    assert_eq!(codes(&output), ["copy_of_file", "copy_of_file"], "{output}");
    // Money that only a copy knows is in no sum.
    workspace.write("tables/budget.jsonl", b"{\"a\":1}\n");
    workspace.write("tables/budget-NODE7.jsonl", b"{\"a\":1}\n{\"a\":2}\n");
    let output = doctor(&workspace, &[]).expect_code(1);
    let what = found(&output, "conflict_copy")["what"].to_string();
    assert!(what.contains("1 line that it lacks"), "{what}");
}

#[test]
fn running_rows_that_nobody_holds_are_told_and_their_whole_results_brought_in() {
    let workspace = finished();
    let bought = executions(&workspace).len();
    forget_endings(&workspace, 3, "running");
    fs::remove_dir_all(workspace.path("runs/rk/state")).expect("there");
    // Of the third nobody can tell whether it is whole.
    let model = format!("runs/rk/outputs/{}/generated.glb", job(&workspace, 2));
    let mut bytes = workspace.bytes(&model);
    *bytes.last_mut().expect("not empty") ^= 1;
    workspace.write(&model, &bytes);
    let output = doctor(&workspace, &[]).expect_code(1);
    let finding = found(&output, "running_without_holder");
    let what = finding["what"].as_str().expect("a sentence");
    assert!(what.starts_with("2 jobs ("), "{output}");
    assert!(what.contains("whole result"), "{output}");
    let fix = finding["fix"].as_str().expect("a command").to_owned();
    assert!(fix.contains(" consolidate --run-id rk"), "{fix}");
    assert_eq!(codes(&output).len(), 2, "{output}");
    let _ = workspace
        .archi3d(&["consolidate", "--run-id", "rk"])
        .run()
        .expect_code(0);
    let rows = workspace.registry().rows;
    let statuses: Vec<&str> = rows.iter().map(|row| &row["status"]).collect();
    assert_eq!(statuses, ["completed", "completed", "running"]);
    assert!(rows[0]["gen_object_path"].ends_with("/generated.glb"));
    // What was brought in is not bought again.
    let resume = ["--only-status", "enqueued,running"];
    let _ = workspace.worker(&resume).run();
    // Nor is the one that nobody can tell of: a person is asked.
    assert_eq!(executions(&workspace).len(), bought);
    let third = job(&workspace, 2);
    assert_eq!(&workspace.row(&third)["status"], "failed");
    let adopt = ["run", "adopt", "--run-id", "rk", &third];
    let _ = workspace.archi3d(&adopt).run().expect_code(0);
    let _ = doctor(&workspace, &["--deep"]).expect_code(0);
}

#[test]
fn a_rehearsal_that_nobody_holds_is_never_taken_for_a_result() {
    let workspace = waiting("good");
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    set_cells(
        &workspace,
        3,
        &[
            ("status", "running"),
            ("price_source", ""),
            ("algo_version", ""),
        ],
    );
    fs::remove_dir_all(workspace.path("runs/rk/state")).expect("there");
    let _ = doctor(&workspace, &[]).expect_code(1);
    let _ = workspace
        .archi3d(&["consolidate", "--run-id", "rk"])
        .run()
        .expect_code(0);
    assert_eq!(workspace.registry().count("running"), 3);
}

#[test]
fn a_status_of_somebody_else_and_a_job_without_a_row_are_called_what_they_are() {
    let workspace = waiting("good");
    set_cells(&workspace, 1, &[("status", "weird")]);
    let table = String::from_utf8(workspace.bytes(REGISTRY)).expect("text");
    let kept: Vec<&str> = table.split_inclusive('\n').take(3).collect();
    workspace.write(REGISTRY, kept.concat().as_bytes());
    let output = doctor(&workspace, &[]).expect_code(1);
    let what = found(&output, "unknown_status")["what"].to_string();
    assert!(what.contains("weird"), "{what}");
    found(&output, "job_without_row");
    let status = ["run", "status", "--run-id", "rk"];
    let _ = workspace
        .archi3d(&status)
        .run()
        .expect_code(0)
        .expect_stdout("1 enqueued, 1 with an unknown status, 1 without a row");
    let output = workspace
        .worker(&[])
        .run()
        .expect_code(0)
        .expect_stderr("1 with an unknown status, 1 without a row")
        .expect_stderr("1 job of the manifest has no row");
    assert!(!output.stderr.contains("cancel"), "{output}");
    let told = workspace
        .archi3d(&[&status[..], &["--json"]].concat())
        .run();
    let (json, count) = (told.json(), |name: &str| told.json()[name].clone());
    assert_eq!(json["counts"]["completed"], 1);
    assert_eq!(
        (count("unknown_status"), count("without_row")),
        (1.into(), 1.into())
    );
}

#[test]
fn a_damaged_marker_of_a_finished_job_is_made_again_from_the_journal() {
    for spoil in ["cut", "garbage", "empty"] {
        let workspace = finished();
        let marker = format!("runs/rk/state/{}.completed", job(&workspace, 1));
        let sound = workspace.bytes(&marker);
        let spoilt: &[u8] = match spoil {
            "cut" => &sound[..200],
            "garbage" => b"garbage\n",
            _ => b"",
        };
        workspace.write(&marker, spoilt);
        let table = workspace.bytes(REGISTRY);
        let output = doctor(&workspace, &[]).expect_code(1);
        let finding = found(&output, "damaged_marker");
        let fix = finding["fix"].as_str().expect("a command");
        assert!(fix.ends_with(" doctor --fix"), "{output}");
        assert_eq!(finding["places"][0]["path"], marker.as_str(), "{output}");
        let output = doctor(&workspace, &["--fix", "--yes"]).expect_code(0);
        assert_eq!(codes(&output), [""; 0], "{output}");
        let line = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).expect("text");
            let mut lines = text.lines().map(str::to_owned);
            lines.find(|line| line.starts_with("archi3d:"))
        };
        assert_eq!(line(&workspace.bytes(&marker)), line(&sound));
        assert!(workspace.path(&format!("{marker}.corrupt-1")).exists());
        assert_eq!(workspace.bytes(REGISTRY), table);
        let _ = workspace.worker(&[]).run().expect_code(0);
        assert_eq!(executions(&workspace).len(), 3);
    }
}

#[test]
fn a_damaged_marker_that_no_journal_explains_is_set_aside() {
    let workspace = finished();
    fs::remove_dir_all(workspace.path("runs/rk/state/journal")).expect("there");
    let marker = format!("runs/rk/state/{}.completed", job(&workspace, 1));
    let cut = workspace.bytes(&marker)[..200].to_vec();
    workspace.write(&marker, &cut);
    let output = doctor(&workspace, &["--fix", "--yes"]).expect_code(0);
    assert_eq!(codes(&output), ["completed_without_marker"], "{output}");
    assert_eq!(workspace.bytes(&format!("{marker}.corrupt-1")), cut);
    assert_eq!(workspace.registry().count("completed"), 3);
}

#[test]
fn the_marker_of_a_result_comes_back_and_not_that_of_an_earlier_failure() {
    let workspace = waiting("good");
    let yaml = |fails: &str| format!("adapters: {{good: {{kind: mock{fails}}}}}\n");
    workspace.write("config/adapters.yaml", yaml(", fail: no").as_bytes());
    let _ = workspace.worker(&[]).run().expect_code(1);
    workspace.write("config/adapters.yaml", yaml("").as_bytes());
    let again = ["--only-status", "failed"];
    let _ = workspace.worker(&again).run().expect_code(0);
    let marker = format!("runs/rk/state/{}.completed", job(&workspace, 0));
    let sound = workspace.bytes(&marker);
    workspace.write(&marker, &sound[..200]);
    let _ = doctor(&workspace, &["--fix", "--yes"]).expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 3);
    assert_eq!(workspace.jobs_with("failed"), [""; 0]);
    assert_eq!(workspace.jobs_with("completed").len(), 3);
}

#[test]
fn every_place_that_everybody_may_write_is_in_the_command() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = finished();
    for (below, mode) in [("runs/rk/state", 0o777), ("logs", 0o777), (REGISTRY, 0o666)] {
        let open = fs::Permissions::from_mode(mode);
        fs::set_permissions(workspace.path(below), open).expect("ours");
    }
    let output = doctor(&workspace, &[]).expect_code(1);
    let fix = found(&output, "world_writable")["fix"].to_string();
    for below in ["runs/rk/state", "logs", REGISTRY] {
        assert!(fix.contains(below), "{fix}");
    }
}

#[test]
fn a_young_file_of_a_dead_writer_is_shown_before_it_is_removed() {
    let workspace = finished();
    let left = "tables/.generations.csv.1-abc.tmp";
    workspace.write(left, b"");
    let output = doctor(&workspace, &[]).expect_code(1);
    assert_eq!(found(&output, "leftover_file")["places"][0]["path"], left);
    // Whoever holds the lock may be writing it.
    let lock = fs::File::open(workspace.path("tables/generations.lock")).expect("there");
    lock.lock().expect("free");
    assert_eq!(codes(&doctor(&workspace, &[]).expect_code(0)), [""; 0]);
}

#[test]
fn a_marker_from_the_time_to_come_tells_of_a_wrong_clock() {
    let workspace = finished();
    let marker = workspace.path(&format!("runs/rk/state/{}.completed", job(&workspace, 0)));
    let file = fs::File::options().write(true).open(marker).expect("there");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(3 * 3600);
    file.set_modified(later).expect("ours");
    let output = doctor(&workspace, &[]).expect_code(1);
    found(&output, "clock_skew");
}
