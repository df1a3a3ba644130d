//! The places at which faults can be injected: each has a name of its own, so that
//! `scripts/torture`, which finds them the same way, can aim at every one of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Every name in the sources, with the files it stands in.
fn points() -> BTreeMap<String, Vec<PathBuf>> {
    let pattern = Regex::new(r#"fault::(?:here|io)\(\s*"([^"]*)"\s*\)"#).expect("a constant");
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let mut pending = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/archi3d-core/src")];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).expect("source folders are readable") {
            let path = entry.expect("source folders are readable").path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("source files are text");
            for name in pattern.captures_iter(&text) {
                found
                    .entry(name[1].to_owned())
                    .or_default()
                    .push(path.clone());
            }
        }
    }
    found
}

#[test]
fn every_fault_point_has_a_name_of_its_own() {
    let points = points();
    let shared: Vec<_> = points.iter().filter(|(_, at)| at.len() > 1).collect();
    assert!(shared.is_empty(), "{shared:?}");
    let shape = Regex::new(r"^[a-z_]+\.[a-z_]+$").expect("a constant");
    let odd: Vec<_> = points.keys().filter(|name| !shape.is_match(name)).collect();
    assert!(odd.is_empty(), "{odd:?}");
}

#[test]
fn every_move_of_the_store_has_fault_points() {
    let points = points();
    for step in [
        "batch.",
        "beat.",
        "cancel.",
        "catalog.",
        "claim.",
        "close.",
        "finish.",
        "fold.",
        "give_back.",
        "intent.",
        "journal.",
        "publish.",
        "put_off.",
        "recover.",
        "redo.",
        "release.",
        "replace.",
        "submit.",
        "sweep.",
        "turn_lease.",
    ] {
        assert!(
            points.keys().any(|name| name.starts_with(step)),
            "{step} has none"
        );
    }
}
