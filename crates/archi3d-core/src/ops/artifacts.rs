//! The files of a job that a record names, and the pictures of an item: what a service may hand
//! out. Nothing else of the workspace can be reached from here, whatever a name looks like.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _};
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::domain::id::{JobId, RunId};
use crate::domain::naming::{METADATA_JSON, StateFile};
use crate::domain::text::hex;
use crate::ops::{OpsContext, OpsError};
use crate::platform::{self, FileVersion};
use crate::workspace::artifact;

/// What is hashed on the way: texts, not models.
const MOST_HASHED: u64 = 16 << 20;

/// So much is read at once.
const PIECE: usize = 128 << 10;

/// So many files are remembered.
const REMEMBERED: usize = 10_000;

/// What was in files that were looked at: one that nobody wrote since is not read again.
static SEEN: LazyLock<Mutex<HashMap<FileVersion, String>>> = LazyLock::new(Mutex::default);

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
#[derive(Debug)]
pub enum NoFile {
    /// No record names it.
    Unknown,
    /// A record names it, and it is gone or another file.
    Missing,
    /// Nobody knows: the store of its run, or the bucket, does not answer.
    Unasked(OpsError),
}

impl From<OpsError> for NoFile {
    fn from(error: OpsError) -> Self {
        Self::Unasked(error)
    }
}

fn description(context: &OpsContext, run: &RunId, job: &JobId) -> Option<Value> {
    artifact::description(&context.workspace.run(run).output(job))
}

/// Lists the files of a job: those of its result, and the text of its failure.
pub fn artifacts(
    context: &OpsContext,
    run: &RunId,
    job: &JobId,
) -> Result<Vec<ArtifactFile>, OpsError> {
    let about = description(context, run, job);
    #[cfg(feature = "postgres")]
    if about.is_none()
        && let Some(fleet) = context.fleet()?
        && let Some(files) = fleet.files_in_bucket(run, job)?
    {
        let files = files.into_iter().map(|file| ArtifactFile {
            name: file.name,
            bytes: file.size,
            sha256: file.sha256,
        });
        return Ok(files.collect());
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
    Ok(files)
}

/// Opens a file of a job by the name that a record has for it.
pub fn open(
    context: &OpsContext,
    run: &RunId,
    job: &JobId,
    name: &str,
) -> Result<OpenedFile, NoFile> {
    let recorded = artifacts(context, run, job)?;
    let recorded = recorded.into_iter().find(|file| file.name == name);
    let recorded = recorded.ok_or(NoFile::Unknown)?;
    if let Some(opened) = small(context, run, job, name) {
        return Ok(opened);
    }
    let path = context.workspace.run(run).output(job).join(&recorded.name);
    let file = match context.workspace.open_plainly(&path) {
        Some(file) => Some(file),
        None => fetched(context, run, job, name)?,
    };
    let mut file = file.ok_or(NoFile::Missing)?;
    let found = file.metadata().map_err(|_| NoFile::Missing)?;
    let is_it = found.is_file()
        && found.len() == recorded.bytes
        && hash_of(&mut file, platform::version(&found)).is_ok_and(|is| is == recorded.sha256);
    if !is_it {
        return Err(NoFile::Missing);
    }
    Ok(OpenedFile {
        file,
        bytes: recorded.bytes,
        sha256: Some(recorded.sha256),
    })
}

/// Returns what is in a file, which is then at its beginning again.
fn hash_of(file: &mut File, version: FileVersion) -> io::Result<String> {
    let seen = || SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sha256) = seen().get(&version) {
        return Ok(sha256.clone());
    }
    let mut hash = Sha256::new();
    let mut reader = BufReader::with_capacity(PIECE, &*file);
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            break;
        }
        hash.update(piece);
        let read = piece.len();
        reader.consume(read);
    }
    file.rewind()?;
    let sha256 = hex(&hash.finalize());
    // Written meanwhile it is another version, and nothing is known of it.
    if platform::version(&file.metadata()?) == version {
        let mut seen = seen();
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.insert(version, sha256.clone());
    }
    Ok(sha256)
}

/// Opens a file of a result that was not pulled yet, from its bucket.
#[cfg(feature = "postgres")]
fn fetched(
    context: &OpsContext,
    run: &RunId,
    job: &JobId,
    name: &str,
) -> Result<Option<File>, OpsError> {
    let Some(fleet) = context.fleet()? else {
        return Ok(None);
    };
    Ok(fleet.fetch(run, job, name)?)
}

#[cfg(not(feature = "postgres"))]
#[expect(clippy::unnecessary_wraps, reason = "as where there is a fleet")]
fn fetched(_: &OpsContext, _: &RunId, _: &JobId, _: &str) -> Result<Option<File>, OpsError> {
    Ok(None)
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
        file.rewind().ok()?;
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
