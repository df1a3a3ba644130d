//! Results that come back: into rows, into their folders, and never twice.

use std::fs;
use std::time::Duration;

use archi3d_core::domain::job::Status;
use archi3d_core::domain::patch::Patch;
use archi3d_core::store::postgres::claim::{self, Claimer};
use archi3d_core::store::postgres::ending::{self, File, Success};
use archi3d_core::store::postgres::membership::{self, Worker};
use archi3d_core::store::postgres::{Claimed, Lane, act, import, keep};
use sha2::{Digest as _, Sha256};

use crate::postgres::bench::{LEASE, failure, success};
use crate::support::TestWorkspace;

use super::{Fleet, registry};

const MODEL: &[u8] = b"a model";

fn claim(fleet: &mut Fleet, most: u32) -> Vec<Claimed> {
    let run = import::run(&mut fleet.bench.work, "rk")
        .expect("asked")
        .expect("pushed");
    let lane = Lane {
        algo: "trellis_single".to_owned(),
        most,
        after: i64::MIN,
        bought_only: false,
        free: false,
    };
    let by = Claimer {
        worker: "w1",
        lease: LEASE,
        rehearsal: false,
        held: &[],
    };
    claim::claim(&mut fleet.bench.work, run.run_no, &[lane], 9, &by).expect("claimed")
}

fn result_of(job: &Claimed, second: u32) -> Success {
    let mut patch = Patch::status(Status::Completed);
    patch.set(
        "generation_start",
        format!("2026-11-17T10:00:{second:02}+00:00"),
    );
    patch.set(
        "gen_object_path",
        format!("runs/rk/outputs/{}/generated.glb", job.job_id),
    );
    patch.fill("algo_version", "v1");
    Success {
        patch,
        files: vec![File {
            name: "generated.glb".to_owned(),
            size: MODEL.len() as u64,
            sha256: Sha256::digest(MODEL).to_vec(),
            url: None,
        }],
        ..success(job.hold)
    }
}

#[test]
fn results_come_back_once_and_a_renaming_that_died_is_ended() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(4).build();
    fleet.push(&workspace);
    let jobs = claim(&mut fleet, 4);
    let done: Vec<Success> = jobs[..3].iter().map(|job| result_of(job, 1)).collect();
    ending::succeed(&mut fleet.bench.work, &done).expect("told");
    ending::fail(&mut fleet.bench.work, &failure(jobs[3].hold)).expect("told");
    // One is published, one still lies where its attempt made it, one is nowhere.
    let id = |at: usize| jobs[at].job_id.clone();
    workspace.write(&format!("runs/rk/outputs/{}/generated.glb", id(0)), MODEL);
    let attempt = jobs[1].hold.attempt_id.simple();
    let staged = format!("runs/rk/outputs/.staging/{}.1-{attempt}", id(1));
    workspace.write(&format!("{staged}/generated.glb"), MODEL);
    let pulled = fleet.pull(&workspace, 1);
    assert_eq!(
        (&pulled["published"], &pulled["rows_changed"]),
        (&1.into(), &3.into())
    );
    assert_eq!(pulled["missing"][0]["job_id"], id(2));
    assert!(
        pulled["missing"][0]["what"]
            .as_str()
            .expect("text")
            .contains("is missing"),
        "{pulled}"
    );
    assert_eq!(&workspace.row(&id(0))["status"], "completed");
    assert_eq!(&workspace.row(&id(0))["algo_version"], "v1");
    assert_eq!(&workspace.row(&id(1))["status"], "completed");
    assert_eq!(&workspace.row(&id(2))["status"], "enqueued");
    assert_eq!(&workspace.row(&id(3))["status"], "failed");
    assert_eq!(
        workspace.bytes(&format!("runs/rk/outputs/{}/generated.glb", id(1))),
        MODEL
    );
    assert!(!workspace.path(&staged).exists());
    let run = import::run(&mut fleet.bench.work, "rk")
        .expect("asked")
        .expect("there");
    assert_eq!(run.closed, None, "a result is missing");

    // Bytes that differ are not taken for the result.
    let third = format!("runs/rk/outputs/{}/generated.glb", id(2));
    workspace.write(&third, b"a modem");
    assert!(
        fleet.pull(&workspace, 1)["missing"][0]["what"]
            .as_str()
            .expect("text")
            .contains("not what was recorded")
    );
    workspace.write(&third, MODEL);
    let whole = fleet.pull(&workspace, 0);
    assert_eq!(
        (&whole["rows_changed"], &whole["over"]),
        (&1.into(), &true.into())
    );
    let table = registry(&workspace);
    assert_eq!(fleet.pull(&workspace, 0)["rows_changed"], 0);
    assert_eq!(registry(&workspace), table);
    let run = import::run(&mut fleet.bench.work, "rk")
        .expect("asked")
        .expect("there");
    assert!(run.closed.is_some());
    // What people read works on files as before.
    for words in [&["run", "list"][..], &["report", "build", "rk"]] {
        let _ = workspace.archi3d(words).run().expect_code(0);
    }
}

#[test]
fn what_people_wrote_since_stays() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(2).crlf().build();
    fleet.push(&workspace);
    let jobs = claim(&mut fleet, 1);
    ending::succeed(&mut fleet.bench.work, &[result_of(&jobs[0], 1)]).expect("told");
    workspace.write(
        &format!("runs/rk/outputs/{}/generated.glb", jobs[0].job_id),
        MODEL,
    );
    fleet.pull(&workspace, 0);
    let text = String::from_utf8(registry(&workspace)).expect("text");
    let edited = text.replacen("v1", "corrected by hand", 1);
    assert_ne!(text, edited);
    workspace.write("tables/generations.csv", edited.as_bytes());
    assert_eq!(fleet.pull(&workspace, 0)["rows_changed"], 0);
    assert_eq!(registry(&workspace), edited.as_bytes());
    // The job that is made again brings its new words.
    let run = import::run(&mut fleet.bench.work, "rk")
        .expect("asked")
        .expect("there");
    let redo = archi3d_core::domain::job::Entry::Redo;
    act::requeue(
        &mut fleet.bench.work,
        run.run_no,
        Some(&[jobs[0].hold.job_no]),
        redo,
        false,
    )
    .expect("requeued");
    assert_eq!(
        fleet.pull(&workspace, 0)["rows_changed"],
        0,
        "the older result stands"
    );
    let again = claim(&mut fleet, 1);
    assert_eq!(again[0].job_id, jobs[0].job_id);
    ending::succeed(&mut fleet.bench.work, &[result_of(&again[0], 2)]).expect("told");
    assert_eq!(fleet.pull(&workspace, 0)["rows_changed"], 1);
    assert_eq!(
        &workspace.row(&jobs[0].job_id)["generation_start"],
        "2026-11-17T10:00:02+00:00"
    );
}

#[test]
fn nothing_that_was_not_pulled_is_pruned() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(1).build();
    fleet.push(&workspace);
    let jobs = claim(&mut fleet, 1);
    ending::succeed(&mut fleet.bench.work, &[result_of(&jobs[0], 1)]).expect("told");
    let age = "UPDATE archi3d.jobs SET completed_at = completed_at - interval '100 days'; \
        UPDATE archi3d.runs SET closed_at = closed_at - interval '99 days'";
    fleet.admin().batch_execute(age).expect("aged");
    let prune = |fleet: &Fleet| {
        fleet
            .run(&workspace, &["fleet", "prune", "--json"])
            .expect_code(0)
            .json()
    };
    assert_eq!(prune(&fleet)["jobs"], 0, "it was not pulled");
    workspace.write(
        &format!("runs/rk/outputs/{}/generated.glb", jobs[0].job_id),
        MODEL,
    );
    fleet.pull(&workspace, 0);
    assert_eq!(prune(&fleet)["jobs"], 0, "not old enough");
    fleet.admin().batch_execute(age).expect("aged");
    // Made again since, and not pulled.
    fleet
        .admin()
        .batch_execute("UPDATE archi3d.jobs SET completed_at = now()")
        .expect("aged");
    assert_eq!(prune(&fleet)["jobs"], 0, "a newer result was not pulled");
    fleet
        .admin()
        .batch_execute("UPDATE archi3d.jobs SET completed_at = now() - interval '200 days'")
        .expect("aged");
    let pruned = prune(&fleet);
    assert_eq!((&pruned["jobs"], &pruned["runs"]), (&1.into(), &1.into()));
    // It is not handed over anew as if nothing had been bought.
    let said = fleet
        .run(&workspace, &["fleet", "push", "--run-id", "rk"])
        .expect_code(2);
    let _ = said.expect_stderr("run rk is over");
    assert!(!keep::close_run(&mut fleet.bench.work, 1, chrono::Utc::now()).expect("asked"));
}

#[test]
fn workers_are_seen_and_the_dead_are_swept() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(2).build();
    fleet.push(&workspace);
    let worker = Worker {
        worker_id: "w1",
        host: "away",
        pid: 7,
        version: "0.3.0",
        run_no: None,
        slots: 2,
        lease: Duration::from_secs(60),
        connecting: Duration::ZERO,
        facts: "{}",
    };
    assert!(membership::register(&mut fleet.bench.work, &worker).expect("registered"));
    claim(&mut fleet, 2);
    let seen = |fleet: &Fleet| {
        fleet
            .run(&workspace, &["fleet", "workers", "--json"])
            .expect_code(0)
            .json()
    };
    let line = seen(&fleet)["workers"][0].clone();
    assert_eq!(
        (&line["health"], &line["holds"], &line["slots"]),
        (&"alive".into(), &2.into(), &2.into())
    );
    fleet
        .admin()
        .batch_execute("UPDATE archi3d.workers SET last_seen = now() - interval '40 seconds'")
        .expect("aged");
    assert_eq!(seen(&fleet)["workers"][0]["health"], "slow");
    fleet
        .admin()
        .batch_execute("UPDATE archi3d.workers SET last_seen = now() - interval '70 seconds'")
        .expect("aged");
    assert_eq!(seen(&fleet)["workers"][0]["health"], "silent");
    let swept = fleet
        .run(&workspace, &["fleet", "sweep", "--once", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(swept["expired"], 0, "the leases hold");
    fleet.change("UPDATE archi3d.jobs SET lease_expires_at = now() - interval '1 second'");
    fleet.wait_until_it_judges();
    let swept = fleet
        .run(&workspace, &["fleet", "sweep", "--once", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        (&swept["expired"], &swept["requeued"]),
        (&2.into(), &2.into())
    );
    let lost = "SELECT count(*) FROM archi3d.attempts WHERE status = 'lost'";
    assert_eq!((fleet.count("pending"), fleet.number(lost)), (2, 2));
    let text = fleet.run(&workspace, &["fleet", "workers"]).expect_code(0);
    let _ = text.expect_stdout("silent").expect_stdout("0/2");
    let leftover = fs::read_dir(workspace.path("runs/rk"))
        .expect("listed")
        .count();
    assert!(leftover > 0);
}

#[test]
fn what_is_kept_of_a_pushed_run_is_adopted_at_a_persons_word_and_settled_with_its_price() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    // It writes a model and fails without a word of who pays.
    let body = "write(\"generated.glb\"); os.kill(os.getpid(), 9)";
    let workspace =
        crate::made_results::adapter(1, body, &["unit_price_usd: 0.4", "on_interrupt: ask"]);
    fleet.push(&workspace);
    let _ = fleet.worker(&workspace, &["--yes"]).wait().expect_code(1);
    assert_eq!(fleet.count("failed_terminal"), 1);
    let job = workspace.id(0).to_owned();
    let told = fleet.run(&workspace, &["run", "explain", "rk", &job]);
    let _ = told.expect_code(0).expect_stdout("run adopt --run-id rk");
    let said = fleet.run(&workspace, &["run", "adopt", "--run-id", "rk", &job]);
    let _ = said.expect_code(0).expect_stderr("adopted");
    assert_eq!(fleet.count("succeeded"), 1);
    let money = "SELECT spent * 10 + reserved FROM archi3d.budgets WHERE scope LIKE 'run:%'";
    assert_eq!(fleet.number(money), 4_000_000);
    let model = workspace.path(&format!("runs/rk/outputs/{job}/generated.glb"));
    assert!(model.exists());
    fleet.pull(&workspace, 0);
    assert_eq!(workspace.row(&job).get("status"), Some("completed"));
    let again = fleet.run(&workspace, &["run", "adopt", "--run-id", "rk", &job]);
    let _ = again.expect_code(2);
}

#[test]
fn what_lies_in_a_jobs_own_place_without_a_record_is_adopted_and_stays_there() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let whole = || crate::made_results::adapter(1, "write(\"generated.glb\"); result()", &[]);
    let (workspace, other) = (whole(), whole());
    let _ = other.worker(&[]).run().expect_code(0);
    fleet.push(&workspace);
    let job = workspace.id(0).to_owned();
    let model = format!("runs/rk/outputs/{job}/generated.glb");
    for name in ["generated.glb", "metadata.json"] {
        let file = format!("runs/rk/outputs/{job}/{name}");
        workspace.write(&file, &other.bytes(&file));
    }
    let said = fleet.run(&workspace, &["run", "adopt", "--run-id", "rk", &job]);
    let _ = said.expect_code(0).expect_stderr("adopted");
    assert_eq!(fleet.count("succeeded"), 1);
    assert_eq!(workspace.bytes(&model), other.bytes(&model));
}
