//! Python tools and workers on one registry at the same time: real Python processes with pandas
//! and filelock change it in a loop while two workers run. Neither side loses a row or waits long.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::support::{Invocation, TestWorkspace, python_with_filelock, wait_until};

const JOBS: usize = 200;

const ADAPTERS: &str = "adapters:\n  quick:\n    kind: mock\n    sleep_ms: 10\n    \
                        count_file: count.txt\n";

/// One version at a time: what is measured is the wait for workers, not for other tests.
static TURN: Mutex<()> = Mutex::new(());

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/support/upsert_loop.py")
}

fn share_the_registry_with(version: &str) {
    let Some(python) = python_with_filelock(version) else {
        return;
    };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let builder = TestWorkspace::with_products(JOBS).algo("quick");
    let workspace = builder.adapters(ADAPTERS).build();
    let stop = workspace.outside().join("stop");
    let registry = workspace.path("tables/generations.csv");
    let tools: Vec<_> = ["one", "two"]
        .map(|name| {
            let arguments = [script(), registry.clone(), stop.clone()];
            let tool = Invocation::program(&python, arguments).arg(name).spawn();
            (name, tool)
        })
        .into();
    wait_until("a first row of each Python process", || {
        let table = workspace.registry();
        let of_python = |name: &str| table.rows.iter().any(|row| &row["job_id"] == name);
        tools.iter().all(|(name, _)| of_python(name))
    });
    let workers = [(); 2].map(|()| workspace.worker(&["--max-parallel", "2"]).spawn());
    for worker in workers {
        let output = worker.wait().expect_code(0);
        assert!(!output.stderr.contains("cannot"), "{output}");
    }
    std::fs::write(&stop, "").expect("a temporary folder is writable");
    let mut rows_of_python = 0;
    for (name, tool) in tools {
        let output = tool.wait().expect_code(0);
        let told = output.json();
        assert_eq!(told["errors"].as_array().map(Vec::len), Some(0), "{output}");
        let longest = told["longest_wait_s"].as_f64().expect("a number");
        assert!(longest < 1.0, "{name} waited {longest} s for the lock");
        let rounds = told["rounds"].as_u64().expect("a number");
        assert!(rounds >= 3, "{name} had too few turns: {output}");
        let table = workspace.registry();
        assert_eq!(&table.row("python", name)["notes"], rounds.to_string());
        for round in 1..=rounds {
            let row = table.row("python", &format!("{name}-{round}"));
            assert_eq!(&row["notes"], "kept");
        }
        rows_of_python += usize::try_from(rounds).expect("a small number") + 1;
    }
    let table = workspace.registry();
    assert_eq!(table.rows.len(), JOBS + rows_of_python);
    for job in workspace.jobs() {
        assert_eq!(&table.row("rk", &job.id)["status"], "completed");
    }
    let count = String::from_utf8(workspace.bytes("count.txt")).expect("text");
    assert_eq!(count.lines().count(), JOBS, "every job ran once");
    assert_eq!(workspace.leftovers(), Vec::<String>::new());
}

#[test]
fn a_lock_library_that_keeps_its_lock_file_shares_the_registry() {
    share_the_registry_with("3.13.4");
}

#[test]
fn a_lock_library_that_unlinks_its_lock_file_shares_the_registry() {
    share_the_registry_with("3.24.3");
}

#[test]
fn todays_lock_library_shares_the_registry() {
    share_the_registry_with("newest");
}
