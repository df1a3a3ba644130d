//! Writing files so that a reader sees the old or the new one, never a part.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::platform::{self, fault};
use crate::workspace::lock::FileLock;

/// Replaces `path` by `bytes`: written beside it, synced, renamed, folder synced.
/// `tag` tells writers' temporary files apart.
pub fn replace(path: &Path, bytes: &[u8], tag: &str) -> io::Result<()> {
    replace_if(path, bytes, tag, || Ok(true)).map(drop)
}

/// The same unless `is_as_before` says no, which is asked at the last moment: nothing is replaced then.
/// Returns the new file, still open, and what it was before it had its name: whoever finds it written
/// since knows that somebody else did.
pub fn replace_if(
    path: &Path,
    bytes: &[u8],
    tag: &str,
    is_as_before: impl FnOnce() -> io::Result<bool>,
) -> io::Result<Option<(File, Metadata)>> {
    let temporary = temporary_path(path, tag);
    let result = write_synced(&temporary, path, bytes).and_then(|file| {
        let unnamed = file.metadata()?;
        if !is_as_before()? {
            fs::remove_file(&temporary)?;
            return Ok(None);
        }
        platform::rename_replace(&temporary, path).map(|()| Some((file, unnamed)))
    });
    match result {
        Ok(replaced) => {
            fault::here("replace.renamed");
            platform::sync_dir(folder_of(path))?;
            Ok(replaced)
        }
        Err(error) => {
            let _ = fs::remove_file(&temporary);
            Err(error)
        }
    }
}

/// The same for a file that nobody but its owner may read.
pub fn replace_private(path: &Path, bytes: &[u8], tag: &str) -> io::Result<()> {
    let temporary = temporary_path(path, tag);
    let written = create(&temporary).and_then(|mut file| {
        platform::place::make_private(&file)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        platform::rename_replace(&temporary, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written.and_then(|()| platform::sync_dir(folder_of(path)))
}

/// Tells whether a file says just this; it is read piece by piece.
pub fn says(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut file = open_plain(path)?;
    if file.metadata()?.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut piece = vec![0; 1 << 16];
    for expected in bytes.chunks(piece.len()) {
        let found = &mut piece[..expected.len()];
        file.read_exact(found)?;
        if found != expected {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Replaces several files of one folder: all are written and synced before the
/// first is renamed, so an error while writing leaves every old file in place.
pub fn replace_together(files: &[(&Path, &[u8])], tag: &str) -> io::Result<()> {
    let beside = Beside::write(files, tag)?;
    for (path, _) in files {
        beside.take_names(&[path])?;
        fault::here("replace_together.renamed");
    }
    Ok(())
}

/// So many files are written and synced at once: a disk does many in the time of one.
const AT_ONCE: usize = 16;

/// Files that are written and synced beside those that they are to replace. What has not taken its name is removed.
#[derive(Debug)]
pub struct Beside {
    paths: Vec<PathBuf>,
    tag: String,
}

impl Beside {
    /// Writes and syncs all of them; an error leaves every old file in place.
    pub fn write(files: &[(&Path, &[u8])], tag: &str) -> io::Result<Self> {
        let beside = Self {
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
            tag: tag.to_owned(),
        };
        at_once(files, |(path, bytes)| {
            if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            write_synced(&temporary_path(path, tag), path, bytes).map(drop)
        })?;
        Ok(beside)
    }

    /// Lets some of them take their names, in this order, and syncs the folders. When it returns they are there for good.
    pub fn take_names(&self, paths: &[&Path]) -> io::Result<()> {
        for path in paths {
            platform::rename_replace(&temporary_path(path, &self.tag), path)?;
        }
        let mut folders: Vec<&Path> = paths.iter().map(|path| folder_of(path)).collect();
        folders.dedup();
        at_once(&folders, |folder| platform::sync_dir(folder))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = fs::remove_file(temporary_path(path, &self.tag));
        }
    }
}

/// Does the same with all of them, several at a time; returns the first error.
fn at_once<T: Sync>(all: &[T], act: impl Fn(&T) -> io::Result<()> + Sync) -> io::Result<()> {
    let act = &act;
    for some in all.chunks(AT_ONCE) {
        let Some((last, others)) = some.split_last() else {
            continue;
        };
        let done = std::thread::scope(|scope| {
            let others = others.iter().map(|one| scope.spawn(move || act(one)));
            let others: Vec<_> = others.collect();
            let mut done = vec![act(last)];
            let panicked = |_| Err(io::Error::other("a thread panicked"));
            done.extend(
                others
                    .into_iter()
                    .map(|one| one.join().unwrap_or_else(panicked)),
            );
            done
        });
        done.into_iter().collect::<io::Result<()>>()?;
    }
    Ok(())
}

/// Replaces a small file without syncing: atomic for readers, not for a power loss.
pub fn replace_unsynced(path: &Path, bytes: &[u8], tag: &str) -> io::Result<File> {
    let temporary = temporary_path(path, tag);
    fault::io("unsynced.before")?;
    let mut file = create(&temporary)?;
    fault::here("unsynced.created");
    let written = fault::io("unsynced.writing")
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| platform::rename_replace(&temporary, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    Ok(file)
}

fn write_synced(temporary: &Path, path: &Path, bytes: &[u8]) -> io::Result<File> {
    fault::io("replace.before")?;
    let mut file = create(temporary)?;
    fault::here("replace.created");
    // Whoever could read or write the table before can do so afterwards.
    if let Ok(old) = fs::symlink_metadata(path) {
        let _ = file.set_permissions(old.permissions());
    }
    fault::io("replace.writing")?;
    file.write_all(bytes)?;
    fault::io("replace.written")?;
    file.sync_all()?;
    fault::here("replace.synced");
    Ok(file)
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true);
    platform::refuse_links(&mut options).open(path)
}

/// Returns the name of the temporary file of one writer of `path`.
pub fn temporary_path(path: &Path, tag: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    folder_of(path).join(format!(".{name}.{tag}.tmp"))
}

/// Tells whether `name` is a temporary file that [`replace`] or a publication makes.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && Path::new(name).extension().is_some_and(|end| end == "tmp")
}

/// Removes temporary files that dead writers of `path` left. Those that live wait for `_lock`.
pub fn sweep_temporaries(path: &Path, _lock: &FileLock) -> io::Result<usize> {
    let prefix = format!(
        ".{}.",
        path.file_name().unwrap_or_default().to_string_lossy()
    );
    let mut removed = 0;
    for entry in fs::read_dir(folder_of(path))? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.starts_with(&prefix) && is_temporary(name) && fs::remove_file(entry.path()).is_ok()
        {
            removed += 1;
        }
    }
    Ok(removed)
}

/// Opens a file for appending, creating it if needed; never follows a link.
pub fn open_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).read(true);
    platform::refuse_links(&mut options).open(path)
}

/// Opens a file for writing anywhere in it, creating it if needed; never follows a link.
pub fn open_to_write(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).read(true).truncate(false);
    platform::refuse_links(&mut options).open(path)
}

/// Opens a plain file for reading; a link, a folder or a pipe is refused without
/// waiting, with words that say what to do.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    plain(platform::without_waiting(&mut options).open(path), path)
}

/// Takes the file that was opened at `path` without following links or waiting,
/// if it is a plain one; otherwise says what is there instead.
pub fn plain(opened: io::Result<File>, path: &Path) -> io::Result<File> {
    let refuse = |what: &str| {
        let reason = format!("it is {what}, not a plain file; move it away");
        Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
    };
    match opened {
        Ok(file) => {
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return refuse("a folder");
            }
            if !metadata.is_file() {
                return refuse("a pipe or a device");
            }
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(error) => match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => refuse("a link"),
            Ok(found) if found.is_dir() => refuse("a folder"),
            Ok(found) if !found.is_file() => refuse("a pipe or a device"),
            _ => Err(error),
        },
    }
}

/// Reads a whole regular file; a link, a folder or a pipe is refused without waiting.
pub fn read_plain(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.read(true);
    let file = platform::without_waiting(&mut options).open(path)?;
    read_open(file, limit)
}

/// Reads the beginning of a regular file, at most `most` bytes of it, and returns
/// it with the size of the whole.
pub fn read_head(path: &Path, most: u64) -> io::Result<(Vec<u8>, u64)> {
    use io::Read as _;
    let mut options = OpenOptions::new();
    options.read(true);
    let file = platform::without_waiting(&mut options).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut head = Vec::new();
    file.take(most).read_to_end(&mut head)?;
    Ok((head, metadata.len()))
}

/// Reads an open regular file of at most `limit` bytes.
pub fn read_open(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let metadata = file.metadata()?;
    read_known(file, &metadata, limit)
}

/// Reads an open file of which these metadata were just read. Mostly that is one call:
/// the standard library asks for the length again and reads until nothing comes.
pub fn read_known(mut file: File, metadata: &Metadata, limit: u64) -> io::Result<Vec<u8>> {
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if metadata.len() > limit {
        return Err(io::Error::other(format!("larger than {limit} bytes")));
    }
    let length = usize::try_from(metadata.len()).map_err(io::Error::other)?;
    let mut bytes = vec![0; length + 1];
    let mut filled = 0;
    loop {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        // There was room for more, so there is no more.
        if filled == length {
            break;
        }
        if filled == bytes.len() {
            // It grows while it is read.
            bytes.resize(2 * filled, 0);
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Reads the end of a file, at most so many bytes.
pub fn read_tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open_plain(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_keeps_the_permissions_and_leaves_no_temporary_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("t.csv");
        replace(&path, b"one", "a").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        replace(&path, b"two", "a").expect("written");
        assert_eq!(fs::read(&path).expect("readable"), b"two");
        assert_eq!(
            fs::metadata(&path).expect("there").permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(fs::read_dir(folder.path()).expect("listable").count(), 1);
    }

    #[test]
    fn of_files_replaced_together_none_changes_if_one_cannot_be_written() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (one, two) = (folder.path().join("1.csv"), folder.path().join("2.csv"));
        fs::write(&one, "old").expect("written");
        fs::create_dir(&two).expect("created");
        assert!(replace_together(&[(&one, b"new"), (&two, b"new")], "a").is_err());
        assert_eq!(fs::read(&one).expect("readable"), b"old");
        assert_eq!(fs::read_dir(folder.path()).expect("listable").count(), 2);
        fs::remove_dir(&two).expect("removed");
        replace_together(&[(&one, b"new"), (&two, b"new")], "a").expect("written");
        assert_eq!(fs::read(&two).expect("readable"), b"new");
        assert_eq!(fs::read_dir(folder.path()).expect("listable").count(), 2);
    }

    #[test]
    fn only_temporary_files_of_the_same_table_are_swept() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("t.csv");
        for name in [".t.csv.dead.tmp", ".u.csv.dead.tmp", "t.csv.tmp"] {
            File::create(folder.path().join(name)).expect("created");
        }
        let lock = FileLock::try_acquire(&folder.path().join("t.lock"));
        let lock = lock.expect("lockable").expect("free");
        assert_eq!(sweep_temporaries(&path, &lock).expect("listable"), 1);
        assert_eq!(fs::read_dir(folder.path()).expect("listable").count(), 3);
    }

    #[test]
    fn a_folder_or_a_link_is_never_read_as_a_file() {
        let folder = tempfile::tempdir().expect("temp folder");
        assert!(read_plain(folder.path(), 10).is_err());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).expect("linkable");
        assert!(read_plain(&link, 1 << 20).is_err());
    }
}
