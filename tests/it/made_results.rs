//! What an adapter called a success is never thrown away: whoever dies, whatever the disk does,
//! the model ends published or kept, and nobody pays for it again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::support::binary::{Invocation, Output, Running};
use crate::support::process::{children, python, signal, survivors};
use crate::support::{Mount, TestWorkspace, has_tool, skip, wait_until};

/// A program that buys, makes a model of its own for each job, and can wait for the test.
const PRELUDE: &str = r#"
import json, os, shutil, struct, sys, time
request = json.loads(sys.stdin.readline())
beside = os.path.dirname(request["workspace"])
with open(os.path.join(beside, "bought.txt"), "a") as ledger:
    ledger.write(request["job_id"] + "\n")

def model(job):
    text = json.dumps({"asset": {"version": "2.0", "extras": job},
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"count": 3}]}).encode()
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sII", b"glTF", 2, 20 + len(text))
    return head + struct.pack("<I4s", len(text), b"JSON") + text

def write(name, data=None):
    with open(name, "wb") as file:
        file.write(model(request["job_id"]) if data is None else data)

def say(**event):
    print(json.dumps(event), flush=True)

def result(**more):
    say(event="result", success=True, **more)

def wait(name):
    open(os.path.join(beside, "at-" + name), "w").close()
    while not os.path.exists(os.path.join(beside, name)):
        time.sleep(0.005)
"#;

pub fn adapter(products: usize, body: &str, options: &[&str]) -> TestWorkspace {
    python(products, &format!("{PRELUDE}{body}"), options)
}

/// How often each job was paid for.
pub fn bought(workspace: &TestWorkspace) -> Vec<String> {
    let text = fs::read_to_string(workspace.outside().join("bought.txt")).unwrap_or_default();
    let mut jobs: Vec<String> = text.lines().map(str::to_owned).collect();
    jobs.sort();
    jobs
}

fn every_job(workspace: &TestWorkspace) -> Vec<String> {
    let mut jobs: Vec<String> = workspace.jobs().iter().map(|job| job.id.clone()).collect();
    jobs.sort();
    jobs
}

/// Demands that every job has the model that was made for it, bought once.
#[track_caller]
pub fn expect_all_made_once(workspace: &TestWorkspace, said: &Output) {
    let jobs = every_job(workspace);
    assert_eq!(
        workspace.registry().count("completed"),
        jobs.len(),
        "{said}"
    );
    for job in &jobs {
        let model = fs::read(workspace.run_path(&format!("outputs/{job}/generated.glb")));
        let model = String::from_utf8_lossy(&model.expect("published")).into_owned();
        assert!(model.contains(job.as_str()), "{job} has another's model");
    }
    assert_eq!(bought(workspace), jobs, "{said}");
}

/// Waits until the journal of a worker tells of so many results.
pub fn wait_for_made(workspace: &TestWorkspace, count: usize) {
    wait_until("results in the journal", || {
        let text = journal_text(workspace);
        text.matches(r#""event":"made""#).count() >= count
    });
}

pub fn journal_text(workspace: &TestWorkspace) -> String {
    let journals = fs::read_dir(workspace.run_path("state/journal"));
    let paths = journals.into_iter().flatten().flatten();
    let texts = paths.map(|entry| fs::read_to_string(entry.path()).unwrap_or_default());
    texts.collect()
}

/// Kills the worker below its guard, and with it all of its programs.
pub fn kill_worker(workspace: &TestWorkspace, running: Running) {
    for worker in children(running.pid()) {
        signal(worker, "KILL");
    }
    let _ = running.wait();
    wait_until("the end of all programs", || {
        survivors(workspace).is_empty()
    });
}

pub fn go(workspace: &TestWorkspace, name: &str) {
    File::create(workspace.outside().join(name)).expect("writable");
}

pub fn late(workspace: &TestWorkspace) -> Vec<PathBuf> {
    let entries = fs::read_dir(workspace.run_path("outputs/.late"));
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

pub const LINGERS: &str = r#"
write("model.glb"); write("front.png", b"png"); write("notes.txt", b"beside")
result(generated_glb="model.glb", previews=["front.png"], algo_version="v7",
       estimated_cost_usd=0.25, raw_metadata={"seed": 7})
time.sleep(600)
"#;

#[test]
fn a_result_whose_worker_dies_before_the_program_has_ended_is_taken_over_not_bought_again() {
    for policy in ["on_interrupt: rerun", "on_interrupt: ask"] {
        let workspace = adapter(2, LINGERS, &["unit_price_usd: 0.4", policy]);
        let running = workspace.worker(&["--max-parallel", "2", "--yes"]).spawn();
        wait_for_made(&workspace, 2);
        kill_worker(&workspace, running);
        let doctor = workspace.archi3d(&["doctor"]).run();
        assert!(doctor.stdout.contains("unpublished_result"), "{doctor}");
        let again = workspace.worker(&["--yes"]).run().expect_code(0);
        expect_all_made_once(&workspace, &again);
        let row = workspace.row(workspace.id(0));
        assert_eq!(&row["estimated_cost_usd"], "0.25", "{policy}");
        assert_eq!(&row["algo_version"], "v7");
        assert!(row["preview_1_path"].ends_with("/preview_1.png"));
        // What lay beside it was not looked through for secrets, so it is not published.
        let beside = fs::read(late(&workspace)[0].join("notes.txt")).expect("kept");
        assert_eq!(beside, b"beside");
        let report = workspace.archi3d(&["cost", "report", "--json"]).run();
        assert!(report.stdout.contains("0.5"), "{report}");
    }
}

#[test]
fn a_folder_whose_claim_a_power_cut_took_is_swept_once_its_model_is_published() {
    let rhythm = ["--heartbeat-secs", "0.1", "--stale-secs", "0.3"];
    let workspace = adapter(1, LINGERS, &[]);
    let running = workspace.worker(&rhythm).spawn();
    wait_for_made(&workspace, 1);
    kill_worker(&workspace, running);
    let journals = fs::read_dir(workspace.run_path("state/journal")).expect("a folder");
    let journals: Vec<PathBuf> = journals.flatten().map(|entry| entry.path()).collect();
    for journal in journals {
        let text = fs::read_to_string(&journal).expect("a journal");
        let lines = text.split_inclusive('\n');
        let rest = lines.filter(|line| !line.contains(r#""event":"claimed""#));
        let rest: String = rest.collect();
        assert!(rest.len() < text.len(), "{text}");
        // Another file, so that only silence tells that its worker is dead.
        fs::remove_file(&journal).expect("removed");
        fs::write(&journal, rest).expect("written");
    }
    let again = [&rhythm[..], &["--only-status", "enqueued,running"]].concat();
    wait_until("nothing is left in staging", || {
        let _ = workspace.worker(&again).run();
        let left = fs::read_dir(workspace.run_path("outputs/.staging"));
        left.expect("a folder").count() == 0
    });
    let said = workspace.worker(&again).run().expect_code(0);
    expect_all_made_once(&workspace, &said);
}

#[test]
fn a_dead_workers_result_is_taken_over_by_whoever_cancels_its_job_too() {
    let workspace = adapter(1, LINGERS, &[]);
    let running = workspace.worker(&[]).spawn();
    wait_for_made(&workspace, 1);
    kill_worker(&workspace, running);
    let cancel = ["run", "cancel", "--run-id", "rk", "--yes"];
    let said = workspace.archi3d(&cancel).run();
    expect_all_made_once(&workspace, &said);
}

#[test]
fn a_dead_workers_result_that_is_not_whole_is_kept_and_asked_about() {
    let body = r#"
write("generated.glb", model(request["job_id"])[:40])
result(); time.sleep(600)"#;
    let workspace = adapter(1, body, &["unit_price_usd: 0.4"]);
    let running = workspace.worker(&["--yes"]).spawn();
    wait_for_made(&workspace, 1);
    kill_worker(&workspace, running);
    let _ = workspace.worker(&["--yes"]).run();
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["status"], "failed");
    assert!(row["error_msg"].contains("outputs/.late/"), "{row:?}");
    assert!(row["error_msg"].contains("may have been billed"), "{row:?}");
    assert_eq!(late(&workspace).len(), 1);
    // Neither is it bought again by somebody who only wants failed jobs.
    let _ = workspace
        .worker(&["--yes", "--only-status", "failed"])
        .run();
    assert_eq!(bought(&workspace).len(), 1);
}

#[test]
fn a_job_lock_that_is_held_while_a_result_is_taken_over_only_puts_it_off() {
    let workspace = adapter(1, LINGERS, &[]);
    let running = workspace.worker(&[]).spawn();
    wait_for_made(&workspace, 1);
    kill_worker(&workspace, running);
    let lock = workspace.run_path(&format!("state/{}.lock", workspace.id(0)));
    let held = File::options().write(true).open(lock).expect("there");
    held.lock().expect("free");
    let _ = workspace.worker(&["--limit", "1"]).run();
    drop(held);
    let again = workspace.worker(&[]).run().expect_code(0);
    expect_all_made_once(&workspace, &again);
}

/// Fills the disk or its inodes from within the program, then reports success.
const FILLS_DISK: &str = r#"
write("generated.glb"); write("beside.txt", b"x" * 9000)
if not os.path.exists(os.path.join(beside, "once")):
    open(os.path.join(beside, "once"), "w").close()
    folder = os.path.join(request["workspace"], "ballast")
    os.mkdir(folder)
    number = 0
    try:
        while True:
            with open(os.path.join(folder, str(number)), "wb") as file:
                number += 1
                file.write(b"x" * int(request["defaults"]["piece"]))
    except OSError:
        pass
result(raw_metadata={"seed": 7})
"#;

#[test]
fn a_full_disk_or_one_without_inodes_keeps_the_model_that_was_just_made() {
    // Large files fill the disk; empty ones use up its inodes.
    for (piece, mount) in [
        ("65536", "size=4194304"),
        ("0", "size=67108864,nr_inodes=200"),
    ] {
        let piece = format!("defaults: {{piece: {piece}}}");
        let workspace = adapter(3, FILLS_DISK, &["unit_price_usd: 0.4", &piece]);
        let Some(mount) = on_small_disk(&workspace, mount) else {
            return;
        };
        let output = workspace.worker(&["--yes"]).run().expect_code(3);
        assert!(output.stderr.contains("No space left"), "{output}");
        assert!(!output.stderr.contains("nothing is lost"), "{output}");
        let output = output.expect_stderr("without making it again: ");
        assert_eq!(workspace.registry().count("failed"), 0, "{output}");
        fs::remove_dir_all(workspace.path("ballast")).expect("made by the program");
        let again = workspace.worker(&["--yes"]).run().expect_code(0);
        expect_all_made_once(&workspace, &again);
        drop(mount);
    }
}

/// Copies what `workspace` holds onto a small file system mounted over it.
fn on_small_disk(workspace: &TestWorkspace, options: &str) -> Option<Mount> {
    let files: Vec<(String, Vec<u8>)> = workspace
        .tree()
        .into_keys()
        .filter(|name| !name.ends_with('/'))
        .map(|name| (name.clone(), workspace.bytes(&name)))
        .collect();
    let mount = Mount::memory(workspace.root(), options)?;
    for (name, bytes) in files {
        workspace.write(&name, &bytes);
    }
    Some(mount)
}

const WAITS: &str = r#"
write("generated.glb"); write("beside.txt", b"x")
wait("go"); result(raw_metadata={"seed": 7})
"#;

/// Starts a worker whose only program has made its model and waits for a word.
fn waiting(options: &[&str]) -> (TestWorkspace, Running) {
    let workspace = adapter(1, WAITS, &["unit_price_usd: 0.4"]);
    let running = workspace.worker(options).arg("--yes").spawn();
    wait_until("the program", || workspace.outside().join("at-go").exists());
    (workspace, running)
}

#[test]
fn a_run_or_a_workspace_that_is_renamed_in_mid_run_and_back_loses_no_model() {
    for below in ["runs/rk", ""] {
        let (workspace, running) = waiting(&[]);
        let (place, away) = (workspace.path(below), workspace.outside().join("away"));
        fs::rename(&place, &away).expect("renamed");
        go(&workspace, "go");
        let output = running.wait().expect_code(3);
        fs::rename(&away, &place).expect("renamed back");
        assert_eq!(workspace.registry().count("failed"), 0, "{output}");
        let again = workspace.worker(&["--yes"]).run().expect_code(0);
        expect_all_made_once(&workspace, &again);
    }
}

#[test]
fn a_disk_that_becomes_read_only_keeps_the_model_that_was_just_made() {
    let (workspace, running) = waiting(&[]);
    let Some(mount) = Mount::read_only(workspace.root()) else {
        return;
    };
    go(&workspace, "go");
    let output = running.wait().expect_code(3);
    assert!(output.stderr.contains("Read-only file system"), "{output}");
    drop(mount);
    let again = workspace.worker(&["--yes"]).run().expect_code(0);
    expect_all_made_once(&workspace, &again);
}

#[test]
fn a_lease_that_cannot_be_renewed_is_told_as_that_and_not_as_a_takeover() {
    let (workspace, running) = waiting(&["--heartbeat-secs", "0.2", "--stale-secs", "2"]);
    fs::rename(workspace.path("runs/rk"), workspace.path("runs/away")).expect("renamed");
    wait_until("the end of the program", || {
        survivors(&workspace).is_empty()
    });
    let output = running.wait().expect_code(3);
    assert!(!output.stderr.contains("taken it over"), "{output}");
    let _ = output.expect_stderr("its lease could not be renewed");
}

#[test]
fn names_that_are_no_text_do_not_make_a_result_hollow() {
    let body = r#"
os.mkdir(b"t\xe9xtures"); write("generated.glb")
write(b"t\xe9xtures/\xff.png", b"1"); write(b"n\xe9.txt", b"2")
wait("go"); result()"#;
    let workspace = adapter(1, body, &[]);
    let running = workspace.worker(&[]).spawn();
    wait_until("the program", || workspace.outside().join("at-go").exists());
    let table = File::options()
        .append(true)
        .create(true)
        .open(workspace.path("tables/generations.lock"))
        .expect("writable");
    table.lock().expect("free for a moment");
    go(&workspace, "go");
    wait_until("the marker", || workspace.jobs_with("completed").len() == 1);
    kill_worker(&workspace, running);
    drop(table);
    let again = workspace.worker(&[]).run().expect_code(0);
    expect_all_made_once(&workspace, &again);
    let folder = workspace.run_path(&format!("outputs/{}", workspace.id(0)));
    assert_eq!(
        fs::read(folder.join("t%E9xtures/%FF.png")).expect("kept"),
        b"1"
    );
    assert_eq!(fs::read(folder.join("n%E9.txt")).expect("kept"), b"2");
}

#[test]
fn previews_never_cost_a_model() {
    let body = r#"
for name in "abcd": write(name + ".png", name.encode())
os.symlink("a.png", "link.png"); os.mkdir("folder.png"); write("empty.png", b"")
write("generated.glb")
result(generated_glb="generated.glb", previews=["none.png", "link.png", "folder.png", "empty.png",
    "generated.glb", "../x.png", 7, "a.png", "a.png", "b.png", "c.png", "d.png"])"#;
    let workspace = adapter(1, body, &[]);
    let output = workspace.worker(&[]).run().expect_code(0);
    expect_all_made_once(&workspace, &output);
    let output = output.expect_stderr("left out of its result");
    let _ = output.expect_stderr("d.png (more than 3)");
    let folder = workspace.run_path(&format!("outputs/{}", workspace.id(0)));
    for (name, letter) in [
        ("preview_1.png", "a"),
        ("preview_3.png", "c"),
        ("d.png", "d"),
    ] {
        let bytes = fs::read(folder.join(name)).expect("kept");
        assert_eq!(bytes, letter.as_bytes(), "{name}");
    }
}

#[test]
fn a_folder_that_its_program_has_protected_is_opened_and_holds_up_nobody() {
    let body = r#"
write("model.glb"); os.mkdir("deep"); write("deep/x.txt", os.environb[b"SHOP_KEY"])
os.chmod("deep/x.txt", 0); os.chmod("deep", 0); os.chmod(".", 0o555)
result(generated_glb="model.glb", raw_metadata={"seed": 7})"#;
    let workspace = adapter(2, body, &["env: [SHOP_KEY]"]);
    workspace.write(".env", b"SHOP_KEY=canary-5f3e9a\n");
    let Some(output) = as_somebody(&workspace, &["run", "worker", "--run-id", "rk"]) else {
        return;
    };
    let output = output.expect_code(0);
    expect_all_made_once(&workspace, &output);
    let deep = workspace.run_path(&format!("outputs/{}/deep/x.txt", workspace.id(0)));
    assert_eq!(fs::read(deep).expect("published"), b"***");
}

/// Runs the program as a user without rights; nothing if that cannot be done here.
fn as_somebody(workspace: &TestWorkspace, arguments: &[&str]) -> Option<Output> {
    if !has_tool("setpriv") {
        return None;
    }
    let nobody = "65534";
    let owned = std::process::Command::new("chown")
        .args(["-R", nobody])
        .arg(workspace.outside())
        .output();
    if !owned.is_ok_and(|output| output.status.success()) {
        skip("nothing can be given to another user here; run the tests as root");
        return None;
    }
    let ids = [
        format!("--reuid={nobody}"),
        format!("--regid={nobody}"),
        "--clear-groups".to_owned(),
    ];
    let mut invocation = Invocation::program(Path::new("setpriv"), ids)
        .arg(env!("CARGO_BIN_EXE_archi3d"))
        .env("HOME", workspace.outside())
        .current_dir(workspace.root());
    for argument in arguments {
        invocation = invocation.arg(*argument);
    }
    Some(invocation.arg("--workspace").arg(workspace.root()).run())
}

#[test]
fn staging_on_another_disk_is_copied_and_holds_up_nobody() {
    let body = r#"write("model.glb"); os.mkdir("deep"); write("deep/x.txt", b"x")
result(generated_glb="model.glb", raw_metadata={"seed": 7})"#;
    let workspace = adapter(2, body, &[]);
    fs::create_dir_all(workspace.run_path("outputs/.staging")).expect("writable");
    let Some(mount) = Mount::small(&workspace.run_path("outputs/.staging"), 4 << 20) else {
        return;
    };
    let output = workspace.worker(&[]).run().expect_code(0);
    expect_all_made_once(&workspace, &output);
    let staged = fs::read_dir(workspace.run_path("outputs/.staging")).expect("there");
    assert_eq!(staged.count(), 0);
    assert_eq!(late(&workspace), Vec::<PathBuf>::new());
    let deep = workspace.run_path(&format!("outputs/{}/deep/x.txt", workspace.id(0)));
    assert_eq!(fs::read(deep).expect("copied"), b"x");
    drop(mount);
}

#[test]
fn a_folder_that_its_program_replaced_by_a_link_fails_its_job_alone_and_is_not_followed() {
    let body = r#"
if request["product_id"] == "100001":
    here, there = os.getcwd(), os.path.join(beside, "elsewhere")
    os.rename(here, there); os.symlink(there, here); os.chdir(there)
write("model.glb"); write("metadata.json", b"{}"); write("secret.txt", b"x")
result(generated_glb="model.glb", raw_metadata={"seed": 7})"#;
    let workspace = adapter(3, body, &[]);
    let output = workspace.worker(&[]).run().expect_code(1);
    assert_eq!(workspace.registry().count("completed"), 2, "{output}");
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["status"], "failed");
    assert!(row["error_msg"].contains("by a link to"), "{row:?}");
    let there = fs::read_dir(workspace.outside().join("elsewhere")).expect("left alone");
    let mut names: Vec<_> = there.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["metadata.json", "model.glb", "secret.txt"]);
    let published = workspace.run_path(&format!("outputs/{}", workspace.id(0)));
    assert!(fs::symlink_metadata(published).is_err());
}

#[test]
fn a_refused_result_is_named_everywhere_and_brought_in_by_a_command_that_buys_nothing() {
    let body = r#"
write("result.glb")
result(generated_glb="model.glb", estimated_cost_usd=0.25, algo_version="v7")"#;
    let workspace = adapter(1, body, &["unit_price_usd: 0.4"]);
    let job = workspace.id(0);
    let output = workspace.worker(&["--yes"]).run().expect_code(1);
    let row = workspace.row(job);
    assert!(row["error_msg"].contains("outputs/.late/"), "{output}");
    assert!(row["error_msg"].contains("run adopt"), "{output}");
    let explain = ["run", "explain", "--run-id", "rk", job];
    let explained = workspace.archi3d(&explain).run().expect_code(0);
    let explained = explained.expect_stdout("outputs/.late/");
    let _ = explained.expect_stdout("run adopt --run-id rk");
    let doctor = workspace.archi3d(&["doctor"]).run();
    let doctor = doctor.expect_stdout("kept_result");
    let _ = doctor.expect_stdout(&format!("run adopt --run-id rk {job}"));
    // As it is, it cannot be taken, and stays.
    let adopt = ["run", "adopt", "--run-id", "rk", job];
    let refused = workspace.archi3d(&adopt).run().expect_code(2);
    let _ = refused.expect_stderr("model.glb does not exist");
    let kept = late(&workspace);
    assert_eq!(kept.len(), 1);
    let failed = ["--yes", "--only-status", "failed"];
    let skipped = workspace.worker(&failed).run();
    let _ = skipped.expect_stderr("run adopt --run-id rk");
    fs::rename(kept[0].join("result.glb"), kept[0].join("model.glb")).expect("kept");
    let adopted = workspace.archi3d(&adopt).run().expect_code(0);
    expect_all_made_once(&workspace, &adopted);
    assert_eq!(late(&workspace), Vec::<PathBuf>::new());
    let row = workspace.row(job);
    assert_eq!(&row["estimated_cost_usd"], "0.25");
    assert_eq!(&row["algo_version"], "v7");
    let again = workspace.archi3d(&adopt).run().expect_code(2);
    let _ = again.expect_stderr("it has no kept result");
    let doctor = workspace.archi3d(&["doctor"]).run();
    assert!(!doctor.stdout.contains("kept_result"), "{doctor}");
}

#[test]
fn a_provider_of_which_nobody_can_read_whether_it_is_closed_is_not_used() {
    let workspace = adapter(1, "write('generated.glb'); result()", &["provider: shop"]);
    // A folder where a file should be cannot be read, also not by root.
    fs::create_dir_all(workspace.path("runs/.providers/shop.closed.json")).expect("writable");
    let output = workspace.worker(&[]).run().expect_code(1);
    let _ = output.expect_stderr("whether it is open cannot be read");
    assert_eq!(bought(&workspace), Vec::<String>::new());
}

#[test]
fn what_lies_in_a_folder_that_nobody_may_read_is_kept() {
    let body = r#"
write("result.glb"); result(generated_glb="model.glb"); os.chmod(".", 0o300)"#;
    let workspace = adapter(1, body, &[]);
    let Some(output) = as_somebody(&workspace, &["run", "worker", "--run-id", "rk"]) else {
        return;
    };
    let _ = output.expect_code(1);
    let kept = late(&workspace);
    assert_eq!(kept.len(), 1);
    assert!(kept[0].join("result.glb").exists());
}

#[test]
fn a_job_that_is_stopped_because_its_lease_cannot_be_renewed_is_asked_about() {
    let body = r#"
import signal
def back(*_):
    os.rename(os.path.join(beside, "away"), os.path.join(request["workspace"], "runs/rk"))
    os._exit(1)
signal.signal(signal.SIGTERM, back)
wait("never")"#;
    let workspace = adapter(1, body, &["unit_price_usd: 0.4", "on_interrupt: ask"]);
    let rhythm = ["--yes", "--heartbeat-secs", "0.2", "--stale-secs", "2"];
    let running = workspace.worker(&rhythm).spawn();
    let waits = workspace.outside().join("at-never");
    wait_until("the program", || waits.exists());
    fs::rename(workspace.path("runs/rk"), workspace.outside().join("away")).expect("renamed");
    let output = running.wait();
    assert!(!output.stderr.contains("given back"), "{output}");
    go(&workspace, "never");
    let _ = workspace.worker(&["--yes"]).run();
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["status"], "failed", "{output}");
    assert!(
        row["error_msg"].contains("may have been billed"),
        "{output}"
    );
    assert_eq!(bought(&workspace).len(), 1);
}

#[test]
fn what_lies_beside_a_model_never_costs_the_model() {
    let body = r#"
import socket
write("model.glb"); os.symlink("model.glb", "latest.glb"); os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("sock"); os.symlink(beside, "up")
os.mkdir("deep"); os.symlink("/etc/passwd", "deep/out")
outside = os.path.join(beside, "texture.png")
write(outside, b"texture"); os.link(outside, "deep/texture.png")
os.link("model.glb", os.path.join(beside, "second.glb"))
result(generated_glb="model.glb")"#;
    let workspace = adapter(1, body, &["unit_price_usd: 0.4"]);
    let output = workspace.worker(&["--yes"]).run().expect_code(0);
    expect_all_made_once(&workspace, &output);
    let output = output.expect_stderr("latest.glb (it is a link)");
    let folder = workspace.run_path(&format!("outputs/{}", workspace.id(0)));
    for name in ["latest.glb", "pipe", "sock", "up", "deep/out"] {
        let left = folder.join(name).symlink_metadata();
        assert!(left.is_err(), "{name}: {output}");
    }
    // What is changed elsewhere does not change the result.
    for (outside, inside) in [
        ("texture.png", "deep/texture.png"),
        ("second.glb", "generated.glb"),
    ] {
        let before = fs::read(folder.join(inside)).expect("published");
        fs::write(workspace.outside().join(outside), "changed").expect("still there");
        assert_eq!(fs::read(folder.join(inside)).expect("published"), before);
    }
}
