//! Writes a mesh and its texture as one glTF 2.0 binary file. Pure.

use serde_json::json;

use crate::adapter::relief::mesh::{Mesh, bounds};
use crate::domain::glb;

const FLOAT: u32 = 5126;
const UNSIGNED_SHORT: u32 = 5123;
const UNSIGNED_INT: u32 = 5125;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;
const LINEAR: u32 = 9729;
const LINEAR_MIPMAP_LINEAR: u32 = 9987;
const CLAMP_TO_EDGE: u32 = 33071;

/// The binary part, made of views that each start at a multiple of four.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    views: Vec<serde_json::Value>,
}

impl Buffer {
    fn add(&mut self, target: Option<u32>, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        let mut view = json!({
            "buffer": 0, "byteOffset": start, "byteLength": self.bytes.len() - start,
        });
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        self.views.push(view);
        let whole = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(whole, 0);
    }

    fn add_floats<const N: usize>(&mut self, vectors: &[[f32; N]]) {
        self.add(Some(ARRAY_BUFFER), |bytes| {
            bytes.extend(
                vectors
                    .iter()
                    .flatten()
                    .flat_map(|value| value.to_le_bytes()),
            );
        });
    }
}

/// Returns the file; `name` becomes the name of the model, `texture` is a JPEG file.
pub(super) fn write(mesh: &Mesh, texture: &[u8], name: &str) -> Vec<u8> {
    // The largest short number is reserved.
    let is_small = u16::try_from(mesh.positions.len()).is_ok();
    let mut buffer = Buffer::default();
    buffer.add_floats(&mesh.positions);
    buffer.add_floats(&mesh.normals);
    buffer.add_floats(&mesh.texture_places);
    let corners = || mesh.triangles.iter().flatten();
    buffer.add(Some(ELEMENT_ARRAY_BUFFER), |bytes| {
        if is_small {
            let short = |corner: &u32| u16::try_from(*corner).unwrap_or(u16::MAX);
            bytes.extend(corners().flat_map(|corner| short(corner).to_le_bytes()));
        } else {
            bytes.extend(corners().flat_map(|corner| corner.to_le_bytes()));
        }
    });
    buffer.add(None, |bytes| bytes.extend(texture));
    let (low, high) = bounds(&mesh.positions);
    let vertices = mesh.positions.len();
    let index_type = if is_small {
        UNSIGNED_SHORT
    } else {
        UNSIGNED_INT
    };
    let document = json!({
        "asset": {"version": "2.0", "generator": concat!("archi3d ", env!("CARGO_PKG_VERSION"))},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"name": name, "mesh": 0}],
        "meshes": [{"name": name, "primitives": [{
            "attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2},
            "indices": 3, "material": 0, "mode": 4,
        }]}],
        "materials": [{"name": "picture", "doubleSided": false, "pbrMetallicRoughness": {
            "baseColorTexture": {"index": 0}, "metallicFactor": 0.0, "roughnessFactor": 0.8,
        }}],
        "textures": [{"source": 0, "sampler": 0}],
        "images": [{"name": "picture", "mimeType": "image/jpeg", "bufferView": 4}],
        "samplers": [{
            "magFilter": LINEAR, "minFilter": LINEAR_MIPMAP_LINEAR,
            "wrapS": CLAMP_TO_EDGE, "wrapT": CLAMP_TO_EDGE,
        }],
        "accessors": [
            {"bufferView": 0, "componentType": FLOAT, "count": vertices, "type": "VEC3",
             "min": low, "max": high},
            {"bufferView": 1, "componentType": FLOAT, "count": vertices, "type": "VEC3"},
            {"bufferView": 2, "componentType": FLOAT, "count": vertices, "type": "VEC2"},
            {"bufferView": 3, "componentType": index_type, "count": corners().count(),
             "type": "SCALAR"},
        ],
        "bufferViews": buffer.views,
        "buffers": [{"byteLength": buffer.bytes.len()}],
    });
    glb::assemble(&document, buffer.bytes)
}
