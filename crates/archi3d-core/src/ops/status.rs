//! `run status`: how the jobs of a run stand, how fast it goes, when it will be
//! done, what it costs, who works on it, what failed.
//!
//! Reads only, and takes no lock: every figure comes from the store that has the run.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::domain::forecast::{self, Pace, Portion, Stretch, Underway};
use crate::domain::id::{AlgoKey, RunId};
use crate::domain::job::Status;
use crate::domain::lease::{Rhythm, Verdict};
use crate::domain::money::Usd;
use crate::domain::text::{pattern_of, plural};
use crate::domain::time::Timestamp;
use crate::ops::find::JobName;
use crate::ops::money::Money;
use crate::ops::select::Spending;
use crate::ops::view::status::{
    AlgoStatus, FailedJobView, FailureGroup, Liveness, MoneyToFinish, RunStatus, RunningJobView,
};
use crate::ops::{OpsContext, OpsError, budget, submit};
use crate::platform;
use crate::store::overview::{AlgoOverview, Overview, RunningJob as Held};
use crate::store::providers::{Closable, Closure};

pub use crate::platform::FileVersion;

/// A job that takes longer than so many times the median is slow.
const SLOW: f64 = 2.0;

/// After so many missed beats a holder that lives is said to stall.
const MISSED_BEATS: u32 = 3;

/// Reads how the run stands; takes no lock and changes nothing.
pub fn run_status(context: &OpsContext, run_id: &RunId) -> Result<RunStatus, OpsError> {
    let runs = context.runs(run_id)?;
    let now = runs.now()?;
    let seen = runs.overview(run_id)?;
    // What cannot be read closes nothing.
    let all = |what| runs.closed(what).unwrap_or_default();
    let (closed, paused) = (all(Closable::Provider), all(Closable::Algo));
    let mut usual = Usual::of(&seen);
    if usual.lacks_figures(&seen) {
        // What cannot be read is told elsewhere; then the run's own times must do.
        usual.add(&seen, &runs.medians().unwrap_or_default());
    }
    let spending = Spending {
        ordered_usd: submit::limit_usd(context, run_id)?,
        ..Spending::default()
    };
    let mut status = shape(context, run_id, seen, &usual, (now, &spending));
    if budget::caps(&context.settings, &spending).any() {
        let stuck = status.algos.iter().filter_map(never_starts);
        status.warnings.extend(stuck);
    }
    status.closed = closed_here(context, closed, &status.algos);
    let of_run = |pause: &Closure| {
        let mut algos = status.algos.iter();
        algos.any(|algo| algo.algo == pause.provider.as_str())
    };
    status.paused = paused.into_iter().filter(of_run).collect();
    Ok(status)
}

/// Says which jobs wait although nothing keeps them but that nobody knows what they cost.
fn never_starts(algo: &AlgoStatus) -> Option<String> {
    let waiting = algo.counts[Status::Enqueued as usize];
    (waiting > 0 && algo.unit_usd.is_none()).then(|| {
        format!(
            "{} of algo {} of unknown price, which start under no spending limit; give it a \
             unit_price_usd in config/adapters.yaml (0 if it is free)",
            plural(waiting, "job is", "jobs are"),
            algo.algo
        )
    })
}

fn shape(
    context: &OpsContext,
    run_id: &RunId,
    seen: Overview,
    usual: &Usual,
    (now, spending): (Timestamp, &Spending),
) -> RunStatus {
    let price = |algo: &str| context.settings.algo(algo).and_then(|a| a.unit_price_usd);
    let algos: Vec<AlgoStatus> = seen
        .algos
        .iter()
        .map(|algo| AlgoStatus {
            algo: algo.algo.clone(),
            counts: algo.counts,
            rehearsed: algo.rehearsed,
            median_s: algo.took.map(|took| took.median_s),
            cost_usd: algo.spent_usd,
            unit_usd: price(&algo.algo),
        })
        .collect();
    let count = |status: Status| algos.iter().map(|algo| algo.counts[status as usize]).sum();
    let counts = Status::ALL.map(count);
    let rehearsed = algos.iter().map(|algo| algo.rehearsed).sum();
    let (pace, time_left) = usual.forecast(&seen, now);
    // What was only rehearsed, the next worker makes.
    let open = |algo: &AlgoStatus| {
        let waiting =
            [Status::Enqueued, Status::Running].map(|status| algo.counts[status as usize]);
        waiting.iter().sum::<usize>() + algo.rehearsed
    };
    let price = |algo: &AlgoStatus| Some(Usd::of(algo.unit_usd?).times(open(algo)));
    let unpriced = algos.iter().filter(|algo| algo.unit_usd.is_none());
    let money = MoneyToFinish {
        of_run: Money::of(&seen.balance, &context.settings, spending),
        to_finish_usd: algos.iter().filter_map(price).sum(),
        unpriced: unpriced.map(open).sum(),
        not_registered_usd: seen.not_registered_usd,
    };
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
        rehearsed,
        made: count(Status::Completed).saturating_sub(rehearsed),
        pace,
        time_left,
        money,
        running,
        closed: Vec::new(),
        paused: Vec::new(),
        failure_groups: group(&seen),
        failures: seen
            .failures
            .into_iter()
            .map(|job| FailedJobView {
                name: job.name,
                job_id: job.job_id,
                message: job.message,
            })
            .collect(),
        algos,
        warnings: seen.warnings,
        behind: seen.behind,
        created: seen.created,
    }
}

/// Returns the versions of the files that tell how a run stands; nothing where a fleet tells it.
pub fn files_version(context: &OpsContext, run: &RunId) -> Option<Vec<Option<FileVersion>>> {
    let (workspace, paths) = (&context.workspace, context.workspace.run(run));
    if paths.in_fleet() {
        return None;
    }
    let files = [
        workspace.registry(),
        workspace.tables().join("budget.jsonl"),
        workspace.tables().join("submissions.jsonl"),
        workspace.runs().join(".providers"),
        paths.manifest(),
        paths.state(),
        paths.state().join("journal"),
    ];
    let version = |path: std::path::PathBuf| Some(platform::version(&path.metadata().ok()?));
    Some(files.map(version).to_vec())
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
            forecast::mean(&last).or_else(|| algo.took.map(|took| took.mean_s))
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

fn running_job(job: &Held, algos: &[AlgoStatus], now: Timestamp) -> RunningJobView {
    let holder = job.holder.as_ref();
    let age = holder.and_then(|h| h.since).map(|since| now.since(since));
    let last_beat_age = holder.and_then(|h| h.last_beat).map(|beat| now.since(beat));
    let verdict = Liveness::of(holder.map(|h| h.verdict));
    let algo = &algos[job.algo];
    let late = |age: Duration| {
        let median = algo.median_s.filter(|_| verdict != Liveness::Dead);
        median.is_some_and(|median| age.as_secs_f64() > SLOW * median.max(1.0))
    };
    let patience = Rhythm::default().heartbeat * MISSED_BEATS;
    RunningJobView {
        job_id: job.job_id.clone(),
        name: JobName {
            algo: algo.algo.clone(),
            ..job.name.clone()
        },
        attempt: job.attempt,
        worker: holder.map_or_else(|| "none".into(), |h| h.worker.clone()),
        host: holder.and_then(|h| h.host.clone()),
        age,
        last_beat_age,
        verdict,
        progress: job.progress.clone(),
        slow: age.is_some_and(late),
        cancel_asked: holder.is_some_and(|h| h.cancel_asked),
        stalled: verdict == Liveness::Silent
            || (verdict == Liveness::Alive && last_beat_age.is_some_and(|age| age > patience)),
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
                name: job.name.clone(),
                last: None,
                algos: Vec::new(),
            });
        group.count += 1;
        if group.message.is_empty() || job.ended > group.last {
            group.message.clone_from(&job.message);
            group.job_id = job.job_id.clone();
            group.name.clone_from(&job.name);
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
    use crate::domain::id::JobId;
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
            name: JobName::default(),
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
