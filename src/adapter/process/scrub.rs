//! Takes secrets out of text files that a program left in its folder, before
//! anything is hashed or published.
//!
//! Only files that are text by their names; a model or a picture is never changed.

use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use super::secrets::Secrets;
use crate::platform;

/// What files end in that people and programs read as text.
const TEXTS: &[&str] = &[
    "csv", "html", "json", "jsonl", "log", "md", "toml", "txt", "xml", "yaml", "yml",
];

/// Larger files are no remarks about a model.
const MAX_BYTES: u64 = 16 << 20;

/// Folders in folders are looked through this deep.
const DEEPEST: usize = 4;

/// Masks secrets in every text file below `folder`; a file without any keeps its bytes.
pub(super) fn scrub(folder: &Path, secrets: &Secrets) -> io::Result<()> {
    walk(folder, secrets, DEEPEST)
}

fn walk(folder: &Path, secrets: &Secrets, deeper: usize) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && deeper > 0 {
            walk(&entry.path(), secrets, deeper - 1)?;
        } else if kind.is_file() && is_text(&entry.path()) {
            scrub_file(&entry.path(), secrets)?;
        }
    }
    Ok(())
}

fn is_text(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    TEXTS.iter().any(|text| ending == *text)
}

fn scrub_file(path: &Path, secrets: &Secrets) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = platform::without_waiting(options.read(true)).open(path)?;
    if file.metadata()?.len() > MAX_BYTES {
        return Ok(());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if let Cow::Owned(masked) = secrets.mask(&bytes) {
        // A file of its own: the old one may have another name elsewhere.
        fs::remove_file(path)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        options.open(path)?.write_all(&masked)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_files_lose_their_secrets_and_others_keep_their_bytes() {
        let folder = tempfile::tempdir().expect("dir");
        let secrets = Secrets::of([("FAL_KEY", "canary-1234")]);
        let place = |name: &str| folder.path().join(name);
        fs::create_dir(place("more")).expect("made");
        for name in ["a.json", "more/b.LOG", "model.glb"] {
            fs::write(place(name), "key canary-1234").expect("written");
        }
        fs::write(place("plain.txt"), "nothing").expect("written");
        scrub(folder.path(), &secrets).expect("done");
        let text = |name: &str| fs::read_to_string(place(name)).expect("there");
        assert_eq!(text("a.json"), "key ***");
        assert_eq!(text("more/b.LOG"), "key ***");
        assert_eq!(text("model.glb"), "key canary-1234");
        assert_eq!(text("plain.txt"), "nothing");
    }
}
