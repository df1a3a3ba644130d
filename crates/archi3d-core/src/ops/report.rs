//! `report build`: what a run brought for the money, as a folder that opens in a browser.
//!
//! Pictures, posters and models lie under the hash of their content and are written
//! first, then `data.js`, which names them, and the page last. So building again writes
//! only what is new, and nobody ever sees half of it. Reads the workspace, writes only in
//! the report's folder and the zip beside it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::domain::id::RunId;
use crate::domain::job::Status;
use crate::ops::{OpsContext, OpsError};
use crate::platform;
use crate::store::bounds;
use crate::store::error::IoContext;
use crate::workspace::durable;

mod assets;
mod chosen;
mod data;
mod folder;
mod gather;
mod look;
mod pack;
mod row;
mod zip;

pub use chosen::Chosen;
pub use data::LeftOut;

use assets::Asset;
use data::Data;
use gather::Gathered;
use look::Gallery;

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
    /// Only these jobs of theirs.
    pub chosen: Chosen,
    /// Which models go in.
    pub models: Models,
    /// How many bytes of them at most, with [`Models::Auto`].
    pub most_bytes: u64,
    /// Also as one file.
    pub single_file: bool,
    /// Also as a zip beside the folder.
    pub zip: bool,
}

impl ReportRequest {
    fn all_runs(&self) -> impl Iterator<Item = &RunId> {
        let against = self.against.iter();
        self.runs
            .iter()
            .chain(against.filter(|run| !self.runs.contains(run)))
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
    /// The folder as a zip, if asked for.
    pub zip: Option<PathBuf>,
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
    /// Jobs that are not shown, and why.
    pub left_out: Vec<LeftOut>,
    /// What was odd, one sentence each.
    pub warnings: Vec<String>,
}

fn setup(message: &str, hint: &str) -> OpsError {
    OpsError::Setup {
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    }
}

/// Hears how many models were looked at, of how many.
pub type Each<'e> = &'e (dyn Fn(usize, usize) + Sync);

/// Builds a report; `each` is called for every model that was looked at.
pub fn build(
    context: &OpsContext,
    request: &ReportRequest,
    each: Each<'_>,
) -> Result<ReportBuilt, OpsError> {
    context.expect_workspace()?;
    for run in request.all_runs() {
        bounds::refuse_linked_run(&context.workspace, run)?;
        if !context.workspace.has_run(run) {
            return Err(setup(
                &format!("run {run} does not exist"),
                "`archi3d run list` shows the runs",
            ));
        }
    }
    let mut gathered = gather::gather(context, request)?;
    let folder = folder::of(context, request)?;
    let _alone = folder::claim(&folder)?;
    let built = fill(context, request, &folder, &mut gathered, each);
    Ok(built.context("write", &folder)?)
}

/// Opens a page in the person's browser.
pub fn show(page: &Path) -> io::Result<()> {
    platform::show(page)
}

fn fill(
    context: &OpsContext,
    request: &ReportRequest,
    folder: &Path,
    gathered: &mut Gathered,
    each: Each<'_>,
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
    // What names others comes after them, and the page that people open last.
    for asset in Asset::ALL {
        write(folder, asset.name(), assets::text(asset))?;
    }
    let data = &mut gathered.data;
    data.notes.clone_from(&gathered.warnings);
    write(folder, "data.js", &data.script())?;
    write(folder, Asset::Index.name(), assets::text(Asset::Index))?;
    let content = folder::content(data);
    let single_file = request
        .single_file
        .then(|| write_single(folder, data, &content))
        .transpose()?;
    let zip = request
        .zip
        .then(|| pack::zip(folder, &content))
        .transpose()?;
    folder::remove_old(folder, &content)?;
    let undrawn = all_models(data).filter(|model| !model.poster);
    let undrawn: HashSet<&str> = undrawn.map(|model| model.path.as_str()).collect();
    let without_poster = undrawn.len();
    Ok(ReportBuilt {
        index: folder.join(Asset::Index.name()),
        single_file,
        zip,
        jobs: data.jobs.len(),
        items: data.items.len(),
        models: order.len(),
        models_inside: inside,
        without_poster,
        bytes: folder::size(folder, &content)?,
        left_out: data.left_out.clone(),
        warnings: std::mem::take(&mut gathered.warnings),
    })
}

/// Replaces a file of the report, unless it says so already.
fn write(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let path = folder.join(name);
    if path.exists() && durable::says(&path, text.as_bytes())? {
        return Ok(());
    }
    durable::replace_unsynced(&path, text.as_bytes(), "report").map(drop)
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
        item.missing = files.pictures.len() - item.pictures.len();
        missing += item.missing;
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
    each: Each<'_>,
) -> io::Result<()> {
    let is_glb = |name: &String| name.to_ascii_lowercase().ends_with(".glb");
    let truths = gathered
        .items
        .iter()
        .map(|item| &item.truth)
        .filter(|name| is_glb(name));
    let made = gathered.models.iter().map(|files| &files.model);
    let made = made.filter(|name| !name.is_empty());
    let names: BTreeSet<String> = made.chain(truths).cloned().collect();
    let names: Vec<String> = names.into_iter().collect();
    let found: HashMap<String, data::Model> = gallery.models(&names, each)?;
    let mut previews = BTreeSet::new();
    for (job, files) in gathered.data.jobs.iter_mut().zip(&gathered.models) {
        job.model = found.get(&files.model).cloned();
        // A model that was made again has not been measured yet.
        let made = job.model.as_ref().map(|model| model.sha256.as_str());
        job.score
            .take_if(|score| !score.of.is_empty() && made != Some(score.of.as_str()));
        job.measures
            .retain(|measure| made == Some(measure.of.as_str()));
        let undrawn = job.model.as_ref().is_some_and(|model| !model.poster);
        if undrawn && !files.preview.is_empty() {
            previews.insert(files.preview.clone());
        }
    }
    let previews: Vec<String> = previews.into_iter().collect();
    let previews = gallery.pictures(&previews)?;
    for (job, files) in gathered.data.jobs.iter_mut().zip(&gathered.models) {
        if let Some(model) = job.model.as_mut().filter(|model| !model.poster) {
            let own = previews.get(&files.preview);
            model.preview = own.map(|picture| picture.sha256.clone());
        }
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
    let mut jobs_of: Vec<Vec<&data::Job>> = vec![Vec::new(); data.items.len()];
    for job in &data.jobs {
        jobs_of[job.item].push(job);
    }
    for ((weight, models), jobs) in by_item.iter_mut().zip(&jobs_of) {
        *weight = disagreement(jobs);
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
    let failed = jobs
        .iter()
        .filter(|job| job.state == Status::Failed.word())
        .count();
    let mixed = failed.min(done.len()) as f64 / jobs.len().max(1) as f64;
    let spread = |values: Vec<f64>| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if values.len() > 1 { high - low } else { 0.0 }
    };
    let scores = done.iter().filter_map(|job| job.score.as_ref()?.fscore);
    let sizes = done.iter().filter_map(|job| job.model.as_ref());
    let sizes = sizes.filter_map(|model| model.triangles);
    let sizes = sizes.map(|triangles| (triangles.max(1) as f64).log10());
    mixed * 4.0 + spread(scores.collect()) * 2.0 + spread(sizes.collect()) / 10.0
}

fn write_single(folder: &Path, data: &Data, content: &[String]) -> io::Result<PathBuf> {
    let page = pack::single_file(folder, data, content)?;
    let path = folder.join("report.html");
    durable::replace_unsynced(&path, &page, "report")?;
    Ok(path)
}
