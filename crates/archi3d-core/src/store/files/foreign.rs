//! The files of a result that another tool made. Its marker says no more than that
//! there is one, so they are found by the names that existing workspaces use.

use std::fs;
use std::path::Path;

use crate::domain::id::JobId;
use crate::domain::job::Status;
use crate::domain::naming;
use crate::domain::patch::Patch;
use crate::workspace::paths::RunPaths;

/// Returns the cells that another tool's marker asks for. A row that names files
/// keeps them.
pub(super) fn patch(paths: &RunPaths, job: &JobId, status: Status) -> Patch {
    let mut patch = Patch::status(status);
    if status != Status::Completed {
        return patch;
    }
    let folder = paths.output(job);
    let stored = |name: &str| paths.stored(&folder.join(name));
    if let Some(model) = model(&folder, job).as_deref().and_then(stored) {
        patch.fill("gen_object_path", model);
    }
    for number in 1..=naming::MAX_PREVIEWS {
        let name = naming::preview_png(number);
        if let Some(path) = stored(&name).filter(|_| is_filled(&folder.join(&name))) {
            patch.fill(format!("preview_{number}_path"), path);
        }
    }
    patch
}

/// Returns the model: the one file with the long name of existing workspaces, else the
/// standard name. Of several long names a row must tell which is meant.
fn model(folder: &Path, job: &JobId) -> Option<String> {
    let ending = naming::long_glb_ending(job);
    let entries = fs::read_dir(folder).ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_model = |name: &String| {
        let plain = !name.contains(char::is_control);
        plain && name.ends_with(&ending) && is_filled(&folder.join(name))
    };
    let mut long = names.filter(is_model);
    match (long.next(), long.next()) {
        (Some(name), None) => Some(name),
        _ => {
            is_filled(&folder.join(naming::GENERATED_GLB)).then(|| naming::GENERATED_GLB.to_owned())
        }
    }
}

fn is_filled(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}
