//! Rows of jobs that are being made meanwhile, and what people are told at the end.

use std::fs;

use crate::support::TestWorkspace;

use super::{complete, consolidate, long_model, numbers};

#[test]
fn beside_a_living_worker_it_never_takes_a_job_or_a_result_away() {
    let adapters = "adapters:\n  \
        quick: {kind: mock}\n  \
        held: {kind: mock, wait_file: go}\n";
    let workspace = TestWorkspace::with_products(6)
        .algo("quick")
        .adapters(adapters)
        .build();
    for table in ["tables/generations.csv", "runs/rk/manifest.csv"] {
        let text = String::from_utf8(workspace.bytes(table)).expect("text");
        let lines = text.split_inclusive('\n').map(|line| {
            let is_held = line.contains(workspace.id(2)) || line.contains(workspace.id(5));
            let algo = if is_held { ",held," } else { ",quick," };
            line.replace(",quick,", algo)
        });
        workspace.write(table, lines.collect::<String>().as_bytes());
    }
    let worker = workspace.worker(&["--max-parallel", "3"]).spawn();
    // Both held jobs are claimed and the others done: nothing moves until `go` is there.
    workspace.wait_for_events("job_completed", 4);
    for job in [2, 5] {
        workspace.wait_for_file(&format!("runs/rk/state/{}.inprogress", workspace.id(job)));
    }
    for _ in 0..3 {
        let report = consolidate(&workspace, &[], 0);
        assert_eq!(
            numbers(
                &report,
                &["downgraded_missing_output", "conflicts_resolved"]
            ),
            [0, 0],
            "{report}"
        );
        assert_eq!(report["status_histogram_after"]["completed"], 4, "{report}");
        assert_eq!(report["status_histogram_after"]["running"], 2, "{report}");
    }
    workspace.write("go", b"");
    // From here on both write: whichever is first, no result may be lost.
    for _ in 0..3 {
        let report = consolidate(&workspace, &[], 0);
        assert_eq!(report["downgraded_missing_output"], 0, "{report}");
    }
    let _ = worker.wait().expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 6);
    let last = consolidate(&workspace, &["--strict"], 0);
    assert_eq!(last["upsert_updated"], 0, "{last}");
}

#[test]
fn a_lost_result_is_told_once_and_with_the_command_that_makes_it_again() {
    let workspace = TestWorkspace::with_products(2).build();
    complete(&workspace, 2);
    let path = long_model(&workspace, 0, b"");
    fs::remove_file(workspace.path(&path)).expect("there");
    let said = workspace
        .archi3d(&["consolidate", "--run-id", "rk"])
        .run()
        .expect_code(0)
        .expect_stderr("run worker --run-id rk --only-status failed");
    let all = format!("{}{}", said.stdout, said.stderr);
    assert_eq!(
        all.matches("no generated.glb is there").count(),
        1,
        "{said}"
    );
    let again = workspace
        .archi3d(&["consolidate", "--run-id", "rk"])
        .run()
        .expect_code(0)
        .expect_stderr("no generated.glb is there");
    assert!(!again.stdout.contains("→"), "{again}");
}
