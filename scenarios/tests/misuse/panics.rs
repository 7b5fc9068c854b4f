//! Programs and properties that panic: one violation each, with its place, and no other output than the report.

use super::fails;
use std::process::Command;
use vivarium::prelude::*;

fn panics() -> Test {
    Test::new("panics", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let answer = zookeeper.create("/a/b", b"", CreateMode::Persistent).await;
        assert!(answer.is_ok(), "the parent is missing");
        Ok(())
    })
}

#[test]
fn a_programs_panic_is_a_violation_with_its_place() {
    let text = fails(panics(), 10);
    assert!(text.contains("panicked: the parent is missing"), "{text}");
    assert!(text.contains("panicked   at scenarios/tests/misuse/panics.rs:"), "{text}");
}

#[cfg(feature = "explore")]
#[test]
fn so_it_is_in_a_search() {
    let report = panics().explored(&Exploration::new().clients(1)).expect("it can be");
    let finding = report.finding.expect("it panics");
    assert!(finding.violation.objection.saw.ends_with("panicked: the parent is missing"));
    let place = finding.panicked_at.expect("it is known");
    assert!(place.starts_with("scenarios/tests/misuse/panics.rs:"), "{place}");
}

/// The test below runs this in a process of its own, and reads its output.
#[test]
#[ignore = "it is meant to fail: what it prints is looked at by another test"]
fn a_test_that_fails() {
    panics().seeds(10).run();
}

/// As the one above.
#[cfg(feature = "explore")]
#[test]
#[ignore = "it is meant to fail: what it prints is looked at by another test"]
fn a_search_that_fails() {
    panics().explore(&Exploration::new().clients(2));
}

fn printed(test: &str) -> String {
    let program = std::env::current_exe().expect("a test has a program");
    let run = Command::new(program)
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads", "1"])
        .env("RUST_BACKTRACE", "0")
        .output()
        .expect("it runs");
    assert!(!run.status.success());
    let texts = [run.stdout, run.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    texts.concat()
}

#[test]
fn a_panic_is_printed_once() {
    let text = printed("panics::a_test_that_fails");
    // The smaller run with the same violation is another run, with its own objection.
    let sweep = text.split("\nMinimised in ").next().expect("there is a first part");
    assert_eq!(text.matches("panicked at").count(), 1, "{text}");
    assert_eq!(sweep.matches("  saw  ").count(), 1, "{text}");
}

#[cfg(feature = "explore")]
#[test]
fn so_it_is_by_a_search() {
    let text = printed("panics::a_search_that_fails");
    assert_eq!(text.matches("panicked at").count(), 1, "{text}");
    assert_eq!(text.matches("  saw  ").count(), 1, "{text}");
}

/// A property of assertions, which fail at an event, at rest, or at the end.
#[derive(Clone, Hash)]
struct Asserts(&'static str);

impl Monitor for Asserts {
    fn name(&self) -> &'static str {
        "asserts"
    }
    fn asked(&self) -> Asked {
        Asked::Everywhere
    }
    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        let stops = self.0 == "event" && matches!(event, Event::Finished { .. });
        assert!(!stops, "an event that cannot be");
        Ok(())
    }
    fn end(&mut self, _view: View<'_>) -> Result<(), Objection> {
        assert_ne!(self.0, "end", "an end that cannot be");
        Ok(())
    }
}

#[test]
fn a_propertys_panic_is_its_objection() {
    for place in ["event", "end"] {
        let text = fails(super::connects().monitor(Asserts(place)), 3);
        assert!(text.contains("property   asserts\n"), "{text}");
        assert!(text.contains("the property panicked: "), "{text}");
        assert!(text.contains("panicked   at scenarios/tests/misuse/panics.rs:"), "{text}");
        #[cfg(feature = "explore")]
        {
            let test = super::connects().monitor(Asserts(place));
            let report = test.explored(&Exploration::new().clients(1)).expect("it can be");
            let objection = &report.verdict.violation().expect("it panics").objection;
            assert_eq!(objection.property, "asserts");
        }
    }
}

/// An observation whose fields cannot be written down: its `Serialize` panics at the field.
#[derive(Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(crate = "vivarium::serde")]
struct Odd {
    field: Panics,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Panics;

impl Serialize for Panics {
    fn serialize<S: vivarium::serde::Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
        panic!("not to be written down")
    }
}

impl Observation for Odd {}

/// Objects to the first [`Odd`].
#[derive(Clone, Hash)]
struct NothingOdd;

impl Declared for NothingOdd {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "nothing odd",
        LooksBack::Nothing,
        minds! { |this, view, event|
            Observed(client, Odd { .. }) => Err(this.objection(format!("{client} is odd"))),
        },
    );
}

fn odd() -> Test {
    Test::new("odd", |zookeeper: ZooKeeper| async move {
        zookeeper.observe(Odd { field: Panics });
        zookeeper.connect().await;
        Ok(())
    })
    .clients(1)
    .monitor(NothingOdd)
}

/// Reports read the fields of every observation; one that cannot be written down hides no violation.
#[test]
fn an_observation_whose_fields_panic_is_reported_in_words() {
    let text = fails(odd(), 3);
    assert!(text.contains("nothing odd") && text.contains("client 1 is odd"), "{text}");
    let report = odd().explored(&Exploration::new().clients(1)).expect("it can be");
    let finding = report.finding.expect("it is odd");
    assert_eq!(finding.violation.objection.saw, "client 1 is odd");
}
