//! Runs of a workspace, to be looked at: tables, markers, journals and the ledger as they are.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use crate::domain::budget::Ledger;
use crate::domain::id::{AlgoKey, JobId, RunId};
use crate::domain::lease::Rhythm;
use crate::domain::time::{Clock, Timestamp};
use crate::store::attempt::RunAttempts;
use crate::store::manifest::{self, ManifestRow};
use crate::store::overview::{Overview, RunCounts};
use crate::store::providers::{Closable, Closure, Providers as _};
use crate::store::reuse::ReuseIndex;
use crate::store::runs::{AlgoIndex, JobName, Reserved, RunMoney, Runs, may_mean};
use crate::store::{JobRecord, RunJobs, StoreError};
use crate::workspace::paths::Workspace;

use super::registry::Registry;
use super::{FileProviders, FileReuse, LedgerFile, attempts, open, overview, pending, snapshot};

/// The runs of a workspace. What it has read of the ledger it keeps: one is made for each question of a person.
pub struct FileRuns {
    workspace: Workspace,
    clock: Arc<dyn Clock>,
    ledger: OnceLock<Ledger>,
}

impl FileRuns {
    /// Looks at the runs of a workspace; reads nothing yet.
    pub fn new(workspace: Workspace, clock: Arc<dyn Clock>) -> Self {
        Self {
            workspace,
            clock,
            ledger: OnceLock::new(),
        }
    }

    fn ledger(&self) -> Result<&Ledger, StoreError> {
        if let Some(ledger) = self.ledger.get() {
            return Ok(ledger);
        }
        let read = LedgerFile::read(&self.workspace)?;
        Ok(self.ledger.get_or_init(|| read))
    }

    /// Names the jobs that are shown one by one, from the manifest; what cannot be read has no names.
    fn name_jobs(&self, run: &RunId, seen: &mut Overview) {
        let running = seen.running.iter().map(|job| &job.job_id);
        let failed = seen.failures.iter().map(|job| &job.job_id);
        let shown: HashSet<&JobId> = running.chain(failed).collect();
        if shown.is_empty() {
            return;
        }
        let manifest = manifest::read(&self.workspace.run(run));
        let rows = manifest.map(|manifest| manifest.rows).unwrap_or_default();
        let rows = rows.into_iter().filter(|row| shown.contains(&row.job_id));
        let names: HashMap<JobId, JobName> = rows.map(ManifestRow::named).collect();
        let name = |job: &JobId| names.get(job).cloned().unwrap_or_default();
        for job in &mut seen.running {
            job.name = name(&job.job_id);
        }
        for job in &mut seen.failures {
            job.name = name(&job.job_id);
        }
    }
}

impl Runs for FileRuns {
    fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }

    fn rhythm(&self, _run: &RunId) -> Result<Rhythm, StoreError> {
        Ok(Rhythm::default())
    }

    fn overview(&self, run: &RunId) -> Result<Overview, StoreError> {
        let (now, rhythm) = (self.clock.now(), Rhythm::default());
        let (seen, ledger) = rayon::join(
            || overview::overview(&self.workspace, run, rhythm, now),
            || LedgerFile::read_by_job(&self.workspace, run),
        );
        let ((mut seen, index), ledger) = (seen?, ledger?);
        for (job, usd) in ledger.spent_by_job() {
            let algo = index.of(job);
            let algo = algo.and_then(|algo| seen.algos.iter_mut().find(|one| one.algo == algo));
            *algo.map_or(&mut seen.not_registered_usd, |algo| &mut algo.spent_usd) += usd;
        }
        seen.balance = ledger.balance(run, now);
        self.name_jobs(run, &mut seen);
        Ok(seen)
    }

    fn counts(&self, run: &RunId) -> Result<RunCounts, StoreError> {
        let counted = super::runs::runs(&self.workspace)?;
        if let Some(found) = counted.into_iter().find(|one| one.run == run.as_str()) {
            return Ok(found);
        }
        let mut registry = Registry::new(self.workspace.registry(), "reader");
        open::check_run(
            &mut registry,
            &self.workspace,
            run,
            &self.workspace.run(run),
        )?;
        Ok(RunCounts {
            run: run.to_string(),
            ..RunCounts::default()
        })
    }

    fn jobs(&self, run: &RunId, rhythm: Rhythm) -> Result<RunJobs, StoreError> {
        snapshot::read_run(&self.workspace, run, rhythm, self.clock.now())
    }

    fn jobs_like(&self, run: &RunId, word: &str) -> Result<Vec<JobRecord>, StoreError> {
        let jobs = self.jobs(run, Rhythm::default())?.jobs;
        let meant = may_mean(&jobs, word, |job| {
            (job.job_id.as_str(), &job.product_id, &job.variant)
        });
        Ok(meant.into_iter().cloned().collect())
    }

    fn attempts(&self, run: &RunId, only: Option<&JobId>) -> Result<RunAttempts, StoreError> {
        let now = self.clock.now();
        let mut found = attempts::attempts(&self.workspace, run, Rhythm::default(), now)?;
        if let Some(only) = only {
            found.attempts.retain(|attempt| attempt.job_id == *only);
            found.jobs.retain(|(job, _)| job == only);
        }
        Ok(found)
    }

    fn recorded_attempts(&self, run: &RunId) -> Result<RunAttempts, StoreError> {
        attempts::all_attempts(&self.workspace, run, Rhythm::default(), self.clock.now())
    }

    fn algos(&self, run: &RunId) -> Result<AlgoIndex, StoreError> {
        overview::algo_index(&self.workspace, run)
    }

    fn money(&self, run: &RunId) -> Result<RunMoney, StoreError> {
        let (ledger, now) = (self.ledger()?, self.clock.now());
        let reserved = ledger.open(run).into_iter().map(|(attempt_key, usd)| {
            let today = ledger
                .reserved_today(run, &attempt_key.job_id, now)
                .is_some();
            (
                attempt_key.job_id.clone(),
                Reserved {
                    attempt_key,
                    usd,
                    today,
                },
            )
        });
        let by_hand: Vec<_> = ledger.by_hand(run).cloned().collect();
        Ok(RunMoney {
            balance: ledger.balance(run, now),
            reserved: reserved.collect(),
            settled: if by_hand.is_empty() {
                HashSet::new()
            } else {
                ledger.settled().cloned().collect()
            },
            by_hand,
        })
    }

    fn settle_by_hand(&self, run: &RunId, job: &JobId, usd: f64) -> Result<(), StoreError> {
        let mut file = LedgerFile::new(&self.workspace);
        let path = file.path().to_owned();
        let settled = file.settle_by_hand(run, job, usd, self.clock.now());
        settled.map(drop).map_err(|error| StoreError::Content {
            what: format!("cannot be written: {error}"),
            path,
            hint: "nothing was settled".into(),
        })
    }

    fn highest_costs(&self, run: &RunId) -> Result<HashMap<String, f64>, StoreError> {
        highest_costs(&self.workspace, self.ledger()?, run, self.clock.now())
    }

    fn closed(&self, what: Closable) -> Result<Vec<Closure>, StoreError> {
        FileProviders::new(&self.workspace).all_closed(what, self.clock.now())
    }

    fn open(&self, what: Closable, key: &AlgoKey) -> Result<bool, StoreError> {
        FileProviders::new(&self.workspace).open(what, key)
    }

    fn medians(&self) -> Result<HashMap<String, f64>, StoreError> {
        if !self.workspace.registry().exists() {
            // A workspace without a run has no past.
            return Ok(HashMap::new());
        }
        let algos = overview::past_durations(&self.workspace)?.into_iter();
        Ok(algos
            .filter_map(|algo| Some((algo.algo, algo.took?.median_s)))
            .collect())
    }

    fn unpublished(&self, run: &RunId) -> Result<HashMap<JobId, u32>, StoreError> {
        pending::unpublished(&self.workspace, run)
    }

    fn reuse(&self) -> Arc<dyn ReuseIndex> {
        Arc::new(FileReuse::new(self.workspace.clone()))
    }
}

/// Returns what jobs of each algorithm turned out to cost where that was more than had been reserved: of a run, and of
/// every run today.
pub(super) fn highest_costs(
    workspace: &Workspace,
    ledger: &Ledger,
    run: &RunId,
    now: Timestamp,
) -> Result<HashMap<String, f64>, StoreError> {
    let mut highest = HashMap::new();
    let name = |run: &RunId, job: &JobId| (run.to_string(), job.to_string());
    let higher = || ledger.higher_costs(run, now);
    let wanted: BTreeSet<_> = higher().map(|(run, job, _)| name(run, job)).collect();
    if wanted.is_empty() {
        return Ok(highest);
    }
    let algos = overview::algos_of(workspace, &wanted)?;
    for (run, job, usd) in higher() {
        if let Some(algo) = algos.get(&name(run, job)) {
            let most = highest.entry(algo.clone()).or_insert(usd);
            *most = most.max(usd);
        }
    }
    Ok(highest)
}
