//! The processes of this machine as Linux lists them; elsewhere the list is empty.

#[cfg(target_os = "linux")]
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) pid: i32,
    pub(super) parent: i32,
    /// It has ended and only waits to be noticed.
    pub(super) is_dead: bool,
}

/// Tells whether `/proc` numbers processes as we do. In a PID namespace that has kept
/// the `/proc` of another one, its numbers mean other processes here, even ourselves.
pub(super) fn is_ours() -> bool {
    static OURS: OnceLock<bool> = OnceLock::new();
    *OURS.get_or_init(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let own = std::process::id().to_string();
        numbers_alike(&status, &own)
    })
}

/// Reads our number in `/proc`, and that in every namespace below it.
fn numbers_alike(status: &str, own: &str) -> bool {
    let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let numbers = of("NSpid:").or_else(|| of("Pid:"));
    numbers.is_some_and(|numbers| numbers.split_ascii_whitespace().eq([own]))
}

/// Lists every process that can be seen; none where `/proc` means others.
pub(super) fn processes() -> Vec<Entry> {
    if !is_ours() {
        return Vec::new();
    }
    let folder = fs::read_dir("/proc").into_iter().flatten().flatten();
    folder
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(look)
        .collect()
}

fn look(pid: i32) -> Option<Entry> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &stat)
}

/// Lists what became a child of process `own` without being started by it, and
/// perhaps some that were. Linux gives such orphans to the first thread, whose
/// children are listed in one small file; to read the whole process table after
/// every program would cost more than the program.
pub(super) fn adopted(own: i32) -> Vec<Entry> {
    if !is_ours() {
        return Vec::new();
    }
    let Ok(children) = fs::read_to_string(format!("/proc/{own}/task/{own}/children")) else {
        // A kernel without such lists.
        let mut all = processes();
        all.retain(|entry| entry.parent == own);
        return all;
    };
    let children = children.split_ascii_whitespace();
    let children = children.filter_map(|pid| look(pid.parse().ok()?));
    children.filter(|entry| entry.parent == own).collect()
}

/// Lists every process below `root`, children before their own children.
#[cfg(target_os = "linux")]
pub(super) fn descendants(root: i32) -> Vec<Entry> {
    let all = processes();
    let mut found: Vec<Entry> = Vec::new();
    let mut known = HashSet::from([root]);
    loop {
        let more: Vec<Entry> = all
            .iter()
            .filter(|entry| known.contains(&entry.parent) && !known.contains(&entry.pid))
            .copied()
            .collect();
        if more.is_empty() {
            return found;
        }
        known.extend(more.iter().map(|entry| entry.pid));
        found.extend(more);
    }
}

/// Returns the variables a process was started with, each ended by a zero byte.
pub(super) fn environment(pid: i32) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{pid}/environ")).ok()
}

/// Tells whether a process works in `folder` or below it.
pub(super) fn works_in(pid: i32, folder: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|path| path.starts_with(folder))
}

/// Tells whether whoever started this process had the signal ignored; where the
/// system does not say, it was not.
#[cfg(target_os = "linux")]
pub(super) fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Reads `pid (name) state parent …`; the name may hold anything.
fn parse(pid: i32, stat: &[u8]) -> Option<Entry> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    Some(Entry {
        pid,
        parent: fields.next()?.parse().ok()?,
        is_dead: matches!(state, "Z" | "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_confuse() {
        let entry = parse(7, b"7 (a) Z (b)) S 42 7 7 0").expect("read");
        assert_eq!((entry.parent, entry.is_dead), (42, false));
        assert!(parse(7, b"7 (x) Z 1 1").expect("read").is_dead);
        assert_eq!(parse(7, b"nonsense"), None);
    }

    #[test]
    fn numbers_of_another_namespace_are_not_ours() {
        let status = |numbers: &str| format!("Name:\tx\nPid:\t7\nNSpid:\t{numbers}\n");
        assert!(numbers_alike(&status("7"), "7"));
        assert!(!numbers_alike(&status("4711\t7"), "7"));
        assert!(!numbers_alike(&status("7"), "2"));
        assert!(numbers_alike("Pid:\t7\n", "7"));
        assert!(!numbers_alike("", "7"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_child_is_a_descendant_and_keeps_its_variables() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .env("ARCHI3D_TEST", "here")
            .spawn()
            .expect("started");
        let pid = i32::try_from(child.id()).expect("small");
        let own = i32::try_from(std::process::id()).expect("small");
        assert!(descendants(own).iter().any(|entry| entry.pid == pid));
        let seen = || {
            environment(pid).is_some_and(|all| all.windows(17).any(|w| w == b"ARCHI3D_TEST=here"))
        };
        // Between fork and exec the child still has ours.
        while !seen() {
            std::thread::yield_now();
        }
        child.kill().expect("killed");
        child.wait().expect("reaped");
    }
}
