//! `scorers.yaml`: programs that measure models. Only a workspace has one.

use serde_json::Value;

use crate::config::adapters::{checked_entries, read_entry};
use crate::config::error::ConfigError;
use crate::config::schema;
use crate::config::yaml::Document;
use crate::domain::algo::AlgoSettings;
use crate::domain::kind;

/// The key everything else stands under.
const ROOT: &str = "scorers";

/// What the columns of a scorer begin with; its name unless said.
const PREFIX: &str = "prefix";

/// What an entry can have beside the options of a program.
const KEYS: [&str; 4] = ["kind", "defaults", "timeout_s", PREFIX];

/// What columns of others begin with: of the registry itself and of the F-score.
const TAKEN: &[&str] = &[
    "product",
    "variant",
    "manufacturer",
    "category",
    "description",
    "source",
    "gt",
    "run",
    "job",
    "algo",
    "used",
    "image",
    "status",
    "created",
    "notes",
    "generation",
    "unit",
    "price",
    "gen",
    "preview",
    "error",
    "worker",
    "estimated",
    "fscore",
    "precision",
    "recall",
    "chamfer",
];

/// Reads every scorer, in file order.
pub(super) fn load(document: &Document) -> Result<Vec<AlgoSettings>, ConfigError> {
    let options = kind::find("process").map_or(&[][..], |kind| kind.options);
    let mut scorers = Vec::new();
    for (key, entry) in checked_entries(document, ROOT)? {
        for (name, value) in entry.as_object().into_iter().flatten() {
            let path = [ROOT, key, name.as_str()];
            let wrong = |wanted: &str| {
                document.fault(&path, format!("`{}` must be {wanted}", path.join(".")))
            };
            let mut known = options.iter().chain(kind::SHARED_OPTIONS);
            let option = known.find(|option| option.name == name);
            match name.as_str() {
                "kind" if value != "process" => return Err(wrong("process, or left out")),
                PREFIX if !is_free(value) => {
                    return Err(wrong("letters and digits that no other column begins with"));
                }
                name if KEYS.contains(&name) && name != "timeout_s" => {}
                _ => match option {
                    Some(option) if option.value.accepts(value) => {}
                    Some(option) => return Err(wrong(option.value.wanted())),
                    None => {
                        let names = options.iter().map(|option| option.name);
                        return Err(schema::unknown_key(document, &path, names.chain(KEYS)));
                    }
                },
            }
        }
        let path = [ROOT, key];
        if entry.get("command").is_none() {
            return Err(document.fault(&path, format!("scorer {key} has no `command`")));
        }
        if entry.get(PREFIX).is_none() && !is_free(&Value::from(key)) {
            let said = format!("columns of {key} would look like others; give it a `{PREFIX}`");
            return Err(document.fault(&path, said));
        }
        scorers.extend(read_entry((&key.to_owned(), entry)));
    }
    Ok(scorers)
}

/// Tells whether columns may begin so.
fn is_free(prefix: &Value) -> bool {
    let Some(prefix) = prefix.as_str() else {
        return false;
    };
    let plain = prefix
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_');
    let clashes = |taken: &&str| taken.starts_with(prefix) || prefix.starts_with(*taken);
    plain
        && prefix.len() > 1
        && prefix.starts_with(|c: char| c.is_ascii_lowercase())
        && !TAKEN.iter().any(clashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<AlgoSettings>, String> {
        let document = Document::shipped("scorers.yaml", text).expect("YAML");
        load(&document).map_err(|error| error.to_string())
    }

    #[test]
    fn a_scorer_is_a_program_with_columns_of_its_own() {
        let good = "scorers:\n  vfscore:\n    command: [python3, vf.py]\n    prefix: vf\n    timeout_s: 60\n";
        assert_eq!(read(good).map(|list| list.len()), Ok(1));
        for (line, said) in [
            ("prefix: gen", "4: `scorers.mine.prefix` must be letters"),
            ("prefix: p", "4: `scorers.mine.prefix` must be letters"),
            ("kind: fal", "4: `scorers.mine.kind` must be process"),
            (
                "timeout_s: soon",
                "4: `scorers.mine.timeout_s` must be a number",
            ),
            ("unit_price_usd: 1", "4: unknown key"),
        ] {
            let text = format!("scorers:\n  mine:\n    command: [x]\n    {line}\n");
            let reason = read(&text).expect_err("refused");
            assert!(reason.contains(said), "{line}: {reason}");
        }
        let reason = read("scorers:\n  gen_x: {command: [x]}\n").expect_err("refused");
        assert!(reason.contains("give it a `prefix`"), "{reason}");
        let reason = read("scorers:\n  mine: {version: a}\n").expect_err("refused");
        assert!(reason.contains("has no `command`"), "{reason}");
    }
}
