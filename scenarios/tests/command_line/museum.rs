//! `vivarium museum`: its table, its check, and what it refuses.

use super::{refused, vivarium};
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn a_row_has_the_issue_the_releases_and_what_finds_the_defect() {
    let outcome = vivarium(&["museum", "NoGuid", "ZOOKEEPER-4646", "--json"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let mut rows: Value = serde_json::from_str(&outcome.stdout).expect("it is JSON");
    for row in rows.as_array_mut().expect("a list") {
        assert!(row["seconds"].take().as_f64().is_some_and(|seconds| seconds > 0.0));
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&rows).expect("it is JSON"));
}

#[test]
fn the_table_has_whole_names_and_what_others_have_published() {
    let outcome = vivarium(&["museum", "NewLeaderAckedBeforeFsync", "AcksOutliveReconnect"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let line = |name: &str| {
        let line = outcome.stdout.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("{name} in full:\n{}", outcome.stdout)).to_owned()
    };
    let row = line("NewLeaderAckedBeforeFsync ");
    assert!(row.contains(" 4646 ") && row.contains(" S12 ") && row.contains(" churn"), "{row}");
    let row = line("AcksOutliveReconnect ");
    assert!(row.contains(" all ") && row.contains(" S3 ") && row.contains(" search"), "{row}");
    let published = "NewLeaderAckedBeforeFsync: 109 s, 2,880,498 states, 21 steps (Ouyang et al., ";
    line(published);
}

#[test]
fn a_row_of_json_has_the_command_that_shows_it_again() {
    let outcome = vivarium(&["museum", "4643", "AcksOutliveReconnect", "--json"]);
    let rows: Value = serde_json::from_str(&outcome.stdout).expect("it is JSON");
    let rows = rows.as_array().expect("a list");
    assert_eq!(rows.len(), 2, "{rows:?}");
    let [swept, searched] = [&rows[0], &rows[1]];
    assert_eq!((&swept["tracker"], &swept["engine"]), (&4643.into(), &"sweep".into()));
    assert_eq!(swept["published"]["states"], 208_018);
    assert_eq!(swept["releases"], "3.5.10, 3.6.3–3.8.4, 3.9.0–3.9.1");
    let seed = swept["seed"].as_u64().expect("a seed");
    assert_eq!(swept["again"], format!("vivarium replay churn --seed {seed} --bug EpochBeforeLog"));
    assert_eq!((&searched["seed"], &searched["found"]), (&Value::Null, &true.into()));
    let again = searched["again"].as_str().expect("a command");
    assert!(again.starts_with("vivarium explore broadcast --servers 2"), "{again}");
}

#[test]
fn a_release_shows_the_defects_that_it_has() {
    let outcome = vivarium(&["museum", "4643", "4925", "--release", "3.9.3", "--json"]);
    let rows: Value = serde_json::from_str(&outcome.stdout).expect("it is JSON");
    let rows = rows.as_array().expect("a list");
    assert!(rows.iter().all(|row| row["tracker"] == 4925) && rows.len() == 1, "{rows:?}");
}

/// One seed is too few for one of the two, so the check must fail, and say what was not found.
#[test]
fn a_check_fails_for_an_exhibit_that_is_not_found_within_its_budget() {
    let names = ["museum", "SyncSkipsCommittedLog", "DiffAckedUnlogged", "--check"];
    let passed = vivarium(&names);
    assert_eq!(passed.code, Some(0), "{}", passed.stdout);
    assert!(passed.stdout.starts_with("2 of 2 exhibits are found ("), "{}", passed.stdout);
    let failed = vivarium(&[&names[..], &["--seeds", "1"]].concat());
    assert_eq!(failed.code, Some(1), "{}", failed.stdout);
    let lines: Vec<&str> = failed.stdout.lines().collect();
    let missed = "not found: churn with SyncSkipsCommittedLog: no violation in seeds 57..58";
    assert_eq!(lines[0], missed);
    assert!(lines[1].starts_with("1 of 2 exhibits are found ("), "{}", failed.stdout);
}

#[test]
fn what_is_no_exhibit_is_refused() {
    assert_eq!(refused(&["museum", "NoGid"]), "unknown exhibit `NoGid`: did you mean `NoGuid`?");
    assert_eq!(
        refused(&["museum", "1234567"]),
        "unknown exhibit `1234567`: `vivarium museum --all` lists what there is"
    );
    assert_eq!(
        refused(&["museum", "NoGuid", "--release", "3.9.5"]),
        "3.9.5 has none of these defects: `vivarium list 3.9.5` names those that it has"
    );
    assert_eq!(
        refused(&["museum", "--release", "repaired"]),
        "HEAD repaired has no defect to show: give another release"
    );
    assert_eq!(refused(&["museum", "--seeds", "0"]), "`--seeds 0` is not a number of seeds");
    assert_eq!(
        refused(&["museum", "--all", "NoGuid"]),
        "`--all` and `[NAME]...` do not go together: leave out one of them"
    );
}

/// After a change of the tables: `vivarium museum --page > scenarios/guide/which-zookeeper.md`.
#[test]
fn the_page_in_the_guide_is_what_the_command_prints() {
    let outcome = vivarium(&["museum", "--page"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("guide/which-zookeeper.md");
    let file = fs::read_to_string(file).expect("it is there");
    for (number, (printed, kept)) in (1..).zip(outcome.stdout.lines().zip(file.lines())) {
        assert_eq!(printed, kept, "line {number}");
    }
    assert_eq!(outcome.stdout, file);
    for release in vivarium_model::release::Release::ALL.into_iter().filter_map(|it| it.number()) {
        assert!(file.contains(&format!("\n## {release}\n")), "{release}");
    }
}
