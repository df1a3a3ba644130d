//! The part of a glTF description that shows something, as the file has it.

use serde::Deserialize;
use serde_json::Value;

use crate::domain::glb::GlbError;
use crate::model::ModelError;

/// Extensions whose absence changes nothing that is drawn, or that are read.
const KNOWN: &[&str] = &[
    "KHR_materials_unlit",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_mesh_quantization",
    "KHR_texture_transform",
    "KHR_texture_basisu",
    "EXT_texture_webp",
    "EXT_texture_avif",
    "KHR_animation_pointer",
    "KHR_node_visibility",
    "KHR_xmp_json_ld",
];

/// Extensions that hide the geometry.
const COMPRESSIONS: &[(&str, &str)] = &[
    ("KHR_draco_mesh_compression", "Draco"),
    ("EXT_meshopt_compression", "meshopt"),
    ("KHR_meshopt_compression", "meshopt"),
];

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Document {
    pub(super) scene: Option<usize>,
    pub(super) scenes: Vec<Scene>,
    pub(super) nodes: Vec<Node>,
    pub(super) meshes: Vec<Mesh>,
    pub(super) accessors: Vec<Accessor>,
    pub(super) buffer_views: Vec<BufferView>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) materials: Vec<Material>,
    pub(super) textures: Vec<TextureEntry>,
    pub(super) images: Vec<Image>,
    pub(super) samplers: Vec<Sampler>,
    pub(super) extensions_required: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Scene {
    pub(super) nodes: Vec<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Node {
    pub(super) children: Vec<usize>,
    pub(super) mesh: Option<usize>,
    pub(super) matrix: Option<[f32; 16]>,
    pub(super) translation: Option<[f32; 3]>,
    pub(super) rotation: Option<[f32; 4]>,
    pub(super) scale: Option<[f32; 3]>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Mesh {
    pub(super) primitives: Vec<Primitive>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Primitive {
    pub(super) attributes: Attributes,
    pub(super) indices: Option<usize>,
    pub(super) material: Option<usize>,
    pub(super) mode: Option<u32>,
    pub(super) extensions: Extensions,
}

/// Extensions of anything, unread until asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Extensions(serde_json::Map<String, Value>);

impl Extensions {
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    fn compression(&self) -> Option<&'static str> {
        COMPRESSIONS
            .iter()
            .find(|(extension, _)| self.0.contains_key(*extension))
            .map(|(_, name)| *name)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Attributes {
    #[serde(rename = "POSITION")]
    pub(super) position: Option<usize>,
    #[serde(rename = "NORMAL")]
    pub(super) normal: Option<usize>,
    #[serde(rename = "TEXCOORD_0")]
    pub(super) texture_0: Option<usize>,
    #[serde(rename = "TEXCOORD_1")]
    pub(super) texture_1: Option<usize>,
    #[serde(rename = "COLOR_0")]
    pub(super) colour: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Accessor {
    pub(super) buffer_view: Option<usize>,
    pub(super) byte_offset: usize,
    pub(super) component_type: u32,
    pub(super) count: usize,
    #[serde(rename = "type")]
    pub(super) shape: String,
    pub(super) normalized: bool,
    pub(super) sparse: Option<Sparse>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sparse {
    pub(super) count: usize,
    pub(super) indices: SparseIndices,
    pub(super) values: SparseValues,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparseIndices {
    pub(super) buffer_view: usize,
    #[serde(default)]
    pub(super) byte_offset: usize,
    pub(super) component_type: u32,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparseValues {
    pub(super) buffer_view: usize,
    #[serde(default)]
    pub(super) byte_offset: usize,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BufferView {
    pub(super) buffer: usize,
    pub(super) byte_offset: usize,
    pub(super) byte_length: usize,
    pub(super) byte_stride: Option<usize>,
    pub(super) extensions: Extensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Buffer {
    pub(super) uri: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Material {
    pub(super) pbr_metallic_roughness: Pbr,
    pub(super) alpha_mode: Option<String>,
    pub(super) alpha_cutoff: Option<f32>,
    pub(super) extensions: Extensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Pbr {
    pub(super) base_color_factor: Option<[f32; 4]>,
    pub(super) base_color_texture: Option<TextureUse>,
}

/// Which texture a material uses, and how.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TextureUse {
    pub(super) index: usize,
    pub(super) tex_coord: u32,
    pub(super) extensions: Extensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TextureEntry {
    pub(super) source: Option<usize>,
    pub(super) sampler: Option<usize>,
    pub(super) extensions: Extensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Image {
    pub(super) buffer_view: Option<usize>,
    pub(super) mime_type: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Sampler {
    pub(super) wrap_s: Option<u32>,
    pub(super) wrap_t: Option<u32>,
}

/// Moves, turns and scales places on a texture (`KHR_texture_transform`).
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TextureTransform {
    offset: [f32; 2],
    rotation: f32,
    scale: [f32; 2],
    pub(super) tex_coord: Option<u32>,
}

impl Default for TextureTransform {
    fn default() -> Self {
        Self {
            offset: [0.0; 2],
            rotation: 0.0,
            scale: [1.0; 2],
            tex_coord: None,
        }
    }
}

impl TextureTransform {
    pub(super) fn apply(self, [u, v]: [f32; 2]) -> [f32; 2] {
        let (sin, cos) = self.rotation.sin_cos();
        let (u, v) = (u * self.scale[0], v * self.scale[1]);
        [
            cos * u + sin * v + self.offset[0],
            cos * v - sin * u + self.offset[1],
        ]
    }
}

impl Document {
    pub(super) fn parse(json: &[u8]) -> Result<Self, ModelError> {
        let document: Self = serde_json::from_slice(json).map_err(GlbError::BadJson)?;
        document.refuse_compression()?;
        Ok(document)
    }

    fn refuse_compression(&self) -> Result<(), ModelError> {
        let primitives = self.meshes.iter().flat_map(|mesh| &mesh.primitives);
        let views = self.buffer_views.iter().map(|view| &view.extensions);
        let mut extensions = primitives.map(|part| &part.extensions).chain(views);
        if let Some(name) = extensions.find_map(Extensions::compression) {
            return Err(ModelError::Compressed(name.to_owned()));
        }
        for required in &self.extensions_required {
            if let Some((_, name)) = COMPRESSIONS.iter().find(|(known, _)| known == required) {
                return Err(ModelError::Compressed((*name).to_owned()));
            }
            // Other material extensions only add to the base colour.
            let is_known = KNOWN.contains(&required.as_str())
                || required.starts_with("KHR_materials_")
                || required.starts_with("KHR_lights_");
            if !is_known {
                return Err(ModelError::Extension(required.clone()));
            }
        }
        Ok(())
    }
}
