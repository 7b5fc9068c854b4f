//! Panics and loops in unusual places.

use super::{connects, fails};
use std::future::{Ready, ready};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use vivarium::prelude::*;

/// A property that panics in the given method.
#[derive(Clone)]
struct PanicsIn(&'static str);

impl PanicsIn {
    fn at(&self, place: &str) {
        assert_ne!(self.0, place, "an odd place to panic");
    }
}

impl Hash for PanicsIn {
    fn hash<H: Hasher>(&self, _state: &mut H) {
        self.at("hash");
    }
}

impl Monitor for PanicsIn {
    fn name(&self) -> &'static str {
        self.at("name");
        "panics"
    }
    fn asked(&self) -> Asked {
        self.at("class");
        Asked::Everywhere
    }
    fn concerns(&self, _event: &Event) -> bool {
        self.at("concerns");
        true
    }
    fn minds_order(&self, _event: &Event) -> bool {
        self.at("minds_order");
        true
    }
    fn looks_back(&self) -> LooksBack {
        self.at("looks_back");
        LooksBack::Nothing
    }
    fn looks_for(&self) -> Vec<Arc<str>> {
        self.at("looks_for");
        Vec::new()
    }
    fn begin(&mut self, _config: &Arc<vivarium_model::config::Config>) {
        self.at("begin");
    }
    fn event(&mut self, _view: View<'_>, _event: &Event) -> Result<(), Objection> {
        Ok(())
    }
    fn at_rest(&mut self, _view: View<'_>) -> Result<(), Objection> {
        self.at("at_rest");
        Ok(())
    }
}

/// For each place of the panic, the test fails with the panic's message.
#[test]
fn a_property_that_panics_anywhere_fails_its_test() {
    for place in ["name", "class", "concerns", "looks_back", "looks_for", "begin"] {
        let text = std::panic::catch_unwind(|| {
            match connects()
                .monitor(PanicsIn(place))
                .run_seeds(&vivarium::seeds::SeedRange::count(2).expect("some"))
            {
                Ok(report) => panic!("{place}: {}", report.verdict),
                Err(failure) => failure.to_string(),
            }
        });
        if let Ok(text) = text {
            assert!(text.contains("an odd place to panic"), "{place}: {text}");
        }
    }
}

#[cfg(feature = "explore")]
#[test]
fn so_it_does_in_a_search() {
    let places = ["concerns", "minds_order", "looks_back", "looks_for", "begin", "hash", "at_rest"];
    for place in places {
        let text = std::panic::catch_unwind(|| {
            let test = connects().monitor(PanicsIn(place));
            match test.explored(&Exploration::new().clients(2)) {
                Ok(report) => match report.verdict.violation() {
                    Some(violation) => violation.objection.saw.clone(),
                    None => panic!("{place}: {}", report.verdict),
                },
                Err(failure) => failure.to_string(),
            }
        });
        let text =
            text.unwrap_or_else(|panic| vivarium_model::words::panic_message(&*panic).to_string());
        assert!(text.contains("an odd place to panic"), "{place}: {text}");
    }
}

/// The panic precedes the program's future.
#[test]
fn a_program_that_panics_before_it_begins_is_told() {
    let test = || {
        Test::new("no future", |_zookeeper| -> Ready<Result<(), String>> {
            panic!("there is no future")
        })
    };
    let text = fails(test().clients(1), 2);
    assert!(text.contains("there is no future"), "{text}");
    #[cfg(feature = "explore")]
    {
        let exploration = Exploration::new().clients(1);
        let text = match test().explored(&exploration) {
            Ok(report) => report.verdict.to_string(),
            Err(failure) => failure.to_string(),
        };
        assert!(text.contains("there is no future"), "{text}");
    }
}

/// A program that ends before its first await did nothing, and the report says so.
#[test]
fn rounds_that_never_await_are_told() {
    let test = || Test::rounds("again", 0_u32, |_zookeeper, _round| ready(Ok(Round::Again(0))));
    let text = fails(test().clients(1), 1);
    assert!(text.contains("the program does not block: 100000 polls for one input"), "{text}");
    #[cfg(feature = "explore")]
    {
        let text = match test().explored(&Exploration::new().clients(1)) {
            Ok(report) => report.verdict.to_string(),
            Err(failure) => failure.to_string(),
        };
        assert!(!text.starts_with("held"), "{text}");
    }
}

/// Panics when it is dropped, like a guard with an assertion.
struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped at an odd place");
    }
}

/// Returns a test of a program that holds such a guard for two seconds, and then forgets or drops it.
fn guards(forgets: bool) -> Test {
    Test::new("guards", move |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let guard = PanicsWhenDropped;
        zookeeper.sleep(Duration::from_secs(2)).await;
        if forgets {
            std::mem::forget(guard);
        }
        Ok(())
    })
}

#[test]
fn a_program_that_panics_when_it_drops_something_is_told() {
    let text = fails(guards(false).clients(1), 1);
    assert!(text.contains("dropped at an odd place"), "{text}");
    #[cfg(feature = "explore")]
    {
        let report = guards(false).explored(&Exploration::new().clients(1)).expect("it can be");
        let text = &report.verdict.violation().expect("it panics").objection.saw;
        assert!(text.contains("dropped at an odd place"), "{text}");
    }
}

/// A killed process runs no destructors, so the guard's panic is no violation.
#[test]
fn what_a_killed_program_would_drop_is_nobodys_business() {
    let kills = Faults::NONE.with(Fault::ProgramCrash);
    let report = guards(true).clients(2).faults(kills).seeds(40).run();
    assert!(report.fault_total() > 0);
    #[cfg(feature = "explore")]
    guards(true).explore(&Exploration::new().clients(1).kills(1));
}
