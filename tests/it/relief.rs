//! Real models from real pictures through the real binary: every model passes the Khronos
//! validator, previews show something, and hostile pictures fail their own job and nothing else.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageFormat};
use serde_json::Value;

use crate::support::{Invocation, TestWorkspace, fixture, gltf_validator};

const PICTURES: [&str; 6] = [
    "animated.png",
    "animated.webp",
    "bottle.png",
    "chair.jpg",
    "cmyk.jpg",
    "mug.webp",
];

const VALIDATE: &str = "
const validator = require(process.argv[1]);
const { readFileSync } = require('fs');
(async () => {
    for (const file of process.argv.slice(2)) {
        const report = await validator.validateBytes(new Uint8Array(readFileSync(file)));
        const { numErrors, numWarnings, messages } = report.issues;
        console.log(JSON.stringify({
            file, numErrors, numWarnings, messages, triangles: report.info.totalTriangleCount,
        }));
    }
})();";

/// Makes a workspace with one job per picture; all pictures are called `.jpg`.
fn workspace(algo: &str, pictures: &[Vec<u8>]) -> TestWorkspace {
    let workspace = TestWorkspace::with_products(pictures.len())
        .algo(algo)
        .build();
    for (job, bytes) in workspace.jobs().iter().zip(pictures) {
        workspace.write(&job.images[0], bytes);
    }
    workspace
}

fn picture(name: &str) -> Vec<u8> {
    std::fs::read(fixture("pictures").join(name)).expect("a fixture")
}

fn output(workspace: &TestWorkspace, index: usize, name: &str) -> PathBuf {
    workspace.run_path(&format!("outputs/{}/{name}", workspace.id(index)))
}

/// Demands that the Khronos validator has nothing to say against any model of the run.
#[track_caller]
fn assert_valid(workspace: &TestWorkspace) {
    let Some(validator) = gltf_validator() else {
        return;
    };
    let mut node = Invocation::program(Path::new("node"), ["-e", VALIDATE]).arg(validator);
    for index in 0..workspace.jobs().len() {
        node = node.arg(output(workspace, index, "generated.glb"));
    }
    let reports = node.run().expect_code(0);
    assert_eq!(reports.stdout.lines().count(), workspace.jobs().len());
    for line in reports.stdout.lines() {
        let report: Value = serde_json::from_str(line).expect("a report");
        assert_eq!(report["numErrors"], 0, "{report:#}");
        assert_eq!(report["numWarnings"], 0, "{report:#}");
        assert!(report["triangles"].as_u64() > Some(10), "{report:#}");
    }
}

/// Returns the share of pixels that differ from the light background, and their variance.
fn coverage_and_variance(path: &Path) -> (f64, f64) {
    let preview = image::open(path).expect("a picture").into_luma8();
    assert_eq!(preview.dimensions(), (512, 512), "{}", path.display());
    let shown = preview.pixels().map(|pixel| f64::from(pixel.0[0]));
    let shown: Vec<f64> = shown.filter(|value| *value < 215.0).collect();
    let mean = shown.iter().sum::<f64>() / shown.len().max(1) as f64;
    let variance = shown
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>();
    (
        shown.len() as f64 / (512.0 * 512.0),
        variance / shown.len().max(1) as f64,
    )
}

#[test]
fn real_pictures_of_every_kind_become_valid_models_with_previews() {
    let workspace = workspace("relief", &PICTURES.map(picture));
    let worker = workspace.worker(&["--max-parallel", "2"]);
    let _ = worker.run().expect_code(0);
    assert_eq!(workspace.registry().count("completed"), PICTURES.len());
    assert_valid(&workspace);
    for (index, name) in PICTURES.into_iter().enumerate() {
        for number in 1..=3 {
            let path = output(&workspace, index, &format!("preview_{number}.png"));
            let (coverage, variance) = coverage_and_variance(&path);
            assert!(
                (0.03..0.8).contains(&coverage),
                "{name} {number}: {coverage}"
            );
            assert!(variance > 50.0, "{name} {number}: {variance}");
        }
        let row = workspace.row(workspace.id(index));
        assert_eq!(&row["algo_version"], "relief-1", "{name}");
        assert_eq!(row["unit_price_usd"].parse(), Ok(0.0), "{name}");
        assert_eq!(&row["price_source"], "builtin", "{name}");
        let metadata = std::fs::read(output(&workspace, index, "metadata.json")).expect("metadata");
        let metadata: Value = serde_json::from_slice(&metadata).expect("JSON");
        let adapter = &metadata["adapter"];
        assert_eq!(adapter["adapter"], "relief", "{name}");
        assert!(adapter["vertices"].as_u64() > Some(500), "{name}");
        assert!(adapter["time_ms"].is_u64(), "{name}");
    }
}

#[test]
fn the_two_shipped_flavours_make_different_models_of_one_picture() {
    let sizes = ["relief", "relief_flat"].map(|algo| {
        let workspace = workspace(algo, &[picture("bottle.png")]);
        let _ = workspace.worker(&[]).run().expect_code(0);
        assert_valid(&workspace);
        let metadata = std::fs::read(output(&workspace, 0, "metadata.json")).expect("metadata");
        let metadata: Value = serde_json::from_slice(&metadata).expect("JSON");
        metadata["adapter"]["size_m"][2].as_f64().expect("a depth")
    });
    assert!(sizes[0] > 2.0 * sizes[1], "{sizes:?}");
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).expect("encoded");
    bytes.into_inner()
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

/// Returns a small PNG whose header promises another size.
fn png_that_claims(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = encoded(&DynamicImage::new_rgb8(8, 8), ImageFormat::Png);
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let sum = crc(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// Returns a small JPEG whose header promises another size.
fn jpeg_that_claims(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = encoded(&DynamicImage::new_rgb8(8, 8), ImageFormat::Jpeg);
    let frame = bytes.windows(2).position(|pair| pair == [0xff, 0xc0]);
    let at = frame.expect("a frame") + 5;
    bytes[at..at + 2].copy_from_slice(&height.to_be_bytes());
    bytes[at + 2..at + 4].copy_from_slice(&width.to_be_bytes());
    bytes
}

/// Returns a small WebP whose header promises another size.
fn webp_that_claims(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = encoded(&DynamicImage::new_rgb8(8, 8), ImageFormat::WebP);
    // Lossless: a signature byte, then 14 bits of width and 14 of height, less one each.
    let size = (width - 1) | ((height - 1) << 14);
    bytes[21..25].copy_from_slice(&size.to_le_bytes());
    bytes
}

fn first_half(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() / 2);
    bytes
}

/// Hostile or odd pictures, and what the failure says; `None` where a model is made.
fn hostile() -> Vec<(&'static str, Vec<u8>, Option<&'static str>)> {
    let tiny = DynamicImage::new_rgb8(1, 1);
    let deep = DynamicImage::new_rgba16(40, 30);
    let too_many = Some("more than the 100 million that are read");
    let cut_off = Some("is cut off");
    let undecodable = Some("cannot be decoded");
    let no_picture = Some("is not a jpg, png or webp picture");
    vec![
        ("no bytes", Vec::new(), Some("is empty")),
        ("text", b"this is not a picture\n".to_vec(), no_picture),
        ("a gif", b"GIF89a\x01\0\x01\0\0\0\0;".to_vec(), no_picture),
        ("png bomb", png_that_claims(30_000, 30_000), too_many),
        ("jpeg bomb", jpeg_that_claims(30_000, 30_000), too_many),
        ("webp bomb", webp_that_claims(16_000, 16_000), too_many),
        (
            "endless png",
            png_that_claims(0x7fff_ffff, 0x7fff_ffff),
            Some("picture"),
        ),
        ("png without pixels", png_that_claims(0, 5), undecodable),
        ("png that lies", png_that_claims(9_000, 9_000), undecodable),
        ("half a png", first_half(picture("bottle.png")), undecodable),
        ("half a jpeg", first_half(picture("chair.jpg")), cut_off),
        ("half a webp", first_half(picture("mug.webp")), undecodable),
        (
            "half a progressive jpeg",
            first_half(picture("progressive.jpg")),
            cut_off,
        ),
        ("only a jpeg's start", vec![0xff, 0xd8, 0xff], cut_off),
        (
            "only a png's start",
            b"\x89PNG\r\n\x1a\n".to_vec(),
            undecodable,
        ),
        ("one pixel", encoded(&tiny, ImageFormat::Png), None),
        (
            "16 bit, fully transparent",
            encoded(&deep, ImageFormat::Png),
            Some("fully transparent"),
        ),
        (
            "16 bit",
            encoded(&DynamicImage::new_rgb16(40, 30), ImageFormat::Png),
            None,
        ),
    ]
}

#[test]
fn hostile_pictures_fail_their_own_job_clearly_and_in_bounded_memory() {
    let cases = hostile();
    let pictures: Vec<Vec<u8>> = cases.iter().map(|(_, bytes, _)| bytes.clone()).collect();
    let workspace = workspace("relief", &pictures);
    // A picture of 30000 × 30000 pixels alone would need 2.7 GB.
    let limited = "ulimit -v 1500000 2>/dev/null; exec \"$0\" \"$@\"";
    let _ = Invocation::program(Path::new("sh"), ["-c", limited])
        .arg(env!("CARGO_BIN_EXE_archi3d"))
        .arg("run")
        .arg("worker")
        .arg("--run-id")
        .arg("rk")
        .arg("--workspace")
        .arg(workspace.root())
        .run()
        .expect_code(1);
    let failures = workspace.log();
    for (index, (what, _, message)) in cases.iter().enumerate() {
        let id = workspace.id(index);
        let row = workspace.row(id);
        let Some(message) = message else {
            assert_eq!(&row["status"], "completed", "{what}: {}", &row["error_msg"]);
            continue;
        };
        assert_eq!(&row["status"], "failed", "{what}");
        let error = &row["error_msg"];
        assert!(error.contains(message), "{what}: {error}");
        assert!(
            error.contains(&workspace.jobs()[index].images[0]),
            "{what}: {error}"
        );
        let events = failures.events("job_failed");
        let event = events.iter().find(|event| event["job_id"] == id);
        let event = event.unwrap_or_else(|| panic!("{what}: no event"));
        assert_eq!(event["class"], "bad_input", "{what}");
    }
}
