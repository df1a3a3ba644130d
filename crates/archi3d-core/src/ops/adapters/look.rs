//! `adapters check` of a service's model without buying anything: whether there is a
//! key, and what the service itself says of the model.

use crate::adapter::http::{describe, has_key};
use crate::adapter::registry;
use crate::domain::id::AlgoKey;
use crate::domain::service;
use crate::domain::text::dollars;
use crate::ops::OpsContext;

use super::deprecated;

/// What was found of a service's model, for free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// The algorithm.
    pub key: AlgoKey,
    /// Why it would not work, one sentence each; empty if nothing is known against it.
    pub problems: Vec<String>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

/// Looks at a service's model; nothing if `key` is none. `online`: the service is asked.
pub fn look(context: &OpsContext, key: &AlgoKey, online: bool) -> Option<Looked> {
    let settings = context.settings.algo(key.as_str())?;
    let service = service::of(settings)?;
    let env = context.variables();
    let mut looked = Looked {
        key: key.clone(),
        problems: Vec::new(),
        notes: Vec::new(),
    };
    if has_key(service, env.as_ref()) {
        looked.notes.push(format!("{} is set", service.key_name()));
    }
    match registry::build(settings, None, &env) {
        Ok(adapter) => looked
            .problems
            .extend(adapter.obstacles(context.workspace.root())),
        Err(error) => looked.problems.push(error.to_string()),
    }
    if let Some(words) = deprecated(settings) {
        looked.notes.push(format!("deprecated: {words}"));
    }
    match (
        online,
        online.then(|| describe(settings, env.as_ref())).flatten(),
    ) {
        (_, Some(Ok(description))) => {
            looked.problems.extend(description.problems);
            looked.notes.extend(description.notes);
        }
        (_, Some(Err(reason))) => looked.problems.push(reason),
        (true, None) => looked.notes.push(format!(
            "{} does not describe its models; only a purchase shows whether it works",
            service.name
        )),
        (false, None) => looked.notes.push(format!(
            "{} was not asked: --online does that, free",
            service.name
        )),
    }
    let price = settings.unit_price_usd.map_or_else(
        || "at an unknown price".to_owned(),
        |usd| format!("for {}", dollars(usd)),
    );
    looked
        .notes
        .push(format!("nothing was bought: --yes makes a model {price}"));
    Some(looked)
}
