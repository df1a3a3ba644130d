//! Models made of boxes and balls, as GLB files, and workspaces whose jobs have made them.

use serde_json::json;

use super::TestWorkspace;

/// Triangles in space.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// Where the corners are.
    pub corners: Vec<[f32; 3]>,
    faces: Vec<[u32; 3]>,
}

impl Shape {
    /// Adds a box with this middle and these half sizes.
    pub fn block(mut self, middle: [f32; 3], half: [f32; 3]) -> Self {
        let first = self.count();
        for corner in 0..8_u32 {
            let side = |axis: u32| if corner >> axis & 1 == 1 { 1.0 } else { -1.0 };
            self.corners.push([
                middle[0] + side(0) * half[0],
                middle[1] + side(1) * half[1],
                middle[2] + side(2) * half[2],
            ]);
        }
        for [a, b, c, d] in [
            [0, 1, 3, 2],
            [4, 6, 7, 5],
            [0, 4, 5, 1],
            [2, 3, 7, 6],
            [0, 2, 6, 4],
            [1, 5, 7, 3],
        ] {
            self.faces.push([a, b, c].map(|corner| first + corner));
            self.faces.push([a, c, d].map(|corner| first + corner));
        }
        self
    }

    /// Adds a ball with these radii.
    pub fn ball(mut self, middle: [f32; 3], radii: [f32; 3]) -> Self {
        const AROUND: u32 = 24;
        const UP: u32 = 12;
        let first = self.count();
        for row in 0..=UP {
            let above = std::f32::consts::PI * row as f32 / UP as f32;
            for step in 0..=AROUND {
                let angle = std::f32::consts::TAU * step as f32 / AROUND as f32;
                let at = [
                    above.sin() * angle.cos(),
                    above.cos(),
                    above.sin() * angle.sin(),
                ];
                self.corners
                    .push([0, 1, 2].map(|axis| middle[axis] + radii[axis] * at[axis]));
            }
        }
        for row in 0..UP {
            for step in 0..AROUND {
                let a = first + row * (AROUND + 1) + step;
                let b = a + AROUND + 1;
                self.faces.extend([[a, b, a + 1], [a + 1, b, b + 1]]);
            }
        }
        self
    }

    fn count(&self) -> u32 {
        u32::try_from(self.corners.len()).expect("few corners")
    }

    /// Moves every corner.
    pub fn moved(mut self, place: impl Fn([f32; 3]) -> [f32; 3]) -> Self {
        for corner in &mut self.corners {
            *corner = place(*corner);
        }
        self
    }

    /// Returns the shape as a file.
    pub fn glb(&self) -> Vec<u8> {
        let bytes = |value: &f32| value.to_le_bytes();
        let mut binary: Vec<u8> = self.corners.iter().flatten().flat_map(bytes).collect();
        let places = binary.len();
        binary.extend(self.faces.iter().flatten().flat_map(|v| v.to_le_bytes()));
        let document = json!({
            "asset": {"version": "2.0"},
            "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": self.corners.len(),
                 "type": "VEC3", "min": [-1e3, -1e3, -1e3], "max": [1e3, 1e3, 1e3]},
                {"bufferView": 1, "componentType": 5125, "count": self.faces.len() * 3,
                 "type": "SCALAR"}],
            "bufferViews": [
                {"buffer": 0, "byteOffset": 0, "byteLength": places},
                {"buffer": 0, "byteOffset": places, "byteLength": binary.len() - places}],
            "buffers": [{"byteLength": binary.len()}],
        });
        let mut text = document.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let word = |value: usize| u32::try_from(value).expect("small").to_le_bytes();
        let mut file = b"glTF\x02\0\0\0".to_vec();
        file.extend(word(28 + text.len() + binary.len()));
        file.extend(word(text.len()));
        file.extend(b"JSON");
        file.extend(&text);
        file.extend(word(binary.len()));
        file.extend(b"BIN\0");
        file.extend(&binary);
        file
    }
}

/// A chair with one arm: nothing about it is symmetric.
pub fn chair() -> Shape {
    Shape::default()
        .block([0.0, 0.45, 0.0], [0.25, 0.03, 0.25])
        .block([0.0, 0.8, -0.23], [0.25, 0.3, 0.02])
        .block([0.22, 0.2, 0.22], [0.02, 0.22, 0.02])
        .block([-0.22, 0.2, 0.22], [0.02, 0.22, 0.02])
        .block([0.22, 0.2, -0.22], [0.02, 0.22, 0.02])
        .block([-0.22, 0.2, -0.22], [0.02, 0.22, 0.02])
        .block([0.26, 0.65, 0.0], [0.02, 0.02, 0.2])
}

/// A program that hands out `made/<product>.glb`.
const COPYING: &str = "adapters:
  copied:
    kind: process
    command: [sh, -c, 'cp \"$ARCHI3D_WORKSPACE/made/$ARCHI3D_PRODUCT_ID.glb\" generated.glb']
    unit_price_usd: 0
";

/// A run `rk` whose jobs have made these models; each with its real model, if it has one.
pub fn made(pairs: &[(Vec<u8>, Option<Vec<u8>>)]) -> TestWorkspace {
    let place = TestWorkspace::empty();
    place.write("config/adapters.yaml", COPYING.as_bytes());
    for (number, (model, real)) in pairs.iter().enumerate() {
        let product = 101 + number;
        place.write(
            &format!("dataset/{product}/images/a.jpg"),
            b"\xff\xd8\xff\xd9",
        );
        place.write(&format!("made/{product}.glb"), model);
        if let Some(real) = real {
            place.write(&format!("dataset/{product}/gt/real.glb"), real);
        }
    }
    for words in [
        &["catalog", "build"][..],
        &["batch", "create", "--run-id", "rk", "--algos", "copied"],
        &["run", "worker", "rk", "-j", "4"],
    ] {
        let _ = place.archi3d(words).run().expect_code(0);
    }
    place
}
