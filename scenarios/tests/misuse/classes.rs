//! Properties with false declarations.

use vivarium::prelude::*;

/// Violated after a second, which only runs reach: in a search no time passes.
#[derive(Clone, Hash)]
struct Late(Asked);

impl Monitor for Late {
    fn name(&self) -> &'static str {
        "late"
    }
    fn asked(&self) -> Asked {
        self.0
    }
    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let late = view.at() > Time::ZERO + Duration::from_secs(1);
        match (late, event) {
            (true, Event::Observed { .. }) => Err(Objection::new("late", "it is late")),
            _ => Ok(()),
        }
    }
}

fn sleeps(class: Asked) -> Test {
    Test::new("sleeps", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        zookeeper.sleep(Duration::from_secs(5)).await;
        zookeeper.custom("woke", &[]);
        Ok(())
    })
    .monitor(Late(class))
}

#[test]
fn a_property_that_looks_at_the_time_must_be_one_of_runs() {
    let text = super::fails(sleeps(Asked::InSweeps), 3);
    assert!(text.contains("it is late"), "{text}");
    let sentence = "a property declared as `Asked::Everywhere` reads the time, which a search does not have: \
                    declare it as `Asked::InSweeps`";
    let text = super::fails(sleeps(Asked::Everywhere), 3);
    assert!(text.contains(sentence), "{text}");
    #[cfg(feature = "explore")]
    {
        let report = sleeps(Asked::Everywhere).explored(&Exploration::new().clients(1));
        let verdict = report.expect("it can be").verdict;
        assert!(verdict.to_string().contains(sentence), "{verdict}");
    }
}

/// A search does not check properties of runs, and says so.
#[cfg(feature = "explore")]
#[test]
fn a_search_names_the_properties_that_it_does_not_ask() {
    let exploration = Exploration::new().clients(1);
    let report = sleeps(Asked::InSweeps).explored(&exploration).expect("it can be");
    assert!(report.unasked.contains(&"late".to_string()), "{:?}", report.unasked);
    assert!(!report.properties.contains(&"late".to_string()), "{:?}", report.properties);
}

/// A property that declares to look no further than the end of the history, and looks further, is stopped.
#[derive(Clone, Hash)]
struct LooksTooFar;

impl Monitor for LooksTooFar {
    fn name(&self) -> &'static str {
        "looks too far"
    }
    fn asked(&self) -> Asked {
        Asked::Everywhere
    }
    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }
    fn event(&mut self, view: View<'_>, _event: &Event) -> Result<(), Objection> {
        view.history.whole();
        Ok(())
    }
}

#[test]
fn a_property_that_looks_further_back_than_it_says_is_told() {
    let text = super::fails(super::connects().monitor(LooksTooFar), 3);
    assert!(
        text.contains("a monitor reads the whole history, but its declared `LooksBack` is less"),
        "{text}"
    );
    #[cfg(feature = "explore")]
    {
        let test = super::connects().monitor(LooksTooFar);
        let report = test.explored(&Exploration::new().clients(1)).expect("it can be");
        let objection = &report.verdict.violation().expect("it panics").objection;
        assert!(
            objection.saw.contains(
                "a monitor reads the whole history, but its declared `LooksBack` is less"
            )
        );
    }
}
