//! Which journals of ended workers the ledger accounts for, so that a start need not
//! read them again. Beside the names stands how the ledger ended then: one that does
//! not go on from there accounts for nothing.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha1::{Digest as _, Sha1};

use crate::domain::text::hex;
use crate::workspace::durable;

use super::LedgerLock;
use super::pair::Pair;

/// More than any workspace has journals for.
const LIMIT: u64 = 256 << 20;

/// `run/worker` of each journal, with the length it had.
pub type Journals = BTreeMap<String, u64>;

#[derive(Serialize, Deserialize)]
struct Note {
    ledger_length: u64,
    ledger_end: String,
    journals: Journals,
}

fn path(folder: &Path) -> PathBuf {
    folder.join("accounted.json")
}

fn end_of(tail: &[u8]) -> String {
    hex(&Sha1::digest(tail))
}

/// Returns the journals that the ledger accounts for; none where that is not sure.
pub(super) fn read(folder: &Path, pair: &Pair) -> io::Result<Journals> {
    let bytes = match durable::read_plain(&path(folder), LIMIT) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Journals::new()),
        Err(error) => return Err(error),
    };
    let Ok(note) = serde_json::from_slice::<Note>(&bytes) else {
        return Ok(Journals::new());
    };
    let end = pair.end_at(note.ledger_length)?;
    let goes_on = end.is_some_and(|tail| end_of(&tail) == note.ledger_end);
    Ok(if goes_on {
        note.journals
    } else {
        Journals::new()
    })
}

/// Notes that the ledger, which was read to its end, accounts for these journals.
pub(super) fn write(
    _lock: &LedgerLock,
    folder: &Path,
    pair: &Pair,
    journals: Journals,
) -> io::Result<()> {
    let (ledger_length, tail) = pair.end();
    let note = Note {
        ledger_length,
        ledger_end: end_of(tail),
        journals,
    };
    std::fs::create_dir_all(folder)?;
    let bytes = serde_json::to_vec(&note).expect("plain fields");
    let tag = format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
    durable::replace_unsynced(&path(folder), &bytes, &tag).map(drop)
}
