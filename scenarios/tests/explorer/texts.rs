//! Locks, read-write locks and elections as texts print them, each shown to go wrong by a way that is proven to be the
//! shortest. (Those about barriers are in `barriers`.)

use vivarium::catalogue::{Switches, catalogue};
use vivarium::explore;
use vivarium::prelude::*;
use vivarium_model::verdict::Verdict;

/// A text, what can go wrong with it, and who objects behind how many steps.
struct Text {
    scenario: &'static str,
    budget: fn(Exploration) -> Exploration,
    property: &'static str,
    length: usize,
}

const fn text(
    scenario: &'static str,
    budget: fn(Exploration) -> Exploration,
    property: &'static str,
    length: usize,
) -> Text {
    Text { scenario, budget, property, length }
}

const TEXTS: [Text; 11] = [
    text("published-lock-older-text", |two| two.lost(1), "lock M6 no self-wait", 25),
    text("published-lock-without-recovery", |two| two.lost(1), "lock M6 no self-wait", 25),
    text("published-lock-by-exists", |two| two.kills(1), "progress", 38),
    text("published-lock-by-exists-ephemeral", |two| two.lost(1), "lock M6 no self-wait", 22),
    text("published-lock-node-smaller", |two| two, "progress", 34),
    text("published-lock-connection-is-session", |two| two.lost(1), "progress", 50),
    text("published-rwlock-page", |two| two, "read-write lock RW1 exclusion", 28),
    text("published-rwlock-garbled-reader", |two| two, "progress", 31),
    text("published-election-page", |two| two, "progress", 31),
    text("published-election-page-checked", |two| two, "progress", 34),
    text("published-election-next-node", |two| two, "progress", 31),
];

/// It goes wrong where the sequence counter wraps, to which no search comes.
const AT_THE_WRAP: &str = "published-lock-text-order";

fn explored(scenario: &str, exploration: &Exploration) -> vivarium::ExplorationReport {
    let entry = catalogue().into_iter().find(|entry| entry.name == scenario);
    let scenario = (entry.expect("it is in the catalogue").build)(&Switches::default());
    explore(&scenario, exploration).expect("it can be explored")
}

fn two() -> Exploration {
    Exploration::new().clients(2)
}

#[test]
fn every_text_goes_wrong_where_it_says() {
    for Text { scenario, budget, property, length } in TEXTS {
        let report = explored(scenario, &budget(two()));
        let Verdict::Violated(violation) = &report.verdict else {
            panic!("{scenario}: {}", report.verdict)
        };
        let way = report.finding.as_ref().and_then(|finding| finding.way);
        let way = way.expect("a search found it");
        assert!(way.proven, "{scenario}: {way}");
        assert_eq!((&*violation.objection.property, way.length), (property, length), "{scenario}");
    }
}

#[test]
fn every_text_about_locks_and_elections_is_here() {
    let names = catalogue().into_iter().filter(vivarium::catalogue::Entry::is_published);
    let about = |name: &str| ["lock", "election"].iter().any(|word| name.contains(word));
    let names = names.map(|entry| entry.name).filter(|name| about(name));
    let missing = names
        .filter(|name| !name.contains("barrier") && *name != AT_THE_WRAP)
        .filter(|name| TEXTS.iter().all(|text| text.scenario != *name));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn sorting_names_as_text_is_sound_until_the_counter_wraps() {
    let verdict = explored(AT_THE_WRAP, &two()).verdict;
    assert!(matches!(verdict, Verdict::Exhausted { .. }), "{verdict}");
}
