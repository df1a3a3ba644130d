//! Is a file a glTF binary? Judged by its first bytes and its size alone.
//!
//! Used wherever a result on disk must be told from a broken one. What is inside
//! the model is not looked at.

use std::fmt;

/// How many bytes of a file [`fault`] needs to see.
pub const HEAD_BYTES: usize = 26;

/// How the text files begin that other tools write in place of a rehearsed model.
const PLACEHOLDER: &[u8] = b"# Dry-run placeholder GLB";

/// Why a file is no usable model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlbFault {
    /// It has no bytes.
    Empty,
    /// It is the text that another tool's rehearsal leaves.
    Placeholder,
    /// It does not begin as glTF binary does.
    NotGltf,
    /// It is of another version than 2.
    Version(u32),
    /// It says that it has another size than it has.
    Length {
        /// What its header says.
        declared: u32,
        /// What it has.
        actual: u64,
    },
    /// It is a link, a folder or a device.
    NotPlain,
    /// The system does not let us read it.
    Unreadable,
}

impl fmt::Display for GlbFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::Placeholder => f.write_str("it is only the placeholder of a dry run"),
            Self::NotGltf => f.write_str("it is not glTF binary"),
            Self::Version(version) => write!(f, "its glTF version is {version}, not 2"),
            Self::Length { declared, actual } => {
                write!(f, "it says it has {declared} bytes and has {actual}")
            }
            Self::NotPlain => f.write_str("it is not a plain file"),
            Self::Unreadable => f.write_str("it cannot be read"),
        }
    }
}

/// Returns what is wrong with a file that begins with `head` and has `size`
/// bytes, or nothing if it is a model.
pub fn fault(head: &[u8], size: u64) -> Option<GlbFault> {
    if size == 0 {
        return Some(GlbFault::Empty);
    }
    if head.starts_with(PLACEHOLDER) {
        return Some(GlbFault::Placeholder);
    }
    let word = |at: usize| {
        let bytes = head.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let (b"glTF", Some(version), Some(declared)) =
        (head.get(..4).unwrap_or_default(), word(4), word(8))
    else {
        return Some(GlbFault::NotGltf);
    };
    if version != 2 {
        return Some(GlbFault::Version(version));
    }
    (u64::from(declared) != size).then_some(GlbFault::Length {
        declared,
        actual: size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: u32, length: u32) -> Vec<u8> {
        [b"glTF", &version.to_le_bytes()[..], &length.to_le_bytes()].concat()
    }

    #[test]
    fn only_a_whole_file_of_version_2_is_a_model() {
        assert_eq!(fault(&header(2, 40), 40), None);
        assert_eq!(fault(&header(1, 40), 40), Some(GlbFault::Version(1)));
        assert_eq!(
            fault(&header(2, 40), 39),
            Some(GlbFault::Length {
                declared: 40,
                actual: 39
            })
        );
        assert_eq!(fault(b"", 0), Some(GlbFault::Empty));
        assert_eq!(fault(b"glTF", 4), Some(GlbFault::NotGltf));
        assert_eq!(fault(b"<html>", 600), Some(GlbFault::NotGltf));
    }

    #[test]
    fn the_text_of_another_tools_rehearsal_is_told_apart() {
        let text = b"# Dry-run placeholder GLB\n";
        assert_eq!(fault(text, 26), Some(GlbFault::Placeholder));
    }
}
