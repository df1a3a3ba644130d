//! Nothing outlives its worker: the guard, the worker and the programs are killed and signalled
//! in every way, and then no process is left and the run can go on.

use std::time::{Duration, Instant};

use crate::support::binary::Running;
use crate::support::process::{children, python, shell, signal, survivors};
use crate::support::{TestWorkspace, wait_until};

/// A program with a grandchild in its group and a daemon in a session of its own.
const FAMILY: &str = r#"
import os, signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "600"])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(os.environ["ARCHI3D_WORKSPACE"] + "/ready-" + os.environ["ARCHI3D_JOB_ID"], "w").close()
        time.sleep(600)
    os._exit(0)
os.wait()
time.sleep(600)
"#;

fn with_family(jobs: usize) -> (TestWorkspace, Running) {
    let workspace = python(jobs, FAMILY, &[]);
    let running = workspace.worker(&["--max-parallel", "4"]).spawn();
    for job in workspace.jobs() {
        workspace.wait_for_file(&format!("ready-{}", job.id));
    }
    assert!(survivors(&workspace).len() >= 3 * jobs);
    (workspace, running)
}

/// Returns the worker below its guard.
#[track_caller]
fn worker_of(running: &Running) -> u32 {
    let below = children(running.pid());
    assert_eq!(below.len(), 1, "a guard has one child: {below:?}");
    below[0]
}

#[track_caller]
fn expect_all_gone(workspace: &TestWorkspace, within: Duration) {
    let started = Instant::now();
    wait_until("the end of all programs", || {
        survivors(workspace).is_empty()
    });
    // A busy machine adds to what the program takes.
    let within = within + Duration::from_secs(15);
    assert!(started.elapsed() < within, "{:?}", started.elapsed());
}

#[test]
fn after_kill_9_of_the_worker_nothing_of_it_is_left_and_the_next_one_goes_on() {
    let (workspace, running) = with_family(2);
    signal(worker_of(&running), "KILL");
    expect_all_gone(&workspace, Duration::from_secs(2));
    let _ = running
        .wait()
        .expect_code(137)
        .expect_stderr("the worker was ended by signal 9");
    workspace.write("make.py", b"import os, shutil\nshutil.copy(os.environ['ARCHI3D_WORKSPACE'] + '/cube.glb', 'generated.glb')");
    let _ = workspace
        .worker(&["--only-status", "enqueued,running"])
        .run()
        .expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 2);
    assert_eq!(workspace.leftovers(), [""; 0]);
}

#[test]
fn after_kill_9_of_the_guard_the_worker_gives_its_jobs_back_and_ends() {
    let (workspace, running) = with_family(2);
    let worker = worker_of(&running);
    let _ = running.kill();
    wait_until("the end of the worker", || {
        !std::path::Path::new(&format!("/proc/{worker}")).exists()
    });
    expect_all_gone(&workspace, Duration::from_secs(2));
    assert_eq!(workspace.registry().count("enqueued"), 2);
    assert_eq!(workspace.log().events("job_released").len(), 2);
}

#[test]
fn the_first_signal_is_counted_once_and_lets_jobs_land() {
    let script = "touch $ARCHI3D_WORKSPACE/ready; while [ ! -e $ARCHI3D_WORKSPACE/go ]; do sleep 0.05; done\n\
                  cp $ARCHI3D_WORKSPACE/cube.glb generated.glb";
    let workspace = shell(2, script, &[]);
    let running = workspace.worker(&[]).spawn();
    workspace.wait_for_file("ready");
    running.signal("INT");
    wait_until("the first word", || {
        running.stderr_so_far().contains("stopping: no new job")
    });
    workspace.write("go", b"");
    let output = running.wait().expect_code(130);
    assert!(!output.stderr.contains("stopping now"), "{output}");
    assert_eq!(workspace.registry().count("completed"), 1);
    assert_eq!(workspace.registry().count("enqueued"), 1);
}

#[test]
fn the_second_signal_stops_running_jobs_and_gives_them_back() {
    let (workspace, running) = with_family(1);
    for word in ["stopping: no new job", "stopping now"] {
        running.signal("INT");
        wait_until(word, || running.stderr_so_far().contains(word));
    }
    let _ = running.wait().expect_code(130);
    expect_all_gone(&workspace, Duration::from_secs(1));
    assert_eq!(workspace.registry().count("enqueued"), 1);
}

#[test]
fn a_third_signal_ends_everything_at_once() {
    let (workspace, running) = with_family(1);
    for word in ["stopping: no new job", "stopping now"] {
        running.signal("TERM");
        wait_until(word, || running.stderr_so_far().contains(word));
    }
    running.signal("TERM");
    let _ = running.wait().expect_code(143);
    expect_all_gone(&workspace, Duration::from_secs(2));
}

#[test]
fn a_pause_reaches_everything_and_so_does_its_end() {
    let (workspace, running) = with_family(1);
    let worker = worker_of(&running);
    let state = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit(") ").next().unwrap_or_default().to_owned();
        rest.chars().next().unwrap_or('?')
    };
    let program = children(worker);
    running.signal("TSTP");
    let all: Vec<u32> = program.into_iter().chain([worker, running.pid()]).collect();
    wait_until("the pause of all", || {
        all.iter().all(|pid| state(*pid) == 'T')
    });
    running.signal("CONT");
    wait_until("the end of the pause", || {
        all.iter().all(|pid| state(*pid) != 'T')
    });
    running.signal("INT");
    wait_until("the first word", || {
        running.stderr_so_far().contains("stopping: no new job")
    });
    running.signal("INT");
    let _ = running.wait().expect_code(130);
    expect_all_gone(&workspace, Duration::from_secs(1));
}

#[test]
fn the_exit_code_is_the_workers_and_without_programs_there_is_no_guard() {
    let failing = shell(1, "exit 3", &[]);
    let _ = failing.worker(&[]).run().expect_code(1);
    let rehearsal = shell(1, "exit 3", &[]);
    let running = rehearsal
        .worker(&["--dry-run", "--simulate-ms", "1500"])
        .spawn();
    rehearsal.wait_for_events("job_started", 1);
    assert_eq!(children(running.pid()), [0; 0]);
    let _ = running.wait().expect_code(0);
}

#[test]
fn a_check_leaves_nothing_behind_however_it_ends() {
    for (options, name, code) in [
        (&["timeout_s: 8"][..], None, 1),
        (&[], Some("INT"), 130),
        (&[], Some("KILL"), 137),
    ] {
        let workspace = python(1, FAMILY, options);
        let check = ["adapters", "check", "tool", "--yes"];
        let running = workspace.archi3d(&check).spawn();
        workspace.wait_for_file("ready-check");
        match name {
            Some("KILL") => signal(worker_of(&running), "KILL"),
            Some(name) => running.signal(name),
            None => {}
        }
        let _ = running.wait().expect_code(code);
        expect_all_gone(&workspace, Duration::from_secs(1));
    }
}
