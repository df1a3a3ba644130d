//! `archi3d help`: what the program can do, one command, or the options of all.
//!
//! The options that every command understands are told once, under `help options`;
//! the help of a command shows its own, its examples, and where to look for the rest.

use clap::{Args, CommandFactory};

use crate::cli::error::{CliError, Exit};
use crate::cli::ui::Ui;
use crate::cli::{Cli, Global};

/// Where every help text points to.
const POINTER: &str = "Options of every command (--workspace, --json, …): archi3d help options";

/// How the program ends, for the help and the manual pages.
pub const EXIT_CODES: &[(&str, &str)] = &[
    ("0", "done"),
    (
        "1",
        "some jobs failed or wait for a provider, or a check found something",
    ),
    (
        "2",
        "the request or the set-up is wrong; nothing was changed",
    ),
    (
        "3",
        "the store or the disk failed; finished results are safe",
    ),
    ("4", "a spending limit kept jobs from starting"),
    ("5", "the filters match no job of the run"),
    ("70", "a bug in the program"),
    ("129, 130, 143", "stopped by SIGHUP, SIGINT, SIGTERM"),
];

/// The options of `help`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d help run worker
      one command
  archi3d help options
      the options that every command understands, and the exit codes")]
pub struct HelpArgs {
    /// A command, or `options` [default: the list of commands]
    #[arg(value_name = "TOPIC")]
    topic: Vec<String>,
}

/// Returns the command line as its help shows it.
pub fn command() -> clap::Command {
    shaped(Cli::command(), true)
}

fn shaped(command: clap::Command, is_root: bool) -> clap::Command {
    let command = command.mut_args(|argument| {
        let told_once = argument.is_global_set();
        argument.hide(told_once)
    });
    let before = command.get_after_help().map(ToString::to_string);
    let before = before.unwrap_or_default();
    let command = if is_root {
        command.after_help(format!(
            "{before}\n\nOptions of every command and exit codes: archi3d help options"
        ))
    } else {
        command.after_help(format!("{before}\n\n{POINTER}"))
    };
    command.mut_subcommands(|below| shaped(below, false))
}

/// Prints the help that was asked for.
pub fn run(args: &HelpArgs, ui: &Ui) -> Result<Exit, CliError> {
    let topic: Vec<&str> = args.topic.iter().map(String::as_str).collect();
    let text = if topic == ["options"] {
        options()
    } else {
        of_command(&topic)?
    };
    ui.script(&text)?;
    Ok(Exit::Done)
}

fn of_command(topic: &[&str]) -> Result<String, CliError> {
    let mut root = command();
    root.build();
    let mut found = &mut root;
    for word in topic {
        let known: Vec<String> = found
            .get_subcommands()
            .map(|below| below.get_name().to_owned())
            .collect();
        found = found.find_subcommand_mut(word).ok_or_else(|| {
            CliError::usage(format!("no help for {word:?}"))
                .hint(format!("there is: {}", known.join(", ")))
        })?;
    }
    Ok(found.render_help().to_string())
}

fn options() -> String {
    let command = Global::augment_args(clap::Command::new("archi3d"));
    let command = command.disable_help_flag(true);
    let mut command = command.help_template("Options of every command:\n{options}\n{after-help}");
    let width = EXIT_CODES.iter().map(|(code, _)| code.len()).max();
    let width = width.unwrap_or_default();
    let codes = EXIT_CODES.iter();
    let codes = codes.map(|(code, meaning)| format!("  {code:width$}  {meaning}"));
    let codes: Vec<String> = codes.collect();
    command = command.next_help_heading(None).after_help(format!(
        "Exit codes:\n{}\n\nVariables: ARCHI3D_WORKSPACE (the workspace), NO_COLOR, TZ (the zone of times on screens),\nCOLUMNS (the width of lists that are piped).",
        codes.join("\n")
    ));
    command.render_help().to_string()
}
