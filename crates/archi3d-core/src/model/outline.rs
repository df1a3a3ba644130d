//! What a file says about itself, without decoding what it holds.

use std::collections::BTreeSet;
use std::io::Cursor;

use image::ImageReader;

use crate::domain::glb;
use crate::model::document::{Document, Mesh};

/// What a model is made of. Known of compressed ones too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outline {
    /// Triangles in its scene.
    pub triangles: usize,
    /// Vertices in its scene.
    pub vertices: usize,
    /// Materials that something is covered with.
    pub materials: usize,
    /// Width and height of its largest picture.
    pub texture: Option<(u32, u32)>,
}

/// Reads the description of a GLB; nothing if it has none.
pub fn outline(bytes: &[u8]) -> Option<Outline> {
    let (json, binary) = glb::chunks(bytes).ok()?;
    let document: Document = serde_json::from_slice(json).ok()?;
    let mut outline = Outline::default();
    let mut materials = BTreeSet::new();
    for mesh in document.nodes.iter().filter_map(|node| node.mesh) {
        let mesh = document.meshes.get(mesh)?;
        let (triangles, vertices) = sizes(&document, mesh);
        outline.triangles = outline.triangles.saturating_add(triangles);
        outline.vertices = outline.vertices.saturating_add(vertices);
        materials.extend(mesh.primitives.iter().filter_map(|part| part.material));
    }
    outline.materials = materials.len();
    let pictures = document.images.iter().filter_map(|image| image.buffer_view);
    outline.texture = pictures
        .filter_map(|view| size(&document, binary, view))
        .max();
    Some(outline)
}

fn sizes(document: &Document, mesh: &Mesh) -> (usize, usize) {
    let count = |accessor: Option<usize>| {
        let accessor = accessor.and_then(|index| document.accessors.get(index));
        accessor.map_or(0, |accessor| accessor.count)
    };
    let mut sum = (0_usize, 0_usize);
    for part in &mesh.primitives {
        let vertices = count(part.attributes.position);
        let corners = part.indices.map_or(vertices, |index| count(Some(index)));
        sum.0 = sum.0.saturating_add(match part.mode.unwrap_or(4) {
            4 => corners / 3,
            5 | 6 => corners.saturating_sub(2),
            _ => 0,
        });
        sum.1 = sum.1.saturating_add(vertices);
    }
    sum
}

/// Reads the size of a picture from its first bytes.
fn size(document: &Document, binary: &[u8], view: usize) -> Option<(u32, u32)> {
    let view = document.buffer_views.get(view)?;
    let end = view.byte_offset.checked_add(view.byte_length)?;
    let bytes = binary.get(view.byte_offset..end)?;
    if bytes.starts_with(b"\xabKTX 20\xbb") {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        return Some((word(20)?, word(24)?));
    }
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    reader.ok()?.into_dimensions().ok()
}
