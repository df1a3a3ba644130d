//! Killing workers without warning at random moments and starting them again, with an observer
//! that reads the registry all the time. The moments follow from a seed, which a failure shows;
//! `ARCHI3D_TEST_SEED` sets another one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::support::bench::listing;
use crate::support::binary::Running;
use crate::support::{Registry, TestWorkspace};

const JOBS: usize = 60;

const ADAPTERS: &str = "adapters:\n  killme:\n    kind: mock\n    sleep_ms: 20\n    \
                        count_file: count.txt\n";

const RESUME: [&str; 4] = ["--only-status", "enqueued,running", "--max-parallel", "4"];

/// Numbers that follow from a seed (splitmix64); a panic shows the seed.
struct Moments {
    seed: u64,
    state: u64,
}

impl Moments {
    fn new(default_seed: u64) -> Self {
        let chosen = std::env::var("ARCHI3D_TEST_SEED").ok();
        let seed = chosen
            .and_then(|text| text.parse().ok())
            .unwrap_or(default_seed);
        Self { seed, state: seed }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    /// Lets a random time pass: the moment of a kill is what is tested, nothing waits for it.
    fn pass(&mut self, at_most: Duration) {
        let micros = u64::try_from(at_most.as_micros()).expect("a short time");
        thread::sleep(Duration::from_micros(self.below(micros)));
    }
}

impl Drop for Moments {
    fn drop(&mut self) {
        if thread::panicking() {
            let line = format!("kill moments: ARCHI3D_TEST_SEED={}\n", self.seed);
            std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).ok();
        }
    }
}

fn workspace() -> TestWorkspace {
    let builder = TestWorkspace::with_products(JOBS).algo("killme");
    builder.adapters(ADAPTERS).build()
}

fn is_done(workspace: &TestWorkspace) -> bool {
    workspace.registry().count("completed") == JOBS
}

/// Kills the worker unless it has ended; returns whether it was killed.
fn kill(mut worker: Running) -> bool {
    if worker.has_ended() {
        let _ = worker.wait().expect_code(0);
        return false;
    }
    // It may end by itself between the look and the kill.
    let output = worker.kill();
    assert!(matches!(output.code(), None | Some(0)), "{output}");
    output.code().is_none()
}

/// Reads the registry over and over: it is always whole, and what is finished stays so.
fn observe(workspace: &TestWorkspace, ended: &AtomicBool) -> usize {
    let mut finished = BTreeSet::new();
    let mut reads = 0;
    while !ended.load(Ordering::SeqCst) {
        let bytes = workspace.bytes("tables/generations.csv");
        assert!(bytes.starts_with(b"\xef\xbb\xbf"), "the mark is gone");
        let table = Registry::parse(&bytes);
        assert_eq!(table.rows.len(), JOBS);
        for row in &table.rows {
            let job = row["job_id"].to_owned();
            if &row["status"] == "completed" {
                assert!(!row["gen_object_path"].is_empty(), "{row:?}");
                let object = workspace.path(&row["gen_object_path"]);
                assert!(object.is_file(), "{row:?}");
                finished.insert(job);
            } else {
                assert!(!finished.contains(&job), "went back: {row:?}");
            }
        }
        reads += 1;
        thread::yield_now();
    }
    reads
}

/// Runs `work` while the registry is observed.
fn observed(workspace: &TestWorkspace, work: impl FnOnce()) {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let observer = scope.spawn(|| observe(workspace, &ended));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        ended.store(true, Ordering::SeqCst);
        let reads = observer.join().expect("the registry was always whole");
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
        assert!(reads > 0);
    });
}

/// Returns the attempts of each job that reached its adapter.
fn attempts_started(workspace: &TestWorkspace) -> BTreeMap<String, Vec<u64>> {
    let text = String::from_utf8(workspace.bytes("count.txt")).expect("text");
    let mut attempts: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let (job, attempt) = (words.next(), words.next());
        let job = job.expect("a job id").to_owned();
        let attempt = attempt.and_then(|word| word.parse().ok());
        attempts
            .entry(job)
            .or_default()
            .push(attempt.expect("a number"));
    }
    attempts
}

/// Returns the attempts of each job whose result stands in a journal and was not set aside.
fn results_recorded(workspace: &TestWorkspace) -> BTreeMap<String, Vec<u64>> {
    let mut recorded: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for path in listing(&workspace.run_path("state/journal")) {
        let text = fs::read_to_string(&path).expect("a journal is text");
        for line in text.lines() {
            // Only the last line of a killed worker may be torn.
            let Ok(line) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            assert_ne!(line["event"], "fenced", "nobody is taken over alive");
            if line["event"] == "finished" {
                let job = line["job_id"].as_str().expect("a job id").to_owned();
                let attempt = line["attempt"].as_u64().expect("a number");
                recorded.entry(job).or_default().push(attempt);
            }
        }
    }
    recorded
}

#[track_caller]
fn assert_nothing_lost_doubled_or_left(workspace: &TestWorkspace) {
    let table = workspace.registry();
    assert_eq!(table.rows.len(), JOBS);
    assert_eq!(table.count("completed"), JOBS);
    assert_eq!(workspace.jobs_with("completed").len(), JOBS);
    let started = attempts_started(workspace);
    let recorded = results_recorded(workspace);
    assert_eq!((started.len(), recorded.len()), (JOBS, JOBS));
    for (job, results) in &recorded {
        let [result] = results[..] else {
            panic!("{job} has several results: {results:?}");
        };
        let latest = started[job].iter().max().expect("it started");
        assert_eq!(*latest, result, "{job} ran again after its result");
        let distinct: BTreeSet<_> = started[job].iter().collect();
        assert_eq!(distinct.len(), started[job].len(), "{job}: {started:?}");
    }
    for event in workspace.log().events("job_started") {
        let job = event["job_id"].as_str().expect("a job id");
        let attempt = event["attempt"].as_u64().expect("a number");
        assert!(attempt <= recorded[job][0], "{job}, attempt {attempt}");
    }
    assert_eq!(workspace.leftovers(), Vec::<String>::new());
    let staging = listing(&workspace.run_path("outputs/.staging"));
    assert!(staging.is_empty(), "{staging:?}");
    let late = listing(&workspace.run_path("outputs/.late"));
    assert!(late.is_empty(), "{late:?}");
}

#[test]
fn a_worker_killed_at_thirty_random_moments_loses_nothing_and_repeats_nothing_finished() {
    let mut moments = Moments::new(20_261_116);
    let mut kills = 0;
    // A fast machine may be done before the thirtieth kill; then another run takes the rest.
    while kills < 30 {
        let workspace = workspace();
        observed(&workspace, || {
            while kills < 30 && !is_done(&workspace) {
                let worker = workspace.worker(&RESUME).spawn();
                moments.pass(Duration::from_millis(90));
                kills += usize::from(kill(worker));
            }
            let _ = workspace.worker(&RESUME).run().expect_code(0);
        });
        assert_nothing_lost_doubled_or_left(&workspace);
    }
}

#[test]
fn two_workers_of_which_some_are_killed_lose_nothing_and_repeat_nothing_finished() {
    let mut moments = Moments::new(314);
    let mut rounds = 0;
    while rounds < 10 {
        let workspace = workspace();
        observed(&workspace, || {
            while rounds < 10 && !is_done(&workspace) {
                let one = workspace.worker(&RESUME).spawn();
                moments.pass(Duration::from_millis(20));
                let two = workspace.worker(&RESUME).spawn();
                moments.pass(Duration::from_millis(90));
                kill(one);
                if moments.below(2) == 0 {
                    kill(two);
                } else {
                    let _ = two.wait().expect_code(0);
                }
                rounds += 1;
            }
            let _ = workspace.worker(&RESUME).run().expect_code(0);
        });
        assert_nothing_lost_doubled_or_left(&workspace);
    }
}

#[test]
fn redos_that_fail_or_are_killed_leave_every_job_its_result() {
    let mut moments = Moments::new(2_718);
    let adapters = ADAPTERS.replace("20\n", "5\n    fail_rate: 0.4\n    seed: 3\n");
    let builder = TestWorkspace::with_products(12).algo("killme");
    let workspace = builder.adapters(&adapters).build();
    while workspace.registry().count("completed") < 12 {
        let output = workspace
            .worker(&["--only-status", "enqueued,failed"])
            .run();
        assert!(matches!(output.code(), Some(0 | 1)), "{output}");
    }
    let redo = ["--redo", "--only-status", "completed,running"];
    for _ in 0..20 {
        let worker = workspace.worker(&redo).arg("--max-parallel=3").spawn();
        moments.pass(Duration::from_millis(90));
        let output = worker.kill();
        assert!(matches!(output.code(), None | Some(0 | 1)), "{output}");
    }
    let output = workspace.worker(&["--only-status", "running"]).run();
    assert!(matches!(output.code(), Some(0 | 1)), "{output}");
    let table = workspace.registry();
    for job in workspace.jobs() {
        let row = table.row("rk", &job.id);
        assert_eq!(&row["status"], "completed", "{row:?}");
        assert!(workspace.path(&row["gen_object_path"]).is_file(), "{row:?}");
        let state = workspace.state_files(&job.id);
        assert_eq!(state, ["completed", "lock"], "{}", job.id);
    }
    for (job, attempts) in attempts_started(&workspace) {
        assert!(attempts.is_sorted_by(|a, b| a < b), "{job}: {attempts:?}");
    }
    assert_eq!(workspace.leftovers(), Vec::<String>::new());
    let staging = listing(&workspace.run_path("outputs/.staging"));
    assert!(staging.is_empty(), "{staging:?}");
}
