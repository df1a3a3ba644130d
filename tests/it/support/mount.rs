//! Small and read-only file systems to run in. Mounting needs rights that not every machine gives:
//! without them a test is passed over with a line that says so.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{has_tool, skip};

/// Something mounted on a folder; gone when dropped.
#[derive(Debug)]
pub struct Mount(PathBuf);

impl Mount {
    /// Mounts a file system in memory of so many bytes on `folder`.
    pub fn small(folder: &Path, bytes: u64) -> Option<Self> {
        Self::memory(folder, &format!("size={bytes}"))
    }

    /// Mounts a file system in memory on `folder`, with options such as `nr_inodes`.
    pub fn memory(folder: &Path, options: &str) -> Option<Self> {
        Self::new(folder, &["-t", "tmpfs", "-o", options, "tmpfs"])
    }

    /// Makes what is in `folder` read-only, even for root.
    pub fn read_only(folder: &Path) -> Option<Self> {
        let source = folder.to_string_lossy().into_owned();
        let mount = Self::new(folder, &["--bind", &source])?;
        let again = Command::new("mount")
            .args(["-o", "remount,ro,bind"])
            .arg(folder)
            .output();
        if again.is_ok_and(|output| output.status.success()) {
            return Some(mount);
        }
        skip("remounting read-only is not allowed here");
        None
    }

    fn new(folder: &Path, arguments: &[&str]) -> Option<Self> {
        if !has_tool("mount") {
            return None;
        }
        let output = Command::new("mount").args(arguments).arg(folder).output();
        if output.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder.to_owned()));
        }
        skip("mounting is not allowed here; run the tests as root");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: a test that fails may leave a process that still looks at it.
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}
