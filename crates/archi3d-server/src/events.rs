//! Server-sent events: the log that all workers write, from where the client left off.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, header};

use archi3d_core::ops::OpsContext;
use archi3d_core::ops::events::{LoggedEvent, after};

use crate::{App, OpenStream};

/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// After so long a comment shows that the connection stands.
const SILENCE: Duration = Duration::from_secs(15);

/// Which events of which place on.
pub(crate) struct Wanted {
    pub(crate) context: OpsContext,
    pub(crate) place: u64,
    pub(crate) run: Option<String>,
    pub(crate) job: Option<String>,
    pub(crate) types: Vec<String>,
}

impl Wanted {
    fn wants(&self, event: &LoggedEvent) -> bool {
        let is = |name: &str, wanted: &Option<String>| {
            let word = event.line.get(name).and_then(|word| word.as_str());
            wanted.as_deref().is_none_or(|wanted| word == Some(wanted))
        };
        let kind = event
            .line
            .get("event")
            .and_then(|kind| kind.as_str())
            .unwrap_or_default();
        is("run_id", &self.run)
            && is("job_id", &self.job)
            && (self.types.is_empty() || self.types.iter().any(|wanted| wanted == kind))
    }
}

struct Tail {
    wanted: Arc<Wanted>,
    place: u64,
    ready: VecDeque<Bytes>,
    heard: Instant,
    over: bool,
    stop: tokio::sync::watch::Receiver<bool>,
    _counted: OpenStream,
}

/// Answers with a stream that lasts until either side ends it.
pub(crate) fn stream(app: &Arc<App>, wanted: Wanted) -> Response<Body> {
    let hello = format!("retry: 2000\nid: {}\n\n", wanted.place);
    let tail = Tail {
        place: wanted.place,
        wanted: Arc::new(wanted),
        ready: VecDeque::from([Bytes::from(hello)]),
        heard: Instant::now(),
        over: false,
        stop: app.stop.clone(),
        _counted: OpenStream::new(app),
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
    response
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
            self.look().await;
            if self.ready.is_empty() {
                if self.heard.elapsed() > SILENCE {
                    self.ready
                        .push_back(Bytes::from_static(b": still here\n\n"));
                    continue;
                }
                let changed = std::pin::pin!(self.stop.changed());
                let rest = std::pin::pin!(tokio::time::sleep(LOOK));
                futures_util::future::select(changed, rest).await;
            }
        }
    }

    async fn look(&mut self) {
        let (wanted, place) = (Arc::clone(&self.wanted), self.place);
        let read = tokio::task::spawn_blocking(move || {
            let (events, place) = after(&wanted.context, place);
            let told = events
                .iter()
                .filter(|event| wanted.wants(event))
                .map(written);
            (told.collect::<String>(), place)
        });
        if let Ok((told, place)) = read.await {
            self.place = place;
            if !told.is_empty() {
                self.ready.push_back(told.into());
            }
        }
    }
}

fn written(event: &LoggedEvent) -> String {
    let kind = event
        .line
        .get("event")
        .and_then(|kind| kind.as_str())
        .unwrap_or("message");
    let data = serde_json::to_string(&event.line).unwrap_or_default();
    format!("id: {}\nevent: {kind}\ndata: {data}\n\n", event.end)
}
