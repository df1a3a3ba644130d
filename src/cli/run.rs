//! `archi3d run …`: everything about the jobs of one run.
//!
//! The commands themselves are in files of their own.

use clap::Subcommand;

use crate::cli::Global;
use crate::cli::adopt::{self, AdoptArgs};
use crate::cli::attempts::{self, AttemptsArgs};
use crate::cli::cancel::{self, CancelArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::explain::{self, ExplainArgs};
use crate::cli::plan::{self, PlanArgs};
use crate::cli::remove::{self, RemoveArgs};
use crate::cli::runs::{self, ListArgs};
use crate::cli::status::{self, StatusArgs};
use crate::cli::ui::Ui;
use crate::cli::worker::{self, WorkerArgs};
use archi3d_core::domain::id::RunId;

/// What can be done with a run.
#[derive(Debug, Subcommand)]
pub enum RunCommand {
    /// Show what a worker would do, what it would cost and how long it would take
    Plan(Box<PlanArgs>),
    /// Carry out the jobs of a run
    Worker(Box<WorkerArgs>),
    /// List the runs of the workspace
    List(ListArgs),
    /// Show how the jobs of a run stand
    Status(StatusArgs),
    /// Explain a job's state and the next command
    Explain(ExplainArgs),
    /// Show every attempt of a run: how it ended, what it cost
    Attempts(AttemptsArgs),
    /// Cancel jobs of a run, or put them back
    Cancel(CancelArgs),
    /// Bring in a result that could not be published, without making it again
    Adopt(AdoptArgs),
    /// Remove a run that has no results
    Remove(RemoveArgs),
}

/// Carries out the command.
pub fn run(command: &RunCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    match command {
        RunCommand::Plan(args) => plan::run(args, global, ui),
        RunCommand::Worker(args) => worker::run(args, global, ui),
        RunCommand::List(_) => runs::run(global, ui),
        RunCommand::Status(args) => status::run(args, global, ui),
        RunCommand::Explain(args) => explain::run(args, global, ui),
        RunCommand::Attempts(args) => attempts::run(args, global, ui),
        RunCommand::Cancel(args) => cancel::run(args, global, ui),
        RunCommand::Adopt(args) => adopt::run(args, global, ui),
        RunCommand::Remove(args) => remove::run(args, global, ui),
    }
}

/// Reads a run id before anything is touched.
pub fn parse_run_id(text: &str) -> Result<RunId, CliError> {
    RunId::parse(text).map_err(|error| {
        CliError::from(error).hint("give the name of a folder under runs/, without a path")
    })
}
