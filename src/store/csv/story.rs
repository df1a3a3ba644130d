//! What one worker's journal tells: endings, open purchases, the jobs it had.
//!
//! `recover` acts on it; nothing in here changes a file.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;

use crate::domain::id::{JobId, Nonce};
use crate::domain::job::Entry;
use crate::domain::time::Timestamp;
use crate::store::error::{IoContext, StoreError};

use super::finish::Author;
use super::journal::{self, Finished, Line, What};

/// What one dead worker's journal says.
pub(super) struct Story {
    pub(super) author: Author,
    pub(super) finished: Vec<Finished>,
    pub(super) submitted: Vec<Submitted>,
    pub(super) jobs: BTreeSet<JobId>,
}

/// A purchase that it had not brought to an end.
pub(super) struct Submitted {
    pub(super) job_id: JobId,
    pub(super) nonce: Nonce,
    pub(super) request_id: String,
    pub(super) claim: Option<(u32, Entry)>,
    pub(super) at: Timestamp,
}

/// Reads the story of a worker; nothing if it has no journal.
pub(super) fn story_of(found: &journal::Found) -> Result<Option<Story>, StoreError> {
    match journal::read(&found.path) {
        Ok((lines, _)) => Ok(Some(tell(found, lines))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).context("read", &found.path),
    }
}

/// Puts the lines of a journal in order.
pub(super) fn tell(found: &journal::Found, lines: Vec<Line>) -> Story {
    let mut story = Story {
        author: Author {
            worker_id: found.worker_id.clone(),
            boot_id: String::new(),
        },
        finished: Vec::new(),
        submitted: Vec::new(),
        jobs: BTreeSet::new(),
    };
    let mut claims: HashMap<Nonce, (u32, Entry)> = HashMap::new();
    let mut ended: HashSet<Nonce> = HashSet::new();
    for Line { at, what } in lines {
        match what {
            What::Opened { boot_id, .. } => story.author.boot_id = boot_id,
            What::Claimed {
                job_id,
                attempt,
                nonce,
                entry,
                ..
            } => {
                story.jobs.insert(job_id);
                claims.insert(nonce, (attempt, entry));
            }
            What::Submitted {
                job_id,
                nonce,
                request_id,
                ..
            } => {
                let claim = claims.get(&nonce).copied();
                story.submitted.push(Submitted {
                    job_id,
                    nonce,
                    request_id,
                    claim,
                    at,
                });
            }
            // Its purchase stays open for whoever finds that a power loss took the
            // files; where the ending stands, nobody asks for it any more.
            What::Finished(finished) => story.finished.push(*finished),
            // A power loss may have dropped the marker that carries the purchase on.
            What::Released { job_id, .. } => {
                story.jobs.insert(job_id);
            }
            What::Cancelled { nonce, .. } => {
                ended.insert(nonce);
            }
            What::Fenced { nonce, .. } => {
                story.finished.retain(|finished| finished.nonce != nonce);
                ended.insert(nonce);
            }
            What::Made(_)
            | What::Progress { .. }
            | What::Folded { .. }
            | What::Closed { .. }
            | What::Other => {}
        }
    }
    story
        .submitted
        .retain(|submitted| !ended.contains(&submitted.nonce));
    story
}
