//! A provider's invoice beside our own purchases, matched by request id.
//!
//! Reads any table with a column of ids and one of amounts: with or without byte
//! order mark, any line ends, commas, semicolons or tabs, amounts as people write
//! them. What cannot be read is an error with its line, never a guess.

use std::collections::BTreeMap;
use std::path::Path;

use crate::ops::OpsError;

use super::amount::{self, Style};
use crate::domain::money::Usd;
use crate::ops::view::cost::{Billed, BilledOtherwise, Comparison, Purchase};

/// The column of ids, unless the person names another.
const ID: &str = "request_id";

/// The column of amounts, unless the person names another.
const AMOUNT: &str = "amount";

/// Names of columns that say what kind of line it is.
const KIND_NAMES: [&str; 5] = [
    "type",
    "kind",
    "transaction_type",
    "entry_type",
    "line_type",
];

/// Kinds of lines whose amount comes back, however it is signed.
const CREDITS: [&str; 7] = [
    "credit",
    "credit_note",
    "refund",
    "refunded",
    "reversal",
    "chargeback",
    "rebate",
];

/// Reads an invoice and compares it with our purchases.
pub fn compare(
    path: &Path,
    id_column: Option<&str>,
    amount_column: Option<&str>,
    ours: &BTreeMap<String, Purchase>,
) -> Result<Comparison, OpsError> {
    let bytes = std::fs::read(path).map_err(|error| OpsError::Setup {
        message: format!("{} cannot be read: {error}", path.display()),
        hint: Some("give the path of a CSV file".into()),
    })?;
    let invoice = read(&bytes, id_column, amount_column).map_err(|fault| OpsError::Setup {
        message: match fault.line {
            Some(line) => format!("{}:{line}: {}", path.display(), fault.what),
            None => format!("{}: {}", path.display(), fault.what),
        },
        hint: Some(fault.hint.to_owned()),
    })?;
    Ok(invoice.beside(ours))
}

/// Why an invoice cannot be read.
#[derive(Debug, PartialEq)]
struct Fault {
    line: Option<u64>,
    what: String,
    hint: &'static str,
}

const NAME_COLUMNS: &str = "name its columns with --match-id and --match-amount";

#[derive(Debug, Default)]
struct Invoice {
    /// The sum and the number of lines of each id.
    amounts: BTreeMap<String, (Usd, usize)>,
    columns: (String, String),
}

fn read(bytes: &[u8], id: Option<&str>, amount: Option<&str>) -> Result<Invoice, Fault> {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = std::str::from_utf8(text).map_err(|error| Fault {
        line: Some(1 + memchr::memchr_iter(b'\n', &text[..error.valid_up_to()]).count() as u64),
        what: "is not UTF-8".into(),
        hint: "save it as CSV in UTF-8",
    })?;
    let header = text.lines().next().unwrap_or_default();
    let delimiter = [b',', b';', b'\t']
        .into_iter()
        .max_by_key(|delimiter| {
            (
                header.bytes().filter(|b| b == delimiter).count(),
                *delimiter == b',',
            )
        })
        .unwrap_or(b',');
    let mut reader = ::csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .trim(::csv::Trim::All)
        .from_reader(text.as_bytes());
    let names: Vec<String> = match reader.headers() {
        Ok(names) => names.iter().map(str::to_owned).collect(),
        Err(error) => return Err(unreadable(&error)),
    };
    if names.iter().all(String::is_empty) {
        return Err(Fault {
            line: None,
            what: "is empty".into(),
            hint: "give a CSV file with a line of column names and a line for each purchase",
        });
    }
    // The reader takes everything up to the end of the file for one cell then.
    let unclosed = text.matches('"').count() % 2 == 1;
    let id = find(&names, id.unwrap_or(ID))?;
    let amount = find(&names, amount.unwrap_or(AMOUNT))?;
    let kind = KIND_NAMES
        .iter()
        .find_map(|name| names.iter().position(|found| plain(found) == *name))
        .filter(|kind| ![id, amount].contains(kind));
    let mut invoice = Invoice {
        columns: (names[id].clone(), names[amount].clone()),
        ..Invoice::default()
    };
    let records = reader.records().collect::<Result<Vec<_>, _>>();
    let records = records.map_err(|error| unreadable(&error))?;
    let style = Style::of(records.iter().filter_map(|record| record.get(amount)));
    for record in records {
        let line = record.position().map(|at| line_at(text, at.byte()));
        let (key, sum) = (
            record.get(id).unwrap_or(""),
            record.get(amount).unwrap_or(""),
        );
        let usd = amount::parse(sum, style);
        let blank = key.is_empty() && sum.is_empty();
        let swallowed = record.iter().any(|cell| cell.contains('\n'));
        if unclosed && (swallowed || (usd.is_none() && !blank)) {
            return Err(Fault {
                line,
                what: "a quote is opened here and never closed".into(),
                hint: "close it, or save the table again as CSV",
            });
        }
        if blank {
            continue;
        }
        let usd = usd.ok_or_else(|| Fault {
            line,
            what: format!("{sum:?} in column {:?} is no amount", names[amount]),
            hint: "amounts look like 0.30, $1,234.50 or 0,30, credits like -0.30, 0.30- or (0.30); \
                   one column writes all of them the same way",
        })?;
        let word = kind.and_then(|kind| record.get(kind)).unwrap_or("");
        let usd = match credit(word) {
            Some(true) => usd.min(-usd),
            None if usd > Usd::ZERO => {
                return Err(Fault {
                    line,
                    what: format!("{word:?} may be a charge or a credit"),
                    hint: "write credits with a minus, or take the column of kinds out",
                });
            }
            _ => usd,
        };
        if key.is_empty() {
            // A line of totals, most often; it belongs to no request.
            continue;
        }
        let entry = invoice.amounts.entry(key.to_owned()).or_default();
        entry.0 += usd;
        entry.1 += 1;
    }
    Ok(invoice)
}

/// Returns the line of the record that begins at or after a byte: the reader may
/// stand before the second half of a line end.
fn line_at(text: &str, byte: u64) -> u64 {
    let byte = usize::try_from(byte).unwrap_or(usize::MAX).min(text.len());
    let rest = &text.as_bytes()[byte..];
    let ends = rest.iter().take_while(|b| matches!(b, b'\r' | b'\n'));
    let before = &text.as_bytes()[..byte + ends.count()];
    1 + memchr::memchr_iter(b'\n', before).count() as u64
}

fn unreadable(error: &::csv::Error) -> Fault {
    Fault {
        line: error.position().map(::csv::Position::line),
        what: format!("cannot be read as CSV: {error}"),
        hint: "save it as CSV in UTF-8",
    }
}

/// Tells whether a line of this kind brings money back; nothing if it may or may not.
fn credit(word: &str) -> Option<bool> {
    let word = plain(word);
    let about = ["credit", "refund", "reversal", "chargeback", "rebate"];
    if CREDITS.contains(&word.as_str()) {
        return Some(true);
    }
    (!about.iter().any(|about| word.contains(about))).then_some(false)
}

/// Returns a name in small letters with `_` between its words.
fn plain(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric() && c != '$');
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("_")
}

/// Finds a column by its name, in capitals or not.
fn find(names: &[String], wanted: &str) -> Result<usize, Fault> {
    let found = names.iter().position(|name| plain(name) == plain(wanted));
    found.ok_or_else(|| Fault {
        line: Some(1),
        what: format!("has no column {wanted:?}; it has {}", names.join(", ")),
        hint: NAME_COLUMNS,
    })
}

impl Invoice {
    fn beside(self, ours: &BTreeMap<String, Purchase>) -> Comparison {
        let billed = |id: &String, usd| Billed {
            request_id: id.clone(),
            usd,
        };
        let (id_column, amount_column) = self.columns;
        let mut found = Comparison {
            id_column,
            amount_column,
            ..Comparison::default()
        };
        for (id, (theirs, lines)) in &self.amounts {
            if *lines > 1 {
                found.repeated.push(id.clone());
            }
            match ours.get(id) {
                Some(own) if own.usd == Some(*theirs) => found.equal.push(billed(id, own.usd)),
                Some(own) => found.different.push(BilledOtherwise {
                    request_id: id.clone(),
                    ours_usd: own.usd,
                    invoice_usd: *theirs,
                }),
                None => found.only_theirs.push(billed(id, Some(*theirs))),
            }
        }
        let missing = ours.iter().filter(|(id, own)| {
            // What cost nothing need not be on any invoice.
            !self.amounts.contains_key(*id) && own.usd != Some(Usd::ZERO)
        });
        found.only_ours = missing.map(|(id, own)| billed(id, own.usd)).collect();
        found.agrees = found.different.is_empty()
            && found.only_theirs.is_empty()
            && found.only_ours.is_empty();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::{JobId, RunId};

    fn ours(ids: &[(&str, Option<f64>)]) -> BTreeMap<String, Purchase> {
        let purchase = |usd: Option<f64>| Purchase {
            run_id: RunId::parse("r").expect("valid"),
            job_id: JobId::parse("j").expect("valid"),
            usd: usd.map(Usd::of),
        };
        ids.iter()
            .map(|(id, m)| ((*id).to_owned(), purchase(*m)))
            .collect()
    }

    #[test]
    fn every_id_is_in_one_of_four_lists() {
        let table = b"\xEF\xBB\xBFDate;Request ID;Amount\r\n\
            d;a;0,30\r\nd;\"b\";$0.40\r\nd;c;1\r\nd;c;1\r\n;;\r\ntotal;;2,70\r\n";
        let invoice = read(table, None, None).expect("readable");
        let found = invoice.beside(&ours(&[
            ("a", Some(0.3)),
            ("b", Some(0.3)),
            ("d", None),
            ("e", Some(0.0)),
        ]));
        let billed = |id: &str, usd: Option<f64>| Billed {
            request_id: id.to_owned(),
            usd: usd.map(Usd::of),
        };
        assert_eq!(found.equal, [billed("a", Some(0.3))]);
        let other = &found.different[0];
        assert_eq!((other.request_id.as_str(), found.different.len()), ("b", 1));
        assert_eq!(other.ours_usd, Some(Usd::of(0.3)));
        assert_eq!(other.invoice_usd, Usd::of(0.4));
        assert_eq!(found.only_theirs, [billed("c", Some(2.0))]);
        assert_eq!(found.only_ours, [billed("d", None)]);
        assert_eq!(found.repeated, ["c"]);
        assert!(!found.agrees);
    }

    #[test]
    fn a_credit_is_subtracted_from_what_was_charged() {
        let sum = |table: &str| {
            let invoice = read(table.as_bytes(), Some("id"), None).expect("readable");
            invoice.amounts["a"].0
        };
        assert_eq!(sum("id,amount\na,0.30\na,0.10-\n"), Usd::of(0.2));
        assert_eq!(
            sum("id,type,amount\na,charge,0.30\na,Refund,0.10\n"),
            Usd::of(0.2)
        );
        assert_eq!(
            sum("id,type,amount\na,usage,0.30\na,credit,(0.10)\n"),
            Usd::of(0.2)
        );
        let unclear = read(b"id,type,amount\na,credit usage,0.30\n", Some("id"), None);
        let fault = unclear.expect_err("credits that are used, or given back");
        assert_eq!(fault.line, Some(2));
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        let read_id = |table: &[u8]| read(table, Some("id"), None).expect_err("not readable");
        let fault = |table: &[u8]| read(table, None, None).expect_err("not readable");
        assert_eq!(fault(b"request_id,amount\na,0.3\nb,lots\n").line, Some(3));
        assert_eq!(fault(b"request_id,amount\r\n\r\nb,lots\r\n").line, Some(3));
        assert_eq!(fault(b"who,what\na,b\n").line, Some(1));
        assert_eq!(read_id(b"id,amount\na,\xFF\n").line, Some(2));
        for empty in [&b""[..], b"\n", b"\xEF\xBB\xBF"] {
            assert_eq!(fault(empty).what, "is empty");
        }
        for open in [
            &b"id,amount\na,\"0.3\nb,0.4\n"[..],
            b"id,amount\n\"a,0.3\nb,0.4\n",
        ] {
            let fault = read_id(open);
            assert_eq!(fault.line, Some(2));
            assert!(fault.what.contains("never closed"), "{}", fault.what);
        }
        let named = read(b"Request-ID,Total\na,0.3\n", None, Some("total"));
        named.expect("a person names what is called otherwise");
        let given = read(b"id,amount\n", Some("order"), None).expect_err("no such column");
        assert_eq!(given.hint, NAME_COLUMNS);
    }
}
