//! A case survives its file, and a file that is no case is refused in one clear sentence.

mod common;

use common::case;
use std::fs;
use std::path::{Path, PathBuf};
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::step::Step;
use vivarium_model::{id::ServerId, time::Time};
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
    assert_eq!(refusal("[1, 2]"), format!("`some.json` {foreign} it is no JSON object"));
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
    let text = to_text(&case()).replace("\"version\": 2", "\"version\": 3");
    assert_eq!(
        refusal(&text),
        "the case file `some.json` has version 3, but this build of Vivarium reads up to version 2: \
         replay it with the build that wrote it, or replay its seed"
    );
    let text = to_text(&case()).replace("\"version\": 2", "\"version\": \"new\"");
    assert_eq!(refusal(&text), "the case file `some.json` is damaged: its version is no number");
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
    let text = to_text(&common::case()).replace("fffffffffffffff8", "xyz");
    assert!(refusal(&text).contains("is not a fingerprint of 32 hexadecimal digits"));
}

/// Version 1 knew only one grain, and did not name it.
#[test]
fn a_case_of_version_1_is_one_of_the_ensemble() {
    let text = to_text(&case()).replace("\"version\": 2", "\"version\": 1");
    let text = text.replace("  \"grain\": \"Ensemble\",\n", "");
    let read = from_text(Path::new("old.json"), &text).expect("it is well formed");
    assert_eq!((read.version, read.grain), (1, GrainKind::Ensemble));
    let current = Case { version: Case::VERSION, ..read };
    assert_eq!(current, case());
}
