//! Looks at models and pictures: what they are, and how they look from eight sides.
//! Everything is kept under the hash of its content, so nothing is drawn twice.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use image::codecs::jpeg::JpegEncoder;
use image::imageops::{self, FilterType};
use image::{DynamicImage, ImageDecoder, ImageReader, Limits, RgbImage};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::text::hex;
use crate::model::{self, Fit, View};
use crate::ops::report::Each;
use crate::ops::report::data::{Model, Picture};
use crate::ops::report::folder::FACTS;
use crate::workspace::durable;
use crate::workspace::paths::Workspace;

/// Larger models are named, not shown.
const MAX_MODEL_BYTES: u64 = 2 << 30;
const MAX_PICTURE_BYTES: u64 = 256 << 20;

/// The side of one view of a poster, and how many there are.
const VIEW_SIDE: u32 = 256;
const VIEWS: u16 = 8;

/// The view that is also kept alone: a page of models shows it first.
const FIRST_VIEW: u32 = 1;

/// From above, in degrees.
const ABOVE: f32 = 16.0;

/// The longest side of a source picture in a report.
const PICTURE_SIDE: u32 = 512;

/// What a model is, whatever it is called.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Facts {
    triangles: Option<usize>,
    vertices: Option<usize>,
    materials: Option<usize>,
    texture: Option<(usize, usize)>,
    note: Option<String>,
    poster: bool,
}

impl Model {
    fn take(&mut self, facts: &Facts) {
        self.triangles = facts.triangles;
        self.vertices = facts.vertices;
        self.materials = facts.materials;
        self.texture = facts.texture;
        self.poster = facts.poster;
        self.note.clone_from(&facts.note);
    }
}

/// Models and pictures as a report shows them, in its folder.
pub(super) struct Gallery<'a> {
    workspace: &'a Workspace,
    folder: &'a Path,
    known: HashMap<String, Facts>,
}

impl<'a> Gallery<'a> {
    /// Opens the gallery of a report's folder.
    pub(super) fn open(workspace: &'a Workspace, folder: &'a Path) -> Self {
        let facts = durable::read_plain(&folder.join(FACTS), 64 << 20);
        let known = facts
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        Self {
            workspace,
            folder,
            known,
        }
    }

    /// Looks at models by the names tables give them; `each` is called for every one.
    pub(super) fn models(
        &mut self,
        names: &[String],
        each: Each<'_>,
    ) -> io::Result<HashMap<String, Model>> {
        fs::create_dir_all(self.folder.join("posters"))?;
        // Jobs often make the same model; whoever comes first draws it.
        let claimed = Mutex::new(HashSet::new());
        let done = AtomicUsize::new(0);
        let looked: Vec<(String, Model, Option<Facts>)> = names
            .par_iter()
            .map(|name| {
                let (model, facts) = self.look(name, &claimed);
                each(done.fetch_add(1, Ordering::Relaxed) + 1, names.len());
                (name.clone(), model, facts)
            })
            .collect();
        for (_, model, facts) in &looked {
            if let Some(facts) = facts {
                self.known.insert(model.sha256.clone(), facts.clone());
            }
        }
        let mut found = HashMap::new();
        for (name, mut model, _) in looked {
            if let Some(facts) = self.known.get(&model.sha256) {
                model.take(facts);
            }
            found.insert(name, model);
        }
        let facts = serde_json::to_vec(&self.known).unwrap_or_default();
        durable::replace_unsynced(&self.folder.join(FACTS), &facts, "report").map(drop)?;
        Ok(found)
    }

    /// Returns a model, and what it is if that was not known and nobody else finds out.
    fn look(&self, name: &str, claimed: &Mutex<HashSet<String>>) -> (Model, Option<Facts>) {
        let mut model = Model {
            path: name.to_owned(),
            ..Model::default()
        };
        let bytes = match self.read(name, MAX_MODEL_BYTES) {
            Ok(bytes) => bytes,
            Err(reason) => {
                model.note = Some(reason);
                return (model, None);
            }
        };
        model.bytes = bytes.len() as u64;
        model.sha256 = sha256(&bytes);
        let posters = posters(&model.sha256).map(|name| self.folder.join(name));
        let known = self.known.get(&model.sha256);
        let is_drawn = || posters.iter().all(|path| path.exists());
        let is_known = known.is_some_and(|facts| !facts.poster || is_drawn());
        let mut others = claimed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !is_known && others.insert(model.sha256.clone());
        drop(others);
        let facts = is_first.then(|| Self::draw(&bytes, &posters));
        (model, facts)
    }

    fn draw(bytes: &[u8], [all, first]: &[PathBuf; 2]) -> Facts {
        let outline = model::outline(bytes);
        let mut facts = Facts {
            triangles: outline.map(|outline| outline.triangles),
            vertices: outline.map(|outline| outline.vertices),
            materials: outline.map(|outline| outline.materials),
            texture: outline
                .and_then(|outline| outline.texture)
                .map(|(width, height)| (width as usize, height as usize)),
            ..Facts::default()
        };
        let shown = match model::read(bytes) {
            Ok(shown) => shown,
            Err(error) => {
                facts.note = Some(format!("no picture of this model: {error}"));
                return facts;
            }
        };
        facts.note = shown.notes.first().cloned();
        facts.poster = true;
        let strip = strip(&shown);
        let left = VIEW_SIDE * FIRST_VIEW;
        let alone = imageops::crop_imm(&strip, left, 0, VIEW_SIDE, VIEW_SIDE).to_image();
        let write = |path: &Path, picture: &RgbImage| {
            let jpeg = encode(picture, 84)?;
            durable::replace_unsynced(path, &jpeg, "report").map(drop)
        };
        if let Err(error) = write(first, &alone).and_then(|()| write(all, &strip)) {
            facts.poster = false;
            facts.note = Some(format!("its picture cannot be kept: {error}"));
        }
        facts
    }

    /// Makes small copies of pictures; those that cannot be read are left out.
    pub(super) fn pictures(&self, names: &[String]) -> io::Result<HashMap<String, Picture>> {
        let folder = self.folder.join("pictures");
        fs::create_dir_all(&folder)?;
        let made: Vec<Option<(String, Picture)>> = names
            .par_iter()
            .enumerate()
            .map(|(number, name)| {
                let bytes = self.read(name, MAX_PICTURE_BYTES).ok()?;
                let sha256 = sha256(&bytes);
                let path = folder.join(format!("{sha256}.jpg"));
                if !path.exists() {
                    let small = shrink(&bytes)?;
                    let jpeg = encode(&small, 82).ok()?;
                    // The same picture may be there under several names, and be written at the same moment.
                    durable::replace_unsynced(&path, &jpeg, &format!("report-{number}")).ok()?;
                }
                let name = name.clone();
                let short = name.rsplit('/').next().unwrap_or_default().to_owned();
                Some((
                    name,
                    Picture {
                        name: short,
                        sha256,
                    },
                ))
            })
            .collect();
        Ok(made.into_iter().flatten().collect())
    }

    /// Reads a file of the workspace, or says in a sentence why not.
    pub(super) fn read(&self, name: &str, most: u64) -> Result<Vec<u8>, String> {
        let path = self
            .workspace
            .absolute(name)
            .ok_or_else(|| "its path leads out of the workspace".to_owned())?;
        durable::read_plain(&path, most).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "its file is missing".to_owned(),
            _ => format!("its file cannot be read: {error}"),
        })
    }
}

/// Names the pictures of a model in the report: all views side by side, and one alone.
pub(super) fn posters(sha256: &str) -> [String; 2] {
    [
        format!("posters/{sha256}.jpg"),
        format!("posters/{sha256}-1.jpg"),
    ]
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Draws a model from all sides, side by side.
fn strip(shown: &model::Model) -> RgbImage {
    let mut strip = RgbImage::new(VIEW_SIDE * u32::from(VIEWS), VIEW_SIDE);
    for number in 0..VIEWS {
        let view = View {
            around: 360.0 * f32::from(number) / f32::from(VIEWS),
            above: ABOVE,
        };
        let drawn = model::draw(shown, view, VIEW_SIDE, Fit::AllRound);
        let left = i64::from(VIEW_SIDE) * i64::from(number);
        imageops::replace(&mut strip, &drawn, left, 0);
    }
    strip
}

fn encode(picture: &RgbImage, quality: u8) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, quality)
        .encode_image(picture)
        .map_err(io::Error::other)?;
    Ok(bytes)
}

/// Decodes a picture, turns it upright and makes it small, on white where it is clear.
fn shrink(bytes: &[u8]) -> Option<RgbImage> {
    let mut reader = ImageReader::new(io::Cursor::new(bytes))
        .with_guessed_format()
        .ok()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(1 << 30);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().ok()?;
    let orientation = decoder.orientation().ok();
    let mut picture = DynamicImage::from_decoder(decoder).ok()?;
    if let Some(orientation) = orientation {
        picture.apply_orientation(orientation);
    }
    let longest = picture.width().max(picture.height());
    if longest > PICTURE_SIDE {
        picture = picture.resize(PICTURE_SIDE, PICTURE_SIDE, FilterType::Triangle);
    }
    let clear = picture.into_rgba8();
    let mut solid = RgbImage::new(clear.width(), clear.height());
    for (pixel, target) in clear.pixels().zip(solid.pixels_mut()) {
        let [red, green, blue, opacity] = pixel.0.map(u32::from);
        target.0 = [red, green, blue].map(|value| {
            u8::try_from((value * opacity + 255 * (255 - opacity)) / 255).unwrap_or(u8::MAX)
        });
    }
    Some(solid)
}
