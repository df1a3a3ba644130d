//! The place: file system, mount, room, permissions, sync programs.

use std::fs;
use std::path::Path;

use crate::domain::finding::{Code, Finding, Severity};
use crate::domain::text::{counted, shell_word};
use crate::platform::place::{self, Space};
use crate::platform::{self, FileSystemKind};
use crate::workspace::paths::Workspace;
use crate::workspace::synced;

use super::{Checkup, unreadable};

/// Below this much room a worker may have to stop soon,
pub const LOW_BYTES: u64 = 1 << 30;

/// and below this much it stops now.
const NO_BYTES: u64 = 64 << 20;

/// Below this many files that can be made, jobs may fail to start.
const LOW_FILES: u64 = 10_000;

pub(super) fn look(workspace: &Workspace, checkup: &mut Checkup) {
    let root = workspace.root();
    checkup.fact("workspace", root.display().to_string());
    look_at_mount(root, checkup);
    look_for_sync(root, checkup);
    match place::space(root) {
        Ok(space) => look_at_space(space, checkup),
        Err(error) => checkup.find(unreadable(".", &error)),
    }
    look_at_permissions(workspace, checkup);
}

fn look_at_mount(root: &Path, checkup: &mut Checkup) {
    let mount = place::mount(root);
    let kind = platform::file_system_kind(root).unwrap_or(FileSystemKind::User);
    let name = mount.as_ref().map(|mount| mount.kind.clone());
    let reach = match &kind {
        FileSystemKind::Local => "local",
        FileSystemKind::Network(_) => "network",
        FileSystemKind::User => "run by a program",
    };
    let shown = name.map_or_else(|| reach.to_owned(), |name| format!("{name}, {reach}"));
    checkup.fact("file system", shown.clone());
    if kind != FileSystemKind::Local {
        let what = format!("the workspace is on {shown}");
        checkup.find(Finding::new(Code::NetworkFolder, what).at(".", None));
    }
    let options = mount.map(|mount| mount.options).unwrap_or_default();
    let has = |name: &str| options.iter().any(|option| option == name);
    if has("ro") {
        let finding = Finding::new(Code::ReadOnly, "the file system is mounted read-only");
        checkup.find(finding.at(".", None).fix("mount it for writing"));
    }
    let unlocked = options.iter().find(|option| {
        matches!(
            option.as_str(),
            "nolock" | "nobrl" | "local_lock=all" | "local_lock=flock"
        )
    });
    if let Some(option) = unlocked {
        let what = format!("the file system is mounted with {option}");
        let fix = format!("mount it without {option}, or use one machine at a time");
        checkup.find(Finding::new(Code::NoLockMount, what).at(".", None).fix(fix));
    }
}

fn look_for_sync(root: &Path, checkup: &mut Checkup) {
    if let Some(sign) = synced::sign(root) {
        let what = format!("a sync program looks after this folder ({sign})");
        checkup.find(
            Finding::new(Code::SyncedFolder, what)
                .at(".", None)
                .fix("work on one machine at a time, or move the workspace to a plain disk"),
        );
    }
}

fn look_at_space(space: Space, checkup: &mut Checkup) {
    let mega = |bytes: u64| bytes >> 20;
    let mut fact = format!(
        "{} MB of {} MB",
        mega(space.free_bytes),
        mega(space.total_bytes)
    );
    if let Some((free, total)) = space.files {
        fact = format!("{fact}, {free} of {total} files");
    }
    checkup.fact("room", fact);
    if space.free_bytes < LOW_BYTES {
        let what = format!("only {} MB are free", mega(space.free_bytes));
        let severity = if space.free_bytes < NO_BYTES {
            Severity::Error
        } else {
            Severity::Warning
        };
        let finding = Finding::new(Code::LowSpace, what).at(".", None);
        checkup.find(finding.fix("make room on the disk").severity(severity));
    }
    if let Some((free, _)) = space.files.filter(|(free, _)| *free < LOW_FILES) {
        let what = format!("only {free} more files can be made");
        let finding = Finding::new(Code::LowInodes, what).at(".", None);
        checkup.find(finding.fix("free space on the disk"));
    }
}

/// Looks at the folders that hold records; what is in them is looked at elsewhere.
fn look_at_permissions(workspace: &Workspace, checkup: &mut Checkup) {
    let mut folders = vec![
        workspace.root().to_owned(),
        workspace.tables(),
        workspace.runs(),
        workspace.logs(),
        workspace.config(),
    ];
    for run_id in workspace.run_ids().unwrap_or_default() {
        let run = workspace.run(&run_id);
        folders.extend([run.root().to_owned(), run.state(), run.journals()]);
    }
    let mut open: Vec<String> = Vec::new();
    for file in [
        workspace.registry(),
        workspace.tables().join("budget.jsonl"),
    ] {
        let metadata = fs::symlink_metadata(&file).ok();
        if metadata.is_some_and(|found| found.is_file() && place::is_world_writable(&found)) {
            open.push(shown(workspace, &file));
        }
    }
    for folder in folders {
        let shown = shown(workspace, &folder);
        let Ok(metadata) = fs::symlink_metadata(&folder) else {
            continue; // Not there; whoever needs it makes it.
        };
        if !metadata.is_dir() {
            continue;
        }
        if let Err(error) = fs::read_dir(&folder) {
            checkup.find(unreadable(&shown, &error));
        }
        if metadata.permissions().readonly() {
            let finding = Finding::new(Code::ReadOnly, "the folder is read-only");
            checkup.find(finding.at(&shown, None).fix(format!("chmod u+w {shown}")));
        }
        if place::is_world_writable(&metadata) {
            open.push(shown);
        }
    }
    if !open.is_empty() {
        let what = format!(
            "{} can be written by everybody",
            counted(open.len(), "place")
        );
        let named: Vec<String> = open.iter().map(|path| shell_word(path)).collect();
        let fix = format!("chmod o-w {}", named.join(" "));
        let finding = Finding::new(Code::WorldWritable, what).fix(fix);
        let finding = open
            .iter()
            .fold(finding, |finding, path| finding.at(path, None));
        checkup.find(finding);
    }
}

fn shown(workspace: &Workspace, path: &Path) -> String {
    match workspace.relative(path) {
        Some(inside) if inside.is_empty() => ".".to_owned(),
        Some(inside) => inside,
        None => path.display().to_string(),
    }
}
