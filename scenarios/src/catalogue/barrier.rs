//! `barrier`: an owner raises and lowers barriers, and announces each to the others by a message outside of ZooKeeper.
//!
//! Each barrier has a fresh name. The owner writes to its znode while the barrier is up, which wakes waiters that must
//! continue to wait. Some waiters are impatient, some can be cancelled. A search has one barrier, in a directory that
//! exists already.

use super::{Entry, Group, Mutant, Switches, recipe};
use vivarium_model::handle::Program;
use vivarium_model::id::ClientId;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::barrier::{self, BarrierWork, Mutants, barrier_owner, barrier_waiter};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Explored, Run, Scenario};

/// The directory of the barriers.
const BARRIERS: &str = "/barriers";

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "barrier",
        summary: "clients wait at barriers that one client raises and lowers",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<barrier::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        (0..run.clients()).map(|client| client_program(run, client, mutants)).collect()
    };
    let monitors = |_drawn: &Run| barrier::monitors(BARRIERS);
    Scenario {
        explored: Explored::Programs {
            setup: Setup::NONE.containers([BARRIERS]).expect("it is a znode"),
        },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

/// Returns the program of a client: the first client is the owner, the others wait.
fn client_program(run: &Run, client: u8, mutants: Mutants) -> Program {
    let work = work(run, client, mutants);
    if client == 0 { barrier_owner(work) } else { barrier_waiter(work) }
}

/// Returns the work of a client: drawn from a stream of its own, or minimal in a search.
fn work(run: &Run, client: u8, mutants: Mutants) -> BarrierWork {
    let waiters = (1..run.clients()).map(|client| ClientId::at(client.into())).collect();
    if let Some(search) = run.search {
        let lean = BarrierWork::lean(BARRIERS, waiters);
        return BarrierWork { rounds: run.rounds, cancel: search.cancels > 0, mutants, ..lean };
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("barrier work", client.into());
    let impatient = random.chance(Ratio::one_in(4));
    let patience = random.span(Duration::from_millis(200), Duration::from_secs(5));
    BarrierWork {
        rounds: run.rounds,
        touch: random.chance(Ratio::one_in(2)),
        hold: random.span(Duration::ZERO, Duration::from_secs(3)),
        patience: impatient.then_some(patience),
        cancel: random.chance(Ratio::one_in(2)),
        mutants,
        ..BarrierWork::new(BARRIERS, waiters)
    }
}
