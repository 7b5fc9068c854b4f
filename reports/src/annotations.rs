//! Annotations for GitHub Actions: lines such as `::error title=…::…`, which the runner shows beside a job's summary
//! and, if they name a file, beside its code.

use crate::summary::{Finding, ScenarioReport};
use std::fmt::Write as _;
use vivarium_model::verdict::Verdict;

/// Returns one line for each verdict that needs one: an error for a violation and for a sweep that could not be run, a
/// warning for an inconclusive one. Empty if everything held.
pub fn annotations(reports: &[ScenarioReport]) -> String {
    let mut text = String::new();
    for report in reports {
        let title = report.title();
        let said = match (&report.verdict, &report.finding) {
            (Verdict::Violated(violation), Some(finding)) => {
                let about = format!("{title}: {}", violation.objection.property);
                let message = format!("{}\n{}", violation.objection.saw, places(finding));
                Some(("error", place(finding), about, message))
            }
            (Verdict::Violated(_) | Verdict::Error(_), _) => {
                Some(("error", String::new(), title, report.verdict.to_string()))
            }
            (Verdict::Unreached { .. } | Verdict::Bounded { .. }, _) => {
                Some(("warning", String::new(), title, report.verdict.to_string()))
            }
            (Verdict::Held { .. } | Verdict::Exhausted { .. }, _) => None,
        };
        if let Some((level, place, title, message)) = said {
            let (title, message) = (property(&title), data(&message));
            let _ = writeln!(text, "::{level} {place}title={title}::{message}");
        }
    }
    text
}

/// Returns the seed and the command that replays it.
fn places(finding: &Finding) -> String {
    match finding.violation.seed {
        Some(seed) => format!("seed {seed}, replay: {}", finding.replay),
        None => format!("replay: {}", finding.replay),
    }
}

/// Returns the properties that name the place of a panic, each with a comma after it; empty if none is known.
fn place(finding: &Finding) -> String {
    let parts = finding.panicked_at.as_deref().and_then(|place| {
        let (rest, column) = place.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        Some((file, line.parse::<u32>().ok()?, column.parse::<u32>().ok()?))
    });
    match parts {
        Some((file, line, column)) => {
            format!("file={},line={line},col={column},", property(file))
        }
        None => String::new(),
    }
}

/// Escapes a message, which ends at the end of its line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property, which also ends at a comma or a colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
