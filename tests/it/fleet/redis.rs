//! Redis as a wake-up channel: a real one, which is lost, stands still and dies, and messages that are doubled or lies.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::Fleet;
use crate::support::mocks::{counting_mocks, executions};
use crate::support::{TestWorkspace, wait_until};

/// A Redis of one's own, on a port that was free.
pub struct Redis {
    process: Child,
    port: u16,
}

impl Redis {
    /// Starts one; nothing where there is no Redis, unless it is required.
    pub fn start(folder: &Path, port: Option<u16>) -> Option<Self> {
        crate::postgres::bench::server("ARCHI3D_TEST_REDIS")?;
        let free = || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            listener.local_addr().expect("bound").port()
        };
        let port = port.unwrap_or_else(free);
        let process = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--port"])
            .arg(port.to_string())
            .arg("--dir")
            .arg(folder)
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let redis = Self { process, port };
        wait_until("Redis answers", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Some(redis)
    }

    /// Returns where it listens.
    pub fn place(&self) -> (&'static str, u16) {
        ("127.0.0.1", self.port)
    }

    /// Returns its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Asks in the words that a person types.
    fn ask(&self, words: &str) -> String {
        let mut talk = TcpStream::connect(("127.0.0.1", self.port)).expect("it answers");
        talk.write_all(format!("{words}\r\nQUIT\r\n").as_bytes())
            .expect("asked");
        let mut answer = String::new();
        talk.read_to_string(&mut answer).expect("answered");
        answer
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status();
        assert!(sent.expect("sent").success());
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_real_redis_wakes_and_lost_doubled_and_lying_messages_change_nothing() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let algo = counting_mocks(&[("killme", "")]);
    let builder = TestWorkspace::with_products(8).algo("killme");
    let workspace = builder.adapters(&algo).build();
    let Some(redis) = Redis::start(workspace.outside(), None) else {
        return;
    };
    let url = redis.url();
    // What is pushed in parts.
    let manifest = String::from_utf8(workspace.bytes("runs/rk/manifest.csv")).expect("text");
    let lines: Vec<&str> = manifest.split_inclusive('\n').collect();
    let push = |jobs: usize| {
        workspace.write("runs/rk/manifest.csv", lines[..=jobs].concat().as_bytes());
        let push = fleet.invoke(&workspace, &["fleet", "push", "--run-id", "rk"]);
        push.env("ARCHI3D_WAKE", &url).run()
    };
    let _ = push(2).expect_code(0);
    let worker = fleet.worker(&workspace, &["--wake", &url, "--until-idle", "300"]);
    wait_until("it listens", || {
        redis.ask("PUBSUB CHANNELS").contains("archi3d_1")
    });
    let made = "SELECT count(*) FROM archi3d.jobs WHERE status = 'succeeded'";
    let mut admin = postgres::Client::connect(&fleet.url, postgres::NoTls).expect("connected");
    let mut wait_for = |jobs: i64| {
        wait_until("what was pushed is made", || {
            admin.query_one(made, &[]).expect("asked").get::<_, i64>(0) == jobs
        });
    };
    wait_for(2);
    // Doubled, and lies: nothing is there.
    for _ in 0..50 {
        let told = redis.ask("PUBLISH archi3d_1 nonsense");
        assert!(told.starts_with(":1"), "somebody hears it: {told}");
    }
    let _ = push(4).expect_code(0);
    wait_for(4);
    // It stands still: a push is not kept from its end, nor a worker from its work.
    redis.signal("-STOP");
    let _ = push(6).expect_code(0);
    wait_for(6);
    // It dies and another comes in its place.
    redis.signal("-CONT");
    let port = redis.port;
    drop(redis);
    let _ = push(7).expect_code(0);
    wait_for(7);
    let Some(redis) = Redis::start(workspace.outside(), Some(port)) else {
        return;
    };
    wait_until("it listens again", || {
        redis.ask("PUBSUB CHANNELS").contains("archi3d_1")
    });
    let _ = push(8).expect_code(0);
    wait_for(8);
    worker.signal("TERM");
    let _ = worker.wait().expect_code(143);
    assert_eq!(executions(&workspace).len(), 8);
    let begun = "SELECT count(*) FROM archi3d.attempts WHERE status <> 'released'";
    assert_eq!(fleet.number(begun), 8);
}
