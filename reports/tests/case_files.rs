//! A case survives its file, and a file that is no case is refused in one clear sentence.

mod common;

use common::case;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::config::Config;
use vivarium_model::id::{ClientConnection, ClientId, LearnerConnection, ServerId, Xid};
use vivarium_model::op::{CreateMode, Op, Request};
use vivarium_model::outside::Outside;
use vivarium_model::packet::ClientPacket;
use vivarium_model::release::{Bug, Bugs};
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::timer::{ServerTimer, Timer};
use vivarium_reports::case_file::{CaseFileError, from_text, load, save, to_text};

/// A directory of its own for each test, under the one that cargo provides.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&path);
    path
}

/// The sentence with which a text is refused.
fn refusal(text: &str) -> String {
    from_text(Path::new("some.json"), text).expect_err("it should be refused").to_string()
}

#[test]
fn the_text_has_one_step_per_line() {
    insta::assert_snapshot!(to_text(&case()));
}

#[test]
fn what_is_saved_is_what_is_loaded() {
    let path = directory("saved").join("deep").join("case.json");
    save(&path, &case()).expect("the directory is made");
    assert_eq!(load(&path).expect("it was just written"), case());
}

/// What clients outside of the run sent is in the file, one input per line.
#[test]
fn inputs_from_outside_are_kept() {
    let (client, server) = (ClientId(1), ServerId(1));
    let connection = ClientConnection { client, slot: 0 };
    let write = Request::Write(Op::create("/a", *b"x", CreateMode::Ephemeral));
    let packet = ClientPacket::Request { xid: Xid(1), request: Arc::new(write) };
    let outside = vec![
        Outside::Opens { client, server },
        Outside::Sends { connection, packet },
        Outside::HangsUp { connection },
    ];
    let steps = (0..3).map(|input| (Time(input.into()), Step::Outside(input))).collect();
    let mut config = Config::new(1, 0);
    config.outside = true;
    let case = Case { outside, steps, config, ..case() };
    let text = to_text(&case);
    assert_eq!(text.lines().filter(|line| line.contains("\"client\":1")).count(), 3, "{text}");
    assert_eq!(from_text(Path::new("x"), &text).expect("it is well formed"), case);
}

#[test]
fn a_case_without_steps_is_a_case() {
    let mut case = case();
    case.steps.clear();
    assert_eq!(from_text(Path::new("x"), &to_text(&case)).expect("it is well formed"), case);
}

#[test]
fn a_file_that_is_not_there() {
    let path = directory("absent").join("none.json");
    let error = load(&path).expect_err("it is not there");
    assert!(matches!(error, CaseFileError::Unreadable { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with("the case file `") && text.contains("cannot be read: "), "{text}");
}

#[test]
fn a_directory_that_cannot_be_made() {
    let directory = directory("blocked");
    fs::create_dir_all(&directory).expect("cargo's directory is writable");
    fs::write(directory.join("cases"), "a file where a directory should be").expect("likewise");
    let error = save(&directory.join("cases").join("case.json"), &case()).expect_err("blocked");
    assert!(error.to_string().contains("cannot be written: "), "{error}");
}

#[test]
fn files_that_are_no_case() {
    assert_eq!(refusal(" \n"), "the case file `some.json` is empty");
    let sentence = refusal("seed 42\n");
    assert!(sentence.starts_with("`some.json` is not a case file: it is not JSON ("), "{sentence}");
    let foreign = "is JSON, but not a case file: it should say \"format\": \"vivarium-case\", but";
    assert_eq!(refusal("[1, 2]"), format!("`some.json` {foreign} it is not a JSON object"));
    assert_eq!(refusal("{\"seed\": 3}"), format!("`some.json` {foreign} it does not"));
    let report = "{\"format\": \"vivarium-report\", \"version\": 1}";
    assert_eq!(refusal(report), format!("`some.json` {foreign} it says \"vivarium-report\""));
}

#[test]
fn bytes_that_are_no_text() {
    let path = directory("bytes").join("case.json");
    save(&path, &case()).expect("it can be written");
    fs::write(&path, [0xff, 0xfe, 0x00]).expect("it can be overwritten");
    let sentence = load(&path).expect_err("it is no text").to_string();
    assert!(sentence.contains("it is not JSON (it is not even text)"), "{sentence}");
}

#[test]
fn a_truncated_file_at_every_length() {
    let text = to_text(&case());
    let end = text.trim_end().len();
    for length in 1..end {
        let sentence = refusal(&text[..length]);
        assert!(sentence.contains("is truncated: it ends in the middle, at line "), "{sentence}");
    }
}

#[test]
fn another_version_says_what_to_do() {
    let text = to_text(&case()).replace("\"version\": 3", "\"version\": 4");
    assert_eq!(
        refusal(&text),
        "the case file `some.json` has version 4, but this build of Vivarium reads up to version 3: \
         replay it with the build that wrote it, or replay its seed"
    );
    let text = to_text(&case()).replace("\"version\": 3", "\"version\": 0");
    assert!(refusal(&text).contains("has version 0, but"), "{}", refusal(&text));
    let text = to_text(&case()).replace("\"version\": 3", "\"version\": \"new\"");
    assert_eq!(refusal(&text), "the case file `some.json` is damaged: its version is not a number");
}

#[test]
fn a_damaged_case_says_where() {
    let text = to_text(&case()).replace("\"Vote\"", "\"Vode\"");
    let sentence = refusal(&text);
    assert!(sentence.contains("is damaged: unknown variant `Vode`"), "{sentence}");
    let mut case = case();
    case.steps.push((Time(99), Step::Fsync(ServerId(8))));
    assert_eq!(
        refusal(&to_text(&case)),
        "the case file `some.json` is damaged: step 4 names server 8, but the configuration has \
         3 servers"
    );
    // Every machine that a step names is looked at, wherever it names it.
    for (one, other) in [(1, 8), (8, 1)] {
        let connection = LearnerConnection { learner: ServerId(other), slot: 0 };
        let silent = Timer::Server(ServerId(one), ServerTimer::LearnerSilent(connection));
        let followers = [ServerId(one), ServerId(other)].into_iter().collect();
        for step in [Step::Fire(silent), Step::Elect { leader: ServerId(2), followers }] {
            *case.steps.last_mut().expect("the fourth") = (Time(99), step);
            let sentence = refusal(&to_text(&case));
            assert!(sentence.contains("step 4 names server 8, but"), "{sentence}");
        }
    }
    let text = to_text(&common::case()).replace("fffffffffffffff8", "xyz");
    assert!(refusal(&text).contains("is not a fingerprint of 32 hexadecimal digits"));
}

/// Version 1 knew only one grain, and did not name it.
#[test]
fn a_case_of_version_1_is_one_of_the_ensemble() {
    let text = of_version(1, 0, &case()).replace("  \"grain\": \"Ensemble\",\n", "");
    let read = from_text(Path::new("old.json"), &text).expect("it is well formed");
    assert_eq!(read.grain, GrainKind::Ensemble);
    assert_eq!(read, case());
}

/// The text of a case without defects of servers as an older version had it, with these in numbers.
fn of_version(version: u32, numbered: u64, case: &Case) -> String {
    assert_eq!(case.config.bugs, Bugs::NONE, "they are put in by the test");
    let text = to_text(case).replace("\"version\": 3", &format!("\"version\": {version}"));
    assert!(text.contains("\"bugs\":[]"), "{text}");
    text.replace("\"bugs\":[]", &format!("\"bugs\":{numbered}"))
}

#[test]
fn every_bug_is_written_and_read_by_its_name() {
    for bug in Bug::ALL {
        let mut case = case();
        case.config.bugs = Bugs::NONE.with(bug);
        let text = to_text(&case);
        assert!(text.contains(&format!("\"bugs\":[\"{bug}\"]")), "{text}");
        assert_eq!(from_text(Path::new("some.json"), &text).expect("it is well formed"), case);
    }
    let mut case = case();
    case.config.bugs = Bug::ALL.into_iter().collect();
    assert_eq!(from_text(Path::new("some.json"), &to_text(&case)).expect("well formed"), case);
}

/// Which number was whose is not known any more; that there were as many as are listed is.
#[test]
fn a_case_of_version_2_has_the_bugs_that_it_lists() {
    let mut listed = case();
    listed.bugs = vec!["SnapKeepsOldLog".into(), "NoGuid".into(), "GapsAreReplayed".into()];
    let text = of_version(2, 0b1001, &listed);
    let read = from_text(Path::new("old.json"), &text).expect("it says all");
    let bugs = Bugs::NONE.with(Bug::SnapKeepsOldLog).with(Bug::GapsAreReplayed);
    let config = Config { bugs, ..listed.config.clone() };
    assert_eq!(read, Case { config, ..listed.clone() });
    assert_eq!(from_text(Path::new("old.json"), &of_version(2, 0, &case())).ok(), Some(case()));

    let sentence = "the case file `some.json` has version 2, which numbered the servers' defects, and \
                    does not name those that were switched on: replay it with the build that wrote \
                    it, or replay its seed";
    for (numbered, case) in [(0b1, &case()), (0b1, &listed), (0b111, &listed), (0, &listed)] {
        assert_eq!(refusal(&of_version(2, numbered, case)), sentence, "{numbered:b}");
    }
}

#[test]
fn a_bug_that_this_build_does_not_know_is_named() {
    let text =
        to_text(&case()).replace("\"bugs\":[]", "\"bugs\":[\"SnapKeepsOldLog\",\"FromTomorrow\"]");
    assert_eq!(
        refusal(&text),
        "the case file `some.json` names the bug `FromTomorrow`, which this build of Vivarium does not know"
    );
    // Numbers mean nothing in this version.
    let text = to_text(&case()).replace("\"bugs\":[]", "\"bugs\":4");
    assert!(refusal(&text).contains("is damaged: invalid type: integer `4`"), "{}", refusal(&text));
}
