//! Programs as adapters, from the request to the result: the shipped examples, the files they
//! leave, what becomes of their words, and a provider that bills.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::billing::{CANARY, Provider, use_fixture};
use crate::support::process::{children, entry, files_with, shell, survivors};
use crate::support::{Invocation, TestWorkspace, fixture, wait_until};

/// The smallest picture that an example takes: one white pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55\
\0\0\0\nIDATx\x9cc\xf8\x0f\0\x01\x01\x01\0\x1b\xb6\xeeV\0\0\0\0IEND\xaeB`\x82";

fn queue_workspace(jobs: usize, options: &[&str]) -> TestWorkspace {
    let mut lines = vec![
        "command: [python3, adapters/queue_client.py]",
        "env: [PROVIDER_URL, PROVIDER_KEY, PROVIDER_POLL_S]",
    ];
    lines.extend(options);
    let workspace = entry(jobs, &lines);
    use_fixture(&workspace, "queue_client.py");
    workspace
}

fn queue_worker(workspace: &TestWorkspace, provider: &Provider, options: &[&str]) -> Invocation {
    workspace
        .worker(options)
        .env("PROVIDER_URL", &provider.url)
        .env("PROVIDER_KEY", CANARY)
        .env("PROVIDER_POLL_S", "0.02")
}

#[test]
fn the_example_in_python_makes_a_model_from_a_picture() {
    let workspace = entry(
        1,
        &[
            "command: [python3, adapters/picture_card.py]",
            "defaults: {width: 2}",
        ],
    );
    use_fixture(&workspace, "picture_card.py");
    for image in &workspace.jobs()[0].images {
        workspace.write(image, PNG);
    }
    let _ = workspace.worker(&[]).run().expect_code(0);
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["algo_version"], "picture_card 1");
    let folder = format!("runs/rk/outputs/{}", workspace.id(0));
    let glb = workspace.bytes(&format!("{folder}/generated.glb"));
    assert!(glb.starts_with(b"glTF") && glb.windows(8).any(|part| part == &PNG[..8]));
    let metadata: Value =
        serde_json::from_slice(&workspace.bytes(&format!("{folder}/metadata.json"))).expect("JSON");
    assert_eq!(metadata["adapter"]["picture_bytes"], PNG.len());
    assert_eq!(metadata["artifacts"][0]["name"], "generated.glb");
    assert_eq!(metadata["artifacts"][0]["size"], glb.len());
}

#[test]
fn the_example_in_shell_makes_a_model_and_refuses_an_empty_picture() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = entry(
        2,
        &["command: [adapters/template.sh]", "env: [MODEL_TEMPLATE]"],
    );
    use_fixture(&workspace, "template.sh");
    let script = workspace.path("adapters/template.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("ours");
    let template = workspace.path("cube.glb");
    let _ = workspace
        .worker(&[])
        .env("MODEL_TEMPLATE", template)
        .run()
        .expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 2);
    let log = fs::read_to_string(workspace.run_path(&format!("logs/{}.1.log", workspace.id(0))));
    let line = format!("job {}, attempt 1: copying the template\n", workspace.id(0));
    assert_eq!(log.expect("kept"), line);
}

#[test]
fn further_files_are_kept_and_listed() {
    let script = "cp $ARCHI3D_WORKSPACE/cube.glb generated.glb; mkdir more; \
                  echo mesh > more/raw.obj; echo '{}' > metadata.json";
    let workspace = shell(1, script, &[]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let folder = format!("runs/rk/outputs/{}", workspace.id(0));
    assert_eq!(
        workspace.bytes(&format!("{folder}/more/raw.obj")),
        b"mesh\n"
    );
    let metadata: Value =
        serde_json::from_slice(&workspace.bytes(&format!("{folder}/metadata.json"))).expect("JSON");
    let names: Vec<&str> = metadata["artifacts"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|artifact| artifact["name"].as_str())
        .collect();
    assert_eq!(
        names,
        ["adapter_metadata.json", "generated.glb", "more/raw.obj"]
    );
    assert_eq!(metadata["adapter"], Value::Null);
}

#[test]
fn a_preview_that_is_missing_costs_no_model() {
    let script = "cp $ARCHI3D_WORKSPACE/cube.glb made.glb; \
                  echo '{\"event\":\"result\",\"success\":true,\"generated_glb\":\"made.glb\",\"previews\":[\"front.png\"]}'";
    let workspace = shell(1, script, &[]);
    let done = workspace.worker(&[]).run().expect_code(0);
    let _ = done.expect_stderr("front.png");
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["status"], "completed");
    assert_eq!(&row["preview_1_path"], "");
    assert!(workspace.path(&row["gen_object_path"]).exists());
}

#[test]
fn what_cannot_be_seen_is_refused_as_a_model() {
    for (script, reason) in [
        (
            "echo '<html>502</html>' > generated.glb",
            "it is not glTF binary",
        ),
        (
            "head -c 100 $ARCHI3D_WORKSPACE/cube.glb > generated.glb",
            "bytes and has 100",
        ),
    ] {
        let workspace = shell(1, script, &[]);
        let _ = workspace.worker(&[]).run().expect_code(1);
        let row = workspace.row(workspace.id(0));
        assert!(row["error_msg"].contains(reason), "{}", &row["error_msg"]);
    }
}

#[test]
fn a_secret_that_a_program_repeats_everywhere_is_found_nowhere() {
    let program = "import json, os, sys\n\
        key = os.environ['FAL_KEY']\n\
        print('stdout', key); print('stderr', key, file=sys.stderr); sys.stderr.write(key)\n\
        say = lambda **e: print(json.dumps(e), flush=True)\n\
        say(event='progress', fraction=0.1, message=key)\n\
        say(event='dance', step=key)\n\
        if os.environ['ARCHI3D_JOB_ID'] < 'c':\n\
        \x20   say(event='error', **{'class': 'permanent'}, message='refused: ' + key)\n\
        elif os.environ['ARCHI3D_JOB_ID'] < 'd':\n\
        \x20   sys.exit('bad key ' + key)\n\
        else:\n\
        \x20   os.system('cp $ARCHI3D_WORKSPACE/cube.glb generated.glb')\n\
        \x20   say(event='result', success=True, algo_version=key, price_source=key, raw_metadata={key: [key]})\n";
    let workspace = TestWorkspace::with_products(3)
        .algo("tool")
        .job_ids(["a1", "c1", "d1"])
        .adapters("adapters: {tool: {kind: process, command: [python3, make.py], env: [FAL_KEY]}}")
        .build();
    workspace.write("make.py", program.as_bytes());
    let cube = fs::read(fixture("simulate/cube.glb")).expect("shipped");
    workspace.write("cube.glb", &cube);
    let output = workspace
        .worker(&["--verbose"])
        .env("FAL_KEY", CANARY)
        .run()
        .expect_code(1);
    assert_eq!(workspace.registry().count("failed"), 2, "{output}");
    assert_eq!(workspace.registry().count("completed"), 1, "{output}");
    assert_eq!(files_with(workspace.root(), CANARY), [""; 0]);
    assert!(!output.stdout.contains(CANARY) && !output.stderr.contains(CANARY));
    assert_eq!(&workspace.row("a1")["error_msg"], "refused: ***");
    assert!(workspace.row("c1")["error_msg"].contains("bad key ***"));
}

#[test]
fn a_queue_is_asked_once_and_only_the_download_is_repeated() {
    let workspace = queue_workspace(2, &[]);
    let provider = Provider::start(
        &workspace,
        &["--answers", "download=500,lost,503", "poll=500"],
    );
    let _ = queue_worker(&workspace, &provider, &[])
        .run()
        .expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 2);
    assert_eq!(provider.charges(), 2);
    assert_eq!(&workspace.row(workspace.id(0))["price_source"], "provider");
    assert_eq!(files_with(workspace.root(), CANARY), [""; 0]);
}

#[test]
fn replies_of_a_provider_become_classes_and_what_is_refused_is_not_billed() {
    for (answer, class, charges) in [
        ("402", "out_of_credit", 0),
        // Who says when to ask again is asked again.
        ("429", "transient", 1),
        ("503", "transient", 0),
        ("422", "bad_input", 0),
        ("401", "permanent", 0),
    ] {
        let workspace = queue_workspace(1, &[]);
        let provider = Provider::start(&workspace, &["--answers", &format!("submit={answer}")]);
        let _ = queue_worker(&workspace, &provider, &[]).run();
        assert_eq!(provider.charges(), charges, "{answer}");
        let log = workspace.log();
        let told: Vec<_> = log
            .0
            .iter()
            .filter_map(|event| event.get("class")?.as_str())
            .collect();
        assert!(told.contains(&class), "{answer}: {told:?}");
    }
}

#[test]
fn the_example_of_version_2_finds_a_purchase_whose_answer_was_lost() {
    let workspace = queue_workspace(1, &["protocol: 2", "reconciles: true", "retries: 1"]);
    let provider = Provider::start(&workspace, &["--answers", "submit=lost"]);
    let _ = queue_worker(&workspace, &provider, &[])
        .run()
        .expect_code(0);
    assert_eq!(provider.charges(), 1);
    let journals = workspace.run_path("state/journal");
    assert!(!files_with(&journals, "\"event\":\"intent\"").is_empty());
}

#[test]
fn a_purchase_whose_answer_was_lost_is_not_paid_again() {
    let workspace = queue_workspace(1, &[]);
    let provider = Provider::start(&workspace, &["--answers", "submit=lost"]);
    let _ = queue_worker(&workspace, &provider, &[]).run();
    let _ = queue_worker(&workspace, &provider, &["--only-status", "enqueued,failed"]).run();
    assert_eq!(workspace.registry().count("completed"), 1);
    assert_eq!(provider.charges(), 1);
}

#[test]
fn whoever_is_killed_the_next_worker_comes_back_to_what_was_bought() {
    for victim in ["guard", "worker"] {
        let workspace = queue_workspace(1, &[]);
        let provider = Provider::start(&workspace, &["--delay-s", "1", "--forget-keys"]);
        let running = queue_worker(&workspace, &provider, &[]).spawn();
        let journals = workspace.run_path("state/journal");
        wait_until("the note of the purchase", || {
            !files_with(&journals, "req-").is_empty()
        });
        let pid = match victim {
            "guard" => running.pid(),
            _ => children(running.pid())[0],
        };
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
        assert!(killed.expect("kill is there").success());
        let _ = running.wait();
        wait_until("the end of the programs", || {
            survivors(&workspace).is_empty()
        });
        wait_until("the end of the job", || {
            let output = queue_worker(
                &workspace,
                &provider,
                &["--only-status", "enqueued,running"],
            );
            let _ = output.run();
            workspace.registry().count("completed") == 1
        });
        assert_eq!(provider.charges(), 1, "{victim}");
    }
}
