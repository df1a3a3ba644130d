//! How a worker gets jobs: by lane, from where it was, and what is due or was left by the dead.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::claim::{self, Claimer};
use super::error::PgResult;
use super::view;
use super::worker::{POLL, PgStore};
use crate::store::{Lane, Next, Want};

impl PgStore {
    pub(super) fn claimer(&self) -> Claimer<'_> {
        Claimer {
            worker: &self.link.worker,
            lease: self.link.lease,
            rehearsal: self.rehearsal,
        }
    }

    /// Claims by lane, and now and then what is due or was left by the dead.
    pub(super) fn claim_some(&self, want: &Want<'_>) -> PgResult<Vec<claim::Claimed>> {
        let mut lanes = self.lanes(want);
        let by = self.claimer();
        let rare_due = {
            let mut rare = self.rare.lock().unwrap_or_else(PoisonError::into_inner);
            let due = *rare <= Instant::now();
            if due {
                *rare = Instant::now() + (self.link.lease / 6).min(Duration::from_secs(5));
            }
            due
        };
        // A claim that was committed without an answer is found again when its lease has run out.
        let patience = Duration::ZERO;
        let mut found = self.link.ask(patience, |c| {
            claim::claim(c, self.link.run_no, &lanes, want.most, &by)
        })?;
        self.move_cursors(&found, found.len() < want.most);
        if found.len() < want.most || rare_due {
            for lane in &mut lanes {
                let taken = found.iter().filter(|one| one.algo == lane.algo).count();
                let taken = u32::try_from(taken).unwrap_or(u32::MAX);
                lane.most = lane.most.saturating_sub(taken);
            }
            let rest = want.most - found.len().min(want.most);
            if rest > 0 && lanes.iter().any(|lane| lane.most > 0) {
                found.extend(self.link.ask(patience, |c| {
                    claim::claim_rare(c, self.link.run_no, &lanes, rest, &by)
                })?);
            }
        }
        Ok(found)
    }

    fn lanes(&self, want: &Want<'_>) -> Vec<claim::Lane> {
        let mut cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        // Jobs that were given back stand before the cursor; who begins anew finds them.
        if cursors.1.elapsed() > Duration::from_secs(2) || self.news.load(Ordering::SeqCst) {
            *cursors = (HashMap::new(), Instant::now());
        }
        let lane = |lane: &Lane| claim::Lane {
            algo: lane.algo.to_string(),
            most: u32::try_from(lane.most).unwrap_or(u32::MAX),
            after: cursors
                .0
                .get(lane.algo.as_str())
                .copied()
                .unwrap_or(claim::Lane::START),
            bought_only: lane.bought_only,
        };
        want.lanes
            .iter()
            .filter(|one| one.most > 0)
            .map(lane)
            .collect()
    }

    fn move_cursors(&self, found: &[claim::Claimed], short: bool) {
        let mut cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        if short {
            cursors.0.clear();
        }
        for one in found {
            let cursor = cursors.0.entry(one.algo.clone());
            let cursor = cursor.or_insert(claim::Lane::START);
            *cursor = (*cursor).max(one.claim_key);
        }
    }

    /// Tells whether anything is left for the lanes that were asked for.
    pub(super) fn left_for(&self, want: &Want<'_>) -> PgResult<Next> {
        let run_no = self.link.run_no;
        let counts = self.link.ask(Duration::ZERO, |c| view::counts(c, run_no))?;
        let ours = |count: &&view::AlgoCounts| {
            let mut lanes = want.lanes.iter().filter(|lane| !lane.bought_only);
            lanes.any(|lane| lane.algo.as_str() == count.algo)
        };
        let left: usize = counts
            .iter()
            .filter(ours)
            .map(|count| count.pending + count.retryable + count.running)
            .sum();
        if left == 0 {
            return Ok(Next::Drained);
        }
        let due = self
            .link
            .ask(Duration::ZERO, |c| claim::next_due(c, run_no))?;
        let chance = f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 255.0;
        let poll = POLL.mul_f64(0.7 + 0.6 * chance);
        let soon = due.retry.map_or(poll, |retry| retry.min(poll));
        Ok(Next::Nothing(soon.max(Duration::from_millis(10))))
    }
}
