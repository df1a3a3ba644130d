//! What integration tests stand on: workspaces in temporary folders, the real binary in a clean
//! environment, readers of everything it leaves behind, and waiting without sleeping blindly.
//! It computes ids and tables on its own, so that it can contradict the program.

pub mod bench;
#[cfg(target_os = "linux")]
pub mod billing;
pub mod binary;
pub mod dataset;
#[cfg(target_os = "linux")]
pub mod doubles;
#[cfg(feature = "serve")]
pub mod http;
pub mod memory_store;
pub mod mocks;
pub mod mount;
#[cfg(all(target_os = "linux", feature = "postgres"))]
pub mod pg_bench;
pub mod place;
#[cfg(target_os = "linux")]
pub mod process;
pub mod read;
pub mod shapes;
pub mod skip;
pub mod wait;
pub mod workspace;

pub use binary::{Invocation, Output};
pub use mount::Mount;
pub use read::Registry;
pub use skip::{has_tool, must_have_all, required, skip};
pub use wait::{DEADLINE, wait_until};
pub use workspace::{TestWorkspace, image_set_hash, job_id};

use std::path::{Path, PathBuf};

/// Returns a folder shipped under `fixtures/`.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(name)
}

/// Returns the Python interpreter that has `filelock` in this version (`newest` for today's).
///
/// Without one the test is passed over with a line that says so, unless `ARCHI3D_TEST_REQUIRE=1`
/// asks for a failure.
pub fn python_with_filelock(version: &str) -> Option<PathBuf> {
    let suffix = version.replace('.', "_").to_uppercase();
    required(&format!("ARCHI3D_TEST_PYTHON_{suffix}"), must_have_all())
}

/// Returns the Python interpreter that has fal's own client, under the same condition.
pub fn python_with_fal_client() -> Option<PathBuf> {
    required("ARCHI3D_TEST_PYTHON_FAL", must_have_all())
}

/// Returns the Python interpreter that has trimesh, scipy and choix, under the same condition.
pub fn python_with_scores() -> Option<PathBuf> {
    required("ARCHI3D_TEST_PYTHON_SCORES", must_have_all())
}

/// Returns schemathesis, under the same condition.
#[cfg(feature = "serve")]
pub fn schemathesis() -> Option<PathBuf> {
    required("ARCHI3D_TEST_SCHEMATHESIS", must_have_all())
}

/// Returns the folder that has Prometheus and promtool, under the same condition.
#[cfg(feature = "serve")]
pub fn prometheus() -> Option<PathBuf> {
    required("ARCHI3D_TEST_PROMETHEUS", must_have_all())
}

/// Returns the folder of the Khronos validator for Node, under the same condition.
pub fn gltf_validator() -> Option<PathBuf> {
    required("ARCHI3D_TEST_GLTF_VALIDATOR", must_have_all())
}
