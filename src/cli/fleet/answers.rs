//! What `fleet` commands do and how their answers look.

use std::fmt::Write as _;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{FleetCommand, PullArgs, PushArgs, SweepArgs, serving};
use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::run::parse_run_id;
use crate::cli::table::{Fitted, Page, short_duration};
use crate::cli::ui::{self, Ui};
use crate::cli::waiting;
use crate::cli::watch;
use crate::cli::working::while_working;
use archi3d_core::domain::text::{counted, one_line, shell_word};
use archi3d_core::domain::time::Timestamp;
use archi3d_core::ops::OpsContext;
use archi3d_core::ops::fleet::{self, PushRequest};
use archi3d_core::ops::view::fleet::{FleetRuns, Pulled, Pushed, SweepReport, Workers};

/// So many missing results are named on a screen.
const NAMED: usize = 10;

/// Carries out the command.
pub(super) fn run(command: &FleetCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    if let FleetCommand::Init(args) = command
        && args.print
    {
        ui.script(&fleet::schema_text())?;
        return Ok(Exit::Done);
    }
    let context = global.context()?;
    for warning in &context.settings.warnings {
        ui.warn(warning);
    }
    match command {
        FleetCommand::Init(args) => {
            let schema = fleet::init(&context, args.check)?;
            if ui.is_json() {
                ui.answer(&schema)?;
            } else {
                let what = match schema.applied.len() {
                    0 => "is there",
                    _ => "was made or upgraded",
                };
                let (server, version) = (&schema.server, schema.version);
                ui.data(&format!("{server}: the schema {what} (version {version})"))?;
            }
        }
        FleetCommand::Push(args) => push_run(args, &context, ui)?,
        FleetCommand::Worker(args) => return serving::run(args, &context, ui),
        FleetCommand::Pull(args) => return pull_run(args, &context, ui),
        FleetCommand::Runs(_) => {
            let runs = fleet::runs(&context)?;
            if ui.is_json() {
                ui.answer(&runs)?;
            } else {
                ui.data(&runs_text(&runs, Page::of_terminal()))?;
            }
        }
        FleetCommand::Workers(args) => {
            let run_id = args.run_id.as_deref().map(parse_run_id).transpose()?;
            let workers = fleet::workers(&context, run_id.as_ref(), args.all)?;
            if ui.is_json() {
                ui.answer(&workers)?;
            } else {
                ui.data(&workers_text(&workers, Page::of_terminal()))?;
            }
        }
        FleetCommand::Sweep(args) => return sweep(args, &context, ui),
        FleetCommand::Prune(args) => {
            let grace = Duration::from_secs(u64::from(args.grace) * 86_400);
            let named = args.artifacts.as_deref();
            let pruned = fleet::prune(&context, args.older_than, grace, named)?;
            if ui.is_json() {
                ui.answer(&pruned)?;
            } else {
                ui.data(&format!(
                    "forgotten: {}, {}, {}, {}, {} in buckets ({} MB)",
                    counted(pruned.runs, "run"),
                    counted(pruned.jobs, "job"),
                    counted(pruned.workers, "worker"),
                    counted(pruned.checkpoints, "checkpoint"),
                    counted(pruned.blobs, "file"),
                    pruned.bytes / 1_000_000,
                ))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn push_run(args: &PushArgs, context: &OpsContext, ui: &Ui) -> Result<(), CliError> {
    let request = PushRequest {
        run_id: parse_run_id(&args.run_id)?,
        priority: args.priority,
        lease_seconds: args.lease_secs,
        artifacts: args.artifacts.clone(),
    };
    let pushed = while_working(ui, "handing the run over", || {
        fleet::push(context, &request)
    })?;
    for warning in &pushed.warnings {
        ui.warn(warning);
    }
    if ui.is_json() {
        ui.answer(&pushed)?;
    } else {
        ui.data(&pushed_text(&pushed))?;
    }
    if let Some(place) = &pushed.artifacts {
        let (put, megabytes) = (pushed.pictures_put, pushed.bytes_put / 1_000_000);
        ui.say(&format!(
            "pictures in {place}: {put} put just now ({megabytes} MB), all others were there"
        ));
    }
    let run = shell_word(pushed.run_id.as_str());
    let anywhere = match pushed.artifacts {
        Some(_) => "in any folder that has adapters for it, ",
        None => "",
    };
    ui.hint(&format!(
        "`archi3d run worker --run-id {run}` works on it, {anywhere}on as many machines as you like"
    ));
    Ok(())
}

fn pushed_text(pushed: &Pushed) -> String {
    let Pushed {
        run_id,
        server,
        added,
        known,
        pushed_by,
        ..
    } = pushed;
    if !pushed.again {
        let jobs = counted(*added, "job");
        return format!("pushed: run {run_id}, {jobs}, to {server}");
    }
    let new = match added {
        0 => "nothing new".to_owned(),
        added => format!("{added} new"),
    };
    format!(
        "run {run_id} was pushed by {pushed_by} before: {new}, {} there already",
        counted(*known, "job")
    )
}

fn pull_run(args: &PullArgs, context: &OpsContext, ui: &Ui) -> Result<Exit, CliError> {
    let run_id = parse_run_id(&args.run_id)?;
    let mut lacking = None;
    let mut look = || -> Result<Pulled, CliError> {
        let mut waiting = waiting::for_registry(ui);
        let pulled = fleet::pull(context, &run_id, &mut waiting)?;
        lacking = (!pulled.missing.is_empty()).then_some(match pulled.artifacts {
            Some(_) => Exit::Store,
            None => Exit::JobsFailed,
        });
        Ok(pulled)
    };
    if args.watch {
        let ended = watch::run(ui, Duration::from_secs(args.every), || {
            let pulled = look()?;
            Ok(watch::Look {
                over: pulled.over,
                json: ui::value(&pulled),
                draw: Box::new(move |_| pulled_text(&pulled)),
            })
        })?;
        return Ok(lacking.filter(|_| ended == Exit::Done).unwrap_or(ended));
    }
    let pulled = look()?;
    if ui.is_json() {
        ui.answer(&pulled)?;
    } else {
        ui.data(&pulled_text(&pulled))?;
    }
    if lacking.is_some() {
        ui.hint(match &pulled.artifacts {
            Some(_) => "what the bucket has lost: restore it there and pull again, or make these jobs again with --redo",
            None => "results lie in the shared workspace: see that this machine shows the same folder as the workers",
        });
    }
    Ok(lacking.unwrap_or(Exit::Done))
}

fn pulled_text(pulled: &Pulled) -> String {
    let mut text = format!(
        "run {}: {}, {} enqueued, {} running, {} completed, {} failed, {} cancelled\nrows: {} changed",
        pulled.run_id,
        counted(pulled.jobs, "job"),
        pulled.enqueued,
        pulled.running,
        pulled.completed,
        pulled.failed,
        pulled.cancelled,
        pulled.rows_changed,
    );
    if pulled.rows_restored > 0 {
        let _ = write!(text, ", {} restored", pulled.rows_restored);
    }
    if pulled.published > 0 {
        let _ = write!(
            text,
            "\n{} brought to its place",
            counted(pulled.published, "result")
        );
    }
    for missing in pulled.missing.iter().take(NAMED) {
        let _ = write!(text, "\nmissing: {}: {}", missing.job_id, missing.what);
    }
    if pulled.missing.len() > NAMED {
        let _ = write!(text, "\n… {} more", pulled.missing.len() - NAMED);
    }
    text
}

fn sweep(args: &SweepArgs, context: &OpsContext, ui: &Ui) -> Result<Exit, CliError> {
    let Some(seconds) = args.every.filter(|_| !args.once) else {
        let report = fleet::sweep(context)?;
        if ui.is_json() {
            ui.answer(&report)?;
        } else {
            ui.data(&swept_text(&report))?;
        }
        return Ok(Exit::Done);
    };
    watch::run(ui, Duration::from_secs(seconds), || {
        let report = match fleet::sweep(context) {
            Ok(report) => report,
            // A server that is away comes back.
            Err(error) if !error.is_setup() => {
                ui.warn(&format!("{error}; it is tried again"));
                SweepReport::default()
            }
            Err(error) => return Err(error.into()),
        };
        Ok(watch::Look {
            over: false,
            json: ui::value(&report),
            draw: Box::new(move |_| swept_text(&report)),
        })
    })
}

fn swept_text(report: &SweepReport) -> String {
    if report.expired == 0 {
        return "no lease has expired".to_owned();
    }
    format!(
        "{} expired: {} wait again, {} failed, {} cancelled, {} keep their older result",
        counted(report.expired, "lease"),
        report.requeued,
        report.failed,
        report.cancelled,
        report.kept,
    )
}

fn runs_text(runs: &FleetRuns, page: Page) -> String {
    if runs.runs.is_empty() {
        return format!(
            "{}: no runs yet; `archi3d fleet push --run-id ID` hands one over",
            runs.server
        );
    }
    let mut table = Fitted::new([
        "run",
        "pushed",
        "jobs",
        "waiting",
        "running",
        "completed",
        "rehearsed",
        "failed",
        "cancelled",
        "pulled",
        "by",
    ])
    .cut(&[0, 10])
    .right(2..9);
    let shown = |count: usize| match count {
        0 => String::new(),
        count => count.to_string(),
    };
    let minute = |at: DateTime<Utc>| page.zone.minute(Timestamp::new(at));
    for run in &runs.runs {
        table.row([
            one_line(&run.run_id),
            minute(run.pushed_at),
            run.jobs.to_string(),
            shown(run.waiting),
            shown(run.running),
            shown(run.completed),
            shown(run.rehearsed),
            shown(run.failed),
            shown(run.cancelled),
            run.pulled_at.map(minute).unwrap_or_default(),
            one_line(run.pushed_by.as_deref().unwrap_or_default()),
        ]);
    }
    table.drop_empty();
    table.lines(page).join("\n")
}

fn workers_text(workers: &Workers, page: Page) -> String {
    if workers.workers.is_empty() {
        return format!("{}: no workers", workers.server);
    }
    let mut table = Fitted::new([
        "worker", "host", "health", "doing", "holds", "heard of", "since", "run", "version",
    ])
    .cut(&[0, 1, 7])
    .right([4, 5]);
    for worker in &workers.workers {
        table.row([
            one_line(&worker.worker_id),
            one_line(&worker.host),
            worker.health.to_owned(),
            worker.state.clone(),
            format!("{}/{}", worker.holds, worker.slots),
            format!("{} ago", short_duration(worker.silent)),
            page.zone.minute(Timestamp::new(worker.started)),
            one_line(worker.run_id.as_deref().unwrap_or("all")),
            worker.version.clone(),
        ]);
    }
    table.drop_empty();
    table.lines(page).join("\n")
}
