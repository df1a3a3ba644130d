//! Calls to a service: one request, one answer, nothing repeated.
//!
//! Every call says whether a byte of it may have left, because a lost answer to
//! an order is not the same as an order that never went out. Addresses are https,
//! or plain http on this machine. Redirects are never followed here, and the
//! account's key goes only where its caller puts it.

use std::io::Read as _;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::DateTime;
use serde_json::Value;
use ureq::config::Config;
use ureq::http::{HeaderMap, Request, Response, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectionDetails, Connector, DefaultConnector, Transport};
use ureq::{Agent, AsSendBody, Body};

use crate::adapter::process::log::AttemptLog;
use crate::adapter::process::secrets::Secrets;
use crate::domain::text::one_line;

/// The largest answer that is read as text.
const MAX_ANSWER_BYTES: u64 = 8 << 20;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// How much of an answer is quoted in a message.
const QUOTED_CHARS: usize = 300;

/// Where services put what they say to people, the best first.
const SAYING: [&str; 8] = [
    "msg",
    "detail",
    "message",
    "error_message",
    "error_msg",
    "error",
    "title",
    "status",
];

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content<'a> {
    /// Nothing.
    None,
    /// Bytes of a type.
    Bytes(&'a str, &'a [u8]),
}

/// One call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a str,
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) content: Content<'a>,
}

/// What a service answered.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the answer as JSON, if it is whole.
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Returns what the service says, for a message: the sentence in its JSON, the title
    /// of a page, else how the answer begins.
    pub(super) fn said(&self) -> String {
        let text = self.text();
        let said = match self.json() {
            Some(Value::String(text)) => text,
            Some(body) => sentence(&body),
            None => match text.split_once("<title>") {
                Some((_, rest)) => rest.split('<').next().unwrap_or_default().to_owned(),
                None if text.trim_start().starts_with('<') => String::new(),
                None => text,
            },
        };
        let said = one_line(&said);
        match said.trim() {
            "" => "no reason given".to_owned(),
            said => said.chars().take(QUOTED_CHARS).collect(),
        }
    }

    /// Returns the whole answer for a person who looks for the cause.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns how long the service asks to wait: seconds, or until a time, by its own
    /// clock where it says what that shows.
    #[expect(
        clippy::disallowed_methods,
        reason = "the other clock of a difference that the service left out"
    )]
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let asked = self.header("retry-after")?.trim();
        if let Ok(seconds) = asked.parse::<f64>() {
            return Duration::try_from_secs_f64(seconds.max(0.0)).ok();
        }
        let until = DateTime::parse_from_rfc2822(asked).ok()?;
        let date = self.header("date");
        let now = date.and_then(|date| DateTime::parse_from_rfc2822(date.trim()).ok());
        let now = now.unwrap_or_else(|| chrono::Utc::now().into());
        Some((until - now).to_std().unwrap_or_default())
    }

    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Returns the words for people in an error of any service: a text, `loc: msg` of each
/// in a list, or what stands under the usual names.
pub(super) fn sentence(error: &Value) -> String {
    let word = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    match error {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let each = list.iter().map(sentence).filter(|text| !text.is_empty());
            each.collect::<Vec<_>>().join("; ")
        }
        Value::Object(object) => {
            let place = object.get("loc").and_then(Value::as_array);
            let place: Vec<String> = place.into_iter().flatten().map(word).collect();
            let said = SAYING.iter().filter_map(|name| object.get(*name));
            let said = said.map(sentence).find(|text| !text.is_empty());
            match said.unwrap_or_default() {
                said if place.is_empty() || said.is_empty() => said,
                said => format!("{}: {said}", place.join(".")),
            }
        }
        _ => String::new(),
    }
}

/// Why a call brought no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Nothing of it left this machine.
    Unsent(String),
    /// It may have arrived.
    Lost(String),
}

impl Trouble {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Unsent(text) | Self::Lost(text) => text,
        }
    }
}

/// What must be masked. A key that is set while a job runs is added to it.
#[derive(Debug, Default)]
pub(super) struct Masks(Mutex<(Vec<String>, Arc<Secrets>)>);

impl Masks {
    /// Adds a key of an account; each half of one that has two is as secret.
    pub(super) fn add(&self, name: &str, key: &str) {
        let mut masks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (keys, secrets) = &mut *masks;
        if keys.iter().any(|known| known == key) {
            return;
        }
        keys.push(key.to_owned());
        let parts = keys
            .iter()
            .flat_map(|key| key.split(':').chain([key.as_str()]));
        *secrets = Arc::new(Secrets::of(parts.map(|part| (name, part))));
    }

    pub(super) fn secrets(&self) -> Arc<Secrets> {
        let masks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&masks.1)
    }
}

/// Makes the calls of one job.
pub(super) struct Client {
    agent: Agent,
    connected: Arc<AtomicBool>,
    masks: Arc<Masks>,
    log: Arc<AttemptLog>,
    began: Instant,
}

impl Client {
    /// Makes a client whose calls take at most `limit`.
    pub(super) fn new(limit: Duration, masks: &Arc<Masks>, log: Arc<AttemptLog>) -> Self {
        let connected = Arc::new(AtomicBool::new(false));
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // What comes packed all the same is unpacked, but cannot be gone on with.
            .accept_encoding("identity")
            .user_agent(concat!("archi3d/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT.min(limit)))
            .timeout_per_read(Some(limit))
            .timeout_per_write(Some(limit))
            .timeout_recv_response(Some(limit))
            // Nothing waits in a pool: an order must not meet a connection that has ended.
            .max_idle_connections(0)
            .tls_config(tls())
            .build();
        Self {
            agent: agent(config, &connected),
            connected,
            masks: Arc::clone(masks),
            log,
            began: Instant::now(),
        }
    }

    /// Returns what ends every call that is under way, from another thread.
    pub(super) fn agent(&self) -> Agent {
        self.agent.clone()
    }

    /// Returns `text` without secrets.
    pub(super) fn mask(&self, text: &str) -> String {
        self.masks.secrets().mask_text(text)
    }

    pub(super) fn secrets(&self) -> Arc<Secrets> {
        self.masks.secrets()
    }

    /// Writes a line into the attempt's log.
    pub(super) fn note(&self, line: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        let line = format!("{seconds:9.3} {}\n", self.mask(&one_line(line)));
        self.log.add(line.as_bytes());
    }

    /// Makes a call and reads its whole answer within `limit`.
    pub(super) fn call(&self, call: Call<'_>, limit: Duration) -> Result<Answer, Trouble> {
        let outcome = self.send(call, Some(limit)).and_then(|response| {
            let (parts, mut body) = response.into_parts();
            let mut bytes = Vec::new();
            let mut reader = body.as_reader().take(MAX_ANSWER_BYTES + 1);
            match reader.read_to_end(&mut bytes) {
                Ok(read) if read as u64 > MAX_ANSWER_BYTES => {
                    Err(Trouble::Lost("the answer is longer than 8 MB".to_owned()))
                }
                Ok(_) => Ok(Answer {
                    status: parts.status.as_u16(),
                    headers: parts.headers,
                    body: bytes,
                }),
                Err(error) => Err(Trouble::Lost(format!("the answer was cut off: {error}"))),
            }
        });
        let outcome = outcome.map_err(|trouble| match trouble {
            Trouble::Unsent(text) => Trouble::Unsent(self.mask(&text)),
            Trouble::Lost(text) => Trouble::Lost(self.mask(&text)),
        });
        let told = match &outcome {
            Ok(answer) => format!("{}, {} bytes", answer.status, answer.body.len()),
            Err(trouble) => trouble.text().to_owned(),
        };
        self.note(&format!("{} {}: {told}", call.method, shown(call.url)));
        outcome
    }

    /// Makes a call whose answer is read piece by piece.
    pub(super) fn open(&self, call: Call<'_>) -> Result<Response<Body>, Trouble> {
        let outcome = self.send(call, None);
        let told = match &outcome {
            Ok(response) => response.status().as_u16().to_string(),
            Err(trouble) => trouble.text().to_owned(),
        };
        self.note(&format!("{} {}: {told}", call.method, shown(call.url)));
        outcome
    }

    fn send(&self, call: Call<'_>, limit: Option<Duration>) -> Result<Response<Body>, Trouble> {
        let on_this_machine = check_address(call.url).map_err(Trouble::Unsent)?;
        let mut request = Request::builder().method(call.method).uri(call.url);
        for (name, value) in call.headers {
            request = request.header(*name, *value);
        }
        self.connected.store(false, Ordering::SeqCst);
        let outcome = match call.content {
            Content::None if call.method == "GET" => {
                self.run(request.body(()), on_this_machine, limit)
            }
            Content::None => self.run(request.body(&[][..]), on_this_machine, limit),
            Content::Bytes(kind, bytes) => {
                let request = request.header("content-type", kind).body(bytes);
                self.run(request, on_this_machine, limit)
            }
        };
        outcome.map_err(|error| {
            let text = self.mask(&error.to_string());
            if self.connected.load(Ordering::SeqCst) {
                Trouble::Lost(text)
            } else {
                Trouble::Unsent(text)
            }
        })
    }
}

impl Client {
    fn run<B: AsSendBody>(
        &self,
        request: Result<Request<B>, ureq::http::Error>,
        on_this_machine: bool,
        limit: Option<Duration>,
    ) -> Result<Response<Body>, ureq::Error> {
        let mut config = self.agent.configure_request(request?).timeout_global(limit);
        if on_this_machine {
            config = config.proxy(None);
        }
        self.agent.run(config.build())
    }
}

/// Says whether an address is on this machine, and refuses plain http elsewhere.
pub(super) fn check_address(url: &str) -> Result<bool, String> {
    let uri: Uri = url
        .parse()
        .map_err(|_| format!("invalid address {}", shown(url)))?;
    let host = uri.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let here = host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(here),
        Some("http") if here => Ok(true),
        _ => Err(format!(
            "the address {} is not https; plain http is used on this machine only",
            shown(url)
        )),
    }
}

/// Returns an address without what may grant something.
pub(super) fn shown(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

fn tls() -> TlsConfig {
    TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}

fn agent(config: Config, connected: &Arc<AtomicBool>) -> Agent {
    let connector = DefaultConnector::new().chain(Witness(Arc::clone(connected)));
    Agent::with_parts(config, connector, DefaultResolver::default())
}

/// Notes that a connection stands, through proxy and TLS: from then on a byte of
/// the request may leave.
#[derive(Debug)]
struct Witness(Arc<AtomicBool>);

impl<In: Transport> Connector<In> for Witness {
    type Out = In;

    fn connect(
        &self,
        _: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<In>, ureq::Error> {
        if chained.is_some() {
            self.0.store(true, Ordering::SeqCst);
        }
        Ok(chained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_used_on_this_machine_only() {
        for (url, outcome) in [
            ("https://queue.fal.run/x", Some(false)),
            ("http://127.0.0.1:4000/x", Some(true)),
            ("http://[::1]:4000/x", Some(true)),
            ("http://localhost/x", Some(true)),
            ("http://queue.fal.run/x", None),
            ("http://127.0.0.1.example.com/x", None),
            ("ftp://127.0.0.1/x", None),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(check_address(url).ok(), outcome, "{url}");
        }
    }

    #[test]
    fn a_call_that_finds_nobody_was_not_sent() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}/x", free.local_addr().expect("bound"));
        drop(free);
        let log = Arc::new(AttemptLog::new(None));
        let client = Client::new(Duration::from_secs(5), &Arc::default(), log);
        let call = Call {
            method: "POST",
            url: &address,
            headers: &[],
            content: Content::Bytes("application/json", b"{}"),
        };
        let outcome = client.call(call, Duration::from_secs(5));
        assert!(matches!(outcome, Err(Trouble::Unsent(_))), "{outcome:?}");
    }
}
