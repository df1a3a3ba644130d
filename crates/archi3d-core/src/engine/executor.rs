//! What a thread of a run does: take one job, carry it out, answer.
//!
//! An executor never changes and owns nothing of the run's state: it asks the dispatcher
//! for a job, talks to store, adapter and listeners, and answers what is to become of the
//! job. Its parts are in the files beside this one:
//!
//! - `claim`: taking a job that is listed; `served`, `ahead`: where a store hands jobs out;
//! - `gate`, `breaker`, `lanes`, `budget`: whether it may start;
//! - `job`: one job, from its start to its ending; `reuse`: a copy instead of a purchase;
//! - `attempt`, `reporter`, `checking`, `output`: what its adapter says and leaves;
//! - `settle`: what becomes of the attempt; `spans`: its trace.

use std::time::Instant;

use crate::cancel::{Cancel, Stage};
use crate::domain::text::{plural, shell_word};
use crate::domain::time::Clock;
use crate::engine::dispatcher::{Dispatch, Halt, Order};
use crate::engine::event::{Event, EventKind, Sink, Summary};
use crate::engine::heartbeat::Heartbeat;
use crate::engine::lanes::Lanes;
use crate::engine::{Algorithms, Conditions, breaker, spans};
use crate::store::{Handing, StoreError, WorkerStore};

/// What the threads of a run work with.
pub(super) struct Executor<'a> {
    pub(super) store: &'a dyn WorkerStore,
    pub(super) algorithms: &'a Algorithms,
    pub(super) conditions: &'a Conditions,
    pub(super) clock: &'a dyn Clock,
    pub(super) cancel: &'a Cancel,
    pub(super) sink: &'a dyn Sink,
    pub(super) lanes: &'a Lanes,
    /// Who hands the jobs out; nothing where they are listed.
    pub(super) handing: Option<&'a dyn Handing>,
    pub(super) dispatch: &'a Dispatch,
    pub(super) heartbeat: &'a Heartbeat,
}

impl Executor<'_> {
    pub(super) fn run_threads(&self) {
        let most = self.conditions.max_parallel;
        let wanted = if self.handing.is_some() {
            most
        } else {
            most.min(self.dispatch.remaining())
        };
        if wanted == 0 {
            return;
        }
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(wanted)
            .thread_name(|number| format!("job-{number}"))
            .build();
        match threads {
            Ok(threads) => {
                threads.broadcast(|_| self.take_jobs());
            }
            Err(error) => {
                self.report(EventKind::Warning {
                    message: format!(
                        "cannot start {} threads ({error}); jobs run one at a time",
                        self.conditions.max_parallel
                    ),
                });
                self.take_jobs();
            }
        }
    }

    /// What every thread does: take the next job, until there is none.
    fn take_jobs(&self) {
        if let Some(source) = self.handing {
            self.take_served(source);
            return;
        }
        loop {
            match self.dispatch.next(|| self.cancel.stage() == Stage::Go) {
                Order::Job(job, claiming, taken) => taken.answer(self.run_job(*job, claiming)),
                Order::Pause(time) => {
                    self.tell_of_waits();
                    self.cancel.wait_for(Stage::Drain, time);
                }
                Order::End => return,
            }
        }
    }

    pub(super) fn report(&self, kind: EventKind) {
        spans::note(&kind);
        self.sink.report(&Event {
            at: self.clock.now(),
            run_id: self.store.run_id().clone(),
            kind,
        });
    }

    /// Warns of something that is the same for many jobs, once.
    pub(super) fn warn_once(&self, message: String) {
        if self.dispatch.is_news(&message) {
            self.report(EventKind::Warning { message });
        }
    }

    /// Notes trouble with the store: nothing new starts, what is recorded stays.
    pub(super) fn store_failed(&self, what: &str, error: &StoreError) {
        // Waiting that a second signal cut short is no trouble with the store.
        let cut_short =
            matches!(error, StoreError::Closed { .. }) && self.cancel.stage() == Stage::Kill;
        if error.is_away() {
            // Nothing new starts while nobody answers; that is no reason to give up.
            self.warn_once(format!("{what}: {error}"));
            return;
        }
        if !cut_short {
            self.dispatch.halt(Halt::Store);
        }
        let mut message = format!("{what}: {error}");
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            message = format!("{message}: {cause}");
            source = cause.source();
        }
        self.report(EventKind::Warning { message });
    }

    pub(super) fn close(&self, start: Instant) -> Summary {
        if self.cancel.stage() == Stage::Kill {
            self.store.hurry();
        }
        // What a store hands out and nobody took, by algorithm.
        let unclaimed = self
            .handing
            .map(|source| source.unclaimed().unwrap_or_default());
        let unclaimed = unclaimed.unwrap_or_default();
        self.count_unclaimed(&unclaimed);
        if let Err(error) = self.store.close(self.clock.now()) {
            let what = format!(
                "not everything is in the registry yet; finished results are safe, and \
                 `archi3d run worker --run-id {}` brings them in",
                shell_word(self.store.run_id().as_str())
            );
            self.store_failed(&what, &error);
        }
        // What cannot be read was told by the closing.
        let without_row = self.store.endings_not_shown().unwrap_or_default();
        self.dispatch
            .count(|tally| tally.summary.without_row = without_row);
        let tally = self.dispatch.take_tally();
        for (provider, reason) in &tally.closed {
            self.report(EventKind::Warning {
                message: format!(
                    "provider {provider} is closed ({reason}); its jobs wait. \
                     When it can be used again: archi3d adapters resume {provider}"
                ),
            });
        }
        for (reason, jobs) in tally.unusable.values() {
            self.report(EventKind::Warning {
                message: format!(
                    "skipped: {}, because nothing can make it now: {reason}",
                    plural(*jobs, "job stays as it was", "jobs stay as they were")
                ),
            });
        }
        for (algo, (reason, jobs)) in &tally.paused {
            self.report(EventKind::Warning {
                message: format!(
                    "algo {algo} is paused ({reason}); {}. When it works again: archi3d adapters \
                     resume {algo}; {} minutes after its last failure one job tries it again",
                    plural(*jobs, "of its jobs waits", "of its jobs wait"),
                    breaker::PAUSE.as_secs() / 60
                ),
            });
        }
        let mut summary = tally.summary;
        summary.canaries = self.tell_of_canaries(&unclaimed);
        summary.not_started = self.dispatch.remaining() + unclaimed.values().sum::<usize>();
        self.dispatch.name_left(&mut summary.left);
        self.close_budget(&mut summary, &unclaimed);
        if summary.processed > 0 {
            let mean = tally.total_duration.as_secs_f64() / summary.processed as f64;
            summary.avg_duration_s = (mean * 1e6).round() / 1e6;
        }
        summary.elapsed_s = (start.elapsed().as_secs_f64() * 1e6).round() / 1e6;
        summary.max_parallel = self.conditions.max_parallel;
        summary.dry_run = self.conditions.dry_run;
        summary.stopped_by = self.stopped_by(&summary);
        summary
    }

    fn stopped_by(&self, summary: &Summary) -> Option<String> {
        let interrupted = self.cancel.stage() != Stage::Go;
        let word = match self.dispatch.halted() {
            Some(Halt::Store) => "store",
            _ if interrupted => "interrupted",
            Some(Halt::FailFast) => "fail_fast",
            _ if summary.blocked_by_budget > 0 => "budget",
            Some(Halt::Limit) => "limit",
            None if summary.canaries.iter().any(|canary| canary.waiting > 0) => "canary",
            None => return None,
        };
        Some(word.to_owned())
    }
}
