//! What is wrong with text that is no YAML, in the words of the person who typed it.
//!
//! The parser tells what it missed in words of its own grammar; here each of them
//! becomes what is expected, with the line it is about.

use std::fmt::Write as _;

use crate::domain::secret::{is_secret, shown_text};

/// How much of a line is shown.
const MAX_SHOWN_CHARS: usize = 60;

/// What the parser says, and what it means.
const MEANINGS: &[(&str, &str)] = &[
    (
        "did not find expected node content",
        "a value is expected here: text, a number, a list or a map; text that begins with one of \
         `,]}` needs quotes",
    ),
    (
        "did not find expected key",
        "`key: value` is expected here, indented like the lines of the same map",
    ),
    (
        "did not find expected '-' indicator",
        "`- ` is expected here, like the other lines of the list",
    ),
    (
        "did not find expected ',' or ']'",
        "expected `,` or `]`: the list that `[` opened is not closed",
    ),
    (
        "did not find expected ',' or '}'",
        "expected `,` or `}`: the map that `{` opened is not closed",
    ),
    (
        "mapping values are not allowed in this context",
        "the end of the value is expected before `:`; a new key needs the indentation of its \
         neighbours, text with a colon needs quotes",
    ),
    (
        "could not find expected ':'",
        "`:` and a value are expected after this key",
    ),
    (
        "found a tab character that violates indentation",
        "blanks are expected: lines are not indented with tabs",
    ),
    (
        "found character that cannot start any token",
        "a value is expected here: lines are indented with blanks, not tabs, and text that begins \
         with `@`, `%` or a backquote needs quotes",
    ),
    (
        "found unexpected end of stream",
        "a closing quote is expected before the end of the file",
    ),
    (
        "found unknown escape character",
        "a known escape is expected after the backslash; write two backslashes, or use single quotes",
    ),
    (
        "block sequence entries are not allowed in this context",
        "a value is expected here: a list of `- ` begins in a line of its own",
    ),
    (
        "did not find expected alphabetic or numeric character",
        "a name is expected after `&` or `*`; text that begins with them needs quotes",
    ),
    (
        "unknown anchor",
        "`*name` is expected to repeat an `&name` above; text that begins with `*` needs quotes",
    ),
    (
        "did not find expected comment or line break",
        "the end of the line is expected after `|` or `>`",
    ),
];

/// Returns the line that a message of the parser is about and what is expected there;
/// nothing if the parser could read the text and something else is wrong.
pub(super) fn explain(text: &str, message: &str, line: Option<usize>) -> Option<(usize, String)> {
    let (_, expected) = MEANINGS.iter().find(|(words, _)| message.contains(words))?;
    let found = line?;
    let opened = ["a flow ", "a quoted "]
        .iter()
        .find_map(|what| message.split_once(what))
        .and_then(|(_, place)| place.split_once(" at line "))
        .and_then(|(_, place)| place.split_whitespace().next()?.parse::<usize>().ok())
        .filter(|opened| *opened != found);
    // What is never closed is found missing where the file ends.
    let ended = text
        .lines()
        .nth(found - 1)
        .is_none_or(|line| line.trim().is_empty());
    let about = if ended {
        let last = text.lines().take(found).collect::<Vec<_>>();
        let last = last.iter().rposition(|line| !line.trim().is_empty());
        opened.or(last.map(|index| index + 1)).unwrap_or(found)
    } else {
        found
    };
    let mut said = (*expected).to_owned();
    if let Some(opened) = opened.filter(|opened| *opened != about) {
        let _ = write!(said, " (opened in line {opened})");
    }
    if let Some(line) = text.lines().nth(about - 1) {
        let _ = write!(said, ": `{}`", shown(line));
    }
    Some((about, said))
}

/// Shows a line without what it may keep secret.
fn shown(line: &str) -> String {
    let line = line.trim();
    let shown = match line.split_once(':') {
        _ if !is_secret(line) => shown_text(line),
        Some((name, _)) => format!("{name}: …"),
        None => "…".to_owned(),
    };
    match shown.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use crate::config::yaml::Document;

    fn refusal(text: &str) -> String {
        Document::shipped("x.yaml", text)
            .expect_err("broken")
            .to_string()
    }

    #[test]
    fn broken_text_is_answered_with_what_is_expected_and_the_line() {
        for (text, place, expected, line) in [
            (
                "a: 1\nb: }\n",
                "x.yaml:2: ",
                "a value is expected",
                "`b: }`",
            ),
            (
                "a: 1\n\tb: 2\n",
                "x.yaml:2: ",
                "not indented with tabs",
                "`b: 2`",
            ),
            (
                "a: [1, 2\nb: 3\n",
                "x.yaml:2: ",
                "expected `,` or `]`",
                "(opened in line 1): `b: 3`",
            ),
            (
                "a: {x: 1\nb: 3\n",
                "x.yaml:2: ",
                "expected `,` or `}`",
                "(opened in line 1): `b: 3`",
            ),
            (
                "a: \"x\nb: 1\n",
                "x.yaml:1: ",
                "a closing quote",
                "`a: \"x`",
            ),
            (
                "a: b: c\n",
                "x.yaml:1: ",
                "text with a colon needs quotes",
                "`a: b: c`",
            ),
            (
                "a:\n  b: 1\n c: 2\n",
                "x.yaml:3: ",
                "indented like",
                "`c: 2`",
            ),
            (
                "a:\n  - x\n  b: 1\n",
                "x.yaml:3: ",
                "`- ` is expected",
                "`b: 1`",
            ),
            ("a: [1,\n", "x.yaml:1: ", "a value is expected", "`a: [1,`"),
            ("a: @x\n", "x.yaml:1: ", "needs quotes", "`a: @x`"),
            ("a: *x\n", "x.yaml:1: ", "needs quotes", "`a: *x`"),
        ] {
            let message = refusal(text);
            assert!(message.starts_with(place), "{message}");
            assert!(
                message.contains(expected) && message.ends_with(line),
                "{message}"
            );
        }
    }

    #[test]
    fn a_broken_line_does_not_show_its_secret() {
        for text in [
            "FAL_KEY: \"s3cret\nb: 1\n",
            "url: [https://me:s3cret@host/}\n",
        ] {
            assert!(!refusal(text).contains("s3cret"), "{}", refusal(text));
        }
    }
}
