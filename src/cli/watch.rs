//! Shows something again and again: in place on a terminal, block after block
//! elsewhere, one JSON object a line for machines.
//!
//! A frame is one write, so nothing flickers; the screen that was there before
//! comes back at the end, with the last frame below it.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::signal::{self, Signal};
use crate::cli::table::Page;
use crate::cli::ui::{Ui, clean, escaped};
use archi3d_core::cancel::{Cancel, Stage};

/// One look at what is watched.
pub struct Look {
    /// Nothing more will happen.
    pub over: bool,
    /// For machines.
    pub json: Value,
    /// For people, on a page of this size.
    pub draw: Box<dyn Fn(Page) -> String>,
}

/// A second screen, and no cursor, until it is dropped.
struct Screen;

impl Screen {
    fn enter() -> io::Result<Self> {
        write_out(b"\x1b[?1049h\x1b[?25l")?;
        Ok(Self)
    }

    fn draw(text: &str) -> io::Result<()> {
        let mut frame = String::from("\x1b[H");
        for line in text.lines() {
            frame.push_str(line);
            frame.push_str("\x1b[K\r\n");
        }
        frame.push_str("\x1b[J");
        write_out(frame.as_bytes())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nobody is left to tell that the terminal is gone.
        let _ = write_out(b"\x1b[?25h\x1b[?1049l");
    }
}

fn write_out(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Looks every `interval` until it is over, somebody stops it, or nobody reads.
pub fn run(
    ui: &Ui,
    interval: Duration,
    mut look: impl FnMut() -> Result<Look, CliError>,
) -> Result<Exit, CliError> {
    let (stop, came) = (Cancel::new(), Arc::new(Mutex::new(None)));
    let (raise, note) = (stop.clone(), came.clone());
    signal::listen(move |signal| {
        *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(signal);
        raise.raise(Stage::Kill);
    })
    .map_err(|error| {
        let source = anyhow::Error::new(error).context("cannot listen to signals");
        CliError::new(ErrorKind::Internal, source)
    })?;
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let in_place = io::stdout().is_terminal() && !ui.is_json() && !dumb;
    let mut screen = None;
    let ended = loop {
        let began = Instant::now();
        let now = look()?;
        if in_place && screen.is_none() {
            screen = Some(Screen::enter().map_err(lost)?);
        }
        match show(ui, &now, in_place) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Exit::Done),
            Err(error) => return Err(lost(error)),
        }
        // On a huge run looking takes time itself; it must not keep a core busy.
        let pause = interval.max(began.elapsed() * 4);
        if now.over || stop.wait_for(Stage::Kill, pause) {
            break now;
        }
    };
    if screen.take().is_some() {
        let text = clean(&(ended.draw)(Page::of_terminal()));
        write_out(format!("{text}\n").as_bytes()).map_err(lost)?;
    }
    let came: Option<Signal> = *came.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(came.map_or(Exit::Done, Exit::Interrupted))
}

fn show(ui: &Ui, look: &Look, in_place: bool) -> io::Result<()> {
    if ui.is_json() {
        return write_out(format!("{}\n", escaped(&look.json.to_string())).as_bytes());
    }
    if in_place {
        return Screen::draw(&clean(&(look.draw)(Page::of_screen())));
    }
    let text = clean(&(look.draw)(Page::of_terminal()));
    write_out(format!("{text}\n\n").as_bytes())
}

fn lost(error: io::Error) -> CliError {
    let source = anyhow::Error::new(error).context("cannot write to standard output");
    CliError::new(ErrorKind::Store, source)
}
