//! Searches that go on from their checkpoints, as users see them.
#![cfg(feature = "cli")]

use super::command::{directory, field, refused, said, vivarium};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What must be the same whether a search was stopped or not.
fn figures(report: &str) -> Vec<&str> {
    let verdict = report.lines().find(|line| line.contains(": held in all")).expect("it held");
    let figure = |name: &str| report.lines().find_map(|line| line.trim().strip_prefix(name));
    let names = ["states generated", "distinct states", "depth in steps"];
    let figures = names.map(|name| figure(name).expect("it is in each report").trim());
    figures.into_iter().chain([verdict]).collect()
}

/// A search of programs and one of servers are stopped by bounds of states, twice, and go on. Each ends as it does without
/// a stop.
#[test]
fn a_search_that_was_stopped_goes_on() {
    let programs = ["explore", "lock", "--clients", "2", "--lost", "1"];
    let servers = ["explore", "broadcast", "--servers", "2", "--txns", "1", "--crashes", "1"];
    for (name, words, stops) in
        [("programs", &programs[..], ["2000", "4000"]), ("servers", &servers[..], ["100", "250"])]
    {
        let directory = directory(&format!("goes on {name}"));
        let whole = said(&directory, words, 0);
        let with = |more: &[&str], code| said(&directory, &[words, more].concat(), code);
        let stopped = with(&["--max-states", stops[0], "--checkpoint", "kept"], 2);
        assert!(stopped.contains("inconclusive: stopped by "), "{stopped}");
        with(&["--max-states", stops[1], "--resume", "kept"], 2);
        let all = with(&["--resume", "kept", "--threads", "1"], 0);
        assert_eq!(figures(&all), figures(&whole));
    }
}

/// A violation that is found after a stop is the one that is found without.
#[test]
fn a_violation_is_found_after_a_stop() {
    let directory = directory("violation after a stop");
    let words = ["explore", "lock", "--clients", "2", "--lost", "1", "--bug", "NoGuid"];
    let names = ["property", "saw", "way", "hash"];
    let way = |report: &str| names.map(|name| field(report, name).to_string());
    let whole = said(&directory, &words, 1);
    let stop: &[&str] = &["--max-states", "500", "--checkpoint", "kept"];
    said(&directory, &[&words, stop].concat(), 2);
    let resumed = said(&directory, &[&words[..], &["--resume", "kept"]].concat(), 1);
    assert_eq!(way(&whole), way(&resumed));
}

/// A process that is killed loses what came after its last checkpoint, and nothing else.
#[test]
fn a_search_that_was_killed_goes_on() {
    let directory = directory("killed");
    let words = ["explore", "lock", "--clients", "2", "--lost", "1", "--expiries", "1"];
    let kept = directory.join("kept");
    let keeping: &[&str] =
        &["--max-states", "150000", "--checkpoint", "kept", "--checkpoint-every", "1"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_vivarium"));
    command.args([&words, keeping].concat()).current_dir(&directory);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary was built");
    let begun = Instant::now();
    while !kept.exists() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it goes on");
    child.wait().expect("it was killed");
    let bounded = |more: &[&str]| {
        let all = [&words[..], &["--max-states", "20000"], more].concat();
        let output = vivarium(&directory, &all);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = bounded(&["--resume", "kept"]);
    assert!(told.contains("going on from "), "{told}");
}

/// Whatever does not fit is refused in a sentence.
#[test]
fn what_does_not_fit_is_refused() {
    let directory = directory("does not fit");
    let words = ["explore", "lock", "--clients", "2", "--max-states", "300", "--checkpoint"];
    let kept = directory.join("kept");
    let kept = kept.to_str().expect("a path of text");
    said(&directory, &[&words[..], &[kept]].concat(), 2);

    let other = refused(&["explore", "lock", "--clients", "3", "--resume", kept]);
    let [first, written, asked, this] = other.lines().collect::<Vec<_>>()[..] else {
        panic!("{other}")
    };
    assert_eq!(first, "the checkpoint is one of another search:");
    assert_eq!((written, asked), ("  lock --clients 2", "and not of this:"));
    assert_eq!(this, "  lock --clients 3");
    for words in [
        &["explore", "queue", "--resume", kept][..],
        &["explore", "broadcast", "--resume", kept],
        &["explore", "lock", "--clients", "2", "--lost", "1", "--resume", kept],
        &["explore", "lock", "--clients", "2", "--bug", "NoGuid", "--resume", kept],
        &["explore", "lock", "--clients", "2", "--no-reduction", "--resume", kept],
    ] {
        assert!(refused(words).starts_with("the checkpoint is one of another search:"));
    }
    let depth_first = ["explore", "lock", "--clients", "2", "--depth-first", "--resume", kept];
    assert_eq!(
        refused(&depth_first),
        "a depth-first search keeps no checkpoints, and goes on from none: leave one of the two out"
    );
    assert_eq!(
        refused(&["explore", "lock", "--checkpoint-every", "5"]),
        "`--checkpoint-every`: add `--checkpoint FILE`"
    );
    assert_eq!(
        refused(&["explore", "lock", "--checkpoint", kept, "--checkpoint-every", "0"]),
        "`--checkpoint-every 0`: give at least 1"
    );
    let missing = refused(&["explore", "lock", "--resume", "no such file"]);
    assert!(missing.starts_with("`no such file` cannot be read: "), "{missing}");

    let whole = fs::read(kept).expect("it was written");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 4;
    fs::write(kept, damaged).expect("cargo's directory is writable");
    let sentence = refused(&["explore", "lock", "--clients", "2", "--resume", kept]);
    assert_eq!(sentence, format!("`{kept}` cannot be resumed: it is cut off or damaged"));
    assert!(Path::new(kept).exists());
}
