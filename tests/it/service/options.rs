//! `options` of a submission: in the place of defaults, for one run, whoever works on it.

use serde_json::{Value, json};

use super::{ADAPTERS, Home, Store, does};
use crate::support::fixture;
use crate::support::http::Server;

on_both_stores!(
    what_a_run_chooses_takes_the_place_of_defaults_for_that_run_alone,
    the_form_of_a_number_in_the_options_makes_no_other_run,
    an_option_that_no_algo_has_is_refused_with_its_place,
);

/// Makes a workspace with a program that notes what it is to do.
fn home(store: Store) -> Option<Home> {
    let home = store.home()?;
    let entry = "  chosen:\n    kind: process\n    command: [sh, chosen.sh]\n    unit_price_usd: 0\n    defaults: {seed: 1, texture: 2k}\n";
    let adapters = format!("{ADAPTERS}{entry}");
    home.write("config/adapters.yaml", adapters.as_bytes());
    home.write(
        "chosen.sh",
        b"echo \"$ARCHI3D_DEFAULTS\" >> \"$ARCHI3D_WORKSPACE/seen\"\ncp \"$ARCHI3D_WORKSPACE/cube.glb\" generated.glb\n",
    );
    let cube = std::fs::read(fixture("simulate/cube.glb")).expect("shipped");
    home.write("cube.glb", &cube);
    Some(home)
}

fn order(run: &str, options: &Value) -> Value {
    json!({"parameters": {"algo": "chosen", "items": ["100001"], "options": options}, "run_id": run})
}

/// Returns what the program was last told to do.
fn seen(home: &Home) -> Value {
    let text = String::from_utf8(home.bytes("seen")).expect("text");
    serde_json::from_str(text.lines().last().expect("it ran")).expect("JSON")
}

fn what_a_run_chooses_takes_the_place_of_defaults_for_that_run_alone(store: Store) {
    let Some(home) = home(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    let big = "18446744073709551615";
    let chosen = json!({"seed": big});
    let run = server.post("/runs", &order("r1", &chosen)).expect(201);
    let usual = server.post("/runs", &order("r2", &json!({}))).expect(201);
    assert_ne!(run.json()["payload_hash"], usual.json()["payload_hash"]);
    does(&home, &["run", "worker", "--run-id", "r1"], 0);
    assert_eq!(seen(&home), json!({"seed": big, "texture": "2k"}));
    // Made with other options: it is no copy of the first.
    does(&home, &["run", "worker", "--run-id", "r2", "--reuse"], 0);
    assert_eq!(seen(&home), json!({"seed": 1, "texture": "2k"}));
    let mut again = order("r3", &chosen);
    again["dedupe"] = json!("none");
    let plan = server.post("/api/v1/plans", &again).expect(200).json();
    assert_eq!(plan["jobs"], 1, "{plan}");
    server.post("/runs", &again).expect(201);
    does(&home, &["run", "worker", "--run-id", "r3", "--reuse"], 0);
    let made = String::from_utf8(home.bytes("seen")).expect("text");
    assert_eq!(
        made.lines().count(),
        2,
        "what was made with the same options is copied: {made}"
    );
}

fn the_form_of_a_number_in_the_options_makes_no_other_run(store: Store) {
    let Some(home) = home(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    let post = |seed: &str| {
        let body = format!(
            r#"{{"parameters": {{"options": {{"seed": {seed}}}, "items": ["100001"], "algo": "chosen"}}}}"#
        );
        server.call("POST", "/runs", &body)
    };
    let first = post("2").expect(201).json();
    for same in ["2.0", "20e-1"] {
        let again = post(same).expect(200).json();
        assert_eq!(again["run_id"], first["run_id"], "{same}");
        assert_eq!(again["payload_hash"], first["payload_hash"], "{same}");
    }
    assert_ne!(post("3").expect(201).json()["run_id"], first["run_id"]);
    post("18446744073709551615").expect_problem(422, "invalid-request");
}

fn an_option_that_no_algo_has_is_refused_with_its_place(store: Store) {
    let Some(home) = home(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    for (options, place) in [
        (json!({"colour": "red"}), "#/parameters/options/colour"),
        (json!({"a/b": 1}), "#/parameters/options/a~1b"),
        (json!([1]), "#/parameters/options"),
    ] {
        let problem = server.post("/runs", &order("r1", &options));
        let problem = problem.expect_problem(422, "invalid-request");
        assert_eq!(problem["errors"][0]["pointer"], place, "{problem}");
    }
    assert_eq!(server.get("/runs").expect(200).json()["items"], json!([]));
}
