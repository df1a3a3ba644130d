//! The job of the benchmarks: a program that does next to nothing.
//!
//! `scripts/bench` starts it as an adapter and under every other tool. It reads
//! what it is told, writes a model of a few hundred bytes and says that it is
//! done. With an argument it makes that folder first and writes in it, because
//! only we make the folder of a job for it.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A model of one triangle.
const MODEL: &[u8] = include_bytes!("../fixtures/simulate/cube.glb");

/// What an adapter says when it is done.
const ANSWER: &[u8] =
    b"{\"event\":\"result\",\"success\":true,\"generated_glb\":\"generated.glb\"}\n";

fn main() -> io::Result<()> {
    let folder = match std::env::args_os().nth(1) {
        Some(folder) => {
            std::fs::create_dir_all(&folder)?;
            PathBuf::from(folder)
        }
        None => PathBuf::from("."),
    };
    io::stdin().read_to_end(&mut Vec::new())?;
    put(&folder.join("generated.glb"))?;
    io::stdout().write_all(ANSWER)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the benchmark writes as any program would"
)]
fn put(path: &Path) -> io::Result<()> {
    std::fs::write(path, MODEL)
}
