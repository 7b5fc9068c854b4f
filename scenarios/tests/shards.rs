//! Sweeps in shards: merged reports equal that of one run, and the files under `scenarios/ci` use commands that exist.
#![cfg(feature = "cli")]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use vivarium::prelude::*;

/// Creates an empty directory for a test.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shards").join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("cargo's directory is writable");
    path
}

fn vivarium(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vivarium"));
    command.args(arguments).current_dir(directory).env_remove("CARGO");
    command.output().expect("the binary was built")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("reports are text")
}

/// Runs a command that must be refused in one sentence; returns the sentence.
fn refused(directory: &Path, arguments: &[&str]) -> String {
    let output = vivarium(directory, arguments);
    assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", text(&output.stdout));
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    let sentence = text(&output.stderr).trim_end().strip_prefix("error: ").map(str::to_string);
    sentence.unwrap_or_else(|| panic!("{arguments:?}: {}", text(&output.stderr)))
}

/// Runs the shards, and returns the names of their reports.
fn shards(directory: &Path, arguments: &[&str], count: usize) -> Vec<String> {
    let run = |index: usize| {
        let shard = format!("{index}/{count}");
        let output = vivarium(directory, &[arguments, &["--json", "--shard", &shard]].concat());
        let name = format!("{index}.json");
        fs::write(directory.join(&name), &output.stdout).expect("the directory is writable");
        name
    };
    (1..=count).map(run).collect()
}

fn merged(directory: &Path, reports: &[String], arguments: &[&str]) -> Output {
    let reports: Vec<&str> = reports.iter().map(String::as_str).collect();
    vivarium(directory, &[&["merge"], &reports[..], arguments].concat())
}

/// Returns the report without its last line, which has the real time.
fn untimed(output: &Output) -> Vec<&str> {
    let mut lines: Vec<&str> = text(&output.stdout).lines().collect();
    lines.pop();
    lines
}

/// Returns the JSON report without real time and without what a merge adds.
fn comparable(output: &Output) -> Value {
    let mut document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for scenario in document["scenarios"].as_array_mut().expect("an array") {
        let scenario = scenario.as_object_mut().expect("an object");
        assert!(scenario.remove("wall_seconds").is_some() && scenario.remove("merged").is_some());
    }
    document
}

/// Compares eight merged shards with one run: the exit code, the tables with the hashes of all runs, and the JSON
/// report.
fn assert_equal_to_the_whole(test: &str, arguments: &[&str]) {
    let directory = directory(test);
    // A minimised run depends on the time that it took.
    let arguments = &[&["run", "--host", "direct", "--minimise", "0"], arguments].concat()[..];
    let reports = shards(&directory, arguments, 8);
    let alone = self::directory(&format!("{test}-alone"));
    for (form, added) in
        [("--tables", "a single sweep stops at this violation, so "), ("--json", "")]
    {
        // The cases of the shards are no regressions there.
        let whole = vivarium(&alone, &[arguments, &[form]].concat());
        let merged = merged(&directory, &reports, &[form]);
        assert_eq!(whole.status.code(), merged.status.code(), "{}", text(&merged.stderr));
        if form == "--json" {
            assert_eq!(comparable(&merged), comparable(&whole));
        } else {
            let mut lines = untimed(&merged);
            lines.retain(|line| !line.contains(added));
            assert_eq!(lines, untimed(&whole));
            assert!(lines.iter().any(|line| line.starts_with("hash of all runs of ")), "{lines:?}");
        }
    }
}

#[test]
fn eight_shards_of_scenarios_that_hold_equal_one_run() {
    let scenarios = ["lock", "queue", "counter"];
    assert_equal_to_the_whole("held", &[&scenarios[..], &["--seeds", "30"]].concat());
}

/// Its first violation is in the middle: earlier shards hold, and later ones sweep on.
#[test]
fn eight_shards_of_a_mutant_equal_one_run() {
    assert_equal_to_the_whole("first", &["lock", "--bug", "RecoverBySync", "--seeds", "83"]);
}

#[test]
fn eight_shards_of_a_mutant_that_keep_going_equal_one_run() {
    let arguments = ["lock", "--bug", "NoGuid", "--seeds", "60", "--keep-going"];
    assert_equal_to_the_whole("all", &arguments);
}

#[test]
fn reports_that_are_not_the_whole_are_refused() {
    let directory = directory("refused");
    let mut reports = shards(&directory, &["run", "lock", "--seeds", "5"], 3);
    assert_eq!(
        refused(&directory, &["merge"]).split(':').next(),
        Some(
            "`merge` needs the JSON reports of all shards, such as `vivarium merge reports/*.json`"
        )
    );
    reports.pop();
    let words: Vec<&str> =
        ["merge"].into_iter().chain(reports.iter().map(String::as_str)).collect();
    assert_eq!(
        refused(&directory, &words),
        "`lock` lacks shard 3 of 3: run each with `--shard I/3`"
    );
    let twice = refused(&directory, &["merge", "1.json", "2.json", "3.json", "2.json"]);
    assert_eq!(twice, "`2.json` and `2.json` are both shard 2 of `lock`: leave out one of them");
    let sentence = refused(&directory, &["merge", "no.json"]);
    assert!(sentence.starts_with("the report `no.json` cannot be read: "), "{sentence}");
    for (shard, sentence) in [
        ("4/3", "`4/3` is not among 3 shards: they have the numbers 1 to 3"),
        ("-1/3", "`-1/3` is not a shard: write e.g. `3/8` for the third of eight"),
    ] {
        assert_eq!(refused(&directory, &["run", "lock", "--shard", shard]), sentence);
    }
}

#[test]
fn a_shard_without_seeds_reports_that_and_belongs_to_the_merge() {
    let directory = directory("empty");
    let arguments = ["run", "lock", "--seeds", "2"];
    let reports = shards(&directory, &arguments, 3);
    let empty = vivarium(&directory, &[&arguments[..], &["--shard", "3/3"]].concat());
    assert_eq!(empty.status.code(), Some(0));
    assert!(
        text(&empty.stdout).contains("\nlock without seeds, 0 seeds, "),
        "{}",
        text(&empty.stdout)
    );
    let all = merged(&directory, &reports, &[]);
    assert_eq!(untimed(&all), untimed(&vivarium(&directory, &arguments)));
}

#[test]
fn a_ci_job_gets_a_summary_and_annotations() {
    let directory = directory("summary");
    let arguments = ["run", "lock", "--bug", "NoGuid", "--seeds", "60", "--host", "direct"];
    let reports = shards(&directory, &arguments, 2);
    fs::write(directory.join("summary.md"), "# Nightly\n\n").expect("the directory is writable");
    let outputs = ["--markdown", "summary.md", "--annotations", "--json"];
    let output = merged(&directory, &reports, &outputs);
    assert_eq!(output.status.code(), Some(1));
    let annotations = text(&output.stderr);
    assert!(annotations.starts_with("::error title=lock with NoGuid%3A lock M"), "{annotations}");
    assert_eq!(annotations.lines().count(), 1, "{annotations}");
    let summary = fs::read_to_string(directory.join("summary.md")).expect("it was written");
    assert!(
        summary.starts_with("# Nightly\n\n## Vivarium: lock with NoGuid VIOLATED\n"),
        "{summary}"
    );
    assert!(summary.contains(" replay lock --seed "), "{summary}");
    assert!(summary.contains("<details><summary>What happened</summary>"), "{summary}");
    serde_json::from_slice::<Value>(&output.stdout).expect("standard output is the report alone");
}

/// Returns the commands in the files under `scenarios/ci` and in its README, word by word, with the values that a shell
/// would put in.
fn commands() -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci");
    let mut commands = Vec::new();
    for file in fs::read_dir(folder).expect("there is a folder") {
        let text = fs::read_to_string(file.expect("it is readable").path()).expect("it is text");
        for line in text.lines().map(|line| line.replace("\"$VIVARIUM\"", "vivarium")) {
            let starts = ["vivarium run ", "vivarium merge "];
            let starts = starts.iter().filter_map(|start| line.find(start)).min();
            let Some(start) = starts.filter(|at| !line[..*at].contains(['#', '`'])) else {
                continue;
            };
            let shell = line[start..].split(['>', '#', '|']).next().unwrap_or_default();
            let values =
                [("$SEEDS", "9"), ("$shard/$SHARDS", "1/8"), ("$SHARD", "1/8"), ("$@", "lock")];
            let mut shell = shell.replace('"', "");
            values.iter().for_each(|(name, value)| shell = shell.replace(name, value));
            let words = shell.split_whitespace().skip(1).filter(|word| *word != "$SCENARIOS");
            commands.push(words.map(str::to_string).collect());
        }
    }
    commands
}

#[test]
fn the_commands_for_ci_exist() {
    let commands = commands();
    assert!(commands.len() >= 8, "{commands:?}");
    let directory = directory("commands");
    for words in commands {
        let words: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let output = vivarium(&directory, &words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains("Usage: vivarium "), "{words:?}");
    }
}

/// A user's test. It is run by the test below, as cargo-nextest does: in processes of its own.
#[test]
#[ignore = "another test gives it a part of its seeds"]
fn a_users_test() {
    let program = |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        if zookeeper.random().await % 8 == 0 {
            zookeeper.custom("rare", &[]);
        }
        Ok(())
    };
    let required = std::env::var("REQUIRED").expect("the test below sets it");
    let report = Test::new("a test", program).clients(1).must_see(&required).seeds(16).run();
    println!("{} seeds from {}", report.seeds, report.first_seed);
}

/// Runs the test above with variables, and returns what it prints.
fn users_test(directory: &Path, required: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("a test has a program"));
    command.args(["--exact", "a_users_test", "--ignored", "--nocapture"]).current_dir(directory);
    for name in ["SEEDS", "SEED", "CASE", "SHARD", "REPORTS"] {
        command.env_remove(format!("VIVARIUM_{name}"));
    }
    command.env("REQUIRED", required).envs(variables.iter().copied()).output().expect("it runs")
}

#[test]
fn a_users_test_runs_in_shards() {
    let directory = directory("users-test");
    let whole = users_test(&directory, "rare", &[("VIVARIUM_REPORTS", "whole")]);
    assert!(whole.status.success(), "{}", text(&whole.stderr));
    assert!(text(&whole.stdout).contains("16 seeds from 0"), "{}", text(&whole.stdout));
    let again = users_test(&directory, "rare", &[("VIVARIUM_REPORTS", "whole")]);
    assert!(
        text(&again.stderr).contains("VIVARIUM_REPORTS: `whole/a-test.json`: "),
        "two of one name"
    );
    for required in ["rare", "never"] {
        let mut reports = Vec::new();
        for index in 1..=8 {
            let shard = format!("{index}/8");
            let variables = [("VIVARIUM_SHARD", shard.as_str()), ("VIVARIUM_REPORTS", required)];
            let part = users_test(&directory, required, &variables);
            assert!(part.status.success(), "{}", text(&part.stderr));
            let seeds = format!("2 seeds from {}", 2 * (index - 1));
            assert!(text(&part.stdout).contains(&seeds), "{}", text(&part.stdout));
            reports.push(format!("{required}/a-test-{index}-of-8.json"));
        }
        let merged = merged(&directory, &reports, &["--json"]);
        if required == "rare" {
            let whole = fs::read(directory.join("whole/a-test.json")).expect("it was written");
            assert_eq!(
                comparable(&merged),
                comparable(&Output { stdout: whole, ..merged.clone() })
            );
        } else {
            assert_eq!(merged.status.code(), Some(2), "no shard has seen it");
            assert!(text(&merged.stdout).contains("an observation `never`"));
        }
    }
    let alone = users_test(&directory, "never", &[]);
    assert!(text(&alone.stderr).contains("an observation `never`"), "{}", text(&alone.stderr));
}
