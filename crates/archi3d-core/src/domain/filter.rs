//! Which jobs a person means: the `--jobs` pattern and the `--only-status` list.
//!
//! PURE: patterns come in as text and say which ids they match. How a pattern
//! was understood is part of the value, so that it can be told and logged.

use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};

use crate::domain::id::AlgoKey;
use crate::domain::item_name::{ItemName, any_matches};
use crate::domain::job::Status;
use crate::domain::nearest::nearest;

/// The longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 10_000;

/// The most memory a compiled pattern may take, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// How much of a refused pattern a message shows, in characters.
const SHOWN_CHARS: usize = 60;

/// What makes a pattern more than text that an id contains.
const GLOB_SIGNS: [char; 4] = ['*', '?', '[', '{'];

/// What only a regular expression has.
const REGEX_ONLY: [char; 7] = ['^', '$', '(', ')', '|', '\\', '+'];

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

/// Selects jobs by their id, in capitals or not.
#[derive(Debug, Clone)]
pub struct JobsFilter {
    text: String,
    /// Every way to understand the text, in the order in which they are tried.
    readings: Vec<Reading>,
}

#[derive(Debug, Clone)]
enum Reading {
    /// The text in small letters.
    Contains(String),
    Glob(GlobMatcher),
    Regex(Regex),
}

impl JobsFilter {
    /// Reads a pattern. It is plain text that an id contains, or a glob on the whole
    /// id, or a regular expression that may match anywhere: [`Self::among`] takes the
    /// first that matches anything.
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
        let mut readings = vec![Reading::Contains(text.to_lowercase())];
        let mut refusal = None;
        if text.contains(GLOB_SIGNS) {
            match GlobBuilder::new(text).case_insensitive(true).build() {
                Ok(glob) => readings.push(Reading::Glob(glob.compile_matcher())),
                Err(error) => refusal = Some(refuse("glob", error.kind().to_string())),
            }
        }
        if may_be_regex(text) {
            let regex = RegexBuilder::new(text)
                .case_insensitive(true)
                .size_limit(MAX_COMPILED_BYTES)
                .dfa_size_limit(MAX_COMPILED_BYTES)
                .build();
            match regex {
                Ok(regex) => readings.push(Reading::Regex(regex)),
                Err(error) if text.contains(REGEX_ONLY) => {
                    return Err(refuse("regex", regex_reason(&error)));
                }
                Err(_) => {}
            }
        }
        match refusal {
            Some(refusal) if readings.len() == 1 => Err(refusal),
            _ => Ok(Self {
                text: text.to_owned(),
                readings,
            }),
        }
    }

    /// Returns the pattern that means these jobs, or as many of the first of them as one can name.
    pub fn naming<'i>(ids: impl IntoIterator<Item = &'i str>) -> String {
        let mut pattern = String::from("^(");
        for id in ids {
            if pattern.len() + id.len() + 3 > MAX_PATTERN_BYTES {
                break;
            }
            if !pattern.ends_with('(') {
                pattern.push('|');
            }
            pattern.push_str(id);
        }
        pattern + ")$"
    }

    /// Returns the pattern as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Understands the pattern in the first way that matches any of `ids`: contains,
    /// glob, regex.
    pub fn among<'i>(&self, ids: impl Iterator<Item = &'i str> + Clone) -> Chosen<'_> {
        let matches_any = |reading: &&Reading| ids.clone().any(|id| reading.matches(id));
        Chosen(self.readings.iter().find(matches_any))
    }
}

impl Reading {
    fn matches(&self, id: &str) -> bool {
        match self {
            Self::Contains(text) => id.to_lowercase().contains(text),
            Self::Glob(glob) => glob.is_match(id),
            Self::Regex(regex) => regex.is_match(id),
        }
    }
}

/// A pattern as it was understood among the jobs of a run.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'f>(Option<&'f Reading>);

impl Chosen<'_> {
    /// Returns how the pattern was understood: `contains`, `glob` or `regex`; nothing
    /// if it matches no job in any way.
    pub fn kind(self) -> Option<&'static str> {
        self.0.map(|reading| match reading {
            Reading::Contains(_) => "contains",
            Reading::Glob(_) => "glob",
            Reading::Regex(_) => "regex",
        })
    }

    /// Tells whether the pattern selects `id`.
    pub fn matches(self, id: &str) -> bool {
        self.0.is_some_and(|reading| reading.matches(id))
    }
}

/// Which jobs of a run are meant; what is left empty means all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobQuery {
    /// Only jobs whose id matches.
    pub jobs: Option<JobsFilter>,
    /// Only jobs of one of these products.
    pub items: Vec<ItemName>,
    /// Only jobs of one of these algorithms, each once.
    pub algo: Vec<AlgoKey>,
    /// Only jobs in one of these states; `None` means the usual ones of the command.
    pub only_status: Option<Vec<Status>>,
}

impl JobQuery {
    /// Understands the query among the ids of all jobs of a run.
    pub fn among<'i>(&self, ids: impl Iterator<Item = &'i str> + Clone) -> JobFilter<'_> {
        JobFilter {
            query: self,
            chosen: self.jobs.as_ref().map(|filter| filter.among(ids)),
        }
    }
}

/// A query as it was understood; tells which jobs it means, whatever their state.
#[derive(Debug, Clone, Copy)]
pub struct JobFilter<'q> {
    /// What was asked.
    pub query: &'q JobQuery,
    chosen: Option<Chosen<'q>>,
}

impl JobFilter<'_> {
    /// Tells whether a job is meant.
    pub fn matches(&self, id: &str, product: &str, variant: &str, algo: Option<&str>) -> bool {
        let has_algo = |algo: &str| self.query.algo.iter().any(|key| key.as_str() == algo);
        self.chosen.is_none_or(|chosen| chosen.matches(id))
            && any_matches(&self.query.items, product, variant)
            && (self.query.algo.is_empty() || algo.is_some_and(has_algo))
    }

    /// Returns how `--jobs` was understood, if it was given and matches a job.
    pub fn kind(&self) -> Option<&'static str> {
        self.chosen.and_then(Chosen::kind)
    }

    /// Says how `--jobs` was understood.
    pub fn reading(&self) -> Option<String> {
        let (filter, kind) = (self.query.jobs.as_ref()?, self.kind()?);
        Some(format!("--jobs {:?} was taken as {kind}", filter.text()))
    }
}

/// Two filters are the same when they were written the same.
impl PartialEq for JobsFilter {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Tells whether a pattern can be meant as a regex. `d6*` and `d6?` cannot: as a
/// regex they would match far more than whoever wrote a glob has in mind.
fn may_be_regex(text: &str) -> bool {
    let is_glob_only = text.split(['*', '?']).rev().skip(1).any(|before| {
        let after_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
        before.is_empty() || after_word
    });
    text.contains(REGEX_ONLY) || text.contains('.') || (text.contains(['[', '{']) && !is_glob_only)
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
    fn a_pattern_is_understood_in_the_first_way_that_matches_anything() {
        let ids = ["d610ebfd455b", "41ee2eedbabf"];
        for (pattern, kind, selected) in [
            ("d610", Some("contains"), 1),
            ("D610", Some("contains"), 1),
            ("e", Some("contains"), 2),
            ("610.bfd", Some("regex"), 1),
            ("d6.0", Some("regex"), 1),
            ("d6[0-9]0", Some("regex"), 1),
            ("[0-9a-f]{4}EBFD", Some("regex"), 1),
            ("*455b", Some("glob"), 1),
            ("455*", None, 0),
            ("x*", None, 0),
            ("d61?", None, 0),
            ("??10*", Some("glob"), 1),
            ("[CD]6*", Some("glob"), 1),
            ("{d610,41ee}*", Some("glob"), 2),
            ("^d610", Some("regex"), 1),
            ("455b$", Some("regex"), 1),
            ("^(d610|41ee)", Some("regex"), 2),
            ("d6.*5b", Some("regex"), 1),
            ("d6.*zz", None, 0),
            ("\\d{3}ebfd", Some("regex"), 1),
            ("e+b", Some("regex"), 1),
        ] {
            let filter = JobsFilter::parse(pattern).expect(pattern);
            let chosen = filter.among(ids.iter().copied());
            assert_eq!(chosen.kind(), kind, "{pattern}");
            let matching = ids.iter().filter(|id| chosen.matches(id)).count();
            assert_eq!(matching, selected, "{pattern}");
            assert_eq!(filter.text(), pattern);
        }
    }

    #[test]
    fn a_glob_must_match_the_whole_id_and_a_star_crosses_everything() {
        let filter = JobsFilter::parse("a*z").expect("valid");
        let selects = |id: &str| filter.among(std::iter::once(id)).matches(id);
        assert!(selects("a b/c.z"));
        assert!(!selects("a b z!"));
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
    fn a_pattern_that_names_jobs_is_never_refused() {
        let ids: Vec<String> = (0..4_000)
            .map(|n| format!("{:012x}", n * 0x0001_0001_u64))
            .collect();
        let named = || ids.iter().map(String::as_str);
        let filter = JobsFilter::parse(&JobsFilter::naming(named())).expect("fits");
        let chosen = filter.among(named());
        assert!(named().filter(|id| chosen.matches(id)).count() > 700);
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
                filter.among(std::iter::once(id.as_str())).matches(&id);
            }
        }
    }
}
