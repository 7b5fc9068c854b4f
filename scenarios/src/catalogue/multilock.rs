//! `multilock`: clients acquire the same two locks, each naming them in an order of its own, while everything
//! around them fails.

use super::lock::leak_bound;
use super::{Entry, Group, Mutant, Switches, recipe};
use std::sync::Arc;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::multilock::{self, MultiLockWork, Mutants, multi_lock_worker};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Drawn, Explored, Scenario, Search};

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
    let programs = move |drawn: &Drawn| {
        let work = (0..drawn.clients).map(|client| work(drawn, client, mutants));
        work.map(multi_lock_worker).collect()
    };
    Scenario {
        clients: Choice::from(2..=3),
        explored: Explored::Programs { setup: Setup::of(LOCKS).expect("they are znodes") },
        ..recipe::scenario(&entry(), switches, programs, |drawn| {
            multilock::monitors(&LOCKS, leak_bound(drawn))
        })
    }
}

/// What one client does: drawn from a stream of its own, or the least there is, for a search.
fn work(drawn: &Drawn, client: u8, mutants: Mutants) -> MultiLockWork {
    let mut directories: Vec<Arc<str>> = LOCKS.map(Arc::from).to_vec();
    if client % 2 == 1 {
        directories.reverse();
    }
    let lean = MultiLockWork { mutants, ..MultiLockWork::lean(directories) };
    if let Some(search) = drawn.search {
        return explored_work(drawn, search, lean);
    }
    let random: &mut Random = &mut Seeds::new(drawn.seed).stream("multilock work", client.into());
    let impatient = random.chance(Ratio::one_in(4));
    let patience = random.span(Duration::from_millis(200), Duration::from_secs(5));
    MultiLockWork {
        rounds: drawn.rounds,
        hold: random.span(Duration::ZERO, Duration::from_millis(400)),
        patience: impatient.then_some(patience),
        cancel: random.chance(Ratio::one_in(2)),
        linger: leak_bound(drawn) + drawn.config.tick,
        close: true,
        ..lean
    }
}

/// What one client does in a search.
fn explored_work(drawn: &Drawn, search: Search, lean: MultiLockWork) -> MultiLockWork {
    // Who can be cancelled leaves duties to the background, which end with the program.
    let cancel = search.cancels;
    let linger = if cancel { drawn.config.tick } else { Duration::ZERO };
    MultiLockWork { rounds: drawn.rounds, cancel, linger, close: cancel, ..lean }
}
