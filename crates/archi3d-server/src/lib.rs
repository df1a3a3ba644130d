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

use axum::Router;
use axum::extract::{Request, State};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use archi3d_core::domain::time::{Clock as _, Timestamp};
use archi3d_core::ops::events::ServiceLog;
use archi3d_core::ops::tokens::{self, NewToken, Role, TokenRequest};
use archi3d_core::ops::{OpsContext, OpsError, notify};

mod call;
mod canonical;
mod dispatch;
mod events;
mod files;
mod form;
mod jobs;
mod metrics;
mod openapi;
mod pages;
mod problem;
mod reads;
mod routes;
mod runs;
mod writes;

/// How long open requests have when the service stops.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// So many requests that change something may wait; more are turned away.
const WRITES: usize = 256;

/// So many requests are carried out at once; more wait.
const AT_ONCE: usize = 64;

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
}

/// What a person needs to know of a service that answers.
#[derive(Debug, Clone)]
pub struct Ready {
    /// Where it listens.
    pub address: SocketAddr,
    /// A token of its own, for as long as it runs.
    pub token: String,
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
    /// The workspace as it was opened last, and when.
    opened: Mutex<Option<(Instant, OpsContext)>>,
    pub(crate) options: ServeOptions,
    address: SocketAddr,
    /// The token of the one who started it.
    own: NewToken,
    log: ServiceLog,
    writes: Semaphore,
    at_once: Semaphore,
    stop: watch::Receiver<bool>,
    /// Keys whose first request is being answered.
    keys: Mutex<HashSet<String>>,
    pub(crate) streams: AtomicUsize,
    pub(crate) metrics: metrics::Metrics,
    pub(crate) hub: events::Hub,
}

impl App {
    /// Returns the workspace with its settings as they were a moment ago.
    pub(crate) fn context(&self) -> Result<OpsContext, OpsError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, context)) = &*opened
            && at.elapsed() < FRESH
        {
            return Ok(context.clone());
        }
        let mut context = (self.opens)()?;
        if let Some((_, before)) = opened.take() {
            context = context.going_on(&before);
            // A connection that is no longer wanted may not be closed where requests are awaited.
            std::thread::spawn(move || drop(before));
        }
        *opened = Some((Instant::now(), context.clone()));
        Ok(context)
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
    pub(crate) fn new(app: &Arc<App>) -> Self {
        app.streams.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(app))
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
        let own = tokens::mint(
            TokenRequest {
                name: "serve".to_owned(),
                role: Role::Admin,
                daily_cap_usd: None,
            },
            now,
        );
        let told = Ready {
            address,
            token: own.token.clone(),
        };
        let app = Arc::new(App {
            log: ServiceLog::open(&context),
            opens,
            opened: Mutex::new(Some((Instant::now(), context))),
            options,
            address,
            own,
            writes: Semaphore::new(WRITES),
            at_once: Semaphore::new(AT_ONCE),
            stop: stop.0.subscribe(),
            keys: Mutex::default(),
            streams: AtomicUsize::new(0),
            metrics: metrics::Metrics::default(),
            hub: events::Hub::default(),
        });
        kept = Some(Arc::clone(&app));
        let following = Arc::clone(&app);
        std::thread::spawn(move || events::Hub::follow(&following));
        let attending = Arc::clone(&app);
        std::thread::spawn(move || attend(&attending));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&app));
        ready(&told);
        let mut asked = stop.0.subscribe();
        let mut over = stop.0.subscribe();
        let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
            let _ = asked.wait_for(|asked| *asked).await;
        });
        let too_long = async move {
            let _ = over.wait_for(|asked| *asked).await;
            tokio::time::sleep(LAST_WORDS).await;
        };
        let serving = std::pin::pin!(serving.into_future());
        match futures_util::future::select(serving, std::pin::pin!(too_long)).await {
            futures_util::future::Either::Left((ended, _)) => ended,
            futures_util::future::Either::Right(((), _)) => Ok(()),
        }
    });
    // What a handler still does is finished by the next start.
    runtime.shutdown_timeout(Duration::from_secs(1));
    drop(kept);
    ended
}

/// Tells people outside of what happens, until the service stops.
fn attend(app: &App) {
    let mut told = Vec::new();
    while !app.is_stopping() {
        let attended = app.context().and_then(|context| notify::attend(&context));
        let troubles = attended.map_or_else(|error| vec![error.to_string()], |done| done.troubles);
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

async fn answer(State(app): State<Arc<App>>, request: Request) -> axum::response::Response {
    dispatch::answer(app, request).await
}
