//! Case files: a recorded run as one JSON document with one step per line, so that cases can be compared and
//! shortened in a text editor.
//!
//! A file that is not a valid case is refused with one sentence that names the error. The content of a valid one
//! cannot take a replay out of bounds ([`Case::check`]).

use crate::recording;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};
use thiserror::Error;
use vivarium_model::case::Case;
use vivarium_model::release::Bug;

/// The value of the field `format` in every case file.
pub(crate) const FORMAT: &str = "vivarium-case";

/// Why a case file could not be loaded or saved.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum CaseFileError {
    /// The file could not be read.
    #[error("the case file `{}` cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The file could not be written.
    #[error("the case file `{}` cannot be written: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    /// The content is not JSON.
    #[error("`{}` is not a case file: it is not JSON ({reason})", path.display())]
    NotJson {
        path: PathBuf,
        /// The error of the JSON parser.
        reason: String,
    },
    /// The document ends too early.
    #[error("the case file `{}` is truncated: it ends in the middle, at line {line}", path.display())]
    Truncated {
        path: PathBuf,
        /// The number of its last line.
        line: usize,
    },
    /// The file is empty.
    #[error("the case file `{}` is empty", path.display())]
    Empty { path: PathBuf },
    /// The file is JSON, but not a case.
    #[error(
        "`{}` is JSON, but not a case file: it should say \"format\": \"{FORMAT}\", but {found}",
        path.display()
    )]
    Foreign {
        path: PathBuf,
        /// The content found instead.
        found: String,
    },
    /// The file has a format version that this build does not know.
    #[error(
        "the case file `{}` has version {version}, but this build of Vivarium reads up to version {}: \
         replay it with the build that wrote it, or replay its seed",
        path.display(),
        Case::VERSION
    )]
    OtherVersion { path: PathBuf, version: u64 },
    /// The file numbers the servers' defects, and does not list their names.
    #[error(
        "the case file `{}` has version {version}, which numbered the servers' defects, and does not name \
         those that were switched on: replay it with the build that wrote it, or replay its seed",
        path.display()
    )]
    NumberedBugs { path: PathBuf, version: u64 },
    /// The file names a defect of the servers that this build does not know.
    #[error(
        "the case file `{}` names the bug `{name}`, which this build of Vivarium does not know",
        path.display()
    )]
    UnknownBug {
        path: PathBuf,
        /// The unknown name.
        name: String,
    },
    /// The version is right, but the content is inconsistent.
    #[error("the case file `{}` is damaged: {reason}", path.display())]
    Damaged {
        path: PathBuf,
        /// The inconsistency.
        reason: String,
    },
}

/// Writes a case, and creates its directory. A concurrent reader sees the old file or the new one, never a part.
///
/// # Errors
/// If the file or its directory cannot be written.
pub fn save(path: &Path, case: &Case) -> Result<(), CaseFileError> {
    let write = || -> io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let unfinished = path.with_extension(format!("{}.unfinished", std::process::id()));
        fs::write(&unfinished, to_text(case))?;
        let renamed = fs::rename(&unfinished, path);
        renamed.inspect_err(|_error| drop(fs::remove_file(&unfinished)))
    };
    write().map_err(|source| CaseFileError::Unwritable { path: path.to_path_buf(), source })
}

/// Reads a case and checks that it can be replayed.
///
/// # Errors
/// If the file cannot be read, is not a case of a version known to this build, names a bug that this build does not
/// know, or is inconsistent.
pub fn load(path: &Path) -> Result<Case, CaseFileError> {
    let unreadable = |source| CaseFileError::Unreadable { path: path.to_path_buf(), source };
    let bytes = fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| CaseFileError::NotJson {
        path: path.to_path_buf(),
        reason: "it is not even text".to_string(),
    })?;
    from_text(path, &text)
}

/// Returns the text of a case file.
pub fn to_text(case: &Case) -> String {
    fn json<T: Serialize>(value: &T) -> String {
        serde_json::to_string(value).expect("a case has only text keys and finite numbers")
    }
    // No field of a case can be forgotten here.
    let Case {
        version,
        scenario,
        grain,
        parameters,
        seed,
        bugs,
        config,
        outside,
        steps,
        hash,
        violation,
    } = case;
    let fields = [
        ("format", json(&FORMAT)),
        ("version", json(version)),
        ("scenario", json(scenario)),
        ("grain", json(grain)),
        ("parameters", json(parameters)),
        ("seed", json(seed)),
        ("bugs", json(bugs)),
        ("config", json(config)),
        ("hash", json(hash)),
        ("violation", json(violation)),
    ];
    let mut text = String::from("{\n");
    for (name, value) in fields {
        writeln!(text, "  \"{name}\": {value},").expect("strings take all that is written");
    }
    let mut list = |name: &str, values: Vec<String>, end: &str| {
        let lines = if values.is_empty() {
            String::new()
        } else {
            format!("\n    {}", values.join(",\n    "))
        };
        writeln!(text, "  \"{name}\": [{lines}\n  ]{end}")
            .expect("strings take all that is written");
    };
    if !outside.is_empty() {
        list("outside", outside.iter().map(json).collect(), ",");
    }
    list("steps", steps.iter().map(json).collect(), "");
    text.push_str("}\n");
    text
}

/// Returns the first line of a case file that is written [line by line](recording): the case without its steps.
pub fn first_line(case: &Case) -> String {
    let named = serde_json::to_value(case).map(|mut value| {
        value["format"] = Value::from(FORMAT);
        value
    });
    recording::whole(named)
}

/// Parses the text of a case file; `path` is only for messages.
///
/// # Errors
/// As [`load`], except for reading the file.
pub fn from_text(path: &Path, text: &str) -> Result<Case, CaseFileError> {
    let path = path.to_path_buf();
    if text.trim().is_empty() {
        return Err(CaseFileError::Empty { path });
    }
    if let Some((first, document, lines)) = recording::lines(text) {
        let damaged = |reason| CaseFileError::Damaged { path: path.clone(), reason };
        let mut case = checked(&path, first, document)?;
        lines.map_err(damaged)?.into_iter().for_each(|line| line.add_to(&mut case));
        case.check().map_err(damaged)?;
        return Ok(case);
    }
    let document: Value = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(error) if error.is_eof() => {
            return Err(CaseFileError::Truncated { path, line: error.line() });
        }
        Err(error) => return Err(CaseFileError::NotJson { path, reason: error.to_string() }),
    };
    checked(&path, text, document)
}

/// Reads a case from its text and the same as a document.
fn checked(path: &Path, text: &str, mut document: Value) -> Result<Case, CaseFileError> {
    let version = check_envelope(path, &document)?;
    let read = match version < NAMED_BUGS {
        true => {
            name_bugs(path, version, &mut document)?;
            serde_json::from_value(document)
        }
        // Parsed from the text, so that errors have a position.
        false => {
            check_bugs(path, &document)?;
            serde_json::from_str(text)
        }
    };
    let damaged = |reason: String| CaseFileError::Damaged { path: path.to_path_buf(), reason };
    let case: Case = read.map_err(|error| damaged(error.to_string()))?;
    case.check().map_err(damaged)?;
    Ok(Case { version: Case::VERSION, ..case })
}

/// The first version whose configuration names the servers' defects.
const NAMED_BUGS: u64 = 3;

/// Replaces the numbers of the servers' defects in an older case by their names. A newer build cannot interpret the
/// numbers, but the case also lists the names of everything that was enabled. If as many of these are defects of
/// servers, they are the ones.
fn name_bugs(path: &Path, version: u64, document: &mut Value) -> Result<(), CaseFileError> {
    let listed = document["bugs"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let bugs: Vec<Bug> = listed.filter_map(|name| name.parse().ok()).collect();
    let Some(numbered) = document.pointer_mut("/config/bugs") else { return Ok(()) };
    let Some(bits) = numbered.as_u64() else { return Ok(()) };
    if bits.count_ones() as usize != bugs.len() {
        return Err(CaseFileError::NumberedBugs { path: path.to_path_buf(), version });
    }
    *numbered = bugs.iter().map(|bug| bug.name()).collect();
    Ok(())
}

/// Checks that this build knows the servers' defects. The scenario checks what else was enabled.
fn check_bugs(path: &Path, document: &Value) -> Result<(), CaseFileError> {
    let bugs = document.pointer("/config/bugs").and_then(Value::as_array);
    let mut names = bugs.into_iter().flatten().filter_map(Value::as_str);
    match names.find(|name| name.parse::<Bug>().is_err()) {
        None => Ok(()),
        Some(name) => {
            Err(CaseFileError::UnknownBug { path: path.to_path_buf(), name: name.to_string() })
        }
    }
}

/// Returns the version. The format and the version must be right before the rest can be interpreted.
fn check_envelope(path: &Path, document: &Value) -> Result<u64, CaseFileError> {
    let path = path.to_path_buf();
    let foreign =
        |found: &str| Err(CaseFileError::Foreign { path: path.clone(), found: found.to_string() });
    let Some(fields) = document.as_object() else {
        return foreign("it is not a JSON object");
    };
    match fields.get("format") {
        Some(Value::String(format)) if format == FORMAT => {}
        Some(format) => return foreign(&format!("it says {format}")),
        None => return foreign("it does not"),
    }
    match fields.get("version").and_then(Value::as_u64) {
        Some(version) if (1..=u64::from(Case::VERSION)).contains(&version) => Ok(version),
        Some(version) => Err(CaseFileError::OtherVersion { path, version }),
        None => {
            Err(CaseFileError::Damaged { path, reason: "its version is not a number".to_string() })
        }
    }
}
