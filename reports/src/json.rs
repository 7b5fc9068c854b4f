//! The JSON report.
//!
//! The document:
//!
//! | field | value |
//! |---|---|
//! | `format` | always `"vivarium-report"` |
//! | `version` | the version of this schema, a number |
//! | `vivarium` | the version of the build, a text |
//! | `exit_code` | of the process: 0 held, 1 violated, 2 inconclusive, 3 error |
//! | `scenarios` | one object per scenario, in the order in which they ran |
//!
//! A scenario:
//!
//! | field | value |
//! |---|---|
//! | `scenario` | its name |
//! | `bugs` | names of the enabled bugs and mutants |
//! | `host` | the host that ran the programs: `"madsim"` or `"direct"` |
//! | `first_seed`, `seeds` | the first seed, and how many ran (up to the violation that ended the sweep) |
//! | `asked_seeds` | how many seeds the range has |
//! | `shard` | if the range is a part of a larger one: an object with `index` (from 1), `count`, and `first_seed` and `seeds` of the whole range; otherwise `null` |
//! | `merged` | if the report was merged from others: an object with the number of `reports`; `uncounted_seeds` and `uncounted_violations`, which ran after the first violation and are in no other field; `failed`, sentences about sweeps that ended with an error. Otherwise `null` |
//! | `steps` | steps over all runs |
//! | `simulated_seconds`, `wall_seconds` | virtual time over all runs, and real time (of a merged report: the sum) |
//! | `simulated_microseconds` | virtual time over all runs, exactly |
//! | `hash` | the sum of the runs' hashes, hexadecimal: sweeps with equal sums had the same runs |
//! | `faults`, `marks` | objects: how often each fault struck and each mark was reached, by name |
//! | `requests` | number of requests that programs made |
//! | `observed` | an object: how often programs made an observation, by its name |
//! | `looks_for` | names of the observations that the properties are about |
//! | `measured` | an object: what monitors measured, by name; times in seconds |
//! | `measures` | the same as an array of objects with `name`, `kind` (`"count"`, `"most"`, `"total"` or `"longest"`) and `value`: a number, for the last two a time in nanoseconds |
//! | `verdict` | `"held"`, `"unreached"` (held, but marks are missing at the scenario's own number of seeds), `"exhausted"`, `"bounded"`, `"violated"` or `"error"` |
//! | `says` | the verdict as a sentence |
//! | `error` | for `"error"`, the sentence; otherwise `null` |
//! | `unreached` | names of marks that no run of a held sweep reached, and observations that its properties are about and no program made; always empty for a shard, because other shards may have them |
//! | `demands_marks` | whether the whole range is long enough to reach all marks: a scenario's own number of seeds |
//! | `violations` | number of runs that ended with a violation; at most 1 unless `kept_going` |
//! | `kept_going` | whether the sweep continued after its first violation |
//! | `violation` | the first violation, or `null` |
//!
//! A violation:
//!
//! | field | value |
//! |---|---|
//! | `property`, `saw` | the violated property, and the monitor's sentence |
//! | `about` | what the sentence is about: an array of objects with one field, `Client`, `Server`, `Session` and `Zxid` with a number, `Text` with a path or another text |
//! | `seed` | the seed of the run, or `null` |
//! | `at_microseconds`, `step` | virtual time and number (from 1) of the step |
//! | `hash` | the run's hash at that step, hexadecimal: a replay that ends with the same hash is the same run |
//! | `case_file`, `case_file_error` | the path of the case file, or why it could not be written; each may be `null` |
//! | `replay`, `every_step` | the commands that replay the run and that show all its steps |
//! | `options` | the options of the seed, lines of text for people |
//! | `config` | the configuration of the ensemble and its clients, as in a case file |
//! | `panicked_at` | for a panic of a program or a property, `file:line:column` if known; otherwise `null` |
//! | `unrepeated` | if repeating the seed gave a different run, the difference, text for people; otherwise `null` |
//! | `minimised` | the smallest run that was found to violate the same property, or `null` |
//! | `distinct` | for a sweep that went on: the number of `violating` runs, how many were `minimised` and compared, and the `kinds` of violations, each with `property`, `saw`, `seeds`, `steps` and `replay`; otherwise `null` |
//! | `story`, `timeline` | lines of text for people: the run's milestones, and its last steps |
//! | `report` | lines of text for people: all of the above, as `vivarium run` prints it |
//!
//! A minimised run has `steps`, `faults`, `servers` (0 for a search of programs) and `clients`, the same of the run as it
//! was `found`, the `seconds` it took, what is `incomplete`, its `case_file` and `replay`, and its `script`: an array of
//! sentences, each with `number`, `words`, `fault` and `step`.
//!
//! All fields are always present. Within one version, fields are only added, and readers skip unknown ones; removing
//! a field or changing its meaning increases the version. [`crate::reading`] reads a report back. Lines and sentences for people may change at any time.

use crate::script::Sentence;
use crate::summary::{Count, Distinct, Finding, Merged, ScenarioReport, Shard, Shorter};
use crate::timeline::{steps, timeline};
use crate::violation::{story_lines, without_title};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use vivarium_model::config::Config;
use vivarium_model::extent::Extent;
use vivarium_model::property::{Measure, Measured};
use vivarium_model::subject::Subject;
use vivarium_model::verdict::Verdict;

/// The value of the field `format` in every report.
pub(crate) const FORMAT: &str = "vivarium-report";

/// The schema version that this build writes. Since version 2, a configuration names its bugs.
pub const VERSION: u32 = 2;

/// The version of this build.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    vivarium: &'static str,
    exit_code: u8,
    scenarios: Vec<Scenario<'a>>,
}

#[derive(Serialize)]
struct Scenario<'a> {
    scenario: &'a str,
    bugs: &'a [String],
    host: &'a str,
    first_seed: u64,
    seeds: u64,
    asked_seeds: u64,
    shard: Option<Shard>,
    merged: Option<&'a Merged>,
    steps: u64,
    simulated_seconds: f64,
    simulated_microseconds: u64,
    wall_seconds: f64,
    hash: String,
    #[serde(serialize_with = "by_name")]
    faults: &'a [Count],
    #[serde(serialize_with = "by_name")]
    marks: &'a [Count],
    requests: u64,
    #[serde(serialize_with = "by_name")]
    observed: &'a [Count],
    looks_for: &'a [String],
    #[serde(serialize_with = "measures_by_name")]
    measured: &'a [Measure],
    measures: Vec<Measurement>,
    /// The word of the verdict, such as `held`; see [`Verdict::word`].
    verdict: &'static str,
    /// The verdict as a sentence.
    says: String,
    error: Option<&'a str>,
    unreached: &'a [String],
    demands_marks: bool,
    violations: u64,
    kept_going: bool,
    violation: Option<OfSweep<'a>>,
}

/// A measure with its kind.
#[derive(Serialize, Deserialize)]
pub(crate) struct Measurement {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// A number, or a time in nanoseconds.
    pub(crate) value: u64,
}

/// The kind of a measure: see [`Measured`].
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Count,
    Most,
    Total,
    Longest,
}

/// The violation of a sweep of this process, or of one whose report was read: then its object is written unchanged.
#[derive(Serialize)]
#[serde(untagged)]
enum OfSweep<'a> {
    Own(Box<Violated<'a>>),
    Read(Box<RawValue>),
}

#[derive(Serialize)]
pub(crate) struct Violated<'a> {
    property: &'a str,
    saw: &'a str,
    about: &'a BTreeSet<Subject>,
    seed: Option<u64>,
    at_microseconds: u64,
    step: u64,
    hash: String,
    case_file: Option<&'a str>,
    case_file_error: Option<&'a str>,
    replay: &'a str,
    every_step: &'a str,
    options: &'a str,
    config: &'a Config,
    panicked_at: Option<&'a str>,
    unrepeated: Option<&'a str>,
    minimised: Option<Minimised<'a>>,
    distinct: Option<&'a Distinct>,
    story: Vec<String>,
    timeline: Vec<String>,
    report: Vec<String>,
}

/// The smallest run with the same violation.
#[derive(Serialize)]
struct Minimised<'a> {
    #[serde(flatten)]
    extent: Extent,
    found: Extent,
    seconds: f64,
    incomplete: Option<&'a str>,
    case_file: Option<&'a str>,
    replay: &'a str,
    script: Vec<Sentence>,
}

impl<'a> Minimised<'a> {
    fn of(finding: &'a Finding) -> Option<Minimised<'a>> {
        let Some(Shorter::Found(minimal)) = &finding.shorter else { return None };
        Some(Minimised {
            extent: minimal.after,
            found: minimal.before,
            seconds: minimal.took.as_secs_f64(),
            incomplete: minimal.incomplete.as_deref(),
            case_file: minimal.finding.case_file.as_ref().and_then(|file| file.as_deref().ok()),
            replay: &minimal.finding.replay,
            script: minimal.script(),
        })
    }
}

/// Returns the JSON report, pretty-printed, with a newline at its end.
pub fn json_report(reports: &[ScenarioReport]) -> String {
    let document = Document {
        format: FORMAT,
        version: VERSION,
        vivarium: BUILD,
        exit_code: Verdict::exit_code_of_all(reports.iter().map(|report| &report.verdict)),
        scenarios: reports.iter().map(scenario).collect(),
    };
    serde_json::to_string_pretty(&document).expect("a report has only text keys") + "\n"
}

fn scenario(report: &ScenarioReport) -> Scenario<'_> {
    let unreached: &[String] = match &report.verdict {
        Verdict::Held { unreached, .. } | Verdict::Unreached { unreached, .. } => unreached,
        _ => &[],
    };
    let error = match &report.verdict {
        Verdict::Error(sentence) => Some(sentence.as_str()),
        _ => None,
    };
    Scenario {
        scenario: &report.scenario,
        bugs: &report.bugs,
        host: &report.host,
        first_seed: report.first_seed,
        seeds: report.seeds,
        asked_seeds: report.asked,
        shard: report.shard,
        merged: report.merged.as_ref(),
        steps: report.steps,
        simulated_seconds: report.simulated.as_secs_f64(),
        simulated_microseconds: number(report.simulated.as_micros()),
        wall_seconds: report.wall.as_secs_f64(),
        hash: report.hash.to_string(),
        faults: &report.faults,
        marks: &report.marks,
        requests: report.requests,
        observed: &report.observed,
        looks_for: &report.looks_for,
        measured: &report.measured,
        measures: report.measured.iter().map(measurement).collect(),
        verdict: report.verdict.word(),
        says: report.verdict.to_string(),
        error,
        unreached,
        demands_marks: report.demands_marks,
        violations: report.violations,
        kept_going: report.kept_going,
        violation: report.finding.as_ref().map(of_sweep),
    }
}

fn of_sweep(finding: &Finding) -> OfSweep<'_> {
    let read = finding.as_read.as_ref();
    match read.and_then(|read| RawValue::from_string(read.document.clone()).ok()) {
        Some(document) => OfSweep::Read(document),
        None => OfSweep::Own(Box::new(violated(finding))),
    }
}

fn measurement(measure: &Measure) -> Measurement {
    let (kind, value) = match measure.value {
        Measured::Count(number) => (Kind::Count, number),
        Measured::Most(number) => (Kind::Most, number),
        Measured::Total(time) => (Kind::Total, number(time.as_nanos())),
        Measured::Longest(time) => (Kind::Longest, number(time.as_nanos())),
    };
    Measurement { name: measure.name.to_string(), kind, value }
}

/// Returns a time's number of units, which fits 64 bits for five centuries of nanoseconds.
fn number(units: u128) -> u64 {
    u64::try_from(units).unwrap_or(u64::MAX)
}

pub(crate) fn violated(finding: &Finding) -> Violated<'_> {
    let violation = &finding.violation;
    let (case_file, case_file_error) = match &finding.case_file {
        Some(Ok(path)) => (Some(path.as_str()), None),
        Some(Err(sentence)) => (None, Some(sentence.as_str())),
        None => (None, None),
    };
    Violated {
        property: &violation.objection.property,
        saw: &violation.objection.saw,
        about: &violation.objection.about,
        seed: violation.seed,
        at_microseconds: violation.at.0,
        step: violation.step,
        hash: violation.hash.to_string(),
        case_file,
        case_file_error,
        replay: &finding.replay,
        every_step: &finding.every_step,
        options: &finding.options,
        config: &finding.config,
        panicked_at: finding.panicked_at.as_deref(),
        unrepeated: finding.unrepeated.as_ref().map(|difference| difference.says.as_str()),
        minimised: Minimised::of(finding),
        distinct: finding.distinct.as_ref(),
        story: story_lines(finding),
        timeline: match finding.way {
            Some(_) => lines(&steps(&finding.trace)),
            None => lines(&timeline(&finding.trace)),
        },
        report: lines(&without_title(finding)),
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_string).collect()
}

fn measures_by_name<S: Serializer>(measures: &[Measure], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(measures.len()))?;
    for measure in measures {
        match measure.value {
            Measured::Count(number) | Measured::Most(number) => {
                map.serialize_entry(&measure.name, &number)?;
            }
            Measured::Total(time) | Measured::Longest(time) => {
                map.serialize_entry(&measure.name, &time.as_secs_f64())?;
            }
        }
    }
    map.end()
}

/// Serialises counts as one object, in their order.
pub(crate) fn by_name<S: Serializer>(counts: &[Count], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(counts.len()))?;
    for Count { name, count } in counts {
        map.serialize_entry(name, count)?;
    }
    map.end()
}
