//! The ledger of attempts, read from the journals of all workers of a run.
//!
//! Reads only: takes no lock, writes nothing, and bears torn and damaged lines.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io;

use crate::domain::id::{JobId, Nonce, RunId, WorkerId};
use crate::domain::lease::{Rhythm, Verdict};
use crate::domain::patch::Patch;
use crate::domain::purchase::PurchaseEnd;
use crate::domain::text::one_line;
use crate::domain::time::Timestamp;
use crate::store::attempt::{AttemptOutcome, AttemptRecord, RunAttempts};
use crate::store::error::{IoContext, StoreError};
use crate::store::{Made, ReleaseReason};
use crate::workspace::lock;
use crate::workspace::paths::{RunPaths, Workspace};

use super::evidence::Evidence;
use super::journal::{self, Finished, Found, Line, What};
use super::liveness::Watch;
use super::open;
use super::registry::Registry;
use super::snapshot;
use crate::store::manifest::ManifestRow;

/// Longer errors are cut; `error.txt` has them whole.
const MAX_ERROR_CHARS: usize = 2000;

/// The column that tells where a price comes from.
const PRICE_SOURCE: &str = "price_source";

/// Reads every attempt of a run: by job in the order of the manifest, then by
/// number; jobs that the manifest does not name come last, by name.
pub fn attempts(
    workspace: &Workspace,
    run_id: &RunId,
    rhythm: Rhythm,
    now: Timestamp,
) -> Result<RunAttempts, StoreError> {
    let paths = workspace.run(run_id);
    let mut registry = Registry::new(workspace.registry(), "reader");
    let manifest = open::check_run(&mut registry, workspace, run_id, &paths)?;
    let mut run = all_attempts(workspace, run_id, rhythm, now)?;
    run.jobs = manifest.rows.into_iter().map(ManifestRow::named).collect();
    put_in_order(&mut run);
    Ok(run)
}

/// Reads every attempt that the journals of a run know of, whatever became of its
/// tables: by job, then by number.
pub fn all_attempts(
    workspace: &Workspace,
    run_id: &RunId,
    rhythm: Rhythm,
    now: Timestamp,
) -> Result<RunAttempts, StoreError> {
    some_attempts(workspace, run_id, rhythm, now, &|_, _| true)
}

/// Reads the attempts that some journals of a run know of: those that `wanted` says
/// yes to, by their worker and their length.
pub fn some_attempts(
    workspace: &Workspace,
    run_id: &RunId,
    rhythm: Rhythm,
    now: Timestamp,
    wanted: &dyn Fn(&WorkerId, u64) -> bool,
) -> Result<RunAttempts, StoreError> {
    let paths = workspace.run(run_id);
    let mut run = RunAttempts::default();
    let folder = paths.journals();
    let mut ledger = Ledger::default();
    for found in journal::all(&folder).context("list", &folder)? {
        let shown = workspace.relative(&found.path).unwrap_or_default();
        let length = std::fs::symlink_metadata(&found.path).map_or(0, |found| found.len());
        if !wanted(&found.worker_id, length) {
            continue;
        }
        if lock::is_held(&found.path).is_ok_and(|held| !held) {
            run.ended.insert(found.worker_id.clone(), length);
        }
        let mut host = None;
        let take = |_, line| ledger.take(&found, &mut host, line);
        match journal::each_line_at(&found.path, None, is_about_attempt, take) {
            Ok(unread) => {
                if unread.damaged > 0 {
                    let damaged = (found.path.clone(), unread.damaged);
                    run.damaged_journals.push(damaged);
                }
                let unread = unread.damaged + usize::from(unread.torn);
                if unread > 0 {
                    run.damaged_lines += unread;
                    run.warnings.push(format!(
                        "{shown}: {unread} lines cannot be read and were skipped"
                    ));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => run
                .warnings
                .push(format!("{shown} cannot be read: {error}")),
        }
    }
    let watch = snapshot::watch_to_read(workspace, rhythm);
    run.attempts = ledger.close(&paths, &watch, now)?;
    put_in_order(&mut run);
    Ok(run)
}

/// Tells whether a line tells of an attempt, and empties what is of no concern here.
fn is_about_attempt(what: &mut What) -> bool {
    match what {
        What::Finished(finished) => {
            let mut patch = Patch::default();
            if let Some(source) = finished.patch.get(PRICE_SOURCE) {
                patch.set(PRICE_SOURCE, source);
            }
            finished.patch = patch;
            finished.outputs = Vec::new();
        }
        What::Made(line) => {
            line.result = Made {
                price: std::mem::take(&mut line.result.price),
                ..Made::default()
            };
        }
        What::Progress { .. } | What::Folded { .. } | What::Closed { .. } | What::Other => {
            return false;
        }
        _ => {}
    }
    true
}

fn put_in_order(run: &mut RunAttempts) {
    let order: HashMap<&JobId, usize> = run.jobs.iter().map(|(id, _)| id).zip(0..).collect();
    let place = |attempt: &AttemptRecord| order.get(&attempt.job_id).copied();
    run.attempts.sort_unstable_by(|a, b| {
        // Those without a place come last.
        let places = (place(a).is_none(), place(a)).cmp(&(place(b).is_none(), place(b)));
        let of_job = |one: &AttemptRecord| (one.attempt, one.started);
        places
            .then_with(|| a.job_id.cmp(&b.job_id))
            .then_with(|| of_job(a).cmp(&of_job(b)))
            .then_with(|| a.worker.cmp(&b.worker))
    });
}

/// Attempts, found by the nonce that names them: only its hash is kept a second time.
#[derive(Default)]
struct Ledger {
    attempts: Vec<AttemptRecord>,
    /// Which of them have an end.
    ended: Vec<bool>,
    places: HashMap<u64, u32>,
    hasher: RandomState,
}

impl Ledger {
    /// Returns the attempt with this nonce, if it is known.
    fn find(&mut self, nonce: &Nonce) -> Option<(&mut AttemptRecord, &mut bool)> {
        let mut hash = self.hasher.hash_one(nonce);
        while let Some(place) = self.places.get(&hash) {
            let place = *place as usize;
            if self.attempts[place].nonce == *nonce {
                return Some((&mut self.attempts[place], &mut self.ended[place]));
            }
            hash = hash.wrapping_add(1);
        }
        None
    }

    /// Adds an attempt that is not known.
    fn add(&mut self, nonce: Nonce, mut record: AttemptRecord) {
        let mut hash = self.hasher.hash_one(&nonce);
        while self.places.contains_key(&hash) {
            hash = hash.wrapping_add(1);
        }
        let place = self.attempts.len();
        self.places
            .insert(hash, u32::try_from(place).unwrap_or(u32::MAX));
        record.nonce = nonce;
        self.attempts.push(record);
        self.ended.push(false);
    }

    /// Takes one line in; `host` is the machine that the lines before it named.
    fn take(&mut self, found: &Found, host: &mut Option<String>, line: Line) {
        let Line { at, what } = line;
        match what {
            What::Opened { worker, .. } => {
                *host = Some(worker.host).filter(|host| !host.is_empty());
            }
            What::Claimed {
                job_id,
                attempt,
                nonce,
                entry,
                resumes,
                ..
            } => {
                let mut record = AttemptRecord::begun(job_id, attempt, found.worker_id.clone(), at);
                record.entry = entry;
                record.host.clone_from(host);
                record.resumed = resumes.is_some();
                record.request_id = resumes;
                // Another worker's journal may have told its end already.
                match self.find(&nonce) {
                    Some((known, _)) => {
                        known.worker = record.worker;
                        known.host = record.host;
                        known.resumed = record.resumed;
                    }
                    None => self.add(nonce, record),
                }
            }
            What::Finished(finished) => {
                let nonce = finished.nonce.clone();
                let worker = &found.worker_id;
                let begun = || {
                    // The line of the claim was damaged; this one says enough.
                    let Finished {
                        job_id,
                        attempt,
                        claimed_at,
                        ..
                    } = &*finished;
                    AttemptRecord::begun(job_id.clone(), *attempt, worker.clone(), *claimed_at)
                };
                if self.find(&nonce).is_none() {
                    self.add(nonce.clone(), begun());
                }
                if let Some((record, ended)) = self.find(&nonce) {
                    finish(record, &finished, at);
                    *ended = true;
                }
            }
            what => self.note(what, at),
        }
    }

    /// Notes what happened to an attempt that is known.
    fn note(&mut self, what: What, at: Timestamp) {
        let (nonce, outcome) = match &what {
            What::Submitted { nonce, .. } | What::Intent { nonce, .. } => (nonce, None),
            What::Made(line) => (&line.nonce, None),
            What::Released {
                nonce,
                reason: ReleaseReason::Retry,
                ..
            } => (nonce, Some(AttemptOutcome::PutOff)),
            What::Released { nonce, .. } => (nonce, Some(AttemptOutcome::Released)),
            What::Cancelled { nonce, .. } => (nonce, Some(AttemptOutcome::Cancelled)),
            What::Fenced { nonce, .. } => (nonce, Some(AttemptOutcome::Fenced)),
            _ => return,
        };
        let Some((record, ended)) = self.find(nonce) else {
            return;
        };
        if let Some(outcome) = outcome {
            record.outcome = outcome;
            end(record, at);
            *ended = true;
        }
        match what {
            What::Submitted {
                request_id,
                cost_usd,
                ..
            } => {
                let same = record.request_id.as_ref() == Some(&request_id);
                let earlier = record.cost_usd.filter(|_| !same);
                record.request_id = Some(request_id);
                record.submitted_at = Some(at);
                record.resumed = false;
                // Several purchases add up.
                record.cost_usd = match (cost_usd, earlier) {
                    (Some(usd), Some(earlier)) => Some(usd + earlier),
                    (usd, earlier) => usd.or(earlier).or(record.cost_usd),
                };
                record.price_source = cost_usd.map(|_| "adapter".to_owned());
            }
            What::Intent { .. } => record.intent_at = Some(at),
            What::Made(line) => {
                let price = line.result.price;
                record.cost_usd = record.cost_usd.or(price.estimated_usd);
                record.price_source = record.price_source.take().or(price.source);
            }
            What::Released {
                class,
                error,
                cut_off,
                purchase,
                cost_usd,
                ..
            } => {
                record.class = class;
                record.cut_off = cut_off;
                bill(record, purchase, cost_usd, cut_off);
                record.error = error.as_deref().map(short);
            }
            _ => {}
        }
    }

    /// Judges the attempts without an end by the leases that are there now.
    fn close(
        self,
        paths: &RunPaths,
        watch: &Watch,
        now: Timestamp,
    ) -> Result<Vec<AttemptRecord>, StoreError> {
        drop(self.places);
        let mut attempts = self.attempts;
        for (record, ended) in attempts.iter_mut().zip(self.ended) {
            if !ended && goes_on(paths, watch, &record.job_id, &record.nonce, now)? {
                record.outcome = AttemptOutcome::Running;
            }
        }
        Ok(attempts)
    }
}

fn goes_on(
    paths: &RunPaths,
    watch: &Watch,
    job: &JobId,
    nonce: &Nonce,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let state = paths.state();
    let evidence = Evidence::read(paths, job).context("read markers in", &state)?;
    let Some(lease) = evidence.lease() else {
        return Ok(false);
    };
    let is_its = lease.record().is_some_and(|record| record.nonce == *nonce);
    if !is_its {
        return Ok(false);
    }
    let verdict = watch.verdict(paths, job, lease, now);
    Ok(verdict.context("judge a holder in", &state)? != Verdict::Dead)
}

/// Notes what an attempt cost in the end. What is void and not in doubt was not billed,
/// whatever its purchase was said to cost.
fn bill(record: &mut AttemptRecord, end: PurchaseEnd, cost_usd: Option<f64>, in_doubt: bool) {
    record.void = end == PurchaseEnd::Void;
    let said = record.cost_usd.filter(|_| !record.void || in_doubt);
    record.cost_usd = cost_usd.or(said);
}

fn finish(record: &mut AttemptRecord, finished: &Finished, at: Timestamp) {
    record.entry = finished.entry;
    record.outcome = if finished.completed {
        AttemptOutcome::Completed
    } else {
        AttemptOutcome::Failed
    };
    record.class = finished.class;
    bill(
        record,
        finished.purchase,
        finished.cost_usd,
        finished.cut_off,
    );
    record.simulated = finished.simulated;
    record.cut_off = finished.cut_off;
    if record.request_id.is_none() {
        record.request_id.clone_from(&finished.request_id);
    }
    let source = finished.patch.get(PRICE_SOURCE).unwrap_or_default();
    if !source.is_empty() {
        record.price_source = Some(source.to_owned());
    }
    record.error = finished.error_text.as_deref().map(|text| {
        let message = text.split("\n\n").next().unwrap_or_default();
        short(message.strip_prefix("Error: ").unwrap_or(message))
    });
    end(record, at);
}

fn end(record: &mut AttemptRecord, at: Timestamp) {
    record.ended = Some(at);
    record.duration_s = Some(at.since(record.started).as_micros() as f64 / 1e6);
}

fn short(text: &str) -> String {
    one_line(text).chars().take(MAX_ERROR_CHARS).collect()
}
