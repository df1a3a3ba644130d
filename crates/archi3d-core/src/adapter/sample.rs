//! The model and the two previews that rehearsals and mocks write.
//!
//! They are embedded in the program, so a rehearsal needs nothing beside it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::adapter::AdapterError;
use crate::domain::naming;

/// A cube as glTF binary.
pub(super) use crate::domain::glb::SAMPLE as CUBE_GLB;

const PREVIEWS: [&[u8]; 2] = [
    include_bytes!("../../../../fixtures/simulate/preview_1.png"),
    include_bytes!("../../../../fixtures/simulate/preview_2.png"),
];

/// The files that were written.
pub(super) struct Sample {
    pub(super) glb: PathBuf,
    pub(super) previews: Vec<PathBuf>,
}

/// Writes `glb` under the standard name and the two previews beside it.
pub(super) fn write(out_dir: &Path, glb: &[u8]) -> Result<Sample, AdapterError> {
    let model = put(out_dir.join(naming::GENERATED_GLB), glb)?;
    let previews = (1..)
        .zip(PREVIEWS)
        .map(|(number, bytes)| put(out_dir.join(naming::preview_png(number)), bytes))
        .collect::<Result<_, _>>()?;
    Ok(Sample {
        glb: model,
        previews,
    })
}

/// Writes one file into a job's folder.
#[expect(
    clippy::disallowed_methods,
    reason = "an adapter's scratch folder; the engine checks and publishes it"
)]
pub(super) fn put(path: PathBuf, bytes: &[u8]) -> Result<PathBuf, AdapterError> {
    match fs::write(&path, bytes) {
        Ok(()) => Ok(path),
        Err(error) => Err(AdapterError::unwritten(&path, &error)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn word(bytes: &[u8], at: usize) -> usize {
        let four = bytes[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(four) as usize
    }

    /// Splits the file into its JSON and its binary chunk, checking every length.
    fn chunks(glb: &[u8]) -> (Value, &[u8]) {
        assert_eq!(&glb[..4], b"glTF");
        assert_eq!(word(glb, 4), 2);
        assert_eq!(word(glb, 8), glb.len());
        let json_len = word(glb, 12);
        assert_eq!(&glb[16..20], b"JSON");
        assert_eq!(json_len % 4, 0);
        let bin_at = 20 + json_len;
        assert_eq!(&glb[bin_at + 4..bin_at + 8], b"BIN\0");
        assert_eq!(word(glb, bin_at) % 4, 0);
        let bin = &glb[bin_at + 8..];
        assert_eq!(bin.len(), word(glb, bin_at));
        let json = serde_json::from_slice(&glb[20..bin_at]).expect("JSON");
        (json, bin)
    }

    fn number(value: &Value) -> usize {
        usize::try_from(value.as_u64().expect("a whole number")).expect("small")
    }

    fn view<'a>(json: &Value, bin: &'a [u8], accessor: usize) -> &'a [u8] {
        let view = number(&json["accessors"][accessor]["bufferView"]);
        let view = &json["bufferViews"][view];
        let start = number(&view["byteOffset"]);
        assert_eq!(start % 4, 0, "buffer views are aligned");
        &bin[start..start + number(&view["byteLength"])]
    }

    fn vectors(bytes: &[u8]) -> Vec<[f32; 3]> {
        let float = |at: &[u8]| f32::from_le_bytes(at.try_into().expect("four bytes"));
        bytes
            .chunks_exact(12)
            .map(|v| [float(&v[..4]), float(&v[4..8]), float(&v[8..])])
            .collect()
    }

    #[test]
    fn the_cube_is_a_valid_gltf_binary() {
        let (json, bin) = chunks(CUBE_GLB);
        assert_eq!(json["asset"]["version"], "2.0");
        assert_eq!(number(&json["buffers"][0]["byteLength"]), bin.len());
        let positions = vectors(view(&json, bin, 0));
        let normals = vectors(view(&json, bin, 1));
        assert_eq!((positions.len(), normals.len()), (24, 24));
        for axis in 0..3 {
            let low = positions.iter().map(|p| p[axis]).fold(f32::MAX, f32::min);
            let high = positions.iter().map(|p| p[axis]).fold(f32::MIN, f32::max);
            assert_eq!(json["accessors"][0]["min"][axis].as_f64(), Some(low.into()));
            assert_eq!(
                json["accessors"][0]["max"][axis].as_f64(),
                Some(high.into())
            );
        }
        for normal in normals {
            let length: f32 = normal.iter().map(|n| n * n).sum();
            assert!((length - 1.0).abs() < 1e-6);
        }
        let indices: Vec<u16> = view(&json, bin, 2)
            .chunks_exact(2)
            .map(|two| u16::from_le_bytes(two.try_into().expect("two bytes")))
            .collect();
        assert_eq!(indices.len(), 36);
        assert!(indices.iter().all(|index| usize::from(*index) < 24));
    }

    #[test]
    fn every_triangle_of_the_cube_faces_outwards() {
        let (json, bin) = chunks(CUBE_GLB);
        let positions = vectors(view(&json, bin, 0));
        let normals = vectors(view(&json, bin, 1));
        let indices = view(&json, bin, 2);
        for three in indices.chunks_exact(6) {
            let corners =
                [0, 2, 4].map(|at| usize::from(u16::from_le_bytes([three[at], three[at + 1]])));
            let start = positions[corners[0]];
            let edge = |to: usize| [0, 1, 2].map(|i| positions[corners[to]][i] - start[i]);
            let (first, second) = (edge(1), edge(2));
            let cross =
                [(1, 2), (2, 0), (0, 1)].map(|(i, j)| first[i] * second[j] - first[j] * second[i]);
            let normal = normals[corners[0]];
            let along: f32 = cross.iter().zip(normal).map(|(x, n)| x * n).sum();
            assert!(along > 0.0);
        }
    }

    #[test]
    fn the_previews_are_pictures() {
        for bytes in PREVIEWS {
            let picture = image::load_from_memory(bytes).expect("a valid PNG");
            assert_eq!((picture.width(), picture.height()), (96, 96));
        }
        assert_ne!(PREVIEWS[0], PREVIEWS[1]);
    }
}
