//! From rows to the store's words and back; pure, so that every part says the same.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::claim::{Beaten, Claimed, Hold, Pulse};
use super::ending::{File, Success};
use super::link::{Link, nonce};
use super::view::{HolderView, JobView};
use crate::domain::id::{AlgoKey, JobId, Nonce, RunId, WorkerId};
use crate::domain::lease::{Lease, Verdict};
use crate::domain::money::Usd;
use crate::domain::patch::Patch;
use crate::domain::purchase::OpenIntent;
use crate::domain::text::{hex, one_line};
use crate::domain::time::Timestamp;
use crate::store::{
    Artifact, Beat, Blob, Ending, Holder, JobRecord, JobSnapshot, Outcome, Progress, ReleaseReason,
};

/// A picture of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Picture {
    /// As the manifest names it; it lies in the workspace.
    Named(String),
    /// Its bytes lie in a bucket too.
    Put {
        /// As the manifest names it.
        path: String,
        /// Its bytes.
        #[serde(flatten)]
        blob: Blob,
    },
}

/// What a run hands over of a job beside its names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// The pictures.
    #[serde(default)]
    pub images: Vec<Picture>,
    /// When its row was made; a part of its purchases' keys.
    #[serde(default)]
    pub created_at: String,
    /// The hash of its pictures; likewise.
    #[serde(default)]
    pub image_set_hash: String,
}

impl Payload {
    /// Reads what is in the database; what cannot be read has no pictures, and says so when it
    /// is to run.
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Returns the names of the pictures, and their bytes if all of them lie in a bucket.
    fn pictures(self) -> (Vec<String>, Vec<Blob>) {
        let mut blobs = Vec::new();
        let images = self.images.into_iter().map(|picture| match picture {
            Picture::Named(path) => path,
            Picture::Put { path, blob } => {
                blobs.push(blob);
                path
            }
        });
        let images: Vec<String> = images.collect();
        if blobs.len() != images.len() {
            blobs.clear();
        }
        (images, blobs)
    }
}

/// Derives the key under which a provider can recognise the same purchase, from what never
/// changes. The same for a job on files, so that a run that is handed over buys nothing twice.
pub fn idempotency_key(run: &RunId, job: &JobId, payload: &Payload, purchases: u32) -> String {
    let mut hash = Sha256::new();
    for part in [
        run.as_str(),
        job.as_str(),
        &payload.created_at,
        &payload.image_set_hash,
        &purchases.to_string(),
    ] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digest = hash.finalize();
    format!("archi3d-{}", hex(&digest[..16]))
}

/// Splits the name of an attempt's folder into its parts.
pub(super) fn split_staging(name: &str) -> Option<(JobId, u32, Nonce)> {
    let (rest, nonce) = name.rsplit_once('-')?;
    let (job, attempt) = rest.rsplit_once('.')?;
    Uuid::parse_str(nonce).ok()?;
    Some((
        JobId::parse(job).ok()?,
        attempt.parse().ok()?,
        Nonce::new(nonce),
    ))
}

/// Turns a claim into the job and the lease that the engine knows.
pub(super) fn of_claim(
    claimed: Claimed,
    link: &Link,
    worker_id: &WorkerId,
    now: Timestamp,
) -> Result<(JobRecord, Lease), String> {
    let job_id = JobId::parse(&claimed.job_id).map_err(|error| error.to_string())?;
    let payload = Payload::read(&claimed.payload);
    let lease = Lease {
        run_id: link.run_id.clone(),
        job_id: job_id.clone(),
        worker_id: worker_id.clone(),
        attempt: claimed.hold.number,
        nonce: nonce(claimed.hold.attempt_id),
        claimed_at: now,
        entry: claimed.entry,
        took_over: claimed.took_over,
        lost: None,
        request_id: claimed.request_id.clone(),
        intent: claimed.intent.map(|(correlation, at)| {
            let at = Timestamp::new(at);
            Box::new(OpenIntent { correlation, at })
        }),
        resubmit: claimed.resubmit,
        failures: claimed.failures,
        idempotency_key: idempotency_key(&link.run_id, &job_id, &payload, claimed.purchases),
        redone: false,
        purchases: claimed.purchases,
        staging: std::path::PathBuf::new(),
    };
    link.note_job(&job_id, claimed.hold);
    let (images, blobs) = payload.pictures();
    let record = JobRecord {
        job_id,
        product_id: claimed.product_id,
        variant: claimed.variant,
        algo: AlgoKey::parse(&claimed.algo).map_err(|error| error.to_string()),
        images,
        blobs,
        snapshot: JobSnapshot::Known {
            state: crate::domain::job::JobState::Running {
                attempt: claimed.hold.number,
            },
            holder: None,
            error: None,
            unmarked: false,
            not_before: None,
            doubtful: false,
            intended: lease.intent.is_some(),
            tried: true,
            purchase: claimed.request_id,
            holder_died: claimed.took_over,
            failures: claimed.failures,
        },
    };
    Ok((record, lease))
}

/// Turns a row into the job that people and plans know.
pub(super) fn of_view(view: JobView) -> Option<JobRecord> {
    let holder = view.holder.as_ref().map(|one| Box::new(holder(one)));
    let doubtful = view.is_doubtful();
    let (images, blobs) = Payload::read(&view.payload).pictures();
    Some(JobRecord {
        job_id: JobId::parse(&view.job_id).ok()?,
        product_id: view.product_id,
        variant: view.variant,
        algo: AlgoKey::parse(&view.algo).map_err(|error| error.to_string()),
        images,
        blobs,
        snapshot: JobSnapshot::Known {
            state: view.state,
            holder,
            error: view.error,
            unmarked: false,
            not_before: view.not_before.map(Timestamp::new),
            doubtful,
            intended: view.intent.is_some(),
            tried: view.tried,
            purchase: view.request_id,
            holder_died: view.holder_died,
            failures: view.failures,
        },
    })
}

/// Returns who holds a job in the store's words.
pub(super) fn holder(view: &HolderView) -> Holder {
    Holder {
        worker: view.worker.clone(),
        host: view.host.clone(),
        since: view.since.map(Timestamp::new),
        last_beat: view.last_seen.map(Timestamp::new),
        verdict: if view.expired {
            Verdict::Dead
        } else {
            Verdict::Alive
        },
        cancel_asked: view.cancel_asked,
    }
}

/// Returns what a beat says of one lease.
pub(super) fn pulse(hold: Hold, progress: Option<&Progress>) -> Pulse {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a share of 1 for people to look at"
    )]
    let fraction = progress.map(|progress| progress.fraction as f32);
    Pulse {
        hold,
        progress: fraction,
        doing: progress.and_then(|progress| progress.message.clone()),
    }
}

/// Returns what a beat found out in the store's words.
pub(super) fn beat(beaten: Beaten) -> Beat {
    match beaten {
        Beaten::Held => Beat::Held,
        Beaten::Lost => Beat::Lost,
        Beaten::CancelAsked => Beat::CancelAsked,
    }
}

/// Returns an ending with a result as the database takes it.
pub(super) fn success(lease: &Lease, hold: Hold, ending: Ending, seconds: Option<f64>) -> Success {
    let (simulated, artifacts) = match ending.outcome {
        Outcome::Completed {
            simulated,
            artifacts,
        } => (simulated, artifacts),
        Outcome::Failed { .. } => (false, Vec::new()),
    };
    let mut whole = Sha256::new();
    for file in &artifacts {
        whole.update(format!("{}\0{}\0{}\n", file.name, file.size, file.sha256).as_bytes());
    }
    let files: Vec<_> = artifacts.iter().map(file).collect();
    let cell = |name: &str| ending.patch.get(name).filter(|cell| !cell.is_empty());
    // What has no files has no folder either.
    let staging = lease.staging.file_name().filter(|_| !files.is_empty());
    Success {
        hold,
        content_hash: whole.finalize().to_vec(),
        result_ref: staging.map(|name| name.to_string_lossy().into_owned()),
        cost_micros: ending.cost_usd.map(|usd| Usd::of(usd).micros()),
        content_key: ending
            .content_key
            .as_ref()
            .map(|key| key.to_string().into_bytes()),
        algo_version: cell("algo_version").map(str::to_owned),
        simulated,
        seconds,
        price_source: cell("price_source").map(str::to_owned),
        files,
        patch: ending.patch,
    }
}

/// Returns a file of a result as the database has it.
pub(super) fn file(file: &Artifact) -> File {
    File {
        name: file.name.clone(),
        size: file.size,
        sha256: unhex(&file.sha256),
        url: None,
    }
}

/// Returns the files of a result in the store's words.
pub(super) fn artifacts(files: &[File]) -> Vec<Artifact> {
    let artifact = |file: &File| Artifact {
        name: file.name.clone(),
        size: file.size,
        sha256: hex(&file.sha256),
    };
    files.iter().map(artifact).collect()
}

/// Returns the line that a failure is remembered by.
pub(super) fn message_of(patch: &Patch, error_text: &str) -> String {
    let told = patch.get("error_msg").filter(|text| !text.is_empty());
    told.map_or_else(|| one_line(error_text), str::to_owned)
}

/// Returns the word for why a job was given back.
pub(super) fn reason_word(reason: ReleaseReason) -> &'static str {
    match reason {
        ReleaseReason::Interrupted => "interrupted",
        ReleaseReason::Retry => "retry",
        ReleaseReason::StoreTrouble => "store_trouble",
        ReleaseReason::Unreachable => "unreachable",
        ReleaseReason::Budget => "budget",
    }
}

/// Reads hexadecimal digits; what is none is taken as it is.
pub(super) fn unhex(digits: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(pair).collect();
    bytes.unwrap_or_else(|| digits.as_bytes().to_vec())
}
