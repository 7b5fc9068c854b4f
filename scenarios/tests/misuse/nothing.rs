//! Tests with nothing to judge: a property that holds although no program does anything says so, and a test may
//! demand more.

use super::{connects, fails};
use vivarium::prelude::*;

/// Violated if two clients hold at the same time. It depends on observations that only one of the tests makes.
#[derive(Clone, Default, Hash)]
struct OneHolder(Option<ClientId>);

impl Monitor for OneHolder {
    fn name(&self) -> &'static str {
        "one holder"
    }
    fn asked(&self) -> Asked {
        Asked::Everywhere
    }
    fn looks_for(&self) -> Vec<std::sync::Arc<str>> {
        vec!["granted".into()]
    }
    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        let Event::Observed { client, observation, .. } = event else { return Ok(()) };
        match (observation.name(), self.0.replace(*client)) {
            ("granted", Some(other)) if other != *client => {
                Err(Objection::new("one holder", format!("{client} and {other} hold")))
            }
            _ => Ok(()),
        }
    }
}

/// A lock that no client gets, because its path is wrong.
fn misplaced() -> Test {
    Test::new("misplaced", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        if zookeeper.create("/locks/a", b"", CreateMode::Ephemeral).await.is_ok() {
            zookeeper.custom("granted", &[]);
            // Another client may hold the lock now, which the property does not know.
            let _ = zookeeper.delete("/locks/a", Version::Any).await;
        }
        Ok(())
    })
    .monitor(OneHolder::default())
}

#[test]
fn a_sweep_says_what_its_property_is_about_and_nobody_did() {
    let report = misplaced().seeds(5).run();
    let says = "held for 5 seeds, but did not reach: an observation `granted`";
    assert_eq!(report.verdict.to_string(), says);
    let report = misplaced().setup("/locks").clients(1).seeds(5).run();
    assert_eq!(report.verdict.to_string(), "held for 5 seeds");
    let report = connects().seeds(5).run();
    let says = "held for 5 seeds, but did not reach: a request or an observation";
    assert_eq!(report.verdict.to_string(), says);
}

#[test]
fn a_test_may_demand_it() {
    let sentence = "misplaced: no program made an observation `granted`, so the properties that held were not tested";
    assert_eq!(fails(misplaced().must_see("granted"), 5), sentence);
    let report = misplaced().setup("/locks").clients(1).must_see("granted").seeds(5).run();
    assert_eq!(report.observed.len(), 1);
    // A violation takes precedence.
    let text = fails(misplaced().setup("/locks").must_see("released"), 200);
    assert!(text.contains("property   one holder"), "{text}");
}

#[cfg(feature = "explore")]
#[test]
fn a_search_says_so_and_a_test_may_demand_it() {
    let exploration = Exploration::new().clients(2);
    let report = misplaced().explored(&exploration).expect("it can be");
    assert_eq!(report.unseen, ["an observation `granted`"]);
    let unseen = misplaced().must_see("granted").explored(&exploration).expect_err("nobody did");
    let sentence = "misplaced: no program made an observation `granted`, so the properties that held were not tested";
    assert_eq!(unseen.to_string(), sentence);
    let report = misplaced().setup("/locks").must_see("granted").explored(&exploration);
    assert!(report.expect("it can be").verdict.violation().is_some());
    let report = connects().explored(&exploration).expect("it can be");
    assert_eq!(report.unseen, ["a request or an observation"]);
}

/// A mark that a test requires and no run reaches fails it; a search, which counts no marks, refuses it.
#[test]
fn a_required_mark_that_no_run_reaches_is_named() {
    let sentence = fails(connects().must_reach(Mark::SessionExpired), 3);
    assert!(sentence.contains("no run reached: session expired"), "{sentence}");
    #[cfg(feature = "explore")]
    {
        let test = connects().must_reach(Mark::SessionExpired);
        let refused = test.explored(&Exploration::new().clients(1)).expect_err("it is refused");
        let sentence = refused.to_string();
        assert!(sentence.contains("`must_reach(session expired)` is for sweeps"), "{sentence}");
    }
}
