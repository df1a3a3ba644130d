//! Which file names are copies of a table that another program left beside it.
//!
//! Sync programs keep both sides of a conflict by giving one of them another
//! name; spreadsheets leave a small file while they hold a table open. Names
//! only: what is in the files is for others to see.

/// What a file beside a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// A copy of the table.
    Copy,
    /// The mark of a program that has the table open.
    OpenMark,
}

/// Tells what the file called `name` is to the table called `table`, such as
/// `generations.csv`; nothing if it has nothing to do with it.
pub fn beside(name: &str, table: &str) -> Option<Beside> {
    let (stem, ending) = table.rsplit_once('.').unwrap_or((table, ""));
    let lower = name.to_lowercase();
    let (stem, ending) = (stem.to_lowercase(), format!(".{}", ending.to_lowercase()));
    let opened = [format!("~${stem}."), format!(".~lock.{stem}.")];
    if opened.iter().any(|mark| lower.starts_with(mark.as_str())) {
        return Some(Beside::OpenMark);
    }
    let middle = lower.strip_prefix(&stem)?.strip_suffix(&ending)?;
    is_copy_mark(middle).then_some(Beside::Copy)
}

/// Tells whether what stands between stem and ending is what sync programs and
/// file managers put there.
fn is_copy_mark(middle: &str) -> bool {
    let numbered = middle.trim_start().strip_prefix('(').is_some();
    let named = middle
        .strip_prefix('-')
        .is_some_and(|host| !host.is_empty() && !host.contains(char::is_whitespace));
    let copy = middle
        .trim_start_matches([' ', '-', '_'])
        .starts_with("copy");
    numbered || named || copy || middle.contains("conflict")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_marks_of_other_programs_are_known_by_their_names() {
        for name in [
            "generations (1).csv",
            "generations(2).csv",
            "generations-NODE7.csv",
            "Generations-node7.CSV",
            "generations - Copy.csv",
            "generations_conflict-20261116.csv",
            "generations (anna's conflicted copy 2026-11-16).csv",
            "generations.sync-conflict-20261116-101500-ABCDEFG.csv",
        ] {
            assert_eq!(
                beside(name, "generations.csv"),
                Some(Beside::Copy),
                "{name}"
            );
        }
        for name in [
            "~$generations.xlsx",
            "~$generations.csv",
            ".~lock.generations.csv#",
        ] {
            let found = beside(name, "generations.csv");
            assert_eq!(found, Some(Beside::OpenMark), "{name}");
        }
    }

    #[test]
    fn other_tables_and_our_own_files_are_no_copies() {
        for name in [
            "generations.csv",
            "generations.lock",
            "generations_metrics.csv",
            "generations.phase2.snapshot",
            "generations.csv.before-rebuild-20261116T101500Z",
            "items.csv",
            "items (1).csv",
            "generations-.csv",
            ".generations.csv.w-1-x.tmp",
        ] {
            assert_eq!(beside(name, "generations.csv"), None, "{name}");
        }
    }
}
