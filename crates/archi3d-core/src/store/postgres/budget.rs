//! The money of all runs in PostgreSQL, as the engine asks for it.

use std::sync::Arc;
use std::time::Duration;

use super::claim::Hold;
use super::error::PgResult;
use super::link::{Link, nonce};
use super::money::{self, Cap, OpenReservation, Reserved, Sums};
use super::spool::SpoolEntry;
use crate::domain::budget::{AttemptKey, CapKind, Caps, Grant, Level, Usage};
use crate::domain::id::{JobId, RunId, WorkerId};
use crate::domain::money::Usd;
use crate::domain::time::Timestamp;
use crate::store::{Budget, StoreError};

/// How long money waits for a server that is away.
const PATIENCE: Duration = Duration::from_secs(10);

/// The money of one worker's run and day.
#[derive(Debug)]
pub struct PgBudget(Arc<Link>);

impl PgBudget {
    /// Accounts over a worker's link.
    pub fn new(link: Arc<Link>) -> Self {
        Self(link)
    }

    fn sums(&self) -> PgResult<(Sums, Sums)> {
        let run_no = self.0.run_no;
        self.0.ask(PATIENCE, |connection| {
            let run = money::run_sums(connection, run_no)?;
            let today = money::today(connection)?;
            let day = money::day_sums(connection, &today)?;
            Ok((run, day))
        })
    }

    /// Settles what workers of the run ended and did not live to settle: before a limit is called reached. Tells whether
    /// there was any.
    fn settle_left(&self) -> PgResult<bool> {
        let run_no = self.0.run_no;
        let settled = self
            .0
            .ask(PATIENCE, |c| money::settle_ended(c, Some(run_no)))?;
        Ok(settled > 0)
    }

    fn hold(&self, attempt_key: &AttemptKey) -> Result<Hold, StoreError> {
        let hold = self.0.hold_of(attempt_key, PATIENCE)?;
        hold.ok_or_else(|| fenced(&attempt_key.job_id))
    }

    fn grant(job: &JobId, caps: Caps, reserved: Reserved) -> Result<Grant, StoreError> {
        Ok(match reserved {
            Reserved::Yes { run, day } => {
                let levels = levels(caps, run, day);
                Grant::Yes(
                    levels
                        .into_iter()
                        .max_by(|a, b| a.used().total_cmp(&b.used())),
                )
            }
            Reserved::No(Cap::Run, sums) => Grant::No(level(CapKind::Run, caps.run_usd, sums)),
            Reserved::No(Cap::Day, sums) => Grant::No(level(CapKind::Day, caps.day_usd, sums)),
            Reserved::Fenced => return Err(fenced(job)),
        })
    }
}

fn fenced(job: &JobId) -> StoreError {
    StoreError::Fenced {
        job_id: job.to_string(),
    }
}

fn level(cap: CapKind, cap_usd: Option<f64>, sums: Sums) -> Level {
    Level {
        cap,
        cap_usd: cap_usd.unwrap_or_default(),
        spent_usd: sums.spent.dollars(),
        reserved_usd: sums.reserved.dollars(),
    }
}

fn levels(caps: Caps, run: Sums, day: Sums) -> Vec<Level> {
    let of_run = caps.run_usd.map(|_| level(CapKind::Run, caps.run_usd, run));
    let of_day = caps.day_usd.map(|_| level(CapKind::Day, caps.day_usd, day));
    of_run.into_iter().chain(of_day).collect()
}

fn in_micros(caps: Caps) -> money::Caps {
    money::Caps {
        run: caps.run_usd.map(Usd::of),
        day: caps.day_usd.map(Usd::of),
    }
}

impl Budget for PgBudget {
    fn levels(&self, _run: &RunId, caps: Caps, _now: Timestamp) -> Result<Vec<Level>, StoreError> {
        let (run, day) = self.sums()?;
        Ok(levels(caps, run, day))
    }

    fn usage(&self, _run: &RunId) -> Result<Usage, StoreError> {
        let run_no = self.0.run_no;
        let run = self.0.ask(PATIENCE, |c| money::run_sums(c, run_no))?;
        Ok(Usage {
            spent_usd: run.spent.dollars(),
            reserved_usd: run.reserved.dollars(),
        })
    }

    fn would_grant(
        &self,
        (run, job): (&RunId, &JobId),
        usd: f64,
        caps: Caps,
        beside: bool,
        now: Timestamp,
    ) -> Result<Grant, StoreError> {
        let inherited = if beside {
            None
        } else {
            self.reserved_for(run, job)?.map(|(_, usd)| usd)
        };
        let new = Usd::of(usd) - Usd::of(inherited.unwrap_or_default());
        let mut levels = self.levels(run, caps, now)?;
        let short = |levels: &[Level]| {
            let mut levels = levels.iter();
            levels
                .find(|level| Usd::of(level.left_usd()) < new)
                .copied()
        };
        if short(&levels).is_some() && self.settle_left()? {
            levels = self.levels(run, caps, now)?;
        }
        Ok(match short(&levels) {
            Some(level) => Grant::No(level),
            None => Grant::Yes(levels.first().copied()),
        })
    }

    fn open(
        &self,
        run: &RunId,
        today: Option<Timestamp>,
    ) -> Result<Vec<(AttemptKey, f64)>, StoreError> {
        let run_no = self.0.run_no;
        let open = self.0.ask(PATIENCE, |connection| {
            let mut open = money::open(connection, Some(run_no), None)?;
            if today.is_some() {
                let day = money::today(connection)?;
                let others = money::open(connection, None, Some(&day))?;
                open.extend(others.into_iter().filter(|one| one.run_id != run.as_str()));
            }
            Ok(open)
        })?;
        Ok(open.into_iter().filter_map(attempt_key).collect())
    }

    fn reserve(
        &self,
        attempt_key: &AttemptKey,
        usd: f64,
        caps: Caps,
        _now: Timestamp,
    ) -> Result<Grant, StoreError> {
        let hold = self.hold(attempt_key)?;
        let ask = || {
            self.0.ask(PATIENCE, |connection| {
                money::reserve(connection, &hold, Usd::of(usd), in_micros(caps))
            })
        };
        let mut reserved = ask()?;
        if matches!(reserved, Reserved::No(..)) && self.settle_left()? {
            reserved = ask()?;
        }
        Self::grant(&attempt_key.job_id, caps, reserved)
    }

    fn raise(&self, attempt_key: &AttemptKey, usd: f64, _now: Timestamp) -> Result<(), StoreError> {
        let (hold, usd) = (self.hold(attempt_key)?, Usd::of(usd));
        // The purchase is made; nobody waits with it for a server that is away.
        match self.0.ask(Duration::ZERO, |connection| {
            money::raise(connection, &hold, usd)
        }) {
            // Whoever took the job over accounts for what it hears of.
            Ok(_) => Ok(()),
            Err(error) if !error.is_of_one() => {
                let micros = usd.micros();
                self.0.keep(SpoolEntry::Raised { hold, micros })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn settle(
        &self,
        attempt_key: &AttemptKey,
        usd: f64,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some(hold) = self.0.hold_of(attempt_key, PATIENCE)? else {
            return Ok(());
        };
        let usd = Usd::of(usd);
        let settled = self.0.ask(PATIENCE, |connection| {
            money::settle(connection, &hold, usd, false).map(drop)
        });
        match settled {
            // It goes with the ending, which waits too.
            Err(error) if !error.is_of_one() => {
                let micros = usd.micros();
                self.0.keep(SpoolEntry::Settled { hold, micros })
            }
            settled => settled.map_err(StoreError::from),
        }
    }

    fn reserve_additional(
        &self,
        attempt_key: &AttemptKey,
        usd: f64,
        caps: Caps,
        _now: Timestamp,
    ) -> Result<Grant, StoreError> {
        let hold = self.hold(attempt_key)?;
        let reserved = self.0.ask(PATIENCE, |connection| {
            money::reserve_beside(connection, &hold, Usd::of(usd), in_micros(caps))
        })?;
        Self::grant(&attempt_key.job_id, caps, reserved)
    }

    fn write_off(&self, attempt_key: &AttemptKey, _now: Timestamp) -> Result<(), StoreError> {
        let Some(hold) = self.0.hold_of(attempt_key, PATIENCE)? else {
            return Ok(());
        };
        let written = self
            .0
            .ask(PATIENCE, |connection| money::write_off(connection, &hold));
        Ok(written.map(drop)?)
    }
}

fn attempt_key(open: OpenReservation) -> Option<(AttemptKey, f64)> {
    let attempt_key = AttemptKey {
        run_id: RunId::parse(&open.run_id).ok()?,
        job_id: JobId::parse(&open.job_id).ok()?,
        attempt: open.hold.number,
        nonce: nonce(open.hold.attempt_id),
        worker_id: WorkerId::named(&open.worker),
    };
    Some((attempt_key, open.amount.dollars()))
}
