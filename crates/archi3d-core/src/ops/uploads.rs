//! Pictures that came over the network, kept under the hash of their content in `uploads/`.

use std::io::Cursor;
use std::path::PathBuf;

use image::{ImageFormat, ImageReader};
use sha2::{Digest as _, Sha256};

use crate::domain::text::hex;
use crate::ops::{OpsContext, OpsError};
use crate::store::error::IoContext as _;
use crate::workspace::durable;

/// Pictures of more pixels a side are none that anybody can use.
const MOST_PIXELS: u32 = 16_384;

/// The formats that are taken: ending and media type.
const FORMATS: [(ImageFormat, &str, &str); 3] = [
    (ImageFormat::Png, "png", "image/png"),
    (ImageFormat::Jpeg, "jpg", "image/jpeg"),
    (ImageFormat::WebP, "webp", "image/webp"),
];

/// A picture that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The hash of its content.
    pub sha256: String,
    /// What it is.
    pub media_type: &'static str,
    /// Where it is, relative to the workspace.
    pub stored: String,
    /// Whether it was not there before.
    pub is_new: bool,
}

/// Keeps a picture; what is none is refused with the reason.
pub fn keep(context: &OpsContext, bytes: &[u8]) -> Result<Result<Upload, String>, OpsError> {
    let (ending, media_type) = match format_of(bytes) {
        Ok(format) => format,
        Err(reason) => return Ok(Err(reason)),
    };
    let sha256 = hex(&Sha256::digest(bytes));
    let folder = folder(context);
    std::fs::create_dir_all(&folder).context("create", &folder)?;
    let path = folder.join(format!("{sha256}.{ending}"));
    // One that a power cut left in pieces is not it.
    let is_new = !durable::says(&path, bytes).unwrap_or(false);
    if is_new {
        let tag = uuid::Uuid::new_v4().simple().to_string();
        durable::replace(&path, bytes, &tag).context("write", &path)?;
    }
    Ok(Ok(Upload {
        stored: format!("uploads/{sha256}.{ending}"),
        sha256,
        media_type,
        is_new,
    }))
}

/// Finds a picture by the hash of its content.
pub fn find(context: &OpsContext, sha256: &str) -> Option<Upload> {
    let plain = sha256.len() == 64
        && sha256
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let folder = folder(context);
    FORMATS
        .iter()
        .filter(|_| plain)
        .find_map(|(_, ending, media_type)| {
            let name = format!("{sha256}.{ending}");
            let found = folder.join(&name).symlink_metadata().ok()?;
            found.is_file().then(|| Upload {
                sha256: sha256.to_owned(),
                media_type,
                stored: format!("uploads/{name}"),
                is_new: false,
            })
        })
}

fn folder(context: &OpsContext) -> PathBuf {
    context.workspace.root().join("uploads")
}

fn format_of(bytes: &[u8]) -> Result<(&'static str, &'static str), String> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let reader = reader.map_err(|error| error.to_string())?;
    let known = FORMATS
        .iter()
        .find(|(format, ..)| Some(*format) == reader.format());
    let (format, ending, media_type) = known.ok_or("it is neither PNG nor JPEG nor WebP")?;
    let (width, height) = reader
        .into_dimensions()
        .map_err(|error| error.to_string())?;
    if width == 0 || height == 0 || width > MOST_PIXELS || height > MOST_PIXELS {
        return Err(format!(
            "it has {width} × {height} pixels; at most {MOST_PIXELS} a side are used"
        ));
    }
    if !is_whole(*format, bytes).unwrap_or(false) {
        return Err("it is cut off: its end is missing".to_owned());
    }
    Ok((ending, media_type))
}

/// Tells whether a picture has its end; nothing if its parts end before it.
fn is_whole(format: ImageFormat, bytes: &[u8]) -> Option<bool> {
    let number = |at: usize, size: usize| {
        let digits = bytes.get(at..at + size)?.iter();
        Some(digits.fold(0, |sum: usize, digit| (sum << 8) | usize::from(*digit)))
    };
    match format {
        ImageFormat::Png => {
            let mut at = 8;
            loop {
                let end = at + 12 + number(at, 4)?;
                bytes.get(at..end)?;
                if &bytes[at + 4..at + 8] == b"IEND" {
                    return Some(true);
                }
                at = end;
            }
        }
        ImageFormat::Jpeg => {
            // A small picture inside of it has an end of its own.
            let mut at = 2;
            while number(at, 2)? != 0xffda {
                at = match number(at, 2)? {
                    0xffff => at + 1,
                    _ => at + 2 + number(at + 2, 2)?,
                };
            }
            Some(bytes[at..].windows(2).any(|pair| pair == [0xff, 0xd9]))
        }
        _ => {
            let size = bytes.get(4..8)?.try_into().ok()?;
            let size = usize::try_from(u32::from_le_bytes(size)).ok()?;
            Some(bytes.len() >= size.checked_add(8)?)
        }
    }
}
