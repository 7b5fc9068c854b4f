//! What the runs of a scenario covered: its marks and faults, the events of servers and clients, and the awaits of its
//! programs, each with how it ended.

use crate::json::{BUILD, by_name};
use crate::numbers::grouped;
use crate::summary::Count;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What the runs of some seeds covered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// The scenario's name with its bugs.
    pub scenario: String,
    /// The number of seeds.
    pub seeds: u64,
    /// How many of them violated a property.
    pub violating: u64,
    /// Steps over all runs.
    pub steps: u64,
    /// The awaits of programs, by place.
    pub awaits: Vec<AwaitCounts>,
    /// Counts of every mark of the model, including zeros.
    #[serde(serialize_with = "by_name")]
    pub marks: Vec<Count>,
    /// Counts of every kind of fault that the scenario injects, including zeros.
    #[serde(serialize_with = "by_name")]
    pub faults: Vec<Count>,
    /// Counts of every kind of event, including zeros, and of each reason or error of those that have one.
    #[serde(serialize_with = "by_name")]
    pub events: Vec<Count>,
}

/// A place in a program that awaits something, and how often its awaits ended how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AwaitCounts {
    /// The source lines of the awaits, such as `src/worker.rs:41`: the innermost one first. Empty if the program was
    /// compiled without line tables.
    pub places: Vec<String>,
    /// How often it ended with what it waited for. An error that the servers answered is an answer.
    pub answered: u64,
    /// How often the connection was lost, so that the outcome was unknown.
    pub lost: u64,
    /// How often the session had ended.
    pub expired: u64,
    /// How often the program dropped it: it was cancelled, or something else that it waited for came first.
    pub dropped: u64,
    /// How often the program's process was killed.
    pub killed: u64,
}

impl AwaitCounts {
    /// Returns how often the await was reached.
    pub fn reached(&self) -> u64 {
        self.numbers().into_iter().sum()
    }

    fn numbers(&self) -> [u64; 5] {
        [self.answered, self.lost, self.expired, self.dropped, self.killed]
    }
}

impl Coverage {
    /// Returns the awaits at which a number of this kind is zero.
    ///
    /// ```
    /// use vivarium_reports::covered::{AwaitCounts, Coverage};
    ///
    /// fn never_lost(coverage: &Coverage) -> Vec<&AwaitCounts> {
    ///     coverage.awaits_without(|counts| counts.lost)
    /// }
    /// # let _ = never_lost;
    /// ```
    pub fn awaits_without(&self, number: fn(&AwaitCounts) -> u64) -> Vec<&AwaitCounts> {
        self.awaits.iter().filter(|counts| number(counts) == 0).collect()
    }
}

/// Returns a JSON document: an object with `format` (`vivarium-coverage`), `version` (1), `vivarium` (the version of the
/// build) and `scenarios`, each with the fields of [`Coverage`]; counts are objects, by name.
pub fn coverage_json(all: &[Coverage]) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        format: &'static str,
        version: u32,
        vivarium: &'static str,
        scenarios: &'a [Coverage],
    }
    let document =
        Document { format: "vivarium-coverage", version: 1, vivarium: BUILD, scenarios: all };
    let text = serde_json::to_string_pretty(&document).expect("numbers and texts");
    text + "\n"
}

const HEADS: [&str; 6] = ["reached", "answered", "lost", "expired", "dropped", "killed"];

/// Returns the coverage as text.
pub fn coverage_text(coverage: &Coverage) -> String {
    let Coverage { scenario, seeds, violating, steps, .. } = coverage;
    let (seeds, steps) = (grouped(*seeds), grouped(*steps));
    let mut text = format!("Coverage of {scenario}: {seeds} seeds, {steps} steps");
    if *violating > 0 {
        let _ = write!(text, "; {} seeds violated a property", grouped(*violating));
    }
    text.push_str("\n\n");
    awaits(&mut text, &coverage.awaits);
    counts(&mut text, "Marks", &coverage.marks);
    counts(&mut text, "Faults", &coverage.faults);
    counts(&mut text, "Events", &coverage.events);
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// Writes the awaits as a tree: a program's own lines, below each the lines that it awaits, each with the sum of the
/// awaits within it.
fn awaits(text: &mut String, awaits: &[AwaitCounts]) {
    if awaits.is_empty() {
        text.push_str("Awaits of programs: none was reached.\n\n");
        return;
    }
    let number = |kind: fn(&AwaitCounts) -> u64| awaits.iter().filter(|at| kind(at) > 0).count();
    let _ = writeln!(
        text,
        "Awaits of programs: {}, by the lines that lead to them. Connections were lost in {} of them, sessions\n\
         had ended in {}; {} were dropped, and in {} the process was killed.\n",
        awaits.len(),
        number(|at| at.lost),
        number(|at| at.expired),
        number(|at| at.dropped),
        number(|at| at.killed),
    );
    let rows = Tree::of(awaits).rows();
    let widths = HEADS.map(str::len);
    let widths: [usize; 6] = std::array::from_fn(|at| {
        let cells = rows.iter().flat_map(|row| &row.cells).map(|cells| cells[at].chars().count());
        cells.max().unwrap_or(0).max(widths[at])
    });
    let line = |cells: &[String; 6]| -> String {
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}  ")).collect()
    };
    let _ = writeln!(text, "  {} place", line(&HEADS.map(String::from)));
    let blank = line(&Default::default());
    for Row { cells, depth, places } in &rows {
        let cells = cells.as_ref().map_or(blank.clone(), line);
        let _ = writeln!(text, "  {cells} {}{places}", "  ".repeat(*depth));
    }
    text.push('\n');
}

/// A line of a program with the awaits below it.
#[derive(Default)]
struct Tree {
    /// The awaits that are at this line itself.
    own: AwaitCounts,
    /// By place, such as `src/worker.rs:41`.
    below: BTreeMap<String, Tree>,
}

/// A line of the printed tree.
struct Row {
    /// The numbers; `None` if they are those of the row above.
    cells: Option<[String; 6]>,
    depth: usize,
    places: String,
}

impl Tree {
    fn of(awaits: &[AwaitCounts]) -> Tree {
        let mut tree = Tree::default();
        for counts in awaits {
            let mut at = &mut tree;
            for place in counts.places.iter().rev() {
                at = at.below.entry(place.clone()).or_default();
            }
            if counts.places.is_empty() {
                at = at.below.entry("(no line tables)".into()).or_default();
            }
            at.own.add(counts);
        }
        tree
    }

    fn sum(&self) -> AwaitCounts {
        let mut sum = self.own.clone();
        self.below.values().for_each(|tree| sum.add(&tree.sum()));
        sum
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        self.add_rows(0, &mut rows);
        rows
    }

    /// Adds a row for each line below this one. Lines of one file that are awaited one by the other, and have no other
    /// awaits, share a row.
    fn add_rows(&self, depth: usize, rows: &mut Vec<Row>) {
        let is_only = self.below.len() == 1 && self.own.reached() == 0 && depth > 0;
        for (place, tree) in self.in_order() {
            let (mut tree, mut places) = (tree, place.clone());
            let file = place.rsplit_once(':').map_or("", |(file, _)| file);
            while let (0, 1) = (tree.own.reached(), tree.below.len())
                && let Some((next, below)) = tree.below.first_key_value()
                && let Some(line) = next.strip_prefix(file).and_then(|rest| rest.strip_prefix(':'))
            {
                let _ = write!(places, " › {line}");
                tree = below;
            }
            let cells = (!is_only).then(|| tree.sum().cells());
            rows.push(Row { cells, depth, places });
            tree.add_rows(depth + 1, rows);
        }
    }

    /// Returns the trees below in the order of their files and lines.
    fn in_order(&self) -> Vec<(&String, &Tree)> {
        let mut below: Vec<(&String, &Tree)> = self.below.iter().collect();
        below.sort_by_key(|(place, _)| {
            let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
            (file, line.parse::<u32>().unwrap_or(0))
        });
        below
    }
}

impl AwaitCounts {
    fn add(&mut self, other: &AwaitCounts) {
        self.answered += other.answered;
        self.lost += other.lost;
        self.expired += other.expired;
        self.dropped += other.dropped;
        self.killed += other.killed;
    }

    fn cells(&self) -> [String; 6] {
        let [answered, lost, expired, dropped, killed] = self.numbers();
        [self.reached(), answered, lost, expired, dropped, killed].map(|number| match number {
            0 => "–".into(),
            _ => grouped(number),
        })
    }
}

/// Writes what was counted, the most frequent first, and then what never was.
fn counts(text: &mut String, title: &str, counts: &[Count]) {
    let (mut some, never): (Vec<&Count>, Vec<&Count>) =
        counts.iter().partition(|count| count.count > 0);
    some.sort_by_key(|count| std::cmp::Reverse(count.count));
    let _ = writeln!(text, "{title}");
    let width = some.first().map_or(0, |most| grouped(most.count).len());
    for Count { name, count } in some {
        let _ = writeln!(text, "  {:>width$}  {name}", grouped(*count));
    }
    if !never.is_empty() {
        let names: Vec<&str> = never.iter().map(|count| count.name.as_str()).collect();
        let _ = writeln!(text, "  never: {}", names.join(", "));
    }
    text.push('\n');
}
