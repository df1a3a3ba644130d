//! Tests that a machine cannot carry out say so: nothing passes unseen. A tool that is missing is a failure with
//! `ARCHI3D_TEST_REQUIRE=1`, as `scripts/test` sets it; a right that a machine does not give cannot be installed, and is listed by
//! `scripts/test` at its end.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

/// Tells whether everything that can be installed has to be there.
pub fn must_have_all() -> bool {
    std::env::var_os("ARCHI3D_TEST_REQUIRE").is_some_and(|value| value == "1")
}

/// Says something past the harness, which keeps what a test prints.
fn say(line: &str) {
    std::io::stderr().write_all(line.as_bytes()).ok();
}

/// Says that this test, or a part of it, is passed over; `scripts/test` lists it.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a test");
    let line = format!("skipped: {name}: {reason}\n");
    say(&line);
    if let Some(list) = std::env::var_os("ARCHI3D_TEST_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(list);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the list of what was skipped");
    }
}

/// Tells whether a tool is here; if not the test is passed over, or fails.
#[track_caller]
pub fn has_tool(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    if !found {
        assert!(
            !must_have_all(),
            "{name} is not installed; run scripts/test"
        );
        skip(&format!("{name} is not installed"));
    }
    found
}

/// Returns the path in an environment variable; without it the test is passed over, or fails if it must be there.
#[track_caller]
pub fn required(variable: &str, must: bool) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        assert!(!must, "{variable} is not set; run scripts/test");
        // By the hundred, where there is no server: `scripts/test` says it once.
        say(&format!(
            "skipped: {variable} is not set; scripts/test sets it\n"
        ));
    }
    found
}
