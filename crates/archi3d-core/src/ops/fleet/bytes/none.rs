//! What a program that was built without buckets says of them.

use std::sync::Arc;
use std::time::Duration;

use super::{Lacking, Pictures, Removed, Wanted};
use crate::domain::id::{JobId, RunId};
use crate::ops::{OpsContext, OpsError};
use crate::store::postgres::Connection;
use crate::store::postgres::ending::File;
use crate::store::{Artifacts, NoticeSink};
use crate::workspace::paths::RunPaths;

fn without(url: &str) -> OpsError {
    OpsError::Setup {
        message: format!("files lie in {url}, and this archi3d was built without buckets"),
        hint: Some(
            "use a build that has the cargo feature `objects`, which is on by default".into(),
        ),
    }
}

pub(in crate::ops::fleet) fn put_pictures(
    context: &OpsContext,
    said: Option<&str>,
    known: Option<&str>,
    _: &RunPaths,
    _: &mut Connection,
) -> Result<Pictures, OpsError> {
    let named = said
        .or(known)
        .or(context.settings.global.artifacts.as_deref());
    named.map_or_else(|| Ok(Pictures::default()), |url| Err(without(url)))
}

pub(in crate::ops::fleet) fn stage(
    _: &OpsContext,
    url: &str,
    wanted: &[Wanted<'_>],
) -> Result<Vec<Result<(), Lacking>>, OpsError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    Err(without(url))
}

pub(in crate::ops::fleet) fn remove_unreferred(
    _: &OpsContext,
    _: &mut Connection,
    _: Option<&str>,
    _: Duration,
) -> Result<Removed, OpsError> {
    Ok(Removed::default())
}

pub(in crate::ops) fn remote(
    _: &OpsContext,
    _: &RunId,
    url: &str,
    _: Option<f64>,
    _: NoticeSink,
) -> Result<Arc<dyn Artifacts>, OpsError> {
    Err(without(url))
}

pub(in crate::ops) fn read(
    _: &OpsContext,
    _: &RunId,
    _: &JobId,
    _: &str,
    _: &File,
) -> Option<std::path::PathBuf> {
    None
}
