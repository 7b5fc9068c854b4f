//! `rwlock`: clients read and write under one read-write lock, under all faults.
//!
//! In a sweep, each client takes several turns: it reads, writes, or writes and then reads; some are impatient, some
//! can be cancelled. In a search, the first client writes and then reads, the second writes, the others read, once
//! each.

use super::recipe::{self, calm_bound, explored_routine, routine};
use super::{Entry, Group, Mutant, Switches};
use vivarium_model::setup::Setup;
use vivarium_recipes::rwlock::{self, Mutants, RwLockWork, Turn, rw_lock_worker};
use vivarium_sim::budget::programs::Budget;
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Explored, Run, Scenario};

/// The lock's directory.
const LOCK: &str = "/rwlock";

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "rwlock",
        summary: "clients read and write under a read-write lock",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<rwlock::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let work = (0..run.clients()).map(|client| work(run, client, mutants));
        work.map(rw_lock_worker).collect()
    };
    Scenario {
        explored: Explored::Programs {
            setup: Setup::NONE.containers([LOCK]).expect("it is a znode"),
        },
        ..recipe::scenario(&entry(), switches, programs, |run| {
            rwlock::monitors(LOCK, calm_bound(run))
        })
    }
}

/// Returns the work of a client: drawn from a stream of its own, or minimal in a search.
fn work(run: &Run, client: u8, mutants: Mutants) -> RwLockWork {
    if let Some(search) = run.search {
        return explored_work(run, search, client, mutants);
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("rwlock work", client.into());
    let turns = (0..run.rounds).map(|_| match random.below(4) {
        0 | 1 => Turn::Read,
        2 => Turn::Write,
        _ => Turn::Downgrade,
    });
    RwLockWork {
        directory: LOCK.into(),
        turns: turns.collect(),
        resource: Some("resource".into()),
        guard_watch: random.chance(Ratio::one_in(2)),
        routine: routine(run, random),
        mutants,
    }
}

/// Returns the work of a client in a search.
fn explored_work(run: &Run, search: Budget, client: u8, mutants: Mutants) -> RwLockWork {
    let turn = match client {
        0 => Turn::Downgrade,
        1 => Turn::Write,
        _ => Turn::Read,
    };
    RwLockWork {
        directory: LOCK.into(),
        turns: vec![turn; run.rounds as usize],
        resource: None,
        guard_watch: false,
        routine: explored_routine(run, search),
        mutants,
    }
}
