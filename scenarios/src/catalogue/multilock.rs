//! `multilock`: clients acquire the same two locks, each naming them in an order of its own, under all faults.

use super::recipe::{self, calm_bound, explored_routine, routine};
use super::{Entry, Group, Mutant, Switches};
use std::sync::Arc;
use vivarium_model::setup::Setup;
use vivarium_recipes::multilock::{self, MultiLockWork, Mutants, multi_lock_worker};
use vivarium_sim::random::Seeds;
use vivarium_sim::{Choice, Explored, Run, Scenario};

/// The locks' directories.
const LOCKS: [&str; 2] = ["/multilock-a", "/multilock-b"];

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "multilock",
        summary: "clients acquire the same two locks, all or none",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<multilock::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let work = (0..run.clients()).map(|client| work(run, client, mutants));
        work.map(multi_lock_worker).collect()
    };
    Scenario {
        clients: Choice::from(2..=3),
        explored: Explored::Programs {
            setup: Setup::NONE.containers(LOCKS).expect("they are znodes"),
        },
        ..recipe::scenario(&entry(), switches, programs, |run| {
            multilock::monitors(&LOCKS, calm_bound(run))
        })
    }
}

/// Returns the work of a client: drawn from a stream of its own, or minimal in a search.
fn work(run: &Run, client: u8, mutants: Mutants) -> MultiLockWork {
    let mut directories: Vec<Arc<str>> = LOCKS.map(Arc::from).to_vec();
    if client % 2 == 1 {
        directories.reverse();
    }
    let routine = match run.search {
        Some(search) => explored_routine(run, search),
        None => routine(run, &mut Seeds::new(run.seed).stream("multilock work", client.into())),
    };
    MultiLockWork { directories, routine, mutants }
}
