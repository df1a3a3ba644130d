//! A server under test, and plain HTTP to it: one connection a request, nothing hidden.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use super::TestWorkspace;
use super::binary::Running;
use super::wait::wait_until;

/// A server that answers.
pub struct Server {
    running: Option<Running>,
    /// Where it listens.
    pub address: String,
    /// The token of the one who started it.
    pub token: String,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its headers, names in small letters.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Server {
    /// Starts a server on a free port of this machine.
    pub fn start(workspace: &TestWorkspace, options: &[&str]) -> Self {
        Self::start_with(workspace, options, &[])
    }

    /// The same with variables in its environment.
    pub fn start_with(
        workspace: &TestWorkspace,
        options: &[&str],
        variables: &[(&'static str, String)],
    ) -> Self {
        let mut arguments = vec!["serve", "--json"];
        if !options.contains(&"--listen") {
            arguments.extend(["--listen", "127.0.0.1:0"]);
        }
        arguments.extend(options);
        let server = workspace.archi3d(&arguments);
        let variables = variables.iter();
        let server = variables.fold(server, |made, (name, value)| made.env(name, value));
        Self::told(server.spawn())
    }

    fn told(mut running: Running) -> Self {
        let mut told = Value::Null;
        wait_until("the server says where it is", || {
            assert!(!running.has_ended(), "{}", running.stderr_so_far());
            told = serde_json::from_str(&running.stdout_so_far()).unwrap_or_default();
            told.is_object()
        });
        let text = |name: &str| told[name].as_str().expect("told").to_owned();
        Self {
            running: Some(running),
            address: text("address"),
            token: text("token"),
        }
    }

    /// Starts a server that may have only so many files open.
    pub fn start_limited(workspace: &TestWorkspace, files: u32) -> Self {
        let line = format!(
            "ulimit -n {files}; exec \"$0\" serve --json --listen 127.0.0.1:0 --workspace \"$1\""
        );
        let words = [
            "-c".into(),
            line.into(),
            std::ffi::OsString::from(env!("CARGO_BIN_EXE_archi3d")),
            workspace.root().as_os_str().to_owned(),
        ];
        let server = super::Invocation::program(std::path::Path::new("sh"), words);
        Self::told(server.spawn())
    }

    /// Starts a server as a service manager does: what it says goes to a log, and whoever asks has a token of their own.
    pub fn start_as_service(workspace: &TestWorkspace, token: &str) -> Self {
        let mut running = workspace
            .archi3d(&["serve", "--listen", "127.0.0.1:0"])
            .spawn();
        let mut address = String::new();
        wait_until("the server says where it is", || {
            assert!(!running.has_ended(), "{}", running.stderr_so_far());
            let told = running.stdout_so_far();
            let told = told
                .strip_prefix("http://")
                .and_then(|told| told.split_once('/'));
            address = told.map_or(String::new(), |(address, _)| address.to_owned());
            !address.is_empty()
        });
        Self {
            running: Some(running),
            address,
            token: token.to_owned(),
        }
    }

    /// Returns everything that it has said so far.
    pub fn said_so_far(&self) -> String {
        let running = self.running.as_ref().expect("running");
        running.stdout_so_far() + &running.stderr_so_far()
    }

    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.running.as_ref().expect("running").pid()
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        self.running.as_ref().expect("running").signal(name);
    }

    /// Kills it at once.
    pub fn kill(mut self) {
        let _ = self.running.take().expect("running").kill();
    }

    /// Asks it to end, and waits until it has ended well.
    #[track_caller]
    pub fn stop(mut self) {
        let running = self.running.take().expect("running");
        running.signal("TERM");
        let _ = running.wait().expect_code(0);
    }

    /// Sends a request with the server's own token.
    pub fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        let token = format!("Bearer {}", self.token);
        self.send(method, path, &[("Authorization", &token)], body.as_bytes())
    }

    /// Reads something with the server's own token.
    pub fn get(&self, path: &str) -> Answer {
        self.call("GET", path, "")
    }

    /// Sends JSON with the server's own token.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, &body.to_string())
    }

    /// Sends a request with these headers and no others that matter.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.try_send(method, path, headers, body)
            .expect("the server answers")
    }

    /// The same where the server may be gone.
    pub fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<Answer> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let has = |name: &str| {
            headers
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !has("Host") {
            let _ = write!(head, "Host: {}\r\n", self.address);
        }
        if !body.is_empty() && !has("Content-Type") {
            head += "Content-Type: application/json\r\n";
        }
        if method != "GET" {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        // A server that has heard enough may close before it has read everything.
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes);
        if bytes.is_empty() {
            read?;
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Answer::parse(&bytes))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = running.kill();
        }
    }
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.lines();
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .expect("a status");
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers: Vec<(String, String)> = headers
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let mut answer = Self {
            status: status.parse().expect("a number"),
            headers,
            body: bytes[end + 4..].to_vec(),
        };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = unchunked(&answer.body);
        }
        answer
    }

    /// Returns a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks the status and returns the answer.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// Checks that it is this problem, whole, and returns it.
    #[track_caller]
    pub fn expect_problem(self, status: u16, kind: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        let problem = self.json();
        assert_eq!(problem["type"], format!("/problems/{kind}"), "{problem}");
        assert_eq!(problem["status"], status);
        for name in ["title", "detail", "instance"] {
            assert!(problem[name].is_string(), "{name}: {problem}");
        }
        problem
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = String::from_utf8_lossy(&rest[..end]).into_owned();
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        let from = end + 2;
        body.extend_from_slice(&rest[from..(from + size).min(rest.len())]);
        rest = rest.get(from + size + 2..).unwrap_or_default();
    }
    body
}
