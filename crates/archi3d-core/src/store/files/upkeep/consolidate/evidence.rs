//! Gathers everything on disk that tells how one job stands.

use std::fs;
use std::path::Path;

use crate::domain::id::JobId;
use crate::domain::job::Status;
use crate::domain::naming::{self, StateFile};
use crate::domain::reconcile::{Cells, Evidence, ModelFile};
use crate::store::error::StoreError;
use crate::store::files::Inspector;
use crate::workspace::artifact::{is_as_described, model_fault};
use crate::workspace::durable;
use crate::workspace::paths::{RunPaths, Workspace};

/// More of an error text than a cell takes.
const ERROR_TEXT_BYTES: u64 = 1 << 14;

/// Reads the markers of a job and the files that its row and its markers name.
pub(super) fn gather(
    workspace: &Workspace,
    paths: &RunPaths,
    inspector: &Inspector,
    job: &JobId,
    row: &Cells,
) -> Result<Evidence, StoreError> {
    let mut evidence = inspector.evidence_of(job)?;
    evidence.models = models(workspace, paths, job, row, &evidence);
    let folder = paths.output(job);
    for (slot, number) in evidence.previews.iter_mut().zip(1..) {
        let path = folder.join(naming::preview_png(number));
        *slot = workspace.relative(&path).filter(|_| is_filled(&path));
    }
    evidence.lost_previews = (1..=naming::MAX_PREVIEWS)
        .map(|number| row.get(&format!("preview_{number}_path")))
        .filter(|stored| !stored.trim().is_empty())
        .filter(|stored| {
            !workspace
                .absolute(stored)
                .is_some_and(|path| is_filled(&path))
        })
        .map(str::to_owned)
        .collect();
    let error_text = paths.state_file(job, StateFile::ErrorText);
    evidence.error_text = durable::read_head(&error_text, ERROR_TEXT_BYTES)
        .ok()
        .map(|(head, _)| String::from_utf8_lossy(&head).into_owned());
    evidence.is_whole = row.get("status") == Status::Running.word()
        && evidence.has_no_marker()
        && is_whole_result(paths, job);
    Ok(evidence)
}

/// Tells whether an attempt of the job has a folder to work in, or left one.
fn is_attempted(paths: &RunPaths, job: &JobId) -> bool {
    let attempts = format!("{job}.");
    let entries = fs::read_dir(paths.staging()).into_iter().flatten();
    let mut names = entries.flatten().map(|entry| entry.file_name());
    names.any(|name| name.to_string_lossy().starts_with(&attempts))
}

/// Tells whether a job's folder has a result as its worker has listed it, every
/// file, and no attempt is under way. A rehearsal lists nothing.
pub(in crate::store::files) fn is_whole_result(paths: &RunPaths, job: &JobId) -> bool {
    !is_attempted(paths, job) && is_as_described(&paths.output(job))
}

/// Returns the files that may be the model, the likeliest first: what our own
/// marker names, the long name of existing workspaces, the standard name, and at
/// last whatever the row itself says.
fn models(
    workspace: &Workspace,
    paths: &RunPaths,
    job: &JobId,
    row: &Cells,
    evidence: &Evidence,
) -> Vec<ModelFile> {
    let folder = paths.output(job);
    let own = evidence.own.as_ref();
    let own = own.and_then(|own| own.patch.get("gen_object_path"));
    let long = naming::long_glb_name(
        row.get("product_id"),
        row.get("variant"),
        row.get("algo"),
        job,
    );
    let in_folder = |name: &str| workspace.relative(&folder.join(name));
    let candidates = [
        own.map(str::to_owned),
        is_plain_name(&long).then(|| in_folder(&long)).flatten(),
        in_folder(naming::GENERATED_GLB),
        Some(row.get("gen_object_path").to_owned()),
    ];
    let mut models: Vec<ModelFile> = Vec::new();
    for path in candidates.into_iter().flatten() {
        if path.trim().is_empty() || models.iter().any(|model| model.path == path) {
            continue;
        }
        let found = workspace
            .absolute(&path)
            .and_then(|file| model_fault(&file, workspace.root()));
        models.extend(found.map(|fault| ModelFile { path, fault }));
    }
    models
}

/// A table may say anything; only a name stays inside the job's folder.
fn is_plain_name(name: &str) -> bool {
    !name.contains(['/', '\\', '\0'])
}

fn is_filled(path: &Path) -> bool {
    let metadata = std::fs::symlink_metadata(path);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}
