//! A program of yours measures a model: one entry of `config/scorers.yaml`.
//!
//! It is started as an adapter is and speaks the same protocol. The made model and the
//! real one are named in the request's `extra`; the result's `raw_metadata` holds what
//! it found, by column.

use serde_json::{Map, Value, json};

use crate::adapter::process::Process;
use crate::adapter::{Adapter as _, AdapterError, GenerationRequest, GenerationResult};
use crate::adapter::{JobContext, JobReporter};
use crate::domain::algo::AlgoSettings;
use crate::ops::compute::{Case, Measured, Metric, Unmeasured, attempt_of};
use crate::ops::{OpsContext, OpsError};

/// More columns than this are a mistake.
const MOST_COLUMNS: usize = 200;

/// A program that measures models.
pub struct ProgramScorer {
    name: String,
    prefix: String,
    settings: String,
    version: String,
    timeout_s: Option<f64>,
    program: Process,
}

impl ProgramScorer {
    /// Finds the scorer called `name` and checks that its program can be started.
    pub fn find(context: &OpsContext, name: &str) -> Result<Self, OpsError> {
        let refused = |message: String, hint: &str| OpsError::Setup {
            message,
            hint: Some(hint.to_owned()),
        };
        let scorers = &context.settings.scorers;
        let Some(found) = scorers.iter().find(|one| one.key.as_str() == name) else {
            let known: Vec<&str> = scorers.iter().map(|one| one.key.as_str()).collect();
            let message = format!("there is no scorer {name}");
            return Err(if known.is_empty() {
                refused(message, "config/scorers.yaml has none; see docs/scores.md")
            } else {
                refused(message, &format!("known: {}", known.join(", ")))
            });
        };
        let scorer = Self::of(found, context);
        let workspace = context.workspace.root();
        let unset = scorer.program.unset();
        let obstacle = match scorer.program.program(workspace) {
            Err(reason) => Some(reason),
            Ok(_) if unset.is_empty() => None,
            Ok(_) => Some(format!("the variable {} is not set", unset.join(", "))),
        };
        match obstacle {
            None => Ok(scorer),
            Some(reason) => Err(refused(
                format!("scorer {name} cannot be started: {reason}"),
                "see its `command` and `env` in config/scorers.yaml",
            )),
        }
    }

    fn of(settings: &AlgoSettings, context: &OpsContext) -> Self {
        let option = |name: &str| settings.options.get(name);
        let name = settings.key.to_string();
        Self {
            prefix: prefix_of(settings).to_owned(),
            settings: json!([name, settings.options, settings.defaults]).to_string(),
            version: option("version")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            timeout_s: option("timeout_s").and_then(Value::as_f64),
            program: Process::new(settings, context.variables()),
            name,
        }
    }

    /// Returns how long its entry says that one model may take.
    pub fn timeout_s(&self) -> Option<f64> {
        self.timeout_s
    }

    /// Takes numbers, texts and flags under names that begin with the prefix.
    fn columns(&self, said: Map<String, Value>) -> Result<Vec<(String, Value)>, String> {
        if said.is_empty() {
            return Err("it said no score: `raw_metadata` of its result is empty".to_owned());
        }
        if said.len() > MOST_COLUMNS {
            return Err(format!("it said more than {MOST_COLUMNS} scores"));
        }
        for (name, value) in &said {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !name.starts_with(&self.prefix) || name.len() > 64 || !name.chars().all(plain) {
                let prefix = &self.prefix;
                return Err(format!(
                    "its score {name:?} is no name that begins with {prefix}"
                ));
            }
            if value.is_object() || value.is_array() {
                return Err(format!("its score {name} is no number, text or flag"));
            }
            // The protocol brings NaN and Infinity as texts.
            let number = value.as_str().and_then(|text| text.parse::<f64>().ok());
            if number.is_some_and(|number| !number.is_finite()) {
                return Err(format!("its score {name} is {value}, not a number"));
            }
        }
        Ok(said.into_iter().collect())
    }
}

/// Returns how the columns of a scorer begin.
pub fn prefix_of(settings: &AlgoSettings) -> &str {
    let prefix = settings.options.get("prefix").and_then(Value::as_str);
    prefix.unwrap_or(settings.key.as_str())
}

/// Hears a scorer; it may not buy anything.
struct Ear;

impl JobReporter for Ear {
    fn progress(&mut self, _: f64, _: Option<&str>) {}

    fn intent(&mut self, _: &str) -> Result<(), AdapterError> {
        Err(AdapterError::permanent("a scorer cannot buy anything"))
    }

    fn submitted(&mut self, _: &str, _: Option<f64>) -> Result<(), AdapterError> {
        Err(AdapterError::permanent("a scorer cannot buy anything"))
    }

    fn made(&mut self, _: &GenerationResult) {}
}

impl Metric for ProgramScorer {
    fn name(&self) -> &str {
        &self.name
    }

    fn prefix(&self) -> &str {
        &self.prefix
    }

    fn settings(&self) -> String {
        self.settings.clone()
    }

    fn measure(&self, case: &Case<'_>) -> Result<Measured, Unmeasured> {
        let failed = |reason: String| Unmeasured::Failed(reason);
        let truth = case
            .truth
            .as_ref()
            .map_err(|reason| failed(reason.clone()))?;
        let job = &case.made.job;
        let workspace = &case.context.workspace;
        let images = job
            .images
            .iter()
            .filter_map(|name| workspace.absolute(name));
        let mut extra = Map::new();
        extra.insert("scorer".into(), json!(self.name));
        extra.insert("run_id".into(), json!(case.run_id));
        extra.insert("generated_glb".into(), json!(case.model.path));
        let truth = truth.as_ref().map(|truth| &truth.path);
        extra.insert("gt_object".into(), json!(truth));
        std::fs::create_dir_all(&case.folder)
            .map_err(|error| failed(format!("{}: {error}", case.folder.display())))?;
        let request = GenerationRequest {
            job_id: job.job_id.to_string(),
            product_id: job.product_id.clone(),
            variant: job.variant.clone(),
            algo: job.algo.as_ref().map_or("", |key| key.as_str()).to_owned(),
            used_images: images.collect(),
            out_dir: case.folder.clone(),
            workspace: workspace.root().to_owned(),
            extra,
        };
        let mut context = JobContext {
            attempt: attempt_of(case.made),
            idempotency_key: String::new(),
            resume_request_id: None,
            open_intent: None,
            given_up: false,
            started_at: case.context.clock.now(),
            log_path: Some(case.folder.join("scorer.log")),
            stop: case.stop.clone(),
            reporter: &mut Ear,
        };
        let result = match self.program.generate(&request, &mut context) {
            Ok(result) => result,
            Err(AdapterError::Stopped(crate::cancel::StopReason::TimedOut)) => {
                return Err(failed("it took too long".to_owned()));
            }
            Err(AdapterError::Stopped(_)) => return Err(Unmeasured::Stopped),
            Err(error) => return Err(failed(error.to_string())),
        };
        let cells = self.columns(result.raw_metadata.unwrap_or_default());
        Ok(Measured {
            status: "ok",
            cells: cells.map_err(failed)?,
            detail: Map::new(),
            tool_version: result.algo_version.unwrap_or_else(|| self.version.clone()),
        })
    }
}
