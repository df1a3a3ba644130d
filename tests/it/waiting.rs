//! A worker that waits says what for and is idle; a provider that asks to be left alone is left
//! alone by all workers.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::mocks::{attempts, executed, fields, jobs_of, one_job_each, statuses};
use crate::support::{TestWorkspace, has_tool, skip, wait_until};

/// Waits until some worker tells what it waits for.
fn wait_for_notice(workspace: &TestWorkspace) {
    wait_until("it is told what is waited for", || {
        workspace.log().events("notice").iter().any(|event| {
            let text = event["message"].as_str();
            text.is_some_and(|text| text.contains("waiting for provider"))
        })
    });
}

/// Demands that a worker tells within two seconds of its start what it waits for.
#[track_caller]
fn expect_told(options: &str, words: &str, prepare: impl Fn(&TestWorkspace)) {
    let workspace = one_job_each(&[("tool", options)]);
    prepare(&workspace);
    let worker = workspace.worker(&[]).spawn();
    wait_for_notice(&workspace);
    worker.signal("INT");
    let output = worker.wait().expect_code(130).expect_stderr(words);
    assert_eq!(
        output.stderr.matches("waiting for provider").count(),
        1,
        "{}",
        output.stderr
    );
}

#[test]
fn a_worker_says_that_it_waits_for_a_closed_provider() {
    expect_told("provider: acme", "closed until", |workspace| {
        close_provider(workspace, "acme");
    });
}

/// Closes a provider for a long time.
fn close_provider(workspace: &TestWorkspace, key: &str) {
    let closure = format!(
        r#"{{"provider":"{key}","closed_at":"2026-01-01T00:00:00+00:00",
            "until":"2099-01-01T00:00:00+00:00","reason":"busy"}}"#
    );
    let path = format!("runs/.providers/{key}.closed.json");
    workspace.write(&path, closure.as_bytes());
}

#[test]
fn a_worker_says_that_it_waits_for_its_turn_under_a_small_rate() {
    // Garbage counts as a start of this moment.
    expect_told("rate_per_min: 0.01", "rate_per_min", |workspace| {
        workspace.write("runs/.providers/tool.rate", b"?");
    });
}

#[test]
fn a_worker_says_that_it_waits_for_a_slot() {
    let workspace = jobs_of(&[("tool", "max_parallel: 1, wait_file: go")], &["tool"; 2]);
    let first = workspace.worker(&[]).spawn();
    workspace.wait_for_events("job_started", 1);
    let second = workspace.worker(&[]).spawn();
    let started = Instant::now();
    wait_for_notice(&workspace);
    assert!(started.elapsed() < Duration::from_secs(2) + SLOW_MACHINE);
    workspace.write("go", b"");
    let output = second.wait().expect_code(0).expect_stderr("max_parallel");
    // Of what runs here nothing is said.
    let first = first.wait().expect_code(0);
    assert!(!first.stderr.contains("waiting for"), "{}", first.stderr);
    assert_eq!(output.stderr.matches("waiting for").count(), 1);
    assert_eq!(statuses(&workspace), ["completed"; 2]);
}

/// What a busy machine may need to start a program.
const SLOW_MACHINE: Duration = Duration::from_secs(20);

/// Counts the file calls of a worker in some seconds; nothing where nobody may look on.
fn file_calls(workspace: &TestWorkspace, pid: u32, seconds: usize) -> Option<usize> {
    if !has_tool("strace") {
        return None;
    }
    let trace = workspace.path("trace.txt");
    let counted = Command::new("timeout")
        .args(["-s", "INT", &seconds.to_string(), "strace", "-f", "-qq"])
        .args(["-e", "trace=%file,%desc", "-o"])
        .arg(&trace)
        .args(["-p", &pid.to_string()])
        .output()
        .expect("started");
    let said = String::from_utf8_lossy(&counted.stderr);
    if said.contains("ptrace") {
        skip("no other program may be looked at here");
        return None;
    }
    let calls = std::fs::read_to_string(&trace);
    Some(calls.unwrap_or_else(|_| panic!("{said}")).lines().count())
}

#[test]
fn a_worker_that_waits_for_a_slot_a_rate_or_a_closed_provider_is_idle() {
    let seconds = 3;
    for why in ["slot", "rate", "closed"] {
        let options = match why {
            "slot" => "max_parallel: 1, wait_file: go",
            "rate" => "rate_per_min: 0.01",
            _ => "max_parallel: 9",
        };
        let workspace = jobs_of(
            &[("tool", options), ("twin", "provider: tool")],
            &["tool", "tool", "twin", "twin", "tool"],
        );
        match why {
            "rate" => workspace.write("runs/.providers/tool.rate", b"?"),
            "closed" => close_provider(&workspace, "tool"),
            _ => {}
        }
        let holder = (why == "slot").then(|| {
            let holder = workspace.worker(&[]).spawn();
            workspace.wait_for_events("job_started", 1);
            holder
        });
        let idle = workspace.worker(&["--max-parallel", "4"]).spawn();
        wait_for_notice(&workspace);
        let calls = file_calls(&workspace, idle.pid(), seconds);
        if let Some(calls) = calls {
            let shown = format!("{why}: {calls} file calls in {seconds} s");
            assert!(calls < 50 * seconds, "{shown}");
        }
        if let Some(holder) = holder {
            workspace.write("go", b"");
            let _ = holder.wait().expect_code(0);
            let _ = idle.wait().expect_code(0);
            assert_eq!(statuses(&workspace), ["completed"; 5]);
        } else {
            idle.signal("INT");
            let _ = idle.wait().expect_code(130);
            assert_eq!(statuses(&workspace), ["enqueued"; 5]);
        }
    }
}

#[test]
fn a_provider_that_asks_to_be_left_alone_is_closed_for_everybody_and_costs_no_retry() {
    let workspace = one_job_each(&[
        ("one", "provider: acme, fail_first: 1, retry_after_s: 2"),
        ("two", "provider: acme"),
        ("three", ""),
    ]);
    let started = Instant::now();
    let worker = workspace.worker(&["--max-parallel", "1"]).spawn();
    workspace.wait_for_events("job_put_off", 1);
    // Another worker asks it nothing meanwhile, whatever its algo.
    let other = workspace
        .worker(&["--jobs", workspace.id(1)])
        .run()
        .expect_code(0);
    assert!(started.elapsed() >= Duration::from_secs(2));
    let _ = other.expect_stderr("waiting for provider acme: closed until");
    let _ = worker.wait().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"; 3]);
    let mut done = executed(&workspace);
    // The job of another provider did not wait.
    assert_eq!(done[..2], [0, 2]);
    done.sort_unstable();
    assert_eq!(done, [0, 0, 1, 2]);
    let mine = attempts(&workspace);
    assert_eq!(fields(&mine, "outcome")[0], "put_off");
    let summaries = workspace.log();
    assert_eq!(summaries.summary()["retried"], 0);
}
