//! `adapters list`, `check`, `prices` and `resume`: what is configured, whether it can
//! run, what it costs, and opening a provider that was closed.
//!
//! Names of variables are shown, never their values. Nothing here runs a job
//! of a run; `check` tries an adapter in a folder of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::adapter::http::has_key;
use crate::adapter::process::Process;
use crate::adapter::registry;
use crate::domain::algo::{AlgoSettings, ImageMode};
use crate::domain::id::AlgoKey;
use crate::domain::nearest::nearest_few;
use crate::domain::service::{self, Service};
use crate::domain::time::Timestamp;
use crate::ops::stores::Stores;
use crate::ops::{OpsContext, OpsError};
use crate::store::bounds::refuse_links_outside;
use crate::store::providers::{Closable, Closure};
use crate::store::{Runs, StoreError};

mod booking;
mod check;
mod look;
mod prices;

/// How long a program may take whose entry says nothing.
const PROGRAM_TIME_LIMIT: Duration = Duration::from_secs(3600);

/// How long a service may take whose entry says nothing: its queue may be long. What it
/// makes later is not lost, the next attempt asks for it.
const SERVICE_TIME_LIMIT: Duration = Duration::from_secs(6 * 3600);

pub(in crate::ops) use booking::CHECKS;
pub use check::{CheckOutcome, CheckRequest, Checked, CheckedFile, PictureSource, check};
pub use look::{Looked, look};
pub use prices::{PriceEntry, Refreshed, prices, refresh_prices};

/// One entry of `adapters.yaml`, as a person wants to see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdapterEntry {
    /// Its key.
    pub key: AlgoKey,
    /// What carries it out; nothing for an entry with only an endpoint.
    pub kind: Option<String>,
    /// How many pictures it takes.
    pub image_mode: ImageMode,
    /// The price of one generation, if anybody knows.
    pub unit_price_usd: Option<f64>,
    /// Where the price comes from.
    pub price_source: Option<String>,
    /// Whose account it uses.
    pub provider: String,
    /// Why and until when that provider is closed, if it is.
    pub closed: Option<ClosedProvider>,
    /// Why a breaker has paused it, if one has.
    pub paused: Option<ClosedProvider>,
    /// The program that is run, where it was found.
    pub program: Option<PathBuf>,
    /// The variables it asks for, and whether they are set.
    #[serde(rename = "env")]
    pub variables: Vec<Variable>,
    /// Whether it could run now, if its provider is open.
    pub runnable: bool,
    /// Why it cannot run, one sentence each; empty if it can.
    pub problems: Vec<String>,
    /// The variable with the account's key, if only that is missing.
    pub missing_key: Option<&'static str>,
    /// What takes its place, if its service gives it up.
    pub deprecated: Option<String>,
}

/// A variable that an adapter asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Whether it is set.
    pub set: bool,
}

/// A provider that is closed for every worker of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClosedProvider {
    /// Since when.
    pub since: Timestamp,
    /// Until when; nothing means until somebody opens it.
    pub until: Option<Timestamp>,
    /// What it said.
    pub reason: String,
}

impl From<Closure> for ClosedProvider {
    fn from(closure: Closure) -> Self {
        Self {
            since: closure.closed_at,
            until: closure.until,
            reason: closure.reason,
        }
    }
}

/// Returns every entry that is configured, in file order, with what is closed in the
/// workspace or in the fleet that has runs of it. Changes nothing.
pub fn list(context: &OpsContext) -> Result<Vec<AdapterEntry>, OpsError> {
    entries(context, &Stores::new(context)?.all()?)
}

/// Returns the same; where the fleet cannot be asked, with what is closed in the workspace, and why.
pub fn list_known(context: &OpsContext) -> Result<(Vec<AdapterEntry>, Option<OpsError>), OpsError> {
    match list(context) {
        Ok(entries) => Ok((entries, None)),
        Err(error) => Ok((list_here(context)?, Some(error))),
    }
}

/// Returns the same with what is closed in the workspace alone; asks no server.
pub fn list_here(context: &OpsContext) -> Result<Vec<AdapterEntry>, OpsError> {
    entries(context, &[context.local().runs()?])
}

fn entries(context: &OpsContext, stores: &[Arc<dyn Runs>]) -> Result<Vec<AdapterEntry>, OpsError> {
    let closed = |what| -> Result<Vec<Closure>, OpsError> {
        let each = stores.iter().map(|runs| runs.closed(what));
        let all: Result<Vec<_>, _> = each.collect();
        Ok(all.map_err(unreadable)?.concat())
    };
    let (providers, algos) = (closed(Closable::Provider)?, closed(Closable::Algo)?);
    let of = |settings| entry(context, settings, &providers, &algos);
    Ok(context.settings.algos.iter().map(of).collect())
}

fn entry(
    context: &OpsContext,
    settings: &AlgoSettings,
    closed_providers: &[Closure],
    paused_algos: &[Closure],
) -> AdapterEntry {
    let mut problems = Vec::new();
    let provider = provider_of(settings).map_err(|reason| problems.push(reason));
    let closed = provider.as_ref().ok();
    let closed = closed.and_then(|provider| of_key(closed_providers, provider));
    let paused = of_key(paused_algos, &settings.key);
    match registry::build(settings, None, &context.variables()) {
        Ok(adapter) => problems.extend(adapter.obstacles(context.workspace.root())),
        Err(error) => problems.push(error.to_string()),
    }
    let mut program = None;
    let mut variables = Vec::new();
    if let Some(service) = service::of(settings) {
        variables.push(Variable {
            name: service.key_name().to_owned(),
            set: has_key(service, context.variables().as_ref()),
        });
    }
    if settings.kind.as_deref() == Some("process") {
        let process = Process::new(settings, context.variables());
        program = process.program(context.workspace.root()).ok();
        let unset = process.unset();
        let named = texts(settings, "env").into_iter();
        variables = named
            .map(|name| Variable {
                set: !unset.contains(&name),
                name,
            })
            .collect();
    }
    AdapterEntry {
        key: settings.key.clone(),
        kind: settings.kind.clone(),
        image_mode: settings.image_mode,
        unit_price_usd: settings.unit_price_usd,
        price_source: settings.price_source.clone(),
        provider: provider.map_or_else(|()| String::new(), |provider| provider.to_string()),
        closed,
        paused,
        program,
        variables,
        missing_key: service::of(settings)
            .filter(|service| {
                problems.len() == 1 && !has_key(service, context.variables().as_ref())
            })
            .map(Service::key_name),
        deprecated: deprecated(settings),
        runnable: problems.is_empty(),
        problems,
    }
}

/// Returns what an entry says of a model that its service gives up.
pub(super) fn deprecated(settings: &AlgoSettings) -> Option<String> {
    let words = settings.options.get("deprecated").and_then(Value::as_str);
    words.map(str::to_owned)
}

/// Returns how long one attempt may take: what the entry says, else an hour for a
/// program, because nothing else would ever end one that hangs.
pub(super) fn time_limit(settings: &AlgoSettings) -> Option<Duration> {
    let configured = settings.options.get("timeout_s").and_then(Value::as_f64);
    let configured = configured.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let usual = match settings.kind.as_deref() {
        Some("process") => Some(PROGRAM_TIME_LIMIT),
        _ => service::of(settings).map(|_| SERVICE_TIME_LIMIT),
    };
    configured.or(usual)
}

/// Returns whose account the algorithm of this name uses, if it is configured.
#[cfg(feature = "postgres")]
pub(super) fn provider_named(context: &OpsContext, algo: &str) -> Option<String> {
    let provider = provider_of(context.settings.algo(algo)?).ok()?;
    Some(provider.to_string())
}

/// Returns whose account an algorithm uses: the provider it names, else its service, else itself.
pub(super) fn provider_of(settings: &AlgoSettings) -> Result<AlgoKey, String> {
    match settings.options.get("provider").and_then(Value::as_str) {
        Some(name) => AlgoKey::parse(name)
            .map_err(|error| format!("algo {}: provider: {error}", settings.key)),
        None => match service::of(settings) {
            Some(service) => {
                AlgoKey::parse(service.kind).map_err(|error| format!("provider: {error}"))
            }
            None => Ok(settings.key.clone()),
        },
    }
}

/// Returns the closure that lasts longest.
fn of_key(closures: &[Closure], key: &AlgoKey) -> Option<ClosedProvider> {
    let found = closures.iter().filter(|closure| closure.provider == *key);
    let longest = found.max_by_key(|closure| (closure.until.is_none(), closure.until));
    longest.cloned().map(ClosedProvider::from)
}

fn unreadable(error: StoreError) -> OpsError {
    if matches!(error, StoreError::Server { .. } | StoreError::Away { .. }) {
        return error.into();
    }
    OpsError::Setup {
        message: format!(
            "the closed providers in runs/.providers cannot be read: {}",
            error.in_full()
        ),
        hint: Some("check the folder's permissions, or move it away to open every provider".into()),
    }
}

fn texts(settings: &AlgoSettings, option: &str) -> Vec<String> {
    let list = settings.options.get(option).and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Something that may be used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumed {
    /// Its name.
    pub key: AlgoKey,
    /// Whether it is an algorithm that a breaker had paused, and no provider.
    pub is_algo: bool,
    /// What had closed it.
    pub closed: ClosedProvider,
}

/// Opens the provider called `key`, or the one that the algorithm `key` uses, and
/// lets that algorithm go on if a breaker has paused it.
pub fn resume(context: &OpsContext, key: &AlgoKey) -> Result<Vec<Resumed>, OpsError> {
    let (resumed, closed) = resume_closed(context, key)?;
    if resumed.is_empty() {
        return Err(not_closed(context, key, &closed));
    }
    Ok(resumed)
}

/// Does the same, and returns what was opened, which may be nothing, and what else is closed.
pub fn resume_closed(
    context: &OpsContext,
    key: &AlgoKey,
) -> Result<(Vec<Resumed>, Vec<Closure>), OpsError> {
    refuse_links_outside(&context.workspace, None)?;
    let own = context.settings.algo(key.as_str());
    let of_algo = own.and_then(|settings| provider_of(settings).ok());
    let (mut resumed, mut closed) = (Vec::new(), Vec::new());
    for runs in Stores::new(context)?.all()? {
        let all = |what| runs.closed(what).map_err(unreadable);
        let (providers, algos) = (all(Closable::Provider)?, all(Closable::Algo)?);
        let mut keys = std::iter::once(key).chain(&of_algo);
        let found = keys.find_map(|key| providers.iter().find(|one| one.provider == *key));
        if let Some(closure) = found {
            resumed.push(open(&*runs, closure.clone(), Closable::Provider)?);
        }
        if let Some(pause) = algos.iter().find(|one| one.provider == *key) {
            resumed.push(open(&*runs, pause.clone(), Closable::Algo)?);
        }
        closed.extend(providers.into_iter().chain(algos));
    }
    Ok((resumed, closed))
}

fn open(runs: &dyn Runs, closure: Closure, what: Closable) -> Result<Resumed, OpsError> {
    let key = closure.provider.clone();
    let opened = runs.open(what, &key);
    opened.map_err(|error| OpsError::Setup {
        message: format!("{key} cannot be opened: {}", error.in_full()),
        hint: Some("check the permissions of runs/.providers".into()),
    })?;
    Ok(Resumed {
        key,
        is_algo: what == Closable::Algo,
        closed: closure.into(),
    })
}

fn not_closed(context: &OpsContext, key: &AlgoKey, closed: &[Closure]) -> OpsError {
    let providers = context
        .settings
        .algos
        .iter()
        .filter_map(|settings| provider_of(settings).ok());
    let mut known: Vec<String> = providers.map(|provider| provider.to_string()).collect();
    known.extend(context.settings.algos.iter().map(|a| a.key.to_string()));
    known.dedup();
    let closed: Vec<&str> = closed.iter().map(|c| c.provider.as_str()).collect();
    let is_known = known.iter().any(|name| name == key.as_str());
    let message = if is_known {
        format!("provider {key} is not closed")
    } else {
        format!("no provider or algo is called {key}")
    };
    let near_closed = nearest_few(key.as_str(), closed.iter().copied());
    let near = if near_closed.is_empty() && !is_known {
        nearest_few(key.as_str(), known.iter().map(String::as_str))
    } else {
        near_closed
    };
    let hint = match (near.is_empty(), closed.is_empty()) {
        (false, _) => format!("did you mean {}?", near.join(" or ")),
        (true, false) => format!("closed are: {}", closed.join(", ")),
        (true, true) => "no provider is closed".to_owned(),
    };
    OpsError::Setup {
        message,
        hint: Some(hint),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn a_program_ends_some_day_even_if_its_entry_says_nothing() {
        let limit = |kind: &str, timeout: Value| {
            let mut settings = AlgoSettings {
                key: AlgoKey::parse("tool").expect("valid"),
                kind: Some(kind.to_owned()),
                image_mode: ImageMode::Single,
                endpoint: None,
                unit_price_usd: None,
                price_source: None,
                listed_price: None,
                defaults: Map::new(),
                options: std::collections::BTreeMap::new(),
            };
            settings.options.insert("timeout_s".to_owned(), timeout);
            time_limit(&settings).map(|limit| limit.as_secs())
        };
        assert_eq!(limit("process", Value::Null), Some(3600));
        assert_eq!(limit("process", json!(7200)), Some(7200));
        assert_eq!(limit("mock", Value::Null), None);
    }
}
