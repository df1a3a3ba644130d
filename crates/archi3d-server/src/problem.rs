//! Errors as RFC 9457 has them: every answer that is no success is one of these.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Map, Value, json};

use archi3d_core::ops::OpsError;

/// A kind of problem: its name, its status, what it means, what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) status: u16,
    pub(crate) title: &'static str,
    pub(crate) next: &'static str,
}

macro_rules! kinds {
    ($($name:ident = $word:literal, $status:literal, $title:literal, $next:literal;)*) => {
        $(pub(crate) const $name: Kind = Kind { name: $word, status: $status, title: $title, next: $next };)*
        /// Every kind.
        pub(crate) const KINDS: &[Kind] = &[$($name),*];
    };
}

kinds! {
    MALFORMED_JSON = "malformed-json", 400, "The body is no JSON", "Send UTF-8 JSON; the detail says where it ends to be.";
    BAD_QUERY = "bad-query", 400, "The query cannot be used", "Look the parameters up in /openapi.json.";
    BAD_KEY = "bad-idempotency-key", 400, "The Idempotency-Key cannot be used", "Send 1 to 255 visible ASCII characters, in quotes or without.";
    BROKEN_BODY = "broken-body", 400, "The body did not arrive whole", "Send the request again.";
    UNAUTHORIZED = "unauthorized", 401, "A token is missing or unknown", "Send Authorization: Bearer TOKEN; `archi3d token create` makes one.";
    FORBIDDEN_ROLE = "forbidden-role", 403, "The token does not allow this", "Use a token of the role that the detail names.";
    CROSS_ORIGIN = "cross-origin", 403, "The request comes from another page", "Send it from the service's own pages, or without Origin.";
    NOT_FOUND = "not-found", 404, "There is no such path", "Look the paths up in /openapi.json.";
    NO_RUN = "no-such-run", 404, "There is no such run", "GET /runs lists them.";
    NO_JOB = "no-such-job", 404, "The run has no such job", "GET /runs/{id}/jobs lists them.";
    NO_ITEM = "no-such-item", 404, "The catalogue has no such item", "GET /items lists them.";
    NO_ARTIFACT = "no-such-artifact", 404, "No record names such a file", "GET the job: it lists its files.";
    NO_ALGO = "no-such-algo", 404, "No such algo is configured", "GET /algos lists them.";
    METHOD = "method-not-allowed", 405, "The path does not take this method", "The header Allow names those that it takes.";
    NOT_FINISHED = "not-finished", 409, "The run has not ended", "Ask again after Retry-After seconds, or follow /events.";
    RUN_FAILED = "run-failed", 409, "A job of the run failed", "GET /runs/{id}/jobs?status=failed says why; POST /runs/{id}/retry tries again.";
    RUN_CANCELLED = "run-cancelled", 409, "The run was cancelled", "POST /runs/{id}/cancel with undo puts its jobs back.";
    BUDGET = "budget-exceeded", 409, "This would cost more than allowed", "Allow more with max_cost_usd, or ask for less.";
    KEY_IN_PROGRESS = "idempotency-in-progress", 409, "The first request with this key is being answered", "Send the same request again after Retry-After seconds.";
    RUN_ID_TAKEN = "run-id-taken", 409, "There is a run of this name", "Choose another run_id, or leave it out.";
    ARTIFACT_MISSING = "artifact-missing", 410, "The file is gone or was changed", "`archi3d doctor` looks closer; a redo makes it again.";
    PLAN_CHANGED = "plan-changed", 412, "The plan is another one now", "Show the new plan, and confirm that one.";
    TOO_LARGE = "too-large", 413, "The body is too large", "Requests take 1 MB, pictures 50 MB.";
    MEDIA_TYPE = "unsupported-media-type", 415, "The body has the wrong type", "Send Content-Type: application/json, or the picture's own type.";
    RANGE = "range-not-satisfiable", 416, "The file has no such part", "The header Content-Range has its length.";
    WRONG_HOST = "wrong-host", 421, "The service does not answer to this name", "Use the address that it prints, or start it with --allowed-host NAME.";
    INVALID = "invalid-request", 422, "The request cannot be carried out", "The errors point at what is wrong.";
    KEY_REUSED = "idempotency-key-reused", 422, "The key was used for another request", "Use a new key for a new request.";
    UNKNOWN_ALGO = "unknown-algo", 422, "An algo is not configured", "GET /algos lists them.";
    UNKNOWN_ITEM = "unknown-item", 422, "The catalogue has no such item", "GET /items lists them.";
    BAD_PICTURE = "unusable-picture", 422, "The picture cannot be used", "Upload a PNG, JPEG or WebP with POST /uploads first.";
    MAX_COST_MISSING = "max-cost-missing", 422, "The request has no cost limit", "Send max_cost_usd; POST /plans, or the retry with dry_run, names the expected cost.";
    KEY_MISSING = "idempotency-key-missing", 422, "The request has no Idempotency-Key", "Send one; with it the same request is carried out once, however often it is sent.";
    TOO_MANY = "too-many-requests", 429, "Too many requests at once", "Send it again after Retry-After seconds.";
    INTERNAL = "internal", 500, "The service made a mistake", "logs/serve.log has more under the same instance.";
    UNAVAILABLE = "store-unavailable", 503, "The workspace or the store cannot be used now", "GET /readyz says what is wrong.";
    STOPPING = "shutting-down", 503, "The service is stopping", "Send it again when it is back.";
}

/// An error on its way to the client.
#[derive(Debug, Clone)]
pub(crate) struct Problem(Box<Parts>);

/// What a problem says.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) kind: Kind,
    pub(crate) detail: String,
    pub(crate) errors: Vec<(String, String)>,
    pub(crate) more: Map<String, Value>,
    pub(crate) headers: Vec<(HeaderName, String)>,
}

impl Problem {
    pub(crate) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            kind,
            detail: detail.into(),
            errors: Vec::new(),
            more: Map::new(),
            headers: Vec::new(),
        }))
    }

    /// Points at what is wrong in the body.
    pub(crate) fn at(kind: Kind, pointer: &str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let mut problem = Self::new(kind, format!("{pointer}: {detail}"));
        problem.errors.push((pointer.to_owned(), detail));
        problem
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Makes the answer; `request` names it in the log.
    pub(crate) fn into_response(self, request: &str) -> Response<Body> {
        let parts = *self.0;
        let mut body = json!({
            "type": format!("/problems/{}", parts.kind.name),
            "title": parts.kind.title,
            "status": parts.kind.status,
            "detail": parts.detail,
            "instance": format!("/requests/{request}"),
        });
        if !parts.errors.is_empty() {
            let errors = parts.errors.iter();
            let errors = errors.map(|(at, what)| json!({"pointer": at, "detail": what}));
            body["errors"] = errors.collect();
        }
        for (name, value) in parts.more {
            body[name] = value;
        }
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() =
            StatusCode::from_u16(parts.kind.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        for (name, value) in parts.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        response
    }
}

impl std::ops::Deref for Problem {
    type Target = Parts;
    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl std::ops::DerefMut for Problem {
    fn deref_mut(&mut self) -> &mut Parts {
        &mut self.0
    }
}

impl From<OpsError> for Problem {
    fn from(error: OpsError) -> Self {
        // What is wrong with the disk is nobody's business outside; the log has it.
        let what = match &error {
            OpsError::Server { .. } => "the database cannot be used now",
            _ => "the workspace cannot be read or written",
        };
        let mut problem = Self::new(UNAVAILABLE, what);
        if error.is_setup() {
            problem.detail = error.to_string();
        }
        problem.more.insert("cause".into(), chain(&error).into());
        problem
    }
}

fn chain(error: &OpsError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
