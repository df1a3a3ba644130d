//! `archi3d serve`: the API, the pages, events and metrics over HTTP.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::cli::Global;
use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::fleet_args::StopArgs;
use crate::cli::followers::Followers;
use crate::cli::signal;
use crate::cli::ui::Ui;
use archi3d_core::ops::tokens::Tokens;
use archi3d_core::ops::{OpsContext, OpsError};
use archi3d_server::{ServeOptions, Stop, serve};

/// How long a service may take to say whether it can work.
const PATIENCE: Duration = Duration::from_secs(5);

/// More of an answer than this is not read.
const MOST: u64 = 64 << 10;

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
  archi3d serve --listen 10.0.0.5:7333 --allowed-host archi3d.example.com
  archi3d serve --check
      exit 0 if the service at that address can work, for the health check of a container"
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
    #[command(flatten)]
    stop: StopArgs,
    /// Let everybody read the metrics
    #[arg(long)]
    metrics_open: bool,
    /// Serve nothing: ask the service that listens there whether it can work, and tell by the exit code
    #[arg(long)]
    check: bool,
}

/// Where the service is reached, and with which token.
#[derive(Serialize)]
struct Served<'a> {
    address: SocketAddr,
    url: String,
    token: &'a str,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim().replace("localhost", "127.0.0.1");
    text.parse()
        .map_err(|_| "must be an address with a port, such as 127.0.0.1:7333".to_owned())
}

/// Brings in the runs that a store shows. It comes back by itself, and until then there is what lives in files.
fn let_arrive(context: &OpsContext, ui: &Ui) -> Result<(), CliError> {
    match archi3d_core::ops::submit::arrive(context, None) {
        Err(error @ OpsError::Server { .. }) => {
            ui.warn(&format!(
                "{error}: runs that live there are shown once it answers"
            ));
        }
        arrived => arrived?,
    }
    #[cfg(feature = "postgres")]
    if let Some((url, _)) = archi3d_core::ops::fleet::store_url(context)? {
        ui.say(&format!("runs that are submitted live in {url}"));
    }
    Ok(())
}

/// Serves until a signal comes.
pub fn run(args: &ServeArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    if args.check {
        return check(args.listen, ui);
    }
    let context = global.context()?;
    archi3d_core::ops::names::runs(&context)?;
    let_arrive(&context, ui)?;
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
    // What is written to a log is no secret any more, so only a person or a program that asks for it gets a token.
    let own_token = ui.is_json() || std::io::stdout().is_terminal();
    let options = ServeOptions {
        listen: args.listen,
        allowed_hosts: args.allowed_host.clone(),
        metrics_open: args.metrics_open,
        own_token,
    };
    let again = global.clone();
    let workspace = root.clone();
    let opens = Box::new(move || {
        let store = again.store.as_deref();
        Ok(archi3d_core::ops::OpsContext::open(Some(&root))?.with_store(store))
    });
    let mut told = Ok(());
    let mut followers = None;
    let served = serve(opens, options, &stop, context.clock.now(), |ready| {
        // Not before the address is ours: who cannot serve starts no workers beside another service.
        let store = global.store.as_deref();
        followers = Some(Followers::start(
            args.workers,
            &workspace,
            store,
            args.stop.stop_grace,
        ));
        if let Some(Err(_)) = &followers {
            stop.ask();
        }
        let address = format!("http://{}/", ready.address);
        let said = match &ready.token {
            Some(token) if ui.is_json() => {
                let url = format!("{address}#token={token}");
                let address = ready.address;
                ui.answer(&Served {
                    address,
                    url,
                    token,
                })
            }
            Some(token) => {
                ui.say("serving until Ctrl-C; this address is for you alone:");
                ui.data(&format!("{address}#token={token}"))
            }
            None => {
                ui.say(&format!(
                    "serving until a signal comes; to look at it: {address}#token=TOKEN"
                ));
                if !has_tokens {
                    ui.warn("there is no token, so the service answers no request but health checks: archi3d token create NAME --role admin");
                }
                ui.data(&address)
            }
        };
        told = said;
    });
    let followers = followers.transpose();
    let followers = followers.map(|followers| followers.map(Followers::end));
    served.map_err(|error| {
        let address = args.listen;
        internal(error, &format!("cannot serve on {address}"))
            .hint("choose another address with --listen")
    })?;
    followers.map_err(|error| internal(error, "cannot start workers"))?;
    told?;
    Ok(first.get().map_or(Exit::Done, |_| Exit::Done))
}

/// Asks a service on this machine whether it can work.
fn check(listen: SocketAddr, ui: &Ui) -> Result<Exit, CliError> {
    let mut address = listen;
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    let answer = ask(address).map_err(|error| {
        let what = format!("nothing answers at http://{address}/readyz");
        CliError::new(ErrorKind::Store, anyhow::Error::new(error).context(what))
            .hint("name the address it listens on with --listen")
    })?;
    let status = answer.split(' ').nth(1).unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    ui.data(body.trim())?;
    Ok(if status == "200" {
        Exit::Done
    } else {
        Exit::JobsFailed
    })
}

fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = format!("GET /readyz HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MOST).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn internal(error: std::io::Error, what: &str) -> CliError {
    CliError::new(
        ErrorKind::Setup,
        anyhow::Error::new(error).context(what.to_owned()),
    )
}
