//! The files of a job that a record names, and the pictures of an item: what a service may hand
//! out. Nothing else of the workspace can be reached from here, whatever a name looks like.

use std::fs::File;
use std::io::Read as _;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::domain::id::{JobId, RunId};
use crate::domain::naming::{METADATA_JSON, StateFile};
use crate::domain::text::hex;
use crate::ops::OpsContext;
use crate::workspace::artifact;

/// What is hashed on the way: texts, not models.
const MOST_HASHED: u64 = 16 << 20;

/// The text of a failure, by the name it is handed out under.
pub const ERROR_TEXT: &str = "error.txt";

/// One file of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArtifactFile {
    /// Its name within the job.
    pub name: String,
    /// How long it is.
    pub bytes: u64,
    /// The hash of its content.
    pub sha256: String,
}

/// A file that is ready to be read.
#[derive(Debug)]
pub struct OpenedFile {
    /// The file, at its beginning.
    pub file: File,
    /// How long it is.
    pub bytes: u64,
    /// The hash of its content, if that is recorded or the file is small.
    pub sha256: Option<String>,
}

/// Why a file is not handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFile {
    /// No record names it.
    Unknown,
    /// A record names it, and it is gone or another file.
    Missing,
}

fn description(context: &OpsContext, run: &RunId, job: &JobId) -> Option<Value> {
    artifact::description(&context.workspace.run(run).output(job))
}

/// Lists the files of a job: those of its result, and the text of its failure.
pub fn artifacts(context: &OpsContext, run: &RunId, job: &JobId) -> Vec<ArtifactFile> {
    let about = description(context, run, job);
    #[cfg(feature = "postgres")]
    if about.is_none()
        && let Ok(Some(fleet)) = context.fleet()
        && let Some(files) = fleet.files_in_bucket(run, job)
    {
        let files = files.into_iter().map(|file| ArtifactFile {
            name: file.name,
            bytes: file.size,
            sha256: file.sha256,
        });
        return files.collect();
    }
    let listed = about
        .as_ref()
        .and_then(|about| about["artifacts"].as_array());
    let mut files: Vec<ArtifactFile> = listed
        .into_iter()
        .flatten()
        .filter_map(|file| {
            Some(ArtifactFile {
                name: file["name"].as_str()?.to_owned(),
                bytes: file["size"].as_u64()?,
                sha256: file["sha256"].as_str()?.to_owned(),
            })
        })
        .collect();
    for name in [METADATA_JSON, ERROR_TEXT] {
        let known = files.iter().any(|file| file.name == name);
        if let Some(opened) = small(context, run, job, name).filter(|_| !known) {
            files.push(ArtifactFile {
                name: name.to_owned(),
                bytes: opened.bytes,
                sha256: opened.sha256.unwrap_or_default(),
            });
        }
    }
    files
}

/// Opens a file of a job by the name that a record has for it.
pub fn open(
    context: &OpsContext,
    run: &RunId,
    job: &JobId,
    name: &str,
) -> Result<OpenedFile, NoFile> {
    let recorded = artifacts(context, run, job);
    let recorded = recorded.into_iter().find(|file| file.name == name);
    let recorded = recorded.ok_or(NoFile::Unknown)?;
    if let Some(opened) = small(context, run, job, name) {
        return Ok(opened);
    }
    let path = context.workspace.run(run).output(job).join(&recorded.name);
    let file = context.workspace.open_plainly(&path);
    let file = file.or_else(|| fetched(context, run, job, name));
    let file = file.ok_or(NoFile::Missing)?;
    let found = file.metadata().map_err(|_| NoFile::Missing)?;
    if !found.is_file() || found.len() != recorded.bytes {
        return Err(NoFile::Missing);
    }
    Ok(OpenedFile {
        file,
        bytes: recorded.bytes,
        sha256: Some(recorded.sha256),
    })
}

/// Opens a file of a result that was not pulled yet, from its bucket.
#[cfg(feature = "postgres")]
fn fetched(context: &OpsContext, run: &RunId, job: &JobId, name: &str) -> Option<File> {
    let fleet = context.fleet().ok().flatten()?;
    fleet.fetch(run, job, name)
}

#[cfg(not(feature = "postgres"))]
fn fetched(_: &OpsContext, _: &RunId, _: &JobId, _: &str) -> Option<File> {
    None
}

/// Opens one of the two texts that no list has; its hash is that of what is there.
fn small(context: &OpsContext, run: &RunId, job: &JobId, name: &str) -> Option<OpenedFile> {
    let paths = context.workspace.run(run);
    let path = match name {
        METADATA_JSON => paths.output(job).join(METADATA_JSON),
        ERROR_TEXT => paths.state_file(job, StateFile::ErrorText),
        _ => return None,
    };
    hashed(context.workspace.open_plainly(&path)?)
}

fn hashed(mut file: File) -> Option<OpenedFile> {
    let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut sha256 = None;
    if found.len() <= MOST_HASHED {
        let mut bytes = Vec::new();
        (&file).take(MOST_HASHED).read_to_end(&mut bytes).ok()?;
        std::io::Seek::rewind(&mut file).ok()?;
        sha256 = Some(hex(&Sha256::digest(&bytes)));
    }
    Some(OpenedFile {
        bytes: found.len(),
        file,
        sha256,
    })
}

/// Opens a picture as a table names it, if it lies in the workspace.
pub fn open_picture(context: &OpsContext, stored: &str) -> Option<OpenedFile> {
    let workspace = &context.workspace;
    let path = workspace.absolute(stored)?;
    let file = workspace.open_plainly(&path).or_else(|| {
        let real = path.canonicalize().ok()?;
        let root = workspace.root().canonicalize().ok()?;
        real.starts_with(root).then(|| File::open(real).ok())?
    })?;
    hashed(file)
}
