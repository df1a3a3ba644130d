//! From the tables to what a report shows. Reads tables and journals; the models and
//! pictures themselves are looked at elsewhere.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::domain::money::Usd;
use crate::domain::patch::DRY_RUN;
use crate::ops::cost::{self, JobCost};
use crate::ops::judge;
use crate::ops::report::data::{
    Accept, Algo, Cost, Data, Item, Job, LeftOut, Pose, Run, SCHEMA, Score,
};
use crate::ops::report::{ReportRequest, setup};
use crate::ops::table_file::{self, Columns};
use crate::ops::view::cost::By;
use crate::ops::{OpsContext, OpsError};
use crate::store::csv::{self, table::Table};

/// A report before anybody has looked at its models and pictures.
pub(super) struct Gathered {
    pub(super) data: Data,
    /// For each job, the model as the table names it.
    pub(super) models: Vec<String>,
    /// For each item, its pictures and its real model as the table names them.
    pub(super) items: Vec<ItemFiles>,
    pub(super) warnings: Vec<String>,
}

/// The files of an item, as the table names them.
#[derive(Debug, Clone, Default)]
pub(super) struct ItemFiles {
    pub(super) pictures: Vec<String>,
    pub(super) truth: String,
}

/// The cells that are read of a row.
const COLUMNS: &[&str] = &[
    "run_id",
    "job_id",
    "product_id",
    "variant",
    "product_name",
    "category_l3",
    "category_l2",
    "category_l1",
    "algo",
    "status",
    "generation_duration_s",
    "gen_object_path",
    "error_msg",
    "price_source",
    "gt_object_path",
    "created_at",
    "used_image_1_path",
    "used_image_2_path",
    "used_image_3_path",
    "used_image_4_path",
    "used_image_5_path",
    "used_image_6_path",
    "fscore",
    "precision",
    "recall",
    "chamfer_l2",
    "fscore_status",
    "fscore_scale",
    "fscore_rot_w",
    "fscore_rot_x",
    "fscore_rot_y",
    "fscore_rot_z",
    "fscore_tx",
    "fscore_ty",
    "fscore_tz",
    "fscore_error",
    "fscore_pose",
    "fscore_pose_margin",
    "fscore_model_sha256",
];

/// One row of the registry by column name.
struct Row<'t> {
    table: &'t Table,
    columns: &'t Columns,
    number: usize,
}

impl Row<'_> {
    fn text(&self, name: &str) -> String {
        let index = COLUMNS.iter().position(|column| *column == name);
        let text = index.and_then(|index| {
            let cell = self.columns.text(self.table, self.number, index);
            cell.ok().map(std::borrow::Cow::into_owned)
        });
        text.unwrap_or_default()
    }

    fn number(&self, name: &str) -> Option<f64> {
        let value: f64 = self.text(name).trim().parse().ok()?;
        value.is_finite().then_some(value)
    }
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
    for number in 0..table.len() {
        let row = Row {
            table: &table,
            columns: &columns,
            number,
        };
        let run = row.text("run_id");
        if wanted.contains(run.as_str()) && request.fits(&row.text("algo"), &row.text("product_id"))
        {
            gathering.add(&row, run);
        }
    }
    Ok(gathering.finish(request))
}

fn key(run: &RunId, job: &JobId) -> (String, String) {
    (run.to_string(), job.to_string())
}

struct Gathering<'a> {
    context: &'a OpsContext,
    costs: HashMap<String, HashMap<JobId, JobCost>>,
    lines: Vec<Cost>,
    places: HashMap<(String, String), usize>,
    items: Vec<Item>,
    files: Vec<ItemFiles>,
    jobs: Vec<Job>,
    models: Vec<String>,
    created: BTreeMap<String, String>,
    rehearsed: usize,
    accepts: Vec<Accept>,
    votes: usize,
    warnings: Vec<String>,
}

impl<'a> Gathering<'a> {
    fn new(context: &'a OpsContext, request: &ReportRequest) -> Result<Self, OpsError> {
        let mut gathering = Self {
            context,
            costs: HashMap::new(),
            lines: Vec::new(),
            places: HashMap::new(),
            items: Vec::new(),
            files: Vec::new(),
            jobs: Vec::new(),
            models: Vec::new(),
            created: BTreeMap::new(),
            rehearsed: 0,
            accepts: Vec::new(),
            votes: 0,
            warnings: Vec::new(),
        };
        let (verdicts, votes) = judge::verdicts(context)?;
        gathering.votes = votes;
        let wanted: HashSet<&str> = request.all_runs().map(RunId::as_str).collect();
        let of_runs = verdicts
            .into_iter()
            .filter(|one| wanted.contains(one.run_id.as_str()));
        gathering.accepts.extend(of_runs.map(|one| Accept {
            job_id: one.job_id,
            run_id: one.run_id,
            judge: one.judge,
            accepted: one.accepted,
        }));
        for run in request.all_runs() {
            let report = cost::cost_report(context, Some(run), By::Algo, false)?;
            gathering.warnings.extend(report.warnings);
            let open = &report.ledger.open;
            let wanted = open.iter().map(|open| key(run, &open.job_id)).collect();
            let algos = csv::algos_of(&context.workspace, &wanted)?;
            let mut reserved: HashMap<String, Usd> = HashMap::new();
            for open in open {
                let algo = algos
                    .get(&key(run, &open.job_id))
                    .cloned()
                    .unwrap_or_default();
                *reserved.entry(algo).or_default() += Usd::of(open.usd);
            }
            let mut lines: BTreeMap<String, (Usd, Usd)> = BTreeMap::new();
            for line in &report.lines {
                let algo = line.name.1.clone();
                lines.entry(algo).or_default().0 += line.tally.billed_usd;
            }
            for (algo, usd) in reserved {
                lines.entry(algo).or_default().1 += usd;
            }
            for (algo, (spent, reserved)) in lines {
                gathering.lines.push(Cost {
                    run_id: run.to_string(),
                    algo,
                    spent_micros: spent.micros(),
                    reserved_micros: reserved.micros(),
                });
            }
            let costs = cost::by_job(context, run)?;
            gathering.costs.insert(run.to_string(), costs);
        }
        Ok(gathering)
    }

    fn add(&mut self, row: &Row<'_>, run: String) {
        let status = row.text("status");
        let is_completed = status == Status::Completed.word();
        if is_completed && row.text("price_source") == DRY_RUN {
            self.rehearsed += 1;
            return;
        }
        let job_id = row.text("job_id");
        let created = row.text("created_at");
        let first = self
            .created
            .entry(run.clone())
            .or_insert_with(|| created.clone());
        if !created.is_empty() && (first.is_empty() || created < *first) {
            *first = created;
        }
        let cost = JobId::parse(&job_id)
            .ok()
            .and_then(|job| self.costs.get(&run)?.get(&job).copied())
            .unwrap_or_default();
        let error = Some(row.text("error_msg")).filter(|text| !text.is_empty() && !is_completed);
        let item = self.item(row);
        self.jobs.push(Job {
            run_id: run,
            item,
            algo: row.text("algo"),
            state: status,
            error_class: cost
                .class
                .filter(|_| error.is_some())
                .map(|class| class.word().to_owned()),
            error,
            seconds: row.number("generation_duration_s"),
            cost_micros: cost.billed.map(Usd::micros),
            attempts: cost.attempts,
            model: None,
            score: score(row),
            job_id,
        });
        self.models.push(if is_completed {
            row.text("gen_object_path")
        } else {
            String::new()
        });
    }

    fn item(&mut self, row: &Row<'_>) -> usize {
        let key = (row.text("product_id"), row.text("variant"));
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        let category = ["category_l3", "category_l2", "category_l1"]
            .iter()
            .map(|level| row.text(level))
            .find(|text| !text.is_empty());
        self.items.push(Item {
            product_id: key.0.clone(),
            variant: key.1.clone(),
            name: row.text("product_name"),
            category: category.unwrap_or_default(),
            pictures: Vec::new(),
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

    fn finish(self, request: &ReportRequest) -> Gathered {
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
        let left_out = (self.rehearsed > 0).then(|| LeftOut {
            reason: "only rehearsed, not made".to_owned(),
            jobs: self.rehearsed,
        });
        Gathered {
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
                costs: self.lines,
                accepts: self.accepts,
                votes: self.votes,
                left_out: left_out.into_iter().collect(),
            },
            models: self.models,
            items: self.files,
            warnings: self.warnings,
        }
    }
}

/// Reads what `compute fscore` wrote into a row.
fn score(row: &Row<'_>) -> Option<Score> {
    let status = row.text("fscore_status");
    if status.is_empty() {
        return None;
    }
    let all = |names: &[&str]| -> Option<Vec<f64>> {
        names.iter().map(|name| row.number(name)).collect()
    };
    let turn = all(&[
        "fscore_rot_w",
        "fscore_rot_x",
        "fscore_rot_y",
        "fscore_rot_z",
    ]);
    let shift = all(&["fscore_tx", "fscore_ty", "fscore_tz"]);
    let pose = row.number("fscore_scale").zip(turn).zip(shift);
    let told = |name: &str| Some(row.text(name)).filter(|text| !text.is_empty());
    Some(Score {
        error: told("fscore_error"),
        stands: told("fscore_pose"),
        margin: row.number("fscore_pose_margin"),
        of: row.text("fscore_model_sha256"),
        fscore: row.number("fscore"),
        precision: row.number("precision"),
        recall: row.number("recall"),
        chamfer_l2: row.number("chamfer_l2"),
        status,
        pose: pose.and_then(|((scale, turn), shift)| {
            Some(Pose {
                scale,
                turn: turn.try_into().ok()?,
                shift: shift.try_into().ok()?,
            })
        }),
    })
}
