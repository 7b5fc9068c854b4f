//! `published-queue-page`, `published-queue-tutorial` and `…-padded`: queues as published, judged by the properties of
//! `queue`, which they violate: the headers of the programs say where.
//!
//! No program is killed, because the tutorial's consumer takes as many items as were put, and would wait for items that
//! a killed consumer took. Each client either puts or takes; the first one puts.

use super::queue::{MARKS, QUEUE};
use super::{Entry, Group, Switches, recipe};
use vivarium_model::handle::Program;
use vivarium_model::setup::Setup;
use vivarium_recipes::published::page_queue;
use vivarium_recipes::published::tutorial_queue::{self, Padding};
use vivarium_recipes::queue;
use vivarium_sim::{Choice, Fault, Run, Scenario};

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
        mutants: Vec::new(),
        build: |switches| build(&tutorial(), switches, |run| tutorial_programs(run, Padding::Lost)),
    }
}

/// The entry of the tutorial's queue with a repaired consumer, which pads the item's number to 10 digits. The published
/// code does not.
pub(super) fn padded_tutorial() -> Entry {
    Entry {
        name: "published-queue-tutorial-padded",
        summary: "the queue of ZooKeeper's tutorial, with the padding of names that it lost",
        group: Group::Published,
        seeds: 200,
        mutants: Vec::new(),
        build: |switches| {
            build(&padded_tutorial(), switches, |run| tutorial_programs(run, Padding::Kept))
        },
    }
}

fn build(
    entry: &Entry,
    switches: &Switches,
    programs: impl Fn(&Run) -> Vec<Program> + Send + Sync + 'static,
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

/// One producer, and all others take: two of them can receive the same item.
fn page_programs(run: &Run) -> Vec<Program> {
    (1..=run.clients())
        .map(|client| match client {
            1 => page_queue::producer(QUEUE, run.rounds),
            _ => page_queue::consumer(QUEUE, 1),
        })
        .collect()
}

/// One producer and one consumer of as many items; further clients add more pairs.
fn tutorial_programs(run: &Run, padding: Padding) -> Vec<Program> {
    (1..=run.clients())
        .map(|client| match client % 2 {
            1 => tutorial_queue::producer(QUEUE, run.rounds),
            _ => tutorial_queue::consumer(QUEUE, run.rounds, padding),
        })
        .collect()
}
