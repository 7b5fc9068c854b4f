//! A mistake that a search finds: a recipe's mutant or a published text, with the violated property and the number of
//! steps.

use vivarium::catalogue::{Switches, catalogue};
use vivarium::prelude::*;
use vivarium::{ExplorationReport, explore};
use vivarium_sim::Scenario;

/// The budget of a search.
pub(crate) type Budget = fn(Exploration) -> Exploration;

pub(crate) const NO_FAULT: Budget = |two| two;
pub(crate) const LOST: Budget = |two| two.lost(1);
pub(crate) const EXPIRY: Budget = |two| two.expiries(1);
pub(crate) const CANCEL: Budget = |two| two.cancels(1);
pub(crate) const KILL: Budget = |two| two.kills(1);

/// See the module.
pub(crate) struct Exhibit {
    pub(crate) scenario: &'static str,
    /// `None` if the scenario itself is the mistake.
    mutant: Option<&'static str>,
    budget: Budget,
    property: &'static str,
    /// The number of steps of the shortest way.
    length: usize,
}

/// A scenario with a mutant.
pub(crate) const fn exhibit(
    scenario: &'static str,
    mutant: &'static str,
    budget: Budget,
    property: &'static str,
    length: usize,
) -> Exhibit {
    Exhibit { scenario, mutant: Some(mutant), budget, property, length }
}

/// A published text.
pub(crate) const fn text(
    scenario: &'static str,
    budget: Budget,
    property: &'static str,
    length: usize,
) -> Exhibit {
    Exhibit { scenario, mutant: None, budget, property, length }
}

impl Exhibit {
    /// Asserts that a search finds the mistake, by a way that is proven to be the shortest.
    #[track_caller]
    pub(crate) fn assert_found(&self) {
        let Exhibit { scenario, mutant, budget, property, length } = *self;
        let name = mutant.unwrap_or(scenario);
        let report = explored(scenario, mutant, &budget(two()));
        assert_eq!(found(name, &report), (property.to_string(), length), "{scenario}: {name}");
    }
}

/// Returns the violated property and the number of steps of a way that is proven to be the shortest.
#[track_caller]
pub(crate) fn found(name: &str, report: &ExplorationReport) -> (String, usize) {
    let Verdict::Violated(violation) = &report.verdict else {
        panic!("{name}: {}", report.verdict)
    };
    let way = report.finding.as_ref().and_then(|finding| finding.way);
    let way = way.expect("a search found it");
    assert!(way.proven, "{name}: {way}");
    (violation.objection.property.clone(), way.length)
}

/// Asserts that the correct recipe holds in every state.
#[track_caller]
pub(crate) fn assert_holds(name: &str, asked: &Exploration) {
    let verdict = explored(name, None, asked).verdict;
    assert!(matches!(verdict, Verdict::Exhausted { .. }), "{name}: {verdict}");
}

/// Returns a scenario of the catalogue.
pub(crate) fn scenario(name: &str, mutant: Option<&'static str>) -> Scenario {
    let switches = Switches { mutants: mutant.into_iter().collect(), ..Switches::default() };
    let entry = catalogue().into_iter().find(|entry| entry.name == name);
    (entry.expect("it is in the catalogue").build)(&switches)
}

pub(crate) fn explored(
    name: &str,
    mutant: Option<&'static str>,
    asked: &Exploration,
) -> ExplorationReport {
    explore(&scenario(name, mutant), asked).expect("it can be explored")
}

pub(crate) fn two() -> Exploration {
    Exploration::new().clients(2)
}
