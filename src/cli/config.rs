//! `archi3d config …`: what is configured, and where each value comes from.

use std::borrow::Cow;

use clap::{Args, Subcommand};
use serde::Serialize;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::table::{Fitted, Page};
use crate::cli::ui::Ui;
use archi3d_core::config::SettingEntry;
use archi3d_core::domain::text::one_line;

/// What can be done with the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show each effective value and where it comes from; secrets are masked
    Show(ShowArgs),
}

/// The options of `config show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d config show
  archi3d config show adapters.mock
  archi3d config show --json | jq '.entries[] | select(.name == \"workspace\")'

The workspace is taken from --workspace, else ARCHI3D_WORKSPACE, else a .env file, else the
user's own config.yaml, else the nearest folder above that is a workspace. Files of the
workspace (config/global.yaml, config/adapters.yaml) override the shipped ones key by key.
Variables are taken from the environment, else the nearest .env, else the workspace's .env.")]
pub struct ShowArgs {
    /// Only values whose name begins with this, such as `adapters.mock`
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// Carries out the command.
pub fn run(command: &ConfigCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    match command {
        ConfigCommand::Show(args) => show(args, global, ui),
    }
}

fn show(args: &ShowArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    let settings = &*context.settings;
    for warning in &settings.warnings {
        ui.warn(warning);
    }
    let mut entries = settings.entries();
    if let Some(name) = &args.name {
        entries.retain(|entry| entry.name.starts_with(name.as_str()));
        if entries.is_empty() {
            return Err(
                CliError::usage(format!("no value has a name that begins with {name:?}"))
                    .hint("`archi3d config show` lists all names"),
            );
        }
    }
    if ui.is_json() {
        ui.answer(&Answer {
            workspace: settings.workspace.to_string_lossy(),
            entries: &entries,
            warnings: &settings.warnings,
        })?;
    } else {
        ui.data(&to_text(&entries, Page::of_list()))?;
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Answer<'a> {
    workspace: Cow<'a, str>,
    entries: &'a [SettingEntry],
    warnings: &'a [String],
}

fn to_text(entries: &[SettingEntry], page: Page) -> String {
    let mut table = Fitted::new(["name", "value", "from"]);
    let mut below = Vec::new();
    for entry in entries {
        let (name, value) = (one_line(&entry.name), one_line(&entry.value));
        let origin = one_line(&entry.origin.to_string());
        let line = format!("{name} = {value}");
        if line.width() <= page.width {
            below.push(line);
        } else {
            below.extend(pieces(&format!("{name} ="), page.width, 0));
            below.extend(pieces(&value, page.width, 4));
        }
        below.extend(pieces(&format!("from {origin}"), page.width, 4));
        table.row([name, value, origin]);
    }
    // Beside each other only where everything has room.
    let lines = table.lines(Page {
        width: usize::MAX,
        ..page
    });
    let fits = lines.iter().all(|line| line.width() <= page.width);
    if fits { lines } else { below }.join("\n")
}

/// Breaks a text anywhere so that it fits, the first line set in by so many blanks and the others by four more.
fn pieces(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = vec![" ".repeat(indent)];
    let mut used = indent;
    for letter in text.chars() {
        let wide = letter.width().unwrap_or_default();
        if used + wide > width {
            lines.push(" ".repeat(indent + 4));
            used = indent + 4;
        }
        lines.last_mut().expect("there is one").push(letter);
        used += wide;
    }
    lines
}
