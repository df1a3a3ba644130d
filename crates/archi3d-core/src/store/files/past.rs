//! What the journals of a run know of real attempts, also of those whose markers
//! are gone: a rehearsal must neither touch such a job nor hide its doubt.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use crate::domain::id::{JobId, Nonce};
use crate::domain::purchase::PurchaseEnd;
use crate::domain::retry::ErrorClass;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::paths::RunPaths;

use super::journal::{self, Line, What};

/// What is known of the jobs that were ever begun in earnest.
#[derive(Debug, Default)]
pub(super) struct Past {
    tried: HashSet<JobId>,
    /// Jobs whose last real attempt bought something, or may have, with the id of
    /// the purchase if there is one.
    unsettled: HashMap<JobId, Option<String>>,
}

struct Tried {
    job_id: JobId,
    attempt: u32,
    request_id: Option<String>,
    /// Nobody can say what it bought.
    in_doubt: bool,
}

impl Past {
    /// Reads every journal of the run.
    pub(super) fn read(paths: &RunPaths) -> Result<Self, StoreError> {
        let folder = paths.journals();
        let mut attempts = HashMap::new();
        for found in journal::all(&folder).context("list", &folder)? {
            match journal::read(&found.path) {
                Ok((lines, _)) => lines
                    .into_iter()
                    .for_each(|line| take(&mut attempts, line.what)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).context("read", &found.path),
            }
        }
        let mut last: HashMap<JobId, Tried> = HashMap::new();
        for tried in attempts.into_values() {
            let known = last.get(&tried.job_id).map_or(0, |last| last.attempt);
            if tried.attempt >= known {
                last.insert(tried.job_id.clone(), tried);
            }
        }
        let tried = last.keys().cloned().collect();
        let unsettled = last
            .into_values()
            .filter(|tried| tried.in_doubt || tried.request_id.is_some())
            .map(|tried| (tried.job_id, tried.request_id))
            .collect();
        Ok(Self { tried, unsettled })
    }

    /// Tells whether the job was ever begun in earnest.
    pub(super) fn has_tried(&self, job: &JobId) -> bool {
        self.tried.contains(job)
    }

    /// Tells whether the last real attempt may have bought something that no request
    /// id tells of.
    pub(super) fn is_doubtful(&self, job: &JobId) -> bool {
        self.unsettled.get(job).is_some_and(Option::is_none)
    }

    /// Returns the purchase that the last real attempt left open.
    pub(super) fn purchase(&self, job: &JobId) -> Option<&str> {
        self.unsettled.get(job)?.as_deref()
    }
}

/// Returns what the attempts of a job bought since its last result, by the journals: each
/// id with what it is said to cost. What is void is not among it.
pub(super) fn purchases(
    paths: &RunPaths,
    job: &JobId,
) -> Result<Vec<(String, Option<f64>)>, StoreError> {
    let folder = paths.journals();
    let mut bought: BTreeMap<u32, Vec<(String, Option<f64>)>> = BTreeMap::new();
    let (mut void, mut result) = (HashSet::new(), 0);
    for found in journal::all(&folder).context("list", &folder)? {
        let take = |line: Line| match line.what {
            What::Submitted {
                job_id,
                attempt,
                request_id,
                cost_usd,
                ..
            } if job_id == *job => {
                bought
                    .entry(attempt)
                    .or_default()
                    .push((request_id, cost_usd));
            }
            What::Released {
                job_id,
                attempt,
                purchase,
                ..
            } if job_id == *job => {
                void.extend((purchase == PurchaseEnd::Void).then_some(attempt));
            }
            What::Finished(finished) if finished.job_id == *job => {
                let over = finished.purchase == PurchaseEnd::Void;
                void.extend(over.then_some(finished.attempt));
                if finished.completed {
                    result = result.max(finished.attempt);
                }
            }
            _ => {}
        };
        journal::each_line(&found.path, take).context("read", &found.path)?;
    }
    let mut open: Vec<(String, Option<f64>)> = Vec::new();
    for (attempt, ids) in bought.split_off(&(result + 1)) {
        for (id, cost) in ids {
            match open.iter_mut().find(|(known, _)| *known == id) {
                Some(known) => known.1 = cost.or(known.1),
                None => open.push((id, cost)),
            }
        }
        if void.contains(&attempt) {
            // The last one said is the one that was asked about.
            open.pop();
        }
    }
    Ok(open)
}

fn take(attempts: &mut HashMap<Nonce, Tried>, what: What) {
    match what {
        What::Claimed {
            job_id,
            attempt,
            nonce,
            rehearsal: false,
            resumes,
            ..
        } => {
            let tried = Tried {
                job_id,
                attempt,
                request_id: resumes,
                in_doubt: true,
            };
            attempts.insert(nonce, tried);
        }
        What::Submitted {
            nonce, request_id, ..
        } => {
            if let Some(tried) = attempts.get_mut(&nonce) {
                tried.request_id = Some(request_id);
            }
        }
        What::Finished(finished) if finished.simulated => {
            attempts.remove(&finished.nonce);
        }
        What::Finished(finished) => {
            if let Some(tried) = attempts.get_mut(&finished.nonce) {
                tried.in_doubt = !finished.completed && finished.class == Some(ErrorClass::Unknown);
                tried.request_id = finished.request_id.filter(|_| !finished.completed);
            }
        }
        What::Released {
            nonce, purchase, ..
        } => {
            if let Some(tried) = attempts.get_mut(&nonce) {
                tried.in_doubt = false;
                if purchase == PurchaseEnd::Void {
                    tried.request_id = None;
                }
            }
        }
        What::Cancelled { nonce, .. } | What::Fenced { nonce, .. } => {
            if let Some(tried) = attempts.get_mut(&nonce) {
                tried.in_doubt = false;
            }
        }
        _ => {}
    }
}
