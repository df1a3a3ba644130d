//! The names in a folder, as fast as the system can list them: a state folder
//! may have hundreds of thousands, and so many folders of results have few.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

/// What stands in a folder, as far as its listing tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A file or something else that leads nowhere.
    Plain,
    /// The file system does not say.
    Unknown,
}

/// Hands over everything in a folder but `.` and `..`, in no order.
#[cfg(target_os = "linux")]
pub(super) fn each_entry(folder: &Path, take: &mut dyn FnMut(&OsStr, Listed)) -> io::Result<()> {
    use std::cell::RefCell;
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{FileType, Mode, OFlags, RawDir};

    thread_local! {
        /// What one call to the system may fill, kept for the next folder.
        static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }

    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::open(folder, flags, Mode::empty())?;
    let mut room = ROOM.take();
    room.reserve(256 * 1024);
    let mut entries = RawDir::new(open, room.spare_capacity_mut());
    let listed = loop {
        let entry = match entries.next() {
            None => break Ok(()),
            Some(Err(error)) => break Err(error.into()),
            Some(Ok(entry)) => entry,
        };
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Directory => Listed::Folder,
            FileType::Symlink => Listed::Link,
            FileType::Unknown => Listed::Unknown,
            _ => Listed::Plain,
        };
        take(OsStr::from_bytes(name), kind);
    };
    drop(entries);
    ROOM.set(room);
    listed
}

/// Hands over everything in a folder, in no order.
#[cfg(not(target_os = "linux"))]
pub(super) fn each_entry(folder: &Path, take: &mut dyn FnMut(&OsStr, Listed)) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = match entry.file_type() {
            Ok(kind) if kind.is_dir() => Listed::Folder,
            Ok(kind) if kind.is_symlink() => Listed::Link,
            Ok(_) => Listed::Plain,
            Err(_) => Listed::Unknown,
        };
        take(&entry.file_name(), kind);
    }
    Ok(())
}
