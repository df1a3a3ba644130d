//! `export`: copies of models under names that tell what they are.
//!
//! All names are made and checked before the first file is copied: none may mean two
//! models, none may stand for something else already, and every one can be used on a
//! Windows share. A copy that is there already is left alone, so an export that was cut
//! off goes on where it stopped.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

use crate::ops::results::{Choice, Made, results};
use crate::ops::{OpsContext, OpsError};
use crate::platform;
use crate::store::JobRecord;
use crate::store::error::IoContext;
use crate::workspace::artifact::{self, ArtifactError};
use crate::workspace::durable;

/// How models are called unless somebody says otherwise.
pub const USUAL_NAME: &str = "{product_id}_{variant}_{algo}.glb";

/// What a name can be made of: columns of the registry.
const FIELDS: &[&str] = &[
    "product_id",
    "variant",
    "algo",
    "run_id",
    "job_id",
    "product_name",
    "manufacturer",
    "category_l1",
    "category_l2",
    "category_l3",
];

/// Longer names are refused by most file systems.
const LONGEST: usize = 255;

/// More clashes than this help nobody.
const SHOWN: usize = 5;

/// What to copy.
#[derive(Debug, Clone)]
pub struct ExportRequest {
    /// Which models.
    pub choice: Choice,
    /// The pattern of their names.
    pub name: String,
    /// The folder they go to.
    pub folder: PathBuf,
}

/// One copy.
#[derive(Debug, Clone, Serialize)]
pub struct Exported {
    /// The job that made the model.
    pub job_id: String,
    /// What the copy is called.
    pub name: String,
    /// Whether the same copy was there already.
    pub was_there: bool,
}

/// A model that was not copied.
#[derive(Debug, Clone, Serialize)]
pub struct Skipped {
    /// The job that made it.
    pub job_id: String,
    /// What it would have been of.
    pub product_id: String,
    /// Who made it.
    pub algo: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Skipped {
    fn new(job: &JobRecord, reason: String) -> Self {
        Self {
            job_id: job.job_id.to_string(),
            product_id: job.product_id.clone(),
            algo: job.algo.as_ref().map_or("", |algo| algo.as_str()).into(),
            reason,
        }
    }
}

/// What an export came to.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ExportReport {
    /// The run.
    pub run_id: String,
    /// Where the copies are.
    pub folder: PathBuf,
    /// The copies.
    pub files: Vec<Exported>,
    /// How many were made now.
    pub copied: usize,
    /// How many were there already.
    pub were_there: usize,
    /// Jobs that were only rehearsed; there is nothing to copy.
    pub rehearsed: usize,
    /// Jobs without a model.
    pub without_model: usize,
    /// Models that are not whole or not there, and why; none of them is copied.
    pub skipped: Vec<Skipped>,
    /// Jobs that the filters mean.
    pub matched: usize,
    /// Jobs that the filters would mean in another state, by that state.
    #[serde(skip)]
    pub otherwise: BTreeMap<&'static str, usize>,
    /// What is worth telling, one sentence each.
    pub warnings: Vec<String>,
}

/// Copies models; `each` is called after every one.
pub fn export(
    context: &OpsContext,
    request: &ExportRequest,
    each: &mut dyn FnMut(usize, usize),
) -> Result<ExportReport, OpsError> {
    let pattern = Pattern::parse(&request.name)?;
    let folder = &request.folder;
    refuse_runs(context, folder)?;
    let found = results(context, &request.choice, FIELDS)?;
    let gone = |job| Skipped::new(job, "its file is missing".to_owned());
    let mut skipped: Vec<Skipped> = found.missing.iter().map(gone).collect();
    let mut files: Vec<(Made, String)> = Vec::new();
    for made in found.made {
        if let Some(fault) = fault(&made.model) {
            skipped.push(Skipped::new(&made.job, fault));
            continue;
        }
        let name = pattern.fill(&made, request)?;
        files.push((made, name));
    }
    refuse_clashes(&files)?;
    let there = refuse_others(folder, &files)?;
    let mut report = ExportReport {
        run_id: request.choice.run_id.to_string(),
        folder: folder.clone(),
        rehearsed: found.rehearsed,
        without_model: found.without_model - found.missing.len(),
        skipped,
        matched: found.matched,
        otherwise: found.otherwise,
        warnings: found.warnings,
        ..ExportReport::default()
    };
    if !files.is_empty() {
        fs::create_dir_all(folder).context("create", folder)?;
    }
    let total = files.len();
    for ((made, name), was_there) in files.into_iter().zip(there) {
        if was_there {
            report.were_there += 1;
        } else {
            let target = folder.join(&name);
            copy(&made.model, &target).context("copy", &target)?;
            report.copied += 1;
        }
        report.files.push(Exported {
            job_id: made.job.job_id.to_string(),
            name,
            was_there,
        });
        each(report.files.len(), total);
    }
    Ok(report)
}

/// Tells why a file is not a whole model, if so.
fn fault(model: &Path) -> Option<String> {
    if let Err(error) = durable::open_plain(model) {
        return Some(format!("it cannot be read: {error}"));
    }
    match artifact::check_model(model) {
        Ok(()) => None,
        Err(ArtifactError::NoUsableModel { source, .. }) => Some(source.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

/// Refuses a folder among the runs: what lies there is the program's own.
fn refuse_runs(context: &OpsContext, folder: &Path) -> Result<(), OpsError> {
    let wanted = std::path::absolute(folder).context("find", folder)?;
    // The folder itself need not be there yet.
    let (there, beyond) = wanted
        .ancestors()
        .find_map(|above| Some((above.canonicalize().ok()?, wanted.strip_prefix(above).ok()?)))
        .unwrap_or_else(|| (wanted.clone(), Path::new("")));
    let runs = context.workspace.runs();
    let runs = runs.canonicalize().unwrap_or(runs);
    if !there.join(beyond).starts_with(&runs) {
        return Ok(());
    }
    Err(OpsError::Setup {
        message: format!(
            "{} is inside {}, which holds the runs themselves",
            folder.display(),
            runs.display()
        ),
        hint: Some("nothing was copied; choose another folder".to_owned()),
    })
}

/// A pattern of names, understood.
struct Pattern(Vec<Piece>);

enum Piece {
    Text(String),
    Field(usize),
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, OpsError> {
        let fields = FIELDS.join(", ");
        let refused = |what: String| OpsError::Setup {
            message: format!("--name {text:?}: {what}"),
            hint: Some(format!("known between braces: {fields}")),
        };
        if text.trim().is_empty() {
            return Err(refused("a name cannot be empty".to_owned()));
        }
        if let Some(letter) = text.chars().find(|c| !is_usable(*c)) {
            return Err(refused(format!("{letter:?} cannot be part of a file name")));
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (field, behind) = after
                .split_once('}')
                .ok_or_else(|| refused("a brace is not closed".to_owned()))?;
            let known = FIELDS.iter().position(|known| *known == field);
            let known = known.ok_or_else(|| refused(format!("there is no {{{field}}}")))?;
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Field(known));
            rest = behind;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        if !rest.to_ascii_lowercase().ends_with(".glb") {
            pieces.push(Piece::Text(".glb".to_owned()));
        }
        Ok(Self(pieces))
    }

    /// Returns the name of a model, one that every system takes.
    fn fill(&self, made: &Made, request: &ExportRequest) -> Result<String, OpsError> {
        let mut name = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => name.push_str(text),
                Piece::Field(field) => {
                    let job = &made.job;
                    let value = match FIELDS[*field] {
                        "product_id" => job.product_id.as_str(),
                        "variant" if job.variant.is_empty() => "default",
                        "variant" => job.variant.as_str(),
                        "algo" => job.algo.as_ref().map_or("", |algo| algo.as_str()),
                        "run_id" => request.choice.run_id.as_str(),
                        "job_id" => job.job_id.as_str(),
                        _ => made.cells[*field].as_str(),
                    };
                    name.extend(value.nfc().map(|c| if is_usable(c) { c } else { '_' }));
                }
            }
        }
        let name = harmless(&name);
        if name.len() > LONGEST {
            return Err(OpsError::Setup {
                message: format!(
                    "the name of job {} would have {} bytes, more than {LONGEST}: {name}",
                    made.job.job_id,
                    name.len()
                ),
                hint: Some("choose a shorter --name, such as '{job_id}_{algo}.glb'".to_owned()),
            });
        }
        Ok(name)
    }
}

/// Tells whether a letter can be in a name on every system.
fn is_usable(letter: char) -> bool {
    !letter.is_control() && !r#"<>:"/\|?*"#.contains(letter)
}

/// Changes what Windows would take for a device or cut off.
fn harmless(name: &str) -> String {
    const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "COM", "LPT"];
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let word = stem.trim_end_matches(|c: char| c.is_ascii_digit() || "¹²³".contains(c));
    let is_device = DEVICES.iter().any(|device| {
        let numbered = device.starts_with("COM") || device.starts_with("LPT");
        let number = stem.chars().count() - word.chars().count();
        device.eq_ignore_ascii_case(word) && number == usize::from(numbered)
    });
    let hidden = name.starts_with(['.', ' ']);
    if is_device || hidden || stem.is_empty() {
        format!("_{name}")
    } else {
        name.to_owned()
    }
}

/// Refuses names that mean two models where capitals do not count.
fn refuse_clashes(files: &[(Made, String)]) -> Result<(), OpsError> {
    let mut first: HashMap<String, &(Made, String)> = HashMap::new();
    let mut clashes = Vec::new();
    for file in files {
        let folded: String = file.1.to_lowercase();
        if let Some(other) = first.get(&folded) {
            clashes.push(format!(
                "{} ({} and {})",
                file.1, other.0.job.job_id, file.0.job.job_id
            ));
        } else {
            first.insert(folded, file);
        }
    }
    if clashes.is_empty() {
        return Ok(());
    }
    Err(OpsError::Setup {
        message: format!(
            "{} would mean more than one model: {}",
            if clashes.len() == 1 {
                "a name"
            } else {
                "names"
            },
            first_of(&clashes)
        ),
        hint: Some("nothing was copied; add {job_id} to --name, or choose fewer models".to_owned()),
    })
}

/// Tells which copies are there already; refuses if anything else has their name.
fn refuse_others(folder: &Path, files: &[(Made, String)]) -> Result<Vec<bool>, OpsError> {
    let mut taken = Vec::new();
    let mut there = Vec::with_capacity(files.len());
    // On a share capitals do not count, whatever this system says.
    let mut names: HashMap<String, std::ffi::OsString> = HashMap::new();
    if let Ok(entries) = fs::read_dir(folder) {
        for name in entries.filter_map(|entry| Some(entry.ok()?.file_name())) {
            names.insert(
                name.to_string_lossy()
                    .nfc()
                    .collect::<String>()
                    .to_lowercase(),
                name,
            );
        }
    }
    for (made, name) in files {
        let Some(found) = names.get(&name.to_lowercase()) else {
            there.push(false);
            continue;
        };
        let path = folder.join(found);
        let same =
            found.to_str() == Some(name) && is_same(&made.model, &path).context("read", &path)?;
        if !same {
            taken.push(path.display().to_string());
        }
        there.push(same);
    }
    if taken.is_empty() {
        return Ok(there);
    }
    Err(OpsError::Setup {
        message: format!("something else is there already: {}", first_of(&taken)),
        hint: Some("nothing was copied; choose another folder or another --name".to_owned()),
    })
}

fn first_of(list: &[String]) -> String {
    let more = list.len().saturating_sub(SHOWN);
    let text = list[..list.len() - more].join(", ");
    if more > 0 {
        format!("{text} and {more} more")
    } else {
        text
    }
}

fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    use std::io::Read as _;
    let (mut one, mut other) = match durable::open_plain(other) {
        Ok(other) => (durable::open_plain(one)?, other),
        Err(_) => return Ok(false),
    };
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let mut pieces = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let length = one.read(&mut pieces.0)?;
        if length == 0 {
            return Ok(true);
        }
        other.read_exact(&mut pieces.1[..length])?;
        if pieces.0[..length] != pieces.1[..length] {
            return Ok(false);
        }
    }
}

/// Copies beside the target first, so that a name never stands for a part of a model.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let temporary = durable::temporary_path(to, &uuid::Uuid::new_v4().simple().to_string());
    let copied = write_copy(from, &temporary).and_then(|()| {
        if platform::rename_no_replace(&temporary, to)? {
            return Ok(());
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    });
    if copied.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    copied
}

fn write_copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = durable::open_plain(from)?;
    let mut target = File::create_new(to)?;
    io::copy(&mut source, &mut target)?;
    target.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_windows_share_would_change_are_changed_here() {
        for (name, safe) in [
            ("100 _x.glb", "100 _x.glb"),
            ("CON.glb", "_CON.glb"),
            ("com7.x.glb", "_com7.x.glb"),
            ("com.glb", "com.glb"),
            ("command_1.glb", "command_1.glb"),
            ("nul.glb", "_nul.glb"),
            (".hidden.glb", "_.hidden.glb"),
            (".glb", "_.glb"),
        ] {
            assert_eq!(harmless(name), safe, "{name}");
        }
    }

    #[test]
    fn a_pattern_names_known_columns_only_and_no_folder() {
        let reason = |text: &str| Pattern::parse(text).err().map(|error| error.to_string());
        assert_eq!(reason(USUAL_NAME), None);
        assert!(reason("{algo}/{job_id}").is_some_and(|text| text.contains("'/'")));
        assert!(reason("{colour}.glb").is_some_and(|text| text.contains("no {colour}")));
        assert!(reason(" ").is_some_and(|text| text.contains("empty")));
        assert!(reason("{algo").is_some_and(|text| text.contains("not closed")));
    }
}
