//! How long work takes, judged by how long it took: medians, pace, time left.
//!
//! `run plan` and `run status` ask here. Pure arithmetic on seconds: nothing
//! reads a clock, a table or a setting, and an unknown stays unknown.

use std::time::Duration;

use serde::Serialize;

/// Returns the middle value; of an even number, the mean of the two in the middle.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], upper)
    } else {
        upper
    })
}

/// Returns the mean, if there is anything to take it of.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// One job's time at work, in seconds before now; the end is the smaller number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// How long ago it began.
    pub began_ago: f64,
    /// How long ago it ended; zero if it goes on.
    pub ended_ago: f64,
}

/// How fast a run goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Pace {
    /// Jobs that end in an hour.
    #[serde(rename = "jobs_per_hour")]
    pub per_hour: f64,
    /// How many jobs are at work at once, on average.
    pub parallel: f64,
    /// The time this was seen over, in seconds.
    pub window_s: f64,
}

/// Judges the pace by the jobs that ended last and those that run. The window
/// reaches back to the oldest of these endings, but not over a pause in which
/// nobody worked; what one worker does between two jobs lowers `parallel`.
pub fn pace(ended: &[Stretch], running: &[Stretch]) -> Option<Pace> {
    let ended = since_last_pause(ended, running);
    let window_s = ended.iter().map(|job| job.ended_ago).fold(0.0, f64::max);
    if window_s <= 0.0 {
        return None;
    }
    // The oldest ending opens the window, so it is not counted in it.
    let inside = ended.iter().filter(|job| job.ended_ago < window_s).count();
    let busy: f64 = ended
        .iter()
        .chain(running)
        .map(|job| (job.began_ago.min(window_s) - job.ended_ago).max(0.0))
        .sum();
    Some(Pace {
        per_hour: inside as f64 / window_s * 3600.0,
        parallel: busy / window_s,
        window_s,
    })
}

/// Returns the endings since nobody worked for long: eight times as long as
/// usually passes between two endings, and at least five seconds.
fn since_last_pause(ended: &[Stretch], running: &[Stretch]) -> Vec<Stretch> {
    let mut ended = ended.to_vec();
    ended.sort_unstable_by(|a, b| a.ended_ago.total_cmp(&b.ended_ago));
    let gaps = ended
        .windows(2)
        .map(|two| two[1].ended_ago - two[0].ended_ago);
    let usual = median(&mut gaps.collect::<Vec<f64>>()).unwrap_or_default();
    let patience = (8.0 * usual).max(5.0);
    let mut reach = running.iter().map(|job| job.began_ago).fold(0.0, f64::max);
    let mut first = true;
    let until = ended.iter().position(|job| {
        // How long ago the last one ended is no pause: it may be the end.
        let paused = !(first && running.is_empty()) && job.ended_ago > reach + patience;
        first = false;
        reach = reach.max(job.began_ago);
        paused
    });
    ended.truncate(until.unwrap_or(ended.len()));
    ended
}

/// Jobs of one kind that are still to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Portion {
    /// How many.
    pub jobs: usize,
    /// How long one takes, in seconds.
    pub each_s: f64,
    /// At most so many at once.
    pub at_once: Option<usize>,
    /// At most so many starts a minute.
    pub per_min: Option<f64>,
}

/// Returns how long `portions` take when `parallel` jobs run at once: never
/// less than the longest single job, nor than what the limits allow.
pub fn time_for(portions: &[Portion], parallel: f64) -> Duration {
    let parallel = parallel.max(1e-3);
    let work: f64 = portions.iter().map(|p| p.jobs as f64 * p.each_s).sum();
    let held_up = portions.iter().filter(|p| p.jobs > 0).map(|p| {
        let lanes = p.at_once.map_or(f64::INFINITY, |n| n.max(1) as f64);
        let in_lanes = p.jobs as f64 * p.each_s / lanes;
        let starts = p.per_min.filter(|rate| *rate > 0.0);
        let to_start = starts.map_or(0.0, |rate| (p.jobs as f64 - 1.0) / rate * 60.0);
        in_lanes.max(to_start + p.each_s)
    });
    seconds(held_up.fold(work / parallel, f64::max))
}

/// A job that runs: for how long, and how long its like take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Underway {
    /// For how long it has run, in seconds.
    pub age_s: f64,
    /// How long such a job takes, in seconds.
    pub usual_s: f64,
}

impl Underway {
    /// Returns how long it will go on. A job that is late is taken to need a
    /// tenth of its usual time more: it cannot be told better.
    fn left_s(self) -> f64 {
        (self.usual_s - self.age_s).max(self.usual_s / 10.0)
    }
}

/// Returns how many jobs are at work at once, by the pace, how long a job takes and
/// how many run now. Long jobs are simply counted: a worker that joined a minute ago
/// works already. Short ones would be missed between two jobs, so for them the time
/// at work decides, once it was seen for longer than a few jobs take. Whoever waits
/// for the rest of a run has somebody at work on it.
pub fn at_work(pace: Option<Pace>, mean_s: Option<f64>, live: usize) -> f64 {
    const LONG_S: f64 = 10.0;
    const FEW: f64 = 3.0;
    let seen = pace.zip(mean_s).filter(|(pace, mean)| {
        *mean < LONG_S && pace.window_s >= FEW * mean && pace.parallel > 0.0
    });
    seen.map_or(live.max(1) as f64, |(pace, _)| pace.parallel)
}

/// Returns how long the rest of a run takes at the pace given.
pub fn time_left(waiting: &[Portion], underway: &[Underway], parallel: f64) -> Duration {
    let mut portions = waiting.to_vec();
    portions.extend(underway.iter().map(|job| Portion {
        jobs: 1,
        each_s: job.left_s(),
        at_once: None,
        per_min: None,
    }));
    time_for(&portions, parallel)
}

/// Returns a number of seconds as a duration; what is no time is none.
pub fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn portion(jobs: usize, each_s: f64) -> Portion {
        Portion {
            jobs,
            each_s,
            at_once: None,
            per_min: None,
        }
    }

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn a_worker_that_pauses_between_jobs_counts_as_less_than_one() {
        // Jobs of 6 s, one every 10 s.
        let ended: Vec<Stretch> = (0..=10)
            .map(|n| Stretch {
                began_ago: f64::from(n) * 10.0 + 6.0,
                ended_ago: f64::from(n) * 10.0,
            })
            .collect();
        let pace = pace(&ended, &[]).expect("there were endings");
        assert!((pace.per_hour - 360.0).abs() < 1e-9, "{pace:?}");
        assert!((pace.parallel - 0.6).abs() < 1e-9, "{pace:?}");
    }

    #[test]
    fn a_pause_of_the_workers_is_not_part_of_the_pace() {
        let job = |n: f64| Stretch {
            began_ago: n * 10.0 + 10.0,
            ended_ago: n * 10.0,
        };
        let now: Vec<Stretch> = (0..=10).map(|n| job(f64::from(n))).collect();
        let mut with_yesterday = now.clone();
        with_yesterday.extend((8640..8650).map(|n| job(f64::from(n))));
        assert_eq!(pace(&with_yesterday, &[]), pace(&now, &[]));
    }

    #[test]
    fn after_the_first_job_the_workers_are_counted() {
        let first = Stretch {
            began_ago: 0.21,
            ended_ago: 0.01,
        };
        // Between two jobs nothing runs, and a moment later the next one has just begun.
        for running in [
            vec![],
            vec![Stretch {
                began_ago: 0.001,
                ended_ago: 0.0,
            }],
        ] {
            let pace = pace(&[first], &running);
            let parallel = at_work(pace, Some(0.2), running.len());
            let left = time_left(&[portion(39, 0.2)], &[], parallel);
            assert!(left < Duration::from_secs(9), "{left:?}");
        }
    }

    #[test]
    fn without_endings_there_is_no_pace() {
        assert_eq!(pace(&[], &[]), None);
    }

    #[test]
    fn limits_hold_work_up_but_never_speed_it_up() {
        let free = portion(100, 10.0);
        assert_eq!(time_for(&[free], 10.0), Duration::from_secs(100));
        let lanes = Portion {
            at_once: Some(2),
            ..free
        };
        assert_eq!(time_for(&[lanes], 10.0), Duration::from_secs(500));
        let rate = Portion {
            per_min: Some(2.0),
            ..free
        };
        assert_eq!(time_for(&[rate], 10.0), Duration::from_secs(99 * 30 + 10));
        assert_eq!(
            time_for(&[portion(1, 60.0), portion(4, 1.0)], 8.0),
            Duration::from_mins(1)
        );
        assert_eq!(time_for(&[], 8.0), Duration::ZERO);
    }

    /// A run of two algorithms with uneven jobs on four threads, stopped after
    /// `done` of its jobs; returns the guess and what the rest really took.
    fn synthetic(jobs: usize, done: usize, seed: u64) -> (f64, f64) {
        let mut state = seed.wrapping_mul(2).wrapping_add(1);
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 33) as f64) / f64::from(1u32 << 31)
        };
        let lengths: Vec<(usize, f64)> = (0..jobs)
            .map(|n| {
                let typical = if n % 3 == 0 { 120.0 } else { 30.0 };
                // Skewed, as generations are: most near the middle, some thrice as long.
                let skew = 0.6 + 0.4 * random() + if random() < 0.1 { 2.0 } else { 0.0 };
                (usize::from(n % 3 == 0), typical * skew)
            })
            .collect();
        let mut threads = [0.0f64; 4];
        let mut spans = Vec::new();
        for (algo, length) in &lengths {
            let thread = threads
                .iter_mut()
                .min_by(|a, b| a.total_cmp(b))
                .expect("four threads");
            spans.push((*algo, *thread, *thread + length));
            // A little time passes between two jobs.
            *thread += length + 0.5;
        }
        let end = spans.iter().map(|s| s.2).fold(0.0, f64::max);
        let mut ends: Vec<f64> = spans.iter().map(|s| s.2).collect();
        ends.sort_unstable_by(f64::total_cmp);
        let now = ends[done];
        (guess(&spans, now), end - now)
    }

    fn guess(spans: &[(usize, f64, f64)], now: f64) -> f64 {
        let ended: Vec<_> = spans.iter().filter(|s| s.2 <= now).collect();
        let usual = |algo: usize| {
            let took: Vec<f64> = ended
                .iter()
                .filter(|s| s.0 == algo)
                .map(|s| s.2 - s.1)
                .collect();
            mean(&took).expect("each has ended once")
        };
        let running: Vec<_> = spans.iter().filter(|s| s.1 <= now && s.2 > now).collect();
        let stretch = |s: &&(usize, f64, f64)| Stretch {
            began_ago: now - s.1,
            ended_ago: (now - s.2).max(0.0),
        };
        let pace = pace(
            &ended.iter().map(&stretch).collect::<Vec<_>>(),
            &running.iter().map(stretch).collect::<Vec<_>>(),
        );
        let waiting: Vec<Portion> = (0..2)
            .map(|algo| {
                let jobs = spans.iter().filter(|s| s.0 == algo && s.1 > now).count();
                portion(jobs, usual(algo))
            })
            .collect();
        let underway: Vec<Underway> = running
            .iter()
            .map(|s| Underway {
                age_s: now - s.1,
                usual_s: usual(s.0),
            })
            .collect();
        let parallel = pace.expect("jobs have ended").parallel;
        time_left(&waiting, &underway, parallel).as_secs_f64()
    }

    #[test]
    fn after_a_fifth_of_a_run_the_rest_is_known_within_a_fifth() {
        for seed in 0..50 {
            let (guess, truth) = synthetic(1000, 200, seed);
            let off = (guess - truth).abs() / truth;
            assert!(off < 0.2, "seed {seed}: {guess:.0} s, really {truth:.0} s");
        }
    }

    proptest! {
        #[test]
        fn more_threads_never_take_longer(
            jobs in proptest::collection::vec((0usize..50, 0.0f64..500.0), 0..8),
            parallel in 1.0f64..64.0,
        ) {
            let portions: Vec<Portion> = jobs.iter().map(|(n, s)| portion(*n, *s)).collect();
            prop_assert!(time_for(&portions, parallel + 1.0) <= time_for(&portions, parallel));
        }
    }
}
