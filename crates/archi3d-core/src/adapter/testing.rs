//! What the adapters' own tests share: a workspace, a request and a context.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};
use tempfile::TempDir;

use crate::adapter::{
    Adapter, AdapterError, GenerationRequest, GenerationResult, JobContext, JobReporter,
};
use crate::cancel::{Cancel, JobStop};
use crate::domain::algo::{AlgoSettings, ImageMode};
use crate::domain::id::AlgoKey;

/// A workspace with one job.
pub(super) struct Bench {
    pub(super) cancel: Cancel,
    pub(super) workspace: TempDir,
}

/// Keeps how far the work was, report by report.
#[derive(Default)]
struct Recorder(Vec<f64>);

impl JobReporter for Recorder {
    fn progress(&mut self, fraction: f64, _: Option<&str>) {
        self.0.push(fraction);
    }

    fn intent(&mut self, _: &str) -> Result<(), AdapterError> {
        Ok(())
    }

    fn submitted(&mut self, _: &str, _: Option<f64>) -> Result<(), AdapterError> {
        Ok(())
    }

    fn made(&mut self, _: &GenerationResult) {}
}

impl Bench {
    pub(super) fn new() -> Self {
        let workspace = tempfile::tempdir().expect("a temporary folder");
        let bench = Self {
            cancel: Cancel::new(),
            workspace,
        };
        std::fs::create_dir(bench.out_dir()).expect("the output folder");
        bench
    }

    pub(super) fn out_dir(&self) -> PathBuf {
        self.workspace.path().join("out")
    }

    pub(super) fn run(
        &self,
        adapter: &dyn Adapter,
        attempt: u32,
    ) -> Result<GenerationResult, AdapterError> {
        self.run_job(adapter, "d610ebfd455b", attempt)
    }

    pub(super) fn run_job(
        &self,
        adapter: &dyn Adapter,
        job_id: &str,
        attempt: u32,
    ) -> Result<GenerationResult, AdapterError> {
        self.run_on(adapter, job_id, attempt, &[]).0
    }

    /// Runs on pictures; also returns the progress that was reported.
    pub(super) fn run_on(
        &self,
        adapter: &dyn Adapter,
        job_id: &str,
        attempt: u32,
        images: &[PathBuf],
    ) -> (Result<GenerationResult, AdapterError>, Vec<f64>) {
        let mut recorder = Recorder::default();
        let request = GenerationRequest {
            job_id: job_id.to_owned(),
            product_id: "100001".to_owned(),
            variant: "default".to_owned(),
            algo: "mock".to_owned(),
            used_images: images.to_vec(),
            out_dir: self.out_dir(),
            workspace: self.workspace.path().to_owned(),
            extra: Map::new(),
        };
        let mut context = JobContext {
            attempt,
            idempotency_key: "key".to_owned(),
            resume_request_id: None,
            open_intent: None,
            given_up: false,
            started_at: crate::domain::time::Timestamp::new(chrono::DateTime::UNIX_EPOCH),
            log_path: None,
            stop: JobStop::new(self.cancel.clone(), None),
            reporter: &mut recorder,
        };
        let result = adapter.generate(&request, &mut context);
        (result, recorder.0)
    }
}

/// An entry of `adapters.yaml`; `options` is a JSON object.
pub(super) fn entry(kind: Option<&str>, options: Value) -> AlgoSettings {
    let options: BTreeMap<String, Value> =
        serde_json::from_value(options).expect("a JSON object of options");
    AlgoSettings {
        key: AlgoKey::parse("chairs_multi").expect("valid"),
        kind: kind.map(str::to_owned),
        image_mode: ImageMode::Multi,
        endpoint: None,
        unit_price_usd: None,
        price_source: None,
        listed_price: None,
        defaults: Map::new(),
        options,
    }
}
