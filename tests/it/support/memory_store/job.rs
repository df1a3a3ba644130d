//! One job of a run in memory: its state, its lease, its row and its files.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;

use archi3d_core::domain::id::{Nonce, WorkerId};
use archi3d_core::domain::job::{Entry, JobEvent, JobState};
use archi3d_core::domain::lease::{HolderFacts, Lease, Rhythm, Verdict, judge};
use archi3d_core::domain::naming;
use archi3d_core::domain::patch::{self, Patch, Product, Span, WorkerFacts};
use archi3d_core::domain::purchase::{OpenPurchase, PurchaseEnd};
use archi3d_core::domain::retry::ErrorClass;
use archi3d_core::domain::time::Timestamp;
use archi3d_core::platform;
use archi3d_core::store::error::IoContext;
use archi3d_core::store::{
    Billing, Cancellation, Ending, Finish, Holder, JobRecord, JobSnapshot, Made, Outcome, Restored,
    StoreError,
};
use archi3d_core::workspace::artifact;
use archi3d_core::workspace::paths::{RunPaths, Workspace};

/// A job and everything known about it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) record: JobRecord,
    pub(super) state: JobState,
    pub(super) lease: Option<Held>,
    /// The result that stands again if a redo fails.
    kept: Option<JobState>,
    pub(super) highest_attempt: u32,
    /// What it bought or meant to buy.
    pub(super) purchase: OpenPurchase,
    /// The ids it bought that brought no result and are not void, with what each is said to cost.
    pub(super) bought: Vec<(String, Option<f64>)>,
    /// What is known of the money of attempts that are over.
    pub(super) bills: HashMap<Nonce, Billing>,
    /// How many failures were followed by another attempt.
    pub(super) failures: u32,
    /// Whether the last failure may have been billed.
    unknown: bool,
    /// Whether its last holder died and no attempt has begun since.
    pub(super) holder_died: bool,
    /// Whether a person wants it tried again, and would have bought again what may have been billed.
    pub(super) again: Option<bool>,
    pub(super) not_before: Option<Timestamp>,
    pub(super) cancel_asked: bool,
    /// Attempts that their holders ended.
    pub(super) ended: HashSet<Nonce>,
    /// An ending of the current lease that is safe but not published.
    pub(super) note: Option<Ending>,
    error: Option<String>,
    /// What people see, and what they will see after the next close.
    pub(super) row: BTreeMap<String, String>,
    waiting: Vec<Patch>,
}

/// The lease in force.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) lease: Lease,
    pub(super) beat: Timestamp,
}

impl Job {
    pub(super) fn new(record: JobRecord) -> Self {
        let state = match &record.snapshot {
            JobSnapshot::Known { state, .. } => *state,
            other => panic!("a job in memory has a known state, not {other:?}"),
        };
        let status = state.status().word().to_owned();
        Self {
            record,
            state,
            lease: None,
            kept: None,
            highest_attempt: state.attempt(),
            purchase: OpenPurchase::default(),
            bought: Vec::new(),
            bills: HashMap::new(),
            failures: 0,
            unknown: false,
            holder_died: false,
            again: None,
            not_before: None,
            cancel_asked: false,
            ended: HashSet::new(),
            note: None,
            error: None,
            row: BTreeMap::from([("status".to_owned(), status)]),
            waiting: Vec::new(),
        }
    }

    fn step(&mut self, event: JobEvent) {
        self.state = self
            .state
            .apply(event)
            .unwrap_or_else(|illegal| panic!("job {}: {illegal}", self.record.job_id));
    }

    /// Returns the lease in force if it is this one.
    pub(super) fn held_as(&mut self, lease: &Lease) -> Option<&mut Held> {
        self.lease
            .as_mut()
            .filter(|held| held.lease.nonce == lease.nonce)
    }

    /// Judges the holder, if there is one.
    pub(super) fn verdict(
        &self,
        alive: &HashSet<WorkerId>,
        rhythm: Rhythm,
        now: Timestamp,
    ) -> Option<Verdict> {
        let held = self.lease.as_ref()?;
        let silent = now.since(held.beat);
        let facts = HolderFacts::SameBoot {
            journal_locked: alive.contains(&held.lease.worker_id),
            silent,
            watched: silent,
        };
        Some(judge(facts, rhythm))
    }

    pub(super) fn as_it_stands(
        &self,
        alive: &HashSet<WorkerId>,
        rhythm: Rhythm,
        now: Timestamp,
    ) -> JobRecord {
        let holder = self.lease.as_ref().map(|held| Holder {
            worker: held.lease.worker_id.to_string(),
            host: None,
            since: Some(held.lease.claimed_at),
            last_beat: Some(held.beat),
            verdict: self
                .verdict(alive, rhythm, now)
                .expect("it has a lease, so there is a holder to judge"),
            cancel_asked: self.cancel_asked,
        });
        JobRecord {
            snapshot: JobSnapshot::Known {
                state: self.state,
                holder: holder.map(Box::new),
                error: self.error.clone(),
                unmarked: false,
                not_before: self.not_before,
                doubtful: self.is_doubtful(),
                intended: self.purchase.intent.is_some(),
                tried: match self.state {
                    JobState::Completed { simulated, .. } => !simulated,
                    state => state.attempt() > 0,
                },
                purchase: self.purchase.request_id.clone(),
                holder_died: self.holder_died && self.lease.is_none(),
                failures: self.failures,
            },
            ..self.record.clone()
        }
    }

    fn is_doubtful(&self) -> bool {
        let failed = matches!(self.state, JobState::Failed { .. });
        let unknown = self.unknown && self.purchase.request_id.is_none();
        unknown || failed && self.purchase.intent.is_some()
    }

    /// Returns what a claim as `entry` goes on with: a dead redo stays a redo.
    pub(super) fn entry_of(&self, entry: Entry) -> Entry {
        if entry == Entry::Takeover && self.kept.is_some() {
            Entry::Redo
        } else if entry == Entry::Fresh && self.again.is_some() {
            Entry::Retry
        } else {
            entry
        }
    }

    /// Puts a new lease in force; `running` is what its claim led to.
    pub(super) fn take(
        &mut self,
        running: JobState,
        lease: &Lease,
        now: Timestamp,
        alive: &HashSet<WorkerId>,
        paths: &RunPaths,
    ) -> Result<(), StoreError> {
        let before = std::mem::replace(&mut self.state, running);
        if let Some(old) = self.lease.take()
            && !alive.contains(&old.lease.worker_id)
        {
            remove_folder(&old.lease.staging)?;
        }
        match lease.entry {
            Entry::Redo if self.kept.is_none() => self.kept = Some(before),
            Entry::Perform => remove_folder(&paths.output(&lease.job_id))?,
            _ => {}
        }
        self.note = None;
        self.not_before = None;
        self.again = None;
        self.cancel_asked = false;
        self.highest_attempt = lease.attempt;
        self.holder_died = lease.took_over;
        self.lease = Some(Held {
            lease: lease.clone(),
            beat: now,
        });
        self.waiting.push(Patch::status(running.status()));
        Ok(())
    }

    /// Tells whether a dead worker noted an ending that was not published.
    pub(super) fn dead_note(&self, alive: &HashSet<WorkerId>) -> bool {
        let dead = |held: &Held| !alive.contains(&held.lease.worker_id);
        self.note.is_some() && self.lease.as_ref().is_some_and(dead)
    }

    /// Publishes the noted ending; returns whether it is the job's state now.
    pub(super) fn publish_note(&mut self, paths: &RunPaths) -> Result<bool, StoreError> {
        let ending = self.note.take().expect("the caller noted it");
        let held = self.lease.take().expect("a note belongs to a lease");
        self.bill(&held.lease, &ending);
        let attempt = held.lease.attempt;
        self.cancel_asked = false;
        self.holder_died = false;
        match ending.outcome {
            Outcome::Completed { simulated, .. } => {
                self.step(JobEvent::Completed { attempt, simulated });
                place(&held.lease, paths)?;
                self.error = None;
                self.kept = None;
                self.failures = 0;
                self.unknown = false;
                if !simulated {
                    self.purchase.complete();
                    self.bought.clear();
                }
            }
            Outcome::Failed {
                error_text,
                class,
                purchase,
                ..
            } => {
                self.end_purchase(purchase);
                self.step(JobEvent::Failed { attempt });
                self.unknown = class == ErrorClass::Unknown;
                self.failures = 0;
                remove_folder(&held.lease.staging)?;
                if self.restore_kept() {
                    return Ok(false);
                }
                self.error = Some(error_text);
            }
        }
        self.waiting.push(ending.patch);
        Ok(true)
    }

    /// Notes the id of what was bought, or what it costs after all.
    pub(super) fn submit(&mut self, request_id: &str, cost: Option<f64>) {
        self.purchase.submit(request_id);
        match self.bought.iter_mut().find(|(id, _)| id == request_id) {
            Some((_, known)) => *known = cost.or(*known),
            None => self.bought.push((request_id.to_owned(), cost)),
        }
    }

    /// Draws the conclusion of an attempt that brought no result.
    pub(super) fn end_purchase(&mut self, end: PurchaseEnd) {
        self.purchase.end(end);
        if end == PurchaseEnd::Void {
            self.bought.pop();
        }
    }

    /// Notes what an ending says of the money of its attempt.
    pub(super) fn bill(&mut self, lease: &Lease, ending: &Ending) {
        let bill = match &ending.outcome {
            Outcome::Completed {
                simulated: true, ..
            } => Billing::NotBilled,
            Outcome::Completed { .. } => Billing::Billed(ending.cost_usd),
            Outcome::Failed { cut_off: true, .. } => Billing::Open,
            Outcome::Failed { purchase, .. }
                if !self.bought.is_empty() && *purchase != PurchaseEnd::Void =>
            {
                Billing::Open
            }
            Outcome::Failed { .. } if ending.cost_usd.is_some() => Billing::Billed(ending.cost_usd),
            Outcome::Failed {
                class: ErrorClass::Unknown,
                ..
            } => Billing::Open,
            Outcome::Failed { .. } => Billing::NotBilled,
        };
        self.bills.insert(lease.nonce.clone(), bill);
    }

    /// Notes that an attempt was given back before it bought anything.
    pub(super) fn bill_if_nothing_was_bought(&mut self, lease: &Lease) {
        if self.bought.is_empty() {
            self.bills.insert(lease.nonce.clone(), Billing::NotBilled);
        }
    }

    /// Lets the result under a redo rule again; returns whether there was one.
    fn restore_kept(&mut self) -> bool {
        let Some(kept) = self.kept.take() else {
            return false;
        };
        self.state = kept;
        self.waiting.push(Patch::status(kept.status()));
        true
    }

    /// Takes a job out that nobody works on; the result under a redo rules again.
    pub(super) fn cancel_now(
        &mut self,
        alive: &HashSet<WorkerId>,
    ) -> Result<Cancellation, StoreError> {
        if let Some(dead) = self.lease.take()
            && !alive.contains(&dead.lease.worker_id)
        {
            remove_folder(&dead.lease.staging)?;
        }
        self.cancel_asked = false;
        self.failures = 0;
        self.not_before = None;
        self.holder_died |= matches!(self.state, JobState::Running { .. });
        self.step(JobEvent::Cancelled);
        if self.restore_kept() {
            self.holder_died = false;
            return Ok(Cancellation::RedoStopped);
        }
        self.waiting.push(Patch::status(self.state.status()));
        Ok(Cancellation::Cancelled {
            request_id: self.purchase.request_id.clone(),
        })
    }

    /// Puts a job back that was taken out, or forgets that somebody asked for it.
    pub(super) fn restore(&mut self) -> Restored {
        match self.state {
            JobState::Cancelled { .. } => {
                self.step(JobEvent::Restored);
                self.waiting.push(Patch::status(self.state.status()));
                Restored::Waiting
            }
            JobState::Completed { .. } | JobState::Failed { .. } => Restored::Untouched(self.state),
            _ if std::mem::take(&mut self.cancel_asked) => Restored::RequestRevoked,
            _ => Restored::NotCancelled,
        }
    }

    /// Has it wait again if it failed, in the attempt named; tells whether it does.
    pub(super) fn try_again(&mut self, attempt: Option<u32>, resubmit: bool) -> bool {
        let JobState::Failed { attempt: failed } = self.state else {
            return false;
        };
        let nothing_to_ask = self.is_doubtful() && self.purchase.intent.is_none();
        if attempt.is_some_and(|seen| seen != failed) || nothing_to_ask && !resubmit {
            return false;
        }
        self.step(JobEvent::WantedAgain);
        self.again = Some(resubmit);
        self.unknown = false;
        self.cancel_asked = false;
        self.waiting.push(Patch::status(self.state.status()));
        true
    }

    /// Ends the attempt without an ending; a holder that lost it changes nothing.
    pub(super) fn give_back(
        &mut self,
        lease: &Lease,
        event: JobEvent,
        not_before: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        self.ended.insert(lease.nonce.clone());
        remove_folder(&lease.staging)?;
        if self.held_as(lease).is_none() {
            return Ok(());
        }
        self.lease = None;
        self.note = None;
        let asked = std::mem::take(&mut self.cancel_asked);
        self.step(if asked { JobEvent::Cancelled } else { event });
        if !self.restore_kept() {
            self.not_before = not_before;
            self.waiting.push(Patch::status(self.state.status()));
        }
        Ok(())
    }

    /// Brings everything into the row.
    pub(super) fn show(&mut self) {
        for patch in self.waiting.drain(..) {
            for patched in patch.cells() {
                let column = patched.column.clone().into_owned();
                let cell = self.row.entry(column).or_default();
                if !patched.only_if_empty || cell.is_empty() {
                    cell.clone_from(&patched.value);
                }
            }
        }
    }
}

/// Checks that an ending says the same everywhere and that its files are there.
pub(super) fn check_ending(lease: &Lease, ending: &Ending) {
    let word = match &ending.outcome {
        Outcome::Completed { artifacts, .. } => {
            for file in artifacts {
                assert!(
                    artifact::is_intact(&lease.staging, &file.name, file.size, &file.sha256),
                    "{} of job {} is not what it is said to be",
                    file.name,
                    lease.job_id
                );
            }
            "completed"
        }
        Outcome::Failed { .. } => "failed",
    };
    assert_eq!(ending.patch.get("status"), Some(word), "patch and outcome");
}

/// Returns the ending that a result means whose maker dies before it can check and publish it.
pub(super) fn ending_of_made(lease: &Lease, made: &Made, now: Timestamp) -> Ending {
    let span = Span {
        start: lease.claimed_at,
        duration: now.since(lease.claimed_at),
    };
    let facts = WorkerFacts::default();
    let files = artifact::inventory(&lease.staging).unwrap_or_default();
    let model = made.model.as_ref().map(|model| lease.staging.join(model));
    let (outcome, patch) = if model.is_some_and(|model| model.is_file()) {
        let outcome = Outcome::Completed {
            simulated: false,
            artifacts: files,
        };
        (outcome, patch::completed(span, &facts, &Product::default()))
    } else {
        let message = "its worker died, and what it made is not whole";
        let outcome = Outcome::Failed {
            class: ErrorClass::Unknown,
            error_text: message.to_owned(),
            cut_off: true,
            purchase: PurchaseEnd::Open,
        };
        (outcome, patch::failed(span, &facts, message))
    };
    Ending {
        outcome,
        patch,
        cost_usd: made.price.estimated_usd,
        content_key: made.content_key.clone(),
        at: now,
    }
}

/// Moves a result to its final name; an older one is kept aside.
fn place(lease: &Lease, paths: &RunPaths) -> Result<(), StoreError> {
    let output = paths.output(&lease.job_id);
    if output.exists() {
        let previous = paths.previous();
        fs::create_dir_all(&previous).context("create", &previous)?;
        let name = naming::kept_dir(&lease.job_id, lease.attempt - 1, &lease.nonce);
        rename(&output, &previous.join(name))?;
    }
    rename(&lease.staging, &output)
}

/// Sets the result of a holder that lost its job aside.
pub(super) fn keep_late(
    lease: &Lease,
    paths: &RunPaths,
    workspace: &Workspace,
) -> Result<Finish, StoreError> {
    let has_files = fs::read_dir(&lease.staging).is_ok_and(|mut files| files.next().is_some());
    if !has_files {
        remove_folder(&lease.staging)?;
        return Ok(Finish::Fenced { kept_at: None });
    }
    let late = paths.late();
    fs::create_dir_all(&late).context("create", &late)?;
    let to = late.join(naming::kept_dir(&lease.job_id, lease.attempt, &lease.nonce));
    rename(&lease.staging, &to)?;
    Ok(Finish::Fenced {
        kept_at: workspace.relative(&to),
    })
}

fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    let moved = platform::rename_no_replace(from, to).context("publish", to)?;
    if moved {
        return Ok(());
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists)).context("publish", to)
}

fn remove_folder(folder: &Path) -> Result<(), StoreError> {
    artifact::discard(folder).context("remove", folder)
}
