//! `--json`: machines get one object on stdout whatever happens, and every name as it is.

use crate::support::{Invocation, TestWorkspace};

#[test]
fn arguments_that_cannot_be_understood_are_an_object_too() {
    for (words, wanted) in [
        (&["batch", "create", "--limit", "abc", "--json"][..], "abc"),
        (&["frobnicate", "--json"], "frobnicate"),
        (&["--json", "run", "worker", "--jobs"], "--jobs"),
        (&["--json"], "requires a subcommand"),
        (&["--json", "batch"], "a command is missing"),
    ] {
        let said = Invocation::archi3d(words).run().expect_code(2);
        let object = said.json();
        let error = object["error"].as_str().unwrap_or_default();
        assert!(error.contains(wanted), "{said}");
        assert_eq!(object["exit_code"], 2, "{said}");
        assert!(!object["hints"].as_array().expect("a list").is_empty());
    }
    let plain = Invocation::archi3d(["frobnicate"]).run().expect_code(2);
    assert_eq!(plain.stdout, "");
}

#[test]
fn names_that_would_turn_a_terminal_around_reach_machines_whole() {
    let workspace = TestWorkspace::empty();
    let name = "odd \u{202e}name\u{85}";
    let said = Invocation::archi3d(["init", "--json"])
        .arg(workspace.path(name))
        .run()
        .expect_code(0);
    assert!(said.stdout.contains("\\u202e"), "{said}");
    let folder = said.json()["workspace"].as_str().map(str::to_owned);
    assert!(
        folder.is_some_and(|folder| folder.ends_with(name)),
        "{said}"
    );
}
