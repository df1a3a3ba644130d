//! A real model from one picture, with no account and no network: a closed,
//! textured relief, and three previews drawn from it.
//!
//! Takes the first picture of a job (jpg, png, webp) and writes only inside the
//! job's folder. A baseline to compare providers with, not a reconstruction: what
//! the picture does not show is mirrored from what it does.

mod depth;
mod frame;
mod glb;
mod grid;
mod jpeg;
mod mesh;
mod picture;
mod silhouette;
#[cfg(test)]
mod tests;
mod texture;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use image::{DynamicImage, RgbImage, RgbaImage};
use serde_json::{Map, Value, json};

use crate::adapter::relief::frame::Frame;
use crate::adapter::relief::grid::Grid;
use crate::adapter::relief::mesh::Mesh;
use crate::adapter::relief::picture::{Picture, PictureError};
use crate::adapter::relief::silhouette::{Origin, Silhouette};
use crate::adapter::sample;
use crate::adapter::{Adapter, AdapterError, GenerationRequest, GenerationResult, JobContext};
use crate::domain::algo::AlgoSettings;
use crate::domain::naming;
use crate::domain::retry::ErrorClass;
use crate::model::vector::difference;
use crate::model::{self, Fit, Material, Part, Texture, Wrap};

/// What stands in `algo_version`; changes whenever the same picture gives another model.
pub const VERSION: &str = "relief-1";

const DEFAULT_RESOLUTION: u64 = 128;
const DEFAULT_DEPTH: f64 = 0.35;
const DEFAULT_SMOOTH: f64 = 0.2;

/// Makes reliefs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relief {
    resolution: usize,
    depth: f32,
    smooth: f32,
}

/// A relief before it is written.
struct Model {
    mesh: Mesh,
    texture: RgbImage,
    origin: Origin,
}

impl Relief {
    /// Takes options that the registry has checked.
    pub fn new(settings: &AlgoSettings) -> Self {
        let option = |name: &str| settings.options.get(name);
        let resolution = option("resolution").and_then(Value::as_u64);
        let share = |name: &str, default: f64| {
            let value = option(name).and_then(Value::as_f64).unwrap_or(default);
            #[expect(clippy::cast_possible_truncation, reason = "only precision is lost")]
            let value = value as f32;
            value
        };
        Self {
            resolution: usize::try_from(resolution.unwrap_or(DEFAULT_RESOLUTION)).unwrap_or(128),
            depth: share("depth", DEFAULT_DEPTH),
            smooth: share("smooth", DEFAULT_SMOOTH),
        }
    }

    fn model(self, picture: &RgbaImage, context: &JobContext<'_>) -> Result<Model, AdapterError> {
        let mut silhouette = silhouette::find(picture);
        check_stop(context)?;
        let (width, height) = picture.dimensions();
        let mut frame = Frame::around(&silhouette, width, height);
        let mut grid = Grid::new(picture, &silhouette, frame, self.resolution);
        if grid.is_plate && silhouette.origin != Origin::Rectangle {
            // The cut left nothing, or nothing out, on this grid.
            silhouette = Silhouette::rectangle(picture);
            frame = Frame::around(&silhouette, width, height);
            grid = Grid::new(picture, &silhouette, frame, self.resolution);
        }
        let heights = depth::heights(&grid, self.depth, self.smooth);
        check_stop(context)?;
        Ok(Model {
            mesh: mesh::build(&grid, &heights),
            texture: texture::make(picture, &silhouette, frame),
            origin: silhouette.origin,
        })
    }

    fn metadata(self, picture: &Picture, model: &Model, started: Instant) -> Map<String, Value> {
        let (low, high) = mesh::bounds(&model.mesh.positions);
        let size = difference(high, low);
        let facts = [
            ("adapter", json!("relief")),
            ("vertices", json!(model.mesh.positions.len())),
            ("triangles", json!(model.mesh.triangles.len())),
            (
                "size_m",
                json!(size.map(|side| (f64::from(side) * 1e4).round() / 1e4)),
            ),
            (
                "texture_px",
                json!([model.texture.width(), model.texture.height()]),
            ),
            (
                "picture_px",
                json!([picture.source_size.0, picture.source_size.1]),
            ),
            ("silhouette", json!(model.origin.word())),
            ("resolution", json!(self.resolution)),
            ("depth", json!(self.depth)),
            ("smooth", json!(self.smooth)),
            (
                "time_ms",
                json!(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)),
            ),
        ];
        Map::from_iter(facts.map(|(name, value)| (name.to_owned(), value)))
    }
}

impl Adapter for Relief {
    fn version(&self) -> Option<&str> {
        Some(VERSION)
    }

    fn may_buy(&self) -> bool {
        false
    }

    fn generate(
        &self,
        request: &GenerationRequest,
        context: &mut JobContext<'_>,
    ) -> Result<GenerationResult, AdapterError> {
        let started = Instant::now();
        let step = |context: &mut JobContext<'_>, fraction: f64, message: &str| {
            context.reporter.progress(fraction, Some(message));
            check_stop(context)
        };
        step(context, 0.0, "reading the picture")?;
        let path = request.used_images.first().ok_or_else(|| {
            failure(
                ErrorClass::BadInput,
                "relief needs a picture, and the job has none",
            )
        })?;
        let name = shown(path, &request.workspace);
        let picture = picture::load(path, &name, &context.stop).map_err(refusal)?;
        if silhouette::is_invisible(&picture.pixels) {
            let message = format!("{name} is fully transparent: there is nothing to model");
            return Err(failure(ErrorClass::BadInput, &message));
        }
        step(context, 0.2, "building the mesh")?;
        let model = self.model(&picture.pixels, context)?;
        step(context, 0.5, "writing the model")?;
        let texture = texture::encode(&model.texture).map_err(unwritable)?;
        let file = glb::write(&model.mesh, &texture, &request.product_id);
        let generated = sample::put(request.out_dir.join(naming::GENERATED_GLB), &file)?;
        let mut previews = Vec::new();
        let metadata = self.metadata(&picture, &model, started);
        let shown = shown_as(model.mesh, model.texture);
        for (number, view) in (1_u8..).zip(model::PREVIEW_VIEWS) {
            step(context, 0.5 + 0.15 * f64::from(number), "drawing previews")?;
            let drawn = model::draw(&shown, view, model::PREVIEW_SIDE, Fit::View);
            let bytes = model::encode_png(&drawn).map_err(unwritable)?;
            previews.push(put_preview(&request.out_dir, number, &bytes)?);
        }
        context.reporter.progress(1.0, None);
        Ok(GenerationResult {
            success: true,
            generated_glb: Some(generated),
            previews,
            algo_version: Some(VERSION.to_owned()),
            raw_metadata: Some(metadata),
            ..GenerationResult::default()
        })
    }
}

/// Returns the relief as what can be drawn.
fn shown_as(mesh: Mesh, texture: RgbImage) -> model::Model {
    let texture = DynamicImage::ImageRgb8(texture).into_rgba8();
    model::Model {
        parts: vec![Part {
            positions: mesh.positions,
            normals: mesh.normals,
            texture_places: mesh.texture_places,
            colours: Vec::new(),
            triangles: mesh.triangles,
            material: Material {
                texture: Texture::new(&texture, [Wrap::Clamp; 2]).map(Arc::new),
                ..Material::default()
            },
        }],
        notes: Vec::new(),
    }
}

fn put_preview(out_dir: &Path, number: u8, bytes: &[u8]) -> Result<PathBuf, AdapterError> {
    let name = naming::preview_png(usize::from(number));
    sample::put(out_dir.join(name), bytes)
}

fn check_stop(context: &JobContext<'_>) -> Result<(), AdapterError> {
    context
        .stop
        .reason()
        .map_or(Ok(()), |reason| Err(AdapterError::Stopped(reason)))
}

/// Returns the path as tables have it, if it is inside the workspace.
fn shown(path: &Path, workspace: &Path) -> String {
    let below = path.strip_prefix(workspace).unwrap_or(path);
    below.display().to_string()
}

fn refusal(error: PictureError) -> AdapterError {
    match error {
        PictureError::Stopped(reason) => AdapterError::Stopped(reason),
        // A share that is away for a moment is not the picture's fault.
        error @ PictureError::Unreadable { .. } => {
            failure(ErrorClass::Transient, error.to_string())
        }
        error => failure(ErrorClass::BadInput, error.to_string()),
    }
}

fn unwritable(error: image::ImageError) -> AdapterError {
    AdapterError::permanent(format!("cannot encode a picture of the model: {error}"))
}

fn failure(class: ErrorClass, message: impl Into<String>) -> AdapterError {
    AdapterError::failed(class, message)
}
