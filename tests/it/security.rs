//! What nobody may do through the program: run a shell, read secrets in what it keeps, write
//! outside the workspace, open files to everybody, or steer somebody's terminal.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use crate::support::binary::{Invocation, Output};
use crate::support::dataset::{build, plain_products};
use crate::support::process::{entry, files_with, python};
use crate::support::read;
use crate::support::workspace::TestWorkspace;

/// Takes what a job needs from the environment it is given and makes a model.
const MAKES: &str = "
import json, os, shutil, sys
say = lambda **e: print(json.dumps(e), flush=True)
def made(**more):
    shutil.copy(os.environ['ARCHI3D_WORKSPACE'] + '/cube.glb', 'generated.glb')
    say(event='result', success=True, **more)
";

#[test]
fn a_command_with_the_words_of_a_shell_is_taken_word_by_word() {
    let words = "; touch $HOME/hit | touch hit && `touch hit` $(touch hit) > hit * ~ \\n";
    let program = format!(
        "{MAKES}\nopen(os.environ['ARCHI3D_WORKSPACE'] + '/words.json', 'w').write(json.dumps(sys.argv[1:]))\nmade()"
    );
    let quoted = serde_json::to_string(words).expect("text");
    let workspace = entry(
        1,
        &[&format!(
            "command: [python3, make.py, {quoted}, '$PATH', '']"
        )],
    );
    workspace.write("make.py", program.as_bytes());
    let _ = workspace.worker(&[]).run().expect_code(0);
    let got: Vec<String> = serde_json::from_slice(&workspace.bytes("words.json")).expect("JSON");
    assert_eq!(got, [words, "$PATH", ""]);
    let hits = workspace
        .tree()
        .into_keys()
        .filter(|name| name.ends_with("hit"));
    assert_eq!(hits.count(), 0);
}

#[test]
fn a_program_whose_name_is_a_line_of_shell_is_not_found() {
    let workspace = entry(1, &["command: ['sh -c \"touch hit\"; true']"]);
    let output = workspace.worker(&[]).run().expect_code(2);
    let _ = output.expect_stderr("sh -c");
    assert!(!workspace.tree().keys().any(|name| name.ends_with("hit")));
}

#[test]
fn no_source_starts_a_shell() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    let mut pending = vec![root.join("src"), root.join("crates/archi3d-core/src")];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).expect("the sources are here") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                pending.push(path);
            } else {
                sources.push(path);
            }
        }
    }
    assert!(
        sources.len() > 50,
        "they were looked for in the wrong place"
    );
    for path in sources {
        let is_test = path.file_name().is_some_and(|name| name == "tests.rs");
        let text = fs::read_to_string(&path).expect("text");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        if is_test {
            continue;
        }
        for shell in [
            "Command::new(\"sh",
            "Command::new(\"bash",
            "Command::new(\"cmd",
            "\"/bin/sh\"",
            "arg(\"-c\")",
        ] {
            assert!(!text.contains(shell), "{} has {shell}", path.display());
        }
    }
}

#[test]
fn a_program_sees_only_what_it_needs_and_what_its_entry_names() {
    let program = format!(
        "{MAKES}\nopen(os.environ['ARCHI3D_WORKSPACE'] + '/seen.json', 'w').write(json.dumps(sorted(os.environ)))\nmade()"
    );
    let workspace = python(1, &program, &["env: [NAMED_KEY]"]);
    let _ = workspace
        .worker(&[])
        .env("NAMED_KEY", "named-value")
        .env("OTHER_KEY", "other-value")
        .env("AWS_SECRET_ACCESS_KEY", "cloud-value")
        .env("LD_PRELOAD", "")
        .run()
        .expect_code(0);
    let seen: Vec<String> = serde_json::from_slice(&workspace.bytes("seen.json")).expect("JSON");
    assert!(seen.iter().any(|name| name == "NAMED_KEY"), "{seen:?}");
    for hidden in [
        "OTHER_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "LD_PRELOAD",
        "ARCHI3D_GUARD",
    ] {
        assert!(
            !seen.iter().any(|name| name == hidden),
            "{hidden} in {seen:?}"
        );
    }
}

/// Has quotes, a backslash and letters that JSON may escape, so that it has many forms.
const CANARY: &str = "cänary/\"42\\x-SECRET-9f8e7d6c5b4a";

#[test]
fn a_secret_in_the_name_of_a_file_is_kept_nowhere() {
    let program = format!(
        "{MAKES}
key = os.environ['FAL_KEY']
open(key + '.log', 'w').write('what it said')
os.makedirs('notes/' + key)
open('notes/' + key + '/a.txt', 'w').write('more')
shutil.copy(os.environ['ARCHI3D_WORKSPACE'] + '/cube.glb', key + '.glb')
say(event='result', success=True, generated_glb=key + '.glb', previews=[key + '.png'])
"
    );
    let workspace = python(1, &program, &["env: [FAL_KEY]"]);
    let key = "canary-9f8e7d6c5b4a";
    let with_key =
        |words: &[&str]| -> Output { workspace.archi3d(words).env("FAL_KEY", key).run() };
    let outputs = [
        with_key(&["run", "worker", "--run-id", "rk", "--verbose"]).expect_code(0),
        with_key(&["run", "attempts", "--run-id", "rk", "--json"]),
        with_key(&["adapters", "check", "tool", "--yes"]).expect_code(0),
        with_key(&["adapters", "check", "tool", "--yes", "--json"]),
    ];
    for output in &outputs {
        assert!(!output.stdout.contains(key), "{output}");
        assert!(!output.stderr.contains(key), "{output}");
    }
    assert_eq!(files_with(workspace.root(), key), [""; 0]);
    let names: Vec<String> = workspace.tree().into_keys().collect();
    assert!(!names.iter().any(|name| name.contains(key)), "{names:?}");
    // Nothing is lost but the name.
    let folder = format!("runs/rk/outputs/{}", workspace.id(0));
    assert_eq!(
        workspace.bytes(&format!("{folder}/masked.log")),
        b"what it said"
    );
    assert_eq!(
        workspace.bytes(&format!("{folder}/notes/masked/a.txt")),
        b"more"
    );
    assert!(workspace.path(&format!("{folder}/generated.glb")).exists());
}

#[test]
fn a_secret_is_kept_nowhere_in_addresses_base64_digits_or_files_of_any_kind() {
    let program = format!(
        "{MAKES}
import base64
from urllib.parse import quote, quote_plus
key, pin = os.environ['FAL_KEY'], os.environ['PIN_SECRET']
lower = lambda text: ''.join(c.lower() if i and '%' in text[max(0, i - 2):i] else c for i, c in enumerate(text))
basic = [base64.b64encode((user + key).encode()).decode() for user in ('', 'u:', 'me:', 'you:')]
forms = [quote(key), quote(key, safe=''), lower(quote(key, safe='')), quote_plus(key)] + basic
forms += [base64.urlsafe_b64encode(key.encode()).decode().rstrip('='), key.encode().hex()]
everything = ' '.join(forms + [key, pin])
job = os.environ['ARCHI3D_JOB_ID']
os.makedirs('a/b/c/d/e/f')
open('a/b/c/d/e/f/notes', 'w').write(everything)
if job != 'j1': open('big.data', 'w').write(('x' * 4000 + '\\n') * 4300 + everything)
open('more.weird', 'w').write(everything)
sys.stderr.write(everything + '\\n')
say(event='progress', fraction=0.5, message=everything)
if job == 'j1':
    say(event='error', **{{'class': 'permanent'}}, message=everything)
else:
    made(algo_version=forms[0], raw_metadata={{'pin': int(pin), 'as': float(pin), 'all': forms}})
"
    );
    let workspace = TestWorkspace::with_products(2)
        .algo("tool")
        .job_ids(["j1", "j2"])
        .adapters(
            "adapters: {tool: {kind: process, command: [python3, make.py], env: [FAL_KEY, PIN_SECRET]}}",
        )
        .build();
    workspace.write("make.py", program.as_bytes());
    let cube = fs::read(crate::support::fixture("simulate/cube.glb")).expect("shipped");
    workspace.write("cube.glb", &cube);
    let worker = workspace.worker(&["--verbose"]);
    let output = worker
        .env("FAL_KEY", "id-7:s3cr~et/va lue+x")
        .env("PIN_SECRET", "83746501928374")
        .run()
        .expect_code(1);
    for form in [
        "s3cr",
        "va%20lue",
        "va+lue",
        "%2Fva",
        "%2fva",
        "czNjcn5l",
        "MzY3J-",
        "zNjcn5",
        "MzY3J+",
        "7333637",
        "83746501928374",
    ] {
        assert_eq!(files_with(&workspace.path("runs"), form), [""; 0], "{form}");
        assert_eq!(
            files_with(&workspace.path("tables"), form),
            [""; 0],
            "{form}"
        );
        assert_eq!(files_with(&workspace.path("logs"), form), [""; 0], "{form}");
        assert!(!output.stderr.contains(form), "{form} in {output}");
    }
    assert_eq!(workspace.bytes("runs/rk/outputs/j2/generated.glb"), cube);
}

#[test]
fn a_secret_is_kept_nowhere_in_no_form_and_on_no_border() {
    let program = format!(
        "{MAKES}
key = os.environ['FAL_KEY']
raw = key.encode()
def slowly(stream, data):
    for byte in range(0, len(data), 7):
        stream.buffer.write(data[byte:byte + 7]); stream.buffer.flush()
for stream in (sys.stdout, sys.stderr):
    slowly(stream, b'x' * 65530 + raw + b'\\n')
    slowly(stream, b'y' * 8185 + raw + raw + b'\\n')
    slowly(stream, json.dumps(key).encode() + b'\\n')
    slowly(stream, json.dumps(key, ensure_ascii=False).encode() + b'\\n')
say(event='progress', fraction=0.5, message=key)
say(event='log', level='error', message='key=' + key)
print(json.dumps({{'event': 'progress', 'message': key}}, ensure_ascii=False), flush=True)
job = os.environ['ARCHI3D_JOB_ID']
if job == 'j1':
    say(event='error', **{{'class': 'permanent'}}, message='refused ' + key + ' twice ' + key)
elif job == 'j2':
    sys.stderr.write('died with ' + key); sys.stderr.flush(); os._exit(3)
elif job == 'j3':
    say(event='submitted', request_id='r-' + key, cost_usd=0.1)
    made(algo_version='v ' + key, price_source=key, raw_metadata={{key: [key, {{'deep': key}}], 'url': 'https://x.y/z?token=' + key}})
else:
    open('metadata.json', 'w').write(json.dumps({{'own': key}}))
    made(request_id=key)
"
    );
    let ids = ["j1", "j2", "j3", "j4"];
    let workspace = TestWorkspace::with_products(4)
        .algo("tool")
        .job_ids(ids)
        .adapters("adapters: {tool: {kind: process, command: [python3, make.py], env: [FAL_KEY]}}")
        .build();
    workspace.write("make.py", program.as_bytes());
    let cube = fs::read(crate::support::fixture("simulate/cube.glb")).expect("shipped");
    workspace.write("cube.glb", &cube);
    let escaped = |ascii: bool| {
        let text = serde_json::to_string(CANARY).expect("text");
        let text = if ascii {
            text.replace('ä', "\\u00e4")
        } else {
            text
        };
        text[1..text.len() - 1].to_owned()
    };
    // Whatever way it is written, this part of it is the same.
    let forms = [
        CANARY.to_owned(),
        escaped(false),
        escaped(true),
        "SECRET-9f8e7d6c5b4a".to_owned(),
    ];
    let with_key =
        |words: &[&str]| -> Output { workspace.archi3d(words).env("FAL_KEY", CANARY).run() };
    let outputs = [
        with_key(&[
            "run",
            "worker",
            "--run-id",
            "rk",
            "--verbose",
            "--max-parallel",
            "4",
        ]),
        with_key(&["run", "status", "--run-id", "rk"]),
        with_key(&["run", "attempts", "--run-id", "rk", "--json"]),
        with_key(&["doctor", "--deep", "--verbose"]),
        with_key(&["config", "show", "--json"]),
        with_key(&["adapters", "list", "--json"]),
        with_key(&["adapters", "check", "tool"]),
    ];
    assert_eq!(outputs[0].code(), Some(1), "{}", outputs[0]);
    for form in &forms {
        assert_eq!(files_with(workspace.root(), form), [""; 0], "{form}");
        for output in &outputs {
            assert!(!output.stdout.contains(form), "{form} in {output}");
            assert!(!output.stderr.contains(form), "{form} in {output}");
        }
    }
    assert!(workspace.row("j1")["error_msg"].starts_with("refused ***"));
}

/// Returns the permissions of every file and folder of a workspace but those that tests made.
fn modes(workspace: &TestWorkspace) -> BTreeMap<String, u32> {
    let names = workspace.tree().into_keys();
    names
        .filter(|name| {
            !["dataset", "config", "products"]
                .iter()
                .any(|own| name.starts_with(own))
        })
        .map(|name| {
            let found = fs::symlink_metadata(workspace.path(&name)).expect("just seen");
            (name, found.mode() & 0o7777)
        })
        .collect()
}

/// Runs every writing command with a mask.
fn work_with_mask(workspace: &TestWorkspace, mask: &str) {
    let binary = env!("CARGO_BIN_EXE_archi3d");
    let root = workspace.root().display();
    let script = format!(
        "umask {mask}; set -e
        {binary} catalog build --workspace {root}
        {binary} batch create --run-id rk --algos good,bad --workspace {root}
        {binary} run worker --run-id rk --workspace {root} || test $? = 1
        {binary} consolidate --run-id rk --workspace {root}
        {binary} registry rebuild --workspace {root}
        {binary} doctor --fix --yes --workspace {root}"
    );
    let _ = Invocation::program(Path::new("/bin/sh"), ["-c", &script])
        .run()
        .expect_code(0);
}

fn masked_workspace() -> TestWorkspace {
    let workspace = plain_products(2);
    let mocks = "adapters: {good: {kind: mock}, bad: {kind: mock, fail: always}}";
    workspace.write("config/adapters.yaml", mocks.as_bytes());
    workspace
}

#[test]
fn nothing_is_ever_made_that_everybody_may_write() {
    for mask in ["000", "002", "022", "027"] {
        let workspace = masked_workspace();
        work_with_mask(&workspace, mask);
        let modes = modes(&workspace);
        assert!(modes.len() > 20, "{modes:?}");
        let open: Vec<_> = modes
            .iter()
            .filter(|(_, mode)| *mode & 0o002 != 0)
            .collect();
        assert!(open.is_empty(), "umask {mask}: {open:?}");
        let wider: u32 = u32::from_str_radix(mask, 8).expect("octal");
        let ignored: Vec<_> = modes
            .iter()
            .filter(|(_, mode)| *mode & wider != 0)
            .collect();
        assert!(ignored.is_empty(), "umask {mask}: {ignored:?}");
    }
}

#[test]
fn a_workspace_that_a_group_shares_stays_shared_whatever_the_mask() {
    let workspace = masked_workspace();
    let shared = fs::Permissions::from_mode(0o2775);
    fs::set_permissions(workspace.root(), shared).expect("ours");
    work_with_mask(&workspace, "077");
    let closed: Vec<_> = modes(&workspace)
        .into_iter()
        .filter(|(_, mode)| mode & 0o060 != 0o060 || mode & 0o007 != 0)
        .collect();
    assert!(closed.is_empty(), "{closed:?}");
}

/// Everything of a worked-on workspace that may be a link instead.
const LINKED: &[&str] = &[
    "tables",
    "tables/generations.csv",
    "tables/generations.lock",
    "tables/items.csv",
    "tables/items.lock",
    "tables/items_issues.csv",
    "logs",
    "logs/worker.log",
    "logs/worker.log.lock",
    "logs/batch_create.log",
    "logs/catalog_build.log",
    "logs/metrics.log",
    "runs",
    "runs/.providers",
    "runs/.providers/fal.closed.json",
    "runs/rk",
    "runs/rk/manifest.csv",
    "runs/rk/rows.csv",
    "runs/rk/logs",
    "runs/rk/outputs",
    "runs/rk/outputs/JOB",
    "runs/rk/outputs/JOB/generated.glb",
    "runs/rk/outputs/.staging",
    "runs/rk/outputs/.previous",
    "runs/rk/outputs/.late",
    "runs/rk/state",
    "runs/rk/state/journal",
    "runs/rk/state/journal/WORKER",
    "runs/rk/state/JOB.completed",
    "runs/rk/state/JOB.lock",
    "runs/rk/state/recovery.lock",
    "runs/rk/state/probe.lock",
    "runs/rk/state/JOB.error.txt",
    "runs/rk/state/JOB.inprogress",
];

const COMMANDS: &[&[&str]] = &[
    &["catalog", "build"],
    &["batch", "create", "--run-id", "rk", "--algos", "other"],
    &[
        "batch",
        "create",
        "--run-id",
        "rk",
        "--algos",
        "bad",
        "--dry-run",
    ],
    &["run", "worker", "--run-id", "rk"],
    &[
        "run",
        "worker",
        "--run-id",
        "rk",
        "--redo",
        "--only-status",
        "completed,failed,running",
    ],
    &["run", "worker", "--run-id", "rk", "--dry-run"],
    &["run", "status", "--run-id", "rk"],
    &["run", "attempts", "--run-id", "rk"],
    &["consolidate", "--run-id", "rk"],
    &["registry", "rebuild"],
    &["doctor"],
    &["doctor", "--fix", "--yes"],
    &["adapters", "resume", "fal"],
];

fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(to)
        .status();
    assert!(copied.is_ok_and(|status| status.success()));
}

#[test]
fn no_command_writes_through_a_link_that_leads_out_of_the_workspace() {
    let model = masked_workspace();
    let mocks =
        "adapters: {good: {kind: mock}, bad: {kind: mock, fail: always}, other: {kind: mock}}";
    model.write("config/adapters.yaml", mocks.as_bytes());
    build(&model, &[]);
    let create = ["batch", "create", "--run-id", "rk", "--algos", "good,bad"];
    let _ = model.archi3d(&create).run().expect_code(0);
    let _ = model.worker(&[]).run().expect_code(1);
    let _ = model
        .archi3d(&["consolidate", "--run-id", "rk"])
        .run()
        .expect_code(0);
    let closed = r#"{"provider":"fal","closed_at":"2026-01-01T00:00:00+00:00","reason":"empty"}"#;
    model.write("runs/.providers/fal.closed.json", closed.as_bytes());
    let row = model.registry().rows[0].clone();
    let worker = fs::read_dir(model.path("runs/rk/state/journal"))
        .and_then(|mut entries| entries.next().expect("one"))
        .expect("listable");
    let worker = worker.file_name().to_string_lossy().into_owned();
    for linked in LINKED {
        let below = linked
            .replace("JOB", &row["job_id"])
            .replace("WORKER", &worker);
        let workspace = TestWorkspace::empty();
        fs::remove_dir(workspace.root()).expect("empty");
        copy(model.root(), workspace.root());
        let outside = workspace.outside().join("outside");
        fs::create_dir(&outside).expect("new");
        let (place, target) = (workspace.path(&below), outside.join("it"));
        if place.exists() {
            fs::rename(&place, &target).expect("same disk");
        } else if !below.contains("JOB.") && place.extension().is_none() {
            fs::create_dir(&target).expect("new");
        }
        fs::create_dir_all(place.parent().expect("inside")).expect("there");
        symlink(&target, &place).expect("free");
        let before = read::tree(&outside);
        for command in COMMANDS {
            let output = workspace.archi3d(command).run();
            assert_ne!(output.code(), Some(70), "{below}: {output}");
            assert_eq!(read::tree(&outside), before, "{below}: {output}");
        }
        let output = workspace.archi3d(&["doctor", "--json"]).run();
        let is_link = fs::symlink_metadata(&place).is_ok_and(|found| found.is_symlink());
        if is_link && !below.ends_with("generated.glb") {
            assert!(output.stdout.contains("link_outside"), "{below}: {output}");
        }
    }
}

/// What makes a terminal do something: escape, bell, and the one-byte form of escape sequences.
fn steers(text: &str) -> bool {
    text.chars()
        .any(|c| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || c == '\u{202e}')
}

#[test]
fn nobody_steers_a_terminal_through_names_and_messages() {
    let evil = "\u{1b}]0;pwned\u{7}\u{1b}[2J\u{9b}31m\u{202e}";
    let program = format!(
        "{MAKES}\nevil = {}\nprint(evil); print(evil, file=sys.stderr)\nsay(event='progress', message=evil)\nsay(event='error', message=evil + 'no', **{{'class': 'permanent'}})",
        serde_json::to_string(evil).expect("text")
    );
    let workspace = python(2, &program, &[]);
    let table = String::from_utf8(workspace.bytes("tables/generations.csv")).expect("text");
    let table = table.replace("Maker", &format!("Maker{evil}")).replacen(
        ",enqueued,",
        &format!(",{evil},"),
        1,
    );
    workspace.write("tables/generations.csv", table.as_bytes());
    workspace.write(
        &format!("tables/generations-{}.csv", "x\u{1b}[31m"),
        table.as_bytes(),
    );
    let closed = serde_json::json!({"provider": "fal", "closed_at": "2026-01-01T00:00:00+00:00", "reason": evil});
    workspace.write(
        "runs/.providers/fal.closed.json",
        closed.to_string().as_bytes(),
    );
    let commands: [&[&str]; 9] = [
        &["run", "worker", "--run-id", "rk", "--verbose"],
        &["run", "status", "--run-id", "rk"],
        &["run", "attempts", "--run-id", "rk"],
        &["run", "attempts", "--run-id", "rk", "--json"],
        &["consolidate", "--run-id", "rk"],
        &["registry", "rebuild", "--dry-run"],
        &["doctor"],
        &["doctor", "--json"],
        &["run", "status", "--run-id", evil],
    ];
    for words in commands {
        let output = workspace.archi3d(words).run();
        assert!(!steers(&output.stdout), "{words:?}: {:?}", output.stdout);
        assert!(!steers(&output.stderr), "{words:?}: {:?}", output.stderr);
    }
}
