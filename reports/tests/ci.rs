//! What CI servers show: annotations, and the summary in Markdown.

mod common;

use common::{failed, finding, held, short, violated, violation};
use vivarium_model::property::Objection;
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_reports::annotations::annotations;
use vivarium_reports::markdown::markdown_report;
use vivarium_reports::summary::{Finding, ScenarioReport};

/// A violation whose texts contain everything that could end a cell, a line, a block or a command.
fn hostile() -> ScenarioReport {
    let objection = Objection::new(
        "a | b: 100 %, `c`",
        "```\n</details>\r\n| x | y |\n::error::<b>@all</b> \\| [z](http://z) *_~$#",
    );
    let violation = Violation { objection, ..violation() };
    let finding = Finding {
        scenario: "<details> | ::warning::".into(),
        violation: violation.clone(),
        replay: "vivarium replay '```' --seed 42".into(),
        panicked_at: Some("src/a,b.rs:12:5".into()),
        ..finding()
    };
    ScenarioReport {
        scenario: "<details> | ::warning::".into(),
        verdict: Verdict::Violated(Box::new(violation)),
        finding: Some(finding),
        ..violated()
    }
}

fn inconclusive() -> ScenarioReport {
    ScenarioReport { verdict: short().verdict.demanding_marks(), ..short() }
}

#[test]
fn annotations_name_what_failed() {
    insta::assert_snapshot!(annotations(&[
        held(),
        short(),
        inconclusive(),
        violated(),
        failed(),
        hostile()
    ]));
    assert_eq!(annotations(&[held(), short()]), "");
}

#[test]
fn a_hostile_text_stays_within_its_annotation() {
    let text = annotations(&[hostile()]);
    assert_eq!(text.lines().count(), 1, "{text}");
    let (command, message) = text
        .trim_end()
        .strip_prefix("::")
        .and_then(|text| text.split_once("::"))
        .expect("a command");
    assert!(command.starts_with("error file=src/a%2Cb.rs,line=12,col=5,title="), "{command}");
    assert_eq!(command.split(',').count(), 4, "{command}");
    assert!(message.contains("</details>%0D%0A| x"), "{message}");
}

#[test]
fn a_summary_in_markdown() {
    insta::assert_snapshot!(markdown_report(&[held(), inconclusive(), violated(), failed()]));
}

#[test]
fn a_hostile_text_stays_within_its_place_of_the_summary() {
    let text = markdown_report(&[hostile()]);
    insta::assert_snapshot!(text);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 3, "{text}");
    assert!(rows.iter().all(|row| row.matches('|').count() == 8), "{rows:?}");
    assert_eq!(text.matches("<details>").count(), 1, "{text}");
    assert_eq!(text.matches("</details>").count(), 1, "{text}");
    // The block of the command is fenced by more backticks than it contains.
    assert!(text.contains("\n````sh\nvivarium replay '```' --seed 42\n````\n"), "{text}");
}
