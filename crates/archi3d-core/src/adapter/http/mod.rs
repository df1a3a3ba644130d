//! Models made by services over the network: fal, Tripo, Meshy and Replicate.
//!
//! One driver for all of them. Pictures go up first, which costs nothing and can be
//! repeated. Then the intent to buy is noted, durably, and exactly one order goes
//! out. An order whose answer was lost is looked for at the service and never placed
//! again by itself. Whatever was bought is asked about until it ends, by this attempt
//! or by the next one, and what it made is fetched without the account's key.
//!
//! A service is a file here (`Provider`); a model of a service is an entry of
//! `adapters.yaml` (`Row`).

mod client;
mod download;
mod driver;
mod fal;
mod fetch;
mod form;
pub mod hook;
mod lookup;
mod meshy;
mod pace;
mod picture;
mod pricing;
mod provider;
mod replicate;
mod row;
mod tripo;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::adapter::process::log::AttemptLog;
use crate::adapter::{
    Adapter, AdapterError, GenerationRequest, GenerationResult, JobContext, Variables,
};
use crate::cancel::JobStop;
use crate::domain::algo::AlgoSettings;
use crate::domain::service::{self, Service};
use client::{Client, Masks};
use driver::Driver;
use pace::Pace;
use provider::{Desk, Provider};
use row::Row;

pub use lookup::{Description, describe};
pub use pricing::listed_prices;

/// Looks a variable up.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// How often a job that waits for an answer looks whether it must stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The variables that every service looks at, beside its own.
const SHARED_VARIABLES: [&str; 3] = [
    "ARCHI3D_HTTP_POLL_MS",
    "ARCHI3D_HTTP_TIMEOUT_S",
    "ARCHI3D_HTTP_DOUBT_S",
];

/// Buys every job from a service.
pub struct Http {
    settings: AlgoSettings,
    service: &'static Service,
    env: Arc<dyn Variables>,
}

impl Http {
    /// Takes an entry that the registry has checked; nothing if its kind is no service.
    /// What `env` says is asked before every job: a new key works at once.
    pub fn new(settings: &AlgoSettings, env: Arc<dyn Variables>) -> Option<Self> {
        Some(Self {
            settings: settings.clone(),
            service: service::of(settings)?,
            env,
        })
    }
}

/// Returns the variables of a service that are set at this moment.
fn variables(service: &Service, env: &dyn Variables) -> BTreeMap<String, String> {
    let keys = service.keys.iter().copied().flatten().copied();
    let addresses = service.addresses.iter().map(|(name, _)| *name);
    let names: Vec<&str> = keys.chain(addresses).chain(SHARED_VARIABLES).collect();
    env.now(&names)
}

fn provider_of(service: &Service, env: Lookup<'_>) -> Option<Box<dyn Provider>> {
    match service.kind {
        "fal" => Some(Box::new(fal::Fal::new(env))),
        "tripo" => Some(Box::new(tripo::Tripo::new(env))),
        "meshy" => Some(Box::new(meshy::Meshy::new(env))),
        "replicate" => Some(Box::new(replicate::Replicate::new(env))),
        _ => None,
    }
}

/// Tells whether the key of a service's account is set at this moment.
pub fn has_key(service: &Service, env: &dyn Variables) -> bool {
    let set = variables(service, env);
    service.key(&|name| set.get(name).cloned()).is_some()
}

impl Adapter for Http {
    fn obstacles(&self, _: &Path) -> Vec<String> {
        let set = variables(self.service, self.env.as_ref());
        let env = |name: &str| set.get(name).cloned();
        let key = &self.settings.key;
        let mut obstacles = Vec::new();
        if self.service.key(&env).is_none() {
            obstacles.push(format!("algo {key}: {}", missing_key(self.service)));
        }
        for (variable, _) in self.service.addresses {
            let address = self.service.address(variable, &env);
            if let Err(reason) = client::check_address(&address) {
                obstacles.push(format!("algo {key}: {variable}: {reason}"));
            }
        }
        obstacles
    }

    fn version(&self) -> Option<&str> {
        self.settings.endpoint.as_deref()
    }

    fn reconciles(&self) -> bool {
        true
    }

    fn finds(&self) -> bool {
        self.service.lists_orders
    }

    fn generate(
        &self,
        request: &GenerationRequest,
        context: &mut JobContext<'_>,
    ) -> Result<GenerationResult, AdapterError> {
        let set = variables(self.service, self.env.as_ref());
        let env = |name: &str| set.get(name).cloned();
        let (Some(key), Some(provider)) = (self.service.key(&env), provider_of(self.service, &env))
        else {
            return Err(AdapterError::permanent(missing_key(self.service)));
        };
        let row = Row::new(&self.settings, provider.as_ref());
        let pace = Pace::new(&env);
        let log = Arc::new(AttemptLog::new(context.log_path.clone()));
        let masks = Arc::new(Masks::default());
        // What is asked can be cut short when the job must stop; an order cannot.
        let client = || Client::new(pace.limit, &masks, Arc::clone(&log));
        let (asking, buying) = (client(), client());
        let key_name = self.service.key_name();
        let auth = || {
            let set = variables(self.service, self.env.as_ref());
            let now = self.service.key(&|name| set.get(name).cloned());
            let now = now.unwrap_or_else(|| key.clone());
            masks.add(key_name, &now);
            provider.auth(&now)
        };
        masks.add(key_name, &key);
        let desk = |client| Desk {
            client,
            auth: &auth,
            limit: pace.limit,
        };
        let done = Done(AtomicBool::new(false));
        let stop = context.stop.clone();
        let outcome = thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(&stop, &asking, &done));
            let driver = Driver {
                provider: provider.as_ref(),
                row: &row,
                pace: &pace,
                request,
                context,
                key_name,
                desk: desk(&asking),
                buying_desk: desk(&buying),
            };
            let outcome = {
                let _end = End(&done, watcher.thread());
                driver.run()
            };
            let _ = watcher.join();
            outcome
        });
        log.close();
        outcome
    }
}

/// Says what is to be set.
pub fn missing_key(service: &Service) -> String {
    format!(
        "{} is not set: put {}=… into .env in the workspace, or into the environment (a key is made at {})",
        service.key_name(),
        service.key_name(),
        service.key_page
    )
}

struct Done(AtomicBool);

/// Lets the watcher go, also when the driver panics.
struct End<'a>(&'a Done, &'a thread::Thread);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::SeqCst);
        self.1.unpark();
    }
}

/// Ends the calls that are under way once the job must stop.
fn watch(stop: &JobStop, client: &Client, done: &Done) {
    while !done.0.load(Ordering::SeqCst) {
        if stop.reason().is_some() {
            client.agent().shutdown();
            return;
        }
        thread::park_timeout(LOOK_EVERY);
    }
}
