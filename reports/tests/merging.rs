//! Merged reports equal the report of the whole; reports that do not fit together are refused with one sentence.

mod common;

use common::{finding, held, violation};
use proptest::prelude::*;
use serde_json::Value;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Measure;
use vivarium_model::verdict::{Verdict, Violation};
use vivarium_reports::json::json_report;
use vivarium_reports::junit::junit_report;
use vivarium_reports::markdown::markdown_report;
use vivarium_reports::merging::{MergeError, merge};
use vivarium_reports::reading::{ReadReport, from_text};
use vivarium_reports::summary::{Count, Finding, Merged, ScenarioReport, Shard};
use vivarium_reports::table::{WIDTH, count_tables, overview};
use vivarium_reports::violation::violation_report;

/// A sweep of made-up runs, whose results are functions of their seeds.
#[derive(Clone, Debug)]
struct Sweep {
    whole: Range<u64>,
    /// The seeds that end with a violation.
    violating: Vec<u64>,
    /// The seeds that reach the rare mark.
    reaching: Vec<u64>,
    keep_going: bool,
    demands_marks: bool,
}

impl Sweep {
    /// Sweeps a part as a simulator would.
    fn run(&self, part: Range<u64>) -> ScenarioReport {
        let mut report = ScenarioReport {
            seeds: 0,
            first_seed: part.start,
            asked: part.end - part.start,
            steps: 0,
            simulated: Duration::ZERO,
            hash: Fingerprint::default(),
            faults: Count::list([("crash", 0), ("one-way partition", 0)]),
            marks: Count::list([("sync by DIFF", 0), ("sync by SNAP", 0)]),
            requests: 0,
            observed: Vec::new(),
            measured: Vec::new(),
            kept_going: self.keep_going,
            demands_marks: self.demands_marks,
            verdict: Verdict::Held { seeds: 0, unreached: Vec::new() },
            ..held()
        };
        for seed in part {
            self.count(seed, &mut report);
            if report.finding.is_some() && !self.keep_going {
                break;
            }
        }
        report.judge();
        let title = report.title_with_rate();
        report.finding.iter_mut().for_each(|finding| finding.scenario.clone_from(&title));
        report
    }

    fn count(&self, seed: u64, report: &mut ScenarioReport) {
        report.seeds += 1;
        report.steps += 100 + seed;
        report.simulated += Duration::from_micros(1_234_567 + seed);
        report.hash.add(Fingerprint::of(&seed));
        report.requests += seed % 3;
        report.faults[0].count += seed % 2;
        report.marks[0].count += 1;
        report.marks[1].count += u64::from(self.reaching.contains(&seed));
        if seed % 4 == 1 {
            count(&mut report.observed, "released");
        }
        if seed % 4 == 2 {
            count(&mut report.observed, "granted");
        }
        report.observed.sort_by(|one, other| one.name.cmp(&other.name));
        let measured = [
            Measure::most("woken", seed % 7),
            Measure::count("woken", 1),
            Measure::total("waited", Duration::from_nanos(seed + 1)),
            Measure::longest("overlap", Duration::from_micros(seed)),
        ];
        Measure::add_all(&mut report.measured, &measured[(seed % 3) as usize..]);
        if self.violating.contains(&seed) {
            report.violations += 1;
            if report.finding.is_none() {
                let violation = Violation { seed: Some(seed), ..violation() };
                report.verdict = Verdict::Violated(Box::new(violation.clone()));
                report.finding = Some(Finding { violation, ..finding() });
            }
        }
    }

    fn shards(&self, count: u64) -> Vec<ScenarioReport> {
        let seeds = self.whole.end - self.whole.start;
        let at = |parts: u64| self.whole.start + parts * seeds / count;
        let shard = |index| {
            let mut report = self.run(at(index - 1)..at(index));
            let first_seed = self.whole.start;
            report.shard = Some(Shard { index, count, first_seed, seeds });
            report.judge();
            report
        };
        (1..=count).map(shard).collect()
    }
}

fn count(counts: &mut Vec<Count>, name: &str) {
    match counts.iter_mut().find(|count| count.name == name) {
        Some(count) => count.count += 1,
        None => counts.push(Count::new(name, 1)),
    }
}

/// Writes each report as JSON and reads it back, with a file name of its own.
fn read(reports: &[ScenarioReport]) -> Vec<ReadReport> {
    let read = |(at, report): (usize, &ScenarioReport)| {
        let text = json_report(std::slice::from_ref(report));
        from_text(Path::new(&format!("{}.json", at + 1)), &text).expect("it was just written")
    };
    reports.iter().enumerate().map(read).collect()
}

fn refused(reports: &[ScenarioReport]) -> String {
    merge(&read(reports)).expect_err("it does not fit together").to_string()
}

/// Returns the JSON report without real time and without what a merge adds.
fn comparable(report: &ScenarioReport) -> Value {
    let text = json_report(std::slice::from_ref(report));
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    let scenario = document["scenarios"][0].as_object_mut().expect("an object");
    scenario.remove("wall_seconds");
    scenario.remove("merged");
    document
}

fn sweeps() -> impl Strategy<Value = Sweep> {
    let seeds = || prop::collection::vec(0..60_u64, 0..5);
    (0..20_u64, 1..60_u64, seeds(), seeds(), any::<bool>(), any::<bool>()).prop_map(
        |(first, length, violating, reaching, keep_going, demands_marks)| Sweep {
            whole: first..first + length,
            violating,
            reaching,
            keep_going,
            demands_marks,
        },
    )
}

proptest! {
    #[test]
    fn merged_shards_equal_the_whole(sweep in sweeps(), count in 1..70_u64, shuffle in any::<u64>()) {
        let whole = sweep.run(sweep.whole.clone());
        let mut shards = sweep.shards(count);
        let ran: u64 = shards.iter().map(|shard| shard.seeds).sum();
        shards.sort_by_key(|shard| Fingerprint::of(&(shuffle, shard.shard.map(|shard| shard.index))));
        let merged = merge(&read(&shards)).expect("they are all there");
        prop_assert_eq!(merged.len(), 1);
        prop_assert_eq!(comparable(&merged[0]), comparable(&whole));
        let tables = |report: &ScenarioReport| count_tables(std::slice::from_ref(report), WIDTH);
        prop_assert_eq!(tables(&merged[0]), tables(&whole));
        let texts = |report: &ScenarioReport| report.finding.as_ref().map(violation_report);
        prop_assert_eq!(texts(&merged[0]), texts(&whole));
        let made = merged[0].merged.clone().expect("it was merged");
        prop_assert_eq!(made.reports, count);
        prop_assert_eq!(made.uncounted_seeds, ran - whole.seeds);
        if made.uncounted_seeds == 0 {
            let overview = |report: &ScenarioReport| overview(std::slice::from_ref(report), WIDTH);
            prop_assert_eq!(overview(&merged[0]), overview(&whole));
        }
    }

    /// A range that is swept part by part, on different days.
    #[test]
    fn ranges_that_adjoin_equal_the_whole(sweep in sweeps(), cuts in prop::collection::vec(0..60_u64, 0..4)) {
        let sweep = Sweep { demands_marks: false, ..sweep };
        let mut ends: Vec<u64> = cuts.into_iter().filter(|cut| sweep.whole.contains(cut)).collect();
        ends.extend([sweep.whole.start, sweep.whole.end]);
        ends.sort_unstable();
        ends.dedup();
        let parts: Vec<ScenarioReport> =
            ends.windows(2).rev().map(|pair| sweep.run(pair[0]..pair[1])).collect();
        let merged = merge(&read(&parts)).expect("they adjoin");
        prop_assert_eq!(comparable(&merged[0]), comparable(&sweep.run(sweep.whole.clone())));
    }

    /// Merging in two stages gives the same as merging at once.
    #[test]
    fn merged_reports_can_be_merged(sweep in sweeps(), cut in 1..60_u64) {
        let cut = (sweep.whole.start + cut).min(sweep.whole.end);
        let sweep = Sweep { demands_marks: false, ..sweep };
        let mut halves = Vec::new();
        for half in [sweep.whole.start..cut, cut..sweep.whole.end] {
            if !half.is_empty() {
                let part = Sweep { whole: half, ..sweep.clone() };
                halves.extend(merge(&read(&part.shards(3))).expect("they are all there"));
            }
        }
        let merged = merge(&read(&halves)).expect("they adjoin");
        prop_assert_eq!(comparable(&merged[0]), comparable(&sweep.run(sweep.whole.clone())));
        prop_assert_eq!(merged[0].merged.as_ref().map(|made| made.reports), Some(3 * halves.len() as u64));
    }

    /// A damaged report is refused or merged, and never a panic.
    #[test]
    fn damaged_reports_do_not_panic(
        sweep in sweeps(), at in any::<prop::sample::Index>(), by in "[0-9\"{}\\[\\],-]{0,20}",
    ) {
        let mut text = json_report(&sweep.shards(2)[1..]);
        let at = at.index(text.len());
        if text.is_char_boundary(at) && text.is_char_boundary(at + 1) {
            text.replace_range(at..=at, &by);
        }
        if let Ok(damaged) = from_text(Path::new("damaged.json"), &text) {
            let first = read(&sweep.shards(2)[..1]);
            if let Ok(merged) = merge(&[first, vec![damaged]].concat()) {
                let _ = (overview(&merged, WIDTH), junit_report(&merged), markdown_report(&merged));
            }
        }
    }
}

fn sweep(seeds: u64) -> Sweep {
    Sweep {
        whole: 0..seeds,
        violating: Vec::new(),
        reaching: vec![3],
        keep_going: false,
        demands_marks: true,
    }
}

#[test]
fn a_shard_does_not_judge_what_others_may_reach_and_the_merge_does() {
    let rare = sweep(8);
    let shards = rare.shards(4);
    for shard in &shards {
        assert_eq!(shard.verdict, Verdict::Held { seeds: 2, unreached: Vec::new() });
    }
    let text = overview(&shards[3..], WIDTH);
    assert!(
        text.contains("\nshard 4 of 4: `vivarium merge` of the JSON reports of all shards"),
        "{text}"
    );
    assert!(!text.contains("never struck") && !text.contains("reach:"), "{text}");
    assert_eq!(merge(&read(&shards)).expect("all are there")[0].verdict.exit_code(), 0);

    let never = Sweep { reaching: Vec::new(), ..rare };
    let merged = merge(&read(&never.shards(4))).expect("all are there");
    let missing = vec!["sync by SNAP".to_string()];
    assert_eq!(merged[0].verdict, Verdict::Unreached { seeds: 8, unreached: missing });
    // Nor do programs that made no observation at all make a property tested.
    let silent = sweep(2).run(0..2);
    assert_eq!(silent.observed.len(), 1, "seed 1 only");
    let text = merge(&read(&sweep(2).shards(2))).expect("all are there")[0].verdict.to_string();
    assert!(text.ends_with("did not reach: sync by SNAP, an observation `granted`"), "{text}");
}

#[test]
fn a_shard_without_seeds_says_so() {
    let shards = sweep(2).shards(3);
    let empty = shards.iter().find(|shard| shard.asked == 0).expect("3 parts of 2 seeds");
    let text = overview(std::slice::from_ref(empty), WIDTH);
    assert!(text.contains("without seeds") && !text.contains("held"), "{text}");
    assert!(
        junit_report(std::slice::from_ref(empty)).contains("<skipped message=\"this shard has no")
    );
    let mut read_back = read(std::slice::from_ref(empty));
    assert_eq!(read_back.remove(0).scenarios[0].verdict.exit_code(), 0);
}

#[test]
fn a_violation_after_which_other_shards_ran_is_the_first_and_the_rest_is_named() {
    let twice = Sweep { violating: vec![5, 9, 14], ..sweep(16) };
    let merged = merge(&read(&twice.shards(4))).expect("all are there");
    assert_eq!(merged[0].seeds, 6);
    let made = merged[0].merged.as_ref().expect("it was merged");
    assert_eq!((made.uncounted_seeds, made.uncounted_violations), (5, 2));
    let text = overview(&merged, WIDTH);
    let sentence = "lock: a single sweep stops at this violation, so 5 seeds after it, which other shards ran, are not \
                    in these numbers; 2 of them violated a property";
    assert!(text.contains(sentence), "{text}");
    let went_on = Sweep { keep_going: true, ..twice };
    let merged = merge(&read(&went_on.shards(4))).expect("all are there");
    assert_eq!(merged[0].rate().as_deref(), Some("3 of 16 seeds, first 5"));
    assert_eq!(merged[0].merged.as_ref().map(|made| made.uncounted_seeds), Some(0));
}

#[test]
fn an_error_of_a_shard_is_that_of_the_whole_and_a_violation_outranks_it() {
    let failing = |violating| {
        let mut shards = Sweep { violating, ..sweep(8) }.shards(4);
        let error = Verdict::Error("the ensemble has no servers".into());
        let ScenarioReport { first_seed, asked, shard, demands_marks, .. } = shards[2].clone();
        shards[2] = ScenarioReport {
            first_seed,
            asked,
            shard,
            demands_marks,
            verdict: error,
            ..common::failed()
        };
        shards[2].scenario = "lock".into();
        merge(&read(&shards)).expect("all are there").remove(0)
    };
    let merged = failing(vec![]);
    assert_eq!(merged.verdict.to_string(), "error: shard 3 of 4: the ensemble has no servers");
    assert_eq!(merged.verdict.exit_code(), 3);
    let merged = failing(vec![1]);
    assert_eq!(merged.verdict.exit_code(), 1);
    let failed = vec!["shard 3 of 4: the ensemble has no servers".to_string()];
    assert!(matches!(&merged.merged, Some(Merged { failed: own, .. }) if *own == failed));
    let text = overview(&[merged], WIDTH);
    assert!(text.contains("\nlock: not in these numbers: shard 3 of 4: the ensemble"), "{text}");
}

#[test]
fn shards_that_are_missing_or_there_twice() {
    let shards = sweep(16).shards(8);
    let without = |left_out: &[usize]| {
        let kept = shards.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
        refused(&kept.map(|(_, shard)| shard.clone()).collect::<Vec<_>>())
    };
    assert_eq!(without(&[2]), "`lock` lacks shard 3 of 8: run each with `--shard I/8`");
    assert_eq!(without(&[0, 7]), "`lock` lacks the shards 1, 8 of 8: run each with `--shard I/8`");
    let again = [&shards[..], &shards[4..5]].concat();
    assert_eq!(
        refused(&again),
        "`5.json` and `9.json` are both shard 5 of `lock`: leave out one of them"
    );
    let mut endless = shards[0].clone();
    endless.shard = endless.shard.map(|shard| Shard { count: u64::MAX, ..shard });
    let sentence = refused(&[endless]);
    let all_others = "`lock` lacks 18446744073709551614 shards of 18446744073709551615, the first of them shard 2: ";
    assert!(sentence.starts_with(all_others), "{sentence}");
}

#[test]
fn seeds_that_are_missing_or_there_twice() {
    let sweep = Sweep { demands_marks: false, ..sweep(100) };
    let parts = |ranges: &[Range<u64>]| {
        ranges.iter().map(|range| sweep.run(range.clone())).collect::<Vec<_>>()
    };
    assert_eq!(
        refused(&parts(&[0..40, 50..100])),
        "`lock` lacks the seeds 40..50: they are in no report"
    );
    assert_eq!(
        refused(&parts(&[50..100, 0..51])),
        "`2.json` has the seeds 0..51 of `lock` and `1.json` the seeds 50..100: no seed may be in both"
    );
    // Shards that state the right numbers but not the right seeds.
    let mut shards = sweep.shards(4);
    (shards[3].asked, shards[3].seeds) = (24, 24);
    assert_eq!(refused(&shards), "`lock` lacks the seeds 99..100: they are in no report");
    shards[3].asked = 25;
    shards[2].asked = 26;
    assert!(refused(&shards).contains("no seed may be in both"));
}

#[test]
fn sweeps_with_other_settings_are_not_merged() {
    let shards = sweep(16).shards(2);
    let with = |change: fn(&mut ScenarioReport)| {
        let mut shards = shards.clone();
        change(&mut shards[1]);
        let sentence = refused(&shards);
        let what =
            sentence.strip_prefix("`1.json` and `2.json` are not parts of one sweep of `lock`: ");
        let what = what.unwrap_or_else(|| panic!("{sentence}"));
        what.strip_suffix("; merge only parts of one sweep").expect("the advice").to_string()
    };
    assert_eq!(with(|it| it.bugs = vec!["NoGuid".into()]), "bugs none and NoGuid");
    assert_eq!(with(|it| it.host = "direct".into()), "hosts madsim and direct");
    assert_eq!(with(|it| it.kept_going = true), "`--keep-going` left out and given");
    assert_eq!(with(|it| it.shard = None), "parts 2 shards of the seeds 0..16 and no shards");
    assert_eq!(
        with(|it| it.shard = it.shard.map(|shard| Shard { count: 3, ..shard })),
        "parts 2 shards of the seeds 0..16 and 3 shards of the seeds 0..16"
    );
    assert_eq!(
        with(|it| it.shard = it.shard.map(|shard| Shard { seeds: 17, ..shard })),
        "parts 2 shards of the seeds 0..16 and 2 shards of the seeds 0..17"
    );
    assert_eq!(
        with(|it| it.demands_marks = false),
        "seeds the scenario's own and given by `--seeds`"
    );
    let names = "faults crash, one-way partition and crash";
    assert_eq!(with(|it| _ = it.faults.pop()), names);
    let mut read = read(&shards);
    read[1].build = "0.2.0".into();
    assert!(matches!(merge(&read), Err(MergeError::OtherBuild { .. })));
}
