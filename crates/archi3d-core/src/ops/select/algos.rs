//! From the entries of `adapters.yaml` to what carries the jobs of a run out.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::adapter::registry;
use crate::adapter::simulate::Simulate;
use crate::domain::algo::{AlgoSettings, ImageMode};
use crate::domain::content::Recipe;
use crate::domain::id::AlgoKey;
use crate::domain::kind;
use crate::domain::limits::Limits;
use crate::domain::nearest::suggestion;
use crate::domain::patch::Price;
use crate::domain::retry::{OnInterrupt, RetryPolicy};
use crate::domain::service;
use crate::domain::text::plural;
use crate::engine::{Algorithm, Algorithms, QueuedJob};
use crate::ops::adapters::{provider_of, time_limit};
use crate::ops::{OpsContext, OpsError};

use super::WorkerRequest;

/// After so many failures in a row an algorithm pauses whose entry says nothing.
const BREAKER_FAILURES: u32 = 5;

/// How often a passing failure of a service is tried again whose entry says nothing. What
/// is tried again is free: nothing was bought, or what was bought is asked for.
const SERVICE_RETRIES: u32 = 4;

/// Builds what carries out each algorithm that the jobs need, or that a store hands out.
pub(in crate::ops) fn algorithms<'a>(
    context: &OpsContext,
    request: &'a WorkerRequest,
    jobs: &'a [QueuedJob],
    served: impl Iterator<Item = &'a AlgoKey>,
    warn: &dyn Fn(String),
) -> Algorithms {
    let own = jobs.iter().filter_map(|job| job.job.algo.as_ref().ok());
    let wanted: BTreeSet<&AlgoKey> = match &request.adapter {
        Some(forced) => BTreeSet::from([forced]),
        None => own.chain(served).collect(),
    };
    let mut algorithms = Algorithms::new();
    for key in wanted {
        let mut algorithm = algorithm(context, request, key);
        if let Err(reason) = &algorithm
            && request.dry_run
        {
            warn(format!(
                "{reason}; rehearsed all the same, but a real run would leave these jobs alone"
            ));
            algorithm = Ok(rehearsal(request));
        }
        let endpoint_only = context
            .settings
            .algo(key.as_str())
            .is_some_and(|settings| settings.kind.is_none());
        if request.dry_run && endpoint_only {
            warn(format!(
                "algo {key} has only an endpoint and no command: rehearsed all the same, \
                 but a real run would leave its jobs alone"
            ));
        }
        algorithms.insert(key.clone(), algorithm);
    }
    algorithms
}

/// Refuses to start where nothing that is selected can be made.
pub(in crate::ops) fn refuse_if_none_can_run(
    request: &WorkerRequest,
    jobs: &[QueuedJob],
    algorithms: &Algorithms,
) -> Result<(), OpsError> {
    // What was made earlier can be copied without anything that makes it.
    if request.reuse || jobs.is_empty() {
        return Ok(());
    }
    let mut reasons = BTreeSet::new();
    for planned in jobs {
        let reason = match (&request.adapter, &planned.job.algo) {
            (Some(key), _) | (None, Ok(key)) => match algorithms.get(key) {
                Some(Ok(algorithm)) => algorithm.obstacle.as_ref(),
                Some(Err(reason)) => Some(reason),
                None => None,
            },
            (None, Err(reason)) => Some(reason),
        };
        match reason {
            Some(reason) => reasons.insert(reason.as_str()),
            None => return Ok(()),
        };
    }
    let reasons: Vec<&str> = reasons.into_iter().collect();
    Err(OpsError::Setup {
        message: format!(
            "cannot make the {}: {}",
            plural(jobs.len(), "selected job", "selected jobs"),
            reasons.join("; ")
        ),
        hint: Some(
            "the jobs stay as they were; `archi3d adapters list` shows what can run".to_owned(),
        ),
    })
}

/// Returns what a job costs, nothing where nobody knows. A rehearsal and what
/// cannot run cost nothing.
pub(in crate::ops) fn price_of(
    request: &WorkerRequest,
    planned: &QueuedJob,
    algorithms: &Algorithms,
) -> Option<f64> {
    let own = planned.job.algo.as_ref().ok();
    let key = request.adapter.as_ref().or(own);
    match key.and_then(|key| algorithms.get(key)) {
        Some(Ok(algorithm)) if !request.dry_run => algorithm.unit_usd(),
        _ => Some(0.0),
    }
}

/// Builds what carries out one algorithm, or says why nothing can.
pub(in crate::ops) fn algorithm(
    context: &OpsContext,
    request: &WorkerRequest,
    key: &AlgoKey,
) -> Result<Algorithm, String> {
    let settings = context.settings.algo(key.as_str()).ok_or_else(|| {
        let known = context.settings.algos.iter().map(|algo| algo.key.as_str());
        format!(
            "algo {key} is not in adapters.yaml{}; add it to <workspace>/config/adapters.yaml",
            suggestion(key.as_str(), known)
        )
    })?;
    let duration = Duration::from_millis(request.simulate_ms.unwrap_or_default());
    let rehearsal = request.dry_run.then_some(duration);
    let adapter = registry::build(settings, rehearsal, &context.variables())
        .map_err(|error| error.to_string())?;
    let mut obstacles = adapter.obstacles(context.workspace.root()).into_iter();
    let option = |name: &str| settings.options.get(name);
    let retries = option("retries").and_then(serde_json::Value::as_u64);
    let usual_retries = service::of(settings).map_or(0, |_| SERVICE_RETRIES);
    let provider = provider_of(settings)?;
    let limits = provider_limits(&context.settings.algos, &provider);
    let breaker_failures = option(kind::BREAKER_FAILURES).and_then(serde_json::Value::as_u64);
    let breaker_failures = match breaker_failures {
        _ if request.dry_run => 0,
        Some(most) => u32::try_from(most).unwrap_or(u32::MAX),
        None => BREAKER_FAILURES,
    };
    let on_interrupt = match option("on_interrupt").and_then(serde_json::Value::as_str) {
        Some(word) => OnInterrupt::parse(word).ok_or_else(|| {
            format!("algo {key}: on_interrupt is {word:?}; it must be rerun or ask")
        })?,
        None => OnInterrupt::default(),
    };
    Ok(Algorithm {
        price: Price {
            unit_usd: settings.unit_price_usd,
            estimated_usd: None,
            source: settings
                .price_source
                .clone()
                .or_else(|| settings.unit_price_usd.map(|_| "adapters.yaml".to_owned())),
        },
        one_picture: settings.image_mode == ImageMode::Single,
        timeout: request.timeout.or_else(|| time_limit(settings)),
        retry: RetryPolicy {
            retries: request
                .retries
                .or(retries.and_then(|n| u32::try_from(n).ok()))
                .unwrap_or(usual_retries),
            ..RetryPolicy::default()
        },
        // A rehearsal uses nobody's account.
        provider: (!request.dry_run).then_some(provider),
        on_interrupt,
        recipe: Recipe::of(settings).filter(|_| !request.dry_run),
        limits,
        breaker_failures,
        obstacle: obstacles.next(),
        ..Algorithm::new(adapter)
    })
}

/// Returns the limits of a provider: where its algorithms name different ones,
/// the lowest.
fn provider_limits(algos: &[AlgoSettings], provider: &AlgoKey) -> Limits {
    let of_provider = algos
        .iter()
        .filter(|algo| provider_of(algo).is_ok_and(|own| own == *provider));
    of_provider.fold(Limits::default(), |limits, algo| {
        let option = |name| algo.options.get(name);
        let most = option(kind::MAX_PARALLEL).and_then(serde_json::Value::as_u64);
        limits.and(Limits {
            max_parallel: most.map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
            rate_per_min: option(kind::RATE_PER_MIN).and_then(serde_json::Value::as_f64),
        })
    })
}

fn rehearsal(request: &WorkerRequest) -> Algorithm {
    let duration = Duration::from_millis(request.simulate_ms.unwrap_or_default());
    Algorithm {
        timeout: request.timeout,
        ..Algorithm::new(Box::new(Simulate::new(duration)))
    }
}

pub(in crate::ops) fn known_algo(context: &OpsContext, key: &AlgoKey) -> Result<(), OpsError> {
    if context.settings.algo(key.as_str()).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = context
        .settings
        .algos
        .iter()
        .map(|algo| algo.key.as_str())
        .collect();
    Err(OpsError::Setup {
        message: format!(
            "--adapter {key} is not in adapters.yaml{}",
            suggestion(key.as_str(), known.iter().copied())
        ),
        hint: Some(format!("known are: {}", known.join(", "))),
    })
}
