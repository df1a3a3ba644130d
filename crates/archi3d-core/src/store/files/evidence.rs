//! What the markers of one job say together: which of them rules, and what
//! state the job is in.

use std::io;

use crate::domain::id::JobId;
use crate::domain::job::{JobState, Status};
use crate::domain::naming::StateFile;
use crate::domain::purchase::OpenPurchase;
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;
use crate::platform;
use crate::workspace::paths::RunPaths;

use super::RowBrief;
use super::marker::{Body, Marker, Record, RecordKind};
use super::projection::Kinds;

/// Every marker of one job, as found at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Evidence {
    pub(super) markers: Vec<Marker>,
}

impl Evidence {
    /// Reads the markers of `job`. Safe without the job's lock; certain only under it.
    pub(super) fn read(paths: &RunPaths, job: &JobId) -> io::Result<Self> {
        let mut markers = Vec::new();
        for kind in RecordKind::ALL {
            let path = paths.state_file(job, kind.file());
            if let Some(marker) = Marker::read(&path, kind, job)? {
                markers.push(marker);
            }
        }
        Ok(Self { markers })
    }

    /// Reads the markers of `job` that were listed before; all of them if one is gone since.
    pub(super) fn read_listed(paths: &RunPaths, job: &JobId, listed: Kinds) -> io::Result<Self> {
        let mut markers = Vec::new();
        for kind in RecordKind::ALL.into_iter().filter(|kind| listed.has(*kind)) {
            let path = paths.state_file(job, kind.file());
            match Marker::read(&path, kind, job)? {
                Some(marker) => markers.push(marker),
                None => return Self::read(paths, job),
            }
        }
        Ok(Self { markers })
    }

    /// Returns the marker of one kind.
    pub(super) fn of(&self, kind: RecordKind) -> Option<&Marker> {
        self.markers.iter().find(|marker| marker.kind == kind)
    }

    /// Returns the lease, if there is one.
    pub(super) fn lease(&self) -> Option<&Marker> {
        self.of(RecordKind::InProgress)
    }

    /// Returns the marker that rules: the highest attempt; at equal attempt a
    /// terminal beats a lease and `completed` beats `failed`. Damaged ones never rule.
    pub(super) fn ruling(&self) -> Option<&Marker> {
        self.markers
            .iter()
            .filter(|marker| !matches!(marker.body, Body::Corrupt(_)))
            .max_by_key(|marker| {
                (
                    marker.attempt(),
                    marker.again().is_some(),
                    rank(marker.kind),
                )
            })
    }

    /// Returns the highest attempt any marker knows of.
    pub(super) fn highest_attempt(&self) -> u32 {
        let tried = |marker: &Marker| marker.record().map_or(0, |record| record.tried);
        let attempts = self.markers.iter();
        attempts
            .map(|marker| marker.attempt().max(tried(marker)))
            .max()
            .unwrap_or(0)
    }

    /// Returns what the latest attempt had bought or meant to buy: every attempt
    /// carries on what those before it left open. A result knows of something only
    /// if a redo bought it after it.
    pub(super) fn purchase(&self) -> OpenPurchase {
        let records = self.markers.iter().filter_map(Marker::record);
        let latest = records.max_by_key(|record| {
            let open = record.request_id.is_some() || record.intent.is_some();
            (record.attempt.max(record.tried), open)
        });
        OpenPurchase {
            ended: self.purchases(),
            ..latest.map(Record::purchase).unwrap_or_default()
        }
    }

    /// Tells whether there is a result whose attempt started after `start`. The starts of
    /// one job's attempts rise whatever the clocks say, so none is compared with a clock.
    pub(super) fn has_result_after(&self, start: Option<Timestamp>) -> bool {
        let result = self.of(RecordKind::Completed).and_then(Marker::record);
        result.is_some_and(|result| start.is_some_and(|start| result.claimed_at > start))
    }

    /// Tells whether the ruling marker's attempt started after `start`.
    fn is_newer_than(&self, start: Option<Timestamp>) -> bool {
        let record = self.ruling().and_then(Marker::record);
        match (record, start) {
            (Some(record), Some(start)) => record.claimed_at > start,
            _ => false,
        }
    }

    /// Returns how many failures of a job that is not finished were followed by
    /// another attempt. A finished job starts to count anew.
    pub(super) fn failures(&self) -> u32 {
        let waiting = [RecordKind::Released, RecordKind::InProgress];
        let records = waiting.iter().filter_map(|kind| self.of(*kind)?.record());
        records.map(|record| record.failures).max().unwrap_or(0)
    }

    /// Tells whether the job failed, may have been billed, and no request id tells.
    pub(super) fn is_doubtful(&self) -> bool {
        let record = self.ruling().and_then(Marker::record);
        record.is_some_and(|record| {
            let purchase = self.purchase();
            let unknown = record.class == Some(ErrorClass::Unknown);
            record.kind == RecordKind::Failed
                && (purchase.intent.is_some() || unknown && purchase.request_id.is_none())
        })
    }

    /// Tells whether the job was begun in earnest: only the marker of a rehearsal that
    /// was cut off says that it was not.
    pub(super) fn was_tried(&self) -> bool {
        match self.ruling() {
            Some(marker) => {
                let rehearsal = marker.record().is_some_and(|record| record.simulated);
                let failed = marker.kind == RecordKind::Failed;
                failed || !rehearsal && (marker.attempt() > 0 || marker.record().is_none())
            }
            None => false,
        }
    }

    /// Tells whether a holder died with a job that waits or was taken out, and no
    /// attempt has begun since.
    pub(super) fn holder_died(&self) -> bool {
        let record = self.ruling().and_then(Marker::record);
        record.is_some_and(|record| {
            let kinds = [RecordKind::Released, RecordKind::Cancelled];
            record.holder_died && kinds.contains(&record.kind)
        })
    }

    /// Returns why the job failed, if the ruling marker tells.
    pub(super) fn error(&self) -> Option<String> {
        let patch = self.ruling()?.record()?.patch.as_ref()?;
        patch.get("error_msg").map(str::to_owned)
    }

    /// Returns when the latest attempt that the markers know of started.
    pub(super) fn latest_start(&self) -> Option<Timestamp> {
        let records = self.markers.iter().filter_map(Marker::record);
        records.map(|record| record.claimed_at).max()
    }

    /// Returns how many purchases of the job are over.
    fn purchases(&self) -> u32 {
        self.markers
            .iter()
            .filter_map(Marker::record)
            .map(|record| record.purchases)
            .max()
            .unwrap_or(0)
    }

    /// Returns the job's state, or nothing if no marker rules and the registry decides.
    pub(super) fn state(&self, row_is_rehearsal: bool) -> Option<JobState> {
        let marker = self.ruling()?;
        let attempt = marker.attempt();
        // Another tool's terminal does not say whether it was a rehearsal; the row does.
        let simulated = marker
            .record()
            .map_or(row_is_rehearsal, |record| record.simulated);
        Some(match marker.kind {
            RecordKind::InProgress => JobState::Running { attempt },
            RecordKind::Completed => JobState::Completed { attempt, simulated },
            RecordKind::Failed => JobState::Failed { attempt },
            RecordKind::Released => JobState::Enqueued { attempt },
            RecordKind::Cancelled => JobState::Cancelled { attempt },
        })
    }

    /// Returns the damaged markers with the reason.
    pub(super) fn corrupt(&self) -> impl Iterator<Item = (&Marker, &str)> {
        self.markers.iter().filter_map(|marker| match &marker.body {
            Body::Corrupt(reason) => Some((marker, reason.as_str())),
            _ => None,
        })
    }
}

fn rank(kind: RecordKind) -> u8 {
    match kind {
        RecordKind::Released => 0,
        RecordKind::InProgress => 1,
        RecordKind::Cancelled => 2,
        RecordKind::Failed => 3,
        RecordKind::Completed => 4,
    }
}

/// Moves a damaged marker out of the way without losing it; returns its new name.
pub(super) fn set_aside(paths: &RunPaths, job: &JobId, kind: StateFile) -> io::Result<String> {
    let from = paths.state_file(job, kind);
    for number in 1u32.. {
        let name = format!("{}.corrupt-{number}", kind.name(job));
        if platform::rename_no_replace(&from, &paths.state().join(&name))? {
            return Ok(name);
        }
    }
    unreachable!("one of four billion names is free")
}

/// Returns the state of a job by its markers and its row. Markers rule, but a row
/// that says their result is missing or broken is believed.
pub(super) fn state_of(evidence: &Evidence, row: &RowBrief) -> JobState {
    match evidence.state(row.rehearsal) {
        Some(JobState::Completed { attempt, .. })
            if row.downgraded && !evidence.is_newer_than(row.start) =>
        {
            JobState::Failed { attempt }
        }
        Some(state) => state,
        None => state_by_row(row.status, row.rehearsal),
    }
}

/// Returns the state of a job that has no marker, by its row alone.
pub(super) fn state_by_row(status: Status, rehearsal: bool) -> JobState {
    match status {
        Status::Enqueued => JobState::Enqueued { attempt: 0 },
        Status::Running => JobState::Running { attempt: 0 },
        Status::Completed => JobState::Completed {
            attempt: 0,
            simulated: rehearsal,
        },
        Status::Failed => JobState::Failed { attempt: 0 },
        Status::Cancelled => JobState::Cancelled { attempt: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::super::marker::tests::record;
    use super::*;
    use crate::platform;

    fn marker(kind: RecordKind, attempt: u32) -> Marker {
        let file = tempfile::tempfile().unwrap();
        Marker {
            kind,
            version: platform::version(&file.metadata().unwrap()),
            beat: None,
            pid: None,
            host: None,
            body: if attempt == 0 {
                Body::Foreign
            } else {
                Body::Ours(Box::new(record(kind, attempt)))
            },
        }
    }

    fn ruling(markers: &[(RecordKind, u32)]) -> Option<(RecordKind, u32)> {
        let markers = markers.iter().map(|(kind, n)| marker(*kind, *n)).collect();
        let evidence = Evidence { markers };
        evidence.ruling().map(|m| (m.kind, m.attempt()))
    }

    #[test]
    fn the_highest_attempt_rules_and_at_equal_attempt_the_result_does() {
        use RecordKind::{Completed, Failed, InProgress, Released};
        assert_eq!(
            ruling(&[(InProgress, 2), (Failed, 1)]),
            Some((InProgress, 2))
        );
        assert_eq!(ruling(&[(InProgress, 1), (Failed, 1)]), Some((Failed, 1)));
        assert_eq!(ruling(&[(Completed, 1), (Failed, 1)]), Some((Completed, 1)));
        assert_eq!(ruling(&[(Released, 2), (Failed, 1)]), Some((Released, 2)));
        assert_eq!(
            ruling(&[(InProgress, 1), (Completed, 0)]),
            Some((InProgress, 1))
        );
        assert_eq!(ruling(&[]), None);
    }

    #[test]
    fn a_damaged_marker_never_counts_as_finished() {
        let mut damaged = marker(RecordKind::Completed, 3);
        damaged.body = Body::Corrupt("torn".into());
        let evidence = Evidence {
            markers: vec![damaged],
        };
        assert_eq!(evidence.state(false), None);
    }

    #[test]
    fn another_tools_result_is_a_rehearsal_when_its_row_says_so() {
        let evidence = Evidence {
            markers: vec![marker(RecordKind::Completed, 0)],
        };
        let completed = |simulated| {
            Some(JobState::Completed {
                attempt: 0,
                simulated,
            })
        };
        assert_eq!(evidence.state(true), completed(true));
        assert_eq!(evidence.state(false), completed(false));
    }
}
