//! The parts of a sweep: whether they fit together, and one sentence if they do not.

use crate::summary::{Count, ScenarioReport};
use std::ops::Range;
use thiserror::Error;
use vivarium_model::verdict::Verdict;
use vivarium_model::words::{list, plural};

/// Why reports cannot be merged. Its text is one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum MergeError {
    /// Different builds wrote the reports.
    #[error(
        "`{one}` was written by Vivarium {build} and `{other}` by Vivarium {other_build}: merge reports of one build"
    )]
    OtherBuild { one: String, build: String, other: String, other_build: String },
    /// The sweeps of a scenario differ in more than their seeds.
    #[error(
        "`{one}` and `{other}` are not parts of one sweep of `{scenario}`: {what}; merge only parts of one sweep"
    )]
    Different {
        scenario: String,
        one: String,
        other: String,
        /// The setting that differs, and its two values.
        what: String,
    },
    /// Two reports are of the same shard.
    #[error("`{one}` and `{other}` are both shard {index} of `{scenario}`: leave out one of them")]
    Twice { scenario: String, one: String, other: String, index: u64 },
    /// Some shards have no report.
    #[error("`{scenario}` lacks {}: run each with `--shard I/{count}`", shards(first, *missing, *count))]
    Missing {
        scenario: String,
        /// The lowest numbers of missing shards.
        first: Vec<u64>,
        /// How many shards are missing.
        missing: u64,
        count: u64,
    },
    /// Two reports have seeds in common.
    #[error(
        "`{one}` has the seeds {}..{} of `{scenario}` and `{other}` the seeds {}..{}: no seed may be in both",
        range.start, range.end, other_range.start, other_range.end
    )]
    Overlap {
        scenario: String,
        one: String,
        range: Range<u64>,
        other: String,
        other_range: Range<u64>,
    },
    /// Some seeds between two reports are in none.
    #[error("`{scenario}` lacks the seeds {}..{}: they are in no report", gap.start, gap.end)]
    Gap { scenario: String, gap: Range<u64> },
}

fn shards(first: &[u64], missing: u64, count: u64) -> String {
    match first {
        [only] if missing == 1 => format!("shard {only} of {count}"),
        [lowest, ..] if missing > first.len() as u64 => {
            format!("{missing} shards of {count}, the first of them shard {lowest}")
        }
        _ => format!("the shards {} of {count}", list(first.iter())),
    }
}

/// One part of a scenario's sweep, with the name of its file.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) file: &'a str,
    pub(super) report: &'a ScenarioReport,
}

impl Part<'_> {
    fn range(&self) -> Range<u64> {
        self.report.first_seed..self.report.first_seed.saturating_add(self.report.asked)
    }

    /// The part's name in a sentence about its scenario.
    pub(super) fn name(&self) -> String {
        match self.report.shard {
            Some(shard) => shard.to_string(),
            None => format!("the sweep of the seeds {}..{}", self.range().start, self.range().end),
        }
    }
}

/// Sorts the parts of a scenario by their seeds, and checks that together they are one sweep.
pub(super) fn check(parts: &mut [Part<'_>]) -> Result<(), MergeError> {
    for other in &parts[1..] {
        check_same(&parts[0], other)?;
    }
    match parts[0].report.shard {
        Some(shard) => {
            parts.sort_by_key(|part| part.report.shard.map(|shard| shard.index));
            check_shards(parts, shard.count)?;
            check_adjoining(parts, Some(shard.first_seed..shard.first_seed + shard.seeds))
        }
        None => {
            parts.sort_by_key(|part| (part.range().start, part.range().end));
            check_adjoining(parts, None)
        }
    }
}

/// Checks that two parts have equal settings.
fn check_same(one: &Part<'_>, other: &Part<'_>) -> Result<(), MergeError> {
    let names = |counts: &[Count]| {
        counts.iter().map(|count| count.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let settings = |report: &ScenarioReport| {
        let whole = match report.shard {
            Some(shard) => format!(
                "{} of the seeds {}..{}",
                plural(shard.count as usize, "shard"),
                shard.first_seed,
                shard.first_seed + shard.seeds
            ),
            None => "no shards".to_string(),
        };
        let own = match report.demands_marks && report.shard.is_some() {
            true => "the scenario's own",
            false => "given by `--seeds`",
        };
        let bugs = match report.bugs.is_empty() {
            true => "none".to_string(),
            false => report.bugs.join(", "),
        };
        [
            ("bugs", bugs),
            ("hosts", report.host.clone()),
            ("`--keep-going`", if report.kept_going { "given" } else { "left out" }.to_string()),
            ("parts", whole),
            ("seeds", own.to_string()),
        ]
    };
    // A scenario that ended with an error has no counts.
    let subjects = |report: &ScenarioReport| {
        [
            ("faults", names(&report.faults)),
            ("marks", names(&report.marks)),
            ("observations that properties are about:", report.looks_for.join(", ")),
        ]
    };
    let failed = |part: &Part<'_>| matches!(part.report.verdict, Verdict::Error(_));
    let mut pairs: Vec<_> = settings(one.report).into_iter().zip(settings(other.report)).collect();
    if !failed(one) && !failed(other) {
        pairs.extend(subjects(one.report).into_iter().zip(subjects(other.report)));
    }
    match pairs.into_iter().find(|(one, other)| one != other) {
        None => Ok(()),
        Some(((what, value), (_, other_value))) => Err(MergeError::Different {
            scenario: one.report.scenario.clone(),
            one: one.file.to_string(),
            other: other.file.to_string(),
            what: format!("{what} {value} and {other_value}"),
        }),
    }
}

/// Checks that each shard is there once. The parts are sorted by their shards.
fn check_shards(parts: &[Part<'_>], count: u64) -> Result<(), MergeError> {
    let index = |part: &Part<'_>| part.report.shard.map_or(0, |shard| shard.index);
    let scenario = || parts[0].report.scenario.clone();
    for pair in parts.windows(2) {
        if index(&pair[0]) == index(&pair[1]) {
            return Err(MergeError::Twice {
                scenario: scenario(),
                one: pair[0].file.to_string(),
                other: pair[1].file.to_string(),
                index: index(&pair[0]),
            });
        }
    }
    let is_missing = |number: &u64| parts.binary_search_by_key(number, index).is_err();
    match count - parts.len() as u64 {
        0 => Ok(()),
        missing => Err(MergeError::Missing {
            scenario: scenario(),
            first: (1..=count).filter(is_missing).take(MOST_NAMED).collect(),
            missing,
            count,
        }),
    }
}

/// The most missing shards that are named.
const MOST_NAMED: usize = 10;

/// Checks that the parts, which are sorted, cover one range without gaps: `all`, if it is given.
fn check_adjoining(parts: &[Part<'_>], all: Option<Range<u64>>) -> Result<(), MergeError> {
    let scenario = || parts[0].report.scenario.clone();
    let mut next = all.as_ref().map_or(parts[0].range().start, |all| all.start);
    let mut before: Option<&Part<'_>> = None;
    for part in parts {
        let range = part.range();
        if range.start > next {
            return Err(MergeError::Gap { scenario: scenario(), gap: next..range.start });
        }
        if let (true, Some(before)) = (range.start < next, before) {
            return Err(MergeError::Overlap {
                scenario: scenario(),
                one: before.file.to_string(),
                range: before.range(),
                other: part.file.to_string(),
                other_range: range,
            });
        }
        next = range.end.max(next);
        before = Some(part);
    }
    match all {
        Some(all) if next < all.end => {
            Err(MergeError::Gap { scenario: scenario(), gap: next..all.end })
        }
        _ => Ok(()),
    }
}
