//! What the place where files lie is like: how it is mounted, how much room is
//! left, who may write there, and who may write what this process makes.

use std::fs::Metadata;
use std::io;
use std::path::Path;

/// How the file system of a path is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Its type, such as `ext4`.
    pub kind: String,
    /// Its options, such as `ro` or `nolock`.
    pub options: Vec<String>,
}

/// How much room a file system has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Bytes that we may still write.
    pub free_bytes: u64,
    /// Bytes altogether.
    pub total_bytes: u64,
    /// Files that can still be made, and how many altogether; nothing where that
    /// has no limit.
    pub files: Option<(u64, u64)>,
}

/// Returns how the file system of `path` is mounted; nothing where that is not told.
pub fn mount(path: &Path) -> Option<Mount> {
    if cfg!(target_os = "linux") {
        let table = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        return mount_in(&table, path);
    }
    None
}

/// Finds the mount of `path` in the kernel's table: the longest mount point that
/// leads to it, and of equal ones the last.
fn mount_in(table: &str, path: &Path) -> Option<Mount> {
    let mut best: Option<(usize, Mount)> = None;
    for line in table.lines() {
        let Some((left, right)) = line.split_once(" - ") else {
            continue;
        };
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        let (Some(point), Some(kind)) = (left.get(4), right.first()) else {
            continue;
        };
        let point = unescaped(point);
        if !path.starts_with(&point) || best.as_ref().is_some_and(|(size, _)| *size > point.len()) {
            continue;
        }
        let options = left.get(5).into_iter().chain(right.get(2));
        let options = options.flat_map(|options| options.split(','));
        let mount = Mount {
            kind: (*kind).to_owned(),
            options: options.map(str::to_owned).collect(),
        };
        best = Some((point.len(), mount));
    }
    best.map(|(_, mount)| mount)
}

/// Blanks and the like are written as octal numbers.
fn unescaped(point: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .iter()
    .fold(point.to_owned(), |point, (code, text)| {
        point.replace(code, text)
    })
}

/// Returns how much room the file system of `path` has.
pub fn space(path: &Path) -> io::Result<Space> {
    #[cfg(unix)]
    {
        let found = rustix::fs::statvfs(path)?;
        Ok(Space {
            free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
            total_bytes: found.f_blocks.saturating_mul(found.f_frsize),
            // Some file systems make files as long as there is room, and say zero.
            files: (found.f_files > 0).then_some((found.f_favail, found.f_files)),
        })
    }
    #[cfg(not(unix))]
    {
        Ok(Space {
            free_bytes: fs4::available_space(path)?,
            total_bytes: fs4::total_space(path)?,
            files: None,
        })
    }
}

/// Tells whether everybody on the machine may write there.
pub fn is_world_writable(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = metadata.permissions().mode();
        // In a sticky folder nobody can remove what is another's.
        mode & 0o002 != 0 && mode & 0o1000 == 0
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

/// Tells whether nobody but its owner may read or write a file; everywhere true where that cannot be told.
pub fn is_private(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = metadata.permissions().mode();
        [0o070, 0o007].iter().all(|others| mode & others == 0)
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        true
    }
}

/// Keeps everybody but its owner from reading or writing a file, where the system knows owners.
pub fn make_private(file: &std::fs::File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(())
    }
}

/// Sees to it that nothing this process and its children make can be written by
/// everybody, whatever mask they were started with.
pub fn keep_from_everybody() {
    #[cfg(unix)]
    {
        use rustix::fs::Mode;
        use rustix::process::umask;
        // The mask can only be read by setting it.
        let found = umask(Mode::RWXG | Mode::RWXO);
        umask(found | Mode::WOTH);
    }
}

/// Lets the group of `folder` work with what this process makes there, if it may
/// write in the folder: else the first user would lock the others out.
pub fn share_with_group_of(folder: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        use rustix::fs::Mode;
        use rustix::process::umask;
        let mode = std::fs::metadata(folder).map(|found| found.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o020 != 0) {
            let found = umask(Mode::RWXG | Mode::RWXO);
            umask(found - Mode::RWXG);
        }
    }
    #[cfg(not(unix))]
    let _ = folder;
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:30 / /mnt/my\\040share rw,nosuid - nfs4 server:/x rw,vers=4.2,nolock
31 22 0:31 / /mnt ro - tmpfs tmpfs rw
";

    #[test]
    fn the_nearest_mount_counts_with_all_its_options() {
        let found = |path: &str| mount_in(TABLE, Path::new(path)).unwrap();
        assert_eq!(found("/home/x").kind, "ext4");
        assert_eq!(found("/mnt/other").options, ["ro", "rw"]);
        let share = found("/mnt/my share/ws");
        assert_eq!(share.kind, "nfs4");
        assert!(share.options.iter().any(|option| option == "nolock"));
        assert_eq!(found("/mntother").kind, "ext4");
    }

    #[test]
    fn every_place_has_some_room() {
        let space = space(&std::env::temp_dir()).unwrap();
        assert!(space.total_bytes >= space.free_bytes);
    }
}
