//! The contract as OpenAPI 3.1, made from the table of routes.

use serde_json::{Map, Value, json};

use crate::call::{Answer, Call, Reply};
use crate::dispatch::cookie_name;
use crate::problem::{
    BAD_QUERY, CROSS_ORIGIN, FORBIDDEN_ROLE, INTERNAL, Kind, METHOD, Problem, STOPPING, TOO_MANY,
    UNAUTHORIZED, UNAVAILABLE, WRONG_HOST,
};
use crate::routes::{Body, PREFIX, Place, ROUTES, Route};

pub(crate) fn show(call: &Call) -> Answer {
    match document(&cookie_name(&call.app)) {
        Ok(document) => Reply::json(document),
        Err(error) => Err(Problem::new(INTERNAL, "the contract cannot be written")
            .with("cause", error.to_string())),
    }
}

fn document(cookie: &str) -> serde_json::Result<Value> {
    let schemas: Value = serde_json::from_str(include_str!("schemas.json"))?;
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let places = match route.place {
            Place::Api => vec![PREFIX],
            Place::Both => vec![PREFIX, ""],
            // Pages are no part of the contract.
            Place::Root => continue,
        };
        for prefix in places {
            let path = paths
                .entry(format!("{prefix}{}", route.path))
                .or_insert_with(|| json!({}));
            path[route.method.to_lowercase()] = operation(route, prefix);
        }
    }
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "archi3d",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Runs of image-to-3D generations: planned, started, watched, judged",
            "description": "Answers to an Idempotency-Key are remembered for 30 days. Text is not normalised before it is hashed.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": cookie},
            },
        },
    }))
}

fn operation(route: &Route, prefix: &str) -> Value {
    let words: Vec<&str> = route
        .path
        .split(['/', '{', '}', '.'])
        .filter(|word| !word.is_empty())
        .collect();
    let name = words.join("_");
    let bare = if prefix.is_empty() { "_bare" } else { "" };
    let mut operation = json!({
        "operationId": format!("{}_{name}{bare}", route.method.to_lowercase()),
        "summary": route.summary,
        "parameters": parameters(route),
        "responses": responses(route),
    });
    if let Some(role) = route.role {
        operation["description"] = format!("Needs the role {}.", role.word()).into();
        operation["security"] = json!([{"token": []}, {"session": []}]);
    } else {
        operation["security"] = json!([]);
    }
    let content = match route.body {
        Body::Nothing => return operation,
        Body::Json => {
            json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{}", body_of(route))}}})
        }
        Body::Picture => {
            let picture = json!({"schema": {"type": "string", "contentEncoding": "binary"}});
            let form = json!({"schema": {"type": "object", "required": ["picture"],
                "properties": {"picture": picture["schema"]}}});
            json!({"image/png": picture, "image/jpeg": picture, "image/webp": picture, "multipart/form-data": form})
        }
    };
    operation["requestBody"] = json!({"required": true, "content": content});
    operation
}

fn body_of(route: &Route) -> &'static str {
    match route.path {
        "/session" => "SignIn",
        "/plans" | "/runs" => "Submission",
        "/runs/{run}/cancel" => "Cancel",
        "/runs/{run}/retry" => "Retry",
        "/votes" => "NewVotes",
        _ => "Nothing",
    }
}

fn parameters(route: &Route) -> Vec<Value> {
    let in_path = route.path.split('{').skip(1).map(|rest| {
        let name = rest.split('}').next().unwrap_or_default();
        json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}})
    });
    let in_query = route
        .query
        .iter()
        .map(|name| json!({"name": name, "in": "query", "schema": query_schema(route, name)}));
    let mut all: Vec<Value> = in_path.chain(in_query).collect();
    if route.method == "POST" && ["/runs", "/runs/{run}/retry"].contains(&route.path) {
        all.push(json!({
            "name": "Idempotency-Key", "in": "header",
            "schema": {"type": "string", "pattern": "^([!#-~]{1,255}|\"[!#-~]{1,255}\")$"},
        }));
    }
    if route.path == "/events" {
        all.push(json!({"name": "Last-Event-ID", "in": "header", "schema": {"type": "string", "pattern": "^[0-9]{1,15}$"}}));
    }
    all
}

fn query_schema(route: &Route, name: &str) -> Value {
    let of_jobs = route.path.ends_with("/jobs");
    match name {
        "limit" => json!({"type": "integer", "minimum": 1, "maximum": 1000}),
        "cursor" => json!({"type": "string", "pattern": "^p[0-9]{1,9}-[0-9a-f]{12}$"}),
        "by" => json!({"type": "string", "enum": ["algo", "day", "worker", "run"]}),
        "from" | "to" => json!({"type": "string", "format": "date"}),
        "sort" if of_jobs => {
            json!({"type": "string", "enum": ["manifest", "item", "algo", "status", "-cost", "-duration"]})
        }
        "sort" => json!({"type": "string", "enum": ["-created", "created", "name"]}),
        "status" if of_jobs => {
            json!({"type": "string", "enum": ["enqueued", "running", "completed", "failed", "cancelled", "rehearsed"]})
        }
        "status" => {
            json!({"type": "string", "enum": ["enqueued", "running", "completed", "failed", "cancelled"]})
        }
        _ => json!({"type": "string"}),
    }
}

fn responses(route: &Route) -> Value {
    let mut responses: Map<String, Value> = Map::new();
    for (status, schema) in route.answers {
        let mut answer = json!({"description": route.summary});
        if !schema.is_empty() {
            answer["content"] = json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}}});
        } else if let Some(types) = other_types(route) {
            answer["content"] = types;
        }
        responses.insert(status.to_string(), answer);
    }
    if route.method == "GET" {
        responses.insert(
            "304".to_owned(),
            json!({"description": "The client has it"}),
        );
    }
    let mut common: Vec<Kind> = vec![
        WRONG_HOST,
        METHOD,
        INTERNAL,
        UNAVAILABLE,
        STOPPING,
        BAD_QUERY,
    ];
    if route.role.is_some() {
        common.extend([UNAUTHORIZED, FORBIDDEN_ROLE]);
    }
    if route.method != "GET" {
        common.push(CROSS_ORIGIN);
    }
    // Of those who only look, event streams may be too many.
    if route.method != "GET" || route.path == "/events" {
        common.push(TOO_MANY);
    }
    for kind in common.iter().chain(route.problems) {
        let answer = responses.entry(kind.status.to_string()).or_insert_with(|| {
            json!({"description": "", "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}})
        });
        if answer["content"]["application/problem+json"].is_null() {
            answer["content"]["application/problem+json"] =
                json!({"schema": {"$ref": "#/components/schemas/Problem"}});
        }
        let said = answer["description"].as_str().unwrap_or_default();
        let sep = if said.is_empty() { "" } else { " · " };
        answer["description"] = format!("{said}{sep}{}", kind.name).into();
    }
    Value::Object(responses)
}

fn other_types(route: &Route) -> Option<Value> {
    let bytes = json!({"schema": {"type": "string", "contentEncoding": "binary"}});
    match route.path {
        "/events" => Some(json!({"text/event-stream": {"schema": {"type": "string"}}})),
        "/metrics" => Some(json!({"text/plain": {"schema": {"type": "string"}}})),
        "/session" => None,
        // Of the files beside a model some are JSON.
        _ => Some(json!({"application/json": {"schema": {}}, "*/*": bytes})),
    }
}
