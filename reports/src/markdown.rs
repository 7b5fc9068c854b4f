//! The summary in Markdown, for the page of a CI job: the table of scenarios, and each violation with its story folded.
//!
//! Names and sentences come from programs and monitors, so they can contain anything. Outside of code blocks every
//! character with a meaning in Markdown or HTML is escaped; a code block has a longer fence than any in its text.

use crate::numbers::grouped;
use crate::summary::{Finding, ScenarioReport};
use crate::table::{HEADER, cells, conclusion, sentences};
use crate::violation::story_lines;
use std::fmt::Write as _;
use vivarium_model::fingerprint::Fingerprint;

/// Returns the summary, with a blank line at its end so that another can be appended.
pub fn markdown_report(reports: &[ScenarioReport]) -> String {
    let mut text = format!("## Vivarium: {}\n\n", escaped(&conclusion(reports)));
    text.push_str(&table(reports));
    for sentence in sentences(reports, |report| report.finding.is_none()) {
        let _ = write!(text, "\n{}\n", escaped(&sentence));
    }
    let mut hash = Fingerprint::default();
    reports.iter().filter(|report| report.seeds > 0).for_each(|report| hash.add(report.hash));
    let _ = write!(text, "\nhash of all runs: `{hash}`\n");
    for finding in reports.iter().filter_map(|report| report.finding.as_ref()) {
        let _ = write!(text, "\n{}", violation(finding));
    }
    text.push('\n');
    text
}

fn table(reports: &[ScenarioReport]) -> String {
    // The columns 1 to 4 have numbers.
    let mut text = format!("| {} |\n", HEADER.join(" | "));
    text.push_str("|---|--:|--:|--:|--:|---|---|\n");
    for row in cells(reports) {
        let _ = writeln!(text, "| {} |", row.map(|cell| escaped(&cell)).join(" | "));
    }
    text
}

fn violation(finding: &Finding) -> String {
    let violation = &finding.violation;
    let mut text = format!("### VIOLATED: {}\n\n", escaped(&finding.scenario));
    let _ = write!(
        text,
        "**{}**: {}\n\n",
        escaped(&violation.objection.property),
        escaped(&violation.objection.saw)
    );
    let mut facts = Vec::new();
    facts.extend(
        finding.panicked_at.as_ref().map(|place| format!("panicked at {}", escaped(place))),
    );
    facts.extend(violation.seed.map(|seed| format!("seed {seed}")));
    facts.push(format!("{}, step {}", escaped(&violation.at.to_string()), grouped(violation.step)));
    facts.push(format!("hash `{}`", violation.hash));
    match &finding.case_file {
        Some(Ok(path)) => facts.push(format!("case file {}", escaped(path))),
        Some(Err(sentence)) => facts.push(escaped(sentence)),
        None => {}
    }
    for fact in facts {
        let _ = writeln!(text, "* {fact}");
    }
    let _ = write!(text, "\n{}", code("sh", &finding.replay));
    let story = story_lines(finding);
    if !story.is_empty() {
        text.push_str("\n<details><summary>What happened</summary>\n\n");
        text.push_str(&code("text", &story.join("\n")));
        text.push_str("\n</details>\n");
    }
    text
}

/// Returns a code block, with a fence that its text cannot end.
fn code(language: &str, content: &str) -> String {
    let longest = content.split(|it| it != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{}\n{fence}\n", content.trim_end())
}

/// Escapes a text for one line of Markdown, also within a table.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '\n' => escaped.push_str("<br>"),
            '\r' => {}
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // GitHub would link a name.
            '@' => escaped.push_str("&#64;"),
            // A table is divided before backslashes are read.
            '|' => escaped.push_str("&#124;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(character);
            }
            other => escaped.push(other),
        }
    }
    escaped
}
