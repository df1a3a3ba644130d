//! Settings, merged once at start: shipped, workspace, user, environment.
//!
//! Used by `cli` and `ops`. Every effective value remembers where it came from.
//! It reads files and the environment it is handed, and never writes either.

mod adapters;
mod environment;
mod error;
mod file;
mod global;
mod layer;
mod locate;
mod origin;
mod prices;
mod schema;
mod scorers;
mod syntax;
#[cfg(test)]
mod tests;
mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::domain::algo::AlgoSettings;
use environment::DotEnv;
use layer::Layers;
use locate::UserPlace;
use yaml::Document;

pub use environment::Lookup;
pub use error::ConfigError;
pub use global::{GlobalSettings, NotifySettings};
pub use locate::{Os, WORKSPACE_VARIABLE, is_workspace};
pub use origin::{Origin, SettingEntry, is_secret};
pub use prices::{PRICES_FILE, Prices};

/// The adapters the program knows by itself; `init` copies it into a workspace.
pub const SHIPPED_ADAPTERS: &str = include_str!("../../../../config/adapters.yaml");

/// The global settings the program has by itself; `init` copies it into a workspace.
pub const SHIPPED_GLOBAL: &str = include_str!("../../../../config/global.yaml");

/// The variables that mean something to the program, for `config show`.
const KNOWN_VARIABLES: [&str; 7] = [
    WORKSPACE_VARIABLE,
    "ARCHI3D_COMMIT",
    "ARCHI3D_STORE",
    "DATABASE_URL",
    "FAL_KEY",
    "FAL_KEY_ID",
    "FAL_KEY_SECRET",
];

/// Where settings are taken from.
pub struct Sources<'a> {
    /// What `--workspace` says.
    pub workspace: Option<PathBuf>,
    /// The folder the program was started in.
    pub current_dir: PathBuf,
    /// The real environment.
    pub env: Lookup<'a>,
    /// The system, for the place of the user's own file.
    pub os: Os,
}

/// Everything that is configured for one workspace.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The workspace: absolute, links resolved.
    pub workspace: PathBuf,
    /// Where the workspace was named.
    pub workspace_origin: Origin,
    /// Every algorithm, the shipped ones first, in file order.
    pub algos: Vec<AlgoSettings>,
    /// Programs that measure models, in file order.
    pub scorers: Vec<AlgoSettings>,
    /// What services listed when they were asked last.
    pub prices: Prices,
    /// What holds for the whole workspace.
    pub global: GlobalSettings,
    /// The variables that the real environment does not have: those of the nearest
    /// `.env`, then those of the workspace's own.
    pub env_additions: BTreeMap<String, String>,
    /// What a person should know and can live with.
    pub warnings: Vec<String>,
    entries: Vec<SettingEntry>,
    /// The `.env` files as they were read last: the nearest, then the workspace's own.
    dot_envs: Arc<Mutex<[DotEnv; 2]>>,
}

impl Settings {
    /// Finds the workspace and reads everything that is configured for it.
    pub fn load(sources: &Sources<'_>) -> Result<Self, ConfigError> {
        let dot_env = DotEnv::find(&sources.current_dir);
        let user_file = sources.os.user_file(sources.env);
        let nobody = UserPlace {
            file: None,
            workspace: None,
        };
        let user = match user_file.as_deref().map(Document::read).transpose() {
            Ok(user) => user.flatten(),
            // Whoever names the workspace needs no home that can be read.
            Err(ConfigError::Unreadable { .. })
                if locate::named(sources, &dot_env, &nobody)?.is_some() =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        if let Some(user) = &user {
            schema::check_document(user, schema::USER)?;
        }
        let user_text = |keys: &[&str]| user.as_ref().and_then(|user| text_at(user, keys));
        let user_place = UserPlace {
            workspace: user_text(&["workspace"])
                .map(|(folder, named)| locate::beside(sources, folder, named)),
            file: user_file,
        };
        let (workspace, workspace_origin) = locate::find(sources, &dot_env, &user_place)?;

        let own_env = DotEnv::of_workspace(&workspace, &dot_env);
        let mut env_additions = own_env.additions(sources.env);
        env_additions.extend(dot_env.additions(sources.env));

        let config = workspace.join("config");
        let adapters = documents(&config, "adapters.yaml", SHIPPED_ADAPTERS)?;
        let prices = Prices::read(&config);
        let (algos, adapter_layers) = adapters::load(&adapters, &prices)?;
        let own_scorers = Document::read(&config.join("scorers.yaml"))?;
        let scorers = own_scorers.as_ref().map(scorers::load).transpose()?;
        let global_files = documents(&config, "global.yaml", SHIPPED_GLOBAL)?;
        let mut global_layers = global::lay(&global_files)?;
        if let (Some((folder, named)), Some(user)) =
            (user_text(&["tools", "blender_exe"]), user.as_ref())
        {
            // Tools differ from machine to machine, so the user's word stands
            // over that of a workspace which several machines share.
            let tool = tool_path(sources, folder, named);
            global_layers.set(&["tools", "blender_exe"], tool.into(), &user.origin);
        }
        let mut settings = Self {
            workspace,
            workspace_origin,
            algos,
            scorers: scorers.unwrap_or_default(),
            prices,
            global: global::read(&global_layers),
            env_additions,
            entries: Vec::new(),
            warnings: Vec::new(),
            dot_envs: Arc::default(),
        };
        let dot_envs = [&dot_env, &own_env];
        settings.entries =
            settings.collect_entries(sources, dot_envs, &global_layers, &adapter_layers);
        settings.warnings.clone_from(&dot_env.warnings);
        settings.warnings.extend(own_env.warnings.clone());
        settings.warnings.extend(settings.prices.problem.clone());
        let unread = global_files.iter().skip(1).flat_map(global::unread);
        settings.warnings.extend(unread);
        settings.dot_envs = Arc::new(Mutex::new([dot_env, own_env]));
        Ok(settings)
    }

    /// Finds the workspace alone, whatever is wrong with its configuration.
    pub fn locate(sources: &Sources<'_>) -> Result<PathBuf, ConfigError> {
        let dot_env = DotEnv::find(&sources.current_dir);
        let file = sources.os.user_file(sources.env);
        let user = file.as_deref().and_then(|file| Document::read(file).ok());
        let named = user.flatten().as_ref().and_then(|user| {
            text_at(user, &["workspace"])
                .map(|(folder, named)| locate::beside(sources, folder, named))
        });
        let place = UserPlace {
            workspace: named,
            file,
        };
        locate::find(sources, &dot_env, &place).map(|(workspace, _)| workspace)
    }

    /// Returns what is configured for the algorithm called `key`.
    pub fn algo(&self, key: &str) -> Option<&AlgoSettings> {
        self.algos.iter().find(|algo| algo.key.as_str() == key)
    }

    /// Returns those of `names` that are set now: in the real environment, else in a
    /// `.env` file, which is read anew.
    pub fn variables_now(&self, env: Lookup<'_>, names: &[&str]) -> BTreeMap<String, String> {
        let mut files = self.dot_envs.lock().unwrap_or_else(PoisonError::into_inner);
        for file in files.iter_mut() {
            if let Some(now) = file.again() {
                *file = now;
            }
        }
        let in_files = |name: &str| files.iter().find_map(|file| file.values.get(name).cloned());
        let value = |name: &&str| Some(((*name).to_owned(), env(name).or_else(|| in_files(name))?));
        names.iter().filter_map(value).collect()
    }

    /// Returns a variable as it was at the start: the real environment's, else that of `.env`.
    pub fn env_value(&self, env: Lookup<'_>, name: &str) -> Option<String> {
        env(name).or_else(|| self.env_additions.get(name).cloned())
    }

    /// Returns every effective value with its origin; secrets are masked.
    pub fn entries(&self) -> Vec<SettingEntry> {
        self.entries.clone()
    }

    fn collect_entries(
        &self,
        sources: &Sources<'_>,
        dot_envs: [&DotEnv; 2],
        global: &Layers,
        adapters: &Layers,
    ) -> Vec<SettingEntry> {
        let mut entries = vec![SettingEntry {
            name: "workspace".to_owned(),
            value: self.workspace.display().to_string(),
            origin: self.workspace_origin.clone(),
        }];
        for name in KNOWN_VARIABLES {
            let real = (sources.env)(name).map(|value| {
                let origin = Origin::Environment(name.to_owned());
                (value, origin)
            });
            let added = || {
                let file = dot_envs.into_iter().find(|f| f.values.contains_key(name))?;
                let value = self.env_additions.get(name)?.clone();
                Some((value, Origin::DotEnv(file.path.clone()?)))
            };
            if let Some((value, origin)) = real.or_else(added) {
                entries.push(SettingEntry {
                    name: format!("env.{name}"),
                    value: origin::shown([name], &Value::String(value)),
                    origin,
                });
            }
        }
        global.each(|path, value, origin| entries.push(entry(path, path, value, origin)));
        // An algorithm's own name (`monkey`) says nothing about its values.
        adapters.each(|path, value, origin| {
            entries.push(entry(
                path,
                path.get(2..).unwrap_or_default(),
                value,
                origin,
            ));
        });
        entries
    }
}

fn entry(path: &[String], telling: &[String], value: &Value, origin: &Origin) -> SettingEntry {
    SettingEntry {
        name: path.join("."),
        value: origin::shown(telling.iter().map(String::as_str), value),
        origin: origin.clone(),
    }
}

/// Returns the shipped file and, over it, the workspace's own if there is one.
fn documents(config: &Path, name: &str, shipped: &str) -> Result<Vec<Document>, ConfigError> {
    let shipped = Document::shipped(&format!("the shipped config/{name}"), shipped)?;
    let own = Document::read(&config.join(name))?;
    Ok(std::iter::once(shipped).chain(own).collect())
}

/// Returns the text that `keys` lead to, with the folder of its file.
fn text_at<'d>(document: &'d Document, keys: &[&str]) -> Option<(&'d Path, &'d str)> {
    let (first, rest) = keys.split_first()?;
    let value = rest
        .iter()
        .try_fold(document.root.get(*first)?, |value, key| value.get(key))?;
    Some((document.folder(), value.as_str()?))
}

/// A bare name such as `blender` is looked up by the system, not beside the file.
fn tool_path(sources: &Sources<'_>, folder: &Path, named: &str) -> String {
    if named.contains(['/', '\\']) {
        let path = locate::beside(sources, folder, named);
        path.display().to_string()
    } else {
        named.to_owned()
    }
}
