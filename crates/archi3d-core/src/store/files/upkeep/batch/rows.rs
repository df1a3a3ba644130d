//! The rows that a batch adds to the registry.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::domain::id::{JobId, RunId};
use crate::domain::item::MAX_IMAGES;
use crate::domain::job::Status;
use crate::domain::naming::StateFile;
use crate::domain::plan::{Plan, PlannedJob};
use crate::domain::text::plural;
use crate::domain::time::Clock;
use crate::store::error::StoreError;
use crate::store::files::{Subject, SubjectColumns, SubjectKey};
use crate::store::table_file;
use crate::table::Table;
use crate::workspace::paths::Workspace;

use super::manifest;

/// The columns of a new registry.
pub(in crate::store::files) const REGISTRY_COLUMNS: &[&str] = &[
    "product_id",
    "variant",
    "manufacturer",
    "product_name",
    "category_l1",
    "category_l2",
    "category_l3",
    "description",
    "source_n_images",
    "source_image_1_path",
    "source_image_2_path",
    "source_image_3_path",
    "source_image_4_path",
    "source_image_5_path",
    "source_image_6_path",
    "gt_object_path",
    "run_id",
    "job_id",
    "algo",
    "algo_version",
    "used_n_images",
    "used_image_1_path",
    "used_image_2_path",
    "used_image_3_path",
    "used_image_4_path",
    "used_image_5_path",
    "used_image_6_path",
    "image_set_hash",
    "status",
    "created_at",
    "notes",
];

/// The columns that make up the key of a row.
pub(super) const KEY_COLUMNS: &[&str] = &["run_id", "job_id"];

/// How many rows are handed to the table at a time: bounds the memory they take.
const AT_A_TIME: usize = 8192;

/// Leaves out of the plan what the run has already.
pub(super) fn leave_out(
    plan: &mut Plan<'_>,
    registry: &mut Table,
    workspace: &Workspace,
    run_id: &RunId,
) -> Result<(), StoreError> {
    let path = &workspace.registry();
    registry
        .require(KEY_COLUMNS)
        .map_err(|error| table_file::content(path, &error))?;
    refuse_cut(registry, path)?;
    let recorded = recorded_ids(plan, workspace, run_id);
    let index = registry.index(run_id.as_str());
    plan.keep_usual_ids(|id| index.first_of(id).is_some() || recorded.contains(id));
    plan.leave_out_existing(|job_id| index.first_of(job_id).is_some());
    let rows: Vec<usize> = index.rows().collect();
    match known_by_another_id(plan, registry, &rows) {
        Some(why) => Err(manifest::refusal(why, path, run_id)),
        None => Ok(()),
    }
}

/// Says which new job the run has already by another id.
fn known_by_another_id(plan: &Plan<'_>, registry: &Table, rows: &[usize]) -> Option<String> {
    if plan.jobs.is_empty() || rows.is_empty() {
        return None;
    }
    let columns = SubjectColumns::of(registry);
    let keys = rows.iter().filter_map(|row| {
        let key = columns.read(registry, *row).key()?;
        Some((key, *row))
    });
    let known: HashMap<SubjectKey, usize> = keys.collect();
    let mut lookalikes = plan.jobs.iter().filter_map(|job| {
        let subject = Subject {
            product_id: job.item.product_id.clone(),
            variant: job.item.variant.clone(),
            algo: job.algo.to_string(),
            images: job.item.images.iter().take(MAX_IMAGES).cloned().collect(),
        };
        Some((job, *known.get(&subject.key()?)?))
    });
    let (job, row) = lookalikes.next()?;
    let cell = registry
        .column("job_id")
        .map(|column| registry.cell(row, column));
    Some(format!(
        "{} another id than the job it is of (such as {} for {})",
        plural(1 + lookalikes.count(), "row has", "rows have"),
        String::from_utf8_lossy(&cell.unwrap_or_default()),
        job.job_id
    ))
}

/// Returns the usual ids that other records of the run have, should its rows be lost: a
/// job keeps its id for life.
fn recorded_ids(plan: &Plan<'_>, workspace: &Workspace, run_id: &RunId) -> HashSet<String> {
    let mut wanted: HashSet<&str> = plan.usual_ids().collect();
    let mut recorded = HashSet::new();
    if wanted.is_empty() {
        return recorded;
    }
    let paths = workspace.run(run_id);
    for path in [paths.manifest(), paths.rows()] {
        // One that cannot be read is told by whoever needs it.
        let Ok(Some(table)) = table_file::read(&path) else {
            continue;
        };
        let Some(column) = table.column("job_id") else {
            continue;
        };
        let ids = (0..table.len()).map(|row| table.cell(row, column));
        let ids = ids.map(|id| String::from_utf8_lossy(&id).into_owned());
        recorded.extend(ids.filter(|id| wanted.contains(id.as_str())));
    }
    wanted.retain(|id| !recorded.contains(*id));
    let marked = wanted.into_iter().filter(|id| {
        JobId::parse(id).is_ok_and(|job| {
            let mut kinds = StateFile::MARKERS.iter();
            kinds.any(|kind| paths.state_file(&job, *kind).exists())
        })
    });
    let marked: Vec<String> = marked.map(str::to_owned).collect();
    recorded.extend(marked);
    recorded
}

/// Refuses a table whose writer died within the last row: half a row is no job,
/// and what is appended would become part of it.
fn refuse_cut(registry: &Table, path: &Path) -> Result<(), StoreError> {
    let last = registry.len().checked_sub(1);
    match last {
        Some(last) if registry.ends_without_line_end() && registry.is_short(last) => {
            Err(StoreError::Content {
                what: format!(
                    "line {}: the last row is cut off, it has fewer cells than the header",
                    registry.line_of(last)
                ),
                path: path.to_owned(),
                hint: "restore the file from a backup, or remove that line; \
                       the same command then creates its job again"
                    .to_owned(),
            })
        }
        _ => Ok(()),
    }
}

/// Adds the plan's jobs to the registry. A column is added only if it is missing
/// and a new row has something to say in it.
pub(super) fn append(registry: &mut Table, plan: &Plan<'_>, run_id: &RunId, clock: &dyn Clock) {
    let used: Vec<bool> =
        plan.jobs
            .iter()
            .fold(vec![false; REGISTRY_COLUMNS.len()], |mut used, job| {
                for (column, _) in job_cells(job, run_id, "x") {
                    used[column] = true;
                }
                used
            });
    let needed = REGISTRY_COLUMNS.iter().zip(used);
    let needed: Vec<&str> = needed
        .filter(|(_, used)| *used)
        .map(|(name, _)| *name)
        .collect();
    registry.ensure_columns(&needed);
    let positions: Vec<Option<usize>> = REGISTRY_COLUMNS
        .iter()
        .map(|name| registry.column(name))
        .collect();
    for jobs in plan.jobs.chunks(AT_A_TIME) {
        let rows: Vec<Vec<(usize, String)>> = jobs
            .iter()
            .map(|job| {
                let created_at = clock.now().iso();
                job_cells(job, run_id, &created_at)
                    .filter_map(|(column, text)| Some((positions[column]?, text.into_owned())))
                    .collect()
            })
            .collect();
        registry.append(&rows);
    }
}

/// Returns the cells of a job's row that are not empty, by place in [`REGISTRY_COLUMNS`].
fn job_cells<'a>(
    job: &'a PlannedJob<'_>,
    run_id: &'a RunId,
    created_at: &'a str,
) -> impl Iterator<Item = (usize, std::borrow::Cow<'a, str>)> {
    const N_IMAGES: [usize; 2] = [8, 20];
    let item = job.item;
    let outside = item.outside_texts().into_iter().enumerate();
    let outside = outside.map(|(column, (_, text))| (column, text));
    let images = N_IMAGES.into_iter().flat_map(move |count_column| {
        let images = item.images.iter().take(MAX_IMAGES).enumerate();
        images.map(move |(n, path)| (count_column + 1 + n, path.as_str()))
    });
    let own = [
        (15, item.gt.as_str()),
        (16, run_id.as_str()),
        (17, job.job_id.as_str()),
        (18, job.algo.as_str()),
        (27, &*job.image_set_hash),
        (28, Status::Enqueued.word()),
        (29, created_at),
    ];
    let counts = N_IMAGES.map(|column| (column, item.images.len().to_string().into()));
    outside
        .chain(images)
        .chain(own)
        .filter(|(_, text)| !text.is_empty())
        .map(|(column, text)| (column, text.into()))
        .chain(counts)
}
