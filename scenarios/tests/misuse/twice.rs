//! Mistakes that a sweep detects although no property is violated: it runs some of its seeds twice.
//!
//! madsim gives programs its own clock and its own order of hash maps. Effects of the machine on programs under the
//! other host are tested in a user's crate, which has that host (`.ci/user/tests/twice.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vivarium::TestFailure;
use vivarium::prelude::*;
use vivarium::seeds::SeedRange;

const FUNCTION: &str = "a function of its inputs";
const OF_ITSELF: &str = "what a property says of itself";

fn run(test: Test) -> Result<(), TestFailure> {
    test.run_seeds(&SeedRange::count(200).expect("some")).map(drop)
}

/// Asserts that this property is violated, and returns the whole text of the failure and the objection.
fn falls(test: Test, property: &str) -> (String, String) {
    let failure = run(test).expect_err("it is told");
    let objection = &failure.finding().expect("it is a violation").violation.objection;
    assert_eq!(objection.property, property, "{failure}");
    (failure.to_string(), objection.saw.clone())
}

fn is_told(test: Test) {
    let (text, saw) = falls(test, FUNCTION);
    assert!(
        saw.contains("run twice, gave two different runs: they differ first at step "),
        "{text}"
    );
    assert!(text.contains("The same seed, run again, gave a different run"), "{text}");
    assert!(text.contains("a static or thread-local variable"), "{text}");
}

#[test]
fn a_program_with_a_counter_that_outlives_it() {
    let runs = Arc::new(AtomicU64::new(0));
    is_told(Test::new("counter", move |zookeeper: ZooKeeper| {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        async move {
            zookeeper.connect().await;
            let path = format!("/a{run}");
            let _ = zookeeper.create(&path, b"", CreateMode::Ephemeral).await;
            Ok(())
        }
    }));
}

/// Counts the observations of all clients, and declares that fewer concern it.
#[derive(Clone, Hash)]
struct Counts {
    concerned: bool,
    objects: bool,
    said: u32,
}

impl Monitor for Counts {
    fn name(&self) -> &'static str {
        "counts"
    }
    fn asked(&self) -> Asked {
        Asked::InSweeps
    }
    fn concerns(&self, event: &Event) -> bool {
        self.concerned && event.observed::<Custom>().is_some()
    }
    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        self.said += u32::from(event.observed::<Custom>().is_some());
        match self.objects && self.said > 0 {
            true => Err(Objection::new(self.name(), "somebody said something")),
            false => Ok(()),
        }
    }
}

fn says(concerned: bool, objects: bool) -> Test {
    let test = Test::new("says", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        zookeeper.custom("here", &[]);
        Ok(())
    });
    test.monitor(Counts { concerned, objects, said: 0 })
}

#[test]
fn a_property_that_is_concerned_with_more_than_it_says() {
    for objects in [false, true] {
        let (text, saw) = falls(says(false, objects), OF_ITSELF);
        let told = "`counts` depends on an event that its `concerns` excludes";
        assert!(saw.contains(told) && saw.contains("here"), "{text}");
        assert!(!text.contains("gave a different run"), "{text}");
    }
    run(says(true, false)).expect("it says what is so");
}

/// A property that remembers other runs.
#[derive(Clone)]
struct Remembers(Arc<AtomicU64>);

impl std::hash::Hash for Remembers {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.load(Ordering::Relaxed).hash(state);
    }
}

impl Monitor for Remembers {
    fn name(&self) -> &'static str {
        "remembers"
    }
    fn asked(&self) -> Asked {
        Asked::InSweeps
    }
    fn event(&mut self, _view: View<'_>, _event: &Event) -> Result<(), Objection> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn a_property_whose_copies_share_what_they_know() {
    let test = says(true, false).monitor(Remembers(Arc::default()));
    let (text, saw) = falls(test, OF_ITSELF);
    assert!(saw.contains("the state of `remembers` differs at the end"), "{text}");
}
