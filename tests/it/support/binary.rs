//! Runs the real binary in a clean environment: nothing of the caller's set-up reaches it, and a
//! failed assertion shows everything it said.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::wait::wait_until;

/// A command about to be run.
#[derive(Debug)]
pub struct Invocation {
    command: Command,
    home: TempDir,
}

impl Invocation {
    /// Prepares the binary under test, in a new and empty home.
    pub fn archi3d<A: Into<OsString>>(arguments: impl IntoIterator<Item = A>) -> Self {
        Self::program(Path::new(env!("CARGO_BIN_EXE_archi3d")), arguments)
    }

    /// Prepares another program in the same clean environment.
    pub fn program<A: Into<OsString>>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let home = TempDir::new().expect("temporary folders can be made");
        let mut command = Command::new(program);
        command
            .args(arguments.into_iter().map(Into::into))
            .env_clear()
            .env("PATH", path_with_binary())
            .env("HOME", home.path())
            .env("NO_COLOR", "1")
            .current_dir(home.path())
            .stdin(Stdio::null());
        // Where the tests' coverage is measured, that of the binary is too.
        if let Some(profile) = std::env::var_os("LLVM_PROFILE_FILE") {
            command.env("LLVM_PROFILE_FILE", profile);
        }
        Self { command, home }
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.command.arg(argument.into());
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    /// Runs in this folder instead of the empty home.
    pub fn current_dir(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Runs to the end.
    pub fn run(self) -> Output {
        self.spawn().wait()
    }

    /// Starts and goes on.
    pub fn spawn(mut self) -> Running {
        let line = format!("{:?}", self.command);
        // Files, not pipes: a program that says much must not wait for its reader.
        let (stdout, stderr) = (self.home.path().join("1"), self.home.path().join("2"));
        let file = |path: &PathBuf| File::create(path).expect("the home is writable");
        let child = self
            .command
            .stdout(file(&stdout))
            .stderr(file(&stderr))
            .spawn()
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        Running {
            line,
            child,
            stdout,
            stderr,
            _home: self.home,
        }
    }
}

/// The caller's search path with the binary under test on it, as where it is installed.
fn path_with_binary() -> OsString {
    let binary = Path::new(env!("CARGO_BIN_EXE_archi3d"));
    let folder = binary.parent().map(Path::to_owned);
    let given = std::env::var_os("PATH").unwrap_or_default();
    let folders = folder.into_iter().chain(std::env::split_paths(&given));
    std::env::join_paths(folders).expect("no folder has a colon in its name")
}

/// A command that runs; killed when dropped.
#[derive(Debug)]
pub struct Running {
    line: String,
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    _home: TempDir,
}

impl Running {
    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name (`INT`, `TERM`, `STOP`, `CONT`).
    #[track_caller]
    pub fn signal(&self, name: &str) {
        super::process::signal(self.pid(), name);
    }

    /// Kills without warning (`kill -9`) and waits until the process is gone.
    pub fn kill(mut self) -> Output {
        self.child.kill().expect("our own child can be killed");
        self.wait()
    }

    /// Returns whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        let status = self.child.try_wait();
        status.expect("our own child can be waited for").is_some()
    }

    /// Returns what it has written to stdout so far.
    pub fn stdout_so_far(&self) -> String {
        read_lossy(&self.stdout)
    }

    /// Returns what it has said on stderr so far.
    pub fn stderr_so_far(&self) -> String {
        read_lossy(&self.stderr)
    }

    /// Waits for its end, up to the deadline.
    #[track_caller]
    pub fn wait(mut self) -> Output {
        wait_until(&format!("the end of {}", self.line), || self.has_ended());
        let status = self.child.wait().expect("it has ended");
        Output {
            line: self.line.clone(),
            status,
            stdout: read_lossy(&self.stdout),
            stderr: read_lossy(&self.stderr),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn read_lossy(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// How a command ended and what it said.
#[must_use = "look at the exit code at least"]
#[derive(Debug, Clone)]
pub struct Output {
    line: String,
    status: ExitStatus,
    /// What it wrote for programs.
    pub stdout: String,
    /// What it wrote for people.
    pub stderr: String,
}

impl Output {
    /// Returns the exit code; `None` after a signal.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Demands an exit code.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "{self}");
        self
    }

    /// Demands that stdout has this text.
    #[track_caller]
    pub fn expect_stdout(self, text: &str) -> Self {
        assert!(
            self.stdout.contains(text),
            "no {text:?} in stdout of {self}"
        );
        self
    }

    /// Demands that stderr has this text.
    #[track_caller]
    pub fn expect_stderr(self, text: &str) -> Self {
        assert!(
            self.stderr.contains(text),
            "no {text:?} in stderr of {self}"
        );
        self
    }

    /// Returns stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self}"))
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\n{}\n--- stdout\n{}\n--- stderr\n{}\n---",
            self.line, self.status, self.stdout, self.stderr
        )
    }
}
