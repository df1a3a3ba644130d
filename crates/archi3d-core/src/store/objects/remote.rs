//! The files of a run whose bytes lie in a bucket: a worker has a folder of its own, and nothing of it lasts.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::bucket::{Bucket, Put};
use super::cache::Cache;
use super::error::BucketError;
use super::transfer::side_by_side;
use crate::domain::id::{JobId, Nonce};
use crate::domain::lease::Lease;
use crate::platform;
use crate::store::artifacts::{Artifacts, Blob, INPUTS, NoInputs, Patience, resolve_images};
use crate::store::error::{IoContext, StoreError};
use crate::store::{Artifact, JobRecord, NoticeSink, StoreNotice, shelf};
use crate::workspace::paths::{RunPaths, Workspace};
use crate::workspace::{artifact, durable};

/// So many files of one result travel at once.
const AT_ONCE: usize = 4;

/// Between two tries of a bucket that refuses: at first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// So often it is said that a bucket refuses.
const SAID_EVERY: Duration = Duration::from_secs(60);

/// What is needed to work without a common folder.
pub struct RemoteOptions {
    /// The bucket.
    pub bucket: Arc<Bucket>,
    /// This worker's own folder.
    pub workspace: Workspace,
    /// The run, in that folder.
    pub paths: RunPaths,
    /// What was fetched before.
    pub cache: Arc<Cache>,
    /// The database that has its files there, as the bucket knows it; nothing where that is not looked at.
    pub fleet: Option<String>,
    /// Where notices go.
    pub notices: NoticeSink,
}

/// The files of a run in a bucket.
pub struct Remote {
    of: RemoteOptions,
    said: Mutex<Option<(String, Instant)>>,
}

impl Remote {
    /// Names them.
    pub fn new(options: RemoteOptions) -> Self {
        Self {
            of: options,
            said: Mutex::default(),
        }
    }

    /// The folder of the pictures of one attempt.
    fn inputs_folder(&self, lease: &Lease) -> PathBuf {
        let name = lease.staging.file_name().unwrap_or_default();
        self.of.paths.outputs().join(INPUTS).join(name)
    }

    fn fetch_inputs(&self, lease: &Lease, job: &JobRecord) -> Result<Vec<PathBuf>, BucketError> {
        let folder = self.inputs_folder(lease);
        let wanted: Vec<(&Blob, PathBuf)> = job
            .blobs
            .iter()
            .zip(&job.images)
            .enumerate()
            .map(|(at, (blob, stored))| {
                let name = Path::new(stored).file_name().unwrap_or_default();
                // Pictures of different folders may have one name, and programs look at names.
                (blob, folder.join((at + 1).to_string()).join(name))
            })
            .collect();
        let came = side_by_side(&wanted, AT_ONCE, |(blob, to)| {
            let below = to.parent().unwrap_or(to);
            fs::create_dir_all(below).context("create", below)?;
            if to.symlink_metadata().is_ok() {
                fs::remove_file(to).context("remove", to)?;
            }
            self.of.cache.link(&self.of.bucket, blob, to)
        });
        let came = came.into_iter().collect::<Result<Vec<()>, _>>();
        if matches!(came, Err(BucketError::Missing(_))) {
            // Of a place that is not mounted any more everything is missing.
            self.expect_ours()?;
        }
        came?;
        Ok(wanted.into_iter().map(|(_, path)| path).collect())
    }

    /// Looks whether the place is still the one that the run was pushed to.
    fn expect_ours(&self) -> Result<(), BucketError> {
        match &self.of.fleet {
            Some(fleet) if !self.of.bucket.is_enrolled(fleet)? => {
                Err(BucketError::foreign(&self.of.bucket.place().to_string()))
            }
            _ => Ok(()),
        }
    }

    fn put_all(&self, folder: &Path, files: &[Artifact]) -> Result<(), BucketError> {
        if self.of.bucket.place().folder().is_some() {
            // What is put below an empty mount point is hidden by the next mount.
            self.expect_ours()?;
        }
        let put = side_by_side(files, AT_ONCE, |file| {
            let path = inside(folder, &file.name)?;
            let blob = Blob::from(file);
            if path.symlink_metadata().is_ok() {
                return self.of.bucket.put_surely(&path, &blob);
            }
            // A copy of an earlier result, whose bytes need not travel.
            if self.of.bucket.has_young(&blob)? {
                return Ok(Put::There);
            }
            Err(BucketError::Missing(file.name.clone()))
        });
        put.into_iter().collect::<Result<Vec<Put>, _>>().map(drop)
    }

    /// Tries until it works, something else than the bucket stands in the way, or nobody wants to wait.
    fn insist<T>(
        &self,
        patience: Patience,
        waits: &str,
        act: impl Fn() -> Result<T, BucketError>,
    ) -> Result<T, BucketError> {
        let mut pause = PAUSES.0;
        loop {
            let error = match act() {
                Err(error @ (BucketError::Away(_) | BucketError::Refused { .. })) => error,
                done => return done,
            };
            if patience == Patience::None {
                return Err(error);
            }
            self.say(&error, waits);
            self.of.bucket.pause(pause);
            pause = (pause * 2).min(PAUSES.1);
            if self.of.bucket.is_stopped() {
                return Err(error);
            }
        }
    }

    fn say(&self, error: &BucketError, waits: &str) {
        let what = error.to_string();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let again = said
            .as_ref()
            .is_some_and(|(last, at)| *last == what && at.elapsed() < SAID_EVERY);
        if !again {
            (self.of.notices)(StoreNotice::Warning(format!(
                "{what}; {waits} and it is tried again, nothing new starts meanwhile"
            )));
            *said = Some((what, Instant::now()));
        }
    }
}

impl Remote {
    /// Opens a file of a published result; nothing if it is gone.
    pub fn open(&self, job: &JobId, file: &Artifact) -> Result<Option<fs::File>, StoreError> {
        let folder = self.of.paths.output(job);
        if artifact::is_intact(&folder, &file.name, file.size, &file.sha256)
            && let Ok(opened) = durable::open_plain(&folder.join(&file.name))
        {
            return Ok(Some(opened));
        }
        match self.of.cache.open(&self.of.bucket, &Blob::from(file)) {
            Ok(opened) => Ok(Some(opened)),
            Err(BucketError::Missing(_)) => {
                // Of a place that is not mounted any more everything is missing.
                self.expect_ours()?;
                Ok(None)
            }
            Err(BucketError::Damaged(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns where a file of a record is, below a folder and nowhere else.
pub(super) fn inside(folder: &Path, name: &str) -> Result<PathBuf, BucketError> {
    let plain = Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if plain && !name.is_empty() {
        return Ok(folder.join(name));
    }
    Err(BucketError::Damaged(
        "a record that names no file".to_owned(),
    ))
}

impl Artifacts for Remote {
    fn inputs(&self, lease: &Lease, job: &JobRecord) -> Result<Vec<PathBuf>, NoInputs> {
        if job.blobs.len() != job.images.len() {
            // It was handed over without them: what is wrong with them is said as on files.
            return resolve_images(&self.of.workspace, &job.images).map_err(NoInputs::Unusable);
        }
        let waits = "pictures wait to be fetched";
        let fetched = self.insist(Patience::UntilStopped, waits, || {
            self.fetch_inputs(lease, job)
        });
        match fetched {
            Ok(paths) => Ok(paths),
            Err(_) if self.of.bucket.is_stopped() => Err(NoInputs::Stopped),
            Err(error @ BucketError::Disk(_)) => Err(NoInputs::Trouble(error.into())),
            Err(error) => {
                let names = job.images.join(", ");
                Err(NoInputs::Unusable(format!("cannot fetch {names}: {error}")))
            }
        }
    }

    fn let_go(&self, lease: &Lease) {
        let _ = artifact::discard(&self.inputs_folder(lease));
    }

    fn publish(
        &self,
        folder: &Path,
        files: &[Artifact],
        patience: Patience,
    ) -> Result<(), StoreError> {
        let waits = "results wait on this machine's disk";
        let put = self.insist(patience, waits, || self.put_all(folder, files));
        put.map_err(StoreError::from)
    }

    fn place(&self, folder: &Path, _: &JobId, _: &str, _: bool) -> Result<(), StoreError> {
        // The commit names bytes that the bucket has.
        let _ = artifact::discard(folder);
        Ok(())
    }

    fn set_aside(
        &self,
        folder: &Path,
        job: &JobId,
        attempt: u32,
        nonce: &Nonce,
    ) -> Result<Option<PathBuf>, StoreError> {
        shelf::keep_late(&self.of.paths, folder, job, attempt, nonce)
    }

    fn read(&self, job: &JobId, file: &Artifact) -> Result<Option<PathBuf>, StoreError> {
        let folder = self.of.paths.output(job);
        if artifact::is_intact(&folder, &file.name, file.size, &file.sha256) {
            return Ok(Some(folder.join(&file.name)));
        }
        let folder = self.of.paths.outputs().join(INPUTS).join(job.as_str());
        let to = inside(&folder, &file.name)?;
        let below = to.parent().unwrap_or(&folder);
        fs::create_dir_all(below).context("create", below)?;
        // Several may ask for it at once: each makes a name of its own, and one takes the other's place.
        let tag = uuid::Uuid::new_v4().simple().to_string();
        let own = durable::temporary_path(&to, &tag);
        let linked = self.of.cache.link(&self.of.bucket, &Blob::from(file), &own);
        let placed = linked.and_then(|()| {
            let placed = platform::rename_replace(&own, &to);
            placed.map_err(|error| BucketError::disk("write", &to, error))
        });
        // Two names of the same bytes both stay.
        let _ = fs::remove_file(&own);
        match placed {
            Ok(()) => Ok(Some(to)),
            Err(BucketError::Missing(_) | BucketError::Damaged(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn holds(&self, files: &[Artifact]) -> Result<bool, StoreError> {
        let there = side_by_side(files, AT_ONCE, |file| {
            self.of.bucket.has_young(&Blob::from(file))
        });
        for there in there {
            if !there? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn hurry(&self) {
        self.of.bucket.hurry();
    }
}
