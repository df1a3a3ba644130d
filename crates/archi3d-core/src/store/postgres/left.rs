//! What waits to be sent, and what dead workers of this machine left: endings in their spools, folders of their attempts.
//!
//! A worker holds the lock of its spool of a run for as long as it works on that run. Whose spool on this machine is free is
//! dead, or gone from that run and at work on others; of workers elsewhere only their leases tell, and their folders are left
//! alone.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use super::claim::Hold;
use super::ending::{self, Became, Success};
use super::error::PgResult;
use super::leaving::NotPut;
use super::membership;
use super::money;
use super::record;
use super::spool::{Replayed, Spool, SpoolEntry as Spooled, Tidy};
use super::view;
use super::worker::PgStore;
use crate::domain::budget::AttemptKey;
use crate::domain::id::JobId;
use crate::domain::naming;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::artifact;

/// What became of the entries of a spool.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Whether some still wait.
    pub(super) waits: bool,
    /// How many were sent.
    pub(super) count: usize,
    /// The jobs that got a result.
    pub(super) published: Vec<JobId>,
    /// The jobs that ended without one, as the database numbers them.
    pub(super) failed: HashSet<i64>,
    /// The jobs whose results lie here and could not be told.
    pub(super) stuck: Vec<i64>,
}

impl Sent {
    fn add(&mut self, other: Self) {
        self.waits |= other.waits;
        self.count += other.count;
        self.published.extend(other.published);
        self.failed.extend(other.failed);
        self.stuck.extend(other.stuck);
    }
}

/// The spools of dead workers of this machine; ours as long as we have them open.
#[derive(Debug, Default)]
pub(super) struct Dead(Vec<(PathBuf, Spool)>);

impl Dead {
    pub(super) fn names(&self) -> HashSet<String> {
        // Whose endings are all sent: nothing of theirs will be asked for any more.
        let told = self.0.iter().filter(|(_, spool)| is_told(spool));
        let names = told.filter_map(|(path, _)| path.file_name());
        let names = names.filter_map(|name| name.to_str());
        names.map(naming::worker_of_spool).collect()
    }

    /// The same as processes, where they said so.
    fn processes(&self) -> Vec<&str> {
        let told = self.0.iter().filter(|(_, spool)| is_told(spool));
        told.map(|(_, spool)| spool.process())
            // This one lives, whatever it has ended with.
            .filter(|process| !process.is_empty() && *process != membership::process())
            .collect()
    }

    /// Tells whether the spool of a folder is among them.
    pub(super) fn has(&self, folder: &Path) -> bool {
        self.0.iter().any(|(path, _)| path == folder)
    }

    /// Removes those that are empty and whole.
    fn remove(self) {
        for (_, spool) in self.0 {
            if is_told(&spool) {
                spool.remove();
            }
        }
    }
}

fn is_told(spool: &Spool) -> bool {
    spool.is_empty() && spool.damaged() == 0
}

impl PgStore {
    /// Sends what waits in our own spool; tells whether all of it is sent.
    pub(super) fn send_spooled(&self, patience: Duration) -> Result<bool, StoreError> {
        let mut sent = Sent::default();
        self.send(self.link.spool(), Some(patience), &mut sent)?;
        Ok(!sent.waits)
    }

    /// Sends endings that were kept on purpose; tells how many.
    pub(super) fn send_waiting(&self) -> Result<usize, StoreError> {
        let mut sent = Sent::default();
        self.send(self.link.spool(), None, &mut sent)?;
        Ok(sent.count)
    }

    /// Sends what dead workers of this machine left in their spools.
    pub(super) fn send_left(&self) -> Result<Sent, StoreError> {
        let waits = |folder: &Path| {
            let file = fs::metadata(folder.join("spool.jsonl"));
            file.is_ok_and(|file| file.len() > 0)
        };
        let dead = self.dead(waits);
        self.send_all(&dead)
    }

    /// The same, and tells what they had made before anybody makes it again.
    pub(super) fn look_after_left(&self) -> Result<Sent, StoreError> {
        let dead = self.dead(|_| true);
        let mut sent = self.send_all(&dead)?;
        self.adopt_made(&dead, false, None, &mut sent)?;
        Ok(sent)
    }

    /// Sends what the dead of this machine left, and tidies the folders of attempts. The second number says how many
    /// results were put in their place.
    pub(super) fn take_over_left(&self) -> Result<(Sent, usize), StoreError> {
        // What an earlier start of this name ended, before its leases are looked at.
        let mut own = Sent::default();
        self.send(self.link.spool(), Some(self.patience()), &mut own)?;
        let dead = self.dead(|_| true);
        for (folder, spool) in &dead.0 {
            let damaged = spool.damaged();
            if damaged > 0 {
                self.link.warn(format!(
                    "{damaged} lines of the spool in {} could not be read and lie beside it",
                    folder.display()
                ));
            }
        }
        let mut sent = self.send_all(&dead)?;
        sent.add(own);
        self.send_endings(&dead, &mut sent)?;
        self.adopt_made(&dead, true, None, &mut sent)?;
        self.rare().stuck.clone_from(&sent.stuck);
        self.sweep(None, &dead.processes())?;
        let finished = self.tidy_staging(&dead, &mut sent)?;
        self.tidy_inputs(&dead.names())?;
        self.send_late();
        dead.remove();
        Ok((sent, finished))
    }

    /// Settles what workers of the run ended and did not live to settle; tells how many that were.
    pub(super) fn settle_left(&self) -> PgResult<usize> {
        if self.rehearsal {
            return Ok(0);
        }
        let run_no = self.link.run_no;
        self.link
            .ask(self.patience(), |c| money::settle_ended(c, Some(run_no)))
    }

    fn dead(&self, is_of_interest: impl Fn(&Path) -> bool) -> Dead {
        let of_all = std::iter::once(&self.spools).chain(&self.spools_before);
        let entries =
            of_all.flat_map(|spools| fs::read_dir(spools).into_iter().flatten().flatten());
        let folders = entries.map(|entry| entry.path());
        let open = |folder: PathBuf| {
            // Whose worker lives sends it itself.
            let spool = Spool::take_over(&folder).ok()?;
            Some((folder, spool))
        };
        Dead(
            folders
                .filter(|folder| is_of_interest(folder))
                .filter_map(open)
                .collect(),
        )
    }

    fn send_all(&self, dead: &Dead) -> Result<Sent, StoreError> {
        let mut sent = Sent::default();
        for (_, spool) in &dead.0 {
            self.send(spool, Some(Duration::ZERO), &mut sent)?;
        }
        Ok(sent)
    }

    /// Sends what a spool holds at this moment. Others may add to it meanwhile.
    fn send(
        &self,
        spool: &Spool,
        patience: Option<Duration>,
        sent: &mut Sent,
    ) -> Result<(), StoreError> {
        // One at a time: whoever sends takes the oldest out.
        let _turn = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = spool.len();
        // What is kept on purpose comes and goes all the time.
        let tidy = if patience.is_some() {
            Tidy::Now
        } else {
            Tidy::Later
        };
        // So many are sent one by one, because the server refused them together.
        let mut singly: usize = 0;
        while left > 0 {
            let some = spool.first(if singly > 0 { 1 } else { left });
            let ready = match self.put_again(&some, patience) {
                Ok(ready) => ready,
                Err(NotPut::Waits) => break,
                Err(NotPut::Gone(what)) => {
                    self.set_refused_aside(spool, &what)?;
                    (left, singly) = (left - 1, singly.saturating_sub(1));
                    continue;
                }
            };
            let some = &some[..ready];
            let told = match self.link.send_some(some, patience) {
                Err(error) if error.is_of_one() && some.len() > 1 => {
                    singly = some.len();
                    continue;
                }
                Err(error) if error.is_of_one() => {
                    self.set_refused_aside(spool, &error.to_string())?;
                    (left, singly) = (left - 1, singly.saturating_sub(1));
                    continue;
                }
                told => told,
            };
            singly = singly.saturating_sub(some.len());
            let answers = told.as_ref().map_or(0, Vec::len);
            let forgotten = spool.forget(answers, tidy);
            left -= answers;
            sent.count += answers;
            let told = match told {
                Ok(told) => told,
                Err(error) if error.is_retryable() => break,
                Err(error) => return Err(error.into()),
            };
            for (entry, replayed) in some.iter().zip(told) {
                self.note_sent(entry, replayed, sent)?;
            }
            forgotten.context("write the spool of", &self.paths.outputs())?;
        }
        sent.waits |= left > 0;
        Ok(())
    }

    /// Puts the oldest entry of a spool aside: the server can never take it, and the others must not wait for it.
    fn set_refused_aside(&self, spool: &Spool, error: &str) -> Result<(), StoreError> {
        let first = spool.first(1).pop();
        let aside = spool.refuse_first();
        let aside = aside.context("write beside the spool", spool.path())?;
        match first.as_deref() {
            Some(Spooled::Succeeded { success }) => self.end_refused(success, error, &aside),
            _ => self.link.warn(format!(
                "a record cannot be sent and is kept in {}: {error}; if it ended a job, that job runs again when its \
                 lease expires",
                aside.display()
            )),
        }
        Ok(())
    }

    /// Ends the job of a result whose record the server can never take: its files are here and may be paid for, so nobody
    /// makes it again unasked, unless it cost nothing or can be fetched.
    pub(super) fn end_refused(&self, success: &Success, error: &str, aside: &Path) {
        let folder = self
            .paths
            .staging()
            .join(success.result_ref.as_deref().unwrap_or_default());
        let line = format!(
            "made, and its record cannot be sent: {error}; its files are kept in {}, its record in {}. It may have been \
             billed: look at them before it is made again with --only-status failed --resubmit-unknown",
            folder.display(),
            aside.display()
        );
        let free = success.simulated || success.cost_micros == Some(0);
        let told = self.link.ask(self.patience(), |c| {
            ending::left_behind(c, &success.hold, &line, free)
        });
        self.link.warn(line);
        if let Err(error) = told {
            // Whoever takes the job over finds what lies here, or asks.
            self.link.warn(error.to_string());
        }
    }

    /// Does what follows from an entry that was sent.
    fn note_sent(
        &self,
        entry: &Spooled,
        replayed: Replayed,
        sent: &mut Sent,
    ) -> Result<(), StoreError> {
        match entry {
            Spooled::Succeeded { success } => {
                self.shelve(success, replayed != Replayed::Fenced)?;
                if replayed == Replayed::Sent {
                    let name = success.result_ref.as_deref().unwrap_or_default();
                    let job = record::split_staging(name).map(|(job, ..)| job);
                    sent.published.extend(job);
                }
            }
            Spooled::Failed { failure } if replayed == Replayed::Sent => {
                sent.failed.insert(failure.hold.job_no);
            }
            _ => {}
        }
        Ok(())
    }

    /// Finishes moves that died, and ends what the dead left in their folders.
    fn tidy_staging(&self, dead: &Dead, sent: &mut Sent) -> Result<usize, StoreError> {
        let folders: Vec<(PathBuf, String)> = fs::read_dir(self.paths.staging())
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| Some((entry.path(), entry.file_name().to_str()?.to_owned())))
            .collect();
        let mut finished = 0;
        for (path, name) in folders {
            finished += usize::from(self.tidy_folder(&path, &name, dead, sent)?);
        }
        Ok(finished)
    }

    /// Tells whether the holder of an attempt was a worker of this machine that is dead.
    pub(super) fn is_of_dead(
        &self,
        hold: Hold,
        attempts: &[view::AttemptView],
        dead: &HashSet<String>,
    ) -> bool {
        let host = Some(self.identity.facts.host.as_str());
        attempts.iter().any(|other| {
            other.hold == hold
                && other.host.as_deref() == host
                && dead.contains(other.worker.as_str())
        })
    }

    fn tidy_folder(
        &self,
        path: &Path,
        name: &str,
        dead: &Dead,
        sent: &mut Sent,
    ) -> Result<bool, StoreError> {
        let Some((job, attempt, nonce)) = record::split_staging(name) else {
            return Ok(false);
        };
        if self.has_ending(name) {
            // What was made waits to be put where it belongs.
            return Ok(false);
        }
        if attempt == 0 {
            // A rehearsal that was on its way out.
            self.drop_folder(path, &job, attempt, &nonce)?;
            return Ok(false);
        }
        let attempt_key = AttemptKey {
            run_id: self.link.run_id.clone(),
            job_id: job.clone(),
            attempt,
            nonce: nonce.clone(),
            worker_id: self.identity.worker_id.clone(),
        };
        let Some(hold) = self.link.hold_of(&attempt_key, self.patience())? else {
            return Ok(false);
        };
        let (known, attempts) = self.link.ask(self.patience(), |c| {
            let known = ending::became(c, &[hold])?;
            Ok((known, view::attempts(c, &[hold.job_no])?))
        })?;
        match known.get(&hold) {
            Some(Became::Succeeded) => {
                let is_newer = |other: &view::AttemptView| {
                    other.hold.number > attempt && other.status == "succeeded"
                };
                if attempts.iter().any(is_newer) {
                    // Its move died, and the job was made again since.
                    self.aside(path, &job, attempt, &nonce)?;
                    return Ok(false);
                }
                let kept = naming::kept_dir(&job, attempt.saturating_sub(1), &nonce);
                self.artifacts.place(path, &job, &kept, false)?;
                Ok(true)
            }
            Some(Became::Lost) => {
                if !self.is_of_dead(hold, &attempts, &dead.names()) {
                    // Its holder may come back and tell.
                    return Ok(false);
                }
                self.adopt_made(dead, false, Some(&[hold.job_no]), sent)?;
                if !path.exists() {
                    // It was told and put in its place.
                } else if artifact::may_hold_model(path) {
                    self.keep_late(path, &job, &nonce, hold)?;
                } else {
                    let _ = artifact::discard(path);
                }
                Ok(false)
            }
            Some(Became::Running) | None => Ok(false),
            Some(Became::Over) => {
                self.drop_folder(path, &job, attempt, &nonce)?;
                Ok(false)
            }
        }
    }
}
