//! What an adapter said it made, before anything of it was checked.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::content::ContentKey;
use crate::domain::id::{JobId, RunId};
use crate::domain::patch::Price;
use crate::domain::text::shell_word;

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

/// Says of a job that its worker died, and that what it left is paid for and no result.
pub(super) fn lost_words(what: &str, kept: Option<&str>, (run, job): (&RunId, &JobId)) -> String {
    let place = kept.map_or_else(
        || "nothing of it is left".to_owned(),
        |kept| {
            let run_id = shell_word(run.as_str());
            let adopt = format!("archi3d run adopt --run-id {run_id} {job}");
            format!("what is left of it is kept in {kept} (if it is the result: {adopt})")
        },
    );
    format!(
        "its worker died {what}; {place}. It may have been billed: look for this job at the \
         provider before it is made again with --only-status failed --resubmit-unknown"
    )
}
