//! A model as triangles with colours, and pictures of it.
//!
//! [`read`] takes any GLB apart (all component types, sparse and quantised accessors,
//! node transforms, textures, vertex colours) into world coordinates; [`draw`] makes
//! pictures of the result. Pure: bytes in, numbers and pixels out, no files. What is
//! stored compressed (Draco, meshopt) is refused by name, never guessed.

mod accessor;
mod document;
mod draw;
pub(crate) mod number;
mod outline;
mod scene;
pub mod score;
mod texture;
pub(crate) mod vector;

use std::sync::Arc;

pub use draw::{Fit, PREVIEW_SIDE, PREVIEW_VIEWS, View, backdrop, draw, encode_png};
pub use outline::{Outline, outline};
pub use texture::{Texture, Wrap};

use crate::domain::glb::{self, GlbError};

/// More triangles than this are not read: no service makes them, and memory has an end.
const MAX_TRIANGLES: usize = 40_000_000;

/// Everything that can be seen of a model, in the coordinates of its scene.
#[derive(Debug, Clone, Default)]
pub struct Model {
    /// One part per primitive and place in the scene.
    pub parts: Vec<Part>,
    /// What could not be shown, one sentence each.
    pub notes: Vec<String>,
}

/// Triangles that share a material.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// Where the vertices are.
    pub positions: Vec<[f32; 3]>,
    /// Where their surface looks; empty where the file says nothing.
    pub normals: Vec<[f32; 3]>,
    /// Where they lie on the texture, from its left and top; empty without a texture.
    pub texture_places: Vec<[f32; 2]>,
    /// Their own linear colours; empty where the file says nothing.
    pub colours: Vec<[f32; 4]>,
    /// The corners of each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// What covers them.
    pub material: Material,
}

/// What covers a surface.
#[derive(Debug, Clone)]
pub struct Material {
    /// A linear colour that multiplies everything else.
    pub colour: [f32; 4],
    /// The picture on it.
    pub texture: Option<Arc<Texture>>,
    /// Below this opacity nothing is there.
    pub cutoff: Option<f32>,
    /// Shown as it is, without light.
    pub unlit: bool,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            colour: [1.0; 4],
            texture: None,
            cutoff: None,
            unlit: false,
        }
    }
}

/// Why a file cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It is no GLB.
    #[error("{0}")]
    Glb(#[from] GlbError),
    /// Its geometry is compressed in a way that is not read here.
    #[error("its geometry is compressed with {0}, which is not decoded here")]
    Compressed(String),
    /// It needs an extension that is not known here.
    #[error("it requires the extension {0}, which is not known here")]
    Extension(String),
    /// Its geometry lies in another file.
    #[error("its geometry is in another file")]
    External,
    /// Something points to where nothing is.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// There is nothing to see.
    #[error("it has no triangle to show")]
    Empty,
    /// It is larger than anything real.
    #[error("it has more than {MAX_TRIANGLES} triangles")]
    TooLarge,
}

impl ModelError {
    fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }
}

/// Reads a GLB, textures included.
pub fn read(bytes: &[u8]) -> Result<Model, ModelError> {
    let (json, binary) = glb::chunks(bytes)?;
    let document = document::Document::parse(json)?;
    scene::assemble(&document, binary, true)
}

/// Reads a GLB without its textures, for whoever only wants its shape.
pub fn read_shape(bytes: &[u8]) -> Result<Model, ModelError> {
    let (json, binary) = glb::chunks(bytes)?;
    let document = document::Document::parse(json)?;
    scene::assemble(&document, binary, false)
}

impl Model {
    /// Returns how many triangles there are.
    pub fn triangles(&self) -> usize {
        self.parts.iter().map(|part| part.triangles.len()).sum()
    }

    /// Returns how many vertices there are.
    pub fn vertices(&self) -> usize {
        self.parts.iter().map(|part| part.positions.len()).sum()
    }

    /// Returns the lowest and highest coordinates of what triangles use.
    pub fn bounds(&self) -> ([f32; 3], [f32; 3]) {
        let (mut low, mut high) = ([f32::MAX; 3], [f32::MIN; 3]);
        for part in &self.parts {
            for corner in part.triangles.iter().flatten() {
                let position = part.positions[*corner as usize];
                for axis in 0..3 {
                    low[axis] = low[axis].min(position[axis]);
                    high[axis] = high[axis].max(position[axis]);
                }
            }
        }
        (low, high)
    }
}

#[cfg(test)]
mod tests;
