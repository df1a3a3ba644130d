//! The only printer: data goes to stdout, talk to stderr.
//!
//! Everything printed is cleaned of what a terminal would obey; in JSON it is
//! escaped, so that machines read every name as it is. A reader that went away is no error. Talk goes above the progress bar while there is one.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use indicatif::ProgressBar;
use owo_colors::{OwoColorize, Style};
use serde::Serialize;
use serde_json::Value;

use crate::cli::error::{CliError, ErrorKind};
use crate::cli::program;
use archi3d_core::domain::text::one_line;

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Prints; clones print to the same place.
#[derive(Debug, Clone)]
pub struct Ui {
    json: bool,
    verbose: bool,
    colored: bool,
    bar: Arc<Mutex<Option<ProgressBar>>>,
    /// The run that everything it says is about, where several are told of.
    about: Option<Arc<str>>,
}

impl Ui {
    /// Makes a printer for the options given.
    pub fn new(color: Color, json: bool, verbose: bool) -> Self {
        let colored = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => AutoStream::choice(&io::stderr()) != ColorChoice::Never,
        };
        Self {
            json,
            verbose,
            colored,
            bar: Arc::default(),
            about: None,
        }
    }

    /// Makes a printer that begins every line with the run that it is about.
    #[must_use]
    pub fn about(&self, run: &str) -> Self {
        Self {
            about: Some(run.into()),
            ..self.clone()
        }
    }

    /// Tells whether machines read stdout.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Tells whether details are wanted.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Tells whether a bar can be drawn on stderr.
    pub fn has_terminal(&self) -> bool {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        io::stderr().is_terminal() && !dumb && self.about.is_none()
    }

    /// Prints data that people read, on stdout.
    pub fn data(&self, text: &str) -> Result<(), CliError> {
        Self::write_data(&clean(&program::as_typed(text)))
    }

    /// Prints a text that another program reads, on stdout, as it is.
    pub fn script(&self, text: &str) -> Result<(), CliError> {
        Self::write_data(text.trim_end())
    }

    /// Prints one JSON object, on stdout: nothing of it is lost.
    pub fn data_json(&self, value: &impl Display) -> Result<(), CliError> {
        Self::write_data(&escaped(&value.to_string()))
    }

    /// Prints what a command answers as one JSON object, on stdout.
    pub fn answer(&self, answer: &impl Serialize) -> Result<(), CliError> {
        self.data_json(&value(answer))
    }

    /// Prints a list as one JSON object, under its name.
    pub fn list(&self, name: &str, list: &impl Serialize) -> Result<(), CliError> {
        self.answer(&BTreeMap::from([(name, list)]))
    }

    fn write_data(text: &str) -> Result<(), CliError> {
        let mut stdout = io::stdout().lock();
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.write_all(b"\n"))
            .and_then(|()| stdout.flush());
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let source = anyhow::Error::new(error).context("cannot write to standard output");
                Err(CliError::new(ErrorKind::Store, source))
            }
            _ => Ok(()),
        }
    }

    /// Says something.
    pub fn say(&self, text: &str) {
        self.talk("", Style::new(), text);
    }

    /// Says something that only those who asked for details want to hear.
    pub fn detail(&self, text: &str) {
        if self.verbose {
            self.say(text);
        }
    }

    /// Says that something is not as it should be.
    pub fn warn(&self, text: &str) {
        self.talk("warning: ", Style::new().yellow().bold(), text);
    }

    /// Says that a job failed.
    pub fn failure(&self, text: &str) {
        self.talk("failed: ", Style::new().red().bold(), text);
    }

    /// Says what to do next.
    pub fn hint(&self, text: &str) {
        self.talk("hint: ", Style::new().cyan().bold(), text);
    }

    /// Prints an error, and as data too if machines listen.
    pub fn error(&self, error: &CliError) {
        let text = error.render();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        self.talk("error: ", Style::new().red().bold(), text);
        if self.json {
            // The error itself is already told; a failing stdout adds nothing.
            let _ = self.answer(&error.told());
        }
    }

    /// Puts all further talk above `bar`, or takes the bar away.
    pub fn set_bar(&self, bar: Option<ProgressBar>) {
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }

    fn talk(&self, label: &str, style: Style, text: &str) {
        let label = if self.colored && !label.is_empty() {
            label.style(style).to_string()
        } else {
            label.to_owned()
        };
        let mut text = clean(&program::as_typed(text));
        if let Some(run) = &self.about {
            let run = clean(run);
            let rest = text.strip_prefix(&format!("run {run}: "));
            text = format!("{run}: {}", rest.unwrap_or(&text));
        }
        let line = format!("{label}{text}\n");
        let print = || {
            // Nobody is left to tell that stderr is gone.
            let _ = io::stderr().lock().write_all(line.as_bytes());
        };
        match &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

fn turns_text(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns JSON in which everything a terminal would obey is written as `\uXXXX`.
pub fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_control() || turns_text(c) || matches!(c, '\u{2028}' | '\u{2029}') {
            // All of these have four digits at most, and stand only in strings.
            let _ = write!(text, "\\u{:04x}", u32::from(c));
        } else {
            text.push(c);
        }
    }
    text
}

/// Returns `text` without anything a terminal would obey but line ends.
pub fn clean(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| one_line(line).replace(turns_text, ""))
        .collect();
    lines.join("\n")
}

/// Returns an answer as JSON.
pub fn value(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).expect("an answer has only plain fields")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_read_every_name_as_it_is() {
        let value = serde_json::json!({"a\u{85}": "evil\u{202e}gpj.exe \u{9b}31m\u{7f} 椅子\n"});
        let text = escaped(&value.to_string());
        assert_eq!(
            text,
            r#"{"a\u0085":"evil\u202egpj.exe \u009b31m\u007f 椅子\n"}"#
        );
        let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read, value);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_printed() {
        assert_eq!(clean("a\u{1b}[2Jb"), "a [2Jb");
        assert_eq!(clean("\u{9b}31mred"), "31mred");
        assert_eq!(clean("evil\u{202e}gpj.exe"), "evilgpj.exe");
        assert_eq!(clean("one\r\n  two\u{7}\n"), "one\n  two\n");
    }
}
