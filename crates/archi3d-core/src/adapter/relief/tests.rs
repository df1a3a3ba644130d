//! The relief as a whole: closed meshes, upright normals, pictures worth looking
//! at, the same bytes for the same picture, and prompt, clear refusals.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use image::{Rgba, RgbaImage};
use serde_json::json;

use super::*;
use crate::adapter::testing::{Bench, entry};
use crate::cancel::{Stage, StopReason};
use crate::model::number;
use crate::model::vector::{cross, difference, dot};
use crate::model::{PREVIEW_SIDE, backdrop};

fn relief(options: Value) -> Relief {
    Relief::new(&entry(Some("relief"), options))
}

fn fixture(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("fixtures/pictures")
        .join(name)
}

/// A picture whose object is where `inside` says, on transparent ground.
fn cut_out(width: u32, height: u32, inside: impl Fn(f32, f32) -> bool) -> RgbaImage {
    RgbaImage::from_fn(width, height, |x, y| {
        let (across, down) = (x as f32 / width as f32, y as f32 / height as f32);
        let shade = if (x / 7 + y / 5) % 2 == 0 { 200 } else { 90 };
        let alpha = if inside(across, down) { 255 } else { 0 };
        Rgba([shade, 255 - shade, 40, alpha])
    })
}

type Inside = fn(f32, f32) -> bool;

fn disc(across: f32, down: f32) -> bool {
    (across - 0.5).powi(2) + (down - 0.5).powi(2) < 0.16
}

fn mesh_of(picture: &RgbaImage, resolution: usize) -> (Mesh, Origin) {
    let silhouette = silhouette::find(picture);
    let frame = Frame::around(&silhouette, picture.width(), picture.height());
    let grid = Grid::new(picture, &silhouette, frame, resolution);
    let heights = depth::heights(&grid, 0.35, 0.2);
    (mesh::build(&grid, &heights), silhouette.origin)
}

/// Demands that every edge has one triangle on each side, whatever vertices they use.
#[track_caller]
fn assert_closed(mesh: &Mesh) {
    let place = |vertex: u32| mesh.positions[vertex as usize].map(f32::to_bits);
    let mut edges: HashMap<_, [u32; 2]> = HashMap::new();
    for triangle in &mesh.triangles {
        for side in 0..3 {
            let (from, to) = (place(triangle[side]), place(triangle[(side + 1) % 3]));
            assert_ne!(from, to, "an edge without length");
            let way = usize::from(from > to);
            edges.entry((from.min(to), from.max(to))).or_default()[way] += 1;
        }
    }
    let open = edges.values().filter(|ways| **ways != [1, 1]).count();
    assert_eq!(open, 0, "of {} edges", edges.len());
}

#[track_caller]
fn assert_outward(mesh: &Mesh) {
    let mut volume = 0.0;
    let mut against = 0;
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|vertex| mesh.positions[vertex as usize]);
        let direction = cross(difference(b, a), difference(c, a));
        volume += dot(a, cross(b, c)) / 6.0;
        let agrees = |vertex: &u32| dot(mesh.normals[*vertex as usize], direction) > 0.0;
        against += usize::from(!triangle.iter().all(agrees));
    }
    assert!(volume > 0.0, "volume {volume}");
    // Where an edge is sharp and rounded at once, a normal may lean over.
    assert!(against * 20 <= mesh.triangles.len(), "{against} lean over");
    for normal in &mesh.normals {
        let length = dot(*normal, *normal).sqrt();
        assert!((length - 1.0).abs() < 1e-4, "{normal:?}");
    }
}

#[track_caller]
fn assert_scaled(mesh: &Mesh) {
    let (low, high) = mesh::bounds(&mesh.positions);
    let long = difference(high, low).into_iter().fold(0.0, f32::max);
    assert!((long - 1.0).abs() < 1e-5, "{long} m");
    for (low, high) in low.into_iter().zip(high) {
        assert!((low + high).abs() < 1e-5, "centred");
    }
}

#[test]
fn meshes_of_all_shapes_are_closed_and_face_outwards() {
    let shapes: [(&str, Inside); 6] = [
        ("disc", disc),
        ("ring", |x, y| {
            disc(x, y) && !disc(0.5 + (x - 0.5) * 2.0, 0.5 + (y - 0.5) * 2.0)
        }),
        ("cut by the frame", |x, y| x > 0.4 && y > 0.3),
        ("two parts", |x, y| {
            y > 0.2 && y < 0.8 && !(0.45..0.55).contains(&x) && x > 0.1
        }),
        ("touching corners", |x, y| (x < 0.5) == (y < 0.5)),
        ("stripes", |x, y| disc(x, y) && (x * 14.0).fract() < 0.6),
    ];
    for (name, inside) in shapes {
        for (width, height, resolution) in [(120, 120, 128), (300, 170, 40), (40, 90, 8)] {
            let (mesh, origin) = mesh_of(&cut_out(width, height, inside), resolution);
            assert_eq!(origin, Origin::Alpha, "{name}");
            assert!(mesh.triangles.len() > 50, "{name} at {resolution}");
            assert_closed(&mesh);
            assert_outward(&mesh);
            assert_scaled(&mesh);
        }
    }
}

#[test]
fn speckled_silhouettes_give_closed_meshes() {
    let mut state = 1_u32;
    for round in 0..20 {
        let picture = RgbaImage::from_fn(32 + round, 29, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let alpha = if state >> 30 == 0 { 0 } else { 255 };
            let [shade, other, ..] = state.to_be_bytes();
            Rgba([shade, other, 9, alpha])
        });
        for resolution in [8, 16, 128] {
            assert_closed(&mesh_of(&picture, resolution).0);
        }
    }
}

#[test]
fn a_picture_without_a_silhouette_becomes_a_plate() {
    for (width, height) in [(1, 1), (1, 50), (64, 2), (90, 60)] {
        let picture = RgbaImage::from_fn(width, height, |x, y| {
            let shade = u8::try_from((x * 37 + y * 91) % 251).unwrap_or(0);
            Rgba([shade, 255 - shade, shade / 2, 255])
        });
        let (mesh, origin) = mesh_of(&picture, 64);
        assert_eq!(origin, Origin::Rectangle, "{width} × {height}");
        assert_closed(&mesh);
        assert_outward(&mesh);
        assert_scaled(&mesh);
    }
}

#[test]
fn objects_bulge_and_depth_says_how_far() {
    let thickness = |depth: f32| {
        let picture = cut_out(200, 200, disc);
        let silhouette = silhouette::find(&picture);
        let frame = Frame::around(&silhouette, 200, 200);
        let grid = Grid::new(&picture, &silhouette, frame, 64);
        let heights = depth::heights(&grid, depth, 0.5);
        let middle = grid.rows / 2 * grid.columns + grid.columns / 2;
        assert!(heights.front[middle] >= heights.rim);
        (heights.front[middle], heights.back[middle], heights.rim)
    };
    let (flat, _, rim) = thickness(0.0);
    assert!((flat - rim).abs() < 1e-6);
    let (front, back, _) = thickness(0.5);
    // A disc of radius 0.5 is as deep as a slightly flattened ball.
    assert!((0.25..0.45).contains(&back), "{back}");
    assert!((front - back).abs() < 0.1, "{front}");
    assert!(thickness(1.0).1 > 1.8 * back);
}

#[test]
fn smoothing_takes_detail_away() {
    let roughness = |smooth: f32| {
        let picture = RgbaImage::from_fn(128, 128, |x, _| {
            let shade = if x % 16 < 8 { 220 } else { 30 };
            Rgba([shade, shade, shade, 255])
        });
        let silhouette = Silhouette::rectangle(&picture);
        let frame = Frame::around(&silhouette, 128, 128);
        let grid = Grid::new(&picture, &silhouette, frame, 64);
        let front = depth::heights(&grid, 0.5, smooth).front;
        front
            .windows(2)
            .map(|pair| (pair[0] - pair[1]).abs())
            .sum::<f32>()
    };
    assert!(roughness(1.0) < 0.5 * roughness(0.0));
}

#[test]
fn the_rim_wears_the_objects_colours_and_not_the_backgrounds() {
    let picture = RgbaImage::from_fn(160, 160, |x, y| {
        let inside = disc(x as f32 / 160.0, y as f32 / 160.0);
        Rgba(if inside {
            [180, 30, 30, 255]
        } else {
            [250, 250, 250, 255]
        })
    });
    let silhouette = silhouette::find(&picture);
    assert_eq!(silhouette.origin, Origin::Background);
    let frame = Frame::around(&silhouette, 160, 160);
    let texture = texture::make(&picture, &silhouette, frame);
    assert!(texture.pixels().all(|pixel| pixel.0 == [180, 30, 30]));
}

/// Returns the share of pixels that are not background, and how much their colours vary.
fn coverage_and_variance(preview: &RgbImage) -> (f64, f64) {
    let mut values = Vec::new();
    for (x, y, pixel) in preview.enumerate_pixels() {
        let background = backdrop(x, y, PREVIEW_SIDE).map(number::byte);
        if pixel.0 != background {
            values.extend(pixel.0.map(f64::from));
        }
    }
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / count;
    let pixels = f64::from(PREVIEW_SIDE * PREVIEW_SIDE);
    (values.len() as f64 / 3.0 / pixels, variance)
}

fn open(path: &Path) -> RgbImage {
    image::open(path).expect("a picture").into_rgb8()
}

#[test]
fn previews_show_a_lit_and_textured_object() {
    for name in ["bottle.png", "mug.webp"] {
        let bench = Bench::new();
        let (result, progress) = bench.run_on(&relief(json!({})), "a", 1, &[fixture(name)]);
        let result = result.expect("made");
        assert_eq!(result.algo_version.as_deref(), Some("relief-1"));
        let drawn: Vec<RgbImage> = result.previews.iter().map(|path| open(path)).collect();
        assert_eq!(drawn.len(), 3);
        for (number, preview) in drawn.iter().enumerate() {
            assert_eq!(preview.dimensions(), (512, 512));
            let (coverage, variance) = coverage_and_variance(preview);
            assert!(
                (0.04..0.75).contains(&coverage),
                "{name} {number}: {coverage}"
            );
            assert!(variance > 300.0, "{name} {number}: {variance}");
        }
        assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2]);
        let corner = drawn[0].get_pixel(0, 0).0;
        assert!(corner.iter().all(|value| *value > 200), "light background");
        assert!(progress.is_sorted() && progress.last() == Some(&1.0));
        let metadata = result.raw_metadata.expect("metadata");
        assert!(metadata["triangles"].as_u64() > Some(5_000), "{metadata:?}");
        let long = usize::from(name != "mug.webp");
        assert_eq!(metadata["size_m"][long], 1.0, "{name}: {metadata:?}");
    }
}

#[test]
fn the_same_picture_gives_the_same_bytes() {
    let files = || {
        let bench = Bench::new();
        let (result, _) = bench.run_on(&relief(json!({})), "a", 1, &[fixture("grey.jpg")]);
        let result = result.expect("made");
        let paths = result.generated_glb.into_iter().chain(result.previews);
        paths
            .map(|path| fs::read(path).expect("read"))
            .collect::<Vec<_>>()
    };
    assert_eq!(files(), files());
}

#[test]
fn every_option_changes_the_model() {
    let picture = cut_out(100, 100, disc);
    let made = |options: Value| {
        let relief = relief(options);
        let silhouette = silhouette::find(&picture);
        let frame = Frame::around(&silhouette, 100, 100);
        let grid = Grid::new(&picture, &silhouette, frame, relief.resolution);
        let heights = depth::heights(&grid, relief.depth, relief.smooth);
        mesh::build(&grid, &heights)
    };
    let plain = made(json!({}));
    assert_eq!(
        plain,
        made(json!({"resolution": 128, "depth": 0.35, "smooth": 0.2}))
    );
    for other in [
        json!({"resolution": 32}),
        json!({"depth": 0.1}),
        json!({"smooth": 1}),
    ] {
        assert_ne!(plain, made(other.clone()), "{other}");
    }
}

#[test]
fn a_fine_grid_has_more_vertices_than_short_numbers() {
    let (mesh, _) = mesh_of(&cut_out(200, 200, |_, _| true), 200);
    assert!(mesh.positions.len() > 65_535);
    let file = glb::write(&mesh, &[], "fine");
    let text = String::from_utf8_lossy(&file[20..2000]).into_owned();
    assert!(text.contains("\"componentType\":5125"), "{text}");
}

#[test]
fn a_job_without_a_picture_fails_and_a_stopped_one_writes_nothing() {
    let bench = Bench::new();
    let error = bench.run(&relief(json!({})), 1).expect_err("no picture");
    assert!(matches!(
        error,
        AdapterError::Failed {
            class: ErrorClass::BadInput,
            ..
        }
    ));
    bench.cancel.raise(Stage::Kill);
    let (stopped, _) = bench.run_on(&relief(json!({})), "a", 1, &[fixture("chair.jpg")]);
    assert_eq!(stopped, Err(AdapterError::Stopped(StopReason::Killed)));
    assert_eq!(fs::read_dir(bench.out_dir()).expect("there").count(), 0);
}
