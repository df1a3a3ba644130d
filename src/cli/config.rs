//! `archi3d config …`: what is configured, and where each value comes from.

use std::borrow::Cow;

use clap::{Args, Subcommand};
use serde::Serialize;

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
    let mut table = Fitted::new(["name", "value", "from"]).cut(&[1, 2]);
    for entry in entries {
        table.row([
            one_line(&entry.name),
            one_line(&entry.value),
            one_line(&entry.origin.to_string()),
        ]);
    }
    table.lines(page).join("\n")
}
