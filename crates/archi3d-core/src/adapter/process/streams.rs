//! Listens to a program without ever making it wait for long, and without ever
//! keeping more than one line of it.
//!
//! The job's thread listens itself: lines that may be events are given to it, as
//! many as were read at once, and nothing more is read until they were dealt with.
//! Everything else goes to the log from here.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use super::log::AttemptLog;
use super::reader_pool;
use super::secrets::{MaskedStream, Secrets};
use crate::platform::process::{Pipe, Pipes};

/// The longest event; a longer line is left out.
const MAX_EVENT_BYTES: usize = 16 << 20;

/// More than this is no start of an event, from its `{` to its name.
const MAX_HEAD_BYTES: usize = 64;

/// How much may stand before the `{` of an event.
const MAX_BLANK_BYTES: usize = 4 << 10;

/// What some programs write before their first word.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What an empty pipe takes without waiting, on every system.
const PIPE_TAKES: usize = 4 << 10;

/// What was heard at one time.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Lines that may be events.
    pub(super) lines: Vec<Vec<u8>>,
    /// How much was said, events or not.
    pub(super) bytes: usize,
    /// Whether the program closed its stdout.
    pub(super) closed: bool,
    /// Whether it said an event that is too long to be kept.
    pub(super) too_long: bool,
    /// Whether it said an event behind other words on the same line.
    pub(super) hidden: bool,
}

/// What all who listen to one program share.
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

/// Listens to both pipes of a program.
pub(super) struct OutputReader<'a> {
    pipes: Pipes,
    sorter: Sorter<'a>,
}

impl<'a> OutputReader<'a> {
    pub(super) fn new(pipes: Pipes, shared: &'a Shared) -> Self {
        Self {
            pipes,
            sorter: Sorter::new(shared),
        }
    }

    /// Listens until something was said, the program has ended, or `limit` is over.
    pub(super) fn read(&mut self, limit: Duration) -> Heard {
        let mut heard = Heard::default();
        let sorter = &mut self.sorter;
        let said = |which, piece: &[u8]| sorter.sort(which, piece, &mut heard);
        self.pipes.read(limit, said);
        heard
    }

    /// Tells whether nothing more can come.
    pub(super) fn are_closed(&self) -> bool {
        self.pipes.are_closed()
    }

    /// Makes only the pipes count from now on: the program has ended.
    pub(super) fn forget_program(&mut self) {
        self.pipes.forget_program();
    }

    /// Listens no more; what was held back goes to the log.
    pub(super) fn close(mut self) {
        self.sorter.end_text();
    }
}

/// Tells events from everything else.
struct Sorter<'a> {
    shared: &'a Shared,
    splitter: Splitter,
    out: MaskedStream<'a>,
    err: MaskedStream<'a>,
}

impl<'a> Sorter<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            splitter: Splitter::default(),
            out: MaskedStream::new(&shared.secrets),
            err: MaskedStream::new(&shared.secrets),
        }
    }

    /// Takes a piece; an empty one means that its pipe is closed.
    fn sort(&mut self, which: Pipe, piece: &[u8], heard: &mut Heard) {
        let log = &self.shared.log;
        if !piece.is_empty() {
            self.shared.hear();
            heard.bytes += piece.len();
        }
        match which {
            Pipe::Err if piece.is_empty() => self.err.end(|bytes| log.add_error(bytes)),
            Pipe::Err => self.err.feed(piece, |bytes| log.add_error(bytes)),
            Pipe::Out => {
                let out = &mut self.out;
                let mut take = |part: Part<'_>| match part {
                    Part::Line(line) => heard.lines.push(line),
                    Part::Text(bytes) => out.feed(bytes, |bytes| log.add(bytes)),
                    Part::LongEvent => heard.too_long = true,
                    Part::HiddenEvent => heard.hidden = true,
                };
                if piece.is_empty() {
                    self.splitter.end(&mut take);
                    out.end(|bytes| log.add(bytes));
                    heard.closed = true;
                } else {
                    self.splitter.feed(piece, &mut take);
                }
            }
        }
    }

    fn end_text(&mut self) {
        self.out.end(|bytes| self.shared.log.add(bytes));
        self.err.end(|bytes| self.shared.log.add_error(bytes));
    }
}

/// Hands the request over and stays in touch: what is sent afterwards is written in
/// order, and the program is told the end when the sender goes. A program that does
/// not read is not disturbed.
pub(super) fn converse(
    mut stdin: impl Write + Send + 'static,
    request: Vec<u8>,
) -> io::Result<Sender<&'static str>> {
    let (answers, to_tell) = channel();
    reader_pool::start(move || {
        let mut told = stdin.write_all(&request);
        while told.is_ok()
            && let Ok(answer) = to_tell.recv()
        {
            let answer: &str = answer;
            told = stdin.write_all(answer.as_bytes());
        }
    })?;
    Ok(answers)
}

/// Hands the request over; a program that does not read it is not disturbed.
pub(super) fn tell(mut stdin: impl Write + Send + 'static, request: Vec<u8>) -> io::Result<()> {
    if request.len() <= PIPE_TAKES {
        let _ = stdin.write_all(&request);
        return Ok(());
    }
    reader_pool::start(move || {
        let _ = stdin.write_all(&request);
    })
}

/// A part of what a program wrote to stdout.
enum Part<'a> {
    /// A whole line that may be an event, without its end.
    Line(Vec<u8>),
    /// Anything else.
    Text(&'a [u8]),
    /// A line that is an event and was too long.
    LongEvent,
    /// A line of other words that has an event in it.
    HiddenEvent,
}

/// Cuts stdout into lines that may be events and everything else.
#[derive(Default)]
struct Splitter {
    line: Vec<u8>,
    state: Within,
    /// Whether the line that is too long or none was called an event so far.
    event: bool,
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
    fn feed(&mut self, piece: &[u8], take: &mut impl FnMut(Part<'_>)) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let ends = part.ends_with(b"\n");
            match self.state {
                Within::Nothing => self.begin(part, ends, take),
                Within::Text => {
                    self.look_within(part);
                    take(Part::Text(part));
                }
                Within::Event => self.add(part, ends, take),
                Within::TooLong => self.skip(part),
            }
            if ends {
                self.end_line(take);
                self.state = Within::Nothing;
            }
        }
    }

    /// Decides what kind of line this is as soon as that is known.
    fn begin(&mut self, part: &[u8], ends: bool, take: &mut impl FnMut(Part<'_>)) {
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
                self.add(&start, ends, take);
            }
            None if !ends && start.len() <= MAX_BLANK_BYTES => self.line = start.into_owned(),
            _ => {
                self.state = Within::Text;
                self.look_within(&start);
                take(Part::Text(&start));
            }
        }
    }

    fn add(&mut self, part: &[u8], ends: bool, take: &mut impl FnMut(Part<'_>)) {
        if self.line.len() + part.len() > MAX_EVENT_BYTES {
            self.event = is_called_event(&self.line);
            self.line = Vec::new();
            self.state = Within::TooLong;
            self.skip(part);
            take(Part::Text(b"[a line of more than 16 MB was left out]\n"));
            return;
        }
        self.line.extend_from_slice(part);
        if ends {
            take(Part::Line(std::mem::take(&mut self.line)));
        }
    }

    /// Passes over a part of a line that is too long, keeping its last letters.
    fn skip(&mut self, part: &[u8]) {
        self.line.extend_from_slice(part);
        self.event |= is_called_event(&self.line);
        let kept = self.line.len().saturating_sub(EVENT_KEY.len());
        self.line.drain(..kept);
    }

    /// Looks for the start of an event behind other words, keeping the last letters.
    fn look_within(&mut self, part: &[u8]) {
        let start = part.len().min(MAX_HEAD_BYTES);
        self.line.extend_from_slice(&part[..start]);
        self.event |= has_event(&self.line) || has_event(part);
        if start < part.len() {
            self.line.clear();
            self.line
                .extend_from_slice(&part[part.len() - MAX_HEAD_BYTES..]);
        }
        let kept = self.line.len().saturating_sub(MAX_HEAD_BYTES);
        self.line.drain(..kept);
    }

    fn end_line(&mut self, take: &mut impl FnMut(Part<'_>)) {
        let part = match self.state {
            Within::TooLong => Part::LongEvent,
            Within::Text => Part::HiddenEvent,
            Within::Nothing | Within::Event => return,
        };
        self.line = Vec::new();
        if std::mem::take(&mut self.event) {
            take(part);
        }
    }

    /// The last line may lack its end.
    fn end(&mut self, take: &mut impl FnMut(Part<'_>)) {
        self.end_line(take);
        if !self.line.is_empty() {
            take(Part::Line(std::mem::take(&mut self.line)));
        }
    }
}

/// What every event says.
const EVENT_KEY: &[u8] = b"\"event\"";

fn is_called_event(text: &[u8]) -> bool {
    memchr::memmem::find(text, EVENT_KEY).is_some()
}

/// Tells whether text has the start of an event that must not be missed.
fn has_event(text: &[u8]) -> bool {
    let mut events = memchr::memmem::find_iter(text, b"{\"event\"");
    events.any(|at| {
        let rest = text[at + 8..].trim_ascii_start();
        let name = rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        let name = name.and_then(|name| name.strip_prefix(b"\""));
        let known: [&[u8]; 4] = [b"intent\"", b"submitted\"", b"result\"", b"error\""];
        name.is_some_and(|name| known.iter().any(|known| name.starts_with(known)))
    })
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
        let mut take = |part: Part<'_>| match part {
            Part::Line(line) => lines.push(String::from_utf8(line).expect("text")),
            Part::Text(bytes) => text.extend_from_slice(bytes),
            Part::LongEvent => text.extend_from_slice(b"[an event]\n"),
            Part::HiddenEvent => text.extend_from_slice(b"[hidden]\n"),
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
    fn an_event_behind_other_words_is_seen_however_the_pieces_fall() {
        let said = b"50 % {\"event\": \"submitted\", \"request_id\": 1}\nword\n";
        for cut in 1..said.len() {
            let (lines, text) = split(&[&said[..cut], &said[cut..]]);
            assert_eq!(lines.len(), 0);
            assert!(text.ends_with("1}\n[hidden]\nword\n"), "{cut}: {text}");
        }
        let (_, text) = split(&[
            b"as {\"event\": \"progress\"} says\n",
            b"x {\"event\": \"result",
        ]);
        assert!(!text.contains("[hidden]"), "{text}");
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
    fn lines_come_in_order_and_the_last_one_may_lack_its_end() {
        let shared = Shared::new(AttemptLog::new(None), Secrets::default());
        let mut sorter = Sorter::new(&shared);
        let mut heard = Heard::default();
        sorter.sort(Pipe::Out, b"{1}\nword\n{2}\n{3", &mut heard);
        sorter.sort(Pipe::Err, b"{4}\n", &mut heard);
        assert_eq!(heard.lines, [b"{1}\n", b"{2}\n"]);
        assert_eq!((heard.bytes, heard.closed), (19, false));
        sorter.sort(Pipe::Out, b"", &mut heard);
        assert_eq!(heard.lines[2..], [b"{3"]);
        assert!(heard.closed);
    }
}
