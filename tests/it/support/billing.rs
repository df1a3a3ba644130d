//! A provider that bills, workspaces whose jobs buy from it, and steps at which both sides can be
//! held, so that a test can end a worker exactly there.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::binary::{Invocation, Running};
use super::process::{children, entry, files_with, survivors};
use super::{TestWorkspace, fixture, mocks, wait_until};

/// The key that must be found nowhere.
pub const CANARY: &str = "canary-5f3a9c-secret";

/// Puts a shipped program into a workspace.
pub fn use_fixture(workspace: &TestWorkspace, name: &str) {
    let program = fs::read(fixture(&format!("adapters/{name}"))).expect("shipped");
    workspace.write(&format!("adapters/{name}"), &program);
}

/// A provider that bills, as long as it is kept.
#[derive(Debug)]
pub struct Provider {
    _running: Running,
    /// Where it answers.
    pub url: String,
    ledger: PathBuf,
}

impl Provider {
    /// Starts one with options of `fake_provider.py`.
    pub fn start(workspace: &TestWorkspace, options: &[&str]) -> Self {
        let (ledger, port) = (
            workspace.outside().join("ledger"),
            workspace.outside().join("port"),
        );
        let mut invocation =
            Invocation::program(Path::new("python3"), [fixture("adapters/fake_provider.py")]);
        for (option, path) in [
            ("--model", fixture("simulate/cube.glb")),
            ("--ledger", ledger.clone()),
            ("--port-file", port.clone()),
            ("--hold", hold_folder(workspace)),
        ] {
            invocation = invocation.arg(option).arg(path);
        }
        for option in options {
            invocation = invocation.arg(*option);
        }
        let running = invocation.spawn();
        wait_until("the provider", || port.exists());
        let port = fs::read_to_string(port).expect("written");
        Self {
            _running: running,
            url: format!("http://127.0.0.1:{port}"),
            ledger,
        }
    }

    /// Returns how often it billed.
    pub fn charges(&self) -> usize {
        self.sold().len()
    }

    /// Returns the ids of everything it sold.
    pub fn sold(&self) -> BTreeSet<String> {
        let text = fs::read_to_string(&self.ledger).unwrap_or_default();
        let ids = text.lines().filter_map(|line| line.split(' ').next());
        ids.map(str::to_owned).collect()
    }

    /// Returns how often it was called for something (`submit`, `poll`, `download`).
    #[track_caller]
    pub fn calls(&self, kind: &str) -> u64 {
        let address = self.url.trim_start_matches("http://");
        let mut connection = TcpStream::connect(address).expect("it listens");
        let asked = connection.write_all(b"GET /stats HTTP/1.0\r\n\r\n");
        asked.expect("it listens");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("it answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("it answers in HTTP");
        let stats: Value = serde_json::from_str(body).expect("it answers in JSON");
        stats[kind].as_u64().expect("a number")
    }
}

/// Where the steps are named that are held.
pub fn hold_folder(workspace: &TestWorkspace) -> PathBuf {
    workspace.outside().join("hold")
}

/// A workspace whose jobs buy from a provider, and the provider.
#[derive(Debug)]
pub struct Shop {
    /// The workspace; all its jobs have the algorithm `tool`.
    pub workspace: TestWorkspace,
    /// The provider.
    pub provider: Provider,
    ignores_keys: bool,
}

impl Shop {
    /// Opens one with further lines of the adapter's entry and options of the provider.
    pub fn open(jobs: usize, lines: &[&str], options: &[&str]) -> Self {
        let mut all = vec![
            "command: [python3, adapters/held_client.py]",
            "env: [PROVIDER_URL, FAKE_KEY, PROVIDER_POLL_S, PROVIDER_IGNORES_KEYS, HOLD]",
        ];
        all.extend(lines);
        let workspace = entry(jobs, &all);
        use_fixture(&workspace, "queue_client.py");
        workspace.write("adapters/held_client.py", include_bytes!("held_client.py"));
        fs::create_dir(hold_folder(&workspace)).expect("it is new");
        let provider = Provider::start(&workspace, options);
        Self {
            workspace,
            provider,
            ignores_keys: options.contains(&"--forget-keys"),
        }
    }

    /// Prepares a worker that can buy.
    pub fn worker(&self, options: &[&str]) -> Invocation {
        self.workspace
            .worker(options)
            .env("PROVIDER_URL", &self.provider.url)
            .env("FAKE_KEY", CANARY)
            .env("PROVIDER_POLL_S", "0.02")
            .env(
                "PROVIDER_IGNORES_KEYS",
                u8::from(self.ignores_keys).to_string(),
            )
            .env("HOLD", hold_folder(&self.workspace))
    }

    /// Prepares the worker that goes on after a death.
    pub fn resume(&self) -> Invocation {
        self.worker(&["--only-status", "enqueued,running", "--max-parallel", "2"])
    }

    /// Holds everybody who comes to a step.
    pub fn hold(&self, step: &str) {
        fs::write(hold_folder(&self.workspace).join(step), "").expect("ours");
    }

    /// Lets everybody go on, now and later.
    pub fn let_go(&self, step: &str) {
        fs::remove_file(hold_folder(&self.workspace).join(step)).expect("it was held");
    }

    /// Waits until every job is held at a step.
    #[track_caller]
    pub fn wait_for_all_at(&self, step: &str) {
        let prefix = format!("{step}.");
        let jobs = self.workspace.jobs().len();
        wait_until(&format!("all jobs at {step}"), || {
            let held = fs::read_dir(hold_folder(&self.workspace)).expect("ours");
            let names = held.flatten().map(|entry| entry.file_name());
            let there = names.filter(|name| name.to_string_lossy().starts_with(&prefix));
            there.count() == jobs
        });
    }

    /// Waits until the journals tell of something about every job.
    #[track_caller]
    pub fn wait_for_notes(&self, event: &str) {
        let mark = format!("\"event\":\"{event}\"");
        wait_until(&format!("the notes that all jobs are {event}"), || {
            let journals = fs::read_dir(self.workspace.run_path("state/journal"));
            let texts = journals.into_iter().flatten().flatten();
            let lines = texts.map(|file| {
                let text = fs::read_to_string(file.path()).unwrap_or_default();
                text.matches(&mark).count()
            });
            lines.sum::<usize>() >= self.workspace.jobs().len()
        });
    }

    /// Takes the locks of all jobs, so that nothing can be published.
    pub fn lock_jobs(&self) -> Vec<File> {
        let jobs = self.workspace.jobs().iter();
        jobs.map(|job| lock(&self.workspace.run_path(&format!("state/{}.lock", job.id))))
            .collect()
    }

    /// Takes the lock of the registry, so that no row can be changed.
    pub fn lock_registry(&self) -> File {
        lock(&self.workspace.path("tables/generations.lock"))
    }

    /// Returns the ids of the purchases that `run attempts` shows.
    #[track_caller]
    pub fn purchases_told(&self) -> BTreeSet<String> {
        let attempts = mocks::attempts(&self.workspace);
        let ids = attempts
            .iter()
            .filter_map(|attempt| attempt["request_id"].as_str());
        ids.map(str::to_owned).collect()
    }

    /// Demands that every job has its whole model, that each was paid for exactly once and that
    /// the ledger of attempts names every purchase.
    #[track_caller]
    pub fn expect_all_made_and_paid_once(&self, case: &str) {
        let jobs = self.workspace.jobs();
        let model = fs::read(fixture("simulate/cube.glb")).expect("shipped");
        for (job, status) in jobs.iter().zip(mocks::statuses(&self.workspace)) {
            assert_eq!(status, "completed", "{case}: {}", job.id);
            let path = format!("runs/rk/outputs/{}/generated.glb", job.id);
            assert_eq!(self.workspace.bytes(&path), model, "{case}: {}", job.id);
        }
        assert_eq!(self.provider.charges(), jobs.len(), "{case}: charges");
        assert_eq!(self.purchases_told(), self.provider.sold(), "{case}");
        self.expect_nothing_left(case);
    }

    /// Demands that nothing runs, nothing half done lies about and no file has the key.
    #[track_caller]
    pub fn expect_nothing_left(&self, case: &str) {
        assert_eq!(survivors(&self.workspace), [""; 0], "{case}");
        assert_eq!(self.workspace.leftovers(), [""; 0], "{case}");
        assert_eq!(files_with(self.workspace.root(), CANARY), [""; 0], "{case}");
    }
}

/// Who dies at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    /// The worker alone; its guard sees to the rest.
    Worker,
    /// The guard, the worker and all programs, as when the power goes.
    Everything,
}

impl Victim {
    /// Kills with `kill -9` and waits until nothing of it runs any more.
    #[track_caller]
    pub fn kill(self, shop: &Shop, mut running: Running) {
        wait_until("a worker", || {
            running.has_ended() || !children(running.pid()).is_empty()
        });
        if running.has_ended() {
            return;
        }
        let workers = children(running.pid());
        let pids = match self {
            Self::Worker => workers,
            Self::Everything => {
                // Stopped, the guard sees nothing of the worker's end, nor the worker of its.
                running.signal("STOP");
                let programs = workers.iter().flat_map(|worker| children(*worker));
                let all = workers.clone().into_iter().chain(programs);
                all.chain([running.pid()]).collect()
            }
        };
        let mut kill = Command::new("kill");
        kill.arg("-9").args(pids.iter().map(u32::to_string));
        // One of them may have ended by itself a moment ago.
        let _ = kill.output().expect("kill is there");
        let _ = running.wait();
        let gone = || survivors(&shop.workspace).is_empty();
        wait_until("the end of all programs", gone);
        for pid in pids {
            let path = PathBuf::from(format!("/proc/{pid}/exe"));
            wait_until("the end of the killed", || path.read_link().is_err());
        }
    }
}

fn lock(path: &Path) -> File {
    let mut options = File::options();
    let file = options.create(true).append(true).open(path).expect("ours");
    file.lock().expect("it is free or soon will be");
    file
}
