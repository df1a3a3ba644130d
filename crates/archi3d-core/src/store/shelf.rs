//! The folders of attempts on a disk that workers share: put in their place, or kept aside.
//!
//! Used by every store whose results lie in the workspace. Nothing in here removes what may be
//! somebody's result.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::id::{JobId, Nonce};
use crate::domain::naming;
use crate::platform::{self, fault};
use crate::store::error::{IoContext, StoreError};
use crate::workspace::artifact::{self, Standard};
use crate::workspace::paths::RunPaths;

/// Moves an attempt's files out of the way, never away. Returns where they are,
/// if there are any.
pub(super) fn keep_late(
    paths: &RunPaths,
    folder: &Path,
    job: &JobId,
    attempt: u32,
    nonce: &Nonce,
) -> Result<Option<PathBuf>, StoreError> {
    if !has_files(folder).context("look into", folder)? {
        let _ = artifact::discard(folder);
        return Ok(None);
    }
    let late = paths.late();
    fs::create_dir_all(&late).context("create", &late)?;
    let to = free_late_name(paths, job, attempt, nonce);
    fault::here("late.before");
    move_across(paths, folder, &to).context("set aside", &to)?;
    fault::here("late.kept");
    Ok(Some(to))
}

/// Returns where an attempt's files are kept; the name is free.
pub(super) fn free_late_name(
    paths: &RunPaths,
    job: &JobId,
    attempt: u32,
    nonce: &Nonce,
) -> PathBuf {
    let late = paths.late();
    let name = naming::kept_dir(job, attempt, nonce);
    let mut to = late.join(&name);
    for number in 2u32.. {
        if to.symlink_metadata().is_err() {
            break;
        }
        to = late.join(format!("{name}{number}"));
    }
    to
}

/// Moves a folder to a free name; where that lies on another disk, by a copy that
/// is synced and compared before the original goes.
pub(super) fn move_across(paths: &RunPaths, from: &Path, to: &Path) -> io::Result<bool> {
    match artifact::move_folder(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        moved => return moved,
    }
    if to.symlink_metadata().is_ok() {
        return Ok(false);
    }
    let (late, staging) = (paths.late(), paths.staging());
    let near = if to.starts_with(&staging) {
        staging
    } else {
        late
    };
    fs::create_dir_all(&near)?;
    let name = from.file_name().unwrap_or_default().to_string_lossy();
    let copy = near.join(format!(".copying-{name}"));
    artifact::own_files(from)?;
    artifact::copy_folder(from, &copy)?;
    fault::here("move.copied");
    let same = artifact::inventory(from)
        .and_then(|from| Ok((from, artifact::inventory(&copy)?)))
        .map_err(io::Error::other)?;
    if same.0 != same.1 {
        return Err(io::Error::other("the copy is not what was copied"));
    }
    let moved = artifact::move_folder(&copy, to)?;
    fault::here("move.renamed");
    if moved {
        let _ = artifact::discard(from);
    }
    Ok(moved)
}

/// Moves the folder of an attempt to the final name of its result; an older result is kept
/// as `kept`.
pub(super) fn place(
    paths: &RunPaths,
    staging: &Path,
    job: &JobId,
    kept: &str,
    simulated: bool,
) -> Result<(), StoreError> {
    let output = paths.output(job);
    let moved = move_across(paths, staging, &output);
    if matches!(moved, Ok(true)) {
        return Ok(());
    }
    if !staging.exists() {
        // A crash came after the rename; recovery has compared the hashes.
        return Ok(());
    }
    if !moved.context("publish", &output)? {
        keep_previous(paths, &output, kept, simulated)?;
        fault::here("publish_result.previous_kept");
    }
    let moved = move_across(paths, staging, &output);
    if matches!(moved, Err(_) | Ok(false)) && !staging.exists() {
        // Somebody else finished the same move meanwhile.
        return Ok(());
    }
    if moved.context("publish", &output)? {
        return Ok(());
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists)).context("publish", &output)
}

fn keep_previous(
    paths: &RunPaths,
    output: &Path,
    kept: &str,
    simulated: bool,
) -> Result<(), StoreError> {
    if fs::remove_dir(output).is_ok() {
        return Ok(()); // It was an empty folder.
    }
    let previous = paths.previous();
    fs::create_dir_all(&previous).context("create", &previous)?;
    let to = previous.join(kept);
    artifact::move_folder(output, &to).context("keep the old result as", &to)?;
    if simulated && !artifact::holds_model(&to) {
        // A rehearsal only ever replaces a rehearsal, which is worth nothing.
        let _ = artifact::discard(&to);
        let _ = fs::remove_dir(&previous);
    }
    Ok(())
}

/// Sets files aside that are no part of a result and were not cleared of secrets when their worker died. They go to `beside`
/// first, so that another disk is crossed with all of them at once. Returns where they are, if there were any.
pub(super) fn put_others_aside(
    paths: &RunPaths,
    folder: &Path,
    beside: &Path,
    standard: &Standard,
    (job, attempt, nonce): (&JobId, u32, &Nonce),
) -> io::Result<Option<PathBuf>> {
    let is_part = |name: &OsStr| standard.names.iter().any(|part| name == part.as_str());
    let entries: Vec<fs::DirEntry> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    let names = entries.iter().map(fs::DirEntry::file_name);
    let others: Vec<_> = names.filter(|name| !is_part(name)).collect();
    if others.is_empty() && !beside.is_dir() {
        return Ok(None);
    }
    if !beside.is_dir() {
        fs::create_dir(beside)?;
    }
    for name in others {
        let from = folder.join(&name);
        let mut to = beside.join(&name);
        for number in 2u32.. {
            if platform::rename_no_replace(&from, &to)? {
                break;
            }
            to = beside.join(format!("{number}_{}", name.to_string_lossy()));
        }
    }
    fs::create_dir_all(paths.late())?;
    let to = free_late_name(paths, job, attempt, nonce);
    if !move_across(paths, beside, &to)? {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    Ok(Some(to))
}

/// Tells whether there is anything in an attempt's folder, which is opened for that.
/// What cannot be opened counts as something; a link holds nothing of its own.
pub(super) fn has_files(folder: &Path) -> io::Result<bool> {
    let found = match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    if !found.is_dir() {
        return Ok(found.is_file() && found.len() > 0);
    }
    let opened = platform::open_up(folder).and_then(|()| fs::read_dir(folder));
    Ok(opened.map_or(true, |mut entries| entries.next().is_some()))
}
