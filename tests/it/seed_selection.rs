//! Which jobs a worker takes, in which order and with what: one test for each requirement on the
//! choice that the tools before this one missed.

use crate::support::TestWorkspace;

#[test]
fn an_adapter_is_forced_on_every_job_whatever_its_algo() {
    let workspace = TestWorkspace::with_products(2).build();
    let before = workspace.tree();
    let _ = workspace
        .worker(&["--adapter", "mokc"])
        .run()
        .expect_code(2)
        .expect_stderr("--adapter mokc")
        .expect_stderr("mock");
    assert_eq!(before, workspace.tree());
    let _ = workspace
        .worker(&["--adapter", "mock"])
        .run()
        .expect_code(0);
    for row in &workspace.registry().rows {
        assert_eq!(
            (&row["algo"], &row["algo_version"]),
            ("trellis_single", "mock-1")
        );
    }
}

#[test]
fn job_patterns_are_text_globs_or_regexes_whichever_matches_first() {
    let chosen = |pattern: &str| {
        let workspace = TestWorkspace::with_products(6).build();
        let options = ["--dry-run", "--jobs", pattern];
        let output = workspace.worker(&options).run();
        (workspace.log().jobs("job_completed"), output)
    };
    for (pattern, expected) in [
        ("455b", &["d610ebfd455b"][..]),
        ("EBFD", &["d610ebfd455b"]),
        ("d6.0", &["d610ebfd455b"]),
        ("d6[0-9]0", &["d610ebfd455b"]),
        ("[0-9a-f]{4}ebfd", &["d610ebfd455b"]),
        ("*455B", &["d610ebfd455b"]),
        ("??10*", &["d610ebfd455b"]),
        ("a*", &["ad2160b7477b", "a8e3d6f93b6e"]),
        ("[ad]*b", &["d610ebfd455b", "ad2160b7477b"]),
        (
            "^41|5bb6$",
            &["41ee2eedbabf", "052dd9295bb6", "41d537e6f0a2"],
        ),
    ] {
        assert_eq!(chosen(pattern).0, expected, "{pattern}");
    }
    // A glob that matches nothing is not taken for a regex that matches a lot.
    for pattern in ["zzz", "455*", "d61?"] {
        let (done, output) = chosen(pattern);
        assert!(done.is_empty(), "{pattern}");
        let _ = output.expect_code(5).expect_stderr("warning: no job id");
    }
}

#[test]
fn the_way_a_pattern_was_understood_is_logged_and_a_bad_one_is_refused() {
    let workspace = TestWorkspace::with_products(1).build();
    let before = workspace.tree();
    for pattern in ["[", "(", "{a"] {
        let _ = workspace.worker(&["--jobs", pattern]).run().expect_code(2);
    }
    assert_eq!(before, workspace.tree());
    for (pattern, kind) in [("d610", "contains"), ("d6*", "glob"), ("^d6", "regex")] {
        let _ = workspace
            .worker(&["--dry-run", "--jobs", pattern])
            .run()
            .expect_code(0);
        let log = workspace.log();
        let started = log.events("worker_started").pop().expect("logged").clone();
        assert_eq!(started["jobs_filter"], pattern);
        assert_eq!(started["jobs_filter_kind"], kind);
    }
}

#[test]
fn filters_that_match_no_job_have_an_exit_code_of_their_own() {
    let workspace = TestWorkspace::with_products(2).build();
    for filter in [["--jobs", "nosuchjob"], ["--algo", "nosuch"]] {
        for command in ["plan", "worker", "cancel"] {
            let words = ["run", command, "--run-id", "rk"];
            let output = workspace.archi3d(&words).arg(filter[0]).arg(filter[1]);
            let _ = output.run().expect_code(5).expect_stderr("no job");
        }
    }
    let plan = ["run", "plan", "--run-id", "rk", "--jobs", "d6.0"];
    let _ = workspace
        .archi3d(&plan)
        .run()
        .expect_code(0)
        .expect_stderr("--jobs \"d6.0\" was taken as regex");
    // That nothing is left to do is no mistake of whoever asks.
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(0);
}

#[test]
fn an_empty_manifest_is_an_error_that_says_so() {
    let workspace = TestWorkspace::with_products(1).build();
    let manifest = String::from_utf8(workspace.bytes("runs/rk/manifest.csv")).expect("text");
    let header = manifest.split_inclusive('\n').next().expect("a header");
    workspace.write("runs/rk/manifest.csv", header.as_bytes());
    let before = workspace.tree();
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(2)
        .expect_stderr("runs/rk/manifest.csv")
        .expect_stderr("has no jobs");
    assert_eq!(before, workspace.tree());
}

#[test]
fn the_manifest_decides_the_order_and_the_pictures() {
    let workspace = TestWorkspace::with_products(4).build();
    let manifest = String::from_utf8(workspace.bytes("runs/rk/manifest.csv")).expect("text");
    let mut lines: Vec<&str> = manifest.split_inclusive('\n').collect();
    lines[1..].reverse();
    let reversed = lines.concat().replace("100001/images/p_A.jpg", "gone.jpg");
    workspace.write("runs/rk/manifest.csv", reversed.as_bytes());
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(1);
    let mut expected: Vec<&str> = (0..4).map(|index| workspace.id(index)).collect();
    expected.reverse();
    assert_eq!(workspace.log().jobs("job_started"), expected);
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["error_msg"], "input image not found: dataset/gone.jpg");
}

#[test]
fn a_completed_row_without_marker_is_believed_with_a_warning() {
    let workspace = TestWorkspace::with_products(2).status("completed").build();
    let table = workspace.bytes("tables/generations.csv");
    let _ = workspace
        .worker(&["--adapter", "mock"])
        .run()
        .expect_code(0)
        .expect_stderr("warning: 2 jobs are completed in the registry without a marker")
        .expect_stderr(workspace.id(0));
    assert_eq!(table, workspace.bytes("tables/generations.csv"));
    assert_eq!(workspace.log().summary()["skipped"], 2);
    assert!(!workspace.log().events("warning").is_empty());
}

#[test]
fn a_pool_of_no_threads_is_refused_before_anything_is_written() {
    let workspace = TestWorkspace::with_products(1).build();
    let before = workspace.tree();
    for number in ["0", "-1", "1e9", "4000000000", "", "two"] {
        let _ = workspace
            .worker(&["--dry-run", "--max-parallel", number])
            .run()
            .expect_code(2)
            .expect_stderr("--max-parallel");
    }
    assert_eq!(before, workspace.tree());
}
