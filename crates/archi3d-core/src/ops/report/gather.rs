//! From the tables to what a report shows. Reads tables and journals; the models and
//! pictures themselves are looked at elsewhere.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::domain::id::RunId;
use crate::domain::job::{JobState, Status};
use crate::domain::lease::Rhythm;
use crate::domain::money::Usd;
use crate::domain::naming::GENERATED_GLB;
use crate::domain::patch::DRY_RUN;
use crate::ops::compute;
use crate::ops::cost::{self, JobCost};
use crate::ops::judge;
use crate::ops::report::chosen::Candidate;
use crate::ops::report::data::{
    Accept, Algo, Cost, Data, Item, Job, LeftOut, Measure, Ranked, Ranking, Rehearsed, Run, SCHEMA,
};
use crate::ops::report::row::{CATEGORIES, COLUMNS, Row};
use crate::ops::report::{ReportRequest, setup};
use crate::ops::view::cost::By;
use crate::ops::{OpsContext, OpsError};
use crate::store::table_file::{self, Columns};
use crate::store::{JobRecord, JobSnapshot, consumed};

/// A report before anybody has looked at its models and pictures.
pub(super) struct Gathered {
    pub(super) data: Data,
    /// For each job, what it made as the table names it.
    pub(super) models: Vec<ModelFiles>,
    /// For each item, its pictures and its real model as the table names them.
    pub(super) items: Vec<ItemFiles>,
    pub(super) warnings: Vec<String>,
}

/// What a job made, as the table names it; empty where there is nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelFiles {
    pub(super) model: String,
    pub(super) preview: String,
}

/// The files of an item, as the table names them.
#[derive(Debug, Clone, Default)]
pub(super) struct ItemFiles {
    pub(super) pictures: Vec<String>,
    pub(super) truth: String,
}

/// Reads everything that the runs asked for tell.
pub(super) fn gather(context: &OpsContext, request: &ReportRequest) -> Result<Gathered, OpsError> {
    let registry = context.workspace.registry();
    let table = table_file::read(&registry)?.ok_or_else(|| {
        setup(
            "there is no tables/generations.csv yet",
            "archi3d batch create makes it",
        )
    })?;
    let columns = Columns::find(&table, COLUMNS);
    let wanted: HashSet<&str> = request.all_runs().map(RunId::as_str).collect();
    let mut gathering = Gathering::new(context, request)?;
    let row = |number| Row {
        table: &table,
        columns: &columns,
        number,
    };
    let rows: Vec<Row<'_>> = (0..table.len())
        .map(row)
        .filter(|row| wanted.contains(row.text("run_id").as_str()))
        .collect();
    let candidates: Vec<Candidate> = rows.iter().map(|row| gathering.candidate(row)).collect();
    gathering
        .warnings
        .extend(request.chosen.unmatched(&candidates));
    let chosen = request.chosen.of(&candidates);
    let options = request.chosen.options();
    if !chosen.contains(&true) && !options.is_empty() {
        let said = gathering.warnings.join("; ");
        let said = if said.is_empty() {
            said
        } else {
            format!(": {said}")
        };
        return Err(setup(
            &format!("no job fits {options}{said}"),
            "`archi3d run status --list` shows the jobs of a run",
        ));
    }
    for ((row, candidate), chosen) in rows.iter().zip(&candidates).zip(chosen) {
        let spent = gathering.take_cost(row, chosen);
        if chosen {
            gathering.add(row, &candidate.state, spent);
        } else {
            gathering.not_chosen += 1;
        }
    }
    if options.is_empty() {
        gathering.take_remaining_costs();
    }
    gathering.finish(request)
}

/// How a job stands, as `run status` says it.
struct Stands {
    state: String,
    is_rehearsed: bool,
}

struct Gathering<'a> {
    context: &'a OpsContext,
    stands: HashMap<(String, String), Stands>,
    costs: HashMap<(String, String), JobCost>,
    reserved: HashMap<(String, String), Usd>,
    lines: BTreeMap<(String, String), Cost>,
    places: HashMap<(String, String), usize>,
    items: Vec<Item>,
    files: Vec<ItemFiles>,
    jobs: Vec<Job>,
    models: Vec<ModelFiles>,
    created: BTreeMap<String, String>,
    rehearsed: Vec<Rehearsed>,
    not_chosen: usize,
    not_registered: usize,
    accepts: Vec<Accept>,
    warnings: Vec<String>,
}

impl<'a> Gathering<'a> {
    fn new(context: &'a OpsContext, request: &ReportRequest) -> Result<Self, OpsError> {
        let verdicts = judge::verdicts(context)?;
        let wanted: HashSet<&str> = request.all_runs().map(RunId::as_str).collect();
        let of_runs = verdicts
            .into_iter()
            .filter(|one| wanted.contains(one.run_id.as_str()));
        let mut gathering = Self {
            context,
            stands: HashMap::new(),
            costs: HashMap::new(),
            reserved: HashMap::new(),
            lines: BTreeMap::new(),
            places: HashMap::new(),
            items: Vec::new(),
            files: Vec::new(),
            jobs: Vec::new(),
            models: Vec::new(),
            created: BTreeMap::new(),
            rehearsed: Vec::new(),
            not_chosen: 0,
            not_registered: 0,
            accepts: of_runs
                .map(|one| Accept {
                    job_id: one.job_id,
                    run_id: one.run_id,
                    judge: one.judge,
                    accepted: one.accepted,
                })
                .collect(),
            warnings: Vec::new(),
        };
        for run in request.all_runs() {
            gathering.read_run(run)?;
        }
        Ok(gathering)
    }

    fn read_costs(&mut self, run: &RunId) -> Result<(), OpsError> {
        let report = cost::cost_report(self.context, Some(run), By::Run, false)?;
        self.warnings.extend(report.warnings);
        for open in &report.ledger.open {
            let key = (run.to_string(), open.job_id.to_string());
            *self.reserved.entry(key).or_default() += Usd::of(open.usd);
        }
        for (job, cost) in cost::by_job(self.context, run)? {
            self.costs.insert((run.to_string(), job.to_string()), cost);
        }
        Ok(())
    }

    fn read_run(&mut self, run: &RunId) -> Result<(), OpsError> {
        let context = self.context;
        match self.read_costs(run) {
            // What was pulled can be looked at without the fleet.
            Err(error) if context.workspace.run(run).in_fleet() => {
                let what = format!("what run {run} has cost is missing here: {error}");
                self.warnings.push(what);
            }
            read => read?,
        }
        let runs = context.local().runs()?;
        match runs.jobs(run, Rhythm::default()) {
            Ok(jobs) => consumed(jobs.jobs).for_each(|job| self.note_standing(run, &job)),
            Err(error) => self.warnings.push(format!(
                "states are those of the table alone, because run {run} cannot be read: {error}"
            )),
        }
        Ok(())
    }

    fn note_standing(&mut self, run: &RunId, job: &JobRecord) {
        let state = match &job.snapshot {
            JobSnapshot::Known { state, .. } => state,
            JobSnapshot::NotRegistered => {
                self.not_registered += 1;
                return;
            }
            JobSnapshot::Unknown(_) | JobSnapshot::NotInManifest | JobSnapshot::Renamed => return,
        };
        let stands = Stands {
            state: state.status().to_string(),
            is_rehearsed: matches!(
                state,
                JobState::Completed {
                    simulated: true,
                    ..
                }
            ),
        };
        let key = (run.to_string(), job.job_id.to_string());
        self.stands.insert(key, stands);
    }

    fn candidate(&self, row: &Row<'_>) -> Candidate {
        let stands = self.stands.get(&row.key());
        Candidate {
            job_id: row.text("job_id"),
            product: row.text("product_id"),
            variant: row.text("variant"),
            algo: row.text("algo"),
            state: stands.map_or_else(|| row.text("status"), |stands| stands.state.clone()),
            categories: CATEGORIES.map(|level| row.text(level)),
        }
    }

    /// Takes a row's money, so that what remains belongs to no row; it counts if the
    /// row is `chosen`, rehearsed or not.
    fn take_cost(&mut self, row: &Row<'_>, chosen: bool) -> JobCost {
        let key = row.key();
        let cost = self.costs.remove(&key).unwrap_or_default();
        let reserved = self.reserved.remove(&key).unwrap_or_default();
        if chosen {
            self.count(key.0, row.text("algo"), cost, reserved);
        }
        cost
    }

    fn take_remaining_costs(&mut self) {
        let mut remaining: BTreeMap<String, (JobCost, Usd)> = BTreeMap::new();
        for ((run, _), cost) in std::mem::take(&mut self.costs) {
            let (sum, _) = remaining.entry(run).or_default();
            sum.billed = Some(sum.billed.unwrap_or_default() + cost.billed.unwrap_or_default());
            sum.unknown += cost.unknown;
        }
        for ((run, _), usd) in std::mem::take(&mut self.reserved) {
            remaining.entry(run).or_default().1 += usd;
        }
        for (run, (cost, reserved)) in remaining {
            if cost.billed != Some(Usd::ZERO) || cost.unknown > 0 || reserved != Usd::ZERO {
                self.count(run, cost::NOT_REGISTERED.to_owned(), cost, reserved);
            }
        }
    }

    fn count(&mut self, run_id: String, algo: String, cost: JobCost, reserved: Usd) {
        let key = (run_id.clone(), algo.clone());
        let line = self.lines.entry(key).or_insert(Cost {
            run_id,
            algo,
            spent_micros: 0,
            reserved_micros: 0,
            unknown: 0,
        });
        line.spent_micros += cost.billed.unwrap_or_default().micros();
        line.reserved_micros += reserved.micros();
        line.unknown += cost.unknown;
    }

    fn add(&mut self, row: &Row<'_>, state: &str, cost: JobCost) {
        let (run, job_id) = row.key();
        let is_completed = state == Status::Completed.word();
        let known = self.stands.get(&(run.clone(), job_id.clone()));
        let is_rehearsed = known.is_some_and(|stands| stands.is_rehearsed)
            || is_completed && row.text("price_source") == DRY_RUN;
        if is_rehearsed {
            self.rehearsed.push(Rehearsed {
                run_id: run,
                product_id: row.text("product_id"),
                variant: row.text("variant"),
                algo: row.text("algo"),
            });
            return;
        }
        let created = row.text("created_at");
        let first = self
            .created
            .entry(run.clone())
            .or_insert_with(|| created.clone());
        if !created.is_empty() && (first.is_empty() || created < *first) {
            *first = created;
        }
        let error = Some(row.text("error_msg")).filter(|text| !text.is_empty() && !is_completed);
        let item = self.item(row);
        let model = Some(row.text("gen_object_path")).filter(|path| !path.is_empty());
        // What a worker made and died before noting in the table lies where it belongs.
        let usual = || format!("runs/{run}/outputs/{job_id}/{GENERATED_GLB}");
        self.models.push(ModelFiles {
            model: if is_completed {
                model.unwrap_or_else(usual)
            } else {
                String::new()
            },
            preview: row.text("preview_1_path"),
        });
        self.jobs.push(Job {
            run_id: run,
            item,
            algo: row.text("algo"),
            state: state.to_owned(),
            error_class: cost
                .class
                .filter(|_| error.is_some())
                .map(|class| class.word().to_owned()),
            error,
            seconds: row.number("generation_duration_s"),
            cost_micros: cost.billed.map(Usd::micros),
            attempts: cost.attempts,
            model: None,
            score: row.score(),
            measures: self.measures(row),
            job_id,
        });
    }

    /// Reads what the scorers of this workspace wrote into a row.
    fn measures(&self, row: &Row<'_>) -> Vec<Measure> {
        let cell = |column: &str| {
            let text = row.table.text(row.number, row.table.column(column)?);
            text.ok().map(std::borrow::Cow::into_owned)
        };
        let prefixes = self.context.settings.scorers.iter().map(compute::prefix_of);
        let prefixes: Vec<&str> = prefixes.collect();
        let owner = |name: &str| {
            let fitting = prefixes.iter().filter(|prefix| name.starts_with(**prefix));
            fitting.max_by_key(|prefix| prefix.len()).copied()
        };
        let mut found = Vec::new();
        for prefix in prefixes.iter().copied() {
            if cell(&format!("{prefix}_status")).as_deref() != Some("ok") {
                continue;
            }
            let of = cell(&format!("{prefix}_model_sha256")).unwrap_or_default();
            for name in row.table.columns() {
                let is_own = name.strip_prefix(prefix).is_some_and(|rest| {
                    !compute::BOOKKEEPING.contains(&rest) && owner(name) == Some(prefix)
                });
                let value = cell(name).filter(|value| is_own && !value.is_empty());
                found.extend(value.map(|value| Measure {
                    name: name.clone(),
                    value,
                    of: of.clone(),
                }));
            }
        }
        found
    }

    fn item(&mut self, row: &Row<'_>) -> usize {
        let key = (row.text("product_id"), row.text("variant"));
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        let category = CATEGORIES
            .iter()
            .map(|level| row.text(level))
            .find(|text| !text.is_empty());
        self.items.push(Item {
            product_id: key.0.clone(),
            variant: key.1.clone(),
            name: row.text("product_name"),
            category: category.unwrap_or_default(),
            pictures: Vec::new(),
            missing: 0,
            truth: None,
        });
        self.files.push(ItemFiles {
            pictures: (1..=6)
                .map(|number| row.text(&format!("used_image_{number}_path")))
                .filter(|path| !path.is_empty())
                .collect(),
            truth: row.text("gt_object_path"),
        });
        let place = self.items.len() - 1;
        self.places.insert(key, place);
        place
    }

    fn finish(self, request: &ReportRequest) -> Result<Gathered, OpsError> {
        let rankings = self.rankings(request)?;
        let mut algos: Vec<String> = Vec::new();
        for job in &self.jobs {
            if !algos.contains(&job.algo) {
                algos.push(job.algo.clone());
            }
        }
        algos.sort();
        let configured = &self.context.settings.algos;
        let price = |algo: &str| {
            let known = configured.iter().find(|known| known.key.as_str() == algo);
            known.and_then(|settings| settings.unit_price_usd)
        };
        let runs: Vec<Run> = request
            .all_runs()
            .map(|run| Run {
                run_id: run.to_string(),
                created_at: self
                    .created
                    .get(run.as_str())
                    .cloned()
                    .filter(|at| !at.is_empty()),
            })
            .collect();
        let left_out = [
            (self.rehearsed.len(), "only rehearsed, not made".to_owned()),
            (
                self.not_chosen,
                format!("not chosen by {}", request.chosen.options()),
            ),
            (
                self.not_registered,
                "in the manifest of the run, but not in tables/generations.csv".to_owned(),
            ),
        ];
        let left_out = left_out.into_iter().filter(|(jobs, _)| *jobs > 0);
        Ok(Gathered {
            data: Data {
                schema: SCHEMA,
                made_at: self.context.clock.now().iso(),
                archi3d: env!("CARGO_PKG_VERSION"),
                title: request.title(),
                runs,
                against: request.against.as_ref().map(ToString::to_string),
                algos: algos
                    .into_iter()
                    .map(|algo| Algo {
                        unit_price_usd: price(&algo),
                        algo,
                    })
                    .collect(),
                items: self.items,
                jobs: self.jobs,
                costs: self.lines.into_values().collect(),
                accepts: self.accepts,
                rankings,
                left_out: left_out
                    .map(|(jobs, reason)| LeftOut { reason, jobs })
                    .collect(),
                rehearsed: self.rehearsed,
                notes: Vec::new(),
            },
            models: self.models,
            items: self.files,
            warnings: self.warnings,
        })
    }

    /// Ranks the algorithms of each run by the votes on the jobs that are shown.
    fn rankings(&self, request: &ReportRequest) -> Result<Vec<Ranking>, OpsError> {
        let shown = self.jobs.iter();
        let shown: HashMap<(&str, &str), &str> = shown
            .map(|job| {
                (
                    (job.run_id.as_str(), job.job_id.as_str()),
                    job.algo.as_str(),
                )
            })
            .collect();
        let mut rankings = Vec::new();
        for run in request.all_runs() {
            let algo_of = |of: &str, job: &str| {
                let known = shown.get(&(of, job)).filter(|_| of == run.as_str());
                known.map(|algo| (*algo).to_owned())
            };
            let modes = judge::rankings(self.context, &algo_of)?;
            rankings.extend(modes.into_iter().map(|pairs| ranking(run, pairs)));
        }
        Ok(rankings)
    }
}

fn ranking(run: &RunId, pairs: judge::Pairs) -> Ranking {
    let mut algos: Vec<Ranked> = pairs
        .standings
        .into_iter()
        .map(|(algo, standing)| Ranked {
            algo,
            points: standing.points,
            interval: standing.interval,
            best: standing.best,
            votes: standing.votes,
        })
        .collect();
    algos.sort_by(|a, b| b.points.total_cmp(&a.points).then(a.algo.cmp(&b.algo)));
    Ranking {
        run_id: run.to_string(),
        mode: pairs.mode,
        votes: pairs.votes,
        both_unusable: pairs.both_unusable,
        agreement: pairs.agreement,
        unconnected: pairs.unconnected,
        algos,
    }
}
