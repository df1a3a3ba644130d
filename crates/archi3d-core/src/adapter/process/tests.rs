//! Programs as they behave and misbehave, without a worker around them.

use std::fs;
use std::time::Instant;

use serde_json::json;

use super::*;
use crate::adapter::testing::{Bench, entry};
use crate::cancel::{Stage, StopReason};
use crate::domain::retry::ErrorClass;

/// A program that is a line of shell; the test's own PATH and one secret are visible.
fn shell(script: &str) -> Process {
    let options = json!({
        "command": ["/bin/sh", "-c", script], "env": ["FAL_KEY", "NOT_SET"], "stall_s": 30,
    });
    let path = std::env::var("PATH").unwrap_or_default();
    let env = move |name: &str| match name {
        "PATH" => Some(path.clone()),
        "FAL_KEY" => Some("canary-12345".to_owned()),
        _ => None,
    };
    Process::new(&entry(Some("process"), options), Arc::new(env))
}

fn failure(script: &str) -> (ErrorClass, String, String) {
    match Bench::new().run(&shell(script), 1) {
        Err(
            AdapterError::Failed {
                class,
                message,
                detail,
                ..
            }
            | AdapterError::CutOff {
                class,
                message,
                detail,
            },
        ) => (class, message, detail.unwrap_or_default()),
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
            "idempotency_key": "key", "resume_request_id": null, "open_intent": null, "defaults": {},
        })
    );
}

#[test]
fn the_facts_are_variables_too_and_nothing_else_is_visible() {
    let bench = Bench::new();
    let script = "env > env.dat; pwd > pwd.txt; printf x > generated.glb";
    bench.run(&shell(script), 1).expect("made");
    let text = fs::read_to_string(bench.out_dir().join("env.dat")).expect("read");
    assert!(text.contains("ARCHI3D_JOB_ID=d610ebfd455b\n"));
    assert!(text.contains("ARCHI3D_ATTEMPT=1\n"));
    assert!(text.contains("FAL_KEY=***\n"));
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
        (
            format!(r#"{bought} echo '{{"event":"result"}}'"#),
            ErrorClass::Unknown,
        ),
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
    let adapter = Process::new(&missing, Arc::new(|_: &str| None));
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
        .run(&Process::new(&plain, Arc::new(|_: &str| None)), 1)
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
    assert!(started.elapsed() < Duration::from_secs(30));
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
    let mut lingers =
        shell(r#"echo '{"event":"result","success":true,"generated_glb":"m.glb"}'; sleep 60"#);
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
        assert!(started.elapsed() < Duration::from_secs(30), "{script}");
    }
}

/// Stops a job once its program has made the file `said`, and returns what came of it.
fn stopped_after_words(script: &str, stage: Stage) -> Result<GenerationResult, AdapterError> {
    let bench = Bench::new();
    let said = bench.out_dir().join("said");
    let cancel = bench.cancel.clone();
    let raiser = std::thread::spawn(move || {
        while !said.exists() {
            std::thread::yield_now();
        }
        cancel.raise(stage);
    });
    let result = bench.run(&shell(script), 1);
    raiser.join().expect("raised");
    result
}

#[test]
fn a_purchase_without_a_usable_id_is_never_forgotten() {
    for id in ["null", r#""""#, "[]", r#""id-$FAL_KEY""#] {
        let id = id.replace('"', "\\\"");
        let bought =
            format!(r#"echo "{{\"event\":\"submitted\",\"request_id\":{id}}}"; : > said;"#);
        let transient = r#"echo '{"event":"error","class":"transient","message":"x"}'"#;
        for end in ["exit 75", "exit 0", "kill -9 $$", transient] {
            let (class, message, _) = failure(&format!("{bought} {end}"));
            assert_eq!(class, ErrorClass::Unknown, "{id} {end}: {message}");
        }
        let script = format!("{bought} exec sleep 60");
        match stopped_after_words(&script, Stage::Kill) {
            Err(AdapterError::Failed { class, message, .. }) => {
                assert_eq!(class, ErrorClass::Unknown);
                assert!(
                    message.contains("had announced a purchase with"),
                    "{message}"
                );
                assert!(!message.contains("canary"), "{message}");
            }
            other => panic!("{id}: {other:?}"),
        }
    }
}

#[test]
fn a_program_that_is_cut_off_is_told_from_one_that_failed() {
    let is_cut_off = |adapter: &Process| {
        let error = Bench::new().run(adapter, 1).expect_err("no result");
        matches!(error, AdapterError::CutOff { .. })
    };
    assert!(is_cut_off(&shell("kill -9 $$")));
    assert!(!is_cut_off(&shell("exit 1")));
    let mut quiet = shell("sleep 60");
    quiet.stall = Some(Duration::from_millis(100));
    assert!(is_cut_off(&quiet));
}

#[test]
fn a_doubt_that_is_said_when_asked_to_end_counts() {
    let says = |class: &str| {
        format!(
            r#"trap 'echo "{{\"event\":\"error\",\"class\":\"{class}\",\"message\":\"x\"}}"; exit 1' TERM
            : > said; while :; do sleep 0.05; done"#
        )
    };
    match stopped_after_words(&says("unknown"), Stage::Kill) {
        Err(AdapterError::Failed { class, .. }) => assert_eq!(class, ErrorClass::Unknown),
        other => panic!("{other:?}"),
    }
    let given_back = stopped_after_words(&says("transient"), Stage::Kill);
    assert_eq!(given_back, Err(AdapterError::Stopped(StopReason::Killed)));
}

#[test]
fn a_result_knows_how_its_program_ended() {
    let script = r#"echo why >&2; echo '{"event":"result","success":true}'; exit 3"#;
    let result = Bench::new().run(&shell(script), 1).expect("announced");
    let detail = result.detail.expect("kept");
    assert!(
        detail.contains("exit code 3") && detail.contains("why"),
        "{detail}"
    );
}

#[test]
fn secrets_deep_in_the_defaults_are_masked() {
    let mut adapter = shell("echo one-nested-secret two-nested-secret >&2; exit 9");
    let defaults = json!({
        "login": {"api_key": "one-nested-secret"},
        "credentials": [{"user": "two-nested-secret"}],
    });
    adapter.defaults = defaults.as_object().expect("an object").clone();
    let error = Bench::new().run(&adapter, 1).expect_err("fails");
    assert_eq!(error.to_string(), "sh ended with exit code 9: *** ***");
}

/// Notes purchases on a disk that is slower than the patience for last words.
#[derive(Default)]
struct SlowDisk {
    remarks: Vec<String>,
    made: Vec<crate::adapter::GenerationResult>,
}

impl crate::adapter::JobReporter for SlowDisk {
    fn progress(&mut self, _: f64, remark: Option<&str>) {
        self.remarks.extend(remark.map(str::to_owned));
    }

    fn intent(&mut self, _: &str) -> Result<(), AdapterError> {
        Ok(())
    }

    fn submitted(&mut self, _: &str, _: Option<f64>) -> Result<(), AdapterError> {
        std::thread::sleep(Duration::from_millis(700));
        Ok(())
    }

    fn made(&mut self, result: &crate::adapter::GenerationResult) {
        self.made.push(result.clone());
    }
}

#[test]
fn remarks_have_no_secrets_and_a_result_is_heard_after_a_slow_purchase() {
    let bench = Bench::new();
    let request = GenerationRequest {
        job_id: "d610ebfd455b".to_owned(),
        product_id: "100001".to_owned(),
        variant: String::new(),
        algo: "a".to_owned(),
        used_images: Vec::new(),
        out_dir: bench.out_dir(),
        workspace: bench.workspace.path().to_owned(),
        extra: Map::new(),
    };
    let mut reporter = SlowDisk::default();
    let mut context = JobContext {
        attempt: 1,
        idempotency_key: "key".to_owned(),
        resume_request_id: None,
        open_intent: None,
        given_up: false,
        started_at: crate::domain::time::Timestamp::new(chrono::DateTime::UNIX_EPOCH),
        log_path: None,
        stop: crate::cancel::JobStop::new(bench.cancel.clone(), None),
        reporter: &mut reporter,
    };
    let script = r#"x=$(printf '%0195d' 0)
        echo "{\"event\":\"progress\",\"fraction\":0.1,\"message\":\"$x$FAL_KEY\"}"
        for id in a b; do echo "{\"event\":\"submitted\",\"request_id\":\"$id\"}"; done
        echo "{\"event\":\"result\",\"success\":true,\"algo_version\":\"$FAL_KEY\",
        \"raw_metadata\":{\"key\":\"$FAL_KEY\"},\"generated_glb\":\"$FAL_KEY.glb\"}" | tr -d '\n'
        echo; kill -9 $$"#;
    let result = shell(script).generate(&request, &mut context);
    assert!(result.expect("announced").success);
    let masked = format!("{}***", "0".repeat(195));
    assert_eq!(reporter.remarks, [masked], "no start of a secret is left");
    let [made] = &reporter.made[..] else {
        panic!("an answer is told once: {:?}", reporter.made);
    };
    assert_eq!(made.algo_version.as_deref(), Some("***"));
    assert_eq!(made.raw_metadata.as_ref().expect("told")["key"], "***");
    assert_eq!(made.generated_glb, None, "its name is a secret");
}
