//! What one worker's journal tells: endings, open purchases, the jobs it had.
//!
//! `recover` acts on it; nothing in here changes a file.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;

use crate::domain::id::{JobId, Nonce};
use crate::domain::job::Entry;
use crate::domain::patch::WorkerFacts;
use crate::domain::purchase::{OpenIntent, OpenPurchase};
use crate::domain::time::Timestamp;
use crate::store::error::{IoContext, StoreError};

use super::finish::Author;
use super::journal::{self, Finished, Line, What};
use super::made::Left;

/// What one dead worker's journal says.
pub(super) struct JournalSummary {
    pub(super) author: Author,
    pub(super) finished: Vec<Finished>,
    pub(super) bought: Vec<Bought>,
    /// What its attempts made and did not fail to publish, one per attempt.
    pub(super) made: HashMap<Nonce, Left>,
    /// Who it was.
    pub(super) facts: WorkerFacts,
    pub(super) jobs: BTreeSet<JobId>,
}

impl JournalSummary {
    /// Returns what an attempt had made, by the nonce that names it.
    pub(super) fn made_by(&self, nonce: &Nonce) -> Option<&Left> {
        self.made.get(nonce)
    }

    /// Returns what attempts had made that tell of no ending.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = &Left> {
        let ended: HashSet<&Nonce> = self.finished.iter().map(|f| &f.nonce).collect();
        let made = self.made.values();
        made.filter(move |left| !ended.contains(&left.line.nonce))
    }
}

/// What one of its attempts bought or meant to buy, as it stood in the end.
pub(super) struct Bought {
    pub(super) job_id: JobId,
    pub(super) nonce: Nonce,
    pub(super) purchase: OpenPurchase,
    pub(super) claim: Option<(u32, Entry)>,
    pub(super) at: Timestamp,
}

/// Reads the summary of a worker; nothing if it has no journal.
pub(super) fn summary_of(found: &journal::Found) -> Result<Option<JournalSummary>, StoreError> {
    match journal::read(&found.path) {
        Ok((lines, _)) => Ok(Some(summarize(found, lines))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).context("read", &found.path),
    }
}

/// Puts the lines of a journal in order.
pub(super) fn summarize(found: &journal::Found, lines: Vec<Line>) -> JournalSummary {
    let mut summary = JournalSummary {
        author: Author {
            worker_id: found.worker_id.clone(),
            boot_id: String::new(),
        },
        finished: Vec::new(),
        bought: Vec::new(),
        made: HashMap::new(),
        facts: WorkerFacts::default(),
        jobs: BTreeSet::new(),
    };
    let mut claims = Claims::default();
    let mut ended: HashSet<Nonce> = HashSet::new();
    for Line { at, what } in lines {
        match what {
            What::Opened {
                boot_id, worker, ..
            } => {
                summary.author.boot_id = boot_id;
                summary.facts = worker;
            }
            What::Claimed {
                job_id,
                attempt,
                nonce,
                entry,
                resumes,
                ..
            } => {
                summary.jobs.insert(job_id);
                let number = (attempt, entry);
                claims.begun.insert(nonce, (number, resumes));
            }
            What::Intent {
                job_id,
                nonce,
                correlation,
                purchases,
                ..
            } => {
                let bought = claims.bought(&mut summary, job_id, nonce, at);
                bought.purchase.ended = purchases;
                bought.purchase.intend(OpenIntent { correlation, at });
            }
            What::Submitted {
                job_id,
                nonce,
                request_id,
                purchases,
                ..
            } => {
                let bought = claims.bought(&mut summary, job_id, nonce, at);
                bought.purchase.ended = purchases;
                bought.purchase.submit(&request_id);
            }
            // Its purchase stays open for whoever finds that a power loss took the
            // files; where the ending stands, nobody asks for it any more.
            What::Finished(finished) => {
                if !finished.completed {
                    summary.made.remove(&finished.nonce);
                }
                summary.finished.push(*finished);
            }
            // The last words count.
            What::Made(line) => {
                let nonce = line.nonce.clone();
                let line = *line;
                let told = true;
                summary.made.insert(nonce, Left { line, at, told });
            }
            // A power loss may have dropped the marker that carries the purchase on.
            What::Released {
                job_id,
                nonce,
                purchase,
                purchases,
                ..
            } => {
                summary.made.remove(&nonce);
                summary.jobs.insert(job_id.clone());
                if !purchase.is_open() {
                    let bought = claims.bought(&mut summary, job_id, nonce, at);
                    bought.purchase.end(purchase);
                    bought.purchase.ended = purchases;
                }
            }
            What::Cancelled { nonce, .. } => {
                ended.insert(nonce);
            }
            What::Fenced { nonce, .. } => {
                summary.finished.retain(|finished| finished.nonce != nonce);
                ended.insert(nonce);
            }
            What::Progress { .. } | What::Folded { .. } | What::Closed { .. } | What::Other => {}
        }
    }
    summary
        .bought
        .retain(|bought| !ended.contains(&bought.nonce));
    summary.made.retain(|nonce, _| !ended.contains(nonce));
    summary
}

/// The attempts of a worker.
#[derive(Default)]
struct Claims {
    /// What each of them was, and the purchase that it was to re-attach to.
    begun: HashMap<Nonce, ((u32, Entry), Option<String>)>,
    /// Where what they bought stands in the summary.
    places: HashMap<Nonce, usize>,
}

impl Claims {
    /// Returns what an attempt bought, which is nothing new so far if nothing is known.
    fn bought<'s>(
        &mut self,
        summary: &'s mut JournalSummary,
        job_id: JobId,
        nonce: Nonce,
        at: Timestamp,
    ) -> &'s mut Bought {
        let begun = &self.begun;
        let place = *self.places.entry(nonce).or_insert_with_key(|nonce| {
            let begun = begun.get(nonce);
            summary.bought.push(Bought {
                job_id,
                nonce: nonce.clone(),
                purchase: OpenPurchase {
                    request_id: begun.and_then(|(_, resumes)| resumes.clone()),
                    ..OpenPurchase::default()
                },
                claim: begun.map(|(number, _)| *number),
                at,
            });
            summary.bought.len() - 1
        });
        &mut summary.bought[place]
    }
}
