//! The command line: what can be typed, and who answers it.
//!
//! `main` calls [`main`] and nothing else. Commands turn arguments into
//! requests for `ops` and show the answers; they decide nothing themselves.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, FromArgMatches as _, Parser, Subcommand};

use crate::cli::error::{CliError, Exit};
use crate::cli::ui::{Color, Ui};
use archi3d_core::ops::{OpsContext, OpsError};
use archi3d_core::trace;

pub mod adapters;
pub mod adopt;
pub mod attempts;
pub mod batch;
pub mod cancel;
pub mod catalog;
pub mod completions;
pub mod compute;
pub mod config;
pub mod confirm;
pub mod consolidate;
pub mod cost;
pub mod demo;
pub mod doctor;
pub mod error;
pub mod explain;
pub mod export;
pub mod figures;
pub mod fleet;
pub mod fleet_args;
#[cfg(feature = "serve")]
pub mod followers;
pub mod guard;
pub mod help;
pub mod init;
pub mod judge;
pub mod local_time;
pub mod man;
pub mod panic;
pub mod plan;
pub mod prices;
pub mod program;
pub mod progress;
pub mod registry;
pub mod remove;
pub mod report;
pub mod resume;
pub mod run;
pub mod run_arg;
pub mod runs;
pub mod selection_args;
pub mod self_check;
#[cfg(feature = "serve")]
pub mod serve;
pub mod signal;
pub mod status;
pub mod table;
pub mod token;
pub mod ui;
pub mod version;
mod waiting;
pub mod watch;
pub mod worker;
pub mod working;

/// Runs large batches of image-to-3D generations from a folder of pictures and loses nothing.
#[derive(Debug, Parser)]
#[command(
    name = "archi3d",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
#[command(after_help = "Examples:
  archi3d demo
      make pictures, run them, look at the models
  archi3d catalog build && archi3d batch create --run-id r1 --algos relief
      from a folder of pictures to the jobs of a run
  archi3d run worker -j 4
      make the models; the same command again resumes where it stopped
  archi3d run status
      show progress, from any terminal")]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// What every command understands.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// The folder everything is in [default: the configured one, else the nearest]
    #[arg(long, global = true, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Where runs of a fleet live: postgresql://USER@HOST/DATABASE [default: ARCHI3D_STORE, DATABASE_URL, `store:`]
    #[arg(long, global = true, value_name = "URL", hide_short_help = true)]
    pub store: Option<String>,
    /// Write the result to standard output as one JSON object; messages stay on standard error
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto"
    )]
    pub color: Color,
    /// Show more details
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

impl Global {
    /// Opens the workspace that is meant, with the store that is named.
    pub fn context(&self) -> Result<OpsContext, OpsError> {
        Ok(OpsContext::open(self.workspace.as_deref())?.with_store(self.store.as_deref()))
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a workspace with pictures of its own, run it, and show where to look
    Demo(demo::DemoArgs),
    /// Try whether everything works on this machine
    SelfCheck(self_check::SelfCheckArgs),
    /// Make an empty workspace
    Init(init::InitArgs),
    /// Make the table of products from the dataset
    #[command(subcommand, after_help = "Examples:\n  archi3d catalog build")]
    Catalog(catalog::CatalogCommand),
    /// Make the jobs of a run from the table of products
    #[command(
        subcommand,
        after_help = "Examples:\n  archi3d batch create --run-id r1 --algos relief"
    )]
    Batch(batch::BatchCommand),
    /// Run the jobs of a run, or look at them
    #[command(
        subcommand,
        after_help = "Examples:
  archi3d run worker
  archi3d run status r1
  archi3d run cancel r1 --item 335888"
    )]
    Run(run::RunCommand),
    /// Have many machines work on a run, with PostgreSQL between them
    #[command(
        subcommand,
        after_help = "Examples:
  export DATABASE_URL=postgresql://archi3d@db.example.com/archi3d
  archi3d fleet init
  archi3d fleet push --run-id r1
  archi3d run worker --run-id r1
  archi3d fleet pull --run-id r1"
    )]
    Fleet(fleet::FleetCommand),
    /// Show and try what makes the models
    #[command(
        subcommand,
        after_help = "Examples:\n  archi3d adapters list\n  archi3d adapters check relief"
    )]
    Adapters(adapters::AdaptersCommand),
    /// Show what was paid, and record what a provider billed
    #[command(
        subcommand,
        after_help = "Examples:\n  archi3d cost report\n  archi3d cost settle r1 335888 --usd 0.30"
    )]
    Cost(cost::CostCommand),
    /// Build a page that shows what a run brought for the money
    #[command(subcommand, after_help = "Examples:\n  archi3d report build r1 --open")]
    Report(report::ReportCommand),
    /// Take in what people say of the models, and rank the algorithms
    #[command(
        subcommand,
        after_help = "Examples:\n  archi3d judge import votes-ana.csv\n  archi3d judge rank"
    )]
    Judge(judge::JudgeCommand),
    /// Measure the models of a run
    #[command(
        subcommand,
        after_help = "Examples:\n  archi3d compute fscore\n  archi3d compute scorer vfscore"
    )]
    Compute(compute::ComputeCommand),
    /// Copy the models of a run under names that tell what they are
    Export(export::ExportArgs),
    /// Make the registry agree with what is on disk
    Consolidate(consolidate::ConsolidateArgs),
    /// Look for what is wrong with the workspace, and repair what can be repaired safely
    Doctor(doctor::DoctorArgs),
    /// Make the registry again from what is recorded
    #[command(
        subcommand,
        after_help = "Examples:\n  archi3d registry rebuild --dry-run"
    )]
    Registry(registry::RegistryCommand),
    /// Serve the runs of the workspace over HTTP: a dashboard, an API, metrics
    #[cfg(feature = "serve")]
    Serve(serve::ServeArgs),
    /// Say who may use the HTTP service
    #[command(
        subcommand,
        after_help = "Examples:\n  archi3d token create ci --role submit --daily-cap-usd 20"
    )]
    Token(token::TokenCommand),
    /// Look at the configuration
    #[command(subcommand, after_help = "Examples:\n  archi3d config show")]
    Config(config::ConfigCommand),
    /// Print the script that makes a shell complete commands, runs and jobs
    Completions(completions::CompletionsArgs),
    /// Write manual pages
    Man(man::ManArgs),
    /// Show the help of a command, or the options of all commands
    Help(help::HelpArgs),
}

/// Does what the arguments say and returns the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    panic::keep_reports();
    archi3d_core::ops::keep_files_from_everybody();
    let args: Vec<OsString> = args.into_iter().collect();
    let ui = Ui::new(Color::Auto, wants_json(&args), false);
    let exit = catch_unwind(AssertUnwindSafe(|| dispatch(args, &ui))).unwrap_or_else(|payload| {
        ui.error(&panic::into_error(payload.as_ref()));
        Exit::Bug
    });
    trace::end();
    exit.into()
}

/// Tells whether machines listen, also where the arguments cannot be understood.
fn wants_json(args: &[OsString]) -> bool {
    let options = args.iter().skip(1).take_while(|word| *word != "--");
    options.into_iter().any(|word| word == "--json")
}

fn dispatch(args: Vec<OsString>, early: &Ui) -> Exit {
    match completions::answer(&args) {
        Ok(false) => {}
        Ok(true) => return Exit::Done,
        Err(error) => return show_clap(&error, early),
    }
    let words = args.clone();
    let parsed = help::command().try_get_matches_from(args);
    let cli = match parsed.and_then(|found| Cli::from_arg_matches(&found)) {
        Ok(cli) => cli,
        Err(error) if error.kind() == clap::error::ErrorKind::DisplayVersion => {
            let told = tell_version(&words, early);
            return told.map_or_else(|error| error.exit(), |()| Exit::Done);
        }
        Err(error) => return show_clap(&error, early),
    };
    let ui = Ui::new(cli.global.color, cli.global.json, cli.global.verbose);
    let global = &cli.global;
    program::act_on(global.workspace.as_deref(), global.store.as_deref());
    let told = ui.clone();
    trace::hear(move |trouble| told.warn(&trouble));
    let ended = match cli.command {
        Command::Catalog(command) => catalog::run(&command, &cli.global, &ui),
        Command::Batch(command) => batch::run(&command, &cli.global, &ui),
        Command::Run(command) => run::run(&command, &cli.global, &ui),
        Command::Fleet(command) => fleet::run(&command, &cli.global, &ui),
        Command::Adapters(command) => adapters::run(&command, &cli.global, &ui),
        Command::Cost(command) => cost::run(&command, &cli.global, &ui),
        Command::Report(command) => report::run(&command, &cli.global, &ui),
        Command::Judge(command) => judge::run(&command, &cli.global, &ui),
        Command::Compute(command) => compute::run(&command, &cli.global, &ui),
        Command::Export(args) => export::run(&args, &cli.global, &ui),
        Command::Consolidate(args) => consolidate::run(&args, &cli.global, &ui),
        Command::Doctor(args) => doctor::run(&args, &cli.global, &ui),
        Command::Registry(command) => registry::run(&command, &cli.global, &ui),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(&args, &cli.global, &ui),
        Command::Token(command) => token::run(&command, &cli.global, &ui),
        Command::Config(command) => config::run(&command, &cli.global, &ui),
        Command::Demo(args) => demo::run(&args, &cli.global, &ui),
        Command::SelfCheck(args) => self_check::run(&args, &cli.global, &ui),
        Command::Init(args) => init::run(&args, &cli.global, &ui),
        Command::Completions(args) => completions::run(&args, &ui),
        Command::Man(args) => man::run(&args, &ui),
        Command::Help(args) => help::run(&args, &ui),
    };
    ended.unwrap_or_else(|error: CliError| {
        ui.error(&error);
        error.exit()
    })
}

/// Says which program this is; with `--verbose` or `--json` all that is known of it.
fn tell_version(words: &[OsString], ui: &Ui) -> Result<(), CliError> {
    let verbose = |word: &OsString| {
        let word = word.to_string_lossy();
        word == "--verbose"
            || (word.starts_with('-') && !word.starts_with("--") && word.contains('v'))
    };
    if ui.is_json() {
        ui.answer(&version::facts())
    } else if words.iter().skip(1).any(verbose) {
        ui.script(&version::long())
    } else {
        ui.script(&version::short())
    }
}

/// Prints help and version as data, and errors in the arguments as errors.
fn show_clap(error: &clap::Error, ui: &Ui) -> Exit {
    let text = error.render().to_string();
    let text = text.trim_end();
    if error.use_stderr() {
        ui.say(text);
        if ui.is_json() {
            // The error itself is already told; a failing stdout adds nothing.
            let _ = ui.answer(&usage_error(error.kind(), text).told());
        }
        return Exit::Request;
    }
    match ui.script(text) {
        Ok(()) => Exit::Done,
        Err(error) => error.exit(),
    }
}

/// Takes a rendered error apart: its first lines say what is wrong, the rest helps.
fn usage_error(kind: clap::error::ErrorKind, text: &str) -> CliError {
    if kind == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return CliError::usage("a command is missing").hint("`archi3d --help` lists them");
    }
    let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let hints = rest.lines().map(str::trim).filter(|line| !line.is_empty());
    hints.fold(CliError::usage(message), CliError::hint)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn machines_are_heard_before_the_arguments_are_understood() {
        let wants = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            wants_json(&words)
        };
        assert!(wants(&["archi3d", "frobnicate", "--json"]));
        assert!(!wants(&["archi3d", "run", "--", "--json"]));
        assert!(!wants(&["--json", "run"]));
    }

    #[test]
    fn every_command_and_option_is_documented() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments() {
                let id = argument.get_id();
                assert!(argument.get_help().is_some(), "{id} has no help");
            }
            assert!(command.get_about().is_some(), "{}", command.get_name());
            let help = command.get_after_help().map(ToString::to_string);
            let has_examples = help.is_some_and(|help| help.contains("Examples:\n"));
            assert!(has_examples, "{} has no examples", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn version_and_help_are_no_errors_and_nothing_at_all_is() {
        let is_error = |words: &[&str]| {
            Cli::try_parse_from(words)
                .expect_err("ends after parsing")
                .use_stderr()
        };
        assert!(!is_error(&["archi3d", "--version"]));
        assert!(!is_error(&["archi3d", "run", "worker", "--help"]));
        assert!(is_error(&["archi3d"]));
        assert!(is_error(&["archi3d", "run", "remove"]));
    }
}
