//! What a person asks for, of many jobs at once.

use std::collections::HashMap;

use super::act;
use super::connect::Connection;
use super::error::PgResult;
use super::reader::{Reader, small};
use super::statements;
use super::worker::PgStore;
use crate::domain::id::JobId;
use crate::domain::job::JobState;
use crate::store::{Cancellation, JobToRetry, Restored, StoreError};

/// So many jobs are changed in one transaction.
const AT_ONCE: usize = 20_000;

/// Changes some jobs and tells of each what became of it.
type Change<T> = dyn Fn(&mut Connection, &[i64]) -> PgResult<Vec<(i64, T)>>;

impl PgStore {
    /// Takes jobs out; tells of each what became of it. What dead workers of this machine had finished goes first.
    pub(super) fn cancel_many(&self, jobs: &[JobId]) -> Result<Vec<Cancellation>, StoreError> {
        self.send_left()?;
        let (run_no, lease) = (self.link.run_no, self.link.lease);
        let told = self.each_part(jobs, &move |c, numbers| {
            act::cancel(c, run_no, Some(numbers), None, lease)
        })?;
        let unknown = Cancellation::Untouched(JobState::Enqueued { attempt: 0 });
        let told = told.into_iter();
        Ok(told.map(|told| told.unwrap_or(unknown.clone())).collect())
    }

    /// Puts jobs back; tells of each what became of it.
    pub(super) fn restore_many(&self, jobs: &[JobId]) -> Result<Vec<Restored>, StoreError> {
        let run_no = self.link.run_no;
        let told = self.each_part(jobs, &move |c, numbers| {
            act::restore(c, run_no, Some(numbers))
        })?;
        let told = told.into_iter();
        Ok(told
            .map(|told| told.unwrap_or(Restored::NotCancelled))
            .collect())
    }

    /// Has failed jobs wait again; tells how many do.
    pub(super) fn try_many_again(
        &self,
        jobs: &[JobToRetry],
        resubmit: bool,
    ) -> Result<usize, StoreError> {
        let (run_no, run_id) = (self.link.run_no, self.link.run_id.as_str());
        let mut waiting = 0;
        for part in jobs.chunks(AT_ONCE) {
            let ids: Vec<JobId> = part.iter().map(|job| job.job_id.clone()).collect();
            waiting += self.link.ask(self.patience(), |c| {
                let numbers = job_numbers(c, run_id, &ids)?;
                let known = part.iter().filter_map(|job| {
                    let attempt = job.attempt.map_or(-1, small);
                    Some((*numbers.get(job.job_id.as_str())?, attempt))
                });
                act::try_again(c, run_no, &known.collect::<Vec<_>>(), resubmit)
            })?;
        }
        Ok(waiting)
    }

    /// Changes jobs part by part; nothing is told of one that the run does not have.
    fn each_part<T>(
        &self,
        jobs: &[JobId],
        change: &Change<T>,
    ) -> Result<Vec<Option<T>>, StoreError> {
        let run_id = self.link.run_id.as_str();
        let mut all = Vec::with_capacity(jobs.len());
        for part in jobs.chunks(AT_ONCE) {
            let (numbers, told) = self.link.ask(self.patience(), |c| {
                let numbers = job_numbers(c, run_id, part)?;
                let known: Vec<i64> = numbers.values().copied().collect();
                Ok((numbers, change(c, &known)?))
            })?;
            let mut told: HashMap<i64, T> = told.into_iter().collect();
            all.extend(
                part.iter()
                    .map(|job| told.remove(numbers.get(job.as_str())?)),
            );
        }
        Ok(all)
    }
}

fn job_numbers(
    connection: &mut Connection,
    run_id: &str,
    jobs: &[JobId],
) -> PgResult<HashMap<String, i64>> {
    let ids: Vec<&str> = jobs.iter().map(JobId::as_str).collect();
    let sql = &statements::JOB_NUMBERS;
    let rows = connection.rows(sql, &[&run_id, &ids])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        let job_no = cells.take()?;
        Ok((cells.take()?, job_no))
    };
    rows.iter().map(read).collect()
}
