//! Which of the files that an adapter named are the model and its previews, and the
//! names they get.
//!
//! A preview is never worth a model: whatever is wrong with one, it is left out.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::keep::own_copy;
use super::{ArtifactError, Named, io_error, look, not_plain};
use crate::domain::naming;
use crate::platform;

/// A result under its standard names.
#[derive(Debug, PartialEq, Eq)]
pub struct Standard {
    /// The names relative to the folder: the model first, then the previews.
    pub names: Vec<String>,
    /// Previews that were named and left out, with the reason.
    pub ignored: Vec<String>,
    /// The names again, with the sizes that the files had when they were looked at.
    pub(super) files: Vec<(String, u64)>,
}

/// Gives the model and its previews their standard names. Everything is checked
/// before anything is renamed, and no file is ever overwritten.
pub fn standardize(staging: &Path, named: &Named<'_>) -> Result<Standard, ArtifactError> {
    let model = find_model(staging, named)?;
    let (model, size) = check_named(staging, &model)?;
    let (mut chosen, mut sizes) = (vec![model], vec![size]);
    let mut ignored = Vec::new();
    for preview in previews(staging, named, &chosen[0])? {
        let reason = match check_named(staging, &preview) {
            Ok((path, _)) if path == chosen[0] => "it is the model".to_owned(),
            Ok((path, _)) if chosen.contains(&path) => continue,
            Ok(_) if chosen.len() > naming::MAX_PREVIEWS => {
                format!("more than {}", naming::MAX_PREVIEWS)
            }
            Ok((path, size)) => {
                chosen.push(path);
                sizes.push(size);
                continue;
            }
            Err(error) => {
                remove_link(staging, &preview);
                reason(&error)
            }
        };
        ignored.push(format!("{} ({reason})", preview.display()));
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

/// Returns the model that was named, wherever an earlier try has left it.
fn find_model(staging: &Path, named: &Named<'_>) -> Result<PathBuf, ArtifactError> {
    let standard = staging.join(naming::GENERATED_GLB);
    if let Some(model) = named.model {
        let path = staging.join(model);
        if look(&path)?.is_some() {
            return Ok(path);
        }
        if let Some(spelt) = spelt_so(&path) {
            return Ok(spelt);
        }
    } else if !named.again {
        return Err(ArtifactError::NoModel);
    }
    if named.again {
        for path in [passing(staging, 0), standard.clone()] {
            if look(&path)?.is_some() {
                return Ok(path);
            }
        }
        if let (None, Some(only)) = (named.model, only_model(staging)) {
            return Ok(only);
        }
    }
    Ok(named.model.map_or(standard, |model| staging.join(model)))
}

/// Returns the previews that were named, wherever an earlier try has left them.
fn previews(
    staging: &Path,
    named: &Named<'_>,
    model: &Path,
) -> Result<Vec<PathBuf>, ArtifactError> {
    let mut found: Vec<PathBuf> = named
        .previews
        .iter()
        .map(|name| staging.join(name))
        .collect();
    let begun = named.model.is_some_and(|name| staging.join(name) != *model);
    if named.again && (begun || found.is_empty()) {
        let places = (1..=naming::MAX_PREVIEWS)
            .flat_map(|n| [passing(staging, n), staging.join(naming::preview_png(n))]);
        let mut left = Vec::new();
        for path in places {
            if look(&path)?.is_some() {
                left.push(path);
            }
        }
        for path in found {
            if look(&path)?.is_some() && !left.contains(&path) {
                left.push(path);
            }
        }
        found = left;
    }
    Ok(found)
}

/// Returns the file that is called so where its name is no text and was spelt as
/// well as can be.
fn spelt_so(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let entries = fs::read_dir(path.parent()?).ok()?.flatten();
    let mut alike = entries.filter(|entry| entry.file_name().to_string_lossy() == name);
    alike.next().map(|entry| entry.path())
}

/// Returns the only file at the top of the folder that is called like a model.
fn only_model(staging: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(staging)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    let mut models = entries.filter(|path| path.extension().is_some_and(|end| end == "glb"));
    models.next().filter(|_| models.next().is_none())
}

/// Says what is wrong with a preview.
fn reason(error: &ArtifactError) -> String {
    match error {
        ArtifactError::Missing { .. } => "it does not exist".to_owned(),
        ArtifactError::Empty { .. } => "it is empty".to_owned(),
        ArtifactError::Outside { .. } => "it is outside the output folder".to_owned(),
        ArtifactError::NotPlain { what, .. } => format!("it is {what}"),
        other => other.to_string(),
    }
}

/// Takes away what stands for a preview and has no bytes of its own: a link, a
/// second name of another file, a pipe. The result is not refused for it.
fn remove_link(staging: &Path, preview: &Path) {
    let Ok(inside) = preview.strip_prefix(staging) else {
        return;
    };
    let mut path = staging.to_owned();
    for part in inside.components() {
        let Component::Normal(name) = part else {
            return;
        };
        path.push(name);
        let found = fs::symlink_metadata(&path);
        if found.is_ok_and(|found| !found.is_dir() && not_plain(&found).is_some()) {
            let _ = fs::remove_file(&path);
            return;
        }
    }
}

/// Takes `.` and `..` out of a path by its words alone: no link is followed on the way.
fn without_detours(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => plain.pop().then_some(())?,
            part => plain.push(part),
        }
    }
    Some(plain)
}

/// Checks one named file and returns its full path and its size.
fn check_named(staging: &Path, path: &Path) -> Result<(PathBuf, u64), ArtifactError> {
    let outside = || ArtifactError::Outside {
        path: path.to_owned(),
    };
    let plain = without_detours(path).ok_or_else(outside)?;
    let path = &*plain;
    let inside = path.strip_prefix(staging).map_err(|_| outside())?;
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
    let metadata = look(path)?.ok_or_else(|| ArtifactError::Missing {
        name: shown.clone(),
    })?;
    let mut metadata = metadata;
    if metadata.is_file() {
        own_copy(path, &metadata).map_err(|source| io_error(path, source))?;
        metadata = fs::symlink_metadata(path).map_err(|source| io_error(path, source))?;
    }
    if let Some(what) = not_plain(&metadata) {
        return Err(ArtifactError::NotPlain { name: shown, what });
    }
    if metadata.len() == 0 {
        return Err(ArtifactError::Empty { name: shown });
    }
    Ok((path.to_owned(), metadata.len()))
}

/// Returns the name that a file has between its own and its standard one.
fn passing(staging: &Path, position: usize) -> PathBuf {
    staging.join(format!(".archi3d-{position}.part"))
}

/// Renames the chosen files to their names, by way of names that nobody has, so
/// that swapped ones do not overwrite each other. What else stands there keeps
/// its content under another name.
fn rename_all(staging: &Path, chosen: &[PathBuf], names: &[String]) -> Result<(), ArtifactError> {
    let rename = |from: &Path, to: &Path| {
        platform::rename_replace(from, to).map_err(|source| io_error(from, source))
    };
    let is_named = |position: usize| chosen[position] == staging.join(&names[position]);
    // Those with the highest numbers first: what an earlier try has left under a
    // passing name is out of the way before another one gets it.
    for (position, path) in chosen.iter().enumerate().rev() {
        let to = passing(staging, position);
        if !is_named(position) && *path != to {
            let moved = platform::rename_no_replace(path, &to);
            if !moved.map_err(|source| io_error(path, source))? {
                return Err(io_error(&to, io::ErrorKind::AlreadyExists.into()));
            }
        }
    }
    for (position, name) in names.iter().enumerate() {
        let target = staging.join(name);
        if is_named(position) {
            continue;
        }
        if look(&target)?.is_some() {
            rename(&target, &free_name(&staging.join(format!("other_{name}")))?)?;
        }
        rename(&passing(staging, position), &target)?;
    }
    Ok(())
}

/// Returns `path`, or one like it that nothing has.
pub(super) fn free_name(path: &Path) -> Result<PathBuf, ArtifactError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut free = path.to_owned();
    for number in 2u32.. {
        if look(&free)?.is_none() {
            break;
        }
        free = path.with_file_name(format!("{number}_{name}"));
    }
    Ok(free)
}
