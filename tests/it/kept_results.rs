//! A model that was made is found wherever it lies when a worker has died: set aside, copied,
//! beside another one, or in a folder of which no journal tells.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::made_results::{
    LINGERS, adapter, bought, expect_all_made_once, go, kill_worker, late, wait_for_made,
};
use crate::support::binary::Running;
use crate::support::process::{children, signal};
use crate::support::{TestWorkspace, wait_until};

const RESUME: [&str; 3] = ["--yes", "--only-status", "enqueued,running"];

/// Beats so seldom that nothing is written again in the course of a test.
const SLOW: [&str; 5] = ["--yes", "--heartbeat-secs", "600", "--stale-secs", "3600"];

fn staged(workspace: &TestWorkspace) -> Vec<PathBuf> {
    let entries = fs::read_dir(workspace.run_path("outputs/.staging"));
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().expect("a name");
    name.to_string_lossy().into_owned()
}

/// Makes a file or folder look as if it was last written so long ago.
fn age(path: &Path, time: Duration) {
    let file = File::open(path).expect("there");
    let then = SystemTime::now() - time;
    file.set_modified(then).expect("ours");
}

fn stop_worker(running: &Running) {
    for worker in children(running.pid()) {
        signal(worker, "STOP");
    }
}

#[test]
fn what_was_set_aside_when_its_worker_died_is_brought_back_and_not_bought_again() {
    for policy in ["on_interrupt: rerun", "on_interrupt: ask"] {
        let workspace = adapter(1, LINGERS, &["unit_price_usd: 0.4", policy]);
        let running = workspace.worker(&["--yes"]).spawn();
        wait_for_made(&workspace, 1);
        kill_worker(&workspace, running);
        // As it lies when a worker dies while it sets its result aside.
        let from = staged(&workspace).remove(0);
        let name = name_of(&from);
        let (of, nonce) = name.rsplit_once('-').expect("an attempt's name");
        let aside = workspace.run_path("outputs/.late");
        fs::create_dir_all(&aside).expect("writable");
        fs::rename(&from, aside.join(format!("{of}-{}", &nonce[..8]))).expect("movable");
        let again = workspace.worker(&["--yes"]).run().expect_code(0);
        expect_all_made_once(&workspace, &again);
        let row = workspace.row(workspace.id(0));
        assert_eq!(&row["estimated_cost_usd"], "0.25");
        let kept = late(&workspace);
        assert_eq!(kept.len(), 1, "only what lay beside it: {kept:?}");
        assert!(kept[0].join("notes.txt").exists());
        assert_eq!(staged(&workspace), Vec::<PathBuf>::new());
    }
}

#[test]
fn what_was_set_aside_and_is_not_whole_is_named_where_it_lies() {
    let body = r#"
write("generated.glb", model(request["job_id"])[:40])
result(); time.sleep(600)"#;
    let workspace = adapter(1, body, &["unit_price_usd: 0.4"]);
    let running = workspace.worker(&["--yes"]).spawn();
    wait_for_made(&workspace, 1);
    kill_worker(&workspace, running);
    let from = staged(&workspace).remove(0);
    let name = name_of(&from);
    let cut = name.rfind('-').expect("an attempt's name") + 9;
    fs::create_dir_all(workspace.run_path("outputs/.late")).expect("writable");
    let to = workspace.run_path(&format!("outputs/.late/{}", &name[..cut]));
    fs::rename(&from, &to).expect("movable");
    let _ = workspace.worker(&["--yes"]).run();
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["status"], "failed");
    assert!(row["error_msg"].contains(&name[..cut]), "{row:?}");
    assert!(!row["error_msg"].contains("nothing of it"), "{row:?}");
    assert_eq!(late(&workspace), [to]);
}

#[test]
fn a_copy_that_a_dead_worker_left_is_made_anew_and_in_the_end_there_is_one_result() {
    let workspace = adapter(1, LINGERS, &["unit_price_usd: 0.4"]);
    let rhythm = ["--yes", "--heartbeat-secs", "0.2", "--stale-secs", "2"];
    let running = workspace.worker(&rhythm).spawn();
    wait_for_made(&workspace, 1);
    stop_worker(&running);
    // As it lies when a worker dies while it copies what one that stands still has made.
    let own = staged(&workspace).remove(0);
    let copy = own.with_file_name(format!("{}copy", name_of(&own)));
    fs::create_dir(&copy).expect("writable");
    fs::copy(own.join("model.glb"), copy.join("model.glb")).expect("copied");
    wait_until("a worker takes it over", || {
        let _ = workspace.worker(&RESUME).run();
        workspace.registry().count("completed") == 1
    });
    assert_eq!(
        staged(&workspace),
        [own],
        "one that may wake keeps its files"
    );
    kill_worker(&workspace, running);
    let again = workspace.worker(&RESUME).run();
    expect_all_made_once(&workspace, &again);
    assert_eq!(staged(&workspace), Vec::<PathBuf>::new(), "{again}");
    let kept = late(&workspace);
    assert_eq!(kept.len(), 1, "only what lay beside it: {kept:?}");
    let names: Vec<String> = fs::read_dir(&kept[0])
        .expect("kept")
        .map(|entry| name_of(&entry.expect("readable").path()))
        .collect();
    assert_eq!(names, ["notes.txt"]);
}

fn the_journal(workspace: &TestWorkspace) -> PathBuf {
    let folder = fs::read_dir(workspace.run_path("state/journal")).expect("there is one");
    let mut paths = folder.map(|entry| entry.expect("readable").path());
    let path = paths.next().expect("a worker has been here");
    assert_eq!(paths.next(), None);
    path
}

#[test]
fn a_model_whose_journal_was_lost_is_named_and_brought_in_and_not_bought_again() {
    for (harm, restored) in [("removed", false), ("replaced by an older one", true)] {
        let body = r#"
write("model.glb"); wait("go")
result(generated_glb="model.glb", estimated_cost_usd=0.25); time.sleep(600)"#;
        let options = ["unit_price_usd: 0.4", "on_interrupt: rerun"];
        let workspace = adapter(1, body, &options);
        let job = workspace.id(0);
        let running = workspace.worker(&SLOW).spawn();
        wait_until("the program", || workspace.outside().join("at-go").exists());
        let older = fs::read(the_journal(&workspace)).expect("readable");
        go(&workspace, "go");
        wait_for_made(&workspace, 1);
        let path = the_journal(&workspace);
        fs::remove_file(&path).expect("removable");
        if restored {
            fs::write(&path, older).expect("writable");
        }
        kill_worker(&workspace, running);
        // Its holder counts as dead when its own time has gone by.
        let lease = workspace.run_path(&format!("state/{job}.inprogress"));
        age(&lease, Duration::from_secs(7200));
        if restored {
            age(&path, Duration::from_secs(7200));
        } else {
            let doctor = workspace.archi3d(&["doctor"]).run();
            let doctor = doctor.expect_stdout("outputs/.staging/");
            let _ = doctor.expect_stdout(&format!("run adopt --run-id rk {job}"));
        }
        let said = workspace.worker(&RESUME).run();
        assert_eq!(bought(&workspace).len(), 1, "{harm}: {said}");
        let row = workspace.row(job);
        assert_eq!(&row["status"], "failed", "{harm}: {said}");
        assert!(row["error_msg"].contains("outputs/.late/"), "{row:?}");
        assert!(row["error_msg"].contains("run adopt"), "{row:?}");
        let explain = ["run", "explain", "--run-id", "rk", job];
        let explained = workspace.archi3d(&explain).run().expect_code(0);
        let _ = explained.expect_stdout("run adopt --run-id rk");
        let adopted = workspace.archi3d(&["run", "adopt", "--run-id", "rk", job]);
        let adopted = adopted.run().expect_code(0);
        expect_all_made_once(&workspace, &adopted);
    }
}

#[test]
fn a_model_whose_journal_was_lost_is_brought_in_by_the_command_that_is_printed_for_it() {
    let workspace = adapter(1, LINGERS, &["unit_price_usd: 0.4"]);
    let running = workspace.worker(&SLOW).spawn();
    wait_for_made(&workspace, 1);
    fs::remove_file(the_journal(&workspace)).expect("removable");
    kill_worker(&workspace, running);
    let job = workspace.id(0);
    let lease = workspace.run_path(&format!("state/{job}.inprogress"));
    age(&lease, Duration::from_secs(7200));
    let adopted = workspace.archi3d(&["run", "adopt", "--run-id", "rk", job]);
    let adopted = adopted.run().expect_code(0);
    expect_all_made_once(&workspace, &adopted);
}

#[test]
fn what_lay_beside_a_model_is_never_swept_away() {
    let workspace = adapter(1, "write('generated.glb'); result()", &[]);
    let name = format!(
        "{}.1-{}beside",
        workspace.id(0),
        "0123456789abcdef".repeat(2)
    );
    let folder = format!("runs/rk/outputs/.staging/{name}");
    workspace.write(&format!("{folder}/notes.txt"), b"beside");
    age(&workspace.path(&folder), Duration::from_secs(172_800));
    let _ = workspace.worker(&[]).run().expect_code(0);
    let kept = late(&workspace);
    assert_eq!(kept.len(), 1);
    let notes = fs::read(kept[0].join("notes.txt")).expect("kept");
    assert_eq!(notes, b"beside");
}

#[test]
fn a_job_that_was_stopped_because_the_store_could_not_be_reached_stays_in_doubt() {
    let body = r#"
import signal
def back(*_):
    os.rename(os.path.join(beside, "away"), os.path.join(request["workspace"], "runs/rk"))
    os._exit(1)
signal.signal(signal.SIGTERM, back)
wait("go"); write("generated.glb"); result()"#;
    let workspace = adapter(1, body, &["unit_price_usd: 0.4"]);
    let rhythm = ["--yes", "--heartbeat-secs", "0.2", "--stale-secs", "2"];
    let running = workspace.worker(&rhythm).spawn();
    wait_until("the program", || workspace.outside().join("at-go").exists());
    fs::rename(workspace.path("runs/rk"), workspace.outside().join("away")).expect("renamed");
    let _ = running.wait();
    go(&workspace, "go");
    let again = workspace.worker(&RESUME).run().expect_code(0);
    let _ = again.expect_stderr("may have been billed before");
}

#[test]
fn a_dead_holder_whose_last_beat_lies_in_the_future_is_not_waited_for_for_ever() {
    let body = r#"
if not os.path.exists(os.path.join(beside, "go")): wait("go")
write("generated.glb"); result()"#;
    let workspace = adapter(1, body, &[]);
    let rhythm = ["--heartbeat-secs", "0.5", "--stale-secs", "1.5"];
    let running = workspace.worker(&rhythm).spawn();
    wait_until("the program", || workspace.outside().join("at-go").exists());
    kill_worker(&workspace, running);
    // Without its journal only its beats tell, and a clock was a day ahead.
    fs::remove_file(the_journal(&workspace)).expect("removable");
    let lease = workspace.run_path(&format!("state/{}.inprogress", workspace.id(0)));
    let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
    let file = File::open(&lease).expect("there");
    file.set_modified(tomorrow).expect("ours");
    go(&workspace, "go");
    wait_until("a start takes it over", || {
        let _ = workspace.worker(&RESUME).run();
        workspace.registry().count("completed") == 1
    });
}
