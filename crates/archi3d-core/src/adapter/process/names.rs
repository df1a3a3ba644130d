//! Takes secrets out of the names of files that a program left in its folder, before
//! anything is listed, hashed or published.
//!
//! A name is as public as a text: it gets into the journal, the marker and
//! `metadata.json`. The files themselves are kept under masked names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::secrets::{MASK, Secrets};
use crate::platform;

/// What stands in a name where a secret stood; the usual mask is no name everywhere.
const MASKED: &str = "masked";

/// The files that got another name, by their paths in the folder.
#[derive(Debug, Default)]
pub(super) struct Renamed(Vec<(PathBuf, PathBuf)>);

/// Gives every file below `folder` whose path in it holds a secret a masked one.
/// An error names no path, as that would tell the secret.
pub(super) fn mask_names(folder: &Path, secrets: &Secrets) -> io::Result<Renamed> {
    let mut renamed = Renamed::default();
    if !secrets.is_empty() {
        walk(folder, Path::new(""), secrets, &mut renamed)?;
    }
    Ok(renamed)
}

fn walk(folder: &Path, inside: &Path, secrets: &Secrets, renamed: &mut Renamed) -> io::Result<()> {
    let entries = match fs::read_dir(folder.join(inside)) {
        Ok(entries) => entries,
        Err(error) if secrets.are_in(&shown(inside)) => return Err(error),
        // Whoever checks the result says what cannot be looked at.
        Err(_) => return Ok(()),
    };
    let entries: Vec<fs::DirEntry> = entries.collect::<io::Result<_>>()?;
    for entry in entries {
        let path = inside.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            walk(folder, &path, secrets, renamed)?;
            if secrets.are_in(&shown(&path)) {
                // Its files have been moved out; nothing is lost with an empty folder.
                fs::remove_dir(folder.join(&path))?;
            }
        } else if secrets.are_in(&shown(&path)) {
            let free = free_name(folder, &masked(&path, secrets))?;
            move_to(folder, &path, &free)?;
            renamed.0.push((path, free));
        }
    }
    Ok(())
}

/// Returns a path with slashes, as it is written down.
fn shown(path: &Path) -> String {
    let parts = path.iter().map(|part| part.to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}

fn masked(path: &Path, secrets: &Secrets) -> PathBuf {
    let text = secrets.mask_text(&shown(path)).replace(MASK, MASKED);
    // A name that was no text is spelt as well as can be.
    PathBuf::from(text)
}

/// Returns `path`, or one like it that nothing has.
fn free_name(folder: &Path, path: &Path) -> io::Result<PathBuf> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| ending.to_string_lossy());
    let ending = ending.map_or_else(String::new, |ending| format!(".{ending}"));
    let mut free = path.to_owned();
    for number in 2u32.. {
        match fs::symlink_metadata(folder.join(&free)) {
            Ok(_) => free = path.with_file_name(format!("{stem}-{number}{ending}")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(error),
        }
    }
    Ok(free)
}

fn move_to(folder: &Path, from: &Path, to: &Path) -> io::Result<()> {
    let target = folder.join(to);
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    if platform::rename_no_replace(&folder.join(from), &target)? {
        Ok(())
    } else {
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Renamed {
    /// Returns where a file is now that the program named; what is not there is at
    /// least named without a secret.
    pub(super) fn now(&self, named: &Path, folder: &Path, secrets: &Secrets) -> PathBuf {
        let inside = named.strip_prefix(folder).unwrap_or(named);
        let moved = self.0.iter().find(|(from, _)| from == inside);
        match moved {
            Some((_, to)) => to.clone(),
            None if secrets.are_in(&shown(inside)) => {
                PathBuf::from(secrets.mask_text(&shown(inside)))
            }
            None => named.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_their_bytes_and_lose_the_secret_in_their_names() {
        let folder = tempfile::tempdir().expect("dir");
        let secrets = Secrets::of([("FAL_KEY", "canary/1234")]);
        let place = |name: &str| folder.path().join(name);
        fs::create_dir_all(place("more/canary")).expect("made");
        for name in ["more/canary/1234.log", "more/masked.log", "plain.txt"] {
            fs::write(place(name), name).expect("written");
        }
        let renamed = mask_names(folder.path(), &secrets).expect("done");
        let text = |name: &str| fs::read_to_string(place(name)).expect("there");
        assert_eq!(text("more/masked-2.log"), "more/canary/1234.log");
        assert_eq!(text("more/masked.log"), "more/masked.log");
        assert_eq!(text("plain.txt"), "plain.txt");
        let now = |named: &str| renamed.now(Path::new(named), folder.path(), &secrets);
        assert_eq!(now("more/canary/1234.log"), Path::new("more/masked-2.log"));
        assert_eq!(now("canary/1234.glb"), Path::new("***.glb"));
        assert_eq!(now("plain.txt"), Path::new("plain.txt"));
    }
}
