//! The folders of attempts: what becomes of them is decided by the commit, and they are moved after it.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::PoisonError;

use super::claim::Hold;
use super::ending::{self, Published, Success};
use super::error::PgResult;
use super::record;
use super::spool::SpoolEntry as Spooled;
use super::worker::PgStore;
use crate::domain::id::{JobId, Nonce};
use crate::domain::lease::Lease;
use crate::domain::naming::{self, StateFile};
use crate::domain::time::Timestamp;
use crate::store::Finish;
use crate::store::error::{IoContext, StoreError};
use crate::store::shelf;
use crate::workspace::artifact;
use crate::workspace::durable;

impl PgStore {
    /// Puts the folder of a result whose ending was decided where it belongs. Returns where one that came too late is
    /// kept, relative to the workspace.
    pub(super) fn shelve(
        &self,
        success: &Success,
        published: bool,
    ) -> Result<Option<String>, StoreError> {
        let Some(name) = success.result_ref.as_deref() else {
            return Ok(None);
        };
        let folder = self.paths.staging().join(name);
        let Some((job, attempt, nonce)) = record::split_staging(name) else {
            return Ok(None);
        };
        if published {
            if let Err(error) = self.put_once_more(&folder, success) {
                let shown = folder.display();
                self.link
                    .warn(format!("a result stays in {shown}: {}", error.in_full()));
                return Ok(None);
            }
            let kept = naming::kept_dir(&job, attempt.saturating_sub(1), &nonce);
            self.artifacts
                .place(&folder, &job, &kept, success.simulated)?;
            self.forget_ending(name);
            return Ok(None);
        }
        let kept = self.keep_late(&folder, &job, &nonce, success.hold)?;
        self.forget_ending(name);
        Ok(kept)
    }

    /// Keeps the files of an attempt that lost its job, and notes where.
    pub(super) fn keep_late(
        &self,
        folder: &Path,
        job: &JobId,
        nonce: &Nonce,
        hold: Hold,
    ) -> Result<Option<String>, StoreError> {
        let kept = self.aside(folder, job, hold.number, nonce)?;
        let noted = self.link.ask(self.patience(), |c| {
            ending::fenced(c, &[(hold, kept.clone())])
        });
        match noted {
            // The files are what matters; only the note of their place is missing.
            Err(error) if !error.is_retryable() => Err(error.into()),
            _ => Ok(kept),
        }
    }

    /// Publishes a result, together with those of other threads that come at this moment.
    pub(super) fn finish_made(
        &self,
        lease: &Lease,
        hold: Hold,
        success: Success,
        at: Timestamp,
    ) -> Result<Finish, StoreError> {
        let publish = |successes: &[Success]| {
            let told = self
                .link
                .ask(self.patience(), |c| ending::succeed(c, successes))?;
            self.follow(successes.len(), at);
            Ok(told)
        };
        self.finish_as(lease, hold, success, |success| {
            self.endings.succeed(&self.link, success, publish)
        })
    }

    /// The same, told in a way of its own.
    pub(super) fn finish_as(
        &self,
        lease: &Lease,
        hold: Hold,
        success: Success,
        tell: impl FnOnce(Success) -> PgResult<Published>,
    ) -> Result<Finish, StoreError> {
        if !success.files.is_empty() {
            self.publish(lease, &success)?;
        }
        if self.may_wait(lease, &success) {
            let success = success.clone();
            if self.spool_up(Spooled::Succeeded { success }).is_ok() {
                self.over(lease, hold);
                return Ok(Finish::Published);
            }
            // A disk that cannot take it is no reason to lose it.
        }
        let published = tell(success.clone());
        match published {
            Ok(published) => {
                let kept_at = self.shelve(&success, published != Published::Fenced)?;
                self.over(lease, hold);
                Ok(match published {
                    Published::Yes | Published::Already => Finish::Published,
                    Published::Adopted => Finish::Adopted,
                    Published::Fenced => Finish::Fenced { kept_at },
                })
            }
            Err(error) if error.is_of_one() => {
                // The server will never take it: kept as it is, and the trouble of this job alone.
                let spool = self.link.spool();
                let entry = Spooled::Succeeded {
                    success: success.clone(),
                };
                let aside = spool.set_aside(&entry);
                let aside = aside.context("write beside the spool", spool.path())?;
                self.end_refused(&success, &error.to_string(), &aside);
                self.over(lease, hold);
                let refused = io::Error::new(io::ErrorKind::InvalidData, error.to_string());
                Err(refused).context("publish the result that is kept in", &aside)
            }
            // Whatever the server's trouble is, the result is not lost with it; who asks for more hears of the trouble.
            Err(_) => {
                let entry = Spooled::Succeeded {
                    success: success.clone(),
                };
                if let Err(error) = self.spool_up(entry) {
                    // The disk of the results may take what that of the spool cannot: the next start in this folder tells it.
                    let _ = self.note_ending(lease, &success);
                    return Err(error);
                }
                self.over(lease, hold);
                Ok(Finish::Published)
            }
        }
    }

    pub(super) fn spool_up(&self, entry: Spooled) -> Result<(), StoreError> {
        self.link.keep(entry)
    }

    /// Forgets an attempt that is over.
    pub(super) fn over(&self, lease: &Lease, hold: Hold) {
        let progress = self.progress.lock();
        progress
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&hold);
        self.link.forget_one(&lease.job_id, hold);
    }

    /// Ends the folder of an attempt that brought nothing; any whole model is kept.
    pub(super) fn clear(&self, lease: &Lease) {
        let folder = &lease.staging;
        if self.rehearsal {
            let _ = artifact::discard(folder);
        } else {
            let _ = self.drop_folder(folder, &lease.job_id, lease.attempt, &lease.nonce);
        }
    }

    /// Takes the files of a rehearsal out of sight before the job is performed.
    pub(super) fn clear_rehearsal(&self, lease: &Lease) -> Result<(), StoreError> {
        let output = self.paths.output(&lease.job_id);
        let trash = naming::staging_dir(&lease.job_id, 0, &lease.nonce);
        let trash = self.paths.staging().join(trash);
        match shelf::move_across(&self.paths, &output, &trash) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            moved => {
                moved.context("remove the rehearsal in", &output)?;
                self.drop_folder(&trash, &lease.job_id, lease.attempt, &lease.nonce)
            }
        }
    }

    /// Ends a folder; any whole model in it is kept.
    pub(super) fn drop_folder(
        &self,
        folder: &Path,
        job: &JobId,
        attempt: u32,
        nonce: &Nonce,
    ) -> Result<(), StoreError> {
        if artifact::may_hold_model(folder) {
            self.aside(folder, job, attempt, nonce)?;
        } else {
            // What is left of it is found by the next start.
            let _ = artifact::discard(folder);
        }
        Ok(())
    }

    pub(super) fn write_error_text(&self, job: &JobId, text: &str) {
        let path = self.paths.state_file(job, StateFile::ErrorText);
        let state = self.paths.state();
        // For people who look; the row has the line that matters.
        let _ = fs::create_dir_all(&state).and_then(|()| {
            durable::replace_unsynced(
                &path,
                text.as_bytes(),
                &naming::spool_dir(self.identity.worker_id.as_str()),
            )
        });
    }
}
