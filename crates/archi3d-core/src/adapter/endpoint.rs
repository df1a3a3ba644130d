//! An entry that names only a provider's address, as existing workspaces have it.
//!
//! It can be planned, priced and rehearsed. Running it for real needs a program,
//! so its jobs are left alone, and it says how to give it one.

use std::path::Path;

use crate::adapter::{Adapter, AdapterError, GenerationRequest, GenerationResult, JobContext};
use crate::domain::algo::AlgoSettings;

/// Refuses to run, with the next step.
#[derive(Debug, Clone)]
pub struct Endpoint {
    message: String,
}

impl Endpoint {
    /// Takes the entry of the algorithm.
    pub fn new(settings: &AlgoSettings) -> Self {
        let algo = &settings.key;
        let has = match &settings.endpoint {
            Some(endpoint) => format!("has only an endpoint ({endpoint})"),
            None => "has no kind".to_owned(),
        };
        Self {
            message: format!(
                "algo {algo} {has} and no program that runs it: under `{algo}` in \
                 <workspace>/config/adapters.yaml, set `kind: process` and `command: [...]`; \
                 `--dry-run` rehearses it without one"
            ),
        }
    }
}

impl Adapter for Endpoint {
    fn obstacles(&self, _: &Path) -> Vec<String> {
        vec![self.message.clone()]
    }

    fn generate(
        &self,
        _: &GenerationRequest,
        _: &mut JobContext<'_>,
    ) -> Result<GenerationResult, AdapterError> {
        Err(AdapterError::permanent(self.message.clone()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::adapter::testing::{Bench, entry};
    use crate::domain::retry::ErrorClass;

    #[test]
    fn an_entry_with_only_an_endpoint_fails_its_job_and_says_what_to_write() {
        let mut settings = entry(None, json!({}));
        settings.endpoint = Some("fal-ai/trellis".to_owned());
        let error = Bench::new()
            .run(&Endpoint::new(&settings), 1)
            .expect_err("cannot run");
        assert!(matches!(
            error,
            AdapterError::Failed {
                class: ErrorClass::Permanent,
                ..
            }
        ));
        assert_eq!(
            error.to_string(),
            "algo chairs_multi has only an endpoint (fal-ai/trellis) and no program that runs it: \
             under `chairs_multi` in <workspace>/config/adapters.yaml, set `kind: process` and \
             `command: [...]`; `--dry-run` rehearses it without one"
        );
    }
}
