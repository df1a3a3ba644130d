//! `archi3d serve`: the API, the pages, events and metrics over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::cli::Global;
use crate::cli::crew::Crew;
use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::signal;
use crate::cli::ui::Ui;
use archi3d_core::ops::tokens::Tokens;
use archi3d_server::{ServeOptions, Stop, serve};

/// The options of `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --listen only this machine is answered. Any other address needs a token
(`archi3d token create`), and a proxy in front of it that speaks TLS.

Examples:
  archi3d serve
      look at the runs in a browser
  archi3d serve --workers 2
      and have two workers carry out what is submitted
  archi3d serve --listen 10.0.0.5:7333 --allowed-host archi3d.example.com"
)]
pub struct ServeArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7333", value_parser = address)]
    listen: SocketAddr,
    /// A name under which the service is reached beside its own address
    #[arg(long, value_name = "NAME")]
    allowed_host: Vec<String>,
    /// How many workers carry out runs that are submitted
    #[arg(long, value_name = "N", default_value = "0")]
    workers: usize,
    /// Let everybody read the metrics
    #[arg(long)]
    metrics_open: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim().replace("localhost", "127.0.0.1");
    text.parse()
        .map_err(|_| "must be an address with a port, such as 127.0.0.1:7333".to_owned())
}

/// Serves until a signal comes.
pub fn run(args: &ServeArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    archi3d_core::ops::names::runs(&context)?;
    archi3d_core::ops::submit::arrive(&context, None)?;
    #[cfg(feature = "postgres")]
    if let Some((url, _)) = archi3d_core::ops::fleet::store_url(&context)? {
        ui.say(&format!("runs that are submitted live in {url}"));
    }
    let has_tokens = !Tokens::read(&context)?.tokens.is_empty();
    let open = !args.listen.ip().is_loopback();
    if open && !has_tokens {
        return Err(CliError::usage(format!(
            "{} can be reached from other machines, and there is no token",
            args.listen
        ))
        .hint("make one first: archi3d token create NAME --role submit"));
    }
    for warning in &context.settings.warnings {
        ui.warn(warning);
    }
    if open {
        ui.warn("the service speaks plain HTTP: put a proxy with TLS in front of it");
    }
    let stop = Stop::default();
    let first = std::sync::Arc::new(std::sync::OnceLock::new());
    let (heard, asked) = (std::sync::Arc::clone(&first), stop.clone());
    signal::listen(move |signal| {
        let _ = heard.set(signal);
        asked.ask();
    })
    .map_err(|error| internal(error, "cannot listen to signals"))?;
    let root: PathBuf = context.workspace.root().to_owned();
    let crew = Crew::start(args.workers, &root, global.store.as_deref());
    let crew = crew.map_err(|error| internal(error, "cannot start workers"))?;
    let options = ServeOptions {
        listen: args.listen,
        allowed_hosts: args.allowed_host.clone(),
        metrics_open: args.metrics_open,
    };
    let again = global.clone();
    let opens = Box::new(move || {
        let store = again.store.as_deref();
        Ok(archi3d_core::ops::OpsContext::open(Some(&root))?.with_store(store))
    });
    let told = std::sync::Mutex::new(Ok(()));
    let served = serve(opens, options, &stop, context.clock.now(), |ready| {
        let page = format!("http://{}/#token={}", ready.address, ready.token);
        let said = if ui.is_json() {
            ui.answer(&json!({"address": ready.address, "url": page, "token": ready.token}))
        } else {
            ui.say("serving until Ctrl-C; this address is for you alone:");
            ui.data(&page)
        };
        if let Ok(mut told) = told.lock() {
            *told = said;
        }
    });
    crew.end();
    served.map_err(|error| {
        let address = args.listen;
        internal(error, &format!("cannot serve on {address}"))
            .hint("choose another address with --listen")
    })?;
    told.into_inner().unwrap_or(Ok(()))?;
    Ok(first.get().map_or(Exit::Done, |_| Exit::Done))
}

fn internal(error: std::io::Error, what: &str) -> CliError {
    CliError::new(
        ErrorKind::Setup,
        anyhow::Error::new(error).context(what.to_owned()),
    )
}
