//! From a picture file to pixels of a bounded size.
//!
//! Says no before it allocates: the size of the file, the format by content, the
//! dimensions in the header and the memory that decoding would take are checked
//! first. Turns the picture upright. Knows nothing of silhouettes or models.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;
use std::sync::{Mutex, TryLockError};
use std::time::Duration;

use image::imageops::{self, FilterType};
use image::metadata::Orientation;
use image::{
    DynamicImage, ImageBuffer, ImageDecoder, ImageFormat, ImageReader, Limits, Pixel, RgbaImage,
};

use crate::adapter::relief::jpeg;
use crate::cancel::{JobStop, StopReason};

/// The longest side that is worked with; larger pictures are made smaller.
pub(super) const WORK_SIDE: u32 = 1024;

const MAX_FILE_BYTES: u64 = 256 << 20;
const MAX_PIXELS: u64 = 100_000_000;

/// What stands before the pixels (profiles, comments) can be packed to a thousandth, too.
const MAX_HEADER_BYTES: u64 = 16 << 20;

const MAX_DECODE_BYTES: u64 = 512 << 20;

/// From here on pictures are decoded one after the other, whatever the number of jobs.
const LARGE_BYTES: u64 = 64 << 20;
static LARGE: Mutex<()> = Mutex::new(());
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Why a picture cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum PictureError {
    #[error("cannot read the picture {name}: {source}")]
    Unreadable { name: String, source: io::Error },
    #[error("the picture {name} is an empty file")]
    Empty { name: String },
    #[error(
        "the picture {name} has {bytes} bytes, more than the {} MB that are read; make it smaller",
        MAX_FILE_BYTES >> 20
    )]
    LargeFile { name: String, bytes: u64 },
    #[error("{name} is not a jpg, png or webp picture, whatever its name says")]
    OtherFormat { name: String },
    #[error(
        "the picture {name} is {width} × {height} pixels, more than the {} million that are read; \
         make it smaller",
        MAX_PIXELS / 1_000_000
    )]
    ManyPixels {
        name: String,
        width: u32,
        height: u32,
    },
    #[error(
        "the picture {name} ({width} × {height} pixels) would take {} MB to decode, more than {}; \
         make it smaller",
        bytes >> 20, MAX_DECODE_BYTES >> 20
    )]
    MuchMemory {
        name: String,
        width: u32,
        height: u32,
        bytes: u64,
    },
    #[error("the picture {name} is cut off: its end is missing; copy or download it again")]
    CutOff { name: String },
    #[error("the picture {name} cannot be decoded: {reason}")]
    Broken { name: String, reason: String },
    #[error("stopped before the picture was read")]
    Stopped(StopReason),
}

/// A picture, upright, no side longer than [`WORK_SIDE`].
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) pixels: RgbaImage,
    /// Width and height in the file, as it is seen.
    pub(super) source_size: (u32, u32),
}

/// Reads the picture at `path`; `name` is what messages call it.
pub(super) fn load(path: &Path, name: &str, stop: &JobStop) -> Result<Picture, PictureError> {
    let unreadable = |source| PictureError::Unreadable {
        name: name.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let bytes = file.metadata().map_err(unreadable)?.len();
    if bytes == 0 {
        return Err(PictureError::Empty {
            name: name.to_owned(),
        });
    }
    if bytes > MAX_FILE_BYTES {
        return Err(PictureError::LargeFile {
            name: name.to_owned(),
            bytes,
        });
    }
    let format = format_of(&mut file, name)?;
    let outline = match format {
        ImageFormat::Jpeg => Some(outline_of(&mut file, name)?),
        _ => None,
    };
    decode(file, format, outline, name, stop)
}

/// Tells the format by the first bytes; names lie.
fn format_of(file: &mut File, name: &str) -> Result<ImageFormat, PictureError> {
    let unreadable = |source| PictureError::Unreadable {
        name: name.to_owned(),
        source,
    };
    let mut head = Vec::with_capacity(64);
    file.take(64).read_to_end(&mut head).map_err(unreadable)?;
    file.rewind().map_err(unreadable)?;
    match image::guess_format(&head) {
        Ok(format @ (ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP)) => Ok(format),
        _ => Err(PictureError::OtherFormat {
            name: name.to_owned(),
        }),
    }
}

fn outline_of(file: &mut File, name: &str) -> Result<jpeg::Outline, PictureError> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES)
        .read_to_end(&mut bytes)
        .and_then(|_| file.rewind())
        .map_err(|source| PictureError::Unreadable {
            name: name.to_owned(),
            source,
        })?;
    let outline = jpeg::outline(&bytes);
    // The decoder fills what is missing with grey and calls it a success.
    if outline.complete {
        Ok(outline)
    } else {
        Err(PictureError::CutOff {
            name: name.to_owned(),
        })
    }
}

fn decode(
    file: File,
    format: ImageFormat,
    outline: Option<jpeg::Outline>,
    name: &str,
    stop: &JobStop,
) -> Result<Picture, PictureError> {
    let broken = |error: image::ImageError| PictureError::Broken {
        name: name.to_owned(),
        reason: error.to_string().chars().take(300).collect(),
    };
    let mut reader = ImageReader::with_format(BufReader::new(file), format);
    reader.limits(limits(MAX_HEADER_BYTES));
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 {
        return Err(PictureError::Broken {
            name: name.to_owned(),
            reason: "it has no pixels".to_owned(),
        });
    }
    if pixels > MAX_PIXELS {
        return Err(PictureError::ManyPixels {
            name: name.to_owned(),
            width,
            height,
        });
    }
    let bytes = decoder
        .total_bytes()
        .saturating_add(scratch_bytes(pixels, format, outline));
    if bytes > MAX_DECODE_BYTES {
        return Err(PictureError::MuchMemory {
            name: name.to_owned(),
            width,
            height,
            bytes,
        });
    }
    let _turn = if bytes > LARGE_BYTES {
        Some(wait_for_turn(stop)?)
    } else {
        None
    };
    decoder
        .set_limits(limits(MAX_DECODE_BYTES))
        .map_err(broken)?;
    // A picture with a broken note about its orientation is still a picture.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let decoded = DynamicImage::from_decoder(decoder).map_err(broken)?;
    let mut upright = DynamicImage::ImageRgba8(fit(decoded));
    upright.apply_orientation(orientation);
    let lies = matches!(
        orientation,
        Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH
    );
    Ok(Picture {
        pixels: upright.into_rgba8(),
        source_size: if lies {
            (height, width)
        } else {
            (width, height)
        },
    })
}

fn limits(bytes: u64) -> Limits {
    let mut limits = Limits::default();
    limits.max_alloc = Some(bytes);
    limits
}

/// Returns what decoding takes beside the pixels it hands out.
fn scratch_bytes(pixels: u64, format: ImageFormat, outline: Option<jpeg::Outline>) -> u64 {
    match (format, outline) {
        (ImageFormat::Jpeg, Some(outline)) if outline.keeps_all => {
            2 * u64::from(outline.components) * pixels
        }
        (ImageFormat::WebP, _) => 6 * pixels,
        _ => 0,
    }
}

/// Waits until no other large picture is being decoded.
fn wait_for_turn(stop: &JobStop) -> Result<std::sync::MutexGuard<'static, ()>, PictureError> {
    loop {
        match LARGE.try_lock() {
            Ok(turn) => return Ok(turn),
            // A decoder that panicked left nothing behind that could be wrong.
            Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
        if let Some(reason) = stop.sleep(LOOK_AGAIN) {
            return Err(PictureError::Stopped(reason));
        }
    }
}

/// Makes a picture fit [`WORK_SIDE`]; most of a large one goes while it is converted.
fn fit(decoded: DynamicImage) -> RgbaImage {
    let factor = decoded.width().max(decoded.height()) / WORK_SIDE;
    let factor = factor.max(1);
    let coarse = match decoded {
        DynamicImage::ImageLuma8(image) => average(&image, factor, |p| [p[0], p[0], p[0], 255]),
        DynamicImage::ImageLumaA8(image) => average(&image, factor, |p| [p[0], p[0], p[0], p[1]]),
        DynamicImage::ImageRgb8(image) => average(&image, factor, |p| [p[0], p[1], p[2], 255]),
        DynamicImage::ImageRgba8(image) => average(&image, factor, |p| [p[0], p[1], p[2], p[3]]),
        other => average(&other.into_rgba8(), factor, |p| [p[0], p[1], p[2], p[3]]),
    };
    let long = coarse.width().max(coarse.height());
    if long <= WORK_SIDE {
        return coarse;
    }
    let side = |length: u32| (length * WORK_SIDE).div_ceil(long).max(1);
    let (width, height) = (side(coarse.width()), side(coarse.height()));
    imageops::resize(&coarse, width, height, FilterType::Triangle)
}

/// Averages blocks of `factor` × `factor` pixels; transparent ones do not colour their block.
fn average<P: Pixel<Subpixel = u8>>(
    image: &ImageBuffer<P, Vec<u8>>,
    factor: u32,
    rgba: impl Fn(&[u8]) -> [u8; 4],
) -> RgbaImage {
    let channels = usize::from(P::CHANNEL_COUNT);
    let row_bytes = image.width() as usize * channels;
    let width = image.width().div_ceil(factor);
    let height = image.height().div_ceil(factor);
    let block = factor as usize;
    let mut pixels = Vec::with_capacity(width as usize * height as usize * 4);
    if block == 1 {
        pixels.extend(image.as_raw().chunks_exact(channels).flat_map(rgba));
    } else {
        let mut sums = vec![[0_u64; 5]; width as usize];
        for band in image.as_raw().chunks(row_bytes * block) {
            sums.fill([0; 5]);
            for row in band.chunks_exact(row_bytes) {
                for (sum, part) in sums.iter_mut().zip(row.chunks(block * channels)) {
                    for pixel in part.chunks_exact(channels) {
                        let [r, g, b, a] = rgba(pixel).map(u64::from);
                        for (slot, value) in sum.iter_mut().zip([r * a, g * a, b * a, a, 1]) {
                            *slot += value;
                        }
                    }
                }
            }
            for [r, g, b, a, count] in &sums {
                let colour = |sum: &u64| u8::try_from(sum / (*a).max(1)).unwrap_or(u8::MAX);
                let alpha = u8::try_from(a / (*count).max(1)).unwrap_or(u8::MAX);
                pixels.extend([colour(r), colour(g), colour(b), alpha]);
            }
        }
    }
    RgbaImage::from_raw(width, height, pixels).expect("four bytes were pushed per block")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cancel::Cancel;

    fn fixture(name: &str) -> Vec<u8> {
        let folder =
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("fixtures/pictures");
        fs::read(folder.join(name)).expect("a fixture")
    }

    fn read(bytes: &[u8]) -> Result<Picture, PictureError> {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        fs::write(file.path(), bytes).expect("written");
        load(file.path(), "p_A.jpg", &JobStop::new(Cancel::new(), None))
    }

    fn png(picture: &DynamicImage) -> Vec<u8> {
        let mut bytes = io::Cursor::new(Vec::new());
        picture
            .write_to(&mut bytes, ImageFormat::Png)
            .expect("encoded");
        bytes.into_inner()
    }

    #[test]
    fn every_format_and_colour_type_is_read() {
        for name in [
            "animated.png",
            "animated.webp",
            "bottle.png",
            "chair.jpg",
            "cmyk.jpg",
            "grey.jpg",
            "mug.webp",
            "palette.png",
            "progressive.jpg",
        ] {
            let picture = read(&fixture(name)).expect(name);
            let (width, height) = picture.pixels.dimensions();
            assert_eq!((width, height), picture.source_size, "{name}");
            let first = picture.pixels.get_pixel(0, 0);
            assert!(
                picture.pixels.pixels().any(|pixel| pixel != first),
                "{name}"
            );
        }
        let deep = DynamicImage::new_rgba16(20, 10);
        assert_eq!(read(&png(&deep)).expect("16 bit").source_size, (20, 10));
    }

    #[test]
    fn a_picture_is_turned_upright() {
        let picture = read(&fixture("rotated.jpg")).expect("read");
        assert_eq!(picture.source_size, (56, 96));
        assert_eq!(picture.pixels.dimensions(), (56, 96));
        // The back of the chair is blue and above, its legs are brown.
        let blue = |y: u32| {
            let [r, _, b, _] = picture.pixels.get_pixel(28, y).0;
            b > r
        };
        assert!(blue(25) && !blue(53));
    }

    #[test]
    fn large_pictures_are_made_smaller_and_keep_their_colours() {
        for (width, height, wanted) in [
            (2100, 1050, (1024, 512)),
            (1200, 300, (1024, 256)),
            (1024, 10, (1024, 10)),
            (5000, 1, (1024, 1)),
        ] {
            let mut picture =
                RgbaImage::from_pixel(width, height, image::Rgba([200, 100, 50, 255]));
            for pixel in picture.pixels_mut().step_by(2) {
                pixel.0 = [0, 0, 0, 0];
            }
            let small = fit(DynamicImage::ImageRgba8(picture));
            assert_eq!(small.dimensions(), wanted);
        }
        let plain = RgbaImage::from_pixel(3100, 3, image::Rgba([200, 100, 50, 255]));
        let small = fit(DynamicImage::ImageRgba8(plain));
        assert!(small.pixels().all(|pixel| pixel.0 == [200, 100, 50, 255]));
    }

    #[test]
    fn damaged_pictures_never_bring_it_down() {
        let mut state = 7_u32;
        let mut draw = move |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        for name in [
            "animated.png",
            "animated.webp",
            "cmyk.jpg",
            "palette.png",
            "progressive.jpg",
            "rotated.jpg",
        ] {
            let whole = fixture(name);
            for _ in 0..60 {
                let mut bytes = whole.clone();
                for _ in 0..=draw(6) {
                    let at = draw(bytes.len());
                    bytes[at] = u8::try_from(draw(256)).expect("a byte");
                }
                bytes.truncate(whole.len() - draw(2) * draw(whole.len()));
                // Either is fine, as long as it is an answer.
                let _ = read(&bytes).map_err(|error| error.to_string());
            }
        }
    }
}
