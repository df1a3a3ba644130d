//! The part of a self-check that needs a store: a run is handed over, two workers make it, it comes back, and everything
//! of it is removed from the store again. Where a bucket is named, each worker has only that and an empty folder.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use chrono::TimeDelta;
use uuid::Uuid;

use super::{Deaf, FOLDER, Seen, SelfCheckRequest, Trials, Trouble, look_names_up};
use crate::cancel::Cancel;
use crate::domain::id::RunId;
use crate::domain::text::counted;
use crate::ops::batch::{self, BatchRequest, ConfiguredAlgos};
use crate::ops::fleet::{self, PushRequest, pull, push};
use crate::ops::run::run_worker;
use crate::ops::select::WorkerRequest;
use crate::ops::{OpsContext, OpsError};
use crate::store::error::IoContext;

/// How many workers share the run.
const WORKERS: usize = 2;

/// How runs are called that were made to try a store.
pub(in crate::ops) const PREFIX: &str = "self-check-";

/// Such a run that is older than this was left by a trial that was killed.
const LEFT_AFTER: TimeDelta = TimeDelta::days(1);

/// Tries the store that is named, if one is.
pub(super) fn look(
    context: &OpsContext,
    request: &SelfCheckRequest,
    folder: &Path,
    trials: &mut Trials<'_>,
) -> Result<(), OpsError> {
    let Some((url, origin)) = fleet::store_url(context)? else {
        if request.artifacts.is_some() {
            trials.attempt("artifacts", || {
                let what = "only the runs of a store have files in a bucket, and no store is named";
                Err(Trouble::new(what, "name one with --store"))
            });
        }
        return Ok(());
    };
    if let Some(host) = host_of(&url) {
        trials.attempt("name of the store", || look_names_up(Some(host)));
    }
    let mut ready = false;
    trials.attempt("store", || {
        let schema = fleet::init(context, true)?;
        ready = true;
        let version = schema.version;
        Ok(format!("{url} (from {origin}), schema {version}"))
    });
    if !ready {
        return Ok(());
    }
    let name = format!("{PREFIX}{}", &Uuid::new_v4().simple().to_string()[..12]);
    let run_id = RunId::parse(&name).expect("letters, digits and dashes");
    let mut place = None;
    let server = context.required_fleet()?;
    match server.trial_place(request.artifacts.as_deref(), &name) {
        Ok(None) => {}
        Ok(Some(made)) => {
            trials.attempt("artifacts", || {
                Ok(format!("{made}: list, put, read and delete work"))
            });
            place = Some(made);
        }
        Err(error) => {
            trials.attempt("artifacts", || Err(OpsError::from(error).into()));
            return Ok(());
        }
    }
    let mut pushed = false;
    trials.attempt("push", || {
        hand_over(context, &run_id, place.clone(), &mut pushed)
    });
    if pushed {
        let cancel = trials.cancel.clone();
        let mut contexts = vec![context.clone(); WORKERS];
        if place.is_some() {
            for (number, context) in contexts.iter_mut().enumerate() {
                let own = folder.join(format!("worker-{number}"));
                fs::create_dir(&own).context("create", &own)?;
                *context = OpsContext::open(Some(&own))?.with_store(request.store.as_deref());
            }
        }
        trials.attempt("workers", || work(&contexts, &run_id, &cancel));
        trials.attempt("pull", || bring_back(context, &run_id));
    }
    trials.always("clean-up", || forget(context, &run_id, place.as_deref()));
    Ok(())
}

/// Returns the host of an address, the first of several; nothing for a socket or a number, which nobody looks up.
fn host_of(url: &str) -> Option<&str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let place = rest.split(['/', '?']).next().unwrap_or_default();
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let (host, _port) = place.split(',').next()?.rsplit_once(':')?;
    let is_number = host.contains(':') || host.parse::<std::net::Ipv4Addr>().is_ok();
    (!host.is_empty() && !is_number && host != "localhost").then_some(host)
}

fn hand_over(
    context: &OpsContext,
    run_id: &RunId,
    artifacts: Option<String>,
    pushed: &mut bool,
) -> Seen {
    let jobs = BatchRequest {
        run_id: Some(run_id.clone()),
        algos: Some("relief".into()),
        ..BatchRequest::default()
    };
    let configured = ConfiguredAlgos::of(&context.settings);
    let made = batch::create(context, &configured, &jobs, &mut |_| true);
    made.map_err(OpsError::from)?;
    let request = PushRequest {
        run_id: run_id.clone(),
        priority: 0,
        lease_seconds: 60,
        artifacts,
    };
    let done = push(context, &request)?;
    *pushed = true;
    Ok(format!("run {run_id}, {}", counted(done.added, "job")))
}

fn work(contexts: &[OpsContext], run_id: &RunId, cancel: &Cancel) -> Seen {
    let ended: Vec<_> = thread::scope(|scope| {
        let started: Vec<_> = contexts
            .iter()
            .map(|context| {
                let request = WorkerRequest::plain(run_id.clone());
                scope.spawn(move || run_worker(context, &request, cancel, Arc::new(Deaf)))
            })
            .collect();
        started
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect()
    });
    let mut completed = 0;
    for worker in ended {
        let Ok(summary) = worker else {
            return Err(Trouble::new(
                "a worker broke down",
                "please report it: it is a bug",
            ));
        };
        let summary = summary?;
        if summary.failed > 0 {
            let what = format!("{} failed", counted(summary.failed, "job"));
            return Err(Trouble::new(
                what,
                "`archi3d demo DIR` tries the same on files alone",
            ));
        }
        completed += summary.completed;
    }
    Ok(format!("{WORKERS} made {}", counted(completed, "job")))
}

fn bring_back(context: &OpsContext, run_id: &RunId) -> Seen {
    let pulled = pull(context, run_id, &mut |_| true)?;
    if !pulled.over || !pulled.missing.is_empty() {
        let what = format!(
            "{} of {} jobs came back, results missing: {}",
            pulled.completed,
            pulled.jobs,
            pulled.missing.len()
        );
        let fix = "workers and this machine must see the same folder: check how it is shared";
        return Err(Trouble::new(what, fix));
    }
    let count = pulled.completed;
    Ok(format!("{} compared by hash", counted(count, "result")))
}

/// Removes the run and its files, and what a trial that was killed long ago left.
fn forget(context: &OpsContext, run_id: &RunId, place: Option<&str>) -> Seen {
    let fleet = context.required_fleet()?;
    let left = fleet.forget_trials((run_id, place), (PREFIX, FOLDER), LEFT_AFTER);
    if let Some(left) = left.map_err(OpsError::from)? {
        let what = format!("run {left} is left in the store: money was moved for it");
        let fix = "please report it: a trial never costs anything";
        return Err(Trouble::new(what, fix));
    }
    let bucket = if place.is_some() {
        " and the bucket"
    } else {
        ""
    };
    Ok(format!("nothing of it is left in the store{bucket}"))
}
