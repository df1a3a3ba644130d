//! The two connections of a worker process: one for work, one for beats and news. All runs that it serves share them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::claim::Hold;
use super::connect::Connection;
use super::error::PgResult;
use super::listen::Pulse;
use super::migrate;
use super::url::StoreUrl;
use super::worker::POLL;
use crate::domain::id::JobId;

/// How long the thread that listens keeps beats waiting at most, and how long it leaves the connection to them.
const HEAR: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(200));

/// How long nobody may say anything before the server counts as away: at least, and at most.
const SILENCE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(30));

/// What a process says to the server goes over these.
#[derive(Debug, Clone)]
pub struct Lines {
    pub(super) work: Arc<Mutex<Connection>>,
    pub(super) pulse: Arc<Mutex<Pulse>>,
    /// Who is told that something may be new.
    listeners: Arc<Mutex<Vec<Weak<AtomicBool>>>>,
    held: Arc<Mutex<Held>>,
    heard: bool,
    /// When it began to connect.
    began: Instant,
}

/// The attempts of all runs that are in the hands of this process, by run and job. Of one job there may be several: one that
/// lost it and has not ended yet.
#[derive(Debug, Default)]
pub(super) struct Held(HashMap<i64, HashMap<JobId, Vec<Hold>>>);

impl Held {
    pub(super) fn add(&mut self, run_no: i64, job: &JobId, hold: Hold) {
        let jobs = self.0.entry(run_no).or_default();
        let attempts = jobs.entry(job.clone()).or_default();
        if !attempts.contains(&hold) {
            attempts.push(hold);
        }
    }

    pub(super) fn remove(&mut self, run_no: i64, job: &JobId, hold: Hold) {
        if let Some(jobs) = self.0.get_mut(&run_no)
            && let Some(attempts) = jobs.get_mut(job)
        {
            attempts.retain(|own| *own != hold);
            if attempts.is_empty() {
                jobs.remove(job);
            }
        }
    }

    pub(super) fn forget(&mut self, holds: &[Hold]) {
        for jobs in self.0.values_mut() {
            jobs.retain(|_, attempts| {
                attempts.retain(|own| !holds.contains(own));
                !attempts.is_empty()
            });
        }
    }

    pub(super) fn job_no(&self, run_no: i64, job: &JobId) -> Option<i64> {
        let attempts = self.0.get(&run_no)?.get(job)?;
        attempts.first().map(|hold| hold.job_no)
    }

    pub(super) fn has(&self, hold: &Hold) -> bool {
        self.attempts().any(|own| own == hold)
    }

    pub(super) fn attempts(&self) -> impl Iterator<Item = &Hold> {
        self.0.values().flat_map(HashMap::values).flatten()
    }
}

impl Lines {
    /// Connects for a worker of this name, and requires a schema that fits.
    pub fn open(url: &StoreUrl, worker: &str) -> PgResult<Self> {
        let began = Instant::now();
        let name = format!("archi3d/{worker}");
        let mut work = Connection::open(url, &name)?;
        migrate::require(&mut work)?;
        let mut pulse = Pulse::new(Connection::open(url, &format!("{name} pulse"))?);
        let heard = pulse.probe(&mut work)?;
        work.note_serving()?;
        work.note_let_in();
        pulse.connection().note_let_in();
        let lines = Self {
            work: Arc::new(Mutex::new(work)),
            pulse: Arc::new(Mutex::new(pulse)),
            listeners: Arc::default(),
            held: Arc::default(),
            heard,
            began,
        };
        if heard {
            lines.hear();
        }
        Ok(lines)
    }

    /// Tells for how long there has been somebody to answer.
    pub(super) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// Tells whether the server's messages arrive.
    pub fn is_heard(&self) -> bool {
        self.heard
    }

    /// From now on a server that says nothing for a third of a lease counts as away.
    pub(super) fn limit(&self, lease: Duration) {
        let limit = (lease / 3).clamp(SILENCE.0, SILENCE.1);
        self.work().limit(Some(limit));
        self.pulse().connection().limit(Some(limit));
    }

    /// Has a flag raised whenever something may be new in a run.
    pub(super) fn listen(&self, run_no: i64, news: &Arc<AtomicBool>) -> PgResult<()> {
        if self.heard {
            self.pulse().listen(run_no)?;
            self.tell(news);
        }
        Ok(())
    }

    /// Has a flag raised whenever anything is heard.
    pub(super) fn tell(&self, news: &Arc<AtomicBool>) {
        let listeners = self.listeners.lock();
        let mut listeners = listeners.unwrap_or_else(PoisonError::into_inner);
        listeners.push(Arc::downgrade(news));
    }

    pub(super) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn work(&self) -> MutexGuard<'_, Connection> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pulse(&self) -> MutexGuard<'_, Pulse> {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears of news until nobody has these lines any more. What it misses the next poll finds.
    fn hear(&self) {
        let (pulse, listeners) = (Arc::downgrade(&self.pulse), Arc::downgrade(&self.listeners));
        std::thread::spawn(move || {
            while let (Some(pulse), Some(listeners)) = (pulse.upgrade(), listeners.upgrade()) {
                let heard = {
                    let mut pulse = pulse.lock().unwrap_or_else(PoisonError::into_inner);
                    pulse.open().and_then(|()| pulse.hear(HEAR.0))
                };
                drop(pulse);
                // After an error too: whatever was said meanwhile was not heard.
                if !matches!(heard, Ok(None)) {
                    let mut listeners = listeners.lock().unwrap_or_else(PoisonError::into_inner);
                    listeners.retain(|news| {
                        let news = news.upgrade();
                        let there = news.is_some();
                        news.inspect(|news| news.store(true, Ordering::SeqCst));
                        there
                    });
                }
                drop(listeners);
                match heard {
                    Ok(Some(_)) => {}
                    Ok(None) => std::thread::sleep(HEAR.1),
                    Err(_) => std::thread::sleep(POLL),
                }
            }
        });
    }
}
