//! Bringing in what is kept under `outputs/.late/` because a person says so.
//!
//! Used by `run adopt`. It is an attempt like any other, but its files are there
//! already: nothing is made and nothing is bought.

use std::path::Path;

use crate::domain::id::{JobId, Nonce};
use crate::domain::job::{Entry, JobState};
use crate::domain::lease::Lease;
use crate::domain::patch::{self, Span};
use crate::domain::purchase::PurchaseEnd;
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;
use crate::platform::fault;
use crate::store::error::{IoContext, StoreError};
use crate::store::{Claim, Ending, Finish, Made, Outcome};
use crate::workspace::artifact::{self, Taken};

use super::FileStore;
use super::journal::{self, What};
use super::sweep::split_staging;

/// What became of a wish to bring a kept result in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Adoption {
    /// It is the job's result now.
    Published,
    /// What the job's dead worker had left was set aside just now: to be looked at again.
    SetAside,
    /// The job cannot be taken for it: why.
    Refused(String),
}

impl FileStore {
    /// Makes what is kept in the folder `from` the result of `job`, which the caller
    /// saw as `entry` describes. Must come after recovery.
    pub fn adopt_kept(
        &self,
        job: &JobId,
        from: &Path,
        entry: Entry,
        now: Timestamp,
    ) -> Result<Adoption, StoreError> {
        let made = self.made_in(job, from)?;
        let lease = match self.claim_job(job, entry, now)? {
            Claim::Taken(lease) => lease,
            Claim::RolledForward(JobState::Completed { .. }) => return Ok(Adoption::Published),
            Claim::RolledForward(JobState::Failed { .. }) => return Ok(Adoption::SetAside),
            Claim::Changed(state) | Claim::RolledForward(state) => {
                return Ok(Adoption::Refused(format!("it is {} now", state.status())));
            }
            Claim::Busy | Claim::Later(_) | Claim::Locked { .. } => {
                return Ok(Adoption::Refused("a worker may be at it; try again".into()));
            }
            Claim::Stuck(reason) => return Ok(Adoption::Refused(reason)),
        };
        // From here on a crash leaves a question for a person, never a purchase.
        self.note_made(&lease, &made, false, now)?;
        fault::here("adopt.claimed");
        let taken = self.take_kept(&lease, from, &made);
        let (outcome, patch) = match taken {
            Ok(taken) => self.adopted_by_hand(&lease, &made, taken),
            Err(reason) => {
                let kept = self.move_to_late(&lease).ok().flatten();
                let shown = self.shared.workspace.relative(from);
                let place = kept.or(shown).unwrap_or_default();
                let message = format!("what is kept in {place} could not be brought in: {reason}");
                self.refused_by_hand(&lease, &message)
            }
        };
        let refused = match &outcome {
            Outcome::Failed { error_text, .. } => Some(error_text.clone()),
            Outcome::Completed { .. } => None,
        };
        let ending = Ending {
            outcome,
            patch,
            // Whoever made it has accounted for it.
            cost_usd: None,
            content_key: made.content_key,
            at: now,
        };
        let finish = self.finish_job(&lease, ending)?;
        Ok(match (refused, finish) {
            (Some(reason), _) => Adoption::Refused(reason),
            (None, Finish::Published | Finish::Adopted) => Adoption::Published,
            (None, _) => Adoption::Refused("another worker has the job now".into()),
        })
    }

    /// Returns what the journals tell of the result in a kept folder.
    fn made_in(&self, job: &JobId, from: &Path) -> Result<Made, StoreError> {
        let name = from.file_name().and_then(|name| name.to_str());
        let parts = name.and_then(split_staging);
        let folder = self.paths().journals();
        let mut found = None;
        for journal in journal::all(&folder).context("list", &folder)? {
            let (lines, _) = journal::read(&journal.path).context("read", &journal.path)?;
            for line in lines {
                if let What::Made(line) = line.what
                    && line.job_id == *job
                    && parts
                        .as_ref()
                        .is_some_and(|parts| is_of(parts, line.attempt, &line.nonce))
                {
                    found = Some(line.result);
                }
            }
        }
        let made = found.unwrap_or_default();
        Ok(Made {
            // A person has looked at it.
            settled: true,
            ..made
        })
    }

    fn take_kept(&self, lease: &Lease, from: &Path, made: &Made) -> Result<Taken, String> {
        let empty = artifact::discard(&lease.staging);
        empty.map_err(|error| error.to_string())?;
        let moved = self.move_across(from, &lease.staging);
        if !moved.map_err(|error| error.to_string())? {
            return Err("its place is taken".into());
        }
        fault::here("adopt.moved");
        let taken = artifact::take(&lease.staging, made.named(), &|_| Ok(()));
        taken.map_err(|error| error.to_string())
    }

    fn adopted_by_hand(&self, lease: &Lease, made: &Made, taken: Taken) -> (Outcome, patch::Patch) {
        let product = self.product_of(&lease.job_id, made, &taken);
        let outcome = Outcome::Completed {
            simulated: false,
            artifacts: taken.files,
        };
        let patch = patch::completed(at_once(lease), &self.identity.facts, &product);
        (outcome, patch)
    }

    fn refused_by_hand(&self, lease: &Lease, message: &str) -> (Outcome, patch::Patch) {
        let outcome = Outcome::Failed {
            class: ErrorClass::Unknown,
            error_text: message.to_owned(),
            cut_off: false,
            purchase: PurchaseEnd::Open,
        };
        let mut patch = patch::failed(at_once(lease), &self.identity.facts, message);
        if lease.entry == Entry::Perform {
            patch.forget_rehearsal();
        }
        (outcome, patch)
    }
}

/// Tells whether a kept folder's name is that of an attempt.
fn is_of((_, attempt, kept): &(JobId, u32, &str), of: u32, nonce: &Nonce) -> bool {
    let short: String = nonce.as_str().chars().take(8).collect();
    *attempt == of && kept.starts_with(&short)
}

fn at_once(lease: &Lease) -> Span {
    Span {
        start: lease.claimed_at,
        duration: std::time::Duration::ZERO,
    }
}
