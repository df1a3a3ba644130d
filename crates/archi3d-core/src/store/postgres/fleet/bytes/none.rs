//! What a program that was built without buckets says of them.

use std::sync::Arc;
use std::time::Duration;

use super::{Lacking, Pictures, Removed, Wanted};
use crate::domain::id::{JobId, RunId};
use crate::store::postgres::Connection;
use crate::store::postgres::fleet::PgFleet;
use crate::store::{Artifact, Artifacts, NoticeSink, StoreError};
use crate::workspace::paths::RunPaths;

fn without(url: &str) -> StoreError {
    StoreError::Refused {
        message: format!("files lie in {url}, and this archi3d was built without buckets"),
        hint: Some(
            "use a build that has the cargo feature `objects`, which is on by default".into(),
        ),
    }
}

fn named<'a>(context: &'a PgFleet, said: Option<&'a str>) -> Option<&'a str> {
    let configured = context.site.artifacts.as_ref();
    said.or(configured.map(|(text, _)| text.as_str()))
}

pub(in crate::store::postgres::fleet) fn put_pictures(
    context: &PgFleet,
    said: Option<&str>,
    known: Option<&str>,
    _: &RunPaths,
) -> Result<Pictures, StoreError> {
    let named = named(context, said.or(known));
    named.map_or_else(|| Ok(Pictures::default()), |url| Err(without(url)))
}

pub(in crate::store::postgres::fleet) fn put_named(
    context: &PgFleet,
    _: &[String],
) -> Result<Pictures, StoreError> {
    named(context, None).map_or_else(|| Ok(Pictures::default()), |url| Err(without(url)))
}

pub(in crate::store::postgres::fleet) fn stage(
    _: &PgFleet,
    url: &str,
    wanted: &[Wanted<'_>],
) -> Result<Vec<Result<(), Lacking>>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    Err(without(url))
}

pub(in crate::store::postgres::fleet) fn prunable(
    _: &PgFleet,
    _: &mut Connection,
    _: Option<&str>,
    _: Duration,
) -> Result<(), StoreError> {
    Ok(())
}

pub(in crate::store::postgres::fleet) fn remove_unreferred(
    (): &(),
    _: &mut Connection,
    _: Duration,
) -> Result<Removed, StoreError> {
    Ok(Removed::default())
}

pub(in crate::store::postgres::fleet) fn trial_place(
    context: &PgFleet,
    said: Option<&str>,
    _: &str,
) -> Result<Option<String>, StoreError> {
    named(context, said).map_or(Ok(None), |url| Err(without(url)))
}

pub(in crate::store::postgres::fleet) fn forget_trial(
    _: &PgFleet,
    url: &str,
) -> Result<(), StoreError> {
    Err(without(url))
}

pub(in crate::store::postgres::fleet) fn remote(
    _: &PgFleet,
    _: (&RunId, String),
    url: &str,
    _: Option<f64>,
    _: NoticeSink,
) -> Result<Arc<dyn Artifacts>, StoreError> {
    Err(without(url))
}

pub(in crate::store::postgres::fleet) fn read(
    _: &PgFleet,
    _: (&RunId, &JobId),
    url: &str,
    _: &Artifact,
) -> Result<Option<std::fs::File>, StoreError> {
    Err(without(url))
}
