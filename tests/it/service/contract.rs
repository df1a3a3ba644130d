//! The contract, held against the service by a program that looks for answers it does not allow; and the lines that the
//! documentation shows, run as they stand there.

use serde_json::json;

use super::{Store, does};
use crate::support::http::Server;
use crate::support::schemathesis;
use crate::support::{Invocation, TestWorkspace};

/// What is valid may still be refused: days without `by=day`, algos and items that are not there, more than may be spent,
/// another plan than the one that is asked for, pictures that are none, and whole numbers, however deep, that not every
/// program reads alike.
const EXEMPT: &str = r#"
[[operations]]
include-name = "GET /api/v1/costs"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404"]

[[operations]]
include-name = "POST /api/v1/plans"
checks.positive_data_acceptance.expected-statuses = ["2xx", "422"]

[[operations]]
include-name = "POST /api/v1/runs"
checks.positive_data_acceptance.expected-statuses = ["2xx", "409", "412", "422"]

[[operations]]
include-name = "POST /runs"
checks.positive_data_acceptance.expected-statuses = ["2xx", "409", "412", "422"]

[[operations]]
include-name = "POST /api/v1/runs/{run}/retry"
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "412", "422"]

[[operations]]
include-name = "POST /api/v1/votes"
checks.positive_data_acceptance.expected-statuses = ["2xx", "422"]

[[operations]]
include-name = "POST /api/v1/uploads"
checks.positive_data_acceptance.expected-statuses = ["2xx", "415", "422"]
"#;

on_both_stores!(no_request_gets_an_answer_that_the_contract_does_not_allow);

fn no_request_gets_an_answer_that_the_contract_does_not_allow(store: Store) {
    let Some(program) = schemathesis() else {
        return;
    };
    let Some(home) = store.home() else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algos": ["free"]}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    does(&home, &["run", "worker", "--run-id", "r1"], 0);
    let url = format!("http://{}/openapi.json", server.address);
    let token = format!("Authorization: Bearer {}", server.token);
    let settings = home.path("schemathesis.toml");
    home.write("schemathesis.toml", EXEMPT.as_bytes());
    let options = [
        "--config-file",
        settings.to_str().expect("plain"),
        "run",
        &url,
        "--header",
        &token,
        "--url",
        &format!("http://{}", server.address),
        // Streams do not end.
        "--exclude-path-regex",
        "/events$",
        "--exclude-checks",
        "unsupported_method",
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

#[test]
fn the_lines_of_python_in_the_documentation_do_what_they_say() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read(root.join(path)).expect(path);
    let text = String::from_utf8(read("docs/api.md")).expect("text");
    let blocks = text.split("```python\n").skip(1);
    let lines: String = blocks
        .filter_map(|block| block.split("```").next())
        .collect();
    let workspace = TestWorkspace::empty();
    let picture = read("fixtures/simulate/preview_1.png");
    workspace.write("dataset/335888/335888_A.png", &picture);
    workspace.write(
        "tables/items.csv",
        b"product_id,variant,product_name,image_1_path\n335888,default,Chair,dataset/335888/335888_A.png\n",
    );
    workspace.write("config/adapters.yaml", b"adapters: {}\n");
    let server = Server::start(&workspace, &["--workers", "1"]);
    let folder = workspace.outside().join("client");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(
        folder.join("chair.png"),
        read("fixtures/simulate/preview_2.png"),
    )
    .expect("written");
    std::fs::write(folder.join("client.py"), lines).expect("written");
    let ran = Invocation::program(std::path::Path::new("python3"), ["client.py"])
        .current_dir(&folder)
        .env("ARCHI3D_API", format!("http://{}/api/v1", server.address))
        .env("ARCHI3D_TOKEN", &server.token)
        .run();
    assert_eq!(ran.code(), Some(0), "{}\n{}", ran.stdout, ran.stderr);
    for told in [
        "1 jobs, 0",
        "PENDING",
        "job_completed",
        "0 jobs were taken out",
        "0 jobs start again",
    ] {
        assert!(ran.stdout.contains(told), "{told}: {}", ran.stdout);
    }
    let model = std::fs::read(folder.join("generated.glb")).expect("fetched");
    assert!(model.starts_with(b"glTF"));
}
