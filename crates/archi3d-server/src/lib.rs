//! `archi3d serve`: the API, the pages, events and metrics over what `archi3d-core` does.
//!
//! One table of routes (`routes`) says what each path does, who may, and what `/openapi.json`
//! tells of it; `dispatch` is the only way in and checks everything before a handler runs. Handlers
//! are plain functions on threads for blocking work. Nothing in here prints.

#![expect(
    clippy::unnecessary_wraps,
    reason = "all handlers have one shape, also those that cannot fail"
)]

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use archi3d_core::domain::time::{Clock as _, Timestamp};
use archi3d_core::ops::capacity;
use archi3d_core::ops::events::ServiceLog;
use archi3d_core::ops::tokens::{self, NewToken, Role, TokenRequest};
use archi3d_core::ops::{OpsContext, OpsError, notify, submit};

mod call;
mod canonical;
mod connections;
mod dispatch;
mod events;
mod files;
mod form;
mod health;
mod jobs;
mod metrics;
mod openapi;
mod pages;
mod problem;
mod reads;
mod routes;
mod runs;
mod turns;
mod views;
mod writes;

/// How long open requests have when the service stops.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// So many requests that only look are carried out at once; more wait.
const AT_ONCE: usize = 64;

/// The same of requests that change something: those that wait for a lock keep nobody from looking.
const CHANGES_AT_ONCE: usize = 64;

/// Of all connections so many parts are kept from event streams, which last.
const RESERVE: usize = 4;

/// So many large bodies are taken at once; more wait.
const LARGE: usize = 8;

/// So many event streams read what is further back at once, a piece each.
const READING_BACK: usize = 4;

/// How often somebody looks whether people outside are to be told of something.
const ATTEND: Duration = Duration::from_secs(2);

/// As long are settings good for another request.
const FRESH: Duration = Duration::from_secs(1);

/// How the service is to run.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Names that it answers to beside its own address.
    pub allowed_hosts: Vec<String>,
    /// Whether everybody may read the metrics.
    pub metrics_open: bool,
    /// Whether the one who starts it gets a token of its own, for as long as it runs.
    pub own_token: bool,
}

/// What a person needs to know of a service that answers.
#[derive(Debug, Clone)]
pub struct Ready {
    /// Where it listens.
    pub address: SocketAddr,
    /// A token of its own, for as long as it runs, if one was asked for.
    pub token: Option<String>,
}

/// Opens the workspace with its settings as they are now.
pub type Opens = Box<dyn Fn() -> Result<OpsContext, OpsError> + Send + Sync>;

/// Asks a service to stop.
#[derive(Debug, Clone)]
pub struct Stop(watch::Sender<bool>);

impl Default for Stop {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Stop {
    /// Asks for it.
    pub fn ask(&self) {
        self.0.send_replace(true);
    }
}

/// Returns what time it is.
pub(crate) fn now() -> Timestamp {
    archi3d_core::clock::SystemClock.now()
}

/// What all requests share.
pub(crate) struct App {
    opens: Opens,
    opened: Mutex<Opened>,
    /// Who has it opens the workspace again; the others go on with what is there.
    opening: Mutex<()>,
    pub(crate) options: ServeOptions,
    address: SocketAddr,
    /// The token of the one who started it.
    own: Option<NewToken>,
    log: ServiceLog,
    /// How many connections are taken at once.
    connections: usize,
    letting_in: Arc<Semaphore>,
    turns: turns::Turns,
    at_once: Arc<Semaphore>,
    changes_at_once: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// Who reads events back.
    pub(crate) reading_back: Arc<Semaphore>,
    stop: watch::Receiver<bool>,
    /// Keys whose first request is being answered.
    keys: Mutex<HashSet<String>>,
    pub(crate) streams: AtomicUsize,
    pub(crate) health: health::Health,
    pub(crate) metrics: metrics::Metrics,
    pub(crate) hub: events::Hub,
    pub(crate) views: views::Views,
}

/// The workspace as it was opened last.
struct Opened {
    /// When somebody looked.
    at: Instant,
    /// The workspace with the last settings that could be read.
    context: OpsContext,
    /// Why the settings cannot be read now.
    trouble: Option<String>,
}

impl App {
    /// Returns the workspace with its settings as they were a moment ago. Settings that cannot be read change nothing: the
    /// last good ones stay. Looks at the disk, so never where requests are awaited.
    pub(crate) fn context(&self) -> OpsContext {
        if let Some(fresh) = self.fresh() {
            return fresh;
        }
        let Ok(_opening) = self.opening.try_lock() else {
            return self.opened().context.clone();
        };
        if let Some(fresh) = self.fresh() {
            return fresh;
        }
        let found = (self.opens)();
        let mut opened = self.opened();
        opened.at = Instant::now();
        let trouble = match found {
            Ok(context) => {
                let context = context.going_on(&opened.context);
                let before = std::mem::replace(&mut opened.context, context);
                // A connection that is no longer wanted is closed elsewhere: that may take a while.
                std::thread::spawn(move || drop(before));
                None
            }
            Err(error) => Some(error.to_string()),
        };
        if opened.trouble != trouble {
            let mut line = serde_json::Map::new();
            let event = trouble
                .as_ref()
                .map_or("settings_read", |_| "settings_unreadable");
            line.insert("event".into(), event.into());
            line.insert("timestamp".into(), now().iso().into());
            line.extend(trouble.clone().map(|text| ("error".into(), text.into())));
            self.log.add(&line);
            opened.trouble = trouble;
        }
        opened.context.clone()
    }

    fn opened(&self) -> std::sync::MutexGuard<'_, Opened> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fresh(&self) -> Option<OpsContext> {
        let opened = self.opened();
        (opened.at.elapsed() < FRESH).then(|| opened.context.clone())
    }

    /// Returns why the settings cannot be read now.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.opened().trouble.clone()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Takes a key; nothing if another request has it.
    pub(crate) fn take_key(self: &Arc<Self>, scope: &str) -> Option<TakenKey> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.insert(scope.to_owned()).then(|| TakenKey {
            app: Arc::clone(self),
            scope: scope.to_owned(),
        })
    }
}

/// A key that a request has until it is answered.
pub(crate) struct TakenKey {
    app: Arc<App>,
    scope: String,
}

impl Drop for TakenKey {
    fn drop(&mut self) {
        let mut keys = self.app.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.remove(&self.scope);
    }
}

/// Counts a stream while it lasts.
pub(crate) struct OpenStream(Arc<App>);

impl OpenStream {
    /// Takes a place for one; nothing if streams have all that they may.
    pub(crate) fn take(app: &Arc<App>) -> Option<Self> {
        let most = app.connections - app.connections / RESERVE;
        let more = |open| (open < most).then_some(open + 1);
        let taken = app
            .streams
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.ok().map(|_| Self(Arc::clone(app)))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves until `stop` asks for the end; `ready` hears where, once it answers.
pub fn serve(
    opens: Opens,
    options: ServeOptions,
    stop: &Stop,
    now: Timestamp,
    ready: impl FnOnce(&Ready),
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("serve")
        .build()?;
    let context = opens().map_err(io::Error::other)?;
    // Outlives the runtime: a connection may not be closed where requests are awaited.
    let mut kept = None;
    let ended = runtime.block_on(async {
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        let admin = || TokenRequest {
            name: tokens::OF_SERVICE.to_owned(),
            role: Role::Admin,
            daily_cap_usd: None,
        };
        let own = options.own_token.then(|| tokens::mint(admin(), now));
        let told = Ready {
            address,
            token: own.as_ref().map(|own| own.token.clone()),
        };
        let app = Arc::new(App {
            log: ServiceLog::open(&context),
            opens,
            opened: Mutex::new(Opened {
                at: Instant::now(),
                context,
                trouble: None,
            }),
            opening: Mutex::default(),
            options,
            address,
            own,
            letting_in: Arc::new(Semaphore::new(AT_ONCE)),
            turns: turns::Turns::default(),
            connections: capacity::connections(connections::MOST),
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            changes_at_once: Arc::new(Semaphore::new(CHANGES_AT_ONCE)),
            large: Arc::new(Semaphore::new(LARGE)),
            reading_back: Arc::new(Semaphore::new(READING_BACK)),
            stop: stop.0.subscribe(),
            keys: Mutex::default(),
            streams: AtomicUsize::new(0),
            health: health::Health::default(),
            metrics: metrics::Metrics::default(),
            hub: events::Hub::default(),
            views: views::Views::default(),
        });
        kept = Some(Arc::clone(&app));
        let following = Arc::clone(&app);
        std::thread::spawn(move || events::Hub::follow(&following));
        let attending = Arc::clone(&app);
        std::thread::spawn(move || attend(&attending));
        ready(&told);
        connections::serve(listener, &app, LAST_WORDS).await;
        Ok(())
    });
    // What a handler still does is finished by the next start.
    runtime.shutdown_timeout(Duration::from_secs(1));
    drop(kept);
    ended
}

/// Tells people outside of what happens, until the service stops.
fn attend(app: &App) {
    let mut told = Vec::new();
    let mut was_quiet = false;
    while !app.is_stopping() {
        let context = app.context();
        // What the fleet has and was not there a moment ago, or could not be asked for then.
        let arrived = submit::arrive(&context, None);
        let attended = notify::attend(&context);
        // Once is enough until somebody is named again.
        let quiet = context.settings.global.notify.webhook.is_none()
            && context.settings.global.notify.command.is_empty();
        if quiet && !was_quiet {
            was_quiet = notify::end(&context).is_ok();
        }
        was_quiet &= quiet;
        let mut troubles =
            attended.map_or_else(|error| vec![error.to_string()], |done| done.troubles);
        troubles.extend(arrived.err().map(|error| error.to_string()));
        // What another service accepted and did not come to.
        let put_back = submit::put_back(&context);
        troubles.extend(put_back.err().map(|error| error.to_string()));
        for trouble in troubles.iter().filter(|trouble| !told.contains(*trouble)) {
            let mut line = serde_json::Map::new();
            line.insert("event".into(), "notify_failed".into());
            line.insert("timestamp".into(), now().iso().into());
            line.insert("error".into(), trouble.as_str().into());
            app.log.add(&line);
        }
        told = troubles;
        for _ in 0..20 {
            if !app.is_stopping() {
                std::thread::sleep(ATTEND / 20);
            }
        }
    }
}
