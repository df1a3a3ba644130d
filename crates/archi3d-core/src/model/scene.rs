//! Walks through a scene and brings every primitive into world coordinates.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;

use crate::model::accessor::Source;
use crate::model::document::{self, Document, Node, Primitive, TextureTransform, TextureUse};
use crate::model::vector::{cross, dot, unit};
use crate::model::{MAX_TRIANGLES, Material, Model, ModelError, Part, Texture, Wrap};

const TRIANGLES: u32 = 4;
const STRIP: u32 = 5;
const FAN: u32 = 6;

/// No real scene is nested deeper.
const MAX_DEPTH: usize = 256;

/// No real scene has more nodes; a graph of few could name one a billion times.
const MAX_VISITS: usize = 200_000;

/// Where a translucent surface ends.
const TRANSLUCENT: f32 = 0.05;

/// Builds the model; `textured` reads its pictures too.
pub(super) fn assemble(
    document: &Document,
    binary: &[u8],
    textured: bool,
) -> Result<Model, ModelError> {
    let mut builder = Builder {
        source: Source { document, binary },
        textured,
        textures: HashMap::new(),
        visits: 0,
        model: Model::default(),
    };
    for root in roots(document) {
        builder.add_node(root, &IDENTITY, 0)?;
    }
    if builder.model.triangles() == 0 {
        return Err(ModelError::Empty);
    }
    Ok(builder.model)
}

/// Returns where to begin: the scene's nodes, or every node that is no child.
fn roots(document: &Document) -> Vec<usize> {
    let scene = document.scenes.get(document.scene.unwrap_or(0));
    if let Some(scene) = scene.filter(|scene| !scene.nodes.is_empty()) {
        return scene.nodes.clone();
    }
    let mut is_child = vec![false; document.nodes.len()];
    for child in document.nodes.iter().flat_map(|node| &node.children) {
        if let Some(slot) = is_child.get_mut(*child) {
            *slot = true;
        }
    }
    (0..is_child.len())
        .filter(|node| !is_child[*node])
        .collect()
}

struct Builder<'a> {
    source: Source<'a>,
    textured: bool,
    /// Textures that several materials share, by number.
    textures: HashMap<usize, Option<Arc<Texture>>>,
    visits: usize,
    model: Model,
}

impl<'a> Builder<'a> {
    fn add_node(&mut self, index: usize, above: &Matrix, depth: usize) -> Result<(), ModelError> {
        self.visits += 1;
        if depth > MAX_DEPTH || self.visits > MAX_VISITS {
            return Err(ModelError::damaged("its nodes are nested without end"));
        }
        let document = self.source.document;
        let node = document
            .nodes
            .get(index)
            .ok_or_else(|| ModelError::damaged(format!("there is no node {index}")))?;
        let place = multiply(above, &local(node));
        if let Some(mesh) = node.mesh {
            let mesh = document
                .meshes
                .get(mesh)
                .ok_or_else(|| ModelError::damaged(format!("there is no mesh {mesh}")))?;
            for primitive in &mesh.primitives {
                self.add_primitive(primitive, &place)?;
            }
        }
        for child in &node.children {
            self.add_node(*child, &place, depth + 1)?;
        }
        Ok(())
    }

    fn add_primitive(&mut self, primitive: &Primitive, place: &Matrix) -> Result<(), ModelError> {
        let mode = primitive.mode.unwrap_or(TRIANGLES);
        let Some(position) = primitive.attributes.position else {
            return Ok(());
        };
        if !(TRIANGLES..=FAN).contains(&mode) {
            return Ok(());
        }
        let mut positions = self.source.vectors::<3>(position, 0.0)?;
        for at in &mut positions {
            *at = moved(place, *at);
        }
        let corners = match primitive.indices {
            Some(indices) => self.source.indices(indices)?,
            None => (0..u32::try_from(positions.len()).unwrap_or(u32::MAX)).collect(),
        };
        let triangles = triangles(&corners, mode, &positions)?;
        let total = self.model.triangles() + triangles.len();
        if total > MAX_TRIANGLES {
            return Err(ModelError::TooLarge);
        }
        let (material, picture) = self.material(primitive.material);
        let count = positions.len();
        let normals = self.optional(primitive.attributes.normal, 0.0, count)?;
        let colours = self.optional(primitive.attributes.colour, 1.0, count)?;
        self.model.parts.push(Part {
            texture_places: self.texture_places(primitive, picture, count)?,
            normals: turned(place, normals),
            positions,
            colours,
            triangles,
            material,
        });
        Ok(())
    }

    /// Reads an attribute that need not be there; one of another length is none.
    fn optional<const N: usize>(
        &self,
        accessor: Option<usize>,
        missing: f32,
        count: usize,
    ) -> Result<Vec<[f32; N]>, ModelError> {
        let Some(accessor) = accessor else {
            return Ok(Vec::new());
        };
        let vectors = self.source.vectors(accessor, missing)?;
        Ok(if vectors.len() == count {
            vectors
        } else {
            Vec::new()
        })
    }

    fn texture_places(
        &self,
        primitive: &Primitive,
        picture: Option<&TextureUse>,
        count: usize,
    ) -> Result<Vec<[f32; 2]>, ModelError> {
        let Some(picture) = picture.filter(|_| self.textured) else {
            return Ok(Vec::new());
        };
        let transform = picture.extensions.get("KHR_texture_transform");
        let transform = transform.and_then(|value| TextureTransform::deserialize(value).ok());
        let set = transform.and_then(|transform| transform.tex_coord);
        let accessor = match set.unwrap_or(picture.tex_coord) {
            0 => primitive.attributes.texture_0,
            1 => primitive.attributes.texture_1,
            _ => None,
        };
        let mut places = self.optional::<2>(accessor, 0.0, count)?;
        if let Some(transform) = transform {
            for place in &mut places {
                *place = transform.apply(*place);
            }
        }
        Ok(places)
    }

    /// Returns what covers a primitive, and which picture that is.
    fn material(&mut self, index: Option<usize>) -> (Material, Option<&'a TextureUse>) {
        let materials = &self.source.document.materials;
        let Some(stored) = index.and_then(|index| materials.get(index)) else {
            return (Material::default(), None);
        };
        let (colour, picture) = base_colour(stored);
        let texture = picture
            .filter(|_| self.textured)
            .and_then(|picture| self.texture(picture.index));
        let cutoff = match stored.alpha_mode.as_deref() {
            Some("MASK") => Some(stored.alpha_cutoff.unwrap_or(0.5)),
            Some("BLEND") => Some(TRANSLUCENT),
            _ => None,
        };
        let material = Material {
            colour,
            texture,
            cutoff,
            unlit: stored.extensions.get("KHR_materials_unlit").is_some(),
        };
        (material, picture)
    }

    /// Returns a texture, read once; one that cannot be shown is noted and left out.
    fn texture(&mut self, index: usize) -> Option<Arc<Texture>> {
        if let Some(known) = self.textures.get(&index) {
            return known.clone();
        }
        let texture = match self.read_texture(index) {
            Ok(texture) => Some(Arc::new(texture)),
            Err(reason) => {
                let note = format!("texture {index} is not shown: {reason}");
                self.model.notes.push(note);
                None
            }
        };
        self.textures.insert(index, texture.clone());
        texture
    }

    fn read_texture(&self, index: usize) -> Result<Texture, String> {
        let document = self.source.document;
        let entry = document.textures.get(index).ok_or("it is not there")?;
        let extension = |name| {
            let source = entry.extensions.get(name)?.get("source")?.as_u64()?;
            usize::try_from(source).ok()
        };
        let source = extension("EXT_texture_webp").or(entry.source);
        let Some(source) = source else {
            let compressed = extension("KHR_texture_basisu").is_some();
            return Err(if compressed {
                "it is compressed as KTX2, which is not decoded here".to_owned()
            } else {
                "it names no picture".to_owned()
            });
        };
        let image = document
            .images
            .get(source)
            .ok_or("its picture is not there")?;
        if image.mime_type.as_deref() == Some("image/ktx2") {
            return Err("it is compressed as KTX2, which is not decoded here".to_owned());
        }
        let view = image.buffer_view.ok_or("its picture is in another file")?;
        let (bytes, _) = self.source.view(view).map_err(|error| error.to_string())?;
        let sampler = entry.sampler.and_then(|index| document.samplers.get(index));
        let wrap = [
            wrap(sampler.and_then(|sampler| sampler.wrap_s)),
            wrap(sampler.and_then(|sampler| sampler.wrap_t)),
        ];
        Texture::decode(bytes, wrap)
    }
}

/// Returns a material's linear colour and the picture of it, in either description of
/// surfaces that glTF knows.
fn base_colour(stored: &document::Material) -> ([f32; 4], Option<&TextureUse>) {
    let pbr = &stored.pbr_metallic_roughness;
    let older = stored.extensions.get("KHR_materials_pbrSpecularGlossiness");
    if let (Some(older), None, None) = (older, &pbr.base_color_texture, pbr.base_color_factor) {
        let factor = older.get("diffuseFactor").map(<[f32; 4]>::deserialize);
        return (factor.and_then(Result::ok).unwrap_or([1.0; 4]), None);
    }
    let colour = pbr.base_color_factor.unwrap_or([1.0; 4]);
    (colour, pbr.base_color_texture.as_ref())
}

fn wrap(mode: Option<u32>) -> Wrap {
    match mode {
        Some(33_071) => Wrap::Clamp,
        Some(33_648) => Wrap::Mirror,
        _ => Wrap::Repeat,
    }
}

/// Groups corners into triangles, in their order; those that point nowhere are damage,
/// those without an area or a place are left out.
fn triangles(
    corners: &[u32],
    mode: u32,
    positions: &[[f32; 3]],
) -> Result<Vec<[u32; 3]>, ModelError> {
    if corners
        .iter()
        .any(|corner| *corner as usize >= positions.len())
    {
        return Err(ModelError::damaged(
            "a triangle names a vertex that is not there",
        ));
    }
    let all: Vec<[u32; 3]> = match mode {
        STRIP => {
            let windows = corners.windows(3).enumerate();
            let turned = |(at, window): (usize, &[u32])| match at % 2 {
                0 => [window[0], window[1], window[2]],
                _ => [window[1], window[0], window[2]],
            };
            windows.map(turned).collect()
        }
        FAN => corners
            .windows(2)
            .skip(1)
            .map(|pair| [corners[0], pair[0], pair[1]])
            .collect(),
        _ => corners
            .chunks_exact(3)
            .map(|three| [three[0], three[1], three[2]])
            .collect(),
    };
    let is_placed = |corner: &u32| positions[*corner as usize].iter().all(|v| v.is_finite());
    Ok(all
        .into_iter()
        .filter(|triangle| triangle.iter().all(is_placed))
        .collect())
}

/// A place in space: three columns of a turn with scale, and a shift.
type Matrix = [[f32; 3]; 4];

const IDENTITY: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0; 3]];

fn local(node: &Node) -> Matrix {
    if let Some(m) = node.matrix {
        return [0, 4, 8, 12].map(|column| [m[column], m[column + 1], m[column + 2]]);
    }
    let [x, y, z, w] = node.rotation.unwrap_or([0.0, 0.0, 0.0, 1.0]);
    let scale = node.scale.unwrap_or([1.0; 3]);
    [
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y + z * w),
            2.0 * (x * z - y * w),
        ]
        .map(|v| v * scale[0]),
        [
            2.0 * (x * y - z * w),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z + x * w),
        ]
        .map(|v| v * scale[1]),
        [
            2.0 * (x * z + y * w),
            2.0 * (y * z - x * w),
            1.0 - 2.0 * (x * x + y * y),
        ]
        .map(|v| v * scale[2]),
        node.translation.unwrap_or([0.0; 3]),
    ]
}

fn rotated(m: &Matrix, [x, y, z]: [f32; 3]) -> [f32; 3] {
    [0, 1, 2].map(|i| m[0][i] * x + m[1][i] * y + m[2][i] * z)
}

fn moved(m: &Matrix, at: [f32; 3]) -> [f32; 3] {
    let turned = rotated(m, at);
    [0, 1, 2].map(|i| turned[i] + m[3][i])
}

fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    [
        rotated(a, b[0]),
        rotated(a, b[1]),
        rotated(a, b[2]),
        moved(a, b[3]),
    ]
}

/// Turns normals by the matrix that keeps them upright on their surface.
fn turned(place: &Matrix, normals: Vec<[f32; 3]>) -> Vec<[f32; 3]> {
    let [x, y, z, _] = *place;
    let upright = [cross(y, z), cross(z, x), cross(x, y), [0.0; 3]];
    let mirrored = dot(x, upright[0]) < 0.0;
    let mut normals = normals;
    for normal in &mut normals {
        let turned = unit(rotated(&upright, *normal));
        *normal = if mirrored { turned.map(|v| -v) } else { turned };
    }
    normals
}
