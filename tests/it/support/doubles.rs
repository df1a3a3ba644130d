//! Doubles of paid services, workspaces whose jobs buy from them, and what their ledgers say.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::binary::{Invocation, Output, Running};
use super::{TestWorkspace, fixture, wait_until};

/// The key that must be found nowhere.
pub const KEY: &str = "canary+5f3a/9c-secret";

/// A service, with the variables that lead to its double.
#[derive(Debug, Clone, Copy)]
pub struct Service {
    pub name: &'static str,
    pub key: &'static str,
    pub addresses: &'static [(&'static str, &'static str)],
    /// An entry of a model.
    pub entry: &'static str,
}

pub const FAL: Service = Service {
    name: "fal",
    key: "FAL_KEY",
    addresses: &[
        ("ARCHI3D_FAL_QUEUE_URL", ""),
        ("ARCHI3D_FAL_REST_URL", ""),
        ("ARCHI3D_FAL_API_URL", "/v1"),
    ],
    entry: "kind: fal, endpoint: fal-ai/trellis, image_mode: single, unit_price_usd: 0.02",
};

pub const TRIPO: Service = Service {
    name: "tripo",
    key: "TRIPO_API_KEY",
    addresses: &[("ARCHI3D_TRIPO_URL", "/v3")],
    entry: "kind: tripo, endpoint: image-to-model, image_mode: single, unit_price_usd: 0.3",
};

pub const MESHY: Service = Service {
    name: "meshy",
    key: "MESHY_API_KEY",
    addresses: &[("ARCHI3D_MESHY_URL", "/openapi/v1")],
    entry: "kind: meshy, endpoint: image-to-3d, image_mode: single, unit_price_usd: 0.6",
};

pub const REPLICATE: Service = Service {
    name: "replicate",
    key: "REPLICATE_API_TOKEN",
    addresses: &[("ARCHI3D_REPLICATE_URL", "/v1")],
    entry: "kind: replicate, endpoint: firtoz/trellis, image_mode: single, unit_price_usd: 0.05",
};

pub const ALL: [Service; 4] = [FAL, TRIPO, MESHY, REPLICATE];

/// Returns a file of `tests/doubles`.
pub fn double_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/doubles")
        .join(name)
}

/// A workspace whose jobs buy from the double of a service, and the double.
#[derive(Debug)]
pub struct Market {
    pub workspace: TestWorkspace,
    pub service: Service,
    pub port: u16,
    /// Where it answers for every name, by https.
    pub proxy: Option<u16>,
    _running: Running,
}

impl Market {
    /// Opens one with `jobs` jobs and further keys of their entry (`, name: value`).
    pub fn open(service: Service, jobs: usize, more: &str) -> Self {
        Self::opened(service, jobs, more, &[])
    }

    /// Opens one that is reached by https, under the names of the real service.
    pub fn open_with_tls(service: Service, jobs: usize, public: &str) -> Self {
        let file = |name| double_file(name).display().to_string();
        let (certificate, key) = (file("tls/server.pem"), file("tls/server.key"));
        let tls = ["--tls", &certificate, &key, "--public", public];
        Self::opened(service, jobs, "", &tls)
    }

    fn opened(service: Service, jobs: usize, more: &str, options: &[&str]) -> Self {
        let entry = format!("adapters:\n  made_single: {{{}{more}}}\n", service.entry);
        let builder = TestWorkspace::with_products(jobs).algo("made_single");
        let workspace = builder.adapters(&entry).build();
        let outside = workspace.outside();
        fs::create_dir_all(outside.join("hold")).expect("made");
        fs::write(outside.join("control"), "{}").expect("written");
        let port_file = outside.join("port");
        let mut invocation = Invocation::program(Path::new("python3"), [double_file("double.py")])
            .arg(service.name)
            .env("DOUBLE_KEY", KEY);
        for (option, path) in [
            ("--model", fixture("simulate/cube.glb")),
            ("--ledger", outside.join("ledger")),
            ("--control", outside.join("control")),
            ("--port-file", port_file.clone()),
            ("--hold", outside.join("hold")),
        ] {
            invocation = invocation.arg(option).arg(path);
        }
        for option in options {
            invocation = invocation.arg(*option);
        }
        let running = invocation.spawn();
        wait_until("the double", || port_file.exists());
        let number = |path: &Path| fs::read_to_string(path).ok()?.parse().ok();
        Self {
            port: number(&port_file).expect("a port"),
            proxy: number(&outside.join("port.proxy")),
            workspace,
            service,
            _running: running,
        }
    }

    /// Tells the double what is to happen.
    pub fn control(&self, control: Value) {
        let path = self.workspace.outside().join("control");
        let new = self.workspace.outside().join("control.new");
        fs::write(&new, control.to_string()).expect("written");
        fs::rename(new, path).expect("replaced");
    }

    /// Prepares a command that reaches the double.
    pub fn command(&self, words: &[&str]) -> Invocation {
        self.reaching(self.workspace.archi3d(words))
            .env(self.service.key, KEY)
    }

    fn reaching(&self, invocation: Invocation) -> Invocation {
        let mut invocation = invocation
            .env("ARCHI3D_HTTP_POLL_MS", "10")
            .env("ARCHI3D_HTTP_TIMEOUT_S", "3")
            .env("ARCHI3D_HTTP_DOUBT_S", "1");
        if let Some(proxy) = self.proxy {
            return invocation
                .env("HTTPS_PROXY", format!("http://127.0.0.1:{proxy}"))
                .env("SSL_CERT_FILE", double_file("tls/ca.pem"));
        }
        for (name, path) in self.service.addresses {
            invocation = invocation.env(name, format!("http://127.0.0.1:{}{path}", self.port));
        }
        invocation
    }

    /// The same without a key in the environment.
    pub fn keyless(&self, words: &[&str]) -> Invocation {
        self.reaching(self.workspace.archi3d(words))
    }

    /// Prepares a worker on the run.
    pub fn worker(&self, more: &[&str]) -> Invocation {
        let mut words = vec!["run", "worker", "--run-id", "rk"];
        words.extend(more);
        self.command(&words)
    }

    /// Returns the lines of the ledger.
    pub fn ledger(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.workspace.outside().join("ledger"));
        let text = text.unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    /// Returns how often something happened.
    pub fn count(&self, event: &str) -> usize {
        self.ledger()
            .iter()
            .filter(|line| line["event"] == event)
            .count()
    }

    /// Waits until a call is held.
    pub fn wait_for(&self, call: &str) {
        let path = self
            .workspace
            .outside()
            .join("hold")
            .join(format!("{call}.here"));
        wait_until(&format!("the call {call}"), || path.exists());
    }

    /// Lets a held call go on.
    pub fn let_go(&self, call: &str) {
        let path = self
            .workspace
            .outside()
            .join("hold")
            .join(format!("{call}.here"));
        fs::remove_file(path).expect("it is held");
    }

    /// Returns how many jobs have each status.
    pub fn statuses(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for job in self.workspace.jobs() {
            let row = self.workspace.row(&job.id);
            let status = row.get("status").unwrap_or_default().to_owned();
            *counts.entry(status).or_default() += 1;
        }
        counts
    }

    /// Demands that every job is made and that exactly so many orders were taken and paid.
    #[track_caller]
    pub fn expect_all_made(&self, jobs: usize, accepted: usize, charged: usize) {
        let statuses = self.statuses();
        assert_eq!(statuses, BTreeMap::from([("completed".to_owned(), jobs)]));
        self.wait_for_endings();
        assert_eq!(self.count("accepted"), accepted, "accepted");
        assert_eq!(self.count("charged"), charged, "charged");
        assert_eq!(self.count("leak"), 0, "the key went where it must not");
    }

    /// Waits until the double has written down how every order ended.
    pub fn wait_for_endings(&self) {
        wait_until("the endings", || {
            self.count("charged") + self.count("failed") >= self.count("accepted")
        });
    }

    /// Demands that the key is in nothing that is left behind, in no form.
    #[track_caller]
    pub fn expect_no_key(&self, outputs: &[&Output]) {
        self.expect_nowhere(KEY, outputs);
    }

    /// Demands that a secret is in nothing that is left behind, in no form.
    #[track_caller]
    pub fn expect_nowhere(&self, secret: &str, outputs: &[&Output]) {
        let forms = forms_of(secret);
        let demand = |text: &str, place: &str| {
            for form in &forms {
                assert!(!text.contains(form.as_str()), "the key is in {place}");
            }
        };
        for output in outputs {
            demand(&output.stdout, "stdout");
            demand(&output.stderr, "stderr");
        }
        let mut folders = vec![self.workspace.root().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("readable") {
                let path = entry.expect("readable").path();
                demand(&path.display().to_string(), "a name");
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).unwrap_or_default();
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    demand(&text, &path.display().to_string());
                }
            }
        }
    }
}

/// Returns a secret as it may be written: plain, in an address, in JSON, in base64.
fn forms_of(secret: &str) -> Vec<String> {
    let address = secret.replace('+', "%2B").replace('/', "%2F");
    let lower = address.to_lowercase();
    let mut forms = vec![
        secret.to_owned(),
        address,
        lower,
        secret.replace('/', "\\/"),
    ];
    for before in ["", "x", "xx"] {
        let text = base64(format!("{before}{secret}").as_bytes());
        // What lies fully within the secret.
        forms.push(text[4..text.len() - 4].to_owned());
    }
    forms
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..=three.len() {
            text.push(char::from(
                LETTERS[(bits >> (18 - 6 * place) & 63) as usize],
            ));
        }
    }
    text
}

/// A fault of the calls with these numbers.
pub fn nth(call: &str, numbers: &[usize], what: &str) -> Value {
    json!({"call": call, "nth": numbers, "do": what})
}
