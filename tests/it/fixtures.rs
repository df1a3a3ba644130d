//! The shipped workspaces: small, valid, and not dependent on anything outside the repository.

use crate::support::{Registry, TestWorkspace, fixture, image_set_hash, job_id};

#[test]
fn the_small_workspace_has_six_valid_pictures_and_matching_tables() {
    let workspace = TestWorkspace::copy_of(&fixture("workspace_small"), "demo");
    let registry = workspace.registry();
    assert_eq!(
        (registry.columns.len(), registry.count("enqueued")),
        (31, 6)
    );
    let manifest = Registry::read(&workspace.run_path("manifest.csv"));
    assert_eq!((manifest.columns.len(), manifest.rows.len()), (15, 6));
    let mut pictures = Vec::new();
    for listed in &manifest.rows {
        let row = workspace.row(&listed["job_id"]);
        let image = row["used_image_1_path"].to_owned();
        let hash = image_set_hash(std::slice::from_ref(&image));
        assert_eq!(
            (&row["image_set_hash"], &listed["image_set_hash"]),
            (hash.as_str(), hash.as_str())
        );
        let id = job_id(&row["product_id"], &row["variant"], "mock", &hash);
        assert_eq!((&row["job_id"], &row["algo"]), (id.as_str(), "mock"));
        let picture = image::open(workspace.path(&image)).expect("a valid picture");
        pictures.push(picture.into_rgb8().into_raw());
    }
    pictures.sort();
    pictures.dedup();
    assert_eq!(pictures.len(), 6, "no two pictures are alike");
}

#[test]
fn the_original_workspace_is_complete_and_unchanged_by_checkout() {
    let workspace = TestWorkspace::copy_of(&fixture("original_workspace"), "r1");
    let registry = workspace.registry();
    assert_eq!(
        (registry.columns.len(), registry.count("completed")),
        (46, 6)
    );
    let before = Registry::parse(&workspace.bytes("tables/generations.phase2.snapshot"));
    assert_eq!((before.columns.len(), before.count("enqueued")), (31, 6));
    assert_eq!(workspace.jobs_with("completed").len(), 6);
    for row in &registry.rows {
        assert!(workspace.path(&row["gen_object_path"]).is_file());
        assert!(workspace.path(&row["used_image_1_path"]).is_file());
    }
    assert!(
        workspace
            .bytes("tables/generations.csv")
            .starts_with(b"\xef\xbb\xbf")
    );
    assert_eq!(workspace.log().events("worker_summary").len(), 1);
}
