//! Money: what is spent, what is reserved, and whether one more job may start.
//!
//! A job's price is reserved before it starts and settled when it ends. A
//! reservation whose worker died stays, so it counts as spent, until an attempt that
//! asks for the purchase ends it, one that buys again reserves beside it, or a
//! journal tells what was billed. Pure sums over
//! the lines of a ledger; where the lines are is none of its business.

use std::collections::{BTreeMap, HashMap};

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::domain::id::{JobId, Nonce, RunId, WorkerId};
use crate::domain::lease::Lease;
use crate::domain::money::Usd;
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;

/// From this share of a limit on, a person is warned.
pub const WARN_FROM: f64 = 0.8;

/// Whose money it is about: one attempt of one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptKey {
    /// The run.
    pub run_id: RunId,
    /// The job.
    pub job_id: JobId,
    /// Which attempt.
    pub attempt: u32,
    /// What names the attempt; its money is settled once.
    pub nonce: Nonce,
    /// Who makes the attempt.
    pub worker_id: WorkerId,
}

impl From<&Lease> for AttemptKey {
    fn from(lease: &Lease) -> Self {
        Self {
            run_id: lease.run_id.clone(),
            job_id: lease.job_id.clone(),
            attempt: lease.attempt,
            nonce: lease.nonce.clone(),
            worker_id: lease.worker_id.clone(),
        }
    }
}

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Line")]
pub struct LedgerEntry {
    /// When.
    pub at: Timestamp,
    /// Whose money.
    #[serde(flatten)]
    pub attempt_key: AttemptKey,
    /// What happened to it.
    #[serde(flatten)]
    pub change: Change,
    /// Whether a person said so, who knows what was billed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
}

/// An entry as it is read: a parser knows each field of a flat line at once, and
/// has to keep them all to find nested ones.
#[derive(Deserialize)]
struct Line {
    at: Timestamp,
    run_id: RunId,
    job_id: JobId,
    attempt: u32,
    nonce: Nonce,
    worker_id: WorkerId,
    event: Event,
    usd: f64,
    #[serde(default)]
    by_hand: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Reserved,
    Settled,
}

impl From<Line> for LedgerEntry {
    fn from(line: Line) -> Self {
        let usd = line.usd;
        Self {
            at: line.at,
            attempt_key: AttemptKey {
                run_id: line.run_id,
                job_id: line.job_id,
                attempt: line.attempt,
                nonce: line.nonce,
                worker_id: line.worker_id,
            },
            change: match line.event {
                Event::Reserved => Change::Reserved { usd },
                Event::Settled => Change::Settled { usd },
            },
            by_hand: line.by_hand,
        }
    }
}

/// What happened to the money of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Change {
    /// So much is set aside; replaces an earlier reservation of the same job.
    Reserved {
        /// The worst case, in dollars.
        usd: f64,
    },
    /// The attempt's money is settled and so much was spent.
    Settled {
        /// What it cost, in dollars.
        usd: f64,
    },
}

/// The limits in force; nothing means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Caps {
    /// For the whole run.
    #[serde(rename = "budget_run_usd")]
    pub run_usd: Option<f64>,
    /// For one day, in UTC, over all runs of the workspace.
    #[serde(rename = "budget_day_usd")]
    pub day_usd: Option<f64>,
}

impl Caps {
    /// Tells whether there is any limit.
    pub fn any(self) -> bool {
        self.run_usd.is_some() || self.day_usd.is_some()
    }
}

/// More than this is no cost of one job.
const MAX_USD: f64 = 100_000.0;

/// Returns what an adapter says something cost, if it can be true.
pub fn plain_usd(usd: f64) -> Option<f64> {
    (0.0..=MAX_USD).contains(&usd).then_some(usd)
}

/// Returns an amount as the sums take it: what is less than nothing counts as nothing.
fn money(usd: f64) -> Usd {
    Usd::of(usd).or_nothing()
}

fn dollars(known: Option<&Usd>) -> f64 {
    known.copied().unwrap_or_default().dollars()
}

/// The sums of a ledger.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    spent_by_run: BTreeMap<RunId, Usd>,
    spent_by_day: BTreeMap<String, Usd>,
    reserved: BTreeMap<(RunId, JobId), Reservation>,
    /// Every attempt that a line names, and whether its money is settled.
    attempts: HashMap<Nonce, bool>,
    /// Jobs that cost more than was reserved for them, and on which day.
    higher_costs: BTreeMap<(RunId, JobId), (Usd, String)>,
    by_hand: Vec<ByHand>,
    /// A run that is asked about by itself.
    of_run: Option<OneRun>,
}

/// A run, and what was spent on it by job and by day.
type OneRun = (RunId, HashMap<JobId, Usd>, BTreeMap<String, Usd>);

/// What a person said was billed for a job.
#[derive(Debug, Clone, PartialEq)]
pub struct ByHand {
    /// The attempt whose reservation that ended.
    pub attempt_key: AttemptKey,
    /// How much.
    pub usd: f64,
    /// When it was said.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
struct Reservation {
    attempt_key: AttemptKey,
    usd: Usd,
    day: String,
    /// Whether it was taken over from an attempt that may have been billed.
    taken_over: bool,
}

/// The answer to a wish to start a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Grant {
    /// It may start; the tightest limit as it stands then, if there is one.
    Yes(Option<Level>),
    /// It may not, because of this limit as it stands now.
    No(Level),
}

/// How a limit stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Which limit.
    pub cap: CapKind,
    /// The limit.
    pub cap_usd: f64,
    /// What was spent of it.
    pub spent_usd: f64,
    /// What is set aside of it.
    pub reserved_usd: f64,
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Level", 5)?;
        fields.serialize_field("cap", &self.cap)?;
        fields.serialize_field("cap_usd", &self.cap_usd)?;
        fields.serialize_field("spent_usd", &self.spent_usd)?;
        fields.serialize_field("reserved_usd", &self.reserved_usd)?;
        fields.serialize_field("left_usd", &self.left_usd())?;
        fields.end()
    }
}

impl Level {
    /// Returns what is left of the limit.
    pub fn left_usd(&self) -> f64 {
        let committed = money(self.spent_usd) + money(self.reserved_usd);
        (money(self.cap_usd) - committed).or_nothing().dollars()
    }

    /// Returns how much of the limit is spent or set aside; 1 is all of it.
    pub fn used(&self) -> f64 {
        if self.cap_usd > 0.0 {
            (self.spent_usd + self.reserved_usd) / self.cap_usd
        } else {
            1.0
        }
    }
}

/// Which limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CapKind {
    /// The run's.
    Run,
    /// The day's.
    Day,
}

impl CapKind {
    /// Returns the word for people and logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Day => "day",
        }
    }
}

/// How the money of a run stands.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// What was spent.
    pub spent_usd: f64,
    /// What is set aside.
    pub reserved_usd: f64,
}

/// How the money of a run stands, and that of the day over all runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Balance {
    /// The run.
    pub run: Usage,
    /// Today, in UTC.
    pub day: Usage,
}

impl Balance {
    /// Returns how every limit stands, the run's first.
    pub fn levels(&self, caps: Caps) -> Vec<Level> {
        let level = |cap, cap_usd: Option<f64>, usage: Usage| {
            cap_usd.map(|cap_usd| Level {
                cap,
                cap_usd,
                spent_usd: usage.spent_usd,
                reserved_usd: usage.reserved_usd,
            })
        };
        let run = level(CapKind::Run, caps.run_usd, self.run);
        let day = level(CapKind::Day, caps.day_usd, self.day);
        run.into_iter().chain(day).collect()
    }
}

/// What becomes of a reservation when its attempt is over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bill {
    /// So much was spent, which may be nothing.
    Settled(f64),
    /// It may have been billed: the reservation stays for the next attempt.
    InDoubt,
}

impl Bill {
    /// Decides about an attempt that failed: `cost_usd` is what it cost all the
    /// same, where that is known. The next attempt re-attaches to an open purchase
    /// and ends its bill.
    pub fn of_failure(class: ErrorClass, cost_usd: Option<f64>, purchase_open: bool) -> Self {
        match cost_usd {
            _ if purchase_open => Self::InDoubt,
            Some(usd) => Self::Settled(usd),
            None if class == ErrorClass::Unknown => Self::InDoubt,
            None => Self::Settled(0.0),
        }
    }
}

impl Ledger {
    /// Returns an empty ledger that also keeps what each job of a run costs.
    pub fn by_job(run: RunId) -> Self {
        Self {
            of_run: Some((run, HashMap::new(), BTreeMap::new())),
            ..Self::default()
        }
    }

    /// Returns an empty ledger that keeps the same.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let run = self.of_run.as_ref().map(|(run, ..)| run.clone());
        run.map_or_else(Self::default, Self::by_job)
    }

    /// Returns the jobs that money was spent on, of the run that is asked about.
    pub fn spent_by_job(&self) -> impl Iterator<Item = (&JobId, Usd)> {
        let jobs = self.of_run.iter().flat_map(|(_, jobs, _)| jobs);
        jobs.map(|(job, usd)| (job, *usd))
    }

    /// Returns what was spent on that run of the money of a day in UTC.
    pub fn spent_on(&self, day: &str) -> Usd {
        let days = self.of_run.as_ref().map(|(.., days)| days);
        let spent = days.and_then(|days| days.get(day));
        spent.copied().unwrap_or_default()
    }

    /// Takes one line in. The money of an attempt is settled once, whoever tells
    /// it again.
    pub fn take(&mut self, entry: &LedgerEntry) {
        let LedgerEntry {
            at,
            attempt_key,
            change,
            by_hand,
        } = entry;
        if self.is_settled(&attempt_key.nonce) {
            return;
        }
        self.attempts.insert(attempt_key.nonce.clone(), false);
        let key = (attempt_key.run_id.clone(), attempt_key.job_id.clone());
        match *change {
            Change::Reserved { usd } => {
                let earlier = self.reserved.get(&key);
                let raised = earlier.is_some_and(|earlier| {
                    earlier.attempt_key.nonce == attempt_key.nonce && money(usd) > earlier.usd
                });
                let reservation = Reservation {
                    attempt_key: attempt_key.clone(),
                    usd: money(usd),
                    day: day_of(*at),
                    taken_over: earlier.is_some_and(|earlier| {
                        earlier.taken_over || earlier.attempt_key.nonce != attempt_key.nonce
                    }),
                };
                if raised {
                    self.note_higher_cost(&key, money(usd), *at);
                }
                self.reserved.insert(key, reservation);
            }
            Change::Settled { usd } => {
                if *by_hand {
                    let (attempt_key, at) = (attempt_key.clone(), *at);
                    self.by_hand.push(ByHand {
                        attempt_key,
                        usd,
                        at,
                    });
                }
                let usd = money(usd);
                if usd == Usd::ZERO && !by_hand && !self.may_free(attempt_key) {
                    return;
                }
                self.attempts.insert(attempt_key.nonce.clone(), true);
                let reserved = self.reserved.get(&key).map_or(Usd::ZERO, |own| own.usd);
                if usd > reserved {
                    self.note_higher_cost(&key, usd, *at);
                }
                // Money counts for the day on which it was granted.
                let day = match self.reserved.get(&key) {
                    // A bill is also that of the attempts before it.
                    Some(own)
                        if own.attempt_key.nonce == attempt_key.nonce
                            || (own.attempt_key.attempt < attempt_key.attempt
                                && usd > Usd::ZERO) =>
                    {
                        let day = own.day.clone();
                        self.reserved.remove(&key);
                        day
                    }
                    _ => day_of(*at),
                };
                if let Some((run, jobs, days)) = &mut self.of_run
                    && *run == key.0
                {
                    *jobs.entry(key.1).or_default() += usd;
                    *days.entry(day.clone()).or_default() += usd;
                }
                *self.spent_by_run.entry(key.0).or_default() += usd;
                *self.spent_by_day.entry(day).or_default() += usd;
            }
        }
    }

    fn note_higher_cost(&mut self, key: &(RunId, JobId), usd: Usd, at: Timestamp) {
        let noted = self.higher_costs.entry(key.clone()).or_default();
        *noted = (noted.0.max(usd), day_of(at));
    }

    /// Returns the jobs that cost more than was reserved for them, each
    /// with what it cost: those of a run, and those of today of every run.
    pub fn higher_costs(
        &self,
        run: &RunId,
        now: Timestamp,
    ) -> impl Iterator<Item = (&RunId, &JobId, f64)> {
        let today = day_of(now);
        let jobs = self.higher_costs.iter();
        jobs.filter(move |((of, _), (_, day))| of == run || *day == today)
            .map(|((run, job), (cost, _))| (run, job, cost.dollars()))
    }

    /// Decides whether a job that costs `price` may start. What is reserved for
    /// the same job already does not count twice.
    pub fn grant(&self, run: &RunId, job: &JobId, price: f64, caps: Caps, now: Timestamp) -> Grant {
        let others = |r: &Reservation| r.attempt_key.run_id != *run || r.attempt_key.job_id != *job;
        self.decide(run, price, caps, now, &others)
    }

    /// Decides the same where what is reserved for the job already is written off:
    /// it counts, and the price comes on top.
    pub fn grant_additional(&self, run: &RunId, price: f64, caps: Caps, now: Timestamp) -> Grant {
        self.decide(run, price, caps, now, &|_| true)
    }

    fn decide(
        &self,
        run: &RunId,
        price: f64,
        caps: Caps,
        now: Timestamp,
        counts: &dyn Fn(&Reservation) -> bool,
    ) -> Grant {
        let mut tightest: Option<Level> = None;
        for mut level in self.balance_of(run, now, counts).levels(caps) {
            let committed = money(level.spent_usd) + money(level.reserved_usd);
            if committed + money(price) > money(level.cap_usd) {
                return Grant::No(level);
            }
            level.reserved_usd = (money(level.reserved_usd) + money(price)).dollars();
            if tightest.is_none_or(|other| other.used() < level.used()) {
                tightest = Some(level);
            }
        }
        Grant::Yes(tightest)
    }

    /// Returns how the money of a run and of the day stands.
    pub fn balance(&self, run: &RunId, now: Timestamp) -> Balance {
        self.balance_of(run, now, &|_| true)
    }

    fn balance_of(
        &self,
        run: &RunId,
        now: Timestamp,
        counts: &dyn Fn(&Reservation) -> bool,
    ) -> Balance {
        let today = day_of(now);
        let reserved = |keep: &dyn Fn(&Reservation) -> bool| -> f64 {
            let kept = self.reserved.values().filter(|r| counts(r) && keep(r));
            kept.map(|r| r.usd).sum::<Usd>().dollars()
        };
        Balance {
            run: Usage {
                spent_usd: dollars(self.spent_by_run.get(run)),
                reserved_usd: reserved(&|r| r.attempt_key.run_id == *run),
            },
            day: Usage {
                spent_usd: dollars(self.spent_by_day.get(&today)),
                reserved_usd: reserved(&|r| r.day == today),
            },
        }
    }

    /// Returns how the money of a run stands.
    pub fn usage(&self, run: &RunId) -> Usage {
        let reserved = self
            .reserved
            .values()
            .filter(|r| r.attempt_key.run_id == *run);
        Usage {
            spent_usd: dollars(self.spent_by_run.get(run)),
            reserved_usd: reserved.map(|r| r.usd).sum::<Usd>().dollars(),
        }
    }

    /// Returns what is reserved for a job, if anything is.
    pub fn reserved_for(&self, run: &RunId, job: &JobId) -> Option<f64> {
        let key = (run.clone(), job.clone());
        self.reserved.get(&key).map(|r| r.usd.dollars())
    }

    /// Returns what of that counts for today.
    pub fn reserved_today(&self, run: &RunId, job: &JobId, now: Timestamp) -> Option<f64> {
        let own = self.reserved.get(&(run.clone(), job.clone()));
        let own = own.filter(|own| own.day == day_of(now));
        own.map(|own| own.usd.dollars())
    }

    /// Returns every reservation of a run, with whose it is.
    pub fn open(&self, run: &RunId) -> Vec<(AttemptKey, f64)> {
        let of_run = self
            .reserved
            .values()
            .filter(|r| r.attempt_key.run_id == *run);
        of_run
            .map(|r| (r.attempt_key.clone(), r.usd.dollars()))
            .collect()
    }

    /// Returns every reservation of any run that counts for today.
    pub fn open_today(&self, now: Timestamp) -> Vec<(AttemptKey, f64)> {
        let today = day_of(now);
        let open = self.reserved.values().filter(|r| r.day == today);
        open.map(|r| (r.attempt_key.clone(), r.usd.dollars()))
            .collect()
    }

    /// Tells whether the reservation of an attempt ends if it was not billed. That
    /// says nothing of an attempt before it whose reservation it took over.
    pub fn may_free(&self, attempt_key: &AttemptKey) -> bool {
        let key = (attempt_key.run_id.clone(), attempt_key.job_id.clone());
        let own = self.reserved.get(&key);
        own.is_some_and(|own| own.attempt_key.nonce == attempt_key.nonce && !own.taken_over)
    }

    /// Returns what people said was billed for jobs of a run, in the order in which
    /// they said it.
    pub fn by_hand(&self, run: &RunId) -> impl Iterator<Item = &ByHand> {
        let said = self.by_hand.iter();
        said.filter(move |said| said.attempt_key.run_id == *run)
    }

    /// Tells whether any line names an attempt.
    pub fn knows(&self, nonce: &Nonce) -> bool {
        self.attempts.contains_key(nonce)
    }

    /// Returns the attempts whose money is settled.
    pub fn settled(&self) -> impl Iterator<Item = &Nonce> {
        let settled = self.attempts.iter().filter(|(_, settled)| **settled);
        settled.map(|(nonce, _)| nonce)
    }

    /// Tells whether the money of an attempt is settled.
    pub fn is_settled(&self, nonce: &Nonce) -> bool {
        self.attempts.get(nonce) == Some(&true)
    }
}

fn day_of(at: Timestamp) -> String {
    at.iso().chars().take(10).collect()
}

#[cfg(test)]
mod tests;
