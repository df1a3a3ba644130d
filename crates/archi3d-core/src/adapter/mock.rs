//! The model of a provider: sleeps, fails, crashes and answers badly on demand.
//!
//! For rehearsals and tests. Whether an attempt fails depends only on the
//! options, the job and the attempt's number, so a run can be repeated exactly.
//! It writes in `out_dir`, one line to `count_file` and two to `stamp_file` if these
//! are set. With `submit` it buys under an id of its own and re-attaches to it when
//! asked; with `intent` it says so before.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::adapter::sample;
use crate::adapter::{Adapter, AdapterError, GenerationRequest, GenerationResult, JobContext};
use crate::domain::algo::AlgoSettings;
use crate::domain::retry::ErrorClass;
use crate::platform;

/// How long an error text is when `large_error: true` names no length.
const LARGE_ERROR_BYTES: u64 = 1_000_000;

/// The longest error text that can be asked for.
const MAX_ERROR_BYTES: u64 = 64 << 20;

/// How often a file that is waited for is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What stands in `algo_version`.
const VERSION: &str = "mock-1";

/// Does what its options say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mock {
    sleep: Duration,
    fail_first: u64,
    fail_rate: f64,
    seed: u64,
    panic: bool,
    empty_output: bool,
    /// Whether it neither reads nor makes a file.
    bare: bool,
    large_error: u64,
    fail: Option<String>,
    fail_class: Option<ErrorClass>,
    retry_after: Option<Duration>,
    submit: bool,
    /// Whether it says so before it buys.
    intent: bool,
    wait_file: Option<String>,
    count_file: Option<String>,
    stamp_file: Option<String>,
}

impl Mock {
    /// Takes options that the registry has checked.
    pub fn new(settings: &AlgoSettings) -> Self {
        let option = |name: &str| settings.options.get(name);
        let count = |name| option(name).and_then(Value::as_u64).unwrap_or_default();
        let flag = |name| option(name).and_then(Value::as_bool).unwrap_or_default();
        let text = |name| option(name).and_then(Value::as_str).map(str::to_owned);
        let large_error = if flag("large_error") {
            LARGE_ERROR_BYTES
        } else {
            count("large_error").min(MAX_ERROR_BYTES)
        };
        Self {
            sleep: Duration::from_millis(count("sleep_ms")),
            fail_first: count("fail_first"),
            fail_rate: option("fail_rate")
                .and_then(Value::as_f64)
                .unwrap_or_default(),
            seed: count("seed"),
            panic: flag("panic"),
            empty_output: flag("empty_output"),
            bare: option("files").and_then(Value::as_bool) == Some(false),
            large_error,
            fail: text("fail"),
            fail_class: option("fail_class")
                .and_then(Value::as_str)
                .and_then(ErrorClass::parse),
            retry_after: option("retry_after_s")
                .and_then(Value::as_f64)
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            submit: flag("submit"),
            intent: flag("intent"),
            wait_file: text("wait_file"),
            count_file: text("count_file"),
            stamp_file: text("stamp_file"),
        }
    }

    /// Returns the failure that this attempt is to have.
    fn failure(&self, job_id: &str, attempt: u32) -> Option<AdapterError> {
        if let Some(message) = &self.fail {
            return Some(self.failed(ErrorClass::Permanent, message.clone()));
        }
        if self.large_error > 0 {
            let length = usize::try_from(self.large_error).unwrap_or(usize::MAX);
            return Some(AdapterError::permanent(
                "error ".repeat(length / 6 + 1)[..length].to_owned(),
            ));
        }
        if u64::from(attempt) <= self.fail_first {
            let message = format!(
                "mock: attempt {attempt} fails because fail_first is {}",
                self.fail_first
            );
            return Some(self.failed(ErrorClass::Transient, message));
        }
        (draw(self.seed, job_id, attempt) < self.fail_rate).then(|| {
            transient(format!(
                "mock: attempt {attempt} fails because fail_rate is {}",
                self.fail_rate
            ))
        })
    }

    fn failed(&self, usual: ErrorClass, message: String) -> AdapterError {
        AdapterError::failed(self.fail_class.unwrap_or(usual), message)
            .with_retry_after(self.retry_after)
    }

    /// Buys, or re-attaches to what an earlier attempt bought; returns the id.
    fn buy(
        &self,
        request: &GenerationRequest,
        context: &mut JobContext<'_>,
    ) -> Result<Option<String>, AdapterError> {
        if !self.submit || context.resume_request_id.is_some() {
            return Ok(context.resume_request_id.clone());
        }
        let id = format!("mock-{}-{}", request.job_id, context.attempt);
        if self.intent {
            context.reporter.intent(&context.idempotency_key)?;
        }
        context.reporter.submitted(&id, None)?;
        Ok(Some(id))
    }

    fn wait(
        &self,
        request: &GenerationRequest,
        context: &JobContext<'_>,
    ) -> Result<(), AdapterError> {
        let stopped = |reason: Option<_>| reason.map_or(Ok(()), |r| Err(AdapterError::Stopped(r)));
        if let Some(name) = &self.wait_file {
            let path = request.workspace.join(name);
            while !path.exists() {
                stopped(context.stop.sleep(LOOK_EVERY))?;
            }
        }
        stopped(context.stop.sleep(self.sleep))
    }

    fn count(
        &self,
        request: &GenerationRequest,
        context: &JobContext<'_>,
    ) -> Result<(), AdapterError> {
        let resumed = context.resume_request_id.as_deref();
        let line = format!(
            "{} {} {}{}\n",
            request.job_id,
            context.attempt,
            std::process::id(),
            resumed.map_or_else(String::new, |id| format!(" resumes {id}"))
        );
        append(request, self.count_file.as_deref(), &line)
    }

    /// Notes the moment of a start or an end, by the machine's steady clock.
    fn stamp(&self, request: &GenerationRequest, what: &str) -> Result<(), AdapterError> {
        let moment = platform::steady_now().as_secs_f64();
        let line = format!("{what} {moment:.6} {}\n", request.job_id);
        append(request, self.stamp_file.as_deref(), &line)
    }

    fn metadata(
        &self,
        request: &GenerationRequest,
        context: &JobContext<'_>,
        request_id: Option<String>,
    ) -> Map<String, Value> {
        let facts = [
            ("adapter", json!("mock")),
            ("job_id", json!(request.job_id)),
            ("attempt", json!(context.attempt)),
            ("images", json!(request.used_images.len())),
            ("seed", json!(self.seed)),
            ("request_id", json!(request_id)),
            ("resumed", json!(context.resume_request_id.is_some())),
        ];
        Map::from_iter(facts.map(|(name, value)| (name.to_owned(), value)))
    }
}

impl Adapter for Mock {
    fn version(&self) -> Option<&str> {
        Some(VERSION)
    }

    fn may_buy(&self) -> bool {
        false
    }

    fn uses_files(&self) -> bool {
        !self.bare
    }

    fn generate(
        &self,
        request: &GenerationRequest,
        context: &mut JobContext<'_>,
    ) -> Result<GenerationResult, AdapterError> {
        self.stamp(request, "start")?;
        let made = self.make(request, context);
        self.stamp(request, "end")?;
        made
    }
}

impl Mock {
    fn make(
        &self,
        request: &GenerationRequest,
        context: &mut JobContext<'_>,
    ) -> Result<GenerationResult, AdapterError> {
        let attempt = context.attempt;
        self.count(request, context)?;
        context.reporter.progress(0.0, None);
        let request_id = self.buy(request, context)?;
        self.wait(request, context)?;
        assert!(!self.panic, "mock: panics because its option panic is true");
        if let Some(failure) = self.failure(&request.job_id, attempt) {
            return Err(failure);
        }
        if self.bare {
            return Ok(GenerationResult {
                success: true,
                algo_version: Some(VERSION.to_owned()),
                ..GenerationResult::default()
            });
        }
        let glb = if self.empty_output {
            &[]
        } else {
            sample::CUBE_GLB
        };
        let sample = sample::write(&request.out_dir, glb)?;
        context.reporter.progress(1.0, None);
        Ok(GenerationResult {
            success: true,
            generated_glb: Some(sample.glb),
            previews: sample.previews,
            algo_version: Some(VERSION.to_owned()),
            raw_metadata: Some(self.metadata(request, context, request_id)),
            ..GenerationResult::default()
        })
    }
}

/// Appends a whole line at once: several processes write to the same file.
fn append(request: &GenerationRequest, name: Option<&str>, line: &str) -> Result<(), AdapterError> {
    let Some(name) = name else {
        return Ok(());
    };
    let path = request.workspace.join(name);
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .map_err(|error| AdapterError::unwritten(&path, &error))
}

fn transient(message: String) -> AdapterError {
    AdapterError::failed(ErrorClass::Transient, message)
}

/// Returns a number in `0..1` that depends on nothing but its arguments.
fn draw(seed: u64, job_id: &str, attempt: u32) -> f64 {
    let hash = Sha256::digest(format!("{seed}|{job_id}|{attempt}"));
    let top = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]);
    f64::from(top) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::adapter::testing::{Bench, entry};
    use crate::cancel::{Stage, StopReason};

    fn mock(options: Value) -> Mock {
        Mock::new(&entry(Some("mock"), options))
    }

    #[test]
    fn without_options_it_makes_a_model_with_metadata() {
        let bench = Bench::new();
        let result = bench.run(&mock(json!({})), 1).expect("made");
        assert_eq!(result.algo_version.as_deref(), Some("mock-1"));
        assert_eq!(result.previews.len(), 2);
        let metadata = result.raw_metadata.expect("metadata");
        assert_eq!(metadata["job_id"], "d610ebfd455b");
        let glb = fs::read(bench.out_dir().join("generated.glb")).expect("read");
        assert_eq!(glb, sample::CUBE_GLB);
    }

    #[test]
    fn the_first_attempts_fail_and_the_next_one_works() {
        let bench = Bench::new();
        let mock = mock(json!({"fail_first": 2}));
        assert!(bench.run(&mock, 1).is_err());
        assert!(bench.run(&mock, 2).is_err());
        assert!(bench.run(&mock, 3).is_ok());
    }

    #[test]
    fn a_fail_rate_fails_the_same_jobs_every_time() {
        let bench = Bench::new();
        let outcomes = |seed: u64| -> Vec<bool> {
            let mock = mock(json!({"fail_rate": 0.3, "seed": seed}));
            (0..200)
                .map(|n| mock.failure(&format!("job{n}"), 1).is_some())
                .collect()
        };
        let failed = outcomes(1).iter().filter(|failed| **failed).count();
        assert!((40..=80).contains(&failed), "{failed} of 200 failed");
        assert_eq!(outcomes(1), outcomes(1));
        assert_ne!(outcomes(1), outcomes(2));
        assert!(bench.run(&mock(json!({"fail_rate": 1})), 1).is_err());
        assert!(bench.run(&mock(json!({"fail_rate": 0})), 1).is_ok());
    }

    #[test]
    fn it_panics_when_asked_to() {
        let bench = Bench::new();
        let mock = mock(json!({"panic": true}));
        let outcome = catch_unwind(AssertUnwindSafe(|| bench.run(&mock, 1)));
        assert!(outcome.is_err());
    }

    #[test]
    fn an_empty_model_is_reported_as_a_success() {
        let bench = Bench::new();
        let result = bench.run(&mock(json!({"empty_output": true})), 1);
        let glb = result.expect("a success").generated_glb.expect("a model");
        assert_eq!(fs::metadata(glb).expect("there").len(), 0);
    }

    #[test]
    fn an_error_is_as_long_as_asked() {
        let bench = Bench::new();
        let length = |options| {
            let error = bench.run(&mock(options), 1).expect_err("fails");
            error.to_string().len()
        };
        assert_eq!(length(json!({"large_error": 5001})), 5001);
        assert_eq!(length(json!({"large_error": true})), 1_000_000);
        assert!(bench.run(&mock(json!({"large_error": false})), 1).is_ok());
        let text = json!({"fail": "10%\r20%\n404"});
        let error = bench.run(&mock(text), 9).expect_err("fails");
        assert_eq!(error.to_string(), "10%\r20%\n404");
    }

    #[test]
    fn a_sleeping_mock_stops_at_once_when_told() {
        let bench = Bench::new();
        bench.cancel.raise(Stage::Kill);
        let mock = mock(json!({"sleep_ms": 3_600_000}));
        assert_eq!(
            bench.run(&mock, 1),
            Err(AdapterError::Stopped(StopReason::Killed))
        );
    }

    #[test]
    fn failures_have_the_class_and_the_pause_that_were_asked_for() {
        let bench = Bench::new();
        let options = json!({"fail_first": 1, "fail_class": "out_of_credit", "retry_after_s": 1.5});
        let AdapterError::Failed {
            class, retry_after, ..
        } = bench.run(&mock(options), 1).expect_err("fails")
        else {
            panic!("it was stopped")
        };
        assert_eq!(class, ErrorClass::OutOfCredit);
        assert_eq!(retry_after, Some(Duration::from_millis(1500)));
    }

    #[test]
    fn it_buys_under_an_id_of_its_own_and_tells_it() {
        let bench = Bench::new();
        let result = bench.run(&mock(json!({"submit": true})), 3).expect("made");
        let metadata = result.raw_metadata.expect("metadata");
        assert_eq!(metadata["request_id"], "mock-d610ebfd455b-3");
        assert_eq!(metadata["resumed"], false);
    }

    #[test]
    fn it_waits_for_a_file_and_stops_waiting_when_told() {
        let bench = Bench::new();
        let waiting = mock(json!({"wait_file": "go"}));
        fs::write(bench.workspace.path().join("go"), "").expect("written");
        assert!(bench.run(&waiting, 1).is_ok());
        fs::remove_file(bench.workspace.path().join("go")).expect("removed");
        bench.cancel.raise(Stage::Kill);
        assert_eq!(
            bench.run(&waiting, 2),
            Err(AdapterError::Stopped(StopReason::Killed))
        );
    }

    #[test]
    fn every_execution_is_counted_by_one_line() {
        let bench = Bench::new();
        let mock = mock(json!({"count_file": "count.txt", "fail_first": 1}));
        assert!(bench.run_job(&mock, "a", 1).is_err());
        assert!(bench.run_job(&mock, "a", 2).is_ok());
        let lines = fs::read_to_string(bench.workspace.path().join("count.txt")).expect("read");
        let pid = std::process::id();
        assert_eq!(lines, format!("a 1 {pid}\na 2 {pid}\n"));
    }
}
