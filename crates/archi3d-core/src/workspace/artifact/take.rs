//! From what an adapter left in its folder to a result: checked, named, hashed.
//!
//! Used by whoever made it and by whoever takes it over from a worker that died.
//! Every step can be repeated: what an earlier try has renamed is found again.

use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::keep::own_files;
use super::standard::free_name;
use super::{
    Artifact, ArtifactError, Standard, inventory_of, io_error, is_intact, is_own_folder, look,
    standardize,
};
use crate::domain::naming;
use crate::domain::text::hex;
use crate::platform;
use crate::workspace::durable;

/// A larger file is no description of ours.
const MAX_METADATA: u64 = 32 << 20;

/// Marks our half-written file.
const METADATA_TAG: &str = "metadata";

/// What an adapter said of the files in its folder.
#[derive(Debug, Clone, Copy, Default)]
pub struct Named<'a> {
    /// The model.
    pub model: Option<&'a Path>,
    /// Pictures of it.
    pub previews: &'a [PathBuf],
    /// What the result is about.
    pub about: Option<&'a Value>,
    /// Whatever its provider said.
    pub told: Option<&'a Map<String, Value>>,
    /// Whether somebody may have begun to take it before.
    pub again: bool,
}

/// A checked result.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// The names of the model and then of its previews.
    pub names: Vec<String>,
    /// What was left out, with the reason.
    pub ignored: Vec<String>,
    /// Every file, by name.
    pub files: Vec<Artifact>,
}

/// Checks what is named, gives it its standard names and hashes everything. `clear`
/// may take files out of the folder that are not part of the result.
pub fn take(
    staging: &Path,
    named: Named<'_>,
    clear: &dyn Fn(&Standard) -> io::Result<()>,
) -> Result<Taken, ArtifactError> {
    is_own_folder(staging)?;
    match take_once(staging, named, clear) {
        // The adapter may have protected its folder from itself.
        Err(ArtifactError::Io { source, .. })
            if source.kind() == io::ErrorKind::PermissionDenied =>
        {
            platform::open_up(staging).map_err(|source| io_error(staging, source))?;
            let again = Named {
                again: true,
                ..named
            };
            take_once(staging, again, clear)
        }
        taken => taken,
    }
}

fn take_once(
    staging: &Path,
    named: Named<'_>,
    clear: &dyn Fn(&Standard) -> io::Result<()>,
) -> Result<Taken, ArtifactError> {
    keep_own_metadata(staging)?;
    let mut standard = standardize(staging, &named)?;
    clear(&standard).map_err(|source| io_error(staging, source))?;
    let gone = own_files(staging).map_err(|source| io_error(staging, source))?;
    standard.ignored.extend(gone);
    let mut files = inventory_of(staging, &standard)?;
    let told = named.about.is_some() || named.told.is_some();
    if told || files.len() > standard.names.len() {
        files.push(write_metadata(staging, named, &files)?);
        files.sort_by(|a, b| a.name.cmp(&b.name));
    }
    Ok(Taken {
        names: standard.names,
        ignored: standard.ignored,
        files,
    })
}

/// Gives a file of the adapter that has the name of ours another one. One that we
/// wrote ourselves, or began to write, before something stopped us, goes.
fn keep_own_metadata(staging: &Path) -> Result<(), ArtifactError> {
    let path = staging.join(naming::METADATA_JSON);
    // Counted as a file of the result it would be missed once the whole one is written.
    let _ = std::fs::remove_file(durable::temporary_path(&path, METADATA_TAG));
    if look(&path)?.is_none() {
        return Ok(());
    }
    let moved = |source| io_error(&path, source);
    if is_ours(&path) {
        return std::fs::remove_file(&path).map_err(moved);
    }
    let free = free_name(&staging.join(naming::ADAPTER_METADATA_JSON))?;
    platform::rename_replace(&path, &free).map_err(moved)
}

fn is_ours(path: &Path) -> bool {
    let bytes = durable::read_plain(path, MAX_METADATA).unwrap_or_default();
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(object)) => {
            let has = |key| object.contains_key(key);
            has("adapter") && has("artifacts") && (object.len() == 2 || has("job_id"))
        }
        _ => false,
    }
}

/// Writes what the adapter told and what it left, and returns the file.
fn write_metadata(
    staging: &Path,
    named: Named<'_>,
    files: &[Artifact],
) -> Result<Artifact, ArtifactError> {
    write_json(staging, &described(named, files))
}

fn described(named: Named<'_>, files: &[Artifact]) -> Value {
    let listed: Vec<Value> = files
        .iter()
        .map(|file| json!({"name": file.name, "size": file.size, "sha256": file.sha256}))
        .collect();
    let mut whole = named.about.cloned().unwrap_or_else(|| json!({}));
    whole["adapter"] = json!(named.told);
    whole["artifacts"] = json!(listed);
    whole
}

/// Returns what the `metadata.json` of a folder says, if it lists a result.
pub fn description(folder: &Path) -> Option<Value> {
    let bytes = durable::read_plain(&folder.join(naming::METADATA_JSON), MAX_METADATA).ok()?;
    let about: Value = serde_json::from_slice(&bytes).ok()?;
    about["artifacts"].is_array().then_some(about)
}

/// Tells whether a folder has a model, and every file as its `metadata.json` lists it.
pub fn is_as_described(folder: &Path) -> bool {
    let Some(about) = description(folder) else {
        return false;
    };
    let files = about["artifacts"].as_array().map_or(&[][..], Vec::as_slice);
    let is_there = |file: &Value| {
        let (name, sha256) = (file["name"].as_str()?, file["sha256"].as_str()?);
        let inside = |part| matches!(part, Component::Normal(_));
        let inside = Path::new(name).components().all(inside);
        (inside && is_intact(folder, name, file["size"].as_u64()?, sha256)).then_some(())
    };
    let is_model = |file: &Value| file["name"] == naming::GENERATED_GLB;
    files.iter().any(is_model) && files.iter().all(|file| is_there(file).is_some())
}

/// Writes the description of a published result once more, which a power loss took, if
/// it comes out as the `files` say it was.
pub fn restore_metadata(
    folder: &Path,
    named: Named<'_>,
    mut files: Vec<Artifact>,
) -> Result<(), ArtifactError> {
    let is_own = |file: &Artifact| file.name == naming::METADATA_JSON;
    let Some(at) = files.iter().position(is_own) else {
        return Ok(());
    };
    let own = files.remove(at);
    if is_intact(folder, &own.name, own.size, &own.sha256) {
        return Ok(());
    }
    let whole = described(named, &files);
    let text = serde_json::to_vec_pretty(&whole).expect("JSON values can always be written");
    if hex(&Sha256::digest(&text)) == own.sha256 {
        write_json(folder, &whole)?;
    }
    Ok(())
}

/// Writes `metadata.json` and returns it.
pub fn write_json(staging: &Path, value: &Value) -> Result<Artifact, ArtifactError> {
    let path = staging.join(naming::METADATA_JSON);
    let text = serde_json::to_vec_pretty(value).expect("JSON values can always be written");
    durable::replace_unsynced(&path, &text, METADATA_TAG)
        .map_err(|source| ArtifactError::Io { path, source })?;
    Ok(Artifact {
        name: naming::METADATA_JSON.to_owned(),
        size: text.len() as u64,
        sha256: hex(&Sha256::digest(&text)),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::domain::glb;

    #[test]
    fn a_file_with_the_name_of_ours_is_kept_under_another_however_often_it_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write("m.glb", glb::SAMPLE);
        write("metadata.json", b"{\"seed\": 7}");
        let named = Named {
            model: Some(Path::new("m.glb")),
            again: true,
            ..Named::default()
        };
        let first = take(folder.path(), named, &|_| Ok(())).unwrap();
        let again = take(folder.path(), named, &|_| Ok(())).unwrap();
        assert_eq!(first, again);
        let names: Vec<&str> = first.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(
            names,
            ["adapter_metadata.json", "generated.glb", "metadata.json"]
        );
    }

    #[test]
    fn a_folder_that_became_a_link_is_refused_and_nothing_is_written_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::create_dir(&real).unwrap();
        fs::write(real.join("generated.glb"), glb::SAMPLE).unwrap();
        fs::write(real.join("more.txt"), b"x").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let named = Named {
            model: Some(Path::new("generated.glb")),
            ..Named::default()
        };
        let taken = take(&link, named, &|_| Ok(()));
        assert!(matches!(taken, Err(ArtifactError::FolderReplaced { .. })));
        assert_eq!(fs::read_dir(&real).unwrap().count(), 2);
        let gone = take(&folder.path().join("none"), named, &|_| Ok(()));
        assert!(matches!(gone, Err(ArtifactError::FolderGone)));
    }
}
