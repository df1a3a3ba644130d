//! Pictures on their way to a service: what they are by their bytes, never too large.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use image::ImageFormat;

use super::provider::{Picture, picture_stem};

/// Larger pictures are refused before anything is sent.
const MAX_BYTES: u64 = 50 << 20;

/// Reads the picture at `path`, the `number`th of a purchase.
pub(super) fn read(path: &Path, key: &str, number: usize) -> Result<Picture, String> {
    let unreadable = |error| format!("cannot read {}: {error}", path.display());
    let size = fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_BYTES {
        return Err(format!(
            "{} has {} MB; services take at most 50 MB",
            path.display(),
            size >> 20
        ));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    let Some((kind, ending)) = kind_of(&bytes) else {
        return Err(format!(
            "{} is neither a PNG nor a JPEG nor a WebP picture",
            path.display()
        ));
    };
    Ok(Picture {
        name: format!("{}{number}.{ending}", picture_stem(key)),
        kind,
        bytes,
    })
}

fn kind_of(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some(("image/png", "png")),
        [0xff, 0xd8, 0xff, ..] => Some(("image/jpeg", "jpg")),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some(("image/webp", "webp")),
        _ => None,
    }
}

/// Returns the picture as text, as a PNG if it is of a kind that is not `taken`.
pub(super) fn data_uri(picture: &Picture, taken: &[&str]) -> Result<String, String> {
    if taken.contains(&picture.kind) {
        return Ok(format!(
            "data:{};base64,{}",
            picture.kind,
            base64(&picture.bytes)
        ));
    }
    let format = match picture.kind {
        "image/webp" => ImageFormat::WebP,
        "image/jpeg" => ImageFormat::Jpeg,
        _ => ImageFormat::Png,
    };
    let failed = |error| format!("{} cannot be made a PNG: {error}", picture.name);
    let decoded = image::load_from_memory_with_format(&picture.bytes, format).map_err(failed)?;
    let mut png = Cursor::new(Vec::new());
    decoded
        .write_to(&mut png, ImageFormat::Png)
        .map_err(failed)?;
    Ok(format!("data:image/png;base64,{}", base64(png.get_ref())))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |index: usize| u32::from(three.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            let is_there = place <= three.len();
            text.push(if is_there { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text_as_everybody_writes_it() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
            (b"\xff\xfe\xfd", "//79"),
        ] {
            assert_eq!(base64(bytes), text);
        }
    }

    #[test]
    fn a_picture_is_what_its_bytes_say_and_named_by_its_purchase() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("Stühle, neu.PNG");
        fs::write(&path, [0xff, 0xd8, 0xff, 0xd9]).expect("written");
        let picture = read(&path, "k-1", 2).expect("a picture");
        assert_eq!(
            (picture.name.as_str(), picture.kind),
            ("a3dk-1-2.jpg", "image/jpeg")
        );
        fs::write(&path, "text").expect("written");
        assert!(read(&path, "k-1", 2).is_err());
    }
}
