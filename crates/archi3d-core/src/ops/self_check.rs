//! `self-check`: whether this program works on this machine, tried in a folder that is gone afterwards.
//!
//! Goes through the same functions as the commands: the demo, its models, its report, a check-up of what they left, and
//! where a store is named a run of two workers on it. Everything is one line that says what was seen, or what to do.

use std::fs;
use std::net::ToSocketAddrs as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use crate::cancel::{Cancel, Stage};
use crate::domain::finding::Severity;
use crate::domain::text::{counted, one_line};
use crate::engine::event::{Event, Sink};
use crate::model;
use crate::ops::OpsError;
use crate::ops::demo::{self, DemoReport, DemoRequest, demo};
use crate::ops::doctor::{self, DoctorRequest, Target};
use crate::platform::place;
use crate::workspace::durable;

#[cfg(feature = "postgres")]
mod fleet;

#[cfg(feature = "postgres")]
pub(super) use fleet::PREFIX as TRIALS;

/// Pictures of this size are drawn: enough to see every step, and quick.
const PICTURE_SIDE: u32 = 96;

/// So many products are made.
const PRODUCTS: usize = 3;

/// So many synced writes are measured.
const WRITES: u32 = 5;

/// How the folder is called that everything is made in, at first.
const FOLDER: &str = "archi3d-self-check-";

/// Slower than this, every ending waits for the disk.
const SLOW_MS: u128 = 500;

/// What is to be tried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelfCheckRequest {
    /// Where: a folder is made in it and removed afterwards. Nothing means where temporary files are.
    pub place: Option<PathBuf>,
    /// What `--store` says.
    pub store: Option<String>,
    /// What `--artifacts` says.
    pub artifacts: Option<String>,
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// What.
    pub name: &'static str,
    /// Whether it works.
    pub ok: bool,
    /// What was seen.
    pub what: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// How long it took.
    pub ms: u64,
}

/// What one trial found out: what was seen, or what is wrong and what to do.
type Seen = Result<String, Trouble>;

/// What is wrong, and what to do.
struct Trouble {
    what: String,
    fix: String,
}

impl Trouble {
    fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            fix: fix.into(),
        }
    }
}

impl From<OpsError> for Trouble {
    fn from(error: OpsError) -> Self {
        let fix = error.hint().unwrap_or("fix that and try again").to_owned();
        Self::new(error.to_string(), fix)
    }
}

/// Everything that was tried, in order.
struct Trials<'a> {
    lines: Vec<Line>,
    cancel: &'a Cancel,
    tell: &'a mut dyn FnMut(&Line),
}

impl Trials<'_> {
    /// Tries one thing, unless somebody asked to stop.
    fn attempt(&mut self, name: &'static str, look: impl FnOnce() -> Seen) {
        if self.cancel.stage() == Stage::Go {
            self.always(name, look);
        }
    }

    /// Tries one thing even then: what was made must go.
    fn always(&mut self, name: &'static str, look: impl FnOnce() -> Seen) {
        let began = Instant::now();
        let (what, fix) = match look() {
            Ok(what) => (what, None),
            Err(trouble) => (trouble.what, Some(trouble.fix)),
        };
        let line = Line {
            name,
            ok: fix.is_none(),
            what: one_line(&what),
            fix,
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        (self.tell)(&line);
        self.lines.push(line);
    }
}

/// Nobody listens to the jobs.
struct Deaf;

impl Sink for Deaf {
    fn report(&self, _event: &Event) {}
}

/// Tries everything; each line is told as soon as it is known.
pub fn self_check(
    request: &SelfCheckRequest,
    cancel: &Cancel,
    tell: &mut dyn FnMut(&Line),
) -> Result<Vec<Line>, OpsError> {
    let place = request.place.clone().unwrap_or_else(std::env::temp_dir);
    let made = tempfile::Builder::new().prefix(FOLDER).tempdir_in(&place);
    let folder = made.map_err(|error| OpsError::Setup {
        message: format!("no folder can be made in {}: {error}", place.display()),
        hint: Some("name one that can be written: `archi3d self-check DIR`".into()),
    })?;
    let mut trials = Trials {
        lines: Vec::new(),
        cancel,
        tell,
    };
    trials.attempt("folder", || look_at_folder(folder.path()));
    trials.attempt("synced writes", || write_and_sync(folder.path()));
    #[cfg(feature = "postgres")]
    trials.attempt("certificates", look_for_certificates);
    trials.attempt("names", || look_names_up(None));
    let workspace = folder.path().join("demo");
    let mut made = None;
    trials.attempt("demo", || make_demo(&workspace, cancel, &mut made));
    if let Some(report) = made {
        trials.attempt("models", || look_at_models(&workspace));
        trials.attempt("report", || look_at_page(&report));
        trials.attempt("check-up", || look_at_all(&workspace));
        #[cfg(feature = "postgres")]
        {
            let context = crate::ops::OpsContext::open(Some(&workspace))?;
            let context = context.with_store(request.store.as_deref());
            fleet::look(&context, request, folder.path(), &mut trials)?;
        }
    }
    let lines = trials.lines;
    // What cannot be removed is in the folder for temporary files, which others clean.
    drop(folder);
    Ok(lines)
}

fn look_at_folder(folder: &Path) -> Seen {
    let space = place::space(folder).map_err(|error| {
        Trouble::new(
            format!("cannot read the free space: {error}"),
            "try another folder: `archi3d self-check DIR`",
        )
    })?;
    let kind = place::mount(folder).map_or_else(|| "a file system".to_owned(), |mount| mount.kind);
    let free = space.free_bytes >> 20;
    if space.free_bytes < doctor::LOW_BYTES {
        return Err(Trouble::new(
            format!("only {free} MB are free in {}", folder.display()),
            "make room, or try another disk: `archi3d self-check DIR`",
        ));
    }
    let above = folder.parent().unwrap_or(folder).display();
    Ok(format!("{above}: {kind}, {free} MB free"))
}

/// Writes as the registry is written: beside, synced, renamed, read again.
fn write_and_sync(folder: &Path) -> Seen {
    let path = folder.join("written");
    let fix = "use a folder on a disk that keeps what it confirms: `archi3d self-check DIR`";
    let trouble = |what: String| Trouble::new(what, fix);
    let began = Instant::now();
    for number in 0..WRITES {
        let text = format!("{number}\n").repeat(1000);
        durable::replace(&path, text.as_bytes(), "self-check")
            .map_err(|error| trouble(format!("a file cannot be replaced durably: {error}")))?;
        let read = fs::read(&path)
            .map_err(|error| trouble(format!("what was written cannot be read: {error}")))?;
        if read != text.as_bytes() {
            return Err(trouble("what was written reads otherwise".to_owned()));
        }
    }
    let each = began.elapsed().as_millis() / u128::from(WRITES);
    if each > SLOW_MS {
        return Err(trouble(format!("a synced write takes {each} ms")));
    }
    Ok(format!("{each} ms each"))
}

#[cfg(feature = "postgres")]
fn look_for_certificates() -> Seen {
    let found = crate::store::fleet::machine_certificates();
    found.map_err(|error| {
        Trouble::new(
            format!("certificates of services cannot be checked: {error}"),
            "install the package ca-certificates, or name a bundle in SSL_CERT_FILE",
        )
    })?;
    Ok("authorities for https and sslmode=verify-full are there".to_owned())
}

/// Looks up what this machine is called by itself, and the host that is named. A static program that was built with glibc still
/// loads what `/etc/nsswitch.conf` names, and may not find it.
fn look_names_up(host: Option<&str>) -> Seen {
    let names = ["localhost"].into_iter().chain(host);
    let mut found = Vec::new();
    for name in names {
        (name, 0).to_socket_addrs().map_err(|error| {
            Trouble::new(
                format!("the name {name} cannot be looked up: {error}"),
                "see to /etc/hosts, /etc/resolv.conf and the line `hosts:` of /etc/nsswitch.conf, where `files dns` works everywhere",
            )
        })?;
        found.push(name);
    }
    Ok(format!("{} found", found.join(" and ")))
}

fn make_demo(workspace: &Path, cancel: &Cancel, made: &mut Option<DemoReport>) -> Seen {
    let request = DemoRequest {
        folder: workspace.to_owned(),
        picture_size: PICTURE_SIDE,
        most_products: Some(PRODUCTS),
    };
    let report = demo(&request, cancel, Arc::new(Deaf), &mut |_| {})?;
    let summary = report.summary.as_ref();
    let (completed, failed) = summary.map_or((0, 0), |summary| (summary.completed, summary.failed));
    if failed > 0 || completed == 0 {
        let what = format!("{completed} of its jobs completed, {failed} failed");
        return Err(Trouble::new(what, "`archi3d demo DIR` shows why"));
    }
    *made = Some(report);
    Ok(format!("{} completed", counted(completed, "job")))
}

fn look_at_models(workspace: &Path) -> Seen {
    let fix = "`archi3d demo DIR` and a look at runs/demo/outputs show more";
    let trouble = |what: String| Trouble::new(what, fix);
    let outputs = workspace.join("runs").join(demo::RUN).join("outputs");
    let listed = fs::read_dir(&outputs).map_err(|error| trouble(error.to_string()))?;
    let (mut models, mut triangles) = (0, 0);
    for entry in listed.flatten() {
        let path = entry.path().join("generated.glb");
        if !path.is_file() {
            continue;
        }
        let bytes = fs::read(&path).map_err(|error| trouble(error.to_string()))?;
        let found = model::read(&bytes).map_err(|error| trouble(error.to_string()))?;
        models += 1;
        triangles += found.triangles();
    }
    if triangles == 0 {
        return Err(trouble(format!("{models} models without a triangle")));
    }
    Ok(format!("{models} read back, {triangles} triangles"))
}

fn look_at_page(report: &DemoReport) -> Seen {
    let page = report.page.as_ref().filter(|page| page.is_file());
    if page.is_none() {
        let what = report.warnings.first().cloned();
        let what = what.unwrap_or_else(|| "there is no page".to_owned());
        return Err(Trouble::new(what, "`archi3d report build demo` shows more"));
    }
    Ok("built".to_owned())
}

/// The check-up that people can ask for, with every result read; it tries locks with a second process.
fn look_at_all(workspace: &Path) -> Seen {
    let request = DoctorRequest {
        run_id: None,
        deep: true,
    };
    let checkup = doctor::examine(&Target::find(Some(workspace))?, &request)?;
    let worst = checkup
        .findings
        .iter()
        .find(|finding| finding.severity > Severity::Note);
    if let Some(finding) = worst {
        let fix = finding
            .fix
            .clone()
            .unwrap_or_else(|| finding.why.to_owned());
        return Err(Trouble::new(finding.what.clone(), fix));
    }
    let locks = checkup.facts.iter().find(|(name, _)| *name == "locks");
    let locks = locks.map_or("not tried", |(_, said)| said.as_str());
    if locks != doctor::LOCKS_EXCLUDE {
        let fix = "let the program start itself: it is not where it was started from, or no process can be started";
        return Err(Trouble::new(format!("locks: {locks}"), fix));
    }
    Ok(format!("healthy; locks {locks}"))
}
