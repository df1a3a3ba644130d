//! Spans by the SDK of OpenTelemetry, sent by its thread over HTTP. It is set up by the standard variables when the
//! first span begins, and only if they name a collector. What cannot be sent is dropped, and said once.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use opentelemetry::trace::{
    Link, Span as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _,
    TraceFlags, TraceId, TraceState, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span};
use serde_json::Value;
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

use crate::domain::traceparent::TraceParent;

use super::{Start, variable};

/// A span that is recorded.
pub(super) type Live = Span;

/// How long whoever ends waits for spans that are not sent yet.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a collector may take to answer, in milliseconds, unless a variable says otherwise.
const USUAL_MS: u64 = 10_000;

type Hears = Arc<dyn Fn(String) + Send + Sync>;

/// Who is told that spans cannot be sent.
static HEARS: Mutex<Option<Hears>> = Mutex::new(None);

/// Whether somebody was.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Whether the last call found nobody.
static AWAY: AtomicBool = AtomicBool::new(false);

static SENDS: OnceLock<Option<(SdkTracerProvider, SdkTracer)>> = OnceLock::new();

/// Has `hears` told, once, that spans cannot be sent.
pub fn hear(hears: impl Fn(String) + Send + Sync + 'static) {
    *HEARS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(hears));
}

/// Sends what was not sent yet, as far as that goes in a moment. Nothing is recorded after it.
pub fn end() {
    if let Some(Some((provider, _))) = SENDS.get()
        && !AWAY.load(Ordering::Relaxed)
    {
        let _ = provider.shutdown_with_timeout(PATIENCE);
    }
}

fn tell(trouble: String) {
    if TOLD.swap(true, Ordering::Relaxed) {
        return;
    }
    let hears = HEARS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(hears) = hears {
        hears(format!(
            "traces are incomplete; everything else continues: {trouble}"
        ));
    }
}

fn tracer() -> Option<&'static SdkTracer> {
    Some(&SENDS.get_or_init(set_up).as_ref()?.1)
}

/// Reads the standard variables; nothing if they name no collector.
fn set_up() -> Option<(SdkTracerProvider, SdkTracer)> {
    let says = |name: &str, word: &str| {
        variable(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(word))
    };
    let either = |one: &str, other: &str| variable(one).or_else(|| variable(other));
    either(
        opentelemetry_otlp::OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
        opentelemetry_otlp::OTEL_EXPORTER_OTLP_ENDPOINT,
    )?;
    if says("OTEL_SDK_DISABLED", "true") || says("OTEL_TRACES_EXPORTER", "none") {
        return None;
    }
    let limit = either(
        opentelemetry_otlp::OTEL_EXPORTER_OTLP_TRACES_TIMEOUT,
        opentelemetry_otlp::OTEL_EXPORTER_OTLP_TIMEOUT,
    );
    let limit = limit.and_then(|text| text.trim().parse().ok());
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(opentelemetry_otlp::Protocol::HttpBinary)
        .with_http_client(Collector::new(Duration::from_millis(
            limit.unwrap_or(USUAL_MS),
        )))
        .with_retry_policy(RetryPolicy::disabled())
        .build();
    let exporter = match exporter {
        Ok(exporter) => exporter,
        Err(error) => {
            tell(error.to_string());
            return None;
        }
    };
    let resource = Resource::builder().build();
    let named = resource.get(&"service.name".into());
    let named = named.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let mut attributes = vec![KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))];
    if !named {
        attributes.push(KeyValue::new("service.name", "archi3d"));
    }
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(Resource::builder().with_attributes(attributes).build())
        .build();
    let tracer = provider.tracer("archi3d");
    Some((provider, tracer))
}

pub(super) fn begin(name: String, parent: Option<TraceParent>, start: &Start) -> Option<Live> {
    let tracer = tracer()?;
    let builder = SpanBuilder {
        name: name.into(),
        span_kind: start.serves.then_some(SpanKind::Server),
        start_time: start.since.map(moment),
        links: start
            .link
            .map(|link| vec![Link::with_context(context(link))]),
        ..SpanBuilder::default()
    };
    let around = match parent {
        Some(parent) => Context::new().with_remote_span_context(context(parent)),
        None => Context::new(),
    };
    Some(tracer.build_with_context(builder, &around))
}

pub(super) fn end_at(span: Option<Live>, at: Instant) {
    if let Some(mut span) = span {
        span.end_with_timestamp(moment(at));
    }
}

pub(super) fn place(span: &Live) -> Option<TraceParent> {
    let context = span.span_context();
    context.is_valid().then(|| TraceParent {
        trace: u128::from_be_bytes(context.trace_id().to_bytes()),
        span: u64::from_be_bytes(context.span_id().to_bytes()),
        flags: context.trace_flags().to_u8(),
    })
}

pub(super) fn set(span: &mut Live, name: &'static str, value: Value) {
    if let Some(value) = plain(value) {
        span.set_attribute(KeyValue::new(name, value));
    }
}

pub(super) fn event(span: &mut Live, name: &'static str, about: Vec<(&'static str, Value)>) {
    let about = about.into_iter();
    let about = about.filter_map(|(name, value)| Some(KeyValue::new(name, plain(value)?)));
    span.add_event(name, about.collect());
}

pub(super) fn failed(span: &mut Live, word: &'static str) {
    span.set_status(Status::error(word));
}

fn plain(value: Value) -> Option<opentelemetry::Value> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Bool(flag) => Some(flag.into()),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Some(whole.into()),
            None => number.as_f64().map(Into::into),
        },
        _ => None,
    }
}

fn context(place: TraceParent) -> SpanContext {
    SpanContext::new(
        TraceId::from_bytes(place.trace.to_be_bytes()),
        SpanId::from_bytes(place.span.to_be_bytes()),
        TraceFlags::new(place.flags),
        true,
        TraceState::NONE,
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "the SDK reads the wall clock for the spans that begin now; those of the past fit to them"
)]
fn moment(at: Instant) -> SystemTime {
    let now = SystemTime::now();
    now.checked_sub(at.elapsed()).unwrap_or(now)
}

/// Brings spans to the collector, on the SDK's thread.
#[derive(Debug)]
struct Collector(Agent);

impl Collector {
    fn new(limit: Duration) -> Self {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("archi3d/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(limit))
            .tls_config(tls)
            .build();
        Self(config.into())
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        // Neither names of users nor keys are told.
        let host = parts.uri.host().unwrap_or_default().to_owned();
        let sent = self.0.run(Request::from_parts(parts, &body[..]));
        AWAY.store(sent.is_err(), Ordering::Relaxed);
        let response = sent.inspect_err(|error| {
            tell(format!(
                "the collector on {host} cannot be reached: {error}"
            ));
        })?;
        if !response.status().is_success() {
            tell(format!(
                "the collector on {host} answers {}",
                response.status().as_u16()
            ));
        }
        let (parts, mut body) = response.into_parts();
        let body = body.read_to_vec().unwrap_or_default();
        Ok(Response::from_parts(parts, body.into()))
    }
}

impl HttpClient for Collector {
    fn send_bytes<'c, 'a>(
        &'c self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>
    where
        'c: 'a,
        Self: 'a,
    {
        // The thread is there for nothing else.
        Box::pin(async move { self.send(request) })
    }
}
