//! Readers of what a worker leaves behind. Every cell is text, rows end at a line feed only, and
//! nothing of the program's own code is used.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Index;
use std::path::Path;

use serde_json::{Map, Value};
use sha1::{Digest as _, Sha1};

/// One row of a table: column name to text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row(BTreeMap<String, String>);

impl Row {
    /// Returns the cell, if the table has the column.
    pub fn get(&self, column: &str) -> Option<&str> {
        self.0.get(column).map(String::as_str)
    }
}

impl Index<&str> for Row {
    type Output = str;

    #[track_caller]
    fn index(&self, column: &str) -> &str {
        self.get(column)
            .unwrap_or_else(|| panic!("no column {column} in {:?}", self.0))
    }
}

/// A whole table as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    /// The columns in order.
    pub columns: Vec<String>,
    /// The rows in order.
    pub rows: Vec<Row>,
}

impl Registry {
    /// Reads the table at `path`.
    #[track_caller]
    pub fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::parse(&bytes)
    }

    /// Parses a table, with or without byte order mark, with either line end.
    #[track_caller]
    pub fn parse(bytes: &[u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut records = csv::ReaderBuilder::new()
            .has_headers(false)
            .terminator(csv::Terminator::Any(b'\n'))
            .from_reader(bytes)
            .into_records()
            .map(|record| {
                let record = record.expect("the table is valid CSV of even width");
                let mut cells: Vec<String> = record.iter().map(str::to_owned).collect();
                if let Some(last) = cells.last_mut()
                    && last.ends_with('\r')
                {
                    last.pop();
                }
                cells
            });
        let columns = records.next().unwrap_or_default();
        let rows = records
            .map(|cells| Row(columns.iter().cloned().zip(cells).collect()))
            .collect();
        Self { columns, rows }
    }

    /// Returns the one row of a job; panics if there is none or more than one.
    #[track_caller]
    pub fn row(&self, run: &str, job: &str) -> &Row {
        let mut found = self
            .rows
            .iter()
            .filter(|row| &row["run_id"] == run && &row["job_id"] == job);
        let row = found
            .next()
            .unwrap_or_else(|| panic!("no row for {run}/{job}"));
        assert!(found.next().is_none(), "two rows for {run}/{job}");
        row
    }

    /// Returns how many rows have this status.
    pub fn count(&self, status: &str) -> usize {
        let rows = self.rows.iter();
        rows.filter(|row| &row["status"] == status).count()
    }
}

/// The lines of `logs/worker.log`, in order.
#[derive(Debug, Clone)]
pub struct WorkerLog(pub Vec<Map<String, Value>>);

impl WorkerLog {
    /// Reads a log; a missing one is empty. A last line without its end is still being written.
    #[track_caller]
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = complete.lines().map(|line| {
            // Lines of older tools carry a time in front.
            let json = &line[line.find('{').unwrap_or(0)..];
            serde_json::from_str(json).unwrap_or_else(|error| panic!("log line {line:?}: {error}"))
        });
        Self(lines.collect())
    }

    /// Returns the events of one name.
    pub fn events(&self, name: &str) -> Vec<&Map<String, Value>> {
        self.0.iter().filter(|line| line["event"] == name).collect()
    }

    /// Returns the ids of the jobs that events of one name are about, in order.
    pub fn jobs(&self, name: &str) -> Vec<String> {
        let events = self.events(name).into_iter();
        events
            .filter_map(|event| Some(event.get("job_id")?.as_str()?.to_owned()))
            .collect()
    }

    /// Returns the last summary.
    #[track_caller]
    pub fn summary(&self) -> &Map<String, Value> {
        self.events("worker_summary")
            .pop()
            .unwrap_or_else(|| panic!("no summary in {:?}", self.0))
    }
}

/// Returns every file and folder below `root` with a mark of its content, `/`-separated.
pub fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        // A folder may vanish while a worker runs.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let below = path.strip_prefix(root).expect("found below it");
            let name = below.to_string_lossy().replace('\\', "/");
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                found.insert(format!("{name}/"), "folder".to_owned());
                pending.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).unwrap_or_default();
                found.insert(name, format!("link to {}", target.display()));
            } else if !kind.is_file() {
                // Reading a pipe would wait for ever.
                found.insert(name, "neither file nor folder".to_owned());
            } else if let Ok(bytes) = fs::read(&path) {
                found.insert(name, hex(&Sha1::digest(&bytes)));
            }
        }
    }
    found
}

/// Returns bytes as lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text takes everything");
        text
    })
}
