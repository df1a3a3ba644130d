//! Linux and macOS. Linux has unnamed files and renames that never replace;
//! elsewhere a hard link gives the same promise at the price of one more call.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use super::{FileIdentity, FileSystemKind, FileVersion};

pub(super) fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o111 != 0)
}

pub(super) fn user_number() -> String {
    rustix::process::getuid().as_raw().to_string()
}

pub(super) fn boot_id() -> String {
    #[cfg(target_os = "linux")]
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    #[cfg(not(target_os = "linux"))]
    let id = {
        #[expect(
            clippy::disallowed_methods,
            reason = "the only way to ask without unsafe code"
        )]
        std::process::Command::new("sysctl")
            .args(["-n", "kern.bootsessionuuid"])
            .output()
            .ok()
            .and_then(|output| String::from_utf8(output.stdout).ok())
    };
    id.map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// More than this no worker needs; some systems refuse to go higher.
const ENOUGH_OPEN_FILES: u64 = 10_240;

pub(super) fn raise_open_file_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current?;
    let wanted = limit.maximum.unwrap_or(u64::MAX).min(ENOUGH_OPEN_FILES);
    if wanted <= current {
        return Some(current);
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    Some(setrlimit(Resource::Nofile, raised).map_or(current, |()| wanted))
}

pub(super) fn steady_now() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    // On macOS the monotonic clock already counts sleep.
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanos)
}

/// Ends this process as a crash would: at once, with nothing cleaned up.
#[cfg(feature = "failpoints")]
pub(super) fn kill_ourselves() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    loop {
        std::thread::park();
    }
}

/// Stops this process until somebody lets it go on.
#[cfg(feature = "failpoints")]
pub(super) fn stop_ourselves() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
    // Another thread may take the signal, and this one must not do its next step before it stands still.
    std::thread::sleep(std::time::Duration::from_millis(50));
}

pub(super) fn identity(metadata: &Metadata) -> FileIdentity {
    FileIdentity {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}

pub(super) fn version(metadata: &Metadata) -> FileVersion {
    let nanos = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    FileVersion {
        identity: identity(metadata),
        size: metadata.len(),
        modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
        changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
    }
}

pub(super) fn link_count(metadata: &Metadata) -> u64 {
    metadata.nlink()
}

pub(super) fn make_accessible(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let found = fs::symlink_metadata(path)?;
    let wanted = if found.is_dir() { 0o700 } else { 0o600 };
    let mode = found.permissions().mode();
    if mode & wanted == wanted || found.is_symlink() {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode | wanted))
}

pub(super) fn is_disk_trouble(error: &io::Error) -> bool {
    use rustix::io::Errno;
    const TROUBLES: [Errno; 9] = [
        Errno::IO,
        Errno::NODEV,
        Errno::NXIO,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOTCONN,
        Errno::HOSTDOWN,
        Errno::HOSTUNREACH,
        Errno::NOLCK,
    ];
    let code = error.raw_os_error();
    TROUBLES
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}

pub(super) fn refuse_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(flags(OFlags::NOFOLLOW))
}

pub(super) fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK))
}

fn flags(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).expect("open flags fit into an int")
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

pub(super) fn open_without_links(path: &Path) -> Option<File> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, Mode, ResolveFlags, openat2};
        let how = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = openat2(CWD, path, how, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        opened.ok().map(File::from)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        None
    }
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
    #[cfg(target_os = "linux")]
    if let Some(mut file) = unnamed_file(parent(path))? {
        prepare(&mut file)?;
        if let Some(created) = link_unnamed(&file, path)? {
            return Ok(created.then_some(file));
        }
    }
    publish_by_link(path, prepare)
}

/// Opens a file that has no name yet, or nothing where that does not exist.
#[cfg(target_os = "linux")]
fn unnamed_file(folder: &Path) -> io::Result<Option<File>> {
    use rustix::io::Errno;
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    let opened = rustix::fs::open(
        folder,
        OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC,
        mode,
    );
    match opened {
        Ok(descriptor) => Ok(Some(File::from(descriptor))),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Gives an unnamed file its name; nothing where the system cannot.
#[cfg(target_os = "linux")]
fn link_unnamed(file: &File, path: &Path) -> io::Result<Option<bool>> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD};
    use rustix::io::Errno;
    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    match rustix::fs::linkat(CWD, source.as_str(), CWD, path, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(Some(true)),
        Err(Errno::EXIST) => Ok(Some(false)),
        Err(Errno::NOENT) if !parent(path).exists() => Err(Errno::NOENT.into()),
        // No /proc, or a file system that cannot link: use a named file instead.
        Err(Errno::NOENT | Errno::PERM | Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn publish_by_link(
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
        // No hard links at all: a job's lock keeps all but other tools out meanwhile.
        Err(_) => Ok(!path.try_exists()? && fs_rename(&temporary, path).map(|()| true)?),
    });
    let _ = fs::remove_file(&temporary);
    Ok(linked?.then_some(file))
}

fn temporary_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    parent(path).join(format!(".{name}.{}.tmp", uuid::Uuid::new_v4().simple()))
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where renaming is wrapped"
)]
fn fs_rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

pub(super) fn rename_no_replace(from: &Path, to: &Path) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(true),
            Err(Errno::EXIST) => return Ok(false),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if from.is_dir() {
        // A folder cannot be linked; a job's lock keeps all but other tools out meanwhile.
        if to.try_exists()? {
            return Ok(false);
        }
        return fs_rename(from, to).map(|()| true);
    }
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(_) if to.try_exists()? => Ok(false),
        Err(_) => fs_rename(from, to).map(|()| true),
    }
}

pub(super) fn rename_replace(from: &Path, to: &Path) -> io::Result<()> {
    fs_rename(from, to)
}

pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        // Some network shares cannot sync folders; their server keeps the order.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

pub(super) fn sync_file_system(file: &File) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        rustix::fs::syncfs(file)?;
        Ok(true)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        Ok(false)
    }
}

#[cfg(target_os = "linux")]
pub(super) fn file_system_kind(path: &Path) -> io::Result<FileSystemKind> {
    let kind = i128::from(rustix::fs::statfs(path)?.f_type);
    let magic = u32::try_from(kind & 0xFFFF_FFFF).unwrap_or(0);
    Ok(match magic {
        0x6969 => FileSystemKind::Network("nfs"),
        0x517B => FileSystemKind::Network("smb"),
        0xFF53_4D42 => FileSystemKind::Network("cifs"),
        0xFE53_4D42 => FileSystemKind::Network("smb2"),
        0x5346_414F => FileSystemKind::Network("afs"),
        0x0102_1997 => FileSystemKind::Network("9p"),
        0x00C3_6400 => FileSystemKind::Network("ceph"),
        0x6573_5546 => FileSystemKind::User,
        _ => FileSystemKind::Local,
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn file_system_kind(path: &Path) -> io::Result<FileSystemKind> {
    // Shares are mounted under /Volumes and their type is not told without unsafe
    // code; a share there is judged by time, which is the careful choice.
    let network = path.starts_with("/Volumes");
    Ok(if network {
        FileSystemKind::Network("share")
    } else {
        FileSystemKind::Local
    })
}

/// Returns a number for the type of the file system, 0 where none is told.
pub(super) fn file_system_type(file: &File) -> io::Result<u32> {
    #[cfg(target_os = "linux")]
    {
        let kind = i128::from(rustix::fs::fstatfs(file)?.f_type);
        Ok(u32::try_from(kind & 0xFFFF_FFFF).unwrap_or(0))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        Ok(0)
    }
}

pub(super) fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

pub(super) fn is_busy(_error: &io::Error) -> bool {
    // An open file can always be replaced here.
    false
}

pub(super) fn reserve(file: &File, from: u64, to: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        match fallocate(file, FallocateFlags::KEEP_SIZE, from, to - from) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, from, to);
        Ok(())
    }
}

pub(super) fn show(path: &Path) -> io::Result<()> {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    super::start_detached(opener, path)
}
