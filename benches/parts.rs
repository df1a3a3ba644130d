//! The parts that every job passes through, each by itself: `cargo bench`.
//!
//! What they cost together, beside other tools and beside the disk, is measured
//! by `scripts/bench`.

use std::cell::Cell;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use archi3d_core::clock::SystemClock;
use archi3d_core::domain::filter::JobsFilter;
use archi3d_core::domain::id::{JobId, RunId, WorkerId};
use archi3d_core::domain::job::{Entry, JobEvent, JobState};
use archi3d_core::domain::lease::Rhythm;
use archi3d_core::domain::patch::WorkerFacts;
use archi3d_core::domain::time::{Clock, Timestamp};
use archi3d_core::platform;
use archi3d_core::store::files::{FileStore, FileStoreOptions};
use archi3d_core::store::{Claim, ReleaseReason, WorkerIdentity, WorkerStore};
use archi3d_core::table::{RowEdit, Table};
use archi3d_core::workspace::durable;
use archi3d_core::workspace::paths::Workspace;
use divan::{Bencher, black_box};

const HEADER: &str = "product_id,variant,product_name,run_id,job_id,algo,algo_version,\
     used_n_images,used_image_1_path,image_set_hash,status,created_at,notes";

const SIZES: [usize; 2] = [1_000, 100_000];

fn main() {
    divan::main();
}

fn job_id(number: usize) -> String {
    format!("{number:012x}")
}

fn registry(rows: usize) -> Vec<u8> {
    let mut text = format!("\u{feff}{HEADER}\n");
    for number in 0..rows {
        let id = job_id(number);
        let _ = writeln!(
            text,
            "100001,default,\"Chair, \"\"Oslo\"\"\",r,{id},bench,,1,dataset/100001/images/a.jpg,\
             2e93ab4daa3efe816c6c854f1eaa161630f21f44,enqueued,2026-11-16T18:05:57.301492+00:00,"
        );
    }
    text.into_bytes()
}

fn table(rows: usize) -> Table {
    Table::parse(registry(rows)).expect("a valid table")
}

#[divan::bench(args = SIZES)]
fn table_parse(bencher: Bencher<'_, '_>, rows: usize) {
    bencher
        .with_inputs(|| registry(rows))
        .bench_values(|bytes| Table::parse(black_box(bytes)).expect("a valid table"));
}

#[divan::bench(args = SIZES)]
fn table_index(bencher: Bencher<'_, '_>, rows: usize) {
    bencher
        .with_inputs(|| table(rows))
        .bench_refs(|table| table.index("r").first_of(&job_id(rows / 2)));
}

#[divan::bench(args = SIZES)]
fn table_patch_one_row(bencher: Bencher<'_, '_>, rows: usize) {
    bencher
        .with_inputs(|| table(rows))
        .bench_refs(|table| table.patch(&[edit(table, rows / 2)]));
}

#[divan::bench(args = SIZES)]
fn table_patch_every_tenth_row(bencher: Bencher<'_, '_>, rows: usize) {
    bencher
        .with_inputs(|| {
            let table = table(rows);
            let edits: Vec<RowEdit> = (0..rows).step_by(10).map(|row| edit(&table, row)).collect();
            (table, edits)
        })
        .bench_refs(|(table, edits)| table.patch(edits));
}

fn edit(table: &Table, row: usize) -> RowEdit {
    let column = |name: &str| table.column(name).expect("it is in the header");
    let cells = vec![
        (column("status"), "completed".to_owned()),
        (column("notes"), "made".to_owned()),
    ];
    RowEdit { row, cells }
}

#[divan::bench(args = SIZES)]
fn table_write_durably(bencher: Bencher<'_, '_>, rows: usize) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("generations.csv");
    let table = table(rows);
    bencher.bench_local(|| durable::replace(&path, table.bytes(), "bench").expect("written"));
}

/// Opens a run of one job in an empty workspace.
fn store(folder: &Path) -> FileStore {
    let workspace = Workspace::new(folder);
    let run_id = RunId::parse("r").expect("a valid id");
    let run = workspace.run(&run_id);
    fs::create_dir_all(run.root()).expect("created");
    fs::create_dir_all(folder.join("tables")).expect("created");
    let manifest = format!(
        "job_id,product_id,variant,algo\n{},1,default,bench\n",
        job_id(0)
    );
    let put = |path: &Path, bytes: &[u8]| durable::replace(path, bytes, "bench").expect("written");
    put(&run.manifest(), manifest.as_bytes());
    put(&workspace.registry(), &registry(1));
    FileStore::open(FileStoreOptions {
        workspace,
        run_id,
        identity: WorkerIdentity {
            worker_id: WorkerId::parse("bench-1-x").expect("a valid id"),
            pid: std::process::id(),
            boot_id: platform::boot_id(),
            facts: WorkerFacts::default(),
        },
        rhythm: Rhythm::default(),
        rehearsal: false,
        allow_unsafe_locks: false,
        notices: Arc::new(|_| {}),
        clock: Arc::new(SystemClock),
    })
    .expect("the run can be opened")
}

/// Two lines in the journal, the job's lock, its lease and its staging folder.
#[divan::bench]
fn journal_claim_and_give_back(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("it exists");
    let store = store(&root);
    store.recover(SystemClock.now()).expect("recovered");
    let job = JobId::parse(&job_id(0)).expect("a valid id");
    bencher.bench_local(|| {
        let claim = store.claim(&job, Entry::Fresh, SystemClock.now());
        let Ok(Claim::Taken(lease)) = claim else {
            unreachable!("the job waits: {claim:?}");
        };
        let given_back = store.release(&lease, ReleaseReason::Interrupted, None, SystemClock.now());
        given_back.expect("given back");
    });
}

#[divan::bench(args = ["d610", "d6*1f", "/^d6.*1f$/"])]
fn filter(bencher: Bencher<'_, '_>, text: &str) {
    let filter = JobsFilter::parse(text).expect("a valid filter");
    let ids: Vec<String> = (0..1_000).map(job_id).collect();
    bencher.bench(|| {
        let chosen = filter.among(ids.iter().map(String::as_str));
        ids.iter()
            .filter(|id| chosen.matches(black_box(id)))
            .count()
    });
}

#[divan::bench]
fn transition(bencher: Bencher<'_, '_>) {
    let attempt = Cell::new(0);
    bencher.bench_local(|| {
        attempt.set(attempt.get() % 1_000 + 1);
        let attempt = attempt.get();
        let entry = Entry::Fresh;
        let waiting = black_box(JobState::Enqueued {
            attempt: attempt - 1,
        });
        let running = waiting.apply(JobEvent::Claimed { attempt, entry });
        running.and_then(|state| state.apply(JobEvent::Released { attempt }))
    });
}

#[divan::bench]
fn timestamp(bencher: Bencher<'_, '_>) {
    let now = SystemClock.now().iso();
    bencher.bench(|| Timestamp::parse(black_box(&now)));
}
