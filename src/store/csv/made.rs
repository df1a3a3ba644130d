//! Results that an adapter called a success: written down as soon as it says so,
//! and from then on never removed by anybody but a person.

use std::io;

use crate::domain::lease::Lease;
use crate::domain::time::Timestamp;
use crate::platform::{self, fault};
use crate::store::Made;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::durable;

use super::CsvStore;
use super::journal::{MadeLine, What};

/// More than this of what an adapter told is not kept in the journal, where a full
/// disk leaves little room.
const MAX_TOLD_BYTES: usize = 32 * 1024;

impl CsvStore {
    pub(super) fn note_made(
        &self,
        lease: &Lease,
        made: &Made,
        durably: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        fault::here("made.before");
        let (request_id, purchases) = match self.leases().get(&lease.job_id) {
            Some(held) => (held.record.request_id.clone(), held.record.purchases),
            None => (lease.request_id.clone(), 0),
        };
        let staging = lease.staging.file_name().unwrap_or_default();
        let mut line = MadeLine {
            job_id: lease.job_id.clone(),
            attempt: lease.attempt,
            nonce: lease.nonce.clone(),
            entry: lease.entry,
            claimed_at: lease.claimed_at,
            request_id,
            purchases,
            staging: staging.to_string_lossy().into_owned(),
            result: made.clone(),
        };
        let told = serde_json::to_vec(&line.result.told).unwrap_or_default();
        if told.len() > MAX_TOLD_BYTES {
            line.result.told = None;
        }
        self.note(now, What::Made(Box::new(line)))?;
        fault::here("made.journalled");
        if durably {
            self.sync_made(lease, made)?;
            fault::here("made.synced");
        }
        Ok(())
    }

    /// Makes what was made, and the line that tells of it, survive a power loss.
    fn sync_made(&self, lease: &Lease, made: &Made) -> Result<(), StoreError> {
        for name in made.model.iter().chain(&made.previews) {
            let path = lease.staging.join(name);
            let synced = durable::open_plain(&path).and_then(|file| file.sync_all());
            match synced {
                // Whoever checks the result says what is missing or no plain file.
                Err(error) if !is_of_disk(&error) => {}
                synced => synced.context("sync", &path)?,
            }
        }
        let staging = self.paths().staging();
        for folder in [&lease.staging, &staging] {
            platform::sync_dir(folder).context("sync", folder)?;
        }
        self.shared.sync_names()?;
        let journal = &self.shared.journal;
        journal.sync().context("sync", journal.path())
    }
}

/// Tells whether an error is the disk's, not that of the file that was asked for.
fn is_of_disk(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    let kinds = [
        NotFound,
        InvalidInput,
        IsADirectory,
        NotADirectory,
        PermissionDenied,
    ];
    !kinds.contains(&error.kind())
}
