//! `/metrics`: Prometheus's classic text. What workers did is computed from the stores, so that
//! workers of other processes count and nothing goes back after a restart; only what is told of
//! HTTP lives in this process.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::Method;

use archi3d_core::ops::measures::{self, Family, Kind};

use crate::call::{Answer, Call, Reply};

/// As long is what the stores say good for another answer.
const FRESH: Duration = Duration::from_secs(5);

/// Bounds of the times of requests, in seconds.
const BOUNDS: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// What is counted of requests.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(String, &'static str, u16), Times>>,
    stores: Mutex<(measures::Seen, Option<(Instant, String)>)>,
}

#[derive(Default, Clone)]
struct Times {
    below: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl Metrics {
    /// Counts a request by its route, never by its path.
    pub(crate) fn count(&self, method: &Method, route: &'static str, status: u16, took: Duration) {
        let known = [Method::GET, Method::HEAD, Method::POST, Method::DELETE];
        let method = if known.contains(method) {
            method.as_str()
        } else {
            "other"
        };
        let route = if route.is_empty() { "none" } else { route };
        let mut requests = held(&self.requests);
        let times = requests
            .entry((method.to_owned(), route, status))
            .or_default();
        let took = took.as_secs_f64();
        for (below, bound) in times.below.iter_mut().zip(BOUNDS) {
            *below += u64::from(took <= bound);
        }
        times.count += 1;
        times.sum += took;
    }

    fn families(&self, streams: usize) -> Vec<Family> {
        let mut total = Family::new(
            "archi3d_http_requests_total",
            Kind::Counter,
            "Requests that were answered.",
        );
        let mut times = Family::new(
            "archi3d_http_request_duration_seconds",
            Kind::Histogram,
            "How long requests took.",
        );
        for ((method, route, status), one) in &*held(&self.requests) {
            let status = status.to_string();
            let labels = [
                ("method", method.as_str()),
                ("route", route),
                ("status", &status),
            ];
            total.add(&labels, one.count as f64);
            times.add_histogram(&labels[..2], &BOUNDS, &one.below, one.count, one.sum);
        }
        let mut open = Family::new(
            "archi3d_event_streams",
            Kind::Gauge,
            "Event streams that are open.",
        );
        open.add(&[], streams as f64);
        vec![total, times, open]
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn show(call: &Call) -> Answer {
    let metrics = &call.app.metrics;
    // Held while the stores are read: of several scrapes one reads.
    let mut stores = held(&metrics.stores);
    let (seen, last) = &mut *stores;
    let fresh = last.as_ref().filter(|(at, _)| at.elapsed() < FRESH);
    let mut text = if let Some((_, text)) = fresh {
        text.clone()
    } else {
        let text = measures::text(&measures::measure(&call.context, seen)?);
        *last = Some((Instant::now(), text.clone()));
        text
    };
    drop(stores);
    let streams = call.app.streams.load(Ordering::Relaxed);
    let _ = write!(text, "{}", measures::text(&metrics.families(streams)));
    Ok(Reply::Bytes {
        status: 200,
        media_type: "text/plain; version=0.0.4; charset=utf-8",
        body: Bytes::from(text),
        headers: Vec::new(),
    })
}
