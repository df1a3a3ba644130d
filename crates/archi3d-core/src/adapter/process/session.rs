//! One run of a program: from its start to the last word that counts.
//!
//! A program is asked to end when the job must stop, when it is silent for too
//! long, or when it has said its answer and lingers; two seconds later it is
//! ended. What it says in these seconds still counts: a purchase made then must
//! not be forgotten, and a result made then is a result.

use std::io;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::protocol::{self, Answer, Complaint, Event};
use super::streams::{self, Heard, OutputReader, Shared};
use super::verdict;
use crate::adapter::{AdapterError, JobContext};
use crate::cancel::StopReason;
use crate::domain::retry::ErrorClass;
use crate::platform::process::{Ended, Group};

/// How long a program has to end once it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How long a program may linger after its answer.
const LINGER: Duration = Duration::from_secs(10);

/// How long its last words are waited for after its end.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long they are waited for in all. A process that got away may go on talking.
const ALL_LAST_WORDS: Duration = Duration::from_secs(5);

/// More than what can be under way at the end of a program.
const MAX_LAST_BYTES: usize = 64 << 20;

/// If nobody looked for longer, we were paused, and so perhaps was the program.
const PAUSE: Duration = Duration::from_secs(2);

/// How often it is looked after, at least.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Progress is passed on this often at most.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// So many complaints about one run of a program are passed on.
const MAX_COMPLAINTS: usize = 20;

/// Longer remarks about progress are cut.
const MAX_REMARK_CHARS: usize = 200;

/// Why we ended a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The job had to stop.
    Job(StopReason),
    /// It was silent for too long.
    Stalled,
    /// It had said its answer.
    Lingered,
    /// Its purchase could not be noted.
    Unnoted,
}

/// Everything a run of a program brought.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) ended: Option<Ended>,
    pub(super) stopped: Option<Stopped>,
    pub(super) submitted: bool,
    /// What is wrong with the id of a purchase that cannot be asked for again.
    pub(super) nameless: Option<&'static str>,
    pub(super) answer: Option<Answer>,
    pub(super) complaint: Option<Complaint>,
    pub(super) unnoted: Option<AdapterError>,
    /// Whether something was to be bought and no id came after that.
    pub(super) intent: bool,
    /// Whether it said something that cannot be read, which may have been its answer.
    pub(super) unreadable: bool,
    /// Why the program could not be looked after.
    pub(super) lost: Option<io::Error>,
}

/// Listens to a started program until it has ended, one way or the other.
pub(super) fn run(
    mut group: Group,
    request: Vec<u8>,
    shared: &Shared,
    stall: Option<Duration>,
    version: u64,
    out_dir: &Path,
    context: &mut JobContext<'_>,
) -> io::Result<Outcome> {
    let Some((stdin, pipes)) = group.take_pipes() else {
        return Err(io::Error::other("the program has no pipes"));
    };
    let mut output = OutputReader::new(pipes, shared);
    let answers = if version >= 2 {
        Some(streams::converse(stdin, request)?)
    } else {
        streams::tell(stdin, request)?;
        None
    };
    let mut session = Session {
        shared,
        context,
        answers,
        complaints: 0,
        stall,
        stopping: None,
        said_answer: None,
        last_progress: None,
        look_after: LOOK_EVERY,
        last_look: Instant::now(),
        outcome: Outcome::default(),
    };
    match session.look_after(group, &mut output) {
        Ok(ended) => session.outcome.ended = Some(ended),
        Err(error) => session.outcome.lost = Some(error),
    }
    session.drain_after_exit(&mut output, out_dir);
    output.close();
    session.outcome.stopped = session.stopping.map(|(why, _)| why);
    Ok(session.outcome)
}

/// What is to be done with the program.
enum Order {
    GoOn,
    Ask,
    End,
}

struct Session<'a, 'c> {
    shared: &'a Shared,
    context: &'a mut JobContext<'c>,
    /// Where a program is told that what it said is safe, if it wants to know.
    answers: Option<Sender<&'static str>>,
    /// How many complaints were passed on.
    complaints: usize,
    stall: Option<Duration>,
    /// Why it was asked to end, and when that becomes an order.
    stopping: Option<(Stopped, Instant)>,
    said_answer: Option<Instant>,
    last_progress: Option<Instant>,
    look_after: Duration,
    last_look: Instant,
    outcome: Outcome,
}

impl Session<'_, '_> {
    fn look_after(&mut self, mut group: Group, output: &mut OutputReader<'_>) -> io::Result<Ended> {
        while !group.has_ended()? {
            self.listen_once(output);
            match self.judge() {
                Order::GoOn => {}
                Order::Ask => group.terminate(),
                Order::End => break,
            }
        }
        group.finish()
    }

    fn listen_once(&mut self, output: &mut OutputReader<'_>) {
        let heard = output.read(self.look_after);
        self.take_all(&heard);
        if heard.closed {
            // Most programs end together with their stdout: look closely.
            self.look_after = Duration::from_micros(500);
        } else if heard.bytes == 0 {
            self.look_less();
        }
    }

    fn look_less(&mut self) {
        self.look_after = (self.look_after * 2).min(LOOK_EVERY);
    }

    /// Decides what is to be done with a program that still runs.
    fn judge(&mut self) -> Order {
        if std::mem::replace(&mut self.last_look, Instant::now()).elapsed() >= PAUSE {
            self.shared.hear();
        }
        if let Some((_, end)) = self.stopping {
            return if Instant::now() >= end {
                Order::End
            } else {
                Order::GoOn
            };
        }
        let why = if self.outcome.unnoted.is_some() {
            Stopped::Unnoted
        } else if let Some(reason) = self.context.stop.reason() {
            Stopped::Job(reason)
        } else if self
            .said_answer
            .is_some_and(|moment| moment.elapsed() >= LINGER)
        {
            Stopped::Lingered
        } else if self
            .stall
            .is_some_and(|limit| self.shared.silence() >= limit)
        {
            Stopped::Stalled
        } else {
            return Order::GoOn;
        };
        self.stopping = Some((why, Instant::now() + GRACE));
        Order::Ask
    }

    /// Hears what was said before the end. A process that got away may keep the
    /// pipes open; nobody waits for it. Only waiting counts: to note a purchase
    /// may take long.
    fn drain_after_exit(&mut self, output: &mut OutputReader<'_>, out_dir: &Path) {
        output.forget_program();
        let mut waited = Duration::ZERO;
        let mut silence = Duration::ZERO;
        let mut bytes = 0;
        let mut noted = false;
        while !output.are_closed() && waited < ALL_LAST_WORDS && bytes < MAX_LAST_BYTES {
            let started = Instant::now();
            let patience = if noted { LAST_WORDS } else { LOOK_EVERY };
            let heard = output.read(patience.saturating_sub(silence));
            waited += started.elapsed();
            bytes += heard.bytes;
            silence = if heard.bytes > 0 || heard.closed {
                Duration::ZERO
            } else {
                silence + started.elapsed()
            };
            self.take_all(&heard);
            if !std::mem::replace(&mut noted, true) {
                self.note_silent_success(out_dir);
            }
            if silence >= LAST_WORDS {
                return;
            }
        }
        if !noted {
            self.note_silent_success(out_dir);
        }
    }

    /// Notes what a program made that says nothing of it, before its files are looked through:
    /// whatever ends us now, the result is not lost.
    fn note_silent_success(&mut self, out_dir: &Path) {
        if let Some(answer) =
            verdict::silent_answer(&self.outcome, self.stopping.is_some(), out_dir)
        {
            let said = verdict::as_said(&answer, &self.shared.secrets);
            self.context.reporter.made(&said);
        }
    }

    fn take_all(&mut self, heard: &Heard) {
        heard.lines.iter().for_each(|line| self.take(line));
        if heard.too_long {
            self.outcome.unreadable = true;
            self.complain("an event has more than 16 MB");
        }
        if heard.hidden {
            self.outcome.unreadable = true;
            self.complain(
                "an event was ignored because other text precedes it on its line: every event must \
                 start a line",
            );
        }
    }

    /// Passes on what is wrong with something the program said.
    fn complain(&mut self, complaint: &str) {
        let complaint = self.shared.secrets.mask_text(complaint);
        self.shared.log.add(format!("[{complaint}]\n").as_bytes());
        self.complaints += 1;
        if self.complaints <= MAX_COMPLAINTS {
            self.context.reporter.warn(&complaint);
        }
    }

    fn take(&mut self, line: &[u8]) {
        let heard = protocol::parse(line);
        for complaint in &heard.complaints {
            self.complain(complaint);
        }
        match heard.event {
            Some(Event::Unreadable) => {
                self.outcome.unreadable = true;
                self.shared.log.add(&self.shared.secrets.mask(line));
            }
            Some(Event::Intent { correlation }) => self.note_intent(correlation),
            Some(Event::Submitted {
                request_id,
                cost_usd,
            }) => self.note_purchase(request_id, cost_usd),
            Some(Event::Progress { fraction, message }) => self.pass_on(fraction, message),
            Some(Event::Result(answer)) => {
                // Before anything else: whatever ends us now, the result is not lost.
                let said = verdict::as_said(&answer, &self.shared.secrets);
                self.context.reporter.made(&said);
                self.said_answer.get_or_insert_with(Instant::now);
                self.outcome.answer = Some(*answer);
            }
            Some(Event::Error(complaint)) => {
                self.said_answer.get_or_insert_with(Instant::now);
                self.outcome.complaint = Some(complaint);
            }
            None => self.shared.log.add(&self.shared.secrets.mask(line)),
        }
    }

    fn note_intent(&mut self, correlation: Option<String>) {
        let key = &self.context.idempotency_key;
        let safe = correlation.filter(|text| !self.shared.secrets.are_in(text));
        let correlation = safe.unwrap_or_else(|| key.clone());
        match self.context.reporter.intent(&correlation) {
            Ok(()) => {
                self.outcome.intent = true;
                self.answer("{\"ack\":\"intent\"}\n");
            }
            Err(AdapterError::Failed { message, .. }) if self.answers.is_none() => {
                let message = format!("{message}; it waits for no answer and may have bought");
                self.not_noted(AdapterError::failed(ErrorClass::Unknown, message));
            }
            Err(error) => self.not_noted(error),
        }
    }

    /// A program whose words cannot be kept is told no more and ended.
    fn not_noted(&mut self, error: AdapterError) {
        self.answers = None;
        self.outcome.unnoted.get_or_insert(error);
    }

    fn answer(&mut self, line: &'static str) {
        if let Some(answers) = &self.answers {
            // A program that does not listen any more needs no answer.
            let _ = answers.send(line);
        }
    }

    fn note_purchase(&mut self, request_id: Option<String>, cost_usd: Option<f64>) {
        let resumed = self.context.resume_request_id.is_some();
        let known = self.outcome.submitted
            || self.outcome.intent
            || self.context.open_intent.is_some()
            || (resumed && self.context.resume_request_id == request_id);
        if self.answers.is_some() && !known {
            self.complain("`submitted` without `intent`: version 2 says that before it buys");
        }
        self.outcome.submitted = true;
        self.outcome.intent = false;
        let id = match request_id {
            Some(id) if self.shared.secrets.are_in(&id) => Err("with an id that holds a secret"),
            Some(id) => Ok(id),
            None => Err("without an id that can be used"),
        };
        let id = match id {
            Ok(id) => id,
            Err(fault) => {
                self.outcome.nameless.get_or_insert(fault);
                let note = format!("[a purchase was reported {fault}]\n");
                self.shared.log.add(note.as_bytes());
                self.context.reporter.submitted_nameless(cost_usd);
                return;
            }
        };
        match self.context.reporter.submitted(&id, cost_usd) {
            Ok(()) => self.answer("{\"ack\":\"submitted\"}\n"),
            Err(error) => self.not_noted(error),
        }
    }

    fn pass_on(&mut self, fraction: f64, message: Option<String>) {
        let recent = |moment: Instant| moment.elapsed() < PROGRESS_EVERY;
        if fraction < 1.0 && self.last_progress.is_some_and(recent) {
            return;
        }
        self.last_progress = Some(Instant::now());
        let remark = message.map(|text| {
            // The start of a secret would not be found.
            let masked = self.shared.secrets.mask_text(&text);
            masked.chars().take(MAX_REMARK_CHARS).collect::<String>()
        });
        self.context.reporter.progress(fraction, remark.as_deref());
    }
}
