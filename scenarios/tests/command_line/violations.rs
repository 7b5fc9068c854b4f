//! What users see of a violation: its report, its case file, its smallest run, and its explanation.

use super::{command, directory, refused, refused_in, vivarium_in};
use std::fs;
use std::path::Path;

#[test]
fn a_sweep_that_keeps_going_counts_the_violating_seeds() {
    let directory = directory("keep-going");
    let words =
        ["run", "lock", "--bug", "NoGuid", "--seeds", "60", "--host", "direct", "--minimise", "0"];
    let report = |more: &[&str]| {
        let outcome = vivarium_in(&directory, &[&words[..], &["--json"], more].concat());
        assert_eq!(outcome.code, Some(1), "{}{}", outcome.stdout, outcome.stderr);
        let document: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
        document["scenarios"][0].clone()
    };
    let (first, all) = (report(&[]), report(&["--keep-going"]));
    assert_eq!(first["violation"], all["violation"], "the first one is reported");
    assert_eq!((&first["violations"], &first["kept_going"]), (&1.into(), &false.into()));
    assert_eq!((&all["seeds"], &all["kept_going"]), (&60.into(), &true.into()));
    let violations = all["violations"].as_u64().expect("a number");
    assert!(violations > 1, "{all}");

    // The case of the runs above is a regression now, whose replay comes first.
    let directory = self::directory("keeps-going");
    let outcome = vivarium_in(&directory, &[&words[..], &["--keep-going"]].concat());
    let seed = &all["violation"]["seed"];
    let rate = format!("lock with NoGuid ({violations} of 60 seeds, first {seed})");
    assert!(outcome.stdout.starts_with(&format!("VIOLATED: {rate}\n")), "{}", outcome.stdout);
    assert!(outcome.stdout.contains(&format!("\n{rate}: violated lock M")), "{}", outcome.stdout);
    let sentence = refused(&["run", "lock", "--keep-going", "--check-determinism"]);
    assert!(sentence.ends_with("do not go together: leave out one of them"), "{sentence}");
}

/// Returns the value after a name in the report of a violation.
fn field<'a>(report: &'a str, name: &str) -> &'a str {
    let lines = report.lines().filter_map(|line| line.strip_prefix("  ")?.strip_prefix(name));
    lines.map(str::trim).next().unwrap_or_else(|| panic!("no {name} in\n{report}"))
}

#[test]
fn a_violation_comes_with_its_case_and_both_replays_give_the_same_run() {
    let directory = directory("violation");
    let words = ["run", "lock", "--bug", "NoGuid", "--seeds", "2000", "--minimise", "0"];
    let found = vivarium_in(&directory, &words);
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    let (hash, seed) = (field(&found.stdout, "hash"), field(&found.stdout, "seed"));
    assert!(field(&found.stdout, "property").starts_with("lock M"), "{}", found.stdout);
    assert!(found.stdout.contains("The last "), "{}", found.stdout);

    let replay = field(&found.stdout, "replay");
    let expected = format!(" replay lock --seed {seed} --bug NoGuid");
    assert!(replay.ends_with(&expected), "{replay}");
    let words: Vec<&str> = expected.split_whitespace().collect();
    let by_seed = vivarium_in(&directory, &words);
    assert_eq!(by_seed.code, Some(1));
    assert_eq!(field(&by_seed.stdout, "hash"), hash);

    let file = field(&found.stdout, "case file");
    let by_case = vivarium_in(&directory, &["replay", file, "--timeline=5"]);
    assert_eq!(by_case.code, Some(1), "{}{}", by_case.stdout, by_case.stderr);
    assert_eq!(field(&by_case.stdout, "hash"), hash);
    assert!(by_case.stdout.contains("gave the recorded run: hash "), "{}", by_case.stdout);
    assert!(by_case.stdout.contains("The last 5 steps"), "{}", by_case.stdout);

    truncated_and_foreign_copies(&directory, file);
}

/// The smaller run comes with a script and a case, which later runs replay first.
#[test]
fn a_violation_is_minimised_and_its_case_is_a_regression() {
    let directory = directory("minimised");
    let words = ["run", "lock", "--bug", "NoGuid", "--seeds", "40"];
    let found = vivarium_in(&directory, &words);
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    let script = found.stdout.split("\nMinimised in ").nth(1).expect("it is minimised");
    let sentences = script
        .lines()
        .filter(|line| line.get(..8).is_some_and(|it| it.ends_with(".  ") || it.contains(". ")));
    assert!((5..60).contains(&sentences.count()), "{script}");
    assert!(script.contains("BREAK client"), "{script}");
    let file = field(script, "case file");
    assert!(file.ends_with("-minimised.json"), "{file}");
    let again = vivarium_in(&directory, &["replay", file]);
    assert_eq!(again.code, Some(1), "{}{}", again.stdout, again.stderr);
    assert!(again.stdout.contains("gave the recorded run: hash "), "{}", again.stdout);

    let second = vivarium_in(&directory, &["run", "lock", "--bug", "NoGuid", "--seeds", "1"]);
    assert_eq!(second.code, Some(1), "{}{}", second.stdout, second.stderr);
    assert!(
        second.stdout.starts_with(&format!("regression {file}:\nVIOLATED")),
        "{}",
        second.stdout
    );
    // Without the mutant the case is of another scenario: nothing is replayed.
    let sound = vivarium_in(&directory, &["run", "lock", "--seeds", "1"]);
    assert_eq!(sound.code, Some(0), "{}{}", sound.stdout, sound.stderr);
    assert!(!sound.stdout.contains("regression"), "{}", sound.stdout);
    // Once the mistake is corrected, the same case holds.
    let path = directory.join(file);
    let case = fs::read_to_string(&path).expect("it was written");
    fs::write(directory.join("cases/lock-kept.json"), case.replace("\"NoGuid\"", ""))
        .expect("it is writable");
    let kept = vivarium_in(&directory, &["run", "lock", "--seeds", "1"]);
    assert_eq!(kept.code, Some(0), "{}{}", kept.stdout, kept.stderr);
    let said = "regression cases/lock-kept.json: no longer violates lock M";
    assert!(kept.stdout.starts_with(said), "{}", kept.stdout);
}

/// A violation of the servers' own properties needs no clients: a search of the servers alone finds it.
#[test]
fn a_defect_of_the_servers_is_minimised_to_servers_alone() {
    let directory = directory("servers-alone");
    let words = ["run", "churn", "--bug", "RenameUnsynced", "--seeds", "20"];
    let found = vivarium_in(&directory, &words);
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    let script = found.stdout.split("\nMinimised in ").nth(1).expect("it is minimised");
    let line = script.lines().next().expect("it says how small");
    assert!(line.contains(", 0 clients, and no shorter violation exists."), "{line}");
    let again = vivarium_in(&directory, &["replay", field(script, "case file")]);
    assert_eq!(again.code, Some(1), "{}{}", again.stdout, again.stderr);
    assert!(again.stdout.contains("The recorded violation occurred again."), "{}", again.stdout);
}

/// The share of violating runs rises with a step, which is named.
#[test]
fn an_explanation_names_the_step_of_the_greatest_rise() {
    let directory = directory("explained");
    let words = ["explain", "lock", "--seed", "1", "--bug", "NoGuid", "--runs", "10"];
    let told = vivarium_in(&directory, &words);
    assert_eq!(told.code, Some(0), "{}{}", told.stdout, told.stderr);
    assert!(told.stdout.starts_with("EXPLAINED: lock with NoGuid\n"), "{}", told.stdout);
    assert!(told.stdout.contains("100 %"), "{}", told.stdout);
    assert!(told.stdout.contains("\nThe greatest rise is with step "), "{}", told.stdout);
    let sentence = refused(&["explain", "lock", "--seed", "0", "--bug", "NoGuid"]);
    assert!(sentence.ends_with("its replay violates no property"), "{sentence}");
    let sentence = refused(&["explain", "lock"]);
    assert!(sentence.contains("Give its seed"), "{sentence}");
    assert!(refused(&["explain", "none.json"]).contains("none.json"), "it names the file");
}

/// The command runs at once, and again after a source file has changed.
#[test]
fn a_watch_runs_its_command_again_after_a_change() {
    let directory = directory("watch");
    let source = directory.join("lib.rs");
    fs::write(&source, "// one").expect("it is writable");
    let words = ["watch", ".", "--", "sh", "-c", "echo ran >> runs.txt"];
    let mut watch = command(&directory, &words).spawn().expect("it was built");
    let runs =
        || fs::read_to_string(directory.join("runs.txt")).unwrap_or_default().lines().count();
    let until = |count: usize| {
        for _ in 0..200 {
            if runs() >= count {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("{} runs, not {count}", runs());
    };
    until(1);
    // The watch begins before the first run, so no change is missed.
    fs::write(&source, "// two").expect("it is writable");
    until(2);
    fs::write(directory.join("notes.md"), "no source").expect("it is writable");
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(runs(), 2);
    watch.kill().expect("it runs");
    watch.wait().expect("it was killed");
}

/// Replaces a part of the text, which must exist.
fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "no {from} in {text}");
    text.replace(from, to)
}

/// Copies of a real case: cut short, of a newer version, and of a scenario that does not exist.
fn truncated_and_foreign_copies(directory: &Path, file: &str) {
    let text = fs::read_to_string(directory.join(file)).expect("it was just written");
    let refused_text = |text: &str| {
        fs::write(directory.join("copy.json"), text).expect("the directory is writable");
        refused_in(directory, &["replay", "copy.json"])
    };
    let sentence = refused_text(&text[..text.len() / 2]);
    assert!(sentence.starts_with("the case file `copy.json` is truncated: "), "{sentence}");
    let sentence = refused_text(&replaced(&text, "\"version\": 3", "\"version\": 4"));
    assert!(sentence.contains("has version 4, but this build"), "{sentence}");
    let sentence = refused_text(&text.replace("\"scenario\": \"lock\"", "\"scenario\": \"lokc\""));
    assert_eq!(
        sentence,
        "the case file `copy.json` cannot be replayed: unknown scenario `lokc`: \
         did you mean `lock`?"
    );
}

#[test]
fn a_case_file_that_cannot_be_written_is_a_sentence_in_the_report() {
    let directory = directory("unwritable");
    fs::write(directory.join("cases"), "a file where a directory should be").expect("writable");
    let found = vivarium_in(&directory, &["run", "lock", "--bug", "NoGuid", "--seeds", "2000"]);
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    let sentence = field(&found.stdout, "case file");
    assert!(sentence.starts_with("none: the case file `cases/lock-NoGuid-"), "{sentence}");
    assert!(sentence.contains("cannot be written: "), "{sentence}");
}

/// A case of version 1, which has no grain, is a case of the ensemble grain.
#[test]
fn a_case_of_version_1_replays() {
    let directory = directory("version-1");
    let found = vivarium_in(&directory, &["run", "lock", "--bug", "NoGuid", "--seeds", "2000"]);
    let file = field(&found.stdout, "case file");
    let text = fs::read_to_string(directory.join(file)).expect("it was just written");
    let old = replaced(&text, "\"version\": 3", "\"version\": 1");
    let old = replaced(&old, "\"bugs\":[]", "\"bugs\":0");
    let old = old.replace("  \"grain\": \"Ensemble\",\n", "");
    assert_eq!(old.lines().count() + 1, text.lines().count());
    fs::write(directory.join("old.json"), old).expect("the directory is writable");
    let replayed = vivarium_in(&directory, &["replay", "old.json"]);
    assert_eq!(replayed.code, Some(1), "{}", replayed.stderr);
    assert!(replayed.stdout.contains("gave the recorded run: hash "), "{}", replayed.stdout);
}
