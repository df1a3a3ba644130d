//! What was paid for is never paid for again by itself, on whichever machine its worker died: it is adopted, fetched or
//! asked about.

use std::fs;
use std::path::PathBuf;

use super::Fleet;
use crate::made_results::{self, LINGERS, adapter, bought, expect_all_made_once, late};
use crate::support::billing::Shop;
use crate::support::binary::{Output, Running};
use crate::support::process::{children, signal, survivors};
use crate::support::{TestWorkspace, wait_until};

/// So soon a job of the dead is another's.
const SOON: [&str; 3] = ["--yes", "--lease-secs", "2"];

const MADE: &str = "SELECT count(*) FROM archi3d.attempts WHERE made IS NOT NULL";

const CENTS: &str =
    "SELECT sum(spent * 1000 + reserved)::bigint FROM archi3d.budgets WHERE scope LIKE 'run:%'";

/// A program whose model is there but not whole.
const HALF: &str = r#"
write("generated.glb", model(request["job_id"])[:40])
result(); time.sleep(600)"#;

/// A program whose success nobody hears.
const UNHEARD: &str = r#"
write("generated.glb"); wait("go"); result()
open(os.path.join(beside, "said"), "w").close(); time.sleep(600)"#;

impl Fleet {
    /// Starts a worker of another machine, which shares the folder but not the disk of the spools.
    pub(super) fn elsewhere(&self, workspace: &TestWorkspace, options: &[&str]) -> Running {
        let words = [&["run", "worker", "--run-id", "rk"][..], options].concat();
        let invocation = self.invoke(workspace, &words);
        let spool = workspace.outside().join("spool-elsewhere");
        invocation.env("ARCHI3D_SPOOL", spool).spawn()
    }

    /// The same, for a worker here or there.
    fn next(&self, workspace: &TestWorkspace, there: bool, options: &[&str]) -> Output {
        let worker = if there {
            self.elsewhere(workspace, options)
        } else {
            self.worker(workspace, options)
        };
        worker.wait()
    }

    fn error(&mut self) -> String {
        let error = "SELECT COALESCE(last_error, '') FROM archi3d.jobs";
        self.texts(error).join("\n")
    }
}

/// Kills a worker below its guard, and with it all of its programs.
fn kill(workspace: &TestWorkspace, worker: Running) {
    for below in children(worker.pid()) {
        signal(below, "KILL");
    }
    let _ = worker.wait();
    wait_until("the end of all programs", || {
        survivors(workspace).is_empty()
    });
}

/// Starts a worker whose program says that it has made something, and kills it then.
fn made_and_died(fleet: &mut Fleet, body: &str, options: &[&str]) -> TestWorkspace {
    let workspace = adapter(1, body, options);
    fleet.push(&workspace);
    let worker = fleet.worker(&workspace, &SOON);
    wait_until("it is made", || fleet.number(MADE) == 1);
    kill(&workspace, worker);
    workspace
}

/// Tells whether a worker keeps something on its disk that it could not send.
fn spooled(workspace: &TestWorkspace) -> bool {
    let inside = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let runs = inside(workspace.outside().join("spool"));
    let mut workers = runs.flat_map(|run| inside(run.path()));
    workers.any(|worker| {
        let file = fs::metadata(worker.path().join("spool.jsonl"));
        file.is_ok_and(|file| file.len() > 0)
    })
}

/// Demands that the job failed in doubt, and is bought again only at a person's word.
#[track_caller]
fn expect_asked(fleet: &mut Fleet, workspace: &TestWorkspace, said: &Output) {
    assert_eq!(bought(workspace).len(), 1, "{said}");
    assert_eq!(fleet.count("failed_terminal"), 1, "{said}");
    let error = fleet.error();
    assert!(error.contains("may have been billed"), "{error}\n{said}");
    let again = [&SOON[..], &["--only-status", "failed"]].concat();
    let _ = fleet.next(workspace, true, &again);
    assert_eq!(bought(workspace).len(), 1, "{said}");
}

#[test]
fn a_result_that_a_worker_of_another_machine_had_made_is_adopted_from_the_shared_folder() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = made_and_died(&mut fleet, LINGERS, &["unit_price_usd: 0.4"]);
    let said = fleet.next(&workspace, true, &SOON).expect_code(0);
    assert_eq!(fleet.count("succeeded"), 1, "{said}");
    fleet.pull(&workspace, 0);
    expect_all_made_once(&workspace, &said);
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["estimated_cost_usd"], "0.25");
    assert!(row["preview_1_path"].ends_with("/preview_1.png"));
    // What lay beside it was not looked through for secrets, so it is not published.
    let beside = fs::read(late(&workspace)[0].join("notes.txt")).expect("kept");
    assert_eq!(beside, b"beside");
    assert_eq!(fleet.number(CENTS), 250_000_000);
}

#[test]
fn a_result_that_was_made_where_nobody_sees_it_is_asked_about() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = made_and_died(&mut fleet, LINGERS, &["unit_price_usd: 0.4"]);
    let staging = workspace.run_path("outputs/.staging");
    fs::rename(&staging, workspace.outside().join("of-another-machine")).expect("movable");
    let said = fleet.next(&workspace, true, &SOON);
    expect_asked(&mut fleet, &workspace, &said);
    // A person knows better.
    let program = String::from_utf8(workspace.bytes("make.py")).expect("text");
    let program = program.replace("time.sleep(600)", "");
    workspace.write("make.py", program.as_bytes());
    let again = ["--only-status", "failed", "--resubmit-unknown"];
    let _ = fleet.next(&workspace, true, &[&SOON[..], &again].concat());
    assert_eq!(bought(&workspace).len(), 2);
}

#[test]
fn what_costs_nothing_is_simply_made_again() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let body = r#"
write("model.glb"); result(generated_glb="model.glb")
if os.path.exists(os.path.join(beside, "again")): sys.exit()
open(os.path.join(beside, "again"), "w").close(); time.sleep(600)"#;
    let workspace = made_and_died(&mut fleet, body, &["unit_price_usd: 0"]);
    let staging = workspace.run_path("outputs/.staging");
    fs::rename(&staging, workspace.outside().join("of-another-machine")).expect("movable");
    let said = fleet.next(&workspace, true, &SOON).expect_code(0);
    assert_eq!(fleet.count("succeeded"), 1, "{said}");
    assert_eq!(bought(&workspace).len(), 2);
}

#[test]
fn a_dead_workers_result_that_is_not_whole_is_kept_and_asked_about() {
    for there in [false, true] {
        let Some(mut fleet) = Fleet::new() else {
            return;
        };
        let workspace = made_and_died(&mut fleet, HALF, &["unit_price_usd: 0.4"]);
        let said = fleet.next(&workspace, there, &SOON);
        expect_asked(&mut fleet, &workspace, &said);
        let error = fleet.error();
        assert_eq!(error.contains("outputs/.late/"), !there, "{error}");
        assert_eq!(late(&workspace).len(), usize::from(!there));
        assert_eq!(fleet.number(CENTS), 400_000, "its money stays reserved");
    }
}

#[test]
fn a_whole_model_whose_success_nobody_heard_is_asked_about() {
    for there in [false, true] {
        let Some(mut fleet) = Fleet::new() else {
            return;
        };
        let options = ["unit_price_usd: 0.4", "on_interrupt: rerun"];
        let workspace = adapter(1, UNHEARD, &options);
        fleet.push(&workspace);
        let worker = fleet.worker(&workspace, &SOON);
        wait_until("the program", || workspace.outside().join("at-go").exists());
        signal(children(worker.pid())[0], "STOP");
        made_results::go(&workspace, "go");
        wait_until("its last word", || {
            workspace.outside().join("said").exists()
        });
        kill(&workspace, worker);
        let said = fleet.next(&workspace, there, &SOON);
        expect_asked(&mut fleet, &workspace, &said);
    }
}

#[test]
fn a_result_whose_record_the_server_refuses_is_kept_and_not_bought_again() {
    // Refused at once, and when it is sent from the disk.
    for away in [false, true] {
        let Some(mut fleet) = Fleet::new() else {
            return;
        };
        let body = r#"write("generated.glb"); wait("go"); result()"#;
        let workspace = adapter(1, body, &["unit_price_usd: 0.4"]);
        fleet.push(&workspace);
        let worker = fleet.worker(&workspace, &SOON);
        wait_until("the program", || workspace.outside().join("at-go").exists());
        fleet.change("ALTER TABLE archi3d.results ADD CHECK (false) NOT VALID");
        if away {
            fleet.allow_connections(false);
        }
        made_results::go(&workspace, "go");
        if away {
            wait_until("it is kept", || spooled(&workspace));
            fleet.allow_connections(true);
        }
        let said = worker.wait();
        expect_asked(&mut fleet, &workspace, &said);
        for there in [false, true] {
            let _ = fleet.next(&workspace, there, &SOON);
            assert_eq!(bought(&workspace).len(), 1);
        }
        let error = fleet.error();
        assert!(error.contains("outputs/.staging/"), "{error}");
    }
}

#[test]
fn jobs_of_a_run_that_was_pulled_are_served_again_when_their_worker_dies() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let body = r#"
write("generated.glb")
if os.path.exists(os.path.join(beside, "again")): wait("go")
result()"#;
    let workspace = adapter(2, body, &["unit_price_usd: 0"]);
    fleet.push(&workspace);
    let _ = fleet.next(&workspace, false, &SOON).expect_code(0);
    fleet.pull(&workspace, 0);
    let scaler = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/deploy/helm/archi3d/templates/_helpers.tpl"
    ));
    let scaler = scaler.expect("the chart");
    let wanted = scaler
        .lines()
        .find(|line| line.contains("archi3d.wanted(run_id)"));
    let wanted = wanted.expect("its question").to_owned();
    assert_eq!(fleet.number(&wanted), 0);
    made_results::go(&workspace, "again");
    let redo = [&SOON[..], &["--redo", "--limit", "1"]].concat();
    let worker = fleet.worker(&workspace, &redo);
    wait_until("the program", || workspace.outside().join("at-go").exists());
    assert_eq!(fleet.number(&wanted), 1);
    kill(&workspace, worker);
    made_results::go(&workspace, "go");
    fleet.change("UPDATE archi3d.jobs SET lease_expires_at = 'epoch' WHERE status = 'running'");
    let server = fleet.server(&workspace, &["--until-idle", "1", "--lease-secs", "2"]);
    let said = server.wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 2, "{said}");
    assert_eq!(bought(&workspace).len(), 4);
    fleet.pull(&workspace, 0);
}

#[test]
fn a_job_whose_purchase_the_server_would_not_note_is_given_back_and_bought_later() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let shop = Shop::open(2, &["protocol: 2", "unit_price_usd: 0.10"], &[]);
    fleet.push(&shop.workspace);
    let url = fleet.url.clone();
    let worker = || shop.worker(&[]).env("ARCHI3D_STORE", &url).run();
    fleet.change(
        "CREATE FUNCTION archi3d.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           RAISE EXCEPTION 'permission denied for table jobs' USING ERRCODE = 'insufficient_privilege'; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE OF intent ON archi3d.jobs FOR EACH ROW
           WHEN (NEW.intent IS NOT NULL AND OLD.intent IS NULL) EXECUTE FUNCTION archi3d.refuse()",
    );
    let said = worker().expect_code(3);
    let said = said.expect_stderr("permission denied");
    assert_eq!(shop.provider.charges(), 0);
    assert_eq!(
        (fleet.count("failed_terminal"), fleet.count("running")),
        (0, 0),
        "{said}"
    );
    fleet.change("DROP TRIGGER refuse ON archi3d.jobs");
    let said = worker().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 2, "{said}");
    assert_eq!(shop.provider.charges(), 2);
}
