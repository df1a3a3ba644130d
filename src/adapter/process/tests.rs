//! Programs as they behave and misbehave, without a worker around them.

use std::fs;
use std::time::Instant;

use serde_json::json;

use super::*;
use crate::adapter::testing::{Bench, entry};
use crate::cancel::{Stage, StopReason};

/// A program that is a line of shell; the test's own PATH and one secret are visible.
fn shell(script: &str) -> Process {
    let options = json!({
        "command": ["/bin/sh", "-c", script], "env": ["FAL_KEY", "NOT_SET"], "stall_s": 30,
    });
    let path = std::env::var("PATH").unwrap_or_default();
    Process::new(&entry(Some("process"), options), &|name| match name {
        "PATH" => Some(path.clone()),
        "FAL_KEY" => Some("canary-12345".to_owned()),
        _ => None,
    })
}

fn failure(script: &str) -> (ErrorClass, String, String) {
    match Bench::new().run(&shell(script), 1) {
        Err(AdapterError::Failed {
            class,
            message,
            detail,
            ..
        }) => (class, message, detail.unwrap_or_default()),
        other => panic!("{script}: {other:?}"),
    }
}

#[test]
fn a_line_of_shell_is_an_adapter() {
    let bench = Bench::new();
    let script = "cat > request.json; printf x > generated.glb; printf y > preview_1.png";
    let result = bench.run(&shell(script), 3).expect("made");
    assert!(result.success);
    assert_eq!(result.generated_glb, Some("generated.glb".into()));
    assert_eq!(result.previews, [PathBuf::from("preview_1.png")]);
    let request = fs::read(bench.out_dir().join("request.json")).expect("read");
    let request: Value = serde_json::from_slice(&request).expect("JSON");
    let out_dir = bench.out_dir();
    assert_eq!(
        request,
        json!({
            "protocol": 1, "job_id": "d610ebfd455b", "product_id": "100001",
            "variant": "default", "algo": "mock", "used_images": [], "out_dir": out_dir,
            "workspace": bench.workspace.path(), "extra": {}, "attempt": 3,
            "idempotency_key": "key", "resume_request_id": null, "defaults": {},
        })
    );
}

#[test]
fn the_facts_are_variables_too_and_nothing_else_is_visible() {
    let bench = Bench::new();
    let script = "env > env.txt; pwd > pwd.txt; printf x > generated.glb";
    bench.run(&shell(script), 1).expect("made");
    let text = fs::read_to_string(bench.out_dir().join("env.txt")).expect("read");
    assert!(text.contains("ARCHI3D_JOB_ID=d610ebfd455b\n"));
    assert!(text.contains("ARCHI3D_ATTEMPT=1\n"));
    assert!(text.contains("FAL_KEY=canary-12345\n"));
    assert!(!text.contains("CARGO"), "{text}");
    let pwd = fs::read_to_string(bench.out_dir().join("pwd.txt")).expect("read");
    let out_dir = bench.out_dir().canonicalize().expect("there");
    assert_eq!(Path::new(pwd.trim()), out_dir);
}

#[test]
fn a_result_event_carries_everything() {
    let script = r#"echo '{"event":"result","success":true,"generated_glb":"m.glb","previews":[],"algo_version":"v2 canary-12345","estimated_cost_usd":0.3,"raw_metadata":{"k":"canary-12345"}}'; exit 3"#;
    let result = Bench::new().run(&shell(script), 1).expect("announced");
    assert_eq!(result.generated_glb, Some("m.glb".into()));
    assert_eq!(result.algo_version.as_deref(), Some("v2 ***"));
    assert_eq!(result.estimated_cost_usd, Some(0.3));
    assert_eq!(result.raw_metadata.expect("kept")["k"], "***");
}

#[test]
fn exit_codes_have_a_meaning_until_something_was_bought() {
    let bought = r#"echo '{"event":"submitted","request_id":"r"}';"#;
    for (script, class) in [
        ("exit 75".to_owned(), ErrorClass::Transient),
        ("exit 65".to_owned(), ErrorClass::BadInput),
        ("exit 69".to_owned(), ErrorClass::OutOfCredit),
        ("exit 1".to_owned(), ErrorClass::Permanent),
        ("exit 0".to_owned(), ErrorClass::Permanent),
        ("kill -9 $$".to_owned(), ErrorClass::Permanent),
        (format!("{bought} exit 1"), ErrorClass::Unknown),
        (format!("{bought} exit 0"), ErrorClass::Unknown),
        (format!("{bought} kill -9 $$"), ErrorClass::Unknown),
        (format!("{bought} exit 75"), ErrorClass::Transient),
        (format!("{bought} exit 69"), ErrorClass::OutOfCredit),
        (
            r#"echo '{"event":"error","class":"transient","message":"x"}'; exit 1"#.to_owned(),
            ErrorClass::Transient,
        ),
    ] {
        assert_eq!(failure(&script).0, class, "{script}");
    }
}

#[test]
fn an_error_says_the_last_words_without_secrets_and_what_is_not_set() {
    let (_, message, detail) = failure("echo first >&2; echo bad $FAL_KEY >&2; exit 9");
    assert_eq!(message, "sh ended with exit code 9: bad ***");
    assert!(detail.contains("first\nbad ***"), "{detail}");
    assert!(detail.contains("NOT_SET"), "{detail}");
    let (_, message, _) = failure(
        r#"echo "{\"event\":\"error\",\"class\":\"bad_input\",\"message\":\"key $FAL_KEY\"}""#,
    );
    assert_eq!(message, "key ***");
}

#[test]
fn a_program_that_is_missing_or_cannot_run_says_so() {
    let missing = entry(Some("process"), json!({"command": ["no-such-program-xyz"]}));
    let adapter = Process::new(&missing, &|_| None);
    let error = Bench::new().run(&adapter, 1).expect_err("missing");
    assert!(
        error
            .to_string()
            .contains("neither on PATH nor in the workspace"),
        "{error}"
    );
    let bench = Bench::new();
    fs::write(bench.workspace.path().join("plain"), b"text").expect("written");
    let plain = entry(Some("process"), json!({"command": ["plain"]}));
    let error = bench
        .run(&Process::new(&plain, &|_| None), 1)
        .expect_err("not executable");
    assert!(error.to_string().contains("executable"), "{error}");
}

#[test]
fn a_program_that_ignores_the_request_to_end_is_ended() {
    let bench = Bench::new();
    bench.cancel.raise(Stage::Kill);
    let started = Instant::now();
    let script = "trap '' TERM; while :; do sleep 1; done";
    let stopped = bench.run(&shell(script), 1);
    assert_eq!(stopped, Err(AdapterError::Stopped(StopReason::Killed)));
    assert!(started.elapsed() < Duration::from_secs(8));
}

#[test]
fn a_silent_program_is_stopped_and_one_that_lingers_keeps_its_result() {
    let mut quiet = shell("sleep 60");
    quiet.stall = Some(Duration::from_millis(200));
    let error = Bench::new().run(&quiet, 1).expect_err("stalled");
    assert_eq!(
        error.to_string(),
        "sh said nothing for 0.2 s (stall_s) and was stopped"
    );
    let mut lingers = shell(r#"echo '{"event":"result","generated_glb":"m.glb"}'; sleep 60"#);
    lingers.stall = Some(Duration::from_millis(200));
    let result = Bench::new().run(&lingers, 1).expect("it said its answer");
    assert_eq!(result.generated_glb, Some("m.glb".into()));
}

#[test]
fn early_ends_of_pipes_hang_nobody() {
    for script in [
        "exec 0<&-; printf x > generated.glb",
        "exec 1>&-; sleep 0.2; printf x > generated.glb",
        "exec 1>&- 2>&-; sleep 0.2; printf x > generated.glb",
        // What is left behind holds the pipes; it is ended with its group.
        "sleep 60 & printf x > generated.glb",
    ] {
        let started = Instant::now();
        Bench::new().run(&shell(script), 1).expect(script);
        assert!(started.elapsed() < Duration::from_secs(5), "{script}");
    }
}
