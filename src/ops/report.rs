//! `report build`: what a run brought for the money, as a folder that opens in a browser.
//!
//! Pictures, posters and models lie under the hash of their content and are written
//! first; `data.js`, which names them, last. So building again writes only what is new,
//! and whoever has the page open never sees half of it. Reads the workspace, writes only
//! in the report's folder.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::domain::id::RunId;
use crate::ops::{OpsContext, OpsError};
use crate::platform;
use crate::store::csv;
use crate::store::error::IoContext;
use crate::workspace::durable;

mod assets;
mod data;
mod gather;
mod look;
mod pack;

use assets::Asset;
use data::Data;
use gather::Gathered;
use look::Gallery;

/// Files of an earlier build that nothing names any more stay this long, for pages that
/// are still open.
const KEPT: Duration = Duration::from_secs(86_400);

/// Which models a report holds itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Models {
    /// As many as the limit allows, where algorithms differ most first.
    Auto,
    /// Every one.
    All,
    /// None: pictures of them only.
    None,
}

/// What to build.
#[derive(Debug, Clone)]
pub struct ReportRequest {
    /// The runs to show.
    pub runs: Vec<RunId>,
    /// The run to compare them with.
    pub against: Option<RunId>,
    /// Where; `reports/<run>` unless said.
    pub out: Option<PathBuf>,
    /// Only these algorithms, if any is named.
    pub algos: Vec<String>,
    /// Only these products, if any is named.
    pub items: Vec<String>,
    /// Which models go in.
    pub models: Models,
    /// How many bytes of them at most, with [`Models::Auto`].
    pub most_bytes: u64,
    /// Also as one file.
    pub single_file: bool,
}

impl ReportRequest {
    fn all_runs(&self) -> impl Iterator<Item = &RunId> {
        let against = self.against.iter();
        self.runs
            .iter()
            .chain(against.filter(|run| !self.runs.contains(run)))
    }

    fn fits(&self, algo: &str, product: &str) -> bool {
        let among =
            |list: &[String], value: &str| list.is_empty() || list.iter().any(|one| one == value);
        among(&self.algos, algo) && among(&self.items, product)
    }

    fn title(&self) -> String {
        let runs: Vec<&str> = self.runs.iter().map(RunId::as_str).collect();
        match (&runs[..], &self.against) {
            ([only], None) => format!("Run {only}"),
            ([only], Some(against)) => format!("Run {only} against {against}"),
            _ => format!("Runs {}", runs.join(", ")),
        }
    }
}

/// What was built.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ReportBuilt {
    /// The page to open.
    pub index: PathBuf,
    /// The report as one file, if asked for.
    pub single_file: Option<PathBuf>,
    /// Jobs that are shown.
    pub jobs: usize,
    /// Items that are shown.
    pub items: usize,
    /// Different models, and how many of them are in the report.
    pub models: usize,
    /// See `models`.
    pub models_inside: usize,
    /// Models without a picture of ours.
    pub without_poster: usize,
    /// Everything in the folder, in bytes.
    pub bytes: u64,
    /// What was odd, one sentence each.
    pub warnings: Vec<String>,
}

fn setup(message: &str, hint: &str) -> OpsError {
    OpsError::Setup {
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    }
}

/// Builds a report; `each` is called for every model that was looked at.
pub fn build(
    context: &OpsContext,
    request: &ReportRequest,
    each: &(dyn Fn() + Sync),
) -> Result<ReportBuilt, OpsError> {
    context.expect_workspace()?;
    for run in request.all_runs() {
        csv::refuse_linked_run(&context.workspace, run)?;
        if !context.workspace.has_run(run) {
            return Err(setup(
                &format!("run {run} does not exist"),
                "`archi3d run list` shows the runs",
            ));
        }
    }
    let mut gathered = gather::gather(context, request)?;
    let folder = folder_of(context, request)?;
    fs::create_dir_all(&folder).context("create", &folder)?;
    let built = fill(context, request, &folder, &mut gathered, each);
    Ok(built.context("write", &folder)?)
}

/// Opens a page in the person's browser.
pub fn show(page: &Path) -> io::Result<()> {
    platform::show(page)
}

/// Returns the report's folder, which must be new, empty or a report.
fn folder_of(context: &OpsContext, request: &ReportRequest) -> Result<PathBuf, OpsError> {
    let name = match &request.runs[..] {
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first}+{}", rest.len()),
        [] => {
            return Err(setup(
                "no run was named",
                "`archi3d run list` shows the runs",
            ));
        }
    };
    let usual = || context.workspace.root().join("reports").join(name);
    let folder = request.out.clone().unwrap_or_else(usual);
    let is_report = folder.join("data.js").exists() || folder.join(".facts.json").exists();
    let is_used = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !is_report {
        return Err(setup(
            &format!("{} is not empty and holds no report", folder.display()),
            "name a new folder with --out",
        ));
    }
    Ok(folder)
}

fn fill(
    context: &OpsContext,
    request: &ReportRequest,
    folder: &Path,
    gathered: &mut Gathered,
    each: &(dyn Fn() + Sync),
) -> io::Result<ReportBuilt> {
    let mut gallery = Gallery::open(&context.workspace, folder);
    add_pictures(&gallery, gathered)?;
    add_models(&mut gallery, gathered, each)?;
    let order = payload_order(&gathered.data);
    let most = match request.models {
        Models::Auto => request.most_bytes,
        Models::All => u64::MAX,
        Models::None => 0,
    };
    let wanted = if request.models == Models::None {
        &[][..]
    } else {
        &order[..]
    };
    let inside = pack::payloads(&gallery, folder, wanted, most)?;
    let packed: HashSet<&str> = order[..inside]
        .iter()
        .map(|(sha256, _)| sha256.as_str())
        .collect();
    for model in all_models(&mut gathered.data) {
        model.payload = packed.contains(model.sha256.as_str());
    }
    for asset in Asset::ALL {
        let path = folder.join(asset.name());
        durable::replace_unsynced(&path, assets::text(asset).as_bytes(), "report")?;
    }
    let script = gathered.data.script();
    durable::replace_unsynced(&folder.join("data.js"), script.as_bytes(), "report")?;
    let single_file = request
        .single_file
        .then(|| write_single(folder, &gathered.data))
        .transpose()?;
    let data = &mut gathered.data;
    remove_old(folder, &names_in(data))?;
    let without_poster = all_models(data).filter(|model| !model.poster).count();
    Ok(ReportBuilt {
        index: folder.join(Asset::Index.name()),
        single_file,
        jobs: data.jobs.len(),
        items: data.items.len(),
        models: order.len(),
        models_inside: inside,
        without_poster,
        bytes: size_of(folder)?,
        warnings: std::mem::take(&mut gathered.warnings),
    })
}

fn add_pictures(gallery: &Gallery<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let names: BTreeSet<String> = gathered
        .items
        .iter()
        .flat_map(|item| item.pictures.iter().cloned())
        .collect();
    let names: Vec<String> = names.into_iter().collect();
    let made = gallery.pictures(&names)?;
    let mut missing = 0;
    for (item, files) in gathered.data.items.iter_mut().zip(&gathered.items) {
        let found = files
            .pictures
            .iter()
            .filter_map(|name| made.get(name).cloned());
        item.pictures = found.collect();
        missing += files.pictures.len() - item.pictures.len();
    }
    if missing > 0 {
        gathered
            .warnings
            .push(format!("{missing} source pictures cannot be read"));
    }
    Ok(())
}

fn add_models(
    gallery: &mut Gallery<'_>,
    gathered: &mut Gathered,
    each: &(dyn Fn() + Sync),
) -> io::Result<()> {
    let is_glb = |name: &String| name.to_ascii_lowercase().ends_with(".glb");
    let truths = gathered
        .items
        .iter()
        .map(|item| &item.truth)
        .filter(|name| is_glb(name));
    let made = gathered.models.iter().filter(|name| !name.is_empty());
    let names: BTreeSet<String> = made.chain(truths).cloned().collect();
    let names: Vec<String> = names.into_iter().collect();
    let found: HashMap<String, data::Model> = gallery.models(&names, each)?;
    for (job, name) in gathered.data.jobs.iter_mut().zip(&gathered.models) {
        job.model = found.get(name).cloned();
        // A model that was made again has not been measured yet.
        let made = job.model.as_ref().map(|model| model.sha256.as_str());
        job.score
            .take_if(|score| !score.of.is_empty() && made != Some(score.of.as_str()));
    }
    for (item, files) in gathered.data.items.iter_mut().zip(&gathered.items) {
        item.truth = found.get(&files.truth).cloned();
    }
    Ok(())
}

fn all_models(data: &mut Data) -> impl Iterator<Item = &mut data::Model> {
    let jobs = data.jobs.iter_mut().filter_map(|job| job.model.as_mut());
    let truths = data.items.iter_mut().filter_map(|item| item.truth.as_mut());
    jobs.chain(truths)
}

/// Returns every model once, those of the items that algorithms differ on most first.
fn payload_order(data: &Data) -> Vec<(String, String)> {
    let mut by_item: Vec<(f64, Vec<&data::Model>)> = data
        .items
        .iter()
        .map(|item| (0.0, item.truth.iter().collect()))
        .collect();
    for (place, (weight, models)) in by_item.iter_mut().enumerate() {
        let jobs: Vec<&data::Job> = data.jobs.iter().filter(|job| job.item == place).collect();
        *weight = disagreement(&jobs);
        models.extend(jobs.iter().filter_map(|job| job.model.as_ref()));
    }
    by_item.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut seen = HashSet::new();
    let models = by_item.into_iter().flat_map(|(_, models)| models);
    models
        .filter(|model| !model.sha256.is_empty() && seen.insert(model.sha256.clone()))
        .map(|model| (model.sha256.clone(), model.path.clone()))
        .collect()
}

/// Tells how much algorithms differ on an item, as the page does.
fn disagreement(jobs: &[&data::Job]) -> f64 {
    let done: Vec<&&data::Job> = jobs.iter().filter(|job| job.model.is_some()).collect();
    let failed = jobs.iter().filter(|job| job.state == "failed").count();
    let mixed = failed.min(done.len()) as f64 / jobs.len().max(1) as f64;
    let spread = |values: Vec<f64>| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if values.len() > 1 { high - low } else { 0.0 }
    };
    let scores = done.iter().filter_map(|job| job.score.as_ref()?.fscore);
    let sizes = done.iter().filter_map(|job| job.model.as_ref());
    let sizes = sizes.map(|model| (model.triangles.max(1) as f64).log10());
    mixed * 4.0 + spread(scores.collect()) * 2.0 + spread(sizes.collect()) / 10.0
}

fn write_single(folder: &Path, data: &Data) -> io::Result<PathBuf> {
    let page = pack::single_file(folder, data)?;
    let path = folder.join("report.html");
    durable::replace_unsynced(&path, &page, "report")?;
    Ok(path)
}

/// Returns the names of content files that the data refers to.
fn names_in(data: &mut Data) -> HashSet<String> {
    let pictures = data.items.iter().flat_map(|item| &item.pictures);
    let mut names: HashSet<String> = pictures.map(|picture| picture.sha256.clone()).collect();
    names.extend(all_models(data).map(|model| model.sha256.clone()));
    names
}

/// Removes what earlier builds left and nobody can still be looking at.
fn remove_old(folder: &Path, used: &HashSet<String>) -> io::Result<()> {
    for kind in ["posters", "pictures", "models"] {
        let Ok(entries) = fs::read_dir(folder.join(kind)) else {
            continue;
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let hash = name.split('.').next().unwrap_or_default();
            let is_ours = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_ours || used.contains(hash) {
                continue;
            }
            let age = entry.metadata()?.modified().ok().and_then(age_of);
            if age.is_some_and(|age| age > KEPT) {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "compared with the file system's own clock, nothing is recorded"
)]
fn age_of(modified: SystemTime) -> Option<Duration> {
    SystemTime::now().duration_since(modified).ok()
}

fn size_of(folder: &Path) -> io::Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += if metadata.is_dir() {
            size_of(&entry.path())?
        } else {
            metadata.len()
        };
    }
    Ok(total)
}
