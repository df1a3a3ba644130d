//! A bucket's place and a cache that others use, fill or unmount meanwhile.

use std::fs;
use std::sync::Arc;

use archi3d_core::domain::text::hex;
use archi3d_core::store::artifacts::{NoInputs, Patience};
use archi3d_core::store::objects::{Bucket, Cache, Place, Remote, RemoteOptions};
use archi3d_core::store::{Artifacts as _, Blob, NoticeSink};
use archi3d_core::workspace::artifact;
use archi3d_core::workspace::paths::Workspace;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::artifacts::{job, lease, run, variable};

/// A folder in a bucket's place, with pictures of 300 kB.
struct Pictured {
    folder: TempDir,
    place: Place,
}

impl Pictured {
    fn new() -> Self {
        let folder = TempDir::new().expect("made");
        let bucket = folder.path().join("bucket");
        fs::create_dir(&bucket).expect("made");
        let place = Place::parse(&format!("file://{}", bucket.display())).expect("a place");
        Self { folder, place }
    }

    fn bucket(&self) -> Arc<Bucket> {
        Arc::new(Bucket::open(self.place.clone(), &variable).expect("opened"))
    }

    fn remote(&self, fleet: Option<&str>, notices: NoticeSink) -> Remote {
        let workspace = Workspace::new(self.folder.path().to_owned());
        Remote::new(RemoteOptions {
            bucket: self.bucket(),
            paths: workspace.run(&run()),
            workspace,
            cache: Arc::new(Cache::new(self.folder.path().join("cache"), 1_000_000)),
            fleet: fleet.map(str::to_owned),
            notices,
        })
    }

    fn put(&self, number: u8) -> Blob {
        let bytes = vec![number; 300_000];
        let blob = Blob {
            sha256: hex(&Sha256::digest(&bytes)),
            size: bytes.len() as u64,
        };
        self.bucket().put_bytes(bytes, &blob).expect("put");
        blob
    }

    fn fetch(&self, remote: &Remote, blob: &Blob) -> Result<(), NoInputs> {
        let lease = lease(self.folder.path());
        let fetched = remote.inputs(&lease, &job("dataset/A.png", vec![blob.clone()]));
        remote.let_go(&lease);
        fetched.map(drop)
    }

    fn cached(&self) -> u64 {
        let tree = artifact::inventory(&self.folder.path().join("cache")).expect("listed");
        tree.iter().map(|file| file.size).sum()
    }
}

#[test]
fn two_runs_of_one_machine_keep_to_one_limit() {
    let ground = Pictured::new();
    let runs = [(); 2].map(|()| ground.remote(None, Arc::new(|_| ())));
    for number in 0..8u8 {
        let blob = ground.put(number);
        let fetched = ground.fetch(&runs[usize::from(number % 2)], &blob);
        assert!(fetched.is_ok(), "{number}");
        assert!(ground.cached() <= 1_000_000, "{number}");
    }
}

#[test]
fn what_somebody_is_fetching_makes_no_room_unless_he_is_long_gone() {
    let ground = Pictured::new();
    let remote = ground.remote(None, Arc::new(|_| ()));
    let half = ground.folder.path().join("cache/ab/.cdef.tag.tmp");
    fs::create_dir_all(half.parent().expect("a folder")).expect("made");
    fs::write(&half, vec![0; 900_000]).expect("written");
    assert!(ground.fetch(&remote, &ground.put(1)).is_ok());
    assert!(half.exists());
    let file = fs::File::open(&half).expect("there");
    let old = std::time::SystemTime::UNIX_EPOCH;
    file.set_modified(old).expect("made old");
    assert!(ground.fetch(&remote, &ground.put(2)).is_ok());
    assert!(!half.exists());
}

#[test]
fn a_disk_that_takes_no_picture_is_the_trouble_of_its_machine_and_not_of_the_job() {
    let ground = Pictured::new();
    let blob = ground.put(1);
    fs::write(ground.folder.path().join("cache"), b"no folder").expect("written");
    let remote = ground.remote(None, Arc::new(|_| ()));
    let fetched = ground.fetch(&remote, &blob);
    assert!(matches!(fetched, Err(NoInputs::Trouble(_))), "{fetched:?}");
}

#[test]
fn a_place_that_is_not_mounted_any_more_is_waited_for_and_nothing_is_put_below_its_mount_point() {
    let ground = Pictured::new();
    let (tell, told) = std::sync::mpsc::channel();
    let remote = ground.remote(
        Some("ours"),
        Arc::new(move |notice| {
            let _ = tell.send(format!("{notice:?}"));
        }),
    );
    ground
        .bucket()
        .enrol("ours", "a database")
        .expect("enrolled");
    let blob = ground.put(1);
    let (bucket, away) = (
        ground.folder.path().join("bucket"),
        ground.folder.path().join("away"),
    );
    fs::rename(&bucket, &away).expect("moved");
    fs::create_dir(&bucket).expect("an empty mount point");
    let lease = lease(ground.folder.path());
    fs::create_dir_all(&lease.staging).expect("made");
    fs::write(lease.staging.join("model.bin"), b"a model").expect("written");
    let files = artifact::inventory(&lease.staging).expect("hashed");
    let put = remote.publish(&lease.staging, &files, Patience::None);
    let refused = put.expect_err("it is not there").to_string();
    assert!(refused.contains("it is not mounted"), "{refused}");
    assert_eq!(fs::read_dir(&bucket).expect("there").count(), 0);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| ground.fetch(&remote, &blob));
        let notice = told.recv().expect("it is said");
        assert!(notice.contains("it is not mounted"), "{notice}");
        fs::remove_dir(&bucket).expect("removed");
        fs::rename(&away, &bucket).expect("mounted again");
        assert!(waits.join().expect("no panic").is_ok());
    });
}

#[test]
fn what_was_put_again_since_it_was_listed_stays() {
    let ground = Pictured::new();
    let (bucket, blob) = (ground.bucket(), ground.put(1));
    let listed = bucket.list().expect("listed");
    let (first, rest) = blob.sha256.split_at(2);
    let path = ground.folder.path().join("bucket/blobs/sha256");
    let file = fs::File::open(path.join(first).join(rest)).expect("there");
    let now = listed[0].at + chrono::TimeDelta::seconds(1);
    file.set_modified(now.into()).expect("made young");
    assert!(!bucket.delete(&listed[0]).expect("asked"));
    assert!(bucket.has(&blob).expect("asked"));
    let listed = bucket.list().expect("listed");
    assert!(bucket.delete(&listed[0]).expect("asked"));
    assert!(!bucket.has(&blob).expect("asked"));
}
