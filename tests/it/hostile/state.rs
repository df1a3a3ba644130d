//! Markers, journals and results that somebody has spoilt.

use std::fs;
use std::os::unix::fs::symlink;

use super::Outcome::{SomeFail, Stops, Works};
use super::{Case, JOBS, assert_borne, case};
use crate::support::TestWorkspace;

fn marker(ws: &TestWorkspace, job: &str, ending: &str, bytes: &[u8]) {
    ws.write(&format!("runs/rk/state/{job}.{ending}"), bytes);
}

fn folder(ws: &TestWorkspace, below: &str) {
    fs::create_dir_all(ws.path(below)).expect("the name is free");
}

fn pipe(ws: &TestWorkspace, below: &str) {
    let made = std::process::Command::new("mkfifo")
        .arg(ws.path(below))
        .status();
    assert!(made.expect("mkfifo is there").success());
}

fn journal(ws: &TestWorkspace, bytes: &[u8]) {
    ws.write("runs/rk/state/journal/host-1-abcdef01.jsonl", bytes);
}

const MARKERS: &[Case] = &[
    case("an empty marker of a result", Works(3), |ws| {
        marker(ws, JOBS[0], "completed", b"");
    }),
    case("a marker of another tool", Works(3), |ws| {
        marker(
            ws,
            JOBS[0],
            "completed",
            b"pid: 7\ntimestamp: 2026-01-01T00:00:00+00:00\n",
        );
    }),
    case("a marker that is a folder", Works(3), |ws| {
        folder(ws, "runs/rk/state/job-one.completed");
    }),
    case("a marker that leads to another file", Works(3), |ws| {
        folder(ws, "runs/rk/state");
        symlink("/etc/passwd", ws.path("runs/rk/state/job-one.completed")).expect("free");
    }),
    case("a marker that leads nowhere", Works(3), |ws| {
        folder(ws, "runs/rk/state");
        symlink("nowhere", ws.path("runs/rk/state/job-one.failed")).expect("free");
    }),
    case("a marker with half a record", Works(3), |ws| {
        marker(
            ws,
            JOBS[0],
            "completed",
            b"timestamp: x\narchi3d: {\"v\":1,\ncheck: 00\n",
        );
    }),
    case("a marker of a later version", Works(3), |ws| {
        marker(
            ws,
            JOBS[0],
            "completed",
            b"archi3d: {\"v\":2,\"kind\":\"completed\"}\ncheck: 00\n",
        );
    }),
    case("a marker of 2 MB", Works(3), |ws| {
        marker(ws, JOBS[0], "failed", &vec![b'x'; 2 << 20]);
    }),
    case("a marker of bytes that are no text", Works(3), |ws| {
        marker(ws, JOBS[0], "completed", b"archi3d: \xff\xfe\0\x1b[2J\n");
    }),
    case("a lease of a time long gone", Works(2), |ws| {
        marker(
            ws,
            JOBS[0],
            "inprogress",
            b"timestamp: 1900-01-01T00:00:00+00:00\npid: 1\n",
        );
    }),
    case("a lease of a time to come", Works(2), |ws| {
        marker(
            ws,
            JOBS[0],
            "inprogress",
            b"timestamp: 9999-12-31T23:59:59+00:00\npid: 1\n",
        );
    }),
    case("a lease whose time is none", Works(2), |ws| {
        marker(
            ws,
            JOBS[0],
            "inprogress",
            b"timestamp: \x1b[31mnoon\npid: -1\n",
        );
    }),
    case("all markers at once, all empty", Works(3), |ws| {
        for ending in ["completed", "failed", "released", "cancelled"] {
            marker(ws, JOBS[0], ending, b"");
        }
    }),
    case("an empty marker that a job is out", Works(2), |ws| {
        marker(ws, JOBS[0], "cancelled", b"");
    }),
    case(
        "a request to stop that is a folder",
        Stops("job-one.cancel"),
        |ws| {
            folder(ws, "runs/rk/state/job-one.cancel/x");
        },
    ),
    case(
        "a job's lock that is a folder",
        Stops("job-one.lock"),
        |ws| {
            folder(ws, "runs/rk/state/job-one.lock");
        },
    ),
    case(
        "names in the state folder that mean nothing",
        Works(3),
        |ws| {
            for name in [
                "\u{1b}[2J.failed",
                "x.completed.corrupt-1",
                "-rf.inprogress",
            ] {
                ws.write(&format!("runs/rk/state/{name}"), b"");
            }
        },
    ),
];

const JOURNALS: &[Case] = &[
    case("a journal with a torn last line", Works(3), |ws| {
        journal(
            ws,
            b"{\"at\":\"2026-01-01T00:00:00+00:00\",\"event\":\"folded\",\"rows\":1}\n{\"at\":\"20",
        );
    }),
    case("a journal of other things", Works(3), |ws| {
        journal(ws, b"[1,2]\n7\nnull\n\"x\"\n{}\n{\"event\":\"finished\"}\n");
    }),
    case("a journal of a later version", Works(3), |ws| {
        journal(
            ws,
            b"{\"at\":\"2026-01-01T00:00:00+00:00\",\"event\":\"teleported\",\"v\":99}\n",
        );
    }),
    case("a journal of zeros", Works(3), |ws| {
        journal(ws, &vec![0; 1 << 20]);
    }),
    case("a journal of bytes that are no text", Works(3), |ws| {
        journal(ws, b"\xff\xfe\xfd\n\x1b[2J\n\n\n\r\n");
    }),
    case("a journal of very deep JSON", Works(3), |ws| {
        let deep = [vec![b'['; 200_000], vec![b']'; 200_000], b"\n".to_vec()].concat();
        journal(ws, &deep);
    }),
    case("a journal that is one long line", Works(3), |ws| {
        journal(ws, &vec![b'{'; 4 << 20]);
    }),
    case("a journal that is a pipe", Works(3), |ws| {
        folder(ws, "runs/rk/state/journal");
        pipe(ws, "runs/rk/state/journal/host-1-abcdef01.jsonl");
    }),
    case("a journal that is a folder", Works(3), |ws| {
        folder(ws, "runs/rk/state/journal/host-1-abcdef01.jsonl");
    }),
    case("a journal that leads to another file", Works(3), |ws| {
        folder(ws, "runs/rk/state/journal");
        symlink(
            "/etc/passwd",
            ws.path("runs/rk/state/journal/host-1-abcdef01.jsonl"),
        )
        .expect("free");
    }),
    case("a journal whose name is no worker's", Works(3), |ws| {
        ws.write("runs/rk/state/journal/-rf \u{1b}.jsonl", b"{}\n");
    }),
    case(
        "a journal that tells of a result outside the workspace",
        Works(3),
        |ws| {
            journal(
            ws,
            b"{\"at\":\"2026-01-01T00:00:00+00:00\",\"event\":\"finished\",\"job_id\":\"job-one\",\
              \"attempt\":1,\"nonce\":\"n\",\"entry\":\"fresh\",\"claimed_at\":\"2026-01-01T00:00:00+00:00\",\
              \"completed\":true,\"patch\":[],\"outputs\":[{\"name\":\"../../../../etc/passwd\",\"size\":1,\
              \"sha256\":\"00\"}],\"staging\":\"../../../../..\",\"purchases\":0,\
              \"content_key\":\"x-y\"}\n",
        );
        },
    ),
];

const RESULTS: &[Case] = &[
    case("a result's folder that is a file", Works(3), |ws| {
        ws.write("runs/rk/outputs/job-one", b"mine");
    }),
    case(
        "a result's folder that has somebody's files",
        Works(3),
        |ws| {
            ws.write("runs/rk/outputs/job-one/notes.txt", b"mine");
        },
    ),
    case("odd names among the attempts at work", Works(3), |ws| {
        for name in ["x", "job-one.1-", "-.-", "..x-y", "job-one.99999999999-n"] {
            ws.write(&format!("runs/rk/outputs/.staging/{name}/f"), b"");
        }
    }),
    case(
        "a ledger of money that is torn and foreign",
        Works(3),
        |ws| {
            ws.write(
                "tables/budget.jsonl",
                b"{\"at\":\n7\n{\"usd\":\"NaN\"}\n{\"at\":\"20",
            );
        },
    ),
    case(
        "a ledger of money that is a pipe",
        Stops("budget.jsonl"),
        |ws| {
            pipe(ws, "tables/budget.jsonl");
        },
    ),
    case(
        "a ledger of money that leads out",
        Stops("budget.jsonl"),
        |ws| {
            symlink("/etc/passwd", ws.path("tables/budget.jsonl")).expect("free");
        },
    ),
    case("a log that is a pipe", Works(3), |ws| {
        folder(ws, "logs");
        pipe(ws, "logs/worker.log");
    }),
    case("a closed provider whose file is none", SomeFail(0), |ws| {
        ws.write("runs/.providers/mock.closed.json", b"\xff{");
    }),
    case("files among the runs", Works(3), |ws| {
        ws.write("runs/notes.txt", b"mine");
        ws.write("runs/\u{1b}[2J/manifest.csv", b"");
        ws.write("runs/-rf/manifest.csv", b"");
    }),
    case("a log that is no text", Works(3), |ws| {
        ws.write("logs/worker.log", b"\xff\xfe\0\0 no line end");
    }),
];

#[test]
fn markers_of_every_kind_are_borne() {
    assert_borne(MARKERS);
}

#[test]
fn journals_of_every_kind_are_borne() {
    assert_borne(JOURNALS);
}

#[test]
fn results_of_every_kind_are_borne() {
    assert_borne(RESULTS);
}
