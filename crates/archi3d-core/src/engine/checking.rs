//! What becomes of what an adapter left in its folder: a checked result, or a failure that keeps it.

use crate::adapter::{GenerationRequest, GenerationResult};
use crate::domain::budget::plain_usd;
use crate::domain::lease::Lease;
use crate::domain::retry::ErrorClass;
use crate::domain::text::shell_word;
use crate::engine::attempt::{Attempt, Failure};
use crate::engine::executor::Executor;
use crate::engine::{Algorithm, output};
use crate::trace;
use crate::workspace::artifact::{self, ArtifactError};

impl Executor<'_> {
    /// Tells whether a result of this adapter has no files, and none are looked for: only where the
    /// store can keep such a result.
    pub(super) fn is_bare(&self, algorithm: &Algorithm) -> bool {
        !algorithm.adapter.uses_files() && self.store.keeps_bare_results()
    }

    /// Checks what an adapter calls its result.
    pub(super) fn check(
        &self,
        mut result: GenerationResult,
        request: &GenerationRequest,
        lease: &Lease,
        algorithm: &Algorithm,
        purchase: bool,
    ) -> Attempt {
        let _span = trace::span("check");
        if result.algo_version.is_none() {
            let version = algorithm.adapter.version().map(str::to_owned);
            result.algo_version = version.or_else(|| algorithm.adapter.maker());
        }
        if self.is_bare(algorithm) {
            return Attempt::Made(Box::new(output::bare(result, &algorithm.price)));
        }
        let workspace = &self.conditions.workspace;
        let detail = result.detail.take();
        let reported = result.estimated_cost_usd.or(result.unit_price_usd);
        let cost_usd = reported
            .or(algorithm.price.unit_usd)
            .and_then(plain_usd)
            .filter(|usd| !self.conditions.dry_run && *usd > 0.0);
        let about = || output::about_request(self.store.run_id(), &lease.job_id, request);
        let about = (!self.conditions.dry_run).then(about);
        let checked = output::check(
            result,
            &lease.staging,
            workspace,
            self.store,
            &lease.job_id,
            &algorithm.price,
            about,
        );
        match checked {
            Ok(checked) => Attempt::Made(Box::new(checked)),
            Err(error) if is_our_disks(&error, lease) && self.conditions.dry_run => {
                Attempt::Failed(Failure::no_room(error.to_string()))
            }
            Err(error) if is_our_disks(&error, lease) => Attempt::Unrecorded(error.to_string()),
            Err(error) => Attempt::Failed(Failure {
                detail,
                purchase,
                made: true,
                // The adapter had succeeded, so this was paid for.
                cost_usd,
                ..self.refuse_result(lease, &error, algorithm)
            }),
        }
    }

    /// Turns a result that cannot be taken into a failure. It may have been paid
    /// for, so its files are kept where a person can look at them.
    fn refuse_result(
        &self,
        lease: &Lease,
        error: &ArtifactError,
        algorithm: &Algorithm,
    ) -> Failure {
        let paid = !self.conditions.dry_run && algorithm.price.unit_usd != Some(0.0);
        // What could not even be read back may be a good result, and a whole model that
        // was paid for is not bought again before a person has looked at it.
        let class = match error {
            ArtifactError::Io { .. } => ErrorClass::Unknown,
            _ if paid && artifact::may_hold_model(&lease.staging) => ErrorClass::Unknown,
            _ => ErrorClass::Permanent,
        };
        let mut message = error.to_string();
        if !self.conditions.dry_run {
            message = format!("{message}{}", self.kept_words(lease));
        }
        Failure::new(class, message)
    }

    /// Moves what an attempt made out of the way of its failure, and says where it is.
    pub(super) fn kept_words(&self, lease: &Lease) -> String {
        let kept = match self.store.set_aside(lease) {
            Ok(Some(kept)) => kept,
            Ok(None) => return String::new(),
            // Where it is, nobody removes it.
            Err(_) => self
                .conditions
                .workspace
                .relative(&lease.staging)
                .unwrap_or_default(),
        };
        let (run_id, job_id) = (shell_word(self.store.run_id().as_str()), &lease.job_id);
        format!(
            "; what it made is kept in {kept} (once it is a usable model: archi3d run adopt \
             --run-id {run_id} {job_id})"
        )
    }
}

/// Tells whether it is not the result that is wrong but our disk, or the place of the
/// whole run.
fn is_our_disks(error: &ArtifactError, lease: &Lease) -> bool {
    let ArtifactError::Io { source, .. } = error else {
        return false;
    };
    let all_staging = lease.staging.parent();
    artifact::is_disk_trouble(source) || all_staging.is_none_or(|folder| !folder.is_dir())
}
