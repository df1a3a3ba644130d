//! What an attempt left in its staging folder: checked, named as the house
//! names it, and hashed. Files are opened without following links.

use std::fs::{self, OpenOptions};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use crate::domain::glb::{self, GlbError, GlbFault};
use crate::platform;
use crate::workspace::durable;

pub use crate::platform::is_disk_trouble;

mod inventory;
mod keep;
mod standard;
mod take;

pub use inventory::{Artifact, hash_file, inventory, inventory_of, is_intact};
use inventory::{MAX_BYTES, MAX_FILES};
pub use keep::{
    copy_folder, discard, holds_any_model, holds_model, is_held_by, is_own_folder, may_hold_model,
    move_folder, own_files, sync_files, takes_folders,
};
pub use standard::{Standard, standardize};
pub use take::{Named, Taken, description, is_as_described, restore_metadata, take, write_json};

/// A result that cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The adapter named no model.
    #[error("the adapter reported success but named no model")]
    NoModel,
    /// A named file is not there.
    #[error("the adapter reported success but {name} does not exist")]
    Missing {
        /// The file.
        name: String,
    },
    /// A named file is empty.
    #[error("the adapter reported success but {name} is empty")]
    Empty {
        /// The file.
        name: String,
    },
    /// A named file lies outside the folder the adapter may write in.
    #[error("the adapter named {}, which is outside its output folder", path.display())]
    Outside {
        /// The file.
        path: PathBuf,
    },
    /// Something that is no plain file of its own.
    #[error("{name} is {what}, not a plain file")]
    NotPlain {
        /// The file.
        name: String,
        /// What it is.
        what: &'static str,
    },
    /// The folder that the adapter was given is not there any more.
    #[error("the adapter reported success but its folder is gone")]
    FolderGone,
    /// Something else stands where the adapter's folder was.
    #[error("the adapter replaced its folder by {what}; nothing of that is taken")]
    FolderReplaced {
        /// What stands there.
        what: String,
    },
    /// The model cannot be one.
    #[error("the adapter reported success but {name} is no usable model: {source}")]
    NoUsableModel {
        /// The file.
        name: String,
        /// What is wrong with it.
        source: GlbError,
    },
    /// More than anybody would want to keep.
    #[error(
        "the adapter left {files} files with {bytes} bytes in its folder; at most {MAX_FILES} \
         files with {MAX_BYTES} bytes are kept"
    )]
    TooMuch {
        /// How many files.
        files: usize,
        /// Their size together.
        bytes: u64,
    },
    /// The system refused.
    #[error("cannot check {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Checks that a file is a model that shows something; reads only its start.
pub fn check_model(path: &Path) -> Result<(), ArtifactError> {
    let mut options = OpenOptions::new();
    options.read(true);
    let file = platform::without_waiting(&mut options)
        .open(path)
        .map_err(|source| io_error(path, source))?;
    let metadata = file.metadata().map_err(|source| io_error(path, source))?;
    let mut reader = BufReader::new(file);
    glb::check(&mut reader, metadata.len()).map_err(|fault| no_usable_model(path, fault))
}

fn no_usable_model(path: &Path, source: GlbError) -> ArtifactError {
    if let GlbError::Io(source) = source {
        return io_error(path, source);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ArtifactError::NoUsableModel {
        name: name.into_owned(),
        source,
    }
}

fn look(path: &Path) -> Result<Option<fs::Metadata>, ArtifactError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(path, error)),
    }
}

fn not_plain(metadata: &fs::Metadata) -> Option<&'static str> {
    if metadata.is_symlink() {
        Some("a link")
    } else if metadata.is_dir() {
        Some("a folder")
    } else if !metadata.is_file() {
        Some("a device or a pipe")
    } else if platform::link_count(metadata) > 1 {
        Some("a second name of another file")
    } else {
        None
    }
}

fn io_error(path: &Path, source: io::Error) -> ArtifactError {
    ArtifactError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Looks whether the file at `path` is a model: nothing if there is no file, else
/// what is wrong with it. A link counts as the file it leads to if that lies below
/// `root`, which must be free of links itself.
pub fn model_fault(path: &Path, root: &Path) -> Option<Option<GlbFault>> {
    let is_absent = |error: &io::Error| {
        let kind = error.kind();
        matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    };
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return None,
        Err(_) => return Some(Some(GlbFault::Unreadable)),
    };
    let mut file = path.to_owned();
    if metadata.is_symlink() {
        // What a link leads to may lie on a disk that is not there now.
        let Ok(target) = path.canonicalize() else {
            return Some(Some(GlbFault::Unreadable));
        };
        if !target.starts_with(root) || !target.is_file() {
            return Some(Some(GlbFault::NotPlain));
        }
        file = target;
    } else if !metadata.is_file() {
        return Some(Some(GlbFault::NotPlain));
    }
    match durable::read_head(&file, glb::HEAD_BYTES as u64) {
        Ok((head, size)) => Some(glb::fault(&head, size)),
        Err(error) if is_absent(&error) => None,
        Err(_) => Some(Some(GlbFault::Unreadable)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn named<'a>(model: &'a str, previews: &'a [PathBuf]) -> Named<'a> {
        Named {
            model: Some(Path::new(model)),
            previews,
            ..Named::default()
        }
    }

    #[test]
    fn the_model_gets_its_standard_name_and_is_hashed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("out.glb"), b"abc").unwrap();
        let names = standardize(folder.path(), &named("out.glb", &[])).unwrap();
        assert_eq!(names.names, ["generated.glb"]);
        let files = inventory(folder.path()).unwrap();
        assert_eq!(files[0].name, "generated.glb");
        assert!(files[0].sha256.starts_with("ba7816bf"));
        assert!(is_intact(
            folder.path(),
            "generated.glb",
            3,
            &files[0].sha256
        ));
        assert!(!is_intact(
            folder.path(),
            "generated.glb",
            4,
            &files[0].sha256
        ));
    }

    #[test]
    fn swapped_names_and_bystanders_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), name).unwrap();
        for name in [
            "model.glb",
            "generated.glb",
            "preview_1.png",
            "preview_2.png",
        ] {
            write(name);
        }
        let previews = ["preview_2.png".into(), "preview_1.png".into()];
        let standard = standardize(folder.path(), &named("model.glb", &previews)).unwrap();
        assert_eq!(
            standard.names,
            ["generated.glb", "preview_1.png", "preview_2.png"]
        );
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("generated.glb"), "model.glb");
        assert_eq!(read("preview_1.png"), "preview_2.png");
        assert_eq!(read("preview_2.png"), "preview_1.png");
        assert_eq!(read("other_generated.glb"), "generated.glb");
    }

    #[test]
    fn whatever_is_wrong_with_a_preview_it_costs_no_model() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), name).unwrap();
        for name in ["m.glb", "a.png", "b.png", "c.png", "d.png"] {
            write(name);
        }
        std::os::unix::fs::symlink("a.png", folder.path().join("link.png")).unwrap();
        let previews = [
            "none.png", "m.glb", "../x.png", "a.png", "a.png", "link.png", "b.png", "c.png",
            "d.png",
        ];
        let previews = previews.map(PathBuf::from);
        let standard = standardize(folder.path(), &named("m.glb", &previews)).unwrap();
        let names = [
            "generated.glb",
            "preview_1.png",
            "preview_2.png",
            "preview_3.png",
        ];
        assert_eq!(standard.names, names);
        assert_eq!(standard.ignored.len(), 5, "{:?}", standard.ignored);
        let kept = inventory(folder.path()).unwrap();
        assert_eq!(kept.len(), 5, "the fourth preview stays as it is: {kept:?}");
    }

    #[test]
    fn what_an_earlier_try_has_renamed_is_found_again() {
        for stop in 0..5 {
            let folder = tempfile::tempdir().unwrap();
            let place = |name: &str| folder.path().join(name);
            let write = |name: &str, text: &str| fs::write(place(name), text).unwrap();
            let steps = [
                ("model.glb", "model"),
                (".archi3d-0.part", "model"),
                (".archi3d-0.part", "model"),
                ("generated.glb", "model"),
                ("generated.glb", "model"),
            ];
            let pictures = [
                "front.png",
                "front.png",
                ".archi3d-1.part",
                ".archi3d-1.part",
                "preview_1.png",
            ];
            write(steps[stop].0, steps[stop].1);
            write(pictures[stop], "front");
            let previews = [PathBuf::from("front.png")];
            let again = Named {
                again: true,
                ..named("model.glb", &previews)
            };
            let standard = standardize(folder.path(), &again).unwrap();
            assert_eq!(standard.names, ["generated.glb", "preview_1.png"], "{stop}");
            let read = |name: &str| fs::read_to_string(place(name)).unwrap();
            assert_eq!(read("generated.glb"), "model");
            assert_eq!(read("preview_1.png"), "front");
        }
    }

    #[test]
    fn names_that_are_no_text_are_spelt_as_one_and_hashed() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = tempfile::tempdir().unwrap();
        let odd = |bytes: &[u8]| folder.path().join(std::ffi::OsStr::from_bytes(bytes));
        fs::create_dir(odd(b"t\xe9x")).unwrap();
        fs::write(odd(b"t\xe9x/\xff.png"), b"1").unwrap();
        fs::write(odd(b"a\xff"), b"2").unwrap();
        fs::write(odd(b"a%FF"), b"3").unwrap();
        let files = inventory(folder.path()).unwrap();
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["2_a%FF", "a%FF", "t%E9x/%FF.png"]);
        for file in &files {
            assert!(is_intact(
                folder.path(),
                &file.name,
                file.size,
                &file.sha256
            ));
        }
    }

    #[test]
    fn links_empty_files_and_paths_outside_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let staging = folder.path().join("s");
        fs::create_dir(&staging).unwrap();
        fs::write(folder.path().join("secret"), b"x").unwrap();
        fs::write(staging.join("empty.glb"), b"").unwrap();
        std::os::unix::fs::symlink("../secret", staging.join("link.glb")).unwrap();
        fs::hard_link(folder.path().join("secret"), staging.join("hard.glb")).unwrap();
        let refused = |name: &str| standardize(&staging, &named(name, &[])).unwrap_err();
        assert!(matches!(refused("empty.glb"), ArtifactError::Empty { .. }));
        assert!(matches!(
            refused("../secret"),
            ArtifactError::Outside { .. }
        ));
        assert!(matches!(
            refused("/etc/passwd"),
            ArtifactError::Outside { .. }
        ));
        assert!(matches!(
            refused("link.glb"),
            ArtifactError::NotPlain { .. }
        ));
        assert!(matches!(refused("none.glb"), ArtifactError::Missing { .. }));
        assert!(matches!(
            inventory(&staging),
            Err(ArtifactError::NotPlain { .. })
        ));
    }

    #[test]
    fn links_on_the_way_pipes_and_huge_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let staging = folder.path().join("s");
        fs::create_dir(&staging).unwrap();
        fs::write(folder.path().join("secret.glb"), b"x").unwrap();
        std::os::unix::fs::symlink("..", staging.join("up")).unwrap();
        let way_out = standardize(&staging, &named("up/secret.glb", &[]));
        assert!(matches!(way_out, Err(ArtifactError::Outside { .. })));
        fs::remove_file(staging.join("up")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(staging.join("pipe.glb"))
            .status();
        assert!(made.unwrap().success());
        let pipe = standardize(&staging, &named("pipe.glb", &[]));
        assert!(matches!(pipe, Err(ArtifactError::NotPlain { .. })));
        assert!(matches!(
            inventory(&staging),
            Err(ArtifactError::NotPlain { .. })
        ));
        fs::remove_file(staging.join("pipe.glb")).unwrap();
        let huge = File::create(staging.join("huge.bin")).unwrap();
        huge.set_len(MAX_BYTES + 1).unwrap();
        assert!(matches!(
            inventory(&staging),
            Err(ArtifactError::TooMuch { files: 1, .. })
        ));
    }
}
