//! `archi3d adapters …`: what makes the models, whether it works, what it costs, and
//! opening a provider that was closed.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::Global;
use crate::cli::attempts::dollars;
use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::guard;
use crate::cli::prices::{self, PricesArgs};
use crate::cli::signal::Signals;
use crate::cli::table::{Fitted, Page, short_duration};
use crate::cli::ui::Ui;
use archi3d_core::cancel::{Cancel, Stage};
use archi3d_core::domain::algo::ImageMode;
use archi3d_core::domain::id::AlgoKey;
use archi3d_core::domain::text::one_line;
use archi3d_core::ops::OpsContext;
use archi3d_core::ops::adapters::{
    self, AdapterEntry, CheckOutcome, CheckRequest, Checked, ClosedProvider, Looked, PictureSource,
    Resumed,
};

/// What can be done with adapters.
#[derive(Debug, Subcommand)]
pub enum AdaptersCommand {
    /// Show what can run now, and what is missing for the rest
    #[command(
        after_help = "Examples:\n  archi3d adapters list --all\n  archi3d adapters list --json | jq .adapters"
    )]
    List(ListArgs),
    /// Run adapters on one picture in a temporary folder and show what comes back
    Check(CheckArgs),
    /// Show what a generation costs and who says so; ask fal for its prices
    Prices(PricesArgs),
    /// Open a provider that was closed, or resume a paused algorithm, for all workers
    Resume(ResumeArgs),
}

/// The options of `adapters list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Show those too that cannot run
    #[arg(long)]
    all: bool,
}

/// The options of `adapters check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d adapters check
      try every adapter that can run and costs nothing
  archi3d adapters check trellis_single --online
      whether there is a key, and whether fal still has the model; free
  archi3d adapters check rodin_multi --image chair.jpg --yes
      try one that costs something")]
pub struct CheckArgs {
    /// The algo to try [default: every one that can run and costs nothing]
    #[arg(value_name = "KEY")]
    key: Option<String>,
    /// The picture [default: the first of the dataset, else a drawn one]
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    /// Ask the service about the model: is it still there, does it take these arguments; free
    #[arg(long)]
    online: bool,
    /// Pay for it, where it costs something or its price is unknown; the limit of the day
    /// and `cost report` count it, and what it made is kept
    #[arg(long)]
    yes: bool,
}

/// The options of `adapters resume`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  archi3d adapters resume fal")]
pub struct ResumeArgs {
    /// The provider, or an algo
    #[arg(value_name = "KEY")]
    key: String,
}

/// Carries out the command.
pub fn run(command: &AdaptersCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    match command {
        AdaptersCommand::List(args) => list(args, global, ui),
        AdaptersCommand::Check(args) => check(args, global, ui),
        AdaptersCommand::Prices(args) => prices::run(args, global, ui),
        AdaptersCommand::Resume(args) => resume(args, global, ui),
    }
}

fn open(global: &Global, ui: &Ui) -> Result<OpsContext, CliError> {
    let context = global.context()?;
    warn_of(&context, ui);
    Ok(context)
}

fn warn_of(context: &OpsContext, ui: &Ui) {
    for warning in &context.settings.warnings {
        ui.warn(warning);
    }
}

fn list(args: &ListArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = open(global, ui)?;
    let (entries, away) = adapters::list_known(&context)?;
    if let Some(error) = &away {
        ui.warn(&format!(
            "what is closed in the fleet is not known: {error}"
        ));
    }
    if ui.is_json() {
        ui.list("adapters", &entries)?;
    } else {
        ui.data(&entries_text(&entries, args.all, Page::of_terminal()))?;
    }
    Ok(Exit::Done)
}

fn mode(entry: &AdapterEntry) -> &'static str {
    match entry.image_mode {
        ImageMode::Single => "single",
        ImageMode::Multi => "multi",
    }
}

fn entries_text(every: &[AdapterEntry], all: bool, page: Page) -> String {
    let (ready, rest): (Vec<_>, Vec<_>) = every.iter().partition(|entry| entry.runnable);
    // What a person wrote down and cannot run is worth a line; what was shipped is not.
    let hidden = |entry: &&AdapterEntry| entry.missing_key.is_some() || entry.kind.is_none();
    let mut entries = ready;
    entries.extend(rest.iter().copied().filter(|entry| all || !hidden(entry)));
    let left_out = rest.iter().filter(|entry| !all && hidden(entry)).count();
    let mut table = Fitted::new(["algo", "state", "price", "kind", "pictures", "provider"]);
    table = table.cut(&[0, 5]);
    for entry in entries.iter().copied() {
        let own =
            entry.provider == entry.key.as_str() || entry.kind.as_deref() == Some(&entry.provider);
        table.row([
            entry.key.to_string(),
            state(entry),
            entry
                .unit_price_usd
                .map_or_else(|| "unknown".to_owned(), dollars),
            entry.kind.clone().unwrap_or_else(|| "endpoint".to_owned()),
            mode(entry).to_owned(),
            if own {
                String::new()
            } else {
                entry.provider.clone()
            },
        ]);
    }
    table.drop_empty();
    let mut text = table.lines(page).join("\n");
    text.push('\n');
    // Algorithms that share a provider are closed by one.
    let mut told = HashSet::new();
    for entry in entries.iter().copied() {
        // The same sentence for a dozen shipped entries helps nobody.
        if entry.kind.is_some() && entry.missing_key.is_none() {
            for problem in &entry.problems {
                let _ = write!(text, "\n{problem}");
            }
        }
        if let Some(words) = &entry.deprecated {
            let _ = write!(text, "\nalgo {} is deprecated: {words}", entry.key);
        }
        if let Some(closed) = &entry.closed
            && told.insert(&entry.provider)
        {
            let _ = write!(text, "\n{}", closed_text(&entry.provider, closed, page));
        }
        if let Some(paused) = &entry.paused {
            let (key, reason) = (&entry.key, one_line(&paused.reason));
            let _ = write!(
                text,
                "\nalgo {key} is paused since {} ({reason})\n  to resume it: archi3d adapters resume {key}",
                page.zone.minute(paused.since)
            );
        }
    }
    let mut keys: Vec<&str> = every.iter().filter_map(|entry| entry.missing_key).collect();
    keys.dedup();
    for key in keys {
        let waiting = every
            .iter()
            .filter(|entry| entry.missing_key == Some(key))
            .count();
        let example = every.iter().find(|entry| entry.missing_key == Some(key));
        let example = example.map_or("", |entry| entry.key.as_str());
        let _ = write!(
            text,
            "\n{waiting} more run once {key} is set in .env, such as {example}"
        );
    }
    if left_out > 0 {
        let _ = write!(text, "\nto see all of them: archi3d adapters list --all");
    }
    let bare: Vec<&AdapterEntry> = entries
        .iter()
        .copied()
        .filter(|e| e.kind.is_none())
        .collect();
    if let Some(first) = bare.first() {
        let _ = write!(
            text,
            "\n{} entries have only an endpoint. To run one, give it a program; such as:\n{}",
            bare.len(),
            first.problems.join("\n")
        );
    }
    text.truncate(text.trim_end().len());
    text
}

fn state(entry: &AdapterEntry) -> String {
    match (&entry.closed, entry.runnable, &entry.kind) {
        (_, false, None) => "needs a program".to_owned(),
        (_, false, Some(_)) if entry.missing_key.is_some() => {
            format!("needs {}", entry.missing_key.unwrap_or_default())
        }
        (_, false, Some(_)) => "cannot run".to_owned(),
        (Some(_), true, _) => "closed".to_owned(),
        (None, true, _) if entry.paused.is_some() => "paused".to_owned(),
        (None, true, _) => "ready".to_owned(),
    }
}

fn closed_text(provider: &str, closed: &ClosedProvider, page: Page) -> String {
    let until = closed.until.map_or_else(String::new, |until| {
        format!(" until {}", page.zone.minute(until))
    });
    format!(
        "provider {provider} is closed{until}, since {} {} ({})\n  to open it: archi3d adapters resume {provider}",
        page.zone.minute(closed.since),
        page.zone.name(closed.since),
        one_line(&closed.reason)
    )
}

fn check(args: &CheckArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let key = args.key.as_deref().map(AlgoKey::parse).transpose()?;
    let context = global.context()?;
    let free = key.as_ref().filter(|_| !args.yes);
    if let Some(looked) = free.and_then(|key| adapters::look(&context, key, args.online)) {
        warn_of(&context, ui);
        return show_look(&looked, ui);
    }
    if let Some(exit) = guard::stand_to_check(&context, key.as_ref(), ui) {
        return Ok(exit);
    }
    warn_of(&context, ui);
    let request = CheckRequest {
        key,
        image: args.image.clone(),
        may_pay: args.yes,
    };
    let cancel = Cancel::new();
    let signals = Signals::listen(&cancel, ui).map_err(|error| {
        let source = anyhow::Error::new(error).context("cannot listen to signals");
        CliError::new(ErrorKind::Internal, source)
    })?;
    guard::accept(&cancel, ui);
    stop_at_first_signal(&cancel);
    let mut told = |key: &AlgoKey, source: &PictureSource| {
        ui.say(&format!("checking {key} with {}", picture_text(source)));
    };
    let all = adapters::check(&context, &request, &cancel, &mut told)?;
    if ui.is_json() {
        ui.list("checks", &all)?;
    } else {
        let texts: Vec<String> = all.iter().map(checked_text).collect();
        ui.data(&texts.join("\n"))?;
    }
    if let Some(signal) = signals.first() {
        return Ok(Exit::Interrupted(signal));
    }
    let named = request.key.is_some();
    let failed = |checked: &Checked| match checked.outcome {
        CheckOutcome::Made { .. } => !checked.complaints.is_empty(),
        CheckOutcome::Failed { .. } => true,
        CheckOutcome::Skipped { .. } => named,
    };
    Ok(if all.iter().any(failed) {
        Exit::JobsFailed
    } else {
        Exit::Done
    })
}

#[derive(Serialize)]
struct Look<'a> {
    key: &'a AlgoKey,
    outcome: &'static str,
    problems: &'a [String],
    notes: &'a [String],
}

/// Shows what was found of a service's model without buying.
fn show_look(looked: &Looked, ui: &Ui) -> Result<Exit, CliError> {
    let fine = looked.problems.is_empty();
    if ui.is_json() {
        let look = Look {
            key: &looked.key,
            outcome: "looked",
            problems: &looked.problems,
            notes: &looked.notes,
        };
        ui.list("checks", &[look])?;
    } else {
        let mut text = format!(
            "{}: {}",
            looked.key,
            if fine { "looks well" } else { "would not work" }
        );
        for line in looked.problems.iter().chain(&looked.notes) {
            let _ = write!(text, "\n  {}", one_line(line));
        }
        ui.data(&text)?;
    }
    Ok(if fine { Exit::Done } else { Exit::JobsFailed })
}

/// A check has no other jobs to wait for: the first signal ends it.
fn stop_at_first_signal(cancel: &Cancel) {
    let cancel = cancel.clone();
    std::thread::spawn(move || {
        while !cancel.wait_for(Stage::Drain, Duration::from_secs(3600)) {}
        cancel.raise(Stage::Kill);
    });
}

fn picture_text(source: &PictureSource) -> String {
    match source {
        PictureSource::Given(path) | PictureSource::Dataset(path) => path.display().to_string(),
        PictureSource::Drawn => "a drawn picture".to_owned(),
    }
}

fn checked_text(checked: &Checked) -> String {
    let key = &checked.key;
    let took = short_duration(checked.duration);
    let mut text = match &checked.outcome {
        CheckOutcome::Made {
            files,
            version,
            cost_usd,
            price_source,
            ..
        } => {
            let mut text = format!("{key}: works, {took}");
            if let Some(version) = version {
                let _ = write!(text, ", version {}", one_line(version));
            }
            if let Some(cost) = cost_usd {
                let _ = write!(text, ", {}", dollars(*cost));
            }
            if let Some(source) = price_source {
                let _ = write!(text, " (price: {})", one_line(source));
            }
            let mut table = Fitted::new([""; 2]).indent(2).cut(&[0]);
            for file in files {
                table.row([file.name.clone(), format!("{} bytes", file.size)]);
            }
            text.push('\n');
            text.push_str(&table.lines(Page::of_terminal()).join("\n"));
            text
        }
        CheckOutcome::Failed {
            class,
            message,
            detail,
            retry_after,
        } => {
            let mut text = format!("{key}: failed, {took}, {class}: {message}");
            if let Some(time) = retry_after {
                let _ = write!(text, " (asks to wait {})", short_duration(*time));
            }
            for line in detail.iter().flat_map(|detail| detail.lines().take(20)) {
                let _ = write!(text, "\n  {line}");
            }
            text
        }
        CheckOutcome::Skipped { reason } => format!("{key}: not tried: {reason}"),
    };
    if let Some(id) = &checked.request_id {
        let id = one_line(id);
        let _ = write!(text, "\n  bought as request {id}");
    }
    if let Some(folder) = &checked.kept_in {
        let _ = write!(text, "\n  kept in {folder}; booked under adapter-checks");
    }
    for complaint in &checked.complaints {
        let complaint = one_line(complaint);
        let _ = write!(text, "\n  not in the protocol: {complaint}");
    }
    text
}

#[derive(Clone, Copy, Serialize)]
struct Freed<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    algo: Option<&'a AlgoKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a AlgoKey>,
    opened: bool,
    reason: &'a str,
}

impl<'a> Freed<'a> {
    fn of(resumed: &'a Resumed) -> Self {
        let key = Some(&resumed.key);
        Self {
            algo: key.filter(|_| resumed.is_algo),
            provider: key.filter(|_| !resumed.is_algo),
            opened: true,
            reason: &resumed.closed.reason,
        }
    }
}

/// What was opened; the first of it also by itself, as programs read it that know of no more than one.
#[derive(Serialize)]
struct AllFreed<'a> {
    #[serde(flatten)]
    first: Freed<'a>,
    resumed: Vec<Freed<'a>>,
}

fn resumed_text(resumed: &Resumed) -> String {
    let (key, since) = (&resumed.key, &resumed.closed.since);
    let reason = one_line(&resumed.closed.reason);
    if resumed.is_algo {
        format!("algo {key} is resumed (it was paused since {since}: {reason})")
    } else {
        format!("provider {key} is open again (it was closed since {since}: {reason})")
    }
}

fn resume(args: &ResumeArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let key = AlgoKey::parse(&args.key)?;
    let context = open(global, ui)?;
    let resumed = adapters::resume(&context, &key)?;
    if ui.is_json() {
        let all: Vec<Freed<'_>> = resumed.iter().map(Freed::of).collect();
        ui.answer(&AllFreed {
            first: all[0],
            resumed: all,
        })?;
    } else {
        let lines: Vec<String> = resumed.iter().map(resumed_text).collect();
        ui.data(&lines.join("\n"))?;
        ui.hint("its jobs wait; run the same `archi3d run worker` again");
    }
    Ok(Exit::Done)
}
