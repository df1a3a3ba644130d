//! Words that shells offer, asked of a real bash, and manual pages that a real `man` can read.

use std::fs;
use std::path::Path;

use crate::support::binary::Output;
use crate::support::mocks::counting_mocks;
use crate::support::{Invocation, TestWorkspace};

/// Returns what bash offers for the last of the words typed.
fn offered(workspace: &TestWorkspace, words: &[&str]) -> Vec<String> {
    let script = r#"
        set -u
        source <("$0" completions bash)
        COMP_WORDS=(archi3d "$@")
        COMP_CWORD=$#
        COMP_TYPE=9
        COMPREPLY=()
        _clap_complete_archi3d archi3d "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        for word in "${COMPREPLY[@]}"; do echo "$word"; done
    "#;
    let mut arguments = vec!["-c", script, env!("CARGO_BIN_EXE_archi3d")];
    arguments.extend(words);
    let output = Invocation::program(Path::new("bash"), arguments)
        .current_dir(workspace.root())
        .run()
        .expect_code(0);
    assert_eq!(output.stderr, "", "{output}");
    let lines = output.stdout.lines().map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

fn workspace() -> TestWorkspace {
    let mocks = counting_mocks(&[("trellis_single", ""), ("my_tool", "")]);
    let workspace = TestWorkspace::with_products(3).adapters(&mocks).build();
    let manifest = workspace.bytes("runs/rk/manifest.csv");
    workspace.write("runs/chairs-2/manifest.csv", &manifest);
    workspace.write("runs/no-manifest/notes.txt", b"");
    workspace
}

#[test]
fn bash_offers_runs_jobs_algos_and_statuses() {
    let workspace = workspace();
    let before = workspace.tree();
    let offered = |words: &[&str]| offered(&workspace, words);
    for command in ["worker", "status", "attempts", "cancel"] {
        assert_eq!(
            offered(&["run", command, "--run-id", ""]),
            ["chairs-2", "rk"],
            "{command}"
        );
    }
    assert_eq!(offered(&["run", "worker", "--run-id", "ch"]), ["chairs-2"]);
    assert_eq!(offered(&["consolidate", "--run-id", "r"]), ["rk"]);
    let ids: Vec<&str> = workspace.jobs().iter().map(|job| job.id.as_str()).collect();
    assert_eq!(
        offered(&["run", "worker", "--run-id", "rk", "--jobs", ""]),
        ids
    );
    let one = offered(&["run", "cancel", "--run-id", "rk", "--jobs", &ids[1][..6]]);
    assert_eq!(one, [ids[1]]);
    assert_eq!(offered(&["run", "worker", "--algo", "my"]), ["my_tool"]);
    let list = offered(&["run", "worker", "--only-status", "failed,r"]);
    assert_eq!(list, ["failed,running"]);
    assert_eq!(offered(&["run", "can"]), ["cancel"]);
    assert_eq!(offered(&["run", "status", ""])[..2], ["chairs-2", "rk"]);
    assert_eq!(offered(&["run", "worker", "--order", "r"]), ["row-first"]);
    let items = ["100001", "100002", "100003"];
    assert_eq!(offered(&["run", "worker", "rk", "--item", ""]), items);
    assert_eq!(offered(&["run", "explain", "rk", "100002"]), ["100002"]);
    assert_eq!(
        offered(&["run", "worker", "rk", "--jobs", ids[0]]),
        [ids[0]]
    );
    assert_eq!(offered(&["run", "worker", "--works"]), ["--workspace"]);
    assert_eq!(workspace.tree(), before);
}

#[test]
fn bash_offers_what_is_in_the_workspace_that_was_typed() {
    let (here, there) = (TestWorkspace::empty(), workspace());
    let folder = there.root().to_str().expect("text");
    let words = ["--workspace", folder, "run", "worker", "--run-id", ""];
    assert_eq!(offered(&here, &words), ["chairs-2", "rk"]);
    assert_eq!(offered(&here, &["run", "worker", "--run-id", ""]), [""; 0]);
    let nowhere = ["--workspace", "/nowhere", "run", "worker", "--run-id", ""];
    assert_eq!(offered(&here, &nowhere), [""; 0]);
}

#[test]
fn every_shell_gets_a_script_and_an_unknown_one_the_list() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = Invocation::archi3d(["completions", shell]).run();
        let _ = output.expect_code(0).expect_stdout("archi3d");
    }
    let output = Invocation::archi3d(["completions", "sh"]).run();
    let _ = output.expect_code(2).expect_stderr("bash");
}

fn pages(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("made").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn every_command_has_a_page_that_man_shows_without_complaint() {
    let workspace = TestWorkspace::empty();
    let folder = workspace.path("man1");
    let made = Invocation::archi3d(["man".as_ref(), folder.as_os_str()]).run();
    let _ = made.expect_code(0).expect_stderr("pages in");
    let names = pages(&folder);
    for page in ["archi3d.1", "archi3d-run-worker.1", "archi3d-run-cancel.1"] {
        assert!(names.iter().any(|name| name == page), "{page} in {names:?}");
    }
    for name in names {
        let path = folder.join(&name);
        if let Some(shown) = shown(&path) {
            assert_eq!(shown.stderr, "", "{name}: {shown}");
            assert!(shown.stdout.contains("SYNOPSIS"), "{name}: {shown}");
            for section in ["EXAMPLES", "EXIT STATUS"] {
                assert!(shown.stdout.contains(section), "{name}: {shown}");
            }
        }
    }
    let whole = Invocation::archi3d(["man"]).run().expect_code(0);
    assert_eq!(
        whole.stdout.trim(),
        fs::read_to_string(folder.join("archi3d.1"))
            .expect("made")
            .trim()
    );
}

/// Shows a page as a person would see it; nothing where there is no `man`.
fn shown(page: &Path) -> Option<Output> {
    let there = Path::new("/usr/bin/man").exists();
    let arguments = ["--warnings", "-l"];
    let man = || Invocation::program(Path::new("/usr/bin/man"), arguments);
    there.then(|| man().env("LANG", "C.UTF-8").arg(page).run().expect_code(0))
}

#[test]
fn help_is_short_and_tells_the_options_of_every_command_once() {
    let help = |words: &[&str]| Invocation::archi3d(words).run().expect_code(0).stdout;
    for words in [&["run", "status", "--help"][..], &["help", "run", "status"]] {
        let text = help(words);
        assert!(!text.contains("--color"), "{text}");
        assert!(text.contains("archi3d help options"), "{text}");
        assert!(text.contains("Usage: archi3d run status"), "{text}");
        assert!(
            text.contains("--watch") && text.contains("Examples:"),
            "{text}"
        );
    }
    let options = help(&["help", "options"]);
    for word in [
        "--workspace",
        "--json",
        "--color",
        "--verbose",
        "Exit codes",
    ] {
        assert!(options.contains(word), "{options}");
    }
    assert!(help(&["help"]).contains("Commands:"));
    let _ = Invocation::archi3d(["help", "frobnicate"])
        .run()
        .expect_code(2);
}
