//! Workers that follow: processes that carry out what is submitted, one run after the other.
//!
//! `serve --workers N` keeps N of `run worker --follow` alive; each of these starts an ordinary
//! `run worker` for every order, so that guards, signals and budgets are those of any worker. A
//! follower whose parent is gone lets its worker drain and ends.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::cli::Global;
use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::signal::{self, STOP_GRACE, Signal};
use crate::cli::ui::Ui;
use archi3d_core::domain::id::RunId;
use archi3d_core::ops::OpsContext;
use archi3d_core::ops::guard::{ask_to_end, parent_id, spawn_apart};
use archi3d_core::ops::submit::{Spent, WorkOrder, orders};

/// Set for a follower that does not say that it follows.
const SILENT: &str = "ARCHI3D_FOLLOWS_SILENTLY";

/// How often new orders are looked for.
const LOOK: Duration = Duration::from_millis(500);

/// How long an order that led to nothing is left alone.
const REST: Duration = Duration::from_secs(30);

/// The same after one that was carried out.
const REST_AFTER_DONE: Duration = Duration::from_secs(2);

/// Followers that are kept alive.
pub struct Followers {
    ending: Arc<AtomicBool>,
    keepers: Vec<JoinHandle<()>>,
}

impl Followers {
    /// Starts so many followers for a workspace.
    pub fn start(
        count: usize,
        workspace: &Path,
        store: Option<&str>,
        grace: Option<Duration>,
    ) -> io::Result<Self> {
        let ending = Arc::new(AtomicBool::new(false));
        let mut keepers = Vec::new();
        for place in 0..count {
            let program = std::env::current_exe()?;
            let (ending, workspace) = (Arc::clone(&ending), workspace.to_owned());
            let store = store.map(str::to_owned);
            keepers.push(thread::spawn(move || {
                keep(&ending, || {
                    let mut command = command(&program, &workspace, store.as_deref(), grace);
                    command.args(["run", "worker", "--follow"]);
                    if place > 0 {
                        // One of them says what all do.
                        command.env(SILENT, "1");
                    }
                    command
                });
            }));
        }
        Ok(Self { ending, keepers })
    }

    /// Lets them drain, and waits for that.
    pub fn end(self) {
        self.ending.store(true, Ordering::SeqCst);
        for keeper in self.keepers {
            let _ = keeper.join();
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program itself, as a worker of its own"
)]
fn command(
    program: &Path,
    workspace: &Path,
    store: Option<&str>,
    grace: Option<Duration>,
) -> Command {
    let mut command = Command::new(program);
    command.arg("--workspace").arg(workspace);
    if let Some(store) = store {
        command.env("ARCHI3D_STORE", store);
    }
    if let Some(grace) = grace {
        command.env(STOP_GRACE, grace.as_secs_f64().to_string());
    }
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Keeps one process alive until the end is asked for.
fn keep(ending: &AtomicBool, command: impl Fn() -> Command) {
    while !ending.load(Ordering::SeqCst) {
        let began = Instant::now();
        if let Ok(mut child) = spawn_apart(&mut command()) {
            wait(&mut child, || ending.load(Ordering::SeqCst));
        }
        while began.elapsed() < Duration::from_secs(2) && !ending.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Waits for a process; asks it to end once `enough` says so. Returns its exit code.
fn wait(child: &mut Child, enough: impl Fn() -> bool) -> Option<i32> {
    let mut asked = false;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.code(),
            Ok(None) => {}
            Err(_) => return None,
        }
        if !asked && enough() {
            ask_to_end(child);
            asked = true;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Carries out what is submitted until a signal comes: `run worker --follow`.
pub fn follow(
    global: &Global,
    parallel: usize,
    grace: Option<Duration>,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let context = global.context()?;
    let root: PathBuf = context.workspace.root().to_owned();
    let program = std::env::current_exe()
        .map_err(|error| CliError::new(ErrorKind::Internal, anyhow::Error::new(error)))?;
    let first: Arc<std::sync::OnceLock<Signal>> = Arc::default();
    let heard = Arc::clone(&first);
    signal::listen(move |signal| {
        let _ = heard.set(signal);
    })
    .map_err(|error| CliError::new(ErrorKind::Internal, anyhow::Error::new(error)))?;
    let parent = parent_id();
    let over = || first.get().is_some() || parent_id() != parent;
    let mut resting: HashMap<RunId, Instant> = HashMap::new();
    let mut before = context;
    let mut spent = Spent::default();
    if std::env::var_os(SILENT).is_none() {
        ui.say("following: runs that are submitted are carried out until Ctrl-C");
    }
    while !over() {
        resting.retain(|_, until| *until > Instant::now());
        // What cannot be read now may be readable soon.
        if let Ok(context) = OpsContext::open(Some(&root)) {
            let context = context.with_store(global.store.as_deref());
            before = context.going_on(&before);
        }
        let waiting = orders(&before, &mut spent).unwrap_or_default().into_iter();
        let mut waiting = waiting.filter(|order| !resting.contains_key(&order.run_id));
        let next = waiting.find_map(|order| {
            let following = order.take(&before).ok().flatten()?;
            Some((order, following))
        });
        let Some((order, _following)) = next else {
            thread::sleep(LOOK);
            continue;
        };
        let mut command = command(&program, &root, global.store.as_deref(), grace);
        command.args(arguments(&order, parallel));
        let code = match spawn_apart(&mut command) {
            Ok(mut child) => wait(&mut child, over),
            Err(_) => None,
        };
        // What is left after a good end is another worker's.
        let rest = if code == Some(0) {
            REST_AFTER_DONE
        } else {
            REST
        };
        resting.insert(order.run_id.clone(), Instant::now() + rest);
    }
    Ok(first
        .get()
        .map_or(Exit::Done, |signal| Exit::Interrupted(*signal)))
}

fn arguments(order: &WorkOrder, parallel: usize) -> Vec<String> {
    let text = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let mut arguments = text(&["run", "worker", "--run-id", order.run_id.as_str()]);
    let parallel = order.max_parallel.unwrap_or(parallel).to_string();
    arguments.extend(text(&["--max-parallel", &parallel]));
    if let Some(usd) = order.max_cost_usd {
        // That much was agreed to; an order of an earlier version without a limit is asked about.
        arguments.extend(text(&["--yes", "--budget-usd", &usd.to_string()]));
    }
    if order.reuse {
        arguments.push("--reuse".to_owned());
    }
    arguments.extend(text(&["--only-status", "enqueued,running"]));
    if let Some(jobs) = order.pattern() {
        arguments.extend(text(&["--jobs", &jobs]));
    }
    arguments
}
