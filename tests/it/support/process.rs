//! Workspaces whose jobs are carried out by programs, and what is left of these programs.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};

use super::fixture;
use super::wait::wait_until;
use super::workspace::TestWorkspace;

/// Makes a workspace whose jobs are one Python program, with further lines of its entry.
pub fn python(products: usize, program: &str, options: &[&str]) -> TestWorkspace {
    let mut lines = vec!["command: [python3, make.py]"];
    lines.extend(options);
    let workspace = entry(products, &lines);
    workspace.write("make.py", program.as_bytes());
    workspace
}

/// Makes a workspace whose jobs are one line of shell, with further lines of its entry.
pub fn shell(products: usize, script: &str, options: &[&str]) -> TestWorkspace {
    let mut lines = vec!["command: [sh, make.sh]"];
    lines.extend(options);
    let workspace = entry(products, &lines);
    workspace.write("make.sh", script.as_bytes());
    workspace
}

/// Makes a workspace whose jobs are carried out as these lines of `adapters.yaml` say; the model
/// of a dry run lies in it as `cube.glb`.
pub fn entry(products: usize, lines: &[&str]) -> TestWorkspace {
    let yaml = format!(
        "adapters:\n  tool:\n    kind: process\n    {}\n",
        lines.join("\n    ")
    );
    let workspace = TestWorkspace::with_products(products)
        .algo("tool")
        .adapters(&yaml)
        .build();
    let cube = fs::read(fixture("simulate/cube.glb")).expect("shipped");
    workspace.write("cube.glb", &cube);
    workspace
}

/// Sends a signal by name (`INT`, `TERM`, `STOP`, `CONT`). After `STOP` no thread of the process runs:
/// on a busy machine those that it did not reach first go on for a while.
#[track_caller]
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, &pid.to_string()])
        .status();
    assert!(
        sent.as_ref().is_ok_and(ExitStatus::success),
        "{name}: {sent:?}"
    );
    if name == "STOP" {
        wait_until("every thread stands still", || {
            let threads = fs::read_dir(format!("/proc/{pid}/task"))
                .into_iter()
                .flatten();
            let mut stats = threads
                .flatten()
                .map(|thread| fs::read_to_string(thread.path().join("stat")));
            stats.all(|stat| {
                let stat = stat.unwrap_or_default();
                let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
                state.is_empty() || state.starts_with(['T', 't', 'Z', 'X'])
            })
        });
    }
}

/// Returns the command lines of all programs that still run for a workspace.
pub fn survivors(workspace: &TestWorkspace) -> Vec<String> {
    let mark = format!("ARCHI3D_WORKSPACE={}", workspace.root().display());
    let is_ours = |pid: &u32| {
        let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = variables.split(|byte| *byte == 0);
        variables.any(|variable| variable == mark.as_bytes())
    };
    processes().filter(is_ours).map(command_line).collect()
}

/// Tells whether any process was started with these words.
pub fn is_running(words: &str) -> bool {
    processes().any(|pid| command_line(pid).trim() == words)
}

fn command_line(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// Returns the children of a process.
pub fn children(parent: u32) -> Vec<u32> {
    let is_child = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit(')').next().unwrap_or_default();
        rest.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    processes().filter(is_child).collect()
}

/// Returns the most memory a process ever had, in kB.
pub fn peak_memory_kb(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns every file below a folder that holds a text.
pub fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if fs::read(&path).is_ok_and(|bytes| {
            bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        }) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
