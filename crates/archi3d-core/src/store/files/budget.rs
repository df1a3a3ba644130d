//! The budget on files: the workspace's ledger, and what journals tell of
//! attempts whose worker did not come to settle them.

use std::collections::hash_map::{self, HashMap};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::budget::{AttemptKey, Bill, Caps, Grant, Ledger, LedgerEntry, Level, Usage};
use crate::domain::id::{JobId, Nonce, RunId, WorkerId};
use crate::domain::purchase::PurchaseEnd;
use crate::domain::retry::ErrorClass;
use crate::domain::text::counted;
use crate::domain::time::Timestamp;
use crate::store::budget::{Billing, Budget, Prepared};
use crate::store::error::{IoContext, StoreError};
use crate::store::{NoticeSink, ReleaseReason, StoreNotice};
use crate::workspace::lock;
use crate::workspace::paths::Workspace;

use super::FileStore;
use super::journal::{self, Line, What};
use super::ledger::{Journals, LedgerFile};
use super::reading::highest_costs;
use super::upkeep::lost_money;

/// The ledger of a workspace, shared by the threads of one process.
pub struct FileBudget {
    workspace: Workspace,
    file: Mutex<LedgerFile>,
    hurry: Arc<AtomicBool>,
    notices: NoticeSink,
}

impl FileBudget {
    /// Names the ledger of a workspace; nothing is created before money moves.
    pub fn new(workspace: &Workspace, notices: NoticeSink) -> Self {
        let file = LedgerFile::new(workspace);
        Self {
            workspace: workspace.clone(),
            hurry: file.hurry(),
            file: Mutex::new(file),
            notices,
        }
    }

    /// Changes the ledger, and tells if it had to be repaired before.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut LedgerFile) -> io::Result<T>,
    ) -> Result<T, StoreError> {
        let mut file = self.file();
        let path = file.path().to_owned();
        let done = change(&mut file).context("write", &path);
        let lost = file.take_lost().len();
        drop(file);
        if lost > 0 {
            (self.notices)(StoreNotice::Warning(format!(
                "tables/budget.jsonl had lost {}; written back from the journals of money in \
                 runs/.budget, so that the limits hold",
                counted(lost, "line")
            )));
        }
        done
    }

    /// Sees that the ledger has lost nothing that its other copy knows.
    pub fn repair(&self) -> Result<(), StoreError> {
        self.change(LedgerFile::repair)
    }

    /// Returns the journals that the ledger accounts for.
    pub fn accounted(&self) -> Result<Journals, StoreError> {
        let file = self.file();
        file.accounted().context("read", file.path())
    }

    /// Notes that the ledger accounts for these journals of ended workers too.
    pub fn account_for(&self, journals: Journals) -> Result<(), StoreError> {
        self.change(|file| file.account_for(journals))
    }

    /// Returns how many lines of the ledger could not be read when it was last
    /// looked at: what they said is in no sum.
    pub fn damaged(&self) -> usize {
        self.file().damaged()
    }

    /// Writes a line back that was lost, unless one names the attempt meanwhile.
    pub fn restore(&self, entry: &LedgerEntry) -> Result<(), StoreError> {
        let LedgerEntry {
            at,
            attempt_key,
            change,
            ..
        } = entry;
        self.change(|file| file.restore(attempt_key, *change, *at))
    }

    fn file(&self) -> MutexGuard<'_, LedgerFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for FileBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.file;
        f.debug_struct("FileBudget")
            .field("file", file)
            .finish_non_exhaustive()
    }
}

impl FileBudget {
    /// Answers a question from the sums as they are now, without holding up other workers.
    pub fn ask<T>(&self, question: impl FnOnce(&Ledger) -> T) -> Result<T, StoreError> {
        let mut file = self.file();
        let path = file.path().to_owned();
        Ok(question(file.look().context("read", &path)?))
    }
}

impl Budget for FileBudget {
    fn prepare(
        &self,
        run: &RunId,
        caps: Caps,
        price: &dyn Fn(&str) -> Option<f64>,
        now: Timestamp,
    ) -> Result<Prepared, StoreError> {
        let told = lost_money::restore(&self.workspace, run, self, caps, price, now)?;
        let highest = self.ask(|ledger| highest_costs(&self.workspace, ledger, run, now));
        Ok(Prepared {
            told,
            highest_cost: highest??,
        })
    }

    fn hurry(&self) {
        self.hurry.store(true, Ordering::SeqCst);
    }

    fn levels(&self, run: &RunId, caps: Caps, now: Timestamp) -> Result<Vec<Level>, StoreError> {
        self.ask(|ledger| ledger.balance(run, now).levels(caps))
    }

    fn usage(&self, run: &RunId) -> Result<Usage, StoreError> {
        self.ask(|ledger| ledger.usage(run))
    }

    fn would_grant(
        &self,
        (run, job): (&RunId, &JobId),
        usd: f64,
        caps: Caps,
        beside: bool,
        now: Timestamp,
    ) -> Result<Grant, StoreError> {
        self.ask(|ledger| {
            if beside {
                ledger.grant_additional(run, usd, caps, now)
            } else {
                ledger.grant(run, job, usd, caps, now)
            }
        })
    }

    fn open(
        &self,
        run: &RunId,
        today: Option<Timestamp>,
    ) -> Result<Vec<(AttemptKey, f64)>, StoreError> {
        self.ask(|ledger| {
            let mut open = ledger.open(run);
            if let Some(now) = today {
                let others = ledger.open_today(now).into_iter();
                open.extend(others.filter(|(attempt_key, _)| attempt_key.run_id != *run));
            }
            open
        })
    }

    fn reserve(
        &self,
        attempt_key: &AttemptKey,
        usd: f64,
        caps: Caps,
        now: Timestamp,
    ) -> Result<Grant, StoreError> {
        self.change(|file| file.reserve(attempt_key, usd, caps, now))
    }

    fn settle(&self, attempt_key: &AttemptKey, usd: f64, now: Timestamp) -> Result<(), StoreError> {
        self.change(|file| file.settle(attempt_key, usd, now))
    }

    fn reserve_additional(
        &self,
        attempt_key: &AttemptKey,
        usd: f64,
        caps: Caps,
        now: Timestamp,
    ) -> Result<Grant, StoreError> {
        self.change(|file| file.reserve_additional(attempt_key, usd, caps, now))
    }

    fn write_off(&self, attempt_key: &AttemptKey, now: Timestamp) -> Result<(), StoreError> {
        self.change(|file| file.write_off(attempt_key, now))
    }
}

impl FileStore {
    /// Returns what the journals of their workers tell of attempts.
    pub(super) fn billings_of(
        &self,
        attempt_keys: &[AttemptKey],
    ) -> Result<Vec<Billing>, StoreError> {
        let mut journals: HashMap<(&RunId, &WorkerId), (Vec<Line>, bool)> = HashMap::new();
        for attempt_key in attempt_keys {
            let (run_id, worker_id) = (&attempt_key.run_id, &attempt_key.worker_id);
            if let hash_map::Entry::Vacant(unread) = journals.entry((run_id, worker_id)) {
                unread.insert(self.lines_of_ended(run_id, worker_id)?);
            }
        }
        let billing = |attempt_key: &AttemptKey| {
            let (lines, whole) = &journals[&(&attempt_key.run_id, &attempt_key.worker_id)];
            match told(lines, &attempt_key.nonce) {
                Billing::Unsaid if !whole => Billing::Open,
                billing => billing,
            }
        };
        Ok(attempt_keys.iter().map(billing).collect())
    }

    /// Reads a journal whose worker is gone, and tells whether all of it could be read; one that lives settles its own.
    fn lines_of_ended(
        &self,
        run_id: &RunId,
        worker_id: &WorkerId,
    ) -> Result<(Vec<Line>, bool), StoreError> {
        let path = self.shared.workspace.run(run_id).journal(worker_id);
        let own = *worker_id == self.identity.worker_id;
        if own || !path.exists() || lock::is_held(&path).context("look at", &path)? {
            return Ok((Vec::new(), false));
        }
        let (lines, damaged) = journal::read(&path).context("read", &path)?;
        Ok((lines, damaged == 0))
    }
}

/// Returns what the lines of a journal prove. Only an ending that names its kind
/// proves anything: after a power loss other lines may be missing. An intent is synced before
/// anything is bought, so one that is missing was not said.
fn told(lines: &[Line], nonce: &Nonce) -> Billing {
    let mut purchase = false;
    let mut fate = Billing::Open;
    for Line { what, .. } in lines {
        match what {
            What::Claimed {
                nonce: of, resumes, ..
            } if of == nonce => {
                purchase |= resumes.is_some();
                fate = if purchase {
                    Billing::Open
                } else {
                    Billing::Unsaid
                };
            }
            What::Submitted { nonce: of, .. } if of == nonce => {
                (purchase, fate) = (true, Billing::Open);
            }
            What::Intent { nonce: of, .. } if of == nonce => fate = Billing::Open,
            What::Made(line) if line.nonce == *nonce => {
                fate = Billing::Billed(line.result.price.estimated_usd);
            }
            What::Released {
                nonce: of,
                reason: ReleaseReason::Budget,
                ..
            } if of == nonce && !purchase => fate = Billing::NotBilled,
            What::Released {
                nonce: of,
                class: Some(class),
                cut_off,
                purchase: end,
                cost_usd,
                ..
            } if of == nonce => {
                let open = *cut_off || purchase && *end != PurchaseEnd::Void;
                fate = after_failure(*class, *cost_usd, open);
            }
            What::Finished(finished) if finished.nonce == *nonce => {
                fate = match (finished.completed, finished.class) {
                    (true, _) if finished.simulated => Billing::NotBilled,
                    (true, _) => Billing::Billed(finished.cost_usd),
                    (false, class) => {
                        let bought = purchase || finished.request_id.is_some();
                        let open =
                            finished.cut_off || bought && finished.purchase != PurchaseEnd::Void;
                        let class = class.unwrap_or(ErrorClass::Unknown);
                        after_failure(class, finished.cost_usd, open)
                    }
                };
            }
            _ => {}
        }
    }
    fate
}

fn after_failure(class: ErrorClass, cost_usd: Option<f64>, purchase_open: bool) -> Billing {
    match Bill::of_failure(class, cost_usd, purchase_open) {
        Bill::InDoubt => Billing::Open,
        Bill::Settled(usd) if usd > 0.0 => Billing::Billed(Some(usd)),
        Bill::Settled(_) => Billing::NotBilled,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Reads lines as a journal has them.
    fn lines(lines: &[Value]) -> Vec<Line> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.jsonl");
        let texts: Vec<String> = lines.iter().map(Value::to_string).collect();
        let text = texts.join("\n") + "\n";
        std::fs::write(&path, text).unwrap();
        let (read, damaged) = journal::read(&path).unwrap();
        assert_eq!((read.len(), damaged), (lines.len(), 0));
        read
    }

    const AT: &str = "2026-01-01T00:00:00+00:00";

    fn claimed(resumes: Option<&str>) -> Value {
        json!({"at": AT, "event": "claimed", "job_id": "j", "attempt": 1, "nonce": "n",
               "entry": "fresh", "resumes": resumes})
    }

    fn submitted() -> Value {
        json!({"at": AT, "event": "submitted", "job_id": "j", "attempt": 1, "nonce": "n",
               "request_id": "r-1", "cost_usd": null})
    }

    fn released(class: Option<&str>) -> Value {
        json!({"at": AT, "event": "released", "job_id": "j", "attempt": 1, "nonce": "n",
               "reason": "retry", "class": class})
    }

    fn fate(story: &[Value]) -> Billing {
        told(&lines(story), &Nonce::new("n"))
    }

    #[test]
    fn only_an_ending_that_names_its_kind_frees_a_reservation() {
        assert_eq!(fate(&[]), Billing::Open);
        assert_eq!(fate(&[claimed(None)]), Billing::Unsaid);
        assert_eq!(fate(&[claimed(None), released(None)]), Billing::Unsaid);
        assert_eq!(fate(&[claimed(Some("r-0"))]), Billing::Open);
        assert_eq!(fate(&[claimed(None), submitted()]), Billing::Open);
        let intent = json!({"at": AT, "event": "intent", "job_id": "j", "attempt": 1, "nonce": "n",
                            "correlation": "c"});
        assert_eq!(fate(&[claimed(None), intent]), Billing::Open);
        let transient = released(Some("transient"));
        assert_eq!(
            fate(&[claimed(None), transient.clone()]),
            Billing::NotBilled
        );
        let unknown = released(Some("unknown"));
        assert_eq!(fate(&[claimed(None), unknown]), Billing::Open);
        // Nothing was started without money.
        let mut unfunded = released(None);
        unfunded["reason"] = json!("budget");
        assert_eq!(fate(&[claimed(None), unfunded]), Billing::NotBilled);
        // An open purchase is ended by the attempt that re-attaches to it.
        let bought = [claimed(None), submitted(), transient.clone()];
        assert_eq!(fate(&bought), Billing::Open);
        assert_eq!(fate(&[claimed(Some("r-0")), transient]), Billing::Open);
    }

    #[test]
    fn another_attempts_ending_proves_nothing() {
        let mut other = released(Some("transient"));
        other["nonce"] = json!("m");
        assert_eq!(fate(&[claimed(None), other]), Billing::Unsaid);
    }
}
