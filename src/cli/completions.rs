//! Words that a shell offers: commands and options, and what is in the workspace.
//!
//! The script that `archi3d completions` prints asks this program, through the
//! variable `COMPLETE`, what could follow the words typed so far. Candidates are
//! given to arguments by name, so that every command has them.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};

use crate::cli::Cli;
use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::ui::Ui;
use archi3d_core::domain::id::RunId;
use archi3d_core::domain::job::Status;
use archi3d_core::domain::order::JobOrder;
use archi3d_core::ops::{OpsContext, names};

/// The variable through which scripts ask.
const VARIABLE: &str = "COMPLETE";

/// More names than this help nobody who types.
const MOST: usize = 500;

/// A shell that can complete words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// Bash.
    Bash,
    /// Elvish.
    Elvish,
    /// Fish.
    Fish,
    /// PowerShell.
    Powershell,
    /// Zsh.
    Zsh,
}

/// The options of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  echo 'source <(archi3d completions bash)' >> ~/.bashrc
  echo 'source <(archi3d completions zsh)' >> ~/.zshrc
  archi3d completions fish > ~/.config/fish/completions/archi3d.fish

Runs, jobs and algos of the workspace are completed too.")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script that makes a shell complete this program's words.
pub fn run(args: &CompletionsArgs, ui: &Ui) -> Result<Exit, CliError> {
    let shell = args.shell.to_possible_value();
    let shell = shell.as_ref().map_or("bash", |value| value.get_name());
    let failed = |reason: String| CliError::new(ErrorKind::Internal, anyhow::anyhow!(reason));
    let shells = Shells::builtins();
    let completer = shells
        .completer(shell)
        .ok_or_else(|| failed(format!("there is no script for {shell}")))?;
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, "archi3d", "archi3d", &this_program(), &mut script)
        .map_err(|error| failed(error.to_string()))?;
    ui.script(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// Returns how the script is to call this program: as it was called, where that
/// works from everywhere.
fn this_program() -> String {
    let typed = std::env::args_os().next().map(PathBuf::from);
    let with_folder = typed.filter(|path| path.components().count() > 1);
    let absolute = with_folder.and_then(|path| path.canonicalize().ok());
    let text = absolute.and_then(|path| path.to_str().map(str::to_owned));
    text.unwrap_or_else(|| "archi3d".to_owned())
}

/// Answers a script that asks what could follow; returns whether one did.
pub(super) fn answer(args: &[OsString]) -> Result<bool, clap::Error> {
    if std::env::var_os(VARIABLE).is_none() {
        return Ok(false);
    }
    let here = std::env::current_dir().ok();
    let words = Words::typed(args);
    CompleteEnv::with_factory(move || with_candidates(Cli::command(), &words))
        .var(VARIABLE)
        .try_complete(args.iter().cloned(), here.as_deref())
}

/// The words typed so far that say where to look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Words {
    workspace: Option<PathBuf>,
    run: Option<String>,
    all: Vec<String>,
}

impl Words {
    fn typed(args: &[OsString]) -> Self {
        let typed = args.iter().skip_while(|word| *word != "--").skip(1);
        let typed: Vec<&OsStr> = typed.map(OsString::as_os_str).collect();
        Self {
            workspace: value_of(&typed, "--workspace").map(PathBuf::from),
            run: value_of(&typed, "--run-id").and_then(|run| run.into_string().ok()),
            all: typed
                .iter()
                .filter_map(|word| Some(word.to_str()?.to_owned()))
                .collect(),
        }
    }

    /// Returns names of the run that was typed, else of the only or latest one.
    fn names_in_run(&self, names: impl Fn(&OpsContext, &RunId) -> Vec<String>) -> Vec<String> {
        let Some(context) = self.open() else {
            return Vec::new();
        };
        let runs = names::run_ids(&context);
        let by_place = self.all.iter().find(|word| runs.contains(word));
        let named = self.run.as_ref().or(by_place);
        let run = match named {
            Some(name) => RunId::parse(name).ok(),
            None => names::latest_run(&context).ok().map(|latest| latest.run),
        };
        run.map(|run| names(&context, &run)).unwrap_or_default()
    }

    fn open(&self) -> Option<OpsContext> {
        OpsContext::open(self.workspace.as_deref()).ok()
    }
}

/// Returns the value of an option, written as two words or with `=`.
fn value_of(words: &[&OsStr], option: &str) -> Option<OsString> {
    let joined = format!("{option}=");
    let mut found = words.iter().enumerate().filter_map(|(at, word)| {
        if *word == option {
            return words.get(at + 1).map(|value| (*value).to_owned());
        }
        let rest = word.to_str()?.strip_prefix(&joined)?;
        Some(rest.into())
    });
    found.next()
}

/// Gives every argument that names something of the workspace its candidates.
fn with_candidates(command: clap::Command, words: &Words) -> clap::Command {
    let words = words.clone();
    let command = command.mut_args(|argument| {
        let words = words.clone();
        // Help tells the options of every command once; a shell offers them everywhere.
        let argument = if argument.is_global_set() {
            argument.hide(false)
        } else {
            argument
        };
        match argument.get_id().as_str() {
            "run" | "run_id" => argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
                let names = words.open().map(|context| names::run_ids(&context));
                fitting(typed, "", names.unwrap_or_default())
            })),
            "jobs" => argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
                fitting(typed, "", words.names_in_run(names::job_ids))
            })),
            "item" => argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
                in_list(typed, words.names_in_run(names::items))
            })),
            "job" => argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
                let both = |context: &OpsContext, run: &RunId| {
                    [names::items(context, run), names::job_ids(context, run)].concat()
                };
                fitting(typed, "", words.names_in_run(both))
            })),
            "order" => argument.add(ArgValueCompleter::new(|typed: &OsStr| {
                fitting(typed, "", JobOrder::ALL.map(|order| order.word().into()))
            })),
            "algo" | "algos" | "adapter" | "key" => {
                argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
                    let names = words.open().map(|context| names::algo_keys(&context));
                    in_list(typed, names.unwrap_or_default())
                }))
            }
            "only_status" => argument.add(ArgValueCompleter::new(|typed: &OsStr| {
                in_list(typed, Status::ALL.map(|status| status.word().into()))
            })),
            _ => argument,
        }
    });
    command.mut_subcommands(|command| with_candidates(command, &words))
}

/// Returns the names that go on with what was typed after the last comma.
fn in_list(typed: &OsStr, names: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let text = typed.to_str().unwrap_or_default();
    let at = text.rfind(',').map_or(0, |at| at + 1);
    fitting(OsStr::new(&text[at..]), &text[..at], names)
}

fn fitting(
    typed: &OsStr,
    before: &str,
    names: impl IntoIterator<Item = String>,
) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else {
        return Vec::new();
    };
    let names = names.into_iter().filter(|name| name.starts_with(typed));
    let names = names.filter(|name| !name.chars().any(char::is_control));
    names
        .take(MOST)
        .map(|name| CompletionCandidate::new(format!("{before}{name}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_typed_so_far_say_where_to_look() {
        let typed = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            Words::typed(&words)
        };
        let words = typed("archi3d -- archi3d run status --workspace=/w --run-id r1 --jobs x");
        assert_eq!(words.workspace, Some(PathBuf::from("/w")));
        assert_eq!(words.run.as_deref(), Some("r1"));
        let unfinished = typed("archi3d -- archi3d run --workspace");
        assert_eq!((unfinished.workspace, unfinished.run), (None, None));
        assert_eq!(typed("archi3d run --run-id r1"), Words::default());
    }

    #[test]
    fn a_list_is_gone_on_with_after_its_last_comma() {
        let names = ["failed", "running"].map(str::to_owned);
        let shown: Vec<String> = in_list(OsStr::new("enqueued,r"), names)
            .iter()
            .map(|found| found.get_value().to_string_lossy().into_owned())
            .collect();
        assert_eq!(shown, ["enqueued,running"]);
    }

    #[test]
    fn every_shell_has_a_script() {
        for shell in Shell::value_variants() {
            let name = shell.to_possible_value().expect("none is hidden");
            assert!(Shells::builtins().completer(name.get_name()).is_some());
        }
    }
}
