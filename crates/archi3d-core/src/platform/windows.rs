//! Windows. Files that somebody reads cannot be replaced there, so renames are
//! tried again for a while; names are published under the caller's lock.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::windows::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use super::{FileIdentity, FileSystemKind, FileVersion};

const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const BACKUP_SEMANTICS: u32 = 0x0200_0000;
const ACCESS_DENIED: i32 = 5;
const SHARING_VIOLATION: i32 = 32;
const LOCK_VIOLATION: i32 = 33;
const REPLACE_PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

pub(super) fn user_number() -> String {
    String::new()
}

pub(super) fn boot_id() -> String {
    // None can be told without unsafe code: holders are judged by time alone.
    String::new()
}

pub(super) fn raise_open_file_limit() -> Option<u64> {
    None
}

pub(super) fn steady_now() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

pub(super) fn identity(metadata: &Metadata) -> FileIdentity {
    FileIdentity {
        device: 0,
        inode: metadata.creation_time(),
    }
}

pub(super) fn version(metadata: &Metadata) -> FileVersion {
    FileVersion {
        identity: identity(metadata),
        size: metadata.len(),
        // Counted in tenths of a microsecond since 1601.
        modified: (i128::from(metadata.last_write_time()) - 116_444_736_000_000_000) * 100,
        changed: 0,
    }
}

pub(super) fn make_accessible(path: &Path) -> io::Result<()> {
    let mut permissions = fs::symlink_metadata(path)?.permissions();
    if permissions.readonly() {
        permissions.set_readonly(false);
        fs::set_permissions(path, permissions)?;
    }
    Ok(())
}

pub(super) fn is_disk_trouble(error: &io::Error) -> bool {
    // Not ready, a fault of the device, the network path not found.
    matches!(error.raw_os_error(), Some(21 | 1117 | 53 | 59 | 64))
}

pub(super) fn link_count(_metadata: &Metadata) -> u64 {
    1
}

pub(super) fn refuse_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(OPEN_REPARSE_POINT)
}

pub(super) fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(OPEN_REPARSE_POINT)
}

pub(super) fn open_without_links(_path: &Path) -> Option<File> {
    None
}

pub(super) fn publish(path: &Path, bytes: &[u8]) -> io::Result<Option<File>> {
    publish_prepared(path, |file| file.write_all(bytes))
}

pub(super) fn publish_locked(path: &Path) -> io::Result<Option<File>> {
    publish_prepared(path, |file| file.lock())
}

fn publish_prepared(
    path: &Path,
    prepare: impl Fn(&mut File) -> io::Result<()>,
) -> io::Result<Option<File>> {
    let temporary = temporary_beside(path);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&temporary)?;
    let linked = prepare(&mut file).and_then(|()| match fs::hard_link(&temporary, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    });
    let _ = fs::remove_file(&temporary);
    Ok(linked?.then_some(file))
}

fn temporary_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unique = uuid::Uuid::new_v4().simple();
    path.with_file_name(format!(".{name}.{unique}.tmp"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where renaming is wrapped"
)]
fn fs_rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

pub(super) fn rename_no_replace(from: &Path, to: &Path) -> io::Result<bool> {
    if to.try_exists()? {
        return Ok(false);
    }
    rename_replace(from, to).map(|()| true)
}

pub(super) fn rename_replace(from: &Path, to: &Path) -> io::Result<()> {
    let start = Instant::now();
    loop {
        let error = match fs_rename(from, to) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if !is_busy(&error) || start.elapsed() > REPLACE_PATIENCE {
            return Err(error);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let at = offset + done as u64;
        match file.seek_write(&bytes[done..], at)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => done += written,
        }
    }
    Ok(())
}

pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    let folder = OpenOptions::new()
        .write(true)
        .custom_flags(BACKUP_SEMANTICS)
        .open(path);
    // NTFS journals names by itself; a folder that cannot be flushed is no error.
    if let Ok(folder) = folder {
        let _ = folder.sync_all();
    }
    Ok(())
}

pub(super) fn sync_file_system(_file: &File) -> io::Result<bool> {
    Ok(false)
}

pub(super) fn file_system_kind(path: &Path) -> io::Result<FileSystemKind> {
    let network = path.to_string_lossy().starts_with(r"\\");
    Ok(if network {
        FileSystemKind::Network("share")
    } else {
        FileSystemKind::Local
    })
}

pub(super) fn file_system_type(_file: &File) -> io::Result<u32> {
    Ok(0)
}

pub(super) fn is_superuser() -> bool {
    false
}

pub(super) fn is_busy(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(ACCESS_DENIED | SHARING_VIOLATION | LOCK_VIOLATION)
    )
}

pub(super) fn reserve(_file: &File, _from: u64, _to: u64) -> io::Result<()> {
    Ok(())
}

/// Ends this process as a crash would: at once, with nothing cleaned up.
#[cfg(feature = "failpoints")]
pub(super) fn kill_ourselves() -> ! {
    std::process::abort()
}

/// There is no way to stop a whole process here.
#[cfg(feature = "failpoints")]
pub(super) fn stop_ourselves() {}

pub(super) fn show(path: &Path) -> io::Result<()> {
    super::start_detached("explorer", path)
}
