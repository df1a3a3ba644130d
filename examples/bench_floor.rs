//! What the disk alone charges: the yardsticks of `scripts/bench`.
//!
//! - `same FOLDER COUNT THREADS TABLE_BYTES`: the file operations of a rehearsal of so
//!   many jobs and nothing else: every creation, lock, look, append, rename and shared
//!   sync, and the results read back. No decisions, no hashes, no JSON, no table;
//! - `least FOLDER COUNT THREADS TABLE_BYTES`: the same without the looks, for whoever
//!   trusts that no other program works in the folder;
//! - `file FILE`: reads a file, and writes and syncs one like it;
//! - `fold TABLE RUN JOB`: brings one patch into a table that is in memory, durably,
//!   beside writing and syncing a file of that size.
//!
//! Prints one JSON object with seconds.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use archi3d_core::platform;
use archi3d_core::table::{RowEdit, Table};
use archi3d_core::workspace::durable;

/// The files of a rehearsed job.
const FILES: [(&str, &[u8]); 3] = [
    (
        "generated.glb",
        include_bytes!("../fixtures/simulate/cube.glb"),
    ),
    (
        "preview_1.png",
        include_bytes!("../fixtures/simulate/preview_1.png"),
    ),
    (
        "preview_2.png",
        include_bytes!("../fixtures/simulate/preview_2.png"),
    ),
];

/// How long the texts are that a rehearsed job leaves, in bytes.
const CLAIMED_LINE: usize = 155;
const FINISHED_LINE: usize = 1634;
const LEASE: usize = 376;
const TERMINAL: usize = 1699;
const STARTED_LINE: usize = 147;
const COMPLETED_LINE: usize = 317;

/// How long a line of the log waits for others.
const GATHER: Duration = Duration::from_millis(10);

/// How often a yardstick is taken within one call; the median counts.
const REPETITIONS: usize = 5;

/// The rest between two writings of the table, as the committer takes it.
const MIN_REST: Duration = Duration::from_millis(60);
const REST_FACTOR: u32 = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = match words[..] {
        [extent @ ("same" | "least"), folder, count, threads, table] => jobs(
            Path::new(folder),
            extent == "same",
            count.parse()?,
            threads.parse()?,
            table.parse()?,
        )?,
        ["file", file] => copy(Path::new(file))?,
        ["fold", table, run, job] => fold(Path::new(table), run, job)?,
        _ => return Err("see the first lines of examples/bench_floor.rs".into()),
    };
    writeln!(io::stdout(), "{answer}")?;
    Ok(())
}

/// The run's folders and the three files that everybody appends to or replaces.
struct Floor {
    /// Whether it looks at files as a rehearsal does.
    looks: bool,
    picture: PathBuf,
    log_lock: PathBuf,
    state: PathBuf,
    staging: PathBuf,
    outputs: PathBuf,
    journal: File,
    log: File,
    /// Lines of the log that wait to be written together, and when that was last done.
    lines: Mutex<(Vec<u8>, Instant)>,
    next: AtomicUsize,
    count: usize,
}

fn jobs(
    folder: &Path,
    looks: bool,
    count: usize,
    threads: usize,
    table: usize,
) -> io::Result<serde_json::Value> {
    let (state, outputs) = (folder.join("state"), folder.join("outputs"));
    let staging = outputs.join(".staging");
    fs::create_dir_all(&state)?;
    fs::create_dir_all(&staging)?;
    let append = |name: &str| {
        let mut options = OpenOptions::new();
        options.create(true).append(true).open(folder.join(name))
    };
    let picture = folder.join("picture.jpg");
    File::create(&picture)?.write_all(b"x")?;
    let floor = Floor {
        looks,
        picture,
        log_lock: folder.join("worker.log.lock"),
        lines: Mutex::new((Vec::new(), Instant::now())),
        journal: append("journal.jsonl")?,
        log: append("worker.log")?,
        state,
        staging,
        outputs,
        next: AtomicUsize::new(0),
        count,
    };
    let table_path = folder.join("generations.csv");
    let text = vec![b'x'; table];
    let ended = AtomicBool::new(false);
    let start = Instant::now();
    let folds = thread::scope(|scope| {
        let committer = scope.spawn(|| keep_writing(&table_path, &text, &ended));
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| floor.work())).collect();
        let done: io::Result<Vec<()>> = workers.into_iter().map(join).collect();
        ended.store(true, Ordering::SeqCst);
        let folds = join(committer);
        done.and(folds)
    })?;
    floor.write_log(true)?;
    floor.journal.sync_data()?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(serde_json::json!({"jobs": count, "seconds": seconds, "folds": folds}))
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    thread
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
}

/// Replaces the table durably again and again, with rests, and once at the end.
fn keep_writing(path: &Path, text: &[u8], ended: &AtomicBool) -> io::Result<usize> {
    let mut folds = 0;
    loop {
        let last = ended.load(Ordering::SeqCst);
        let start = Instant::now();
        durable::replace(path, text, "floor")?;
        folds += 1;
        if last {
            return Ok(folds);
        }
        let rest = (start.elapsed() * REST_FACTOR).max(MIN_REST);
        let until = Instant::now() + rest;
        while Instant::now() < until && !ended.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Floor {
    fn work(&self) -> io::Result<()> {
        let text = vec![b'x'; TERMINAL];
        loop {
            let number = self.next.fetch_add(1, Ordering::SeqCst);
            if number >= self.count {
                return Ok(());
            }
            self.job(&format!("{number:012x}"), &text)?;
        }
    }

    /// Claim, run, finish: in the order of the file store.
    fn job(&self, name: &str, text: &[u8]) -> io::Result<()> {
        let in_state = |end: &str| self.state.join(format!("{name}.{end}"));
        let lock_path = in_state("lock");
        let lock = open_lock(&lock_path)?;
        lock.lock()?;
        self.look_at_file(&lock)?;
        self.look_at(&lock_path);
        for end in [
            "inprogress",
            "completed",
            "failed",
            "released",
            "cancelled",
            "cancel",
        ] {
            self.look_at(&in_state(end));
        }
        (&self.journal).write_all(&text[..CLAIMED_LINE])?;
        let staging = self
            .staging
            .join(format!("{name}.1-0123456789abcdef0123456789abcdef"));
        fs::create_dir(&staging)?;
        let lease = platform::publish(&in_state("inprogress"), &text[..LEASE])?
            .ok_or(io::ErrorKind::AlreadyExists)?;
        self.look_at_file(&lease)?;
        lock.unlock()?;
        self.log(&text[..STARTED_LINE])?;
        self.make(&staging)?;
        (&self.journal).write_all(&text[..FINISHED_LINE])?;
        lock.lock()?;
        self.look_at(&lock_path);
        for end in ["inprogress", "completed", "failed"] {
            self.look_at(&in_state(end));
        }
        platform::rename_no_replace(&staging, &self.outputs.join(name))?;
        platform::write_at(&lease, text, 0)?;
        platform::rename_no_replace(&in_state("inprogress"), &in_state("completed"))?;
        self.look_at_file(&lease)?;
        self.look_at(&in_state("cancel"));
        self.look_at(&in_state("error.txt"));
        drop(lease);
        lock.unlock()?;
        self.log(&text[..COMPLETED_LINE])?;
        // What the committer looks at before the row says so.
        self.look_at(&in_state("completed"));
        self.look_at(&in_state("inprogress"));
        Ok(())
    }

    /// The picture is looked at; three files are written, listed and read back.
    fn make(&self, staging: &Path) -> io::Result<()> {
        if self.looks {
            self.look_at_file(&File::open(&self.picture)?)?;
        }
        for (file, bytes) in FILES {
            File::create_new(staging.join(file))?.write_all(bytes)?;
        }
        self.look_at(&staging.join("metadata.json"));
        for (file, _) in FILES {
            self.look_at(&staging.join(file));
        }
        if self.looks {
            fs::read_dir(staging)?.count();
        }
        let mut read = [0; 4 << 10];
        for (file, bytes) in FILES {
            File::open(staging.join(file))?.read_exact(&mut read[..bytes.len()])?;
        }
        Ok(())
    }

    fn look_at(&self, path: &Path) {
        if self.looks {
            let _ = fs::symlink_metadata(path);
        }
    }

    fn look_at_file(&self, file: &File) -> io::Result<()> {
        if self.looks {
            file.metadata()?;
        }
        Ok(())
    }

    fn log(&self, line: &[u8]) -> io::Result<()> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.0.extend_from_slice(line);
        drop(lines);
        self.write_log(false)
    }

    /// Writes what waits, if it has waited long enough or nothing more comes.
    fn write_log(&self, last: bool) -> io::Result<()> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if !last && lines.1.elapsed() < GATHER {
            return Ok(());
        }
        let lock = open_lock(&self.log_lock)?;
        lock.lock()?;
        (&self.log).write_all(&lines.0)?;
        lines.0.clear();
        lines.1 = Instant::now();
        Ok(())
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

/// Times reading a file, and writing and syncing one of its size beside it.
fn copy(path: &Path) -> io::Result<serde_json::Value> {
    let beside = path.with_extension("floor");
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    let mut size = 0;
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        let bytes = fs::read(path)?;
        reads.push(start.elapsed());
        size = bytes.len();
        let start = Instant::now();
        durable::replace(&beside, &bytes, "floor")?;
        writes.push(start.elapsed());
    }
    fs::remove_file(&beside)?;
    Ok(serde_json::json!({"bytes": size, "read": median(reads), "write": median(writes)}))
}

/// Times one patch into a table that is in memory, beside a plain write of its size.
fn fold(
    path: &Path,
    run: &str,
    job: &str,
) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    let start = Instant::now();
    let mut table = Table::parse(fs::read(path)?)?;
    let row = table.index(run).first_of(job).ok_or("no such job")?;
    let parsed = start.elapsed().as_secs_f64();
    let column = table.column("notes").ok_or("no such column")?;
    let (patched, beside) = (path.with_extension("fold"), path.with_extension("floor"));
    let (mut folds, mut writes) = (Vec::new(), Vec::new());
    for number in 0..REPETITIONS {
        let edit = RowEdit {
            row,
            cells: vec![(column, format!("patch {number}"))],
        };
        let start = Instant::now();
        table.patch(&[edit]);
        durable::replace(&patched, table.bytes(), "fold")?;
        folds.push(start.elapsed());
        let start = Instant::now();
        durable::replace(&beside, table.bytes(), "floor")?;
        writes.push(start.elapsed());
    }
    fs::remove_file(&patched)?;
    fs::remove_file(&beside)?;
    Ok(serde_json::json!({
        "rows": table.len(),
        "bytes": table.bytes().len(),
        "read_and_index": parsed,
        "fold": median(folds),
        "write": median(writes),
    }))
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}
