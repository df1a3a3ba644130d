//! Loading as a whole: which workspace, which values, and from where.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;

/// A home with a few folders and an environment of its own.
struct World {
    dir: TempDir,
    env: BTreeMap<String, String>,
    option: Option<PathBuf>,
    start: PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("dir");
        let root = fs::canonicalize(dir.path()).expect("real");
        let home = root.join("home").display().to_string();
        let world = Self {
            env: BTreeMap::from([("HOME".to_owned(), home)]),
            option: None,
            start: root.join("start/here"),
            dir,
        };
        fs::create_dir_all(&world.start).expect("made");
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).expect("real").join(name)
    }

    fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).expect("made");
        path
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    fn set(&mut self, name: &str, value: impl AsRef<Path>) {
        let value = value.as_ref().display().to_string();
        self.env.insert(name.to_owned(), value);
    }

    fn load(&self) -> Result<Settings, ConfigError> {
        let env = |name: &str| self.env.get(name).cloned();
        Settings::load(&Sources {
            workspace: self.option.clone(),
            current_dir: self.start.clone(),
            env: &env,
            os: Os::Linux,
        })
    }

    fn workspace(&self) -> PathBuf {
        self.load().expect("loaded").workspace
    }

    fn refusal(&self) -> String {
        self.load().expect_err("refused").to_string()
    }
}

const USER_FILE: &str = "home/.config/archi3d/config.yaml";

#[test]
fn the_workspace_is_taken_from_the_highest_place_that_names_one() {
    let mut world = World::new();
    let above = world.folder("start");
    world.folder("start/tables");
    world.folder("start/runs");
    assert_eq!(world.workspace(), above);

    let by_user = world.folder("home/.config/archi3d/mine");
    world.write(USER_FILE, "workspace: mine\n");
    assert_eq!(world.workspace(), by_user);

    let by_dot_env = world.folder("dot");
    let line = format!("ARCHI3D_WORKSPACE={}\n", by_dot_env.display());
    world.write("start/.env", &line);
    assert_eq!(world.workspace(), by_dot_env);

    world.set("ARCHI3D_WORKSPACE", "");
    assert_eq!(
        world.workspace(),
        by_dot_env,
        "an empty variable is not set"
    );

    let by_env = world.folder("env");
    world.set("ARCHI3D_WORKSPACE", &by_env);
    assert_eq!(world.workspace(), by_env);

    let by_option = world.folder("start/here/option");
    world.option = Some("option".into());
    assert_eq!(world.workspace(), by_option);
}

#[test]
fn files_may_name_a_workspace_beside_them_or_in_the_home() {
    let world = World::new();
    let beside = world.folder("start/ws");
    world.write("start/.env", "ARCHI3D_WORKSPACE=ws\n");
    assert_eq!(world.workspace(), beside);
    let in_home = world.folder("home/ws");
    world.write("start/.env", "ARCHI3D_WORKSPACE='~/ws'\n");
    assert_eq!(world.workspace(), in_home);
}

#[test]
fn without_a_workspace_every_place_that_was_looked_at_is_told() {
    let world = World::new();
    let message = world.refusal();
    let user_file = world.path(USER_FILE).display().to_string();
    for part in [
        "--workspace: not given",
        "ARCHI3D_WORKSPACE: not set",
        ".env: none in",
        &user_file,
        "none is a workspace",
        "archi3d init DIR",
    ] {
        assert!(message.contains(part), "{part:?} is missing in {message}");
    }
}

#[test]
fn a_place_that_names_a_wrong_workspace_is_told_and_not_passed_over() {
    let mut world = World::new();
    world.folder("start/tables");
    world.folder("start/runs");
    world.set("ARCHI3D_WORKSPACE", "relative/path");
    assert!(world.refusal().contains("is not an absolute path"));
    let missing = world.path("missing");
    world.set("ARCHI3D_WORKSPACE", missing);
    let message = world.refusal();
    assert!(message.contains("(from environment variable ARCHI3D_WORKSPACE) does not exist"));
    world.option = Some(world.write("file", ""));
    assert!(
        world
            .refusal()
            .contains("(from --workspace) is not a folder")
    );
}

#[cfg(unix)]
#[test]
fn links_to_the_workspace_are_resolved() {
    let mut world = World::new();
    let real = world.folder("real");
    std::os::unix::fs::symlink(&real, world.path("link")).expect("linked");
    world.option = Some(world.path("link"));
    assert_eq!(world.workspace(), real);
}

#[test]
fn every_value_tells_where_it_comes_from_and_secrets_are_masked() {
    let mut world = World::new();
    let workspace = world.folder("ws");
    world.set("ARCHI3D_WORKSPACE", &workspace);
    world.set("FAL_KEY", "s3cret");
    let adapters = world.write(
        "ws/config/adapters.yaml",
        "adapters:\n  monkey:\n    kind: process\n    command: [run]\n    \
         defaults: {API_TOKEN: s3cret, MODE: fast}\n",
    );
    let user_file = world.write(USER_FILE, "tools:\n  blender_exe: bin/blender\n");
    let dot_env = world.write("start/.env", "ARCHI3D_COMMIT=0123456\nFAL_KEY=other\n");
    let settings = world.load().expect("loaded");
    let entries = settings.entries();
    let find = |name: &str| {
        let found = entries.iter().find(|entry| entry.name == name);
        let entry = found.expect(name);
        (entry.value.clone(), entry.origin.clone())
    };
    let env = |name: &str| Origin::Environment(name.to_owned());
    assert_eq!(find("workspace").1, env("ARCHI3D_WORKSPACE"));
    assert_eq!(find("env.FAL_KEY"), ("********".to_owned(), env("FAL_KEY")));
    let commit = ("0123456".to_owned(), Origin::DotEnv(dot_env));
    assert_eq!(find("env.ARCHI3D_COMMIT"), commit);
    let price = ("0.02".to_owned(), Origin::Shipped);
    assert_eq!(find("adapters.trellis_single.unit_price_usd"), price);
    let own = Origin::File(adapters);
    let kind = ("process".to_owned(), own.clone());
    assert_eq!(find("adapters.monkey.kind"), kind);
    let token = ("********".to_owned(), own.clone());
    assert_eq!(find("adapters.monkey.defaults.API_TOKEN"), token);
    let mode = ("fast".to_owned(), own);
    assert_eq!(find("adapters.monkey.defaults.MODE"), mode);
    let blender = world.path("home/.config/archi3d/bin/blender");
    let blender = (blender.display().to_string(), Origin::File(user_file));
    assert_eq!(find("tools.blender_exe"), blender);
    assert!(entries.iter().all(|entry| !entry.value.contains("s3cret")));
}

#[test]
fn jobs_see_the_real_environment_before_the_dot_env_file() {
    let mut world = World::new();
    world.option = Some(world.folder("ws"));
    world.set("FAL_KEY", "from-shell");
    world.write("start/.env", "FAL_KEY=from-dotenv\nOTHER=from-dotenv\n");
    let settings = world.load().expect("loaded");
    let env = |name: &str| world.env.get(name).cloned();
    let value = |name: &str| settings.env_value(&env, name);
    assert_eq!(value("FAL_KEY").as_deref(), Some("from-shell"));
    assert_eq!(value("OTHER").as_deref(), Some("from-dotenv"));
    assert_eq!(value("NONE"), None);
}

#[test]
fn a_broken_file_of_the_user_or_the_workspace_is_named_with_its_line() {
    let mut world = World::new();
    world.option = Some(world.folder("ws"));
    world.write("ws/config/global.yaml", "thresholds:\n  fscore_mn: 0.5\n");
    let message = world.refusal();
    let path = world.path("ws/config/global.yaml");
    assert!(
        message.starts_with(&format!("{}:2: ", path.display())),
        "{message}"
    );
    assert!(message.contains("did you mean `fscore_min`?"), "{message}");
    fs::remove_file(path).expect("removed");
    world.write(USER_FILE, "\nworkspce: x\n");
    assert!(
        world
            .refusal()
            .contains("config.yaml:2: unknown key `workspce`")
    );
    fs::remove_file(world.path(USER_FILE)).expect("removed");
    world.folder("ws/config/adapters.yaml");
    assert!(world.refusal().ends_with("it is a folder, not a file"));
}
