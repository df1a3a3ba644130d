//! `archi3d fleet worker`: lets `ops` serve all runs, and says what happens in each.

use std::sync::Arc;

use super::WorkerArgs;
use crate::cli::attempts::dollars;
use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::guard;
use crate::cli::progress::Progress;
use crate::cli::run::parse_run_id;
use crate::cli::signal::Signals;
use crate::cli::ui::Ui;
use archi3d_core::cancel::Cancel;
use archi3d_core::domain::id::{AlgoKey, RunId};
use archi3d_core::engine::event::Sink;
use archi3d_core::ops::OpsContext;
use archi3d_core::ops::run::every::{Hearers, ServeRequest, serve};
use archi3d_core::ops::select::FleetRequest;

/// Serves runs until a signal comes or nothing is left to do.
pub(super) fn run(args: &WorkerArgs, context: &OpsContext, ui: &Ui) -> Result<Exit, CliError> {
    let request = args.to_request()?;
    if let Some(exit) = guard::stand_to_serve(context, &request.algos, ui) {
        return Ok(exit);
    }
    let cancel = Cancel::new();
    let signals = Signals::listen_with(&cancel, args.stop.stop_grace, ui).map_err(|error| {
        let source = anyhow::Error::new(error).context("cannot listen to signals");
        CliError::new(ErrorKind::Internal, source)
    })?;
    guard::accept(&cancel, ui);
    let hearers = Hearers {
        of_run: &|run: &RunId| -> Arc<dyn Sink> {
            Arc::new(Progress::new(&ui.about(run.as_str())))
        },
        say: &|text| ui.say(&text),
        warn: &|text| ui.warn(&text),
    };
    let served = serve(context, &request, &cancel, &hearers)?;
    let mut line = format!("{} completed, {} failed", served.completed, served.failed);
    for (count, word) in [
        (served.released, "given back"),
        (served.fenced, "lost to another worker"),
    ] {
        if count > 0 {
            line = format!("{line}, {count} {word}");
        }
    }
    if served.spent_usd > 0.0 {
        line = format!("{line}, {} spent", dollars(served.spent_usd));
    }
    ui.say(&line);
    if ui.is_json() {
        ui.answer(&served)?;
    }
    Ok(signals.first().map_or(Exit::Done, Exit::Interrupted))
}

impl WorkerArgs {
    fn to_request(&self) -> Result<ServeRequest, CliError> {
        let runs = self.run_id.iter().map(|run| parse_run_id(run));
        let algos = self.algo.iter().map(|algo| AlgoKey::parse(algo));
        Ok(ServeRequest {
            runs: runs.collect::<Result<_, _>>()?,
            algos: algos.collect::<Result<_, _>>()?,
            max_parallel: self.max_parallel,
            fleet: FleetRequest {
                until_idle: self.until_idle,
                ..self.fleet.request()
            },
            budget_usd: self.budget_usd,
            confirmed: self.yes,
            reuse: self.reuse,
        })
    }
}
