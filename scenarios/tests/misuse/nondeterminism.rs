//! Programs and properties that depend on something other than what they are given.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vivarium::prelude::*;
use vivarium::seeds::SeedRange;

/// A program that keeps a count in a static fails now and then, and not when its seed is run once more. What
/// was seen was seen.
#[test]
fn a_violation_that_a_repeat_does_not_show_is_one() {
    static TIMES: AtomicU64 = AtomicU64::new(0);
    let test = Test::new("a static", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        match TIMES.fetch_add(1, Ordering::Relaxed) % 20 {
            13 => Err("the count is 13".to_string()),
            _ => Ok(()),
        }
    });
    let failure =
        test.run_seeds(&SeedRange::count(100).expect("some")).expect_err("one in twenty fails");
    let text = failure.to_string();
    assert!(text.contains("the count is 13"), "{text}");
    assert!(text.contains("This seed, once more, gave another run"), "{text}");
    assert!(text.contains("a static or thread-local variable"), "{text}");
    let finding = failure.finding().expect("it is a violation");
    let unrepeated = finding.unrepeated.as_ref().expect("it was another run");
    assert_eq!(unrepeated.step, finding.violation.step, "{text}");
}

/// The same for a property whose copies share what they know.
#[test]
fn so_is_one_of_a_property_that_remembers_other_runs() {
    #[derive(Clone)]
    struct Shares(Arc<AtomicU64>);
    impl std::hash::Hash for Shares {
        fn hash<H: std::hash::Hasher>(&self, _state: &mut H) {}
    }
    impl Monitor for Shares {
        fn name(&self) -> &'static str {
            "shares"
        }
        fn class(&self) -> Class {
            Class::Event
        }
        fn event(&mut self, _view: View<'_>, _event: &Event) -> Result<(), Objection> {
            match self.0.fetch_add(1, Ordering::Relaxed) {
                40 => Err(Objection::new("shares", "it is the fortieth")),
                _ => Ok(()),
            }
        }
    }
    let test = Test::new("a property that shares", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        Ok(())
    });
    let test = test.monitor(Shares(Arc::default()));
    let failure =
        test.run_seeds(&SeedRange::count(100).expect("some")).expect_err("it objects once");
    let text = failure.to_string();
    assert!(text.contains("it is the fortieth"), "{text}");
    assert!(text.contains("This seed, once more, gave another run"), "{text}");
}
