//! The summary of a sweep: one line for each scenario, the marks that were not reached, and the overall verdict.
//! Faults by kind, marks and measurements have separate tables. The width fits 100 columns and the log of a CI job.

use crate::numbers::{grouped, span};
use crate::summary::{Count, ScenarioReport};
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};
use std::time::Duration;
use vivarium_model::property::Measured;
use vivarium_model::verdict::Verdict;

/// The default width of a table, without a terminal.
pub const WIDTH: u16 = 100;

/// A rule below the header and one at the end; none between rows.
const STYLE: TableStyle = TableStyle::new()
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// The most scenarios per table of counts; more need further tables.
const COLUMNS: usize = 5;

/// Returns a table of the scenarios, followed by a sentence for each verdict that needs one, and one for the kinds of
/// faults that never occurred.
pub fn overview(reports: &[ScenarioReport], width: u16) -> String {
    let mut parts = vec![rows(reports, width)];
    let sentences = sentences(reports, |_report| true);
    if !sentences.is_empty() {
        parts.push(sentences.join("\n"));
    }
    parts.join("\n\n") + "\n"
}

/// Returns a sentence for each verdict that needs one, for the kinds of faults that never occurred, and for what the
/// numbers of a shard or of a merged report leave out. `tells` returns false for verdicts that the caller tells.
pub(crate) fn sentences(
    reports: &[ScenarioReport],
    tells: impl Fn(&ScenarioReport) -> bool,
) -> Vec<String> {
    let remarks = reports.iter().filter(|report| tells(report)).filter_map(remark);
    let left_out = reports.iter().flat_map(left_out);
    remarks.chain(left_out).chain(never_struck(reports)).chain(of_shard(reports)).collect()
}

/// Returns tables of faults by kind, marks and measurements, with a row for each and a column for each scenario.
pub fn count_tables(reports: &[ScenarioReport], width: u16) -> String {
    let mut parts = Vec::new();
    for group in reports.chunks(COLUMNS) {
        parts.extend(counts("fault", group, |report| of_counts(&report.faults), width));
        parts.extend(counts("mark", group, |report| of_counts(&report.marks), width));
        parts.extend(counts("measured", group, of_measures, width));
    }
    parts.iter().map(|part| format!("{part}\n\n")).collect()
}

/// Returns the overall verdict in one line: `29 of 30 scenarios held, 1 VIOLATED (lock)`.
pub fn conclusion(reports: &[ScenarioReport]) -> String {
    let all = reports.len();
    let of = |word: &str| -> Vec<String> {
        let those = reports.iter().filter(|report| in_a_word(report) == word);
        those.map(ScenarioReport::title).collect()
    };
    let held = of(HELD);
    if held.len() == all {
        return match &held[..] {
            [only] => format!("{only} held"),
            _ => format!("all {all} scenarios held"),
        };
    }
    let bad = ["VIOLATED", "ERROR", "INCONCLUSIVE", "UNREACHED", EMPTY];
    let bad = bad.map(|word| (word, of(word)));
    if let [only] = reports {
        return format!("{} {}", only.title(), in_a_word(only));
    }
    let bad = bad.iter().filter(|(_, names)| !names.is_empty());
    let bad = bad.map(|(word, names)| format!("{} {word} ({})", names.len(), names.join(", ")));
    let parts: Vec<String> =
        std::iter::once(format!("{} of {all} scenarios held", held.len())).chain(bad).collect();
    parts.join(", ")
}

const HELD: &str = "held";

/// The word for a shard that has no seeds: there are more shards than seeds.
const EMPTY: &str = "without seeds";

/// Returns the word for a scenario's verdict.
fn in_a_word(report: &ScenarioReport) -> &'static str {
    match &report.verdict {
        _ if report.is_empty_shard() => EMPTY,
        Verdict::Held { .. } | Verdict::Exhausted { .. } => HELD,
        Verdict::Unreached { .. } => "UNREACHED",
        Verdict::Bounded { .. } => "INCONCLUSIVE",
        Verdict::Violated(_) => "VIOLATED",
        Verdict::Error(_) => "ERROR",
    }
}

/// Returns the kinds of faults that were requested and never occurred in any scenario that held. A scenario that
/// stopped at a violation does not count, because it may have stopped too early, nor does a shard.
fn never_struck(reports: &[ScenarioReport]) -> Option<String> {
    let whole = || reports.iter().filter(|report| report.shard.is_none());
    let held = || whole().filter(|report| in_a_word(report) == HELD);
    let all = || held().flat_map(|report| &report.faults);
    let struck = |name: &str| all().any(|count| count.name == name && count.count > 0);
    let mut names: Vec<&str> = Vec::new();
    for count in all() {
        if !struck(&count.name) && !names.contains(&count.name.as_str()) {
            names.push(&count.name);
        }
    }
    (!names.is_empty()).then(|| format!("never struck: {}", names.join(", ")))
}

/// Returns one sentence for each thing that the numbers of a merged report leave out.
fn left_out(report: &ScenarioReport) -> Vec<String> {
    let Some(merged) = &report.merged else { return Vec::new() };
    let title = report.title();
    let failed = merged.failed.iter();
    let mut sentences: Vec<String> =
        failed.map(|sentence| format!("{title}: not in these numbers: {sentence}")).collect();
    if merged.uncounted_seeds > 0 {
        sentences.push(format!(
            "{title}: a single sweep stops at this violation, so {} after it, which other shards ran, are not in \
             these numbers; {} of them violated a property",
            plural_grouped(merged.uncounted_seeds, "seed"),
            grouped(merged.uncounted_violations)
        ));
    }
    sentences
}

fn plural_grouped(number: u64, word: &str) -> String {
    format!("{} {word}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Returns a sentence on what the report of a shard cannot decide.
fn of_shard(reports: &[ScenarioReport]) -> Option<String> {
    let shard = reports.iter().find_map(|report| report.shard)?;
    Some(format!(
        "{shard}: `vivarium merge` of the JSON reports of all shards decides which marks and observations are missing"
    ))
}

/// Returns a table of names and numbers: the columns from `numbers` on contain numbers.
pub fn of_rows<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    numbers: usize,
    width: u16,
) -> String {
    filled(header, rows, numbers, width).trim_fmt()
}

/// Like [`of_rows`], but the first column has names, which are never broken.
pub fn of_names<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    numbers: usize,
    width: u16,
) -> String {
    let mut table = filled(header, rows, numbers, width);
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    table.trim_fmt()
}

fn filled<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    numbers: usize,
    width: u16,
) -> Table {
    let mut table = new_table(width);
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    if numbers < N {
        align_right(&mut table, numbers..=N - 1);
    }
    table
}

/// The header of the table of scenarios.
pub(crate) const HEADER: [&str; 7] =
    ["scenario", "seeds", "steps", "simulated time", "faults", "marks reached", "verdict"];

/// Returns the rows of the table of scenarios, below [`HEADER`]: one for each, and a total if there are several.
pub(crate) fn cells(reports: &[ScenarioReport]) -> Vec<[String; 7]> {
    let row = |report: &ScenarioReport| {
        [
            report.title(),
            grouped(report.seeds),
            grouped(report.steps),
            span(report.simulated),
            grouped(report.fault_total()),
            marks(report),
            verdict(report),
        ]
    };
    let mut rows: Vec<[String; 7]> = reports.iter().map(row).collect();
    if reports.len() > 1 {
        let sum = |of: fn(&ScenarioReport) -> u64| {
            grouped(reports.iter().map(of).fold(0, u64::saturating_add))
        };
        let simulated = reports.iter().map(|report| report.simulated);
        rows.push([
            "total".to_string(),
            sum(|report| report.seeds),
            sum(|report| report.steps),
            span(simulated.fold(Duration::ZERO, Duration::saturating_add)),
            sum(ScenarioReport::fault_total),
            String::new(),
            String::new(),
        ]);
    }
    rows
}

fn rows(reports: &[ScenarioReport], width: u16) -> String {
    let mut table = new_table(width);
    table.set_header(HEADER);
    for row in cells(reports) {
        table.add_row(row);
    }
    align_right(&mut table, 1..=4);
    table.trim_fmt()
}

/// Returns the number of marks reached, or `-` if the scenario has none.
fn marks(report: &ScenarioReport) -> String {
    match report.marks.len() {
        0 => "-".to_string(),
        all => format!("{} of {all}", report.marks_reached()),
    }
}

/// Returns the text for a cell; the whole verdict is below the table.
fn verdict(report: &ScenarioReport) -> String {
    match &report.verdict {
        _ if report.is_empty_shard() => EMPTY.to_string(),
        // The previous column has the number of marks reached, and a sentence below the table the names of the
        // others.
        Verdict::Held { .. } => "held".to_string(),
        Verdict::Unreached { unreached, .. } => format!("UNREACHED {}", unreached.len()),
        Verdict::Exhausted { .. } => "held, exhausted".to_string(),
        Verdict::Bounded { .. } => "INCONCLUSIVE".to_string(),
        Verdict::Violated(violation) => {
            let rate = report.rate().map_or(String::new(), |rate| format!(" ({rate})"));
            format!("VIOLATED {}{rate}", violation.objection.property)
        }
        Verdict::Error(_) => "ERROR".to_string(),
    }
}

fn remark(report: &ScenarioReport) -> Option<String> {
    let quiet = matches!(&report.verdict, Verdict::Held { unreached, .. } if unreached.is_empty());
    let replay = report.finding.as_ref().map(|finding| format!("\n  replay: {}", finding.replay));
    (!quiet).then(|| {
        let title = report.title_with_rate();
        format!("{title}: {}{}", report.verdict, replay.unwrap_or_default())
    })
}

fn of_counts(counts: &[Count]) -> Vec<(&str, String)> {
    counts.iter().map(|count| (count.name.as_str(), grouped(count.count))).collect()
}

fn of_measures(report: &ScenarioReport) -> Vec<(&str, String)> {
    let value = |measured: Measured| match measured {
        Measured::Count(number) | Measured::Most(number) => grouped(number),
        Measured::Total(time) | Measured::Longest(time) => span(time),
    };
    report.measured.iter().map(|measure| (&*measure.name, value(measure.value))).collect()
}

/// Returns a table of numbers: a row per name, a column per scenario. `-` means that the scenario does not have the
/// fault or mark, `0` that it never occurred.
fn counts<'a>(
    what: &str,
    group: &'a [ScenarioReport],
    of: impl Fn(&'a ScenarioReport) -> Vec<(&'a str, String)>,
    width: u16,
) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in group.iter().flat_map(&of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return None;
    }
    let mut table = new_table(width);
    table.set_header([what.to_string()].into_iter().chain(group.iter().map(ScenarioReport::title)));
    for name in names {
        let number = |report: &'a ScenarioReport| {
            let found = of(report).into_iter().find(|(found, _)| *found == name);
            found.map_or("-".to_string(), |(_, number)| number)
        };
        table.add_row([name.to_string()].into_iter().chain(group.iter().map(number)));
    }
    align_right(&mut table, 1..=group.len());
    Some(table.trim_fmt())
}

pub(crate) fn new_table(width: u16) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table
}

fn align_right(table: &mut Table, columns: std::ops::RangeInclusive<usize>) {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
