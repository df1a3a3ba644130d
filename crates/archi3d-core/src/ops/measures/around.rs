//! Figures of what is around the runs: the store of fleets, workers, providers.

use super::{Figures, Kind};
use crate::ops::adapters::AdapterEntry;
use crate::ops::names::RunLine;
use crate::ops::view::status::Liveness;
use crate::ops::workers::WorkerView;
use crate::ops::{OpsContext, OpsError, adapters, health, workers};

/// Adds them; while the store is away those of the workspace alone. `lines` are its runs.
pub(super) fn add(
    figures: &mut Figures,
    context: &OpsContext,
    lines: Vec<RunLine>,
) -> Result<(), OpsError> {
    let store = health::store_answers(context);
    if let Some(answers) = store {
        figures.gauge(
            "archi3d_store_up",
            "Whether the store of fleets answers; if not, figures of its runs are those of before.",
            &[],
            f64::from(u8::from(answers)),
        );
    }
    if store == Some(false) {
        of_workers(figures, workers::workers_here(context, lines));
        of_providers(figures, adapters::list_here(context)?);
    } else {
        of_workers(figures, workers::workers(context)?);
        of_providers(figures, adapters::list(context)?);
    }
    Ok(())
}

fn of_workers(figures: &mut Figures, workers: Vec<WorkerView>) {
    for worker in workers {
        let state = match worker.state {
            Liveness::Dead => "dead",
            Liveness::Alive | Liveness::Silent => "alive",
        };
        let labels = [
            ("host", worker.host.as_deref().unwrap_or("")),
            ("state", state),
        ];
        figures.gauge("archi3d_workers", "Workers.", &labels, 1.0);
    }
}

fn of_providers(figures: &mut Figures, entries: Vec<AdapterEntry>) {
    for entry in entries {
        let open = f64::from(u8::from(entry.closed.is_none()));
        figures
            .of(
                "archi3d_provider_open",
                Kind::Gauge,
                "Whether jobs of a provider may start.",
            )
            .raise(&[("provider", &entry.provider)], open);
        let paused = f64::from(u8::from(entry.paused.is_some()));
        figures
            .of(
                "archi3d_breaker_open",
                Kind::Gauge,
                "Whether an algo is paused after failures in a row.",
            )
            .raise(&[("algo", entry.key.as_str())], paused);
    }
}
