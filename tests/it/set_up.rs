//! What is wrong with the set-up is no failure of a job: nonsense is refused before anything
//! starts, and what cannot run here and now is left alone while the rest goes on.

use crate::support::TestWorkspace;
use crate::support::process::shell;
use crate::support::wait::wait_until;

fn with_adapters(yaml: &str, products: usize) -> TestWorkspace {
    let workspace = TestWorkspace::with_products(products).algo("mine");
    workspace.adapters(yaml).build()
}

#[test]
fn a_value_that_cannot_be_is_refused_with_file_and_line_and_no_job_is_touched() {
    for (option, wanted) in [
        ("timeout_s: 0", "seconds"),
        ("timeout_s: -5", "seconds"),
        ("timeout_s: 1.0e+300", "seconds"),
        ("retries: -1", "0 or more"),
        ("provider: a/b", "without slashes"),
        ("on_interrupt: maybe", "rerun or ask"),
        ("command: []", "list of texts"),
        ("command: make.py", "list of texts"),
        ("stall_s: 0", "seconds"),
        ("env: FAL_KEY", "names of variables"),
    ] {
        let yaml = format!("adapters:\n  mine:\n    kind: process\n    {option}\n");
        let workspace = with_adapters(&yaml, 1);
        let before = workspace.tree();
        let _ = workspace
            .worker(&[])
            .run()
            .expect_code(2)
            .expect_stderr("config/adapters.yaml:4: `adapters.mine.")
            .expect_stderr(wanted);
        assert_eq!(workspace.tree(), before, "{option}");
    }
}

#[test]
fn what_cannot_run_here_leaves_its_jobs_enqueued() {
    for (entry, reason) in [
        ("{kind: process}", "needs `command"),
        (
            "{kind: process, command: [no-such-program]}",
            "no-such-program is neither on PATH",
        ),
        (
            "{kind: process, command: [sh, tools/gone.sh]}",
            "the script tools/gone.sh does not exist",
        ),
        (
            "{kind: process, command: [sh, -c, 'exit 0'], env: [NOT_SET_KEY]}",
            "NOT_SET_KEY is not set",
        ),
        ("{endpoint: fal-ai/x}", "has only an endpoint"),
        ("{kind: nosuch}", "unknown kind `nosuch`"),
        (
            "{kind: process, command: [./plain.txt]}",
            "is not executable",
        ),
    ] {
        let workspace = with_adapters(&format!("adapters:\n  mine: {entry}\n"), 2);
        workspace.write("plain.txt", b"text\n");
        let _ = workspace
            .worker(&[])
            .run()
            .expect_code(2)
            .expect_stderr(reason);
        assert_eq!(workspace.registry().count("enqueued"), 2, "{entry}");
        assert_eq!(workspace.jobs_with("failed"), Vec::<String>::new());
        let plan = ["run", "plan", "--run-id", "rk", "--json"];
        let plan = workspace.archi3d(&plan).run().expect_code(0).json();
        assert_eq!(plan["counts"]["blocked"], 2, "{entry}");
    }
}

#[test]
fn what_can_run_goes_on_beside_what_cannot() {
    let yaml =
        "adapters:\n  gone: {kind: process, command: [no-such-program]}\n  mine: {kind: mock}\n";
    let workspace = with_adapters(yaml, 3);
    for file in ["tables/generations.csv", "runs/rk/manifest.csv"] {
        let text = String::from_utf8(workspace.bytes(file)).expect("text");
        workspace.write(file, text.replacen(",mine,", ",gone,", 1).as_bytes());
    }
    let output = workspace.worker(&["--json"]).run().expect_code(1);
    assert_eq!(output.json()["completed"], 2);
    assert_eq!(output.json()["failed"], 0);
    assert_eq!(output.json()["blocked"], 1);
    let _ = output.expect_stderr("skipped: 1 job stays as it was");
    assert_eq!(workspace.registry().count("enqueued"), 1);
    assert_eq!(workspace.registry().count("completed"), 2);
}

#[test]
fn a_key_that_is_swapped_in_dot_env_reaches_the_next_job() {
    let script = "printf %s \"$MY_KEY\" > \"$ARCHI3D_WORKSPACE/seen.$ARCHI3D_ATTEMPT\"; \
                  printf 'MY_KEY=the-second-key\\n' > \"$ARCHI3D_WORKSPACE/.env\"; exit 1";
    let yaml = format!(
        "adapters:\n  mine:\n    kind: process\n    retries: 1\n    command: [/bin/sh, -c, {script:?}]\n    env: [MY_KEY]\n"
    );
    let workspace = with_adapters(&yaml, 1);
    workspace.write(".env", b"MY_KEY=the-first-key\n");
    let _ = workspace
        .worker(&["--only-status", "enqueued"])
        .run()
        .expect_code(1);
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(1);
    assert_eq!(workspace.bytes("seen.1"), b"the-first-key");
    assert_eq!(workspace.bytes("seen.2"), b"the-second-key");
    // The shell's own is never overridden.
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .env("MY_KEY", "of-the-shell")
        .run()
        .expect_code(1);
    assert_eq!(workspace.bytes("seen.3"), b"of-the-shell");
}

#[test]
fn a_key_that_is_swapped_while_a_worker_runs_reaches_its_next_job() {
    let script = "echo \"$MY_KEY\" >> \"$ARCHI3D_WORKSPACE/seen\"; \
                  while [ ! -e \"$ARCHI3D_WORKSPACE/go\" ]; do sleep 0.02; done; exit 1";
    let yaml = format!(
        "adapters:\n  mine:\n    kind: process\n    command: [/bin/sh, -c, {script:?}]\n    env: [MY_KEY]\n"
    );
    let workspace = with_adapters(&yaml, 2);
    workspace.write(".env", b"MY_KEY=the-first-key\n");
    let worker = workspace.worker(&[]).spawn();
    let seen = || std::fs::read_to_string(workspace.path("seen")).unwrap_or_default();
    wait_until("the first job has its key", || seen().ends_with('\n'));
    workspace.write(".env", b"MY_KEY=the-second-key\n");
    workspace.write("go", b"");
    let _ = worker.wait().expect_code(1);
    assert_eq!(seen(), "the-first-key\nthe-second-key\n");
}

#[test]
fn a_program_that_tells_no_version_is_named_by_its_endpoint_or_itself() {
    let script = "cp \"$ARCHI3D_WORKSPACE/cube.glb\" generated.glb";
    for (option, version) in [
        ("endpoint: acme/chairs", "acme/chairs"),
        ("version: '7'", "7"),
        ("retries: 0", "make.sh"),
    ] {
        let workspace = shell(1, script, &[option]);
        let _ = workspace.worker(&[]).run().expect_code(0);
        let row = workspace.row(workspace.id(0));
        assert_eq!(&row["algo_version"], version, "{option}");
    }
}
