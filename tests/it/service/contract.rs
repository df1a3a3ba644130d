//! The contract, held against the service by a program that looks for answers it does not allow.

use super::{does, workspace};
use crate::support::Invocation;
use crate::support::http::Server;
use crate::support::schemathesis;

#[test]
fn no_request_gets_an_answer_that_the_contract_does_not_allow() {
    let Some(program) = schemathesis() else {
        return;
    };
    let workspace = workspace();
    let create = ["batch", "create", "--run-id", "r1", "--algos", "free"];
    does(&workspace, &create, 0);
    does(&workspace, &["run", "worker", "--run-id", "r1"], 0);
    let server = Server::start(&workspace, &[]);
    let url = format!("http://{}/openapi.json", server.address);
    let token = format!("Authorization: Bearer {}", server.token);
    let options = [
        "run",
        &url,
        "--header",
        &token,
        "--url",
        &format!("http://{}", server.address),
        // Streams do not end; what is valid may still name an algo or an item that is not there, or be no picture.
        "--exclude-path-regex",
        "/events$",
        "--exclude-checks",
        "positive_data_acceptance,unsupported_method",
        "--max-examples",
        "20",
        "--seed",
        "1",
        "--no-color",
        "--generation-database",
        "none",
    ];
    let said = Invocation::program(&program, options).run();
    assert_eq!(said.code(), Some(0), "{}\n{}", said.stdout, said.stderr);
}
