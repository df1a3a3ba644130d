//! The money of all runs in PostgreSQL, as the engine asks for it.

use std::sync::Arc;
use std::time::Duration;

use super::error::PgResult;
use super::link::{Link, nonce};
use super::money::{self, Cap, OpenReservation, Reserved, Sums};
use crate::domain::budget::{CapKind, Caps, Grant, Level, Stake, Standing};
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

    fn grant(&self, caps: Caps, reserved: Reserved) -> Result<Grant, StoreError> {
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
            Reserved::Fenced => {
                return Err(StoreError::Closed {
                    run_id: self.0.run_id.to_string(),
                    reason: "the job was taken over before its money was reserved".to_owned(),
                });
            }
        })
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

    fn standing(&self, _run: &RunId) -> Result<Standing, StoreError> {
        let run_no = self.0.run_no;
        let run = self.0.ask(PATIENCE, |c| money::run_sums(c, run_no))?;
        Ok(Standing {
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
        let levels = self.levels(run, caps, now)?;
        let short = levels.iter().find(|level| Usd::of(level.left_usd()) < new);
        Ok(match short {
            Some(level) => Grant::No(*level),
            None => Grant::Yes(levels.first().copied()),
        })
    }

    fn open(&self, run: &RunId, today: Option<Timestamp>) -> Result<Vec<(Stake, f64)>, StoreError> {
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
        Ok(open.into_iter().filter_map(stake).collect())
    }

    fn reserve(
        &self,
        stake: &Stake,
        usd: f64,
        caps: Caps,
        _now: Timestamp,
    ) -> Result<Grant, StoreError> {
        let Some(hold) = self.0.hold_of(stake, PATIENCE)? else {
            return self.grant(caps, Reserved::Fenced);
        };
        let reserved = self.0.ask(PATIENCE, |connection| {
            money::reserve(connection, &hold, Usd::of(usd), in_micros(caps))
        })?;
        self.grant(caps, reserved)
    }

    fn settle(&self, stake: &Stake, usd: f64, _now: Timestamp) -> Result<(), StoreError> {
        let settled = self.0.hold_of(stake, PATIENCE).and_then(|hold| {
            let Some(hold) = hold else { return Ok(()) };
            self.0.ask(PATIENCE, |connection| {
                money::settle(connection, &hold, Usd::of(usd), false).map(drop)
            })
        });
        match settled {
            // The ending says what it cost; whoever starts next settles it from there.
            Err(error) if error.is_retryable() => Ok(()),
            settled => settled.map_err(StoreError::from),
        }
    }

    fn reserve_additional(
        &self,
        stake: &Stake,
        usd: f64,
        caps: Caps,
        _now: Timestamp,
    ) -> Result<Grant, StoreError> {
        let Some(hold) = self.0.hold_of(stake, PATIENCE)? else {
            return self.grant(caps, Reserved::Fenced);
        };
        let reserved = self.0.ask(PATIENCE, |connection| {
            money::reserve_beside(connection, &hold, Usd::of(usd), in_micros(caps))
        })?;
        self.grant(caps, reserved)
    }

    fn write_off(&self, stake: &Stake, _now: Timestamp) -> Result<(), StoreError> {
        let Some(hold) = self.0.hold_of(stake, PATIENCE)? else {
            return Ok(());
        };
        let written = self
            .0
            .ask(PATIENCE, |connection| money::write_off(connection, &hold));
        Ok(written.map(drop)?)
    }
}

fn stake(open: OpenReservation) -> Option<(Stake, f64)> {
    let stake = Stake {
        run_id: RunId::parse(&open.run_id).ok()?,
        job_id: JobId::parse(&open.job_id).ok()?,
        attempt: open.hold.number,
        nonce: nonce(open.hold.attempt_id),
        worker_id: WorkerId::named(&open.worker),
    };
    Some((stake, open.amount.dollars()))
}
