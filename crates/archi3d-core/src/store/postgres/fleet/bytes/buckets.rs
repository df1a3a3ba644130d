//! The pictures and results of a fleet's runs in a bucket: put, fetched, and forgotten.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::{Lacking, Pictures, Removed, Wanted};
use crate::domain::id::{JobId, RunId};
use crate::domain::text::hex;
use crate::store::artifacts::Blob;
use crate::store::error::IoContext;
use crate::store::manifest;
use crate::store::objects::{
    Bucket, BucketError, Cache, Place, Put, Remote, RemoteOptions, side_by_side,
};
use crate::store::postgres::ending::File;
use crate::store::postgres::fleet::PgFleet;
use crate::store::postgres::membership::{self, Health};
use crate::store::postgres::putting::{NobodyPuts, Putting};
use crate::store::postgres::{Connection, import, keep};
use crate::store::{Artifact, Artifacts, NoticeSink, StoreError};
use crate::workspace::paths::{RunPaths, Workspace};
use crate::workspace::{artifact, durable};

/// Names the folder of what was fetched, for several workers of a machine.
const CACHE: &str = "ARCHI3D_CACHE";

/// So much of what was fetched is kept, in gigabytes, where nobody says otherwise.
const CACHE_GB: f64 = 10.0;

/// Returns the place that is named for artifacts: as said, else as configured. Nothing if nobody does.
fn named(context: &PgFleet, said: Option<&str>) -> Result<Option<Place>, StoreError> {
    let said = said.map(|text| (text, "--artifacts"));
    let configured = context.site.artifacts.as_ref();
    let configured = configured.map(|(text, origin)| (text.as_str(), origin.as_str()));
    let Some((text, origin)) = said.or(configured) else {
        return Ok(None);
    };
    let place = Place::parse(text).map_err(|message| StoreError::Refused {
        message: format!("{message} (from {origin})"),
        hint: Some("docs/fleet.md tells what can be named there".into()),
    })?;
    Ok(Some(place))
}

/// Opens the bucket of a place; credentials come from the environment and from `.env`.
fn bucket(context: &PgFleet, place: Place) -> Result<Bucket, StoreError> {
    Ok(Bucket::open(place, &*context.site.variables)?)
}

/// Returns a place of its own for a trial, below the one that is named; nothing if nobody names one. Whoever uses it
/// may list, put, read and delete there.
pub(in crate::store::postgres::fleet) fn trial_place(
    context: &PgFleet,
    said: Option<&str>,
    name: &str,
) -> Result<Option<String>, StoreError> {
    let Some(place) = named(context, said)? else {
        return Ok(None);
    };
    let place = place.below(name)?;
    let shown = place.to_string();
    bucket(context, place)?.probe()?;
    Ok(Some(shown))
}

/// Removes everything that a trial left in its place.
pub(in crate::store::postgres::fleet) fn forget_trial(
    context: &PgFleet,
    url: &str,
) -> Result<(), StoreError> {
    Ok(bucket_of(context, url)?.clear()?)
}

/// Opens the bucket that a run was pushed with.
fn bucket_of(context: &PgFleet, url: &str) -> Result<Bucket, StoreError> {
    let place = Place::parse(url).map_err(|what| StoreError::Server {
        what,
        hint: "compare `archi3d --version` of the machines in use; all need the same release"
            .into(),
        setup: false,
    })?;
    bucket(context, place)
}

/// Opens the files of a run in a bucket for a worker, once it is known that it may put results there.
pub(in crate::store::postgres::fleet) fn remote(
    context: &PgFleet,
    (run_id, fleet): (&RunId, String),
    url: &str,
    cache_gb: Option<f64>,
    notices: NoticeSink,
) -> Result<Arc<dyn Artifacts>, StoreError> {
    let bucket = bucket_of(context, url)?;
    bucket.probe()?;
    bucket.expect(&fleet)?;
    Ok(Arc::new(Remote::new(RemoteOptions {
        bucket: Arc::new(bucket),
        workspace: context.workspace.clone(),
        paths: context.workspace.run(run_id),
        cache: Arc::new(cache(context, cache_gb)),
        fleet: Some(fleet),
        notices,
    })))
}

/// What was fetched before into this workspace, or where all of its machine's are told to keep that.
fn cache(context: &PgFleet, cache_gb: Option<f64>) -> Cache {
    let said = (context.site.variables)(CACHE);
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
    Cache::new(folder, most)
}

/// Pictures up to this size are held in memory while they are put, as many as are put at once.
const IN_MEMORY: u64 = 32 << 20;

/// So many files are put or fetched at once.
const AT_ONCE: usize = 8;

/// Below this grace nobody may be at work: what they are about to name could go.
const SAFE_GRACE: Duration = Duration::from_secs(2 * 86_400);

/// Puts the pictures of a run into the bucket that is said, or that the run has already. Nothing is put twice, by
/// whomever.
pub(in crate::store::postgres::fleet) fn put_pictures(
    context: &PgFleet,
    said: Option<&str>,
    known: Option<&str>,
    paths: &RunPaths,
) -> Result<Pictures, StoreError> {
    let place = named(context, said)?;
    let place = match (known.map(Place::parse), place) {
        (Some(Ok(known)), Some(named)) if said.is_some() && known != named => {
            return Err(StoreError::Refused {
                message: format!("the run has its files in {known}, not in {named}"),
                hint: Some("leave --artifacts out".into()),
            });
        }
        (Some(known), _) => known.map_err(|message| StoreError::Refused {
            message,
            hint: None,
        })?,
        (None, Some(place)) => place,
        (None, None) => return Ok(Pictures::default()),
    };
    let manifest = manifest::read(paths)?;
    let names = manifest.rows.into_iter().flat_map(|row| row.images);
    put_all(context, place, names.collect())
}

/// Puts pictures into the bucket that is configured; nothing is put where none is.
pub(in crate::store::postgres::fleet) fn put_named(
    context: &PgFleet,
    names: &[String],
) -> Result<Pictures, StoreError> {
    match named(context, None)? {
        Some(place) => put_all(context, place, names.iter().cloned().collect()),
        None => Ok(Pictures::default()),
    }
}

fn put_all(
    context: &PgFleet,
    place: Place,
    names: BTreeSet<String>,
) -> Result<Pictures, StoreError> {
    let place_of_all = place.to_string();
    let bucket = bucket(context, place)?;
    bucket.probe()?;
    let mut connection = context.connect("pictures")?;
    let fleet = keep::fleet_name(&mut connection)?;
    bucket.enrol(&fleet, &format!("{}\n", connection.url()))?;
    bucket.look_for_damaged()?;
    let mut pictures = Pictures {
        place: Some(place_of_all),
        hold: Some(Box::new(Putting::begin(connection)?)),
        ..Pictures::default()
    };
    let names: Vec<String> = names.into_iter().collect();
    let taken = Mutex::default();
    let put = side_by_side(&names, AT_ONCE, |name| {
        put_picture(&context.workspace, &bucket, name, &taken)
    });
    for (name, put) in names.into_iter().zip(put) {
        // What cannot be read is told by the job, as on files.
        let Some((blob, put)) = put? else { continue };
        if put == Put::Sent {
            pictures.sent += 1;
            pictures.bytes += blob.size;
        }
        pictures.blobs.insert(name, blob);
    }
    Ok(pictures)
}

/// Puts a picture, unless another one of the same bytes is; returns what its bytes are, or nothing if it cannot be used. A
/// picture is read once, unless it is very large.
fn put_picture(
    workspace: &Workspace,
    bucket: &Bucket,
    name: &str,
    taken: &Mutex<BTreeSet<Blob>>,
) -> Result<Option<(Blob, Put)>, StoreError> {
    let images = [name.to_owned()];
    let Ok(found) = crate::store::artifacts::resolve_images(workspace, &images) else {
        return Ok(None);
    };
    // A link into the workspace is followed to the file itself.
    let path = found.first().and_then(|path| path.canonicalize().ok());
    let Some(path) = path else { return Ok(None) };
    let size = fs::metadata(&path).context("read", &path)?.len();
    let is_ours = |blob: &Blob| {
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.insert(blob.clone())
    };
    if size <= IN_MEMORY {
        let bytes = durable::read_plain(&path, IN_MEMORY).context("read", &path)?;
        let blob = Blob {
            sha256: hex(&Sha256::digest(&bytes)),
            size: bytes.len() as u64,
        };
        let put = if is_ours(&blob) {
            bucket.put_bytes(bytes, &blob)?
        } else {
            Put::There
        };
        return Ok(Some((blob, put)));
    }
    let sha256 = artifact::hash_file(&path).context("read", &path)?;
    let blob = Blob { sha256, size };
    let put = if is_ours(&blob) {
        bucket.put(&path, &blob)?
    } else {
        Put::There
    };
    Ok(Some((blob, put)))
}

/// Fetches the files of results into folders, and answers one for one. A file that is there as it should be is not
/// fetched again.
pub(in crate::store::postgres::fleet) fn stage(
    context: &PgFleet,
    url: &str,
    wanted: &[Wanted<'_>],
) -> Result<Vec<Result<(), Lacking>>, StoreError> {
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
    let unasked = Lacking::Unasked;
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

/// Buckets in which something may be removed.
#[derive(Default)]
pub(in crate::store::postgres::fleet) struct Prunable {
    buckets: Vec<Bucket>,
    /// Where the grace is too short to tell what is about to be named.
    alone: Option<NobodyPuts>,
}

/// Opens every bucket of the fleet, once it is known that something may be removed there: nobody who is at work could be about to
/// name it, and no other database uses the bucket.
pub(in crate::store::postgres::fleet) fn prunable(
    context: &PgFleet,
    connection: &mut Connection,
    said: Option<&str>,
    grace: Duration,
) -> Result<Prunable, StoreError> {
    let mut prunable = Prunable::default();
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
        return Ok(prunable);
    }
    if grace < SAFE_GRACE {
        let alive = |worker: &membership::SeenWorker| {
            matches!(worker.health(), Health::Alive | Health::Slow)
        };
        if membership::workers(connection, None)?.iter().any(alive) {
            return Err(StoreError::Refused {
                message: "workers are at work, and with a grace below 2 days what they are about to name could go".into(),
                hint: Some("wait for them, or leave --grace out".into()),
            });
        }
        prunable.alone = NobodyPuts::begin(context.connect("prune")?)?;
        if prunable.alone.is_none() {
            return Err(StoreError::Refused {
                message: "a run is being handed over, and with a grace below 2 days its pictures could go".into(),
                hint: Some("wait until that is done, or leave --grace out".into()),
            });
        }
    }
    let fleet = keep::fleet_name(connection)?;
    for place in places.into_values() {
        let bucket = bucket(context, place)?;
        if bucket.fleets()?.iter().any(|other| *other != fleet) {
            return Err(StoreError::Refused {
                message: format!("{} is used by another database as well: nothing is removed", bucket.place()),
                hint: Some("give each database a prefix of its own; a database that is gone for good: remove its name below fleets/ there".into()),
            });
        }
        prunable.buckets.push(bucket);
    }
    Ok(prunable)
}

/// Removes from buckets what nothing refers to and is older than the grace.
pub(in crate::store::postgres::fleet) fn remove_unreferred(
    prunable: &Prunable,
    connection: &mut Connection,
    grace: Duration,
) -> Result<Removed, StoreError> {
    let mut removed = Removed::default();
    for bucket in &prunable.buckets {
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
        let deleted = side_by_side(&gone, AT_ONCE, |found| bucket.delete(found));
        for (found, deleted) in gone.iter().zip(deleted) {
            if deleted? {
                removed.blobs += 1;
                removed.bytes += found.size;
            }
        }
        let (files, bytes) = bucket.remove_unfinished(old);
        removed.blobs += files;
        removed.bytes += bytes;
    }
    Ok(removed)
}

/// Buckets that those who read have open, each with what was fetched from it and the database as it knows that: a request
/// for one file costs no new connection.
#[derive(Default)]
pub(in crate::store::postgres::fleet) struct OpenBuckets(Mutex<HashMap<String, OpenBucket>>);

#[derive(Clone)]
struct OpenBucket {
    bucket: Arc<Bucket>,
    cache: Arc<Cache>,
    fleet: String,
}

impl OpenBuckets {
    fn held(&self) -> MutexGuard<'_, HashMap<String, OpenBucket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, context: &PgFleet, url: &str) -> Result<OpenBucket, StoreError> {
        if let Some(known) = self.held().get(url) {
            return Ok(known.clone());
        }
        let opened = OpenBucket {
            bucket: Arc::new(bucket_of(context, url)?),
            cache: Arc::new(cache(context, None)),
            fleet: context.all_runs()?.ask(keep::fleet_name)?,
        };
        self.held().insert(url.to_owned(), opened.clone());
        Ok(opened)
    }
}

/// Returns a file of a result that was not pulled yet; nothing if its bucket has lost it.
pub(in crate::store::postgres::fleet) fn read(
    context: &PgFleet,
    (run_id, job): (&RunId, &JobId),
    url: &str,
    file: &Artifact,
) -> Result<Option<fs::File>, StoreError> {
    let open = context.known.buckets.open(context, url)?;
    let remote = Remote::new(RemoteOptions {
        bucket: open.bucket,
        workspace: context.workspace.clone(),
        paths: context.workspace.run(run_id),
        cache: open.cache,
        fleet: Some(open.fleet),
        notices: Arc::new(|_| ()),
    });
    let opened = remote.open(job, file);
    if opened.is_err() {
        // Credentials may be others by now.
        context.known.buckets.held().remove(url);
    }
    opened
}
