//! Keeps tables that name tests true: each test, and each module that keeps a promise, exists under its name.

use std::collections::BTreeSet;
use std::fs;

use super::{CRATES, Source, root, server_sources, sources_below};

fn document(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("documents are text")
}

/// Returns what is quoted in a text and is a path of names.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split('`').skip(1).step_by(2);
    words.filter(|word| word.contains("::"))
}

/// Returns the rows of the table below a heading, cell by cell.
fn rows_below<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let section = page.split(heading).nth(1).expect("the heading is there");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with('|'));
    rows.skip(2)
        .map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// Tells whether a module is there: a file or a folder of this path.
fn is_module(sources: &[Source], name: &str) -> bool {
    let path = name.replace("::", "/");
    let (file, folder) = (format!("{path}.rs"), format!("{path}/"));
    let has = |source: &Source| source.path == file || source.path.starts_with(&folder);
    sources.iter().any(has)
}

/// Returns those of the names, `module::function`, that no function of that module bears.
fn missing_tests<'a>(sources: &[Source], names: &[&'a str]) -> Vec<&'a str> {
    let is_there = |name: &&str| {
        let (module, function) = name.rsplit_once("::").expect("a path");
        let path = module.replace("::", "/");
        let files = [format!("{path}.rs"), format!("{path}/mod.rs")];
        let head = format!("fn {function}(");
        let mut own = sources.iter().filter(|at| files.contains(&at.path));
        own.any(|source| source.text.contains(&head))
    };
    let names = names.iter().copied();
    names.filter(|name| !is_there(name)).collect()
}

#[test]
fn every_test_that_the_table_of_requirements_names_exists() {
    let page = document("docs/acceptance.md");
    let named: Vec<&str> = quoted(&page).collect();
    assert!(named.len() > 30, "{}", named.len());
    let missing = missing_tests(&sources_below("tests/it"), &named);
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_promise_names_where_it_is_kept_and_a_test_that_exists() {
    let page = document("ARCHITECTURE.md");
    let tests = sources_below("tests/it");
    let modules = CRATES.iter().flat_map(|folder| sources_below(folder));
    let modules: Vec<Source> = modules.chain(server_sources()).collect();
    let rows = rows_below(&page, "\n## Promises\n");
    assert!(rows.len() > 20, "{}", rows.len());
    for row in rows {
        let [promise, kept_in, shown_by] = row[..] else {
            panic!("three cells: {row:?}");
        };
        let mut homes = kept_in.split('`').skip(1).step_by(2).peekable();
        assert!(homes.peek().is_some(), "{promise}: kept nowhere");
        for home in homes {
            assert!(is_module(&modules, home), "{promise}: no module {home}");
        }
        let named: Vec<&str> = quoted(shown_by).collect();
        assert!(!named.is_empty(), "{promise}: no test");
        let missing = missing_tests(&tests, &named);
        assert!(missing.is_empty(), "{promise}: no test {missing:?}");
    }
}

#[test]
fn the_walk_of_a_job_names_files_that_are_there_and_counts_them() {
    let page = document("ARCHITECTURE.md");
    let steps = rows_below(&page, "## How a job flows through the house");
    let named = steps
        .iter()
        .flat_map(|step| step[2].split('`').skip(1).step_by(2));
    let files: BTreeSet<&str> = named.collect();
    let is_there = |name: &&&str| {
        ["src", "crates/archi3d-core/src"]
            .iter()
            .any(|folder| root().join(folder).join(name).exists())
    };
    let missing: Vec<_> = files.iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let said = format!(
        "goes through {} files in {} steps",
        files.len(),
        steps.len()
    );
    assert!(page.contains(&said), "the page should say: {said}");
}

#[test]
fn a_test_or_a_module_that_is_not_there_is_caught() {
    let planted = [Source::planted(
        "fleet/working.rs",
        "fn nothing_is_lost() {}",
    )];
    let names = [
        "fleet::working::nothing_is_lost",
        "fleet::working::nothing_is",
        "working::nothing_is_lost",
    ];
    assert_eq!(missing_tests(&planted, &names), names[1..]);
    assert!(is_module(&planted, "fleet") && is_module(&planted, "fleet::working"));
    assert!(!is_module(&planted, "working") && !is_module(&planted, "fleet::work"));
}
