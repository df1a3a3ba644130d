//! `run status`: how the jobs of a run stand, how fast it goes, when it will be
//! done, what it costs, who works on it, what failed.
//!
//! Reads only, and takes no lock: every figure comes from the registry, the names
//! of the markers, the leases of running jobs and the ledger.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use crate::domain::forecast::{self, Pace, Portion, Stretch, Underway};
use crate::domain::id::{AlgoKey, JobId, RunId};
use crate::domain::job::Status;
use crate::domain::lease::{Rhythm, Verdict};
use crate::domain::text::pattern_of;
use crate::domain::time::Timestamp;
use crate::ops::find::{JobName, JobNames, job_names};
use crate::ops::money::{self, Money};
use crate::ops::plan::past_medians;
use crate::ops::{OpsContext, OpsError, budget};
use crate::store::csv;
use crate::store::overview::{AlgoOverview, Overview, RunningJob as Held};
use crate::workspace::provider::{Closure, ProviderGate};

pub use crate::store::Progress;

/// A job that takes longer than so many times the median is slow.
const SLOW: f64 = 2.0;

/// After so many missed beats a holder that lives is said to stall.
const MISSED_BEATS: u32 = 3;

/// How a run stands.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStatus {
    /// The run.
    pub run_id: RunId,
    /// When this was read.
    pub at: Timestamp,
    /// How many jobs are in each state.
    pub counts: BTreeMap<Status, usize>,
    /// How many jobs there are.
    pub total: usize,
    /// Jobs whose row has a status that is not ours; in no count.
    pub unknown_status: usize,
    /// Jobs of the manifest that have no row; in no count.
    pub without_row: usize,
    /// Of the completed, those that were only rehearsed.
    pub rehearsed: usize,
    /// The same, by algorithm.
    pub algos: Vec<AlgoStatus>,
    /// How fast it goes, if anything ended lately.
    pub pace: Option<Pace>,
    /// How long the rest takes at this pace; nothing if nobody works or nothing
    /// is known yet.
    pub time_left: Option<Duration>,
    /// The money of the run.
    pub money: Money,
    /// What waits or runs costs so much, as far as prices are known.
    pub to_finish_usd: f64,
    /// Jobs that wait or run and have no known price.
    pub to_finish_unpriced: usize,
    /// The jobs that somebody works on, or worked on when it died.
    pub running: Vec<RunningJob>,
    /// Providers that are closed, which keeps jobs from starting.
    pub closed: Vec<Closure>,
    /// Its algorithms that a breaker has paused for workers that run.
    pub paused: Vec<Closure>,
    /// A worker of this machine is there, whether or not it holds a job.
    pub worker_lives: bool,
    /// The jobs that ended without a result.
    pub failures: Vec<FailedJob>,
    /// The same, grouped by what they say, the most first.
    pub failure_groups: Vec<FailureGroup>,
    /// What the jobs named above are known by.
    pub names: JobNames,
    /// What looked wrong while reading, one sentence each.
    pub warnings: Vec<String>,
}

/// The jobs of one algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct AlgoStatus {
    /// Its key, as the tables have it.
    pub algo: String,
    /// How many jobs are in each state, by [`Status::ALL`].
    pub counts: [usize; Status::ALL.len()],
    /// Of the completed, those that were only rehearsed.
    pub rehearsed: usize,
    /// Half of its completed jobs took no longer than this.
    pub median_s: Option<f64>,
    /// What its results cost by their rows, in dollars.
    pub cost_usd: f64,
    /// What one costs by the configuration.
    pub unit_usd: Option<f64>,
}

/// A job that somebody holds.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningJob {
    /// The job.
    pub job_id: JobId,
    /// Its algorithm.
    pub algo: String,
    /// Which attempt it is.
    pub attempt: u32,
    /// Who holds it.
    pub worker: String,
    /// On which machine, if known.
    pub host: Option<String>,
    /// How long it has been held.
    pub age: Option<Duration>,
    /// How long ago its holder last showed that it lives.
    pub last_beat_age: Option<Duration>,
    /// Whether the holder lives, in a word.
    pub verdict: &'static str,
    /// How far it is, as of the last beat.
    pub progress: Option<Progress>,
    /// It has run for more than twice the median of its algorithm.
    pub slow: bool,
    /// Its holder counts as alive but has not beaten for a while.
    pub stalled: bool,
    /// Somebody asked for it to be stopped.
    pub cancel_asked: bool,
}

/// A job that ended without a result.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedJob {
    /// The job.
    pub job_id: JobId,
    /// Why, on one line.
    pub message: String,
}

/// Failures that say the same but for names and numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct FailureGroup {
    /// How many.
    pub count: usize,
    /// What the newest of them says.
    pub message: String,
    /// The newest of them.
    pub job_id: JobId,
    /// When that was, if known.
    pub last: Option<Timestamp>,
    /// The algorithms concerned.
    pub algos: Vec<String>,
}

impl RunStatus {
    /// Returns how many jobs have this status.
    pub fn count(&self, status: Status) -> usize {
        self.counts.get(&status).copied().unwrap_or(0)
    }

    /// Returns how many jobs have a result that is more than a rehearsal.
    pub fn made(&self) -> usize {
        self.count(Status::Completed).saturating_sub(self.rehearsed)
    }

    /// Returns what a job is known by.
    pub fn name(&self, job: &JobId) -> JobName {
        self.names.get(job).cloned().unwrap_or_default()
    }

    /// Tells whether nothing happens any more by itself: nobody works, and
    /// nothing waits or nobody is there to do it.
    pub fn is_over(&self) -> bool {
        let waits = self.count(Status::Enqueued) > 0;
        let works = self.running.iter().any(|job| job.verdict != "dead");
        !works && !waits
    }
}

/// Reads how the run stands; takes no lock and changes nothing.
pub fn run_status(context: &OpsContext, run_id: &RunId) -> Result<RunStatus, OpsError> {
    let now = context.clock.now();
    let caps = budget::caps(&context.settings, None);
    let (seen, money) = rayon::join(
        || csv::overview(&context.workspace, run_id, Rhythm::default(), now),
        || money::of_run(context, run_id, caps, now),
    );
    let (seen, money) = (seen?, money?);
    let gate = ProviderGate::new(&context.workspace);
    // A folder that cannot be read closes nothing.
    let closed = gate.all_closed(now).unwrap_or_default();
    let breakers = ProviderGate::breakers(&context.workspace);
    let paused = breakers.all_closed(now).unwrap_or_default();
    let mut status = shape(context, run_id, seen, money, closed, now);
    let of_run = |pause: &Closure| {
        let mut algos = status.algos.iter();
        algos.any(|algo| algo.algo == pause.provider.as_str())
    };
    status.paused = paused.into_iter().filter(of_run).collect();
    let running = status.running.iter().map(|job| &job.job_id);
    let failed = status.failures.iter().map(|job| &job.job_id);
    let named: HashSet<&JobId> = running.chain(failed).collect();
    if !named.is_empty() {
        status.names = job_names(context, run_id, |id| named.contains(id));
    }
    Ok(status)
}

fn shape(
    context: &OpsContext,
    run_id: &RunId,
    seen: Overview,
    money: Money,
    closed: Vec<Closure>,
    now: Timestamp,
) -> RunStatus {
    let price = |algo: &str| context.settings.algo(algo).and_then(|a| a.unit_price_usd);
    let mut usual = Usual::of(&seen);
    if usual.lacks_figures(&seen) {
        // What cannot be read is told elsewhere; then the run's own times must do.
        usual.add(&seen, &past_medians(context, &mut Vec::new()));
    }
    let algos: Vec<AlgoStatus> = seen
        .algos
        .iter()
        .map(|algo| AlgoStatus {
            algo: algo.algo.clone(),
            counts: algo.counts,
            rehearsed: algo.rehearsed,
            median_s: forecast::median(&mut algo.took_s.clone()),
            cost_usd: algo.cost_micros as f64 / 1e6,
            unit_usd: price(&algo.algo),
        })
        .collect();
    let mut counts = BTreeMap::new();
    for algo in &algos {
        for status in Status::ALL {
            if algo.counts[status as usize] > 0 {
                *counts.entry(status).or_default() += algo.counts[status as usize];
            }
        }
    }
    let (pace, time_left) = usual.forecast(&seen, now);
    // What was only rehearsed, the next worker makes.
    let open = |algo: &AlgoStatus| {
        let waiting =
            [Status::Enqueued, Status::Running].map(|status| algo.counts[status as usize]);
        waiting.iter().sum::<usize>() + algo.rehearsed
    };
    // The sum of no floats is -0.0, which people would read as a refund.
    let micros: f64 = algos
        .iter()
        .filter_map(|algo| Some((algo.unit_usd? * 1e6).round() * open(algo) as f64))
        .fold(0.0, |sum, micros| sum + micros);
    let unpriced = algos.iter().filter(|algo| algo.unit_usd.is_none());
    let to_finish_unpriced = unpriced.map(open).sum();
    let running = seen
        .running
        .iter()
        .map(|job| running_job(job, &algos, now))
        .collect();
    RunStatus {
        run_id: run_id.clone(),
        at: now,
        counts,
        total: seen.total,
        unknown_status: seen.unknown_status,
        without_row: seen.without_row,
        worker_lives: seen.worker_lives,
        rehearsed: seen.algos.iter().map(|algo| algo.rehearsed).sum(),
        pace,
        time_left,
        money,
        to_finish_usd: micros / 1e6,
        to_finish_unpriced,
        running,
        closed: closed_here(context, closed, &algos),
        paused: Vec::new(),
        failure_groups: group(&seen),
        failures: seen
            .failures
            .into_iter()
            .map(|job| FailedJob {
                job_id: job.job_id,
                message: job.message,
            })
            .collect(),
        algos,
        names: JobNames::new(),
        warnings: seen.warnings,
    }
}

/// Leaves out providers that no algorithm of the run uses.
fn closed_here(context: &OpsContext, closed: Vec<Closure>, algos: &[AlgoStatus]) -> Vec<Closure> {
    let used: Vec<AlgoKey> = algos
        .iter()
        .filter_map(|algo| context.settings.algo(&algo.algo))
        .filter_map(|settings| crate::ops::adapters::provider_of(settings).ok())
        .collect();
    let mut closed = closed;
    closed.retain(|closure| used.contains(&closure.provider));
    closed
}

/// How long jobs take, by algorithm, in seconds.
struct Usual {
    /// Judged by the jobs that ended last.
    of_algo: Vec<Option<f64>>,
    of_all: Option<f64>,
    /// Whether only rehearsals ended lately.
    rehearsal: bool,
}

impl Usual {
    fn of(seen: &Overview) -> Self {
        let rehearsal = seen.recent.iter().all(|job| job.simulated);
        let recent = seen.recent.iter();
        let counted: Vec<_> = recent.filter(|job| job.simulated == rehearsal).collect();
        let of_algo = |(place, algo): (usize, &AlgoOverview)| {
            let last: Vec<f64> = counted
                .iter()
                .filter(|job| job.algo == place)
                .map(|job| job.took_s)
                .collect();
            // The mean, not the median: it is the sum of all that is asked for.
            forecast::mean(&last).or_else(|| forecast::mean(&algo.took_s))
        };
        let all: Vec<f64> = counted.iter().map(|job| job.took_s).collect();
        Self {
            of_algo: seen.algos.iter().enumerate().map(of_algo).collect(),
            of_all: forecast::mean(&all),
            rehearsal,
        }
    }

    /// Tells whether jobs of an algorithm are to come of which none has ended in this run.
    fn lacks_figures(&self, seen: &Overview) -> bool {
        let to_come = |place: usize, algo: &AlgoOverview| {
            algo.count(Status::Enqueued) > 0 || seen.running.iter().any(|job| job.algo == place)
        };
        let mut algos = seen.algos.iter().enumerate();
        !self.rehearsal
            && !seen.running.is_empty()
            && algos.any(|(place, algo)| self.of_algo[place].is_none() && to_come(place, algo))
    }

    /// Adds how long jobs took in other runs, where this one does not tell.
    fn add(&mut self, seen: &Overview, past: &HashMap<String, f64>) {
        for (known, algo) in self.of_algo.iter_mut().zip(&seen.algos) {
            *known = known.or_else(|| past.get(&algo.algo).copied());
        }
    }

    fn each_s(&self, algo: usize) -> Option<f64> {
        self.of_algo[algo].or(self.of_all)
    }

    /// Returns the pace of the run and how long the rest takes.
    fn forecast(&self, seen: &Overview, now: Timestamp) -> (Option<Pace>, Option<Duration>) {
        let ago = |at: Timestamp| now.since(at).as_secs_f64();
        let counted = seen.recent.iter().filter(|j| j.simulated == self.rehearsal);
        let ended: Vec<Stretch> = counted
            .map(|job| Stretch {
                began_ago: ago(job.ended) + job.took_s,
                ended_ago: ago(job.ended),
            })
            .collect();
        let live = seen.running.iter().filter_map(|job| {
            let holder = job.holder.as_ref().filter(|h| h.verdict != Verdict::Dead)?;
            Some((job.algo, ago(holder.since?)))
        });
        let live: Vec<(usize, f64)> = live.collect();
        let running: Vec<Stretch> = live
            .iter()
            .map(|(_, age)| Stretch {
                began_ago: *age,
                ended_ago: 0.0,
            })
            .collect();
        let pace = forecast::pace(&ended, &running);
        if live.is_empty() {
            return (pace, None);
        }
        let waiting = seen.algos.iter().enumerate().map(|(place, algo)| {
            let jobs = algo.count(Status::Enqueued);
            let each_s = if jobs == 0 {
                Some(0.0)
            } else {
                self.each_s(place)
            };
            Some(Portion {
                jobs,
                each_s: each_s?,
                at_once: None,
                per_min: None,
            })
        });
        let underway = live.iter().map(|(algo, age_s)| {
            Some(Underway {
                age_s: *age_s,
                usual_s: self.each_s(*algo)?,
            })
        });
        let waiting: Option<Vec<Portion>> = waiting.collect();
        let underway: Option<Vec<Underway>> = underway.collect();
        let parallel = forecast::at_work(pace, self.of_all, live.len());
        let left = waiting
            .zip(underway)
            .map(|(waiting, underway)| forecast::time_left(&waiting, &underway, parallel));
        (pace, left)
    }
}

fn running_job(job: &Held, algos: &[AlgoStatus], now: Timestamp) -> RunningJob {
    let holder = job.holder.as_ref();
    let age = holder.and_then(|h| h.since).map(|since| now.since(since));
    let last_beat_age = holder.and_then(|h| h.last_beat).map(|beat| now.since(beat));
    let verdict = match holder.map(|h| h.verdict) {
        Some(Verdict::Alive) => "alive",
        Some(Verdict::Watch(_)) => "silent",
        Some(Verdict::Dead) | None => "dead",
    };
    let algo = &algos[job.algo];
    let late = |age: Duration| {
        let median = algo.median_s.filter(|_| verdict != "dead");
        median.is_some_and(|median| age.as_secs_f64() > SLOW * median.max(1.0))
    };
    let patience = Rhythm::default().heartbeat * MISSED_BEATS;
    RunningJob {
        job_id: job.job_id.clone(),
        algo: algo.algo.clone(),
        attempt: job.attempt,
        worker: holder.map_or_else(|| "nobody".into(), |h| h.worker.clone()),
        host: holder.and_then(|h| h.host.clone()),
        age,
        last_beat_age,
        verdict,
        progress: job.progress.clone(),
        slow: age.is_some_and(late),
        cancel_asked: holder.is_some_and(|h| h.cancel_asked),
        stalled: verdict == "silent"
            || (verdict == "alive" && last_beat_age.is_some_and(|age| age > patience)),
    }
}

/// Groups failures that say the same but for names and numbers.
fn group(seen: &Overview) -> Vec<FailureGroup> {
    let mut groups: BTreeMap<String, FailureGroup> = BTreeMap::new();
    for job in &seen.failures {
        let algo = &seen.algos[job.algo].algo;
        let group = groups
            .entry(pattern_of(&job.message))
            .or_insert_with(|| FailureGroup {
                count: 0,
                message: String::new(),
                job_id: job.job_id.clone(),
                last: None,
                algos: Vec::new(),
            });
        group.count += 1;
        if group.message.is_empty() || job.ended > group.last {
            group.message.clone_from(&job.message);
            group.job_id = job.job_id.clone();
            group.last = job.ended;
        }
        if !group.algos.contains(algo) {
            group.algos.push(algo.clone());
        }
    }
    let mut groups: Vec<FailureGroup> = groups.into_values().collect();
    groups.sort_by(|a, b| b.count.cmp(&a.count).then(b.last.cmp(&a.last)));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::overview::EndedJob;

    fn algo(name: &str, waiting: usize) -> AlgoOverview {
        let mut algo = AlgoOverview {
            algo: name.to_owned(),
            ..AlgoOverview::default()
        };
        algo.counts[Status::Enqueued as usize] = waiting;
        algo
    }

    #[test]
    fn an_algorithm_that_has_not_run_here_takes_as_long_as_elsewhere() {
        let now = Timestamp::parse("2026-01-01T00:00:10Z").expect("valid");
        let mut seen = Overview {
            algos: vec![algo("quick", 0), algo("slow", 8)],
            recent: vec![EndedJob {
                algo: 0,
                ended: now,
                took_s: 0.1,
                simulated: false,
            }],
            ..Overview::default()
        };
        let mut usual = Usual::of(&seen);
        assert!(!usual.lacks_figures(&seen), "nobody works, nothing is due");
        seen.running.push(Held {
            job_id: JobId::parse("j").expect("valid"),
            algo: 1,
            attempt: 1,
            holder: None,
            progress: None,
        });
        assert!(usual.lacks_figures(&seen));
        let past = HashMap::from([("slow".to_owned(), 6.0), ("quick".to_owned(), 9.0)]);
        usual.add(&seen, &past);
        assert_eq!((usual.each_s(0), usual.each_s(1)), (Some(0.1), Some(6.0)));
    }
}
