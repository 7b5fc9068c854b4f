//! The reports as a reader sees them.

mod common;

use common::{failed, finding, held, short, trace, violated};
use std::collections::BTreeSet;
use std::time::Duration;
use vivarium_model::verdict::Verdict;
use vivarium_reports::determinism::{
    DeterminismReport, Difference, determinism_json, determinism_text, exit_code,
};
use vivarium_reports::json::json_report;
use vivarium_reports::junit::junit_report;
use vivarium_reports::numbers::{grouped, span};
use vivarium_reports::summary::{Count, ScenarioReport};
use vivarium_reports::table::{WIDTH, conclusion, count_tables, overview};
use vivarium_reports::timeline::timeline;
use vivarium_reports::violation::violation_report;

#[test]
fn a_catalogue_that_held() {
    insta::assert_snapshot!(overview(&[held()], WIDTH));
    assert_eq!(conclusion(&[held()]), "lock held");
    assert_eq!(conclusion(&[held(), held()]), "all 2 scenarios held");
}

#[test]
fn several_scenarios_with_a_violation_an_unreached_mark_and_an_error() {
    let reports = [held(), short(), violated(), failed()];
    insta::assert_snapshot!(overview(&reports, WIDTH));
    let all = "2 of 4 scenarios held, 1 VIOLATED (lock with NoGuid), 1 ERROR (queue)";
    assert_eq!(conclusion(&reports), all);
    assert_eq!(conclusion(&[violated()]), "lock with NoGuid VIOLATED");
}

#[test]
fn what_happened_in_numbers() {
    insta::assert_snapshot!(count_tables(&[held(), short()], WIDTH));
}

#[test]
fn a_fault_that_never_struck_is_named() {
    let never = |count| vec![Count::new("crash", 3), Count::new("cancellation", count)];
    let of = |count| ScenarioReport { faults: never(count), ..held() };
    let text = overview(&[of(0), of(0)], WIDTH);
    assert!(text.ends_with("\nnever struck: cancellation\n"), "{text}");
    let text = overview(&[of(0), of(1)], WIDTH);
    assert!(!text.contains("never struck"), "{text}");
    let stopped = ScenarioReport { faults: never(0), ..violated() };
    assert!(!overview(&[stopped], WIDTH).contains("never struck"), "it had no time for it");
}

#[test]
fn many_scenarios_still_fit_the_width() {
    let numbered = |number| ScenarioReport { scenario: format!("scenario-{number}"), ..held() };
    let reports: Vec<ScenarioReport> = (1..=12).map(numbered).collect();
    let text = count_tables(&reports, WIDTH);
    // Three groups of scenarios with three tables each.
    assert_eq!(text.matches("\n\n").count(), 9, "{text}");
    let text = overview(&reports, WIDTH) + &text;
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(usize::from(WIDTH)), "{text}");
}

#[test]
fn an_inconclusive_search_never_looks_like_success() {
    let verdict = Verdict::Bounded { by: "1 hour".into(), states: 12, frontier: 5 };
    let reports = [ScenarioReport { verdict, ..held() }];
    assert_eq!(conclusion(&reports), "lock INCONCLUSIVE");
    let text = overview(&reports, WIDTH);
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

/// The fields that the tables in the docs of [`vivarium_reports::json`] list, table by table.
fn documented_fields() -> Vec<BTreeSet<String>> {
    let source = include_str!("../src/json.rs");
    let docs: Vec<&str> = source.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let tables = docs.split(|line| !line.starts_with(" |")).filter(|table| table.len() > 2);
    let names = |line: &&str| {
        let column = line.split('|').nth(1).unwrap_or_default().to_string();
        column.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>()
    };
    tables.map(|table| table.iter().skip(2).flat_map(names).collect()).collect()
}

#[test]
fn the_documented_fields_are_those_of_the_document() {
    let text = json_report(&[violated()]);
    let document: serde_json::Value = serde_json::from_str(&text).expect("a JSON document");
    let scenario = &document["scenarios"][0];
    let fields = |object: &serde_json::Value| -> BTreeSet<String> {
        object.as_object().expect("an object").keys().cloned().collect()
    };
    let written = [&document, scenario, &scenario["violation"]].map(fields);
    assert_eq!(documented_fields(), written);
}

#[test]
fn a_sweep_that_went_on_tells_its_rate() {
    let stopped = violated();
    assert_eq!(stopped.rate(), None);
    let went_on = ScenarioReport { kept_going: true, violations: 37, seeds: 2_000, ..violated() };
    assert_eq!(went_on.title_with_rate(), "lock with NoGuid (37 of 2,000 seeds, first 42)");
    let text = overview(&[went_on], WIDTH);
    assert!(text.contains("\nlock with NoGuid (37 of 2,000 seeds, first 42): violated"), "{text}");
    assert_eq!(ScenarioReport { kept_going: true, ..held() }.rate(), None);
}

/// Nothing is left out; what cannot be broken stands by itself.
#[test]
fn lines_of_a_timeline_are_broken_at_160_columns() {
    let text = violation_report(&finding());
    let lines = text.lines().skip_while(|line| !line.starts_with("What happened:"));
    let long: Vec<&str> = lines.filter(|line| line.chars().count() > 160).collect();
    assert!(long.iter().all(|line| line.split_whitespace().count() == 1), "{long:?}");
    assert!(!long.is_empty() && !text.contains('…'), "{text}");
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
