//! Runs in a bucket whose workers die, whose machines are to blame, and whose results come late: a folder takes the bucket's place.

use std::fs;
use std::path::{Path, PathBuf};

use archi3d_core::domain::text::hex;
use archi3d_core::store::postgres::claim::Hold;
use archi3d_core::store::postgres::{act, ending};
use sha2::{Digest as _, Sha256};

use super::Fleet;
use super::objects::{blobs, expect_one_result, expect_outputs, folder, in_folder, machine, mocks};
use crate::support::mocks::executions;
use crate::support::{TestWorkspace, wait_until};

/// What waits in the spools of a machine.
fn spooled(machine: &TestWorkspace) -> String {
    let inside = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let runs = inside(machine.outside().join("spool"));
    let workers = runs.flat_map(|run| inside(run.path()));
    let texts = workers.map(|worker| fs::read_to_string(worker.path().join("spool.jsonl")));
    texts.map(Result::unwrap_or_default).collect()
}

/// As when a machine was off for longer than the grace of `fleet prune`: what was put and never told of is gone.
#[test]
fn what_prune_took_before_its_ending_was_told_is_put_again_from_the_machine_that_made_it() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "wait_file: go, unit_price_usd: 0.5");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let pictures = blobs(&bucket);
    let machine = machine(&workspace);
    let worker = fleet.worker(&machine, &["--worker-id", "pod"]);
    wait_until("its picture has come", || executions(&machine).len() == 1);
    fleet.allow_connections(false);
    machine.write("go", b"");
    wait_until("its ending waits", || {
        spooled(&machine).contains("\"succeeded\"")
    });
    let _ = worker.kill();
    let put = blobs(&bucket);
    let put: Vec<_> = put.iter().filter(|path| !pictures.contains(path)).collect();
    assert!(put.len() >= 2, "{put:?}");
    for path in &put {
        fs::remove_file(path).expect("taken");
    }
    fleet.allow_connections(true);
    // While the bucket is away the ending waits with the files.
    let away = workspace.outside().join("away");
    fs::rename(bucket.join("blobs"), &away).expect("moved");
    fs::write(bucket.join("blobs"), b"").expect("a file in its place");
    let waits = fleet.worker(&machine, &[]);
    wait_until("it is told that it waits", || {
        waits.stderr_so_far().contains("a result waits in")
    });
    waits.signal("INT");
    let _ = waits.wait();
    assert_eq!(fleet.count("succeeded"), 0);
    fs::remove_file(bucket.join("blobs")).expect("removed");
    fs::rename(&away, bucket.join("blobs")).expect("moved back");
    let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
    expect_one_result(&mut fleet, &workspace, &machine);
}

#[test]
fn what_a_killed_worker_had_made_and_cannot_be_put_is_not_made_again_unasked() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "unit_price_usd: 0.5");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let machine = machine(&workspace);
    let words = ["run", "worker", "--run-id", "rk"];
    fleet.killed_at(&machine, "objects.ending_written", &words);
    let away = workspace.outside().join("away");
    fs::rename(bucket.join("blobs"), &away).expect("moved");
    fs::write(bucket.join("blobs"), b"").expect("a file in its place");
    let said = fleet.worker(&machine, &[]).wait();
    let _ = said.expect_stderr("a result waits in");
    assert_eq!(fleet.count("failed_terminal"), 1);
    let told = fleet.texts("SELECT last_error FROM archi3d.jobs");
    assert!(told[0].contains("they wait in"), "{told:?}");
    fs::remove_file(bucket.join("blobs")).expect("removed");
    fs::rename(&away, bucket.join("blobs")).expect("moved back");
    let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
    expect_one_result(&mut fleet, &workspace, &machine);
}

#[test]
fn an_empty_mount_point_is_refused_and_fails_no_job() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(2, "");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let away = workspace.outside().join("away");
    fs::rename(&bucket, &away).expect("moved");
    fs::create_dir(&bucket).expect("an empty mount point");
    let machine = machine(&workspace);
    let refused = fleet.worker(&machine, &[]).wait().expect_code(2);
    let _ = refused.expect_stderr("is not where this database keeps its files");
    assert_eq!(fleet.count("pending"), 2);
    fs::remove_dir_all(&bucket).expect("removed");
    fs::rename(&away, &bucket).expect("mounted again");
    let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 2);
}

#[test]
fn a_worker_whose_disk_takes_no_picture_gives_its_jobs_back_and_stops() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(3, "unit_price_usd: 0.1");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let machine = machine(&workspace);
    let times = machine.outside().join("times");
    machine.write("no-folder", b"");
    let no_folder = machine.path("no-folder");
    let words = ["run", "worker", "--run-id", "rk"];
    let stopped = fleet
        .invoke(&machine, &words)
        .env("ARCHI3D_CACHE", no_folder.join("cache"))
        .env("ARCHI3D_STATEMENT_TIMES", &times)
        .env("ARCHI3D_SPOOL", machine.outside().join("spool"))
        .run();
    let _ = stopped.expect_code(3).expect_stderr("nothing new starts");
    assert_eq!((fleet.count("pending"), executions(&machine).len()), (3, 0));
    // Their money first: whoever takes them next would go on with what is reserved for them.
    let asked = fs::read_to_string(&times).expect("its statements");
    let first = |name: &str| {
        let mut lines = asked.lines();
        lines.position(|line| line.split('\t').next() == Some(name))
    };
    let (settled, given_back) = (first("settle_line"), first("release"));
    assert!(settled.is_some() && settled < given_back, "{asked}");
    let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 3);
}

#[test]
fn the_pictures_of_a_killed_worker_are_removed_by_the_next_one() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "wait_file: go");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let machine = machine(&workspace);
    let lease = ["--lease-secs", "3"];
    let worker = fleet.worker(&machine, &lease);
    wait_until("its picture has come", || executions(&machine).len() == 1);
    let _ = worker.kill();
    let inputs = || {
        let entries = fs::read_dir(machine.path("runs/rk/outputs/.inputs"));
        entries.map_or(0, Iterator::count)
    };
    assert_eq!(inputs(), 1);
    // So long that this server is older than a lease, too.
    wait_until("its lease is over", || {
        fleet.number("SELECT count(*) FROM archi3d.jobs WHERE lease_expires_at < now()") == 1
    });
    fleet.let_a_lease_go_by();
    machine.write("go", b"");
    let _ = fleet.worker(&machine, &lease).wait().expect_code(0);
    assert_eq!((fleet.count("succeeded"), inputs()), (1, 0));
}

#[test]
fn what_was_made_again_before_anybody_pulled_it_is_pulled_as_well() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "unit_price_usd: 0.5");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let machine = machine(&workspace);
    let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
    let first = "SELECT encode(sha256, 'hex') FROM archi3d.artifacts WHERE number = 1 AND name = 'metadata.json'";
    let first = fleet.texts(first);
    fleet.redo_everything();
    let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
    assert_eq!(executions(&machine).len(), 2);
    let late = || {
        let entries = fs::read_dir(workspace.run_path("outputs/.late"));
        let folders = entries.into_iter().flatten().flatten();
        let files =
            folders.map(|folder| fs::read(folder.path().join("metadata.json")).expect("whole"));
        files
            .map(|bytes| hex(&Sha256::digest(&bytes)))
            .collect::<Vec<_>>()
    };
    // What a pull that died brought is fetched again if it is not what was recorded, whatever its size.
    let words = ["fleet", "pull", "--run-id", "rk"];
    fleet.killed_at(&workspace, "pull.closing", &words);
    assert_eq!(late(), first);
    let entries = fs::read_dir(workspace.run_path("outputs/.late"));
    for folder in entries.expect("listed").flatten() {
        let path = folder.path().join("metadata.json");
        let size = fs::read(&path).expect("there").len();
        fs::write(&path, vec![b'?'; size]).expect("spoilt");
    }
    for _ in 0..2 {
        let _ = fleet.pull(&workspace, 0);
        assert_eq!(late(), first);
    }
    let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
    // Whoever pulled has both; one more result replaces the second, which is there.
    fleet.redo_everything();
    let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
    let _ = fleet.pull(&workspace, 0);
    assert_eq!(late(), first);
}

#[test]
fn what_was_kept_aside_after_the_last_pull_is_not_pruned_before_the_next() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let machine = machine(&workspace);
    let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
    let _ = fleet.pull(&workspace, 0);
    let closed = "SELECT count(*) FROM archi3d.runs WHERE closed_at IS NOT NULL";
    assert_eq!(fleet.number(closed), 1);
    fleet.keep_late();
    assert_eq!(fleet.number(closed), 0, "it was not pulled whole");
    // As if a pull had begun before and closed the run afterwards.
    fleet.change(
        "UPDATE archi3d.jobs SET completed_at = now() - interval '101 days';
         UPDATE archi3d.runs SET closed_at = now() - interval '100 days'",
    );
    let prune = |fleet: &Fleet| {
        let pruned = fleet.run(&workspace, &["fleet", "prune", "--json"]);
        pruned.expect_code(0).json()["jobs"].clone()
    };
    assert_eq!(prune(&fleet), 0);
    fleet.change("UPDATE archi3d.attempts SET ended_at = now() - interval '101 days'");
    assert_eq!(prune(&fleet), 1);
}

impl Fleet {
    /// Lets every job be made again.
    fn redo_everything(&mut self) {
        let redo = archi3d_core::domain::job::Entry::Redo;
        act::requeue(&mut self.bench.work, 1, None, redo, false).expect("requeued");
    }

    /// Notes files of the first attempt as such that came too late.
    fn keep_late(&mut self) {
        let sql = "SELECT attempt_id::text FROM archi3d.attempts";
        let attempt_id = self.texts(sql)[0].parse().expect("an id");
        let hold = Hold {
            job_no: 1,
            number: 1,
            attempt_id,
        };
        ending::keep(&mut self.bench.work, &hold, Some("late"), &[]).expect("kept");
    }

    /// Runs a command that dies at a point of the program.
    fn killed_at(&self, workspace: &TestWorkspace, point: &str, words: &[&str]) {
        let died = self
            .invoke(workspace, words)
            .env("FAILPOINTS", format!("{point}=1*return(kill)"))
            .env("ARCHI3D_SPOOL", workspace.outside().join("spool"))
            .run();
        assert_eq!(died.code(), None, "{point}: {died:?}");
    }
}

#[test]
fn a_worker_that_dies_at_any_point_of_an_upload_or_download_leads_to_one_result_that_was_bought_once()
 {
    if Fleet::new().is_none() {
        return;
    }
    for point in [
        "objects.fetching",
        "objects.fetched",
        "objects.ending_written",
        "objects.putting",
        "objects.put",
    ] {
        let mut fleet = Fleet::new().expect("there is a server");
        let workspace = mocks(1, "unit_price_usd: 0.5");
        let bucket = folder(&workspace);
        let _ = fleet
            .push_to(&workspace, &in_folder(&bucket))
            .expect_code(0);
        let machine = machine(&workspace);
        let words = ["run", "worker", "--run-id", "rk", "--lease-secs", "6"];
        fleet.killed_at(&machine, point, &words);
        assert_eq!(fleet.count("running"), 1, "{point}");
        let next = fleet.worker(&machine, &words[4..]);
        let _ = next.wait().expect_code(0);
        expect_one_result(&mut fleet, &workspace, &machine);
    }
}

#[test]
fn a_push_that_dies_in_an_upload_and_a_pull_that_dies_anywhere_are_finished_by_the_next() {
    if Fleet::new().is_none() {
        return;
    }
    for point in ["objects.parts_sent", "objects.putting", "objects.put"] {
        let mut fleet = Fleet::new().expect("there is a server");
        let workspace = mocks(1, "");
        let bucket = folder(&workspace);
        let picture = format!("dataset/{}", large_picture(&workspace));
        let words = ["fleet", "push", "--run-id", "rk", "--artifacts"];
        let place = in_folder(&bucket);
        fleet.killed_at(&workspace, point, &[&words[..], &[&place]].concat());
        let _ = fleet.push_to(&workspace, &place).expect_code(0);
        let bytes = workspace.bytes(&picture);
        let put: Vec<_> = blobs(&bucket)
            .into_iter()
            // A half upload has a name that no listing tells of.
            .filter(|path| !path.to_string_lossy().contains('#'))
            .filter(|path| fs::read(path).expect("read") == bytes)
            .collect();
        assert_eq!(put.len(), 1, "{point}");
        let machine = machine(&workspace);
        let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
        let _ = fleet.pull(&workspace, 0);
        expect_outputs(&mut fleet, &workspace);
    }
    for point in [
        "objects.fetching",
        "objects.fetched",
        "pull.before",
        "pull.written",
        "pull.publishing",
        "pull.published",
        "pull.closing",
    ] {
        let mut fleet = Fleet::new().expect("there is a server");
        let workspace = mocks(2, "");
        let bucket = folder(&workspace);
        let _ = fleet
            .push_to(&workspace, &in_folder(&bucket))
            .expect_code(0);
        let machine = machine(&workspace);
        let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
        fleet.killed_at(&workspace, point, &["fleet", "pull", "--run-id", "rk"]);
        let pulled = fleet.pull(&workspace, 0);
        assert_eq!(pulled["completed"], 2, "{point}");
        expect_outputs(&mut fleet, &workspace);
        assert_eq!(workspace.registry().count("completed"), 2, "{point}");
        let staging = fs::read_dir(workspace.run_path("outputs/.staging"));
        assert_eq!(staging.map_or(0, Iterator::count), 0, "{point}");
        let closed = "SELECT count(*) FROM archi3d.runs WHERE closed_at IS NOT NULL";
        assert_eq!(fleet.number(closed), 1, "{point}");
    }
}

/// Makes the first picture so large that it travels in parts; tells where it is, below the dataset.
fn large_picture(workspace: &TestWorkspace) -> String {
    let dataset = workspace.path("dataset");
    let tree = archi3d_core::workspace::artifact::inventory(&dataset).expect("listed");
    let mut names = tree.into_iter().map(|file| file.name);
    let name = names
        .find(|name| {
            Path::new(name)
                .extension()
                .is_some_and(|end| end == "png" || end == "jpg")
        })
        .expect("a picture");
    let path = dataset.join(&name);
    let mut bytes = fs::read(&path).expect("read");
    bytes.resize(9 << 20, 7);
    fs::write(&path, bytes).expect("written");
    name
}
