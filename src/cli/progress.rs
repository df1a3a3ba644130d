//! Events as a person sees them: a bar on a terminal, plain lines elsewhere.
//!
//! A [`Sink`] like the log; it prints through `ui`, only ever to stderr, and
//! keeps the worker's summary for the end.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::cli::attempts::dollars;
use crate::cli::status::short_duration;
use crate::cli::ui::Ui;
use archi3d_core::domain::budget::Level;
use archi3d_core::domain::text::{counted, one_line};
use archi3d_core::domain::time::Timestamp;
use archi3d_core::engine::event::{CanaryResult, Event, EventKind, Sink, Summary, WorkerStarted};

mod course;

use course::Course;

/// The shortest time between two plain progress lines.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// How often the bar is redrawn, so that its clock moves.
const TICK: Duration = Duration::from_millis(500);

/// Shows a worker's events.
pub struct Progress {
    ui: Ui,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    counts: Counts,
    course: Arc<Mutex<Course>>,
    bar: Option<ProgressBar>,
    last_line: Option<Instant>,
    summary: Option<Summary>,
}

/// How far a worker is.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counts {
    total: usize,
    ended: usize,
    done: usize,
    failed: usize,
    running: usize,
}

impl Counts {
    /// Counts the event; returns whether anything changed.
    fn take(&mut self, kind: &EventKind) -> bool {
        match kind {
            EventKind::WorkerStarted(started) => {
                self.total = started
                    .limit
                    .map_or(started.total_jobs, |limit| limit.min(started.total_jobs));
            }
            EventKind::JobStarted { .. } => self.running += 1,
            EventKind::JobCompleted { .. } => {
                self.done += 1;
                self.end();
            }
            EventKind::JobFailed { .. } => {
                self.failed += 1;
                self.end();
            }
            EventKind::JobCancelled { .. } | EventKind::JobFenced { .. } => self.end(),
            EventKind::JobReleased { .. } | EventKind::JobPutOff { .. } => {
                self.running = self.running.saturating_sub(1);
            }
            EventKind::JobBusy { .. } => self.ended += 1,
            _ => return false,
        }
        true
    }

    fn end(&mut self) {
        self.ended += 1;
        self.running = self.running.saturating_sub(1);
    }

    fn words(&self) -> String {
        format!(
            "{} done, {} failed, {} running",
            self.done, self.failed, self.running
        )
    }

    fn line(&self, left: Option<Duration>) -> String {
        let total = self.total.max(self.ended);
        let mut line = format!("{}/{total}: {}", self.ended, self.words());
        if let Some(left) = left {
            let _ = write!(line, ", about {} left", short_duration(left));
        }
        line
    }
}

/// Cuts a long error for the terminal; the table and `error.txt` have more of it.
fn shortened(error: &str) -> String {
    const MOST: usize = 300;
    if error.chars().count() <= MOST {
        return error.to_owned();
    }
    let cut: String = error.chars().take(MOST).collect();
    format!("{cut}… (see error.txt)")
}

impl Progress {
    /// Makes a sink that prints through `ui`.
    pub fn new(ui: &Ui) -> Self {
        Self {
            ui: ui.clone(),
            state: Mutex::default(),
        }
    }

    /// Takes the bar away and returns the worker's summary, if it got that far.
    pub fn finish(&self) -> Option<Summary> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.ui.set_bar(None);
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
        state.summary.take()
    }

    fn start(&self, state: &mut State, run: &str, started: &WorkerStarted) {
        self.ui.say(&started_line(run, started));
        if state.counts.total > 0 && self.ui.has_terminal() {
            let bar = new_bar(state.counts.total, Arc::clone(&state.course));
            self.ui.set_bar(Some(bar.clone()));
            state.bar = Some(bar);
        }
        state.last_line = Some(Instant::now());
    }

    /// Says what is worth a line of its own.
    fn tell(&self, kind: &EventKind) {
        match kind {
            EventKind::JobFailed {
                job_id,
                product_id,
                algo,
                class,
                error,
                redo,
                ..
            } => {
                let kept = if *redo { "; the old result is kept" } else { "" };
                let error = shortened(&one_line(error));
                let whose = one_line(&format!("{product_id} {algo}"));
                self.ui
                    .failure(&format!("{whose} ({job_id}): {error} ({class}){kept}"));
            }
            EventKind::Warning { message } => self.ui.warn(&one_line(message)),
            EventKind::Notice { message } => self.ui.say(&one_line(message)),
            EventKind::JobReleased { job_id, reason } => {
                self.ui
                    .say(&format!("given back: {job_id} ({})", one_line(reason)));
            }
            EventKind::JobPutOff {
                job_id,
                error,
                after,
                ..
            } => {
                // Without a time it waits for its provider, which says so itself.
                let again = match after.as_secs_f64().ceil() {
                    seconds if seconds > 0.0 => format!(" (retry in {seconds:.0} s)"),
                    _ => String::new(),
                };
                let error = one_line(error);
                self.ui.say(&format!("requeued: {job_id}: {error}{again}"));
            }
            EventKind::ProviderClosed {
                provider,
                reason,
                until,
            } => {
                let end = until.map(Timestamp::iso);
                let end = end.unwrap_or_else(|| format!("`archi3d adapters resume {provider}`"));
                let reason = one_line(reason);
                self.ui.warn(&format!(
                    "provider {provider} is closed until {end}: {reason}"
                ));
            }
            EventKind::BudgetWarning(level) => self.ui.warn(&format!(
                "{:.0} % of the {}'s budget of ${:.2} are spent or reserved",
                level.used() * 100.0,
                level.cap.word(),
                level.cap_usd
            )),
            EventKind::BudgetReached(level) => self.ui.warn(&format!(
                "{}: jobs that cost more do not start; running jobs finish",
                budget_words(level)
            )),
            EventKind::BreakerOpened { algo, reason } => self.ui.warn(&format!(
                "algo {algo} is paused for all workers: {}; other algos continue. To resume: archi3d adapters resume {algo}",
                shortened(&one_line(reason))
            )),
            EventKind::CanaryEnded(result) => self.ui.say(&canary_line(result)),
            EventKind::JobCancelled { job_id } => self.ui.say(&format!("cancelled: {job_id}")),
            EventKind::RolledForward { job_id } => self.ui.say(&format!(
                "recovered: {job_id}, which a worker had finished before it died"
            )),
            EventKind::JobFenced { job_id, kept_at } => {
                let place = kept_at.as_deref().map_or_else(String::new, |path| {
                    format!("; its result is kept in {path}")
                });
                self.ui
                    .warn(&format!("{job_id} was taken over by another worker{place}"));
            }
            usual => self.tell_in_detail(usual),
        }
    }

    /// Says what only those who asked for every step want to read.
    fn tell_in_detail(&self, kind: &EventKind) {
        match kind {
            EventKind::JobBusy { job_id } => {
                self.ui
                    .detail(&format!("busy: {job_id} is held by another worker"));
            }
            EventKind::JobStarted {
                job_id,
                algo,
                attempt,
                ..
            } => {
                let algo = one_line(algo);
                self.ui
                    .detail(&format!("started: {job_id} ({algo}, attempt {attempt})"));
            }
            EventKind::JobCompleted {
                job_id,
                duration,
                object,
                ..
            } => {
                let time = short_duration(*duration);
                self.ui
                    .detail(&format!("completed: {job_id} in {time}: {object}"));
            }
            EventKind::JobReused {
                job_id,
                from_run,
                from_job,
                ..
            } => self.ui.detail(&format!(
                "reused: {job_id} is a copy of {from_job} of run {from_run}"
            )),
            _ => {}
        }
    }
}

impl Sink for Progress {
    fn report(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = state.counts.take(&event.kind);
        lock(&state.course).take(&event.kind, Instant::now());
        match &event.kind {
            EventKind::WorkerStarted(started) => {
                self.start(&mut state, event.run_id.as_str(), started);
            }
            EventKind::WorkerSummary(summary) => state.summary = Some(summary.clone()),
            other => self.tell(other),
        }
        if !changed {
            return;
        }
        if let Some(bar) = &state.bar {
            // What is pushed meanwhile, or failed and is tried again, comes on top.
            bar.set_length(state.counts.total.max(state.counts.ended) as u64);
            bar.set_position(state.counts.ended as u64);
            bar.set_message(state.counts.words());
        } else if state.last_line.is_some_and(|at| at.elapsed() >= LINE_EVERY) {
            state.last_line = Some(Instant::now());
            let left = lock(&state.course).time_left(Instant::now());
            self.ui.say(&state.counts.line(left));
        }
    }
}

fn lock(course: &Mutex<Course>) -> MutexGuard<'_, Course> {
    course.lock().unwrap_or_else(PoisonError::into_inner)
}

fn new_bar(total: usize, course: Arc<Mutex<Course>>) -> ProgressBar {
    let style = ProgressStyle::with_template("[{bar:24}] {pos}/{len}  {msg}  ETA {left}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
        .with_key(
            "left",
            move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                let left = lock(&course)
                    .time_left(Instant::now())
                    .map_or_else(|| "?".to_owned(), short_duration);
                let _ = out.write_str(&left);
            },
        );
    let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr())
        .with_style(style);
    bar.enable_steady_tick(TICK);
    bar
}

fn started_line(run: &str, started: &WorkerStarted) -> String {
    let jobs = match started.total_jobs {
        1 => "1 job".to_owned(),
        count => format!("{count} jobs"),
    };
    let mut line = format!("run {run}: {jobs}, {} at a time", started.max_parallel);
    if let Some(limit) = started.limit {
        let _ = write!(line, ", at most {limit} start");
    }
    if let Some(count) = started.canary {
        let _ = write!(
            line,
            ", the first {} of each algo on trial",
            counted(count, "job")
        );
    }
    if started.dry_run {
        line.push_str(", rehearsal (--dry-run)");
    }
    if started.expected_cost_usd > 0.0 {
        let bound = if started.reuse { "at most" } else { "about" };
        let _ = write!(line, ", {bound} ${:.2}", started.expected_cost_usd);
    }
    if started.unpriced_jobs > 0 {
        let _ = write!(line, ", {} of unknown price", started.unpriced_jobs);
    }
    if let Some(usd) = started.caps.run_usd.filter(|_| !started.dry_run) {
        let _ = write!(line, ", budget {}", dollars(usd));
    }
    line
}

fn canary_line(result: &CanaryResult) -> String {
    let time = Duration::try_from_secs_f64(result.avg_duration_s).unwrap_or_default();
    format!(
        "canary {}: {} completed, {} failed, {}{}, {} each; {} more wait",
        result.algo,
        result.completed,
        result.failed,
        dollars(result.spent_usd),
        match result.possibly_billed {
            0 => String::new(),
            count => format!(" and {count} possibly billed"),
        },
        short_duration(time),
        result.waiting
    )
}

/// Says how much of a spending limit is used.
pub fn budget_words(level: &Level) -> String {
    format!(
        "the {}'s budget of {} has {} left ({} spent, {} reserved)",
        level.cap.word(),
        dollars(level.cap_usd),
        dollars(level.left_usd()),
        dollars(level.spent_usd),
        dollars(level.reserved_usd)
    )
}

/// Returns the final counts as one line.
pub fn summary_line(summary: &Summary) -> String {
    let elapsed = Duration::try_from_secs_f64(summary.elapsed_s).unwrap_or_default();
    let made = if summary.dry_run {
        "rehearsed"
    } else {
        "completed"
    };
    let mut line = format!("{} {made}", summary.completed);
    if summary.reused > 0 {
        let _ = write!(line, " ({} reused)", summary.reused);
    }
    let _ = write!(
        line,
        ", {} failed, {} skipped",
        summary.failed, summary.skipped
    );
    for (count, word) in [
        (summary.busy, "of them busy"),
        (summary.released, "given back"),
        (summary.cancelled, "cancelled"),
        (summary.fenced, "lost to another worker"),
        (summary.rolled_forward, "recovered"),
        (summary.blocked, "kept back"),
        (
            summary
                .blocked_by_budget
                .saturating_sub(summary.unpriced_blocked),
            "not started for lack of budget",
        ),
        (
            summary.unpriced_blocked,
            "not started for their unknown price",
        ),
        (summary.not_started, "not started"),
    ] {
        if count > 0 {
            let _ = write!(line, ", {count} {word}");
        }
    }
    let _ = write!(line, " in {}", short_duration(elapsed));
    if summary.spent_usd > 0.0 {
        let _ = write!(line, ", {} spent", dollars(summary.spent_usd));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use archi3d_core::domain::id::JobId;
    use archi3d_core::domain::job::Entry;
    use archi3d_core::domain::retry::ErrorClass;

    fn job() -> JobId {
        JobId::parse("j").expect("valid")
    }

    fn started() -> EventKind {
        EventKind::JobStarted {
            job_id: job(),
            attempt: 1,
            algo: "mock".into(),
            entry: Entry::Fresh,
        }
    }

    #[test]
    fn events_add_up_to_done_failed_and_running() {
        let mut counts = Counts::default();
        let begin = WorkerStarted {
            total_jobs: 9,
            limit: Some(6),
            ..WorkerStarted::default()
        };
        counts.take(&EventKind::WorkerStarted(Box::new(begin)));
        for _ in 0..4 {
            counts.take(&started());
        }
        counts.take(&EventKind::JobCompleted {
            job_id: job(),
            duration: Duration::ZERO,
            object: String::new(),
            previews: vec![],
            simulated: false,
        });
        counts.take(&EventKind::JobFailed {
            job_id: job(),
            product_id: String::new(),
            algo: String::new(),
            duration: Duration::ZERO,
            class: ErrorClass::Permanent,
            error: String::new(),
            redo: false,
        });
        counts.take(&EventKind::JobReleased {
            job_id: job(),
            reason: String::new(),
        });
        assert_eq!(counts.words(), "1 done, 1 failed, 1 running");
        assert!(
            counts.line(None).starts_with("2/6: "),
            "{}",
            counts.line(None)
        );
    }

    #[test]
    fn the_summary_names_rare_counts_only_when_they_are_there() {
        let mut summary = Summary {
            completed: 58,
            failed: 2,
            elapsed_s: 75.0,
            ..Summary::default()
        };
        assert_eq!(
            summary_line(&summary),
            "58 completed, 2 failed, 0 skipped in 1 min 15 s"
        );
        summary.skipped = 3;
        summary.busy = 1;
        summary.not_started = 7;
        assert_eq!(
            summary_line(&summary),
            "58 completed, 2 failed, 3 skipped, 1 of them busy, 7 not started in 1 min 15 s"
        );
    }

    #[test]
    fn the_first_line_says_how_much_is_to_be_done_and_what_it_costs() {
        let mut started = WorkerStarted {
            max_parallel: 4,
            dry_run: true,
            total_jobs: 1,
            ..WorkerStarted::default()
        };
        assert_eq!(
            started_line("r1", &started),
            "run r1: 1 job, 4 at a time, rehearsal (--dry-run)"
        );
        started.dry_run = false;
        started.total_jobs = 12;
        started.expected_cost_usd = 1.68;
        started.unpriced_jobs = 4;
        assert_eq!(
            started_line("r1", &started),
            "run r1: 12 jobs, 4 at a time, about $1.68, 4 of unknown price"
        );
    }
}
