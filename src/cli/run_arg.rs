//! Which run a command is about: the one that is named, else the only one, else
//! the latest, which is then said.

use clap::Args;

use crate::cli::error::CliError;
use crate::cli::run::parse_run_id;
use crate::cli::ui::Ui;
use archi3d_core::domain::id::RunId;
use archi3d_core::ops::OpsContext;
use archi3d_core::ops::names::{self, LatestRun};

/// The run, named by its place or by an option.
#[derive(Debug, Clone, Default, Args)]
pub struct RunArg {
    /// The run [default: the only one, else the latest]
    #[arg(value_name = "RUN", conflicts_with = "run_id")]
    run: Option<String>,

    /// The run, named by an option instead of by its place
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: Option<String>,
}

impl RunArg {
    /// Returns the run if one is named.
    pub fn given(&self) -> Result<Option<RunId>, CliError> {
        let text = self.run.as_deref().or(self.run_id.as_deref());
        text.map(parse_run_id).transpose()
    }

    /// Returns the run that is named, else the only one, else the latest.
    pub fn or_latest(&self, context: &OpsContext, ui: &Ui) -> Result<RunId, CliError> {
        if let Some(run) = self.given()? {
            return Ok(run);
        }
        or_latest(context, ui)
    }

    /// Returns the run that is named, else the only one: what takes something away
    /// does not guess.
    pub fn or_only(&self, context: &OpsContext, ui: &Ui) -> Result<RunId, CliError> {
        match self.given()? {
            Some(run) => Ok(run),
            None => or_only(context, ui),
        }
    }
}

/// Returns the only run, else the latest, and says which it is.
pub fn or_latest(context: &OpsContext, ui: &Ui) -> Result<RunId, CliError> {
    let LatestRun { run, of } = names::latest_run(context)?;
    match of {
        1 => ui.say(&format!("run: {run}")),
        of => ui.say(&format!("run: {run} (latest of {of})")),
    }
    Ok(run)
}

/// Returns the only run and says which it is.
pub fn or_only(context: &OpsContext, ui: &Ui) -> Result<RunId, CliError> {
    let latest = names::latest_run(context)?;
    if latest.of > 1 {
        let message = format!("there are {} runs; name the one you mean", latest.of);
        return Err(CliError::usage(message).hint("`archi3d run list` shows them"));
    }
    ui.say(&format!("run: {}", latest.run));
    Ok(latest.run)
}

/// One job of a run.
#[derive(Debug, Clone, Args)]
pub struct JobArg {
    /// The job: its id, the beginning of it, or its product; a run may stand before it
    #[arg(value_name = "JOB", num_args = 1..=2, required_unless_present = "item")]
    job: Vec<String>,

    /// The job's product, with or without its variant
    #[arg(long, value_name = "PRODUCT[:VARIANT]", allow_hyphen_values = true)]
    item: Option<String>,

    /// The run [default: the only one, else the latest]
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: Option<String>,
}

impl JobArg {
    /// Returns the run, else the only one, else the latest; and the job.
    pub fn or_latest(&self, context: &OpsContext, ui: &Ui) -> Result<(RunId, String), CliError> {
        let (run, job) = self.given()?;
        let run = run.map_or_else(|| or_latest(context, ui), Ok)?;
        Ok((run, job))
    }

    /// Returns the run, else the only one; and the job.
    pub fn or_only(&self, context: &OpsContext, ui: &Ui) -> Result<(RunId, String), CliError> {
        let (run, job) = self.given()?;
        let run = run.map_or_else(|| or_only(context, ui), Ok)?;
        Ok((run, job))
    }

    fn given(&self) -> Result<(Option<RunId>, String), CliError> {
        let (run, job) = match (&self.job[..], &self.item) {
            ([run, job], None) => (Some(run), job),
            ([job], None) => (None, job),
            ([run], Some(item)) => (Some(run), item),
            ([], Some(item)) => (None, item),
            _ => return Err(CliError::usage("name the job once: as JOB or with --item")),
        };
        let run = match (run, &self.run_id) {
            (Some(_), Some(_)) => {
                return Err(CliError::usage(
                    "name the run once: before JOB or with --run-id",
                ));
            }
            (run, option) => run.or(option.as_ref()),
        };
        let run = run.map(|run| parse_run_id(run)).transpose()?;
        Ok((run, job.clone()))
    }
}
