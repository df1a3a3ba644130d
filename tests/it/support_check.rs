//! The support itself: ids and tables as existing workspaces have them, readers that see what is
//! there, and processes that end when they are told to.

use std::path::Path;

use crate::support::{
    DEADLINE, Invocation, Registry, TestWorkspace, image_set_hash, job_id, python_with_filelock,
    required, wait_until,
};

fn shell(script: &str) -> Invocation {
    Invocation::program(Path::new("sh"), ["-c", script])
}

#[test]
fn job_ids_agree_with_existing_workspaces() {
    let workspace = TestWorkspace::with_products(6).build();
    let ids: Vec<&str> = (0..6).map(|index| workspace.id(index)).collect();
    assert_eq!(
        ids,
        [
            "d610ebfd455b",
            "41ee2eedbabf",
            "ad2160b7477b",
            "a8e3d6f93b6e",
            "052dd9295bb6",
            "41d537e6f0a2"
        ]
    );
    assert_eq!(job_id("1", "", "x", &image_set_hash(&[])), "f1f507c0353a");
}

#[test]
fn a_made_workspace_reads_back_as_it_was_asked_for() {
    let workspace = TestWorkspace::with_products(2)
        .run("2025.10")
        .algo("boom")
        .variant("Già \"speciale\", blu")
        .status("running")
        .job_ids(["007"])
        .crlf()
        .adapters("adapters: {boom: {kind: mock}}\n")
        .build();
    let registry = workspace.registry();
    assert_eq!(registry.columns.len(), 31);
    assert_eq!((registry.rows.len(), registry.count("running")), (2, 2));
    let row = workspace.row("007");
    assert_eq!(&row["variant"], "Già \"speciale\", blu");
    assert_eq!((&row["run_id"], &row["algo"]), ("2025.10", "boom"));
    assert_eq!(&row["used_image_2_path"], workspace.jobs()[0].images[1]);
    assert_eq!((row.get("error_msg"), &row["notes"]), (None, ""));
    for image in &workspace.jobs()[1].images {
        assert!(workspace.path(image).is_file(), "{image}");
    }
    let manifest = Registry::read(&workspace.run_path("manifest.csv"));
    assert_eq!(
        (manifest.columns.len(), &manifest.rows[0]["job_id"]),
        (15, "007")
    );
    assert_eq!(manifest.rows[1]["product_id"], workspace.jobs()[1].product);
    assert!(
        workspace
            .bytes("runs/2025.10/manifest.csv")
            .ends_with(b"Maker\r\n")
    );
    assert!(
        workspace
            .bytes("config/adapters.yaml")
            .starts_with(b"adapters")
    );
}

#[test]
fn a_lone_carriage_return_does_not_end_a_row() {
    let table = Registry::parse(b"job_id,error_msg\na,10%\r20%\nb,\"x\r\ny\"\n");
    assert_eq!(table.rows.len(), 2);
    assert_eq!(&table.rows[0]["error_msg"], "10%\r20%");
    assert_eq!(&table.rows[1]["error_msg"], "x\r\ny");
}

#[test]
fn any_change_shows_in_the_tree() {
    let workspace = TestWorkspace::with_products(1).build();
    let before = workspace.tree();
    assert_eq!(before, workspace.tree());
    workspace.write("tables/generations.csv", b"other");
    assert_ne!(before, workspace.tree());
    assert!(before.contains_key("dataset/100001/images/p_A.jpg"));
    assert!(
        workspace
            .root()
            .starts_with(workspace.outside().canonicalize().expect("it exists"))
    );
}

#[test]
fn markers_and_leftovers_are_found() {
    let workspace = TestWorkspace::with_products(1).build();
    for ending in ["completed", "error.txt", "inprogress"] {
        workspace.write(&format!("runs/rk/state/a.{ending}"), b"");
    }
    workspace.write("runs/rk/state/b.completed", b"");
    assert_eq!(
        workspace.state_files("a"),
        ["completed", "error.txt", "inprogress"]
    );
    assert_eq!(workspace.jobs_with("completed"), ["a", "b"]);
    assert_eq!(workspace.leftovers(), ["runs/rk/state/a.inprogress"]);
    workspace.wait_for_file("runs/rk/state/b.completed");
}

#[test]
fn log_lines_are_read_with_and_without_a_time_in_front() {
    let workspace = TestWorkspace::empty();
    assert!(workspace.log().0.is_empty());
    workspace.write(
        "logs/worker.log",
        b"2025-01-01T00:00:00+00:00 {\"event\": \"job_started\", \"job_id\": \"a\"}\n\
          {\"event\":\"job_started\",\"job_id\":\"b\"}\n\
          {\"event\":\"worker_summary\",\"processed\":2}\n{\"event\":\"half",
    );
    workspace.wait_for_events("job_started", 2);
    assert_eq!(workspace.log().jobs("job_started"), ["a", "b"]);
    assert_eq!(workspace.log().summary()["processed"], 2);
}

#[test]
fn a_command_shows_its_code_and_both_outputs() {
    let script = "echo '{\"a\": 1}'; echo \"$WORD $ARCHI3D_WORKSPACE.\" >&2; exit 3";
    let output = shell(script)
        .env("WORD", "hello")
        .run()
        .expect_code(3)
        .expect_stdout("\"a\"")
        .expect_stderr("hello .");
    assert_eq!(output.json()["a"], 1);
    let folder = TestWorkspace::empty();
    let here = shell("pwd -P")
        .current_dir(folder.root())
        .run()
        .expect_code(0);
    assert_eq!(Path::new(here.stdout.trim_end()), folder.root());
}

#[test]
fn the_binary_under_test_starts_in_a_clean_environment() {
    let workspace = TestWorkspace::with_products(1).build();
    let output = workspace.archi3d(&["--version"]).run();
    assert!(output.code().is_some(), "{output}");
}

#[test]
fn a_running_command_can_be_signalled_and_killed() {
    let script = "trap 'exit 7' TERM; echo ready >&2; while :; do sleep 0.01; done";
    let asked = shell(script).spawn();
    wait_until("ready", || asked.stderr_so_far().contains("ready"));
    asked.signal("TERM");
    let _ = asked.wait().expect_code(7);

    let mut killed = shell("exec sleep 600").spawn();
    assert!(!killed.has_ended() && killed.pid() > 1);
    assert_eq!(killed.kill().code(), None);
    assert!(DEADLINE.as_secs() >= 60);
}

#[test]
fn workers_are_started_on_the_run_of_the_workspace() {
    let workspace = TestWorkspace::with_products(1).run("r7").build();
    let invocation = format!("{:?}", workspace.worker(&["--dry-run"]));
    for part in [
        "\"run\" \"worker\"",
        "\"--run-id\" \"r7\"",
        "\"--dry-run\" \"--workspace\"",
    ] {
        assert!(invocation.contains(part), "{part} in {invocation}");
    }
}

#[test]
#[should_panic(expected = "run scripts/test")]
fn a_missing_requirement_fails_where_it_is_demanded() {
    required("ARCHI3D_TEST_NEVER_SET", true);
}

#[test]
fn python_environments_have_the_lock_library_they_are_named_after() {
    assert_eq!(required("ARCHI3D_TEST_NEVER_SET", false), None);
    for version in ["3.13.4", "3.24.3", "newest"] {
        let Some(python) = python_with_filelock(version) else {
            continue;
        };
        let script = "import filelock, pandas; print(filelock.__version__)";
        let output = Invocation::program(&python, ["-c", script])
            .run()
            .expect_code(0);
        assert!(
            version == "newest" || output.stdout.trim_end() == version,
            "{output}"
        );
    }
}
