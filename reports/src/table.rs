//! The tables at the end of a sweep, for people: one line per scenario, then faults by kind and
//! marks, one column per scenario. Readable at 100 columns, and in the log of a CI job.

use crate::numbers::{grouped, span};
use crate::summary::{Count, ScenarioReport};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use vivarium_model::property::Measured;
use vivarium_model::verdict::Verdict;

/// The width that a table is laid out for when there is no terminal to ask.
pub const WIDTH: u16 = 100;

/// A rule below the header and one at the end; nothing between rows.
const STYLE: TableStyle = TableStyle::new()
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// Scenarios side by side in one table of counts; more go into further tables.
const COLUMNS: usize = 5;

/// All tables, and below them a sentence for each verdict that needs one.
pub fn tables(reports: &[ScenarioReport], width: u16) -> String {
    let mut parts = vec![overview(reports, width)];
    for group in reports.chunks(COLUMNS) {
        parts.extend(counts("fault", group, |report| of_counts(&report.faults), width));
        parts.extend(counts("mark", group, |report| of_counts(&report.marks), width));
        parts.extend(counts("measured", group, of_measures, width));
    }
    let remarks: Vec<String> = reports.iter().filter_map(remark).collect();
    if !remarks.is_empty() {
        parts.push(remarks.join("\n"));
    }
    parts.join("\n\n") + "\n"
}

/// A table of names and numbers: the columns from `numbers` on are numbers.
pub fn of_rows<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    numbers: usize,
    width: u16,
) -> String {
    let mut table = new_table(width);
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    if numbers < N {
        align_right(&mut table, numbers..=N - 1);
    }
    table.trim_fmt()
}

fn overview(reports: &[ScenarioReport], width: u16) -> String {
    let mut table = new_table(width);
    let header =
        ["scenario", "seeds", "steps", "simulated time", "faults", "marks reached", "verdict"];
    table.set_header(header);
    for report in reports {
        table.add_row([
            report.title(),
            grouped(report.seeds),
            grouped(report.steps),
            span(report.simulated),
            grouped(report.fault_total()),
            format!("{} of {}", report.marks_reached(), report.marks.len()),
            verdict(report),
        ]);
    }
    align_right(&mut table, 1..=4);
    table.trim_fmt()
}

/// What fits a cell; the whole verdict stands below the tables.
fn verdict(report: &ScenarioReport) -> String {
    match &report.verdict {
        Verdict::Held { unreached, .. } if unreached.is_empty() => "held".to_string(),
        Verdict::Held { unreached, .. } => format!("held, {} unreached", unreached.len()),
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
    report.measured.iter().map(|measure| (measure.name, value(measure.value))).collect()
}

/// A table of numbers: a row per name, a column per scenario. A scenario that has no such fault or
/// mark shows `-`, and one that has it and did not meet it `0`.
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
