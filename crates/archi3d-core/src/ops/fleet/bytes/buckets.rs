//! The pictures and results of a fleet's runs in a bucket: put, fetched, and forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{Lacking, Pictures, Removed, Wanted};
use crate::config::Origin;
use crate::domain::id::{JobId, RunId};
use crate::domain::text::hex;
use crate::ops::{OpsContext, OpsError};
use crate::store::artifacts::Blob;
use crate::store::error::IoContext;
use crate::store::files::read_manifest;
use crate::store::objects::{
    Bucket, BucketError, Cache, Place, Put, Remote, RemoteOptions, side_by_side,
};
use crate::store::postgres::crew::{self, Health};
use crate::store::postgres::ending::File;
use crate::store::postgres::{Connection, import, keep};
use crate::store::{Artifact, Artifacts, NoticeSink, StoreError};
use crate::workspace::artifact;
use crate::workspace::paths::{RunPaths, Workspace};

/// Names the place where nobody else does.
const VARIABLE: &str = "ARCHI3D_ARTIFACTS";

/// Names the folder of what was fetched, for several workers of a machine.
const CACHE: &str = "ARCHI3D_CACHE";

/// So much of what was fetched is kept, in gigabytes, where nobody says otherwise.
const CACHE_GB: f64 = 10.0;

impl From<BucketError> for OpsError {
    fn from(error: BucketError) -> Self {
        let error = StoreError::from(error);
        match error {
            StoreError::Server { what, hint, setup } if setup => Self::Setup {
                message: what,
                hint: Some(hint),
            },
            StoreError::Server { what, hint, .. } => Self::Server {
                message: what,
                hint,
            },
            error => Self::Store(error),
        }
    }
}

/// Returns the place that is named for artifacts: as said, `ARCHI3D_ARTIFACTS` (also in `.env`), `artifacts:` in
/// `global.yaml`. Nothing if nobody does.
fn named(context: &OpsContext, said: Option<&str>) -> Result<Option<Place>, OpsError> {
    let known = context.settings.env_value(&crate::ops::real_env, VARIABLE);
    let filled = |text: &String| !text.trim().is_empty();
    let (text, origin) = if let Some(text) = said {
        (text.to_owned(), Origin::CommandLine("--artifacts"))
    } else if let Some(text) = known.filter(filled) {
        (text, Origin::Environment(VARIABLE.to_owned()))
    } else if let Some(text) = context.settings.global.artifacts.clone().filter(filled) {
        let entries = context.settings.entries();
        let entry = entries.into_iter().find(|entry| entry.name == "artifacts");
        (text, entry.map_or(Origin::Shipped, |entry| entry.origin))
    } else {
        return Ok(None);
    };
    let place = Place::parse(&text).map_err(|message| OpsError::Setup {
        message: format!("{message} (from {origin})"),
        hint: Some("docs/fleet.md tells what can be named there".into()),
    })?;
    Ok(Some(place))
}

/// Opens the bucket of a place; credentials come from the environment and from `.env`.
fn bucket(context: &OpsContext, place: Place) -> Result<Bucket, OpsError> {
    let variable = |name: &str| context.settings.env_value(&crate::ops::real_env, name);
    Ok(Bucket::open(place, &variable)?)
}

/// Opens the bucket that a run was pushed with.
fn bucket_of(context: &OpsContext, url: &str) -> Result<Bucket, OpsError> {
    let place = Place::parse(url).map_err(|message| OpsError::Server {
        message,
        hint: "compare `archi3d --version` of the machines in use; all need the same release"
            .into(),
    })?;
    bucket(context, place)
}

/// Opens the files of a run in a bucket for a worker, once it is known that it may put results there.
pub(in crate::ops) fn remote(
    context: &OpsContext,
    run_id: &RunId,
    url: &str,
    cache_gb: Option<f64>,
    notices: NoticeSink,
) -> Result<Arc<dyn Artifacts>, OpsError> {
    let bucket = bucket_of(context, url)?;
    bucket.probe()?;
    Ok(Arc::new(files_in(
        context, run_id, bucket, cache_gb, notices,
    )))
}

/// The files of a run in a bucket, for this workspace.
fn files_in(
    context: &OpsContext,
    run_id: &RunId,
    bucket: Bucket,
    cache_gb: Option<f64>,
    notices: NoticeSink,
) -> Remote {
    let said = context.settings.env_value(&crate::ops::real_env, CACHE);
    let folder = said.filter(|text| !text.is_empty()).map_or_else(
        || context.workspace.root().join("cache").join("blobs"),
        PathBuf::from,
    );
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "gigabytes as people type them, checked to be positive"
    )]
    let most = (cache_gb.unwrap_or(CACHE_GB) * 1e9) as u64;
    Remote::new(RemoteOptions {
        bucket: Arc::new(bucket),
        workspace: context.workspace.clone(),
        paths: context.workspace.run(run_id),
        cache: Cache::new(folder, most),
        notices,
    })
}

/// So many files are put or fetched at once.
const AT_ONCE: usize = 8;

/// Below this grace nobody may be at work: what they are about to name could go.
const SAFE_GRACE: Duration = Duration::from_secs(2 * 86_400);

/// Puts the pictures of a run into the bucket that is said, or that the run has already. Nothing is put twice, by
/// whomever.
pub(in crate::ops::fleet) fn put_pictures(
    context: &OpsContext,
    said: Option<&str>,
    known: Option<&str>,
    paths: &RunPaths,
    connection: &mut Connection,
) -> Result<Pictures, OpsError> {
    let place = named(context, said)?;
    let place = match (known.map(Place::parse), place) {
        (Some(Ok(known)), Some(named)) if said.is_some() && known != named => {
            return Err(OpsError::Setup {
                message: format!("the run has its files in {known}, not in {named}"),
                hint: Some("leave --artifacts out".into()),
            });
        }
        (Some(known), _) => known.map_err(|message| OpsError::Setup {
            message,
            hint: None,
        })?,
        (None, Some(place)) => place,
        (None, None) => return Ok(Pictures::default()),
    };
    let shown = place.to_string();
    let bucket = bucket(context, place)?;
    bucket.probe()?;
    let fleet = keep::fleet_name(connection)?;
    bucket.enrol(&fleet, &format!("{}\n", connection.url()))?;
    let manifest = read_manifest(paths)?;
    let names: BTreeSet<String> = manifest
        .rows
        .into_iter()
        .flat_map(|row| row.images)
        .collect();
    let names: Vec<String> = names.into_iter().collect();
    let found = side_by_side(&names, AT_ONCE, |name| picture(&context.workspace, name));
    let mut paths = BTreeMap::new();
    let mut pictures = Pictures {
        place: Some(shown),
        ..Pictures::default()
    };
    for (name, found) in names.into_iter().zip(found) {
        // What cannot be read is told by the job, as on files.
        let Some((path, blob)) = found? else { continue };
        paths.insert(blob.clone(), path);
        pictures.blobs.insert(name, blob);
    }
    let paths: Vec<(Blob, PathBuf)> = paths.into_iter().collect();
    let put = side_by_side(&paths, AT_ONCE, |(blob, path)| bucket.put(path, blob));
    for ((blob, _), put) in paths.iter().zip(put) {
        if put? == Put::Sent {
            pictures.sent += 1;
            pictures.bytes += blob.size;
        }
    }
    Ok(pictures)
}

/// Returns where a picture is and what its bytes are; nothing if it cannot be used.
fn picture(workspace: &Workspace, name: &str) -> Result<Option<(PathBuf, Blob)>, StoreError> {
    let images = [name.to_owned()];
    let Ok(found) = crate::store::artifacts::resolve_images(workspace, &images) else {
        return Ok(None);
    };
    // A link into the workspace is followed to the file itself.
    let path = found.first().and_then(|path| path.canonicalize().ok());
    let Some(path) = path else { return Ok(None) };
    let sha256 = artifact::hash_file(&path).context("read", &path)?;
    let size = fs::metadata(&path).context("read", &path)?.len();
    Ok(Some((path, Blob { sha256, size })))
}

/// Fetches the files of results into folders, and answers one for one. A file that is there as it should be is not
/// fetched again.
pub(in crate::ops::fleet) fn stage(
    context: &OpsContext,
    url: &str,
    wanted: &[Wanted<'_>],
) -> Result<Vec<Result<(), Lacking>>, OpsError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let bucket = bucket_of(context, url)?;
    let staged = side_by_side(wanted, AT_ONCE, |one| {
        let fetched = one
            .files
            .iter()
            .try_for_each(|file| fetch(&bucket, &one.folder, file));
        if matches!(fetched, Err(Lacking::Unasked(_))) {
            // Nobody else need wait for it.
            bucket.hurry();
        }
        fetched
    });
    Ok(staged)
}

fn fetch(bucket: &Bucket, folder: &Path, file: &File) -> Result<(), Lacking> {
    let unasked = |error: StoreError| Lacking::Unasked(error.into());
    let blob = Blob {
        sha256: hex(&file.sha256),
        size: file.size,
    };
    if artifact::is_intact(folder, &file.name, file.size, &blob.sha256) {
        return Ok(());
    }
    let plain = Path::new(&file.name)
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    if !plain {
        return Err(Lacking::Lost(format!(
            "{:?} is no name of a file",
            file.name
        )));
    }
    let to = folder.join(&file.name);
    let below = to.parent().unwrap_or(folder);
    fs::create_dir_all(below)
        .context("create", below)
        .map_err(unasked)?;
    match bucket.fetch(&blob, &to) {
        Ok(()) => Ok(()),
        Err(BucketError::Missing(_)) => Err(Lacking::Lost(format!(
            "{} is not in {}",
            file.name,
            bucket.place()
        ))),
        Err(BucketError::Damaged(_)) => Err(Lacking::Lost(format!(
            "{} is damaged in {}",
            file.name,
            bucket.place()
        ))),
        Err(error) => Err(Lacking::Unasked(error.into())),
    }
}

/// Removes from every bucket of the fleet what nothing refers to and is older than the grace.
pub(in crate::ops::fleet) fn remove_unreferred(
    context: &OpsContext,
    connection: &mut Connection,
    said: Option<&str>,
    grace: Duration,
) -> Result<Removed, OpsError> {
    let mut places = BTreeMap::new();
    if let Some(place) = named(context, said)? {
        places.insert(place.to_string(), place);
    }
    for url in import::runs(connection)?
        .into_iter()
        .filter_map(|run| run.artifacts_url)
    {
        places.extend(Place::parse(&url).ok().map(|place| (url, place)));
    }
    if places.is_empty() {
        return Ok(Removed::default());
    }
    if grace < SAFE_GRACE {
        let alive =
            |worker: &crew::SeenWorker| matches!(worker.health(), Health::Alive | Health::Slow);
        if crew::workers(connection, None)?.iter().any(alive) {
            return Err(OpsError::Setup {
                message: "workers are at work, and with a grace below 2 days what they are about to name could go".into(),
                hint: Some("wait for them, or leave --grace out".into()),
            });
        }
    }
    let fleet = keep::fleet_name(connection)?;
    let mut removed = Removed::default();
    for place in places.into_values() {
        let bucket = bucket(context, place)?;
        if bucket.fleets()?.iter().any(|other| *other != fleet) {
            return Err(OpsError::Setup {
                message: format!("{} is used by another database as well: nothing is removed", bucket.place()),
                hint: Some("give each database a prefix of its own; a database that is gone for good: remove its name below fleets/ there".into()),
            });
        }
        let listed = bucket.list()?;
        // After the list: what was named meanwhile stays.
        let referred = keep::referred(connection)?;
        let old = keep::now(connection)? - grace;
        let gone: Vec<_> = listed
            .into_iter()
            .filter(|found| found.at <= old)
            .filter(|found| {
                found
                    .sha256
                    .as_ref()
                    .is_none_or(|sum| !referred.contains(sum))
            })
            .collect();
        for deleted in side_by_side(&gone, AT_ONCE, |found| bucket.delete(found)) {
            deleted?;
        }
        removed.blobs += gone.len();
        removed.bytes += gone.iter().map(|found| found.size).sum::<u64>();
    }
    Ok(removed)
}

/// Returns a file of a result that was not pulled yet, if its bucket has it.
pub(in crate::ops) fn read(
    context: &OpsContext,
    run_id: &RunId,
    job: &JobId,
    url: &str,
    file: &File,
) -> Option<PathBuf> {
    let bucket = bucket_of(context, url).ok()?;
    let files = files_in(context, run_id, bucket, None, Arc::new(|_| ()));
    let file = Artifact {
        name: file.name.clone(),
        size: file.size,
        sha256: hex(&file.sha256),
    };
    files.read(job, &file).ok().flatten()
}
