//! Which jobs a person means: the `--jobs` pattern and the `--only-status` list.
//!
//! PURE: patterns come in as text and say which ids they match. How a pattern
//! was understood is part of the value, so that it can be told and logged.

use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};

use crate::domain::job::Status;
use crate::domain::nearest::nearest;

/// The longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 10_000;

/// The most memory a compiled pattern may take, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// How much of a refused pattern a message shows, in characters.
const SHOWN_CHARS: usize = 60;

/// A filter that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// The pattern cannot be understood.
    #[error("the {kind} {shown:?} cannot be used: {reason}")]
    Pattern {
        /// How it was read.
        kind: &'static str,
        /// The pattern, cut.
        shown: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A word is no status.
    #[error(
        "{word:?} is no status; the statuses are {}{}",
        status_words(),
        meant(*nearest)
    )]
    UnknownStatus {
        /// The word, cut.
        word: String,
        /// The status that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The list has no word in it.
    #[error("the list of statuses is empty; the statuses are {}", status_words())]
    NoStatus,
}

fn status_words() -> String {
    Status::ALL.map(Status::word).join(", ")
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |word| format!(" (did you mean {word}?)"))
}

/// Selects jobs by their id.
#[derive(Debug, Clone)]
pub struct JobsFilter {
    text: String,
    matcher: Matcher,
}

#[derive(Debug, Clone)]
enum Matcher {
    Contains,
    Glob(GlobMatcher),
    Regex(Regex),
}

impl JobsFilter {
    /// Reads a pattern: plain text means "contains", text with `* ? [ {` is a
    /// glob on the whole id, and one of `^ $ ( ) | \ +` or `.*` makes it a
    /// regular expression that may match anywhere.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let refuse = |kind, reason: String| FilterError::Pattern {
            kind,
            shown: cut(text),
            reason,
        };
        if text.is_empty() {
            let reason = "it is empty; leave it out to select every job";
            return Err(refuse("pattern", reason.into()));
        }
        if text.len() > MAX_PATTERN_BYTES {
            let reason = format!("it is longer than {MAX_PATTERN_BYTES} bytes");
            return Err(refuse("pattern", reason));
        }
        let matcher = if is_regex(text) {
            let regex = RegexBuilder::new(text)
                .size_limit(MAX_COMPILED_BYTES)
                .dfa_size_limit(MAX_COMPILED_BYTES)
                .build()
                .map_err(|error| refuse("regex", regex_reason(&error)))?;
            Matcher::Regex(regex)
        } else if text.contains(['*', '?', '[', '{']) {
            let glob = GlobBuilder::new(text)
                .build()
                .map_err(|error| refuse("glob", error.kind().to_string()))?;
            Matcher::Glob(glob.compile_matcher())
        } else {
            Matcher::Contains
        };
        Ok(Self {
            text: text.to_owned(),
            matcher,
        })
    }

    /// Returns the pattern as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns how the pattern was understood: `contains`, `glob` or `regex`.
    pub fn kind(&self) -> &'static str {
        match self.matcher {
            Matcher::Contains => "contains",
            Matcher::Glob(_) => "glob",
            Matcher::Regex(_) => "regex",
        }
    }

    /// Tells whether the pattern selects `id`.
    pub fn matches(&self, id: &str) -> bool {
        match &self.matcher {
            Matcher::Contains => id.contains(&self.text),
            Matcher::Glob(glob) => glob.is_match(id),
            Matcher::Regex(regex) => regex.is_match(id),
        }
    }
}

/// Two filters are the same when they were written the same.
impl PartialEq for JobsFilter {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

fn is_regex(text: &str) -> bool {
    text.contains(['^', '$', '(', ')', '|', '\\', '+']) || text.contains(".*")
}

/// Returns the last line of the parser's drawing, which is the reason in words.
fn regex_reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("it would need more than {limit} bytes when compiled")
        }
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or("it is not valid").trim();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }
}

/// Reads a comma-separated list of statuses; order and repeats do not matter.
pub fn parse_statuses(text: &str) -> Result<Vec<Status>, FilterError> {
    let mut statuses = Vec::new();
    for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        let status = Status::parse(word).ok_or_else(|| FilterError::UnknownStatus {
            word: cut(word),
            nearest: nearest(word, Status::ALL.map(Status::word)),
        })?;
        if !statuses.contains(&status) {
            statuses.push(status);
        }
    }
    if statuses.is_empty() {
        return Err(FilterError::NoStatus);
    }
    Ok(statuses)
}

fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_pattern_says_how_it_was_understood_and_what_it_selects() {
        let id = "d610ebfd455b";
        for (pattern, kind, selects) in [
            ("d610", "contains", true),
            ("D610", "contains", false),
            ("610.bfd", "contains", false),
            ("*455b", "glob", true),
            ("455*", "glob", false),
            ("??10*", "glob", true),
            ("[cd]6*", "glob", true),
            ("{d610,41ee}*", "glob", true),
            ("d610", "contains", true),
            ("^d610", "regex", true),
            ("455b$", "regex", true),
            ("^(d610|41ee)", "regex", true),
            ("d6.*5b", "regex", true),
            ("d6.*zz", "regex", false),
            ("\\d{3}ebfd", "regex", true),
            ("e+b", "regex", true),
        ] {
            let filter = JobsFilter::parse(pattern).expect(pattern);
            assert_eq!(filter.kind(), kind, "{pattern}");
            assert_eq!(filter.matches(id), selects, "{pattern}");
            assert_eq!(filter.text(), pattern);
        }
    }

    #[test]
    fn a_glob_must_match_the_whole_id_and_a_star_crosses_everything() {
        let filter = JobsFilter::parse("a*z").expect("valid");
        assert!(filter.matches("a b/c.z"));
        assert!(!filter.matches("a b z!"));
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_shown_with_the_reason() {
        for (pattern, message) in [
            (
                "[",
                "the glob \"[\" cannot be used: unclosed character class; missing ']'",
            ),
            ("(", "the regex \"(\" cannot be used: unclosed group"),
            (
                "",
                "the pattern \"\" cannot be used: it is empty; leave it out to select every job",
            ),
        ] {
            let error = JobsFilter::parse(pattern).expect_err(pattern);
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn a_huge_pattern_is_refused_and_cut_in_the_message() {
        let error = JobsFilter::parse(&"x".repeat(20_000)).expect_err("too long");
        assert!(error.to_string().len() < 200, "{error}");
        let error = JobsFilter::parse("^((((a{100}){100}){100}){100})$").expect_err("too big");
        assert!(error.to_string().contains("bytes when compiled"), "{error}");
    }

    #[test]
    fn a_list_of_statuses_is_read_once_each() {
        assert_eq!(
            parse_statuses(" running, enqueued,running,"),
            Ok(vec![Status::Running, Status::Enqueued])
        );
        assert_eq!(parse_statuses(" , "), Err(FilterError::NoStatus));
    }

    #[test]
    fn an_unknown_status_is_refused_with_the_valid_ones_and_the_nearest() {
        let error = parse_statuses("enqueued,complete").expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "\"complete\" is no status; the statuses are enqueued, running, completed, \
             failed, cancelled (did you mean completed?)"
        );
    }

    proptest! {
        #[test]
        fn no_pattern_panics(pattern in "\\PC{0,40}", id in "\\PC{0,20}") {
            if let Ok(filter) = JobsFilter::parse(&pattern) {
                filter.matches(&id);
            }
        }
    }
}
