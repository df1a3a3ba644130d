//! The outbox of messages to people outside, on both stores.

use std::sync::Arc;
use std::time::Duration;

use archi3d_core::clock::SystemClock;
use archi3d_core::domain::time::Clock;
use archi3d_core::store::outbox::{Hearing, Message};
use archi3d_core::store::postgres::notices;
use archi3d_core::store::{self, Upkeep};
use archi3d_core::workspace::paths::Workspace;

use crate::support::TestWorkspace;

use super::Bench;

fn message(event: &str) -> Message {
    Message {
        event: event.to_owned(),
        target: "command".to_owned(),
        body: event.to_owned(),
        tries: 0,
    }
}

fn local(workspace: &TestWorkspace) -> Arc<dyn Upkeep> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    store::local(&Workspace::new(workspace.root()), &clock)
}

/// What two programs do that look for the first time at once, with something that happens in between.
const PAST: [&str; 2] = ["past:1", "past:2"];

/// Who hears of it.
fn wanted() -> [Hearing; 1] {
    [Hearing {
        kind: "past".to_owned(),
        target: "command".to_owned(),
    }]
}

#[test]
fn what_happened_after_another_began_is_told_in_a_fleet() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let connection = &mut bench.work;
    assert_eq!(notices::hearing(connection).expect("asked"), []);
    notices::hear(connection, &wanted(), &[message(PAST[0])]).expect("begun");
    assert_eq!(notices::hearing(connection).expect("asked"), wanted());
    notices::hear(connection, &wanted(), &PAST.map(message)).expect("somebody was first");
    notices::add(connection, &PAST.map(message), false).expect("added");
    let due = notices::take_due(connection, 9, Duration::from_secs(60)).expect("taken");
    let due: Vec<&str> = due.iter().map(|one| one.event.as_str()).collect();
    assert_eq!(due, [PAST[1]]);
}

#[test]
fn what_happened_after_another_began_is_told_in_a_workspace() {
    let workspace = TestWorkspace::with_products(1).build();
    let place = local(&workspace);
    let mut outbox = place.outbox();
    assert_eq!(outbox.hearing().expect("asked"), []);
    outbox.hear(&wanted(), &[message(PAST[0])]).expect("begun");
    assert_eq!(outbox.hearing().expect("asked"), wanted());
    outbox
        .hear(&wanted(), &PAST.map(message))
        .expect("somebody was first");
    outbox.add(&PAST.map(message)).expect("added");
    let due = outbox.take_due(9, Duration::from_secs(60)).expect("taken");
    let due: Vec<&str> = due.iter().map(|one| one.event.as_str()).collect();
    assert_eq!(due, [PAST[1]]);
}

#[test]
fn who_was_killed_while_beginning_has_not_begun() {
    let workspace = TestWorkspace::with_products(1).build();
    let place = local(&workspace);
    let path = workspace.path("tables/notices.jsonl");
    let begin = |past: &[Message]| place.outbox().hear(&wanted(), past);
    begin(&PAST.map(message)).expect("begun");
    let text = std::fs::read_to_string(&path).expect("a file");
    let first = text.lines().next().expect("a line");
    std::fs::write(&path, format!("{first}\n")).expect("cut");
    assert_eq!(place.outbox().hearing().expect("asked"), []);
    // What waits there goes on waiting.
    place.outbox().add(&[message("past:waits")]).expect("added");
    let past = [PAST[0], PAST[1], "past:waits"].map(message);
    begin(&past).expect("begun");
    place.outbox().add(&past).expect("added");
    let due = place.outbox().take_due(9, Duration::from_secs(60));
    let due = due.expect("taken");
    let due: Vec<&str> = due.iter().map(|one| one.event.as_str()).collect();
    assert_eq!(due, ["past:waits"]);
}
