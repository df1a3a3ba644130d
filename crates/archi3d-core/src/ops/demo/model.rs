//! Writes a product as glTF binary: its ground truth, with the colours of its parts.

use std::f64::consts::{PI, TAU};

use serde_json::json;

use super::render::{add, unit};
use super::scene::{Part, Shape, Vec3};

/// How many pieces a circle is made of.
const SEGMENTS: u32 = 32;

/// Corners of triangles with what belongs to each of them.
#[derive(Default)]
struct Mesh {
    positions: Vec<Vec3>,
    normals: Vec<Vec3>,
    colors: Vec<Vec3>,
    indices: Vec<u32>,
}

/// Returns the parts as one glTF binary file.
pub(super) fn glb(parts: &[Part]) -> Vec<u8> {
    let mut mesh = Mesh::default();
    for part in parts {
        match part.shape {
            Shape::Box(half) => mesh.add_box(part, half),
            Shape::Ball(radii) => mesh.add_ball(part, radii),
            Shape::Round(bottom, top, half) => mesh.add_round(part, bottom, top, half),
        }
    }
    mesh.to_glb()
}

/// Returns a value of a picture as the amount of light that glTF colours are told in.
fn linear(value: f64) -> f64 {
    if value <= 0.040_45 {
        value / 12.92
    } else {
        ((value + 0.055) / 1.055).powf(2.4)
    }
}

impl Mesh {
    fn corner(&mut self, part: &Part, at: Vec3, normal: Vec3) -> u32 {
        let number = u32::try_from(self.positions.len()).unwrap_or(u32::MAX);
        self.positions.push(add(part.at, at));
        self.normals.push(normal);
        self.colors.push(part.color.map(linear));
        number
    }

    fn triangle(&mut self, corners: [u32; 3]) {
        self.indices.extend(corners);
    }

    fn add_box(&mut self, part: &Part, half: Vec3) {
        for axis in 0..3 {
            for side in [-1.0, 1.0] {
                let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                let mut normal = [0.0; 3];
                normal[axis] = side;
                // Seen from outside the corners go round against the clock.
                let around = [(-1.0, -1.0), (side, -side), (1.0, 1.0), (-side, side)];
                let corners = around.map(|(cu, cv)| {
                    let mut at = [0.0; 3];
                    (at[axis], at[u], at[v]) = (side * half[axis], cu * half[u], cv * half[v]);
                    self.corner(part, at, normal)
                });
                self.triangle([corners[0], corners[1], corners[2]]);
                self.triangle([corners[0], corners[2], corners[3]]);
            }
        }
    }

    fn add_ball(&mut self, part: &Part, radii: Vec3) {
        let rings = SEGMENTS / 2;
        let mut rows: Vec<Vec<u32>> = Vec::new();
        for ring in 0..=rings {
            let down = PI * f64::from(ring) / f64::from(rings);
            let row = (0..=SEGMENTS).map(|step| {
                let turn = TAU * f64::from(step) / f64::from(SEGMENTS);
                let on = [down.sin() * turn.cos(), down.cos(), down.sin() * turn.sin()];
                let at = [on[0] * radii[0], on[1] * radii[1], on[2] * radii[2]];
                let normal = unit([on[0] / radii[0], on[1] / radii[1], on[2] / radii[2]]);
                self.corner(part, at, normal)
            });
            rows.push(row.collect());
        }
        for pair in rows.windows(2) {
            self.band(&pair[0], &pair[1]);
        }
    }

    fn add_round(&mut self, part: &Part, bottom: f64, top: f64, half: f64) {
        let slope = (bottom - top) / (2.0 * half);
        let circle = |mesh: &mut Self, y: f64, radius: f64, lid: Option<f64>| -> Vec<u32> {
            (0..=SEGMENTS)
                .map(|step| {
                    let turn = TAU * f64::from(step) / f64::from(SEGMENTS);
                    let (x, z) = (turn.cos(), turn.sin());
                    let normal = lid.map_or_else(|| unit([x, slope, z]), |up| [0.0, up, 0.0]);
                    mesh.corner(part, [x * radius, y, z * radius], normal)
                })
                .collect()
        };
        let upper = circle(self, half, top, None);
        let lower = circle(self, -half, bottom, None);
        self.band(&upper, &lower);
        for (y, radius, up) in [(half, top, 1.0), (-half, bottom, -1.0)] {
            let middle = self.corner(part, [0.0, y, 0.0], [0.0, up, 0.0]);
            let rim = circle(self, y, radius, Some(up));
            for pair in rim.windows(2) {
                let (first, second) = if up > 0.0 {
                    (pair[1], pair[0])
                } else {
                    (pair[0], pair[1])
                };
                self.triangle([middle, first, second]);
            }
        }
    }

    /// Joins two rows of corners, the upper one first.
    fn band(&mut self, upper: &[u32], lower: &[u32]) {
        for (above, below) in upper.windows(2).zip(lower.windows(2)) {
            self.triangle([above[0], above[1], below[0]]);
            self.triangle([above[1], below[1], below[0]]);
        }
    }

    fn to_glb(&self) -> Vec<u8> {
        let mut binary = Vec::new();
        let mut views = Vec::new();
        for vectors in [&self.positions, &self.normals, &self.colors] {
            let start = binary.len();
            for value in vectors.iter().flatten() {
                binary.extend(single(*value).to_le_bytes());
            }
            views.push(json!({"buffer": 0, "byteOffset": start, "byteLength": binary.len() - start, "target": 34962}));
        }
        let start = binary.len();
        for index in &self.indices {
            binary.extend(index.to_le_bytes());
        }
        views.push(json!({"buffer": 0, "byteOffset": start, "byteLength": binary.len() - start, "target": 34963}));
        let extreme = |pick: fn(f32, f32) -> f32, from: f32| {
            let positions = self.positions.iter();
            positions.fold([from; 3], |best, at| {
                [0, 1, 2].map(|i| pick(best[i], single(at[i])))
            })
        };
        let count = self.positions.len();
        let vectors = |view: usize| json!({"bufferView": view, "componentType": 5126, "count": count, "type": "VEC3"});
        let mut positions = vectors(0);
        positions["min"] = json!(extreme(f32::min, f32::INFINITY));
        positions["max"] = json!(extreme(f32::max, f32::NEG_INFINITY));
        let json = json!({
            "asset": {"version": "2.0", "generator": "archi3d demo"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{
                "attributes": {"POSITION": 0, "NORMAL": 1, "COLOR_0": 2},
                "indices": 3,
                "material": 0,
            }]}],
            "materials": [{"pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 0.8}}],
            "buffers": [{"byteLength": binary.len()}],
            "bufferViews": views,
            "accessors": [
                positions,
                vectors(1),
                vectors(2),
                {"bufferView": 3, "componentType": 5125, "count": self.indices.len(), "type": "SCALAR"},
            ],
        });
        crate::domain::glb::assemble(&json, binary)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "glTF keeps single precision"
)]
fn single(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::super::scene::products;
    use super::*;
    use crate::domain::glb;

    #[test]
    fn every_product_is_a_valid_file_whose_triangles_face_outward() {
        for product in products() {
            let file = super::glb(&product.parts);
            let size = file.len() as u64;
            assert_eq!(glb::fault(&file[..26], size), None, "{}", product.folder);
        }
        for part in products().into_iter().flat_map(|product| product.parts) {
            let mut mesh = Mesh::default();
            match part.shape {
                Shape::Box(half) => mesh.add_box(&part, half),
                Shape::Ball(radii) => mesh.add_ball(&part, radii),
                Shape::Round(bottom, top, half) => mesh.add_round(&part, bottom, top, half),
            }
            for corners in mesh.indices.chunks(3) {
                let at = |i: usize| mesh.positions[corners[i] as usize];
                let edge = |i: usize| [0, 1, 2].map(|axis| at(i)[axis] - at(0)[axis]);
                let (one, two) = (edge(1), edge(2));
                let faces = [
                    one[1] * two[2] - one[2] * two[1],
                    one[2] * two[0] - one[0] * two[2],
                    one[0] * two[1] - one[1] * two[0],
                ];
                let normal = mesh.normals[corners[0] as usize];
                let agree: f64 = (0..3).map(|axis| faces[axis] * normal[axis]).sum();
                assert!(agree > -1e-12, "{:?} {agree}", part.shape);
            }
        }
    }
}
