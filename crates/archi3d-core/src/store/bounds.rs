//! Where no command writes: through links that lead out of the workspace, and to a run that lives elsewhere.

use std::path::Path;

use crate::domain::id::RunId;
use crate::domain::text::shell_word;
use crate::store::StoreError;
use crate::workspace::fleet::{FleetMark, FleetState};
use crate::workspace::paths::Workspace;

/// Refuses to write where a link moves a folder of records out of the workspace:
/// those of the workspace, and of one run. In the place of a run's own folder any
/// link is refused: it is no run.
pub fn refuse_links_outside(
    workspace: &Workspace,
    run_id: Option<&RunId>,
) -> Result<(), StoreError> {
    let mut folders = vec![
        workspace.tables(),
        workspace.logs(),
        workspace.runs(),
        workspace.providers(),
        workspace.budget(),
    ];
    if let Some(run_id) = run_id {
        refuse_linked_run(workspace, run_id)?;
        let paths = workspace.run(run_id);
        folders.extend([
            paths.state(),
            paths.journals(),
            paths.outputs(),
            paths.staging(),
            paths.late(),
            paths.previous(),
            paths.logs(),
        ]);
    }
    let mut folders = folders.iter();
    folders.try_for_each(|folder| refuse_link_outside(workspace, folder))
}

/// Refuses a link in the place of a run's folder, wherever it leads.
pub fn refuse_linked_run(workspace: &Workspace, run_id: &RunId) -> Result<(), StoreError> {
    let Some(target) = workspace.linked_run(run_id) else {
        return Ok(());
    };
    let target = target.display();
    Err(StoreError::Setup {
        what: format!("run {run_id} is a link to {target}; links are not runs"),
        path: workspace.run(run_id).root().to_owned(),
        hint: "name the run itself, or put the real folder there".into(),
    })
}

/// Refuses a folder that a link moves out of the workspace.
pub fn refuse_link_outside(workspace: &Workspace, folder: &Path) -> Result<(), StoreError> {
    let is_link = folder
        .symlink_metadata()
        .is_ok_and(|found| found.is_symlink());
    match folder.canonicalize() {
        Ok(real) if real.starts_with(workspace.root()) => return Ok(()),
        // Not there yet. A link to nothing would become one to whatever is made there.
        Err(_) if !is_link => return Ok(()),
        _ => {}
    }
    Err(StoreError::Setup {
        what: "a link leads out of the workspace".into(),
        path: folder.to_owned(),
        hint: "put a real folder there; results must stay inside the workspace".into(),
    })
}

/// The refusal to work on a run that its fleet has forgotten.
pub fn forgotten(run_id: &RunId, mark: &FleetMark) -> StoreError {
    let run = shell_word(run_id.as_str());
    StoreError::Refused {
        message: format!(
            "run {run_id} is over: all of it came back from the fleet at {}, which has forgotten it",
            mark.server
        ),
        hint: Some(format!(
            "`archi3d run status {run}` and reports read its files; new jobs go into a new run: `archi3d batch create`"
        )),
    }
}

/// Refuses a folder in which a worker keeps what it works on: its run was pushed from another workspace.
pub fn refuse_workers_folder(workspace: &Workspace, run_id: &RunId) -> Result<(), StoreError> {
    let paths = workspace.run(run_id);
    if !paths.root().is_dir() || paths.manifest().exists() || paths.fleet().exists() {
        return Ok(());
    }
    let run = shell_word(run_id.as_str());
    Err(StoreError::Refused {
        message: format!(
            "run {run_id} was not pushed from this workspace: workers only work on it here"
        ),
        hint: Some(format!(
            "`fleet pull --run-id {run}` belongs to the workspace that pushed it, which `archi3d fleet runs --json` names"
        )),
    })
}

/// Refuses new jobs for a run that its fleet has forgotten.
pub fn refuse_forgotten(workspace: &Workspace, run_id: &RunId) -> Result<(), StoreError> {
    match FleetMark::read(&workspace.run(run_id)) {
        Ok(Some(mark)) if mark.state == FleetState::Forgotten => Err(forgotten(run_id, &mark)),
        _ => Ok(()),
    }
}

/// Refuses a run that lives in a fleet, or may: the one place that says so.
pub fn refuse_pushed(workspace: &Workspace, run_id: &RunId) -> Result<(), StoreError> {
    let paths = workspace.run(run_id);
    let path = paths.fleet();
    let run = shell_word(run_id.as_str());
    let mark = match FleetMark::read(&paths) {
        Ok(None) => return Ok(()),
        Ok(Some(mark)) => mark,
        Err(error) => {
            return Err(StoreError::Content {
                what: format!("cannot read whether run {run_id} lives in a fleet: {error}"),
                path,
                hint: format!(
                    "`archi3d fleet push --run-id {run}` with the fleet's --store writes it again, once it is moved away"
                ),
            });
        }
    };
    let FleetMark {
        server, pushed_by, ..
    } = &mark;
    Err(match mark.state {
        FleetState::Forgotten => forgotten(run_id, &mark),
        FleetState::Pushed => StoreError::Setup {
            what: format!("run {run_id} lives in the fleet at {server} (pushed by {pushed_by})"),
            path,
            hint: format!(
                "`archi3d run worker --run-id {run}` works on it where the store is named (--store or DATABASE_URL); \
                 `archi3d fleet pull --run-id {run}` brings its results back"
            ),
        },
        FleetState::Pushing => StoreError::Setup {
            what: format!(
                "run {run_id} is on its way to the fleet at {server} (pushed by {pushed_by})"
            ),
            path,
            hint: format!("`archi3d fleet push --run-id {run}` ends what was begun"),
        },
    })
}
