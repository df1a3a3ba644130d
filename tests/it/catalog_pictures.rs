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
    let _ = workspace
        .archi3d(&["config", "show"])
        .run()
        .expect_code(0)
        .expect_stderr("config/global.yaml:2: `thresholds` is not used by archi3d");
}
