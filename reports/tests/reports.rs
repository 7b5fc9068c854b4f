//! The reports as a reader sees them.

mod common;

use common::{failed, finding, held, short, trace, violated};
use std::time::Duration;
use vivarium_model::verdict::Verdict;
use vivarium_reports::determinism::{
    DeterminismReport, Difference, determinism_json, determinism_text, exit_code,
};
use vivarium_reports::json::json_report;
use vivarium_reports::junit::junit_report;
use vivarium_reports::summary::ScenarioReport;
use vivarium_reports::table::{WIDTH, grouped, span, tables};
use vivarium_reports::timeline::timeline;
use vivarium_reports::violation::violation_report;

#[test]
fn a_catalogue_that_held() {
    insta::assert_snapshot!(tables(&[held()], WIDTH));
}

#[test]
fn several_scenarios_with_a_violation_an_unreached_mark_and_an_error() {
    let text = tables(&[held(), short(), violated(), failed()], WIDTH);
    insta::assert_snapshot!(text);
}

#[test]
fn many_scenarios_still_fit_the_width() {
    let numbered = |number| ScenarioReport { scenario: format!("scenario-{number}"), ..held() };
    let text = tables(&(1..=12).map(numbered).collect::<Vec<_>>(), WIDTH);
    // The overview, and three groups of scenarios with two tables each.
    assert_eq!(text.matches("\n\n").count(), 6, "{text}");
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(usize::from(WIDTH)), "{text}");
}

#[test]
fn an_inconclusive_search_never_looks_like_success() {
    let verdict = Verdict::Bounded { by: "1 hour".into(), states: 12, frontier: 5 };
    let text = tables(&[ScenarioReport { verdict, ..held() }], WIDTH);
    assert!(text.contains("INCONCLUSIVE"), "{text}");
    assert!(
        text.contains("lock: inconclusive: stopped by 1 hour after 12 states, 5 left"),
        "{text}"
    );
    assert!(!text.contains("held"), "{text}");
}

#[test]
fn a_timeline() {
    insta::assert_snapshot!(timeline(&trace()));
}

#[test]
fn a_violation() {
    insta::assert_snapshot!(violation_report(&finding()));
}

#[test]
fn a_violation_whose_case_could_not_be_written_says_so() {
    let mut finding = finding();
    let sentence = "the case file `cases/x.json` cannot be written: disk full";
    finding.case_file = Some(Err(sentence.into()));
    let text = violation_report(&finding);
    assert!(text.contains(&format!("case file  none: {sentence}")), "{text}");
    finding.case_file = None;
    assert!(!violation_report(&finding).contains("case file"));
}

#[test]
fn json_for_machines() {
    let text = json_report(&[held(), short(), violated(), failed()]);
    serde_json::from_str::<serde_json::Value>(&text).expect("a JSON document");
    insta::assert_snapshot!(text);
}

#[test]
fn junit_for_ci_servers() {
    insta::assert_snapshot!(junit_report(&[held(), short(), violated(), failed()]));
}

#[test]
fn numbers_are_grouped_by_threes() {
    let numbers = [0, 12, 999, 1_000, 12_345, 1_234_567].map(grouped);
    assert_eq!(numbers, ["0", "12", "999", "1,000", "12,345", "1,234,567"]);
}

#[test]
fn spans_have_two_units() {
    let spans = [0, 850, 12_599, 200_000, 18_120_000, 3_650_000_000]
        .map(|milliseconds| span(Duration::from_millis(milliseconds)));
    assert_eq!(spans, ["0 ms", "850 ms", "12.5 s", "3 min 20 s", "5 h 2 min", "42 d 5 h"]);
}

#[test]
fn a_determinism_check_names_the_first_differing_step() {
    let same = DeterminismReport {
        scenario: "lock".into(),
        seeds: 1_000,
        compared: "under madsim and direct".into(),
        difference: None,
    };
    let difference = Difference {
        seed: 17,
        step: 204,
        says: "madsim: 0.314000s timer: client 1 Read\ndirect: 0.314000s server 2: log fsync"
            .into(),
    };
    let differs = DeterminismReport { difference: Some(difference), ..same.clone() };
    assert_eq!(exit_code(std::slice::from_ref(&same)), 0);
    let both = [same, differs];
    assert_eq!(exit_code(&both), 1);
    insta::assert_snapshot!(determinism_text(&both) + &determinism_json(&both));
}
