//! What must hold for any journal and any marker, whatever is in them: no panic,
//! and no sound line lost among damaged ones.

use proptest::collection::vec;
use proptest::prelude::*;

use super::journal::{self, Line, Unread, What};
use super::marker::tests::{identity, record};
use super::marker::{Body, Marker, RecordKind};
use crate::domain::id::JobId;
use crate::domain::time::Timestamp;

/// Bytes that mean something to JSON lines, with some that do not.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let bytes = b"{}[]\":,\\0179eE+-.ntfu \x00\x1b\xff\r".to_vec();
    vec(prop::sample::select(bytes), 0..60)
}

struct Reading {
    lines: Vec<Line>,
    damaged: usize,
    torn: bool,
}

fn read_journal(bytes: &[u8]) -> Reading {
    let mut lines = Vec::new();
    let unread = journal::each_line(written(bytes).path(), |line| lines.push(line)).unwrap();
    let Unread { damaged, torn } = unread;
    Reading {
        lines,
        damaged,
        torn,
    }
}

fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
    use std::io::Write as _;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn read_marker(bytes: &[u8]) -> Marker {
    let job = JobId::parse("j").unwrap();
    let file = written(bytes);
    let marker = Marker::read(file.path(), RecordKind::Completed, &job);
    marker.unwrap().unwrap()
}

const SOUND: &str = r#"{"at":"2026-01-01T00:00:00+00:00","event":"folded","rows":7}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_line_of_a_journal_is_lost_among_damaged_ones(
        before in vec(garbage(), 0..6),
        after in vec(garbage(), 0..6),
    ) {
        let mut bytes = Vec::new();
        for line in before.iter().map(Vec::as_slice).chain([SOUND.as_bytes()]) {
            bytes.extend(line);
            bytes.push(b'\n');
        }
        let lines = before.len() + 1 + after.len();
        for line in &after {
            bytes.extend(line);
            bytes.push(b'\n');
        }
        let reading = read_journal(&bytes);
        let is_sound = |what: &What| *what == What::Folded { rows: 7 };
        prop_assert!(reading.lines.iter().any(|line| is_sound(&line.what)));
        let empty = before.iter().chain(&after).filter(|line| line.is_empty()).count();
        prop_assert_eq!(reading.lines.len() + reading.damaged + empty, lines);
        prop_assert!(!reading.torn);
    }

    #[test]
    fn a_journal_that_is_cut_anywhere_loses_at_most_its_last_line(cut in 0usize..400) {
        let whole = format!("{SOUND}\n").repeat(6);
        let cut = cut.min(whole.len());
        let reading = read_journal(&whole.as_bytes()[..cut]);
        prop_assert_eq!(reading.lines.len(), cut / (SOUND.len() + 1));
        prop_assert_eq!(reading.damaged, 0);
    }

    #[test]
    fn no_bytes_make_a_marker_panic_or_count_as_ours(bytes in vec(any::<u8>(), 0..300)) {
        prop_assert!(!matches!(read_marker(&bytes).body, Body::Ours(_)));
    }

    #[test]
    fn a_marker_with_one_changed_byte_is_never_another_record(
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let beat = Timestamp::parse("2026-01-01T00:00:07Z").unwrap();
        let sound = record(RecordKind::Completed, 3);
        let mut bytes = sound.text(&identity(), beat).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Body::Ours(read) = read_marker(&bytes).body {
            prop_assert_eq!(*read, sound);
        }
    }
}
