//! Runs that the database has forgotten after all of them came back: their files are what is known.

use super::Fleet;
use crate::support::TestWorkspace;
use crate::support::mocks::counting_mocks;

/// Returns a workspace whose run was made by a fleet, pulled and pruned.
fn pruned(fleet: &mut Fleet, elsewhere: bool) -> TestWorkspace {
    let mocks = counting_mocks(&[("killme", "unit_price_usd: 0.30")]);
    let builder = TestWorkspace::with_products(3).algo("killme");
    let workspace = builder.adapters(&mocks).build();
    fleet.push(&workspace);
    let _ = fleet.worker(&workspace, &[]).wait().expect_code(0);
    fleet.pull(&workspace, 0);
    let other = TestWorkspace::with_products(1).build();
    let from = if elsewhere { &other } else { &workspace };
    let prune = ["fleet", "prune", "--older-than", "0d"];
    let said = fleet.run(from, &prune).expect_code(0);
    let _ = said.expect_stdout("forgotten: 1 run, 3 jobs");
    workspace
}

#[test]
fn a_run_that_was_pruned_is_read_from_its_files_and_takes_no_new_jobs() {
    for elsewhere in [false, true] {
        let Some(mut fleet) = Fleet::new() else {
            return;
        };
        let workspace = pruned(&mut fleet, elsewhere);
        for words in [
            &["cost", "report"][..],
            &["cost", "report", "--by", "day"],
            &["run", "status", "rk"],
            &["run", "attempts", "rk"],
            &["run", "list"],
            &["report", "build", "rk"],
            &["doctor"],
        ] {
            let said = fleet.run(&workspace, words).expect_code(0);
            assert!(!said.stderr.contains("does not know"), "{words:?}: {said}");
        }
        let status = fleet.run(&workspace, &["run", "status", "rk"]);
        let _ = status.expect_code(0).expect_stdout("3 completed");
        for words in [
            &["fleet", "push", "--run-id", "rk"][..],
            &["fleet", "pull", "--run-id", "rk"],
            &["run", "worker", "--run-id", "rk"],
            &["batch", "create", "--run-id", "rk", "--algos", "killme"],
        ] {
            let said = fleet.run(&workspace, words).expect_code(2);
            let _ = said.expect_stderr("run rk is over");
        }
    }
}

#[test]
fn the_rows_of_a_run_that_was_pruned_are_made_again_from_what_is_recorded() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = pruned(&mut fleet, false);
    let before = workspace.registry().rows.len();
    std::fs::remove_file(workspace.path("tables/generations.csv")).expect("removed");
    let _ = fleet
        .run(&workspace, &["registry", "rebuild"])
        .expect_code(0);
    assert_eq!(workspace.registry().rows.len(), before);
    assert_eq!(
        workspace.row(workspace.id(0)).get("status"),
        Some("completed")
    );
}
