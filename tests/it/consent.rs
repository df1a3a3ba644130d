//! Who works at a terminal is asked before something expensive starts, also where programs carry
//! the jobs out and the worker itself cannot read what is typed.

use std::path::Path;

use crate::support::binary::Output;
use crate::support::mocks::{executed, executions, jobs_of, one_job_each, statuses};
use crate::support::process::shell;
use crate::support::{Invocation, TestWorkspace};

/// Runs a command on a terminal of its own, types the answer when it asks, and ends as it ends.
const TERMINAL: &str = r#"
import os, pty, sys
answer, command = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
seen = b""
asked = False
while True:
    try:
        some = os.read(terminal, 4096)
    except OSError:
        break
    if not some:
        break
    seen += some
    if not asked and b"[y/N]" in seen:
        asked = True
        os.write(terminal, answer.encode() + b"\n")
sys.stdout.write(seen.decode(errors="replace"))
sys.stdout.flush()
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

fn at_a_terminal(workspace: &TestWorkspace, answer: &str, options: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_archi3d");
    let worker = [binary, "run", "worker", "--run-id", "rk"];
    let arguments = [&["-c", TERMINAL, answer], &worker[..], options].concat();
    Invocation::program(Path::new("python3"), arguments)
        .current_dir(workspace.root())
        .env("ARCHI3D_WORKSPACE", workspace.root())
        .run()
}

/// Two jobs at 30 cents, made by a program.
fn by_programs() -> TestWorkspace {
    let script = "cp $ARCHI3D_WORKSPACE/cube.glb generated.glb";
    let workspace = shell(2, script, &["unit_price_usd: 0.3"]);
    workspace.write("config/global.yaml", b"confirm_above_usd: 0.50\n");
    workspace
}

#[test]
fn jobs_of_programs_run_when_a_person_says_yes_and_do_not_when_not() {
    let workspace = by_programs();
    let _ = at_a_terminal(&workspace, "n", &[])
        .expect_code(2)
        .expect_stdout("2 jobs are expected to cost $0.60")
        .expect_stdout("Run them? [y/N]")
        .expect_stdout("nothing was started");
    assert_eq!(statuses(&workspace), ["enqueued"; 2]);
    assert!(workspace.leftovers().is_empty());
    let _ = at_a_terminal(&workspace, "y", &[]).expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"; 2]);
}

#[test]
fn jobs_of_programs_need_yes_where_nobody_can_be_asked() {
    let workspace = by_programs();
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(2)
        .expect_stderr("2 jobs are expected to cost $0.60")
        .expect_stderr("--yes");
    assert_eq!(statuses(&workspace), ["enqueued"; 2]);
    let asked = at_a_terminal(&workspace, "n", &["--yes"]).expect_code(0);
    assert!(!asked.stdout.contains("[y/N]"), "{asked}");
    assert_eq!(statuses(&workspace), ["completed"; 2]);
}

#[test]
fn what_is_not_expensive_is_not_asked_about() {
    let workspace = by_programs();
    let asked = at_a_terminal(&workspace, "n", &["--limit", "1"]).expect_code(0);
    assert!(!asked.stdout.contains("[y/N]"), "{asked}");
}

#[test]
fn jobs_without_programs_are_asked_about_too() {
    let workspace = one_job_each(&[("one", "unit_price_usd: 0.6")]);
    workspace.write("config/global.yaml", b"confirm_above_usd: 0.50\n");
    let _ = at_a_terminal(&workspace, "no", &[]).expect_code(2);
    let _ = at_a_terminal(&workspace, "yes", &[]).expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"]);
}

/// Four jobs at 30 cents, which are asked about above 50.
fn priced() -> TestWorkspace {
    let workspace = jobs_of(&[("paid", "unit_price_usd: 0.3")], &["paid"; 4]);
    workspace.write("config/global.yaml", b"confirm_above_usd: 0.50\n");
    workspace
}

#[test]
fn only_what_a_command_would_really_buy_is_asked_about() {
    for options in [
        &["--budget-usd", "0.5"][..],
        &["--canary", "1"],
        &["--limit", "1"],
    ] {
        let workspace = priced();
        let output = workspace.worker(options).run();
        assert!(output.stderr.contains("about $0.30") || options[0] == "--budget-usd");
        assert_eq!(executed(&workspace), [0], "{options:?}");
    }
    let workspace = priced();
    let _ = workspace.worker(&["--yes"]).run().expect_code(0);
    let again = ["batch", "create", "--run-id", "r2", "--algos", "paid"];
    let built = workspace.archi3d(&["catalog", "build"]).run();
    let _ = built.expect_code(0);
    let _ = workspace.archi3d(&again).run().expect_code(0);
    let run = ["run", "worker", "--run-id", "r2"];
    let refused = workspace.archi3d(&run).run().expect_code(2);
    let _ = refused.expect_stderr("not confirmed");
    let reusing = [&run[..], &["--reuse"]].concat();
    let _ = workspace.archi3d(&reusing).run().expect_code(0);
    assert_eq!(executions(&workspace).len(), 4);
}

#[test]
fn jobs_of_unknown_price_are_asked_about_however_few_the_dollars() {
    let workspace = one_job_each(&[("one", "unit_price_usd: 0.3"), ("two", ""), ("three", "")]);
    workspace.write("config/global.yaml", b"confirm_above_usd: 0.50\n");
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(2)
        .expect_stderr("1 job is expected to cost $0.30, and 2 jobs of unknown price");
    // Under a limit they do not start, so there is nothing to agree to.
    let _ = workspace
        .worker(&["--budget-usd", "5"])
        .run()
        .expect_code(4);
    assert_eq!(executed(&workspace), [0]);
    let _ = workspace.worker(&["--yes"]).run().expect_code(0);
    assert_eq!(executed(&workspace), [0, 1, 2]);
}
