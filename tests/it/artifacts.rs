//! What every place for bytes promises: the shared folder, a folder in a bucket's place, and a real S3 server
//! (`scripts/s3-for-tests`), which also brings stand-ins for the clouds of Google and Microsoft.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archi3d_core::domain::id::{AlgoKey, JobId, Nonce, RunId, WorkerId};
use archi3d_core::domain::job::{Entry, JobState};
use archi3d_core::domain::lease::Lease;
use archi3d_core::domain::time::Timestamp;
use archi3d_core::store::artifacts::{NoInputs, Patience, Shared};
use archi3d_core::store::objects::{Bucket, Cache, Place, Put, Remote, RemoteOptions};
use archi3d_core::store::{Artifact, Artifacts, Blob, JobRecord, JobSnapshot, StoreError};
use archi3d_core::workspace::artifact;
use archi3d_core::workspace::paths::Workspace;
use tempfile::TempDir;

use crate::support::{must_have_all, required};

struct Ground {
    folder: TempDir,
    artifacts: Box<dyn Artifacts>,
    bucket: Option<Arc<Bucket>>,
    shown: String,
}

/// A key that needs no server which vouches for it.
const GOOGLE_KEY: &str =
    r#"{"private_key": "k", "private_key_id": "i", "client_email": "e", "disable_oauth": true}"#;

pub(crate) fn variable(name: &str) -> Option<String> {
    match name {
        "AWS_ENDPOINT_URL" => std::env::var("ARCHI3D_TEST_S3").ok(),
        "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test".to_owned()),
        "GOOGLE_BASE_URL" => std::env::var("ARCHI3D_TEST_GCS").ok(),
        "GOOGLE_SERVICE_ACCOUNT_KEY" => Some(GOOGLE_KEY.to_owned()),
        "AZURE_STORAGE_USE_EMULATOR" => Some("true".to_owned()),
        _ => None,
    }
}

pub(crate) fn run() -> RunId {
    RunId::parse("r1").expect("valid")
}

fn grounds() -> Vec<Ground> {
    let mut grounds = vec![shared()];
    let folder = TempDir::new().expect("made");
    let place = folder.path().join("bucket");
    fs::create_dir(&place).expect("made");
    grounds.push(remote(folder, &format!("file://{}", place.display())));
    for (server, scheme) in [
        ("ARCHI3D_TEST_S3", "s3"),
        ("ARCHI3D_TEST_GCS", "gs"),
        ("ARCHI3D_TEST_AZURE", "az"),
    ] {
        if required(server, must_have_all()).is_some() {
            let place = format!("{scheme}://archi3d/{}", uuid::Uuid::new_v4().simple());
            grounds.push(remote(TempDir::new().expect("made"), &place));
        }
    }
    grounds
}

fn shared() -> Ground {
    let folder = TempDir::new().expect("made");
    let workspace = Workspace::new(folder.path().to_owned());
    let artifacts = Shared::new(workspace.clone(), workspace.run(&run()));
    Ground {
        folder,
        artifacts: Box::new(artifacts),
        bucket: None,
        shown: "a shared folder".to_owned(),
    }
}

fn remote(folder: TempDir, place: &str) -> Ground {
    let parsed = Place::parse(place).expect("a place");
    let bucket = Arc::new(Bucket::open(parsed, &variable).expect("opened"));
    bucket.probe().expect("it can be used");
    let workspace = Workspace::new(folder.path().to_owned());
    let artifacts = Remote::new(RemoteOptions {
        bucket: Arc::clone(&bucket),
        paths: workspace.run(&run()),
        workspace,
        cache: Arc::new(Cache::new(folder.path().join("cache"), 1_000_000)),
        fleet: None,
        notices: Arc::new(|_| ()),
    });
    Ground {
        folder,
        artifacts: Box::new(artifacts),
        bucket: Some(bucket),
        shown: place.to_owned(),
    }
}

impl Ground {
    fn write(&self, below: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(below);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, bytes).expect("written");
        path
    }

    /// The folder of an attempt with one file.
    fn made(&self, bytes: &[u8]) -> (Lease, Vec<Artifact>) {
        let lease = lease(self.folder.path());
        let below = lease
            .staging
            .strip_prefix(self.folder.path())
            .expect("below");
        self.write(&format!("{}/model.bin", below.display()), bytes);
        let files = artifact::inventory(&lease.staging).expect("hashed");
        (lease, files)
    }
}

pub(crate) fn lease(root: &Path) -> Lease {
    let (job_id, nonce) = (JobId::parse("j1").expect("valid"), Nonce::new("0a1b2c3d4e"));
    let name = format!("{job_id}.1-{nonce}");
    Lease {
        run_id: run(),
        worker_id: WorkerId::named("w1"),
        attempt: 1,
        claimed_at: Timestamp::parse("2026-11-17T10:00:00+00:00").expect("a time"),
        entry: Entry::Fresh,
        took_over: false,
        lost: None,
        resubmit: false,
        request_id: None,
        intent: None,
        failures: 0,
        idempotency_key: String::new(),
        redone: false,
        purchases: 0,
        staging: root.join("runs/r1/outputs/.staging").join(name),
        job_id,
        nonce,
    }
}

pub(crate) fn job(image: &str, blobs: Vec<Blob>) -> JobRecord {
    JobRecord {
        job_id: JobId::parse("j1").expect("valid"),
        product_id: "1".to_owned(),
        variant: String::new(),
        algo: Ok(AlgoKey::parse("mock").expect("valid")),
        images: vec![image.to_owned()],
        blobs,
        snapshot: JobSnapshot::Known {
            state: JobState::Enqueued { attempt: 0 },
            holder: None,
            error: None,
            unmarked: false,
            not_before: None,
            doubtful: false,
            intended: false,
            tried: false,
            purchase: None,
            holder_died: false,
            failures: 0,
        },
    }
}

fn blob_of(path: &Path) -> Blob {
    Blob {
        sha256: artifact::hash_file(path).expect("hashed"),
        size: fs::metadata(path).expect("there").len(),
    }
}

#[test]
fn what_was_published_and_placed_can_be_read_and_both_may_be_told_twice() {
    for ground in grounds() {
        let (lease, files) = ground.made(b"a model");
        for _ in 0..2 {
            let published = ground
                .artifacts
                .publish(&lease.staging, &files, Patience::None);
            published.unwrap_or_else(|error| panic!("{}: {error}", ground.shown));
        }
        for _ in 0..2 {
            let placed = ground
                .artifacts
                .place(&lease.staging, &lease.job_id, "kept", false);
            placed.unwrap_or_else(|error| panic!("{}: {error}", ground.shown));
        }
        assert!(!lease.staging.exists(), "{}", ground.shown);
        let read = ground.artifacts.read(&lease.job_id, &files[0]);
        let path = read.expect("asked").expect("there");
        assert_eq!(
            fs::read(path).expect("read"),
            b"a model",
            "{}",
            ground.shown
        );
    }
}

#[test]
fn what_nobody_published_or_others_damaged_is_not_there() {
    for ground in grounds() {
        let (lease, mut files) = ground.made(b"a model");
        let read = ground.artifacts.read(&lease.job_id, &files[0]);
        assert_eq!(read.expect("asked"), None, "{}", ground.shown);
        if ground.artifacts.is_remote() {
            // A file that is not what was hashed is put nowhere.
            files[0].sha256 = "0".repeat(64);
            let published = ground
                .artifacts
                .publish(&lease.staging, &files, Patience::None);
            assert!(published.is_err(), "{}", ground.shown);
            let read = ground.artifacts.read(&lease.job_id, &files[0]);
            assert_eq!(read.expect("asked"), None, "{}", ground.shown);
        }
    }
}

#[test]
fn a_copy_that_is_damaged_in_the_bucket_is_put_right_by_whoever_publishes_the_same_bytes() {
    let folder = TempDir::new().expect("made");
    let place = folder.path().join("bucket");
    fs::create_dir(&place).expect("made");
    let url = format!("file://{}", place.display());
    let first = remote(folder, &url);
    let (lease, files) = first.made(b"a model");
    let publish = |ground: &Ground, lease: &Lease| {
        let published = ground
            .artifacts
            .publish(&lease.staging, &files, Patience::None);
        published.expect("published");
    };
    publish(&first, &lease);
    let sum = &files[0].sha256;
    let blob = place.join("blobs/sha256").join(&sum[..2]).join(&sum[2..]);
    // As large as before.
    fs::write(&blob, b"b model").expect("spoilt");
    let second = remote(TempDir::new().expect("made"), &url);
    let (own, _) = second.made(b"a model");
    publish(&second, &own);
    assert_eq!(fs::read(&blob).expect("read"), b"a model");
    let read = second.artifacts.read(&own.job_id, &files[0]);
    assert!(read.expect("asked").is_some());
    let noted = fs::read_dir(place.join("damaged")).expect("listed");
    assert_eq!(noted.count(), 0, "and the note of it is gone");
}

#[test]
fn what_is_set_aside_is_never_away() {
    for ground in grounds() {
        let (lease, _) = ground.made(b"a model");
        let kept = ground
            .artifacts
            .set_aside(&lease.staging, &lease.job_id, 1, &lease.nonce);
        let kept = kept.expect("moved").expect("there was something");
        let bytes = fs::read(kept.join("model.bin")).expect("read");
        assert_eq!(bytes, b"a model", "{}", ground.shown);
    }
}

#[test]
fn pictures_can_be_read_until_they_are_let_go() {
    for ground in grounds() {
        let picture = ground.write("dataset/1/images/A.png", b"a picture");
        let lease = lease(ground.folder.path());
        let mut blobs = Vec::new();
        if let Some(bucket) = &ground.bucket {
            let blob = blob_of(&picture);
            assert_eq!(bucket.put(&picture, &blob).expect("put"), Put::Sent);
            assert_eq!(bucket.put(&picture, &blob).expect("put"), Put::There);
            fs::remove_file(&picture).expect("removed");
            blobs.push(blob);
        }
        let job = job("dataset/1/images/A.png", blobs);
        for _ in 0..2 {
            let paths = match ground.artifacts.inputs(&lease, &job) {
                Ok(paths) => paths,
                Err(error) => panic!("{}: {error:?}", ground.shown),
            };
            assert_eq!(paths[0].file_name().expect("a name"), "A.png");
            assert_eq!(fs::read(&paths[0]).expect("read"), b"a picture");
            if ground.bucket.is_some() {
                // A program that writes into its picture must insist, and harms nobody after it.
                let mut rights = fs::metadata(&paths[0]).expect("there").permissions();
                assert!(rights.readonly());
                #[expect(clippy::permissions_set_readonly_false, reason = "as a program does")]
                rights.set_readonly(false);
                fs::set_permissions(&paths[0], rights).expect("set");
                fs::write(&paths[0], b"scribble!").expect("written");
            }
            ground.artifacts.let_go(&lease);
        }
    }
}

#[test]
fn a_picture_that_is_gone_fails_its_job_and_says_which() {
    for ground in grounds() {
        let lease = lease(ground.folder.path());
        let blobs = ground.bucket.as_ref().map(|_| Blob {
            sha256: "1".repeat(64),
            size: 7,
        });
        let job = job("dataset/1/images/A.png", blobs.into_iter().collect());
        let Err(NoInputs::Unusable(reason)) = ground.artifacts.inputs(&lease, &job) else {
            panic!("{}: it is gone", ground.shown);
        };
        assert!(reason.contains("A.png"), "{reason}");
    }
}

#[test]
fn large_files_travel_in_parts_and_arrive_whole() {
    for ground in grounds() {
        let Some(bucket) = &ground.bucket else {
            continue;
        };
        let bytes: Vec<u8> = (0..=250u8).cycle().take(9_000_003).collect();
        let path = ground.write("large.bin", &bytes);
        let blob = blob_of(&path);
        assert_eq!(bucket.put(&path, &blob).expect("put"), Put::Sent);
        let back = ground.folder.path().join("back.bin");
        bucket.fetch(&blob, &back).expect("fetched");
        assert!(fs::read(&back).expect("read") == bytes, "{}", ground.shown);
        // One that changed since it was hashed gets no name.
        let path = ground.write("changed.bin", &bytes[1..]);
        let wrong = Blob {
            sha256: "2".repeat(64),
            size: blob.size - 1,
        };
        assert!(bucket.put(&path, &wrong).is_err());
        assert!(!bucket.has(&wrong).expect("asked"), "{}", ground.shown);
    }
}

#[test]
fn the_cache_keeps_to_its_size() {
    let folder = TempDir::new().expect("made");
    let place = folder.path().join("bucket");
    fs::create_dir(&place).expect("made");
    let ground = remote(folder, &format!("file://{}", place.display()));
    let bucket = ground.bucket.as_ref().expect("a bucket");
    for number in 0..6u8 {
        let path = ground.write("picture", &vec![number; 300_000]);
        let blob = blob_of(&path);
        bucket.put(&path, &blob).expect("put");
        let job = job("dataset/A.png", vec![blob]);
        let lease = lease(ground.folder.path());
        assert!(ground.artifacts.inputs(&lease, &job).is_ok());
        ground.artifacts.let_go(&lease);
    }
    let tree = artifact::inventory(&ground.folder.path().join("cache")).expect("listed");
    let size: u64 = tree.iter().map(|file| file.size).sum();
    assert!((300_000..=1_000_000).contains(&size), "{size}");
}

/// Takes what is put, and knows no condition.
fn unconditional() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut seen: Vec<u8> = Vec::new();
            let mut part = [0; 4096];
            let head = loop {
                let head = String::from_utf8_lossy(&seen).to_lowercase();
                let length = head
                    .split_once("content-length: ")
                    .and_then(|(_, rest)| rest.split("\r\n").next()?.parse::<usize>().ok());
                let end = seen.windows(4).position(|end| end == b"\r\n\r\n");
                if end.is_some_and(|end| seen.len() >= end + 4 + length.unwrap_or(0)) {
                    break head;
                }
                match stream.read(&mut part) {
                    Ok(read) if read > 0 => seen.extend(&part[..read]),
                    _ => break head,
                }
            };
            let status = match head.split(' ').next() {
                Some("put") if head.contains("if-none-match") => "501 Not Implemented",
                Some("put") => "200 OK",
                _ => "404 Not Found",
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\nETag: \"1\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn a_bucket_that_knows_no_put_if_absent_is_just_put_into() {
    let address = unconditional();
    let variable = |name: &str| match name {
        "AWS_ENDPOINT_URL" => Some(address.clone()),
        "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("key".to_owned()),
        _ => None,
    };
    let place = Place::parse("s3://bucket/prefix").expect("a place");
    let bucket = Bucket::open(place, &variable).expect("opened");
    bucket.enrol("ours", "a database").expect("enrolled");
    let blob = Blob {
        sha256: "3".repeat(64),
        size: 5,
    };
    let put = bucket.put_bytes(b"bytes".to_vec(), &blob);
    assert_eq!(put.expect("put"), Put::Sent);
}

/// Answers every request with a refusal, as a bucket words it.
fn refusing(status: &'static str, code: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut seen: Vec<u8> = Vec::new();
            let mut part = [0; 4096];
            while !seen.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut part) {
                    Ok(read) if read > 0 => seen.extend(&part[..read]),
                    _ => break,
                }
            }
            let body = format!("<Error><Code>{code}</Code><Message>hush</Message></Error>");
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn a_bucket_that_refuses_is_told_in_one_line_without_its_words() {
    for (status, code, words, is_setup) in [
        (
            "403 Forbidden",
            "AccessDenied",
            "no permission for a list",
            true,
        ),
        (
            "403 Forbidden",
            "RequestTimeTooSkewed",
            "the clock of this machine",
            true,
        ),
        (
            "403 Forbidden",
            "SignatureDoesNotMatch",
            "the credentials are refused",
            true,
        ),
        (
            "404 Not Found",
            "NoSuchBucket",
            "there is no such bucket",
            true,
        ),
        ("503 Slow Down", "SlowDown", "does not answer: 503", false),
    ] {
        let address = refusing(status, code);
        let variable = |name: &str| match name {
            "AWS_ENDPOINT_URL" => Some(address.clone()),
            "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("key".to_owned()),
            _ => None,
        };
        let place = Place::parse("s3://bucket/prefix").expect("a place");
        let bucket = Bucket::open(place, &variable).expect("opened");
        let error = StoreError::from(bucket.probe().expect_err(code));
        let text = error.to_string();
        assert!(text.contains(words), "{code}: {text}");
        assert!(!text.contains("hush") && !text.contains('\n'), "{text}");
        assert_eq!(error.is_setup(), is_setup, "{code}");
    }
}

#[test]
fn who_says_nothing_of_itself_is_told_so() {
    let address = refusing("403 Forbidden", "AccessDenied");
    let variable = |name: &str| (name == "AWS_ENDPOINT_URL").then(|| address.clone());
    let metadata = address.clone();
    let variable =
        |name: &str| variable(name).or((name == "AWS_METADATA_ENDPOINT").then(|| metadata.clone()));
    let place = Place::parse("s3://bucket/prefix").expect("a place");
    let bucket = Bucket::open(place, &variable).expect("opened");
    let text = bucket.probe().expect_err("refused").to_string();
    assert!(text.contains("there are no credentials"), "{text}");
}
