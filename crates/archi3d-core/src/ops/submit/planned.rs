//! What a submission comes to: its items, the jobs of these through the worker's own functions, and
//! the sums that a person confirms.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use crate::domain::id::{JobId, RunId};
use crate::domain::item_name::any_matches;
use crate::domain::job::JobState;
use crate::domain::plan::{AlgoSelection, CatalogItem, ItemFilter, Plan as Jobs, select_algos};
use crate::domain::reason::ReasonCode;
use crate::domain::text::hex;
use crate::ops::OpsContext;
use crate::ops::batch::{self, ConfiguredAlgos};
use crate::ops::plan::plan_new;
use crate::ops::select::WorkerRequest;
use crate::ops::uploads;
use crate::ops::view::plan::{Plan, PlannedAction};
use crate::store::{JobRecord, JobSnapshot};

use super::{Dedupe, PlannedAlgo, Submission, SubmissionPlan, SubmitError};

/// Returns the items that are meant.
pub(super) fn items(
    context: &OpsContext,
    asked: &Submission,
) -> Result<Vec<CatalogItem>, SubmitError> {
    if !asked.images.is_empty() {
        let images = asked.images.iter().map(|sha256| {
            let found = uploads::find(context, sha256);
            found
                .map(|upload| upload.stored)
                .ok_or_else(|| SubmitError::UnusablePicture(sha256.clone()))
        });
        let images = images.collect::<Result<Vec<String>, _>>()?;
        let name = hex(&Sha256::digest(asked.images.join("|").as_bytes()));
        return Ok(vec![CatalogItem {
            product_id: format!("upload-{}", &name[..12]),
            images,
            ..CatalogItem::default()
        }]);
    }
    let mut items = batch::catalog(&context.workspace)?;
    for name in &asked.items {
        if !items
            .iter()
            .any(|item| name.matches(&item.product_id, &item.variant))
        {
            return Err(SubmitError::UnknownItem(name.as_str().to_owned()));
        }
    }
    items.retain(|item| any_matches(&asked.items, &item.product_id, &item.variant));
    Ok(items)
}

/// Returns the algorithms that are meant.
pub(super) fn algos(
    context: &OpsContext,
    asked: &Submission,
) -> Result<AlgoSelection, SubmitError> {
    let configured = ConfiguredAlgos::of(&context.settings);
    select_algos(&asked.algos.join(","), &configured.known).map_err(SubmitError::UnknownAlgo)
}

/// Refuses an option that none of the algorithms has a default for.
fn check_options(context: &OpsContext, asked: &Submission) -> Result<(), SubmitError> {
    let meant = asked.algos.iter();
    let meant = meant.filter_map(|algo| context.settings.algo(algo));
    let known: BTreeSet<&str> = meant
        .flat_map(|algo| algo.defaults.keys().map(String::as_str))
        .collect();
    let mut names = asked.options.keys();
    match names.find(|name| !known.contains(name.as_str())) {
        None => Ok(()),
        Some(name) => Err(SubmitError::UnknownOption {
            name: name.clone(),
            algos: asked.algos.join(", "),
            known: known.into_iter().collect::<Vec<_>>().join(", "),
        }),
    }
}

/// A plan, and what it is of.
pub(super) struct Planned {
    pub(super) plan: SubmissionPlan,
    pub(super) algos: AlgoSelection,
    pub(super) items: Vec<CatalogItem>,
}

/// Puts every job through the worker's own functions.
pub(super) fn planned(context: &OpsContext, asked: &Submission) -> Result<Planned, SubmitError> {
    let algos = algos(context, asked)?;
    check_options(context, asked)?;
    let context = &context.choosing(&asked.options);
    let items = items(context, asked)?;
    let jobs = Jobs::new(&items, &algos, &ItemFilter::default());
    if jobs.jobs.is_empty() {
        let skips = jobs.skips.iter();
        let skips: Vec<String> = skips
            .map(|(why, n)| format!("{n} {}", why.word()))
            .collect();
        let why = if skips.is_empty() {
            "the catalogue is empty".to_owned()
        } else {
            skips.join(", ")
        };
        return Err(SubmitError::NoJobs(why));
    }
    let run_id = asked.run_id.clone();
    let run_id = run_id.map_or_else(|| RunId::parse("new-run"), Ok);
    let run_id = run_id.map_err(|error| SubmitError::BadRunId(error.to_string()))?;
    let request = WorkerRequest {
        max_parallel: asked.max_parallel.unwrap_or(1),
        reuse: asked.dedupe != Dedupe::None,
        ..WorkerRequest::plain(run_id)
    };
    let records = jobs.jobs.iter().filter_map(|job| {
        Some(JobRecord {
            job_id: JobId::parse(&job.job_id).ok()?,
            product_id: job.item.product_id.clone(),
            variant: job.item.variant.clone(),
            algo: Ok(job.algo.clone()),
            images: job.item.images.clone(),
            blobs: Vec::new(),
            snapshot: JobSnapshot::Known {
                state: JobState::Enqueued { attempt: 0 },
                holder: None,
                error: None,
                unmarked: false,
                not_before: None,
                doubtful: false,
                intended: false,
                tried: false,
                purchase: None,
                holder_died: false,
                failures: 0,
            },
        })
    });
    let plan = plan_new(context, &request, records.collect())?;
    Ok(Planned {
        plan: summary(&plan, &asked.payload_hash),
        algos,
        items,
    })
}

/// Sums a plan up for those who are to confirm it.
pub(super) fn summary(plan: &Plan, payload_hash: &str) -> SubmissionPlan {
    let mut hash = Sha256::new();
    for job in &plan.jobs {
        let price = job.price.expected.dollars();
        hash.update(format!("{} {} {price:.6}\n", job.job_id, job.fate.word()));
    }
    let count = |fate: PlannedAction| plan.fates[fate as usize];
    let problem = |algo: &str| {
        let mut blocked = plan.jobs.iter();
        let blocked =
            blocked.find(|job| job.name.algo == algo && job.fate == PlannedAction::Blocked);
        blocked.map(|job| job.reason.of_job.clone())
    };
    SubmissionPlan {
        hash: format!("sha256:{}", hex(&hash.finalize())),
        payload_hash: payload_hash.to_owned(),
        jobs: plan.jobs.len(),
        start: count(PlannedAction::Run) + count(PlannedAction::Reattach),
        reuse: count(PlannedAction::Reuse),
        blocked: count(PlannedAction::Blocked),
        expected_usd: plan.cost.expected_usd,
        worst_usd: plan.cost.worst_usd,
        unknown_price_jobs: plan.cost.unknown,
        algos: plan
            .algos
            .iter()
            .map(|algo| PlannedAlgo {
                algo: algo.algo.clone(),
                jobs: algo.fates.iter().sum(),
                unit_price_usd: algo.unit_usd,
                expected_usd: algo.cost.expected_usd,
                problem: problem(&algo.algo),
            })
            .collect(),
        warnings: plan.warnings.clone(),
        existing: None,
        priceless: plan
            .jobs
            .iter()
            .find(|job| job.reason.code == ReasonCode::UnknownPrice)
            .map(|job| job.name.algo.clone()),
    }
}
