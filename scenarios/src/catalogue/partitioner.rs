//! `partitioner`: clients divide a set of items while everything around them fails.
//!
//! In a sweep some stay for so long that what each should use must have come to be so, and in some runs one client divides
//! another set. In a search each takes part once, and one item is divided. There nobody leaves before it has used
//! something but the first client, where nothing can go wrong.

use super::recipe::{self, calm_bound};
use super::{Entry, Group, Mutant, Switches};
use std::sync::Arc;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::partitioner::{self, Mutants, PartitionWork, partition_worker};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Drawn, Explored, Scenario};

/// The partition's directory.
const PARTITION: &str = "/partition";

/// What is divided.
const ITEMS: [&str; 3] = ["a", "b", "c"];

/// What is divided in a search, whose locks' directory is there.
const EXPLORED: [&str; 1] = ["a"];

/// What is there at the beginning of a search, and what can have a history in a sweep.
const CONTAINERS: [&str; 2] = ["/partition/members", "/partition/locks/a"];

/// What they stand in.
const PARENTS: [&str; 2] = [PARTITION, "/partition/locks"];

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "partitioner",
        summary: "clients divide a set of items",
        group: Group::Recipe,
        seeds: 300,
        mutants: Mutant::all_of::<partitioner::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |drawn: &Drawn| {
        let work = (1..=drawn.clients).map(|client| work(drawn, client, mutants));
        work.map(partition_worker).collect()
    };
    let monitors = |drawn: &Drawn| {
        let items: &[&str] = if drawn.is_explored() { &EXPLORED } else { &ITEMS };
        partitioner::monitors(PARTITION, items, calm_bound(drawn))
    };
    let setup = Setup::of(PARENTS).and_then(|setup| setup.containers(CONTAINERS));
    Scenario {
        clients: Choice::from(2..=3),
        rounds: Choice::from(1..=2),
        // Its rounds last for as long as what is owed may take.
        progress_bound: Duration::from_secs(1_800),
        explored: Explored::Programs { setup: setup.expect("they are znodes") },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

fn set(items: &[&str]) -> Vec<Arc<str>> {
    items.iter().copied().map(Arc::from).collect()
}

/// What one client does: drawn from a stream of its own, or the least there is, for a search.
fn work(drawn: &Drawn, client: u8, mutants: Mutants) -> PartitionWork {
    let id: Arc<str> = client.to_string().into();
    let directory: Arc<str> = PARTITION.into();
    if let Some(search) = drawn.search {
        // Who can be cancelled leaves duties to the background, which end with the program.
        let (cancel, tick) = (search.cancels > 0, drawn.config.tick);
        return PartitionWork {
            directory,
            items: set(&EXPLORED),
            id,
            rounds: drawn.rounds,
            stay: tick,
            // Each sleep costs states: with faults there is none but of who uses something.
            leaves_idle: client == 1 && !search.has_faults(),
            resources: false,
            cancel,
            linger: if cancel { tick } else { Duration::ZERO },
            close: cancel,
            mutants,
        };
    }
    let is_odd =
        client == 1 && Seeds::new(drawn.seed).stream("partition set", 0).chance(Ratio::one_in(4));
    let random: &mut Random = &mut Seeds::new(drawn.seed).stream("partition work", client.into());
    let bound = calm_bound(drawn);
    PartitionWork {
        directory,
        items: set(if is_odd { &ITEMS[1..] } else { &ITEMS }),
        id,
        rounds: drawn.rounds,
        stay: match random.chance(Ratio::one_in(2)) {
            true => bound + drawn.config.tick,
            false => random.span(Duration::from_millis(200), Duration::from_secs(5)),
        },
        leaves_idle: true,
        resources: true,
        cancel: random.chance(Ratio::one_in(2)),
        linger: bound + drawn.config.tick,
        close: true,
        mutants,
    }
}
