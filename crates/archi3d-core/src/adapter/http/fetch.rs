//! From what a service says it made to files in the job's folder.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::download::{Download, Missing};
use super::driver::Driver;
use super::pace::Pace;
use super::provider::{Output, Rejection, Ticket};
use super::row::Made;
use crate::adapter::{AdapterError, GenerationResult, preview};
use crate::domain::glb;
use crate::domain::naming;
use crate::domain::retry::ErrorClass;

/// How often a download may fail without a byte in between.
const TRIES: u32 = 5;

/// Larger previews are left out.
const MAX_PREVIEW_BYTES: u64 = 50 << 20;

/// Why a model is not here.
enum NoModel {
    /// It is gone, or no model that can be used.
    Unusable(String),
    /// The attempt is over.
    Over(AdapterError),
}

impl Driver<'_, '_> {
    /// Fetches the model and its previews.
    pub(super) fn fetch(
        &mut self,
        ticket: &Ticket,
        output: Output,
    ) -> Result<GenerationResult, AdapterError> {
        let path = self.request.out_dir.join(naming::GENERATED_GLB);
        let mut current = output.clone();
        let mut renewed = false;
        loop {
            self.say(0.92, "downloading");
            match self.model(&current, &path) {
                Ok(()) => break,
                Err(NoModel::Over(error)) => return Err(error),
                Err(NoModel::Unusable(reason)) if renewed => {
                    return Err(self.paid(ticket, &reason, &current));
                }
                // Addresses expire, and what came may have been cut: the service is asked
                // for new ones, once.
                Err(NoModel::Unusable(reason)) => {
                    let client = self.desk.client;
                    client.note(&format!("asking for the result again: {reason}"));
                    renewed = true;
                    let (provider, row) = (self.provider, self.row);
                    current = self.free(|desk| provider.result(desk, row, ticket))?;
                }
            }
        }
        let mut previews = self.previews(&current);
        if previews.is_empty() {
            self.say(0.97, "drawing previews");
            match preview::draw(&path, &self.request.out_dir) {
                Ok(drawn) => previews = drawn,
                Err(reason) => self
                    .desk
                    .client
                    .note(&format!("no preview drawn: {reason}")),
            }
        }
        let cost = output.cost.or(current.cost);
        Ok(GenerationResult {
            success: true,
            generated_glb: Some(path),
            previews,
            algo_version: Some(self.row.endpoint.clone()),
            estimated_cost_usd: cost.map(|(usd, _)| usd),
            price_source: cost.map(|(_, figure)| self.source_of(figure)),
            raw_metadata: Some(self.metadata(ticket, current.root)),
            ..GenerationResult::default()
        })
    }

    /// Says which figure was billed, and at whose price where that was asked for.
    fn source_of(&self, figure: &str) -> String {
        let name = self.provider.name();
        match &self.row.listed {
            Some(listed) => format!("{name} {figure}, {}", listed.source_of_day()),
            None => format!("{name} {figure}"),
        }
    }

    fn metadata(&self, ticket: &Ticket, output: Value) -> Map<String, Value> {
        let mut metadata = Map::new();
        for (name, value) in [
            ("service", Value::from(self.provider.name())),
            ("endpoint", Value::from(self.row.endpoint.as_str())),
            ("request_id", Value::from(ticket.id.as_str())),
            ("arguments", Value::Object(self.row.arguments.clone())),
            ("output", output),
        ] {
            metadata.insert(name.to_owned(), value);
        }
        self.desk.client.secrets().mask_map(metadata)
    }

    /// What was paid for and cannot be used is a person's to judge; the answer is kept.
    fn paid(&self, ticket: &Ticket, reason: &str, output: &Output) -> AdapterError {
        let message = format!(
            "{} made request {} and billed it, and it cannot be used: {reason}",
            self.provider.name(),
            ticket.id
        );
        let mut verdict = Rejection::new(ErrorClass::Unknown, message);
        verdict.detail = serde_json::to_string_pretty(&output.root).ok();
        self.failed(verdict)
    }

    /// Fetches the first model that is one.
    fn model(&mut self, output: &Output, path: &Path) -> Result<(), NoModel> {
        let models = self.row.models(&output.root);
        if models.is_empty() {
            return Err(NoModel::Unusable("the result names no model".to_owned()));
        }
        let mut reasons = Vec::new();
        for made in &models {
            let reason = match self.one_model(made, path) {
                Err(NoModel::Unusable(reason)) => reason,
                other => return other,
            };
            let client = self.desk.client;
            client.note(&format!("not taken as the model: {reason}"));
            reasons.push(reason);
        }
        let _ = fs::remove_file(path);
        Err(NoModel::Unusable(reasons.join("; ")))
    }

    fn one_model(&mut self, made: &Made, path: &Path) -> Result<(), NoModel> {
        let unwritten = |error| NoModel::Over(AdapterError::unwritten(path, &error));
        let mut download = Download::new(path).map_err(unwritten)?;
        let mut failures = 0;
        let size = loop {
            let before = download.have();
            let outcome = download.fetch(self.desk.client, made);
            self.unless_stopped().map_err(NoModel::Over)?;
            match outcome {
                Ok(size) => break size,
                Err(Missing::Unwritten(error)) => return Err(unwritten(error)),
                Err(Missing::Gone(reason)) => {
                    let reason = format!("the file is gone: {reason}");
                    return Err(NoModel::Unusable(reason));
                }
                Err(Missing::Refused(reason)) => return Err(NoModel::Unusable(reason)),
                Err(Missing::Broken(reason)) => {
                    failures = if download.have() > before {
                        1
                    } else {
                        failures + 1
                    };
                    self.desk
                        .client
                        .note(&format!("the download broke off: {reason}"));
                    if failures >= TRIES {
                        let message = format!("the model could not be downloaded: {reason}");
                        let verdict = Rejection::new(ErrorClass::Transient, message);
                        return Err(NoModel::Over(self.failed(verdict)));
                    }
                    self.sleep(Pace::again(failures)).map_err(NoModel::Over)?;
                }
            }
        };
        let mut file = download.into_file().map_err(unwritten)?;
        match glb::check(&mut file, size) {
            Ok(()) => Ok(()),
            Err(error) => {
                let mut head = Vec::new();
                let is_zip = fs::File::open(path)
                    .and_then(|file| file.take(2).read_to_end(&mut head))
                    .is_ok_and(|_| head == b"PK");
                let reason = if is_zip {
                    "it is a ZIP and no model".to_owned()
                } else {
                    error.to_string()
                };
                Err(NoModel::Unusable(reason))
            }
        }
    }

    /// Fetches pictures of the model. A result is a result without them.
    fn previews(&mut self, output: &Output) -> Vec<PathBuf> {
        let mut previews = Vec::new();
        for made in self
            .row
            .previews(&output.root)
            .iter()
            .take(naming::MAX_PREVIEWS)
        {
            let name = naming::preview_png(previews.len() + 1);
            let path = self.request.out_dir.join(name);
            match self.preview(made, &path) {
                Ok(()) => previews.push(path),
                Err(reason) => {
                    let _ = fs::remove_file(&path);
                    self.desk.client.note(&format!("no preview: {reason}"));
                }
            }
        }
        previews
    }

    fn preview(&self, made: &Made, path: &Path) -> Result<(), String> {
        if made.size.is_some_and(|size| size > MAX_PREVIEW_BYTES) {
            return Err("it is too large".to_owned());
        }
        let mut download = Download::new(path).map_err(|error| error.to_string())?;
        let fetched = download.fetch(self.desk.client, made);
        fetched.map_err(|missing| format!("{missing:?}"))?;
        drop(download);
        let read = |error: image::ImageError| error.to_string();
        let reader = image::ImageReader::open(path).map_err(|error| error.to_string())?;
        let reader = reader
            .with_guessed_format()
            .map_err(|error| error.to_string())?;
        let is_png = reader.format() == Some(image::ImageFormat::Png);
        let picture = reader.decode().map_err(read)?;
        if is_png {
            return Ok(());
        }
        picture
            .save_with_format(path, image::ImageFormat::Png)
            .map_err(read)
    }
}
