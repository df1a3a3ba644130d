//! The plans of what is asked all the time, with many rows in the tables and every way open to the planner.

use archi3d_core::store::postgres::statements::ALL;

use super::Bench;

/// Reading one of these from end to end costs more the more a fleet has done.
const LARGE: [&str; 6] = [
    "jobs",
    "job_specs",
    "attempts",
    "results",
    "artifacts",
    "purchases",
];

/// A statement, what it is asked with, and the indexes that it goes by.
const HOT: &[(&str, &str, &[&str])] = &[
    (
        "claim",
        "1, ARRAY['a'], ARRAY[24], ARRAY[-9223372036854775808], 24, 'w', 60, false, true, ARRAY[3]",
        &["jobs_claim", "jobs_pkey", "job_specs_pkey"],
    ),
    (
        "claim_bought",
        "1, ARRAY['a'], ARRAY[24], 24, 'w', 60, ARRAY[3]",
        &["jobs_bought", "job_specs_pkey"],
    ),
    (
        "claim_rare",
        "1, ARRAY['a'], ARRAY[24], ARRAY[false], 24, 'w', 60, false, ARRAY[3]",
        &["jobs_retry", "jobs_lease"],
    ),
    (
        "sweep",
        "5000, 60, NULL, 'w', ARRAY[3], ARRAY['d'], 1",
        &["jobs_lease", "jobs_pkey"],
    ),
    (
        "beat",
        "ARRAY[1, 2], ARRAY[gen_random_uuid(), gen_random_uuid()], ARRAY[NULL, NULL]::real[], ARRAY[NULL, NULL], 60, 'w'",
        &["jobs_pkey"],
    ),
    (
        "succeed_bare",
        "ARRAY[1, 2], ARRAY[gen_random_uuid(), gen_random_uuid()], ARRAY[1, 1], ARRAY['[]', '[]'], ARRAY['', '']::bytea[], \
         ARRAY[0, 0], ARRAY[NULL, NULL]::bytea[], ARRAY['1', '1'], ARRAY[false, false], ARRAY[1, 1], ARRAY['fixed', 'fixed']",
        &["jobs_pkey", "attempts_pkey"],
    ),
    (
        "succeed",
        "ARRAY[1, 2], ARRAY[gen_random_uuid(), gen_random_uuid()], ARRAY[1, 1], ARRAY['[]', '[]'], ARRAY['', '']::bytea[], \
         ARRAY['f', 'f'], ARRAY[0, 0], ARRAY[NULL, NULL]::bytea[], ARRAY['1', '1'], ARRAY[false, false], ARRAY[1, 1], ARRAY['fixed', 'fixed'], \
         ARRAY[1], ARRAY[1], ARRAY['generated.glb'], ARRAY[9], ARRAY['']::bytea[], ARRAY[NULL]",
        &["jobs_pkey", "attempts_pkey", "purchases_pkey"],
    ),
    (
        "fail",
        "1, gen_random_uuid(), 1, 'transient', 'no', NULL, false, 'open', '[]', 1",
        &["jobs_pkey", "attempts_pkey"],
    ),
    (
        "release",
        "ARRAY[1, 2], ARRAY[gen_random_uuid(), gen_random_uuid()], ARRAY[1, 1], 'stopped', 0, false, true",
        &["jobs_pkey", "attempts_pkey"],
    ),
    (
        "left",
        "1, ARRAY['a', 'b']",
        &["jobs_claim", "jobs_retry", "jobs_lease"],
    ),
    ("next_due", "1, ARRAY['a']", &["jobs_retry"]),
    ("perform", "1, 'a', 10000", &["jobs_rehearsed", "jobs_pkey"]),
];

#[test]
fn what_is_asked_all_the_time_goes_by_indexes_however_many_jobs_there_are() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.run(
        "INSERT INTO archi3d.jobs (run_no, algo, position) SELECT 1, 'a', n FROM generate_series(0, 99999) n ORDER BY n;
         INSERT INTO archi3d.job_specs (job_no, run_no, position, job_id, idempotency_key, product_id, variant, payload, payload_hash)
           SELECT id, 1, position, 'j' || id, 'j/' || id, 'p', '', '{}', '' FROM archi3d.jobs;
         UPDATE archi3d.jobs SET status = 'succeeded', completed_at = now(), attempt_count = 1 WHERE position < 40000;
         UPDATE archi3d.jobs SET status = 'failed_retryable', attempt_count = 1 WHERE position BETWEEN 40000 AND 40999;
         UPDATE archi3d.jobs SET status = 'running', attempt_count = 1, lease_owner = 'w', lease_expires_at = now(),
           current_attempt_id = gen_random_uuid() WHERE position BETWEEN 41000 AND 41499;
         UPDATE archi3d.jobs SET request_id = 'r' WHERE position BETWEEN 50000 AND 50999;
         INSERT INTO archi3d.attempts (job_no, number, attempt_id, worker_id, entry, status, started_at, ended_at)
           SELECT id, 1, gen_random_uuid(), 'w', 'fresh', 'succeeded', now(), now() FROM archi3d.jobs WHERE status = 'succeeded';
         INSERT INTO archi3d.results (job_no, run_no, number, payload, content_hash)
           SELECT id, 1, 1, '[]', '' FROM archi3d.jobs WHERE status = 'succeeded';
         INSERT INTO archi3d.artifacts (job_no, number, name, size, sha256)
           SELECT id, 1, 'generated.glb', 1, decode(repeat('00', 32), 'hex') FROM archi3d.jobs WHERE status = 'succeeded';
         INSERT INTO archi3d.purchases (job_no, request_id, number, attempt_id)
           SELECT id, 'r', 1, gen_random_uuid() FROM archi3d.jobs WHERE status = 'succeeded'",
    );
    for table in LARGE {
        bench.run(&format!("VACUUM (ANALYZE) archi3d.{table}"));
    }
    bench.run("SET plan_cache_mode = force_custom_plan");
    for (name, values, indexes) in HOT {
        let sql = ALL
            .iter()
            .find(|sql| sql.name == *name)
            .expect("it is there");
        let types: Vec<String> = sql.parameters.iter().map(ToString::to_string).collect();
        let types = types.join(", ");
        bench.run(&format!("PREPARE one ({types}) AS {}", sql.text));
        let rows = bench
            .admin
            .query(&format!("EXPLAIN EXECUTE one({values})"), &[]);
        let lines: Vec<String> = rows
            .expect("explained")
            .iter()
            .map(|row| row.get(0))
            .collect();
        let plan = lines.join("\n");
        for table in LARGE {
            let whole = [
                format!("Seq Scan on {table} "),
                format!("Seq Scan on {table}\n"),
            ];
            let read = whole.iter().any(|whole| plan.contains(whole));
            assert!(!read, "{name} reads all of {table}:\n{plan}");
        }
        for index in *indexes {
            assert!(
                plan.contains(index),
                "{name} does not go by {index}:\n{plan}"
            );
        }
        bench.run("DEALLOCATE one");
    }
}
