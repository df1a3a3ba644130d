//! Requirements by their number in `docs/acceptance.md`, each through the program on a real server. What other tests show
//! is named there; `architecture::promises` compares the names with the sources.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use sha2::Digest as _;

use super::Fleet;
use crate::support::mocks::{counting_mocks, executions, set_algo};
use crate::support::{TestWorkspace, wait_until};

fn mocks(jobs: usize, options: &str) -> TestWorkspace {
    let yaml = counting_mocks(&[("killme", options)]);
    let builder = TestWorkspace::with_products(jobs).algo("killme");
    builder.adapters(&yaml).build()
}

fn sha256(bytes: &[u8]) -> String {
    archi3d_core::domain::text::hex(&sha2::Sha256::digest(bytes))
}

/// Reads a file of the repository.
fn of_repository(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn item_03_there_are_six_states_and_the_registry_has_a_word_for_each() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let states = fleet.texts("SELECT unnest(enum_range(NULL::archi3d.job_status))::text");
    let known = [
        "pending",
        "running",
        "succeeded",
        "failed_retryable",
        "failed_terminal",
        "cancelled",
    ];
    assert_eq!(states, known);
    let workspace = mocks(1, "");
    fleet.push(&workspace);
    let both = "SELECT status || ' ' || state FROM archi3d.generations";
    assert_eq!(fleet.texts(both), ["enqueued pending"]);
    let _ = fleet.worker(&workspace, &[]).wait().expect_code(0);
    assert_eq!(fleet.texts(both), ["completed succeeded"]);
    let files = mocks(1, "");
    let _ = files.worker(&[]).run().expect_code(0);
    let words = ["run", "status", "rk", "--json"];
    let of_files = files.archi3d(&words).run().expect_code(0).json();
    for shown in [
        of_files,
        fleet.run(&workspace, &words).expect_code(0).json(),
    ] {
        assert_eq!(shown["counts"]["completed"], 1);
        assert_eq!(
            (&shown["states"]["SUCCEEDED"], &shown["states"]["PENDING"]),
            (&1.into(), &0.into())
        );
    }
}

#[test]
fn item_04_the_schema_is_printed_with_every_column_that_a_job_needs() {
    let workspace = mocks(1, "");
    let printed = workspace.archi3d(&["fleet", "init", "--print"]).run();
    let text = printed.expect_code(0).stdout;
    for word in [
        "idempotency_key text",
        "UNIQUE",
        "DEFAULT 'pending'",
        "payload ",
        "lease_owner",
        "lease_expires_at",
        "completed_at",
        "uuid",
    ] {
        assert!(text.contains(word), "{word}");
    }
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let columns = fleet.texts(
        "SELECT column_name || ' ' || data_type FROM information_schema.columns
         WHERE table_schema = 'archi3d' AND table_name IN ('jobs', 'job_specs')",
    );
    for column in [
        "id bigint",
        "run_no bigint",
        "idempotency_key text",
        "algo text",
        "payload json",
        "payload_hash bytea",
        "priority smallint",
        "attempt_count integer",
        "max_attempts integer",
        "lease_owner text",
        "lease_expires_at timestamp with time zone",
        "current_attempt_id uuid",
        "created_at timestamp with time zone",
        "started_at timestamp with time zone",
        "completed_at timestamp with time zone",
        "last_error text",
        "result_ref text",
    ] {
        assert!(columns.iter().any(|known| known == column), "{column}");
    }
}

#[test]
fn item_07_and_08_a_result_is_one_row_and_its_files_are_on_record() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "");
    fleet.push(&workspace);
    let _ = fleet.worker(&workspace, &[]).wait().expect_code(0);
    let one = "SELECT count(*) FROM archi3d.results WHERE octet_length(content_hash) = 32 AND schema_version = 1";
    assert_eq!(fleet.number(one), 1);
    let of_model =
        "SELECT encode(sha256, 'hex') FROM archi3d.artifacts WHERE name = 'generated.glb'";
    let path = format!("runs/rk/outputs/{}/generated.glb", workspace.id(0));
    assert_eq!(fleet.texts(of_model), [sha256(&workspace.bytes(&path))]);
}

#[test]
fn item_09_every_hot_question_has_an_index() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let asks = [
        (
            "jobs_claim",
            "SELECT id FROM archi3d.jobs WHERE run_no = 1 AND algo = 'a' AND status = 'pending' AND claim_key > 0 ORDER BY claim_key LIMIT 1",
        ),
        (
            "jobs_lease",
            "SELECT id FROM archi3d.jobs WHERE run_no = 1 AND status = 'running' ORDER BY id",
        ),
        (
            "jobs_retry",
            "SELECT id FROM archi3d.jobs WHERE run_no = 1 AND status = 'failed_retryable' AND run_after <= now()",
        ),
        (
            "attempts_pkey",
            "SELECT number FROM archi3d.attempts WHERE job_no = 1",
        ),
        (
            "artifacts_pkey",
            "SELECT name FROM archi3d.artifacts WHERE job_no = 1 AND number = 1",
        ),
        (
            "runs_payload_hash",
            "SELECT run_no FROM archi3d.runs WHERE payload_hash = 'x'::bytea",
        ),
    ];
    // Beside `postgres::plans`, where the tables are full: what each index has, and of which rows.
    let defined = [
        (
            "jobs_claim",
            "(run_no, algo, claim_key) WHERE (status = 'pending'",
        ),
        (
            "jobs_retry",
            "(run_no, run_after) WHERE (status = 'failed_retryable'",
        ),
        ("jobs_lease", "(run_no, id) WHERE (status = 'running'"),
        ("runs_payload_hash", "(payload_hash)"),
        ("job_specs_idempotency_key_key", "UNIQUE"),
        ("job_specs_idempotency_key_key", "(idempotency_key)"),
    ];
    for (index, has) in defined {
        let text = fleet.texts(&format!(
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'archi3d' AND indexname = '{index}'"
        ));
        assert!(text.join("").contains(has), "{index}: {text:?}");
    }
    let off = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off";
    fleet.admin().batch_execute(off).expect("set");
    for (index, ask) in asks {
        let plan = fleet.texts(&format!("EXPLAIN {ask}")).join("\n");
        assert!(plan.contains(index), "{index}: {plan}");
    }
}

#[test]
fn item_13_a_claim_sets_owner_expiry_start_and_attempt() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "wait_file: go");
    fleet.push(&workspace);
    let worker = fleet.worker(&workspace, &["--worker-id", "w1"]);
    wait_until("the job runs", || fleet.count("running") == 1);
    let whole = "SELECT count(*) FROM archi3d.jobs j JOIN archi3d.attempts a ON a.job_no = j.id AND a.number = 1
        WHERE j.lease_owner = 'w1' AND j.attempt_count = 1 AND j.current_attempt_id = a.attempt_id AND j.started_at IS NOT NULL
        AND j.lease_expires_at BETWEEN now() + interval '30 s' AND now() + interval '61 s'";
    assert_eq!(fleet.number(whole), 1);
    workspace.write("go", b"");
    let _ = worker.wait().expect_code(0);
}

#[test]
fn item_15_a_worker_takes_only_the_algorithms_it_was_asked_for() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = crate::support::mocks::one_job_each(&[("one", ""), ("two", "")]);
    fleet.push(&workspace);
    let _ = fleet
        .worker(&workspace, &["--algo", "two"])
        .wait()
        .expect_code(0);
    let done = "SELECT algo FROM archi3d.jobs WHERE status = 'succeeded'";
    assert_eq!(fleet.texts(done), ["two"]);
}

#[test]
fn item_17_a_lease_lasts_sixty_seconds_or_what_the_environment_says() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "");
    fleet.push(&workspace);
    assert_eq!(
        fleet.number("SELECT lease_seconds::bigint FROM archi3d.runs"),
        60
    );
    let words = ["run", "worker", "--run-id", "rk"];
    let worker = fleet.invoke(&workspace, &words).env("LEASE_SECONDS", "33");
    let _ = worker.run().expect_code(0);
    assert_eq!(
        fleet.number("SELECT max(lease_seconds)::bigint FROM archi3d.workers"),
        33
    );
}

#[test]
fn item_52_a_lease_lasts_as_long_as_jobs_of_the_run_took_before() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "");
    fleet.push(&workspace);
    let _ = fleet.worker(&workspace, &[]).wait().expect_code(0);
    // Jobs that took no time, some time, very long.
    for (seconds, lease) in [(0, 20), (50, 100), (1000, 300)] {
        fleet.change(&format!("UPDATE archi3d.results SET seconds = {seconds}"));
        let name = format!("after{seconds}");
        let options = ["--lease-secs", "auto", "--worker-id", &name];
        let _ = fleet.worker(&workspace, &options).wait().expect_code(0);
        let known =
            format!("SELECT lease_seconds::bigint FROM archi3d.workers WHERE worker_id = '{name}'");
        assert_eq!(fleet.number(&known), lease, "{seconds}");
    }
}

#[test]
fn item_18_a_running_job_is_renewed_and_outlives_its_first_lease() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "wait_file: go");
    fleet.push(&workspace);
    let worker = fleet.worker(&workspace, &["--lease-secs", "1"]);
    wait_until("the job runs", || fleet.count("running") == 1);
    let lived =
        "SELECT count(*) FROM archi3d.jobs WHERE status = 'running' AND lease_expires_at > now()
        AND started_at < now() - interval '2.5 s'";
    wait_until("it has run for longer than a lease", || {
        fleet.number(lived) == 1
    });
    workspace.write("go", b"");
    let _ = worker.wait().expect_code(0);
    assert_eq!(executions(&workspace).len(), 1);
}

#[test]
fn item_25_a_failure_keeps_its_words() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "fail: no such chair");
    fleet.push(&workspace);
    let _ = fleet.worker(&workspace, &[]).wait().expect_code(1);
    assert_eq!(fleet.count("failed_terminal"), 1);
    let said = fleet.texts("SELECT last_error FROM archi3d.jobs").join("");
    assert!(said.contains("no such chair"), "{said}");
}

#[test]
fn item_26_and_56_what_fails_once_is_tried_again_and_then_succeeds() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "fail_first: 1, fail_class: transient, retries: 2");
    fleet.push(&workspace);
    let _ = fleet.worker(&workspace, &[]).wait().expect_code(0);
    let tries = "SELECT attempt_count::bigint FROM archi3d.jobs WHERE status = 'succeeded'";
    assert_eq!(fleet.number(tries), 2);
}

#[test]
fn item_27_and_28_what_says_nothing_of_itself_is_not_bought_again_and_each_algorithm_has_its_retries()
 {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let program = |code: u8, more: &str| {
        format!("{{kind: process, command: [sh, -c, \"exit {code}\"], unit_price_usd: 0.1{more}}}")
    };
    let yaml = format!(
        "adapters:\n  silent: {}\n  passing: {}\n  once: {}\n",
        program(1, ", retries: 3"),
        program(75, ", retries: 1"),
        program(75, ""),
    );
    let workspace = TestWorkspace::with_products(3).adapters(&yaml).build();
    for (index, algo) in ["silent", "passing", "once"].into_iter().enumerate() {
        set_algo(&workspace, index, algo);
    }
    fleet.push(&workspace);
    let _ = fleet.worker(&workspace, &["-j", "3"]).wait().expect_code(1);
    let tries =
        "SELECT algo || ' ' || attempt_count || ' ' || last_class FROM archi3d.jobs ORDER BY id";
    let expected = [
        "silent 1 permanent",
        "passing 2 transient",
        "once 1 transient",
    ];
    assert_eq!(fleet.texts(tries), expected);
    assert_eq!(fleet.count("failed_terminal"), 3);
}

#[test]
fn item_32_every_expiry_leaves_a_checkpoint() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "wait_file: go");
    fleet.push(&workspace);
    let killed = fleet.worker(&workspace, &["--lease-secs", "1", "--worker-id", "dead"]);
    wait_until("the job runs", || fleet.count("running") == 1);
    let _ = killed.kill();
    workspace.write("go", b"");
    let _ = fleet
        .worker(&workspace, &["--lease-secs", "1"])
        .wait()
        .expect_code(0);
    let told = "SELECT kind || ' ' || worker_id FROM archi3d.checkpoints";
    assert_eq!(fleet.texts(told), ["lease_expired dead"]);
}

#[test]
fn item_38_a_worker_that_stays_takes_what_is_pushed_later() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(2, "");
    fleet.push(&workspace);
    let worker = fleet.worker(&workspace, &["--until-idle", "60"]);
    wait_until("both are done", || fleet.count("succeeded") == 2);
    fleet
        .admin()
        .batch_execute("UPDATE archi3d.jobs SET status = 'pending', simulated = false")
        .expect("put back");
    wait_until("it has done them again", || {
        executions(&workspace).len() == 4
    });
    worker.signal("TERM");
    let _ = worker.wait();
}

#[test]
fn item_38_redis_only_wakes_and_lies_change_nothing() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(2, "");
    // A Redis that forgets who listens, doubles messages and talks nonsense.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!(
        "redis://127.0.0.1:{}",
        listener.local_addr().expect("bound").port()
    );
    let (heard, asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut text = [0; 256];
            let count = client.read(&mut text).unwrap_or(0);
            let _ = heard.send(String::from_utf8_lossy(&text[..count]).into_owned());
            let _ = client.write_all(b"*3\r\n$7\r\nmessage\r\n:1\r\n+what\r\n:1\r\n");
        }
    });
    let push = fleet.invoke(&workspace, &["fleet", "push", "--run-id", "rk"]);
    let _ = push.env("ARCHI3D_WAKE", &url).run().expect_code(0);
    assert!(asked.recv().expect("told").contains("PUBLISH"));
    let worker = fleet.worker(&workspace, &["--wake", &url]);
    let _ = worker.wait().expect_code(0);
    assert!(asked.recv().expect("listened").contains("SUBSCRIBE"));
    assert_eq!(executions(&workspace).len(), 2);
    // One that is not there changes nothing either, and one that is none is refused.
    let _ = fleet
        .worker(&workspace, &["--wake", "redis://127.0.0.1:1"])
        .wait()
        .expect_code(0);
    let wrong = fleet
        .worker(&workspace, &["--wake", "http://h"])
        .wait()
        .expect_code(2);
    let _ = wrong.expect_stderr("redis://");
}

#[test]
fn item_40_an_algorithm_that_nothing_here_can_carry_out_is_named_and_its_jobs_wait() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "");
    fleet.push(&workspace);
    workspace.write(
        "config/adapters.yaml",
        b"adapters:\n  other: {kind: mock}\n",
    );
    let said = fleet.worker(&workspace, &[]).wait().expect_code(1);
    let _ = said.expect_stderr("killme");
    assert_eq!(fleet.count("pending"), 1);
}

#[test]
fn item_49_the_questions_of_the_page_are_answered_by_the_server() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let page = of_repository("docs/fleet.md");
    let block = page.split("```sql").nth(1).expect("there are questions");
    let block = block.split("```").next().expect("they end");
    let asks: Vec<&str> = block.split_inclusive(";\n").collect();
    assert_eq!(asks.len(), 4);
    let workspace = mocks(2, "wait_file: go");
    fleet.push(&workspace);
    let worker = fleet.worker(&workspace, &["--lease-secs", "3"]);
    wait_until("a job runs", || fleet.count("running") == 1);
    wait_until("its lease is in force", || {
        let active = fleet.admin().query(asks[0], &[]).expect("answered");
        let counts: (i64, i64) = (active[0].get("active"), active[0].get("stale"));
        counts == (1, 0)
    });
    let _ = worker.kill();
    wait_until("its lease has expired", || {
        let seen = fleet.admin().query(asks[0], &[]).expect("answered");
        seen[0].get::<_, i64>("stale") == 1
    });
    assert_eq!(
        fleet.admin().query(asks[2], &[]).expect("answered").len(),
        1
    );
    workspace.write("go", b"");
    let next = fleet.worker(&workspace, &["--lease-secs", "3"]);
    let _ = next.wait().expect_code(0);
    let ended = fleet.admin().query(asks[1], &[]).expect("answered");
    assert_eq!(ended.iter().map(|row| row.get::<_, i64>(1)).sum::<i64>(), 3);
    assert!(
        fleet
            .admin()
            .query(asks[3], &[])
            .expect("answered")
            .is_empty()
    );
}

#[test]
fn item_57_of_two_workers_on_one_job_one_holds_it() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "wait_file: go");
    fleet.push(&workspace);
    let workers = ["w1", "w2"].map(|name| fleet.worker(&workspace, &["--worker-id", name]));
    let there = "SELECT count(*) FROM archi3d.workers";
    wait_until("both are there", || {
        fleet.number(there) == 2 && fleet.count("running") == 1
    });
    let owner = fleet.texts("SELECT lease_owner FROM archi3d.jobs");
    assert!(["w1", "w2"].contains(&owner[0].as_str()), "{owner:?}");
    workspace.write("go", b"");
    for worker in workers {
        let _ = worker.wait().expect_code(0);
    }
    assert_eq!(executions(&workspace).len(), 1);
    let begun = "SELECT count(*) FROM archi3d.attempts WHERE status <> 'released'";
    assert_eq!(fleet.number(begun), 1);
}

#[test]
fn item_59_the_page_of_the_fleet_says_all_that_was_asked_for() {
    let page = of_repository("docs/fleet.md");
    for heading in [
        "Schema and states",
        "Settings",
        "Monitoring",
        "Working on a fleet run",
        "What holds when what fails",
        "Sizing",
    ] {
        assert!(page.contains(&format!("## {heading}")), "{heading}");
    }
}

/// Appends a message of the server.
fn message(answer: &mut Vec<u8>, kind: u8, body: &[u8]) {
    answer.push(kind);
    let length = u32::try_from(body.len() + 4).expect("short");
    answer.extend(length.to_be_bytes());
    answer.extend(body);
}

/// Appends one row of columns, each with its type and whether it is binary.
fn row(answer: &mut Vec<u8>, columns: &[(u8, u8, &[u8])]) {
    let count = u8::try_from(columns.len()).expect("few");
    let (mut names, mut values) = (vec![0, count], vec![0, count]);
    for (kind, format, value) in columns {
        names.extend([b'c', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, *kind, 255, 255]);
        names.extend([255, 255, 255, 255, 0, *format]);
        values.extend(u32::try_from(value.len()).expect("short").to_be_bytes());
        values.extend(*value);
    }
    message(answer, b'T', &names);
    message(answer, b'D', &values);
    message(answer, b'C', b"SELECT 1\0");
}

#[test]
fn a_server_that_is_too_old_is_refused_with_one_clear_line() {
    const TEXT: u8 = 25;
    const INT4: u8 = 23;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        let mut client = listener.accept().expect("a client").0;
        let mut buffer = [0; 4096];
        let _ = client.read(&mut buffer);
        let mut answer = Vec::new();
        message(&mut answer, b'R', &[0; 4]);
        loop {
            message(&mut answer, b'Z', b"I");
            let _ = client.write_all(&answer);
            answer.clear();
            match client.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                // Whether it only reads.
                Ok(_) if buffer[0] == b'Q' => row(&mut answer, &[(TEXT, 0, b"off")]),
                Ok(_) => {
                    message(&mut answer, b'1', &[]);
                    message(&mut answer, b'2', &[]);
                    let number = 90_624_i32.to_be_bytes();
                    row(&mut answer, &[(INT4, 1, &number), (TEXT, 1, b"9.6.24")]);
                }
            }
        }
    });
    let workspace = mocks(1, "");
    let store = format!("host=127.0.0.1 port={port} user=u dbname=d sslmode=disable");
    let init = workspace.archi3d(&["fleet", "init"]);
    let said = init.env("ARCHI3D_STORE", &store).run().expect_code(2);
    let said = said.expect_stderr("PostgreSQL 9.6.24 at");
    let _ = said.expect_stderr("is too old: 13 or newer is needed");
}
