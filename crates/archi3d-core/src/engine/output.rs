//! From what an adapter left in its folder to a checked result, and from a
//! request's pictures to paths that can be used.

use std::path::Path;

use serde_json::{Value, json};

use crate::adapter::{GenerationRequest, GenerationResult};
use crate::domain::budget::plain_usd;
use crate::domain::content::ContentKey;
use crate::domain::id::{JobId, RunId};
use crate::domain::patch::{Price, Product};
use crate::store::artifacts::resolve_images;
use crate::store::{Artifact, WorkerStore};
use crate::workspace::artifact::{self, ArtifactError, Named};
use crate::workspace::paths::Workspace;

/// A checked result, ready to be published.
pub(super) struct Checked {
    /// What the adapter named or left and is no part of it.
    pub(super) ignored: Vec<String>,
    pub(super) product: Product,
    pub(super) artifacts: Vec<Artifact>,
    /// What it was made from.
    pub(super) content_key: Option<ContentKey>,
    /// Whether it was copied from an earlier job.
    pub(super) reused: bool,
}

/// Checks what `result` names, gives it its standard names and hashes it all. A result
/// that is about something says so in its `metadata.json`; a rehearsal has none.
pub(super) fn check(
    result: GenerationResult,
    staging: &Path,
    workspace: &Workspace,
    store: &dyn WorkerStore,
    job: &JobId,
    price: &Price,
    about: Option<Value>,
) -> Result<Checked, ArtifactError> {
    let named = Named {
        model: result.generated_glb.as_deref(),
        previews: &result.previews,
        about: about.as_ref(),
        told: result.raw_metadata.as_ref(),
        again: false,
    };
    let taken = artifact::take(staging, named, &|_| Ok(()))?;
    let folder = workspace
        .relative(&store.output_dir(job))
        .unwrap_or_default();
    let mut paths = taken
        .names
        .into_iter()
        .map(|name| format!("{folder}/{name}"));
    let product = Product {
        object: paths.next().unwrap_or_default(),
        previews: paths.collect(),
        price: settle_price(price, &result),
        algo_version: result.algo_version,
    };
    let artifacts = taken.files;
    Ok(Checked {
        ignored: taken.ignored,
        product,
        artifacts,
        content_key: None,
        reused: false,
    })
}

/// Returns a result that has no files.
pub(super) fn bare(result: GenerationResult, price: &Price) -> Checked {
    Checked {
        ignored: Vec::new(),
        product: Product {
            object: String::new(),
            previews: Vec::new(),
            price: settle_price(price, &result),
            algo_version: result.algo_version,
        },
        artifacts: Vec::new(),
        content_key: None,
        reused: false,
    }
}

/// The adapter's own figures win; the configured price fills what it leaves open.
pub(super) fn settle_price(configured: &Price, result: &GenerationResult) -> Price {
    let (unit, estimated) = (result.unit_price_usd, result.estimated_cost_usd);
    let usable = |value: Option<f64>| value.and_then(plain_usd);
    let own = usable(unit).or(usable(estimated)).is_some();
    let unit_usd = usable(unit).or(configured.unit_usd);
    Price {
        unit_usd,
        estimated_usd: usable(estimated).or(unit_usd),
        source: result.price_source.clone().or_else(|| {
            if own {
                Some("adapter".to_owned())
            } else {
                configured.source.clone()
            }
        }),
    }
}

/// Returns what the result of a request is about, as `metadata.json` has it.
pub(super) fn about_request(run_id: &RunId, job: &JobId, request: &GenerationRequest) -> Value {
    let names = [&request.product_id, &request.variant, &request.algo];
    about(run_id, job, names.map(String::as_str))
}

/// Returns what a result is about, as `metadata.json` has it.
pub(super) fn about(run_id: &RunId, job: &JobId, [product, variant, algo]: [&str; 3]) -> Value {
    json!({
        "product_id": product,
        "variant": variant,
        "algo": algo,
        "run_id": run_id,
        "job_id": job,
    })
}

/// Says what is wrong with the pictures of a job, if they cannot be used; looks at
/// the files without reading them.
pub fn unusable_picture(workspace: &Workspace, images: &[String]) -> Option<String> {
    resolve_images(workspace, images).err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapters_own_price_wins_and_nonsense_is_ignored() {
        let configured = Price {
            unit_usd: Some(0.4),
            estimated_usd: None,
            source: Some("static_table".into()),
        };
        let said = |unit_price_usd, estimated_cost_usd| GenerationResult {
            unit_price_usd,
            estimated_cost_usd,
            ..GenerationResult::default()
        };
        let plain = settle_price(&configured, &said(None, None));
        assert_eq!(
            (plain.unit_usd, plain.estimated_usd),
            (Some(0.4), Some(0.4))
        );
        assert_eq!(plain.source.as_deref(), Some("static_table"));
        let own = settle_price(&configured, &said(Some(0.5), Some(0.6)));
        assert_eq!((own.unit_usd, own.estimated_usd), (Some(0.5), Some(0.6)));
        assert_eq!(own.source.as_deref(), Some("adapter"));
        let nonsense = settle_price(&configured, &said(Some(f64::NAN), Some(-1.0)));
        assert_eq!(nonsense, plain);
    }
}
