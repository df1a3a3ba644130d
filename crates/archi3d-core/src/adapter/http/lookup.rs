//! What a service says of a model before anything is bought: whether it is still
//! there, and whether it knows the arguments of the entry. Free, and without the key.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::client::{Answer, Call, Client, Content};
use super::fal::encoded;
use super::{fal::Fal, row::Row};
use crate::adapter::Variables;
use crate::adapter::process::log::AttemptLog;
use crate::domain::algo::AlgoSettings;
use crate::domain::nearest::suggestion;
use crate::domain::service;

/// How long the question may take.
const LIMIT: Duration = Duration::from_secs(30);

/// What a service said of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// What keeps it from working, one sentence each.
    pub problems: Vec<String>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

/// Asks fal about the model of an entry; nothing if the service describes no models.
pub fn describe(
    settings: &AlgoSettings,
    env: &dyn Variables,
) -> Option<Result<Description, String>> {
    let fal = service::of(settings).filter(|service| service.kind == "fal")?;
    let set = super::variables(fal, env);
    let env: super::Lookup<'_> = &|name| set.get(name).cloned();
    let endpoint = settings.endpoint.clone().unwrap_or_default();
    let url = format!(
        "{}/models?endpoint_id={}&expand=openapi-3.0",
        fal.address("ARCHI3D_FAL_API_URL", env),
        encoded(&endpoint)
    );
    let log = Arc::new(AttemptLog::new(None));
    let client = Client::new(LIMIT, &Arc::default(), log);
    let call = Call {
        method: "GET",
        url: &url,
        headers: &[("accept", "application/json")],
        content: Content::None,
    };
    let answer = match client.call(call, LIMIT) {
        Ok(answer) => answer,
        Err(trouble) => return Some(Err(format!("fal cannot be asked: {}", trouble.text()))),
    };
    let row = Row::new(settings, &Fal::new(env));
    Some(read(&answer, &endpoint, &row))
}

fn read(answer: &Answer, endpoint: &str, row: &Row) -> Result<Description, String> {
    let body = answer.json().filter(|_| answer.is_success());
    let Some(models) = body.as_ref().and_then(|body| body["models"].as_array()) else {
        return Err(format!("fal answered {}: {}", answer.status, answer.said()));
    };
    let mut found = Description::default();
    let Some(model) = models.iter().find(|model| model["endpoint_id"] == endpoint) else {
        found
            .problems
            .push(format!("fal does not know the model {endpoint}"));
        return Ok(found);
    };
    match model["metadata"]["status"].as_str() {
        Some("active") | None => found.notes.push(format!("{endpoint} is active at fal")),
        Some(word) => found.problems.push(format!("{endpoint} is {word} at fal")),
    }
    match input_schema(&model["openapi"], endpoint) {
        Some(schema) => compare(schema, row, &mut found),
        None => found
            .notes
            .push("fal does not say which arguments it takes".to_owned()),
    }
    Ok(found)
}

/// Returns what the model takes.
fn input_schema<'a>(openapi: &'a Value, endpoint: &str) -> Option<&'a Value> {
    let paths = openapi["paths"].as_object()?;
    let own = paths.get(&format!("/{endpoint}"));
    let own = own.filter(|path| path["post"].is_object());
    let path = own.or_else(|| paths.values().find(|path| path["post"].is_object()))?;
    let schema = &path["post"]["requestBody"]["content"]["application/json"]["schema"];
    match schema["$ref"].as_str() {
        Some(place) => openapi.pointer(place.strip_prefix('#')?),
        None => Some(schema),
    }
    .filter(|schema| schema["properties"].is_object())
}

fn compare(schema: &Value, row: &Row, found: &mut Description) {
    let known: Vec<&str> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    let hint = |name: &str| suggestion(name, known.iter().copied());
    for name in row
        .arguments
        .keys()
        .filter(|name| !known.contains(&name.as_str()))
    {
        found.problems.push(format!(
            "`defaults` has `{name}`, which it does not take{}",
            hint(name)
        ));
    }
    for name in row.picture_arguments().filter(|name| !known.contains(name)) {
        found.problems.push(format!(
            "`images` has `{name}`, which it does not take{}",
            hint(name)
        ));
    }
    let required = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    for name in required {
        let set =
            row.arguments.contains_key(name) || row.picture_arguments().any(|own| own == name);
        if !set {
            found.problems.push(format!(
                "it needs `{name}`, which neither `images` nor `defaults` gives"
            ));
        }
    }
}
