//! How long a worker's jobs take and how long the rest will, by the arithmetic of
//! `run status`: copies tell nothing of how long making takes.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use archi3d_core::domain::forecast::{self, Portion, Stretch, Underway};
use archi3d_core::domain::id::JobId;
use archi3d_core::engine::event::EventKind;

/// So many of the latest endings tell the pace.
const RECENT: usize = 200;

/// What a worker has done so far and does now.
#[derive(Debug, Default)]
pub(super) struct Course {
    total: usize,
    over: usize,
    /// How many jobs of each algorithm are not over, as far as it is known.
    of_algo: BTreeMap<String, usize>,
    running: HashMap<JobId, (String, Instant)>,
    copied: HashSet<JobId>,
    /// The algorithms, the end and the seconds of jobs that were made or failed.
    ended: VecDeque<(String, Instant, f64)>,
}

impl Course {
    pub(super) fn take(&mut self, kind: &EventKind, now: Instant) {
        match kind {
            EventKind::WorkerStarted(started) => {
                let all = started.total_jobs;
                self.of_algo.clone_from(&started.jobs_of_algo);
                self.total = started.limit.map_or(all, |limit| limit.min(all));
            }
            EventKind::JobStarted { job_id, algo, .. } => {
                self.running.insert(job_id.clone(), (algo.clone(), now));
            }
            EventKind::JobReused { job_id, .. } => drop(self.copied.insert(job_id.clone())),
            EventKind::JobCompleted { job_id, .. } | EventKind::JobFailed { job_id, .. } => {
                self.over += 1;
                let copied = self.copied.remove(job_id);
                let begun = self.remove(job_id);
                if let Some((algo, since)) = begun.filter(|_| !copied) {
                    let took_s = now.duration_since(since).as_secs_f64();
                    self.ended.push_back((algo, now, took_s));
                    self.ended.drain(..self.ended.len().saturating_sub(RECENT));
                }
            }
            EventKind::JobCancelled { job_id } | EventKind::JobFenced { job_id, .. } => {
                self.over += 1;
                self.remove(job_id);
            }
            EventKind::JobReleased { job_id, .. } | EventKind::JobPutOff { job_id, .. } => {
                self.running.remove(job_id);
            }
            EventKind::JobBusy { .. } => self.over += 1,
            _ => {}
        }
    }

    /// Notes that a job is over; returns its algorithm and when it began.
    fn remove(&mut self, job: &JobId) -> Option<(String, Instant)> {
        let begun = self.running.remove(job);
        if let Some((algo, _)) = &begun
            && let Some(left) = self.of_algo.get_mut(algo)
        {
            *left = left.saturating_sub(1);
        }
        begun
    }

    /// Returns the jobs that wait, by algorithm, `left` of them in all. What other workers
    /// took or a limit leaves out is taken to be of all algorithms alike.
    fn waiting(&self, left: usize, each_s: impl Fn(&str) -> f64, mean: f64) -> Vec<Portion> {
        let portion = |jobs, each_s| Portion {
            jobs,
            each_s,
            at_once: None,
            per_min: None,
        };
        let known = self.of_algo.iter().map(|(algo, jobs)| {
            let running = self.running.values().filter(|(of, _)| of == algo);
            (algo, jobs.saturating_sub(running.count()))
        });
        let known: Vec<(&String, usize)> = known.filter(|(_, jobs)| *jobs > 0).collect();
        let all: usize = known.iter().map(|(_, jobs)| jobs).sum();
        if all == 0 {
            return vec![portion(left, mean)];
        }
        let share = left as f64 / all as f64;
        let known = known.into_iter();
        known
            .map(|(algo, jobs)| portion(jobs, each_s(algo) * share))
            .collect()
    }

    /// Guesses how long the rest takes; nothing can be told before something was made.
    pub(super) fn time_left(&self, now: Instant) -> Option<Duration> {
        let ago = |at: Instant| now.duration_since(at).as_secs_f64();
        let all: Vec<f64> = self.ended.iter().map(|(_, _, took_s)| *took_s).collect();
        let mean = forecast::mean(&all)?;
        let left = self.total.checked_sub(self.over).filter(|left| *left > 0)?;
        let of_algo = |algo: &str| {
            let own = self.ended.iter().filter(|(of, ..)| of == algo);
            let own: Vec<f64> = own.map(|(_, _, took_s)| *took_s).collect();
            forecast::mean(&own).unwrap_or(mean)
        };
        let ended: Vec<Stretch> = self
            .ended
            .iter()
            .map(|(_, at, took_s)| Stretch {
                began_ago: ago(*at) + took_s,
                ended_ago: ago(*at),
            })
            .collect();
        let (mut running, mut underway) = (Vec::new(), Vec::new());
        for (algo, since) in self.running.values() {
            running.push(Stretch {
                began_ago: ago(*since),
                ended_ago: 0.0,
            });
            underway.push(Underway {
                age_s: ago(*since),
                usual_s: of_algo(algo),
            });
        }
        let waiting = self.waiting(left.saturating_sub(running.len()), of_algo, mean);
        let pace = forecast::pace(&ended, &running);
        let parallel = forecast::at_work(pace, Some(mean), running.len());
        Some(forecast::time_left(&waiting, &underway, parallel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archi3d_core::domain::id::RunId;
    use archi3d_core::domain::job::Entry;
    use archi3d_core::engine::event::WorkerStarted;

    fn job(number: usize) -> JobId {
        JobId::parse(&format!("job-{number}")).expect("valid")
    }

    fn started(number: usize) -> EventKind {
        EventKind::JobStarted {
            job_id: job(number),
            attempt: 1,
            algo: "mock".into(),
            entry: Entry::Fresh,
        }
    }

    fn completed(number: usize) -> EventKind {
        EventKind::JobCompleted {
            job_id: job(number),
            duration: Duration::ZERO,
            object: String::new(),
            previews: vec![],
            simulated: false,
        }
    }

    #[test]
    fn copies_leave_the_forecast_alone() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut course = Course::default();
        let begin = WorkerStarted {
            total_jobs: 100,
            ..WorkerStarted::default()
        };
        course.take(&EventKind::WorkerStarted(Box::new(begin)), start);
        for number in 0..50 {
            course.take(&started(number), start);
            course.take(
                &EventKind::JobReused {
                    job_id: job(number),
                    attempt: 1,
                    from_run: RunId::parse("r0").expect("valid"),
                    from_job: job(number),
                },
                start,
            );
            course.take(&completed(number), start);
        }
        assert_eq!(course.time_left(start), None, "nothing was made yet");
        for number in 50..60 {
            let place = number as u64 - 50;
            course.take(&started(number), at(60 * place));
            course.take(&completed(number), at(60 * (place + 1)));
        }
        course.take(&started(60), at(600));
        let left = course.time_left(at(600)).expect("ten were made");
        let seconds = left.as_secs();
        assert!((2300..=2500).contains(&seconds), "{seconds}");
    }

    #[test]
    fn what_waits_is_judged_by_its_own_algorithm() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut course = Course::default();
        let counts = [("mock", 11), ("slow", 3)];
        let begin = WorkerStarted {
            total_jobs: 14,
            jobs_of_algo: counts.map(|(algo, jobs)| (algo.to_owned(), jobs)).into(),
            ..WorkerStarted::default()
        };
        course.take(&EventKind::WorkerStarted(Box::new(begin)), start);
        for number in 0..10 {
            let place = number as u64;
            course.take(&started(number), at(20 * place));
            course.take(&completed(number), at(20 * (place + 1)));
        }
        let slow = |number: usize| EventKind::JobStarted {
            job_id: job(number),
            attempt: 1,
            algo: "slow".into(),
            entry: Entry::Fresh,
        };
        course.take(&slow(10), at(200));
        course.take(&completed(10), at(800));
        course.take(&slow(11), at(800));
        // One of 20 s and two of 600 s, as `run status` would say: not 3 of the mean.
        let left = course.time_left(at(800)).expect("eleven were made");
        assert!((1200..=1240).contains(&left.as_secs()), "{left:?}");
    }
}
