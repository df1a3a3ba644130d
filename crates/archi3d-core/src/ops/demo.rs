//! `demo`: a workspace with pictures of its own, from dataset to finished models.
//!
//! Goes the way a person would: pictures, catalog, batch, worker, status, report. It
//! writes only into a new folder or one that it made itself, and what is done
//! already is not done again.

use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::fs;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageFormat};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cancel::{Cancel, Stage};
use crate::domain::id::RunId;
use crate::domain::job::Status;
use crate::engine::event::{Sink, Summary};
use crate::ops::batch::{self, BatchReport, BatchRequest, ConfiguredAlgos};
use crate::ops::catalog::{self, CatalogReport, CatalogRequest};
use crate::ops::init::lay_out;
use crate::ops::report::{self, Chosen, Models, ReportRequest};
use crate::ops::run::run_worker;
use crate::ops::select::WorkerRequest;
use crate::ops::status::run_status;
use crate::ops::view::lossy;
use crate::ops::{OpsContext, OpsError};
use crate::platform;
use crate::store::error::{IoContext, StoreError};

mod model;
mod render;
mod scene;

use scene::{Format, Product, products};

/// The run that the demo makes.
pub const RUN: &str = "demo";

/// The algorithms it compares: both are built in, cost nothing and need no account.
const ALGOS: &str = "relief,relief_flat";

/// What the workspace adds to them: nothing yet.
const ADAPTERS: &str = "\
# The demo uses two algorithms that the program has by itself: relief and relief_flat.
# Add your own below, or change an option of a known one; `archi3d config show adapters`
# prints everything that is in force.
adapters:
  relief:
    # Cells on the longer side of a picture; more are finer and take longer.
    resolution: 128
";

const GLOBAL: &str = "\
# What differs from the settings the program has by itself.
algorithms: [relief, relief_flat]
";

const README: &str = "\
# The archi3d demo

Made by `archi3d demo`. Everything in here can be looked at, changed and thrown away.

    dataset/                          pictures that the program drew; gt/ has the real models
    tables/items.csv                  the products, for Excel and pandas
    tables/generations.csv            one row per generation
    runs/demo/outputs/<job>/          the models and their previews
    reports/demo/index.html           everything on one page; opens by double click
    logs/                             what happened, one JSON object a line

    archi3d run status --run-id demo
    archi3d compute fscore demo && archi3d report build demo --open
    archi3d batch create --run-id mine --algos relief --limit 3
    archi3d run worker --run-id mine
";

/// The file by which the demo knows a folder as its own.
const MARK: &str = ".archi3d-demo";

/// How many jobs run at once.
const PARALLEL: usize = 4;

/// What is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoRequest {
    /// The folder.
    pub folder: PathBuf,
    /// The width and height of pictures in pixels.
    pub picture_size: u32,
    /// Only so many of its products.
    pub most_products: Option<usize>,
}

/// What has just been done or begun.
#[derive(Debug)]
pub enum DemoStep<'a> {
    /// Pictures are being drawn, which takes a while.
    Drawing,
    /// The folder and its pictures are there.
    Pictures {
        /// How many were drawn.
        drawn: usize,
        /// How many were there already.
        kept: usize,
    },
    /// The table of products is there.
    Catalog(&'a CatalogReport),
    /// The jobs are there.
    Batch(&'a BatchReport),
    /// The models are being drawn for the report, which takes a while.
    Report,
}

/// How the demo ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DemoReport {
    /// The workspace, absolute.
    #[serde(serialize_with = "lossy")]
    pub workspace: PathBuf,
    /// Its run.
    pub run_id: &'static str,
    /// Whether everything had been done before.
    pub was_done: bool,
    /// How the jobs stand.
    pub counts: BTreeMap<Status, usize>,
    /// What the worker did; nothing if it had nothing to do.
    pub summary: Option<Summary>,
    /// The page that shows the models; nothing if it could not be built.
    #[serde(rename = "report")]
    pub page: Option<PathBuf>,
    /// What is worth telling, one sentence each.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// Makes the demo, or what is missing of it.
pub fn demo(
    request: &DemoRequest,
    cancel: &Cancel,
    sink: Arc<dyn Sink>,
    tell: &mut dyn FnMut(DemoStep<'_>),
) -> Result<DemoReport, OpsError> {
    let folder = &request.folder;
    refuse_foreign(folder)?;
    if let Some(report) = finished(folder)? {
        let page = report
            .workspace
            .join("reports")
            .join(RUN)
            .join("index.html");
        if page.is_file() {
            let page = Some(page);
            return Ok(DemoReport { page, ..report });
        }
        return Ok(with_page(&OpsContext::open(Some(folder))?, report, tell));
    }
    let files = [
        (MARK, "Made by `archi3d demo`, which may write here.\n"),
        ("config/adapters.yaml", ADAPTERS),
        ("config/global.yaml", GLOBAL),
        ("README.md", README),
    ];
    lay_out(folder, &files)?;
    tell(DemoStep::Drawing);
    tell(draw_dataset(folder, request)?);
    let context = OpsContext::open(Some(folder))?;
    let workspace = &context.workspace;
    let clock = &*context.clock;
    let report = catalog::build(workspace, clock, &CatalogRequest::default())?;
    tell(DemoStep::Catalog(&report));
    let jobs = BatchRequest {
        run_id: Some(run_id()),
        algos: Some(ALGOS.into()),
        ..BatchRequest::default()
    };
    let configured = ConfiguredAlgos::of(&context.settings);
    let report = batch::create(&context, &configured, &jobs, &mut |_| true)?;
    tell(DemoStep::Batch(&report));
    let summary = run_worker(&context, &worker_request(), cancel, sink)?;
    let report = DemoReport {
        summary: Some(summary),
        ..current(&context)?
    };
    if cancel.stage() != Stage::Go {
        return Ok(report);
    }
    Ok(with_page(&context, report, tell))
}

/// Builds the page of the run; a demo without one is still a demo.
fn with_page(
    context: &OpsContext,
    mut report: DemoReport,
    tell: &mut dyn FnMut(DemoStep<'_>),
) -> DemoReport {
    let request = ReportRequest {
        runs: vec![run_id()],
        against: None,
        out: None,
        chosen: Chosen::default(),
        models: Models::All,
        most_bytes: 0,
        single_file: false,
        zip: false,
    };
    tell(DemoStep::Report);
    match report::build(context, &request, &|_, _| {}) {
        Ok(built) => report.page = Some(built.index),
        Err(error) => report.warnings.push(format!("there is no report: {error}")),
    }
    report
}

fn run_id() -> RunId {
    RunId::parse(RUN).expect("a constant that is a valid name")
}

fn worker_request() -> WorkerRequest {
    let mut request = WorkerRequest::plain(run_id());
    // Also goes on where an earlier demo was interrupted.
    request.query.only_status = Some(vec![Status::Enqueued, Status::Running]);
    request.max_parallel = PARALLEL;
    request
}

/// Refuses a folder in which somebody else's files are.
fn refuse_foreign(folder: &Path) -> Result<(), StoreError> {
    let mut entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(taken(
                folder,
                "expected a folder for the demo, found a file",
            ));
        }
        Err(error) => return Err(error).context("open", folder),
    };
    if entries.next().is_none() || folder.join(MARK).is_file() {
        return Ok(());
    }
    Err(taken(folder, "the folder has files that are not a demo's"))
}

fn taken(folder: &Path, what: &str) -> StoreError {
    StoreError::Setup {
        what: what.to_owned(),
        path: folder.to_owned(),
        hint: "name a new folder: `archi3d demo DIR`; nothing was changed".into(),
    }
}

/// Returns how a demo stands whose jobs are all done.
fn finished(folder: &Path) -> Result<Option<DemoReport>, OpsError> {
    if !folder.join("runs").join(RUN).join("manifest.csv").is_file() {
        return Ok(None);
    }
    let report = current(&OpsContext::open(Some(folder))?)?;
    let all: usize = report.counts.values().sum();
    let done = report.counts.get(&Status::Completed).copied();
    Ok((all > 0 && done == Some(all)).then_some(DemoReport {
        was_done: true,
        ..report
    }))
}

fn current(context: &OpsContext) -> Result<DemoReport, OpsError> {
    let status = run_status(context, &run_id())?;
    let counts = Status::ALL.map(|state| (state, status.count(state)));
    Ok(DemoReport {
        workspace: context.workspace.root().to_owned(),
        run_id: RUN,
        was_done: false,
        counts: counts.into_iter().filter(|(_, count)| *count > 0).collect(),
        summary: None,
        page: None,
        warnings: Vec::new(),
    })
}

fn draw_dataset(folder: &Path, request: &DemoRequest) -> Result<DemoStep<'static>, StoreError> {
    let size = request.picture_size;
    let mut products = products();
    products.truncate(request.most_products.unwrap_or(usize::MAX));
    let mut pictures = Vec::new();
    for product in &products {
        let dataset = folder.join("dataset").join(product.folder);
        let images = dataset.join("images");
        fs::create_dir_all(&images).context("create", &images)?;
        for view in 0..product.views {
            pictures.push((product, view, images.join(picture_name(product, view))));
        }
        if product.has_model {
            let gt = dataset.join("gt");
            fs::create_dir_all(&gt).context("create", &gt)?;
            put(&gt.join("model.glb"), || model::glb(&product.parts))?;
        }
    }
    let drawn = pictures
        .par_iter()
        .map(|(product, view, path)| put(path, || picture(product, *view, size)))
        .collect::<Result<Vec<bool>, StoreError>>()?;
    let json = folder.join("products-with-3d.json");
    put(&json, || products_json(&products).into_bytes())?;
    let new = drawn.iter().filter(|is_new| **is_new).count();
    Ok(DemoStep::Pictures {
        drawn: new,
        kept: drawn.len() - new,
    })
}

fn picture_name(product: &Product, view: usize) -> String {
    let tag = char::from(b'A' + u8::try_from(view).unwrap_or(0));
    let ending = match product.format {
        Format::Jpeg => "jpg",
        Format::Png | Format::Cutout => "png",
    };
    format!("view_{tag}.{ending}")
}

/// Makes a file unless it is there, and tells whether it did.
fn put(path: &Path, bytes: impl FnOnce() -> Vec<u8>) -> Result<bool, StoreError> {
    if path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    let made = platform::publish(path, &bytes()).context("create", path)?;
    Ok(made.is_some())
}

/// Draws one picture: the first from the front and a little to the side, the
/// others further around.
fn picture(product: &Product, view: usize, size: u32) -> Vec<u8> {
    let angle = PI / 6.0 + 2.0 * PI / 3.0 * view as f64;
    let cutout = product.format == Format::Cutout;
    let drawn = DynamicImage::from(render::draw(&product.parts, angle, size, cutout));
    let mut bytes = Cursor::new(Vec::new());
    match product.format {
        Format::Jpeg => {
            let encoder = JpegEncoder::new_with_quality(&mut bytes, 90);
            drawn.to_rgb8().write_with_encoder(encoder)
        }
        Format::Png => drawn.to_rgb8().write_to(&mut bytes, ImageFormat::Png),
        Format::Cutout => drawn.write_to(&mut bytes, ImageFormat::Png),
    }
    .expect("a picture in memory can always be written");
    bytes.into_inner()
}

fn products_json(products: &[Product]) -> String {
    let mut entries: Vec<Value> = Vec::new();
    for product in products {
        if entries.iter().any(|entry| entry["_id"] == product.id()) {
            continue;
        }
        entries.push(json!({
            "_id": product.id(),
            "Manufacturer": {"Name": product.maker},
            "Name": {"Value": {"en": product.name}},
            "ShortDescription": {"Value": {"en": format!("{}, drawn for the archi3d demo", product.name)}},
            "Categories": [{"Name": {"en": product.category}}],
        }));
    }
    format!("{:#}\n", Value::Array(entries))
}
