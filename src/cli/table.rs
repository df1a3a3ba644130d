//! Plain tables and lines that fit a page: how all reports of the program look.
//!
//! Without lines and colours, so that what is piped is what is seen.

use std::io::IsTerminal;
use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::cli::ui::clean;

pub use crate::domain::text::dollars;

/// The width of a page that is no terminal.
const USUAL_WIDTH: usize = 120;

/// What a report must fit on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Longer lines are cut.
    pub width: usize,
    /// Longer lists are cut, if there is a height.
    pub height: Option<usize>,
    /// Whether every detail is wanted.
    pub verbose: bool,
}

impl Page {
    /// Returns the page that standard output is: as wide as the terminal, and of
    /// no height, since what was printed can be scrolled.
    pub fn of_terminal() -> Self {
        let on_terminal = std::io::stdout().is_terminal();
        let size = terminal_size::terminal_size().filter(|_| on_terminal);
        Self {
            width: size.map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0).max(20)),
            height: None,
            verbose: false,
        }
    }

    /// Returns the page that the whole screen is.
    pub fn of_screen() -> Self {
        let size = terminal_size::terminal_size();
        Self {
            height: size.map(|(_, height)| usize::from(height.0).max(5)),
            ..Self::of_terminal()
        }
    }

    /// Cuts a line.
    pub fn cut(&self, line: &str) -> String {
        cut(line, self.width)
    }
}

/// Cuts text to so many characters, the last of them `…` if something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// Starts a table without lines that folds long cells to the terminal's width.
pub fn plain_table() -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table
}

/// Starts a table without lines whose cells are never folded.
pub fn straight_table() -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// Aligns the columns with these numbers to the right.
pub fn right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for number in columns {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// Returns the table's lines without the blanks that fill their ends.
pub fn lines_of(table: &Table) -> String {
    let mut text = String::new();
    for line in clean(&table.to_string()).lines() {
        // The preset pads every cell by one blank.
        let line = line.strip_prefix(' ').unwrap_or(line);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns a duration as people say it: `4.2 s`, `3 min 12 s`, `2 h 5 min`.
pub fn short_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..172_800 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_and_short_ones_are_not() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("abc   defg", 6), "abc…");
        assert_eq!(cut("äöüäöü", 3), "äö…");
    }

    #[test]
    fn durations_read_like_speech() {
        for (millis, text) in [
            (0, "0.0 s"),
            (4200, "4.2 s"),
            (59_999, "59 s"),
            (192_000, "3 min 12 s"),
            (7_500_000, "2 h 5 min"),
            (864_000_000, "10 days"),
        ] {
            assert_eq!(short_duration(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn amounts_read_like_prices() {
        for (amount, text) in [
            (0.0, "$0.00"),
            (0.4, "$0.40"),
            (0.051, "$0.051"),
            (12.0, "$12.00"),
        ] {
            assert_eq!(dollars(amount), text);
        }
    }
}
