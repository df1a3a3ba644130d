//! Models of a job that no record explains: `state/` was removed, or the table restored,
//! and what was paid for is still there. Nothing is bought over it.

use std::collections::HashMap;

use crate::domain::id::{JobId, Nonce, WorkerId};
use crate::domain::job::{Entry, JobState};
use crate::domain::naming;
use crate::domain::time::Timestamp;
use crate::store::Made;
use crate::store::error::StoreError;
use crate::workspace::artifact;

use super::FileStore;
use super::finish::Author;
use super::job_lock::JobLock;
use super::journal::MadeLine;
use super::late::folders_in;
use super::made::Left;

/// The attempts that left a folder, by job: number and nonce.
pub(super) type Folders = HashMap<JobId, Vec<(u32, String)>>;

impl FileStore {
    /// Makes the published folder of a job that has no marker its result, if all of it is
    /// there; fails the job as possibly billed if there is any other whole model of it.
    /// Nothing if there is none.
    pub(super) fn bring_in_unexplained(
        &self,
        lock: &JobLock<'_>,
        entry: Entry,
        started: Timestamp,
        now: Timestamp,
    ) -> Result<Option<JobState>, StoreError> {
        let Some(left) = self.unexplained(lock.job, entry, started, now) else {
            return Ok(None);
        };
        // Whoever made it, it was not this worker.
        let author = Author {
            worker_id: WorkerId::compose("unknown", 0, "0"),
            boot_id: String::new(),
        };
        self.adopt(lock, &left, &author, &self.identity.facts, now)
    }

    pub(super) fn unexplained(
        &self,
        job: &JobId,
        entry: Entry,
        started: Timestamp,
        now: Timestamp,
    ) -> Option<Left> {
        let output = self.paths().output(job);
        let about = artifact::description(&output).filter(|about| about["job_id"] == job.as_str());
        let (attempt, nonce, told) = match about {
            Some(_) if artifact::holds_model(&output) => {
                let nonce = uuid::Uuid::new_v4().simple().to_string();
                (1, nonce, artifact::is_as_described(&output))
            }
            _ => {
                let (attempt, nonce) = self.whole_folder(job)?;
                (attempt, nonce, false)
            }
        };
        let mut made = Made {
            settled: true,
            ..Made::default()
        };
        if let Some(serde_json::Value::Object(mut about)) = about.filter(|_| told) {
            about.remove("artifacts");
            let told = about.remove("adapter");
            made.told = told.and_then(|told| told.as_object().cloned());
            made.about = Some(about.into());
        }
        let nonce = Nonce::new(nonce);
        let line = MadeLine {
            job_id: job.clone(),
            attempt,
            entry,
            claimed_at: started,
            request_id: None,
            purchases: 0,
            staging: naming::staging_dir(job, attempt, &nonce),
            nonce,
            result: made,
        };
        let at = now.max(started);
        Some(Left { line, at, told })
    }

    /// Returns the latest attempt of the job that left a whole model.
    fn whole_folder(&self, job: &JobId) -> Option<(u32, String)> {
        let places = [self.paths().staging(), self.paths().late()];
        let folders = self.folders.get_or_init(|| {
            let mut folders = Folders::new();
            for (_, (job, attempt, nonce)) in places.iter().flat_map(|place| folders_in(place)) {
                folders.entry(job).or_default().push((attempt, nonce));
            }
            folders
        });
        let of_job = folders.get(job)?.iter();
        let whole = of_job.filter(|(attempt, nonce)| {
            let name = naming::staging_dir(job, *attempt, &Nonce::new(nonce.as_str()));
            let mut folders = places.iter().map(|place| place.join(&name));
            *attempt > 0 && folders.any(|folder| artifact::holds_model(&folder))
        });
        whole.max().cloned()
    }
}
