//! `published-queue-page`, `published-queue-tutorial`: queues as their texts have them, judged by the
//! properties of `queue`.
//!
//! No program is killed, since the tutorial's consumer takes as many items as were put, and would miss those
//! that died with one. Each client puts or takes: the first puts.

use super::queue::{MARKS, QUEUE};
use super::{Entry, Group, Mutant, Switches, recipe};
use vivarium_model::handle::Program;
use vivarium_model::setup::Setup;
use vivarium_recipes::published::{page_queue, tutorial_queue};
use vivarium_recipes::queue;
use vivarium_sim::{Choice, Drawn, Fault, Scenario};

/// The switch that gives the tutorial its padding back.
const PADDED: Mutant = Mutant {
    name: "PaddingKept",
    summary: "The tutorial's queue with the padding of the names that it must have meant, so that \
              what is wrong besides can be seen.",
};

/// The entry of the page's queue.
pub(super) fn page() -> Entry {
    Entry {
        name: "published-queue-page",
        summary: "the queue of ZooKeeper's recipes page, taken literally",
        group: Group::Published,
        seeds: 200,
        mutants: Vec::new(),
        build: |switches| build(&page(), switches, page_programs),
    }
}

/// The entry of the tutorial's queue.
pub(super) fn tutorial() -> Entry {
    Entry {
        name: "published-queue-tutorial",
        summary: "the queue of ZooKeeper's tutorial, taken literally",
        group: Group::Published,
        seeds: 200,
        mutants: vec![PADDED],
        build: |switches| {
            let padding = match switches.mutants.contains(&PADDED.name) {
                true => tutorial_queue::Padding::Kept,
                false => tutorial_queue::Padding::Lost,
            };
            let programs = move |drawn: &Drawn| tutorial_programs(drawn, padding);
            build(&tutorial(), switches, programs)
        },
    }
}

fn build(
    entry: &Entry,
    switches: &Switches,
    programs: impl Fn(&Drawn) -> Vec<Program> + Send + Sync + 'static,
) -> Scenario {
    let scenario = recipe::scenario(entry, switches, programs, |_drawn| queue::monitors(QUEUE));
    Scenario {
        clients: Choice::from(2..=3),
        marks: MARKS.to_vec(),
        faults: scenario.faults.without(Fault::ProgramCrash),
        setup: Setup::of([QUEUE]).expect("it is a znode"),
        ..scenario
    }
}

/// One producer, and the others take: two of them can have the same item.
fn page_programs(drawn: &Drawn) -> Vec<Program> {
    (1..=drawn.clients)
        .map(|client| match client {
            1 => page_queue::producer(QUEUE, drawn.rounds),
            _ => page_queue::consumer(QUEUE, 1),
        })
        .collect()
}

/// One producer, one consumer of as much; more clients are more of both.
fn tutorial_programs(drawn: &Drawn, padding: tutorial_queue::Padding) -> Vec<Program> {
    (1..=drawn.clients)
        .map(|client| match client % 2 {
            1 => tutorial_queue::producer(QUEUE, drawn.rounds),
            _ => tutorial_queue::consumer(QUEUE, drawn.rounds, padding),
        })
        .collect()
}
