//! The rules of the table, one sentence each.

use super::*;

/// The first columns and two rows of a registry written by the original program.
const ORIGINAL: &str = "\u{FEFF}product_id,variant,manufacturer,product_name,run_id,job_id,algo,\
status,created_at,notes,generation_start,unit_price_usd,error_msg\n\
100002,default,Maker 2,Prodotto 2,r1,0ae680119990,tripo3d_v2p5_multi,completed,\
2026-11-16T02:14:48.720956+00:00,,2026-11-16T02:14:51.011027+00:00,0.0,\n\
400001,\"Già \"\"speciale\"\", blu\",,,r1,df58d7ce9239,trellis_single,enqueued,\
2026-11-16T02:14:48.721080+00:00,,,,\n";

fn table(text: impl AsRef<[u8]>) -> Table {
    Table::parse(text.as_ref().to_vec()).expect("a table")
}

fn fault(text: impl AsRef<[u8]>) -> TableError {
    Table::parse(text.as_ref().to_vec()).expect_err("refused")
}

fn edit(row: usize, cells: &[(usize, &str)]) -> RowEdit {
    RowEdit {
        row,
        cells: own(cells),
    }
}

fn own(cells: &[(usize, &str)]) -> Vec<(usize, String)> {
    cells.iter().map(|(c, v)| (*c, (*v).to_owned())).collect()
}

fn shown(table: &Table) -> String {
    let text = String::from_utf8(table.bytes().to_vec()).expect("text");
    let text = text.strip_prefix('\u{FEFF}').expect("a mark").to_owned();
    assert!(!text.starts_with('\u{FEFF}'), "only one mark");
    text
}

/// Patches one cell and returns the file without its mark.
fn patched(text: &str, row: usize, column: usize, value: &str) -> String {
    let mut table = table(text);
    assert!(table.patch(&[edit(row, &[(column, value)])]));
    shown(&table)
}

#[test]
fn a_table_of_the_original_program_is_read_and_only_named_cells_change() {
    let mut registry = table(ORIGINAL);
    let (status, error) = (registry.column("status"), registry.column("error_msg"));
    let (status, error) = (status.expect("there"), error.expect("there"));
    assert_eq!(&*registry.cell(1, 1), "Già \"speciale\", blu".as_bytes());
    let rows: Vec<usize> = registry.index("r1").rows_of("df58d7ce9239").collect();
    assert_eq!(rows, [1]);
    assert!(registry.patch(&[edit(
        1,
        &[(status, "failed"), (error, "10%\r20%, then 5\"")]
    )]));
    let expected = ORIGINAL
        .replace("trellis_single,enqueued", "trellis_single,failed")
        .replace(",,,,\n", ",,,,\"10%\r20%, then 5\"\"\"\n");
    assert_eq!(registry.bytes(), expected.as_bytes());
}

#[test]
fn a_file_without_a_mark_gets_one_with_its_first_change_and_not_before() {
    let mut plain = table("a,b\n1,2\n");
    assert_eq!(plain.bytes(), b"a,b\n1,2\n");
    assert!(!plain.patch(&[edit(0, &[(0, "1")])]));
    assert_eq!(plain.bytes(), b"a,b\n1,2\n");
    assert!(plain.patch(&[edit(0, &[(0, "x")])]));
    assert_eq!(plain.bytes(), b"\xEF\xBB\xBFa,b\nx,2\n");
    assert_eq!(&*plain.cell(0, 1), b"2");
    assert!(plain.patch(&[edit(0, &[(1, "y")])]));
    assert_eq!(plain.bytes(), b"\xEF\xBB\xBFa,b\nx,y\n");
}

#[test]
fn a_file_that_is_not_utf8_gets_no_mark_that_says_so() {
    let mut latin = Table::parse(b"a,b\n1,Fl\xfcgel\n".to_vec()).unwrap();
    assert!(!latin.is_utf8());
    assert!(latin.patch(&[edit(0, &[(0, "x")])]));
    assert_eq!(latin.bytes(), b"a,b\nx,Fl\xfcgel\n");
    assert!(latin.patch(&[edit(0, &[(1, "Fl\u{fc}gel")])]));
    assert_eq!(latin.bytes(), "\u{feff}a,b\nx,Fl\u{fc}gel\n".as_bytes());
}

#[test]
fn two_marks_utf16_and_files_without_a_header_are_refused() {
    assert_eq!(fault("\u{FEFF}\u{FEFF}a\n"), TableError::TwoByteOrderMarks);
    assert_eq!(fault(b"\xFF\xFEa\0,\0"), TableError::Utf16);
    assert_eq!(fault(b"\xFE\xFF\0a\0,"), TableError::Utf16);
    assert_eq!(fault(b"a\0,\0b\0\n\0"), TableError::Utf16);
    assert_eq!(fault(b"\0a\0,\0b\0\n"), TableError::Utf16);
    assert_eq!(fault(""), TableError::Empty);
    assert_eq!(fault("\u{FEFF}"), TableError::NoHeader);
    assert_eq!(fault("\u{FEFF}\n\r\n"), TableError::NoHeader);
    assert!(matches!(
        fault(b"a,\xFF\n"),
        TableError::HeaderNotUtf8 { line: 1, number: 2 }
    ));
}

#[test]
fn a_header_alone_is_a_table_without_rows() {
    for text in ["a,b\n", "\u{FEFF}a,b", "a,b\r\n\r\n"] {
        assert!(table(text).is_empty());
        assert_eq!(table(text).columns(), ["a", "b"]);
    }
}

#[test]
fn a_lone_carriage_return_never_ends_a_row() {
    let odd = table("a,b\n1\r2,\"3\r4\"\n5,6\r\n");
    assert_eq!(odd.len(), 2);
    assert_eq!(&*odd.cell(0, 0), b"1\r2");
    assert_eq!(&*odd.cell(0, 1), b"3\r4");
    assert_eq!(&*odd.cell(1, 1), b"6");
}

#[test]
fn every_row_keeps_its_own_line_end() {
    assert_eq!(
        patched("a,b\r\n1,2\n3,4\r\n5,6", 1, 1, "x"),
        "a,b\r\n1,2\n3,x\r\n5,6"
    );
    assert_eq!(
        patched("a,b\r\n1,2\n3,4\r\n5,6", 2, 1, "x"),
        "a,b\r\n1,2\n3,4\r\n5,x"
    );
}

#[test]
fn new_rows_end_as_the_first_line_does() {
    let mut windows = table("a,b\r\n1,2\n");
    windows.append(&[own(&[(1, "x,y")]), own(&[(0, "z")])]);
    assert_eq!(shown(&windows), "a,b\r\n1,2\n,\"x,y\"\r\nz,\r\n");
    assert_eq!(windows.len(), 3);
    assert_eq!(&*windows.cell(1, 1), b"x,y");
}

#[test]
fn a_missing_last_line_end_is_added_only_when_a_row_follows() {
    assert_eq!(patched("a\n1", 0, 0, "2"), "a\n2");
    let mut open = table("a,b\n1,2");
    open.append(&[own(&[(0, "3")])]);
    assert_eq!(shown(&open), "a,b\n1,2\n3,\n");
    let mut bare = table("a,b");
    bare.append(&[own(&[(0, "3")])]);
    assert_eq!(shown(&bare), "a,b\n3,\n");
}

#[test]
fn a_carriage_return_at_the_very_end_stays_text_when_a_row_follows() {
    let mut odd = table("a\n1\r");
    odd.append(&[own(&[(0, "2")])]);
    assert_eq!(&*table(odd.bytes()).cell(0, 0), b"1\r");
    assert_eq!(&*table(odd.bytes()).cell(1, 0), b"2");
}

#[test]
fn blank_lines_are_kept_and_are_no_rows() {
    let text = "\n\na,b\n\r\n1,2\n\n\n3,4\n\n";
    assert_eq!(table(text).len(), 2);
    assert_eq!(patched(text, 0, 0, "x"), "\n\na,b\n\r\nx,2\n\n\n3,4\n\n");
    assert_eq!(patched(text, 1, 1, "x"), "\n\na,b\n\r\n1,2\n\n\n3,x\n\n");
}

#[test]
fn a_row_of_one_empty_cell_is_not_written_as_a_blank_line() {
    assert_eq!(patched("a\n1\n2\n", 0, 0, ""), "a\n\"\"\n2\n");
    let mut single = table("a\n");
    single.append(&[own(&[(0, "")])]);
    assert_eq!(table(single.bytes()).len(), 1);
}

#[test]
fn an_unclosed_quote_is_refused_with_the_line_where_it_opens() {
    assert_eq!(
        fault("a,b\n1,\"x\ny\"\n3,\"4\n5,6\n"),
        TableError::UnclosedQuote { line: 4 }
    );
}

#[test]
fn bytes_that_are_no_text_are_kept_in_cells_nobody_touches() {
    let mut odd = table(b"a,b\n\xFF\0\xC3,2\n".as_slice());
    assert!(odd.patch(&[edit(0, &[(1, "x")])]));
    // A mark would say that the rest is UTF-8.
    assert_eq!(odd.bytes(), b"a,b\n\xFF\0\xC3,x\n");
    assert_eq!(
        odd.text(0, 0),
        Err(TableError::NotUtf8 {
            line: 2,
            column: "a".into()
        })
    );
    assert_eq!(odd.text(0, 1).expect("text"), "x");
}

#[test]
fn keys_are_equal_only_byte_for_byte() {
    let mut keys = table(
        "run_id,job_id\n1e5,001\n100000,1\n100000.0,1.0\n\"1e5\",1\n1E5,001\n 1e5,001\n1e5,001\n",
    );
    assert_eq!(keys.rows_of("run_id", "1e5"), [0, 3, 6]);
    assert_eq!(keys.rows_of("nowhere", "1e5"), [0; 0]);
    let index = keys.index("1e5");
    assert_eq!(index.rows().collect::<Vec<_>>(), [0, 3, 6]);
    assert_eq!(index.rows_of("001").collect::<Vec<_>>(), [0, 6]);
    assert_eq!(index.rows_of("1").collect::<Vec<_>>(), [3]);
    assert_eq!(index.first_of("1.0"), None);
    assert_eq!(index.repeated(), [6]);
    assert_eq!(keys.index("100000").len(), 1);
    assert!(keys.index("other").is_empty());
}

#[test]
fn the_index_stays_true_when_cells_rows_and_columns_change() {
    let mut keys = table("job_id,x,run_id\na,1,r\nb,2,r\n");
    assert_eq!(keys.index("r").len(), 2);
    keys.patch(&[edit(0, &[(1, "much longer")])]);
    assert_eq!(keys.index("r").first_of("b"), Some(1));
    keys.patch(&[edit(0, &[(0, "c")])]);
    assert_eq!(keys.index("r").first_of("a"), None);
    assert_eq!(keys.index("r").first_of("c"), Some(0));
    keys.append(&[own(&[(0, "d"), (2, "r")])]);
    assert_eq!(keys.index("r").first_of("d"), Some(2));
    keys.ensure_columns(&["y"]);
    assert_eq!(keys.index("r").first_of("d"), Some(2));
    assert!(table("job_id\na\n").index("r").is_empty());
}

#[test]
fn a_name_used_twice_in_the_header_is_refused() {
    assert_eq!(
        fault("a,b,\"a\"\n"),
        TableError::DuplicateColumn { name: "a".into() }
    );
    assert_eq!(table("a,,\n1,2,3\n").columns(), ["a", "", ""]);
}

#[test]
fn another_delimiter_another_spelling_and_absent_columns_are_told_apart() {
    let needed = ["run_id", "job_id"];
    let refusal = |text: &str| table(text).require(&needed).expect_err("refused");
    assert_eq!(table("job_id,x,run_id\n").require(&needed), Ok(()));
    assert_eq!(
        refusal("\u{FEFF}x;\"run_id\";job_id\n1;2;3\n").to_string(),
        "the fields are separated by semicolons, not by commas"
    );
    assert_eq!(
        refusal("run_id\tjob_id\n"),
        TableError::Delimiter { found: "tabs" }
    );
    assert_eq!(
        refusal("run_id,Job_ID\n").to_string(),
        "column \"job_id\" is spelled \"Job_ID\" in the header"
    );
    assert_eq!(
        refusal("a,job_id\n").to_string(),
        "the header has no column run_id"
    );
}

#[test]
fn a_short_row_is_filled_up_only_when_it_changes() {
    let text = "a,b,c\n1\n2\n";
    assert_eq!(patched(text, 0, 2, "x"), "a,b,c\n1,,x\n2\n");
    assert_eq!(patched(text, 1, 0, "x"), "a,b,c\n1\nx,,\n");
    let mut short = table(text);
    assert_eq!(&*short.cell(0, 2), b"");
    assert!(!short.patch(&[edit(0, &[(0, "1"), (1, ""), (2, "")])]));
    assert_eq!(short.bytes(), text.as_bytes());
}

#[test]
fn a_long_row_keeps_its_extra_fields() {
    assert_eq!(
        patched("a,b\n1,2,3,\"4\"\n", 0, 1, "x"),
        "a,b\n1,x,3,\"4\"\n"
    );
}

#[test]
fn a_cell_that_says_it_already_keeps_its_quotes() {
    let text = "a,b,c\n\"1\",\"x\"y,3\n";
    let mut quoted = table(text);
    assert!(!quoted.patch(&[edit(0, &[(0, "1"), (1, "xy")])]));
    assert_eq!(quoted.bytes(), text.as_bytes());
    assert_eq!(patched(text, 0, 2, "4"), "a,b,c\n\"1\",\"x\"y,4\n");
}

#[test]
fn edits_may_come_in_any_order_and_the_last_value_of_a_cell_counts() {
    let mut plain = table("a,b\n1,2\n3,4\n5,6\n");
    assert!(plain.patch(&[
        edit(2, &[(1, "z"), (0, "long text")]),
        edit(0, &[(0, "old"), (0, "new")]),
        edit(2, &[(1, "y")]),
    ]));
    assert_eq!(shown(&plain), "a,b\nnew,2\n3,4\nlong text,y\n");
    assert_eq!(&*plain.cell(2, 1), b"y");
}

#[test]
fn new_columns_go_to_the_end_and_odd_rows_are_left_alone() {
    let mut odd = table("a,b\r\n1,2\n3\n4,5,6\n\"x,y\",\"\"");
    assert!(odd.ensure_columns(&["c", "a", "d,e", "c"]));
    assert_eq!(
        shown(&odd),
        "a,b,c,\"d,e\"\r\n1,2,,\n3\n4,5,6\n\"x,y\",\"\",,"
    );
    assert_eq!(odd.columns(), ["a", "b", "c", "d,e"]);
    assert_eq!(&*odd.cell(3, 0), b"x,y");
    assert!(!odd.ensure_columns(&["d,e", "b"]));
}

#[test]
fn columns_of_others_keep_name_and_place() {
    let mut others = table("review_old,job_id\n3,j\n");
    others.ensure_columns(&["status"]);
    others.patch(&[edit(0, &[(2, "completed")])]);
    assert_eq!(shown(&others), "review_old,job_id,status\n3,j,completed\n");
}

#[test]
fn a_new_table_is_a_mark_and_a_header() {
    let mut fresh = Table::with_header(&["run_id", "a,b"]);
    assert_eq!(fresh.bytes(), b"\xEF\xBB\xBFrun_id,\"a,b\"\n");
    fresh.append(&[own(&[(1, "x")])]);
    assert_eq!(shown(&fresh), "run_id,\"a,b\"\n,x\n");
    assert_eq!(table(fresh.bytes()).columns(), fresh.columns());
}

#[test]
fn lines_are_counted_with_blank_lines_and_breaks_inside_cells() {
    let broken = table("a\n\n\"1\n2\"\n3\n");
    assert_eq!([broken.line_of(0), broken.line_of(1)], [3, 5]);
    let lines: Vec<_> = broken.rows_with_lines().collect();
    assert_eq!(lines, [(0, 3), (1, 5)]);
}

#[test]
fn a_field_of_ten_megabytes_is_accepted() {
    let big = format!("a,b\n\"{}\",2\n", "x,\n".repeat(3_500_000));
    assert_eq!(table(big).cell(0, 0).len(), 10_500_000);
}

#[test]
fn removed_rows_take_their_line_with_them_and_nothing_else() {
    let mut table =
        Table::parse(b"\xEF\xBB\xBFa,b\r\n1,\"x\r\ny\"\r\n2,\r\n3,z\r\n".to_vec()).unwrap();
    table.remove(&[]);
    table.remove(&[1, 1]);
    assert_eq!(table.bytes(), b"\xEF\xBB\xBFa,b\r\n1,\"x\r\ny\"\r\n3,z\r\n");
    assert_eq!(table.len(), 2);
    assert_eq!(&*table.cell(1, 1), b"z");
    assert_eq!(table.rows_of("a", "3"), [1]);
    table.remove(&[0, 1]);
    assert_eq!(table.bytes(), b"\xEF\xBB\xBFa,b\r\n");
    assert!(table.is_empty());
}
