//! Models as script files, because a page on a disk may load nothing else, and whole
//! reports as one file.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use rayon::prelude::*;

use crate::ops::report::assets::{self, Asset};
use crate::ops::report::data::Data;
use crate::ops::report::folder;
use crate::ops::report::look::Gallery;
use crate::ops::report::zip::Zip;
use crate::platform;
use crate::workspace::durable;

/// How many models are packed side by side.
const TOGETHER: usize = 8;

/// Returns where a model's script lies in a report.
pub(super) fn payload_path(folder: &Path, sha256: &str) -> PathBuf {
    folder.join("models").join(format!("{sha256}.glb.txt"))
}

/// Packs models in the order given until `most` bytes are reached; returns how many of
/// them are in the report.
pub(super) fn payloads(
    gallery: &Gallery<'_>,
    folder: &Path,
    models: &[(String, String)],
    most: u64,
) -> io::Result<usize> {
    fs::create_dir_all(folder.join("models"))?;
    let (mut packed, mut total) = (0, 0);
    for chunk in models.chunks(TOGETHER) {
        let sizes: Vec<io::Result<u64>> = chunk
            .par_iter()
            .map(|(sha256, name)| payload(gallery, folder, sha256, name))
            .collect();
        for size in sizes {
            total += size?;
            if total > most {
                return Ok(packed);
            }
            packed += 1;
        }
    }
    Ok(packed)
}

fn payload(gallery: &Gallery<'_>, folder: &Path, sha256: &str, name: &str) -> io::Result<u64> {
    let path = payload_path(folder, sha256);
    if let Ok(there) = fs::metadata(&path) {
        return Ok(there.len());
    }
    let bytes = gallery.read(name, u64::MAX).map_err(io::Error::other)?;
    let mut packer = GzEncoder::new(Vec::new(), Compression::new(6));
    packer.write_all(&bytes)?;
    let text = STANDARD.encode(packer.finish()?);
    let script = format!("archi3d.model(\"{sha256}\",\"{text}\",\"gzip\");\n");
    durable::replace_unsynced(&path, script.as_bytes(), "report").map(drop)?;
    Ok(script.len() as u64)
}

/// Writes a report's folder as one page.
pub(super) fn single_file(folder: &Path, data: &Data, content: &[String]) -> io::Result<Vec<u8>> {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'unsafe-inline' blob: 'wasm-unsafe-eval'; style-src 'unsafe-inline'; \
         img-src data: blob:; connect-src data: blob:; worker-src blob:; base-uri 'none'; \
         form-action 'none'\">\n<title>archi3d</title>\n",
    );
    let style = assets::text(Asset::Style);
    let _ = write!(page, "<style>{style}</style>\n</head>\n<body>\n");
    page.push_str("<div id=\"app\">Loading…</div>\n");
    for name in content {
        let bytes = durable::read_plain(&folder.join(name), u64::MAX)?;
        let text = if folder::is_picture(name) {
            format!("data:image/jpeg;base64,{}", STANDARD.encode(bytes))
        } else {
            String::from_utf8_lossy(&bytes).into_owned()
        };
        embed(&mut page, name, &text);
    }
    for asset in [Asset::Viewer, Asset::Draco] {
        embed(&mut page, asset.name(), &script_text(assets::text(asset)));
    }
    for script in [data.script(), script_text(assets::text(Asset::App))] {
        let _ = writeln!(page, "<script>{script}</script>");
    }
    page.push_str("</body>\n</html>\n");
    Ok(page.into_bytes())
}

/// A program inside a page must not end its own element.
fn script_text(text: &str) -> String {
    text.replace("</script", "<\\/script")
}

fn embed(page: &mut String, name: &str, text: &str) {
    let _ = writeln!(
        page,
        "<script type=\"text/plain\" id=\"file:{name}\">{text}</script>"
    );
}

/// Writes a report's folder as a zip beside it; whoever unpacks it gets one folder.
pub(super) fn zip(folder: &Path, content: &[String]) -> io::Result<PathBuf> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let path = folder.with_file_name(format!("{name}.zip"));
    let inside: String = name
        .chars()
        .map(|sign| if sign.is_ascii() { sign } else { '_' })
        .collect();
    let temporary = durable::temporary_path(&path, "report");
    let mut zip = Zip::new(fs::File::create(&temporary)?);
    let written = folder::files(content)
        .try_for_each(|name| {
            let bytes = durable::read_plain(&folder.join(name), u64::MAX)?;
            zip.add(&format!("{inside}/{name}"), &bytes)
        })
        .and_then(|()| zip.finish())
        .and_then(|()| platform::rename_replace(&temporary, &path));
    if let Err(error) = written {
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    Ok(path)
}
