//! `archi3d self-check`: whether the program works on this machine, line by line.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::Global;
use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::program;
use crate::cli::signal::Signals;
use crate::cli::ui::Ui;
use crate::cli::version;
use archi3d_core::cancel::Cancel;
use archi3d_core::ops::self_check::{Line, SelfCheckRequest, self_check};

/// The options of `self-check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d self-check
      after installing: does everything work here?
  archi3d self-check /mnt/share
      and on that disk?
  archi3d self-check --store postgresql://archi3d@db.example.com/archi3d
      and with two workers on that store?
  archi3d self-check --store URL --artifacts s3://bucket/prefix
      and if they share nothing but that store and that bucket?

Makes the demo in a new folder, reads its models back, builds its report, tries locks and synced
writes, and where a store is named (as for every command) a small run on it: push, two workers,
pull; with a bucket each worker has only that and an empty folder. Folder, run and files are removed again. Exit 0: everything works; 1: a line says what does not,
and what to do.")]
pub struct SelfCheckArgs {
    /// Where to try [default: where temporary files are]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Try this bucket, too, with a store: s3://BUCKET/PREFIX, gs://…, az://…, file:///FOLDER
    /// [default: `ARCHI3D_ARTIFACTS`]
    #[arg(long, value_name = "URL")]
    artifacts: Option<String>,
}

#[derive(Serialize)]
struct Answer<'a> {
    ok: bool,
    version: version::Facts,
    checks: &'a [Line],
}

/// Tries everything and says how it went.
pub fn run(args: &SelfCheckArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let request = SelfCheckRequest {
        place: args.dir.clone().or_else(|| global.workspace.clone()),
        store: global.store.clone(),
        artifacts: args.artifacts.clone(),
    };
    let cancel = Cancel::new();
    let signals = Signals::listen(&cancel, ui).map_err(|error| {
        let source = anyhow::Error::new(error).context("cannot listen to signals");
        CliError::new(ErrorKind::Internal, source)
    })?;
    let mut told = Ok(());
    if !ui.is_json() {
        ui.data(&version::short())?;
    }
    let mut lines = self_check(&request, &cancel, &mut |line| {
        if !ui.is_json() && told.is_ok() {
            told = ui.data(&to_text(line));
        }
    })?;
    told?;
    let works = lines.iter().all(|line| line.ok);
    if ui.is_json() {
        for fix in lines.iter_mut().filter_map(|line| line.fix.as_mut()) {
            *fix = program::as_typed(fix);
        }
        ui.answer(&Answer {
            ok: works,
            version: version::facts(),
            checks: &lines,
        })?;
    }
    match signals.first() {
        Some(signal) => Ok(Exit::Interrupted(signal)),
        None if works => Ok(Exit::Done),
        None => Ok(Exit::JobsFailed),
    }
}

fn to_text(line: &Line) -> String {
    let word = if line.ok { "ok" } else { "FAILED" };
    let text = format!("{word:<7} {:<14} {}", line.name, line.what);
    match &line.fix {
        None => text,
        Some(fix) => format!("{text}\n        {:<14} to do: {fix}", ""),
    }
}
