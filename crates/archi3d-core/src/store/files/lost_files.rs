//! After a power loss a marker can stand whose result never reached the disk.
//!
//! Part of recovery. Only results that the registry does not report yet can be
//! hit: a row says `completed` after the files were synced, so those are not
//! looked at again, and a start after a clean end costs nothing.

use std::collections::HashMap;
use std::path::Path;

use crate::domain::id::JobId;
use crate::domain::job::Status;
use crate::domain::naming;
use crate::domain::time::Timestamp;
use crate::platform::{self, fault};
use crate::store::error::{IoContext, StoreError};
use crate::workspace::artifact::{self, Artifact, ArtifactError};

use super::FileStore;
use super::evidence::{self, Evidence};
use super::journal_summary::JournalSummary;
use super::marker::{Body, Marker, RecordKind};
use super::projection::StateNames;
use super::recover::{files_match, matches};
use super::registry::RowColumns;

impl FileStore {
    /// Sets markers of dead workers aside that promise what is not there: a journal
    /// then brings the result, or the purchase, or the job runs again.
    pub(super) fn drop_results_with_lost_files(
        &self,
        summaries: &[JournalSummary],
    ) -> Result<(), StoreError> {
        if summaries.is_empty() {
            return Ok(());
        }
        let state = self.paths().state();
        for job in self.unreported(summaries)? {
            let Some(_lock) = self.try_lock_job(&job)? else {
                continue; // Somebody works on it this moment.
            };
            let evidence = Evidence::read(self.paths(), &job).context("read markers in", &state)?;
            for marker in &evidence.markers {
                let Some(reason) = self.lost_files(&job, marker, summaries) else {
                    self.restore_description(&job, marker, summaries)?;
                    continue;
                };
                let kind = marker.kind.file();
                let kept = evidence::set_aside(self.paths(), &job, kind)
                    .context("set aside a marker in", &state)?;
                fault::here("recover.hollow_aside");
                self.warn(format!(
                    "{} does not match its files ({reason}), as after a power loss; kept as {kept} and not counted",
                    kind.name(&job)
                ));
            }
        }
        Ok(())
    }

    /// Returns the jobs with an ending that the registry does not know.
    fn unreported(&self, summaries: &[JournalSummary]) -> Result<Vec<JobId>, StoreError> {
        let ended: HashMap<&JobId, Timestamp> = summaries
            .iter()
            .flat_map(|summary| &summary.finished)
            .map(|finished| (&finished.job_id, finished.claimed_at))
            .collect();
        let state = self.paths().state();
        let names = StateNames::list(self.paths()).context("list", &state)?;
        let mut registry = self.registry();
        let index = registry.load()?.index(self.shared.run_id.as_str());
        let columns = RowColumns::of(index.table());
        let mut jobs = Vec::new();
        for (name, kinds) in names.jobs() {
            let Ok(job) = JobId::parse(name) else {
                continue;
            };
            if !kinds.has(RecordKind::Completed) && !kinds.has(RecordKind::Failed) {
                continue;
            }
            let ended = ended.get(&job).copied();
            let reported = index.rows_of(job.as_str()).any(|row| {
                let (status, start) = columns.status_and_start(index.table(), row);
                status.is_ok_and(Status::is_terminal) && start >= ended
            });
            if !reported {
                jobs.push(job);
            }
        }
        Ok(jobs)
    }

    /// Tells whether a journal and the files it speaks of bring the ending back.
    fn can_be_made_again(&self, job: &JobId, summaries: &[JournalSummary]) -> bool {
        let mut endings = summaries.iter().flat_map(|summary| &summary.finished);
        endings.any(|f| f.job_id == *job && (!f.completed || files_match(self.paths(), f)))
    }

    /// Writes `metadata.json` again where the model came through and it did not.
    fn restore_description(
        &self,
        job: &JobId,
        marker: &Marker,
        summaries: &[JournalSummary],
    ) -> Result<(), StoreError> {
        let record = marker.record();
        let Some(record) = record.filter(|_| marker.kind == RecordKind::Completed) else {
            return Ok(());
        };
        let mut told = summaries.iter();
        let Some(left) = told.find_map(|summary| summary.made_by(&record.nonce)) else {
            return Ok(());
        };
        let folder = self.paths().output(job);
        match artifact::restore_metadata(&folder, left.line.result.named(), record.outputs.clone())
        {
            Err(ArtifactError::Io { path, source }) if platform::is_disk_trouble(&source) => {
                Err(source).context("write", &path)
            }
            _ => Ok(()),
        }
    }

    /// Returns why a marker is worth nothing, if so.
    fn lost_files(
        &self,
        job: &JobId,
        marker: &Marker,
        summaries: &[JournalSummary],
    ) -> Option<&'static str> {
        match &marker.body {
            Body::Foreign
                if marker.kind.is_terminal()
                    && marker.version.size == 0
                    && summaries.iter().any(|summary| summary.jobs.contains(job))
                    && !self.can_be_made_again(job, summaries) =>
            {
                Some("it is empty")
            }
            Body::Ours(record)
                if marker.kind == RecordKind::Completed
                    && !record.simulated
                    && summaries
                        .iter()
                        .any(|summary| summary.author.worker_id == record.worker_id)
                    && !has_model(&self.paths().output(job), &record.outputs) =>
            {
                Some("its model is not what it says")
            }
            _ => None,
        }
    }
}

/// Tells whether a result's model is what was recorded. What is missing beside it is
/// no reason to make, and pay for, all of it again.
fn has_model(folder: &Path, outputs: &[Artifact]) -> bool {
    let mut models = outputs.iter();
    match models.find(|output| output.name == naming::GENERATED_GLB) {
        Some(model) => matches(folder, std::slice::from_ref(model)),
        None => matches(folder, outputs),
    }
}
