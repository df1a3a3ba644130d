//! Runs that live in PostgreSQL, to be looked at.
//!
//! One connection, made again when it was lost: questions may be asked twice. Attempts before a push come from journals.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::claim::Hold;
use super::connect::Connection;
use super::earlier::PgReuse;
use super::error::{PgError, PgResult};
use super::import::{self, Run};
use super::link::nonce;
use super::reader::{Reader, large};
use super::view::{self, JobView};
use super::{gate, history, money, providers, record, reuse, statements};
use crate::domain::budget::{AttemptKey, Balance, ByHand, Usage};
use crate::domain::id::{AlgoKey, JobId, Nonce, RunId, WorkerId};
use crate::domain::lease::Rhythm;
use crate::domain::money::Usd;
use crate::domain::time::{Clock, Timestamp};
use crate::store::attempt::RunAttempts;
use crate::store::files::FileRuns;
use crate::store::overview::{
    AlgoOverview, EndedJob, FailedJob, Overview, RunCounts, RunningJob, Took,
};
use crate::store::providers::{Closable, Closure};
use crate::store::reuse::ReuseIndex;
use crate::store::runs::{AlgoIndex, JobName, Reserved, RunMoney, Runs, id_hash, may_mean};
use crate::store::{JobRecord, Progress, RunJobs, StoreError};
use crate::workspace::paths::Workspace;

/// So many jobs are read at a time.
const PAGE: usize = 5_000;

/// How many of the latest endings tell the pace.
const RECENT: usize = 200;

/// How many of the latest results tell how long jobs take.
const TIMED: usize = 2_000;

/// The runs of one server.
#[derive(Clone)]
pub struct PgRuns {
    connection: Arc<Mutex<Connection>>,
    workspace: Workspace,
    clock: Arc<dyn Clock>,
}

impl PgRuns {
    /// Looks at runs over a connection whose schema was checked.
    pub fn new(connection: Connection, workspace: Workspace, clock: Arc<dyn Clock>) -> Self {
        Self {
            connection: Arc::new(Mutex::new(connection)),
            workspace,
            clock,
        }
    }

    /// Asks the server, and once more if the connection was lost.
    pub fn ask<T>(
        &self,
        mut ask: impl FnMut(&mut Connection) -> PgResult<T>,
    ) -> Result<T, StoreError> {
        let connection = self.connection.lock();
        let mut connection = connection.unwrap_or_else(PoisonError::into_inner);
        let answer = if connection.is_closed() {
            connection.renew().and_then(|()| ask(&mut connection))
        } else {
            match ask(&mut connection) {
                Err(PgError::Lost { .. }) => connection.renew().and_then(|()| ask(&mut connection)),
                answer => answer,
            }
        };
        Ok(answer?)
    }

    /// Asks about one run.
    fn of<T>(
        &self,
        run: &RunId,
        mut ask: impl FnMut(&mut Connection, &Run) -> PgResult<T>,
    ) -> Result<T, StoreError> {
        let answer = self.ask(|c| {
            let found = import::run(c, run.as_str())?;
            found.map(|found| ask(c, &found)).transpose()
        })?;
        answer.ok_or_else(|| StoreError::Server {
            what: format!("run {run} is not in the database"),
            hint: "name the fleet's own store: --store URL".into(),
            setup: true,
        })
    }

    /// Returns which version of its algorithm made each result of a run.
    pub fn algo_versions(&self, run: &RunId) -> Result<HashMap<JobId, String>, StoreError> {
        self.of(run, |c, run| {
            let sql = &statements::ALGO_VERSIONS;
            let mut found = HashMap::new();
            for row in &c.rows(sql, &[&run.run_no])? {
                let mut cells = Reader::new(row, sql);
                let (job, version): (String, String) = (cells.take()?, cells.take()?);
                found.extend(JobId::parse(&job).ok().map(|job| (job, version)));
            }
            Ok(found)
        })
    }

    /// What was tried before the run was handed over.
    fn before(&self) -> FileRuns {
        FileRuns::new(self.workspace.clone(), self.clock.clone())
    }
}

impl Runs for PgRuns {
    fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(Timestamp::new(self.ask(super::keep::now)?))
    }

    fn rhythm(&self, run: &RunId) -> Result<Rhythm, StoreError> {
        self.of(run, |_, run| {
            let lease = Duration::from_secs(u64::from(run.lease_seconds));
            Ok(Rhythm {
                heartbeat: lease / 6,
                stale: lease,
            })
        })
    }

    fn overview(&self, run: &RunId) -> Result<Overview, StoreError> {
        // One picture of one moment.
        self.of(run, |c, run| {
            c.transaction(|c| {
                c.one_moment()?;
                overview(c, run.run_no)
            })
        })
    }

    fn counts(&self, run: &RunId) -> Result<RunCounts, StoreError> {
        self.of(run, |c, run| {
            let mut sums = RunCounts {
                run: run.run_id.clone(),
                created: Some(Timestamp::new(run.created)),
                ..RunCounts::default()
            };
            for algo in view::counts(c, run.run_no)? {
                sums.rehearsed += algo.rehearsed;
                for (sum, count) in sums.counts.iter_mut().zip(algo.by_status()) {
                    *sum += count;
                }
            }
            Ok(sums)
        })
    }

    fn jobs(&self, run: &RunId, _rhythm: Rhythm) -> Result<RunJobs, StoreError> {
        let jobs = self.of(run, |c, run| {
            let (mut jobs, mut after) = (Vec::new(), -1);
            loop {
                let page = view::jobs(c, run.run_no, after, PAGE)?;
                let Some(last) = page.last() else {
                    return Ok(jobs);
                };
                after = last.position;
                jobs.extend(page.into_iter().filter_map(record::of_view));
            }
        })?;
        Ok(RunJobs {
            jobs,
            ..RunJobs::default()
        })
    }

    fn jobs_like(&self, run: &RunId, word: &str) -> Result<Vec<JobRecord>, StoreError> {
        let found = self.of(run, |c, run| jobs_like(c, run, word))?;
        let jobs: Vec<JobRecord> = found.into_iter().filter_map(record::of_view).collect();
        let meant = may_mean(&jobs, word, |job| {
            (job.job_id.as_str(), &job.product_id, &job.variant)
        });
        Ok(meant.into_iter().cloned().collect())
    }

    fn attempts(&self, run: &RunId, only: Option<&JobId>) -> Result<RunAttempts, StoreError> {
        let mut found = self.before().recorded_attempts(run)?;
        if let Some(only) = only {
            found.attempts.retain(|attempt| attempt.job_id == *only);
        }
        self.of(run, |c, run| {
            let (mut attempts, mut jobs) = (Vec::new(), Vec::new());
            each_page(c, run, only, &mut |c, page| {
                attempts.extend(history::of_page(c, page)?);
                jobs.extend(page.iter().map(Named::known_by));
                Ok(())
            })?;
            Ok((attempts, jobs))
        })
        .map(|(attempts, jobs)| history::join(found, attempts, jobs))
    }

    fn recorded_attempts(&self, run: &RunId) -> Result<RunAttempts, StoreError> {
        self.attempts(run, None)
    }

    fn algos(&self, run: &RunId) -> Result<AlgoIndex, StoreError> {
        self.of(run, |c, run| {
            let mut names: Vec<String> = Vec::new();
            let mut jobs = Vec::new();
            each_page(c, run, None, &mut |_, page| {
                for job in page {
                    let known = names.iter().position(|name| *name == job.name.algo);
                    let place = known.unwrap_or_else(|| {
                        names.push(job.name.algo.clone());
                        names.len() - 1
                    });
                    let place = u16::try_from(place).unwrap_or(u16::MAX);
                    jobs.push((id_hash(job.job_id.as_str().as_bytes()), place));
                }
                Ok(())
            })?;
            Ok(AlgoIndex::new(names, jobs))
        })
    }

    fn money(&self, run: &RunId) -> Result<RunMoney, StoreError> {
        // Only what people said of it is not in the database.
        let before = self.before().money(run)?;
        let run_id = run;
        self.of(run, |c, run| {
            let glance = glance(c, run.run_no)?;
            let today = money::day_of(glance.now);
            let today = money::open(c, Some(run.run_no), Some(&today))?;
            let today: HashSet<Hold> = today.into_iter().map(|one| one.hold).collect();
            let mut reserved = BTreeMap::new();
            for one in money::open(c, Some(run.run_no), None)? {
                let Some(key) = key_of(run_id, &one.job_id, one.hold, &one.worker) else {
                    continue;
                };
                let own = Reserved {
                    usd: one.amount.dollars(),
                    today: today.contains(&one.hold),
                    attempt_key: key,
                };
                reserved.insert(own.attempt_key.job_id.clone(), own);
            }
            let (said, settled) = by_hand(c, run_id, run.run_no)?;
            Ok(RunMoney {
                balance: glance.balance,
                reserved,
                by_hand: before.by_hand.iter().cloned().chain(said).collect(),
                settled: before.settled.iter().cloned().chain(settled).collect(),
            })
        })
    }

    fn settle_by_hand(&self, run: &RunId, job: &JobId, usd: f64) -> Result<(), StoreError> {
        self.of(run, |c, run| {
            let open = money::open(c, Some(run.run_no), None)?;
            match open.into_iter().find(|one| one.job_id == job.as_str()) {
                Some(own) => money::settle(c, &own.hold, Usd::of(usd), true).map(drop),
                None => Ok(()),
            }
        })
    }

    fn highest_costs(&self, run: &RunId) -> Result<HashMap<String, f64>, StoreError> {
        let above = self.of(run, |c, run| money::above_estimate(c, run.run_no))?;
        let above = above.into_iter();
        Ok(above.map(|(algo, usd)| (algo, usd.dollars())).collect())
    }

    fn closed(&self, what: Closable) -> Result<Vec<Closure>, StoreError> {
        let now = self.now()?;
        self.ask(|c| providers::all_closed(c, what, now))
    }

    fn open(&self, what: Closable, key: &AlgoKey) -> Result<bool, StoreError> {
        self.ask(|c| match what {
            Closable::Provider => gate::open(c, key.as_str()),
            Closable::Algo => gate::resume(c, key.as_str()),
        })
    }

    fn medians(&self) -> Result<HashMap<String, f64>, StoreError> {
        let sql = &statements::MEDIANS;
        self.ask(|c| {
            let rows = c.rows(sql, &[&large(TIMED)])?;
            let read = |row| {
                let mut cells = Reader::new(row, sql);
                Ok((cells.take()?, cells.take()?))
            };
            rows.iter().map(read).collect()
        })
    }

    fn unpublished(&self, _run: &RunId) -> Result<HashMap<JobId, u32>, StoreError> {
        // What is over is over by the commit; files follow.
        Ok(HashMap::new())
    }

    fn reuse(&self) -> Arc<dyn ReuseIndex> {
        let runs = self.clone();
        let ask = move |key: &[u8], version: Option<&str>, but: &[Uuid]| {
            runs.ask(|c| reuse::find(c, key, version, but))
        };
        let workspace = self.workspace.clone();
        Arc::new(PgReuse::new(Box::new(ask), None, workspace, None))
    }
}

struct Glance {
    now: DateTime<Utc>,
    worker_lives: bool,
    balance: Balance,
}

fn glance(connection: &mut Connection, run_no: i64) -> PgResult<Glance> {
    let sql = &statements::GLANCE;
    let row = connection.one(sql, &[&run_no])?;
    let mut cells = Reader::new(&row, sql);
    let (now, worker_lives) = (cells.take()?, cells.take()?);
    let mut usage = || -> PgResult<Usage> {
        Ok(Usage {
            spent_usd: Usd::from_micros(cells.take()?).dollars(),
            reserved_usd: Usd::from_micros(cells.take()?).dollars(),
        })
    };
    Ok(Glance {
        now,
        worker_lives,
        balance: Balance {
            run: usage()?,
            day: usage()?,
        },
    })
}

fn overview(connection: &mut Connection, run_no: i64) -> PgResult<Overview> {
    let glance = glance(connection, run_no)?;
    let spent = spent_by_algo(connection, run_no)?;
    let took = view::durations(connection, run_no, TIMED)?;
    let counted = view::counts(connection, run_no)?;
    let algos: Vec<AlgoOverview> = counted
        .iter()
        .map(|algo| AlgoOverview {
            counts: algo.by_status(),
            rehearsed: algo.rehearsed,
            took: took
                .iter()
                .find(|one| one.algo == algo.algo)
                .map(|one| Took {
                    mean_s: one.mean_s,
                    median_s: one.median_s,
                }),
            spent_usd: spent.get(&algo.algo).copied().unwrap_or_default(),
            algo: algo.algo.clone(),
        })
        .collect();
    let place = |algo: &str| algos.iter().position(|one| one.algo == algo);
    let mut running = Vec::new();
    for view in view::running(connection, run_no, usize::MAX)? {
        running.extend(place(&view.algo).and_then(|algo| running_job(view, algo)));
    }
    let (failures, mut recent) = failures(connection, run_no, &place)?;
    for one in view::recent(connection, run_no, RECENT)? {
        recent.extend(
            place(&one.algo)
                .zip(one.seconds)
                .map(|(algo, took_s)| EndedJob {
                    algo,
                    ended: Timestamp::new(one.at),
                    took_s,
                    simulated: one.simulated,
                }),
        );
    }
    recent.sort_by_key(|job| Reverse(job.ended));
    recent.truncate(RECENT);
    let by_algo: Usd = algos.iter().map(|algo| algo.spent_usd).sum();
    Ok(Overview {
        worker_lives: glance.worker_lives,
        total: counted.iter().map(|algo| algo.total).sum(),
        not_registered_usd: (Usd::of(glance.balance.run.spent_usd) - by_algo).or_nothing(),
        balance: glance.balance,
        algos,
        running,
        failures,
        recent,
        ..Overview::default()
    })
}

fn running_job(view: JobView, algo: usize) -> Option<RunningJob> {
    let holder = view.holder.as_ref();
    let progress = holder.filter(|holder| !holder.expired).and_then(|holder| {
        Some(Progress {
            fraction: f64::from(holder.progress?),
            message: holder.doing.clone(),
        })
    });
    Some(RunningJob {
        job_id: JobId::parse(&view.job_id).ok()?,
        algo,
        attempt: view.state.attempt(),
        holder: holder.map(record::holder),
        progress,
        name: JobName {
            product_id: view.product_id,
            variant: view.variant,
            algo: view.algo,
        },
    })
}

type Failures = (Vec<FailedJob>, Vec<EndedJob>);

/// Returns what failed, and when and after how long, where an attempt tells.
fn failures(
    connection: &mut Connection,
    run_no: i64,
    place: &dyn Fn(&str) -> Option<usize>,
) -> PgResult<Failures> {
    let sql = &statements::FAILURES;
    let (mut failures, mut endings) = (Vec::new(), Vec::new());
    for row in &connection.rows(sql, &[&run_no])? {
        let mut cells = Reader::new(row, sql);
        let id: &str = cells.take()?;
        let name = JobName {
            product_id: cells.take()?,
            variant: cells.take()?,
            algo: cells.take()?,
        };
        let message = cells.take()?;
        let ended: Option<DateTime<Utc>> = cells.take()?;
        let ended = ended.map(Timestamp::new);
        let took_s: Option<f64> = cells.take()?;
        let simulated = cells.take()?;
        let (Ok(job_id), Some(algo)) = (JobId::parse(id), place(&name.algo)) else {
            continue;
        };
        endings.extend(ended.zip(took_s).map(|(ended, took_s)| EndedJob {
            algo,
            ended,
            took_s,
            simulated,
        }));
        failures.push(FailedJob {
            job_id,
            algo,
            name,
            message,
            ended,
        });
    }
    Ok((failures, endings))
}

fn spent_by_algo(connection: &mut Connection, run_no: i64) -> PgResult<HashMap<String, Usd>> {
    let sql = &statements::SPENT_BY_ALGO;
    let rows = connection.rows(sql, &[&run_no])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok((cells.take()?, Usd::from_micros(cells.take()?)))
    };
    rows.iter().map(read).collect()
}

/// A job and what it is known by.
pub(super) struct Named {
    pub(super) job_no: i64,
    pub(super) job_id: JobId,
    name: JobName,
}

impl Named {
    fn known_by(&self) -> (JobId, JobName) {
        (self.job_id.clone(), self.name.clone())
    }
}

type Page<'a> = &'a mut dyn FnMut(&mut Connection, &[Named]) -> PgResult<()>;

/// Hands over the jobs of a run page by page, or one of them.
fn each_page(
    connection: &mut Connection,
    run: &Run,
    only: Option<&JobId>,
    take: Page<'_>,
) -> PgResult<()> {
    if let Some(only) = only {
        let found = view::jobs_named(connection, &run.run_id, only.as_str(), PAGE)?;
        let found = found.into_iter().find(|view| view.job_id == only.as_str());
        let found = found.map(|view| Named {
            job_no: view.job_no,
            job_id: only.clone(),
            name: JobName {
                product_id: view.product_id,
                variant: view.variant,
                algo: view.algo,
            },
        });
        return found.map_or(Ok(()), |found| take(connection, &[found]));
    }
    let sql = &statements::NAMES;
    let mut after = -1_i64;
    loop {
        let rows = connection.rows(sql, &[&run.run_no, &after, &large(PAGE)])?;
        let mut page = Vec::with_capacity(rows.len());
        for row in &rows {
            let mut cells = Reader::new(row, sql);
            let job_no = cells.take()?;
            after = cells.take()?;
            let id: &str = cells.take()?;
            let Ok(job_id) = JobId::parse(id) else {
                continue;
            };
            page.push(Named {
                job_no,
                job_id,
                name: JobName {
                    product_id: cells.take()?,
                    variant: cells.take()?,
                    algo: cells.take()?,
                },
            });
        }
        if rows.is_empty() {
            return Ok(());
        }
        take(connection, &page)?;
    }
}

/// Returns the jobs that begin with a word or may be of the product that it names.
fn jobs_like(connection: &mut Connection, run: &Run, word: &str) -> PgResult<Vec<JobView>> {
    let mut found = view::jobs_named(connection, &run.run_id, word, PAGE)?;
    if found.iter().any(|view| view.job_id == word) {
        return Ok(found);
    }
    let sql = &statements::NAMES_OF_PRODUCT;
    for row in connection.rows(sql, &[&run.run_no, &word.trim()])? {
        let id: String = Reader::new(&row, sql).take()?;
        if found.iter().all(|view| view.job_id != id) {
            let named = view::jobs_named(connection, &run.run_id, &id, PAGE)?;
            found.extend(named.into_iter().filter(|view| view.job_id == id));
        }
    }
    found.sort_by_key(|view| view.position);
    Ok(found)
}

fn key_of(run: &RunId, job: &str, hold: Hold, worker: &str) -> Option<AttemptKey> {
    Some(AttemptKey {
        run_id: run.clone(),
        job_id: JobId::parse(job).ok()?,
        attempt: hold.number,
        nonce: nonce(hold.attempt_id),
        worker_id: WorkerId::named(worker),
    })
}

type Said = (Vec<ByHand>, Vec<Nonce>);

/// Returns what people said was billed, and which attempts of these jobs are settled.
fn by_hand(connection: &mut Connection, run: &RunId, run_no: i64) -> PgResult<Said> {
    let sql = &statements::BY_HAND;
    let (mut said, mut jobs) = (Vec::new(), Vec::new());
    for row in &connection.rows(sql, &[&run_no])? {
        let mut cells = Reader::new(row, sql);
        let hold = Hold {
            job_no: cells.take()?,
            number: cells.number()?,
            attempt_id: cells.take()?,
        };
        let (job, worker): (&str, &str) = (cells.take()?, cells.take()?);
        let usd = Usd::from_micros(cells.take()?).dollars();
        let at = Timestamp::new(cells.take()?);
        jobs.push(hold.job_no);
        said.extend(key_of(run, job, hold, worker).map(|attempt_key| ByHand {
            attempt_key,
            usd,
            at,
        }));
    }
    if jobs.is_empty() {
        return Ok((said, Vec::new()));
    }
    let sql = &statements::SETTLED;
    let rows = connection.rows(sql, &[&jobs])?;
    let settled = rows
        .iter()
        .map(|row| Reader::new(row, sql).take().map(nonce));
    Ok((said, settled.collect::<PgResult<Vec<_>>>()?))
}
