//! `judge`: votes on pairs and verdicts on single models, kept in two tables that only
//! grow, and what they come to.
//!
//! `tables/votes.csv` and `tables/accepts.csv` are merged by the id that each vote got
//! where it was cast: importing a file twice, or on two machines, changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::domain::id::RunId;
use crate::domain::money::Usd;
use crate::domain::nearest::suggestion;
use crate::domain::rank::Standing;
use crate::domain::time::Timestamp;
use crate::ops::cost;
use crate::ops::view::cost::By;
use crate::ops::{OpsContext, OpsError};
use crate::store::bounds;
use crate::store::table_file::{self, Columns};
use crate::table::Table;

mod import;
mod pairs;

pub use import::{Imported, add, import};
pub use pairs::Pairs;

/// How models are drawn for judging unless somebody asks for something else.
const TEXTURED: &str = "textured";

/// The answer of a row that takes back what its judge said of the same thing before.
const WITHDRAWN: &str = "withdrawn";

/// The columns of `tables/votes.csv`.
pub const VOTE_COLUMNS: &[&str] = &[
    "vote_id",
    "at",
    "judge",
    "run_id_a",
    "job_a",
    "run_id_b",
    "job_b",
    "item",
    "mode",
    "side_of_a",
    "answer",
    "ms",
    "seed",
];

/// The columns of `tables/accepts.csv`.
pub const ACCEPT_COLUMNS: &[&str] = &[
    "accept_id",
    "at",
    "judge",
    "run_id",
    "job_id",
    "item",
    "accepted",
    "reason",
];

/// Which of the two tables a file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Votes,
    Accepts,
}

impl Kind {
    fn of(table: &Table) -> Option<Self> {
        if table
            .require(&["vote_id", "job_a", "job_b", "answer"])
            .is_ok()
        {
            return Some(Self::Votes);
        }
        let accepts = table.require(&["accept_id", "job_id", "accepted"]);
        accepts.is_ok().then_some(Self::Accepts)
    }

    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Votes => VOTE_COLUMNS,
            Self::Accepts => ACCEPT_COLUMNS,
        }
    }

    fn path(self, context: &OpsContext) -> PathBuf {
        context.workspace.tables().join(match self {
            Self::Votes => "votes.csv",
            Self::Accepts => "accepts.csv",
        })
    }

    /// Returns the jobs that a row is about.
    fn jobs(self, row: &[String]) -> Vec<(String, String)> {
        let places: &[(usize, usize)] = match self {
            Self::Votes => &[(3, 4), (5, 6)],
            Self::Accepts => &[(3, 4)],
        };
        let jobs = places.iter();
        jobs.map(|(run, job)| (row[*run].clone(), row[*job].clone()))
            .collect()
    }

    /// Returns the columns that make up what a row says.
    fn meaning(self) -> &'static [usize] {
        match self {
            Self::Votes => &[2, 3, 4, 5, 6, 8, 10],
            Self::Accepts => &[2, 3, 4, 6],
        }
    }

    /// Returns the answer of a row.
    fn said(self, row: &[String]) -> &str {
        match self {
            Self::Votes => &row[10],
            Self::Accepts => &row[6],
        }
    }

    /// Tells what is wrong with a row, if anything.
    fn fault(self, row: &[String]) -> Option<String> {
        let known: &[&str] = match self {
            Self::Votes => &["a", "b", "tie", "none", WITHDRAWN],
            Self::Accepts => &["yes", "no", WITHDRAWN],
        };
        let said = self.said(row);
        if row[0].trim().is_empty() {
            return Some("it has no id".to_owned());
        }
        (!known.contains(&said))
            .then(|| format!("it says {said:?}, not one of {}", known.join(", ")))
    }
}

/// One verdict on one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// The run.
    pub run_id: String,
    /// The job.
    pub job_id: String,
    /// Who judged.
    pub judge: String,
    /// Whether it would be used as it is.
    pub accepted: bool,
}

/// Returns what each judge said last of each model.
pub fn verdicts(context: &OpsContext) -> Result<Vec<Acceptance>, OpsError> {
    let verdicts = last_words(context, Kind::Accepts)?
        .into_iter()
        .map(|row| Acceptance {
            run_id: row[3].clone(),
            job_id: row[4].clone(),
            judge: row[2].clone(),
            accepted: row[6] == "yes",
        });
    Ok(verdicts.collect())
}

/// Returns the rows of both tables, votes first, each as an object with the names of the columns.
pub fn all_rows(context: &OpsContext) -> Result<[Vec<Map<String, Value>>; 2], OpsError> {
    let of = |kind: Kind| -> Result<Vec<Map<String, Value>>, OpsError> {
        let rows = rows_of(context, kind)?.into_iter();
        let object = |row: Vec<String>| {
            let names = kind.columns().iter().map(ToString::to_string);
            names.zip(row.into_iter().map(Value::String)).collect()
        };
        Ok(rows.map(object).collect())
    };
    Ok([of(Kind::Votes)?, of(Kind::Accepts)?])
}

/// Ranks the algorithms of a report's models, those drawn in each way apart. `algo_of`
/// knows the models.
pub fn rankings(
    context: &OpsContext,
    algo_of: &dyn Fn(&str, &str) -> Option<String>,
) -> Result<Vec<Pairs>, OpsError> {
    let votes = last_words(context, Kind::Votes)?;
    let modes: BTreeSet<&str> = votes.iter().map(|vote| vote[8].as_str()).collect();
    let ranked = modes
        .iter()
        .rev()
        .map(|mode| Pairs::of(&votes, mode, algo_of));
    Ok(ranked
        .filter(|one| one.votes + one.both_unusable > 0)
        .collect())
}

/// Which votes count.
#[derive(Debug, Clone, Default)]
pub struct RankRequest {
    /// Only models of this run.
    pub run: Option<RunId>,
    /// Only votes on models drawn so (`textured`, `clay`); textured unless said.
    pub mode: Option<String>,
    /// Only items of this category.
    pub category: Option<String>,
}

/// How one algorithm stands.
#[derive(Debug, Clone)]
pub struct Ranked {
    /// Its key.
    pub algo: String,
    /// How it stands among those that votes connect it with.
    pub standing: Option<Standing>,
    /// Models with a verdict, by what most judges say.
    pub judged: usize,
    /// Of these, the accepted.
    pub accepted: usize,
    /// What was spent on it in the runs that were judged.
    pub spent: Usd,
    /// Models that were made in those runs.
    pub made: usize,
}

impl Ranked {
    /// Returns what one accepted model costs: what was spent, over the models that would
    /// be accepted if those not judged are like those that were.
    pub fn per_accepted_usd(&self) -> Option<f64> {
        let share = self.accepted as f64 / self.judged.max(1) as f64;
        let expected = share * self.made as f64;
        (expected > 0.0).then(|| self.spent.dollars() / expected)
    }
}

/// What judging came to.
#[derive(Debug, Clone, Default)]
pub struct Ranking {
    /// The algorithms, best first; those that cannot be ranked last.
    pub algos: Vec<Ranked>,
    /// What the votes on pairs came to.
    pub pairs: Pairs,
    /// Votes on models drawn in other ways, by how.
    pub other_modes: Vec<(String, usize)>,
}

/// What is known of a job that was judged.
struct Judged {
    algo: String,
    /// Its category, from the closest to the widest.
    categories: [String; 3],
}

/// Sums votes and verdicts up.
pub fn ranking(context: &OpsContext, request: &RankRequest) -> Result<Ranking, OpsError> {
    context.expect_workspace()?;
    let votes = last_words(context, Kind::Votes)?;
    let accepts = last_words(context, Kind::Accepts)?;
    let jobs = judged_jobs(context)?;
    refuse_unknown(context, request, &jobs, &votes)?;
    let fits = |run: &str, job: &str| {
        let known = jobs.get(&(run.to_owned(), job.to_owned()))?;
        let in_run = request
            .run
            .as_ref()
            .is_none_or(|wanted| wanted.as_str() == run);
        let wanted = request.category.as_ref();
        let in_category = wanted.is_none_or(|wanted| known.categories.contains(wanted));
        (in_run && in_category).then_some(known)
    };
    let algo_of = |run: &str, job: &str| fits(run, job).map(|known| known.algo.clone());
    let mut modes: BTreeMap<&str, usize> = BTreeMap::new();
    for vote in &votes {
        if algo_of(&vote[3], &vote[4]).is_some() {
            *modes.entry(&vote[8]).or_default() += 1;
        }
    }
    let mode = match &request.mode {
        Some(mode) => mode.as_str(),
        None if modes.contains_key(TEXTURED) => TEXTURED,
        None => modes.keys().next().copied().unwrap_or(TEXTURED),
    };
    let pairs = Pairs::of(&votes, mode, &algo_of);
    let others = modes.iter().filter(|(other, _)| **other != mode);
    let mut ranking = Ranking {
        other_modes: others
            .map(|(mode, votes)| ((*mode).to_owned(), *votes))
            .collect(),
        ..Ranking::default()
    };
    let mut algos: BTreeSet<String> = pairs.algos.iter().cloned().collect();
    let mut verdicts: BTreeMap<(String, String), i64> = BTreeMap::new();
    for accept in &accepts {
        if let Some(known) = fits(&accept[3], &accept[4]) {
            algos.insert(known.algo.clone());
            let verdict = verdicts
                .entry((accept[3].clone(), accept[4].clone()))
                .or_default();
            *verdict += if accept[6] == "yes" { 1 } else { -1 };
        }
    }
    let spent = spent(context, request, &votes, &accepts)?;
    for algo in &algos {
        let of_algo =
            |key: &(String, String)| jobs.get(key).is_some_and(|known| known.algo == *algo);
        let of_algo = verdicts.iter().filter(|(key, _)| of_algo(key));
        let said: Vec<bool> = of_algo.map(|(_, sum)| *sum > 0).collect();
        let (spent, made) = spent.get(algo).copied().unwrap_or_default();
        ranking.algos.push(Ranked {
            algo: algo.clone(),
            standing: pairs.standings.get(algo).copied(),
            judged: said.len(),
            accepted: said.iter().filter(|accepted| **accepted).count(),
            spent,
            made,
        });
    }
    let points = |one: &Ranked| {
        one.standing
            .map_or(f64::NEG_INFINITY, |standing| standing.points)
    };
    ranking
        .algos
        .sort_by(|a, b| points(b).total_cmp(&points(a)));
    ranking.pairs = pairs;
    Ok(ranking)
}

fn rows_of(context: &OpsContext, kind: Kind) -> Result<Vec<Vec<String>>, OpsError> {
    let Some(table) = table_file::read(&kind.path(context))? else {
        return Ok(Vec::new());
    };
    let columns = Columns::find(&table, kind.columns());
    let rows = (0..table.len()).filter_map(|row| {
        (0..kind.columns().len())
            .map(|index| {
                columns
                    .text(&table, row, index)
                    .ok()
                    .map(std::borrow::Cow::into_owned)
            })
            .collect::<Option<Vec<String>>>()
    });
    Ok(rows.collect())
}

/// Returns what a row is about: the model, or the pair in either order and how it was drawn.
fn unit(row: &[String], kind: Kind) -> String {
    let mut jobs = kind.jobs(row);
    jobs.sort();
    let mode = match kind {
        Kind::Accepts => "",
        Kind::Votes => &row[8],
    };
    format!("{jobs:?} {mode}")
}

/// Returns the rows that count: of what one judge said of one thing, the latest, unless
/// that takes it back.
fn last_words(context: &OpsContext, kind: Kind) -> Result<Vec<Vec<String>>, OpsError> {
    let rows = rows_of(context, kind)?;
    let mut last: HashMap<(String, String), usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        let newest = last
            .entry((row[2].trim().to_owned(), unit(row, kind)))
            .or_insert(at);
        // At the same moment, whoever takes something back had said it before.
        let word = |row: &[String]| kind.said(row) == WITHDRAWN;
        let old = &rows[*newest];
        if (said_at(row), word(row)) >= (said_at(old), word(old)) {
            *newest = at;
        }
    }
    let counts: BTreeSet<usize> = last.into_values().collect();
    let counts = counts.into_iter().map(|at| rows[at].clone());
    Ok(counts.filter(|row| kind.said(row) != WITHDRAWN).collect())
}

/// Returns when a row was said; what tells no time comes before everything that does.
fn said_at(row: &[String]) -> (Option<Timestamp>, &str) {
    let at = Timestamp::parse(&row[1]);
    (at, if at.is_some() { "" } else { &row[1] })
}

/// Refuses to rank what is not there.
fn refuse_unknown(
    context: &OpsContext,
    request: &RankRequest,
    jobs: &HashMap<(String, String), Judged>,
    votes: &[Vec<String>],
) -> Result<(), OpsError> {
    let refused = |message: String, hint: &str| {
        Err(OpsError::Setup {
            message,
            hint: Some(hint.to_owned()),
        })
    };
    if let Some(run) = &request.run
        && !context.workspace.has_run(run)
        && !jobs.keys().any(|(known, _)| known == run.as_str())
    {
        let message = format!("run {run} does not exist");
        return refused(message, "`archi3d run list` shows the runs");
    }
    let categories = jobs.values().flat_map(|job| &job.categories);
    let categories: BTreeSet<&str> = categories.map(String::as_str).collect();
    if let Some(category) = &request.category
        && (category.is_empty() || !categories.contains(category.as_str()))
    {
        let near = suggestion(
            category,
            categories.into_iter().filter(|one| !one.is_empty()),
        );
        let message = format!("there is no category {category:?}{near}");
        return refused(
            message,
            "tables/items.csv has the category of every product",
        );
    }
    let modes = votes.iter().map(|vote| vote[8].as_str());
    let modes: BTreeSet<&str> = modes.chain([TEXTURED, "clay"]).collect();
    if let Some(mode) = &request.mode
        && !modes.contains(mode.as_str())
    {
        let known: Vec<&str> = modes.into_iter().collect();
        let message = format!("models are not drawn as {mode:?} for judging");
        return refused(message, &format!("known: {}", known.join(", ")));
    }
    Ok(())
}

fn judged_jobs(context: &OpsContext) -> Result<HashMap<(String, String), Judged>, OpsError> {
    let Some(table) = table_file::read(&context.workspace.registry())? else {
        return Ok(HashMap::new());
    };
    let columns = Columns::find(
        &table,
        &[
            "run_id",
            "job_id",
            "algo",
            "category_l3",
            "category_l2",
            "category_l1",
        ],
    );
    let mut jobs = HashMap::new();
    for row in 0..table.len() {
        let text = |index| {
            columns
                .text(&table, row, index)
                .map(std::borrow::Cow::into_owned)
        };
        if let (Ok(run), Ok(job), Ok(algo)) = (text(0), text(1), text(2)) {
            let categories = [3, 4, 5].map(|level| text(level).unwrap_or_default());
            jobs.insert((run, job), Judged { algo, categories });
        }
    }
    Ok(jobs)
}

/// Returns what was spent on each algorithm, and how many models it made, in the runs
/// that were judged.
fn spent(
    context: &OpsContext,
    request: &RankRequest,
    votes: &[Vec<String>],
    accepts: &[Vec<String>],
) -> Result<HashMap<String, (Usd, usize)>, OpsError> {
    let of_votes = votes.iter().flat_map(|vote| [&vote[3], &vote[5]]);
    let runs: BTreeSet<&String> = of_votes
        .chain(accepts.iter().map(|accept| &accept[3]))
        .collect();
    let mut spent: HashMap<String, (Usd, usize)> = HashMap::new();
    for run in runs {
        let Ok(run) = RunId::parse(run) else {
            continue;
        };
        let wanted = request.run.as_ref().is_none_or(|wanted| *wanted == run);
        if !wanted || !context.workspace.has_run(&run) {
            continue;
        }
        bounds::refuse_linked_run(&context.workspace, &run)?;
        for line in cost::cost_report(context, Some(&run), By::Algo, false)?.lines {
            let entry = spent.entry(line.name.1).or_default();
            entry.0 += line.tally.billed_usd;
            entry.1 += line.tally.completed;
        }
    }
    Ok(spent)
}
