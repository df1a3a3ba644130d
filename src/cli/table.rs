//! Plain tables and lines that fit a page: how all reports of the program look.
//!
//! Without lines and colours, so that what is piped is what is seen.

use std::io::IsTerminal;
use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::cli::local_time::Zone;
use crate::cli::ui::clean;

pub use archi3d_core::domain::text::dollars;

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
    /// The zone in which times are shown.
    pub zone: Zone,
}

impl Page {
    /// Returns the page that standard output is: as wide as the terminal (or as
    /// `COLUMNS` says where it is none), and of no height, since what was printed can
    /// be scrolled.
    pub fn of_terminal() -> Self {
        let on_terminal = std::io::stdout().is_terminal();
        let size = terminal_size::terminal_size().filter(|_| on_terminal);
        let asked = std::env::var_os("COLUMNS").and_then(|text| text.to_str()?.parse().ok());
        let width = size.map(|(width, _)| usize::from(width.0));
        Self {
            width: width.or(asked).unwrap_or(USUAL_WIDTH).max(20),
            height: None,
            verbose: false,
            zone: Zone::Local,
        }
    }

    /// Breaks a sentence at blanks so that it fits, all lines set in.
    pub fn wrap(&self, text: &str, indent: usize) -> String {
        let blanks = " ".repeat(indent);
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            match lines.last_mut() {
                Some(last) if last.width() + 1 + word.width() <= self.width => {
                    last.push(' ');
                    last.push_str(word);
                }
                _ => lines.push(format!("{blanks}{word}")),
            }
        }
        lines.join("\n")
    }

    /// Returns the page for a list whose cells must not be cut where programs may
    /// read it: as wide as the terminal, and as wide as it takes where there is none.
    pub fn of_list() -> Self {
        let bounded = std::io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some();
        let page = Self::of_terminal();
        let width = if bounded { page.width } else { usize::MAX };
        Self { width, ..page }
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

/// Cuts text to so many columns, the last of them `…` if something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut taken = 0;
    let fits = |c: &char| {
        taken += c.width().unwrap_or_default();
        taken < width
    };
    let mut short: String = text.chars().take_while(fits).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// A table that fits its page: columns that may be cut give way to the others.
#[derive(Debug, Clone, Default)]
pub struct Fitted {
    indent: usize,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    flexible: Vec<usize>,
    right: Vec<usize>,
}

/// A column that is cut keeps at least so many characters.
const LEAST_WIDTH: usize = 8;

impl Fitted {
    /// Starts a table; a header of empty texts is not shown.
    pub fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            header: header.into_iter().map(str::to_owned).collect(),
            ..Self::default()
        }
    }

    /// Sets all lines in.
    #[must_use]
    pub fn indent(mut self, blanks: usize) -> Self {
        self.indent = blanks;
        self
    }

    /// Names the columns that are cut where there is no room.
    #[must_use]
    pub fn cut(mut self, columns: &[usize]) -> Self {
        self.flexible = columns.to_vec();
        self
    }

    /// Names the columns whose numbers stand to the right.
    #[must_use]
    pub fn right(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.right = columns.into_iter().collect();
        self
    }

    /// Adds a line.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows
            .push(cells.into_iter().map(|cell| clean(&cell)).collect());
    }

    /// Leaves out columns, but for the first, in which every line is empty.
    pub fn drop_empty(&mut self) {
        for column in (1..self.header.len()).rev() {
            let mut cells = self.rows.iter().filter_map(|row| row.get(column));
            if cells.all(String::is_empty) {
                self.header.remove(column);
                for row in &mut self.rows {
                    row.remove(column);
                }
                for list in [&mut self.flexible, &mut self.right] {
                    list.retain(|number| *number != column);
                    for number in list.iter_mut().filter(|number| **number > column) {
                        *number -= 1;
                    }
                }
            }
        }
    }

    /// Returns the lines.
    pub fn lines(&self, page: Page) -> Vec<String> {
        let header = self.header.iter().any(|name| !name.is_empty());
        let all: Vec<&Vec<String>> = header
            .then_some(&self.header)
            .into_iter()
            .chain(&self.rows)
            .collect();
        let long = |column: usize| {
            let cells = all.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or_default()
        };
        let mut widths: Vec<usize> = (0..self.header.len()).map(long).collect();
        let room = page
            .width
            .saturating_sub(self.indent + 2 * widths.len().saturating_sub(1));
        let mut over = widths.iter().sum::<usize>().saturating_sub(room);
        while over > 0 {
            let wide = self.flexible.iter().copied();
            let wide = wide.filter(|column| widths[*column] > LEAST_WIDTH);
            let Some(widest) = wide.max_by_key(|column| widths[*column]) else {
                break;
            };
            widths[widest] -= 1;
            over -= 1;
        }
        let line = |row: &&Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(column, (cell, width))| {
                let cell = cut(cell, *width);
                let blanks = " ".repeat(width.saturating_sub(cell.width()));
                if self.right.contains(&column) {
                    blanks + &cell
                } else {
                    cell + &blanks
                }
            });
            let cells: Vec<String> = cells.collect();
            let line = format!("{}{}", " ".repeat(self.indent), cells.join("  "));
            page.cut(line.trim_end())
        };
        all.iter().map(line).collect()
    }
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
