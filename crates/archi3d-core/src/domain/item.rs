//! A catalog item: what a dataset folder's name and files say about it.
//!
//! Takes what `workspace::scan` found and decides product id, variant, image
//! choice and order, and ground truth. What is wrong with an item is judged in
//! [`crate::domain::issue`]; nothing here looks at the disk.

use std::sync::LazyLock;

use regex::Regex;

use crate::domain::issue::Trouble;

/// How many images an item keeps.
pub const MAX_IMAGES: usize = 6;

/// The variant of a folder that names none.
pub const DEFAULT_VARIANT: &str = "default";

/// The folder of an item's pictures.
pub const IMAGES_DIR: &str = "images";

/// The folder of an item's ground truth.
pub const GT_DIR: &str = "gt";

/// In which order an item's images stand; job ids depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageOrder {
    /// Names that end in `_A` to `_F` first, by letter, then the rest by name.
    Tags,
    /// By name, as existing workspaces have it.
    Name,
}

impl ImageOrder {
    /// Returns the word of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tags => "tags",
            Self::Name => "name",
        }
    }
}

/// What was seen in one folder of the dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderFindings {
    /// The folder's name.
    pub folder: String,
    /// Its path relative to the workspace.
    pub dir: String,
    /// Names of the visible files in `images/`.
    pub images: Vec<String>,
    /// What is there instead, if `images/` has no files.
    pub instead: String,
    /// Names of the visible files in `gt/`.
    pub gt: Vec<String>,
    /// What could not be read or used.
    pub troubles: Vec<Trouble>,
}

/// One product variant with its pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The product.
    pub product_id: String,
    /// Its variant; one blank where the folder has a dash and only blanks after it.
    pub variant: String,
    /// Its folder, relative to the workspace.
    pub dir: String,
    /// Up to six pictures, relative to the workspace, in order.
    pub images: Vec<String>,
    /// How many pictures the folder holds.
    pub images_found: usize,
    /// Why it has none, if it has none.
    pub why_no_images: String,
    /// The ground truth, relative to the workspace.
    pub gt: Option<String>,
    /// How many files could be the ground truth.
    pub gt_candidates: usize,
}

impl Item {
    /// Judges what was found in a folder.
    pub fn new(found: &FolderFindings, order: ImageOrder) -> Self {
        let (product_id, variant) = split_folder_name(&found.folder);
        let images = sorted_images(&found.images, order);
        let path = |sub: &str, name: &str| format!("{}/{sub}/{name}", found.dir);
        let (gt, gt_candidates) = ground_truth(&found.gt);
        Self {
            product_id,
            variant,
            dir: found.dir.clone(),
            images: images
                .iter()
                .take(MAX_IMAGES)
                .map(|name| path(IMAGES_DIR, name))
                .collect(),
            images_found: images.len(),
            why_no_images: why_none(found),
            gt: gt.map(|name| path(GT_DIR, name)),
            gt_candidates,
        }
    }
}

/// Splits a folder name into product id and variant.
///
/// Digits, optionally followed by a dash and a rest, are a product and its
/// variant; any other name is a product id as a whole. A dash followed by
/// blanks alone gives a variant of one blank, which is what existing item
/// tables hold; `batch create` trims it to an empty variant.
pub fn split_folder_name(name: &str) -> (String, String) {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?s)^(\d+)(?:\s*-\s*(.+))?$").expect("the pattern is a constant")
    });
    match PATTERN.captures(name) {
        Some(parts) => {
            let variant = parts.get(2).map_or(DEFAULT_VARIANT, |part| part.as_str());
            (parts[1].to_owned(), variant.to_owned())
        }
        None => (name.to_owned(), DEFAULT_VARIANT.to_owned()),
    }
}

/// Returns the names that are images, in order, all of them.
pub fn sorted_images(names: &[String], order: ImageOrder) -> Vec<&str> {
    let is_usual = |name: &String| {
        split_extension(name).is_some_and(|(_, ext)| matches!(ext.as_str(), "jpg" | "jpeg" | "png"))
    };
    // Ids of existing jobs depend on the pictures, so WebP beside others stays out.
    let only_webp = !names.iter().any(is_usual);
    let mut images: Vec<(u8, String, &str)> = names
        .iter()
        .filter_map(|name| {
            let (stem, extension) = split_extension(name)?;
            (is_usual(name) || only_webp && extension == "webp").then(|| {
                let tag = match order {
                    ImageOrder::Tags => tag_of(stem),
                    ImageOrder::Name => tag_before_second_extension(stem),
                };
                (tag.unwrap_or(u8::MAX), name.to_lowercase(), name.as_str())
            })
        })
        .collect();
    images.sort();
    images.into_iter().map(|(_, _, name)| name).collect()
}

/// Says why a folder has no pictures.
fn why_none(found: &FolderFindings) -> String {
    if found.images.is_empty() {
        return found.instead.clone();
    }
    let mut endings: Vec<String> = found
        .images
        .iter()
        .map(|name| {
            split_extension(name).map_or_else(|| name.clone(), |(_, ext)| format!(".{ext}"))
        })
        .collect();
    endings.sort();
    endings.dedup();
    endings.truncate(4);
    let endings = endings.join(", ");
    format!("images/ has only {endings} files; pictures are .jpg, .jpeg, .png or .webp")
}

/// Returns the letter of a stem that ends in `_A` to `_F`, in lower case.
fn tag_of(stem: &str) -> Option<u8> {
    let [.., b'_', letter] = stem.as_bytes() else {
        return None;
    };
    let letter = letter.to_ascii_lowercase();
    (b'a'..=b'f').contains(&letter).then_some(letter)
}

/// Existing workspaces know a tag only in front of a second extension
/// (`x_A.tar.jpg`), so the order that agrees with them must too.
fn tag_before_second_extension(stem: &str) -> Option<u8> {
    let (front, extension) = stem.rsplit_once('.')?;
    (!extension.is_empty()).then(|| tag_of(front)).flatten()
}

/// Returns the chosen ground truth and how many files could have been chosen.
pub fn ground_truth(names: &[String]) -> (Option<&str>, usize) {
    let of_kind = |wanted: &str| -> Vec<&str> {
        let mut found: Vec<&str> = names
            .iter()
            .filter(|name| split_extension(name).is_some_and(|(_, ext)| ext == wanted))
            .map(String::as_str)
            .collect();
        found.sort_by_cached_key(|name| (name.to_lowercase(), (*name).to_owned()));
        found
    };
    let (glb, fbx) = (of_kind("glb"), of_kind("fbx"));
    let chosen = glb.first().or(fbx.first()).copied();
    (chosen, glb.len() + fbx.len())
}

fn split_extension(name: &str) -> Option<(&str, String)> {
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty()).then(|| (stem, extension.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn folder_names_give_the_ids_that_existing_tables_hold() {
        for (folder, product, variant) in [
            ("335888", "335888", "default"),
            ("335888 - Curved backrest", "335888", "Curved backrest"),
            ("700007 -NoSpace", "700007", "NoSpace"),
            ("700008-Tight", "700008", "Tight"),
            ("700009 - ", "700009", " "),
            ("notaproduct", "notaproduct", "default"),
            ("800009 - 007", "800009", "007"),
            ("00123", "00123", "default"),
            ("700010 -", "700010 -", "default"),
            ("800008 - NA", "800008", "NA"),
            ("1 - a\nb", "1", "a\nb"),
            ("1 - - x", "1", "- x"),
        ] {
            let expected = (product.to_owned(), variant.to_owned());
            assert_eq!(split_folder_name(folder), expected, "{folder:?}");
        }
    }

    #[test]
    fn tagged_images_come_first_by_letter_in_any_case() {
        let found = names(&[
            "alpha.jpg",
            "front_b.PNG",
            "zeta_A.jpeg",
            "x_G.jpg",
            "a.txt",
        ]);
        assert_eq!(
            sorted_images(&found, ImageOrder::Tags),
            ["zeta_A.jpeg", "front_b.PNG", "alpha.jpg", "x_G.jpg"]
        );
    }

    #[test]
    fn name_order_knows_a_tag_only_before_a_second_extension() {
        let found = names(&["zeta_A.jpg", "front_B.jpg", "Alpha.jpg", "z_A.tar.jpg"]);
        assert_eq!(
            sorted_images(&found, ImageOrder::Name),
            ["z_A.tar.jpg", "Alpha.jpg", "front_B.jpg", "zeta_A.jpg"]
        );
    }

    #[test]
    fn untagged_names_never_push_tagged_ones_out() {
        let found = FolderFindings {
            folder: "1".into(),
            dir: "dataset/1".into(),
            images: names(&[
                "aaa.jpg", "bbb.jpg", "v_A.jpg", "v_B.jpg", "v_C.jpg", "v_D.jpg", "v_E.jpg",
                "v_F.jpg",
            ]),
            ..FolderFindings::default()
        };
        let item = Item::new(&found, ImageOrder::Tags);
        assert_eq!(item.images.len(), 6);
        assert_eq!(item.images[0], "dataset/1/images/v_A.jpg");
        assert_eq!(item.images[5], "dataset/1/images/v_F.jpg");
        assert_eq!(item.images_found, 8);
        let by_name = Item::new(&found, ImageOrder::Name);
        assert_eq!(by_name.images[0], "dataset/1/images/aaa.jpg");
        assert_eq!(by_name.images[5], "dataset/1/images/v_D.jpg");
    }

    #[test]
    fn a_glb_is_preferred_and_every_candidate_counts() {
        let found = names(&["B.glb", "a.GLB", "a.fbx", "readme.txt"]);
        assert_eq!(ground_truth(&found), (Some("a.GLB"), 3));
        assert_eq!(ground_truth(&names(&["m.fbx"])), (Some("m.fbx"), 1));
        assert_eq!(ground_truth(&[]), (None, 0));
    }

    proptest! {
        #[test]
        fn the_order_does_not_depend_on_how_the_disk_lists_files(
            mut list in proptest::collection::vec("[a-cA-C]{1,2}(_[a-gA-G])?(\\.tar)?\\.(jpg|PNG)", 0..9)
        ) {
            list.sort();
            list.dedup();
            let mut reversed = list.clone();
            reversed.reverse();
            for order in [ImageOrder::Tags, ImageOrder::Name] {
                prop_assert_eq!(sorted_images(&list, order), sorted_images(&reversed, order));
            }
        }

        #[test]
        fn any_folder_name_gives_ids_without_a_panic(name in "\\PC{1,60}") {
            let (product, variant) = split_folder_name(&name);
            prop_assert!(!product.is_empty() && !variant.is_empty());
        }
    }
}
