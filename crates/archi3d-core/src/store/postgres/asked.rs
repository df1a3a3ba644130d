//! What a person asks for, of many jobs at once.

use std::collections::HashMap;

use super::act::{self, Restored as Back, Withdrawn};
use super::connect::Connection;
use super::error::PgResult;
use super::reader::Reader;
use super::statements;
use super::worker::PgStore;
use crate::domain::id::JobId;
use crate::domain::job::JobState;
use crate::store::{Restored, StoreError, Withdrawal};

/// So many jobs are changed in one transaction.
const AT_ONCE: usize = 20_000;

/// Changes some jobs and tells of each what became of it.
type Change<T> = dyn Fn(&mut Connection, &[i64]) -> PgResult<Vec<(i64, T)>>;

impl PgStore {
    /// Takes jobs out; tells of each what became of it. What dead workers of this machine had finished goes first.
    pub(super) fn withdraw_many(&self, jobs: &[JobId]) -> Result<Vec<Withdrawal>, StoreError> {
        self.send_left()?;
        let (run_no, lease) = (self.link.run_no, self.link.lease);
        let told = self.each_part(jobs, &move |c, numbers| {
            act::withdraw(c, run_no, Some(numbers), None, lease)
        })?;
        let told = told.into_iter().map(|told| match told {
            Some(Withdrawn::TakenOut { request_id }) => Withdrawal::TakenOut { request_id },
            Some(Withdrawn::Asked) => Withdrawal::Asked,
            Some(Withdrawn::RedoStopped) => Withdrawal::RedoStopped,
            Some(Withdrawn::AlreadyOut) => Withdrawal::AlreadyOut,
            Some(Withdrawn::Untouched(state)) => Withdrawal::Untouched(state),
            None => Withdrawal::Untouched(JobState::Enqueued { attempt: 0 }),
        });
        Ok(told.collect())
    }

    /// Puts jobs back; tells of each what became of it.
    pub(super) fn restore_many(&self, jobs: &[JobId]) -> Result<Vec<Restored>, StoreError> {
        let run_no = self.link.run_no;
        let told = self.each_part(jobs, &move |c, numbers| {
            act::restore(c, run_no, Some(numbers))
        })?;
        let told = told.into_iter().map(|told| match told {
            Some(Back::Waiting) => Restored::Waiting,
            Some(Back::RequestWithdrawn) => Restored::RequestWithdrawn,
            Some(Back::NotCancelled) | None => Restored::NotCancelled,
            Some(Back::Untouched(state)) => Restored::Untouched(state),
        });
        Ok(told.collect())
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
