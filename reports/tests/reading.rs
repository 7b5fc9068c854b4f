//! Reports that are read back: nothing that a merge or a reader needs is lost, and other files are refused.

mod common;

use common::{failed, held, short, violated};
use std::path::Path;
use vivarium_reports::json::json_report;
use vivarium_reports::junit::junit_report;
use vivarium_reports::reading::from_text;
use vivarium_reports::table::{WIDTH, count_tables, overview};
use vivarium_reports::violation::violation_report;

#[test]
fn a_report_that_was_read_is_written_and_printed_as_it_was() {
    let reports = [held(), short(), violated(), failed()];
    let text = json_report(&reports);
    let read = from_text(Path::new("a.json"), &text).expect("it was just written").scenarios;
    assert_eq!(json_report(&read), text);
    assert_eq!(overview(&read, WIDTH), overview(&reports, WIDTH));
    assert_eq!(count_tables(&read, WIDTH), count_tables(&reports, WIDTH));
    assert_eq!(junit_report(&read), junit_report(&reports));
    let violations = |reports: &[_]| -> Vec<String> {
        let report = |report: &vivarium_reports::summary::ScenarioReport| {
            report.finding.as_ref().map(violation_report)
        };
        reports.iter().filter_map(report).collect()
    };
    assert_eq!(violations(&read), violations(&reports));
}

#[test]
fn files_that_are_no_reports() {
    let refused =
        |text: &str| from_text(Path::new("a.json"), text).expect_err("no report").to_string();
    assert_eq!(
        refused(" \n"),
        "the report `a.json` is empty: the run that should have written it did not end"
    );
    assert!(refused("hello").starts_with("`a.json` is not a report: it is not JSON ("));
    let whole = json_report(&[held()]);
    assert!(refused(&whole[..300]).starts_with("the report `a.json` is truncated: "));
    let foreign = "`a.json` is JSON, but not a report of `vivarium run --json`: it should say \
                   \"format\": \"vivarium-report\", but ";
    assert_eq!(refused("[]"), format!("{foreign}it is not a JSON object"));
    assert_eq!(refused("{}"), format!("{foreign}it does not"));
    assert_eq!(
        refused("{\"format\": \"vivarium-exploration\"}"),
        format!("{foreign}it says \"vivarium-exploration\"")
    );
    assert_eq!(
        refused(&whole.replace("\"version\": 2", "\"version\": 3")),
        "the report `a.json` has version 3, but this build of Vivarium reads version 2: merge it with the build that \
         wrote it"
    );
    let older = whole.replace("\"asked_seeds\": 20000,\n", "");
    let sentence = refused(&older);
    let damaged = "the report `a.json` is damaged, or of an older build: ";
    assert!(sentence.starts_with(&format!("{damaged}missing field `asked_seeds`")), "{sentence}");
    let sentence =
        refused(&whole.replace("\"first_seed\": 0", "\"first_seed\": 18446744073709551615"));
    assert_eq!(sentence, format!("{damaged}`lock`: its seeds or its shard are impossible"));
    let sentence = refused(&whole.replace("\"verdict\": \"held\"", "\"verdict\": \"violated\""));
    let does_not_fit = "`lock`: the verdict `violated` does not fit the other fields";
    assert_eq!(sentence, format!("{damaged}{does_not_fit}"));
}
