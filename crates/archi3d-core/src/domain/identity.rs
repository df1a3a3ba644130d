//! The two hashes by which jobs are known: the same inputs give the same job.
//!
//! Existing tables hold these values, so the bytes that are hashed never change.

use sha1::{Digest, Sha1};

use crate::domain::spreadsheet::looks_like_number;
use crate::domain::text::hex;

/// How many hexadecimal digits a job id has.
const JOB_ID_DIGITS: usize = 12;

/// Returns the SHA-1 of the image paths, joined by line feeds, in hexadecimal digits.
pub fn image_set_hash<S: AsRef<str>>(paths: &[S]) -> String {
    let mut hash = Sha1::new();
    for (index, path) in paths.iter().enumerate() {
        if index > 0 {
            hash.update(b"\n");
        }
        hash.update(path.as_ref().as_bytes());
    }
    hex(&hash.finalize())
}

/// Returns the id of a new job: the usual one, or more digits of the same hash where a
/// spreadsheet would take the usual one for a number. Tables that have the job under the
/// usual one keep it.
pub fn new_job_id(product_id: &str, variant: &str, algo: &str, image_set_hash: &str) -> String {
    let digits = job_hash(product_id, variant, algo, image_set_hash);
    let lengths = JOB_ID_DIGITS..digits.len();
    let mut safe = lengths.filter(|length| !looks_like_number(&digits[..*length]));
    digits[..safe.next().unwrap_or(digits.len())].to_owned()
}

/// Returns the usual id of the job that makes this variant with this algorithm from these
/// images.
pub fn job_id(product_id: &str, variant: &str, algo: &str, image_set_hash: &str) -> String {
    let mut digits = job_hash(product_id, variant, algo, image_set_hash);
    digits.truncate(JOB_ID_DIGITS);
    digits
}

fn job_hash(product_id: &str, variant: &str, algo: &str, image_set_hash: &str) -> String {
    let mut hash = Sha1::new();
    for (index, part) in [product_id, variant, algo, image_set_hash]
        .iter()
        .enumerate()
    {
        if index > 0 {
            hash.update(b"|");
        }
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_id_is_the_usual_one_unless_that_looks_like_a_number() {
        let mut longer = 0;
        for product in 0..2000 {
            let product = product.to_string();
            let usual = job_id(&product, "default", "algo", "hash");
            let id = new_job_id(&product, "default", "algo", "hash");
            assert!(id.starts_with(&usual) && !looks_like_number(&id), "{id}");
            assert_eq!(id == usual, !looks_like_number(&usual));
            longer += usize::from(id != usual);
        }
        assert!(longer > 0);
    }

    #[test]
    fn the_hashes_agree_with_existing_workspaces() {
        let none: &[&str] = &[];
        for (product, variant, algo, images, set_hash, job) in [
            (
                "335888",
                "default",
                "trellis_single",
                &["dataset/335888/images/p_A.jpg"][..],
                "59aa30b48c3375478f56d9d8ba52818e97749b7e",
                "691d77d0b597",
            ),
            (
                "00123",
                "Curved backrest",
                "tripo3d_v2p5_multi",
                &[
                    "dataset/00123 - Curved backrest/images/v_A.jpg",
                    "dataset/00123 - Curved backrest/images/v_B.jpg",
                ],
                "4ee698d9e0907a69d9a1707886f724f5a011ee9f",
                "085d7862283c",
            ),
            (
                "400001",
                "Già \"speciale\", blu",
                "trellis_single",
                &[
                    "dataset/400001 - Già \"speciale\", blu/images/fóto_A.png",
                    "dataset/400001 - Già \"speciale\", blu/images/fóto_B.PNG",
                ],
                "0004539834e6c7a0749a4152091fb5a579c64de5",
                "df58d7ce9239",
            ),
            (
                "1",
                "",
                "x",
                none,
                "da39a3ee5e6b4b0d3255bfef95601890afd80709",
                "f1f507c0353a",
            ),
        ] {
            assert_eq!(image_set_hash(images), set_hash, "{product}");
            assert_eq!(job_id(product, variant, algo, set_hash), job, "{product}");
        }
    }

    #[test]
    fn the_order_of_the_images_is_part_of_the_identity() {
        assert_ne!(image_set_hash(&["a", "b"]), image_set_hash(&["b", "a"]));
    }
}
