//! The options that commands share which have workers: how they end, and how they take part in a fleet.

use std::time::Duration;

use clap::Args;

use crate::cli::signal::STOP_GRACE;
use crate::cli::worker::seconds;
use archi3d_core::domain::naming;
use archi3d_core::ops::select::FleetRequest;

/// The folder of a longer name would have a name that no file system takes.
const MAX_NAME: usize = 180;

/// How workers end.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// How long running jobs have to finish after SIGTERM before they are stopped and given back, in
    /// seconds [default: 20]
    #[arg(long, value_name = "SECS", value_parser = seconds, env = STOP_GRACE, allow_hyphen_values = true)]
    pub stop_grace: Option<Duration>,
}

/// How a worker takes part in a fleet.
#[derive(Debug, Args)]
#[command(next_help_heading = "On a fleet")]
pub struct FleetArgs {
    /// How long a lease lasts without a beat, in seconds, or `auto`: by how long jobs of the run
    /// took [default: what the run says]
    #[arg(long, visible_alias = "lease", value_name = "SECS", value_parser = lease, env = "LEASE_SECONDS", allow_hyphen_values = true)]
    lease_secs: Option<Lease>,
    /// Also hear of new jobs from Redis, as redis://HOST:6379 [default: ARCHI3D_WAKE]
    #[arg(long, value_name = "URL")]
    wake: Option<String>,
    /// What this worker is called [default: a new name at every start]
    #[arg(long, value_name = "NAME", env = "WORKER_ID", value_parser = worker_name, allow_hyphen_values = true)]
    worker_id: Option<String>,
    /// How many gigabytes of pictures fetched from a bucket are kept here [default: 10]
    #[arg(long, value_name = "GB", value_parser = gigabytes, allow_hyphen_values = true)]
    cache_gb: Option<f64>,
}

impl FleetArgs {
    /// Returns what is asked for; everything else is as usual.
    pub fn request(&self) -> FleetRequest {
        FleetRequest {
            lease: match self.lease_secs {
                Some(Lease::Secs(length)) => Some(length),
                Some(Lease::Auto) | None => None,
            },
            auto_lease: self.lease_secs == Some(Lease::Auto),
            wake: self.wake.clone(),
            worker_id: self.worker_id.clone(),
            cache_gb: self.cache_gb,
            ..FleetRequest::default()
        }
    }
}

/// How long a lease lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lease {
    /// So long.
    Secs(Duration),
    /// By how long jobs took.
    Auto,
}

fn lease(text: &str) -> Result<Lease, String> {
    match text {
        "auto" => Ok(Lease::Auto),
        text => seconds(text).map(Lease::Secs),
    }
}

fn gigabytes(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(size) if size.is_finite() && size >= 0.0 => Ok(size),
        _ => Err("must be a number of gigabytes, 0 or more, such as 20".into()),
    }
}

/// Takes what a worker is called.
fn worker_name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("must have a letter; leave it out for a new name at every start".into());
    }
    if text.chars().any(char::is_control) {
        return Err("must have no control characters".into());
    }
    if naming::spool_dir(text).len() > MAX_NAME {
        return Err(format!("must be at most {MAX_NAME} bytes"));
    }
    Ok(text.to_owned())
}
