//! What differs between operating systems, in one place with all of it.
//!
//! Every function here exists on every system with the same meaning; where a
//! system lacks the means, the fallback keeps the promise or says what is weaker.

pub mod fault;
mod names;
pub mod place;
pub mod process;

#[cfg(unix)]
mod guard_unix;
#[cfg(unix)]
mod process_tree;
#[cfg(unix)]
mod process_unix;
#[cfg(windows)]
mod process_windows;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as imp;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as imp;

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

pub use names::{Listed, ListedKind};

/// Which file a path or a descriptor means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

/// Which version of which file: changes whenever somebody writes or replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileVersion {
    /// Which file.
    pub identity: FileIdentity,
    /// Its size.
    pub size: u64,
    modified: i128,
    changed: i128,
}

impl FileVersion {
    /// Tells whether nothing was written in between; its name may have changed.
    pub fn is_written_as(&self, other: &Self) -> bool {
        (self.identity, self.size, self.modified) == (other.identity, other.size, other.modified)
    }

    /// Returns when it was written, in whole seconds since 1970; nothing for a time before.
    pub fn written(&self) -> Option<i64> {
        let seconds = i64::try_from(self.modified / 1_000_000_000).ok()?;
        (self.modified >= 0).then_some(seconds)
    }
}

/// How far locks on a file system reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSystemKind {
    /// A disk of this machine.
    Local,
    /// A share of another machine, by its name.
    Network(&'static str),
    /// A file system run by a program; its locks must be tried.
    User,
}

/// Returns the id of the machine's current boot, or nothing where none can be told.
pub fn boot_id() -> String {
    imp::boot_id()
}

/// Returns the number of the user who runs this process, nothing where users have none.
pub fn user_number() -> String {
    imp::user_number()
}

/// Opens a file with the program that the person's desktop has for it.
pub fn show(path: &Path) -> io::Result<()> {
    imp::show(path)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the person asked for another program, which is no adapter"
)]
fn start_detached(program: &str, path: &Path) -> io::Result<()> {
    use std::process::{Command, Stdio};
    Command::new(program)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(drop)
}

/// Tells whether the file may be started as a program, as far as its mode says.
pub fn is_executable(path: &Path) -> bool {
    imp::is_executable(path)
}

/// Returns a clock that only moves forward, also while the machine sleeps.
pub fn steady_now() -> Duration {
    imp::steady_now()
}

/// Returns which file `metadata` describes.
pub fn identity(metadata: &Metadata) -> FileIdentity {
    imp::identity(metadata)
}

/// Returns where an open file is and since when, in one word: two are equal only if both
/// mean the same file through the same file system. The part before the last colon stays
/// the same when the machine starts anew.
pub fn whereabouts(file: &File) -> io::Result<String> {
    let metadata = file.metadata()?;
    let FileIdentity { device, inode } = identity(&metadata);
    // The number of a file that is gone is given to the next one; its birth is not.
    let born = metadata.created().ok();
    let born = born.and_then(|born| born.duration_since(std::time::UNIX_EPOCH).ok());
    let born = born.unwrap_or_default().as_nanos();
    let system = imp::file_system_type(file)?;
    Ok(format!("{system:x}:{inode:x}:{born:x}:{device:x}"))
}

/// Returns which version of which file `metadata` describes.
pub fn version(metadata: &Metadata) -> FileVersion {
    imp::version(metadata)
}

/// Returns how many names a file has.
pub fn link_count(metadata: &Metadata) -> u64 {
    imp::link_count(metadata)
}

/// Lets the owner of a file or folder read and change it; the path is no link.
pub fn make_accessible(path: &Path) -> io::Result<()> {
    imp::make_accessible(path)
}

/// Lets us read and change everything below a folder of ours; follows no link.
pub fn open_up(folder: &Path) -> io::Result<()> {
    make_accessible(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            open_up(&entry.path())?;
        } else if kind.is_file() {
            make_accessible(&entry.path())?;
        }
    }
    Ok(())
}

/// Tells whether an error is that of the disk or the machine, so that other files
/// would meet it too, rather than that of the file that was asked for.
pub fn is_disk_trouble(error: &io::Error) -> bool {
    use io::ErrorKind::{
        OutOfMemory, QuotaExceeded, ReadOnlyFilesystem, StaleNetworkFileHandle, StorageFull,
        TimedOut,
    };
    let kinds = [
        OutOfMemory,
        QuotaExceeded,
        ReadOnlyFilesystem,
        StaleNetworkFileHandle,
        StorageFull,
        TimedOut,
    ];
    kinds.contains(&error.kind()) || imp::is_disk_trouble(error)
}

/// Makes `options` refuse a path whose last part is a symbolic link.
pub fn refuse_links(options: &mut OpenOptions) -> &mut OpenOptions {
    imp::refuse_links(options)
}

/// Makes `options` give up at once where opening could wait (a named pipe).
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    imp::without_waiting(options)
}

/// Opens a file for reading if no part of `path` is a link; nothing if one is,
/// or if the file cannot be opened, or if the system cannot tell.
pub fn open_without_links(path: &Path) -> Option<File> {
    imp::open_without_links(path)
}

/// Creates `path` with `bytes` in one step: it appears complete or not at all.
/// Returns nothing if the name is taken.
pub fn publish(path: &Path, bytes: &[u8]) -> io::Result<Option<File>> {
    fault::io("publish.before")?;
    let published = imp::publish(path, bytes)?;
    fault::here("publish.after");
    Ok(published)
}

/// Creates an empty file that is exclusively locked from the moment it has its name.
pub fn publish_locked(path: &Path) -> io::Result<Option<File>> {
    fault::io("publish_locked.before")?;
    let published = imp::publish_locked(path)?;
    fault::here("publish_locked.after");
    Ok(published)
}

/// Renames without ever replacing; returns `false` if the new name is taken.
pub fn rename_no_replace(from: &Path, to: &Path) -> io::Result<bool> {
    fault::io("rename_no_replace.before")?;
    let renamed = imp::rename_no_replace(from, to)?;
    fault::here("rename_no_replace.after");
    Ok(renamed)
}

/// Renames over `to`; on Windows waits for readers that hold it open.
pub fn rename_replace(from: &Path, to: &Path) -> io::Result<()> {
    fault::io("rename_replace.before")?;
    imp::rename_replace(from, to)?;
    fault::here("rename_replace.after");
    Ok(())
}

/// Hands over every name in a folder, in no order; nothing is opened.
pub fn each_name(folder: &Path, take: &mut dyn FnMut(&OsStr)) -> io::Result<()> {
    names::each_entry(folder, &mut |name, _| take(name))
}

/// Hands over every name in a folder with what stands there, in no order; nothing is opened.
pub fn each_entry(folder: &Path, take: &mut dyn FnMut(&OsStr, Listed)) -> io::Result<()> {
    names::each_entry(folder, take)
}

/// Writes at a position without moving the descriptor's own.
pub fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    fault::io("write_at.before")?;
    imp::write_at(file, bytes, offset)?;
    fault::here("write_at.after");
    Ok(())
}

/// Makes the names in a folder survive a power loss.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    fault::io("sync_dir.before")?;
    imp::sync_dir(path)?;
    fault::here("sync_dir.after");
    Ok(())
}

/// Makes everything written to the file system of `file` survive a power loss.
/// Returns `false` where there is no such call.
pub fn sync_file_system(file: &File) -> io::Result<bool> {
    fault::io("sync_file_system.before")?;
    let synced = imp::sync_file_system(file)?;
    fault::here("sync_file_system.after");
    Ok(synced)
}

/// Tells what kind of file system `path` is on.
pub fn file_system_kind(path: &Path) -> io::Result<FileSystemKind> {
    imp::file_system_kind(path)
}

/// Asks for as many open files as the system gives and returns how many it allows;
/// nothing where there is no such limit.
pub fn raise_open_file_limit() -> Option<u64> {
    imp::raise_open_file_limit()
}

/// Tells whether the program runs with unlimited rights.
pub fn is_superuser() -> bool {
    imp::is_superuser()
}

/// Tells whether `error` only means that somebody holds the file open just now.
pub fn is_busy(error: &io::Error) -> bool {
    imp::is_busy(error)
}

/// Keeps room on the disk for the bytes of a file from one place to another, so that
/// a later write there cannot fail for want of it. Does nothing where that is unknown.
pub fn reserve(file: &File, from: u64, to: u64) -> io::Result<()> {
    fault::io("reserve.before")?;
    imp::reserve(file, from, to)
}
