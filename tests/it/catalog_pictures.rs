//! Why a product has no pictures is said with the product, and WebP is a picture.

use crate::support::TestWorkspace;

#[test]
fn a_product_without_pictures_says_why_and_webp_alone_is_taken() {
    let workspace = TestWorkspace::empty();
    for file in [
        "1/images/a.webp",
        "2/images/a.heic",
        "3/Images/a.jpg",
        "4/images/raw/a.jpg",
        "5/a.jpg",
        "6/images/a.jpg",
        "6/images/b.webp",
    ] {
        workspace.write(&format!("dataset/{file}"), b"x");
    }
    let _ = workspace
        .archi3d(&["catalog", "build"])
        .run()
        .expect_code(0);
    let text = |name: &str| String::from_utf8(workspace.bytes(name)).expect("text");
    let (items, issues) = (text("tables/items.csv"), text("tables/items_issues.csv"));
    assert!(items.contains("dataset/1/images/a.webp"), "{items}");
    assert!(!items.contains("dataset/6/images/b.webp"), "{items}");
    for (product, why) in [
        ("2", "images/ has only .heic files"),
        ("3", "there is Images/: rename it"),
        ("4", "the folder raw/: move the pictures up"),
        ("5", "there are files beside it"),
    ] {
        let line = issues
            .lines()
            .find(|line| line.starts_with(&format!("{product},default,no_images,")));
        assert!(line.is_some_and(|line| line.contains(why)), "{issues}");
    }
}

#[test]
fn settings_that_nothing_reads_are_warned_of_with_file_and_line() {
    let workspace = TestWorkspace::with_products(1).build();
    workspace.write(
        "config/global.yaml",
        b"batch: {}\nthresholds: {fscore_min: 0.9}\n",
    );
    let warning = "config/global.yaml:2: `thresholds` is not used by archi3d";
    let show = workspace.archi3d(&["config", "show"]);
    for command in [show, workspace.worker(&["--dry-run"])] {
        let output = command.run().expect_code(0);
        assert_eq!(output.stderr.matches(warning).count(), 1, "{output}");
    }
}

#[test]
fn a_dataset_without_any_ground_truth_has_one_note_and_no_issue_about_it() {
    let workspace = TestWorkspace::empty();
    for product in ["1", "2", "3"] {
        workspace.write(&format!("dataset/{product}/images/a.jpg"), b"x");
    }
    let build = || {
        workspace
            .archi3d(&["catalog", "build"])
            .run()
            .expect_code(0)
    };
    let issues = || String::from_utf8(workspace.bytes("tables/items_issues.csv")).expect("text");
    let _ = build()
        .expect_stdout("no issues")
        .expect_stderr("no product has a ground truth");
    assert!(!issues().contains("missing_gt"), "{}", issues());
    // Where others have one, it is missing.
    workspace.write("dataset/2/gt/m.glb", b"x");
    let built = build().expect_stdout("2 (only scores need a ground truth)");
    assert!(!built.stderr.contains("ground truth"), "{built}");
    assert!(issues().contains("1,default,missing_gt,"), "{}", issues());
    assert_eq!(issues().matches("missing_gt").count(), 2);
}

/// Makes a run of three products whose pictures are larger than what is compared of them.
fn batch() -> TestWorkspace {
    let workspace = TestWorkspace::empty();
    for product in ["1", "2", "3"] {
        let picture = format!("dataset/{product}/images/a, b.jpg");
        workspace.write(&picture, &vec![0x21; 20_000]);
    }
    for command in [
        &["catalog", "build"][..],
        &["batch", "create", "--run-id", "rk", "--algos", "mock"],
    ] {
        let _ = workspace.archi3d(command).run().expect_code(0);
    }
    workspace
}

#[test]
fn a_picture_that_was_replaced_under_its_name_is_told_and_used() {
    let workspace = batch();
    let say = |command: &[&str]| {
        let output = workspace.archi3d(command).run();
        format!("{}{}", output.stdout, output.stderr)
    };
    let replaced = "replaced since the batch was made";
    // Written again as it was: another time, the same picture.
    workspace.write("dataset/1/images/a, b.jpg", &vec![0x21; 20_000]);
    for command in [&["run", "plan", "rk"][..], &["doctor"]] {
        let said = say(command);
        assert!(!said.contains(replaced), "{said}");
    }
    let mut other = vec![0x21; 20_000];
    other[19_999] = 0x22;
    workspace.write("dataset/2/images/a, b.jpg", &other);
    workspace.write("dataset/3/images/a, b.jpg", b"short");
    let plan = say(&["run", "plan", "rk"]);
    let names = "2 pictures (dataset/2/images/a, b.jpg, dataset/3/images/a, b.jpg)";
    assert!(plan.contains(&format!("{names}: {replaced}")), "{plan}");
    assert!(say(&["doctor"]).contains(&format!("{names}: {replaced}")));
    let done = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(done.stderr.matches(replaced).count(), 2, "{done}");
    let done = done.expect_stderr("picture dataset/3/images/a, b.jpg was replaced");
    assert!(done.stderr.contains("3 completed"), "{done}");
}

#[test]
fn a_later_batch_of_the_run_knows_the_pictures_of_its_own_jobs() {
    let workspace = batch();
    workspace.write("dataset/4/images/a.jpg", b"new");
    for command in [
        &["catalog", "build"][..],
        &["batch", "create", "--run-id", "rk", "--algos", "mock"],
    ] {
        let _ = workspace.archi3d(command).run().expect_code(0);
    }
    workspace.write("dataset/1/images/a, b.jpg", b"other");
    workspace.write("dataset/4/images/a.jpg", b"other");
    let _ = workspace
        .archi3d(&["run", "plan", "rk"])
        .run()
        .expect_stderr("2 pictures (dataset/1/images/a, b.jpg, dataset/4/images/a.jpg)");
    let _ = workspace
        .archi3d(&["run", "remove", "rk", "--yes"])
        .run()
        .expect_code(0);
}
