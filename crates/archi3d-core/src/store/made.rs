//! What an adapter said it made, before anything of it was checked.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::content::ContentKey;
use crate::domain::patch::Price;

/// A result in its staging folder: enough for anybody to check and publish it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// The model inside the folder, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// The previews inside the folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub previews: Vec<PathBuf>,
    /// What made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algo_version: Option<String>,
    /// What it cost.
    #[serde(default)]
    pub price: Price,
    /// What it is about, for `metadata.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Value>,
    /// What its maker told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Map<String, Value>>,
    /// What it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_key: Option<ContentKey>,
    /// Whether it cost nothing for sure: then it can simply be made again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free: bool,
    /// Whether its maker has ended and the folder was cleared of secrets: until
    /// then only the model and its previews are known to be fit to be seen.
    #[serde(default)]
    pub settled: bool,
}

impl Made {
    /// Returns a file's path inside `folder` as it can be written down.
    pub fn inside(path: &Path, folder: &Path) -> PathBuf {
        let inside = path.strip_prefix(folder).unwrap_or(path);
        PathBuf::from(inside.to_string_lossy().into_owned())
    }
}
