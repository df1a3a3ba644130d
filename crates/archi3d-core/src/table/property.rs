//! What must hold for any table, whatever is in it.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Bytes that mean something to a table, with some that do not.
fn table_bytes() -> impl Strategy<Value = Vec<u8>> {
    let body = vec(
        prop::sample::select(b"ab1,,,,\"\"\n\n\r; \xFF\0".to_vec()),
        0..120,
    );
    let head = prop::sample::select(vec![
        "",
        "\u{FEFF}",
        "\u{FEFF}run_id,job_id,x\n",
        "run_id,job_id,x\r\n",
        "\"run_id\",x,job_id\n\n",
    ]);
    (head, body).prop_map(|(head, body)| [head.as_bytes(), &body].concat())
}

fn raw_rows(table: &Table) -> Vec<Vec<Vec<u8>>> {
    let fields = |row| {
        let content = table.content(row);
        Fields::new(content)
            .map(|range| content[range].to_vec())
            .collect()
    };
    (0..table.len()).map(fields).collect()
}

/// Row and column as fractions of what is there, and a value.
type RandomCell = (prop::sample::Index, prop::sample::Index, String);

fn random_edits(table: &Table, cells: &[RandomCell]) -> Vec<RowEdit> {
    let edit = |(row, column, value): &RandomCell| RowEdit {
        row: row.index(table.len()),
        cells: vec![(column.index(table.columns().len()), value.clone())],
    };
    cells.iter().map(edit).collect()
}

/// Checks that a table is what reading its own bytes gives.
fn assert_sound(table: &Table) -> Result<(), TestCaseError> {
    let again = Table::parse(table.bytes().to_vec());
    prop_assert!(again.is_ok(), "{:?}: {:?}", again, table.bytes());
    let again = again.expect("just checked");
    prop_assert_eq!(again.columns(), table.columns());
    prop_assert_eq!(&again.starts, &table.starts);
    prop_assert_eq!(again.header, table.header);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok(mut table) = Table::parse(bytes) {
            let width = table.columns().len();
            for row in 0..table.len() {
                let _ = table.text(row, width);
                let _ = table.line_of(row);
            }
            let _ = table.require(&["run_id"]);
            let _ = table.index("r").repeated();
        }
    }

    #[test]
    fn reading_changes_no_byte(bytes in table_bytes()) {
        if let Ok(mut table) = Table::parse(bytes.clone()) {
            let _ = table.index("a").len();
            prop_assert!(!table.patch(&[]));
            prop_assert_eq!(table.bytes(), bytes);
        }
    }

    #[test]
    fn a_patch_changes_the_named_cells_and_nothing_else(
        bytes in table_bytes(),
        cells in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[a,\"\r\n]{0,4}"), 1..6),
    ) {
        let Ok(mut table) = Table::parse(bytes) else { return Ok(()) };
        if table.is_empty() { return Ok(()) }
        let edits = random_edits(&table, &cells);
        let before = raw_rows(&table);
        let bytes_before = table.bytes().to_vec();
        let changed = table.patch(&edits);
        prop_assert_eq!(changed, table.bytes() != bytes_before);
        assert_sound(&table)?;
        let after = raw_rows(&table);
        prop_assert_eq!(before.len(), after.len());
        let mut last = HashMap::new();
        for edit in &edits {
            last.insert((edit.row, edit.cells[0].0), edit.cells[0].1.clone());
        }
        for ((row, column), value) in &last {
            prop_assert_eq!(&*table.cell(*row, *column), value.as_bytes());
        }
        for (row, (old, new)) in before.iter().zip(&after).enumerate() {
            for (column, new_field) in new.iter().enumerate() {
                match old.get(column) {
                    _ if last.contains_key(&(row, column)) => {}
                    Some(old_field) => prop_assert_eq!(old_field, new_field),
                    None => prop_assert!(new_field.is_empty()),
                }
            }
            prop_assert!(new.len() >= old.len());
        }
    }

    #[test]
    fn added_columns_and_rows_leave_every_old_cell_as_it_was(
        bytes in table_bytes(),
        value in "[a,\"\r\n]{0,4}",
    ) {
        let Ok(mut table) = Table::parse(bytes) else { return Ok(()) };
        let before = raw_rows(&table);
        let width = table.columns().len();
        prop_assert!(table.ensure_columns(&["new", "n,2"]));
        assert_sound(&table)?;
        table.append(&[vec![(width, value.clone())], vec![]]);
        assert_sound(&table)?;
        prop_assert_eq!(&*table.cell(before.len(), width), value.as_bytes());
        let after = raw_rows(&table);
        prop_assert_eq!(after.len(), before.len() + 2);
        for (old, new) in before.iter().zip(&after) {
            prop_assert_eq!(old.as_slice(), &new[..old.len()]);
            let expected = if old.len() == width { width + 2 } else { old.len() };
            prop_assert_eq!(new.len(), expected);
        }
    }

    #[test]
    fn the_index_finds_what_a_plain_search_finds(
        keys in vec(("[rs]", "[abc]"), 0..30),
        job in "[abcd]",
    ) {
        let mut table = Table::with_header(&["run_id", "job_id"]);
        let rows: Vec<_> = keys
            .iter()
            .map(|(run, job)| vec![(0, run.clone()), (1, job.clone())])
            .collect();
        table.append(&rows);
        let expected: Vec<usize> = (0..keys.len())
            .filter(|row| keys[*row].0 == "r" && keys[*row].1 == job)
            .collect();
        let index = table.index("r");
        prop_assert_eq!(index.rows_of(&job).collect::<Vec<_>>(), expected);
        let repeated: Vec<usize> = (0..keys.len())
            .filter(|row| keys[*row].0 == "r" && keys[..*row].contains(&keys[*row]))
            .collect();
        prop_assert_eq!(index.repeated(), repeated);
    }

    #[test]
    fn well_formed_tables_read_as_the_csv_crate_reads_them(
        rows in vec(vec("[a-c,\"\n é]{0,5}", 3), 1..8),
        always in any::<bool>(),
        windows in any::<bool>(),
    ) {
        let style = if always { ::csv::QuoteStyle::Always } else { ::csv::QuoteStyle::Necessary };
        let end = if windows { ::csv::Terminator::CRLF } else { ::csv::Terminator::Any(b'\n') };
        let mut writer = ::csv::WriterBuilder::new()
            .quote_style(style)
            .terminator(end)
            .from_writer(Vec::new());
        writer.write_record(["x", "y", "z"]).expect("in memory");
        for row in &rows {
            writer.write_record(row).expect("in memory");
        }
        let bytes = writer.into_inner().expect("in memory");
        let table = Table::parse(bytes.clone()).expect("well-formed");
        let mut reader = ::csv::Reader::from_reader(bytes.as_slice());
        let records: Vec<_> = reader.byte_records().map(|r| r.expect("well-formed")).collect();
        prop_assert_eq!(records.len(), table.len());
        for (row, record) in records.iter().enumerate() {
            for column in 0..3 {
                prop_assert_eq!(&*table.cell(row, column), &record[column]);
                prop_assert_eq!(&record[column], rows[row][column].as_bytes());
            }
        }
    }
}
