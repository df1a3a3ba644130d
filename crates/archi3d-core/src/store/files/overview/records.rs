//! The records of a table file, read piece by piece: whoever needs a few numbers
//! of each row needs no more memory for a large table than for a small one.
//!
//! Says nothing about what is wrong with a file: whoever reads the table as a
//! whole does.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::platform::{self, FileVersion};
use crate::store::files::registry;
use crate::table::Table;
use crate::table::codec;

/// As much is read at a time; a longer record makes it more.
const PIECE: usize = 256 * 1024;

/// A table file that is being read.
pub(super) struct Records {
    file: File,
    version: FileVersion,
    /// Its header alone.
    header: Table,
}

/// Where a record stands in its file, without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) at: u64,
    pub(super) length: u32,
}

impl Records {
    /// Opens a table that has these columns; nothing if it cannot be used.
    pub(super) fn open(path: &Path, columns: &[&str]) -> Option<Self> {
        let file = registry::open_table(path).ok()?;
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let header = Table::parse(first_record(&file)?).ok()?;
        header.require(columns).ok()?;
        Some(Self {
            version: platform::version(&metadata),
            file,
            header,
        })
    }

    /// Returns the header as a table without rows.
    pub(super) fn header(&self) -> &Table {
        &self.header
    }

    /// Hands over every record in order; nothing if the file cannot be read to its end.
    pub(super) fn each(&self, take: &mut dyn FnMut(Place, &[u8])) -> Option<()> {
        let mut file = &self.file;
        let mut base = self.header.bytes().len() as u64;
        file.seek(SeekFrom::Start(base)).ok()?;
        let mut piece = vec![0; PIECE];
        let mut filled = 0;
        loop {
            let read = file.read(&mut piece[filled..]).ok()?;
            filled += read;
            let used = whole_records(&piece[..filled], read == 0, &mut |from, line| {
                let content = &line[..codec::content_len(line)];
                if let Ok(length) = u32::try_from(content.len()) {
                    let at = base + from as u64;
                    take(Place { at, length }, content);
                }
            })?;
            if read == 0 {
                return Some(());
            }
            piece.copy_within(used..filled, 0);
            filled -= used;
            base += used as u64;
            if filled == piece.len() {
                piece.resize(2 * filled, 0);
            }
        }
    }

    /// Makes a table of some records, in the order of the file; nothing if the
    /// file was written to since it was opened.
    pub(super) fn pick(&self, places: impl Iterator<Item = Place>) -> Option<Table> {
        let mut bytes = self.header.bytes().to_vec();
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        let mut file = &self.file;
        let mut count = 0;
        for place in places {
            file.seek(SeekFrom::Start(place.at)).ok()?;
            let from = bytes.len();
            bytes.resize(from + place.length as usize, 0);
            file.read_exact(&mut bytes[from..]).ok()?;
            bytes.push(b'\n');
            count += 1;
        }
        let now = platform::version(&self.file.metadata().ok()?);
        let table = Table::parse(bytes).ok()?;
        (table.len() == count && now == self.version).then_some(table)
    }
}

/// Reads a file up to the end of its first record.
fn first_record(file: &File) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    let mut wanted = PIECE;
    loop {
        let more = (wanted - start.len()) as u64;
        file.take(more).read_to_end(&mut start).ok()?;
        let all = start.len() < wanted;
        match end_of_first(&start) {
            Some(end) if all || start[end - 1] == b'\n' => {
                start.truncate(end);
                return Some(start);
            }
            _ if all => return None,
            _ => wanted *= 2,
        }
    }
}

/// Returns where the first record that is no blank line ends.
fn end_of_first(bytes: &[u8]) -> Option<usize> {
    let mut from = if bytes.starts_with(codec::BOM) {
        codec::BOM.len()
    } else {
        0
    };
    while from < bytes.len() {
        let end = codec::record_end(bytes, from).ok()?;
        if !codec::is_blank(&bytes[from..end]) {
            return Some(end);
        }
        from = end;
    }
    None
}

/// Hands over the records that end in `bytes`, blank lines left out, each with
/// where it starts; returns where the rest begins. At the `last` bytes of a file
/// the rest is a record too.
fn whole_records(bytes: &[u8], last: bool, take: &mut dyn FnMut(usize, &[u8])) -> Option<usize> {
    let mut position = 0;
    while position < bytes.len() {
        let end = match codec::record_end(bytes, position) {
            Ok(end) if last || bytes[end - 1] == b'\n' => end,
            Err(_) if last => return None,
            _ => break,
        };
        let line = &bytes[position..end];
        if !codec::is_blank(line) {
            take(position, line);
        }
        position = end;
    }
    Some(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> (tempfile::TempDir, Option<Records>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        let found = Records::open(&path, &["a"]);
        (folder, found)
    }

    fn all(records: &Records) -> Option<Vec<(Place, String)>> {
        let mut found = Vec::new();
        records.each(&mut |place, record| {
            found.push((place, String::from_utf8(record.to_vec()).unwrap()));
        })?;
        Some(found)
    }

    #[test]
    fn records_are_the_rows_of_the_table_wherever_a_piece_ends() {
        for width in [10, 1000, PIECE - 20, PIECE, PIECE + 7, 3 * PIECE] {
            let long = "x".repeat(width);
            let text = format!(
                "\u{feff}\r\na,b\r\n1,{long}\r\n\r\n\"2\n\"\"{long}\",3\r\n{}4,\"5\"",
                "6,7\r\n".repeat(PIECE / 3)
            );
            let (_folder, records) = records(&text);
            let records = records.unwrap();
            let table = Table::parse(text.into_bytes()).unwrap();
            let found = all(&records).unwrap();
            assert_eq!(found.len(), table.len(), "{width}");
            for (row, (_, record)) in found.iter().enumerate() {
                assert_eq!(record.as_bytes(), table.raw(row), "{width}");
            }
            let places = [found[0].0, found[1].0, found[found.len() - 1].0];
            let picked = records.pick(places.into_iter()).unwrap();
            assert_eq!(picked.raw(1), table.raw(1));
            assert_eq!(picked.raw(2), table.raw(table.len() - 1));
        }
    }

    #[test]
    fn what_is_no_table_is_left_to_whoever_says_why() {
        for text in ["", "\u{feff}", "\n\n", "b\n1\n", "a,a\n", "\"a\n"] {
            assert!(records(text).1.is_none(), "{text:?}");
        }
        let (_folder, found) = records("a\n\"1\n");
        assert_eq!(all(&found.unwrap()), None);
    }

    #[test]
    fn a_header_may_be_longer_than_a_piece() {
        let text = format!("a,{}\n1,2\n", "b".repeat(2 * PIECE));
        let (_folder, found) = records(&text);
        assert_eq!(all(&found.unwrap()).unwrap()[0].1, "1,2");
    }

    #[test]
    fn a_header_alone_has_no_records() {
        for text in ["a", "a\n", "\n\na\r\n\r\n"] {
            let (_folder, found) = records(text);
            assert_eq!(all(&found.unwrap()), Some(Vec::new()), "{text:?}");
        }
    }

    #[test]
    fn nothing_is_picked_from_a_file_that_was_written_to() {
        let (folder, found) = records("a\n1\n2\n");
        let found = found.unwrap();
        let places: Vec<Place> = all(&found).unwrap().into_iter().map(|one| one.0).collect();
        std::fs::write(folder.path().join("t.csv"), "a\n1\n").unwrap();
        assert!(found.pick(places.into_iter()).is_none());
    }
}
