//! Which jobs of which run: the options that every command about some jobs of a
//! run has in common.
//!
//! `run worker`, `run plan` and `run cancel` take them in by flattening. They are
//! only read here; what they select is decided by `domain::select` and by the
//! command itself.

use clap::Args;

use crate::cli::error::CliError;
use crate::cli::run_arg::RunArg;
use archi3d_core::domain::filter::{JobQuery, JobsFilter, parse_statuses};
use archi3d_core::domain::id::AlgoKey;
use archi3d_core::domain::item_name::ItemName;

/// The options that choose jobs of one run.
#[derive(Debug, Clone, Args)]
pub struct SelectionArgs {
    /// The run.
    #[command(flatten)]
    pub run: RunArg,
    #[command(flatten)]
    filter: FilterArgs,
}

/// The options that choose jobs, of whatever run.
#[derive(Debug, Clone, Args)]
pub struct FilterArgs {
    /// Only jobs of this product, or of one variant of it; may be repeated or
    /// separated by commas
    #[arg(
        long,
        value_name = "PRODUCT[:VARIANT]",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    item: Vec<String>,

    /// Only jobs whose id matches, in capitals or not: as text that it contains, else
    /// as a glob on the whole id, else as a regex; the first that matches any job
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    jobs: Option<String>,

    /// Only jobs in one of these states, separated by commas [default: enqueued;
    /// with --redo, and where results are read: completed]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    only_status: Option<String>,

    /// Only jobs of this algorithm; may be repeated or separated by commas
    #[arg(
        long,
        value_name = "ALGO",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    algo: Vec<String>,
}

impl SelectionArgs {
    /// Reads the options, before anything is touched.
    pub fn read(&self) -> Result<JobQuery, CliError> {
        self.filter.read()
    }
}

impl FilterArgs {
    /// Reads the options, before anything is touched.
    pub fn read(&self) -> Result<JobQuery, CliError> {
        Ok(JobQuery {
            items: items(&self.item)?,
            jobs: self.jobs.as_deref().map(JobsFilter::parse).transpose()?,
            only_status: self
                .only_status
                .as_deref()
                .map(parse_statuses)
                .transpose()?,
            algo: self.algo_keys()?,
        })
    }

    fn algo_keys(&self) -> Result<Vec<AlgoKey>, CliError> {
        let mut keys = Vec::new();
        for text in &self.algo {
            let key = AlgoKey::parse(text.trim())?;
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Ok(keys)
    }
}

/// Reads products as they were typed.
pub fn items(given: &[String]) -> Result<Vec<ItemName>, CliError> {
    let items = given.iter().map(|text| ItemName::parse(text));
    let items: Result<_, _> = items.collect();
    items.map_err(|error| CliError::usage(error.to_string()))
}
