//! Folders of attempts as a whole: whether they hold a model, made accessible,
//! copied, synced, and the only place in which one is removed.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{ArtifactError, MAX_BYTES, check_model, inventory, io_error, not_plain};
use crate::domain::glb;
use crate::platform;
use crate::workspace::durable;

/// Models deeper in a folder are not looked for.
const DEEPEST: usize = 6;

/// Checks that `folder` is a real one where it is, not a link to somewhere else.
pub fn is_own_folder(folder: &Path) -> Result<(), ArtifactError> {
    let found = match fs::symlink_metadata(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Where all folders are gone it is not the adapter that moved one.
            return Err(match folder.parent().map(fs::symlink_metadata) {
                Some(Ok(_)) => ArtifactError::FolderGone,
                _ => io_error(folder, error),
            });
        }
        Err(error) => return Err(io_error(folder, error)),
    };
    if found.is_symlink() {
        let target = fs::read_link(folder).unwrap_or_default();
        let what = format!("a link to {}", target.display());
        return Err(ArtifactError::FolderReplaced { what });
    }
    if !found.is_dir() {
        let what = "a file".to_owned();
        return Err(ArtifactError::FolderReplaced { what });
    }
    Ok(())
}

/// Tells whether a folder holds a whole model that somebody made: not only the one
/// of a rehearsal.
pub fn holds_model(folder: &Path) -> bool {
    is_own_folder(folder).is_ok() && holds(folder, &|path| !is_sample(path), DEEPEST)
}

/// Tells whether a folder holds a whole model that somebody made, or something that
/// cannot be looked into.
pub fn may_hold_model(folder: &Path) -> bool {
    is_own_folder(folder).is_err() || platform::open_up(folder).is_err() || holds_model(folder)
}

/// Tells whether a folder holds a whole model of any kind.
pub fn holds_any_model(folder: &Path) -> bool {
    is_own_folder(folder).is_ok() && holds(folder, &|_| true, DEEPEST)
}

fn holds(folder: &Path, counts: &dyn Fn(&Path) -> bool, deeper: usize) -> bool {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| {
        let (path, kind) = (entry.path(), entry.file_type());
        let is = |ask: fn(&fs::FileType) -> bool| kind.as_ref().is_ok_and(ask);
        if is(fs::FileType::is_dir) {
            return deeper > 0 && holds(&path, counts, deeper - 1);
        }
        is(fs::FileType::is_file) && check_model(&path).is_ok() && counts(&path)
    })
}

/// Tells whether the bytes of every file in a folder are in one of the others as well.
pub fn is_held_by(folder: &Path, others: &[PathBuf]) -> bool {
    let Ok(own) = inventory(folder) else {
        return false;
    };
    let others = others.iter().filter(|other| other.is_dir());
    let held = others.flat_map(|other| inventory(other).unwrap_or_default());
    let held: HashSet<String> = held.map(|file| file.sha256).collect();
    !own.is_empty() && own.iter().all(|file| held.contains(&file.sha256))
}

fn is_sample(path: &Path) -> bool {
    let limit = glb::SAMPLE.len() as u64;
    durable::read_plain(path, limit).is_ok_and(|bytes| bytes == glb::SAMPLE)
}

/// Removes an attempt's folder with everything in it. Whoever calls this knows that
/// it holds nothing that an adapter called a success. A link is removed, not followed.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where removing folders is wrapped"
)]
pub fn discard(folder: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(folder),
        Ok(_) => fs::remove_file(folder),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            platform::open_up(folder)?;
            fs::remove_dir_all(folder)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Moves a folder to a name that is free; tells whether it was. One that its maker
/// has protected is opened first.
pub fn move_folder(from: &Path, to: &Path) -> io::Result<bool> {
    match platform::rename_no_replace(from, to) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            platform::make_accessible(from)?;
            platform::rename_no_replace(from, to)
        }
        moved => moved,
    }
}

/// Copies a folder's files, not links, to a new one and syncs everything; a copy that a
/// crash left is made anew.
pub fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    discard(to)?;
    fs::create_dir(to)?;
    copy_into(from, to)?;
    platform::sync_dir(to)
}

fn copy_into(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let found = fs::symlink_metadata(&source)?;
        if found.is_dir() {
            fs::create_dir(&target)?;
            copy_into(&source, &target)?;
            platform::sync_dir(&target)?;
        } else if found.is_file() {
            fs::copy(&source, &target)?;
            fs::File::open(&target)?.sync_all()?;
        }
    }
    Ok(())
}

/// Makes a result consist of plain files of its own: one with a second name elsewhere is
/// copied, and what has no bytes of its own (a link, a pipe, a socket) goes. Follows no
/// link; returns what went, with the reason.
pub fn own_files(folder: &Path) -> io::Result<Vec<String>> {
    let mut gone = Vec::new();
    own_below(folder, "", &mut gone)?;
    Ok(gone)
}

fn own_below(folder: &Path, prefix: &str, gone: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let found = fs::symlink_metadata(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{prefix}{name}");
        if found.is_dir() {
            own_below(&path, &format!("{name}/"), gone)?;
        } else if found.is_file() {
            own_copy(&path, &found)?;
        } else if let Some(what) = not_plain(&found) {
            fs::remove_file(&path)?;
            gone.push(format!("{name} (it is {what})"));
        }
    }
    Ok(())
}

/// Replaces a file that has a second name by a copy; what the other name shows stays.
pub(super) fn own_copy(path: &Path, found: &fs::Metadata) -> io::Result<()> {
    if platform::link_count(found) < 2 || found.len() > MAX_BYTES {
        return Ok(());
    }
    let copy = path.with_file_name(".archi3d-own.part");
    if copy.symlink_metadata().is_ok() {
        fs::remove_file(&copy)?;
    }
    let mut from = durable::open_plain(path)?;
    let mut to = fs::File::create_new(&copy)?;
    io::copy(&mut from, &mut to)?;
    to.sync_all()?;
    platform::rename_replace(&copy, path)
}

/// Tells whether folders can be put into `folder`, by trying.
pub fn takes_folders(folder: &Path) -> bool {
    let name = format!(".probe-{}", uuid::Uuid::new_v4().simple());
    let probe = folder.join(name);
    fs::create_dir(&probe).is_ok() && fs::remove_dir(&probe).is_ok()
}

/// Makes every file of a folder survive a power loss, and their names.
pub fn sync_files(folder: &Path) -> io::Result<()> {
    let mut pending: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_file() {
                fs::File::open(entry.path())?.sync_all()?;
            }
        }
        platform::sync_dir(&folder)?;
    }
    Ok(())
}
