//! Keeps the house in order: the import table, purity of `domain`, one printer, one home for
//! what differs between systems, short files with a heading. Reads source text only; each rule
//! is also shown to catch a planted violation.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

mod promises;
mod stores;

/// Who may name whom. A module that is not listed here may not exist.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("cancel", &[]),
    ("platform", &[]),
    ("clock", &["domain", "platform"]),
    ("config", &["domain"]),
    ("model", &["domain"]),
    ("table", &[]),
    ("trace", &["domain"]),
    ("workspace", &["domain", "platform"]),
    (
        "adapter",
        &["domain", "cancel", "model", "platform", "trace"],
    ),
    (
        "store",
        &["domain", "table", "workspace", "platform", "trace"],
    ),
    (
        "engine",
        &["domain", "cancel", "workspace", "adapter", "store", "trace"],
    ),
    (
        "ops",
        &[
            "domain",
            "cancel",
            "platform",
            "clock",
            "config",
            "model",
            "table",
            "workspace",
            "adapter",
            "store",
            "engine",
            "trace",
        ],
    ),
    (
        "server",
        &[
            "domain", "cancel", "clock", "config", "engine", "ops", "trace",
        ],
    ),
    (
        "cli",
        &[
            "domain", "cancel", "clock", "config", "engine", "ops", "server", "trace",
        ],
    ),
    ("main", &["cli"]),
];

/// Files longer than this are two files.
const MAX_LINES: usize = 600;

/// What would make `domain` depend on the world.
const IMPURE: &str =
    r"\bstd::(fs|env|thread|net|process)\b|\b(SystemTime|Instant)\b|\bUtc::now\b|\bLocal::now\b";

/// What reaches the terminal.
const PRINTS: &str = r"\be?print(ln)?!|\bdbg!|\bstd(out|err)\(\)";

/// What makes code differ between systems.
const SYSTEM_SPECIFIC: &str = r"\bcfg(_attr)?!?\s*\([^\]]*\b(unix|windows|target_os|target_family)\b|\bstd::os::(unix|linux|windows|macos)\b|\brustix::";

/// The crates, by the folders of their sources; together they are one house.
const CRATES: &[&str] = &["src", "crates/archi3d-core/src"];

/// A source file: its path below its crate's sources, `/`-separated, and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    fn planted(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// Returns the module of the top level that the file belongs to.
    fn layer(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// Returns how many modules lie between the crate's root and this file's items.
    fn depth(&self) -> usize {
        let names = self.path.split('/').count();
        if self.path.ends_with("/mod.rs") {
            names - 1
        } else {
            names
        }
    }

    /// Returns the numbered lines without their comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| {
            let comment = line
                .match_indices("//")
                .map(|(at, _)| at)
                .find(|at| !line[..*at].ends_with(':'));
            (index + 1, &line[..comment.unwrap_or(line.len())])
        })
    }

    /// Returns the lines before the file's own tests; a file of tests has none.
    fn production_code(&self) -> impl Iterator<Item = (usize, &str)> {
        let only_tests = self.path.ends_with("/tests.rs");
        self.code()
            .take_while(move |(_, line)| !only_tests && !line.starts_with("#[cfg(test)]"))
    }

    fn at(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

fn allowed_for(layer: &str) -> Option<&'static [&'static str]> {
    MAY_NAME
        .iter()
        .find(|(name, _)| *name == layer)
        .map(|(_, allowed)| *allowed)
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

/// Finds imports that the table does not allow.
fn forbidden_imports(source: &Source) -> Vec<String> {
    if source.path == "lib.rs" {
        return Vec::new();
    }
    let layer = source.layer();
    let Some(allowed) = allowed_for(layer) else {
        return vec![source.at(1, "the module is not in the import table")];
    };
    let rooted = regex(r"\b(?:crate|archi3d|archi3d_core)::(\{|\w+)");
    let climbing = regex(r"\b((?:super::)+)(\w+)");
    let mut found = Vec::new();
    for (number, line) in source.code() {
        let mut named = Vec::new();
        for path in rooted.captures_iter(line) {
            named.push(path[1].to_owned());
        }
        for path in climbing.captures_iter(line) {
            let steps = path[1].matches("super::").count();
            if steps >= source.depth() && allowed_for(&path[2]).is_some() {
                named.push(path[2].to_owned());
            }
        }
        for name in named {
            if name == "{" {
                found.push(source.at(number, "one full path per `use crate::…`"));
            } else if name != layer && !allowed.contains(&name.as_str()) {
                found.push(source.at(number, &format!("`{layer}` may not name `{name}`")));
            }
        }
    }
    found
}

fn impurities(source: &Source) -> Vec<String> {
    if source.layer() != "domain" {
        return Vec::new();
    }
    matches(source, source.code(), IMPURE, "`domain` is pure")
}

/// What would run is decided once, and shown by whoever asks; neither knows the worker.
fn turns_back(source: &Source) -> Vec<String> {
    let rooms = ["ops/select", "ops/view", "ops/plan"];
    if !rooms.iter().any(|room| source.path.starts_with(room)) {
        return Vec::new();
    }
    let what = "`ops::run` asks `select`, `plan` and `view`, not the other way";
    matches(source, source.code(), r"\bops::run\b", what)
}

/// The state of a run has one owner, which decides and reaches out to nothing; and one lock, which stays with it. The
/// heartbeat owns the leases, and places are shared by runs.
fn shared_state(source: &Source) -> Vec<String> {
    if source.path.starts_with("engine/dispatcher/") {
        let what = "the dispatcher only decides";
        let reaches_out = r"\b(WorkerStore|Providers|Budget|Artifacts|Sink|Clock|Executor)\b|\bstd::(fs|thread)\b|\b(adapter|workspace)::";
        let mut found = matches(source, source.code(), reaches_out, what);
        let what = "the lock of the run's state does not leave its folder";
        let handed_out = r"pub.* fn .*->.*\b(MutexGuard|Dispatcher)\b|pub.* fn .*\bDispatcher\b";
        found.extend(matches(source, source.code(), handed_out, what));
        return found;
    }
    let owners = ["engine/heartbeat.rs", "engine/places.rs"];
    if source.layer() != "engine" || owners.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let what = "state that threads share belongs to the dispatcher";
    let locks = r"\b(Mutex|RwLock|Condvar|Atomic\w+|RefCell)\b";
    matches(source, source.production_code(), locks, what)
}

fn prints(source: &Source) -> Vec<String> {
    if source.layer() == "cli" {
        return Vec::new();
    }
    matches(source, source.code(), PRINTS, "only `cli` prints")
}

fn json_by_hand(source: &Source) -> Vec<String> {
    if source.layer() != "cli" {
        return Vec::new();
    }
    let what = "what `--json` prints is derived from a model";
    matches(source, source.production_code(), r"\bjson!", what)
}

fn system_specifics(source: &Source) -> Vec<String> {
    if source.layer() == "platform" || source.path == "cli/signal.rs" {
        return Vec::new();
    }
    let what = "differences between systems belong in `platform`";
    matches(source, source.production_code(), SYSTEM_SPECIFIC, what)
}

fn matches<'a>(
    source: &Source,
    lines: impl Iterator<Item = (usize, &'a str)>,
    pattern: &str,
    what: &str,
) -> Vec<String> {
    let pattern = regex(pattern);
    lines
        .filter_map(|(number, line)| {
            let hit = pattern.find(line)?;
            Some(source.at(number, &format!("{what}: {}", hit.as_str())))
        })
        .collect()
}

fn overlong(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    if lines > MAX_LINES {
        vec![source.at(lines, &format!("{lines} lines; the cap is {MAX_LINES}"))]
    } else {
        Vec::new()
    }
}

fn without_heading(source: &Source) -> Vec<String> {
    if source.text.starts_with("//! ") {
        Vec::new()
    } else {
        vec![source.at(1, "does not open with `//!`")]
    }
}

/// Finds test files that `main.rs` does not declare, which would never run.
fn undeclared(names: &BTreeSet<String>, main: &str) -> Vec<String> {
    names
        .iter()
        .filter(|name| !main.lines().any(|line| line == format!("mod {name};")))
        .map(|name| format!("tests/it/{name} is not declared in main.rs"))
        .collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources_below(folder: &str) -> Vec<Source> {
    let top = root().join(folder);
    let mut found = Vec::new();
    let mut pending = vec![top.clone()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).expect("source folders are readable") {
            let path = entry.expect("source folders are readable").path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(Source {
                    path: relative(&path, &top),
                    text: fs::read_to_string(&path).expect("source files are text"),
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn relative(path: &Path, top: &Path) -> String {
    let below = path.strip_prefix(top).expect("found below it");
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// Returns the sources of the server's crate as those of one module, which they are to the house.
fn server_sources() -> Vec<Source> {
    let sources = sources_below("crates/archi3d-server/src").into_iter();
    let within = |source: Source| Source {
        path: format!("server/{}", source.path),
        text: source.text.replace("crate::", "crate::server::"),
    };
    sources.map(within).collect()
}

fn assert_kept(rule: fn(&Source) -> Vec<String>) {
    let sources = CRATES.iter().flat_map(|folder| sources_below(folder));
    let sources = sources.chain(server_sources());
    let broken: Vec<String> = sources.flat_map(|source| rule(&source)).collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

fn assert_caught(rule: fn(&Source) -> Vec<String>, path: &str, text: &str) {
    let found = rule(&Source::planted(path, text));
    assert_eq!(found.len(), 1, "{path}: {text:?} gave {found:?}");
}

fn assert_passes(rule: fn(&Source) -> Vec<String>, path: &str, text: &str) {
    let found = rule(&Source::planted(path, text));
    assert!(found.is_empty(), "{path}: {text:?} gave {found:?}");
}

#[test]
fn every_module_names_only_what_the_table_allows() {
    assert_kept(forbidden_imports);
}

#[test]
fn the_state_of_a_run_has_one_owner_that_reaches_out_to_nothing() {
    assert_kept(shared_state);
    let path = "engine/dispatcher/queue.rs";
    assert_caught(shared_state, path, "use crate::store::WorkerStore;");
    let guard = "    pub(super) fn state(&self) -> MutexGuard<'_, Dispatcher> {";
    assert_caught(shared_state, path, guard);
    let door = "    pub(super) fn with(&self, f: impl FnOnce(&mut Dispatcher)) {";
    assert_caught(shared_state, path, door);
    let lock = "    held: Mutex<Vec<JobId>>,";
    assert_caught(shared_state, "engine/settle.rs", lock);
    assert_passes(shared_state, "engine/heartbeat.rs", lock);
}

#[test]
fn a_forbidden_import_is_caught() {
    assert_caught(
        forbidden_imports,
        "domain/job.rs",
        "use crate::store::WorkerStore;",
    );
    assert_caught(
        forbidden_imports,
        "store/files/mod.rs",
        "    let x = crate::engine::run();",
    );
    assert_caught(
        forbidden_imports,
        "engine/mod.rs",
        "use crate::{domain, cli};",
    );
    assert_caught(forbidden_imports, "cancel.rs", "use super::engine::event;");
    assert_caught(
        forbidden_imports,
        "store/files/table.rs",
        "use super::super::super::cli::ui;",
    );
    assert_caught(forbidden_imports, "main.rs", "use archi3d_core::ops::run;");
    assert_caught(forbidden_imports, "helper/mod.rs", "");
    assert_passes(
        forbidden_imports,
        "store/files/mod.rs",
        "use crate::domain::id::JobId;",
    );
    assert_passes(
        forbidden_imports,
        "store/files/table.rs",
        "use super::super::error::StoreError;",
    );
    assert_passes(
        forbidden_imports,
        "domain/job.rs",
        "/// See `crate::store`.",
    );
}

#[test]
fn the_import_table_has_no_circle() {
    let mut done: Vec<&str> = Vec::new();
    while done.len() < MAY_NAME.len() {
        let next = MAY_NAME.iter().find(|(name, allowed)| {
            !done.contains(name) && allowed.iter().all(|a| done.contains(a))
        });
        let (name, _) = next.unwrap_or_else(|| panic!("a circle beyond {done:?}"));
        done.push(name);
    }
}

#[test]
fn the_domain_touches_neither_files_nor_clock_nor_threads() {
    assert_kept(impurities);
}

#[test]
fn an_impure_domain_is_caught() {
    assert_caught(impurities, "domain/job.rs", "use std::fs::File;");
    assert_caught(
        impurities,
        "domain/job.rs",
        "let now = std::time::SystemTime::now();",
    );
    assert_caught(impurities, "domain/job.rs", "use std::time::Instant;");
    assert_caught(
        impurities,
        "domain/job.rs",
        "let home = std::env::var(\"HOME\");",
    );
    assert_caught(impurities, "domain/job.rs", "std::thread::yield_now();");
    assert_passes(impurities, "store/mod.rs", "use std::fs::File;");
    assert_passes(impurities, "domain/job.rs", "// Never std::fs here.");
}

#[test]
fn selection_plans_and_views_do_not_name_the_worker() {
    assert_kept(turns_back);
    assert_caught(turns_back, "ops/plan.rs", "use crate::ops::run::algorithm;");
    assert_passes(turns_back, "ops/run.rs", "use crate::ops::run::prepare;");
}

#[test]
fn only_the_command_line_prints() {
    assert_kept(prints);
}

#[test]
fn printing_elsewhere_is_caught() {
    assert_caught(prints, "engine/mod.rs", "println!(\"done\");");
    assert_caught(prints, "engine/mod.rs", "    eprint!(\"x\");");
    assert_caught(prints, "main.rs", "std::io::stderr().write_all(b\"x\");");
    assert_caught(prints, "ops/run.rs", "dbg!(x);");
    assert_passes(prints, "cli/ui.rs", "println!(\"done\");");
    assert_passes(prints, "adapter/process.rs", ".stdout(Stdio::piped())");
}

#[test]
fn the_command_line_writes_no_json_by_hand() {
    assert_kept(json_by_hand);
    let planted = "    ui.answer(&serde_json::json!({\"runs\": runs}))?;";
    assert_caught(json_by_hand, "cli/runs.rs", planted);
    assert_passes(
        json_by_hand,
        "cli/runs.rs",
        "    ui.list(\"runs\", &runs)?;",
    );
}

#[test]
fn what_differs_between_systems_has_one_home() {
    assert_kept(system_specifics);
}

#[test]
fn system_specific_code_elsewhere_is_caught() {
    assert_caught(system_specifics, "store/mod.rs", "#[cfg(unix)]");
    assert_caught(system_specifics, "store/mod.rs", "#[cfg(not(windows))]");
    assert_caught(
        system_specifics,
        "store/mod.rs",
        "if cfg!(target_os = \"linux\") {",
    );
    assert_caught(
        system_specifics,
        "cli/ui.rs",
        "use std::os::unix::fs::MetadataExt;",
    );
    assert_passes(
        system_specifics,
        "platform/unix.rs",
        "#[cfg(target_os = \"linux\")]",
    );
    assert_passes(system_specifics, "cli/signal.rs", "#[cfg(windows)]");
    assert_passes(
        system_specifics,
        "store/mod.rs",
        "#[cfg(test)]\nmod tests {\n    #[cfg(unix)]",
    );
}

#[test]
fn no_file_is_longer_than_the_cap() {
    assert_kept(overlong);
    let tests = sources_below("tests");
    let broken: Vec<String> = tests.iter().flat_map(overlong).collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn an_overlong_file_is_caught() {
    assert_caught(overlong, "store/mod.rs", &"\n".repeat(MAX_LINES + 1));
    assert_passes(overlong, "store/mod.rs", &"\n".repeat(MAX_LINES));
}

#[test]
fn every_file_opens_by_saying_what_it_is_for() {
    assert_kept(without_heading);
    let tests = sources_below("tests");
    let broken: Vec<String> = tests.iter().flat_map(without_heading).collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn a_file_without_a_heading_is_caught() {
    assert_caught(without_heading, "store/mod.rs", "use std::fs;\n//! Late.");
    assert_passes(without_heading, "store/mod.rs", "//! Where records live.");
}

#[test]
fn every_test_file_is_declared() {
    let names = sources_below("tests/it")
        .iter()
        .map(|source| source.layer().to_owned())
        .filter(|name| name != "main")
        .collect();
    let main = fs::read_to_string(root().join("tests/it/main.rs")).expect("this very binary");
    let broken = undeclared(&names, &main);
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn an_undeclared_test_file_is_caught() {
    let names = BTreeSet::from(["forgotten".to_owned(), "known".to_owned()]);
    let found = undeclared(&names, "mod known;\n// mod forgotten;\n");
    assert_eq!(found, ["tests/it/forgotten is not declared in main.rs"]);
}
