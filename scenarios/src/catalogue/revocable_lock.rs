//! `revocable-lock` and `revocable-lock-by-force`: clients hold a lock, ask each other for it, and in the second
//! scenario take it away, under all faults.
//!
//! In a sweep, each client takes several turns. Some hold the lock for so long that a request to the owner must have
//! arrived. In a search, the first client holds the lock as long as no client asks (by force: whether asked or not),
//! and the second one wants it; a third one holds it too, and writes a note first.

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
use vivarium_sim::{Explored, Run, Scenario};

/// The lock's directory.
const LOCK: &str = "/revocable";

/// How long an owner may keep the lock after a request, before force is used.
const GRACE: Duration = Duration::from_secs(1);

/// The mutants of the version without force.
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

/// The mutants of the version with force.
const OF_FORCE: [Mutant; 2] = [Mutant::RevokeWhoeverHolds, Mutant::RevokeWithoutGrace];

/// The entry in which owners are asked.
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

/// The entry in which owners that do not release the lock lose it.
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
    let programs = move |run: &Run| {
        let work = (0..run.clients()).map(|client| work(run, client, force, mutants));
        work.map(revocable_lock_worker).collect()
    };
    Scenario {
        // Some hold the lock for the longest time that a guaranteed notification may take.
        progress_bound: Duration::from_secs(900),
        explored: Explored::Programs {
            setup: Setup::NONE.containers([LOCK]).expect("it is a znode"),
        },
        ..recipe::scenario(entry, switches, programs, move |run| {
            revocable_lock::monitors(LOCK, force, calm_bound(run))
        })
    }
}

/// Returns the work of a client: drawn from a stream of its own, or minimal in a search.
fn work(run: &Run, client: u8, force: Force, mutants: Mutants) -> RevocableWork {
    if let Some(search) = run.search {
        return explored_work(run, search, client, force, mutants);
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("revocable work", client.into());
    let wants = if force == Force::None { Turn::Ask } else { Turn::Take };
    let turns = (0..run.rounds).map(|_| match random.below(5) {
        0 | 1 => Turn::Hold,
        2 => Turn::Insist,
        _ => wants,
    });
    let turns = turns.collect();
    let hold = match random.chance(Ratio::one_in(3)) {
        true => calm_bound(run) + run.config.tick,
        false => random.span(Duration::ZERO, 3 * GRACE),
    };
    RevocableWork {
        directory: LOCK.into(),
        turns,
        note: random.chance(Ratio::one_in(2)),
        grace: GRACE,
        resource: Some("resource".into()),
        routine: Routine { hold, ..routine(run, random) },
        mutants,
    }
}

/// Returns the work of a client in a search.
fn explored_work(
    run: &Run,
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
        turns: vec![turn; run.rounds as usize],
        note: client > 1 && force == Force::None,
        grace: GRACE,
        resource: (force != Force::None).then(|| "resource".into()),
        // Longer than the grace time.
        routine: Routine { hold: 4 * GRACE, ..explored_routine(run, search) },
        mutants,
    }
}
