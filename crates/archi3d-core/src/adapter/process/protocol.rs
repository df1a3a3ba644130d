//! The words between a program and us: one request, many events.
//!
//! `docs/adapter-protocol.md` says the same for people. Whatever is not an
//! event is no error: it goes to the log.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::judge;
use crate::adapter::{AdapterError, GenerationRequest, JobContext};
use crate::domain::purchase::{Billed, RequestFate};
use crate::domain::retry::ErrorClass;

/// More than this is no cost of one job.
const MAX_COST_USD: f64 = 100_000.0;

/// The longest id of a purchase that is taken, in bytes.
const MAX_REQUEST_ID_BYTES: usize = 4096;

/// The longest wait that a provider can ask for.
const MAX_WAIT: Duration = Duration::from_secs(7 * 86_400);

/// What is said for a program that does not say why it failed.
const NO_REASON: &str = "the adapter gave no reason";

/// What is said of a result that is none.
const NO_SUCCESS: &str = "the adapter sent a result without \"success\": true";

/// Something a program says.
#[derive(Debug, PartialEq)]
pub(super) enum Event {
    /// Something is about to be bought, and can be found by this.
    Intent {
        correlation: Option<String>,
    },
    /// A provider took the request; without an id it cannot be asked again.
    Submitted {
        request_id: Option<String>,
        cost_usd: Option<f64>,
    },
    Progress {
        fraction: f64,
        message: Option<String>,
    },
    Result(Box<Answer>),
    Error(Complaint),
    /// Something that was meant as an event and cannot be read.
    Unreadable,
}

/// A line that may be an event.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Line {
    /// What it says; nothing if it is no event.
    pub(super) event: Option<Event>,
    /// What is wrong with it.
    pub(super) complaints: Vec<String>,
}

/// What a program says it made.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) generated_glb: Option<PathBuf>,
    pub(super) previews: Option<Vec<PathBuf>>,
    pub(super) algo_version: Option<String>,
    pub(super) unit_price_usd: Option<f64>,
    pub(super) estimated_cost_usd: Option<f64>,
    /// Whether it named a cost that can be none.
    pub(super) unclear_cost: bool,
    pub(super) price_source: Option<String>,
    pub(super) raw_metadata: Option<Map<String, Value>>,
}

/// Why a program says it could not.
#[derive(Debug, PartialEq)]
pub(super) struct Complaint {
    /// What kind of failure, where it says so.
    pub(super) class: Option<ErrorClass>,
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
    /// Whether it was meant otherwise, perhaps.
    pub(super) garbled: bool,
    pub(super) request: RequestFate,
    pub(super) billed: Option<Billed>,
    pub(super) cost_usd: Option<f64>,
    /// Whether it named a cost that can be none.
    pub(super) unclear_cost: bool,
}

/// Returns the request as the program reads it.
pub(super) fn request(
    request: &GenerationRequest,
    context: &JobContext<'_>,
    defaults: &Map<String, Value>,
    version: u64,
) -> Result<Map<String, Value>, AdapterError> {
    let intent = context.open_intent.as_ref();
    let intent = intent.map(|open| json!({"correlation": open.correlation, "at": open.at}));
    let images = request.used_images.iter().map(|path| text(path));
    let images: Vec<&str> = images.collect::<Result<_, _>>()?;
    let fields = [
        ("protocol", json!(version)),
        ("job_id", json!(request.job_id)),
        ("product_id", json!(request.product_id)),
        ("variant", json!(request.variant)),
        ("algo", json!(request.algo)),
        ("used_images", json!(images)),
        ("out_dir", json!(text(&request.out_dir)?)),
        ("workspace", json!(text(&request.workspace)?)),
        ("extra", json!(request.extra)),
        ("attempt", json!(context.attempt)),
        ("idempotency_key", json!(context.idempotency_key)),
        ("resume_request_id", json!(context.resume_request_id)),
        ("open_intent", json!(intent)),
        ("defaults", json!(defaults)),
    ];
    Ok(Map::from_iter(
        fields.map(|(name, value)| (name.to_owned(), value)),
    ))
}

fn text(path: &Path) -> Result<&str, AdapterError> {
    path.to_str().ok_or_else(|| {
        AdapterError::permanent(format!(
            "{} is not valid UTF-8 and cannot be passed to a program; rename it",
            path.display()
        ))
    })
}

/// Reads a line.
pub(super) fn parse(line: &[u8]) -> Line {
    let text = String::from_utf8_lossy(line);
    let is_blank = |letter: char| letter == '\u{feff}' || letter.is_ascii_whitespace();
    let text = text.trim_start_matches(is_blank);
    let object = match read(text) {
        Some(Value::Object(object)) => object,
        None if text.contains("\"event\"") => {
            return Line {
                event: Some(Event::Unreadable),
                complaints: vec!["an event cannot be read as JSON".to_owned()],
            };
        }
        Some(_) | None => return Line::default(),
    };
    // Of progress there may be millions of lines.
    let plain = object.get("event").is_some_and(|event| event == "progress")
        && object.get("fraction").is_some_and(Value::is_number);
    let complaints = if plain {
        Vec::new()
    } else {
        judge::complaints(&object)
    };
    Line {
        event: event(object),
        complaints,
    }
}

/// Reads JSON; numbers that are none, which some languages write, are texts.
fn read(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| {
        let named = name_odd_numbers(text)?;
        serde_json::from_str(&named).ok()
    })
}

/// Puts `NaN` and `Infinity` in quotes; nothing if there are none.
fn name_odd_numbers(text: &str) -> Option<String> {
    const ODD: [&str; 3] = ["NaN", "-Infinity", "Infinity"];
    if !ODD.iter().any(|odd| text.contains(odd)) {
        return None;
    }
    let mut named = String::with_capacity(text.len() + 16);
    let (mut rest, mut quoted) = (text, false);
    while let Some(letter) = rest.chars().next() {
        if !quoted && let Some(odd) = ODD.iter().find(|odd| rest.starts_with(**odd)) {
            named.extend(["\"", odd, "\""]);
            rest = &rest[odd.len()..];
            continue;
        }
        let mut taken = letter.len_utf8();
        if quoted && letter == '\\' {
            taken += rest[taken..].chars().next().map_or(0, char::len_utf8);
        } else if letter == '"' {
            quoted = !quoted;
        }
        named.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    Some(named)
}

fn event(mut object: Map<String, Value>) -> Option<Event> {
    let event = object.get("event")?.as_str()?.to_owned();
    match event.as_str() {
        "intent" => Some(Event::Intent {
            correlation: object.get("correlation").and_then(request_id),
        }),
        "submitted" => Some(Event::Submitted {
            request_id: object.get("request_id").and_then(request_id),
            cost_usd: cost(&object, "cost_usd"),
        }),
        "progress" => Some(Event::Progress {
            fraction: object.get("fraction").and_then(Value::as_f64)?,
            message: words(&object, "message"),
        }),
        "result" => Some(match object.get("success") {
            Some(Value::Bool(true)) => Event::Result(Box::new(answer(&mut object))),
            Some(Value::Bool(false)) => Event::Error(complaint(&object, false)),
            _ => Event::Error(complaint(&object, true)),
        }),
        "error" => Some(Event::Error(complaint(&object, false))),
        _ => None,
    }
}

fn request_id(value: &Value) -> Option<String> {
    let id = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let usable = !id.trim().is_empty()
        && id.len() <= MAX_REQUEST_ID_BYTES
        && !id.chars().any(char::is_control);
    usable.then_some(id)
}

fn answer(object: &mut Map<String, Value>) -> Answer {
    let previews = object.get("previews").and_then(Value::as_array);
    Answer {
        generated_glb: words(object, "generated_glb").map(PathBuf::from),
        previews: previews.map(|list| {
            let paths = list.iter().filter_map(Value::as_str);
            paths.map(PathBuf::from).collect()
        }),
        algo_version: words(object, "algo_version"),
        unit_price_usd: cost(object, "unit_price_usd"),
        estimated_cost_usd: cost(object, "estimated_cost_usd"),
        unclear_cost: is_unclear(object, "estimated_cost_usd"),
        price_source: words(object, "price_source"),
        raw_metadata: match object.remove("raw_metadata") {
            None | Some(Value::Null) => None,
            Some(Value::Object(metadata)) => Some(metadata),
            Some(other) => Some(Map::from_iter([("value".to_owned(), other)])),
        },
    }
}

fn complaint(object: &Map<String, Value>, garbled: bool) -> Complaint {
    let no_reason = if garbled { NO_SUCCESS } else { NO_REASON };
    let class = object.get("class").cloned().unwrap_or_default();
    let said: Result<ErrorClass, _> = serde_json::from_value(class.clone());
    // A class that nobody knows may have meant anything.
    let garbled = garbled || said.is_err() && !class.is_null();
    let word = |name: &str| object.get(name).and_then(Value::as_str);
    let message = words(object, "message").or_else(|| words(object, "error"));
    // As providers' headers have it, it may be a text.
    let in_words = object.get("retry_after_s").and_then(Value::as_str);
    let in_words = in_words.and_then(|text| text.trim().parse().ok());
    let wait = amount(object, "retry_after_s").or(in_words);
    Complaint {
        class: match said {
            Ok(class) => Some(class),
            Err(_) if garbled => Some(ErrorClass::Permanent),
            Err(_) => None,
        },
        message: message.unwrap_or_else(|| no_reason.to_owned()),
        retry_after: wait
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .map(|wait| wait.min(MAX_WAIT)),
        garbled,
        request: match word("request") {
            Some("void") => RequestFate::Void,
            _ => RequestFate::Kept,
        },
        billed: word("billed").and_then(Billed::parse),
        cost_usd: cost(object, "cost_usd"),
        unclear_cost: is_unclear(object, "cost_usd"),
    }
}

/// Returns a text that says something; a number (an HTTP status) is one too.
fn words(object: &Map<String, Value>, name: &str) -> Option<String> {
    match object.get(name)? {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns a cost that can be one. Where none is known, the price counts.
fn cost(object: &Map<String, Value>, name: &str) -> Option<f64> {
    amount(object, name).filter(|usd| *usd <= MAX_COST_USD)
}

/// Tells whether a cost was named that can be none.
fn is_unclear(object: &Map<String, Value>, name: &str) -> bool {
    let said = object.get(name).is_some_and(|said| !said.is_null());
    said && cost(object, name).is_none()
}

fn amount(object: &Map<String, Value>, name: &str) -> Option<f64> {
    let number = object.get(name)?.as_f64()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event_of(line: &[u8]) -> Option<Event> {
        parse(line).event
    }

    fn complaint_of(line: &str) -> Complaint {
        match event_of(line.as_bytes()) {
            Some(Event::Error(complaint)) => complaint,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_event_is_understood() {
        let submitted = event_of(br#"{"event":"submitted","request_id":"r-1","cost_usd":0.4}"#);
        assert_eq!(
            submitted,
            Some(Event::Submitted {
                request_id: Some("r-1".into()),
                cost_usd: Some(0.4)
            })
        );
        let progress = event_of(br#"{"event":"progress","fraction":0.5}"#);
        assert_eq!(
            progress,
            Some(Event::Progress {
                fraction: 0.5,
                message: None
            })
        );
        let result = event_of(
            br#"{"event":"result","success":true,"generated_glb":"m.glb","previews":["a.png"],
                "algo_version":"v2","unit_price_usd":-1,"raw_metadata":{"seed":7}}"#,
        );
        let Some(Event::Result(answer)) = result else {
            panic!("{result:?}");
        };
        assert_eq!(answer.generated_glb, Some("m.glb".into()));
        assert_eq!(answer.previews, Some(vec!["a.png".into()]));
        assert_eq!(answer.unit_price_usd, None);
        assert_eq!(answer.raw_metadata.expect("kept")["seed"], 7);
    }

    #[test]
    fn replies_of_providers_become_classes() {
        use ErrorClass::{BadInput, OutOfCredit, Permanent, Transient, Unknown};
        let none = "the adapter gave no reason";
        for (fields, class, message) in [
            (
                r#""class":"transient","message":"503""#,
                Some(Transient),
                "503",
            ),
            (
                r#""class":"bad_input","message":"no face""#,
                Some(BadInput),
                "no face",
            ),
            (
                r#""class":"out_of_credit","message":"402""#,
                Some(OutOfCredit),
                "402",
            ),
            (
                r#""class":"unknown","message":"lost""#,
                Some(Unknown),
                "lost",
            ),
            (
                r#""class":"permanent","message":404"#,
                Some(Permanent),
                "404",
            ),
            (r#""class":"weird","message":"x""#, Some(Permanent), "x"),
            (r#""class":7"#, Some(Permanent), none),
            (r#""class":"transient","message":"""#, Some(Transient), none),
            (r#""message":["x"]"#, None, none),
            (r#""error":"nsfw""#, None, "nsfw"),
        ] {
            for event in [r#""error""#, r#""result","success":false"#] {
                let found = complaint_of(&format!(r#"{{"event":{event},{fields}}}"#));
                assert_eq!((found.class, found.message.as_str()), (class, message));
            }
        }
    }

    #[test]
    fn only_a_plain_true_is_a_success() {
        for rest in [
            "",
            r#","success":"true""#,
            r#","success":1"#,
            r#","success":null"#,
        ] {
            let found = complaint_of(&format!(r#"{{"event":"result"{rest}}}"#));
            assert_eq!(
                (found.class, found.message.as_str()),
                (Some(ErrorClass::Permanent), NO_SUCCESS)
            );
        }
    }

    #[test]
    fn the_wait_a_provider_asks_for_is_sane() {
        for (wait, seconds) in [
            ("2.5", Some(2.5)),
            ("0", Some(0.0)),
            (r#"" 30""#, Some(30.0)),
            (r#""NaN""#, None),
            ("1e9", Some(604_800.0)),
            ("1e300", None),
            ("-4", None),
            (r#""soon""#, None),
            ("null", None),
        ] {
            let line = format!(r#"{{"event":"error","class":"transient","retry_after_s":{wait}}}"#);
            let found = complaint_of(&line).retry_after;
            assert_eq!(found.map(|wait| wait.as_secs_f64()), seconds, "{wait}");
        }
    }

    #[test]
    fn a_purchase_without_a_usable_id_is_still_a_purchase() {
        for line in [
            r#"{"event":"submitted"}"#,
            r#"{"event":"submitted","request_id":""}"#,
            r#"{"event":"submitted","request_id":"a\u0000b"}"#,
            r#"{"event":"submitted","request_id":["x"],"cost_usd":"free"}"#,
        ] {
            let event = event_of(line.as_bytes());
            assert_eq!(
                event,
                Some(Event::Submitted {
                    request_id: None,
                    cost_usd: None
                }),
                "{line}"
            );
        }
        let number = event_of(br#"{"event":"submitted","request_id":12345}"#);
        assert!(
            matches!(number, Some(Event::Submitted { request_id: Some(id), .. }) if id == "12345")
        );
    }

    #[test]
    fn numbers_that_are_none_hide_no_event_and_cost_nothing_odd() {
        let line =
            br#"{"event":"result","success":false,"cost_usd":NaN,"message":"Infinity \"NaN"}"#;
        let Some(Event::Error(found)) = event_of(line) else {
            panic!("not heard");
        };
        assert_eq!(
            (found.cost_usd, found.message.as_str()),
            (None, "Infinity \"NaN")
        );
        for cost in ["1e308", "-0.4", "\"0.40\"", "-Infinity", "[1]"] {
            let line = format!(r#"{{"event":"submitted","request_id":"r","cost_usd":{cost}}}"#);
            let heard = parse(line.as_bytes());
            assert_eq!(heard.complaints.len(), 1, "{line}");
            let cost_usd = None;
            let request_id = Some("r".to_owned());
            assert_eq!(
                heard.event,
                Some(Event::Submitted {
                    request_id,
                    cost_usd
                })
            );
        }
    }

    #[test]
    fn what_stands_before_an_event_hides_nothing() {
        for before in ["\u{feff}", "  \t", "\r\r", " \u{feff} ", "\u{c}"] {
            let line = format!("{before}{{\"event\":\"submitted\",\"request_id\":\"r\"}}\r\n");
            let event = event_of(line.as_bytes());
            assert!(matches!(event, Some(Event::Submitted { .. })), "{line:?}");
        }
    }

    #[test]
    fn anything_else_is_no_event_and_never_a_crash() {
        let deep = format!(
            "{{\"event\":\"result\",\"raw_metadata\":{}1{}}}",
            "[".repeat(10_000),
            "]".repeat(10_000)
        );
        for line in [
            b"loading model...".as_slice(),
            b"",
            b"{",
            b"{}",
            br#"{"event":7}"#,
            br#"{"event":"dance"}"#,
            br#"{"event":"progress"}"#,
            br#"["event"]"#,
            b"\xff\xfe{\"evt\"",
        ] {
            assert_eq!(event_of(line), None);
        }
        assert_eq!(event_of(deep.as_bytes()), Some(Event::Unreadable));
        let lossy = event_of(b"{\"event\":\"error\",\"message\":\"caf\xe9\"}");
        assert!(matches!(lossy, Some(Event::Error(_))));
    }

    /// Values that programs may send where something else is meant.
    fn any_value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
            Just(serde_json::json!([1, "x"])),
            Just(serde_json::json!({"usd": 1})),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn no_line_makes_it_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = event_of(&line);
        }

        #[test]
        fn whatever_stands_in_an_event_it_is_heard_and_amounts_make_sense(
            name in prop::sample::select(vec!["submitted", "result", "error"]),
            fields in proptest::collection::vec(
                (
                    prop::sample::select(vec![
                        "request_id", "cost_usd", "success", "class", "message", "retry_after_s",
                        "generated_glb", "previews", "unit_price_usd", "estimated_cost_usd",
                        "raw_metadata", "algo_version",
                    ]),
                    any_value(),
                ),
                0..8,
            ),
        ) {
            let mut object = Map::new();
            object.insert("event".into(), name.into());
            object.extend(fields.into_iter().map(|(key, value)| (key.to_owned(), value)));
            let event = event_of(Value::Object(object).to_string().as_bytes());
            prop_assert!(event.is_some(), "an event was not heard");
            if let Some(Event::Submitted { cost_usd: Some(usd), .. }) = event {
                prop_assert!(usd.is_finite() && usd >= 0.0, "{usd}");
            }
        }
    }
}
