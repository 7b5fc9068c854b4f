//! What the runs of a scenario covered.

use vivarium_reports::covered::{AwaitCounts, Coverage, coverage_json, coverage_text};
use vivarium_reports::summary::Count;

fn coverage() -> Coverage {
    let of = |places: &[&str], answered, lost, dropped| AwaitCounts {
        places: places.iter().map(|place| place.to_string()).collect(),
        answered,
        lost,
        dropped,
        ..AwaitCounts::default()
    };
    Coverage {
        scenario: "shop with NoGuid".into(),
        seeds: 1_200,
        violating: 3,
        steps: 4_812_345,
        awaits: vec![
            of(&["src/shop.rs:12", "src/shop.rs:40"], 12_345, 67, 0),
            of(&["src/shop.rs:18"], 8, 0, 1_000),
            of(&[], 1, 0, 0),
        ],
        marks: vec![Count::new("sync by DIFF", 4), Count::new("sync by TRUNC", 0)],
        faults: vec![Count::new("crash", 31), Count::new("partition", 4_000)],
        events: vec![
            Count::new("left role", 0),
            Count::new("proposed", 0),
            Count::new("replied", 9),
        ],
    }
}

/// Rows of numbers with the place behind them and the callers below; counts with the most frequent first, and what never
/// happened in one line.
#[test]
fn awaits_are_rows_and_counts_are_lists() {
    insta::assert_snapshot!(coverage_text(&coverage()));
}

#[test]
fn a_scenario_without_awaits_says_so() {
    let text = coverage_text(&Coverage { awaits: Vec::new(), violating: 0, ..coverage() });
    assert!(text.contains("Awaits of programs: none was reached."), "{text}");
    assert!(!text.contains("violated"), "{text}");
}

#[test]
fn counts_of_a_document_are_objects() {
    let document: serde_json::Value =
        serde_json::from_str(&coverage_json(&[coverage()])).expect("it is JSON");
    assert_eq!(document["format"], "vivarium-coverage");
    let scenario = &document["scenarios"][0];
    assert_eq!(scenario["marks"]["sync by TRUNC"], 0);
    assert_eq!(scenario["awaits"][0]["places"][1], "src/shop.rs:40");
    assert_eq!(scenario["awaits"][0]["lost"], 67);
}

#[test]
fn awaits_without_a_fault_are_named() {
    let coverage = coverage();
    let never_lost = coverage.awaits_without(|counts| counts.lost);
    assert_eq!(never_lost.len(), 2);
    assert_eq!(never_lost[0].places, ["src/shop.rs:18"]);
}
