//! Server-sent events: the log that all workers write, from where the client left off.
//!
//! One thread reads what is new, once for all streams ([`Hub`]); a stream that begins further back reads the log
//! itself until it has caught up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, header};
use tokio::sync::watch;

use archi3d_core::ops::OpsContext;
use archi3d_core::ops::events::{LoggedEvent, after, end};

use crate::dispatch::who_asks;
use crate::problem::{Problem, TOO_MANY};
use crate::{App, OpenStream};

/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// After so long a comment shows that the connection stands.
const SILENCE: Duration = Duration::from_secs(15);

/// So much of the log is kept for streams that are a little behind.
const KEPT: usize = 8 << 20;

/// So much is sent at once.
const PIECE: usize = 256 << 10;

/// What was not looked at for so long is not read at once; who wants it reads it.
const FAR_BEHIND: u64 = 1 << 20;

/// Which events of which place on.
pub(crate) struct Wanted {
    pub(crate) context: OpsContext,
    pub(crate) place: u64,
    pub(crate) run: Option<String>,
    pub(crate) job: Option<String>,
    pub(crate) types: Vec<String>,
    /// The token that was shown.
    pub(crate) shown: Option<String>,
}

impl Wanted {
    fn wants(&self, event: &Told) -> bool {
        let is = |has: &Option<String>, wanted: &Option<String>| wanted.is_none() || has == wanted;
        is(&event.run, &self.run)
            && is(&event.job, &self.job)
            && (self.types.is_empty() || self.types.contains(&event.kind))
    }
}

/// An event as it is sent.
struct Told {
    end: u64,
    kind: String,
    run: Option<String>,
    job: Option<String>,
    text: String,
}

impl Told {
    fn of(event: &LoggedEvent) -> Self {
        let word = |name: &str| event.line.get(name).and_then(|word| word.as_str());
        let kind = word("event").unwrap_or("message").to_owned();
        let data = serde_json::to_string(&event.line).unwrap_or_default();
        Self {
            end: event.end,
            text: format!("id: {}\nevent: {kind}\ndata: {data}\n\n", event.end),
            kind,
            run: word("run_id").map(str::to_owned),
            job: word("job_id").map(str::to_owned),
        }
    }
}

/// The end of the log, read once for all streams.
#[derive(Default)]
pub(crate) struct Hub {
    kept: Mutex<Kept>,
    news: watch::Sender<u64>,
}

#[derive(Default)]
struct Kept {
    /// The place in the log at which what is kept begins, and the one behind it.
    from: u64,
    to: u64,
    bytes: usize,
    events: VecDeque<Told>,
}

impl Hub {
    /// Reads what is new while somebody listens, until the service stops.
    pub(crate) fn follow(app: &App) {
        while !app.is_stopping() {
            let listens = app.streams.load(std::sync::atomic::Ordering::Relaxed) > 0;
            if listens {
                let context = app.context();
                while app.hub.read(&context) {}
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Reads a piece; tells whether there was one.
    fn read(&self, context: &OpsContext) -> bool {
        let begin = self.kept().to;
        let far = end(context).saturating_sub(begin) > FAR_BEHIND;
        let begin = if far { end(context) } else { begin };
        let (events, to) = after(context, begin);
        let mut kept = self.kept();
        if far || to < kept.to {
            *kept = Kept {
                from: if far { begin } else { 0 },
                ..Kept::default()
            };
        }
        let moved = to != kept.to;
        kept.to = to;
        for event in events.iter().map(Told::of) {
            kept.bytes += event.text.len();
            kept.events.push_back(event);
        }
        while kept.bytes > KEPT
            && let Some(first) = kept.events.pop_front()
        {
            kept.bytes -= first.text.len();
            kept.from = first.end;
        }
        drop(kept);
        if moved {
            self.news.send_replace(to);
        }
        moved
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is wanted behind a place, a piece of it where there is much, and the place to go on from; nothing if it
    /// is not kept.
    fn since(&self, wanted: &Wanted, place: u64) -> Option<(String, u64)> {
        let kept = self.kept();
        if place < kept.from || place > kept.to {
            return None;
        }
        let first = kept.events.partition_point(|event| event.end <= place);
        let mut text = String::new();
        for event in kept.events.range(first..) {
            if wanted.wants(event) {
                text.push_str(&event.text);
            }
            if text.len() > PIECE {
                return Some((text, event.end));
            }
        }
        Some((text, kept.to))
    }
}

struct Tail {
    wanted: Arc<Wanted>,
    place: u64,
    ready: VecDeque<Bytes>,
    heard: Instant,
    /// When it was last seen whether its token is still good.
    let_in: Instant,
    over: bool,
    app: Arc<App>,
    news: watch::Receiver<u64>,
    stop: tokio::sync::watch::Receiver<bool>,
    _counted: OpenStream,
}

/// Answers with a stream that lasts until either side ends it.
pub(crate) fn stream(app: &Arc<App>, wanted: Wanted) -> Result<Response<Body>, Problem> {
    let counted = OpenStream::take(app).ok_or_else(|| {
        Problem::new(TOO_MANY, "too many event streams are open").header(header::RETRY_AFTER, "10")
    })?;
    let hello = format!("retry: 2000\nid: {}\n\n", wanted.place);
    let tail = Tail {
        place: wanted.place,
        wanted: Arc::new(wanted),
        ready: VecDeque::from([Bytes::from(hello)]),
        heard: Instant::now(),
        let_in: Instant::now(),
        over: false,
        app: Arc::clone(app),
        news: app.hub.news.subscribe(),
        stop: app.stop.clone(),
        _counted: counted,
    };
    let stream = futures_util::stream::unfold(tail, |mut tail| async move {
        let piece = tail.next().await?;
        Some((Ok::<_, std::io::Error>(piece), tail))
    });
    let mut response = Response::new(Body::from_stream(stream));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

impl Tail {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                self.heard = Instant::now();
                return Some(piece);
            }
            if self.over {
                return None;
            }
            if *self.stop.borrow() {
                self.over = true;
                return Some(Bytes::from_static(b"event: bye\ndata: {}\n\n"));
            }
            if self.let_in.elapsed() >= SILENCE && !self.is_let_in().await {
                self.over = true;
                return Some(Bytes::from_static(b"event: bye\ndata: {}\n\n"));
            }
            if self.look().await {
                continue;
            }
            let since = self.heard.elapsed().max(self.let_in.elapsed());
            let left = SILENCE.saturating_sub(since);
            if left.is_zero() && self.heard.elapsed() >= SILENCE {
                self.ready
                    .push_back(Bytes::from_static(b": still here\n\n"));
                continue;
            }
            let changed = std::pin::pin!(self.stop.changed());
            let news = std::pin::pin!(self.news.changed());
            let rest = std::pin::pin!(tokio::time::sleep(left));
            let either = futures_util::future::select(changed, news);
            futures_util::future::select(either, rest).await;
        }
    }

    /// Looks again whether the token may listen.
    async fn is_let_in(&mut self) -> bool {
        self.let_in = Instant::now();
        let (app, wanted) = (Arc::clone(&self.app), Arc::clone(&self.wanted));
        // Where many look already, or a disk hangs, it is looked later: no stream takes a place from requests for long.
        let Ok(place) = Arc::clone(&app.letting_in).try_acquire_owned() else {
            return true;
        };
        let looked = tokio::task::spawn_blocking(move || {
            let _place = place;
            let who = who_asks(&app, &app.context(), wanted.shown.as_deref());
            // Who cannot be asked about now is asked about later.
            who.is_err() || who.is_ok_and(|who| who.is_some())
        });
        looked.await.unwrap_or(true)
    }

    /// Gets what is new; tells whether the place moved.
    async fn look(&mut self) -> bool {
        let before = self.place;
        self.news.mark_unchanged();
        let (told, place) = if let Some(told) = self.app.hub.since(&self.wanted, before) {
            told
        } else {
            let wanted = Arc::clone(&self.wanted);
            let turn = Arc::clone(&self.app.reading_back).acquire_owned().await;
            let read = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                let (events, place) = after(&wanted.context, before);
                let told = events.iter().map(Told::of);
                let told = told.filter(|event| wanted.wants(event));
                (told.map(|event| event.text).collect(), place)
            });
            let Ok(read) = read.await else {
                return false;
            };
            read
        };
        self.place = place;
        if !told.is_empty() {
            self.ready.push_back(told.into());
        }
        place != before
    }
}
