//! The counts of one scenario as tables with bars.

use crate::numbers::{grouped, span};
use crate::picture::page::escaped;
use crate::summary::{Count, ScenarioReport};
use std::fmt::Write as _;

/// Returns the scenario's extent, and tables of its faults, marks, observations and measurements.
pub(super) fn tables(report: &ScenarioReport) -> String {
    let mut text = format!(
        "<p class=\"facts\">seeds from {}; {} requests of programs; host {}; {} of real time; hash <code>{}</code></p>\n\
         <div class=\"counts\">\n",
        report.first_seed,
        grouped(report.requests),
        escaped(&report.host),
        span(report.wall),
        report.hash
    );
    text.push_str(&counts("faults", &report.faults, false));
    text.push_str(&counts("marks", &report.marks, true));
    text.push_str(&counts("observations", &report.observed, false));
    text.push_str(&measurements(report));
    text + "</div>\n"
}

/// Returns a table, the largest count first. Where zeros are what a reader looks for, they are first and stand out.
fn counts(title: &str, counts: &[Count], zeros_matter: bool) -> String {
    if counts.is_empty() {
        return String::new();
    }
    let most = counts.iter().map(|count| count.count).max().unwrap_or(0).max(1);
    let mut sorted: Vec<&Count> = counts.iter().collect();
    sorted.sort_by_key(|it| (!(zeros_matter && it.count == 0), u64::MAX - it.count));
    let reached = counts.iter().filter(|count| count.count > 0).count();
    let mut text = format!("<table>\n<caption>{title}: {reached} of {}</caption>\n", counts.len());
    for Count { name, count } in sorted {
        let class = if *count == 0 { " class=\"zero\"" } else { "" };
        let _ = writeln!(
            text,
            "<tr{class}><td>{}</td><td class=\"number\">{}</td><td><meter max=\"{most}\" value=\"{count}\"></meter></td></tr>",
            escaped(name),
            grouped(*count)
        );
    }
    text + "</table>\n"
}

fn measurements(report: &ScenarioReport) -> String {
    if report.measured.is_empty() {
        return String::new();
    }
    let mut text = String::from("<table>\n<caption>measurements</caption>\n");
    for measure in &report.measured {
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td class=\"number\">{}</td></tr>",
            escaped(&measure.name),
            escaped(&measure.value.to_string())
        );
    }
    text + "</table>\n"
}
