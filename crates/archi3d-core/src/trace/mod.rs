//! Traces: how long what took, as spans below each other, for a collector that speaks OTLP.
//!
//! Every thread has the spans that it is in, one inside the other; what begins takes the innermost as
//! its parent. Where no collector is named (or the cargo feature `otel` is off) nothing is recorded, and
//! a place in somebody else's trace is passed on all the same. Nothing in here waits for anybody or fails.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::Instant;

use serde_json::Value;

use crate::domain::traceparent::TraceParent;

#[cfg(feature = "otel")]
mod otlp;
#[cfg(not(feature = "otel"))]
#[path = "none.rs"]
mod otlp;

pub use otlp::{end, hear};

/// The variable that names the span in which a program was started.
pub const TRACEPARENT: &str = "TRACEPARENT";

thread_local! {
    static INSIDE: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// A span that this thread is in.
struct Frame {
    /// Where others go on: in this span, or in that of another program if none is recorded.
    place: Option<TraceParent>,
    span: Option<otlp::Live>,
}

/// How a span begins.
#[derive(Debug, Default)]
pub struct Start {
    /// What it is below; else it is the innermost span of the thread, or the one that this program was started in.
    pub parent: Option<TraceParent>,
    /// Another span that led to it, in a trace of its own.
    pub link: Option<TraceParent>,
    /// When it began, if that is over.
    pub since: Option<Instant>,
    /// Whether somebody else's request is answered in it: it is below that or nothing.
    pub serves: bool,
}

/// A span of this thread; it ends when this goes out of scope.
#[must_use]
pub struct Entered {
    depth: usize,
    /// It belongs to its thread.
    stays: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(|inside| inside.truncate(self.depth));
    }
}

/// Begins a span inside the one that the thread is in.
pub fn span(name: &'static str) -> Entered {
    begin(name, Start::default())
}

/// Begins a span.
pub fn begin(name: impl Into<String>, start: Start) -> Entered {
    let around = || here().or_else(given);
    let parent = if start.serves {
        start.parent
    } else {
        start.parent.or_else(around)
    };
    let span = otlp::begin(name.into(), parent, &start);
    // Where nothing is recorded, whoever led here has the word.
    let place = span.as_ref().and_then(otlp::place);
    let place = place.or(parent).or(start.link);
    INSIDE.with_borrow_mut(|inside| {
        inside.push(Frame { place, span });
        Entered {
            depth: inside.len() - 1,
            stays: PhantomData,
        }
    })
}

/// Notes a span below `parent` that is over already.
pub fn past(name: &'static str, parent: TraceParent, from: Instant, to: Instant) {
    let start = Start {
        since: Some(from),
        ..Start::default()
    };
    otlp::end_at(otlp::begin(name.to_owned(), Some(parent), &start), to);
}

/// Says something of the span that the thread is in.
pub fn set(name: &'static str, value: impl Into<Value>) {
    with_innermost(|span| otlp::set(span, name, value.into()));
}

/// Notes in the span that the thread is in that something happened.
pub fn event<const N: usize>(name: &'static str, about: [(&'static str, Value); N]) {
    with_innermost(|span| otlp::event(span, name, about.into()));
}

/// Says that what the thread is in has failed, in a word.
pub fn failed(word: &'static str) {
    with_innermost(|span| otlp::failed(span, word));
}

/// Returns where others go on that this thread starts.
pub fn here() -> Option<TraceParent> {
    INSIDE.with_borrow(|inside| inside.last()?.place)
}

/// Returns the outermost span of the thread, if it is recorded: what comes later belongs below that.
pub fn outermost() -> Option<TraceParent> {
    INSIDE.with_borrow(|inside| otlp::place(inside.first()?.span.as_ref()?))
}

fn with_innermost(tell: impl FnOnce(&mut otlp::Live)) {
    INSIDE.with_borrow_mut(|inside| {
        if let Some(span) = inside.last_mut().and_then(|frame| frame.span.as_mut()) {
            tell(span);
        }
    });
}

/// Returns the span in which this program was started.
fn given() -> Option<TraceParent> {
    static GIVEN: OnceLock<Option<TraceParent>> = OnceLock::new();
    *GIVEN.get_or_init(|| TraceParent::parse(&variable(TRACEPARENT)?))
}

#[expect(
    clippy::disallowed_methods,
    reason = "traces are set up by standard variables, which the exporter reads by itself as well"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
