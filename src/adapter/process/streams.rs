//! Listens to a program without ever making it wait for long, and without ever
//! keeping more than one line of it.
//!
//! Lines that may be events go to the job's thread, as many as were read at once.
//! After a purchase the next line is read only when it was noted. Everything else
//! goes to the log from here.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use memchr::memmem;

use super::crew;
use super::log::AttemptLog;
use super::secrets::{MaskedStream, Secrets};

/// The longest event; a longer line is left out.
const MAX_EVENT_BYTES: usize = 16 << 20;

/// How much may stand before the `{` of an event.
const MAX_BLANK_BYTES: usize = 4 << 10;

/// What some programs write before their first word.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What an empty pipe takes without waiting, on every system.
const PIPE_TAKES: usize = 4 << 10;

/// How much is read at once.
const PIECE_BYTES: usize = 16 << 10;

/// How many messages may wait for the job's thread. With none, every message of every
/// program would cost two threads a meeting.
const UNHEARD: usize = 1;

/// What the job's thread hears.
#[derive(Debug)]
pub(super) enum Heard {
    /// Lines that may be events.
    Lines(Vec<Vec<u8>>),
    /// Says nothing: sent twice, so that nobody reads on before what was sent earlier
    /// has been dealt with. The second one has room only when the first was taken.
    DealtWith,
    /// The program closed its stdout.
    Closed,
}

/// What all listeners of one program share.
pub(super) struct Shared {
    pub(super) log: AttemptLog,
    pub(super) secrets: Secrets,
    started: Instant,
    last_sign: AtomicU64,
}

impl Shared {
    pub(super) fn new(log: AttemptLog, secrets: Secrets) -> Self {
        Self {
            log,
            secrets,
            started: Instant::now(),
            last_sign: AtomicU64::new(0),
        }
    }

    /// Returns for how long the program has said nothing.
    pub(super) fn silence(&self) -> Duration {
        let last = Duration::from_millis(self.last_sign.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(last)
    }

    /// Notes a sign of life.
    pub(super) fn hear(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_sign.store(now, Ordering::Relaxed);
    }
}

/// Starts to listen. The channel ends when both pipes have.
pub(super) fn listen(
    stdout: impl Read + Send + 'static,
    stderr: impl Read + Send + 'static,
    shared: &Arc<Shared>,
) -> io::Result<Receiver<Heard>> {
    let (sender, receiver) = sync_channel(UNHEARD);
    let (shared_out, sender_out) = (shared.clone(), sender.clone());
    crew::start(move || {
        hear_events(stdout, &shared_out, &sender_out);
    })?;
    let shared = shared.clone();
    crew::start(move || {
        hear_words(stderr, &shared);
        drop(sender);
    })?;
    Ok(receiver)
}

/// Hands the request over; a program that does not read it is not disturbed.
pub(super) fn tell(mut stdin: impl Write + Send + 'static, request: Vec<u8>) -> io::Result<()> {
    if request.len() <= PIPE_TAKES {
        let _ = stdin.write_all(&request);
        return Ok(());
    }
    crew::start(move || {
        let _ = stdin.write_all(&request);
    })
}

fn hear_words(mut pipe: impl Read, shared: &Shared) {
    let mut masked = MaskedStream::new(&shared.secrets);
    each_piece(&mut pipe, shared, |piece| {
        masked.feed(piece, |bytes| shared.log.add_error(bytes));
        true
    });
    masked.end(|bytes| shared.log.add_error(bytes));
}

fn hear_events(mut pipe: impl Read, shared: &Shared, sender: &SyncSender<Heard>) {
    let mut masked = MaskedStream::new(&shared.secrets);
    let mut splitter = Splitter::default();
    let purchase = memmem::Finder::new("submitted");
    let mut lines = Vec::new();
    let mut take = |part: Part<'_>| match part {
        Part::Text(bytes) => {
            masked.feed(bytes, |bytes| shared.log.add(bytes));
            true
        }
        Part::Line(line) => {
            let buys = purchase.find(&line).is_some();
            lines.push(line);
            !buys || hand_over(&mut lines, sender) && wait_until_dealt_with(sender)
        }
        Part::Pause => hand_over(&mut lines, sender),
    };
    each_piece(&mut pipe, shared, |piece| splitter.feed(piece, &mut take));
    splitter.end(&mut take);
    masked.end(|bytes| shared.log.add(bytes));
    let _ = sender.send(Heard::Closed);
}

/// Waits until the job's thread has dealt with everything that was sent.
fn wait_until_dealt_with(sender: &SyncSender<Heard>) -> bool {
    (0..=UNHEARD).all(|_| sender.send(Heard::DealtWith).is_ok())
}

/// Sends the lines to the job's thread, and waits if it is behind.
fn hand_over(lines: &mut Vec<Vec<u8>>, sender: &SyncSender<Heard>) -> bool {
    lines.is_empty() || sender.send(Heard::Lines(std::mem::take(lines))).is_ok()
}

/// Reads until the end, or until `take` wants no more.
fn each_piece(pipe: &mut impl Read, shared: &Shared, mut take: impl FnMut(&[u8]) -> bool) {
    let mut buffer = [0; PIECE_BYTES];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => {
                shared.hear();
                if !take(&buffer[..read]) {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// A part of what a program wrote to stdout.
enum Part<'a> {
    /// A whole line that may be an event, without its end.
    Line(Vec<u8>),
    /// Anything else.
    Text(&'a [u8]),
    /// Nothing more is known now.
    Pause,
}

/// Cuts stdout into lines that may be events and everything else.
#[derive(Default)]
struct Splitter {
    line: Vec<u8>,
    state: Within,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum Within {
    /// At the start of a line, with nothing but blanks so far.
    #[default]
    Nothing,
    /// In a line that may be an event.
    Event,
    /// In a line that is none.
    Text,
    /// In a line that is too long.
    TooLong,
}

impl Splitter {
    fn feed(&mut self, piece: &[u8], take: &mut impl FnMut(Part<'_>) -> bool) -> bool {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let ends = part.ends_with(b"\n");
            let goes_on = match self.state {
                Within::Nothing => self.begin(part, ends, take),
                Within::Text => take(Part::Text(part)),
                Within::Event => self.add(part, ends, take),
                Within::TooLong => true,
            };
            if !goes_on {
                return false;
            }
            if ends {
                self.state = Within::Nothing;
            }
        }
        take(Part::Pause)
    }

    /// Decides what kind of line this is as soon as that is known.
    fn begin(&mut self, part: &[u8], ends: bool, take: &mut impl FnMut(Part<'_>) -> bool) -> bool {
        let mut start = std::mem::take(&mut self.line);
        let start = if start.is_empty() {
            Cow::Borrowed(part)
        } else {
            start.extend_from_slice(part);
            Cow::Owned(start)
        };
        match may_be_event(&start) {
            Some(true) => {
                self.state = Within::Event;
                self.add(&start, ends, take)
            }
            None if !ends && start.len() <= MAX_BLANK_BYTES => {
                self.line = start.into_owned();
                true
            }
            _ => {
                self.state = Within::Text;
                take(Part::Text(&start))
            }
        }
    }

    fn add(&mut self, part: &[u8], ends: bool, take: &mut impl FnMut(Part<'_>) -> bool) -> bool {
        if self.line.len() + part.len() > MAX_EVENT_BYTES {
            self.line = Vec::new();
            self.state = Within::TooLong;
            return take(Part::Text(b"[a line of more than 16 MB was left out]\n"));
        }
        self.line.extend_from_slice(part);
        !ends || take(Part::Line(std::mem::take(&mut self.line)))
    }

    /// The last line may lack its end.
    fn end(&mut self, take: &mut impl FnMut(Part<'_>) -> bool) {
        if !self.line.is_empty() {
            take(Part::Line(std::mem::take(&mut self.line)));
            take(Part::Pause);
        }
    }
}

/// Tells whether a line that starts like this may be an event; `None` means that
/// only blanks are known so far.
fn may_be_event(start: &[u8]) -> Option<bool> {
    let mut rest = start.trim_ascii_start();
    while let Some(after) = rest.strip_prefix(BYTE_ORDER_MARK) {
        rest = after.trim_ascii_start();
    }
    let first = rest.first()?;
    (!BYTE_ORDER_MARK.starts_with(rest)).then_some(*first == b'{')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&[u8]]) -> (Vec<String>, String) {
        let (mut lines, mut text) = (Vec::new(), Vec::new());
        let mut splitter = Splitter::default();
        let mut take = |part: Part<'_>| {
            match part {
                Part::Line(line) => lines.push(String::from_utf8(line).expect("text")),
                Part::Text(bytes) => text.extend_from_slice(bytes),
                Part::Pause => {}
            }
            true
        };
        for piece in pieces {
            splitter.feed(piece, &mut take);
        }
        splitter.end(&mut take);
        (lines, String::from_utf8(text).expect("text"))
    }

    #[test]
    fn events_are_told_from_text_however_the_pieces_fall() {
        let (lines, text) = split(&[
            b"hello\n{\"a\"",
            b":1}\n{\"b\":2}\nwor",
            b"ld {x}\n",
            b"{\"c\"",
        ]);
        assert_eq!(lines, ["{\"a\":1}\n", "{\"b\":2}\n", "{\"c\""]);
        assert_eq!(text, "hello\nworld {x}\n");
    }

    #[test]
    fn blanks_and_a_byte_order_mark_hide_no_event() {
        let (lines, text) = split(&[
            b"\xef\xbb",
            b"\xbf{\"a\":1}\r\n  ",
            b"\t{\"b\":2}\n\r\r{\"c\":3}\n \n  word\n",
            b"\x0b",
            b"\n",
        ]);
        assert_eq!(
            lines,
            [
                "\u{feff}{\"a\":1}\r\n",
                "  \t{\"b\":2}\n",
                "\r\r{\"c\":3}\n"
            ]
        );
        assert_eq!(text, " \n  word\n\u{b}\n");
        let blanks = vec![b' '; 3 << 10];
        let (lines, text) = split(&[&blanks, &blanks, b"{}\n{}\n"]);
        assert_eq!(lines, ["{}\n"]);
        assert_eq!(text.trim_start(), "{}\n");
    }

    #[test]
    fn a_line_without_end_is_left_out_and_the_next_one_is_heard() {
        let long = vec![b'{'; 1 << 20];
        let mut pieces: Vec<&[u8]> = vec![&long; 20];
        pieces.push(b"\n{\"a\":1}\n");
        let (lines, text) = split(&pieces);
        assert_eq!(lines, ["{\"a\":1}\n"]);
        assert_eq!(text, "[a line of more than 16 MB was left out]\n");
    }

    #[test]
    fn after_a_purchase_nothing_is_read_until_it_was_noted() {
        let shared = Arc::new(Shared::new(AttemptLog::new(None), Secrets::default()));
        let said = b"{1}\n{2}\n{\"event\":\"submitted\"}\n{4}\n{5}";
        let receiver = listen(&said[..], &b""[..], &shared).expect("listens");
        let heard: Vec<String> = receiver
            .iter()
            .map(|heard| match heard {
                Heard::Lines(lines) => format!("{} lines", lines.len()),
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(
            heard,
            [
                "3 lines",
                "DealtWith",
                "DealtWith",
                "1 lines",
                "1 lines",
                "Closed"
            ]
        );
    }
}
