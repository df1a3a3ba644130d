//! Programs that misbehave: each ends in bounded time with a clear message, leaves no process
//! behind, and costs its own job only.

use std::time::{Duration, Instant};

use crate::support::process::{
    children, files_with, is_running, peak_memory_kb, python, shell, survivors,
};
use crate::support::{TestWorkspace, wait_until};

/// More than enough for a job that is stopped with all its grace.
const BOUND: Duration = Duration::from_secs(60);

/// Starts a process in a session of its own whose parent is gone, and waits until it runs.
const DAEMON: &str = r#"
import os, sys, time
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open(os.environ["ARCHI3D_WORKSPACE"] + "/daemon.pid", "w").write(str(os.getpid()))
            time.sleep(600)
        os._exit(0)
    os.wait()
    while not os.path.exists(os.environ["ARCHI3D_WORKSPACE"] + "/daemon.pid"):
        time.sleep(0.01)
"#;

/// Runs one job that must fail in time, and returns why it did.
#[track_caller]
fn failure(workspace: &TestWorkspace) -> String {
    let started = Instant::now();
    let output = workspace.worker(&[]).run().expect_code(1);
    assert!(started.elapsed() < BOUND, "{output}");
    assert_eq!(survivors(workspace), [""; 0]);
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["status"], "failed");
    row["error_msg"].to_owned()
}

/// Runs one job that must work in time.
#[track_caller]
fn success(workspace: &TestWorkspace) {
    let started = Instant::now();
    let output = workspace.worker(&[]).run().expect_code(0);
    assert!(started.elapsed() < BOUND, "{output}");
    assert_eq!(survivors(workspace), [""; 0]);
    assert_eq!(&workspace.row(workspace.id(0))["status"], "completed");
}

#[test]
fn a_hung_program_is_stopped_when_its_time_is_over() {
    let workspace = shell(1, "sleep 600", &["timeout_s: 0.5"]);
    assert_eq!(failure(&workspace), "timed out after 0.5 s");
}

#[test]
fn a_silent_program_is_stopped() {
    let workspace = shell(1, "sleep 600", &["stall_s: 0.5"]);
    assert_eq!(
        failure(&workspace),
        "make.sh said nothing for 0.5 s (stall_s) and was stopped"
    );
}

#[test]
fn a_program_that_ignores_the_request_to_end_is_ended() {
    let script = "trap '' TERM INT HUP; while :; do sleep 0.1; done";
    let workspace = shell(1, script, &["timeout_s: 0.5"]);
    assert_eq!(failure(&workspace), "timed out after 0.5 s");
}

#[test]
fn grandchildren_and_daemons_end_with_a_program_that_is_stopped() {
    let program = format!("{DAEMON}\ndaemon()\nos.system('sleep 600 & sleep 600')");
    let workspace = python(1, &program, &["timeout_s: 8"]);
    assert_eq!(failure(&workspace), "timed out after 8 s");
    assert!(workspace.path("daemon.pid").exists());
}

#[test]
fn a_daemon_ends_with_its_job_and_the_result_stands() {
    let program = format!(
        "{DAEMON}\nimport shutil\ndaemon()\n\
         shutil.copy(os.environ['ARCHI3D_WORKSPACE'] + '/cube.glb', 'generated.glb')"
    );
    success(&python(1, &program, &[]));
}

#[test]
fn a_daemon_without_variables_ends_when_no_job_could_miss_it() {
    let daemon = format!("sleep 600.{}", std::process::id());
    let script = format!(
        "env -i setsid {daemon} &\nwhile ! grep -qz 600.{} /proc/[0-9]*/cmdline 2>&-; do :; done\n\
         cp $ARCHI3D_WORKSPACE/cube.glb generated.glb",
        std::process::id()
    );
    success(&shell(1, &script, &[]));
    assert!(!is_running(&daemon));
}

#[test]
fn a_daemon_without_variables_ends_with_its_job_while_another_job_runs() {
    let daemon = format!("sleep 601.{}", std::process::id());
    let script = format!(
        "if mkdir $ARCHI3D_WORKSPACE/first; then\n\
         env -i setsid {daemon} &\n\
         while ! grep -qz 601.{} /proc/[0-9]*/cmdline 2>&-; do :; done\n\
         else while [ ! -e $ARCHI3D_WORKSPACE/go ]; do sleep 0.05; done; fi\n\
         cp $ARCHI3D_WORKSPACE/cube.glb generated.glb",
        std::process::id()
    );
    let workspace = shell(2, &script, &[]);
    let running = workspace.worker(&["--max-parallel", "2"]).spawn();
    workspace.wait_for_events("job_completed", 1);
    assert!(!is_running(&daemon));
    workspace.write("go", b"");
    let _ = running.wait().expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 2);
}

#[test]
fn a_flood_neither_blocks_nor_fills_memory_or_disk() {
    let program = "import sys, shutil, os, threading\n\
        def flood(stream):\n    for _ in range(1000): stream.write(b'x' * 102399 + b'\\n')\n\
        threads = [threading.Thread(target=flood, args=(s.buffer,)) for s in (sys.stdout, sys.stderr)]\n\
        [t.start() for t in threads]\n[t.join() for t in threads]\n\
        shutil.copy(os.environ['ARCHI3D_WORKSPACE'] + '/cube.glb', 'generated.glb')\n\
        open(os.environ['ARCHI3D_WORKSPACE'] + '/flooded', 'w').close()\n\
        import time; time.sleep(0.5)";
    let workspace = python(1, program, &[]);
    let running = workspace.worker(&[]).spawn();
    let mut peak = 0;
    wait_until("the end of the flood", || {
        for worker in children(running.pid()) {
            peak = peak.max(peak_memory_kb(worker).unwrap_or(0));
        }
        workspace.path("flooded").exists()
    });
    let output = running.wait().expect_code(0);
    assert!(peak > 0, "{output}");
    assert!(peak < 80_000, "{peak} kB");
    let log = workspace.run_path(&format!("logs/{}.1.log", workspace.id(0)));
    let size = log.metadata().expect("kept").len();
    assert!(size < 1_300_000, "{size}");
    let text = std::fs::read_to_string(log).expect("read");
    assert!(text.contains("bytes left out"));
}

#[test]
fn a_million_lines_of_progress_are_heard_without_noise() {
    let program = "import shutil, os, sys\n\
        line = '{\"event\":\"progress\",\"fraction\":0.5}\\n'\n\
        for _ in range(500): sys.stdout.write(line * 2000)\n\
        shutil.copy(os.environ['ARCHI3D_WORKSPACE'] + '/cube.glb', 'generated.glb')";
    success(&python(1, program, &[]));
}

#[test]
fn a_line_without_end_and_lines_that_are_no_events_are_no_trouble() {
    let program = "import shutil, os, sys\n\
        out = sys.stdout.buffer\n\
        out.write(b'{' * 20_000_000 + b'\\n')\n\
        out.write(b'[' * 10_000 + b'\\n')\n\
        out.write(b'\\xff\\xfe\\x00 not text\\n{\"event\":\"dance\"}\\n{\"level\":\"info\"')\n\
        shutil.copy(os.environ['ARCHI3D_WORKSPACE'] + '/cube.glb', 'generated.glb')";
    let workspace = python(1, program, &[]);
    success(&workspace);
    let log = workspace.run_path(&format!("logs/{}.1.log", workspace.id(0)));
    let text = String::from_utf8_lossy(&std::fs::read(log).expect("read")).into_owned();
    assert!(text.contains("[a line of more than 16 MB was left out]"));
    assert!(text.contains("{\"event\":\"dance\"}"));
}

#[test]
fn a_program_may_close_its_pipes_and_read_nothing() {
    let copy = "cp $ARCHI3D_WORKSPACE/cube.glb generated.glb";
    success(&shell(
        1,
        &format!("exec 1>&- 2>&-; sleep 0.3; {copy}"),
        &[],
    ));
    // The request is larger than a pipe, so handing it over cannot succeed.
    let large = format!("defaults: {{text: \"{}\"}}", "x".repeat(300_000));
    success(&shell(1, &format!("exec 0<&-; {copy}"), &[&large]));
    let reason = failure(&shell(1, "exec 0<&-; exit 3", &[&large]));
    assert_eq!(reason, "make.sh ended with exit code 3");
}

#[test]
fn a_sparse_file_of_4_gb_is_no_model_and_is_not_read() {
    for (size, reason) in [
        ("4294967296", "is no usable model: it is not glTF binary"),
        (
            "4294967295",
            "is no usable model: it says it has 4294967292 bytes",
        ),
    ] {
        let header = r"printf 'glTF\002\000\000\000\374\377\377\377' > generated.glb";
        let script = match size {
            "4294967296" => "truncate -s 4294967296 generated.glb".to_owned(),
            _ => format!("{header}; truncate -s {size} generated.glb"),
        };
        let started = Instant::now();
        let message = failure(&shell(1, &script, &[]));
        assert!(message.contains(reason), "{message}");
        assert!(started.elapsed() < Duration::from_secs(20));
    }
    let script = "cp $ARCHI3D_WORKSPACE/cube.glb generated.glb; truncate -s 9G extra.bin";
    let message = failure(&shell(1, script, &[]));
    assert!(message.contains("in its folder; at most"), "{message}");
}

#[test]
fn a_result_outside_its_folder_or_through_a_link_is_refused() {
    for (script, reason) in [
        (
            "ln -s $ARCHI3D_WORKSPACE/cube.glb generated.glb",
            "is a link",
        ),
        ("mkfifo generated.glb", "is a device or a pipe"),
        ("mkdir generated.glb", "is a folder"),
        (": > generated.glb", "is empty"),
        (
            r#"echo '{"event":"result","success":true,"generated_glb":"../../../../../cube.glb"}'"#,
            "is outside its output folder",
        ),
        (
            r#"echo '{"event":"result","success":true,"generated_glb":"/etc/passwd"}'"#,
            "is outside its output folder",
        ),
        (
            r#"ln -s $ARCHI3D_WORKSPACE d; echo '{"event":"result","success":true,"generated_glb":"d/cube.glb"}'"#,
            "is outside its output folder",
        ),
        (
            r#"echo '{"event":"result","success":true,"generated_glb":"none.glb"}'"#,
            "does not exist",
        ),
        (
            "mv $ARCHI3D_OUT_DIR ../moved-away-$ARCHI3D_JOB_ID",
            "ended without a result",
        ),
    ] {
        let message = failure(&shell(1, script, &[]));
        assert!(message.contains(reason), "{script}: {message}");
    }
}

#[test]
fn a_missing_program_leaves_its_job_alone_and_says_where_it_was_looked_for() {
    let workspace = crate::support::process::entry(1, &["command: [no-such-program-xyz]"]);
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(2)
        .expect_stderr("no-such-program-xyz is neither on PATH nor in the workspace");
    assert_eq!(workspace.registry().count("enqueued"), 1);
}

#[test]
fn a_program_cut_off_before_its_purchase_was_noted_is_asked_about() {
    for (script, stall) in [("kill -9 $$", 30.0), ("exec sleep 60", 0.2)] {
        let stall = format!("stall_s: {stall}");
        let options = ["on_interrupt: ask", "retries: 2", &stall];
        let message = failure(&shell(1, script, &options));
        assert!(
            message.contains("--resubmit-unknown"),
            "{script}: {message}"
        );
    }
}

#[test]
fn a_refused_result_keeps_the_last_words_of_its_program() {
    let script = "echo out of memory >&2; echo '{\"event\":\"result\",\"success\":true}'; exit 3";
    let workspace = shell(1, script, &[]);
    let message = failure(&workspace);
    assert!(message.contains("does not exist"), "{message}");
    let errors = files_with(workspace.root(), "It ended with exit code 3.");
    assert!(!errors.is_empty());
}
