//! What every index of earlier results promises: `store::reuse::ReuseIndex`.

use std::fs;
use std::sync::Arc;

use archi3d_core::domain::content::ContentKey;
use archi3d_core::domain::job::Entry;
use archi3d_core::store::OpenRun;
use archi3d_core::store::reuse::{ReuseIndex, Source};
use serde_json::json;

use super::{MakePlace, Place, fresh};
use crate::support::bench::{failed, take};
use crate::support::place::Result;

every_place! {
    the_newest_real_result_is_found_with_its_files
    what_was_made_from_other_inputs_is_not_found
    rehearsals_and_failures_are_not_found
    a_result_whose_files_are_gone_gives_way_to_an_older_one
    a_result_that_was_refused_gives_way_to_an_older_one
    only_the_version_that_is_asked_for_is_found
    a_result_that_was_made_again_is_found_as_it_is_now
    what_another_worker_published_just_now_is_found
    what_was_made_before_the_run_came_is_found
    whoever_only_looks_finds_the_same
    the_attempt_that_makes_it_may_and_others_may_once_it_is_made
}

const ALGOS: [&str; 3] = ["one", "one", "one"];

/// The key of inputs that go by this letter.
fn key(letter: &str) -> ContentKey {
    let text = json!(format!("recipe-{letter}"));
    serde_json::from_value(text).expect("a key is text")
}

fn made(model: &'static str) -> Result {
    Result {
        model,
        key: Some(key("a")),
        ..Result::real()
    }
}

fn find(index: &Arc<dyn ReuseIndex>, letter: &str, version: Option<&str>) -> Option<Source> {
    index.find(&key(letter), version, true).expect("asked")
}

/// Returns which job's result is found, from 0.
fn found(place: &Place, run: &OpenRun) -> Option<usize> {
    let source = find(&run.reuse, "a", Some("v1"))?;
    (0..ALGOS.len()).find(|n| place.job(*n) == source.job_id)
}

/// Makes the first two jobs from the same inputs, the second one later.
fn two(place: &Place) -> OpenRun {
    let worker = place.worker("w-1");
    for (job, model) in [(0, "older"), (1, "newer")] {
        place.at(1 + 10 * job as u64);
        place.make(&worker, job, Entry::Fresh, &made(model));
    }
    worker
}

fn the_newest_real_result_is_found_with_its_files(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = two(&place);
    let source = find(&worker.reuse, "a", Some("v1")).expect("there");
    assert_eq!(
        (source.run_id.as_str(), &source.job_id),
        ("rk", &place.job(1))
    );
    assert_eq!(
        (source.attempt, source.algo_version.as_deref()),
        (1, Some("v1"))
    );
    assert!(!source.in_bucket);
    let names: Vec<&str> = source.artifacts.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["generated.glb"]);
    let model = fs::read_to_string(source.folder.join("generated.glb"));
    assert_eq!(model.expect("it is there"), "newer");
}

fn what_was_made_from_other_inputs_is_not_found(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = two(&place);
    assert_eq!(find(&worker.reuse, "b", Some("v1")), None);
}

fn rehearsals_and_failures_are_not_found(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    let rehearsed = Result {
        simulated: true,
        ..made("rehearsed")
    };
    place.at(1);
    place.make(&worker, 0, Entry::Fresh, &rehearsed);
    let lease = take(&*worker.store, &place.job(1), Entry::Fresh, place.at(3));
    let mut ending = failed(&lease, "no luck");
    ending.content_key = Some(key("a"));
    worker.store.finish(&lease, ending).expect("finished");
    assert_eq!(found(&place, &worker), None);
}

fn a_result_whose_files_are_gone_gives_way_to_an_older_one(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = two(&place);
    let model = |job| {
        place
            .workspace
            .run_path("outputs")
            .join(place.job(job).as_str())
            .join("generated.glb")
    };
    fs::write(model(1), "cut").expect("writable");
    assert_eq!(found(&place, &worker), Some(0), "another size");
    fs::remove_file(model(1)).expect("removed");
    assert_eq!(found(&place, &worker), Some(0), "gone");
    fs::remove_file(model(0)).expect("removed");
    assert_eq!(found(&place, &worker), None);
}

fn a_result_that_was_refused_gives_way_to_an_older_one(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = two(&place);
    let newest = find(&worker.reuse, "a", Some("v1")).expect("there");
    worker.reuse.refuse(&newest);
    assert_eq!(found(&place, &worker), Some(0));
    // Made again, it is another one.
    place.at(30);
    place.make(&worker, 1, Entry::Redo, &made("again"));
    assert_eq!(found(&place, &worker), Some(1));
}

fn only_the_version_that_is_asked_for_is_found(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = two(&place);
    assert_eq!(find(&worker.reuse, "a", Some("v2")), None);
    place.at(30);
    let second = Result {
        version: Some("=2.0"),
        ..made("second")
    };
    place.make(&worker, 2, Entry::Fresh, &second);
    assert_eq!(found(&place, &worker), Some(1));
    let asked = find(&worker.reuse, "a", Some("=2.0")).expect("there");
    assert_eq!(asked.job_id, place.job(2));
    // An adapter that does not say its version gets the newest.
    let newest = find(&worker.reuse, "a", None).expect("there");
    assert_eq!(newest.job_id, place.job(2));
}

fn a_result_that_was_made_again_is_found_as_it_is_now(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    place.at(1);
    place.make(&worker, 0, Entry::Fresh, &made("first"));
    place.at(10);
    let again = place.make(&worker, 0, Entry::Redo, &made("second"));
    let source = find(&worker.reuse, "a", Some("v1")).expect("there");
    assert_eq!((source.attempt, &source.nonce), (2, &again.nonce));
    let model = fs::read_to_string(source.folder.join("generated.glb"));
    assert_eq!(model.expect("it is there"), "second");
}

fn what_another_worker_published_just_now_is_found(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let (one, other) = (place.worker("w-1"), place.worker("w-2"));
    assert_eq!(found(&place, &one), None);
    place.at(1);
    place.make(&other, 2, Entry::Fresh, &made("model"));
    assert_eq!(found(&place, &one), Some(2));
}

fn what_was_made_before_the_run_came_is_found(make: MakePlace) {
    let place = make(&ALGOS, &|place| {
        let worker = two(place);
        worker.store.close(place.at(20)).expect("closed");
        place.die(worker);
    });
    let worker = place.worker("w-2");
    assert_eq!(found(&place, &worker), Some(1));
}

fn whoever_only_looks_finds_the_same(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = two(&place);
    let index = place.runs().reuse();
    assert!(!index.is_empty().expect("asked"));
    assert_eq!(
        find(&index, "a", Some("v1")),
        find(&worker.reuse, "a", Some("v1"))
    );
    assert_eq!(find(&index, "b", Some("v1")), None);
}

fn the_attempt_that_makes_it_may_and_others_may_once_it_is_made(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let (one, other) = (place.worker("w-1"), place.worker("w-2"));
    let first = take(&*one.store, &place.job(0), Entry::Fresh, place.at(1));
    let second = take(&*other.store, &place.job(1), Entry::Fresh, place.at(2));
    let may = |run: &OpenRun, lease| run.reuse.make(&key("a"), lease).expect("asked");
    assert!(may(&one, &first));
    assert!(may(&one, &first), "it makes it already");
    // Workers of one workspace may make the same twice; those of a server do not.
    assert_eq!(may(&other, &second), !other.on_server);
    one.reuse.made(&key("a"), &first);
    assert!(may(&other, &second));
}
