//! A link in the place of a run is no run: nothing is counted through it twice, and nothing is
//! written through it.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::mocks::one_job_each;
use crate::support::{TestWorkspace, read};

const PAID: [(&str, &str); 1] = [("paid", "unit_price_usd: 0.25")];

fn asked(workspace: &TestWorkspace, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    workspace.archi3d(&arguments).run().expect_code(0).json()
}

#[test]
fn a_run_behind_a_link_is_counted_once_everywhere() {
    let workspace = one_job_each(&PAID);
    let _ = workspace.worker(&[]).run().expect_code(0);
    symlink("rk", workspace.path("runs/latest")).expect("free");
    symlink(workspace.path("runs/rk"), workspace.path("runs/whole")).expect("free");
    symlink("nowhere", workspace.path("runs/broken")).expect("free");
    fs::create_dir(workspace.path("runs/.hidden")).expect("free");
    workspace.write("runs/notes", b"a file is no run");
    for by in ["algo", "day", "worker", "run"] {
        let report = asked(&workspace, &["cost", "report", "--by", by]);
        assert_eq!(report["total"]["attempts"], json!(1), "{by}");
        assert_eq!(report["total"]["billed_usd"], json!(0.25), "{by}");
    }
    let report = asked(&workspace, &["cost", "report", "--by", "run"]);
    assert_eq!(report["lines"].as_array().map(Vec::len), Some(1));
    let runs = asked(&workspace, &["run", "list"]);
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{runs}");
    let _ = workspace
        .archi3d(&["cost", "report", "--run-id", "latest"])
        .run()
        .expect_code(2)
        .expect_stderr("run latest is a link to rk");
}

#[test]
fn no_command_writes_through_a_link_in_the_place_of_a_run() {
    for (inside, lost) in [(false, true), (false, false), (true, true), (true, false)] {
        let workspace = one_job_each(&PAID);
        let _ = workspace.worker(&[]).run().expect_code(0);
        let target = if inside {
            workspace.path("archive")
        } else {
            workspace.outside().join("archive")
        };
        fs::rename(workspace.path("runs/rk"), &target).expect("same disk");
        if lost {
            fs::remove_file(target.join("manifest.csv")).expect("it was made");
        }
        symlink(&target, workspace.path("runs/rk")).expect("free");
        let before = read::tree(&target);
        let commands: [&[&str]; 9] = [
            &["registry", "rebuild"],
            &["registry", "rebuild", "--run-id", "rk"],
            &["batch", "create", "--run-id", "rk", "--algos", "paid"],
            &["run", "worker", "--run-id", "rk", "--redo"],
            &["run", "worker", "--run-id", "rk", "--dry-run"],
            &["run", "cancel", "--run-id", "rk", "--all"],
            &["consolidate", "--run-id", "rk"],
            &["doctor", "--fix"],
            &["doctor", "--fix", "--run-id", "rk"],
        ];
        for command in commands {
            let output = workspace.archi3d(command).run();
            assert_eq!(read::tree(&target), before, "{inside} {lost}: {output}");
        }
        let _ = workspace
            .archi3d(&["registry", "rebuild", "--run-id", "rk"])
            .run()
            .expect_code(2)
            .expect_stderr("links are not runs");
    }
}
