//! What an attempt left in its staging folder: checked, named as the house
//! names it, and hashed. Files are opened without following links.

use std::fs::{self, OpenOptions};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use crate::domain::glb::{self, GlbError, GlbFault};
use crate::domain::naming;
use crate::platform;
use crate::workspace::durable;

mod inventory;

pub use inventory::{CheckedFile, hash_file, inventory, inventory_of, is_intact};
use inventory::{MAX_BYTES, MAX_FILES};

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
    /// One file was named for two purposes.
    #[error("the adapter named {name} twice")]
    NamedTwice {
        /// The file.
        name: String,
    },
    /// More previews than there is room for.
    #[error(
        "the adapter named {count} previews; at most {} are kept",
        naming::MAX_PREVIEWS
    )]
    TooManyPreviews {
        /// How many.
        count: usize,
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

/// Gives a file of the adapter that has the name of ours another one.
pub fn keep_own_metadata(staging: &Path) -> Result<(), ArtifactError> {
    let path = staging.join(naming::METADATA_JSON);
    if look(&path)?.is_none() {
        return Ok(());
    }
    platform::rename_replace(&path, &staging.join(naming::ADAPTER_METADATA_JSON))
        .map_err(|source| io_error(&path, source))
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
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ArtifactError::NoUsableModel {
        name: name.into_owned(),
        source,
    }
}

/// A result under its standard names.
#[derive(Debug, PartialEq, Eq)]
pub struct Standard {
    /// The names relative to the folder: the model first, then the previews.
    pub names: Vec<String>,
    /// Previews that were named but are missing or empty; the model counts all the same.
    pub ignored: Vec<String>,
    /// The names again, with the sizes that the files had when they were looked at.
    files: Vec<(String, u64)>,
}

/// Gives the model and its previews their standard names. Everything is checked
/// before anything is renamed, and no file is ever overwritten.
pub fn standardize(
    staging: &Path,
    model: Option<&Path>,
    previews: &[PathBuf],
) -> Result<Standard, ArtifactError> {
    let model = model.ok_or(ArtifactError::NoModel)?;
    if previews.len() > naming::MAX_PREVIEWS {
        return Err(ArtifactError::TooManyPreviews {
            count: previews.len(),
        });
    }
    let (model, size) = check_named(staging, model)?;
    let (mut chosen, mut sizes) = (vec![model], vec![size]);
    let mut ignored = Vec::new();
    for preview in previews {
        match check_named(staging, preview) {
            Ok((path, _)) if chosen.contains(&path) => {
                let name = preview.display().to_string();
                return Err(ArtifactError::NamedTwice { name });
            }
            Ok((path, size)) => {
                chosen.push(path);
                sizes.push(size);
            }
            Err(ArtifactError::Missing { name } | ArtifactError::Empty { name }) => {
                ignored.push(name);
            }
            Err(error) => return Err(error),
        }
    }
    let names = (0..chosen.len()).map(|position| match position {
        0 => naming::GENERATED_GLB.to_owned(),
        number => naming::preview_png(number),
    });
    let names: Vec<String> = names.collect();
    rename_all(staging, &chosen, &names)?;
    let files = names.iter().cloned().zip(sizes).collect();
    Ok(Standard {
        names,
        ignored,
        files,
    })
}

/// Checks one named file and returns its full path and its size.
fn check_named(staging: &Path, named: &Path) -> Result<(PathBuf, u64), ArtifactError> {
    let path = if named.is_absolute() {
        named.to_owned()
    } else {
        staging.join(named)
    };
    let outside = || ArtifactError::Outside {
        path: named.to_owned(),
    };
    let inside = path
        .strip_prefix(staging)
        .ok()
        .filter(|rest| {
            rest.components()
                .all(|part| matches!(part, std::path::Component::Normal(_)))
        })
        .ok_or_else(outside)?;
    let shown = inside.to_string_lossy().into_owned();
    // A link anywhere on the way could lead out of the folder.
    let mut folder = staging.to_owned();
    for part in inside.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        let metadata = look(&folder)?;
        if metadata.is_some_and(|metadata| metadata.is_symlink()) {
            return Err(outside());
        }
    }
    let metadata = look(&path)?.ok_or_else(|| ArtifactError::Missing {
        name: shown.clone(),
    })?;
    if let Some(what) = not_plain(&metadata) {
        return Err(ArtifactError::NotPlain { name: shown, what });
    }
    if metadata.len() == 0 {
        return Err(ArtifactError::Empty { name: shown });
    }
    Ok((path, metadata.len()))
}

/// Renames the chosen files to their names, by way of names that nobody has, so
/// that swapped ones do not overwrite each other. What else stands there keeps
/// its content under another name.
fn rename_all(staging: &Path, chosen: &[PathBuf], names: &[String]) -> Result<(), ArtifactError> {
    let rename = |from: &Path, to: &Path| {
        platform::rename_replace(from, to).map_err(|source| io_error(from, source))
    };
    let passing = |position: usize| staging.join(format!(".archi3d-{position}.part"));
    for (position, path) in chosen.iter().enumerate() {
        if *path != staging.join(&names[position]) {
            rename(path, &passing(position))?;
        }
    }
    for (position, path) in chosen.iter().enumerate() {
        let target = staging.join(&names[position]);
        if *path == target {
            continue;
        }
        if look(&target)?.is_some() {
            rename(&target, &staging.join(format!("other_{}", names[position])))?;
        }
        rename(&passing(position), &target)?;
    }
    Ok(())
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

    #[test]
    fn the_model_gets_its_standard_name_and_is_hashed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("out.glb"), b"abc").unwrap();
        let names = standardize(folder.path(), Some(Path::new("out.glb")), &[]).unwrap();
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
        let standard = standardize(folder.path(), Some(Path::new("model.glb")), &previews).unwrap();
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
    fn a_missing_preview_costs_no_model_and_one_file_has_one_purpose() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("m.glb"), b"x").unwrap();
        let standard = standardize(
            folder.path(),
            Some(Path::new("m.glb")),
            &["front.png".into()],
        )
        .unwrap();
        assert_eq!(standard.names, ["generated.glb"]);
        assert_eq!(standard.ignored, ["front.png"]);
        let model = Path::new("generated.glb");
        let twice = standardize(folder.path(), Some(model), &[model.to_owned()]);
        assert!(matches!(twice, Err(ArtifactError::NamedTwice { .. })));
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
        let refused = |name: &str| standardize(&staging, Some(Path::new(name)), &[]).unwrap_err();
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
        assert!(matches!(
            refused("hard.glb"),
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
        let way_out = standardize(&staging, Some(Path::new("up/secret.glb")), &[]);
        assert!(matches!(way_out, Err(ArtifactError::Outside { .. })));
        fs::remove_file(staging.join("up")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(staging.join("pipe.glb"))
            .status();
        assert!(made.unwrap().success());
        let pipe = standardize(&staging, Some(Path::new("pipe.glb")), &[]);
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

    #[test]
    fn a_file_with_the_name_of_ours_is_kept_under_another() {
        let folder = tempfile::tempdir().unwrap();
        keep_own_metadata(folder.path()).unwrap();
        fs::write(folder.path().join("metadata.json"), b"{}").unwrap();
        keep_own_metadata(folder.path()).unwrap();
        let files = inventory(folder.path()).unwrap();
        assert_eq!(files[0].name, "adapter_metadata.json");
    }
}
