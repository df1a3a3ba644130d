//! Results that a dead worker of this machine had made and did not come to tell: they are told for it, so that nothing that
//! may have been paid for is made again.
//!
//! Its folder and the lock of its spool lie here, so its death is proved, and nobody waits for its lease.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::buying::{self, LeftMade};
use super::ending::{self, Published, Success};
use super::left::{Dead, Sent};
use super::link::nonce;
use super::record;
use super::worker::PgStore;
use crate::domain::id::{JobId, Nonce};
use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::domain::naming;
use crate::domain::patch::{self, Product, Span};
use crate::domain::time::Timestamp;
use crate::store::artifacts::Patience;
use crate::store::error::StoreError;
use crate::store::{Artifact, Ending, Made, Outcome, shelf};
use crate::workspace::artifact::{self, Standard, Taken};

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
        let mut workers: Vec<&str> = dead.names().into_iter().collect();
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
            let Some(success) = self.success_of(&one, &job, &nonce, &folder) else {
                continue;
            };
            match self.publish_left(&success, &folder) {
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

    /// Checks what lies in a folder; returns the ending of its attempt if it is a whole result.
    fn success_of(
        &self,
        left: &LeftMade,
        job: &JobId,
        nonce: &Nonce,
        folder: &Path,
    ) -> Option<Success> {
        let made: Made = serde_json::from_str(&left.note).ok()?;
        let clear = |standard: &Standard| {
            if made.settled {
                return Ok(());
            }
            let own = naming::staging_dir(job, left.hold.number, nonce);
            let beside = folder.with_file_name(format!("{own}beside"));
            let of = (job, left.hold.number, nonce);
            shelf::put_others_aside(&self.paths, folder, &beside, standard, of).map(drop)
        };
        let taken = match artifact::take(folder, made.named(), &clear) {
            Ok(taken) => taken,
            Err(error) => {
                self.link.warn(format!(
                    "what the worker of job {job} had made when it died is not whole: {error}"
                ));
                return None;
            }
        };
        let span = span_of(left, folder, &taken);
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
        if left.entry == Entry::Redo {
            patch.insist();
        }
        let lease = self.lease_of(left, job, nonce, folder.to_owned());
        let ending = Ending {
            at: span.start.plus(span.duration),
            patch,
            content_key: made.content_key,
            cost_usd: product.price.estimated_usd,
            outcome: Outcome::Completed {
                simulated: false,
                artifacts: taken.files.into_iter().map(Artifact::from).collect(),
            },
        };
        let seconds = Some(span.duration.as_secs_f64());
        Some(record::success(&lease, left.hold, ending, seconds))
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

/// How long it took, as far as its model tells.
fn span_of(left: &LeftMade, folder: &Path, taken: &Taken) -> Span {
    let model = taken.names.first().map(|name| folder.join(name));
    let written = model.and_then(|model| fs::metadata(model).ok()?.modified().ok());
    let start = Timestamp::new(left.started);
    let end = written.map_or(start, |at| Timestamp::new(at.into()));
    Span {
        start,
        duration: end.since(start),
    }
}
