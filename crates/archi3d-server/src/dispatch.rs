//! The only way in: names the request, checks host, origin, token and role, bounds its size and
//! time, lets the handler of its route answer, and adds what every answer has.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header,
};
use futures_util::StreamExt as _;
use serde_json::{Map, Value};

use archi3d_core::domain::traceparent::TraceParent;
use archi3d_core::ops::OpsContext;
use archi3d_core::ops::tokens::{self, Token, Tokens};
use archi3d_core::trace;

use crate::call::{Answer, Call, Reply, unquoted};
use crate::events;
use crate::files;
use crate::form;
use crate::problem::{
    BAD_QUERY, BROKEN_BODY, CROSS_ORIGIN, FORBIDDEN_ROLE, INTERNAL, MEDIA_TYPE, METHOD, NOT_FOUND,
    Problem, STOPPING, TOO_LARGE, TOO_MANY, UNAUTHORIZED, UNAVAILABLE, WRONG_HOST,
};
use crate::reads;
use crate::routes::{Body as Takes, Found, PREFIX, Route, find};
use crate::{App, now};

/// Returns the name of the cookie that pages have instead of a token. Cookies of one host go to all its ports, so that
/// without the port a service would forget those of another one.
pub(crate) fn cookie_name(app: &App) -> String {
    format!("archi3d_session_{}", app.address.port())
}

/// The path that tells whether the service lives.
const HEALTHZ: &str = "/healthz";

/// Bodies up to this are taken from everybody at once.
const SMALL: usize = 1 << 20;

/// So much of what is too large is read and thrown away, and for so long.
const DISCARDED: usize = 64 << 20;
const DISCARDING: Duration = Duration::from_secs(5);

/// A request that takes longer is given up.
const LONGEST: Duration = Duration::from_secs(60);

/// What pages may load: nothing that is not ours.
const CSP: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data: blob:; font-src 'self'; connect-src 'self' blob: data:; worker-src 'self' blob:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What is told of a request.
#[derive(Default)]
struct Told {
    route: &'static str,
    who: Option<String>,
    /// The run that it is about.
    run: Option<String>,
    cause: Option<String>,
    place: Option<TraceParent>,
}

pub(crate) async fn answer(app: Arc<App>, request: Request<Body>) -> Response<Body> {
    let began = Instant::now();
    let id = uuid::Uuid::now_v7().simple().to_string();
    let method = request.method().clone();
    let mut told = Told::default();
    let path = request.uri().path().to_owned();
    let answered = carry_out(&app, request, &mut told);
    let answered = match tokio::time::timeout(LONGEST, answered).await {
        Ok(answered) => answered,
        Err(_) => {
            Err(Problem::new(UNAVAILABLE, "this took too long").header(header::RETRY_AFTER, "10"))
        }
    };
    let mut response = answered.unwrap_or_else(|mut problem| {
        told.cause = match problem.more.remove("cause") {
            Some(Value::String(cause)) => Some(cause),
            _ => None,
        };
        problem.into_response(&id)
    });
    if let Some(made) = made_run(&response) {
        told.run = Some(made);
    }
    finish(&mut response);
    let (status, took) = (response.status().as_u16(), began.elapsed());
    app.metrics.count(&method, told.route, status, took);
    log(&app, &id, (&method, &path), &told, status, took);
    response
}

async fn carry_out(
    app: &Arc<App>,
    request: Request<Body>,
    told: &mut Told,
) -> Result<Response<Body>, Problem> {
    let (parts, body) = request.into_parts();
    let headers = &parts.headers;
    check_host(app, headers, parts.uri.host())?;
    let method = if parts.method == Method::HEAD {
        Method::GET
    } else {
        parts.method.clone()
    };
    let (route, path) = match find(&method, parts.uri.path()) {
        Found::Route(route, path) => (route, path),
        Found::Methods(allowed) => {
            let allowed = allowed.join(", ");
            return Err(Problem::new(METHOD, format!("this path takes {allowed}"))
                .header(header::ALLOW, allowed));
        }
        Found::Nothing => return Err(Problem::new(NOT_FOUND, "there is no such path")),
    };
    told.route = route.path;
    told.run = path.get("run").map(|run| without_tokens(run));
    if app.is_stopping() && route.path != "/readyz" && route.path != HEALTHZ {
        return Err(
            Problem::new(STOPPING, "the service is stopping").header(header::RETRY_AFTER, "5")
        );
    }
    let changes = method != Method::GET;
    if changes {
        check_origin(headers)?;
    }
    if route.path == HEALTHZ {
        // Whoever asks whether the service lives must not wait for a disk.
        return respond(app, headers, reads::alive()?, &method);
    }
    let (context, who) = let_in(app, headers).await?;
    told.who = who.as_ref().map(|token| token.name.clone());
    check_role(app, route, who.as_ref())?;
    let query = query_of(parts.uri.query().unwrap_or_default())?;
    if let Some((name, _)) = query.iter().find(|(name, _)| !route.takes(name)) {
        return Err(Problem::new(BAD_QUERY, format!("{name:?} is unknown here")));
    }
    check_type(route, headers)?;
    let most = route.body.most_bytes();
    let room = if most > SMALL {
        Arc::clone(&app.large).acquire_owned().await.ok()
    } else {
        None
    };
    let body = whole(body, most, headers.contains_key(header::EXPECT)).await?;
    // Not before the body is here: who sends slowly keeps nobody else waiting.
    let turn = if changes {
        app.turns
            .take(route, who.as_ref())
            .map_err(|what| Problem::new(TOO_MANY, what).header(header::RETRY_AFTER, "2"))?
    } else {
        None
    };
    let call = Call {
        app: Arc::clone(app),
        context,
        who,
        path,
        query,
        uri: parts.uri.path().to_owned(),
        headers: headers.clone(),
        body,
    };
    let at_once = if changes && !route.only_looks() {
        &app.changes_at_once
    } else {
        &app.at_once
    };
    let places = (turn, room, Arc::clone(at_once).acquire_owned().await);
    let asked_in = headers
        .get("traceparent")
        .and_then(|text| text.to_str().ok());
    let asked_in = asked_in.and_then(TraceParent::parse);
    // Who only looks is not traced, unless somebody's trace leads here.
    let traced = (changes || asked_in.is_some()).then_some(asked_in);
    let answer = tokio::task::spawn_blocking(move || {
        let _places = places;
        match traced {
            Some(parent) => answer_in_span(route, parent, &call),
            None => ((route.handler)(&call), None),
        }
    });
    let (reply, place) = answer.await.map_err(mistake)?;
    told.place = place;
    respond(app, headers, reply?, &method)
}

/// Opens the workspace and looks whose token the request has.
async fn let_in(
    app: &Arc<App>,
    headers: &HeaderMap,
) -> Result<(OpsContext, Option<Token>), Problem> {
    let (asking, shown) = (
        Arc::clone(app),
        shown_token(app, headers).map(str::to_owned),
    );
    // Whoever works keeps their place until they are done, also when nobody waits for it any more.
    let place = Arc::clone(&app.letting_in).acquire_owned().await;
    let known = tokio::task::spawn_blocking(move || {
        let _place = place;
        let context = asking.context();
        let who = who_asks(&asking, &context, shown.as_deref());
        (context, who)
    });
    let (context, who) = known.await.map_err(mistake)?;
    Ok((context, who?))
}

fn mistake(broke: tokio::task::JoinError) -> Problem {
    Problem::new(INTERNAL, "the service made a mistake").with("cause", broke.to_string())
}

/// Has a request answered in a span; returns where that is.
fn answer_in_span(
    route: &'static Route,
    parent: Option<TraceParent>,
    call: &Call,
) -> (Answer, Option<TraceParent>) {
    let start = trace::Start {
        parent,
        serves: true,
        ..trace::Start::default()
    };
    let _span = trace::begin(format!("{} {}", route.method, route.path), start);
    let answer = (route.handler)(call);
    let status = match &answer {
        Ok(Reply::Json { status, .. } | Reply::Bytes { status, .. }) => *status,
        Ok(_) => 200,
        Err(problem) => problem.kind.status,
    };
    trace::set("http.request.method", route.method);
    trace::set("http.route", route.path);
    trace::set("http.response.status_code", status);
    if status >= 500 {
        trace::failed("no answer");
    }
    (answer, trace::here())
}

fn respond(
    app: &Arc<App>,
    asked: &HeaderMap,
    reply: Reply,
    method: &Method,
) -> Result<Response<Body>, Problem> {
    match reply {
        Reply::Json {
            status,
            body,
            headers,
        } => {
            let text = body.to_string();
            let mut headers = headers;
            if *method == Method::GET && status == 200 {
                let etag = format!("\"{}\"", crate::canonical::hex(text.as_bytes()));
                if files::matches(asked, &etag) {
                    return Ok(plain(304, None, Bytes::new(), vec![(header::ETAG, etag)]));
                }
                headers.push((header::ETAG, etag));
            }
            Ok(plain(
                status,
                Some("application/json"),
                text.into(),
                headers,
            ))
        }
        Reply::Bytes {
            status,
            media_type,
            body,
            mut headers,
        } => {
            if *method == Method::GET && status == 200 {
                let own = headers.iter().position(|(name, _)| name == header::ETAG);
                let etag = match own {
                    Some(at) => headers.remove(at).1,
                    None => format!("\"{}\"", crate::canonical::hex(&body)),
                };
                if files::matches(asked, &etag) {
                    return Ok(plain(304, None, Bytes::new(), vec![(header::ETAG, etag)]));
                }
                headers.push((header::ETAG, etag));
            }
            Ok(plain(status, Some(media_type), body, headers))
        }
        Reply::File {
            opened,
            media_type,
            name,
        } => files::respond(asked, opened, media_type, name.as_deref()),
        Reply::Events(wanted) => events::stream(app, wanted),
    }
}

/// Makes an answer of its parts.
pub(crate) fn plain(
    status: u16,
    media_type: Option<&'static str>,
    body: Bytes,
    headers: Vec<(HeaderName, String)>,
) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    if let Some(media_type) = media_type {
        let value = HeaderValue::from_static(media_type);
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// Returns the run that an answer leads to.
fn made_run(response: &Response<Body>) -> Option<String> {
    let place = response.headers().get(header::LOCATION)?.to_str().ok()?;
    let run = place.strip_prefix(PREFIX)?.strip_prefix("/runs/")?;
    unquoted(run, false)
}

/// Adds what every answer has.
fn finish(response: &mut Response<Body>) {
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, CSP),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
}

/// Refuses names that are not ours: a page of somebody else's may have its own name lead here.
fn check_host(app: &App, headers: &HeaderMap, in_uri: Option<&str>) -> Result<(), Problem> {
    let shown = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let host = in_uri.or(shown.map(without_port)).unwrap_or_default();
    let host = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_ascii_lowercase();
    let bound = app.address.ip();
    let ours = if let Ok(ip) = host.parse::<IpAddr>() {
        ip.is_loopback() || ip == bound || bound.is_unspecified()
    } else {
        let mut allowed = app.options.allowed_hosts.iter();
        host == "localhost" || allowed.any(|name| name.eq_ignore_ascii_case(&host))
    };
    if ours {
        return Ok(());
    }
    Err(Problem::new(
        WRONG_HOST,
        "the service does not answer to this name",
    ))
}

fn without_port(host: &str) -> &str {
    let is_port = |(_, port): &(&str, &str)| port.bytes().all(|byte| byte.is_ascii_digit());
    let split = host.rsplit_once(':').filter(is_port);
    match split {
        Some((name, _)) if !host.starts_with('[') || name.ends_with(']') => name,
        _ => host,
    }
}

/// Refuses what another page sends in a person's name.
fn check_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let refuse = || {
        Err(Problem::new(
            CROSS_ORIGIN,
            "the request comes from another page",
        ))
    };
    let site = HeaderName::from_static("sec-fetch-site");
    if text(&site).is_some_and(|site| site == "cross-site" || site == "same-site") {
        return refuse();
    }
    let Some(origin) = text(&header::ORIGIN) else {
        return Ok(());
    };
    let host = text(&header::HOST).unwrap_or_default();
    let own = ["http://", "https://"]
        .iter()
        .any(|scheme| origin.strip_prefix(scheme) == Some(host));
    if own { Ok(()) } else { refuse() }
}

/// Returns whose token the request has; a token that is unknown is refused.
pub(crate) fn who_asks(
    app: &App,
    context: &OpsContext,
    shown: Option<&str>,
) -> Result<Option<Token>, Problem> {
    let Some(shown) = shown else {
        return Ok(None);
    };
    let own = Tokens {
        tokens: app.own.iter().map(|own| own.kept.clone()).collect(),
    };
    if let Some(token) = own.find(shown) {
        return Ok(Some(token.clone()));
    }
    let kept = Tokens::read(context)?;
    Ok(kept.find(shown).cloned())
}

pub(crate) fn shown_token<'h>(app: &App, headers: &'h HeaderMap) -> Option<&'h str> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| token.trim());
    }
    let own = cookie_name(app);
    let cookies = headers.get_all(header::COOKIE).iter();
    let cookies = cookies.filter_map(|line| line.to_str().ok());
    let mut cookies = cookies.flat_map(|line| line.split(';'));
    cookies.find_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == own).then_some(value)
    })
}

/// Says whose token this is, for a page that trades it.
pub(crate) fn known_token(call: &Call, shown: &str) -> Result<Option<Token>, Problem> {
    who_asks(&call.app, &call.context, Some(shown))
}

fn check_role(app: &App, route: &Route, who: Option<&Token>) -> Result<(), Problem> {
    let open = route.path == "/metrics" && app.options.metrics_open;
    let Some(role) = route.role.filter(|_| !open) else {
        return Ok(());
    };
    match who {
        Some(token) if token.role >= role => Ok(()),
        Some(token) => Err(Problem::new(
            FORBIDDEN_ROLE,
            format!(
                "this needs the role {}; the token has {}",
                role.word(),
                token.role.word()
            ),
        )),
        None => Err(Problem::new(UNAUTHORIZED, "a token is missing or unknown")
            .header(header::WWW_AUTHENTICATE, "Bearer")),
    }
}

fn check_type(route: &Route, headers: &HeaderMap) -> Result<(), Problem> {
    let shown = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let shown = shown
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    let shown = shown.trim().to_ascii_lowercase();
    let (fits, wanted) = match route.body {
        Takes::Nothing => return Ok(()),
        Takes::Json => (shown == "application/json", "application/json"),
        Takes::Picture => (
            ["image/png", "image/jpeg", "image/webp", form::TYPE].contains(&shown.as_str()),
            "image/png, image/jpeg, image/webp or multipart/form-data",
        ),
    };
    if fits {
        return Ok(());
    }
    Err(Problem::new(
        MEDIA_TYPE,
        format!("Content-Type must be {wanted}, not {shown:?}"),
    ))
}

/// Reads a body. Of one that is too large the rest is thrown away, so that a client that sends all of it before it looks for
/// an answer gets one; who `asks_first` sends nothing of it.
async fn whole(body: Body, most: usize, asks_first: bool) -> Result<Bytes, Problem> {
    let told = body.size_hint().lower();
    let mut pieces = body.into_data_stream();
    let mut read = Vec::new();
    let mut fits = told <= most as u64;
    while fits {
        match pieces.next().await {
            Some(Ok(piece)) if read.len() + piece.len() <= most => read.extend_from_slice(&piece),
            Some(Ok(_)) => fits = false,
            Some(Err(_)) => {
                let what = "the body ended early, or is not framed as HTTP says";
                return Err(Problem::new(BROKEN_BODY, what).header(header::CONNECTION, "close"));
            }
            None => return Ok(read.into()),
        }
    }
    let mut left = DISCARDED;
    let rest = async {
        while let Some(Ok(piece)) = pieces.next().await
            && left > piece.len()
        {
            left -= piece.len();
        }
    };
    if !asks_first {
        let _ = tokio::time::timeout(DISCARDING, rest).await;
    }
    let problem = Problem::new(TOO_LARGE, format!("at most {most} bytes are taken"));
    Err(problem.header(header::CONNECTION, "close"))
}

fn query_of(text: &str) -> Result<Vec<(String, String)>, Problem> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let mut read: Vec<(String, String)> = Vec::new();
    for pair in pairs {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let both = unquoted(name, true).zip(unquoted(value, true));
        let both = both.filter(|(name, _)| !read.iter().any(|(known, _)| known == name));
        read.push(both.ok_or_else(|| {
            let what = "expected each parameter once and as UTF-8, found";
            Problem::new(BAD_QUERY, format!("{what} {name:?}"))
        })?);
    }
    Ok(read)
}

/// Returns a path as it may stand in a log: a token that somebody put there by mistake does not.
fn without_tokens(path: &str) -> String {
    let mut parts = path.split(tokens::PREFIX);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        let of_token = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        format!("{shown}TOKEN{}", part.trim_start_matches(of_token))
    })
}

fn log(
    app: &App,
    id: &str,
    (method, path): (&Method, &str),
    told: &Told,
    status: u16,
    took: Duration,
) {
    let mut line = Map::new();
    let mut add = |name: &str, value: Value| line.insert(name.to_owned(), value);
    add("event", "request".into());
    add("timestamp", now().iso().into());
    add("request_id", id.into());
    add("method", method.as_str().into());
    let path = without_tokens(&unquoted(path, false).unwrap_or_else(|| path.to_owned()));
    add("path", path.chars().take(300).collect::<String>().into());
    add("route", told.route.into());
    add("status", status.into());
    add("ms", (took.as_micros() as f64 / 1e3).into());
    if let Some(who) = &told.who {
        add("token", who.as_str().into());
    }
    if let Some(run) = &told.run {
        add("run_id", run.as_str().into());
    }
    if let Some(place) = &told.place {
        add("trace_id", place.trace_id().into());
    }
    if let Some(cause) = &told.cause {
        add("error", cause.as_str().into());
    }
    app.log.add(&line);
}
