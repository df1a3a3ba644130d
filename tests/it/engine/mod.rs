//! The engine on the strict store in memory, with adapters that do what a test says. Threads meet
//! at channels and counters; nothing sleeps to be in time. [`stopping`] has what ends work early.

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use archi3d_core::adapter::{
    Adapter, AdapterError, GenerationRequest, GenerationResult, JobContext,
};
use archi3d_core::cancel::{Cancel, StopReason};
use archi3d_core::clock::SystemClock;
use archi3d_core::domain::id::{AlgoKey, RunId};
use archi3d_core::domain::job::{Entry, Status};
use archi3d_core::domain::lease::Rhythm;
use archi3d_core::domain::patch::WorkerFacts;
use archi3d_core::domain::retry::{ErrorClass, RetryPolicy};
use archi3d_core::domain::time::Clock;
use archi3d_core::engine::event::{Event, EventKind, Sink, Summary};
use archi3d_core::engine::{self, Algorithm, Conditions, QueuedJob, Source};
use archi3d_core::store::WorkerStore;
use archi3d_core::store::artifacts::Shared;
use archi3d_core::store::files::FileProviders;
use archi3d_core::workspace::paths::Workspace;
use archi3d_core::workspace::pictures::PictureMarks;

use crate::support::bench::{Bench, MemoryBench, STALE, listing, state};

mod buying;
#[cfg(all(target_os = "linux", feature = "postgres"))]
mod served;
mod stopping;

const LONG: Duration = Duration::from_secs(3600);

type Work = dyn Fn(&GenerationRequest, &mut JobContext<'_>) -> Made + Send + Sync;
type Made = Result<GenerationResult, AdapterError>;

struct Fake(Arc<Work>, bool);

impl Adapter for Fake {
    fn reconciles(&self) -> bool {
        self.1
    }

    fn generate(&self, request: &GenerationRequest, context: &mut JobContext<'_>) -> Made {
        (self.0)(request, context)
    }
}

#[derive(Default)]
struct Recorder(Mutex<Vec<EventKind>>);

impl Sink for Recorder {
    fn report(&self, event: &Event) {
        let mut events = self.0.lock().expect("no sink panics");
        events.push(event.kind.clone());
    }
}

/// One worker that runs every job of a run.
struct Worker {
    work: Arc<Work>,
    conditions: Conditions,
    timeout: Option<Duration>,
    retries: u32,
    reconciles: bool,
    cancel: Cancel,
    events: Recorder,
}

impl Worker {
    fn new(
        bench: &MemoryBench,
        work: impl Fn(&GenerationRequest, &mut JobContext<'_>) -> Made + Send + Sync + 'static,
    ) -> Self {
        Self::in_workspace(bench.workspace(), work)
    }

    fn in_workspace(
        workspace: Workspace,
        work: impl Fn(&GenerationRequest, &mut JobContext<'_>) -> Made + Send + Sync + 'static,
    ) -> Self {
        Self {
            work: Arc::new(work),
            conditions: Conditions {
                providers: Arc::new(FileProviders::new(&workspace)),
                artifacts: Arc::new(Shared::new(
                    workspace.clone(),
                    workspace.run(&RunId::parse("r1").expect("valid")),
                )),
                workspace,
                worker: WorkerFacts::default(),
                max_parallel: 1,
                dry_run: false,
                fail_fast: false,
                limit: None,
                ahead: 0,
                until_idle: None,
                forced: None,
                resubmit_unknown: false,
                forget_requests: false,
                money: None,
                reuse: None,
                canary: None,
                pictures: PictureMarks::default(),
                share: None,
                trace: None,
                rhythm: Rhythm {
                    heartbeat: Duration::from_millis(2),
                    stale: STALE,
                },
            },
            timeout: None,
            retries: 0,
            reconciles: false,
            cancel: Cancel::new(),
            events: Recorder::default(),
        }
    }

    fn parallel(mut self, max_parallel: usize) -> Self {
        self.conditions.max_parallel = max_parallel;
        self
    }

    fn algorithm(&self) -> Algorithm {
        Algorithm {
            timeout: self.timeout,
            retry: RetryPolicy {
                retries: self.retries,
                first_pause: Duration::ZERO,
                ..RetryPolicy::default()
            },
            ..Algorithm::new(Box::new(Fake(self.work.clone(), self.reconciles)))
        }
    }

    fn run(&self, store: &dyn WorkerStore) -> Summary {
        let algorithm = self.algorithm();
        let fake = AlgoKey::parse("fake").expect("a valid key");
        let algorithms = HashMap::from([(fake, Ok(algorithm))]);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let jobs = store.jobs(clock.now()).expect("the run can be read").jobs;
        let fresh = |job| QueuedJob {
            job,
            entry: Entry::Fresh,
        };
        let jobs = jobs.into_iter().map(fresh).collect();
        engine::run(
            store,
            Source::Listed(jobs),
            &algorithms,
            &self.conditions,
            &clock,
            &self.cancel,
            &self.events,
        )
    }

    fn started(&self) -> Vec<String> {
        let events = self.events.0.lock().expect("no sink panics");
        let jobs = events.iter().filter_map(|event| match event {
            EventKind::JobStarted { job_id, .. } => Some(job_id.to_string()),
            _ => None,
        });
        jobs.collect()
    }

    fn failures(&self) -> Vec<(ErrorClass, String)> {
        let events = self.events.0.lock().expect("no sink panics");
        let failures = events.iter().filter_map(|event| match event {
            EventKind::JobFailed { class, error, .. } => Some((*class, error.clone())),
            _ => None,
        });
        failures.collect()
    }
}

/// Writes a model and tells of it.
fn model(request: &GenerationRequest) -> Made {
    let path = request.out_dir.join("model.glb");
    fs::write(&path, triangle(&request.job_id))
        .map_err(|error| AdapterError::permanent(error.to_string()))?;
    Ok(GenerationResult {
        success: true,
        generated_glb: Some(path),
        ..GenerationResult::default()
    })
}

/// The smallest thing that counts as a model, with a name in it.
fn triangle(name: &str) -> Vec<u8> {
    let mesh = r#"{"primitives":[{"attributes":{"POSITION":0}}]}"#;
    let json = format!(r#"{{"asset":"{name}","accessors":[{{"count":3}}],"meshes":[{mesh}]}}"#);
    let length = u32::try_from(json.len()).expect("short");
    let parts: [&[u8]; 5] = [
        b"glTF\x02\0\0\0",
        &(length + 20).to_le_bytes(),
        &length.to_le_bytes(),
        b"JSON",
        json.as_bytes(),
    ];
    parts.concat()
}

/// Works until told to stop.
fn hang(context: &JobContext<'_>) -> Made {
    let reason = context.stop.sleep(LONG);
    Err(AdapterError::Stopped(reason.expect("told to stop")))
}

fn statuses(bench: &MemoryBench) -> Vec<Status> {
    let store = bench.worker("reader");
    let jobs = bench.jobs().iter();
    jobs.map(|job| state(&*store, job).status()).collect()
}

#[test]
fn one_at_a_time_jobs_run_in_the_order_of_the_manifest() {
    let bench = MemoryBench::new(12);
    let worker = Worker::new(&bench, |request, _| model(request));
    let summary = worker.run(&*bench.worker("w"));
    let order: Vec<String> = bench.jobs().iter().map(ToString::to_string).collect();
    assert_eq!(worker.started(), order);
    assert_eq!((summary.processed, summary.completed), (12, 12));
    assert_eq!(summary.stopped_by, None);
    for job in bench.jobs() {
        let path = bench.paths().output(job).join("generated.glb");
        assert_eq!(fs::read(path).expect("there"), triangle(job.as_str()));
        assert_eq!(bench.row(job)["status"], "completed");
    }
    assert!(listing(&bench.paths().staging()).is_empty());
}

#[test]
fn never_more_jobs_run_at_once_than_allowed_and_that_many_do() {
    let bench = MemoryBench::new(40);
    let (now, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let (all, arrivals) = channel();
    let worker = Worker::new(&bench, move |request, _| {
        let running = now.fetch_add(1, Ordering::SeqCst) + 1;
        seen.fetch_max(running, Ordering::SeqCst);
        // The first four wait for each other, so that four are seen at once.
        while seen.load(Ordering::SeqCst) < 4 {
            thread::yield_now();
        }
        all.send(()).expect("the test listens");
        let made = model(request);
        now.fetch_sub(1, Ordering::SeqCst);
        made
    });
    let summary = worker.parallel(4).run(&*bench.worker("w"));
    assert_eq!(summary.completed, 40);
    assert_eq!(arrivals.try_iter().count(), 40);
    assert_eq!(most.load(Ordering::SeqCst), 4);
}

#[test]
fn two_workers_on_one_run_share_its_jobs_and_run_each_once() {
    let bench = MemoryBench::new(60);
    let workers = ["one", "two"].map(|name| {
        let worker = Worker::new(&bench, |request, _| model(request)).parallel(3);
        (worker, bench.worker(name))
    });
    thread::scope(|scope| {
        for (worker, store) in &workers {
            scope.spawn(move || worker.run(&**store));
        }
    });
    let mut started: Vec<String> = workers.iter().flat_map(|(w, _)| w.started()).collect();
    started.sort();
    let jobs: Vec<String> = bench.jobs().iter().map(ToString::to_string).collect();
    assert_eq!(started, jobs);
}

#[test]
fn an_adapter_that_panics_fails_its_job_only() {
    let bench = MemoryBench::new(3);
    let worker = Worker::new(&bench, |request, _| {
        assert_ne!(request.job_id, "job001", "no luck");
        model(request)
    });
    let summary = worker.run(&*bench.worker("w"));
    assert_eq!((summary.completed, summary.failed), (2, 1));
    let [(class, message)] = &worker.failures()[..] else {
        panic!("one failure");
    };
    assert_eq!(*class, ErrorClass::Permanent);
    assert!(message.contains("panicked") && message.contains("no luck"));
    assert_eq!(bench.row(&bench.jobs()[1])["status"], "failed");
}

#[test]
fn results_that_are_none_fail_their_jobs_and_leave_nothing_behind() {
    let bench = MemoryBench::new(5);
    let worker = Worker::new(&bench, |request, _| match request.job_id.as_str() {
        "job000" => Ok(GenerationResult::default()),
        "job001" => {
            fs::write(request.out_dir.join("e.glb"), "").expect("writable");
            Ok(GenerationResult {
                success: true,
                generated_glb: Some("e.glb".into()),
                ..GenerationResult::default()
            })
        }
        "job002" => Ok(GenerationResult {
            success: true,
            generated_glb: Some("missing.glb".into()),
            ..GenerationResult::default()
        }),
        "job003" => Ok(GenerationResult {
            success: true,
            ..GenerationResult::default()
        }),
        _ => model(request),
    });
    let summary = worker.run(&*bench.worker("w"));
    assert_eq!((summary.completed, summary.failed), (1, 4));
    let messages: Vec<String> = worker.failures().into_iter().map(|(_, m)| m).collect();
    for (message, word) in
        messages
            .iter()
            .zip(["no success", "is empty", "does not exist", "named no model"])
    {
        assert!(message.contains(word), "{message}");
    }
    for job in &bench.jobs()[..4] {
        assert!(!bench.paths().output(job).exists());
    }
    assert!(listing(&bench.paths().staging()).is_empty());
}

#[test]
fn a_purchase_is_handed_to_the_adapter_of_the_next_attempt() {
    let bench = MemoryBench::new(1);
    let (told, ids) = channel();
    let worker = Worker::new(&bench, move |request, context| {
        let known = context.resume_request_id.clone();
        told.send(known.clone()).expect("the test listens");
        if known.is_some() {
            return model(request);
        }
        context.reporter.submitted("req-9", Some(0.4))?;
        Err(AdapterError::Stopped(StopReason::Killed))
    });
    let first = worker.run(&*bench.worker("one"));
    assert_eq!(first.released, 1);
    let second = worker.run(&*bench.worker("two"));
    assert_eq!(second.completed, 1);
    let ids: Vec<Option<String>> = ids.try_iter().collect();
    assert_eq!(ids, [None, Some("req-9".to_owned())]);
}
