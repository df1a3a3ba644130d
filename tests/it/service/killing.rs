//! `kill -9` of the server at every step of a submission.

use super::Store;
use super::submitting::{order, runs};
use crate::support::http::Server;

on_both_stores!(a_server_that_is_killed_at_any_step_of_a_submission_leaves_one_run_or_none);

fn a_server_that_is_killed_at_any_step_of_a_submission_leaves_one_run_or_none(store: Store) {
    let steps: &[&str] = match store {
        Store::Files => &["noted", "created", "made", "answered"],
        Store::Postgres => &["all_sent", "committed", "marked"],
    };
    for step in steps {
        // Without a key nothing is kept as an answer.
        for with_key in [true, false]
            .iter()
            .filter(|key| **key || *step != "answered")
        {
            let Some(home) = store.home() else {
                return;
            };
            let faults = [("FAILPOINTS", format!("submit.{step}=1*return(kill)"))];
            let server = Server::start_with(&home, &[], &faults);
            let send = |server: &Server| {
                let token = format!("Bearer {}", server.token);
                let mut headers = vec![("Authorization", token.as_str())];
                headers.extend(with_key.then_some(("Idempotency-Key", "k")));
                let body = order("free").to_string();
                server.try_send("POST", "/runs", &headers, body.as_bytes())
            };
            assert!(send(&server).is_err(), "{step}: it dies there");
            drop(server);
            let server = Server::start(&home, &[]);
            let left = runs(&server);
            assert!(left <= 1, "{step}: {left}");
            let again = send(&server).expect("it answers");
            assert!([200, 201].contains(&again.status), "{step}: {again:?}");
            assert_eq!(runs(&server), 1, "{step}");
            let run = again.json()["run_id"].as_str().expect("a name").to_owned();
            let worker = home.archi3d(&["run", "worker", "--run-id", &run]);
            let _ = worker.run().expect_code(0);
            let made = server.get(&format!("/runs/{run}")).expect(200).json();
            assert_eq!(made["jobs"]["completed"], 1, "{step}: {made}");
        }
    }
}
