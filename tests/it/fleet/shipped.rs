//! What clusters run: the root of an image against a real server, what KEDA asks, and the command that tries a machine.

use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;
use std::process::Command;

use super::Fleet;
use crate::support::mocks::counting_mocks;
use crate::support::{Invocation, TestWorkspace, skip, wait_until};

/// The user of an image.
const USER: u32 = 65_532;

fn mocks(jobs: usize, options: &str) -> TestWorkspace {
    let yaml = counting_mocks(&[("killme", options)]);
    let builder = TestWorkspace::with_products(jobs).algo("killme");
    builder.adapters(&yaml).build()
}

fn script(name: &str) -> Command {
    Command::new(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("scripts")
            .join(name),
    )
}

fn give_to_user(folder: &Path) {
    chown(folder, Some(USER), Some(USER)).expect("root may");
    for entry in std::fs::read_dir(folder).expect("listed").flatten() {
        if entry.file_type().expect("known").is_dir() {
            give_to_user(&entry.path());
        } else {
            chown(entry.path(), Some(USER), Some(USER)).expect("root may");
        }
    }
}

#[test]
fn item_53_an_image_without_a_shell_works_on_a_fleet_as_an_ordinary_user_with_its_root_read_only() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(3, "");
    if std::fs::metadata(workspace.root()).expect("there").uid() != 0 {
        skip("only root can mount a root");
        return;
    }
    let root = workspace.outside().join("image");
    let made = script("image-root")
        .args(["--binary", env!("CARGO_BIN_EXE_archi3d")])
        .arg(&root)
        .output()
        .expect("started");
    assert!(made.status.success(), "{made:?}");
    let listed = String::from_utf8_lossy(&made.stdout);
    assert!(
        listed.contains("etc/ssl/certs/ca-certificates.crt"),
        "{listed}"
    );
    assert!(!listed.contains("bin/sh"), "{listed}");
    give_to_user(workspace.root());
    let socket = fleet.bench.url.hosts[0].clone();
    let inside = |words: &[&str]| {
        let said = script("in-image")
            .args(["-e", &format!("ARCHI3D_STORE={}", fleet.url)])
            .args(["-v", &format!("{}:/workspace", workspace.root().display())])
            .args(["-v", &format!("{socket}:{socket}")])
            .arg(&root)
            .args(words)
            .output()
            .expect("started");
        let text = String::from_utf8_lossy(&said.stderr).into_owned();
        (said.status.code(), text)
    };
    for words in [
        ["fleet", "init", "--check"].as_slice(),
        &["fleet", "push", "--run-id", "rk"],
        &["run", "worker", "--run-id", "rk"],
        &["fleet", "pull", "--run-id", "rk"],
    ] {
        let (code, said) = inside(words);
        assert_eq!(code, Some(0), "{words:?}: {said}");
    }
    let model = format!("runs/rk/outputs/{}/generated.glb", workspace.id(0));
    let model = std::fs::metadata(workspace.path(&model)).expect("made");
    assert_eq!(model.uid(), USER);
    let (code, said) = inside(&["init", "/etc/here"]);
    assert_ne!(code, Some(0));
    assert!(said.contains("Read-only file system"), "{said}");
    assert_eq!(fleet.count("succeeded"), 3);
}

/// Returns both questions that the chart lets KEDA ask: of one run, and of all.
pub(super) fn keda_queries() -> [String; 2] {
    let path = "deploy/helm/archi3d/templates/_helpers.tpl";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(path).expect("the chart");
    let mut asked = text.lines().filter(|line| line.starts_with("SELECT "));
    let mut next = || asked.next().expect("a question").to_owned();
    let (one, all) = (next(), next());
    let (before, rest) = one.split_once("{{").expect("a place for the run");
    let (_, after) = rest.split_once("}}").expect("its end");
    [format!("{before}rk{after}"), all]
}

/// Of a run with three jobs that wait: what nobody may start needs no machine.
fn expect_nothing_for_what_is_shut(fleet: &mut Fleet, wanted: &impl Fn(&mut Fleet) -> [i64; 2]) {
    for (shut, most, open) in [
        (
            "INSERT INTO archi3d.providers (provider, closed_at) VALUES ('killme', now())",
            0,
            "UPDATE archi3d.providers SET closed_until = now() - interval '1 s'",
        ),
        (
            "INSERT INTO archi3d.breakers (algo, failures_in_a_row, paused_at) VALUES ('killme', 5, now())",
            0,
            "UPDATE archi3d.breakers SET paused_at = NULL",
        ),
        (
            "UPDATE archi3d.breakers SET paused_at = now() - interval '11 minutes'",
            1,
            "UPDATE archi3d.breakers SET paused_at = NULL",
        ),
        (
            "INSERT INTO archi3d.orders (run_no, ordered_by, expected_micros, body)
             SELECT run_no, 'me', 0, '{\"max_cost_usd\": 0.5}' FROM archi3d.runs;
             DELETE FROM archi3d.budgets;
             INSERT INTO archi3d.budgets SELECT 'run:' || run_no, 400000, 100000 FROM archi3d.runs",
            0,
            "DELETE FROM archi3d.orders; DELETE FROM archi3d.budgets",
        ),
    ] {
        fleet.change(shut);
        assert_eq!(wanted(fleet), [most, most], "{shut}");
        fleet.change(open);
        assert_eq!(wanted(fleet), [3, 3], "{open}");
    }
}

#[test]
fn item_53_keda_hears_how_many_jobs_wait_or_run() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(4, "wait_file: go");
    let queries = keda_queries();
    let wanted = |fleet: &mut Fleet| queries.each_ref().map(|sql| fleet.number(sql));
    assert_eq!(wanted(&mut fleet), [0, 0], "nothing was pushed");
    fleet.push(&workspace);
    assert_eq!(wanted(&mut fleet), [4, 4], "all wait");
    let worker = fleet.worker(&workspace, &["--limit", "1"]);
    wait_until("one runs", || fleet.count("running") == 1);
    assert_eq!(wanted(&mut fleet), [4, 4], "one runs, three wait");
    workspace.write("go", b"");
    let _ = worker.wait().expect_code(0);
    assert_eq!(wanted(&mut fleet), [3, 3], "one has ended");
    let later =
        "UPDATE archi3d.jobs SET run_after = now() + interval '1 h' WHERE status = 'pending'";
    fleet.admin().batch_execute(later).expect("put off");
    assert_eq!(wanted(&mut fleet), [0, 0], "nothing can start yet");
    let now = "UPDATE archi3d.jobs SET run_after = now() WHERE status = 'pending'";
    fleet.admin().batch_execute(now).expect("due");
    expect_nothing_for_what_is_shut(&mut fleet, &wanted);
    let _ = fleet.worker(&workspace, &[]).wait().expect_code(0);
    assert_eq!(wanted(&mut fleet), [0, 0], "all have ended");
    fleet.pull(&workspace, 0);
    assert_eq!(wanted(&mut fleet), [0, 0], "and the run is closed");
}

#[test]
fn a_self_check_tries_the_store_with_two_workers_and_leaves_nothing_there() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let place = TestWorkspace::with_products(1).build();
    let dir = place.outside().join("here");
    std::fs::create_dir_all(&dir).expect("made");
    let said = Invocation::archi3d(["self-check", "--json"])
        .env("ARCHI3D_STORE", &fleet.url)
        .arg(&dir)
        .run()
        .expect_code(0)
        .json();
    assert_eq!(said["ok"], true);
    let names: Vec<&str> = said["checks"]
        .as_array()
        .expect("lines")
        .iter()
        .filter_map(|line| line["name"].as_str())
        .collect();
    for name in [
        "demo", "models", "report", "check-up", "store", "push", "workers", "pull", "clean-up",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    for table in [
        "runs",
        "jobs",
        "job_specs",
        "attempts",
        "results",
        "artifacts",
        "workers",
        "ledger",
    ] {
        let left = fleet.number(&format!("SELECT count(*) FROM archi3d.{table}"));
        assert_eq!(left, 0, "{table}");
    }
    assert_eq!(std::fs::read_dir(&dir).expect("listed").count(), 0);
}

#[test]
fn a_self_check_of_a_bucket_gives_workers_nothing_else_and_leaves_nothing_there() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let place = TestWorkspace::with_products(1).build();
    let share = place.outside().join("share");
    std::fs::create_dir_all(&share).expect("made");
    let url = format!("file://{}", share.display());
    let said = Invocation::archi3d(["self-check", "--artifacts", &url])
        .env("ARCHI3D_STORE", &fleet.url)
        .run()
        .expect_code(0)
        .expect_stdout("list, put, read and delete work")
        .expect_stdout("and the bucket");
    assert!(!said.stdout.contains("FAILED"), "{said}");
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.runs"), 0);
    assert_eq!(std::fs::read_dir(&share).expect("listed").count(), 0);
    let nowhere = format!("{url}/nowhere");
    let _ = Invocation::archi3d(["self-check", "--artifacts", &nowhere])
        .env("ARCHI3D_STORE", &fleet.url)
        .run()
        .expect_code(1)
        .expect_stdout("FAILED  artifacts");
    let _ = Invocation::archi3d(["self-check", "--artifacts", &url])
        .run()
        .expect_code(1)
        .expect_stdout("name one with --store");
}

#[cfg(feature = "failpoints")]
#[test]
fn a_self_check_removes_what_a_killed_one_left_and_no_run_of_a_person_that_is_called_so() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    // A person may call a run so: its files lie in a place of that name, too.
    let yaml = counting_mocks(&[("killme", "")]);
    let builder = TestWorkspace::with_products(1).algo("killme");
    let workspace = builder.adapters(&yaml).run("self-check-ours").build();
    let share = workspace.outside().join("share");
    let theirs = share.join("self-check-ours");
    std::fs::create_dir_all(&theirs).expect("made");
    let url = |folder: &Path| format!("file://{}", folder.display());
    let (to, place) = ("--artifacts", url(&theirs));
    let words = ["fleet", "push", "--run-id", "self-check-ours", to, &place];
    let _ = fleet.run(&workspace, &words).expect_code(0);
    let killed = Invocation::archi3d(["self-check", to, &url(&share)])
        .env("ARCHI3D_STORE", &fleet.url)
        .env("FAILPOINTS", "push.done=1*return(kill)");
    assert_eq!(killed.run().code(), None);
    let runs = "SELECT run_id FROM archi3d.runs ORDER BY run_id = 'self-check-ours', run_id";
    let left = fleet.texts(runs);
    assert_eq!(left.len(), 2);
    assert!(share.join(&left[0]).join("blobs").exists());
    fleet.change("UPDATE archi3d.runs SET created_at = now() - interval '2 days'");
    let check = Invocation::archi3d(["self-check"]).env("ARCHI3D_STORE", &fleet.url);
    let _ = check.run().expect_code(0);
    assert_eq!(fleet.texts(runs), ["self-check-ours"]);
    let there = std::fs::read_dir(&share).expect("listed").flatten();
    let there: Vec<_> = there.map(|entry| entry.file_name()).collect();
    assert_eq!(there, ["self-check-ours"]);
    assert!(theirs.join("blobs").exists());
}

#[test]
fn a_self_check_of_a_store_without_a_schema_says_what_to_do() {
    let Some(fleet) = Fleet::empty() else {
        return;
    };
    let said = Invocation::archi3d(["self-check"])
        .env("ARCHI3D_STORE", &fleet.url)
        .run()
        .expect_code(1);
    let lines: Vec<&str> = said.stdout.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.starts_with("FAILED  store"));
    let at = at.unwrap_or_else(|| panic!("{said}"));
    assert!(
        lines[at + 1].contains("to do: ") && lines[at + 1].contains("fleet init"),
        "{said}"
    );
}
