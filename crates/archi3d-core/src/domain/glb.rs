//! Is a file a glTF binary, and does it show something?
//!
//! Used wherever a result must be told from a broken one: [`fault`] judges the
//! first bytes and the size, [`check`] the description inside as well. Both read
//! little, whatever the size. Whether a model is a good one is not decided here.

use std::fmt;
use std::io::{self, Read};

use serde::Deserialize;

/// How many bytes of a file [`fault`] needs to see.
pub const HEAD_BYTES: usize = 26;

/// How the text files begin that other tools write in place of a rehearsed model.
const PLACEHOLDER: &[u8] = b"# Dry-run placeholder GLB";

/// Where the description begins.
const JSON_START: usize = 20;

/// The longest description of a model that is read.
const MAX_JSON_BYTES: u32 = 32 << 20;

/// How long most descriptions are at most.
const LIKELY_JSON_BYTES: usize = 64 << 10;

/// The primitive mode that stands when none is given.
const TRIANGLES: u32 = 4;
const TRIANGLE_MODES: [u32; 3] = [TRIANGLES, 5, 6];

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
    /// It is a folder, a device, or a link that leads out of the workspace.
    NotPlain,
    /// The system does not let us read it.
    Unreadable,
}

impl GlbFault {
    /// Tells whether the file may well be a model that we merely cannot look at.
    pub fn is_undecided(self) -> bool {
        matches!(self, Self::NotPlain | Self::Unreadable)
    }
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
            Self::NotPlain => f.write_str("it is not a plain file of the workspace"),
            Self::Unreadable => f.write_str("it cannot be read"),
        }
    }
}

/// The model of rehearsals and mocks: a cube.
pub const SAMPLE: &[u8] = include_bytes!("../../../../fixtures/simulate/cube.glb");

/// Returns what is wrong with a file that begins with `head` and has `size`
/// bytes, or nothing if it is a model.
pub fn fault(head: &[u8], size: u64) -> Option<GlbFault> {
    if size == 0 {
        return Some(GlbFault::Empty);
    }
    if head.starts_with(PLACEHOLDER) {
        return Some(GlbFault::Placeholder);
    }
    let (b"glTF", Some(version), Some(declared)) = (
        head.get(..4).unwrap_or_default(),
        word(head, 4),
        word(head, 8),
    ) else {
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

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// Why a file is no model that shows something.
#[derive(Debug, thiserror::Error)]
pub enum GlbError {
    /// Its start or its size is wrong.
    #[error("{0}")]
    Head(GlbFault),
    /// Its description is not where it must be.
    #[error("its first chunk is no JSON description")]
    NoJson,
    /// Its description is longer than anything real.
    #[error("its JSON description has {0} bytes; at most {MAX_JSON_BYTES} are read")]
    JsonTooLong(u32),
    /// Its description cannot be read.
    #[error("its JSON description cannot be read: {0}")]
    BadJson(serde_json::Error),
    /// There is nothing to see.
    #[error("it has no mesh with at least one triangle")]
    NoTriangle,
    /// The system refused.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

#[derive(Deserialize)]
struct Description {
    #[serde(default)]
    meshes: Vec<Mesh>,
    #[serde(default)]
    accessors: Vec<Accessor>,
}

#[derive(Deserialize)]
struct Mesh {
    #[serde(default)]
    primitives: Vec<Primitive>,
}

#[derive(Deserialize)]
struct Primitive {
    mode: Option<u32>,
    indices: Option<usize>,
    #[serde(default)]
    attributes: Attributes,
}

#[derive(Default, Deserialize)]
struct Attributes {
    #[serde(rename = "POSITION")]
    position: Option<usize>,
}

#[derive(Deserialize)]
struct Accessor {
    #[serde(default)]
    count: u64,
}

/// Checks a model of `size` bytes that `reader` gives from its start.
pub fn check(reader: &mut impl Read, size: u64) -> Result<(), GlbError> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    reader
        .by_ref()
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)?;
    if let Some(fault) = fault(&head, size) {
        return Err(GlbError::Head(fault));
    }
    let (Some(json_bytes), Some(b"JSON")) = (word(&head, 12), head.get(16..JSON_START)) else {
        return Err(GlbError::NoJson);
    };
    if u64::from(json_bytes) + JSON_START as u64 > size {
        return Err(GlbError::NoJson);
    }
    if json_bytes > MAX_JSON_BYTES {
        return Err(GlbError::JsonTooLong(json_bytes));
    }
    let mut json = Vec::with_capacity((json_bytes as usize).min(LIKELY_JSON_BYTES));
    json.extend_from_slice(&head[JSON_START..]);
    json.truncate(json_bytes as usize);
    let rest = u64::from(json_bytes) - json.len() as u64;
    reader.take(rest).read_to_end(&mut json)?;
    let description: Description = serde_json::from_slice(&json).map_err(GlbError::BadJson)?;
    if description.has_triangle() {
        Ok(())
    } else {
        Err(GlbError::NoTriangle)
    }
}

/// Takes a whole file apart: its description, and the binary that it speaks of.
pub fn chunks(bytes: &[u8]) -> Result<(&[u8], &[u8]), GlbError> {
    if let Some(fault) = fault(bytes, bytes.len() as u64) {
        return Err(GlbError::Head(fault));
    }
    let chunk = |at: usize, kind: &[u8]| {
        let length = word(bytes, at)? as usize;
        let start = at.checked_add(8)?;
        let end = start.checked_add(length)?;
        (bytes.get(at + 4..start)? == kind)
            .then(|| bytes.get(start..end))
            .flatten()
            .map(|content| (content, end.next_multiple_of(4)))
    };
    let (json, next) = chunk(12, b"JSON").ok_or(GlbError::NoJson)?;
    let binary = chunk(next, b"BIN\0").map_or(&[][..], |(content, _)| content);
    Ok((json, binary))
}

/// Puts a file together: its description, and the binary that it speaks of.
pub fn assemble(description: &serde_json::Value, mut binary: Vec<u8>) -> Vec<u8> {
    let mut text = description.to_string().into_bytes();
    // Every chunk is filled up to a multiple of four.
    text.resize(text.len().next_multiple_of(4), b' ');
    binary.resize(binary.len().next_multiple_of(4), 0);
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes();
    let total = 12 + 8 + text.len() + 8 + binary.len();
    [
        b"glTF",
        &2_u32.to_le_bytes()[..],
        &length(total),
        &length(text.len()),
        b"JSON",
        &text,
        &length(binary.len()),
        b"BIN\0",
        &binary,
    ]
    .concat()
}

impl Description {
    fn has_triangle(&self) -> bool {
        let mut primitives = self.meshes.iter().flat_map(|mesh| &mesh.primitives);
        primitives.any(|primitive| {
            let mode = primitive.mode.unwrap_or(TRIANGLES);
            let position = primitive.attributes.position;
            let corners = primitive.indices.or(position);
            let count = corners
                .and_then(|accessor| self.accessors.get(accessor))
                .map_or(0, |accessor| accessor.count);
            TRIANGLE_MODES.contains(&mode) && position.is_some() && count >= 3
        })
    }
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

    const TRIANGLE: &str = r#"{"asset":{"version":"2.0"},"accessors":[{"count":3}],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}]}"#;

    fn glb(json: &str) -> Vec<u8> {
        let length = u32::try_from(20 + json.len()).expect("short");
        let mut bytes = b"glTF\x02\0\0\0".to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend(u32::try_from(json.len()).expect("short").to_le_bytes());
        bytes.extend(b"JSON");
        bytes.extend(json.as_bytes());
        bytes
    }

    fn refusal(bytes: &[u8]) -> String {
        check(&mut &bytes[..], bytes.len() as u64)
            .expect_err("refused")
            .to_string()
    }

    #[test]
    fn a_model_with_one_triangle_is_enough() {
        let bytes = glb(TRIANGLE);
        check(&mut &bytes[..], bytes.len() as u64).expect("a model");
        let indexed = TRIANGLE.replace("}}]", "},\"indices\":0,\"mode\":5}]");
        let bytes = glb(&indexed);
        check(&mut &bytes[..], bytes.len() as u64).expect("a model");
    }

    #[test]
    fn what_shows_nothing_is_refused() {
        for json in [
            "{}",
            r#"{"meshes":[{"primitives":[]}]}"#,
            &TRIANGLE.replace("\"count\":3", "\"count\":2"),
            &TRIANGLE.replace("POSITION\":0", "POSITION\":7"),
            &TRIANGLE.replace("}}]", "},\"mode\":1}]"),
            &TRIANGLE.replace("POSITION", "NORMAL"),
        ] {
            assert_eq!(
                refusal(&glb(json)),
                "it has no mesh with at least one triangle"
            );
        }
    }

    #[test]
    fn broken_files_are_refused_with_what_is_wrong() {
        assert!(refusal(b"").contains("empty"));
        assert!(refusal(b"<html>").contains("not glTF"));
        assert!(refusal(b"glTF\x01\0\0\0\x0c\0\0\0").contains("version is 1"));
        assert!(refusal(b"glTF\x02\0\0\0\x0c\0\0\0").contains("no JSON"));
        let whole = glb(TRIANGLE);
        assert!(refusal(&whole[..whole.len() - 4]).contains("bytes and has"));
        assert!(refusal(&glb("{\"meshes\": [")).contains("cannot be read"));
        assert!(refusal(&glb(r#"{"meshes": 3}"#)).contains("cannot be read"));
        let mut other_chunk = whole.clone();
        other_chunk[16..20].copy_from_slice(b"BIN\0");
        assert!(refusal(&other_chunk).contains("no JSON"));
        let mut beyond = whole;
        beyond[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(refusal(&beyond).contains("no JSON"));
    }

    #[test]
    fn a_huge_file_is_refused_without_being_read() {
        let mut start = glb(TRIANGLE);
        let length = 4_u64 << 30;
        assert!(matches!(
            check(&mut &start[..], length),
            Err(GlbError::Head(GlbFault::Length { .. }))
        ));
        let declared = u32::MAX;
        start[8..12].copy_from_slice(&declared.to_le_bytes());
        start[12..16].copy_from_slice(&(declared - 20).to_le_bytes());
        assert!(matches!(
            check(&mut &start[..], u64::from(declared)),
            Err(GlbError::JsonTooLong(_))
        ));
    }
}
