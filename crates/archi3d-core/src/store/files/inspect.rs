//! What the markers of a run's jobs say, for whoever sets the registry right.
//!
//! Used by `consolidate`. It reads and judges; it takes no lock and writes nothing.

use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::domain::lease::{Rhythm, Verdict};
use crate::domain::naming::StateFile;
use crate::domain::patch::Patch;
use crate::domain::reconcile::{Evidence as Found, LeaseSign, OwnRecord, Sign};
use crate::domain::time::Timestamp;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::lock;
use crate::workspace::paths::{RunPaths, Workspace};

use super::evidence::Evidence;
use super::liveness::Watch;
use super::marker::{Marker, RecordKind};
use super::projection::StateNames;

/// Reads the markers of one run.
#[derive(Debug)]
pub struct Inspector {
    paths: RunPaths,
    watch: Watch,
    names: StateNames,
    now: Timestamp,
}

impl Inspector {
    /// Lists the markers of a run; a run without any is fine.
    pub fn open(
        workspace: &Workspace,
        run_id: &RunId,
        rhythm: Rhythm,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let paths = workspace.run(run_id);
        let names = StateNames::list(&paths).context("list", &paths.state())?;
        Ok(Self {
            watch: super::snapshot::watch_to_read(workspace, rhythm),
            names,
            paths,
            now,
        })
    }

    /// Returns the jobs that have markers.
    pub fn jobs(&self) -> impl Iterator<Item = &str> {
        self.names.jobs().map(|(job, _)| job)
    }

    /// Returns what the markers of one job say; files other than markers are not
    /// looked at.
    pub fn evidence_of(&self, job: &JobId) -> Result<Found, StoreError> {
        let state = self.paths.state();
        let evidence = Evidence::read(&self.paths, job).context("read markers in", &state)?;
        let sign = |kind| evidence.of(kind).map(|marker| Sign { at: marker.beat });
        let lease = match evidence.lease() {
            None => None,
            Some(lease) => {
                let verdict = self.watch.verdict(&self.paths, job, lease, self.now);
                let verdict = verdict.context("judge the holder of markers in", &state)?;
                Some(LeaseSign {
                    at: start_of(lease),
                    is_fresh: verdict == Verdict::Alive,
                })
            }
        };
        let damaged = evidence.corrupt().map(|(marker, why)| {
            let name = marker.kind.file().name(job);
            format!("marker {name} cannot be used: {why}")
        });
        let lock = self.paths.state_file(job, StateFile::Lock);
        Ok(Found {
            completed: sign(RecordKind::Completed),
            failed: sign(RecordKind::Failed),
            lease,
            own: evidence.ruling().and_then(own_record),
            damaged: damaged.collect(),
            is_changing: lock::is_held(&lock).context("look at", &lock)?,
            ..Found::default()
        })
    }
}

/// Another tool's lease is stamped when the job starts; ours says so in its record.
fn start_of(lease: &Marker) -> Option<Timestamp> {
    let ours = lease.record().map(|record| record.claimed_at);
    ours.or(lease.beat)
}

fn own_record(marker: &Marker) -> Option<OwnRecord> {
    let record = marker.record()?;
    let status = marker.kind.status();
    let patch = record.patch.clone().unwrap_or_else(|| {
        let mut patch = Patch::status(status);
        if status == Status::Running {
            // Who runs it is known to its worker alone, which writes it itself.
            patch.set("generation_start", record.claimed_at.iso());
        }
        patch
    });
    Some(OwnRecord { status, patch })
}

#[cfg(test)]
mod tests {
    use super::super::marker::tests::record;
    use super::*;

    fn inspect(files: &[(&str, &str)]) -> Found {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(folder.path());
        let run = RunId::parse("r").unwrap();
        let state = workspace.run(&run).state();
        std::fs::create_dir_all(&state).unwrap();
        for (name, text) in files {
            std::fs::write(state.join(name), text).unwrap();
        }
        let now = Timestamp::parse("2026-01-01T00:10:00Z").unwrap();
        let inspector = Inspector::open(&workspace, &run, Rhythm::default(), now).unwrap();
        inspector.evidence_of(&JobId::parse("j").unwrap()).unwrap()
    }

    #[test]
    fn a_lease_of_another_tool_is_fresh_for_ten_minutes() {
        let lease = |text: &str| inspect(&[("j.inprogress", text)]).lease.unwrap();
        assert!(lease("timestamp: 2026-01-01T00:00:01Z\npid: 1\n").is_fresh);
        assert!(!lease("timestamp: 2026-01-01T00:00:00Z\npid: 1\n").is_fresh);
        assert!(!lease("timestamp: 2026-01-01T00:09:00\n").is_fresh);
        assert!(!lease("{\"timestamp\": 1}").is_fresh);
    }

    #[test]
    fn an_empty_terminal_counts_and_a_damaged_one_is_named() {
        let found = inspect(&[("j.completed", ""), ("j.failed", "archi3d: {}\ncheck: 0\n")]);
        assert_eq!(found.completed, Some(Sign { at: None }));
        assert_eq!(found.damaged.len(), 1, "{found:?}");
        assert!(found.damaged[0].contains("j.failed"));
    }

    #[test]
    fn our_own_terminal_hands_out_the_cells_it_carries() {
        let mut ours = record(RecordKind::Completed, 1);
        let mut patch = Patch::status(Status::Completed);
        patch.set("worker_host", "node7");
        ours.patch = Some(patch.clone());
        let identity = super::super::marker::tests::identity();
        let text = ours.text(&identity, ours.claimed_at);
        let found = inspect(&[("j.completed", &text)]);
        let own = found.own.unwrap();
        assert_eq!((own.status, own.patch), (Status::Completed, patch));
    }
}
