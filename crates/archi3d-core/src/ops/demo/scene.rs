//! The products of the demo: simple solids put together, each with its colour.
//!
//! The same solids are drawn as pictures and written as ground truth, so a
//! picture and its model show the same thing. Lengths are in metres, `y` is up.

/// A point, a direction or a colour.
pub(super) type Vec3 = [f64; 3];

/// What a part of a product is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// A box with half its lengths.
    Box(Vec3),
    /// A ball stretched to these radii.
    Ball(Vec3),
    /// An upright round body: radius at the bottom, at the top, and half its height.
    Round(f64, f64, f64),
}

/// A part of a product.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) shape: Shape,
    /// Its middle.
    pub(super) at: Vec3,
    /// Its colour, each channel from 0 to 1.
    pub(super) color: Vec3,
}

/// How the pictures of a product are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// PNG with nothing behind the product.
    Cutout,
    /// PNG on a plain background.
    Png,
    /// JPEG on a plain background.
    Jpeg,
}

/// A product or a variant of one.
pub(super) struct Product {
    /// Its folder in the dataset.
    pub(super) folder: &'static str,
    pub(super) name: &'static str,
    pub(super) category: &'static str,
    pub(super) maker: &'static str,
    pub(super) format: Format,
    /// How many pictures there are, each from another side.
    pub(super) views: usize,
    /// Whether its real model is known.
    pub(super) has_model: bool,
    pub(super) parts: Vec<Part>,
}

impl Product {
    /// Returns the id: the digits its folder begins with.
    pub(super) fn id(&self) -> &'static str {
        let end = self.folder.find(' ').unwrap_or(self.folder.len());
        &self.folder[..end]
    }
}

const OAK: Vec3 = [0.76, 0.56, 0.34];
const WALNUT: Vec3 = [0.42, 0.27, 0.17];
const STEEL: Vec3 = [0.62, 0.65, 0.69];
const RED: Vec3 = [0.76, 0.16, 0.14];
const TEAL: Vec3 = [0.10, 0.50, 0.52];
const MUSTARD: Vec3 = [0.88, 0.66, 0.12];
const CREAM: Vec3 = [0.95, 0.91, 0.80];
const INDIGO: Vec3 = [0.22, 0.26, 0.56];
const LEAF: Vec3 = [0.30, 0.55, 0.24];
const CLAY: Vec3 = [0.74, 0.38, 0.26];

fn cuboid(at: Vec3, half: Vec3, color: Vec3) -> Part {
    let shape = Shape::Box(half);
    Part { shape, at, color }
}

fn ball(at: Vec3, radii: Vec3, color: Vec3) -> Part {
    let shape = Shape::Ball(radii);
    Part { shape, at, color }
}

fn round(at: Vec3, bottom: f64, top: f64, half: f64, color: Vec3) -> Part {
    let shape = Shape::Round(bottom, top, half);
    Part { shape, at, color }
}

/// Returns four parts, one in each corner.
fn corners(x: f64, z: f64, part: impl Fn(f64, f64) -> Part) -> Vec<Part> {
    let signs = [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)];
    signs.map(|(sx, sz)| part(sx * x, sz * z)).to_vec()
}

const SEATS: &str = "Furniture > Seating > Chairs";

/// Returns everything that the demo's dataset shows.
pub(super) fn products() -> Vec<Product> {
    let mut products = seats();
    products.extend(others());
    products
}

fn seats() -> Vec<Product> {
    vec![
        Product {
            folder: "100001",
            name: "Red kitchen chair",
            category: SEATS,
            maker: "Nordhaus",
            format: Format::Jpeg,
            views: 2,
            has_model: true,
            parts: chair(RED, OAK),
        },
        Product {
            folder: "100003",
            name: "Teal armchair",
            category: SEATS,
            maker: "Nordhaus",
            format: Format::Jpeg,
            views: 2,
            has_model: true,
            parts: armchair(TEAL),
        },
        Product {
            folder: "100003 - Curved backrest",
            name: "Teal armchair",
            category: SEATS,
            maker: "Nordhaus",
            format: Format::Jpeg,
            views: 3,
            has_model: false,
            parts: curved_armchair(),
        },
        Product {
            folder: "100007",
            name: "Mustard pouf",
            category: SEATS,
            maker: "Rondo",
            format: Format::Jpeg,
            views: 1,
            has_model: false,
            parts: pouf(),
        },
    ]
}

fn others() -> Vec<Product> {
    vec![
        Product {
            folder: "100002",
            name: "Table lamp",
            category: "Lighting > Lamps > Table lamps",
            maker: "Lumen & Co",
            format: Format::Cutout,
            views: 1,
            has_model: false,
            parts: lamp(),
        },
        Product {
            folder: "100004",
            name: "Clay vase",
            category: "Decoration > Vases > Ceramic",
            maker: "Terra",
            format: Format::Cutout,
            views: 2,
            has_model: true,
            parts: vase(),
        },
        Product {
            folder: "100005",
            name: "Walnut bookshelf",
            category: "Furniture > Storage > Shelves",
            maker: "Nordhaus",
            format: Format::Png,
            views: 2,
            has_model: true,
            parts: bookshelf(),
        },
        Product {
            folder: "100006",
            name: "Round side table",
            category: "Furniture > Tables > Side tables",
            maker: "Rondo",
            format: Format::Png,
            views: 1,
            has_model: false,
            parts: side_table(),
        },
    ]
}

fn chair(seat: Vec3, wood: Vec3) -> Vec<Part> {
    let mut parts = corners(0.20, 0.20, |x, z| {
        cuboid([x, 0.22, z], [0.022, 0.22, 0.022], wood)
    });
    parts.push(cuboid([0.0, 0.46, 0.0], [0.24, 0.025, 0.24], seat));
    parts.push(cuboid([-0.20, 0.70, -0.22], [0.022, 0.22, 0.02], wood));
    parts.push(cuboid([0.20, 0.70, -0.22], [0.022, 0.22, 0.02], wood));
    parts.push(cuboid([0.0, 0.82, -0.22], [0.24, 0.09, 0.018], seat));
    parts
}

fn lamp() -> Vec<Part> {
    vec![
        round([0.0, 0.02, 0.0], 0.16, 0.14, 0.02, STEEL),
        round([0.0, 0.22, 0.0], 0.015, 0.015, 0.20, STEEL),
        round([0.0, 0.50, 0.0], 0.22, 0.13, 0.13, CREAM),
    ]
}

fn armchair(fabric: Vec3) -> Vec<Part> {
    let mut parts = corners(0.30, 0.28, |x, z| {
        round([x, 0.06, z], 0.02, 0.03, 0.06, WALNUT)
    });
    parts.push(cuboid([0.0, 0.24, 0.0], [0.36, 0.12, 0.34], fabric));
    parts.push(cuboid([0.0, 0.58, -0.28], [0.36, 0.26, 0.08], fabric));
    parts.push(cuboid([-0.36, 0.36, 0.0], [0.07, 0.22, 0.34], fabric));
    parts.push(cuboid([0.36, 0.36, 0.0], [0.07, 0.22, 0.34], fabric));
    parts
}

fn curved_armchair() -> Vec<Part> {
    let mut parts = corners(0.28, 0.26, |x, z| {
        round([x, 0.06, z], 0.02, 0.03, 0.06, WALNUT)
    });
    parts.push(round([0.0, 0.24, 0.0], 0.38, 0.38, 0.12, TEAL));
    for step in -3..=3_i32 {
        let angle = f64::from(step) * 0.36;
        let at = [0.33 * angle.sin(), 0.54, -0.33 * angle.cos()];
        parts.push(ball(at, [0.11, 0.30, 0.09], TEAL));
    }
    parts
}

fn vase() -> Vec<Part> {
    let mut parts = vec![
        round([0.0, 0.10, 0.0], 0.08, 0.17, 0.10, CLAY),
        round([0.0, 0.29, 0.0], 0.17, 0.06, 0.09, CLAY),
        round([0.0, 0.41, 0.0], 0.06, 0.09, 0.03, CLAY),
    ];
    for (x, y, z) in [(0.05, 0.60, 0.02), (-0.06, 0.56, 0.03), (0.0, 0.66, -0.05)] {
        parts.push(round(
            [x * 0.5, y - 0.12, z * 0.5],
            0.006,
            0.006,
            0.10,
            LEAF,
        ));
        parts.push(ball([x, y, z], [0.05, 0.08, 0.03], LEAF));
    }
    parts
}

fn bookshelf() -> Vec<Part> {
    let mut parts = vec![
        cuboid([-0.38, 0.60, 0.0], [0.02, 0.60, 0.15], WALNUT),
        cuboid([0.38, 0.60, 0.0], [0.02, 0.60, 0.15], WALNUT),
        cuboid([0.0, 0.60, -0.14], [0.38, 0.60, 0.008], OAK),
    ];
    for y in [0.02, 0.40, 0.79, 1.18] {
        parts.push(cuboid([0.0, y, 0.0], [0.38, 0.02, 0.15], WALNUT));
    }
    let books = [
        (-0.28, 0.42, 0.14, RED),
        (-0.20, 0.42, 0.11, MUSTARD),
        (-0.12, 0.42, 0.13, INDIGO),
        (0.20, 0.81, 0.12, TEAL),
        (0.28, 0.81, 0.14, CREAM),
        (-0.05, 0.04, 0.12, LEAF),
    ];
    for (x, floor, half, color) in books {
        parts.push(cuboid([x, floor + half, 0.0], [0.035, half, 0.11], color));
    }
    parts
}

fn side_table() -> Vec<Part> {
    let mut parts = vec![round([0.0, 0.50, 0.0], 0.34, 0.34, 0.018, INDIGO)];
    for step in 0..3_i32 {
        let angle = f64::from(step) * std::f64::consts::TAU / 3.0 + 0.5;
        let at = [0.22 * angle.cos(), 0.24, 0.22 * angle.sin()];
        parts.push(round(at, 0.018, 0.025, 0.24, OAK));
    }
    parts
}

fn pouf() -> Vec<Part> {
    vec![
        ball([0.0, 0.24, 0.0], [0.36, 0.23, 0.36], MUSTARD),
        round([0.0, 0.24, 0.0], 0.365, 0.365, 0.012, WALNUT),
        round([0.0, 0.47, 0.0], 0.03, 0.03, 0.012, WALNUT),
    ]
}
