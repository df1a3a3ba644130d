//! From what a program said and how it ended to a result or an error.
//!
//! A result that was announced counts however the program ended afterwards: it
//! may have been paid for, and whether it is usable is checked by whoever asked.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::protocol::Answer;
use super::session::{Outcome, Stopped};
use super::streams::Shared;
use crate::adapter::{AdapterError, GenerationResult};
use crate::domain::naming;
use crate::domain::retry::ErrorClass;
use crate::domain::text::one_line;
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
}

impl Circumstances<'_> {
    /// Decides what the run of a program brought.
    pub(super) fn judge(&self, outcome: Outcome) -> Result<GenerationResult, AdapterError> {
        let clean_end = outcome.ended == Some(Ended::Code(0)) && outcome.stopped.is_none();
        if let Some(answer) = outcome.answer {
            return Ok(self.result(answer));
        }
        if let Some(error) = outcome.unnoted {
            return Err(error);
        }
        if let Some(Stopped::Job(reason)) = outcome.stopped {
            return Err(AdapterError::Stopped(reason));
        }
        if let Some(complaint) = outcome.complaint {
            return Err(AdapterError::Failed {
                class: complaint.class,
                message: self.shared.secrets.mask_text(&complaint.message),
                detail: self.detail(),
                retry_after: complaint.retry_after,
            });
        }
        if clean_end && self.is_there(naming::GENERATED_GLB) {
            return Ok(self.result(Answer::default()));
        }
        let (class, message) = self.failure(outcome.ended, outcome.stopped);
        let class = match class {
            // Once a provider took the request, it may bill although nothing came.
            ErrorClass::Permanent if outcome.submitted => ErrorClass::Unknown,
            _ if outcome.submitted && outcome.stopped == Some(Stopped::Stalled) => {
                ErrorClass::Unknown
            }
            class => class,
        };
        Err(AdapterError::Failed {
            class,
            message: self.shared.secrets.mask_text(&message),
            detail: self.detail(),
            retry_after: None,
        })
    }

    fn failure(&self, ended: Option<Ended>, stopped: Option<Stopped>) -> (ErrorClass, String) {
        let program = self.program;
        if stopped == Some(Stopped::Stalled) {
            let limit = self.stall.unwrap_or_default().as_secs_f64();
            let message = format!("{program} said nothing for {limit} s (stall_s) and was stopped");
            return (ErrorClass::Transient, message);
        }
        match ended {
            Some(Ended::Code(0)) => (
                ErrorClass::Permanent,
                format!(
                    "{program} ended without a result: it sent no `result` event and left no \
                     {} in its folder",
                    naming::GENERATED_GLB
                ),
            ),
            Some(Ended::Code(code)) => {
                let class = CLASSES.iter().find(|(known, _)| *known == code);
                let class = class.map_or(ErrorClass::Permanent, |(_, class)| *class);
                let message = format!("{program} ended with exit code {code}{}", self.last_line());
                (class, message)
            }
            Some(Ended::Signal(number)) => (
                ErrorClass::Permanent,
                format!("{program} was ended by signal {number}{}", self.last_line()),
            ),
            None => (ErrorClass::Permanent, format!("{program} was lost")),
        }
    }

    fn result(&self, answer: Answer) -> GenerationResult {
        let fact = |text: String| {
            let line = one_line(&self.shared.secrets.mask_text(&text));
            line.chars().take(MAX_FACT_CHARS).collect()
        };
        let model = answer.generated_glb;
        GenerationResult {
            success: true,
            generated_glb: Some(model.unwrap_or_else(|| naming::GENERATED_GLB.into())),
            previews: answer.previews.unwrap_or_else(|| self.standard_previews()),
            algo_version: answer.algo_version.map(fact),
            unit_price_usd: answer.unit_price_usd,
            estimated_cost_usd: answer.estimated_cost_usd,
            price_source: answer.price_source.map(fact),
            raw_metadata: answer
                .raw_metadata
                .map(|metadata| self.shared.secrets.mask_map(metadata)),
        }
    }

    fn standard_previews(&self) -> Vec<PathBuf> {
        (1..=naming::MAX_PREVIEWS)
            .map(naming::preview_png)
            .take_while(|name| self.is_there(name))
            .map(PathBuf::from)
            .collect()
    }

    fn is_there(&self, name: &str) -> bool {
        self.out_dir.join(name).symlink_metadata().is_ok()
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
    fn detail(&self) -> Option<String> {
        let mut text = String::new();
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
