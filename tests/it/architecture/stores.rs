//! Keeps stores behind their traits: nothing above `store` names a certain one.

use std::collections::BTreeSet;

use super::{Source, assert_caught, assert_kept, assert_passes, regex};

/// A store of a certain kind, by its module or by one of its types.
const CERTAIN_STORE: &str = r"\bstore\s*::\s*(files|postgres|objects)\b|\b(File(Store|Runs|Budget|Providers|Reuse|Upkeep)|Pg[A-Z])\w*";

/// `ops` and `engine` know the traits of `store` and the types that these speak in; which store is behind them they do
/// not know, not even in comments.
fn certain_stores(source: &Source) -> Vec<String> {
    if !["ops", "engine"].contains(&source.layer()) {
        return Vec::new();
    }
    let text = &source.text;
    let line_at = |at: usize| 1 + text[..at].matches('\n').count();
    let mut found: BTreeSet<usize> = BTreeSet::new();
    let mut names = vec!["store".to_owned()];
    for tree in regex(r"(?m)^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").captures_iter(text) {
        for path in used_paths(&tree[1]) {
            let roots = ["crate", "super", "self", "archi3d_core", ""];
            let mut parts = path.split("::").skip_while(|part| roots.contains(part));
            if parts.next().is_none_or(|first| root_of(first) != "store") {
                continue;
            }
            let tail: Vec<&str> = parts.collect();
            match tail.first().map(|next| root_of(next)) {
                Some("files" | "postgres" | "objects" | "*") => {
                    found.insert(line_at(tree.get(1).expect("it matched").start()));
                }
                None | Some("self") => {
                    let renamed = path.rsplit_once(" as ").map(|(_, name)| name.to_owned());
                    names.extend(renamed);
                }
                _ => {}
            }
        }
    }
    for name in names {
        let pattern = CERTAIN_STORE.replacen("store", &name, 1);
        found.extend(
            regex(&pattern)
                .find_iter(text)
                .map(|hit| line_at(hit.start())),
        );
    }
    let what = "names a certain store; ask the traits of `store`";
    found
        .into_iter()
        .map(|line| source.at(line, what))
        .collect()
}

/// Returns a part of a path without what it is renamed to.
fn root_of(part: &str) -> &str {
    part.split(" as ").next().unwrap_or(part).trim()
}

/// Returns the full paths of a tree of imports, on one line each.
fn used_paths(tree: &str) -> Vec<String> {
    let tree = tree.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((before, group)) = tree.split_once('{') else {
        return vec![tree.replace(" :: ", "::")];
    };
    let group = group.rsplit_once('}').map_or(group, |(inside, _)| inside);
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[start..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    let paths = parts.flat_map(|part| used_paths(part.trim()));
    let before = before.trim().replace(" :: ", "::");
    paths.map(|path| format!("{before}{path}")).collect()
}

#[test]
fn operations_and_the_engine_name_no_certain_store() {
    assert_kept(certain_stores);
}

#[test]
fn a_certain_store_is_caught_however_it_is_spelled() {
    for text in [
        "use crate::store::files::FileStore;",
        "use crate::store::files;",
        "use crate::store::{Runs, files};",
        "use crate::store::{\n    Runs,\n    postgres::{Connection, view},\n};",
        "use crate::{clock, store::{error, objects as buckets}};",
        "pub(in crate::ops) use crate::store::postgres::Desk;",
        "use super::super::store::files::runs;",
        "use crate::store as records;\nfn f() { records::files::runs(); }",
        "use crate::store::{self as records, Runs};\nlet x = records::postgres::view();",
        "use crate::store::*;",
        "    let found = crate::store::files::runs(workspace)?;",
        "    let found = store::\n        files::runs(workspace)?;",
        "fn open() -> archi3d_core::store::postgres::Connection {",
        "/// See [`crate::store::files`].",
        "// As store::postgres does.",
        "fn with(store: &FileStore) {}",
        "fn with(link: &PgLink) {}",
    ] {
        assert_caught(certain_stores, "ops/run/worker.rs", text);
        assert_caught(certain_stores, "engine/job.rs", text);
        assert_passes(certain_stores, "store/backend.rs", text);
    }
    for text in [
        "use crate::store::{Backend, Fleet, Runs};",
        "use crate::store;\nlet place = store::local(workspace, clock);",
        "#[cfg(feature = \"postgres\")]\nmod files;\nuse files::submit;",
        "use super::files::existing;",
        "let files = artifact::standardize(folder);",
        "use std::fs::{File, FileType};",
    ] {
        assert_passes(certain_stores, "ops/submit.rs", text);
    }
}
