//! What must be known of a JPEG file before it is decoded: how much decoding
//! keeps in memory, and whether the file has its end. Decodes nothing.

/// What the markers of a file say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outline {
    /// Whether the last scan is followed by the mark of the end.
    pub(super) complete: bool,
    /// Whether a decoder must keep all coefficients: several scans make one picture.
    pub(super) keeps_all: bool,
    /// The number of colour components.
    pub(super) components: u8,
}

const START_OF_SCAN: u8 = 0xda;
const END_OF_IMAGE: u8 = 0xd9;
const PROGRESSIVE: u8 = 0xc2;

/// Reads the markers of a whole file.
pub(super) fn outline(bytes: &[u8]) -> Outline {
    let last = |marker: u8| {
        let pattern = [0xff, marker];
        bytes.windows(2).rposition(|pair| pair == pattern)
    };
    let mut outline = Outline {
        complete: last(START_OF_SCAN) < last(END_OF_IMAGE),
        keeps_all: true,
        components: 4,
    };
    let mut frame = None;
    let mut at = 2;
    // Segments before the first scan: a marker, a length that counts itself, content.
    while let Some([0xff, marker, high, low]) = bytes.get(at..at + 4) {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        match *marker {
            0xff => {
                at += 1;
                continue;
            }
            START_OF_SCAN => {
                if let (Some((kind, components)), Some(in_scan)) = (frame, bytes.get(at + 4)) {
                    outline.components = components;
                    outline.keeps_all = kind == PROGRESSIVE || *in_scan < components;
                }
                break;
            }
            // Frames, without the tables that share their range of numbers.
            kind @ 0xc0..=0xcf if ![0xc4, 0xc8, 0xcc].contains(&kind) => {
                frame = bytes.get(at + 9).map(|components| (kind, *components));
            }
            _ => {}
        }
        at += 2 + length;
    }
    outline
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(kind: u8, components: u8, in_scan: u8, end: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff];
        bytes.extend([0xff, kind, 0, 8, 8, 0, 9, 0, 9, components]);
        bytes.extend([0xff, START_OF_SCAN, 0, 3, in_scan, 1, 2, 3]);
        bytes.extend(end);
        bytes
    }

    #[test]
    fn a_file_without_its_end_is_not_complete() {
        assert!(outline(&file(0xc0, 3, 3, &[0xff, 0xd9])).complete);
        assert!(!outline(&file(0xc0, 3, 3, &[1, 2, 3])).complete);
        assert!(!outline(b"").complete);
    }

    #[test]
    fn several_scans_keep_everything_in_memory() {
        let plain = outline(&file(0xc0, 3, 3, &[]));
        assert_eq!((plain.keeps_all, plain.components), (false, 3));
        assert!(outline(&file(0xc2, 3, 3, &[])).keeps_all);
        assert!(outline(&file(0xc1, 3, 1, &[])).keeps_all);
        assert!(outline(&[0xff, 0xd8, 0xff]).keeps_all);
    }
}
