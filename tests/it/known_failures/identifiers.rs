//! W24: ids and paths that lead elsewhere, hide, or collide with our own names. They are refused
//! before anything is made, and nothing appears outside the workspace.

use super::{executions, quick, statuses, text_of};
use crate::support::TestWorkspace;
use crate::support::read::tree;

/// Texts that are no ids, as run id or as job id.
const REFUSED: &[&str] = &[
    "../../etc/passwd",
    "../../escaped",
    "../escaped",
    "rk/../../escaped",
    "/abs",
    "C:\\x",
    "\\\\srv\\x",
    "a/b",
    "a\\b",
    "",
    ".",
    "..",
    "CON",
    "NUL.txt",
    "nul",
    "COM1",
    "lpt9.csv",
    "x.",
    "x ",
    " x",
    "a\nb",
    "a\rb",
    "a\u{1b}[2Jb",
    "x.failed",
    "x.lock",
    "x.completed",
    "x.released",
    "x.inprogress",
    "x.inprogress.tmp",
    "x.error.txt",
    "-rf",
    "--help",
    "--json",
    "=cmd|' /C calc'!A0",
    "a\u{202e}b",
    "a\u{200b}b",
    "a\u{feff}b",
    ".hidden",
    "a..b",
    "a:b",
    "a*",
    "a?",
];

fn refused() -> Vec<String> {
    let long = ["x".repeat(129), "x".repeat(256), "x".repeat(4096)];
    REFUSED
        .iter()
        .map(|id| (*id).to_owned())
        .chain(long)
        .collect()
}

#[test]
fn w24_run_ids_that_are_no_names_are_refused_and_nothing_is_made() {
    let workspace = quick(1).build();
    let before = tree(workspace.outside());
    for run in refused() {
        for command in ["worker", "status"] {
            let output = workspace
                .archi3d(&["run", command, "--run-id", &run])
                .run()
                .expect_code(2)
                .expect_stderr("run id");
            assert!(!output.stderr.contains('\u{1b}'), "{output:?}");
            assert!(
                !output.stderr.contains("Usage: archi3d"),
                "{run:?}: {output}"
            );
        }
    }
    assert_eq!(tree(workspace.outside()), before);
}

#[test]
fn w24_a_run_that_does_not_exist_is_not_made_by_asking_for_it() {
    let workspace = quick(1).build();
    let before = workspace.tree();
    for run in ["typo", "RK", "rk2"] {
        let _ = workspace
            .archi3d(&["run", "worker", "--run-id", run])
            .run()
            .expect_code(2)
            .expect_stderr(run);
    }
    assert_eq!(workspace.tree(), before);
}

/// Adds a copy of the first job under another id to both tables.
fn add_job(workspace: &TestWorkspace, id: &str) {
    let quoted = format!("\"{}\"", id.replace('"', "\"\""));
    for table in ["tables/generations.csv", "runs/rk/manifest.csv"] {
        let mut text = text_of(workspace, table);
        let line = text.lines().nth(1).expect("a first job").to_owned();
        text += &line.replace(workspace.id(0), &quoted);
        text += "\n";
        workspace.write(table, text.as_bytes());
    }
}

#[test]
fn w24_job_ids_that_are_no_names_are_left_alone_and_the_others_run() {
    let workspace = quick(2).build();
    let ids = refused();
    for id in &ids {
        add_job(&workspace, id);
    }
    let output = workspace
        .worker(&["--max-parallel", "2"])
        .run()
        .expect_code(0);
    assert!(!output.stderr.contains('\u{1b}'), "{output:?}");
    assert_eq!(statuses(&workspace), ["completed", "completed"]);
    assert_eq!(executions(&workspace).len(), 2);
    let registry = workspace.registry();
    assert_eq!(registry.rows.len(), 2 + ids.len());
    for (row, id) in registry.rows[2..].iter().zip(&ids) {
        assert_eq!((&row["job_id"], &row["status"]), (id.as_str(), "enqueued"));
    }
    let beside: Vec<_> = tree(workspace.outside())
        .into_keys()
        .filter(|name| name != "ws/" && !name.starts_with("ws/"))
        .collect();
    assert!(beside.is_empty(), "{beside:?}");
    let outputs: Vec<_> = tree(&workspace.run_path("outputs"))
        .into_keys()
        .filter(|name| name.matches('/').count() == 1 && name.ends_with('/'))
        .filter(|name| !name.starts_with('.'))
        .collect();
    assert_eq!(outputs.len(), 2, "{outputs:?}");
}

#[test]
fn w24_ids_that_only_look_odd_are_taken_as_they_are() {
    let odd = [
        "001", "1e5", "True", "nan", "20250101", "Già", "=x", "a b", "@x", "+1",
    ];
    let workspace = quick(odd.len()).job_ids(odd).build();
    let _ = workspace
        .worker(&["--max-parallel", "2"])
        .run()
        .expect_code(0);
    let registry = workspace.registry();
    let found: Vec<_> = registry.rows.iter().map(|row| &row["job_id"]).collect();
    assert_eq!(found, odd);
    assert_eq!(registry.count("completed"), odd.len());
}

#[cfg(target_os = "linux")]
#[test]
fn w24_ids_that_differ_in_case_or_in_accents_are_different_jobs() {
    let twins = ["Job1", "job1", "caf\u{e9}", "cafe\u{301}"];
    let workspace = quick(4).job_ids(twins).build();
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(executions(&workspace), twins);
    assert_eq!(statuses(&workspace), ["completed"; 4]);
}

#[cfg(unix)]
#[test]
fn w24_a_job_that_the_disk_cannot_tell_from_another_is_refused() {
    let workspace = quick(3).job_ids(["Job1", "job1", "other"]).build();
    // As on a disk that ignores case, the folder answers to its name in capitals.
    std::fs::create_dir_all(workspace.run_path("state")).expect("it is writable");
    std::os::unix::fs::symlink("state", workspace.run_path("STATE")).ok();
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(0)
        .expect_stderr("this disk cannot tell it from job Job1");
    assert_eq!(executions(&workspace), ["Job1", "other"]);
    assert_eq!(statuses(&workspace), ["completed", "enqueued", "completed"]);
}

#[test]
fn w24_algorithms_variants_and_pictures_that_lead_elsewhere_escape_nowhere() {
    let workspace = quick(4).build();
    let secret = workspace.outside().join("secret.jpg");
    std::fs::write(&secret, b"not yours").expect("temporary folders are writable");
    let image = |index: usize| workspace.jobs()[index].images[0].clone();
    for table in ["tables/generations.csv", "runs/rk/manifest.csv"] {
        let text: String = text_of(&workspace, table)
            .split_inclusive('\n')
            .map(|line| {
                if line.contains(workspace.id(0)) {
                    line.replace("trellis_single", "../../x")
                } else if line.contains(workspace.id(1)) {
                    line.replace(&image(1), "../secret.jpg")
                } else if line.contains(workspace.id(2)) {
                    line.replace(&image(2), &secret.to_string_lossy())
                } else {
                    line.replacen(",default,", ",../../../up,", 1)
                }
            })
            .collect();
        workspace.write(table, text.as_bytes());
    }
    let beside = || -> Vec<String> {
        let names = tree(workspace.outside()).into_keys();
        names.filter(|name| !name.starts_with("ws/")).collect()
    };
    let before = beside();
    let _ = workspace.worker(&[]).run().expect_code(1);
    assert_eq!(beside(), before);
    assert_eq!(
        statuses(&workspace),
        ["enqueued", "failed", "failed", "completed"]
    );
    assert_eq!(executions(&workspace), [workspace.id(3)]);
}

/// Puts a link to a folder or file beside the workspace where the program would write.
#[cfg(unix)]
fn with_link(below: &str, elsewhere: &std::path::Path, workspace: &TestWorkspace) {
    let path = workspace.path(&below.replace("JOB", workspace.id(0)));
    let folder = path.parent().expect("it is below the workspace");
    std::fs::create_dir_all(folder).expect("temporary folders are writable");
    std::os::unix::fs::symlink(elsewhere, &path).expect("temporary folders are writable");
}

#[cfg(unix)]
#[test]
fn w24_folders_that_a_link_moves_out_of_the_workspace_are_refused() {
    for link in [
        "",
        "/state",
        "/outputs",
        "/state/journal",
        "/outputs/.staging",
    ] {
        let workspace = quick(1).build();
        let elsewhere = workspace.outside().join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("temporary folders are writable");
        if link.is_empty() {
            // The run itself lies elsewhere, with everything in it.
            let run = workspace.run_path("");
            std::fs::copy(run.join("manifest.csv"), elsewhere.join("manifest.csv"))
                .expect("temporary folders are writable");
            std::fs::remove_dir_all(run).expect("temporary folders are writable");
        }
        with_link(&format!("runs/rk{link}"), &elsewhere, &workspace);
        let before = tree(workspace.outside());
        let _ = workspace
            .worker(&[])
            .run()
            .expect_code(2)
            .expect_stderr(if link.is_empty() {
                "links are not runs"
            } else {
                "a link leads out of the workspace"
            });
        assert_eq!(tree(workspace.outside()), before, "{link}");
    }
}

#[cfg(unix)]
#[test]
fn w24_files_that_are_links_are_never_written_through() {
    let links = [
        "logs/worker.log",
        "logs/worker.log.lock",
        "tables/generations.lock",
        "runs/rk/outputs/JOB",
        "runs/rk/state/recovery.lock",
        "runs/rk/state/JOB.lock",
        "runs/rk/state/JOB.inprogress",
        "runs/rk/state/JOB.completed",
        "runs/rk/state/JOB.failed",
        "runs/rk/state/JOB.released",
        "runs/rk/state/JOB.error.txt",
    ];
    for link in links {
        let workspace = quick(1).build();
        let elsewhere = workspace.outside().join("elsewhere");
        std::fs::write(&elsewhere, b"kept").expect("temporary folders are writable");
        with_link(link, &elsewhere, &workspace);
        let output = workspace.worker(&[]).run();
        // A lock that is no lock stops the worker; anything else is put aside or done without.
        assert!(matches!(output.code(), Some(0 | 3)), "{link}: {output}");
        let kept = std::fs::read(&elsewhere).expect("it is still there");
        assert_eq!(kept, b"kept", "{link}");
        let row = workspace.row(workspace.id(0));
        if output.code() == Some(0) {
            let glb = workspace.path(&row["gen_object_path"]);
            let glb = glb.canonicalize().expect("the model is there");
            assert!(
                glb.starts_with(workspace.root()),
                "{link}: {}",
                glb.display()
            );
        } else {
            assert_eq!(&row["status"], "enqueued", "{link}");
        }
    }
}
