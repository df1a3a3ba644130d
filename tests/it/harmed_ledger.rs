//! Whatever becomes of the ledger of money, before a start or while workers spend: the limits
//! hold, and a person hears of it.

use std::fs;
use std::path::Path;

use crate::support::mocks::{executions, jobs_of};
use crate::support::{TestWorkspace, wait_until};

const LEDGER: &str = "tables/budget.jsonl";
const DOUBLE: &str = "runs/.budget/ledger.jsonl";

/// What can become of a file, and a word for it.
type Harm = (&'static str, fn(&Path));

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("there")
}

/// What a backup of the time of the first line has.
fn first_line(path: &Path) -> String {
    text(path).lines().next().expect("a line").to_owned() + "\n"
}

const HARMS: [Harm; 7] = [
    ("removed", |path| fs::remove_file(path).expect("there")),
    ("emptied", |path| fs::write(path, b"").expect("ours")),
    ("cut in a line", |path| {
        let whole = text(path);
        fs::write(path, &whole[..whole.len() - 30]).expect("ours");
    }),
    ("cut in its first line", |path| {
        let whole = text(path);
        fs::write(path, &whole[..30]).expect("ours");
    }),
    ("an older copy in the same file", |path| {
        fs::write(path, first_line(path)).expect("ours");
    }),
    ("an older copy in a new file", |path| {
        let copy = path.with_extension("copy");
        fs::write(&copy, first_line(path)).expect("ours");
        fs::rename(&copy, path).expect("same disk");
    }),
    ("edited", |path| {
        fs::write(path, text(path).replace("0.3", "0.1")).expect("ours");
    }),
];

/// Where the limit of seventy cents stands.
#[derive(Debug, Clone, Copy)]
enum Cap {
    Run,
    Day,
}

impl Cap {
    fn options(self, workspace: &TestWorkspace) -> &'static [&'static str] {
        match self {
            Self::Run => &["--budget-usd", "0.70"],
            Self::Day => {
                workspace.write("config/global.yaml", b"budget: {day_usd: 0.70}\n");
                &[]
            }
        }
    }
}

/// A free job that waits, then jobs of thirty cents of which the second waits too.
fn workspace() -> TestWorkspace {
    let mocks = [
        ("free", "unit_price_usd: 0, wait_file: go_free"),
        ("paid", "unit_price_usd: 0.30"),
        ("held", "unit_price_usd: 0.30, wait_file: go_held"),
    ];
    jobs_of(&mocks, &["free", "paid", "held", "paid", "paid", "paid"])
}

/// How many jobs were bought.
fn bought(workspace: &TestWorkspace) -> usize {
    let free = workspace.id(0);
    let all = executions(workspace).into_iter();
    all.filter(|one| one.job != free).count()
}

fn reserved(workspace: &TestWorkspace) -> usize {
    let text = fs::read_to_string(workspace.path(LEDGER)).unwrap_or_default();
    text.matches("\"reserved\"").count()
}

#[test]
fn whoever_spends_while_the_ledger_is_harmed_keeps_the_limit() {
    for (what, harm) in HARMS {
        for cap in [Cap::Run, Cap::Day] {
            let workspace = workspace();
            let options = [cap.options(&workspace), &["--algo", "paid,held"]].concat();
            let worker = workspace.worker(&options).spawn();
            wait_until("the second is at work", || {
                bought(&workspace) == 2 && reserved(&workspace) == 2
            });
            harm(&workspace.path(LEDGER));
            workspace.write("go_held", b"");
            let output = worker.wait().expect_code(4);
            assert_eq!(bought(&workspace), 2, "{what} {cap:?}");
            assert!(output.stderr.contains("had lost"), "{what}: {output}");
            let both = (workspace.bytes(LEDGER), workspace.bytes(DOUBLE));
            assert_eq!(both.0, both.1, "{what} {cap:?}");
        }
    }
}

#[test]
fn a_worker_that_has_not_spent_yet_notices_what_others_have_spent() {
    for (what, harm) in HARMS {
        for cap in [Cap::Run, Cap::Day] {
            let workspace = workspace();
            let options = cap.options(&workspace);
            let idle = workspace.worker(options).spawn();
            wait_until("it waits", || !executions(&workspace).is_empty());
            let spends = workspace.worker(options).spawn();
            wait_until("the second is at work", || {
                bought(&workspace) == 2 && reserved(&workspace) == 2
            });
            harm(&workspace.path(LEDGER));
            // The one that knows nothing of it is the first to ask.
            workspace.write("go_free", b"");
            let _ = idle.wait();
            workspace.write("go_held", b"");
            let _ = spends.wait().expect_code(4);
            assert_eq!(bought(&workspace), 2, "{what} {cap:?}");
        }
    }
}

#[test]
fn where_everything_is_gone_the_worker_stops_and_the_next_start_counts_it() {
    for (what, harm) in HARMS.into_iter().take(4) {
        let workspace = workspace();
        let options = ["--budget-usd", "0.70", "--algo", "paid,held"];
        let worker = workspace.worker(&options).spawn();
        wait_until("the second is at work", || bought(&workspace) == 2);
        harm(&workspace.path(LEDGER));
        harm(&workspace.path(DOUBLE));
        workspace.write("go_held", b"");
        let stopped = worker.wait();
        assert_eq!(stopped.code(), Some(3), "{what}: {stopped}");
        assert_eq!(bought(&workspace), 2, "{what}");
        let _ = workspace.worker(&options).run().expect_code(4);
        assert_eq!(bought(&workspace), 2, "{what}");
    }
}

#[test]
fn journals_that_the_ledger_accounts_for_are_not_read_again() {
    let workspace = workspace();
    let capped = ["--budget-usd", "0.70", "--algo", "paid"];
    for _ in 0..2 {
        let _ = workspace.worker(&capped).run().expect_code(4);
    }
    // As long as before, and about attempts that no ledger knows.
    let journals = workspace.path("runs/rk/state/journal");
    let journals = fs::read_dir(journals).expect("there");
    for journal in journals.map(|entry| entry.expect("there").path()) {
        let before = text(&journal);
        let turned: String = before
            .split_inclusive("\"nonce\":\"")
            .enumerate()
            .map(|(place, part)| match place {
                0 => part.to_owned(),
                _ => format!("{}{}", turned_first(part), &part[1..]),
            })
            .collect();
        assert_eq!(turned.len(), before.len());
        fs::write(&journal, turned).expect("ours");
    }
    let again = workspace.worker(&capped).run().expect_code(4);
    assert!(!again.stderr.contains("written back"), "{again}");
    // A ledger that does not go on from there accounts for nothing.
    workspace.write_ledger(b"");
    let _ = workspace
        .worker(&capped)
        .run()
        .expect_code(4)
        .expect_stderr("written back from the journals");
    assert_eq!(bought(&workspace), 2);
}

/// Returns another digit or letter in the place of the first.
fn turned_first(part: &str) -> char {
    match part.chars().next() {
        Some('0') => '1',
        _ => '0',
    }
}
