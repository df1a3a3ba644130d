//! `self-check`, `--version --verbose` and `serve --check`: what somebody types after installing.

use crate::support::{Invocation, TestWorkspace};

#[test]
fn a_folder_that_cannot_be_written_is_refused_with_the_next_step() {
    let said = Invocation::archi3d(["self-check", "/nowhere/at/all"])
        .run()
        .expect_code(2);
    assert!(
        said.stderr
            .contains("no folder can be made in /nowhere/at/all"),
        "{said}"
    );
    assert!(said.stderr.contains("hint: "), "{said}");
}

#[test]
fn the_version_is_one_line_and_with_verbose_everything_that_tells_builds_apart() {
    let short = Invocation::archi3d(["--version"]).run().expect_code(0);
    assert_eq!(
        short.stdout,
        concat!("archi3d ", env!("CARGO_PKG_VERSION"), "\n")
    );
    for words in [["--version", "--verbose"], ["-V", "-v"]] {
        let long = Invocation::archi3d(words).run().expect_code(0);
        for name in [
            "commit:",
            "committed:",
            "target:",
            "features:",
            "store schema:",
        ] {
            assert!(long.stdout.contains(name), "{name}: {long}");
        }
        assert!(long.stdout.starts_with(&short.stdout), "{long}");
    }
    let json = Invocation::archi3d(["--version", "--json"])
        .run()
        .expect_code(0)
        .json();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_check_of_a_service_that_is_not_there_fails() {
    let place = TestWorkspace::with_products(1).build();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("known").to_string();
    drop(taken);
    let said = place
        .archi3d(&["serve", "--check", "--listen", &address])
        .run()
        .expect_code(3);
    assert!(said.stderr.contains("nothing answers"), "{said}");
}
