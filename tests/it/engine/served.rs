//! The engine on a run in PostgreSQL, where the store hands jobs out and machines share everything: money, providers,
//! breakers. Connections that are cut at every statement cost no job and no second purchase.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use archi3d_core::adapter::{AdapterError, GenerationRequest, JobContext};
use archi3d_core::cancel::StopReason;
use archi3d_core::clock::SystemClock;
use archi3d_core::domain::budget::{AttemptKey, Caps, Grant};
use archi3d_core::domain::id::AlgoKey;
use archi3d_core::domain::job::Entry;
use archi3d_core::domain::patch::Price;
use archi3d_core::domain::retry::ErrorClass;
use archi3d_core::domain::time::Clock;
use archi3d_core::engine::event::Summary;
use archi3d_core::engine::{self, Algorithm, Funds, Source};
use archi3d_core::store::postgres::{PgBudget, PgProviders, PgStore};
use archi3d_core::store::providers::{Closable, Closure, Providers as _};
use archi3d_core::store::{Budget as _, ReleaseReason, WorkerStore as _};

use super::{Made, Worker, hang, model};
use crate::support::bench::{Bench as _, STALE, take};
use crate::support::pg_bench::PgBench;

fn fake() -> AlgoKey {
    AlgoKey::parse("fake").expect("a valid key")
}

fn worker(
    bench: &PgBench,
    work: impl Fn(&GenerationRequest, &mut JobContext<'_>) -> Made + Send + Sync + 'static,
) -> Worker {
    Worker::in_workspace(bench.workspace(), work)
}

/// Opens the run for a worker and recovers it.
fn open(bench: &PgBench, name: &str, lease: Duration) -> PgStore {
    let store = bench.store(name, lease);
    store.recover(SystemClock.now()).expect("recovery works");
    store
}

/// Runs what the store hands out.
fn serve(worker: &mut Worker, store: &PgStore, adjust: impl FnOnce(&mut Algorithm)) -> Summary {
    worker.conditions.providers = Arc::new(PgProviders::new(Arc::clone(store.link())));
    let mut algorithm = worker.algorithm();
    adjust(&mut algorithm);
    let algorithms = HashMap::from([(fake(), Ok(algorithm))]);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    engine::run(
        store,
        Source::Served(store, vec![fake()]),
        &algorithms,
        &worker.conditions,
        &clock,
        &worker.cancel,
        &worker.events,
    )
}

fn count(bench: &PgBench, condition: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM archi3d.jobs WHERE {condition}");
    bench.database().number(&sql)
}

#[test]
fn two_engines_share_a_run_and_each_job_runs_once() {
    let Some(bench) = PgBench::new(40) else {
        return;
    };
    let stores = ["one", "two"].map(|name| open(&bench, name, STALE));
    let mut started: Vec<String> = thread::scope(|scope| {
        let runs: Vec<_> = stores
            .iter()
            .map(|store| {
                let bench = &bench;
                scope.spawn(move || {
                    let mut worker = worker(bench, |request, _| model(request)).parallel(3);
                    serve(&mut worker, store, |_| {});
                    worker.started()
                })
            })
            .collect();
        let runs = runs.into_iter();
        runs.flat_map(|run| run.join().expect("ends")).collect()
    });
    started.sort();
    let jobs: Vec<String> = bench.jobs().iter().map(ToString::to_string).collect();
    assert_eq!(started, jobs);
    assert!(
        bench
            .jobs()
            .iter()
            .all(|job| bench.row(job)["status"] == "completed")
    );
}

#[test]
fn a_failure_that_may_pass_is_tried_again() {
    let Some(bench) = PgBench::new(3) else {
        return;
    };
    let mut worker = worker(&bench, |request, context| {
        if context.attempt == 1 {
            return Err(AdapterError::failed(ErrorClass::Transient, "busy"));
        }
        model(request)
    });
    worker.retries = 1;
    let summary = serve(&mut worker, &open(&bench, "w", STALE), |_| {});
    assert_eq!((summary.completed, summary.retried), (3, 3));
}

#[test]
fn a_job_that_somebody_cancels_is_stopped_and_taken_out() {
    let Some(bench) = PgBench::new(2) else {
        return;
    };
    let (arrived, arrivals) = channel();
    let mut worker = worker(&bench, move |request, context| {
        if request.job_id == "job001" {
            return model(request);
        }
        arrived.send(()).expect("the test listens");
        hang(context)
    });
    let store = open(&bench, "w", STALE);
    let summary = thread::scope(|scope| {
        let running = scope.spawn(|| serve(&mut worker, &store, |_| {}));
        arrivals.recv().expect("it runs");
        bench.ask_to_cancel(&bench.jobs()[0]);
        running.join().expect("the engine ends")
    });
    assert_eq!((summary.cancelled, summary.completed), (1, 1));
    assert_eq!(bench.row(&bench.jobs()[0])["status"], "cancelled");
}

#[test]
fn a_job_that_somebody_else_took_is_stopped_and_publishes_nothing() {
    let Some(bench) = PgBench::new(1) else {
        return;
    };
    let (arrived, arrivals) = channel();
    let (told, reasons) = channel();
    let mut worker = worker(&bench, move |_, context| {
        arrived.send(()).expect("the test listens");
        let made = hang(context);
        told.send(made.clone()).expect("the test listens");
        made
    });
    worker.conditions.limit = Some(1);
    let store = open(&bench, "w", STALE);
    let summary = thread::scope(|scope| {
        let running = scope.spawn(|| serve(&mut worker, &store, |_| {}));
        arrivals.recv().expect("it runs");
        // As if its lease had run out while it stood still.
        bench.database().run(
            "WITH taken AS (UPDATE archi3d.jobs SET attempt_count = 2, lease_owner = 'other',
               current_attempt_id = gen_random_uuid() RETURNING id, current_attempt_id)
             INSERT INTO archi3d.attempts (job_no, number, attempt_id, worker_id, entry, started_at)
             SELECT id, 2, current_attempt_id, 'other', 'takeover', now() FROM taken",
        );
        running.join().expect("the engine ends")
    });
    let lost = Err(AdapterError::Stopped(StopReason::LeaseLost));
    assert_eq!(reasons.recv().expect("told"), lost);
    assert_eq!((summary.fenced, summary.processed), (1, 0));
    assert_eq!(
        count(&bench, "status = 'running' AND lease_owner = 'other'"),
        1
    );
}

#[test]
fn a_server_that_refuses_three_beats_in_a_row_stops_the_job_and_its_adapter_is_told() {
    let Some(bench) = PgBench::new(1) else {
        return;
    };
    let (arrived, arrivals) = channel();
    let (told, reasons) = channel();
    let mut worker = worker(&bench, move |_, context| {
        arrived.send(()).expect("the test listens");
        let made = hang(context);
        told.send(made.clone()).expect("the test listens");
        made
    });
    worker.conditions.limit = Some(1);
    let lease = Duration::from_secs(6);
    worker.conditions.rhythm.stale = lease;
    worker.conditions.rhythm.heartbeat = lease / 6;
    let store = open(&bench, "w", lease);
    let summary = thread::scope(|scope| {
        let running = scope.spawn(|| serve(&mut worker, &store, |_| {}));
        arrivals.recv().expect("it runs");
        // It counts them, which no refusal undoes.
        bench.database().run(
            "CREATE SEQUENCE refused;
             CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN PERFORM nextval('public.refused'); RAISE EXCEPTION 'not now' USING ERRCODE = '42501'; END $$;
             CREATE TRIGGER refuse BEFORE UPDATE ON archi3d.workers FOR EACH ROW EXECUTE FUNCTION public.refuse()",
        );
        let reason = reasons.recv().expect("told");
        assert_eq!(reason, Err(AdapterError::Stopped(StopReason::Unreachable)));
        let sql = "DROP TRIGGER refuse ON archi3d.workers";
        bench.database().run(sql);
        running.join().expect("the engine ends")
    });
    // A worker that is kept from beating in time has less than half a lease for them.
    let refused = bench.database().number("SELECT last_value FROM refused");
    assert!((1..=4).contains(&refused), "{refused}");
    assert_eq!((summary.processed, summary.fenced), (0, 0));
    // Given back as by one who died with it: what it may have bought is looked for.
    assert_eq!(count(&bench, "status = 'pending' AND holder_died"), 1);
    assert_eq!(worker.started().len(), 1);
}

#[test]
fn fail_fast_and_limits_start_nothing_more() {
    let Some(bench) = PgBench::new(20) else {
        return;
    };
    let mut failing = worker(&bench, |request, _| {
        if request.job_id == "job002" {
            return Err(AdapterError::permanent("no"));
        }
        model(request)
    });
    failing.conditions.fail_fast = true;
    let summary = serve(&mut failing, &open(&bench, "one", STALE), |_| {});
    assert_eq!((summary.completed, summary.failed), (2, 1));
    assert_eq!(summary.stopped_by.as_deref(), Some("fail_fast"));
    let mut limited = worker(&bench, |request, _| model(request)).parallel(8);
    limited.conditions.limit = Some(3);
    let summary = serve(&mut limited, &open(&bench, "two", STALE), |_| {});
    assert_eq!(summary.completed, 3);
    assert_eq!(summary.stopped_by.as_deref(), Some("limit"));
    assert_eq!(count(&bench, "status = 'pending'"), 14);
}

#[test]
fn a_cap_is_exact_however_many_engines_spend_at_once() {
    let Some(bench) = PgBench::new(20) else {
        return;
    };
    let stores = ["one", "two", "three"].map(|name| open(&bench, name, STALE));
    let start = Barrier::new(stores.len());
    let completed: usize = thread::scope(|scope| {
        let runs: Vec<_> = stores
            .iter()
            .map(|store| {
                let (bench, start) = (&bench, &start);
                scope.spawn(move || {
                    let mut worker = worker(bench, |request, _| model(request)).parallel(2);
                    worker.conditions.money = Some(Funds {
                        budget: Arc::new(PgBudget::new(Arc::clone(store.link()))),
                        caps: Caps {
                            run_usd: Some(2.0),
                            day_usd: None,
                        },
                        highest_cost: HashMap::new(),
                    });
                    start.wait();
                    let priced = |algorithm: &mut Algorithm| {
                        algorithm.price = Price {
                            unit_usd: Some(0.3),
                            estimated_usd: Some(0.3),
                            source: None,
                        };
                    };
                    serve(&mut worker, store, priced).completed
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().expect("ends")).sum()
    });
    assert_eq!(completed, 6);
    let mut database = bench.database();
    let spent = "SELECT spent FROM archi3d.budgets WHERE scope LIKE 'run:%'";
    assert_eq!(database.number(spent), 1_800_000);
    let reserved = "SELECT reserved FROM archi3d.budgets WHERE scope LIKE 'run:%'";
    assert_eq!(database.number(reserved), 0);
}

#[test]
fn a_provider_that_is_closed_for_one_is_closed_for_all() {
    let Some(bench) = PgBench::new(3) else {
        return;
    };
    let (one, two) = (open(&bench, "one", STALE), open(&bench, "two", STALE));
    let acme = AlgoKey::parse("acme").expect("a valid key");
    let closure = Closure {
        provider: acme.clone(),
        closed_at: SystemClock.now(),
        until: None,
        reason: "out of credit".to_owned(),
    };
    let providers = PgProviders::new(Arc::clone(one.link()));
    assert!(
        providers
            .close(Closable::Provider, &closure)
            .expect("works")
    );
    let mut worker = worker(&bench, |request, _| model(request));
    let summary = serve(&mut worker, &two, |algorithm| {
        algorithm.provider = Some(acme);
    });
    assert_eq!((summary.processed, summary.blocked), (0, 3));
    assert_eq!(count(&bench, "status = 'pending' AND attempt_count = 0"), 3);
}

#[test]
fn failures_in_a_row_are_counted_over_all_engines() {
    let Some(bench) = PgBench::new(9) else {
        return;
    };
    let run = |name: &str, limit: Option<usize>| {
        let mut worker = worker(&bench, |_, _| Err(AdapterError::permanent("no")));
        worker.conditions.limit = limit;
        serve(&mut worker, &open(&bench, name, STALE), |algorithm| {
            algorithm.breaker_failures = 4;
        })
    };
    assert_eq!(run("one", Some(2)).failed, 2);
    let second = run("two", None);
    assert_eq!((second.failed, second.blocked), (2, 5));
    assert_eq!(run("three", None).failed, 0);
}

/// Tries until it works.
fn again<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(done) = attempt() {
            return done;
        }
        thread::yield_now();
    }
}

/// A provider that can be asked what it sold, and counts.
#[derive(Default)]
struct Shop {
    sold: Mutex<HashMap<String, String>>,
    charges: AtomicUsize,
}

impl Shop {
    fn buy(&self, correlation: &str) -> String {
        let number = self.charges.fetch_add(1, Ordering::SeqCst);
        let id = format!("req-{number}");
        let mut sold = self.sold.lock().expect("nobody panics in it");
        sold.insert(correlation.to_owned(), id.clone());
        id
    }

    fn find(&self, correlation: &str) -> Option<String> {
        let sold = self.sold.lock().expect("nobody panics in it");
        sold.get(correlation).cloned()
    }

    fn make(&self, request: &GenerationRequest, context: &mut JobContext<'_>) -> Made {
        if context.resume_request_id.is_some() {
            return model(request);
        }
        let intent = context.open_intent.as_ref();
        if let Some(id) = intent.and_then(|intent| self.find(&intent.correlation)) {
            context.reporter.submitted(&id, None)?;
            return model(request);
        }
        let correlation = format!("{}-{}", request.job_id, context.attempt);
        context.reporter.intent(&correlation)?;
        let id = self.buy(&correlation);
        context.reporter.submitted(&id, None)?;
        model(request)
    }
}

#[test]
fn connections_that_are_cut_at_every_statement_lose_no_job_and_buy_none_twice() {
    const JOBS: usize = 40;
    const CUTS: u64 = 300;
    let Some(bench) = PgBench::new(JOBS) else {
        return;
    };
    let (shop, over) = (Arc::new(Shop::default()), AtomicBool::new(false));
    let mut store = open(&bench, "w0", Duration::from_secs(8));
    thread::scope(|scope| {
        scope.spawn(|| {
            // So many cuts that every kind of statement meets some, and then peace.
            for cut in 0..CUTS {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                           WHERE datname = current_database() AND application_name LIKE 'archi3d/w%'";
                bench.database().number(sql);
                thread::sleep(Duration::from_millis(cut * 7 % 23));
            }
        });
        for round in 1..=CUTS {
            let shop = Arc::clone(&shop);
            let mut worker =
                worker(&bench, move |request, context| shop.make(request, context)).parallel(4);
            worker.reconciles = true;
            worker.retries = 5;
            worker.conditions.rhythm.heartbeat = Duration::from_millis(100);
            let summary = serve(&mut worker, &store, |_| {});
            if count(&bench, "status = 'succeeded'") == 40 {
                break;
            }
            // It may have given up: the next one goes on where it was.
            let name = format!("w{round}");
            store = again(|| {
                let store = bench.try_store(&name, Duration::from_secs(8)).ok()?;
                store.recover(SystemClock.now()).ok().map(|_| store)
            });
            bench.lapse(&format!("w{}", round - 1));
            assert!(round < CUTS, "{summary:?}");
        }
        over.store(true, Ordering::SeqCst);
    });
    assert_eq!(count(&bench, "status = 'succeeded'"), 40);
    assert_eq!(shop.charges.load(Ordering::SeqCst), JOBS);
    for job in bench.jobs() {
        let result = bench.paths().output(job).join("generated.glb");
        assert!(result.is_file(), "{job}");
    }
}

#[test]
fn what_was_reserved_before_a_worker_was_cut_off_is_free_when_nothing_was_bought() {
    let Some(bench) = PgBench::new(1) else {
        return;
    };
    let caps = Caps {
        run_usd: Some(2.0),
        day_usd: None,
    };
    let (now, money) = (SystemClock.now(), |store: &PgStore| {
        Arc::new(PgBudget::new(Arc::clone(store.link())))
    });
    let cut = open(&bench, "cut", STALE);
    let lease = take(&cut, &bench.jobs()[0], Entry::Fresh, now);
    let key = AttemptKey::from(&lease);
    let granted = money(&cut).reserve(&key, 0.3, caps, now);
    assert!(matches!(granted, Ok(Grant::Yes(_))));
    // The answer was lost, so it knows of no reservation that it could end.
    cut.release(&lease, ReleaseReason::Budget, None, now)
        .expect("given back");

    let store = open(&bench, "next", STALE);
    let failed = |_: &GenerationRequest, _: &mut JobContext<'_>| {
        Err(AdapterError::failed(ErrorClass::BadInput, "no picture"))
    };
    let mut worker = worker(&bench, failed);
    // It could find out whether something was bought.
    worker.reconciles = true;
    worker.conditions.money = Some(Funds {
        budget: money(&store),
        caps,
        highest_cost: HashMap::new(),
    });
    let summary = serve(&mut worker, &store, |algorithm| {
        algorithm.price = Price {
            unit_usd: Some(0.3),
            estimated_usd: Some(0.3),
            source: None,
        };
    });
    assert_eq!(summary.failed, 1);
    let sums = "SELECT spent + reserved FROM archi3d.budgets WHERE scope LIKE 'run:%'";
    assert_eq!(bench.database().number(sums), 0);
    let left = "SELECT count(*) FROM archi3d.reservations";
    assert_eq!(bench.database().number(left), 0);
}
