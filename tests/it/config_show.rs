//! Where the workspace and each setting come from, as `config show` tells it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Invocation, TestWorkspace};

/// Makes an empty workspace called `name` in `place`.
fn workspace(place: &TestWorkspace, name: &str) -> std::path::PathBuf {
    let folder = place.path(name);
    let _ = Invocation::archi3d(["init"])
        .arg(&folder)
        .run()
        .expect_code(0);
    folder
}

fn show() -> Invocation {
    Invocation::archi3d(["config", "show", "--json"])
}

#[track_caller]
fn origin(shown: &Value, name: &str) -> (String, String) {
    let entries = shown["entries"].as_array().expect("a list");
    let entry = entries.iter().find(|entry| entry["name"] == name);
    let entry = entry.unwrap_or_else(|| panic!("no {name} in {shown}"));
    let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    (text("value"), text("origin"))
}

fn user_file(home: &Path, workspace: &Path) {
    let folder = home.join("archi3d");
    fs::create_dir_all(&folder).expect("created");
    fs::write(
        folder.join("config.yaml"),
        format!("workspace: {}\n", workspace.display()),
    )
    .expect("written");
}

#[test]
fn the_workspace_is_named_by_option_environment_dotenv_user_file_or_surroundings() {
    let place = TestWorkspace::empty();
    let [by_option, by_env, by_dotenv, by_user, around] =
        ["option", "env", "dotenv", "user", "around"].map(|name| workspace(&place, name));
    let config = place.path("home-config");
    user_file(&config, &by_user);
    let inside = around.join("dataset");
    let found = |invocation: Invocation| {
        let shown = invocation.current_dir(&inside).run().expect_code(0).json();
        origin(&shown, "workspace")
    };
    let shown = |folder: &Path| folder.to_string_lossy().into_owned();

    assert_eq!(found(show()).0, shown(&around));
    let with_user = || show().env("XDG_CONFIG_HOME", &config);
    assert_eq!(found(with_user()).0, shown(&by_user));
    fs::write(
        inside.join(".env"),
        format!("ARCHI3D_WORKSPACE={}\n", by_dotenv.display()),
    )
    .expect("written");
    let (value, from) = found(with_user());
    assert_eq!(value, shown(&by_dotenv));
    assert!(from.ends_with("/.env"), "{from}");
    let with_env = || with_user().env("ARCHI3D_WORKSPACE", &by_env);
    let (value, from) = found(with_env());
    assert_eq!(
        (value, from.as_str()),
        (shown(&by_env), "environment variable ARCHI3D_WORKSPACE")
    );
    let (value, from) = found(with_env().arg("--workspace").arg(&by_option));
    assert_eq!((value, from.as_str()), (shown(&by_option), "--workspace"));
    let empty = with_user().env("ARCHI3D_WORKSPACE", "");
    assert_eq!(
        found(empty).0,
        shown(&by_dotenv),
        "an empty variable counts as unset"
    );
}

#[test]
fn every_command_works_from_any_folder() {
    let workspace = TestWorkspace::with_products(1).algo("mock").build();
    let elsewhere = || {
        Invocation::archi3d(Vec::<&str>::new())
            .env("ARCHI3D_WORKSPACE", workspace.root())
            .current_dir(Path::new("/"))
    };
    for arguments in [
        &["catalog", "build"][..],
        &["run", "worker", "--run-id", "rk"],
        &["run", "status", "--run-id", "rk"],
        &["consolidate", "--run-id", "rk"],
        &["config", "show"],
    ] {
        let command = arguments
            .iter()
            .fold(elsewhere(), |command, word| command.arg(*word));
        let _ = command.run().expect_code(0);
    }
    assert_eq!(&workspace.row(workspace.id(0))["status"], "completed");
}

#[test]
fn a_dotenv_never_overrides_the_real_environment_and_secrets_are_masked() {
    let place = TestWorkspace::empty();
    let folder = workspace(&place, "ws");
    fs::write(
        folder.join(".env"),
        "FAL_KEY=from-dotenv\nARCHI3D_COMMIT=abc\nno line\n",
    )
    .expect("written");
    let shown = show()
        .env("FAL_KEY", "from-shell")
        .current_dir(&folder)
        .run()
        .expect_code(0);
    assert!(
        !shown.stdout.contains("from-shell") && !shown.stdout.contains("from-dotenv"),
        "{shown}"
    );
    let json = shown.json();
    assert_eq!(
        origin(&json, "env.FAL_KEY"),
        ("********".into(), "environment variable FAL_KEY".into())
    );
    assert_eq!(origin(&json, "env.ARCHI3D_COMMIT").0, "abc");
    assert!(
        json["warnings"][0]
            .as_str()
            .is_some_and(|text| text.contains(".env:3")),
        "{json}"
    );
    let alone = show().current_dir(&folder).run().expect_code(0).json();
    assert!(origin(&alone, "env.FAL_KEY").1.ends_with("/.env"));
}

#[test]
fn secrets_in_commands_addresses_and_lists_are_masked() {
    let workspace = TestWorkspace::with_products(1)
        .adapters(
            "adapters:\n  tool:\n    kind: process\n    command: [tool, --token, s3cret-1, '--api-key=s3cret-2', --fast]\n    \
             endpoint: 'https://me:s3cret-3@host/z?api_key=s3cret-4&page=2'\n    \
             defaults: {parts: [{password: s3cret-5}, 'Authorization: Bearer s3cret-6']}\n",
        )
        .build();
    for form in [&["config", "show"][..], &["config", "show", "--json"]] {
        let shown = workspace.archi3d(form).run().expect_code(0);
        let said = format!("{}{}", shown.stdout, shown.stderr);
        assert!(!said.contains("s3cret"), "{said}");
        assert!(said.contains("--fast") && said.contains("page=2"), "{said}");
    }
}

#[test]
fn the_workspaces_own_dotenv_is_read_from_anywhere_below_the_nearest_one() {
    let place = TestWorkspace::empty();
    let folder = workspace(&place, "w");
    let elsewhere = place.path("elsewhere");
    fs::create_dir_all(&elsewhere).expect("created");
    fs::write(
        folder.join(".env"),
        "FAL_KEY=own\nFAL_KEY_ID=own\nARCHI3D_COMMIT=own\nARCHI3D_WORKSPACE=/nowhere\n",
    )
    .expect("written");
    fs::write(elsewhere.join(".env"), "ARCHI3D_COMMIT=near\n").expect("written");
    let shown = show()
        .arg("--workspace")
        .arg(&folder)
        .env("FAL_KEY_ID", "shell")
        .current_dir(&elsewhere)
        .run()
        .expect_code(0)
        .json();
    let file = |folder: &Path| folder.join(".env").to_string_lossy().into_owned();
    assert_eq!(origin(&shown, "env.FAL_KEY").1, file(&folder));
    assert_eq!(
        origin(&shown, "env.FAL_KEY_ID").1,
        "environment variable FAL_KEY_ID"
    );
    assert_eq!(
        origin(&shown, "env.ARCHI3D_COMMIT"),
        ("near".into(), file(&elsewhere))
    );
    assert_eq!(shown["workspace"], folder.to_string_lossy().as_ref());
}

#[test]
fn jobs_see_the_commit_of_the_shell_and_not_that_of_a_dotenv() {
    let workspace = TestWorkspace::with_products(1).algo("mock").build();
    workspace.write(".env", b"ARCHI3D_COMMIT=from-dotenv\n");
    let _ = workspace
        .worker(&[])
        .env("ARCHI3D_COMMIT", "0123456")
        .current_dir(workspace.root())
        .run()
        .expect_code(0);
    assert_eq!(&workspace.row(workspace.id(0))["worker_commit"], "0123456");
}

#[test]
fn each_value_tells_which_file_it_comes_from() {
    let workspace = TestWorkspace::empty();
    workspace.write(
        "config/adapters.yaml",
        b"adapters:\n  mock:\n    sleep_ms: 5\n  mine:\n    kind: mock\n",
    );
    let shown = workspace
        .archi3d(&["config", "show", "--json"])
        .run()
        .expect_code(0)
        .json();
    assert_eq!(
        origin(&shown, "adapters.mock.kind"),
        ("mock".into(), "shipped".into())
    );
    let (value, from) = origin(&shown, "adapters.mock.sleep_ms");
    assert_eq!(value, "5");
    assert!(from.ends_with("config/adapters.yaml"), "{from}");
    let _ = workspace
        .archi3d(&["config", "show", "adapters.mine"])
        .run()
        .expect_code(0)
        .expect_stdout("adapters.mine.kind")
        .expect_stdout("config/adapters.yaml");
    let _ = workspace
        .archi3d(&["config", "show", "nothing"])
        .run()
        .expect_code(2);
}

#[test]
fn an_unknown_key_is_refused_with_file_line_and_nearest_name() {
    let workspace = TestWorkspace::with_products(1).build();
    let cases = [
        (
            "adapters.yaml",
            "adapters:\n  mock:\n    sleep_sm: 5\n",
            "adapters.yaml:3:",
            "sleep_ms",
        ),
        (
            "adapters.yaml",
            "adaptors:\n  mock: {}\n",
            "adapters.yaml:1:",
            "adapters",
        ),
        (
            "adapters.yaml",
            "adapters:\nmock:\n  kind: mock\n",
            "adapters.yaml:2:",
            "entries belong under `adapters:`",
        ),
        (
            "adapters.yaml",
            "adapters:\n  mock:\n   kind: mock\n    sleep_ms: 5\n",
            "adapters.yaml:4: the end of the value is expected before `:`",
            "`sleep_ms: 5`",
        ),
        (
            "adapters.yaml",
            "adapters:\n  mock: }\n",
            "adapters.yaml:2: a value is expected here",
            "`mock: }`",
        ),
        (
            "global.yaml",
            "algoritms: [mock]\n",
            "global.yaml:1:",
            "did you mean `algorithms`?",
        ),
        (
            "global.yaml",
            "batch: {}\nrun_usd: 5\n",
            "global.yaml:2:",
            "`run_usd` belongs under `budget:`",
        ),
        (
            "global.yaml",
            "# mine\nthresholds:\n  fscore_mni: 0.5\n",
            "global.yaml:3:",
            "fscore_min",
        ),
    ];
    for (file, text, place, nearest) in cases {
        workspace.write(&format!("config/{file}"), text.as_bytes());
        for command in [
            &["config", "show"][..],
            &["run", "worker", "--run-id", "rk", "--dry-run"],
        ] {
            let _ = workspace
                .archi3d(command)
                .run()
                .expect_code(2)
                .expect_stderr(place)
                .expect_stderr(nearest);
        }
        fs::remove_file(workspace.path(&format!("config/{file}"))).expect("there");
    }
}

#[test]
fn without_any_workspace_every_place_that_was_looked_at_is_named() {
    let place = TestWorkspace::empty();
    let output = show().current_dir(place.root()).run().expect_code(2);
    for text in [
        "--workspace",
        "ARCHI3D_WORKSPACE",
        ".env",
        "config.yaml",
        "archi3d init",
    ] {
        assert!(output.stderr.contains(text), "no {text} in {output}");
    }
}

#[test]
fn values_are_whole_on_a_narrow_screen_with_their_origin_below() {
    let place = TestWorkspace::empty();
    let folder = workspace(&place, "ws");
    let long = "a-word-that-takes-the-better-half-of-a-narrow-screen";
    fs::write(
        folder.join("config/adapters.yaml"),
        format!(
            "adapters:\n  mine: {{kind: mock, unit_price_usd: 0, defaults: {{prompt: {long}}}}}\n"
        ),
    )
    .expect("written");
    let shown = Invocation::archi3d(["config", "show", "adapters.mine"])
        .current_dir(&folder)
        .env("COLUMNS", "80")
        .run()
        .expect_code(0);
    let lines: Vec<&str> = shown.stdout.lines().collect();
    let value = lines.iter().position(|line| line.contains(long));
    let value = value.unwrap_or_else(|| panic!("no whole value: {shown}"));
    assert!(lines[value + 1].starts_with("    from "), "{shown}");
}
