//! The folder of a report: whose it is, who may write in it, and what lies there.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::ops::report::data::Data;
use crate::ops::report::{ReportRequest, all_models, assets::Asset, look, setup};
use crate::ops::{OpsContext, OpsError};
use crate::store::error::IoContext;
use crate::workspace::durable;
use crate::workspace::lock::FileLock;

/// Marks a folder as a report from the first moment on, and keeps what is known of its
/// models between two builds.
pub(super) const FACTS: &str = ".archi3d-report.json";

const LOCK: &str = ".archi3d-report.lock";

/// What the page's data begin with.
pub(super) const ASSIGNMENT: &str = "window.archi3dData=";

/// Files of an earlier build that nothing names any more stay this long, for pages that
/// are still open.
const KEPT: Duration = Duration::from_secs(86_400);

/// The kinds of files that have the hash of their content as their name.
const KINDS: [&str; 3] = ["posters", "pictures", "models"];

/// Returns the report's folder, which must be new, empty or a report.
pub(super) fn of(context: &OpsContext, request: &ReportRequest) -> Result<PathBuf, OpsError> {
    let name = match &request.runs[..] {
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first}+{}", rest.len()),
        [] => {
            return Err(setup(
                "no run was named",
                "`archi3d run list` shows the runs",
            ));
        }
    };
    let usual = || context.workspace.root().join("reports").join(name);
    let folder = request.out.clone().unwrap_or_else(usual);
    let is_used = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !is_report(&folder) {
        return Err(setup(
            &format!("{} is not empty and holds no report", folder.display()),
            "name a new folder with --out",
        ));
    }
    Ok(folder)
}

fn is_report(folder: &Path) -> bool {
    let length = ASSIGNMENT.len() as u64;
    let data = durable::read_head(&folder.join("data.js"), length);
    folder.join(FACTS).exists() || data.is_ok_and(|(head, _)| head == ASSIGNMENT.as_bytes())
}

/// Makes the folder, marks it as a report and keeps other builders out until the lock is
/// dropped.
pub(super) fn claim(folder: &Path) -> Result<Option<FileLock>, OpsError> {
    fs::create_dir_all(folder).context("create", folder)?;
    let facts = folder.join(FACTS);
    if !facts.exists() {
        durable::replace_unsynced(&facts, b"{}", &std::process::id().to_string())
            .map(drop)
            .context("write", &facts)?;
    }
    let lock = folder.join(LOCK);
    Ok(FileLock::acquire(&lock, |_| true).context("lock", &lock)?)
}

/// Returns the names of everything that the page may ask for, by content.
pub(super) fn content(data: &mut Data) -> Vec<String> {
    let mut names = HashSet::new();
    for picture in data.items.iter().flat_map(|item| &item.pictures) {
        names.insert(format!("pictures/{}.jpg", picture.sha256));
    }
    for model in all_models(data) {
        let hash = &model.sha256;
        if model.poster {
            names.extend(look::posters(hash));
        }
        if model.payload {
            names.insert(format!("models/{hash}.glb.txt"));
        }
        names.extend(
            model
                .preview
                .iter()
                .map(|own| format!("pictures/{own}.jpg")),
        );
    }
    let mut names: Vec<String> = names.into_iter().collect();
    names.sort();
    names
}

/// Tells whether a file of a report is a picture.
pub(super) fn is_picture(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "jpg")
}

/// Returns the names of all files of a report, `index.html` last.
pub(super) fn files(content: &[String]) -> impl Iterator<Item = &str> {
    let assets = Asset::ALL.map(Asset::name);
    let content = content.iter().map(String::as_str);
    content
        .chain(assets)
        .chain(["data.js", Asset::Index.name()])
}

/// Returns how large the report is.
pub(super) fn size(folder: &Path, content: &[String]) -> io::Result<u64> {
    let mut total = 0;
    for name in files(content) {
        total += fs::metadata(folder.join(name))?.len();
    }
    Ok(total)
}

/// Removes what earlier builds left and nobody can still be looking at.
pub(super) fn remove_old(folder: &Path, content: &[String]) -> io::Result<()> {
    let used: HashSet<&str> = content.iter().map(String::as_str).collect();
    for kind in KINDS {
        let Ok(entries) = fs::read_dir(folder.join(kind)) else {
            continue;
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let hash = name.split('.').next().unwrap_or_default();
            let is_ours = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_ours || used.contains(format!("{kind}/{name}").as_str()) {
                continue;
            }
            let age = entry.metadata()?.modified().ok().and_then(age_of);
            if age.is_some_and(|age| age > KEPT) {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "compared with the file system's own clock, nothing is recorded"
)]
fn age_of(modified: SystemTime) -> Option<Duration> {
    SystemTime::now().duration_since(modified).ok()
}
