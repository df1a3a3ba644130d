//! The rehearsal: a valid small model and two previews, at no cost.
//!
//! `--dry-run` uses it for every algorithm. It looks at no picture and calls
//! nobody; its results are marked as rehearsed by their version and price source.

use std::time::Duration;

use crate::adapter::sample;
use crate::adapter::{Adapter, AdapterError, GenerationRequest, GenerationResult, JobContext};

/// The version and the price source of everything that was only rehearsed.
pub const DRY_RUN: &str = "dry-run";

/// Pretends to make a model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Simulate {
    duration: Duration,
}

impl Simulate {
    /// Makes a rehearsal in which every job takes `duration`.
    pub fn new(duration: Duration) -> Self {
        Self { duration }
    }
}

impl Adapter for Simulate {
    fn generate(
        &self,
        request: &GenerationRequest,
        context: &mut JobContext<'_>,
    ) -> Result<GenerationResult, AdapterError> {
        if let Some(reason) = context.stop.sleep(self.duration) {
            return Err(AdapterError::Stopped(reason));
        }
        let sample = sample::write(&request.out_dir, sample::CUBE_GLB)?;
        Ok(GenerationResult {
            success: true,
            generated_glb: Some(sample.glb),
            previews: sample.previews,
            algo_version: Some(DRY_RUN.to_owned()),
            unit_price_usd: Some(0.0),
            estimated_cost_usd: Some(0.0),
            price_source: Some(DRY_RUN.to_owned()),
            raw_metadata: None,
            detail: None,
            unclear_cost: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::adapter::testing::Bench;
    use crate::cancel::{Stage, StopReason};

    #[test]
    fn a_rehearsal_writes_a_model_and_two_previews_and_costs_nothing() {
        let bench = Bench::new();
        let result = bench.run(&Simulate::default(), 1).expect("rehearsed");
        assert!(result.success);
        let glb = result.generated_glb.expect("a model");
        assert_eq!(glb, bench.out_dir().join("generated.glb"));
        assert_eq!(fs::read(glb).expect("read"), sample::CUBE_GLB);
        let names = ["preview_1.png", "preview_2.png"].map(|name| bench.out_dir().join(name));
        assert_eq!(result.previews, names);
        assert!(names.iter().all(|path| path.is_file()));
        assert_eq!(result.algo_version.as_deref(), Some("dry-run"));
        assert_eq!(result.price_source.as_deref(), Some("dry-run"));
        assert_eq!(result.unit_price_usd, Some(0.0));
        assert_eq!(result.estimated_cost_usd, Some(0.0));
    }

    #[test]
    fn a_long_rehearsal_stops_at_once_when_told() {
        let bench = Bench::new();
        bench.cancel.raise(Stage::Kill);
        let hour = Simulate::new(Duration::from_secs(3600));
        assert_eq!(
            bench.run(&hour, 1),
            Err(AdapterError::Stopped(StopReason::Killed))
        );
        assert!(!bench.out_dir().join("generated.glb").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let bench = Bench::new();
        fs::remove_dir(bench.out_dir()).expect("removed");
        let error = bench
            .run(&Simulate::default(), 1)
            .expect_err("no folder to write in");
        let path = bench.out_dir().join("generated.glb");
        assert!(error.to_string().contains(&path.display().to_string()));
    }
}
