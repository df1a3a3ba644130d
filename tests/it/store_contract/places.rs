//! What every place promises in which runs live: `store::backend::Backend` and the outbox that it has.

use std::time::Duration;

use archi3d_core::domain::budget::{AttemptKey, Caps};
use archi3d_core::domain::id::AlgoKey;
use archi3d_core::domain::job::Entry;
use archi3d_core::store::outbox::{Hearing, Message};
use archi3d_core::store::providers::{Closable, Closure};
use archi3d_core::store::{Cancellation, Claim, Opening};

use super::{MakePlace, Place, fresh};
use crate::support::bench::{run_id, take};
use crate::support::place::{Result, no_run, opening};

every_place! {
    a_worker_and_a_person_see_the_same_jobs
    workers_share_jobs_money_and_providers
    beats_fit_the_silence_that_is_borne
    pictures_of_a_job_can_be_read_by_its_holder
    a_run_that_is_nowhere_is_refused_and_nothing_is_made
    whoever_opens_it_to_act_changes_jobs_and_is_no_worker
    a_message_is_kept_once_and_handed_to_one_sender
    a_message_whose_sender_died_is_handed_out_again
    a_message_waits_as_long_as_it_is_told_to_and_ends_when_it_arrived
    a_message_for_nobody_is_known_and_never_sent
    of_what_was_so_before_somebody_heard_nothing_is_sent
}

const ALGOS: [&str; 2] = ["one", "two"];

fn a_worker_and_a_person_see_the_same_jobs(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    assert_eq!(worker.identity.worker_id.as_str(), "w-1");
    assert_eq!(worker.store.run_id(), &run_id());
    place.at(1);
    place.make(&worker, 0, Entry::Fresh, &Result::real());
    let now = place.at(5);
    let own = worker.store.jobs(now).expect("told").jobs;
    let told = place.runs().jobs(&run_id(), worker.rhythm).expect("told");
    assert_eq!(told.jobs, own);
}

fn workers_share_jobs_money_and_providers(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let (one, other) = (place.worker("w-1"), place.worker("w-2"));
    let lease = take(&*one.store, &place.job(0), Entry::Fresh, place.at(1));
    let claim = other.store.claim(&place.job(0), Entry::Fresh, place.at(2));
    assert!(!matches!(claim.expect("asked"), Claim::Taken(_)));
    let key = AttemptKey::from(&lease);
    one.budget
        .reserve(&key, 0.3, Caps::default(), place.at(3))
        .expect("asked");
    let usage = other.budget.usage(&run_id()).expect("asked");
    assert!((usage.reserved_usd - 0.3).abs() < 1e-9);
    let closing = Closure {
        provider: AlgoKey::parse("acme").expect("a valid key"),
        closed_at: place.at(4),
        until: None,
        reason: "out of credit".to_owned(),
    };
    let closed = one.providers.close(Closable::Provider, &closing);
    assert!(closed.expect("closed"));
    let all = other.providers.all_closed(Closable::Provider, place.at(5));
    assert_eq!(all.expect("asked"), [closing]);
}

fn beats_fit_the_silence_that_is_borne(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    let told = place.runs().rhythm(&run_id()).expect("told");
    for rhythm in [worker.rhythm, told] {
        assert!(rhythm.heartbeat > Duration::ZERO);
        assert!(rhythm.heartbeat * 3 <= rhythm.stale, "{rhythm:?}");
    }
}

fn pictures_of_a_job_can_be_read_by_its_holder(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    let now = place.at(1);
    let lease = take(&*worker.store, &place.job(1), Entry::Fresh, now);
    let record = worker.store.jobs(now).expect("told").jobs.remove(1);
    let pictures = worker.artifacts.inputs(&lease, &record).expect("there");
    assert_eq!(pictures.len(), 2);
    for picture in pictures {
        assert_eq!(
            std::fs::read(picture).expect("readable"),
            [0xff, 0xd8, 0xff, 0xd9]
        );
    }
    worker.artifacts.let_go(&lease);
}

fn a_run_that_is_nowhere_is_refused_and_nothing_is_made(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let before = place.records();
    let elsewhere = Opening {
        run_id: no_run(),
        ..opening("w-1")
    };
    let refused = place.backend.open(elsewhere).map(drop);
    let refused = refused.expect_err("there is no such run");
    assert!(refused.is_setup(), "{refused}");
    assert_eq!(place.records(), before);
}

fn whoever_opens_it_to_act_changes_jobs_and_is_no_worker(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let Opening {
        identity, notices, ..
    } = opening("w-1");
    let acting = Opening::to_act(&run_id(), identity, notices);
    let opened = place.backend.open(acting).expect("it opens");
    opened.store.recover(place.at(1)).expect("recovered");
    let said = opened.store.cancel_job(&place.job(1), place.at(2));
    assert_eq!(
        said.expect("done"),
        Cancellation::Cancelled { request_id: None }
    );
    opened.store.close(place.at(3)).expect("closed");
    drop(opened);
    let seen = place.runs().overview(&run_id()).expect("told");
    assert!(!seen.worker_lives);
    assert_eq!(
        place
            .runs()
            .attempts(&run_id(), None)
            .expect("told")
            .attempts,
        []
    );
}

fn message(event: &str, target: &str) -> Message {
    Message {
        event: event.to_owned(),
        target: target.to_owned(),
        body: format!("{event} happened"),
        tries: 0,
    }
}

const HELD: Duration = Duration::from_secs(60);

/// Returns the messages that are due now, with how often each was tried.
fn due(place: &Place) -> Vec<(String, u32)> {
    let due = place.backend.outbox().take_due(9, HELD).expect("taken");
    due.into_iter().map(|one| (one.event, one.tries)).collect()
}

fn add(place: &Place, messages: &[Message]) {
    place.backend.outbox().add(messages).expect("added");
}

fn a_message_is_kept_once_and_handed_to_one_sender(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    place.at(1);
    add(&place, &[message("end:1", "hook")]);
    add(
        &place,
        &[message("end:1", "hook"), message("end:1", "mail")],
    );
    let mut outbox = place.backend.outbox();
    let taken = outbox.take_due(1, HELD).expect("taken");
    assert_eq!(taken.len(), 1);
    assert_eq!(
        (taken[0].body.as_str(), taken[0].tries),
        ("end:1 happened", 1)
    );
    let other = outbox.take_due(9, HELD).expect("taken");
    assert_eq!(other.len(), 1);
    assert_ne!(other[0].target, taken[0].target);
    drop(outbox);
    assert_eq!(due(&place), []);
}

fn a_message_whose_sender_died_is_handed_out_again(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    place.at(1);
    add(&place, &[message("end:1", "hook")]);
    assert_eq!(due(&place), [("end:1".to_owned(), 1)]);
    place.at(60);
    assert_eq!(due(&place), []);
    place.at(62);
    assert_eq!(due(&place), [("end:1".to_owned(), 2)]);
}

fn a_message_waits_as_long_as_it_is_told_to_and_ends_when_it_arrived(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    place.at(1);
    let message = message("end:1", "hook");
    add(&place, std::slice::from_ref(&message));
    let taken = place.backend.outbox().take_due(9, HELD).expect("taken");
    let pause = Some(Duration::from_secs(300));
    let settle = |taken: &Message, why, pause| {
        let settled = place.backend.outbox().settle(taken, why, pause);
        settled.expect("noted");
    };
    settle(&taken[0], Some("it is away"), pause);
    place.at(300);
    assert_eq!(due(&place), []);
    place.at(302);
    let again = place.backend.outbox().take_due(9, HELD).expect("taken");
    assert_eq!(again[0].tries, 2);
    settle(&again[0], None, None);
    add(&place, &[message]);
    place.at(1_000);
    assert_eq!(due(&place), []);
}

fn a_message_for_nobody_is_known_and_never_sent(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    place.at(1);
    let events = ["end:1", "end:2"].map(str::to_owned);
    let unknown = |events: &[String]| place.backend.outbox().unknown(events).expect("told");
    assert_eq!(unknown(&events), events);
    add(&place, &[message("end:1", ""), message("end:2", "hook")]);
    assert_eq!(unknown(&events), ["end:2"]);
    assert_eq!(unknown(&[]), Vec::<String>::new());
    assert_eq!(due(&place), [("end:2".to_owned(), 1)]);
}

fn of_what_was_so_before_somebody_heard_nothing_is_sent(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    place.at(1);
    let hook = Hearing {
        kind: "end".to_owned(),
        target: "hook".to_owned(),
    };
    let hear = |wanted: &[Hearing], past: &[Message]| {
        let mut outbox = place.backend.outbox();
        outbox.hear(wanted, past).expect("heard");
        outbox.hearing().expect("told")
    };
    let past = ["end:1", "end:2"].map(|event| message(event, "hook"));
    let wanted = std::slice::from_ref(&hook);
    assert_eq!(hear(wanted, &past[..1]), wanted);
    // It heard already, so what happened since is to be sent.
    assert_eq!(hear(wanted, &past), wanted);
    add(&place, &past);
    assert_eq!(due(&place), [("end:2".to_owned(), 1)]);
    assert_eq!(hear(&[], &[]), []);
}
