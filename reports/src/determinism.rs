//! The report of a determinism check: whether each seed gave the same run every time.
//!
//! Its JSON document has `format` (`"vivarium-determinism"`), `version`, `exit_code` (0 or 1) and `scenarios`, each
//! with `scenario`, `seeds`, `compared` (the ways of running, in words) and `difference`: `null`, or `seed`, `step`
//! and `says` (text for people). The version changes by the same rules as that of [`crate::json`].

use serde::Serialize;
use std::fmt::Write as _;

/// The value of the field `format` in every such report.
pub(crate) const FORMAT: &str = "vivarium-determinism";

/// The version of the schema that this build writes.
pub const VERSION: u32 = 1;

/// The usual reasons why one seed gives two different runs.
pub(crate) const CAUSES: &str = "\
So a program or a property depends on something other than what it is given.
Usual causes: the order of a hash map or set (std's differs in each run), a
clock, a thread, a static or thread-local variable, random numbers of its own,
an address of memory.";

/// The result for one scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeterminismReport {
    /// The scenario's name, with its bugs.
    pub scenario: String,
    /// Number of seeds compared.
    pub seeds: u64,
    /// The ways in which each seed was run, in words.
    pub compared: String,
    /// The first seed whose runs differed.
    pub difference: Option<Difference>,
}

/// The point where two runs of one seed differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The seed.
    pub seed: u64,
    /// The first step that differs, from 1.
    pub step: u64,
    /// Both runs at that step, as text of several lines.
    pub says: String,
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    exit_code: u8,
    scenarios: &'a [DeterminismReport],
}

/// Returns 0 if no seed differed, otherwise 1.
pub fn exit_code(reports: &[DeterminismReport]) -> u8 {
    u8::from(reports.iter().any(|report| report.difference.is_some()))
}

/// Returns one sentence per scenario, and the first difference.
pub fn determinism_text(reports: &[DeterminismReport]) -> String {
    let mut text = String::new();
    for DeterminismReport { scenario, seeds, compared, difference } in reports {
        match difference {
            None => writeln!(text, "{scenario}: {seeds} seeds, each the same run {compared}"),
            Some(Difference { seed, step, says }) => writeln!(
                text,
                "{scenario}: NOT DETERMINISTIC {compared}: seed {seed} differs first at step {step}\n{}\n{CAUSES}",
                says.trim_end()
            ),
        }
        .expect("strings take all that is written");
    }
    text
}

/// Returns the JSON report.
pub fn determinism_json(reports: &[DeterminismReport]) -> String {
    let document = Document {
        format: FORMAT,
        version: VERSION,
        exit_code: exit_code(reports),
        scenarios: reports,
    };
    serde_json::to_string_pretty(&document).expect("a report has only text keys") + "\n"
}
