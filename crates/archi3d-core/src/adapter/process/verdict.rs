//! From what a program said and how it ended to a result or an error.
//!
//! A result that was announced counts however the program ended afterwards: it
//! may have been paid for, and whether it is usable is checked by whoever asked.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use super::names::{Renamed, mask_names};
use super::protocol::{Answer, Complaint};
use super::scrub::scrub;
use super::secrets::Secrets;
use super::session::{Outcome, Stopped};
use super::streams::Shared;
use crate::adapter::{AdapterError, GenerationResult};
use crate::cancel::StopReason;
use crate::domain::naming;
use crate::domain::purchase::{Billed, RequestFate};
use crate::domain::retry::ErrorClass;
use crate::domain::text::one_line;
use crate::platform;
use crate::platform::process::Ended;

/// The exit codes with a meaning, as `sysexits.h` has them.
const CLASSES: [(i32, ErrorClass); 3] = [
    (65, ErrorClass::BadInput),
    (69, ErrorClass::OutOfCredit),
    (75, ErrorClass::Transient),
];

/// Longer facts about a result are cut.
const MAX_FACT_CHARS: usize = 200;

/// How much of a program's last line is in the message.
const MAX_LAST_LINE_CHARS: usize = 300;

/// What the verdict needs to know beside the outcome.
pub(super) struct Circumstances<'a> {
    pub(super) program: &'a str,
    pub(super) out_dir: &'a Path,
    pub(super) shared: &'a Shared,
    pub(super) stall: Option<std::time::Duration>,
    /// Variables that were asked for and are not set.
    pub(super) unset: &'a [String],
    /// What a failure is of which the program does not say it.
    pub(super) unclassified: ErrorClass,
}

impl Circumstances<'_> {
    /// Decides what the run of a program brought.
    pub(super) fn judge(&self, mut outcome: Outcome) -> Result<GenerationResult, AdapterError> {
        if let Some(answer) = outcome.answer.take() {
            return self.result(answer, outcome.ended);
        }
        if let Some(error) = outcome.unnoted.take() {
            return Err(error);
        }
        let stop = match outcome.stopped {
            Some(Stopped::Job(reason @ (StopReason::LeaseLost | StopReason::Unreachable))) => {
                return Err(AdapterError::Stopped(reason));
            }
            Some(Stopped::Job(reason)) => Some(reason),
            _ => None,
        };
        if let Some(complaint) = outcome.complaint.take()
            && (stop.is_none()
                || complaint.class == Some(ErrorClass::Unknown)
                || complaint.request == RequestFate::Void
                || outcome.intent)
        {
            return Err(self.complained(complaint, &outcome));
        }
        // Also of a program that was stopped: the words may have been its answer.
        if outcome.unreadable {
            return Err(self.unreadable(&outcome));
        }
        if let Some(reason) = stop {
            return Err(self.stopped(reason, &outcome));
        }
        match silent_answer(&outcome, outcome.stopped.is_some(), self.out_dir) {
            Some(answer) => self.result(answer, outcome.ended),
            None => Err(self.failed(&outcome)),
        }
    }

    fn complained(&self, complaint: Complaint, outcome: &Outcome) -> AdapterError {
        let costs = complaint.cost_usd.is_some() || complaint.unclear_cost;
        let billed = complaint.billed.or(costs.then_some(Billed::Yes));
        let asked = outcome.submitted || outcome.intent;
        let usual = match billed {
            // Who is told to wait was not served.
            None | Some(Billed::No) if complaint.retry_after.is_some() && !asked => {
                ErrorClass::Transient
            }
            None | Some(Billed::No) => self.unclassified(outcome),
            Some(_) => ErrorClass::Permanent,
        };
        // What is no plain failure, beside a model that may be paid for, is a question.
        let made =
            self.unclassified != ErrorClass::Transient && self.is_there(naming::GENERATED_GLB);
        let class = match (complaint.class.unwrap_or(usual), outcome.nameless) {
            (class, _) if complaint.request == RequestFate::Void => class,
            // What was bought cannot be asked for: to try again is to buy again.
            (ErrorClass::Transient, Some(_)) => ErrorClass::Unknown,
            (ErrorClass::Permanent, _) if complaint.garbled && (asked || made) => {
                ErrorClass::Unknown
            }
            (class, _) => class,
        };
        let message = self.shared.secrets.mask_text(&complaint.message);
        let mut error = AdapterError::failed(class, message)
            .with_detail(self.detail(outcome.ended))
            .with_retry_after(complaint.retry_after);
        if complaint.request == RequestFate::Void {
            error = error.void();
        }
        match billed {
            Some(billed) => error.with_bill(billed, complaint.cost_usd),
            None => error,
        }
    }

    /// It may have been its answer, and nobody can say which.
    fn unreadable(&self, outcome: &Outcome) -> AdapterError {
        let message = format!(
            "{} said an event that cannot be read (too long, too deep, or no JSON): whether it \
             succeeded is not known",
            self.program
        );
        AdapterError::failed(ErrorClass::Unknown, message).with_detail(self.detail(outcome.ended))
    }

    /// A job that may have bought what nobody can ask for is not given back.
    fn stopped(&self, reason: StopReason, outcome: &Outcome) -> AdapterError {
        let Some(fault) = outcome.nameless else {
            return AdapterError::Stopped(reason);
        };
        let how = match reason {
            StopReason::TimedOut => "timed out",
            _ => "was stopped",
        };
        let message = format!("{} {how}, {}", self.program, announced(fault));
        AdapterError::failed(ErrorClass::Unknown, message).with_detail(self.detail(outcome.ended))
    }

    fn failed(&self, outcome: &Outcome) -> AdapterError {
        let (class, mut message) = self.failure(outcome);
        let stalled = outcome.stopped == Some(Stopped::Stalled);
        let class = match class {
            _ if outcome.nameless.is_some() => ErrorClass::Unknown,
            // Once a provider took the request, it may bill although nothing came.
            ErrorClass::Permanent if outcome.submitted || outcome.intent => ErrorClass::Unknown,
            _ if outcome.submitted && stalled => ErrorClass::Unknown,
            class => class,
        };
        if let Some(fault) = outcome.nameless {
            message = format!("{message}, {}", announced(fault));
        }
        let message = self.shared.secrets.mask_text(&message);
        let detail = self.detail(outcome.ended);
        if stalled || !matches!(outcome.ended, Some(Ended::Code(_))) {
            AdapterError::CutOff {
                class,
                message,
                detail,
            }
        } else {
            AdapterError::failed(class, message).with_detail(detail)
        }
    }

    /// Returns what a failure is of which the program does not say it: once a provider was asked, to
    /// try again is to buy again.
    fn unclassified(&self, outcome: &Outcome) -> ErrorClass {
        if outcome.submitted || outcome.intent {
            return ErrorClass::Permanent;
        }
        self.unclassified
    }

    fn failure(&self, outcome: &Outcome) -> (ErrorClass, String) {
        let Outcome { ended, stopped, .. } = *outcome;
        let program = self.program;
        if let Some(error) = &outcome.lost {
            let message = format!("{program} cannot be looked after: {error}");
            return (ErrorClass::Transient, message);
        }
        if stopped == Some(Stopped::Stalled) {
            let limit = self.stall.unwrap_or_default().as_secs_f64();
            let message = format!("{program} said nothing for {limit} s (stall_s) and was stopped");
            return (ErrorClass::Transient, message);
        }
        let unclassified = self.unclassified(outcome);
        match ended {
            Some(Ended::Code(0)) => (
                unclassified,
                format!(
                    "{program} ended without a result: it sent no `result` event and left no \
                     {} in its folder",
                    naming::GENERATED_GLB
                ),
            ),
            Some(Ended::Code(code)) => {
                let class = CLASSES.iter().find(|(known, _)| *known == code);
                let class = class.map_or(unclassified, |(_, class)| *class);
                let message = format!("{program} ended with exit code {code}{}", self.last_line());
                (class, message)
            }
            Some(Ended::Signal(number)) => (
                unclassified,
                format!("{program} was ended by signal {number}{}", self.last_line()),
            ),
            None => (unclassified, format!("{program} was lost")),
        }
    }

    fn result(
        &self,
        answer: Answer,
        ended: Option<Ended>,
    ) -> Result<GenerationResult, AdapterError> {
        let secrets = &self.shared.secrets;
        // A folder that was replaced by a link is not looked into: whoever checks the
        // result refuses it.
        let is_own = self
            .out_dir
            .symlink_metadata()
            .is_ok_and(|found| found.is_dir());
        let cleared = if is_own {
            clear(self.out_dir, secrets).map_err(|error| self.unmaskable(&error, ended))
        } else {
            Ok(Renamed::default())
        };
        let renamed = cleared?;
        let place = |named: PathBuf| renamed.now(&named, self.out_dir, secrets);
        let said = as_said(&answer, secrets);
        let model = answer.generated_glb.map(place);
        let previews = answer.previews;
        let previews = previews.map(|named| named.into_iter().map(place).collect());
        Ok(GenerationResult {
            generated_glb: Some(model.unwrap_or_else(|| naming::GENERATED_GLB.into())),
            previews: previews.unwrap_or_else(|| standard_previews(self.out_dir)),
            detail: self.detail(ended),
            ..said
        })
    }

    /// The result may have been paid for, but to list it would be to tell the secret.
    fn unmaskable(&self, error: &io::Error, ended: Option<Ended>) -> AdapterError {
        let message = format!(
            "{} left a file with a secret in its name or text that cannot be taken out: {error}",
            self.program
        );
        AdapterError::failed(ErrorClass::Unknown, message).with_detail(self.detail(ended))
    }

    fn is_there(&self, name: &str) -> bool {
        is_there(self.out_dir, name)
    }

    fn last_line(&self) -> String {
        let words = self.shared.log.last_words();
        match words.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(line) => {
                let start: String = one_line(line).chars().take(MAX_LAST_LINE_CHARS).collect();
                format!(": {start}")
            }
            None => String::new(),
        }
    }

    /// Everything that helps to find the cause.
    fn detail(&self, ended: Option<Ended>) -> Option<String> {
        let mut text = String::new();
        let _ = match ended {
            Some(Ended::Code(code)) => writeln!(text, "It ended with exit code {code}.\n"),
            Some(Ended::Signal(number)) => writeln!(text, "It was ended by signal {number}.\n"),
            None => Ok(()),
        };
        let words = self.shared.log.last_words();
        if !words.trim().is_empty() {
            let _ = writeln!(
                text,
                "The end of what it wrote to stderr:\n{}",
                words.trim_end()
            );
        }
        if let Some(path) = self.shared.log.path() {
            let _ = writeln!(text, "\nEverything it said: {}", path.display());
        }
        if !self.unset.is_empty() {
            let names = self.unset.join(", ");
            let _ = writeln!(
                text,
                "\nNot set, although `env` in adapters.yaml asks for it: {names}"
            );
        }
        (!text.is_empty()).then_some(text)
    }
}

/// Returns what a program made that ended well and said nothing of it.
pub(super) fn silent_answer(outcome: &Outcome, stopped: bool, out_dir: &Path) -> Option<Answer> {
    let silent = outcome.answer.is_none()
        && outcome.complaint.is_none()
        && outcome.unnoted.is_none()
        && !outcome.unreadable;
    let ended_well = outcome.ended == Some(Ended::Code(0)) && !stopped;
    (silent && ended_well && is_there(out_dir, naming::GENERATED_GLB)).then(|| Answer {
        generated_glb: Some(naming::GENERATED_GLB.into()),
        previews: Some(standard_previews(out_dir)),
        ..Answer::default()
    })
}

fn standard_previews(out_dir: &Path) -> Vec<PathBuf> {
    (1..=naming::MAX_PREVIEWS)
        .map(naming::preview_png)
        .take_while(|name| is_there(out_dir, name))
        .map(PathBuf::from)
        .collect()
}

fn is_there(out_dir: &Path, name: &str) -> bool {
    out_dir.join(name).symlink_metadata().is_ok()
}

/// Takes secrets out of the names and texts in a folder, also where it is protected.
fn clear(folder: &Path, secrets: &Secrets) -> io::Result<Renamed> {
    platform::open_up(folder)?;
    let renamed = mask_names(folder, secrets)?;
    scrub(folder, secrets)?;
    Ok(renamed)
}

/// Returns what an answer says, as far as it can be told before the program has
/// ended: its files may still get other names, and one whose name holds a secret
/// is not named.
pub(super) fn as_said(answer: &Answer, secrets: &Secrets) -> GenerationResult {
    let is_public = |path: &&PathBuf| !secrets.are_in(&path.to_string_lossy());
    let previews = answer.previews.iter().flatten();
    GenerationResult {
        success: true,
        generated_glb: answer.generated_glb.as_ref().filter(is_public).cloned(),
        previews: previews.filter(is_public).cloned().collect(),
        algo_version: answer
            .algo_version
            .as_deref()
            .map(|text| fact(text, secrets)),
        unit_price_usd: answer.unit_price_usd,
        estimated_cost_usd: answer.estimated_cost_usd,
        unclear_cost: answer.unclear_cost,
        price_source: answer
            .price_source
            .as_deref()
            .map(|text| fact(text, secrets)),
        raw_metadata: answer
            .raw_metadata
            .clone()
            .map(|told| secrets.mask_map(told)),
        detail: None,
    }
}

/// Returns a fact about a result on one line, short and without secrets.
fn fact(text: &str, secrets: &Secrets) -> String {
    let line = one_line(&secrets.mask_text(text));
    line.chars().take(MAX_FACT_CHARS).collect()
}

/// Says that something was bought which nobody can ask for.
fn announced(fault: &str) -> String {
    format!("and it had announced a purchase {fault}")
}
