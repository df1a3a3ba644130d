//! `kind: process`: a program of yours makes the model.
//!
//! It gets one request on stdin and says what happens in lines on stdout, as
//! `docs/adapter-protocol.md` describes. It runs without a shell, in the folder
//! it may write in, with a chosen part of the environment, and never outlives
//! its job. What it left in its folder is checked by the engine, not here.

mod command;
mod forms;
mod judge;
pub(super) mod log;
mod names;
mod protocol;
mod reader_pool;
mod scrub;
pub(super) mod secrets;
mod session;
mod streams;
mod verdict;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::adapter::{
    Adapter, AdapterError, GenerationRequest, GenerationResult, JobContext, Variables,
};
use crate::domain::algo::AlgoSettings;
use crate::domain::id::AlgoKey;
use crate::domain::retry::ErrorClass;
use crate::platform::process::Group;
use log::AttemptLog;
use secrets::Secrets;
use session::Outcome;
use streams::Shared;
use verdict::Circumstances;

/// Runs a program for every job.
#[derive(Clone)]
pub struct Process {
    key: AlgoKey,
    endpoint: Option<String>,
    command: Vec<String>,
    asked: Vec<String>,
    env: Arc<dyn Variables>,
    stall: Option<Duration>,
    /// The version of the protocol that it speaks.
    protocol: u64,
    /// Whether it can find out what came of an intent.
    reconciles: bool,
    /// What the entry says of the program's version.
    version: Option<String>,
    defaults: Map<String, Value>,
    /// What a failure is of which the program does not say it: to try again what costs nothing is right,
    /// to buy again is not.
    unclassified: ErrorClass,
}

impl Process {
    /// Takes options that the registry has checked; `env` gives the values of
    /// the variables that the program may see.
    pub fn new(settings: &AlgoSettings, env: Arc<dyn Variables>) -> Self {
        let option = |name: &str| settings.options.get(name);
        let texts = |name: &str| -> Vec<String> {
            let list = option(name).and_then(Value::as_array);
            let texts = list.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        let stall = option("stall_s").and_then(Value::as_f64);
        Self {
            key: settings.key.clone(),
            endpoint: settings.endpoint.clone(),
            command: texts("command"),
            asked: texts("env"),
            env,
            stall: stall.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            protocol: option("protocol").and_then(Value::as_u64).unwrap_or(1),
            reconciles: option("reconciles").and_then(Value::as_bool) == Some(true),
            version: option("version").and_then(Value::as_str).map(str::to_owned),
            defaults: settings.defaults.clone(),
            unclassified: match settings.unit_price_usd {
                Some(0.0) => ErrorClass::Transient,
                _ => ErrorClass::Permanent,
            },
        }
    }

    /// Returns the program that would be started, or why there is none.
    pub fn program(&self, workspace: &Path) -> Result<PathBuf, String> {
        let visible = self.visible();
        let search = visible.get("PATH").map(String::as_str);
        match self.command.split_first() {
            Some((name, _)) => command::find_program(name, workspace, search),
            None => Err("`command` is not set".to_owned()),
        }
    }

    /// Says why the program could not do anything if it were started.
    fn check_program(&self, workspace: &Path) -> Result<(), String> {
        let program = self.program(workspace)?;
        command::check_program(&program)?;
        command::check_script(&program, &self.command[1..], workspace)
    }

    /// Returns what the program would see at this moment.
    fn visible(&self) -> BTreeMap<String, String> {
        command::visible(&self.asked, self.env.as_ref())
    }

    /// Returns the variables that are asked for and not set.
    pub fn unset(&self) -> Vec<String> {
        self.unset_in(&self.visible())
    }

    fn unset_in(&self, visible: &BTreeMap<String, String>) -> Vec<String> {
        let is_unset = |name: &&String| !visible.contains_key(*name);
        self.asked.iter().filter(is_unset).cloned().collect()
    }

    fn secrets(&self, visible: &BTreeMap<String, String>) -> Secrets {
        let visible = visible.iter();
        let visible = visible.map(|(name, value)| (name.as_str(), value.as_str()));
        let mut defaults = Vec::new();
        for (name, value) in &self.defaults {
            secrets::named_texts(name, value, &mut defaults);
        }
        let defaults = defaults.iter();
        let defaults = defaults.map(|(name, value)| (name.as_str(), value.as_str()));
        Secrets::of(visible.chain(defaults))
    }

    /// Names the program for messages: the script rather than its interpreter.
    fn shown(&self) -> &str {
        let script = self.command.iter().skip(1).find(|word| {
            let path = Path::new(word.as_str());
            !word.starts_with('-') && path.extension().is_some() && !word.contains(' ')
        });
        let word = script.or(self.command.first()).map_or("", String::as_str);
        Path::new(word)
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or(word)
    }
}

impl Adapter for Process {
    fn obstacles(&self, workspace: &Path) -> Vec<String> {
        let key = &self.key;
        let program = self.check_program(workspace).err();
        let program = program
            .map(|reason| format!("algo {key}: {reason}; see `command` of {key} in adapters.yaml"));
        let unset = self.unset().into_iter().map(|name| {
            format!(
                "algo {key}: the variable {name} is not set; set it in the environment or in .env, \
                 to nothing if the program can do without"
            )
        });
        program.into_iter().chain(unset).collect()
    }

    fn reconciles(&self) -> bool {
        self.reconciles
    }

    fn announces(&self) -> bool {
        self.protocol >= 2
    }

    fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    fn maker(&self) -> Option<String> {
        let endpoint = self.endpoint.clone();
        endpoint.or_else(|| Some(self.shown().to_owned()).filter(|name| !name.is_empty()))
    }

    fn generate(
        &self,
        request: &GenerationRequest,
        context: &mut JobContext<'_>,
    ) -> Result<GenerationResult, AdapterError> {
        let visible = self.visible();
        let mut command = command::build(
            &self.command,
            &visible,
            request,
            context,
            &self.defaults,
            self.protocol,
        )?;
        let words = protocol::request(request, context, &self.defaults, self.protocol)?;
        let mut words = Value::Object(words).to_string().into_bytes();
        words.push(b'\n');
        let shared = Shared::new(
            AttemptLog::new(context.log_path.clone()),
            self.secrets(&visible),
        );
        let group =
            Group::spawn(&mut command).map_err(|error| command::cannot_start(&command, &error))?;
        drop(command);
        let outcome = session::run(
            group,
            words,
            &shared,
            self.stall,
            self.protocol,
            &request.out_dir,
            context,
        );
        shared.log.close();
        let outcome = outcome.unwrap_or_else(|error| Outcome {
            lost: Some(error),
            ..Outcome::default()
        });
        Circumstances {
            program: self.shown(),
            out_dir: &request.out_dir,
            shared: &shared,
            stall: self.stall,
            unset: &self.unset_in(&visible),
            unclassified: self.unclassified,
        }
        .judge(outcome)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
