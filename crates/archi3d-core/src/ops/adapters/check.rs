//! `adapters check`: runs an adapter on one picture in a folder of its own.
//!
//! What comes back is checked as a worker checks it. No provider is closed and no
//! attempt is recorded. What costs something is booked in the ledger, and what it made
//! is kept; otherwise nothing is written to the workspace.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use image::{Rgba, RgbaImage};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::adapter::{
    Adapter, AdapterError, GenerationRequest, GenerationResult, JobContext, JobReporter, registry,
};
use crate::cancel::{Cancel, JobStop};
use crate::domain::algo::AlgoSettings;
use crate::domain::id::AlgoKey;
use crate::domain::item::{IMAGES_DIR, ImageOrder, sorted_images};
use crate::domain::nearest::suggestion;
use crate::domain::retry::ErrorClass;
use crate::domain::text::dollars;
use crate::ops::view::{micro_seconds, seconds};
use crate::ops::{OpsContext, OpsError};
use crate::workspace::artifact;

use super::booking::Booking;
use super::{AdapterEntry, list, time_limit};

/// Kinds that use nobody's account.
const FREE_KINDS: [&str; 3] = ["simulate", "mock", "relief"];

/// What is to be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRequest {
    /// Only this one; nothing means every one that can run and costs nothing.
    pub key: Option<AlgoKey>,
    /// The picture; nothing means the first of the dataset, else a drawn one.
    pub image: Option<PathBuf>,
    /// Whether something may be bought.
    pub may_pay: bool,
}

/// What came of trying one adapter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    /// The adapter.
    pub key: AlgoKey,
    /// How long it took.
    #[serde(rename = "duration_s", serialize_with = "micro_seconds")]
    pub duration: Duration,
    /// The id under which something was bought, if anything was.
    pub request_id: Option<String>,
    /// What it said that is not in the protocol, one sentence each.
    pub complaints: Vec<String>,
    /// Where what it made is kept, relative to the workspace, if it was paid for.
    pub kept_in: Option<String>,
    /// How it went.
    #[serde(flatten)]
    pub outcome: CheckOutcome,
}

/// How trying an adapter went.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It made a model that a worker would take.
    Made {
        /// Every file it left, by name.
        files: Vec<CheckedFile>,
        /// What made it.
        #[serde(rename = "algo_version")]
        version: Option<String>,
        /// What it cost, if anybody knows.
        cost_usd: Option<f64>,
        /// Where the price comes from.
        price_source: Option<String>,
        /// What the provider said.
        metadata: Option<Map<String, Value>>,
    },
    /// It failed, or what it made cannot be taken.
    Failed {
        /// What kind of failure.
        class: ErrorClass,
        /// Why.
        message: String,
        /// Everything else it said.
        detail: Option<String>,
        /// How long the provider asks to wait.
        #[serde(rename = "retry_after_s", serialize_with = "seconds")]
        retry_after: Option<Duration>,
    },
    /// It was not tried.
    Skipped {
        /// Why not.
        reason: String,
    },
}

/// A file that an adapter left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedFile {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// Which picture was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PictureSource {
    /// The one that was given.
    Given(PathBuf),
    /// The first one of the dataset.
    Dataset(PathBuf),
    /// One that was drawn for it.
    Drawn,
}

/// Tries the adapters that `request` names; `told` hears of each before it starts.
pub fn check(
    context: &OpsContext,
    request: &CheckRequest,
    cancel: &Cancel,
    told: &mut dyn FnMut(&AlgoKey, &PictureSource),
) -> Result<Vec<Checked>, OpsError> {
    let entries = list(context)?;
    if let Some(key) = &request.key {
        refuse(&entries, key, request)?;
    }
    let folder = tempfile::Builder::new()
        .prefix("archi3d-check-")
        .tempdir()
        .map_err(|error| no_room(&error))?;
    let folder_path = folder
        .path()
        .canonicalize()
        .map_err(|error| no_room(&error))?;
    let (picture, source) = picture(context, request, &folder_path)?;
    let wanted = entries
        .iter()
        .filter(|entry| request.key.as_ref().is_none_or(|key| entry.key == *key));
    let mut all = Vec::new();
    for entry in wanted {
        if let Some(reason) = reason_to_skip(entry, request) {
            all.push(skipped(entry, reason));
            continue;
        }
        let Some(settings) = context.settings.algo(entry.key.as_str()) else {
            continue;
        };
        let booking = if is_free(entry) {
            None
        } else {
            Some(Booking::open(context, entry)?)
        };
        told(&entry.key, &source);
        let out_dir = match &booking {
            Some(booking) => booking.folder.clone(),
            None => folder_path.join(format!("out-{}", entry.key)),
        };
        fs::create_dir_all(&out_dir).map_err(|error| no_room(&error))?;
        let log = folder_path.join(format!("{}.log", entry.key));
        let mut checked = try_one(context, settings, &picture, (&out_dir, &log), cancel);
        if let Some(booking) = booking {
            booking.close(context, &mut checked)?;
        }
        all.push(checked);
    }
    Ok(all)
}

fn no_room(error: &io::Error) -> OpsError {
    OpsError::Setup {
        message: format!("no temporary folder can be made: {error}"),
        hint: Some("set TMPDIR to a folder that can be written".into()),
    }
}

/// Refuses an adapter that was asked for by name and does not exist or may cost something.
fn refuse(entries: &[AdapterEntry], key: &AlgoKey, request: &CheckRequest) -> Result<(), OpsError> {
    let Some(entry) = entries.iter().find(|entry| entry.key == *key) else {
        let known = || entries.iter().map(|entry| entry.key.as_str());
        return Err(OpsError::Setup {
            message: format!(
                "algo {key} is not in adapters.yaml{}",
                suggestion(key.as_str(), known())
            ),
            hint: Some(format!(
                "known are: {}",
                known().collect::<Vec<_>>().join(", ")
            )),
        });
    };
    if entry.runnable && !request.may_pay && !is_free(entry) {
        return Err(OpsError::Setup {
            message: format!("checking {key} {}", cost_of(entry)),
            hint: Some(format!("to pay for it: archi3d adapters check {key} --yes")),
        });
    }
    Ok(())
}

fn is_free(entry: &AdapterEntry) -> bool {
    match entry.unit_price_usd {
        Some(price) => price <= 0.0,
        None => entry
            .kind
            .as_deref()
            .is_some_and(|kind| FREE_KINDS.contains(&kind)),
    }
}

fn cost_of(entry: &AdapterEntry) -> String {
    match entry.unit_price_usd {
        Some(price) => {
            format!("costs {}", dollars(price))
        }
        None => "may cost something: its price is unknown".to_owned(),
    }
}

fn reason_to_skip(entry: &AdapterEntry, request: &CheckRequest) -> Option<String> {
    if request.key.is_none() && entry.kind.is_none() {
        let reason = "it has only an endpoint; `archi3d adapters list` says what it needs";
        return Some(reason.to_owned());
    }
    if !entry.runnable {
        return Some(entry.problems.join("; "));
    }
    (!request.may_pay && !is_free(entry))
        .then(|| format!("checking it {}; --yes pays for it", cost_of(entry)))
}

fn skipped(entry: &AdapterEntry, reason: String) -> Checked {
    Checked {
        key: entry.key.clone(),
        duration: Duration::ZERO,
        request_id: None,
        complaints: Vec::new(),
        kept_in: None,
        outcome: CheckOutcome::Skipped { reason },
    }
}

fn picture(
    context: &OpsContext,
    request: &CheckRequest,
    folder: &Path,
) -> Result<(PathBuf, PictureSource), OpsError> {
    if let Some(given) = &request.image {
        let real = given.canonicalize().and_then(|path| {
            let is_file = path.metadata()?.is_file();
            is_file
                .then_some(path)
                .ok_or_else(|| io::Error::other("it is not a file"))
        });
        let real = real.map_err(|error| OpsError::Setup {
            message: format!("the picture {} cannot be used: {error}", given.display()),
            hint: None,
        })?;
        return Ok((real, PictureSource::Given(given.clone())));
    }
    if let Some(found) = first_of_dataset(&context.workspace.dataset()) {
        let shown = PathBuf::from(context.workspace.relative(&found).unwrap_or_default());
        return Ok((found, PictureSource::Dataset(shown)));
    }
    let path = folder.join("picture.png");
    draw()
        .save(&path)
        .map_err(|error| no_room(&io::Error::other(error)))?;
    Ok((path, PictureSource::Drawn))
}

/// Returns the first picture of the first product that has one.
fn first_of_dataset(dataset: &Path) -> Option<PathBuf> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    };
    names(dataset).iter().find_map(|product| {
        let images = dataset.join(product).join(IMAGES_DIR);
        let found = names(&images);
        let sorted = sorted_images(&found, ImageOrder::Name);
        sorted
            .into_iter()
            .map(|name| images.join(name))
            .find(|path| path.is_file())
    })
}

/// Draws a shaded ball on nothing: something with an outline and a depth.
fn draw() -> RgbaImage {
    const SIDE: u32 = 256;
    RgbaImage::from_fn(SIDE, SIDE, |x, y| {
        let place = |n: u32| (f64::from(n) + 0.5) / f64::from(SIDE) * 2.2 - 1.1;
        let (x, y) = (place(x), place(y));
        let inside = 1.0 - x * x - y * y;
        if inside <= 0.0 {
            return Rgba([0, 0, 0, 0]);
        }
        let light = (0.25 + 0.75 * (inside.sqrt() * 0.8 - x * 0.35 - y * 0.45)).clamp(0.1, 1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the light is between 0.1 and 1"
        )]
        let shade = |full: f64| (full * light) as u8;
        Rgba([shade(230.0), shade(150.0), shade(70.0), 255])
    })
}

fn try_one(
    context: &OpsContext,
    settings: &AlgoSettings,
    picture: &Path,
    folder_and_log: (&Path, &Path),
    cancel: &Cancel,
) -> Checked {
    let started = Instant::now();
    let mut purchase = Purchase::default();
    let outcome = match registry::build(settings, None, &context.variables()) {
        Ok(adapter) => run(
            context,
            settings,
            adapter.as_ref(),
            picture,
            folder_and_log,
            cancel,
            &mut purchase,
        ),
        Err(error) => failed(error.into()),
    };
    Checked {
        key: settings.key.clone(),
        duration: started.elapsed(),
        request_id: purchase.request_id,
        complaints: purchase.complaints,
        kept_in: None,
        outcome,
    }
}

fn run(
    context: &OpsContext,
    settings: &AlgoSettings,
    adapter: &dyn Adapter,
    picture: &Path,
    (out_dir, log): (&Path, &Path),
    cancel: &Cancel,
    purchase: &mut Purchase,
) -> CheckOutcome {
    let request = GenerationRequest {
        job_id: "check".to_owned(),
        product_id: "check".to_owned(),
        variant: String::new(),
        algo: settings.key.to_string(),
        used_images: vec![picture.to_owned()],
        out_dir: out_dir.to_owned(),
        workspace: context.workspace.root().to_owned(),
        extra: Map::new(),
    };
    let deadline = time_limit(settings).and_then(|limit| Instant::now().checked_add(limit));
    let mut job = JobContext {
        attempt: 1,
        idempotency_key: format!("archi3d-check-{}", uuid::Uuid::new_v4().simple()),
        resume_request_id: None,
        open_intent: None,
        given_up: false,
        started_at: context.clock.now(),
        stop: JobStop::new(cancel.clone(), deadline),
        // Beside the folder that is looked at afterwards, and as short-lived.
        log_path: Some(log.to_owned()),
        reporter: purchase,
    };
    let made = catch_unwind(AssertUnwindSafe(|| adapter.generate(&request, &mut job)));
    match made {
        Ok(Ok(result)) if result.success => taken(settings, result, out_dir),
        Ok(Ok(_)) => failed(AdapterError::permanent(
            "the adapter reported no success and gave no reason",
        )),
        Ok(Err(error)) => {
            let cut_off = matches!(
                error,
                AdapterError::Stopped(_) | AdapterError::CutOff { .. }
            );
            match failed(error) {
                // Whether it had bought by then cannot be told.
                CheckOutcome::Failed {
                    message,
                    detail,
                    retry_after,
                    ..
                } if cut_off && purchase.intended => CheckOutcome::Failed {
                    class: ErrorClass::Unknown,
                    message: format!("{message}; it was about to buy and may have been billed"),
                    detail,
                    retry_after,
                },
                outcome => outcome,
            }
        }
        Err(_) => failed(AdapterError::permanent("the adapter panicked")),
    }
}

/// Checks what was made as a worker does.
fn taken(settings: &AlgoSettings, result: GenerationResult, out_dir: &Path) -> CheckOutcome {
    let named = artifact::Named {
        model: result.generated_glb.as_deref(),
        previews: &result.previews,
        ..artifact::Named::default()
    };
    let files = artifact::standardize(out_dir, &named)
        .and_then(|standard| artifact::inventory_of(out_dir, &standard));
    let files = match files {
        Ok(files) => files,
        Err(error) => return failed(AdapterError::permanent(error.to_string())),
    };
    let own = result.estimated_cost_usd.or(result.unit_price_usd);
    let configured = settings.price_source.clone();
    CheckOutcome::Made {
        files: files
            .into_iter()
            .map(|file| CheckedFile {
                name: file.name,
                size: file.size,
            })
            .collect(),
        version: result.algo_version,
        cost_usd: own.or(settings.unit_price_usd),
        price_source: result
            .price_source
            .or_else(|| own.map(|_| "adapter".to_owned()))
            .or(configured),
        metadata: result.raw_metadata,
    }
}

fn failed(error: AdapterError) -> CheckOutcome {
    let message = error.to_string();
    match error {
        AdapterError::Failed {
            class,
            detail,
            retry_after,
            ..
        } => CheckOutcome::Failed {
            class,
            message,
            detail,
            retry_after,
        },
        AdapterError::CutOff { class, detail, .. } => CheckOutcome::Failed {
            class,
            message,
            detail,
            retry_after: None,
        },
        AdapterError::Denied { .. } => CheckOutcome::Failed {
            class: ErrorClass::Permanent,
            message,
            detail: None,
            retry_after: None,
        },
        AdapterError::NoRoom { .. } | AdapterError::CancelledUnbilled => CheckOutcome::Failed {
            class: ErrorClass::Transient,
            message,
            detail: None,
            retry_after: None,
        },
        AdapterError::Stopped(reason) => CheckOutcome::Failed {
            class: ErrorClass::Transient,
            message: match reason {
                crate::cancel::StopReason::TimedOut => "it took longer than its timeout_s".into(),
                _ => message,
            },
            detail: None,
            retry_after: None,
        },
    }
}

/// Keeps what an adapter reports; there is no job to keep it for.
#[derive(Default)]
struct Purchase {
    request_id: Option<String>,
    /// Whether it has said that it is about to buy, and no more.
    intended: bool,
    complaints: Vec<String>,
}

impl JobReporter for Purchase {
    fn progress(&mut self, _: f64, _: Option<&str>) {}

    fn intent(&mut self, _: &str) -> Result<(), AdapterError> {
        self.intended = true;
        Ok(())
    }

    fn submitted(&mut self, request_id: &str, _: Option<f64>) -> Result<(), AdapterError> {
        (self.intended, self.request_id) = (false, Some(request_id.to_owned()));
        Ok(())
    }

    fn warn(&mut self, message: &str) {
        self.complaints.push(message.to_owned());
    }

    fn made(&mut self, _: &GenerationResult) {}
}
