//! Reads the numbers of a glTF binary: any component type, stride, normalised or
//! sparse, with every reach checked against what is there.

use crate::model::ModelError;
use crate::model::document::{Accessor, BufferView, Document};

const BYTE: u32 = 5120;
const UNSIGNED_BYTE: u32 = 5121;
const SHORT: u32 = 5122;
const UNSIGNED_SHORT: u32 = 5123;
const UNSIGNED_INT: u32 = 5125;
const FLOAT: u32 = 5126;

/// A description and the binary chunk that it speaks of.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) document: &'a Document,
    pub(super) binary: &'a [u8],
}

impl<'a> Source<'a> {
    /// Returns the bytes of a view.
    pub(super) fn view(&self, index: usize) -> Result<(&'a [u8], &'a BufferView), ModelError> {
        let views = &self.document.buffer_views;
        let view = views
            .get(index)
            .ok_or_else(|| ModelError::damaged(format!("there is no buffer view {index}")))?;
        let buffer = self.document.buffers.get(view.buffer);
        if view.buffer != 0 || buffer.is_some_and(|buffer| buffer.uri.is_some()) {
            return Err(ModelError::External);
        }
        let end = view.byte_offset.checked_add(view.byte_length);
        let bytes = end.and_then(|end| self.binary.get(view.byte_offset..end));
        bytes.map(|bytes| (bytes, view)).ok_or_else(|| {
            ModelError::damaged(format!("buffer view {index} ends outside the file"))
        })
    }

    fn accessor(&self, index: usize) -> Result<&'a Accessor, ModelError> {
        let accessors = &self.document.accessors;
        accessors
            .get(index)
            .ok_or_else(|| ModelError::damaged(format!("there is no accessor {index}")))
    }

    /// Reads vectors of `N` numbers. A shorter one is filled with `missing`.
    pub(super) fn vectors<const N: usize>(
        &self,
        index: usize,
        missing: f32,
    ) -> Result<Vec<[f32; N]>, ModelError> {
        let accessor = self.accessor(index)?;
        let width = width(&accessor.shape)
            .ok_or_else(|| ModelError::damaged(format!("accessor {index} has an unknown shape")))?;
        let size = component_size(accessor.component_type)
            .ok_or_else(|| ModelError::damaged(format!("accessor {index} has an unknown type")))?;
        let read = |bytes: &[u8]| {
            let mut vector = [missing; N];
            for (slot, component) in vector.iter_mut().zip(bytes.chunks_exact(size)).take(width) {
                *slot = number(component, accessor.component_type, accessor.normalized);
            }
            vector
        };
        let element = width * size;
        let mut vectors = match accessor.buffer_view {
            None => self.zeros(accessor)?,
            Some(view) => {
                let (bytes, view) = self.view(view)?;
                let stride = view.byte_stride.unwrap_or(element).max(1);
                elements(bytes, accessor.byte_offset, stride, element, accessor.count)
                    .ok_or_else(|| too_short(index))?
                    .map(read)
                    .collect()
            }
        };
        if let Some(sparse) = &accessor.sparse {
            let indices = self.plain_indices(
                sparse.indices.buffer_view,
                sparse.indices.byte_offset,
                sparse.indices.component_type,
                sparse.count,
            )?;
            let (bytes, _) = self.view(sparse.values.buffer_view)?;
            let offset = sparse.values.byte_offset;
            let values = elements(bytes, offset, element, element, sparse.count)
                .ok_or_else(|| too_short(index))?;
            for (at, value) in indices.iter().zip(values) {
                let slot = vectors.get_mut(*at as usize);
                *slot.ok_or_else(|| too_short(index))? = read(value);
            }
        }
        Ok(vectors)
    }

    /// An accessor without a view is all zeros; how many must still be believable.
    fn zeros<const N: usize>(&self, accessor: &Accessor) -> Result<Vec<[f32; N]>, ModelError> {
        if accessor.count > self.binary.len().max(1 << 16) {
            return Err(ModelError::damaged(
                "an accessor promises more than the file holds",
            ));
        }
        Ok(vec![[0.0; N]; accessor.count])
    }

    /// Reads corner numbers.
    pub(super) fn indices(&self, index: usize) -> Result<Vec<u32>, ModelError> {
        let accessor = self.accessor(index)?;
        let view = accessor
            .buffer_view
            .ok_or_else(|| ModelError::damaged(format!("accessor {index} has no data")))?;
        self.plain_indices(
            view,
            accessor.byte_offset,
            accessor.component_type,
            accessor.count,
        )
    }

    fn plain_indices(
        &self,
        view: usize,
        offset: usize,
        component: u32,
        count: usize,
    ) -> Result<Vec<u32>, ModelError> {
        let (bytes, _) = self.view(view)?;
        let size = match component {
            UNSIGNED_BYTE => 1,
            UNSIGNED_SHORT => 2,
            UNSIGNED_INT => 4,
            _ => return Err(ModelError::damaged("indices are of an unknown type")),
        };
        let elements = elements(bytes, offset, size, size, count)
            .ok_or_else(|| ModelError::damaged("indices end outside their buffer view"))?;
        Ok(elements
            .map(|bytes| {
                let mut word = [0; 4];
                word[..size].copy_from_slice(bytes);
                u32::from_le_bytes(word)
            })
            .collect())
    }
}

fn too_short(index: usize) -> ModelError {
    ModelError::damaged(format!("accessor {index} ends outside its buffer view"))
}

/// Cuts bytes into `count` elements; nothing if they do not all fit.
fn elements(
    bytes: &[u8],
    offset: usize,
    stride: usize,
    element: usize,
    count: usize,
) -> Option<impl Iterator<Item = &[u8]>> {
    if count > 0 {
        let last = stride.checked_mul(count - 1)?.checked_add(offset)?;
        bytes.get(last..last.checked_add(element)?)?;
    }
    Some((0..count).map(move |at| &bytes[offset + at * stride..][..element]))
}

fn width(shape: &str) -> Option<usize> {
    match shape {
        "SCALAR" => Some(1),
        "VEC2" => Some(2),
        "VEC3" => Some(3),
        "VEC4" => Some(4),
        _ => None,
    }
}

fn component_size(component: u32) -> Option<usize> {
    match component {
        BYTE | UNSIGNED_BYTE => Some(1),
        SHORT | UNSIGNED_SHORT => Some(2),
        UNSIGNED_INT | FLOAT => Some(4),
        _ => None,
    }
}

/// Reads one little-endian number; a normalised one becomes a share of 1.
fn number(bytes: &[u8], component: u32, normalized: bool) -> f32 {
    let (value, most) = match (component, bytes) {
        (BYTE, [a]) => (f32::from(i8::from_le_bytes([*a])), 127.0),
        (UNSIGNED_BYTE, [a]) => (f32::from(*a), 255.0),
        (SHORT, [a, b]) => (f32::from(i16::from_le_bytes([*a, *b])), 32_767.0),
        (UNSIGNED_SHORT, [a, b]) => (f32::from(u16::from_le_bytes([*a, *b])), 65_535.0),
        (UNSIGNED_INT, [a, b, c, d]) => (u32::from_le_bytes([*a, *b, *c, *d]) as f32, 1.0),
        (FLOAT, [a, b, c, d]) => return f32::from_le_bytes([*a, *b, *c, *d]),
        _ => return 0.0,
    };
    if normalized {
        (value / most).max(-1.0)
    } else {
        value
    }
}
