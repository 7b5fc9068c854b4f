//! Reads JSON reports back, to merge them.
//!
//! A file that is not a report is refused with one sentence. A report is read by its fields; texts for people are kept
//! as they are and never parsed.

use crate::json::{FORMAT, Kind, Measurement, VERSION};
use crate::summary::{AsRead, Count, Finding, Merged, ScenarioReport, Shard};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs, io};
use thiserror::Error;
use vivarium_model::config::Config;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::{Measure, Measured, Objection};
use vivarium_model::subject::Subject;
use vivarium_model::time::Time;
use vivarium_model::verdict::{Verdict, Violation};

/// Why a report could not be read. Its text is one sentence.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum ReadError {
    /// The file could not be read.
    #[error("the report `{}` cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The file is empty.
    #[error("the report `{}` is empty: the run that should have written it did not end", path.display())]
    Empty { path: PathBuf },
    /// The document ends too early.
    #[error("the report `{}` is truncated: it ends in the middle, at line {line}", path.display())]
    Truncated {
        path: PathBuf,
        /// The number of its last line.
        line: usize,
    },
    /// The content is not JSON.
    #[error("`{}` is not a report: it is not JSON ({reason})", path.display())]
    NotJson {
        path: PathBuf,
        /// The error of the JSON parser.
        reason: String,
    },
    /// The file is JSON, but not a report of sweeps.
    #[error(
        "`{}` is JSON, but not a report of `vivarium run --json`: it should say \"format\": \"{FORMAT}\", but {found}",
        path.display()
    )]
    Foreign {
        path: PathBuf,
        /// The content found instead.
        found: String,
    },
    /// The file has a version that this build does not know.
    #[error(
        "the report `{}` has version {version}, but this build of Vivarium reads version {VERSION}: \
         merge it with the build that wrote it",
        path.display()
    )]
    OtherVersion { path: PathBuf, version: u64 },
    /// The version is right, but a field is missing or inconsistent.
    #[error("the report `{}` is damaged, or of an older build: {reason}", path.display())]
    Damaged {
        path: PathBuf,
        /// The field and what is wrong with it.
        reason: String,
    },
}

/// A report that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadReport {
    /// The file's name, for messages.
    pub file: String,
    /// The version of the build that wrote it.
    pub build: String,
    /// The scenarios, in the order in which they ran.
    pub scenarios: Vec<ScenarioReport>,
}

/// Reads a report from a file.
///
/// # Errors
/// If the file cannot be read, or is not a report of the version of this build.
pub fn load(path: &Path) -> Result<ReadReport, ReadError> {
    let unreadable = |source| ReadError::Unreadable { path: path.to_path_buf(), source };
    let bytes = fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| ReadError::NotJson {
        path: path.to_path_buf(),
        reason: "it is not even text".to_string(),
    })?;
    from_text(path, &text)
}

/// Reads the text of a report; `path` is only for messages.
///
/// # Errors
/// As [`load`], except for reading the file.
pub fn from_text(path: &Path, text: &str) -> Result<ReadReport, ReadError> {
    let path_buf = || path.to_path_buf();
    if text.trim().is_empty() {
        return Err(ReadError::Empty { path: path_buf() });
    }
    let value: Value = serde_json::from_str(text).map_err(|error| match error.is_eof() {
        true => ReadError::Truncated { path: path_buf(), line: error.line() },
        false => ReadError::NotJson { path: path_buf(), reason: error.to_string() },
    })?;
    check_envelope(path, &value)?;
    let damaged = |reason: String| ReadError::Damaged { path: path_buf(), reason };
    let document: Document =
        serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    let scenarios: Result<Vec<ScenarioReport>, String> =
        document.scenarios.into_iter().map(Scenario::report).collect();
    Ok(ReadReport {
        file: path.display().to_string(),
        build: document.vivarium,
        scenarios: scenarios.map_err(damaged)?,
    })
}

/// Checks the format and the version, which must be right before the rest can be interpreted.
fn check_envelope(path: &Path, document: &Value) -> Result<(), ReadError> {
    let foreign =
        |found: &str| ReadError::Foreign { path: path.to_path_buf(), found: found.to_string() };
    let fields = document.as_object().ok_or_else(|| foreign("it is not a JSON object"))?;
    match fields.get("format") {
        Some(Value::String(format)) if format == FORMAT => {}
        Some(format) => return Err(foreign(&format!("it says {format}"))),
        None => return Err(foreign("it does not")),
    }
    match fields.get("version").and_then(Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => Ok(()),
        Some(version) => Err(ReadError::OtherVersion { path: path.to_path_buf(), version }),
        None => Err(ReadError::Damaged {
            path: path.to_path_buf(),
            reason: "its version is not a number".to_string(),
        }),
    }
}

#[derive(Deserialize)]
struct Document {
    vivarium: String,
    scenarios: Vec<Scenario>,
}

/// The fields of a scenario that a merge needs; [`crate::json`] documents them.
#[derive(Deserialize)]
struct Scenario {
    scenario: String,
    bugs: Vec<String>,
    host: String,
    first_seed: u64,
    seeds: u64,
    asked_seeds: u64,
    shard: Option<Shard>,
    merged: Option<Merged>,
    steps: u64,
    simulated_microseconds: u64,
    wall_seconds: f64,
    hash: Fingerprint,
    #[serde(deserialize_with = "counts")]
    faults: Vec<Count>,
    #[serde(deserialize_with = "counts")]
    marks: Vec<Count>,
    requests: u64,
    #[serde(deserialize_with = "counts")]
    observed: Vec<Count>,
    looks_for: Vec<String>,
    measures: Vec<Measurement>,
    verdict: String,
    error: Option<String>,
    demands_marks: bool,
    violations: u64,
    kept_going: bool,
    violation: Option<Box<RawValue>>,
}

/// The fields of a violation that are more than text.
#[derive(Deserialize)]
struct Violated {
    property: String,
    saw: String,
    about: BTreeSet<Subject>,
    seed: Option<u64>,
    at_microseconds: u64,
    step: u64,
    hash: Fingerprint,
    case_file: Option<String>,
    case_file_error: Option<String>,
    replay: String,
    every_step: String,
    options: String,
    config: Config,
    panicked_at: Option<String>,
    story: Vec<String>,
    report: Vec<String>,
}

impl Scenario {
    /// Converts the fields, and judges the sweep again.
    fn report(self) -> Result<ScenarioReport, String> {
        self.check()?;
        let finding = match &self.violation {
            Some(document) => Some(finding(document)?),
            None => None,
        };
        let wall = Duration::try_from_secs_f64(self.wall_seconds)
            .map_err(|error| format!("`wall_seconds`: {error}"))?;
        let verdict = match (self.verdict.as_str(), &finding, self.error) {
            ("violated", Some(finding), _) => {
                Verdict::Violated(Box::new(finding.violation.clone()))
            }
            ("error", None, Some(sentence)) => Verdict::Error(sentence),
            ("held" | "unreached", None, None) => {
                Verdict::Held { seeds: self.seeds, unreached: Vec::new() }
            }
            (word, _, _) => {
                return Err(format!(
                    "`{}`: the verdict `{word}` does not fit the other fields",
                    self.scenario
                ));
            }
        };
        let mut report = ScenarioReport {
            scenario: self.scenario,
            bugs: self.bugs,
            host: self.host,
            seeds: self.seeds,
            first_seed: self.first_seed,
            asked: self.asked_seeds,
            steps: self.steps,
            simulated: Duration::from_micros(self.simulated_microseconds),
            wall,
            hash: self.hash,
            faults: self.faults,
            marks: self.marks,
            requests: self.requests,
            observed: self.observed,
            looks_for: self.looks_for,
            measured: self.measures.into_iter().map(measure).collect(),
            violations: self.violations,
            kept_going: self.kept_going,
            demands_marks: self.demands_marks,
            shard: self.shard,
            merged: self.merged,
            verdict,
            finding,
        };
        report.judge();
        let title = report.title_with_rate();
        report.finding.iter_mut().for_each(|finding| finding.scenario.clone_from(&title));
        Ok(report)
    }

    /// Checks that seeds and shards are possible numbers, so that no sum of them overflows.
    fn check(&self) -> Result<(), String> {
        let fits = |first: u64, seeds: u64| first.checked_add(seeds).is_some();
        let shard = self.shard.is_none_or(|shard| {
            (1..=shard.count).contains(&shard.index)
                && fits(shard.first_seed, shard.seeds)
                && self.first_seed >= shard.first_seed
                && self.asked_seeds <= shard.seeds
        });
        match shard && fits(self.first_seed, self.asked_seeds) && self.seeds <= self.asked_seeds {
            true => Ok(()),
            false => Err(format!("`{}`: its seeds or its shard are impossible", self.scenario)),
        }
    }
}

/// Makes the violation; the texts that only people read are kept as they are.
fn finding(document: &RawValue) -> Result<Finding, String> {
    let violated: Violated =
        serde_json::from_str(document.get()).map_err(|error| format!("in `violation`: {error}"))?;
    let Violated { property, saw, about, seed, at_microseconds, step, hash, .. } = violated;
    let report: String = violated.report.iter().map(|line| format!("{line}\n")).collect();
    let case_file = match (violated.case_file, violated.case_file_error) {
        (Some(path), _) => Some(Ok(path)),
        (None, Some(sentence)) => Some(Err(sentence)),
        (None, None) => None,
    };
    Ok(Finding {
        scenario: String::new(),
        violation: Violation {
            objection: Objection { property, saw, failure: None, about },
            seed,
            at: Time(at_microseconds),
            step,
            hash,
        },
        options: violated.options,
        config: violated.config,
        case_file,
        replay: violated.replay,
        every_step: violated.every_step,
        story: Vec::new(),
        trace: Vec::new(),
        way: None,
        unrepeated: None,
        stopped: None,
        shorter: None,
        distinct: None,
        regression: None,
        panicked_at: violated.panicked_at,
        as_read: Some(AsRead {
            document: document.get().to_string(),
            report,
            story: violated.story,
        }),
    })
}

fn measure(Measurement { name, kind, value }: Measurement) -> Measure {
    let value = match kind {
        Kind::Count => Measured::Count(value),
        Kind::Most => Measured::Most(value),
        Kind::Total => Measured::Total(Duration::from_nanos(value)),
        Kind::Longest => Measured::Longest(Duration::from_nanos(value)),
    };
    Measure { name: name.into(), value }
}

/// Reads an object of numbers as counts, in their order.
fn counts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Count>, D::Error> {
    struct Counts;
    impl<'de> Visitor<'de> for Counts {
        type Value = Vec<Count>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of numbers")
        }
        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Vec<Count>, M::Error> {
            let mut counts = Vec::new();
            while let Some((name, count)) = map.next_entry::<String, u64>()? {
                counts.push(Count { name, count });
            }
            Ok(counts)
        }
    }
    deserializer.deserialize_map(Counts)
}
