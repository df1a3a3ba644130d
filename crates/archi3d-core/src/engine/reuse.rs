//! Copying an earlier identical result instead of buying it again.
//!
//! Decided before a job is claimed, so nothing is reserved or waited for on its
//! account. A copy is published like every other result; its files are compared
//! with their hashes on the way. A redo asks for a new result and gets one.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::domain::content::ContentKey;
use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::domain::naming;
use crate::domain::patch::{Price, Product, REUSED, Span};
use crate::domain::time::Timestamp;
use crate::engine::Algorithm;
use crate::engine::dispatcher::{Answer, Claiming, Dispatch, Halt, Waiting};
use crate::engine::event::EventKind;
use crate::engine::executor::Executor;
use crate::engine::output::{self, Checked};
use crate::store::artifacts::resolve_images;
use crate::store::reuse::{ReuseIndex, Source};
use crate::store::{Artifact, Claim, JobRecord, ReleaseReason, StoreError};
use crate::trace;
use crate::workspace::artifact;

/// How long a job waits for one with the same inputs that runs.
const TWIN_PAUSE: Duration = Duration::from_millis(50);

/// The same where another worker may make it: at first, and at most.
const LONG_TWIN_PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));

/// The largest `metadata.json` that is carried over.
const MAX_METADATA: u64 = 4 << 20;

/// Lets jobs with the same inputs go on when the first one has ended.
pub(super) struct First<'a> {
    dispatch: &'a Dispatch,
    key: ContentKey,
    /// Where other workers are told, and as whom.
    told: Option<Box<(Arc<dyn ReuseIndex>, Lease)>>,
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        if let Some((index, lease)) = self.told.as_deref() {
            index.made(&self.key, lease);
        }
        self.dispatch.end_content(&self.key);
    }
}

/// What is found of the inputs of a job.
enum Found<'a> {
    /// A result that was made from them.
    Result(Source),
    /// Nothing, and no other job is being made from them.
    First(First<'a>),
    /// Another job is being made from them.
    Twin,
}

impl Executor<'_> {
    /// Copies an earlier result for the job if there is one; otherwise returns it to be made,
    /// while others with the same inputs wait.
    pub(super) fn try_reuse<'c>(
        &'c self,
        waiting: Waiting,
        claiming: Claiming<'c>,
    ) -> Result<(Waiting, Claiming<'c>, Option<First<'c>>), Answer> {
        let wanted = !waiting.plain && waiting.planned.entry != Entry::Redo;
        let Some((index, key, version)) = self.inputs_of(&waiting.planned.job, wanted) else {
            return Ok((waiting, claiming, None));
        };
        match self.find(index, &key, version.as_deref()) {
            Ok(Found::Result(source)) => {
                Err(self.claim_and_copy(waiting, claiming, index, &source, &key))
            }
            Ok(Found::First(first)) => Ok((waiting, claiming, Some(first))),
            Ok(Found::Twin) => Err(Answer::Again(Box::new(waiting), TWIN_PAUSE)),
            Err(error) => {
                // Without knowing, buying could be a mistake that costs.
                self.store_failed("cannot look for earlier results", &error);
                Err(Answer::Again(Box::new(waiting), Duration::ZERO))
            }
        }
    }

    /// The same for a job that is ours already.
    pub(super) fn copy_handed(
        &self,
        waiting: Waiting,
        lease: &Lease,
    ) -> Result<(Waiting, Option<First<'_>>), Answer> {
        // What was bought for it already is worth more than a copy.
        let bought = lease.request_id.is_some() && !self.forgets(lease);
        let wanted = lease.entry != Entry::Redo && !bought && self.open_intent(lease).is_none();
        let Some((index, key, version)) = self.inputs_of(&waiting.planned.job, wanted) else {
            return Ok((waiting, None));
        };
        let found = match self.find(index, &key, version.as_deref()) {
            // Other workers are told as well.
            Ok(Found::First(mut first)) => index.make(&key, lease).and_then(|made| {
                if !made {
                    return Ok(Found::Twin);
                }
                first.told = Some(Box::new((Arc::clone(index), lease.clone())));
                // Another worker may have ended between the look and the word that this one begins.
                let found = index.find(&key, version.as_deref(), true)?;
                Ok(found.map_or(Found::First(first), Found::Result))
            }),
            found => found,
        };
        match found {
            Ok(Found::Result(source)) => Err(self.copy(waiting, lease, index, &source, &key)),
            Ok(Found::First(first)) => Ok((waiting, Some(first))),
            Ok(Found::Twin) => {
                self.leave_to_twin(lease);
                Err(Answer::Over)
            }
            Err(error) => {
                self.give_back_until(lease, None);
                self.store_failed("cannot look for earlier results", &error);
                Err(Answer::Over)
            }
        }
    }

    fn find(
        &self,
        index: &Arc<dyn ReuseIndex>,
        key: &ContentKey,
        version: Option<&str>,
    ) -> Result<Found<'_>, StoreError> {
        if let Some(source) = index.find(key, version, false)? {
            return Ok(Found::Result(source));
        }
        if !self.dispatch.begin_content(key) {
            return Ok(Found::Twin);
        }
        let first = First {
            dispatch: self.dispatch,
            key: key.clone(),
            told: None,
        };
        // The one that was first until now may have left a result.
        let found = index.find(key, version, true)?;
        Ok(found.map_or(Found::First(first), Found::Result))
    }

    /// Gives a job back while another one with the same inputs is made, for longer each time.
    fn leave_to_twin(&self, lease: &Lease) {
        let pause = LONG_TWIN_PAUSE.0 * lease.attempt.min(60);
        let later = self.clock.now().plus(pause.min(LONG_TWIN_PAUSE.1));
        self.give_back_until(lease, Some(later));
    }

    fn give_back_until(&self, lease: &Lease, until: Option<Timestamp>) {
        trace::set("outcome", "put_back");
        let now = self.clock.now();
        let given = self.store.release(lease, ReleaseReason::Retry, until, now);
        if let Err(error) = given {
            self.store_failed(&format!("cannot give job {} back", lease.job_id), &error);
        }
    }

    /// Returns where earlier results are looked for if one is `wanted`, what tells the job's
    /// inputs from all others, and the version that makes it; what is wrong with its adapter
    /// or its pictures is told when it runs.
    fn inputs_of(
        &self,
        job: &JobRecord,
        wanted: bool,
    ) -> Option<(&Arc<dyn ReuseIndex>, ContentKey, Option<String>)> {
        let index = self.conditions.reuse.as_ref().filter(|_| wanted)?;
        if self.conditions.dry_run {
            return None;
        }
        let algorithm = self.algorithm_of(job).ok()?;
        let version = algorithm.adapter.version().map(str::to_owned);
        let key = if job.blobs.is_empty() {
            let pictures = resolve_images(&self.conditions.workspace, &job.images).ok()?;
            content_key(algorithm, &pictures)?
        } else {
            let sums: Vec<String> = job.blobs.iter().map(|blob| blob.sha256.clone()).collect();
            algorithm.recipe.as_ref()?.key(&sums)
        };
        Some((index, key, version))
    }

    fn claim_and_copy(
        &self,
        waiting: Waiting,
        claiming: Claiming<'_>,
        index: &Arc<dyn ReuseIndex>,
        source: &Source,
        key: &ContentKey,
    ) -> Answer {
        let job_id = waiting.planned.job.job_id.clone();
        let asked = Instant::now();
        let claim = self
            .store
            .claim(&job_id, waiting.planned.entry, self.clock.now());
        let _span = match &claim {
            Ok(Claim::Taken(lease)) => {
                Some(self.enter(&waiting.planned.job, lease, (asked, Instant::now())))
            }
            _ => None,
        };
        let taken = matches!(claim, Ok(Claim::Taken(_)));
        claiming.answered(taken && !waiting.tried);
        match claim {
            // What was bought for it already is worth more than a copy.
            Ok(Claim::Taken(lease))
                if lease.request_id.is_some() && !self.forgets(&lease)
                    || self.open_intent(&lease).is_some() =>
            {
                self.step_back(waiting, &lease, true)
            }
            Ok(Claim::Taken(lease)) => self.copy(waiting, &lease, index, source, key),
            other => self.claim_refused(waiting, other),
        }
    }

    fn copy(
        &self,
        waiting: Waiting,
        lease: &Lease,
        index: &Arc<dyn ReuseIndex>,
        source: &Source,
        key: &ContentKey,
    ) -> Answer {
        let started = Instant::now();
        let job = &waiting.planned.job;
        self.report(EventKind::JobStarted {
            job_id: job.job_id.clone(),
            attempt: lease.attempt,
            algo: self.algo_of(job),
            entry: lease.entry,
        });
        let algo = self.algo_of(job);
        let names = [&job.product_id, &job.variant, &algo].map(String::as_str);
        let about = output::about(self.store.run_id(), &job.job_id, names);
        let copied = copy_result(source, &lease.staging, key, about);
        let artifacts = match copied {
            Ok(artifacts) => artifacts,
            Err(reason) if is_sound(source) => {
                self.copy_unwritten(lease, source, &reason);
                return Answer::Over;
            }
            Err(reason) => {
                index.refuse(source);
                self.report(EventKind::Warning {
                    message: format!(
                        "the result of job {} of run {} cannot be reused: {reason}",
                        source.job_id, source.run_id
                    ),
                });
                return self.step_back(waiting, lease, false);
            }
        };
        self.report(EventKind::JobReused {
            job_id: job.job_id.clone(),
            attempt: lease.attempt,
            from_run: source.run_id.clone(),
            from_job: source.job_id.clone(),
        });
        let checked = Checked {
            ignored: Vec::new(),
            product: self.product_of(&waiting, lease, source),
            artifacts,
            content_key: Some(key.clone()),
            reused: true,
        };
        let span = Span {
            start: lease.claimed_at,
            duration: started.elapsed(),
        };
        self.settle_made(&waiting, lease, checked, span);
        Answer::Over
    }

    /// Gives a job back whose copy our own disk did not take: to buy it instead
    /// would cost money for nothing.
    fn copy_unwritten(&self, lease: &Lease, source: &Source, reason: &str) {
        let words = "the copy could not be written";
        self.give_back(lease, ReleaseReason::StoreTrouble, words);
        self.dispatch.halt(Halt::Store);
        self.report(EventKind::Warning {
            message: format!(
                "the result of job {} of run {} could not be copied for job {}, which was given \
                 back: {reason}. Nothing new starts; see to the disk and run the same command again",
                source.job_id, source.run_id, lease.job_id
            ),
        });
    }

    fn product_of(&self, waiting: &Waiting, lease: &Lease, source: &Source) -> Product {
        let folder = self.store.output_dir(&lease.job_id);
        let folder = self.conditions.workspace.relative(&folder);
        let folder = folder.unwrap_or_default();
        let there = |name: &String| source.artifacts.iter().any(|file| file.name == *name);
        let previews = (1..=naming::MAX_PREVIEWS).map(naming::preview_png);
        let algorithm = self.algorithm_of(&waiting.planned.job).ok();
        Product {
            object: format!("{folder}/{}", naming::GENERATED_GLB),
            previews: previews
                .filter(there)
                .map(|name| format!("{folder}/{name}"))
                .collect(),
            algo_version: source.algo_version.clone(),
            price: Price {
                unit_usd: algorithm.and_then(|algorithm| algorithm.price.unit_usd),
                estimated_usd: Some(0.0),
                source: Some(REUSED.to_owned()),
            },
        }
    }

    /// Gives a job back that was taken for a copy, to be looked at again at once;
    /// with `plain` it is then made whatever results there are.
    fn step_back(&self, mut waiting: Waiting, lease: &Lease, plain: bool) -> Answer {
        trace::set("outcome", "put_back");
        let now = self.clock.now();
        let reason = ReleaseReason::Retry;
        if let Err(error) = self.store.release(lease, reason, None, now) {
            self.store_failed(&format!("cannot give job {} back", lease.job_id), &error);
            return Answer::Over;
        }
        waiting.planned.entry = Entry::Fresh;
        waiting.plain = plain;
        waiting.tried = true;
        Answer::Again(Box::new(waiting), Duration::ZERO)
    }
}

/// Returns what tells a job's inputs and parameters from all others; nothing if
/// its results are not worth reusing or a picture cannot be read.
pub(super) fn content_key(algorithm: &Algorithm, pictures: &[PathBuf]) -> Option<ContentKey> {
    let recipe = algorithm.recipe.as_ref()?;
    let hashes = pictures.iter().map(|path| artifact::hash_file(path));
    Some(recipe.key(&hashes.collect::<io::Result<Vec<_>>>().ok()?))
}

/// Tells whether a result is what it was when it was made.
fn is_sound(source: &Source) -> bool {
    if source.in_bucket {
        return true;
    }
    let mut copied = source
        .artifacts
        .iter()
        .filter(|file| file.name != naming::METADATA_JSON);
    copied.all(|file| artifact::is_intact(&source.folder, &file.name, file.size, &file.sha256))
        && artifact::check_model(&source.folder.join(naming::GENERATED_GLB)).is_ok()
}

/// Copies every file of a result and compares the copies with their hashes.
fn copy_result(
    source: &Source,
    staging: &Path,
    key: &ContentKey,
    about: Value,
) -> Result<Vec<Artifact>, String> {
    let mut artifacts = Vec::new();
    for file in &source.artifacts {
        if file.name == naming::METADATA_JSON {
            continue;
        }
        let inside = Path::new(&file.name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !inside {
            return Err(format!("it names {:?}", file.name));
        }
        if source.in_bucket {
            artifacts.push(file.clone());
            continue;
        }
        let to = staging.join(&file.name);
        let copied = fs::create_dir_all(to.parent().unwrap_or(staging))
            .and_then(|()| fs::copy(source.folder.join(&file.name), &to));
        copied.map_err(|error| format!("{}: {error}", file.name))?;
        if !artifact::is_intact(staging, &file.name, file.size, &file.sha256) {
            return Err(format!("{} is not what it was", file.name));
        }
        artifacts.push(file.clone());
    }
    if !source.in_bucket {
        let model = staging.join(naming::GENERATED_GLB);
        artifact::check_model(&model).map_err(|error| error.to_string())?;
    }
    artifacts.push(write_metadata(source, staging, key, about, &artifacts)?);
    artifacts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(artifacts)
}

/// Writes what the first result's adapter told, and where the copy comes from.
fn write_metadata(
    source: &Source,
    staging: &Path,
    key: &ContentKey,
    about: Value,
    artifacts: &[Artifact],
) -> Result<Artifact, String> {
    let told = crate::workspace::durable::read_plain(
        &source.folder.join(naming::METADATA_JSON),
        MAX_METADATA,
    );
    let told: Option<Value> = told.ok().and_then(|b| serde_json::from_slice(&b).ok());
    let adapter = told.and_then(|mut told| Some(told.get_mut("adapter")?.take()));
    let mut whole = about;
    whole["adapter"] = json!(adapter);
    whole["reused_from"] = json!({
        "run_id": source.run_id,
        "job_id": source.job_id,
        "attempt": source.attempt,
        "algo_version": source.algo_version,
        "content_key": key,
    });
    whole["artifacts"] = json!(artifacts);
    let file = artifact::write_json(staging, &whole).map_err(|error| error.to_string())?;
    Ok(file)
}
