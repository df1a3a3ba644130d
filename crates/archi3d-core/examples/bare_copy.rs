//! Copies every file of a folder into a bucket and does nothing else: `bare_copy s3://BUCKET/PREFIX FOLDER`.
//!
//! What `scripts/bench_objects` holds `fleet push` against: the same client, the same number of files at once, the same
//! parts, and no hash, no question whether a file is there.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, ObjectStoreExt, WriteMultipart};

const AT_ONCE: usize = 8;
const PARTS_AT_ONCE: usize = 4;
const PART: usize = 8 << 20;

fn open(place: &str) -> (Arc<dyn ObjectStore>, String) {
    if let Some(folder) = place.strip_prefix("file://") {
        std::fs::create_dir_all(folder).expect("a folder can be made");
        let store = LocalFileSystem::new_with_prefix(folder).expect("a folder");
        // As durable as what it is held against.
        return (Arc::new(store.with_fsync(true)), String::new());
    }
    let rest = place.strip_prefix("s3://").expect("s3:// or file://");
    let (bucket, prefix) = rest.split_once('/').expect("a bucket and a prefix");
    // The client takes the one that is installed; if one is already, that is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let store = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_client_options(ClientOptions::new().with_allow_http(true))
        .build()
        .expect("a bucket");
    (Arc::new(store), format!("{prefix}/"))
}

fn main() {
    let mut words = std::env::args().skip(1);
    let place = words.next().expect("a place");
    let folder = PathBuf::from(words.next().expect("a folder"));
    let (store, prefix) = open(&place);
    let files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("a folder of files")
        .map(|entry| entry.expect("a file").path())
        .collect();
    let copy = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let key = Path::from(format!("{prefix}{name}"));
        let store = Arc::clone(&store);
        async move {
            let bytes = std::fs::read(&path).expect("a file");
            let upload = store.put_multipart(&key).await?;
            let mut writer = WriteMultipart::new_with_chunk_size(upload, PART);
            for part in bytes.chunks(PART) {
                writer.wait_for_capacity(PARTS_AT_ONCE).await?;
                writer.write(part);
            }
            writer.finish().await
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let copied = runtime.block_on(
        stream::iter(files)
            .map(|path| tokio::spawn(copy(path)))
            .buffer_unordered(AT_ONCE)
            .try_collect::<Vec<_>>(),
    );
    for one in copied.expect("no thread breaks down") {
        one.expect("every file is copied");
    }
}
