//! Reading configuration files: small, regular, UTF-8, or a clear refusal.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::config::error::ConfigError;

/// No configuration is longer; what is longer is some other file.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the text of `path` without a byte order mark, or `None` if there is no such file.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, ConfigError> {
    let refuse = |reason: String, source| ConfigError::Unreadable {
        path: path.to_owned(),
        reason,
        source,
    };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(refuse(
                    "it is a link to a file that is not there".into(),
                    None,
                ));
            }
            return Ok(None);
        }
        Err(error) => return Err(refuse(error.to_string(), Some(error))),
    };
    // Checked before opening: opening a pipe would wait for a writer.
    if metadata.is_dir() {
        return Err(refuse("it is a folder, not a file".into(), None));
    }
    if !metadata.is_file() {
        return Err(refuse("it is not a regular file".into(), None));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| refuse(error.to_string(), Some(error)))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(refuse("it is larger than 1 MB".into(), None));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(without_mark(&text).to_owned())),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let before = &error.as_bytes()[..good];
            Err(ConfigError::Invalid {
                path: path.to_owned(),
                line: Some(before.split(|byte| *byte == b'\n').count()),
                message: "this is not UTF-8 text; save the file as UTF-8".into(),
            })
        }
    }
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> String {
        read_text(path).expect_err("refused").to_string()
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_text() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("a.yaml");
        fs::write(&path, "\u{feff}a: 1\n").expect("written");
        assert_eq!(read_text(&path).expect("read").as_deref(), Some("a: 1\n"));
        assert!(
            read_text(&dir.path().join("b.yaml"))
                .expect("read")
                .is_none()
        );
    }

    #[test]
    fn what_is_no_text_file_is_refused_by_name() {
        let dir = tempfile::tempdir().expect("dir");
        let message = refusal(dir.path());
        assert!(
            message.contains(&dir.path().display().to_string()),
            "{message}"
        );
        assert!(message.ends_with("it is a folder, not a file"), "{message}");

        let latin = dir.path().join("latin.yaml");
        fs::write(&latin, b"a: 1\nb: \xe9\n").expect("written");
        assert!(refusal(&latin).contains("latin.yaml:2: this is not UTF-8"));

        let large = dir.path().join("large.yaml");
        fs::write(&large, vec![b'#'; (1 << 20) + 1]).expect("written");
        assert!(refusal(&large).ends_with("it is larger than 1 MB"));

        assert!(read_text(&latin.join("below.yaml")).is_err() || cfg!(windows));
    }
}
