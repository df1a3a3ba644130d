//! Datasets as they are found in the wild.

use super::*;

struct Dataset {
    folder: tempfile::TempDir,
}

impl Dataset {
    fn new(files: &[&str]) -> Self {
        let dataset = Self {
            folder: tempfile::tempdir().expect("temp folder"),
        };
        fs::create_dir_all(dataset.root().join("dataset")).expect("created");
        for file in files {
            dataset.file(file);
        }
        dataset
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).expect("there")
    }

    fn file(&self, path: &str) {
        let path = self.root().join("dataset").join(path);
        fs::create_dir_all(path.parent().expect("has one")).expect("created");
        fs::write(path, b"x").expect("written");
    }

    fn scan(&self) -> Scan {
        let workspace = Workspace::new(self.root());
        scan(&workspace, &workspace.dataset()).expect("scannable")
    }
}

fn troubles(found: &FolderFindings) -> Vec<(&str, &str)> {
    let all = found.troubles.iter();
    all.map(|trouble| (trouble.kind.word(), trouble.detail.as_str()))
        .collect()
}

#[test]
fn folders_are_listed_by_lower_cased_name_with_their_visible_files() {
    let dataset = Dataset::new(&[
        "b/images/1.jpg",
        "A/images/2.png",
        "A/images/.hidden.jpg",
        "A/images/sub/3.jpg",
        "A/gt/m.glb",
        ".git/images/4.jpg",
        "readme.txt",
    ]);
    let scan = dataset.scan();
    assert_eq!(scan.dataset, "dataset");
    let names: Vec<&str> = scan.folders.iter().map(|f| f.folder.as_str()).collect();
    assert_eq!(names, ["A", "b"]);
    assert_eq!(scan.folders[0].images, ["2.png"]);
    assert_eq!(scan.folders[0].gt, ["m.glb"]);
    assert_eq!(scan.folders[0].dir, "dataset/A");
    assert!(scan.folders[0].troubles.is_empty() && scan.unusable.is_empty());
}

#[test]
fn a_file_where_a_folder_should_be_is_a_trouble_of_that_item_alone() {
    let dataset = Dataset::new(&["1/images", "1/gt/m.glb", "2/images/a.jpg"]);
    let scan = dataset.scan();
    assert_eq!(
        troubles(&scan.folders[0]),
        [("not_a_folder", "dataset/1/images")]
    );
    assert_eq!(scan.folders[0].gt, ["m.glb"]);
    assert_eq!(scan.folders[1].images, ["a.jpg"]);
}

#[test]
fn a_missing_dataset_and_a_file_in_its_place_are_errors_that_name_it() {
    let dataset = Dataset::new(&["file"]);
    let workspace = Workspace::new(dataset.root());
    let missing = scan(&workspace, &dataset.root().join("nope")).expect_err("missing");
    assert!(
        missing
            .to_string()
            .starts_with("the dataset folder is missing: /")
    );
    let file = scan(&workspace, &dataset.root().join("dataset/file")).expect_err("a file");
    assert!(matches!(file, ScanError::NotAFolder(_)));
    let elsewhere = tempfile::tempdir().expect("temp folder");
    let outside = scan(&workspace, elsewhere.path()).expect_err("outside");
    assert!(matches!(outside, ScanError::Outside { .. }));
}

#[test]
fn strange_names_are_kept_as_they_are() {
    let long = "é".repeat(127);
    let names = [
        "1 - a\nb",
        "2 - 🪑",
        "3 - שלום",
        &long,
        "4 - caf\u{e9}",
        "4 - cafe\u{301}",
    ];
    let files: Vec<String> = names.iter().map(|n| format!("{n}/images/p.jpg")).collect();
    let dataset = Dataset::new(&files.iter().map(String::as_str).collect::<Vec<_>>());
    let scan = dataset.scan();
    assert_eq!(scan.folders.len(), names.len());
    for found in &scan.folders {
        assert!(names.contains(&found.folder.as_str()), "{:?}", found.folder);
        assert_eq!(found.images, ["p.jpg"]);
    }
}
