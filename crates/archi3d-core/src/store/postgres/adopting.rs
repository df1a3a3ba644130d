//! Results that a dead worker had made and did not come to tell: they are told for it, so that nothing that may have been
//! paid for is made again.
//!
//! Where the lock of its spool lies here its death is proved, and nobody waits for its lease. Of others it is found out when
//! their jobs are taken over: what lies in this folder is copied, and what nobody can see is in doubt.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::buying::{self, LeftBefore, LeftMade};
use super::claim::Hold;
use super::ending::{self, Ended, Failure, Published, Success};
use super::left::{Dead, Sent};
use super::link::nonce;
use super::record;
use super::worker::PgStore;
use crate::domain::id::{JobId, Nonce};
use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::domain::money::Usd;
use crate::domain::naming;
use crate::domain::patch::{self, Price, Product, Span};
use crate::domain::purchase::PurchaseEnd;
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;
use crate::store::artifacts::Patience;
use crate::store::error::{IoContext as _, StoreError};
use crate::store::{
    Claim, Ending, Finish, JobRecord, Made, Outcome, WorkerStore as _, made, shelf,
};
use crate::workspace::artifact::{self, ArtifactError, Standard, Taken};

/// What became of a copy of what an earlier attempt had made.
enum Copied {
    /// It is not whole, or cannot be copied: the job is as it was.
    Refused,
    /// The store was told, and said this.
    Told(Finish),
    /// The store could not be told; the copy waits in its folder.
    Untold,
}

impl PgStore {
    /// Tells for the dead what they had made: of the jobs that they hold, or of some that were taken from them. `own` says
    /// that an earlier start had our name. What is not whole stays.
    pub(super) fn adopt_made(
        &self,
        dead: &Dead,
        own: bool,
        only: Option<&[i64]>,
        sent: &mut Sent,
    ) -> Result<(), StoreError> {
        let names = dead.names();
        let mut workers: Vec<&str> = names.iter().map(String::as_str).collect();
        if own {
            workers.push(&self.link.worker);
        }
        if self.rehearsal || workers.is_empty() {
            return Ok(());
        }
        let (run_no, held) = (self.link.run_no, self.link.held());
        let host = self.identity.facts.host.as_str();
        let left = self.link.ask(Duration::ZERO, |c| {
            buying::left_made(c, run_no, &workers, only, &held, host)
        })?;
        for one in left {
            let Ok(job) = JobId::parse(&one.job_id) else {
                continue;
            };
            let nonce = nonce(one.hold.attempt_id);
            let name = naming::staging_dir(&job, one.hold.number, &nonce);
            let folder = self.paths.staging().join(&name);
            if self.has_ending(&name) || !folder.is_dir() {
                continue;
            }
            let made: Made = serde_json::from_str(&one.note).unwrap_or_default();
            let lease = self.lease_of(&one, &job, &nonce, folder);
            let told = match self.success_of(&lease, one.hold, &made, one.started) {
                Ok(success) => self.publish_left(&success, &lease.staging),
                // The next attempt costs nothing, or fetches what was bought.
                Err(error) if !is_of_disk(&error) && (made.free || one.bought) => {
                    self.link.warn(format!(
                        "what the worker of job {job} had made when it died is not whole: {error}"
                    ));
                    continue;
                }
                Err(error) => self.end_lost(&lease, one.hold, error).map(|ended| {
                    sent.failed.extend(ended.then_some(one.hold.job_no));
                    false
                }),
            };
            match told {
                Ok(true) => sent.published.push(job),
                Ok(false) => {}
                Err(error) if error.is_away() => return Err(error),
                // One that cannot be told holds up no other; nobody here makes it again.
                Err(error) => {
                    let what = format!("what the worker of job {job} had made when it died");
                    self.link.warn(format!("{what} waits: {}", error.in_full()));
                    sent.stuck.push(one.hold.job_no);
                    continue;
                }
            }
            sent.count += 1;
        }
        Ok(())
    }

    /// Notes what an attempt has made, before anybody is told.
    pub(super) fn note_made(
        &self,
        lease: &Lease,
        made: &Made,
        durably: bool,
    ) -> Result<(), StoreError> {
        if durably {
            artifact::sync_files(&lease.staging).context("sync", &lease.staging)?;
        }
        let hold = self.link.hold(lease)?;
        let note = serde_json::to_string(made).unwrap_or_else(|_| "{}".to_owned());
        match self
            .link
            .ask(Duration::ZERO, |c| buying::made(c, &hold, &note))
        {
            Ok(_) => Ok(()),
            // Its folder is found and kept without the note too.
            Err(error) if error.is_retryable() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes what is kept in a folder the result of a job: an attempt like any other, that makes and buys nothing. Its price is
    /// what its maker said, else what is reserved for the job. Returns why not, if so.
    pub(super) fn adopt_for_a_person(
        &self,
        job: &JobId,
        from: &Path,
        entry: Entry,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let lease = match self.claim(job, entry, now)? {
            Claim::Taken(lease) => lease,
            Claim::Changed(state) | Claim::RolledForward(state) => {
                return Ok(Some(format!("it is {} now", state.status())));
            }
            Claim::Stuck(reason) => return Ok(Some(reason)),
            Claim::Busy | Claim::Later(_) | Claim::Locked { .. } => {
                return Ok(Some("a worker may be at it; try again".to_owned()));
            }
        };
        let hold = self.link.hold(&lease)?;
        let name = from.file_name().unwrap_or_default().to_string_lossy();
        let maker = self.hold_of_late(&name)?;
        let left = self
            .link
            .ask(Duration::ZERO, |c| buying::left_before(c, &[hold]))?;
        let made_it = left.iter().find(|one| Some(one.hold) == maker);
        let note = made_it.and_then(|one| one.note.as_deref());
        let made = Made {
            // Who dies from here on leaves a question, never a purchase.
            free: false,
            settled: true,
            ..serde_json::from_str(note.unwrap_or("{}")).unwrap_or_default()
        };
        self.note_made(&lease, &made, false)?;
        match self.adopt_copy(&lease, hold, &made, now.as_datetime(), from)? {
            Copied::Told(Finish::Published | Finish::Adopted) => {
                // Unless the job's own place is where it lay.
                if from.canonicalize().ok() != self.output_dir(job).canonicalize().ok() {
                    let _ = artifact::discard(from);
                }
                self.settle_left()?;
                return Ok(None);
            }
            Copied::Told(_) => return Ok(Some("another worker has the job now".to_owned())),
            Copied::Untold => {
                return Ok(Some(
                    "a copy of it could not be recorded; what is kept stays where it is".to_owned(),
                ));
            }
            Copied::Refused => {}
        }
        let shown = self.workspace.relative(from).unwrap_or_default();
        let message = format!("what is kept in {shown} could not be brought in");
        let span = Span {
            start: now,
            duration: Duration::ZERO,
        };
        let ending = Ending {
            patch: patch::failed(span, &self.identity.facts, &message),
            outcome: Outcome::Failed {
                class: ErrorClass::Unknown,
                error_text: format!("Error: {message}\n"),
                cut_off: false,
                purchase: PurchaseEnd::Open,
            },
            cost_usd: None,
            content_key: None,
            at: now,
        };
        self.finish(&lease, ending)?;
        Ok(Some(message))
    }

    /// Ends a job without a result for its worker that died: what is left of it is paid for and not whole, so a person is
    /// asked. False: the job is not in its hands any more, and whoever begins it asks.
    fn end_lost(
        &self,
        lease: &Lease,
        hold: Hold,
        error: ArtifactError,
    ) -> Result<bool, StoreError> {
        let job = &lease.job_id;
        if let ArtifactError::Io { path, source } = error {
            // The disk may tell more another time.
            return Err(source).context("check", &path);
        }
        let kept = self.aside(&lease.staging, job, lease.attempt, &lease.nonce)?;
        let what = format!("before the result was recorded, and it is not whole: {error}");
        let message = made::lost_words(&what, kept.as_deref(), (&lease.run_id, job));
        let span = Span {
            start: lease.claimed_at,
            duration: Duration::ZERO,
        };
        let mut patch = patch::failed(span, &self.identity.facts, &message);
        if lease.entry == Entry::Perform {
            patch.forget_rehearsal();
        }
        self.write_error_text(job, &format!("Error: {message}\n"));
        let failure = Failure {
            hold,
            class: ErrorClass::Unknown,
            message: record::message_of(&patch, &message),
            cost_micros: None,
            cut_off: true,
            purchase: PurchaseEnd::Open,
            patch,
            seconds: None,
        };
        let ended = self
            .link
            .ask(Duration::ZERO, |c| ending::fail(c, &failure))?;
        self.link.warn(format!("job {job}: {message}"));
        Ok(ended != Ended::Fenced)
    }

    /// Looks at what earlier attempts of jobs had made that were just taken and whose holders died elsewhere. A whole
    /// result in this folder becomes the job's own; what cannot be seen is in doubt. Returns what is still to be made.
    pub(super) fn heed_lost(
        &self,
        mut jobs: Vec<(JobRecord, Lease)>,
    ) -> Result<Vec<(JobRecord, Lease)>, StoreError> {
        let died = jobs.iter().filter(|(_, lease)| lease.took_over);
        let holds: Result<Vec<Hold>, StoreError> =
            died.map(|(_, lease)| self.link.hold(lease)).collect();
        let holds = holds?;
        if self.rehearsal || holds.is_empty() {
            return Ok(jobs);
        }
        let left = self
            .link
            .ask(Duration::ZERO, |c| buying::left_before(c, &holds))?;
        let mut adopted = Vec::new();
        for (_, lease) in &mut jobs {
            let Some(hold) = holds
                .iter()
                .find(|hold| nonce(hold.attempt_id) == lease.nonce && hold.number == lease.attempt)
            else {
                continue;
            };
            let of_job = left.iter().filter(|one| one.hold.job_no == hold.job_no);
            if self.heed_one(lease, *hold, of_job)? {
                adopted.push(lease.nonce.clone());
            }
        }
        if !adopted.is_empty() {
            // If that fails, whoever drains the run does it.
            let _ = self.settle_left();
        }
        jobs.retain(|(_, lease)| !adopted.contains(&lease.nonce));
        Ok(jobs)
    }

    /// Tells whether the job is over with what an earlier attempt had made.
    fn heed_one<'l>(
        &self,
        lease: &mut Lease,
        hold: Hold,
        left: impl Iterator<Item = &'l LeftBefore>,
    ) -> Result<bool, StoreError> {
        let mut lost = None;
        for one in left {
            let before = nonce(one.hold.attempt_id);
            let name = naming::staging_dir(&lease.job_id, one.hold.number, &before);
            let folder = self.paths.staging().join(&name);
            let noted = one.note.as_ref();
            let made: Option<Made> = noted
                .map(|note| serde_json::from_str(note).unwrap_or_default())
                .or_else(|| self.ending_of(&name).as_ref().map(made_of));
            let doubtful = match &made {
                Some(made) => match self.adopt_copy(lease, hold, made, one.started, &folder)? {
                    Copied::Refused => !made.free,
                    Copied::Told(_) | Copied::Untold => {
                        self.forget_ending(&name);
                        return Ok(true);
                    }
                },
                // Its program may have called it a success, and nobody heard it.
                None => one.kept || artifact::holds_model(&folder),
            };
            if doubtful {
                lost = Some(Timestamp::new(one.started));
            }
        }
        // What is known to be bought is asked for.
        let known = lease.request_id.is_some() || lease.intent.is_some();
        lease.lost = lost.filter(|_| !known);
        Ok(false)
    }

    /// Publishes a copy of what an earlier attempt had made, if it is whole: its worker may only stand still, and its files
    /// are its own.
    fn adopt_copy(
        &self,
        lease: &Lease,
        hold: Hold,
        made: &Made,
        started: DateTime<Utc>,
        from: &Path,
    ) -> Result<Copied, StoreError> {
        if !from.is_dir() {
            return Ok(Copied::Refused);
        }
        let copied = self.while_beating(lease, || artifact::copy_folder(from, &lease.staging));
        let success = copied
            .map_err(|source| ArtifactError::Io {
                path: from.to_owned(),
                source,
            })
            .and_then(|()| self.success_of(lease, hold, made, started));
        let success = match success {
            Ok(success) => success,
            Err(error) => {
                // The original stays as it is.
                let _ = artifact::discard(&lease.staging);
                self.link.warn(format!(
                    "what the worker of job {} had made when it died cannot be taken: {error}",
                    lease.job_id
                ));
                return match error {
                    ArtifactError::Io { path, source } if artifact::is_disk_trouble(&source) => {
                        Err(source).context("check", &path)
                    }
                    _ => Ok(Copied::Refused),
                };
            }
        };
        let told = self.finish_as(lease, hold, success, |success| {
            // By itself: other threads may wait for this one with theirs.
            let told = self.link.ask(self.patience(), |c| {
                ending::succeed(c, std::slice::from_ref(&success))
            })?;
            Ok(told.first().copied().unwrap_or(Published::Fenced))
        });
        Ok(match told {
            Ok(finish) => Copied::Told(finish),
            Err(error) => {
                self.over(lease, hold);
                self.link.warn(format!(
                    "what the worker of job {} had made when it died waits in {}: {}",
                    lease.job_id,
                    lease.staging.display(),
                    error.in_full()
                ));
                Copied::Untold
            }
        })
    }

    /// Publishes what a dead worker had made; false: its job is another's by now, and the files are kept aside.
    fn publish_left(&self, success: &Success, folder: &Path) -> Result<bool, StoreError> {
        let files = record::artifacts(&success.files);
        self.artifacts.publish(folder, &files, Patience::None)?;
        let answers = self.link.ask(Duration::ZERO, |c| {
            ending::succeed(c, std::slice::from_ref(success))
        })?;
        let published = answers.first().is_some_and(|one| *one != Published::Fenced);
        self.shelve(success, published)?;
        Ok(published)
    }

    /// Checks what lies in the folder of an attempt; returns its ending if it is a whole result.
    fn success_of(
        &self,
        lease: &Lease,
        hold: Hold,
        made: &Made,
        started: DateTime<Utc>,
    ) -> Result<Success, ArtifactError> {
        let (job, nonce, folder) = (&lease.job_id, &lease.nonce, &lease.staging);
        let clear = |standard: &Standard| {
            if made.settled {
                return Ok(());
            }
            let own = naming::staging_dir(job, hold.number, nonce);
            let beside = folder.with_file_name(format!("{own}beside"));
            let of = (job, hold.number, nonce);
            shelf::put_others_aside(&self.paths, folder, &beside, standard, of).map(drop)
        };
        let taken = artifact::take(folder, made.named(), &clear)?;
        let span = span_of(started, folder, &taken);
        let output = self.paths.output(job);
        let output = self.workspace.relative(&output).unwrap_or_default();
        let mut paths = taken.names.iter().map(|name| format!("{output}/{name}"));
        let product = Product {
            object: paths.next().unwrap_or_default(),
            previews: paths.collect(),
            algo_version: made.algo_version.clone(),
            price: made.price.clone(),
        };
        // It died on this machine.
        let mut patch = patch::completed(span, &self.identity.facts, &product);
        if lease.entry == Entry::Redo {
            patch.insist();
        }
        let ending = Ending {
            at: span.start.plus(span.duration),
            patch,
            content_key: made.content_key.clone(),
            cost_usd: product.price.estimated_usd,
            outcome: Outcome::Completed {
                simulated: false,
                artifacts: taken.files,
            },
        };
        let seconds = Some(span.duration.as_secs_f64());
        Ok(record::success(lease, hold, ending, seconds))
    }

    fn lease_of(&self, left: &LeftMade, job: &JobId, nonce: &Nonce, staging: PathBuf) -> Lease {
        Lease {
            run_id: self.link.run_id.clone(),
            job_id: job.clone(),
            worker_id: self.identity.worker_id.clone(),
            attempt: left.hold.number,
            nonce: nonce.clone(),
            claimed_at: Timestamp::new(left.started),
            entry: left.entry,
            took_over: false,
            lost: None,
            request_id: None,
            intent: None,
            failures: 0,
            idempotency_key: String::new(),
            redone: false,
            resubmit: false,
            purchases: 0,
            staging,
        }
    }
}

/// Returns what was made, as its ending tells.
fn made_of(success: &Success) -> Made {
    let usd = success
        .cost_micros
        .map(|micros| Usd::from_micros(micros).dollars());
    Made {
        algo_version: success.algo_version.clone(),
        price: Price {
            unit_usd: None,
            estimated_usd: usd,
            source: success.price_source.clone(),
        },
        free: usd.is_some_and(|usd| usd <= 0.0),
        settled: true,
        ..Made::default()
    }
}

/// How long it took, as far as its model tells.
fn span_of(started: DateTime<Utc>, folder: &Path, taken: &Taken) -> Span {
    let model = taken.names.first().map(|name| folder.join(name));
    let written = model.and_then(|model| fs::metadata(model).ok()?.modified().ok());
    let start = Timestamp::new(started);
    let end = written.map_or(start, |at| Timestamp::new(at.into()));
    Span {
        start,
        duration: end.since(start),
    }
}

/// Tells whether it is the disk that keeps a result from being checked.
fn is_of_disk(error: &ArtifactError) -> bool {
    matches!(error, ArtifactError::Io { source, .. } if artifact::is_disk_trouble(source))
}
