//! Folders that a sync program copies between machines: locks do not reach there.

use std::path::Path;

/// How the names of such folders begin, in lower case.
const BEGINNINGS: &[&str] = &[
    "onedrive",
    "dropbox",
    "google drive",
    "googledrive",
    "icloud",
    "mobile documents",
    "com~apple~clouddocs",
    "cloudstorage",
    "nextcloud",
    "owncloud",
    "pcloud",
    "box sync",
    "megasync",
    "seafile",
    "syncthing",
    "resilio",
    "tresorit",
    "proton drive",
    "protondrive",
    "yandex.disk",
    "kdrive",
];

/// Names that mean such a folder only as a whole, in lower case.
const NAMES: &[&str] = &["box", "mega", "my drive", "shared drives"];

/// What sync programs leave at the top of the folder they look after.
const MARKS: &[&str] = &[
    ".dropbox",
    ".dropbox.cache",
    ".stfolder",
    ".sync",
    ".owncloudsync.log",
];

/// Returns what tells that a sync program looks after `root`, if anything does.
pub fn sign(root: &Path) -> Option<String> {
    by_name(root).or_else(|| by_mark(root))
}

fn by_name(root: &Path) -> Option<String> {
    root.components().find_map(|part| {
        let name = part.as_os_str().to_string_lossy();
        let lower = name.to_lowercase();
        let known = BEGINNINGS.iter().any(|start| lower.starts_with(start))
            || NAMES.contains(&lower.as_str());
        known.then(|| name.into_owned())
    })
}

fn by_mark(root: &Path) -> Option<String> {
    let above = root.ancestors().take(6);
    above
        .flat_map(|folder| MARKS.iter().map(move |mark| folder.join(mark)))
        .find(|mark| {
            // Dropbox keeps its settings in a folder of that name, which means nothing.
            let settings = mark.file_name().is_some_and(|name| name == ".dropbox");
            mark.symlink_metadata()
                .is_ok_and(|found| !(settings && found.is_dir()))
        })
        .map(|mark| mark.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synced_folders_are_known_by_name() {
        for path in [
            "/home/x/Nextcloud/ws",
            "/Users/x/Library/Mobile Documents/com~apple~CloudDocs/ws",
            "/home/x/OneDrive - Company/ws",
            "/Users/x/Library/CloudStorage/Box-Box/ws",
            "/home/x/Box/ws",
        ] {
            assert!(sign(Path::new(path)).is_some(), "{path}");
        }
        assert_eq!(sign(Path::new("/srv/boxes/megastore/ws")), None);
    }

    #[test]
    fn synced_folders_are_known_by_what_lies_at_their_top() {
        let folder = tempfile::tempdir().expect("temp folder");
        let root = folder.path().join("share/ws");
        std::fs::create_dir_all(&root).expect("made");
        std::fs::create_dir(folder.path().join(".dropbox")).expect("made");
        assert_eq!(by_mark(&root), None);
        std::fs::create_dir(folder.path().join(".stfolder")).expect("made");
        assert!(by_mark(&root).is_some());
    }
}
