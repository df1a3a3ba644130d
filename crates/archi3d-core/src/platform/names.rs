//! The names in a folder, as fast as the system can list them: a state folder
//! may have hundreds of thousands, and so many folders of results have few.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

/// What stands in a folder, as far as its listing tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// What it is.
    pub kind: ListedKind,
    /// Rises about as it lies on the disk, where that is known: whoever opens very many
    /// goes by it.
    pub place: u64,
}

/// What kind of thing stands in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedKind {
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
            FileType::Directory => ListedKind::Folder,
            FileType::Symlink => ListedKind::Link,
            FileType::Unknown => ListedKind::Unknown,
            _ => ListedKind::Plain,
        };
        let place = entry.ino();
        take(OsStr::from_bytes(name), Listed { kind, place });
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
            Ok(kind) if kind.is_dir() => ListedKind::Folder,
            Ok(kind) if kind.is_symlink() => ListedKind::Link,
            Ok(_) => ListedKind::Plain,
            Err(_) => ListedKind::Unknown,
        };
        take(&entry.file_name(), Listed { kind, place: 0 });
    }
    Ok(())
}
