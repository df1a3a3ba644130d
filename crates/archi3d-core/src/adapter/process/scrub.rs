//! Takes secrets out of text files that a program left in its folder, before
//! anything is hashed or published.
//!
//! What is text is told by its bytes, whatever it is called, however deep it lies and
//! however large it is. A model or a picture is never changed, also not one in text.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::secrets::{MaskedStream, Secrets};
use crate::platform;

/// Models and pictures that may be text: digits in them are places, not secrets.
const SHAPES: &[&str] = &[
    "3mf", "dae", "fbx", "glb", "gltf", "mtl", "obj", "off", "pcd", "ply", "pts", "stl", "svg",
    "usd", "usda", "usdz", "wrl", "x3d", "xyz",
];

/// How much of a file tells whether it is text.
const SNIFFED_BYTES: usize = 8 << 10;

/// How much is read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Masks secrets in every text file below `folder`; a file without any keeps its
/// bytes. One that cannot be looked through or rewritten is an error once all others
/// have been looked through.
pub(super) fn scrub(folder: &Path, secrets: &Secrets) -> io::Result<()> {
    let mut folders = vec![folder.to_owned()];
    let mut outcome = Ok(());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && !is_shape(&entry.path()) {
                match scrub_file(&entry.path(), secrets) {
                    // What is gone tells nothing.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    scrubbed => outcome = outcome.and(scrubbed),
                }
            }
        }
    }
    outcome
}

fn is_shape(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    SHAPES.iter().any(|shape| ending == *shape)
}

fn scrub_file(path: &Path, secrets: &Secrets) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = platform::without_waiting(options.read(true)).open(path)?;
    let mut start = Vec::new();
    (&mut file)
        .take(SNIFFED_BYTES as u64)
        .read_to_end(&mut start)?;
    if start.contains(&0) {
        return Ok(());
    }
    file.rewind()?;
    if !masked_into(&mut file, secrets, &mut io::sink())? {
        return Ok(());
    }
    file.rewind()?;
    // A file of its own: the old one may have another name elsewhere.
    let (mut fresh, fresh_path) = beside(path)?;
    let written = masked_into(&mut file, secrets, &mut fresh).and_then(|_| fresh.flush());
    let replaced = written.and_then(|()| platform::rename_replace(&fresh_path, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&fresh_path);
    }
    replaced
}

/// Makes a file with a name of its own beside `path`.
fn beside(path: &Path) -> io::Result<(BufWriter<File>, PathBuf)> {
    let name = format!(".masked-{}", uuid::Uuid::new_v4().simple());
    let fresh = path.with_file_name(name);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&fresh)?;
    Ok((BufWriter::new(file), fresh))
}

/// Writes what `file` holds without secrets, and tells whether it held any.
fn masked_into(file: &mut File, secrets: &Secrets, out: &mut dyn io::Write) -> io::Result<bool> {
    let mut stream = MaskedStream::new(secrets);
    let mut piece = vec![0; PIECE_BYTES];
    let mut written = Ok(());
    let mut pass = |bytes: &[u8]| {
        if written.is_ok() {
            written = out.write_all(bytes);
        }
    };
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => stream.feed(&piece[..length], &mut pass),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    stream.end(&mut pass);
    written.map(|()| stream.has_masked())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_text_loses_its_secrets_and_everything_else_keeps_its_bytes() {
        let folder = tempfile::tempdir().expect("dir");
        let secrets = Secrets::of([("FAL_KEY", "canary-1234")]);
        let place = |name: &str| folder.path().join(name);
        let deep = "a/b/c/d/e/f/g/h/notes";
        fs::create_dir_all(place("a/b/c/d/e/f/g/h")).expect("made");
        for name in ["a.json", deep, "b.weird", "model.glb", "mesh.OBJ"] {
            fs::write(place(name), "key canary-1234").expect("written");
        }
        fs::write(place("raw.bin"), b"\0key canary-1234").expect("written");
        fs::write(place("plain.txt"), "nothing").expect("written");
        let filler = "x".repeat(100_000);
        fs::write(place("long.log"), format!("{filler}canary-1234\n")).expect("written");
        scrub(folder.path(), &secrets).expect("looked through");
        let text = |name: &str| fs::read_to_string(place(name)).expect("there");
        for name in ["a.json", deep, "b.weird"] {
            assert_eq!(text(name), "key ***", "{name}");
        }
        for name in ["model.glb", "mesh.OBJ"] {
            assert_eq!(text(name), "key canary-1234", "{name}");
        }
        assert_eq!(text("raw.bin"), "\0key canary-1234");
        assert_eq!(text("plain.txt"), "nothing");
        assert_eq!(text("long.log"), format!("{filler}***\n"));
        let files = fs::read_dir(folder.path()).expect("read").count();
        assert_eq!(files, 8, "nothing is left beside them");
    }
}
