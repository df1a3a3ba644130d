//! W1, W7 to W12 and W20: text stays text. Ids, names and cells that look like numbers, columns of
//! others, and error texts of any shape keep their bytes, and so does every other row.

use super::{executions, mocks, quick, set_algo, statuses, text_of};
use crate::support::TestWorkspace;

const TABLE: &str = "tables/generations.csv";

/// Adds columns at the end of the registry: a header, and the cells of each row as raw text.
fn add_columns(workspace: &TestWorkspace, header: &str, rows: &[&str]) {
    let text = text_of(workspace, TABLE);
    let cells = std::iter::once(header).chain(rows.iter().copied());
    let lines: Vec<_> = text
        .lines()
        .zip(cells)
        .map(|(line, cells)| format!("{line},{cells}"))
        .collect();
    workspace.write(TABLE, (lines.join("\n") + "\n").as_bytes());
}

/// Demands that every line but those of `touched` only grew by empty cells.
#[track_caller]
fn assert_others_untouched(before: &str, after: &str, touched: &[&str]) {
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    assert_eq!(before.len(), after.len());
    for (old, new) in before.iter().zip(&after).skip(1) {
        if touched.iter().any(|id| old.contains(id)) {
            continue;
        }
        let grown = new.strip_prefix(old);
        assert!(
            grown.is_some_and(|more| more.bytes().all(|byte| byte == b',')),
            "{old}\nbecame\n{new}"
        );
    }
}

#[test]
fn w1_names_and_variants_that_look_like_numbers_wipe_nothing() {
    for variant in ["007", "default", "1e5"] {
        let workspace = quick(3).variant(variant).build();
        let before = text_of(&workspace, TABLE).replace("Product 100002", "214");
        workspace.write(TABLE, before.as_bytes());
        let _ = workspace
            .worker(&["--jobs", workspace.id(1)])
            .run()
            .expect_code(0);
        assert_others_untouched(&before, &text_of(&workspace, TABLE), &[workspace.id(1)]);
        let _ = workspace.worker(&[]).run().expect_code(0);
        let registry = workspace.registry();
        let names: Vec<_> = registry
            .rows
            .iter()
            .map(|row| &row["product_name"])
            .collect();
        assert_eq!(names, ["Product 100001", "214", "Product 100003"]);
        assert!(registry.rows.iter().all(|row| &row["variant"] == variant));
        assert_eq!(registry.count("completed"), 3);
    }
}

#[test]
fn w7_run_ids_that_look_like_numbers_are_kept_and_rows_updated_in_place() {
    for run in [
        "20250101", "001", "1e5", "2025.10", "True", "nan", "NA", "null",
    ] {
        let workspace = quick(3).run(run).build();
        let _ = workspace.worker(&[]).run().expect_code(0);
        let registry = workspace.registry();
        assert_eq!(registry.rows.len(), 3, "{run}");
        assert_eq!(registry.count("completed"), 3, "{run}");
        for (row, job) in registry.rows.iter().zip(workspace.jobs()) {
            assert_eq!((&row["run_id"], &row["job_id"]), (run, job.id.as_str()));
            assert_eq!(&row["product_id"], job.product);
            assert_eq!(&row["manufacturer"], "Maker");
            let output = format!("runs/{run}/outputs/{}/", job.id);
            assert!(row["gen_object_path"].starts_with(&output), "{row:?}");
        }
        let _ = workspace.worker(&[]).run().expect_code(0);
        assert_eq!(executions(&workspace).len(), 3, "{run}");
        let status = workspace.archi3d(&["run", "status", "--json", "--run-id", run]);
        let status = status.run().expect_code(0);
        assert_eq!(status.json()["run_id"], run, "{status}");
    }
}

#[test]
fn w7_w8_job_ids_of_digits_and_with_leading_zeros_are_one_row_each() {
    let ids = ["231855873617", "000000000012", "1e5", "12", "012", "0012e3"];
    let workspace = quick(6).job_ids(ids).build();
    let before = text_of(&workspace, TABLE);
    let only_one = ["--jobs", "^012$"];
    let _ = workspace.worker(&only_one).run().expect_code(0);
    assert_eq!(executions(&workspace), ["012"]);
    assert_others_untouched(&before, &text_of(&workspace, TABLE), &[",012,"]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let registry = workspace.registry();
    let found: Vec<_> = registry.rows.iter().map(|row| &row["job_id"]).collect();
    assert_eq!(found, ids);
    assert_eq!(registry.count("completed"), 6);
    let mut sorted = ids.map(str::to_owned).to_vec();
    sorted.sort();
    assert_eq!(workspace.jobs_with("completed"), sorted);
}

#[test]
fn w8_a_product_id_keeps_its_leading_zeros() {
    let workspace = quick(2).build();
    for table in [TABLE, "runs/rk/manifest.csv"] {
        let text = text_of(&workspace, table).replace("100001,", "00123,");
        workspace.write(table, text.as_bytes());
    }
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    let registry = workspace.registry();
    assert_eq!(&registry.rows[0]["product_id"], "00123");
    assert_eq!(&registry.rows[0]["status"], "completed");
    assert!(
        workspace
            .path(&registry.rows[0]["gen_object_path"])
            .is_file()
    );
}

#[test]
fn w9_columns_of_others_and_the_order_of_rows_keep_their_bytes() {
    let workspace = quick(4).build();
    add_columns(
        &workspace,
        "code,price,big,flag,word,count,double,text",
        &[
            "0012,1.50,1e5,true,NA,12,0.30000000000000004,\"a, \"\"b\"\"\"",
            "007,.5,1E+5,FALSE,null,,1e-320,\"quoted without need\"",
            "-0,+1,0x10,True,None,7,0.1000000000000000055511151231257827, blanks ",
            "00,1.,nan,no,<NA>,7.0,-0.0,=1+1",
        ],
    );
    let before = text_of(&workspace, TABLE);
    let _ = workspace.worker(&["--jobs", "d610"]).run().expect_code(0);
    let after = text_of(&workspace, TABLE);
    assert_others_untouched(&before, &after, &["d610"]);
    let kept = "0012,1.50,1e5,true,NA,12,0.30000000000000004,\"a, \"\"b\"\"\",";
    assert!(after.contains(kept), "{after}");
    assert!(after.starts_with(before.lines().next().expect("a header")));

    // With the worker's columns there, other lines do not change at all.
    let _ = workspace.worker(&["--jobs", "41ee"]).run().expect_code(0);
    let last = text_of(&workspace, TABLE);
    for (old, new) in after.lines().zip(last.lines()) {
        assert!(old == new || old.contains("41ee"), "{old}\nbecame\n{new}");
    }
    let ids: Vec<_> = last
        .lines()
        .skip(1)
        .filter_map(|line| line.split(",rk,").nth(1))
        .collect();
    assert!(
        ids.iter()
            .zip(workspace.jobs())
            .all(|(line, job)| line.starts_with(&job.id))
    );
}

#[test]
fn w9_line_ends_and_bytes_that_are_no_text_are_kept() {
    let workspace = quick(3).crlf().build();
    let mut bytes = workspace.bytes(TABLE);
    let place = bytes
        .windows(5)
        .rposition(|window| window == b"Maker")
        .expect("it is there");
    bytes.splice(place..place + 5, *b"\xff\xfe?");
    workspace.write(TABLE, &bytes);
    let _ = workspace.worker(&["--limit", "2"]).run().expect_code(0);
    let after = workspace.bytes(TABLE);
    let ends = |bytes: &[u8], end: &[u8]| bytes.windows(end.len()).filter(|w| *w == end).count();
    assert_eq!(ends(&after, b"\r\n"), 4);
    assert_eq!(ends(&after, b"\n"), 4);
    assert_eq!(ends(&after, b"\xff\xfe?"), 1);
    assert_eq!(ends(&after, b",completed,"), 2);
}

#[test]
fn w10_a_column_whose_name_ends_in_old_stays() {
    let workspace = quick(2).build();
    add_columns(&workspace, "review_old,status_old", &["good,01", "bad,"]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let registry = workspace.registry();
    assert_eq!(registry.columns[31..33], ["review_old", "status_old"]);
    let row = &registry.rows[0];
    assert_eq!(
        (&row["review_old"], &row["status_old"], &row["status"]),
        ("good", "01", "completed")
    );
    assert_eq!(&registry.rows[1]["review_old"], "bad");
}

#[test]
fn w11_carriage_returns_in_an_error_make_no_rows() {
    let workspace = quick(3).build();
    let yaml = mocks(
        0,
        &[("boom", "10%\\r20%\\r30% failed\\r\\nsecond\\u2028line")],
    );
    workspace.write("config/adapters.yaml", yaml.as_bytes());
    set_algo(&workspace, 0, "boom");
    add_columns(&workspace, "a,b", &["1,2", "3,4", "5,6"]);
    let _ = workspace.worker(&["--limit", "1"]).run().expect_code(1);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let text = text_of(&workspace, TABLE);
    assert!(!text.contains('\r'), "{text:?}");
    let registry = workspace.registry();
    assert_eq!(registry.rows.len(), 3);
    let row = workspace.row(workspace.id(0));
    assert!(
        row["error_msg"].starts_with("10% 20% 30% failed"),
        "{row:?}"
    );
    assert!(row["error_msg"].contains("second"), "{row:?}");
    assert_eq!((&row["status"], &row["a"], &row["b"]), ("failed", "1", "2"));
    assert_eq!(&row["notes"], "");
}

#[test]
fn w11_a_lone_carriage_return_of_another_tool_splits_no_row() {
    let workspace = quick(3).build();
    add_columns(&workspace, "a,b", &["1,2", "10%\r20%\r30%,4", "5,6"]);
    let before = text_of(&workspace, TABLE);
    let _ = workspace.worker(&["--limit", "1"]).run().expect_code(0);
    let after = text_of(&workspace, TABLE);
    assert_others_untouched(&before, &after, &[workspace.id(0)]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let registry = workspace.registry();
    assert_eq!(registry.rows.len(), 3);
    assert_eq!(&registry.rows[1]["a"], "10%\r20%\r30%");
    assert_eq!(statuses(&workspace), ["completed"; 3]);
}

#[test]
fn w12_an_error_of_digits_erases_no_other_error() {
    let workspace = quick(4).build();
    let yaml = mocks(
        0,
        &[
            ("gpu", "GPU out of memory"),
            ("gone", "404"),
            ("evil", "=1+1"),
        ],
    );
    workspace.write("config/adapters.yaml", yaml.as_bytes());
    for (index, algo) in ["gpu", "gpu", "gone", "evil"].iter().enumerate() {
        set_algo(&workspace, index, algo);
    }
    let _ = workspace.worker(&[]).run().expect_code(1);
    let errors = || -> Vec<String> {
        let registry = workspace.registry();
        registry
            .rows
            .iter()
            .map(|row| row["error_msg"].to_owned())
            .collect()
    };
    let expected = ["GPU out of memory", "GPU out of memory", "404", "'=1+1"];
    assert_eq!(errors(), expected);
    let _ = workspace
        .worker(&["--only-status", "failed", "--limit", "1"])
        .run()
        .expect_code(1);
    assert_eq!(errors(), expected);
}

#[test]
fn w20_empty_variants_and_words_that_mean_nothing_elsewhere_run_normally() {
    for variant in ["", " ", "NA", "None", "nan"] {
        let workspace = quick(2).variant(variant).build();
        let text = text_of(&workspace, TABLE).replacen("Maker", "None", 1);
        let text = text.replacen("Maker", "NULL", 1);
        workspace.write(TABLE, text.as_bytes());
        let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
        let _ = workspace.worker(&[]).run().expect_code(0);
        let registry = workspace.registry();
        assert_eq!(registry.count("completed"), 2, "{variant:?}");
        let row = &registry.rows[0];
        assert_eq!((&row["variant"], &row["manufacturer"]), (variant, "None"));
        assert_eq!(&registry.rows[1]["manufacturer"], "NULL");
        assert!(workspace.path(&row["gen_object_path"]).is_file(), "{row:?}");
    }
}
