//! Buckets that lose or spoil what was put there while others still count on it: a folder takes the bucket's place.

use std::fs;
use std::path::Path;

use archi3d_core::domain::text::hex;
use sha2::{Digest as _, Sha256};

use super::Fleet;
use super::objects::{blobs, expect_one_result, folder, in_folder, machine, mocks};
use crate::support::mocks::executions;
use crate::support::wait_until;

/// Writes over a file, whose length stays.
fn spoil(path: &Path) {
    let length = fs::metadata(path).expect("there").len();
    let length = usize::try_from(length).expect("small");
    fs::write(path, vec![b'?'; length]).expect("spoilt");
}

fn is_intact(blob: &Path) -> bool {
    let sum = hex(&Sha256::digest(fs::read(blob).expect("read")));
    let name = blob.file_name().expect("a name").to_string_lossy();
    sum.ends_with(&*name)
}

/// As where `fleet prune` looked what is referred to before the commit, and removed afterwards.
#[test]
fn what_is_removed_between_the_upload_and_the_record_is_put_again_before_the_last_copy_goes() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "wait_file: go, unit_price_usd: 0.5");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let pictures = blobs(&bucket);
    let machine = machine(&workspace);
    let worker = fleet.worker(&machine, &[]);
    wait_until("the job runs", || executions(&machine).len() == 1);
    let before_the_record = fleet.lock_tables("archi3d.results");
    machine.write("go", b"");
    let made = || {
        let put = blobs(&bucket).into_iter();
        put.filter(|path| !pictures.contains(path))
            .collect::<Vec<_>>()
    };
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'archi3d.results'::regclass";
    wait_until("all is put", || fleet.number(waits) > 0);
    assert!(made().len() >= 2);
    for path in made() {
        fs::remove_file(path).expect("removed");
    }
    drop(before_the_record);
    let _ = worker.wait().expect_code(0);
    expect_one_result(&mut fleet, &workspace, &machine);
}

#[cfg(feature = "failpoints")]
#[test]
fn a_prune_with_a_short_grace_leaves_the_pictures_of_a_run_that_is_being_handed_over() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "");
    let bucket = folder(&workspace);
    let place = in_folder(&bucket);
    let words = ["fleet", "push", "--run-id", "rk", "--artifacts", &place];
    let push = fleet
        .invoke(&workspace, &words)
        .env("FAILPOINTS", "push.pictures_put=1*return(stop)")
        .spawn();
    wait_until("its pictures are put, and no job is there", || {
        let status = format!("/proc/{}/status", push.pid());
        fs::read_to_string(status).is_ok_and(|text| text.contains("State:\tT"))
    });
    let prune = ["fleet", "prune", "--grace", "0d", "--artifacts", &place];
    let refused = fleet.run(&workspace, &prune).expect_code(2);
    let _ = refused.expect_stderr("a run is being handed over");
    push.signal("CONT");
    let _ = push.wait().expect_code(0);
    let machine = machine(&workspace);
    let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
    let _ = fleet.run(&workspace, &prune).expect_code(0);
    expect_one_result(&mut fleet, &workspace, &machine);
}

#[test]
fn a_picture_that_is_damaged_in_the_bucket_is_put_again_by_the_next_push() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "");
    let bucket = folder(&workspace);
    let push = |fleet: &Fleet| {
        let said = fleet.push_to(&workspace, &in_folder(&bucket));
        said.expect_code(0).json()["pictures_put"].clone()
    };
    assert_eq!(push(&fleet), 1);
    let picture = blobs(&bucket).remove(0);
    spoil(&picture);
    let machine = machine(&workspace);
    let failed = fleet.worker(&machine, &[]).wait().expect_code(1);
    let _ = failed.expect_stderr("is damaged in the bucket");
    assert_eq!(push(&fleet), 1, "whoever read it told of it");
    assert!(is_intact(&picture));
    assert_eq!(push(&fleet), 0);
    let again = ["--only-status", "failed"];
    let _ = fleet.worker(&machine, &again).wait().expect_code(0);
    expect_one_result(&mut fleet, &workspace, &machine);
}
