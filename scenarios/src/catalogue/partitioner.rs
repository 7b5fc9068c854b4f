//! `partitioner`: clients divide a set of items, under all faults.
//!
//! In a sweep, some clients stay for so long that the division must have become final, and in some runs one client
//! divides another set. In a search, each takes part once, and one item is divided. There, no client leaves before it
//! has used something, except the first client in searches without faults.

use super::recipe::{self, calm_bound};
use super::{Entry, Group, Mutant, Switches};
use std::sync::Arc;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::partitioner::{self, Mutants, PartitionWork, partition_worker};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Explored, Run, Scenario};

/// The partition's directory.
const PARTITION: &str = "/partition";

/// The items that are divided.
const ITEMS: [&str; 3] = ["a", "b", "c"];

/// The items that are divided in a search; the directory of their locks exists already.
const EXPLORED: [&str; 1] = ["a"];

/// The containers that exist at the beginning of a search, and that can have a history in a sweep.
const CONTAINERS: [&str; 2] = ["/partition/members", "/partition/locks/a"];

/// The parents of [`CONTAINERS`].
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
    let programs = move |run: &Run| {
        let work = (1..=run.clients()).map(|client| work(run, client, mutants));
        work.map(partition_worker).collect()
    };
    let monitors = |run: &Run| {
        let items: &[&str] = if run.is_explored() { &EXPLORED } else { &ITEMS };
        partitioner::monitors(PARTITION, items, calm_bound(run))
    };
    let setup = Setup::of(PARENTS).and_then(|setup| setup.containers(CONTAINERS));
    Scenario {
        clients: Choice::from(2..=3),
        rounds: Choice::from(1..=2),
        // A round lasts for the longest time that a guaranteed update may take.
        progress_bound: Duration::from_secs(1_800),
        explored: Explored::Programs { setup: setup.expect("they are znodes") },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

fn set(items: &[&str]) -> Vec<Arc<str>> {
    items.iter().copied().map(Arc::from).collect()
}

/// Returns the work of a client: drawn from a stream of its own, or minimal in a search.
fn work(run: &Run, client: u8, mutants: Mutants) -> PartitionWork {
    let id: Arc<str> = client.to_string().into();
    let directory: Arc<str> = PARTITION.into();
    if let Some(search) = run.search {
        // A client that can be cancelled leaves tasks to the background, which end with the program.
        let (cancel, tick) = (search.cancels > 0, run.config.tick);
        return PartitionWork {
            directory,
            items: set(&EXPLORED),
            id,
            rounds: run.rounds,
            stay: tick,
            // Each sleep costs states, so with faults only clients that use something sleep.
            leaves_idle: client == 1 && !search.has_faults(),
            resources: false,
            cancel,
            linger: if cancel { tick } else { Duration::ZERO },
            close: cancel,
            mutants,
        };
    }
    let is_odd =
        client == 1 && Seeds::new(run.seed).stream("partition set", 0).chance(Ratio::one_in(4));
    let random: &mut Random = &mut Seeds::new(run.seed).stream("partition work", client.into());
    let bound = calm_bound(run);
    PartitionWork {
        directory,
        items: set(if is_odd { &ITEMS[1..] } else { &ITEMS }),
        id,
        rounds: run.rounds,
        stay: match random.chance(Ratio::one_in(2)) {
            true => bound + run.config.tick,
            false => random.span(Duration::from_millis(200), Duration::from_secs(5)),
        },
        leaves_idle: true,
        resources: true,
        cancel: random.chance(Ratio::one_in(2)),
        linger: bound + run.config.tick,
        close: true,
        mutants,
    }
}
