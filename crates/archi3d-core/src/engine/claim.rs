//! Taking one job: whether it may start, the claim, its money, and what a claim may turn
//! out to be.

use std::time::{Duration, Instant};

use crate::domain::id::JobId;
use crate::domain::job::{Entry, JobState};
use crate::domain::lease::Lease;
use crate::domain::purchase::OpenIntent;
use crate::engine::budget::Funding;
use crate::engine::dispatcher::{Answer, Claiming, Waiting};
use crate::engine::event::EventKind;
use crate::engine::executor::Executor;
use crate::store::{Claim, JobRecord, ReleaseReason, StoreError};

impl Executor<'_> {
    /// Claims a job and carries it out, or answers why not.
    pub(super) fn run_job(&self, waiting: Waiting, claiming: Claiming<'_>) -> Answer {
        let answer = self.claim_and_carry_out(waiting, claiming);
        answer.unwrap_or_else(|why_not| why_not)
    }

    fn claim_and_carry_out(
        &self,
        waiting: Waiting,
        claiming: Claiming<'_>,
    ) -> Result<Answer, Answer> {
        let (waiting, claiming, _first) = self.try_reuse(waiting, claiming)?;
        let waiting = self.unless_unusable(waiting)?;
        let waiting = self.unless_closed(waiting)?;
        let waiting = self.seems_affordable(waiting)?;
        let (waiting, reserved) = self.reserved_before(waiting)?;
        let (waiting, admitted) = self.admit(waiting)?;
        let job_id = waiting.planned.job.job_id.clone();
        let entry = waiting.planned.entry;
        let asked = Instant::now();
        let claim = self.store.claim(&job_id, entry, self.clock.now());
        let claim = claim.and_then(|claim| self.unless_redone(&waiting, claim));
        let claim =
            claim.and_then(|claim| self.doubt_if_lost(&waiting.planned.job, claim, reserved));
        let _span = match &claim {
            Ok(Claim::Taken(lease)) => {
                Some(self.enter(&waiting.planned.job, lease, (asked, Instant::now())))
            }
            _ => None,
        };
        let funding = match &claim {
            Ok(Claim::Taken(lease)) => self.fund(&waiting.planned.job, lease),
            _ => Funding::Refused,
        };
        let starts = funding == Funding::Granted;
        claiming.answered(starts && !waiting.tried);
        // Held until the job has ended, and given back where it does not start.
        let _admitted = if starts {
            Some(admitted)
        } else {
            admitted.refund();
            None
        };
        Ok(match claim {
            Ok(Claim::Taken(lease)) if funding != Funding::Granted => {
                self.give_back_unfunded(waiting, &lease, funding)
            }
            Ok(Claim::Taken(lease)) => self.carry_out(waiting, &lease),
            other => self.claim_refused(waiting, other),
        })
    }

    /// Deals with a job that could not be taken.
    pub(super) fn claim_refused(
        &self,
        waiting: Waiting,
        claim: Result<Claim, StoreError>,
    ) -> Answer {
        let job_id = waiting.planned.job.job_id.clone();
        match claim {
            Ok(Claim::Later(time)) => Answer::Again(Box::new(waiting), time),
            Ok(other) => {
                self.not_taken(job_id, &other);
                Answer::Over
            }
            Err(error) => {
                self.store_failed(&format!("cannot take job {job_id}"), &error);
                Answer::Again(Box::new(waiting), Duration::ZERO)
            }
        }
    }

    fn not_taken(&self, job_id: JobId, claim: &Claim) {
        match claim {
            Claim::Busy => {
                self.dispatch.count(|tally| {
                    tally.summary.busy += 1;
                    tally.summary.skipped += 1;
                });
                self.report(EventKind::JobBusy { job_id });
            }
            Claim::Locked { lock, waited } => {
                self.dispatch.count(|tally| {
                    tally.summary.busy += 1;
                    tally.summary.skipped += 1;
                    tally.summary.locked += 1;
                });
                self.report(EventKind::Warning {
                    message: format!(
                        "job {job_id} is skipped: {lock} has been locked by another program for {} s. \
                         Run the same command again when it has ended",
                        waited.as_secs()
                    ),
                });
                self.report(EventKind::JobBusy { job_id });
            }
            Claim::RolledForward(_) => {
                self.settle_what_others_left(Some(&job_id));
                self.dispatch
                    .count(|tally| tally.summary.rolled_forward += 1);
                self.report(EventKind::RolledForward { job_id });
            }
            Claim::Stuck(reason) => {
                self.dispatch.count(|tally| {
                    tally.summary.unrecorded += 1;
                    tally.summary.skipped += 1;
                });
                self.report(EventKind::Warning {
                    message: format!(
                        "job {job_id} was finished by a worker that died, and cannot be \
                         published: {reason}. Nothing of it is removed and nothing is bought again"
                    ),
                });
            }
            Claim::Changed(JobState::Cancelled { .. }) => {
                self.dispatch.count(|tally| tally.summary.skipped += 1);
                self.report(EventKind::Notice {
                    message: format!("job {job_id} was cancelled on request; skipped"),
                });
            }
            _ => self.dispatch.count(|tally| tally.summary.skipped += 1),
        }
    }

    /// Lets go of a result that somebody else has made again since this worker read the
    /// run: nobody wants it, or pays for it, once more.
    pub(super) fn unless_redone(
        &self,
        waiting: &Waiting,
        claim: Claim,
    ) -> Result<Claim, StoreError> {
        let Claim::Taken(lease) = claim else {
            return Ok(claim);
        };
        if waiting.planned.entry != Entry::Redo || waiting.tried || !lease.redone {
            return Ok(Claim::Taken(lease));
        }
        let now = self.clock.now();
        let reason = ReleaseReason::Interrupted;
        self.store.release(&lease, reason, None, now)?;
        Ok(Claim::Changed(JobState::Completed {
            attempt: lease.attempt,
            simulated: false,
        }))
    }

    fn doubt_if_lost(
        &self,
        job: &JobRecord,
        claim: Claim,
        reserved: bool,
    ) -> Result<Claim, StoreError> {
        let Claim::Taken(mut lease) = claim else {
            return Ok(claim);
        };
        if reserved && lease.attempt <= 1 && !lease.took_over {
            // Its predecessor left no other record.
            lease.lost.get_or_insert_with(|| self.clock.now());
        }
        self.note_doubt(job, &mut lease)?;
        Ok(Claim::Taken(lease))
    }

    /// Takes a job that costs money and whose records are lost for one that was just being
    /// bought: its adapter looks for that at the provider, or a person is asked, whatever
    /// its entry says of interruptions. Where that cannot be written down, the job is given
    /// back.
    pub(super) fn note_doubt(&self, job: &JobRecord, lease: &mut Lease) -> Result<(), StoreError> {
        let Some(at) = lease.lost.filter(|_| self.may_be_billed(job)) else {
            return Ok(());
        };
        let correlation = lease.idempotency_key.clone();
        // So that it is known also if this attempt is cut off.
        let noted = self.store.intent(lease, &correlation, at);
        noted.inspect_err(|_| {
            let words = "that it may have been billed cannot be noted";
            self.give_back(lease, ReleaseReason::StoreTrouble, words);
        })?;
        lease.intent = Some(Box::new(OpenIntent { correlation, at }));
        Ok(())
    }

    fn may_be_billed(&self, job: &JobRecord) -> bool {
        let costs = self.algorithm_of(job).is_ok_and(|algorithm| {
            let unit = algorithm.price.unit_usd;
            unit.map_or_else(|| algorithm.adapter.may_buy(), |usd| usd > 0.0)
        });
        costs && !self.conditions.dry_run
    }

    /// Tells whether the ledger has money reserved for a job, before it is claimed: where that
    /// cannot be read, it stays as it is.
    fn reserved_before(&self, waiting: Waiting) -> Result<(Waiting, bool), Answer> {
        let job = &waiting.planned.job;
        let money = self.conditions.money.as_ref();
        let Some(money) = money.filter(|_| !waiting.tried && self.may_be_billed(job)) else {
            return Ok((waiting, false));
        };
        let run = self.store.run_id();
        match money.budget.reserved_for(run, &job.job_id) {
            Ok(reserved) => Ok((waiting, reserved.is_some())),
            Err(error) => Err(self.claim_refused(waiting, Err(error))),
        }
    }
}
