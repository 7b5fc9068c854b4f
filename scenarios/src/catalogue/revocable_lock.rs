//! `revocable-lock` and `revocable-lock-by-force`: clients hold a lock, ask each other for it, and in the second one
//! take it away, while everything around them fails.
//!
//! In a sweep each client takes some turns, holding for long enough, some of them, that what an owner must be told it has
//! been told. In a search the first client holds the lock, for as long as nobody asks (by force: asked or not), and
//! the second one wants it; a third one holds it too, and writes a note first.

use super::recipe::{self, calm_bound, explored_routine, routine};
use super::{Entry, Group, Mutant as Listed, Switches};
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::contention::Routine;
use vivarium_recipes::revocable_lock::{
    self, Force, Mutant, Mutants, RevocableWork, Turn, revocable_lock_worker,
};
use vivarium_sim::budget::programs::Budget;
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Drawn, Explored, Scenario};

/// The lock's directory.
const LOCK: &str = "/revocable";

/// How long an owner has, where force is used.
const GRACE: Duration = Duration::from_secs(1);

/// What goes wrong where everybody is asked.
const OF_CONSENT: [Mutant; 8] = [
    Mutant::RevokeInitialIgnored,
    Mutant::RevokeReadBeforeCreate,
    Mutant::RevokeNotRearmed,
    Mutant::RevokeNoteOverwrites,
    Mutant::RevokeReleaseBlind,
    Mutant::RevokeFirstByName,
    Mutant::RevokeBadVersionMeansAsked,
    Mutant::RevokeWithoutConsent,
];

/// What goes wrong where force is used.
const OF_FORCE: [Mutant; 2] = [Mutant::RevokeWhoeverHolds, Mutant::RevokeWithoutGrace];

/// Owners are asked.
pub(super) fn entry() -> Entry {
    Entry {
        name: "revocable-lock",
        summary: "clients hold a lock, and ask each other for it",
        group: Group::Recipe,
        seeds: 500,
        mutants: listed(&OF_CONSENT),
        build: |switches| build(&entry(), switches, Force::None),
    }
}

/// Owners that do not give the lock back lose it.
pub(super) fn by_force() -> Entry {
    Entry {
        name: "revocable-lock-by-force",
        summary: "clients hold a lock, and take it from each other",
        group: Group::Recipe,
        seeds: 500,
        mutants: listed(&OF_FORCE),
        build: |switches| build(&by_force(), switches, Force::After(GRACE)),
    }
}

fn listed(mutants: &[Mutant]) -> Vec<Listed> {
    let row = |mutant: &Mutant| Listed { name: mutant.name(), summary: mutant.summary() };
    mutants.iter().map(row).collect()
}

fn build(entry: &Entry, switches: &Switches, force: Force) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |drawn: &Drawn| {
        let work = (0..drawn.clients).map(|client| work(drawn, client, force, mutants));
        work.map(revocable_lock_worker).collect()
    };
    Scenario {
        // Some hold for as long as what is owed may take.
        progress_bound: Duration::from_secs(900),
        explored: Explored::Programs {
            setup: Setup::NONE.containers([LOCK]).expect("it is a znode"),
        },
        ..recipe::scenario(entry, switches, programs, move |drawn| {
            revocable_lock::monitors(LOCK, force, calm_bound(drawn))
        })
    }
}

/// What one client does: drawn from a stream of its own, or the least there is, for a search.
fn work(drawn: &Drawn, client: u8, force: Force, mutants: Mutants) -> RevocableWork {
    if let Some(search) = drawn.search {
        return explored_work(drawn, search, client, force, mutants);
    }
    let random: &mut Random = &mut Seeds::new(drawn.seed).stream("revocable work", client.into());
    let wants = if force == Force::None { Turn::Ask } else { Turn::Take };
    let turns = (0..drawn.rounds).map(|_| match random.below(5) {
        0 | 1 => Turn::Hold,
        2 => Turn::Insist,
        _ => wants,
    });
    let turns = turns.collect();
    let hold = match random.chance(Ratio::one_in(3)) {
        true => calm_bound(drawn) + drawn.config.tick,
        false => random.span(Duration::ZERO, 3 * GRACE),
    };
    RevocableWork {
        directory: LOCK.into(),
        turns,
        note: random.chance(Ratio::one_in(2)),
        grace: GRACE,
        resource: Some("resource".into()),
        routine: Routine { hold, ..routine(drawn, random) },
        mutants,
    }
}

/// What one client does in a search.
fn explored_work(
    drawn: &Drawn,
    search: Budget,
    client: u8,
    force: Force,
    mutants: Mutants,
) -> RevocableWork {
    let turn = match (client, force) {
        (0 | 2, Force::None) => Turn::Hold,
        (0, Force::After(_)) => Turn::Insist,
        (_, Force::None) => Turn::Ask,
        (_, Force::After(_)) => Turn::Take,
    };
    RevocableWork {
        directory: LOCK.into(),
        turns: vec![turn; drawn.rounds as usize],
        note: client > 1 && force == Force::None,
        grace: GRACE,
        resource: (force != Force::None).then(|| "resource".into()),
        // Longer than the grace time.
        routine: Routine { hold: 4 * GRACE, ..explored_routine(drawn, search) },
        mutants,
    }
}
