//! `fleet pull`: brings results of a run back into the registry, and finishes what a dead worker left half published.
//!
//! Files are looked at before rows: a row says `completed` only if its result is where it should be, with the bytes that
//! the fleet has on record. What a row says already is not written again.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::PgFleet;
use super::bytes::{self, Lacking, Wanted};
use crate::domain::id::{JobId, Nonce, RunId};
use crate::domain::job::Status;
use crate::domain::naming;
use crate::domain::patch::Patch;
use crate::platform::{self, fault};
use crate::store::bounds::refuse_links_outside;
use crate::store::error::{IoContext, StoreError};
use crate::store::files::{PulledRow, Pulling, keep_rows};
use crate::store::fleet::{MissingResult, Pulled, pushed_mark};
use crate::store::postgres::ending::File;
use crate::store::postgres::export::{self, ExportedResult, ExportedRow, LateResult};
use crate::store::postgres::{keep, money};
use crate::store::upkeep::Waiting;
use crate::workspace::durable;
use crate::workspace::paths::RunPaths;

/// So many rows are asked for and written at a time.
const PAGE: usize = 20_000;

/// Brings back what a run's jobs became. While the registry's lock is busy, `waiting` hears for how long and gives up by
/// returning `false`.
pub(super) fn pull(
    context: &PgFleet,
    run_id: &RunId,
    waiting: Waiting<'_>,
) -> Result<Pulled, StoreError> {
    let mut mark = pushed_mark(&context.workspace, run_id)?;
    refuse_links_outside(&context.workspace, Some(run_id))?;
    let mut connection = context.connect("pull")?;
    let run = super::pushed_run(&mut connection, run_id, &mark)?
        .ok_or_else(|| super::unknown_run(context, run_id, &mark))?;
    let begun = keep::now(&mut connection)?;
    let paths = context.workspace.run(run_id);
    let mut pulled = Pulled {
        run_id: run_id.clone(),
        jobs: 0,
        enqueued: 0,
        running: 0,
        completed: 0,
        failed: 0,
        cancelled: 0,
        rows_changed: 0,
        rows_restored: 0,
        published: 0,
        missing: Vec::new(),
        artifacts: run.artifacts_url.clone(),
        over: false,
    };
    let mut unasked = None;
    let mut pulling = Pulling::new(&context.workspace, run_id);
    let mut after = -1;
    loop {
        let page = export::page(&mut connection, run.run_no, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.position;
        let full = page.len() == PAGE;
        let mut rows = Vec::with_capacity(page.len());
        for row in &page {
            rows.push(wanted(row, &mut pulled)?);
        }
        let new = pulling.would_change(&rows)?;
        let mut lost = match &run.artifacts_url {
            Some(url) => bring(context, url, &paths, (&page, &new), &mut unasked)?,
            None => HashMap::new(),
        };
        let mut present = Vec::new();
        for (at, row) in rows.into_iter().enumerate() {
            let lost = lost.remove(&at);
            if result_is_there(&paths, &page[at], new[at], lost, &mut pulled)? && new[at] {
                present.push(row);
            }
        }
        let written = pulling.write(&run.header, &present, waiting)?;
        let written = written.ok_or_else(|| StoreError::Refused {
            message: "gave up waiting for tables/generations.lock".into(),
            hint: Some("what was not written yet comes with the next pull".into()),
        })?;
        pulled.rows_changed += written.changed;
        pulled.rows_restored += written.restored;
        if !full {
            break;
        }
    }
    if let Some(error) = unasked {
        // What arrived is in its place; the rest comes with the next pull.
        return Err(error);
    }
    if let Some(url) = &run.artifacts_url {
        let late = export::late(&mut connection, run.run_no)?;
        bring_late(context, url, &paths, &late, &mut pulled)?;
    }
    pulled.over = pulled.enqueued + pulled.running == 0;
    let news = pulled.rows_changed + pulled.rows_restored > 0 || run.closed.is_none();
    if pulled.over && pulled.missing.is_empty() && news {
        fault::here("pull.closing");
        // A role that only reads may pull; then nothing is ever pruned.
        let _ = money::settle_ended(&mut connection, Some(run.run_no));
        let _ = keep::close_run(&mut connection, run.run_no, begun);
    }
    let all = pulled.over && pulled.missing.is_empty();
    if all && (news || !paths.pulled_rows().exists()) {
        keep_rows(&context.workspace, run_id)?;
    }
    mark.note_pulled(&paths, all)
        .context("write", &paths.fleet())?;
    Ok(pulled)
}

/// Says what a row is to become, and counts it.
fn wanted(row: &ExportedRow, pulled: &mut Pulled) -> Result<PulledRow, StoreError> {
    let status = match row.status.as_str() {
        "running" => Status::Running,
        "succeeded" => Status::Completed,
        "failed_terminal" => Status::Failed,
        "cancelled" => Status::Cancelled,
        _ => Status::Enqueued,
    };
    pulled.jobs += 1;
    *match status {
        Status::Enqueued => &mut pulled.enqueued,
        Status::Running => &mut pulled.running,
        Status::Completed => &mut pulled.completed,
        Status::Failed => &mut pulled.failed,
        Status::Cancelled => &mut pulled.cancelled,
    } += 1;
    let patch = |text: &String| serde_json::from_str::<Patch>(text);
    let patches: Result<Vec<Patch>, _> = row.patches.iter().map(patch).collect();
    let patches = patches.map_err(|error| StoreError::Server {
        what: format!("the record of job {} cannot be read: {error}", row.job_id),
        hint: "compare `archi3d --version` of the machines in use; all need the same release"
            .into(),
        setup: false,
    })?;
    // What waits to be made again has its older result until then.
    let stands = status == Status::Enqueued && row.result.is_some();
    Ok(PulledRow {
        job_id: row.job_id.clone(),
        status: (!stands).then_some(status),
        patches: patches
            .into_iter()
            .filter(|patch| !patch.cells().is_empty())
            .collect(),
        error: row.error.clone(),
        row: row.row.clone(),
    })
}

/// Tells whether the row may be written: its result, if it has one, is where it should be.
fn result_is_there(
    paths: &RunPaths,
    row: &ExportedRow,
    thoroughly: bool,
    lost: Option<String>,
    pulled: &mut Pulled,
) -> Result<bool, StoreError> {
    let Some(result) = row.result.as_ref().filter(|_| row.status == "succeeded") else {
        return Ok(true);
    };
    let Ok(job) = JobId::parse(&row.job_id) else {
        return Ok(true);
    };
    let output = paths.output(&job);
    let Err(what) = compare(&output, &result.files, thoroughly) else {
        return Ok(true);
    };
    if let Some(staged) = staged(paths, &job, result) {
        publish(paths, &job, result, &staged, &output).context("publish", &staged)?;
        pulled.published += 1;
        return Ok(true);
    }
    let shown = paths.stored(&output).unwrap_or_default();
    pulled.missing.push(MissingResult {
        job_id: row.job_id.clone(),
        what: lost.unwrap_or_else(|| format!("{shown}/{what}")),
    });
    Ok(false)
}

/// Fetches the results of a page that are not here into the folders of their attempts, from where they are published.
/// Returns which are lost, by their place in the page; what could not be asked is left in `unasked`.
fn bring(
    context: &PgFleet,
    url: &str,
    paths: &RunPaths,
    (page, new): (&[ExportedRow], &[bool]),
    unasked: &mut Option<StoreError>,
) -> Result<HashMap<usize, String>, StoreError> {
    let mut at = Vec::new();
    let mut wanted = Vec::new();
    for (index, row) in page.iter().enumerate() {
        let result = row.result.as_ref().filter(|_| row.status == "succeeded");
        let (Some(result), Ok(job)) = (result, JobId::parse(&row.job_id)) else {
            continue;
        };
        let here = |folder: &Path| compare(folder, &result.files, new[index]).is_ok();
        let Some(attempt_id) = result.attempt_id.filter(|_| !here(&paths.output(&job))) else {
            continue;
        };
        let name = naming::staging_dir(&job, result.number, &nonces(attempt_id)[0]);
        at.push(index);
        wanted.push(Wanted {
            folder: paths.staging().join(name),
            files: &result.files,
        });
    }
    let mut lost = HashMap::new();
    for (index, staged) in at.into_iter().zip(bytes::stage(context, url, &wanted)?) {
        match staged {
            Ok(()) => {}
            Err(Lacking::Lost(what)) => drop(lost.insert(index, what)),
            Err(Lacking::Unasked(error)) => drop(unasked.get_or_insert(error)),
        }
    }
    Ok(lost)
}

/// Fetches what came too late to where it is kept.
fn bring_late(
    context: &PgFleet,
    url: &str,
    paths: &RunPaths,
    late: &[LateResult],
    pulled: &mut Pulled,
) -> Result<(), StoreError> {
    let mut there = Vec::new();
    let mut wanted = Vec::new();
    for one in late {
        let name = Path::new(&one.kept_at).file_name().unwrap_or_default();
        let to = paths.late().join(name);
        if compare(&to, &one.files, true).is_ok() {
            continue;
        }
        let mut folder = std::ffi::OsString::from(".late-");
        folder.push(name);
        wanted.push(Wanted {
            folder: paths.staging().join(folder),
            files: &one.files,
        });
        there.push((one, to));
    }
    let staged = bytes::stage(context, url, &wanted)?;
    for ((one, to), (wanted, staged)) in there.into_iter().zip(wanted.iter().zip(staged)) {
        match staged {
            Ok(()) => {
                place_late(paths, &wanted.folder, &to).context("publish", &to)?;
            }
            Err(Lacking::Lost(what)) => pulled.missing.push(MissingResult {
                job_id: one.job_id.clone(),
                what: format!("{}: {what}", one.kept_at),
            }),
            Err(Lacking::Unasked(error)) => return Err(error),
        }
    }
    Ok(())
}

/// Gives what came too late its place, before the run may be closed. What is there and is not that is kept beside older results.
fn place_late(paths: &RunPaths, staged: &Path, to: &Path) -> io::Result<()> {
    let late = paths.late();
    fs::create_dir_all(&late)?;
    if fs::symlink_metadata(to).is_ok() {
        let previous = paths.previous();
        fs::create_dir_all(&previous)?;
        let mut name = to.file_name().unwrap_or_default().to_owned();
        name.push(format!(".damaged-{}", Uuid::new_v4().simple()));
        platform::rename_replace(to, &previous.join(name))?;
    }
    platform::rename_replace(staged, to)?;
    platform::sync_dir(&late)?;
    platform::sync_dir(&paths.outputs())
}

/// Returns the folder of the attempt, if all of the result is still in it.
fn staged(paths: &RunPaths, job: &JobId, result: &ExportedResult) -> Option<PathBuf> {
    let attempt_id = result.attempt_id?;
    let mut folders = nonces(attempt_id).into_iter().map(|nonce| {
        paths
            .staging()
            .join(naming::staging_dir(job, result.number, &nonce))
    });
    folders.find(|folder| !result.files.is_empty() && compare(folder, &result.files, true).is_ok())
}

/// The ways in which an attempt id is written.
fn nonces(attempt_id: Uuid) -> [Nonce; 2] {
    [
        Nonce::new(attempt_id.simple().to_string()),
        Nonce::new(attempt_id.to_string()),
    ]
}

/// Ends the renaming that a dead worker began. An older result is kept aside.
fn publish(
    paths: &RunPaths,
    job: &JobId,
    result: &ExportedResult,
    staged: &Path,
    output: &Path,
) -> io::Result<()> {
    if fs::symlink_metadata(output).is_ok() {
        let previous = paths.previous();
        fs::create_dir_all(&previous)?;
        let older = Nonce::new(Uuid::new_v4().simple().to_string());
        let kept = previous.join(naming::kept_dir(
            job,
            result.number.saturating_sub(1),
            &older,
        ));
        platform::rename_replace(output, &kept)?;
    }
    fault::here("pull.publishing");
    platform::rename_replace(staged, output)?;
    fault::here("pull.published");
    platform::sync_dir(&paths.outputs())
}

/// Compares a folder with what is on record; an error names the first file that is not so.
fn compare(folder: &Path, files: &[File], thoroughly: bool) -> Result<(), String> {
    for file in files {
        let plain = Path::new(&file.name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !plain {
            return Err(format!("{:?} is no name of a file", file.name));
        }
        let path = folder.join(&file.name);
        let size = match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => found.len(),
            Ok(_) => return Err(format!("{} is no plain file", file.name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(format!("{} is missing", file.name));
            }
            Err(error) => return Err(format!("{} cannot be read: {error}", file.name)),
        };
        if size != file.size {
            return Err(format!(
                "{} has {size} bytes instead of {}",
                file.name, file.size
            ));
        }
        if thoroughly {
            let sum =
                sum(&path).map_err(|error| format!("{} cannot be read: {error}", file.name))?;
            if sum != file.sha256 {
                return Err(format!("{} is not what was recorded", file.name));
            }
        }
    }
    Ok(())
}

fn sum(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = durable::open_plain(path)?;
    let mut hash = Sha256::new();
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hash.finalize().to_vec()),
            read => hash.update(&part[..read]),
        }
    }
}
