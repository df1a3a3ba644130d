//! The names in a folder, as fast as the system can list them: a state folder
//! may have hundreds of thousands.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

/// Hands over every name in a folder but `.` and `..`, in no order.
#[cfg(target_os = "linux")]
pub(super) fn each_name(folder: &Path, take: &mut dyn FnMut(&OsStr)) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{Mode, OFlags, RawDir};

    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::open(folder, flags, Mode::empty())?;
    let mut buffer = Vec::with_capacity(256 * 1024);
    let mut entries = RawDir::new(open, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            take(OsStr::from_bytes(name));
        }
    }
    Ok(())
}

/// Hands over every name in a folder, in no order.
#[cfg(not(target_os = "linux"))]
pub(super) fn each_name(folder: &Path, take: &mut dyn FnMut(&OsStr)) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        take(&entry?.file_name());
    }
    Ok(())
}
