//! `tables/workspace.id`: what a workspace calls itself, so that two that use one database are told apart wherever they are
//! mounted.

use std::fs;
use std::io;
use std::path::PathBuf;

use uuid::Uuid;

use crate::platform;
use crate::workspace::durable;
use crate::workspace::paths::Workspace;

/// A name is small; a larger file is none.
const MAX_BYTES: u64 = 1 << 10;

impl Workspace {
    fn id_file(&self) -> PathBuf {
        self.tables().join("workspace.id")
    }

    /// Returns the name; nothing if it has none yet.
    pub fn id(&self) -> io::Result<Option<String>> {
        match durable::read_plain(&self.id_file(), MAX_BYTES) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the name, and makes one, durably, if there is none.
    pub fn make_id(&self) -> io::Result<String> {
        if let Some(id) = self.id()? {
            return Ok(id);
        }
        fs::create_dir_all(self.tables())?;
        let id = Uuid::new_v4().simple().to_string();
        if let Some(file) = platform::publish(&self.id_file(), format!("{id}\n").as_bytes())? {
            file.sync_all()?;
            platform::sync_dir(&self.tables())?;
        }
        // Of several who make one the first counts.
        self.id()?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_keeps_the_name_that_it_got_first() {
        let folder = tempfile::tempdir().expect("temp folder");
        let workspace = Workspace::new(folder.path());
        assert_eq!(workspace.id().expect("read"), None);
        let id = workspace.make_id().expect("made");
        assert_eq!(workspace.make_id().expect("read"), id);
        assert_eq!(workspace.id().expect("read"), Some(id));
    }
}
