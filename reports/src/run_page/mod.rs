//! The report of a whole run as one HTML file, which requests nothing from any network: a table of scenarios, and for each
//! its violations with their scripts, faults by kind, marks, observations and measurements.
//!
//! Names and sentences come from programs and monitors, so they can contain anything: each text is escaped.

mod counts;

use crate::numbers::grouped;
use crate::picture::page::escaped;
use crate::script::Sentence;
use crate::summary::{DistinctViolation, Finding, Minimal, ScenarioReport, Shorter};
use crate::table::{HEADER, cells, conclusion, sentences};
use crate::violation::story_lines;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::verdict::Verdict;

const STYLE: &str = include_str!("run.css");

/// Returns the page. `pictures` has the addresses of violations' pages, relative to this one, by the title of the scenario
/// ([`ScenarioReport::title`]).
pub fn run_page(reports: &[ScenarioReport], pictures: &BTreeMap<String, String>) -> String {
    let title = format!("Vivarium: {}", conclusion(reports));
    let mut body = format!("<h1>{}</h1>\n", escaped(&title));
    body.push_str(&table(reports));
    for sentence in sentences(reports, |report| report.finding.is_none()) {
        let _ = writeln!(body, "<p>{}</p>", escaped(&sentence));
    }
    for (number, report) in reports.iter().enumerate() {
        let picture = pictures.get(&report.title()).map(String::as_str);
        body.push_str(&section(number, report, picture));
    }
    let mut hash = Fingerprint::default();
    reports.iter().filter(|report| report.seeds > 0).for_each(|report| hash.add(report.hash));
    let _ = writeln!(body, "<footer>hash of all runs <code>{hash}</code></footer>");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(&title)
    )
}

fn table(reports: &[ScenarioReport]) -> String {
    let header: String = HEADER.iter().map(|name| format!("<th>{name}</th>")).collect();
    let mut text = format!("<table class=\"runs\">\n<thead><tr>{header}</tr></thead>\n<tbody>\n");
    for (number, (row, report)) in cells(reports).into_iter().zip(reports).enumerate() {
        let _ = write!(text, "<tr class=\"{}\">", class(&report.verdict));
        for (column, cell) in row.iter().enumerate() {
            let cell = escaped(cell);
            let _ = match column {
                0 => write!(text, "<td><a href=\"#scenario-{number}\">{cell}</a></td>"),
                1..=4 => write!(text, "<td class=\"number\">{cell}</td>"),
                _ => write!(text, "<td>{cell}</td>"),
            };
        }
        text.push_str("</tr>\n");
    }
    text + "</tbody>\n</table>\n"
}

/// Returns the class of a verdict, for its color.
fn class(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Violated(_) => "violated",
        Verdict::Error { .. } => "error",
        Verdict::Held { unreached, .. } if unreached.is_empty() => "held",
        _ => "unreached",
    }
}

fn section(number: usize, report: &ScenarioReport, picture: Option<&str>) -> String {
    let open = if report.finding.is_some() { " open" } else { "" };
    let mut text = format!(
        "<details class=\"scenario {}\" id=\"scenario-{number}\"{open}>\n<summary>{}</summary>\n",
        class(&report.verdict),
        escaped(&report.title_with_rate())
    );
    if let Some(finding) = &report.finding {
        text.push_str(&violation(finding, picture));
    }
    text.push_str(&counts::tables(report));
    text + "</details>\n"
}

fn violation(finding: &Finding, picture: Option<&str>) -> String {
    let mut text = objection(finding);
    if let Some(picture) = picture {
        let _ = writeln!(
            text,
            "<p><a class=\"picture\" href=\"{}\">The run as a picture, step by step</a></p>",
            escaped(picture)
        );
    }
    match &finding.shorter {
        Some(Shorter::Found(minimal)) => text.push_str(&smallest(minimal)),
        Some(Shorter::No(sentence)) => {
            let _ = writeln!(text, "<p>{}</p>", escaped(sentence));
            text.push_str(&story(finding));
        }
        None => text.push_str(&story(finding)),
    }
    text.push_str(&command("The run as it was found", &finding.replay));
    if let Some(distinct) = &finding.distinct {
        let _ = writeln!(
            text,
            "<h3>{} distinct violations in {} violating runs</h3>",
            distinct.kinds.len(),
            grouped(distinct.violating)
        );
        if distinct.minimised < distinct.violating {
            let minimised = grouped(distinct.minimised);
            let _ = writeln!(text, "<p>The first {minimised} were minimised and compared.</p>");
        }
        text.push_str(&kinds(&distinct.kinds));
    }
    text
}

fn objection(finding: &Finding) -> String {
    let violation = &finding.violation;
    let seed = violation.seed.map(|seed| format!(", seed {seed}")).unwrap_or_default();
    format!(
        "<p class=\"objection\"><strong>{}</strong>: {}</p>\n<p class=\"facts\">at {}, step {}{seed}</p>\n",
        escaped(&violation.objection.property),
        escaped(&violation.objection.saw),
        escaped(&violation.at.to_string()),
        grouped(violation.step)
    )
}

fn smallest(minimal: &Minimal) -> String {
    let mut text = format!(
        "<h3>The smallest run that was found: {}; before: {}</h3>\n",
        escaped(&minimal.after.to_string()),
        escaped(&minimal.before.to_string())
    );
    text.push_str(&script(&minimal.script()));
    let objection = &minimal.finding.violation.objection;
    let _ = writeln!(
        text,
        "<p><strong>{}</strong>: {}</p>",
        escaped(&objection.property),
        escaped(&objection.saw)
    );
    if let Some(sentence) = &minimal.incomplete {
        let _ = writeln!(text, "<p>{}</p>", escaped(sentence));
    }
    text + &command("This run", &minimal.finding.replay)
}

fn script(sentences: &[Sentence]) -> String {
    let line = |sentence: &Sentence| {
        let class = if sentence.fault { " class=\"fault\"" } else { "" };
        format!("<li{class}>{}</li>\n", escaped(&sentence.words))
    };
    let lines: String = sentences.iter().map(line).collect();
    format!("<ol class=\"script\">\n{lines}</ol>\n")
}

fn story(finding: &Finding) -> String {
    let lines = story_lines(finding);
    match lines.is_empty() {
        true => String::new(),
        false => format!("<pre>{}</pre>\n", escaped(&lines.join("\n"))),
    }
}

fn command(what: &str, command: &str) -> String {
    match command.is_empty() {
        true => String::new(),
        false => format!("<p>{what}: <code>{}</code></p>\n", escaped(command)),
    }
}

fn kinds(kinds: &[DistinctViolation]) -> String {
    let row = |kind: &DistinctViolation| {
        format!(
            "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td><code>{}</code></td></tr>\n",
            escaped(&kind.property),
            escaped(&kind.saw),
            grouped(kind.seeds.len() as u64),
            grouped(kind.steps),
            escaped(&kind.replay)
        )
    };
    let rows: String = kinds.iter().map(row).collect();
    format!(
        "<table>\n<thead><tr><th>property</th><th>in its smallest run</th><th>seeds</th><th>steps</th>\
         <th>replay</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    )
}
