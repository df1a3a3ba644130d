//! Runs handed over: whole, once, whatever is cut short, and back without a byte changed.

use std::fs;

use crate::support::mocks::{executions, jobs_of, wait_for_purchase};
use crate::support::{TestWorkspace, wait_until};

use super::{Fleet, registry};

const MOCKS: [(&str, &str); 7] = [
    ("good", "unit_price_usd: 0.25"),
    ("bad", "fail: no luck, unit_price_usd: 0"),
    (
        "lost",
        "fail: gone, fail_class: unknown, unit_price_usd: 0.3",
    ),
    (
        "hangs",
        "wait_file: never, submit: true, unit_price_usd: 0.2",
    ),
    ("later", "unit_price_usd: 0.1"),
    ("tried", "unit_price_usd: 0"),
    ("fine", "unit_price_usd: 0.05"),
];

/// Makes a run with a job in every state a run can be left in.
fn run_with_everything() -> TestWorkspace {
    let algos: Vec<&str> = MOCKS.iter().map(|(algo, _)| *algo).collect();
    let workspace = jobs_of(&MOCKS, &algos);
    workspace.write("config/global.yaml", b"budget:\n  run_usd: 50\n");
    let work = |options: &[&str]| drop(workspace.worker(options).run());
    work(&["--dry-run", "--algo", "tried"]);
    for algo in ["good", "bad", "lost"] {
        work(&["--algo", algo]);
    }
    let hanging = workspace.worker(&["--algo", "hangs"]).spawn();
    wait_for_purchase(&workspace, 3);
    let _ = hanging.kill();
    let cancel = ["run", "cancel", "rk", "--algo", "later"];
    let _ = workspace.archi3d(&cancel).run().expect_code(0);
    workspace
}

#[test]
fn a_table_comes_back_byte_for_byte() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(5).crlf().build();
    let text = String::from_utf8(registry(&workspace)).expect("text");
    let odd = [
        "plain",
        "\"a, \"\"quoted\"\" cell\"",
        "Größe 雪 é",
        " \"x\" ",
        "'=1+1",
    ];
    let lines = text.lines().enumerate().map(|(at, line)| match at {
        0 => format!("{line},my column\r\n"),
        at => format!("{line},{}\r\n", odd[at - 1]),
    });
    let before = lines.collect::<String>().into_bytes();
    workspace.write("tables/generations.csv", &before);
    let pushed = fleet.push(&workspace);
    assert_eq!(
        (&pushed["added"], &pushed["again"]),
        (&5.into(), &false.into())
    );
    let pulled = fleet.pull(&workspace, 0);
    assert_eq!(
        (&pulled["enqueued"], &pulled["rows_changed"]),
        (&5.into(), &0.into())
    );
    assert_eq!(registry(&workspace), before);
    // A table that is lost comes back from the fleet, cell by cell.
    let header = before
        .split(|byte| *byte == b'\n')
        .next()
        .expect("a line")
        .to_vec();
    workspace.write("tables/generations.csv", &[header, b"\n".to_vec()].concat());
    assert_eq!(fleet.pull(&workspace, 0)["rows_restored"], 5);
    let again = String::from_utf8(registry(&workspace)).expect("text");
    let again = again.trim_start_matches('\u{feff}');
    assert!(
        again.contains("\"a, \"\"quoted\"\" cell\"") && again.contains("Größe 雪 é"),
        "{again}"
    );
    let payload = fleet
        .texts("SELECT payload::text FROM archi3d.job_specs LIMIT 1")
        .remove(0);
    let payload: serde_json::Value = serde_json::from_str(&payload).expect("JSON");
    assert_eq!(
        payload["images"].as_array().map(Vec::len),
        Some(2),
        "{payload}"
    );
    assert!(
        payload["image_set_hash"].is_string() && payload["created_at"].is_string(),
        "{payload}"
    );
}

#[test]
fn a_second_push_adds_what_is_new_and_nothing_twice() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(3).build();
    let whole = |table: &str| String::from_utf8(workspace.bytes(table)).expect("text");
    let (rows, list) = (
        whole("tables/generations.csv"),
        whole("runs/rk/manifest.csv"),
    );
    let cut = |text: &str| text.split_inclusive('\n').take(3).collect::<String>();
    workspace.write("tables/generations.csv", cut(&rows).as_bytes());
    workspace.write("runs/rk/manifest.csv", cut(&list).as_bytes());
    assert_eq!(fleet.push(&workspace)["added"], 2);
    let again = fleet.push(&workspace);
    assert_eq!(
        (&again["added"], &again["known"], &again["again"]),
        (&0.into(), &2.into(), &true.into())
    );
    workspace.write("tables/generations.csv", rows.as_bytes());
    workspace.write("runs/rk/manifest.csv", list.as_bytes());
    assert_eq!(fleet.push(&workspace)["added"], 1);
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.jobs"), 3);
    assert_eq!(fleet.number("SELECT job_count FROM archi3d.runs"), 3);
    let known: Vec<String> = workspace.jobs().iter().map(|job| job.id.clone()).collect();
    assert_eq!(
        fleet.texts("SELECT job_id FROM archi3d.job_specs ORDER BY position"),
        known
    );
}

#[test]
fn every_state_goes_over_as_it_is() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = run_with_everything();
    let before = registry(&workspace);
    fleet.push(&workspace);
    let states = "SELECT j.algo || ' ' || j.status || ' ' || j.tried || ' ' || j.simulated || ' ' || j.holder_died || ' ' || \
        (j.request_id IS NOT NULL) || ' ' || COALESCE(j.last_class::text, '-') || ' ' || j.attempt_count || ' ' || j.purchases || ' ' || \
        EXISTS (SELECT FROM archi3d.results r WHERE r.job_no = j.id) FROM archi3d.jobs j ORDER BY position";
    assert_eq!(
        fleet.texts(states),
        [
            "good succeeded true false false false - 1 1 true",
            "bad failed_terminal true false false false permanent 1 0 false",
            "lost failed_terminal true false false false unknown 1 0 false",
            "hangs pending true false true true - 1 0 false",
            "later cancelled false false false false - 0 0 false",
            "tried succeeded false true false false - 1 0 true",
            "fine pending false false false false - 0 0 false",
        ]
    );
    assert_eq!(
        fleet.number("SELECT count(*) FROM archi3d.purchases WHERE state = 'open'"),
        1
    );
    // What was spent and what may be billed counts there too.
    assert_eq!(
        fleet.number("SELECT spent FROM archi3d.budgets WHERE scope LIKE 'run:%'"),
        250_000
    );
    assert_eq!(
        fleet.number("SELECT reserved FROM archi3d.budgets WHERE scope LIKE 'run:%'"),
        500_000
    );
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.reservations"), 2);
    let pulled = fleet.pull(&workspace, 0);
    let of = |word: &str| pulled[word].as_u64().expect("a number");
    assert_eq!(
        (
            of("enqueued"),
            of("completed"),
            of("failed"),
            of("cancelled")
        ),
        (2, 2, 2, 1)
    );
    // Only the job whose worker died changes: it waits again.
    assert_eq!(of("rows_changed"), 1);
    assert_eq!(&workspace.row(workspace.id(3))["status"], "enqueued");
    let text = String::from_utf8(registry(&workspace)).expect("text");
    let before = String::from_utf8(before).expect("text");
    let changed = text
        .lines()
        .zip(before.lines())
        .filter(|(now, was)| now != was);
    assert_eq!(changed.count(), 1);
    let listed = fleet.run(&workspace, &["fleet", "runs", "--json"]).json();
    assert_eq!(listed["runs"][0]["waiting"], 2);
}

#[test]
fn nobody_works_on_files_of_a_run_that_was_pushed() {
    let Some(fleet) = Fleet::new() else { return };
    let workspace = TestWorkspace::with_products(2).algo("mock").build();
    fleet.push(&workspace);
    let before = registry(&workspace);
    for words in [
        &["run", "cancel", "rk"][..],
        &["run", "remove", "rk", "--yes"],
        &["consolidate", "--run-id", "rk"],
        &["registry", "rebuild", "--run-id", "rk"],
    ] {
        let said = workspace.archi3d(words).run().expect_code(2);
        let _ = said
            .expect_stderr("lives in the fleet")
            .expect_stderr("fleet pull --run-id rk");
    }
    let _ = workspace
        .archi3d(&["registry", "rebuild"])
        .run()
        .expect_code(0)
        .expect_stderr("lives in a fleet");
    let _ = workspace.archi3d(&["doctor", "--fix"]).run();
    assert_eq!(registry(&workspace), before);
    assert!(executions(&workspace).is_empty());
}

#[test]
fn a_run_with_a_live_worker_stays_where_it_is() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = jobs_of(&MOCKS, &["hangs", "fine"]);
    let hanging = workspace.worker(&["--algo", "hangs"]).spawn();
    wait_until("the job hangs", || !executions(&workspace).is_empty());
    let said = fleet
        .run(&workspace, &["fleet", "push", "--run-id", "rk"])
        .expect_code(2);
    let _ = said.expect_stderr("is being worked on");
    assert!(!workspace.run_path("fleet.json").exists());
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.runs"), 0);
    let _ = hanging.kill();
    fleet.push(&workspace);
    assert_eq!(
        fleet.number("SELECT count(*) FROM archi3d.jobs WHERE holder_died"),
        1
    );
}

#[test]
fn of_two_that_push_at_once_one_hands_the_run_over() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(200).build();
    let words = ["fleet", "push", "--run-id", "rk"];
    let both: Vec<_> = (0..4)
        .map(|_| fleet.invoke(&workspace, &words).spawn())
        .collect();
    let codes: Vec<_> = both.into_iter().map(|one| one.wait()).collect();
    for said in &codes {
        let ok = said.code() == Some(0)
            || said.code() == Some(2) && said.to_string().contains("another process is pushing");
        assert!(ok, "{said}");
    }
    assert!(codes.iter().any(|said| said.code() == Some(0)));
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.jobs"), 200);
    assert_eq!(fleet.push(&workspace)["added"], 0);
}

#[test]
fn of_two_people_who_push_runs_of_one_name_at_once_one_is_refused_and_keeps_a_run_of_files() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let (mine, theirs) = (
        TestWorkspace::with_products(120).build(),
        TestWorkspace::with_products(80).build(),
    );
    let words = ["fleet", "push", "--run-id", "rk"];
    let both = [&mine, &theirs].map(|workspace| {
        let before = super::registry(workspace);
        (workspace, before, fleet.invoke(workspace, &words).spawn())
    });
    let mut won = 0;
    for (workspace, before, push) in both {
        let said = push.wait();
        let pushed = workspace.run_path("fleet.json").exists();
        match said.code() {
            Some(0) => {
                won += 1;
                assert!(pushed, "{said}");
            }
            Some(2) => {
                assert!(said.to_string().contains("has another run rk"), "{said}");
                assert!(said.to_string().contains("hint: "), "{said}");
                assert!(!pushed && super::registry(workspace) == before, "{said}");
            }
            _ => panic!("{said}"),
        }
    }
    assert_eq!(won, 1);
    let jobs = fleet.number("SELECT count(*) FROM archi3d.jobs");
    assert!(jobs == 120 || jobs == 80, "{jobs}");
}

#[test]
fn a_mark_without_jobs_keeps_workers_off_until_the_push_is_over() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(2).build();
    fleet.push(&workspace);
    let mark = fs::read_to_string(workspace.run_path("fleet.json")).expect("a mark");
    workspace.write(
        "runs/rk/fleet.json",
        mark.replace("\"pushed\"", "\"pushing\"").as_bytes(),
    );
    let _ = workspace
        .archi3d(&["run", "cancel", "rk"])
        .run()
        .expect_code(2)
        .expect_stderr("on its way");
    let pull = fleet
        .run(&workspace, &["fleet", "pull", "--run-id", "rk"])
        .expect_code(2);
    let _ = pull.expect_stderr("fleet push --run-id rk");
    assert_eq!(fleet.push(&workspace)["added"], 0);
    assert_eq!(
        fs::read_to_string(workspace.run_path("fleet.json")).expect("a mark"),
        mark
    );
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.jobs"), 2);
}

/// Dies at every step of a push and pushes again.
#[cfg(feature = "failpoints")]
#[test]
fn a_push_that_is_killed_anywhere_ends_as_one_run() {
    let steps = [
        "push.before",
        "push.marked",
        "push.recovered",
        "push.page_sent",
        "push.all_sent",
        "push.committed",
        "push.marker_moved",
        "push.retired",
        "push.done",
    ];
    for step in steps {
        let Some(mut fleet) = Fleet::new() else {
            return;
        };
        let workspace = run_with_everything();
        let push = fleet.invoke(&workspace, &["fleet", "push", "--run-id", "rk"]);
        let said = push
            .env("FAILPOINTS", format!("{step}=1*return(kill)"))
            .run();
        assert_eq!(said.code(), None, "{step}: {said}");
        let marked = workspace.run_path("fleet.json").exists();
        assert_eq!(marked, step != "push.before", "{step}");
        if marked {
            let _ = workspace
                .archi3d(&["run", "cancel", "rk"])
                .run()
                .expect_code(2);
        }
        fleet.push(&workspace);
        assert_eq!(
            fleet.number("SELECT count(*) FROM archi3d.jobs"),
            7,
            "{step}"
        );
        assert_eq!(
            fleet.number("SELECT count(*) FROM archi3d.runs"),
            1,
            "{step}"
        );
        assert_eq!(
            fleet.number("SELECT spent FROM archi3d.budgets WHERE scope LIKE 'run:%'"),
            250_000,
            "{step}"
        );
        assert_eq!(
            fleet.number("SELECT count(*) FROM archi3d.purchases"),
            1,
            "{step}"
        );
        assert_eq!(fleet.pull(&workspace, 0)["rows_changed"], 1, "{step}");
    }
}
