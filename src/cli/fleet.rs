//! `archi3d fleet`: runs that many machines work on, kept in PostgreSQL.

use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::signal::STOP_GRACE;
use crate::cli::ui::Ui;
use crate::cli::worker::{Lease, dollars, gigabytes, lease, parallel, seconds, worker_name};

#[cfg(feature = "postgres")]
mod answers;
#[cfg(feature = "postgres")]
mod serving;

/// What can be done with a fleet.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Make or upgrade the schema in the database
    Init(InitArgs),
    /// Hand a run over to the fleet
    Push(PushArgs),
    /// Serve all runs of the fleet until stopped
    Worker(WorkerArgs),
    /// Bring the results of a run back
    Pull(PullArgs),
    /// Show the runs of the fleet
    Runs(RunsArgs),
    /// Show the workers of the fleet and what each holds
    Workers(WorkersArgs),
    /// Take back the jobs of workers that died
    Sweep(SweepArgs),
    /// Forget what is old and was pulled
    Prune(PruneArgs),
}

/// The options of `fleet init`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d fleet init --store postgresql://archi3d@db.example.com/archi3d
  archi3d fleet init --check
      exit 2 unless the schema is there and fits this program; changes nothing
  archi3d fleet init --print > schema.sql
      for whoever may create tables there

Safe to run twice, and by many at once. A schema that is newer than this program is left
as it is.")]
pub struct InitArgs {
    /// Only compare the schema with this program
    #[arg(long, conflicts_with = "print")]
    check: bool,
    /// Print the text that makes the schema, and connect to nothing
    #[arg(long)]
    print: bool,
}

/// The options of `fleet push`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d fleet push --run-id r1
  archi3d fleet push --run-id r1 --priority 10
      before runs of lower priority
  archi3d fleet push --run-id r1 --artifacts s3://bucket/archi3d
      pictures go there, and results: workers need no folder of ours

All jobs of the run go over with their state: what waits, what ended, open purchases and
doubts. From then on workers on files leave the run alone; runs/ID/fleet.json says so.
If it is interrupted, the same command continues; run again later, it adds new jobs.")]
pub struct PushArgs {
    /// The run
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: String,
    /// What goes first: higher before lower
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_hyphen_values = true
    )]
    priority: i16,
    /// How long a job stays with a worker that is not heard of, in seconds
    #[arg(long, value_name = "N", default_value_t = 60, env = "LEASE_SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    lease_secs: u32,
    /// Where pictures and results lie, for workers that share no folder: s3://BUCKET/PREFIX, gs://, az:// or
    /// file:///FOLDER [default: ARCHI3D_ARTIFACTS, `artifacts:`, else the workspace]
    #[arg(long, value_name = "URL")]
    artifacts: Option<String>,
}

/// The options of `fleet worker`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d fleet worker -j 4
      as a service: whatever is pushed, now or later, the most urgent run first
  archi3d fleet worker --algo relief --until-idle 60
      as a pod: ends when nothing was to be done for a minute

It takes only algorithms that it can carry out here. Runs in a bucket (`fleet push --artifacts`)
need no workspace: an empty folder will do. Other runs are served only from the workspace that
pushed them. A run that costs more than `confirm_above_usd` is skipped unless --yes is given. Ctrl-C once: no new job starts and running ones finish.")]
pub struct WorkerArgs {
    /// Only this run; can be given more than once
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: Vec<String>,
    /// Only this algorithm; can be given more than once
    #[arg(long, value_name = "ALGO", allow_hyphen_values = true)]
    algo: Vec<String>,
    /// How many jobs run at once, of whichever run, from 1 to 1024
    #[arg(long, short = 'j', value_name = "N", default_value = "1", value_parser = parallel, allow_hyphen_values = true)]
    max_parallel: usize,
    /// End when nothing was to be done for this many seconds
    #[arg(long, value_name = "SECS", value_parser = seconds, allow_hyphen_values = true)]
    until_idle: Option<Duration>,
    /// What this worker is called [default: a new name at every start]
    #[arg(long, value_name = "NAME", env = "WORKER_ID", value_parser = worker_name, allow_hyphen_values = true)]
    worker_id: Option<String>,
    /// How long running jobs may go on after SIGTERM before they are stopped and given back, in
    /// seconds [default: 20]
    #[arg(long, value_name = "SECS", value_parser = seconds, env = STOP_GRACE, allow_hyphen_values = true)]
    stop_grace: Option<Duration>,
    /// How long a lease lasts without a beat, in seconds, or `auto`: by how long jobs of each
    /// run took [default: what each run says]
    #[arg(long, visible_alias = "lease", value_name = "SECS", value_parser = lease, env = "LEASE_SECONDS", allow_hyphen_values = true)]
    lease_secs: Option<Lease>,
    /// Also hear of new jobs from Redis, as redis://HOST:6379 [default: ARCHI3D_WAKE]
    #[arg(long, value_name = "URL")]
    wake: Option<String>,
    /// Start no job that would bring its run above this many US dollars; a limit in global.yaml
    /// holds too
    #[arg(long, value_name = "USD", value_parser = dollars, allow_hyphen_values = true)]
    budget_usd: Option<f64>,
    /// How many gigabytes of pictures fetched from a bucket are kept here [default: 10]
    #[arg(long, value_name = "GB", value_parser = gigabytes, allow_hyphen_values = true)]
    cache_gb: Option<f64>,
    /// Copy the result of an earlier identical job of any run instead of buying it
    #[arg(long)]
    reuse: bool,
    /// Take every run as agreed to, whatever it is expected to cost
    #[arg(long, short = 'y')]
    yes: bool,
}

/// The options of `fleet pull`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d fleet pull --run-id r1
  archi3d fleet pull --run-id r1 --watch
      again and again until the run is over

Writes what jobs became into tables/generations.csv and nothing else there. Results are
compared with what the fleet has on record; one that is missing is named, its row stays as
it is, and the exit code is 1.")]
pub struct PullArgs {
    /// The run
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: String,
    /// Keep pulling until the run is over
    #[arg(long)]
    watch: bool,
    /// How often, in seconds, with --watch
    #[arg(long, value_name = "SECS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    every: u64,
}

/// The options of `fleet runs`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d fleet runs
  archi3d fleet runs --json | jq -r '.runs[] | select(.pulled_at == null) | .run_id'")]
pub struct RunsArgs {}

/// The options of `fleet workers`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d fleet workers
  archi3d fleet workers --run-id r1 --all

A worker that missed a beat is slow, not dead; one that is silent has lost its leases.")]
pub struct WorkersArgs {
    /// Only workers that serve this run
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: Option<String>,
    /// Also those that have ended
    #[arg(long)]
    all: bool,
}

/// The options of `fleet sweep`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d fleet sweep
  archi3d fleet sweep --every 60
      as a process of its own; Ctrl-C ends it

Workers sweep by themselves; this is for when all of them are dead. No lease is judged
within one lease of the server's start.")]
pub struct SweepArgs {
    /// Once, which is what happens unless --every is given
    #[arg(long, conflicts_with = "every")]
    once: bool,
    /// Again and again, so many seconds apart
    #[arg(long, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    every: Option<u64>,
}

/// The options of `fleet prune`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d fleet prune
  archi3d fleet prune --older-than 30d

Runs go only after everything of them was pulled; a job with an open purchase, a doubt or a
result that was not pulled stays. The ledger of money stays. Then files go from the buckets
of the fleet that nothing refers to and that have been there for longer than --grace.")]
pub struct PruneArgs {
    /// How old, in days, such as 90d
    #[arg(long, value_name = "AGE", default_value = "90d", value_parser = days)]
    older_than: u32,
    /// How long files stay in a bucket that nothing refers to, in days, such as 7d
    #[arg(long, value_name = "AGE", default_value = "7d", value_parser = days)]
    grace: u32,
    /// A bucket to look into beside those of the runs there are
    #[arg(long, value_name = "URL")]
    artifacts: Option<String>,
}

fn days(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('d').unwrap_or(text);
    number
        .parse()
        .ok()
        .filter(|days| *days <= 36_500)
        .ok_or_else(|| "a number of days, such as 90d".to_owned())
}

/// Carries out the command.
#[cfg(feature = "postgres")]
pub fn run(command: &FleetCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    answers::run(command, global, ui)
}

/// Says that this program cannot.
#[cfg(not(feature = "postgres"))]
pub fn run(_command: &FleetCommand, _global: &Global, _ui: &Ui) -> Result<Exit, CliError> {
    Err(
        CliError::usage("this archi3d was built without PostgreSQL: it has no fleet")
            .hint("build it with the cargo feature `postgres`, which is on by default"),
    )
}
