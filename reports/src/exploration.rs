//! The report of a search: its coverage, its cost, and the verdict.
//!
//! Its JSON document has `format` (`"vivarium-exploration"`), `version`, `exit_code` and
//! `explorations`. Each of these has
//!
//! | field | value |
//! |---|---|
//! | `scenario`, `bugs`, `grain` | the subject of the search; the grain is `"service"` or `"ensemble"` |
//! | `strategy`, `reduced`, `threads`, `processes` | the method of the search |
//! | `dimensions` | a list of `name`, `in` (a boolean) and `says`: whether the search varied it, and how far |
//! | `properties`, `unasked` | names of the monitors that were checked, and of those that only sweeps can check |
//! | `generated`, `distinct`, `depth`, `peak_frontier`, `visited_bytes`, `pieces_bytes` | figures |
//! | `in_all` | of a search that was stopped: the least and the greatest number of distinct states that it would have had, estimated, or `null` |
//! | `generated_per_second`, `bytes_per_state`, `wall_seconds` | figures derived from time and memory |
//! | `programs` | number of nodes in the programs' trie, or `null` |
//! | `cycles` | a sentence on cycles in the state graph |
//! | `claims` | a list of clauses: unproven assumptions of the verdict |
//! | `unseen` | a list of observations that the properties are about and no program made |
//! | `observed` | the names of the observations that programs made |
//! | `verdict`, `says` | a word as in [`crate::json`], and the verdict as a sentence |
//! | `violation` | `null`, or an object as in [`crate::json`], with `length`, `proven_shortest` and `left_out` |
//!
//! The version changes by the same rules as that of [`crate::json`].

use crate::numbers::{grouped, span};
use crate::summary::Finding;
use crate::table::{WIDTH, new_table};
use crate::violation::violation_report;
use serde::Serialize;
use std::fmt::{self, Write as _};
use std::time::Duration;
use vivarium_model::case::GrainKind;
use vivarium_model::verdict::Verdict;

/// The value of the field `format` in every such report.
pub(crate) const FORMAT: &str = "vivarium-exploration";

/// The schema version that this build writes. Since version 2, a configuration names its bugs.
pub const VERSION: u32 = 2;

/// The report of one search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplorationReport {
    /// The scenario's name.
    pub scenario: String,
    /// Names of the enabled bugs and mutants.
    pub bugs: Vec<String>,
    /// The grain of the search.
    pub grain: GrainKind,
    /// The order of the search, in words.
    pub strategy: String,
    /// Whether reductions were enabled.
    pub reduced: bool,
    /// Number of threads of each process.
    pub threads: usize,
    /// Number of processes that searched together.
    pub processes: usize,
    /// What the search varied, and what it did not.
    pub dimensions: Vec<Dimension>,
    /// Names of the monitors that were checked.
    pub properties: Vec<String>,
    /// Names of the monitors that need more than a search can store, and are checked only by sweeps.
    pub unasked: Vec<String>,
    /// The cost of the search.
    pub figures: Figures,
    /// A sentence on cycles in the state graph.
    pub cycles: String,
    /// Unproven assumptions of a verdict that is not a violation, each a clause that begins with "if".
    pub claims: Vec<String>,
    /// Observations that the properties are about and that no program made; the result does not cover them.
    pub unseen: Vec<String>,
    /// The names of the observations that programs made.
    pub observed: Vec<String>,
    /// The outcome.
    pub verdict: Verdict,
    /// The violation, in full.
    pub finding: Option<Finding>,
}

/// Something that a search can vary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dimension {
    /// The name, such as `clock`.
    pub name: String,
    /// Whether the search varied it.
    #[serde(rename = "in")]
    pub is_in: bool,
    /// How far it was varied, or how to include it.
    pub says: String,
}

impl Dimension {
    /// Returns a dimension.
    pub fn new(name: &str, is_in: bool, says: impl Into<String>) -> Dimension {
        Dimension { name: name.to_string(), is_in, says: says.into() }
    }
}

/// The cost of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Number of states generated, including repeated ones.
    pub generated: u64,
    /// Distinct states.
    pub distinct: u64,
    /// How many distinct states there are in all. `None` if the search was not stopped, or if that cannot be estimated.
    pub in_all: Option<InAll>,
    /// The largest depth, in steps of the world.
    pub depth: u64,
    /// The largest number of states in the frontier.
    pub peak_frontier: u64,
    /// Memory for all visited states, in bytes.
    pub visited_bytes: u64,
    /// The largest memory for the pieces of the states in the frontier, in bytes, estimated.
    pub pieces_bytes: u64,
    /// Number of nodes in the programs' trie.
    pub programs: Option<u64>,
    /// Real time of the search.
    pub wall: Duration,
}

/// An estimate of the number of distinct states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InAll {
    /// Unknown, because the frontier still grew or had not shrunk enough.
    Unknown,
    /// Between the two numbers.
    Between(u64, u64),
}

impl InAll {
    /// Returns the estimate for this search and others before it, which had this many states.
    #[must_use]
    pub fn after(self, states: u64) -> InAll {
        match self {
            InAll::Unknown => InAll::Unknown,
            InAll::Between(least, most) => InAll::Between(least + states, most + states),
        }
    }
}

/// Writes the numbers, for a row of the report.
impl fmt::Display for InAll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InAll::Unknown => f.write_str("unknown: the frontier had not shrunk yet"),
            InAll::Between(least, most) => {
                write!(f, "{} to {}, estimated", grouped(*least), grouped(*most))
            }
        }
    }
}

impl Figures {
    /// Returns the number of states generated per second.
    pub fn rate(&self) -> f64 {
        self.generated as f64 / self.wall.as_secs_f64().max(1e-3)
    }

    /// Returns the memory for each distinct state, in bytes.
    pub fn bytes_per_state(&self) -> f64 {
        self.visited_bytes as f64 / self.distinct.max(1) as f64
    }
}

impl ExplorationReport {
    /// Returns the dimension with this name, such as `clock`; `None` if the report has none.
    pub fn dimension(&self, name: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|dimension| dimension.name == name)
    }

    /// Returns the scenario's name with the enabled bugs: `lock with NoGuid`.
    pub fn title(&self) -> String {
        match self.bugs.is_empty() {
            true => self.scenario.clone(),
            false => format!("{} with {}", self.scenario, self.bugs.join(", ")),
        }
    }
}

/// Formats the whole report with [`exploration_text`] in the default width, for tests that print it.
impl fmt::Display for ExplorationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&exploration_text(self, WIDTH))
    }
}

/// Returns the whole report as text: the violation if there is one, the coverage, and the cost.
pub fn exploration_text(report: &ExplorationReport, width: u16) -> String {
    let mut text = String::new();
    if let Some(finding) = &report.finding {
        text.push_str(&violation_report(finding));
        text.push('\n');
    }
    let mut table = new_table(width);
    table.set_header(["what can vary", "", "how far"]);
    for Dimension { name, is_in, says } in &report.dimensions {
        table.add_row([name.as_str(), if *is_in { "in" } else { "out" }, says]);
    }
    let _ = writeln!(text, "{}\n", table.trim_fmt());
    let mut table = new_table(width);
    table.set_header(["figure", report.title().as_str()]);
    for (name, value) in rows(report) {
        table.add_row([name, value.as_str()]);
    }
    let _ = writeln!(text, "{}\n", table.trim_fmt());
    let _ = writeln!(text, "properties checked: {}", report.properties.join(", "));
    if !report.unasked.is_empty() {
        let unasked = report.unasked.join(", ");
        let _ = writeln!(text, "not checked, because they need durations or whole runs: {unasked}");
    }
    let _ = writeln!(text, "{}", report.cycles);
    let _ = writeln!(text, "{}: {}", report.title(), report.verdict);
    if report.verdict.violation().is_none() {
        report.claims.iter().for_each(|claim| _ = writeln!(text, "  {claim}"));
        report
            .unseen
            .iter()
            .for_each(|what| _ = writeln!(text, "  although no program made {what}"));
    }
    text
}

fn rows(report: &ExplorationReport) -> Vec<(&'static str, String)> {
    let figures = &report.figures;
    let reductions = if report.reduced { "with reductions" } else { "without reductions" };
    let threads = match report.threads {
        1 => "1 thread".to_string(),
        threads => format!("{threads} threads"),
    };
    let threads = match report.processes {
        1 => threads,
        processes => format!("{processes} processes of {threads}"),
    };
    let mut rows = vec![
        ("search", format!("{}, {reductions}, {threads}", report.strategy)),
        ("grain", report.grain.to_string()),
        ("states generated", grouped(figures.generated)),
        ("distinct states", grouped(figures.distinct)),
        ("states per second", grouped(figures.rate() as u64)),
        ("depth in steps", grouped(figures.depth)),
        ("largest frontier", grouped(figures.peak_frontier)),
        ("bytes per visited state", format!("{:.1}", figures.bytes_per_state())),
        (
            "pieces of states, at most",
            format!("{} MiB", grouped(figures.pieces_bytes.div_ceil(1 << 20))),
        ),
    ];
    if let Some(programs) = figures.programs {
        rows.push(("nodes in the tree of programs", grouped(programs)));
    }
    if let Some(in_all) = &figures.in_all {
        rows.push(("states in all", in_all.to_string()));
    }
    rows.push(("real time", span(figures.wall)));
    rows
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    exit_code: u8,
    explorations: Vec<Exploration<'a>>,
}

#[derive(Serialize)]
struct Exploration<'a> {
    scenario: &'a str,
    bugs: &'a [String],
    grain: String,
    strategy: &'a str,
    reduced: bool,
    threads: usize,
    processes: usize,
    dimensions: &'a [Dimension],
    properties: &'a [String],
    unasked: &'a [String],
    generated: u64,
    distinct: u64,
    in_all: Option<[u64; 2]>,
    depth: u64,
    peak_frontier: u64,
    visited_bytes: u64,
    pieces_bytes: u64,
    generated_per_second: f64,
    bytes_per_state: f64,
    wall_seconds: f64,
    programs: Option<u64>,
    cycles: &'a str,
    claims: &'a [String],
    unseen: &'a [String],
    observed: &'a [String],
    verdict: &'static str,
    says: String,
    violation: Option<Violated<'a>>,
}

#[derive(Serialize)]
struct Violated<'a> {
    #[serde(flatten)]
    violation: crate::json::Violated<'a>,
    length: usize,
    proven_shortest: bool,
    left_out: usize,
}

/// Returns the JSON report.
pub fn exploration_json(reports: &[ExplorationReport]) -> String {
    let document = Document {
        format: FORMAT,
        version: VERSION,
        exit_code: Verdict::exit_code_of_all(reports.iter().map(|report| &report.verdict)),
        explorations: reports.iter().map(exploration).collect(),
    };
    serde_json::to_string_pretty(&document).expect("a report has only text keys") + "\n"
}

fn exploration(report: &ExplorationReport) -> Exploration<'_> {
    let figures = &report.figures;
    let violation = report.finding.as_ref().and_then(|finding| {
        let way = finding.way?;
        Some(Violated {
            violation: crate::json::violated(finding),
            length: way.length,
            proven_shortest: way.proven,
            left_out: way.left_out,
        })
    });
    Exploration {
        scenario: &report.scenario,
        bugs: &report.bugs,
        grain: report.grain.to_string(),
        strategy: &report.strategy,
        reduced: report.reduced,
        threads: report.threads,
        processes: report.processes,
        dimensions: &report.dimensions,
        properties: &report.properties,
        unasked: &report.unasked,
        generated: figures.generated,
        distinct: figures.distinct,
        in_all: match figures.in_all {
            Some(InAll::Between(least, most)) => Some([least, most]),
            Some(InAll::Unknown) | None => None,
        },
        depth: figures.depth,
        peak_frontier: figures.peak_frontier,
        visited_bytes: figures.visited_bytes,
        pieces_bytes: figures.pieces_bytes,
        generated_per_second: figures.rate(),
        bytes_per_state: figures.bytes_per_state(),
        wall_seconds: figures.wall.as_secs_f64(),
        programs: figures.programs,
        cycles: &report.cycles,
        claims: &report.claims,
        unseen: &report.unseen,
        observed: &report.observed,
        verdict: report.verdict.word(),
        says: report.verdict.to_string(),
        violation,
    }
}
