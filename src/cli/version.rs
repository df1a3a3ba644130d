//! `archi3d --version`, and with `--verbose` what this very program was built from.

use serde::Serialize;

/// What the program is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// Its version.
    pub version: &'static str,
    /// The commit it was built from; nothing if that was not recorded.
    pub commit: Option<&'static str>,
    /// The moment of that commit: builds of it are equal, so there is no other.
    pub committed: Option<&'static str>,
    /// What it was built for.
    pub target: &'static str,
    /// The parts that can be left out and were not.
    pub features: Vec<&'static str>,
    /// The schema of a fleet's store that it makes; nothing without one.
    pub store_schema: Option<i32>,
}

/// Returns what the program is.
pub fn facts() -> Facts {
    let parts = [
        ("objects", cfg!(feature = "objects")),
        ("otel", cfg!(feature = "otel")),
        ("postgres", cfg!(feature = "postgres")),
        ("serve", cfg!(feature = "serve")),
        ("failpoints", cfg!(feature = "failpoints")),
    ];
    Facts {
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("ARCHI3D_BUILT_FROM").filter(|commit| !commit.is_empty()),
        committed: option_env!("ARCHI3D_BUILT_AT").filter(|moment| !moment.is_empty()),
        target: env!("ARCHI3D_TARGET"),
        features: parts
            .into_iter()
            .filter_map(|(name, on)| on.then_some(name))
            .collect(),
        store_schema: store_schema(),
    }
}

#[cfg(feature = "postgres")]
#[expect(
    clippy::unnecessary_wraps,
    reason = "without the feature there is none"
)]
fn store_schema() -> Option<i32> {
    Some(archi3d_core::ops::fleet::newest_schema())
}

#[cfg(not(feature = "postgres"))]
fn store_schema() -> Option<i32> {
    None
}

/// Returns the one line that everybody knows.
pub fn short() -> String {
    format!("archi3d {}", env!("CARGO_PKG_VERSION"))
}

/// Returns all of it, one fact a line.
pub fn long() -> String {
    let facts = facts();
    let schema = facts.store_schema.map(|schema| schema.to_string());
    let unknown = "not recorded";
    let lines = [
        ("commit", facts.commit.unwrap_or(unknown).to_owned()),
        ("committed", facts.committed.unwrap_or(unknown).to_owned()),
        ("target", facts.target.to_owned()),
        ("features", facts.features.join(" ")),
        ("store schema", schema.unwrap_or_else(|| "none".to_owned())),
    ];
    let lines = lines.map(|(name, value)| format!("{:<13} {value}", format!("{name}:")));
    format!("{}\n{}", short(), lines.join("\n"))
}
