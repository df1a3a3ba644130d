//! A request as handlers get it, and what they answer.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, header};
use serde::Serialize;
use serde_json::{Map, Value};

use archi3d_core::domain::id::{JobId, RunId};
use archi3d_core::ops::OpsContext;
use archi3d_core::ops::artifacts::OpenedFile;
use archi3d_core::ops::tokens::{self, Role, Token};

use crate::App;
use crate::canonical;
use crate::problem::{BAD_QUERY, INVALID, NO_JOB, NO_RUN, Problem, UNAVAILABLE};

/// A list has so many items unless somebody asks for another number.
const USUAL_PAGE: usize = 100;

/// Nobody gets more at once.
const MOST_PAGE: usize = 1000;

/// A request that may be carried out.
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    /// The workspace with its settings as they are now.
    pub(crate) context: OpsContext,
    /// Who asks; on paths for everybody it may be nobody.
    pub(crate) who: Option<Token>,
    pub(crate) path: HashMap<String, String>,
    pub(crate) query: Vec<(String, String)>,
    /// The path as it came, without the query.
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// What a handler answers.
pub(crate) enum Reply {
    Json {
        status: u16,
        body: Value,
        headers: Vec<(HeaderName, String)>,
    },
    /// Bytes as they are.
    Bytes {
        status: u16,
        media_type: &'static str,
        body: Bytes,
        headers: Vec<(HeaderName, String)>,
    },
    File {
        opened: OpenedFile,
        media_type: &'static str,
        /// The name to save it under.
        name: Option<String>,
    },
    Events(crate::events::Wanted),
}

pub(crate) type Answer = Result<Reply, Problem>;

impl Reply {
    pub(crate) fn json(body: impl Serialize) -> Answer {
        Self::status(200, body)
    }

    pub(crate) fn status(status: u16, body: impl Serialize) -> Answer {
        Ok(Self::Json {
            status,
            body: serde_json::to_value(body).unwrap_or(Value::Null),
            headers: Vec::new(),
        })
    }
}

impl Call {
    /// Refuses to order anything by settings that somebody is changing: prices may be others.
    pub(crate) fn settled(&self) -> Result<(), Problem> {
        let Some(why) = self.app.trouble() else {
            return Ok(());
        };
        // It has paths of this machine.
        let may_know = self
            .who
            .as_ref()
            .is_some_and(|token| token.role >= Role::Admin);
        let told = if may_know {
            &why
        } else {
            "logs/serve.log says why"
        };
        let said = format!("the settings cannot be read: {told}");
        Err(Problem::new(UNAVAILABLE, said).with("cause", why))
    }

    pub(crate) fn run(&self) -> Result<RunId, Problem> {
        let name = &self.path["run"];
        let unknown = || Problem::new(NO_RUN, format!("there is no run {name:?}"));
        let run = RunId::parse(name).map_err(|_| unknown())?;
        let is_there = || self.context.workspace.run(&run).manifest().is_file();
        if !is_there() {
            // A server may have died before it made the folder.
            archi3d_core::ops::submit::arrive(&self.context, Some(&run))?;
        }
        is_there().then_some(run.clone()).ok_or_else(unknown)
    }

    pub(crate) fn job(&self, run: &RunId) -> Result<JobId, Problem> {
        let name = &self.path["job"];
        let mut known = archi3d_core::ops::names::job_ids(&self.context, run).into_iter();
        let job = known.find(|known| known == name);
        let job = job.and_then(|job| JobId::parse(&job).ok());
        job.ok_or_else(|| Problem::new(NO_JOB, format!("run {run} has no job {name:?}")))
    }

    /// Returns who asks, as it is noted.
    pub(crate) fn by(&self) -> String {
        let who = self.who.as_ref();
        who.map_or_else(
            || "anonymous".to_owned(),
            |token| format!("token:{}", token.name),
        )
    }

    /// Returns whose keys these are: another token of the same name has its own.
    pub(crate) fn keeper(&self) -> Result<String, Problem> {
        let own = self.app.own.as_ref().map(|own| &own.kept.id);
        Ok(match &self.who {
            // The next start of the service makes another one; services of other workspaces may use the same database.
            Some(token) if Some(&token.id) == own => {
                let id = self.context.workspace.make_id().map_err(|error| {
                    Problem::new(UNAVAILABLE, "the workspace cannot be read or written")
                        .with("cause", error.to_string())
                })?;
                format!("{} {id}", tokens::OF_SERVICE)
            }
            Some(token) => token.id.clone(),
            None => String::new(),
        })
    }

    /// Returns the header that names the next page.
    pub(crate) fn next_page(&self, next: Option<&str>) -> Option<(HeaderName, String)> {
        let next = next?;
        let kept = self.query.iter().filter(|(name, _)| name != "cursor");
        let kept = kept.map(|(name, value)| format!("{}={}&", quoted(name), quoted(value)));
        let kept = kept.collect::<String>();
        let link = format!("<{}?{kept}cursor={next}>; rel=\"next\"", self.uri);
        Some((header::LINK, link))
    }

    /// Returns a parameter of the query that has something in it.
    pub(crate) fn asked(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Returns a parameter that must not be empty if it is there.
    pub(crate) fn filled(&self, name: &str) -> Result<Option<&str>, Problem> {
        let empty = self
            .query
            .iter()
            .any(|(known, value)| known == name && value.is_empty());
        if empty {
            return Err(Problem::new(BAD_QUERY, format!("{name} is empty")));
        }
        Ok(self.asked(name))
    }

    /// Returns the words of a parameter that takes several.
    pub(crate) fn words(&self, name: &str) -> Vec<&str> {
        let words = self.asked(name).unwrap_or_default().split(',');
        words
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .collect()
    }

    /// Returns the words of a parameter that takes some of these.
    pub(crate) fn choice(&self, name: &str, known: &[&str]) -> Result<Vec<&str>, Problem> {
        self.filled(name)?;
        let words = self.words(name);
        match words.iter().find(|word| !known.contains(word)) {
            None => Ok(words),
            Some(word) => Err(Problem::new(
                BAD_QUERY,
                format!("{name}: {word:?} is not one of {}", known.join(", ")),
            )),
        }
    }

    /// Returns how many items are asked for, and the last one of the page before.
    fn page(&self) -> Result<(usize, Option<LastItem<'_>>), Problem> {
        let bad = |name: &str, what: &str| Problem::new(BAD_QUERY, format!("{name} {what}"));
        let limit = match self.filled("limit")? {
            None => USUAL_PAGE,
            Some(text) => {
                let number = text.parse().ok();
                number
                    .filter(|number| (1..=MOST_PAGE).contains(number))
                    .ok_or_else(|| bad("limit", "must be a number from 1 to 1000"))?
            }
        };
        let last = match self.filled("cursor")? {
            None => None,
            Some(text) => {
                let parts = text.strip_prefix('p').and_then(|text| text.split_once('-'));
                let last = parts.and_then(|(place, mark)| {
                    let place = place.parse().ok()?;
                    Some(LastItem { place, mark })
                });
                Some(last.ok_or_else(|| bad("cursor", "must be one that a list gave"))?)
            }
        };
        Ok((limit, last))
    }

    /// Returns the part of a list that is asked for, and the cursor of the next one. `all` is the whole list in its order;
    /// what is not wanted is left out here. A page begins behind the last item of the page before, also if that one is no
    /// longer wanted, so nothing is passed over when items change between two pages.
    pub(crate) fn cut<T>(
        &self,
        all: Vec<T>,
        name: impl Fn(&T) -> String,
        wanted: impl Fn(&T) -> bool,
    ) -> Result<(Vec<T>, Option<String>), Problem> {
        let (limit, last) = self.page()?;
        let mark = |item: &T| canonical::hex(name(item).as_bytes())[..12].to_owned();
        let first = last.map_or(0, |LastItem { place, mark: last }| {
            let is_it = |item: &T| mark(item) == last;
            let here = all.get(place).is_some_and(is_it).then_some(place);
            // One that is gone was where its page ended.
            let found = here.or_else(|| all.iter().position(is_it));
            found.map_or(place, |found| found + 1)
        });
        let rest = all.into_iter().enumerate().skip(first);
        let mut rest = rest.filter(|(_, item)| wanted(item));
        let page: Vec<(usize, T)> = rest.by_ref().take(limit).collect();
        let next = rest.next().and_then(|_| {
            let (place, last) = page.last()?;
            Some(format!("p{place}-{}", mark(last)))
        });
        Ok((page.into_iter().map(|(_, item)| item).collect(), next))
    }

    /// Answers with a part of a list.
    pub(crate) fn list(&self, items: Vec<Value>, next: Option<String>) -> Answer {
        Ok(Reply::Json {
            status: 200,
            headers: self.next_page(next.as_deref()).into_iter().collect(),
            body: serde_json::json!({"items": items, "next_cursor": next}),
        })
    }

    /// Reads the body as one object.
    pub(crate) fn fields(&self) -> Result<Fields, Problem> {
        let text = self.body.trim_ascii();
        if text.is_empty() {
            return Err(Problem::new(
                crate::problem::MALFORMED_JSON,
                "the body is empty",
            ));
        }
        Fields::of(canonical::parse(text)?, "#")
    }
}

/// The last item of a page, as its cursor names it.
struct LastItem<'c> {
    /// Where it stood in the list.
    place: usize,
    /// Of its name.
    mark: &'c str,
}

/// The fields of an object, taken one by one; what is left over is refused.
pub(crate) struct Fields {
    object: Map<String, Value>,
    at: String,
}

impl Fields {
    /// Takes an object that stands at `at`.
    pub(crate) fn of(value: Value, at: &str) -> Result<Self, Problem> {
        match value {
            Value::Object(object) => Ok(Self {
                object,
                at: at.to_owned(),
            }),
            _ => Err(Problem::at(INVALID, at, "must be an object")),
        }
    }

    pub(crate) fn wrong(&self, name: &str, detail: impl Into<String>) -> Problem {
        Problem::at(INVALID, &format!("{}/{name}", self.at), detail)
    }

    /// Takes a field; `null` is as good as none.
    pub(crate) fn any(&mut self, name: &str) -> Option<Value> {
        self.object
            .shift_remove(name)
            .filter(|value| !value.is_null())
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(name, "must be a text")),
        }
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<Option<bool>, Problem> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(self.wrong(name, "must be true or false")),
        }
    }

    pub(crate) fn dollars(&mut self, name: &str) -> Result<Option<f64>, Problem> {
        match self.any(name).map(|value| value.as_f64()) {
            None => Ok(None),
            Some(Some(usd)) if (0.0..=1e9).contains(&usd) => Ok(Some(usd)),
            Some(_) => Err(self.wrong(name, "must be a number of dollars, 0 or more")),
        }
    }

    pub(crate) fn count(&mut self, name: &str, most: u64) -> Result<Option<usize>, Problem> {
        let Some(value) = self.any(name) else {
            return Ok(None);
        };
        let whole = value.as_f64().filter(|number| number.fract() == 0.0);
        match whole {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a whole number between 1 and a small one"
            )]
            Some(number) if number >= 1.0 && number <= most as f64 => Ok(Some(number as usize)),
            _ => Err(self.wrong(name, format!("must be a whole number from 1 to {most}"))),
        }
    }

    pub(crate) fn texts(&mut self, name: &str) -> Result<Option<Vec<String>>, Problem> {
        let Some(value) = self.any(name) else {
            return Ok(None);
        };
        let texts = value.as_array().and_then(|values| {
            let texts = values.iter().map(|value| value.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<String>>>()
        });
        let texts = texts.ok_or_else(|| self.wrong(name, "must be a list of texts"))?;
        Ok(Some(texts))
    }

    pub(crate) fn objects(&mut self, name: &str) -> Result<Vec<Map<String, Value>>, Problem> {
        let Some(value) = self.any(name) else {
            return Ok(Vec::new());
        };
        let objects = value.as_array().and_then(|values| {
            let objects = values.iter().map(|value| value.as_object().cloned());
            objects.collect::<Option<Vec<_>>>()
        });
        objects.ok_or_else(|| self.wrong(name, "must be a list of objects"))
    }

    pub(crate) fn object(&mut self, name: &str) -> Result<Option<Self>, Problem> {
        let at = format!("{}/{name}", self.at);
        self.any(name).map(|value| Self::of(value, &at)).transpose()
    }

    /// Refuses what was not taken.
    pub(crate) fn done(self) -> Result<(), Problem> {
        match self.object.keys().next() {
            None => Ok(()),
            Some(name) => Err(self.wrong(name, "is unknown here")),
        }
    }
}

/// Writes a text so that it can stand in an address.
pub(crate) fn quoted(text: &str) -> String {
    use std::fmt::Write as _;
    let mut quoted = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' | b',' => {
                quoted.push(byte.into());
            }
            _ => {
                let _ = write!(quoted, "%{byte:02X}");
            }
        }
    }
    quoted
}

/// Reads a text as it stands in an address; nothing if it is no UTF-8.
pub(crate) fn unquoted(text: &str, plus_is_blank: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok()?.to_owned();
                bytes.push(u8::from_str_radix(&digits, 16).ok()?);
            }
            b'+' if plus_is_blank => bytes.push(b' '),
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).ok()
}
