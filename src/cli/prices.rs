//! `archi3d adapters prices`: what a generation costs, who says so and how long ago.

use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::cli::Global;
use crate::cli::attempts::dollars;
use crate::cli::error::{CliError, Exit};
use crate::cli::table::{Fitted, Page, short_duration};
use crate::cli::ui::Ui;
use archi3d_core::domain::text::one_line;
use archi3d_core::ops::adapters::{PriceEntry, Refreshed, prices, refresh_prices};

/// The options of `adapters prices`.
#[derive(Debug, Args)]
#[command(
    after_help = "A price in the workspace's config/adapters.yaml holds before one that its service lists, and
that before the shipped one. Listed prices are kept in config/prices.json with their date.

Examples:
  archi3d adapters prices
  archi3d adapters prices --refresh
  archi3d adapters prices --json | jq '.prices[] | select(.age_s > 604800)'"
)]
pub struct PricesArgs {
    /// Ask fal for its prices and keep them; free, needs the key
    #[arg(long)]
    refresh: bool,
}

/// A price that asking has changed.
#[derive(Serialize)]
struct Change<'a> {
    algo: &'a str,
    #[serde(rename = "before_usd")]
    before: Option<f64>,
    #[serde(rename = "now_usd")]
    now: Option<f64>,
}

#[derive(Serialize)]
struct Answer<'a> {
    prices: &'a [PriceEntry],
    #[serde(skip_serializing_if = "Option::is_none")]
    refreshed: Option<&'a Vec<Refreshed>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<&'a Vec<Change<'a>>>,
}

/// Shows the prices, after asking for them if that is wanted.
pub fn run(args: &PricesArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let mut context = global.context()?;
    let before = prices(&context);
    let mut refreshed = Vec::new();
    if args.refresh {
        refreshed = refresh_prices(&context)?;
        context = global.context()?;
    }
    for warning in &context.settings.warnings {
        ui.warn(warning);
    }
    let now = prices(&context);
    let changes = changes(&before, &now);
    if ui.is_json() {
        ui.answer(&Answer {
            prices: &now,
            refreshed: args.refresh.then_some(&refreshed),
            changed: args.refresh.then_some(&changes),
        })?;
        return Ok(Exit::Done);
    }
    let mut lines = lines(&now, Page::of_terminal());
    if args.refresh {
        lines.push(String::new());
        lines.extend(refreshed.iter().map(refreshed_text));
        lines.extend(changes.iter().map(change_text));
    }
    ui.data(&lines.join("\n"))?;
    if !args.refresh && now.iter().any(|entry| entry.has_list) {
        ui.hint("to ask fal for its prices: archi3d adapters prices --refresh");
    }
    Ok(Exit::Done)
}

fn changes<'a>(before: &[PriceEntry], now: &'a [PriceEntry]) -> Vec<Change<'a>> {
    let both = before.iter().zip(now);
    both.filter(|(old, new)| old.key == new.key && old.usd != new.usd)
        .map(|(old, new)| Change {
            algo: new.key.as_str(),
            before: old.usd,
            now: new.usd,
        })
        .collect()
}

fn change_text(change: &Change<'_>) -> String {
    let (before, now) = (price(change.before), price(change.now));
    format!("{}: {before} before, {now} now", change.algo)
}

fn refreshed_text(refreshed: &Refreshed) -> String {
    let Refreshed {
        service,
        asked,
        priced,
        unlisted,
        kept_in,
    } = refreshed;
    let mut text =
        format!("{service} names a price for {priced} of {asked} models, kept in {kept_in}");
    if !unlisted.is_empty() {
        text.push_str("; none for ");
        text.push_str(&unlisted.join(", "));
    }
    text
}

fn lines(entries: &[PriceEntry], page: Page) -> Vec<String> {
    let mut table = Fitted::new(["algo", "price", "from", "age", "listed"]);
    table = table.cut(&[2, 4]).right([1]);
    let asked = entries.iter().any(|entry| entry.listed.is_some());
    for entry in entries {
        table.row([
            entry.key.to_string(),
            price(entry.usd),
            from(entry),
            entry
                .age_s
                .map_or_else(String::new, |age| short_duration(Duration::from_secs(age))),
            listed(entry, asked),
        ]);
    }
    let mut lines = table.lines(page);
    let notes = entries.iter().filter_map(|entry| {
        let note = entry.note.as_ref()?;
        Some(format!("{}: {}", entry.key, one_line(note)))
    });
    let notes: Vec<String> = notes.collect();
    if !notes.is_empty() {
        lines.push(String::new());
        lines.extend(notes);
    }
    lines
}

fn price(usd: Option<f64>) -> String {
    usd.map_or_else(|| "unknown".to_owned(), dollars)
}

fn from(entry: &PriceEntry) -> String {
    let source = entry.source.as_deref().map(one_line);
    match (&entry.from, source) {
        (_, Some(source)) if entry.age_s.is_some() => source,
        (Some(from), Some(source)) => format!("{from} ({source})"),
        (Some(from), None) => from.clone(),
        (None, _) => String::new(),
    }
}

fn listed(entry: &PriceEntry, asked: bool) -> String {
    match (&entry.listed, entry.has_list) {
        (None, false) => "no price list".to_owned(),
        (None, true) if asked => "not listed".to_owned(),
        (None, true) => "not asked".to_owned(),
        (Some(_), _) if entry.note.is_some() => "not used, see below".to_owned(),
        (Some(listed), _) => {
            let (price, unit) = (listed.unit_price, one_line(&listed.unit));
            match entry.units {
                Some(units) => format!("{price} × {units} ({unit})"),
                None => format!("{price} ({unit})"),
            }
        }
    }
}
