//! From the entries of `adapters.yaml` to what carries the jobs of a run out.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::adapter::registry;
use crate::adapter::simulate::Simulate;
use crate::domain::algo::AlgoSettings;
use crate::domain::content::Recipe;
use crate::domain::id::AlgoKey;
use crate::domain::kind;
use crate::domain::limits::Limits;
use crate::domain::nearest::suggestion;
use crate::domain::patch::Price;
use crate::domain::retry::{OnInterrupt, RetryPolicy};
use crate::engine::{Carrier, Carriers, PlannedJob};
use crate::ops::adapters::{obstacles, provider_of, time_limit};
use crate::ops::{OpsContext, OpsError, real_env};

use super::{Teller, WorkerRequest};

/// After so many failures in a row an algorithm pauses whose entry says nothing.
const BREAKER_FAILURES: u32 = 5;

/// Builds what carries out each algorithm that the jobs need.
pub(super) fn carriers(
    context: &OpsContext,
    request: &WorkerRequest,
    jobs: &[PlannedJob],
    teller: &Teller<'_>,
) -> Carriers {
    let wanted: BTreeSet<&AlgoKey> = match &request.adapter {
        Some(forced) => BTreeSet::from([forced]),
        None => jobs
            .iter()
            .filter_map(|planned| planned.job.algo.as_ref().ok())
            .collect(),
    };
    let mut carriers = Carriers::new();
    for key in wanted {
        let mut carrier = carrier(context, request, key);
        if let Err(reason) = &carrier
            && request.dry_run
        {
            teller.warn(format!(
                "{reason}; rehearsed all the same, but a real run would fail these jobs"
            ));
            carrier = Ok(rehearsal(request));
        }
        let endpoint_only = context
            .settings
            .algo(key.as_str())
            .is_some_and(|settings| settings.kind.is_none());
        if request.dry_run && endpoint_only {
            teller.warn(format!(
                "algo {key} has only an endpoint and no command: rehearsed all the same, \
                 but a real run would fail its jobs"
            ));
        }
        carriers.insert(key.clone(), carrier);
    }
    carriers
}

/// Returns what a job costs, nothing where nobody knows. A rehearsal and what
/// cannot run cost nothing.
pub(super) fn price_of(
    request: &WorkerRequest,
    planned: &PlannedJob,
    carriers: &Carriers,
) -> Option<f64> {
    let own = planned.job.algo.as_ref().ok();
    let key = request.adapter.as_ref().or(own);
    match key.and_then(|key| carriers.get(key)) {
        Some(Ok(carrier)) if !request.dry_run => carrier.unit_usd(),
        _ => Some(0.0),
    }
}

/// Builds what carries out one algorithm, or says why nothing can.
pub(in crate::ops) fn carrier(
    context: &OpsContext,
    request: &WorkerRequest,
    key: &AlgoKey,
) -> Result<Carrier, String> {
    let settings = context.settings.algo(key.as_str()).ok_or_else(|| {
        let known = context.settings.algos.iter().map(|algo| algo.key.as_str());
        format!(
            "algo {key} is not in adapters.yaml{}; add it to <workspace>/config/adapters.yaml",
            suggestion(key.as_str(), known)
        )
    })?;
    let duration = Duration::from_millis(request.simulate_ms.unwrap_or_default());
    let adapter = registry::build(settings, request.dry_run.then_some(duration), &|name| {
        context.settings.env_value(&real_env, name)
    })
    .map_err(|error| error.to_string())?;
    let obstacle = obstacles(context, settings).into_iter().next();
    let option = |name: &str| settings.options.get(name);
    let retries = option("retries").and_then(serde_json::Value::as_u64);
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
    Ok(Carrier {
        price: Price {
            unit_usd: settings.unit_price_usd,
            estimated_usd: None,
            source: settings
                .price_source
                .clone()
                .or_else(|| settings.unit_price_usd.map(|_| "adapters.yaml".to_owned())),
        },
        timeout: request.timeout.or_else(|| time_limit(settings)),
        retry: RetryPolicy {
            retries: request
                .retries
                .or(retries.and_then(|n| u32::try_from(n).ok()))
                .unwrap_or_default(),
            ..RetryPolicy::default()
        },
        // A rehearsal uses nobody's account.
        provider: (!request.dry_run).then_some(provider),
        on_interrupt,
        recipe: Recipe::of(settings).filter(|_| !request.dry_run),
        limits,
        breaker_failures,
        obstacle: obstacle.filter(|_| !request.dry_run),
        ..Carrier::new(adapter)
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

fn rehearsal(request: &WorkerRequest) -> Carrier {
    let duration = Duration::from_millis(request.simulate_ms.unwrap_or_default());
    Carrier {
        timeout: request.timeout,
        ..Carrier::new(Box::new(Simulate::new(duration)))
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
