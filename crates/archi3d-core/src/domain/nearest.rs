//! The known name that a mistyped one most likely meant.
//!
//! Used wherever an unknown key, option or algorithm is refused. It only ever
//! suggests; nothing is corrected silently.

/// Returns the entry of `known` closest to `word`, if one is close enough to suggest.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_few(word, known).into_iter().next()
}

/// Returns up to three entries of `known` close enough to suggest, closest first.
pub fn nearest_few<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted: Vec<char> = word.to_lowercase().chars().take(MAX_CHARS).collect();
    let mut close: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| (distance(&wanted, &name.to_lowercase()), name))
        .filter(|(edits, name)| {
            *edits <= allowed(wanted.len().max(name.chars().count())) || is_start(word, name)
        })
        .collect();
    close.sort_by_key(|(edits, _)| *edits);
    close.into_iter().take(FEW).map(|(_, name)| name).collect()
}

/// Returns ` (did you mean …?)`, or nothing, ready to end a message.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// How many names are worth reading.
const FEW: usize = 3;

/// Longer words are cut: the cost grows with the square of the length.
const MAX_CHARS: usize = 200;

/// A third of the letters may be wrong, and always one.
fn allowed(chars: usize) -> usize {
    (chars / 3).max(1)
}

/// Half a name, such as `sleep` for `sleep_ms`, is far away letter by letter.
fn is_start(word: &str, name: &str) -> bool {
    word.len() >= 3 && name.to_lowercase().starts_with(&word.to_lowercase())
}

/// Counts letters that are added, left out or replaced, and neighbours that are
/// swapped, as one edit each.
fn distance(wanted: &[char], name: &str) -> usize {
    let name: Vec<char> = name.chars().take(MAX_CHARS).collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=wanted.len()).collect();
    for (i, c) in name.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, w) in wanted.iter().enumerate() {
            let replaced = last[j] + usize::from(w != c);
            let mut edits = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *w == name[i - 1] && wanted[j - 1] == *c {
                edits = edits.min(before_last[j - 1] + 1);
            }
            row.push(edits);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[wanted.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["image_mode", "unit_price_usd", "price_source", "kind"];

    #[test]
    fn a_typing_mistake_finds_the_name_that_was_meant() {
        assert_eq!(nearest("imge_mode", KNOWN), Some("image_mode"));
        assert_eq!(nearest("Unit_Price", KNOWN), Some("unit_price_usd"));
        assert_eq!(nearest("kinds", KNOWN), Some("kind"));
        assert_eq!(nearest("price", KNOWN), Some("price_source"));
    }

    #[test]
    fn two_letters_in_the_wrong_order_are_one_mistake() {
        assert_eq!(nearest("knid", KNOWN), Some("kind"));
        assert_eq!(nearest("iamge_mode", KNOWN), Some("image_mode"));
        assert_eq!(distance(&['a', 'b', 'c'], "bac"), 1);
        assert_eq!(distance(&['a', 'b', 'c'], "cab"), 2);
    }

    #[test]
    fn nothing_is_suggested_for_a_word_that_resembles_none() {
        assert_eq!(nearest("zebra", KNOWN), None);
        assert_eq!(suggestion("zebra", KNOWN), "");
        assert_eq!(suggestion("kin", KNOWN), " (did you mean `kind`?)");
    }

    #[test]
    fn the_closest_of_several_wins() {
        assert_eq!(nearest("abcd", ["abxx", "abcx", "abcde"]), Some("abcx"));
        let few = nearest_few("abcdef", ["abcxyf", "abcdxf", "zzz", "abcdef_2", "abcdeg"]);
        assert_eq!(few, ["abcdxf", "abcdeg", "abcxyf"]);
    }
}
