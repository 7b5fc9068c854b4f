//! Looks for a violation of the same property in small worlds with few kinds of faults, each under a few seeds.

use super::{Search, kinds_of};
use crate::run::RunReport;
use crate::scenario::faults::{Fault, FaultSet};
use crate::scenario::{Choice, Scenario};
use crate::seeded::drawn::Drawn;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use vivarium_model::case::Case;
use vivarium_model::extent::Extent;

/// How many seeds are tried with each set of kinds: of none, one, two and three kinds. Each further pass over all worlds
/// tries as many others.
const SEEDS: [u64; 4] = [24, 24, 10, 4];

/// How many further seeds are tried where one was found, for a shorter run.
const FURTHER_SEEDS: u64 = 200;

/// The most kinds of faults that sets are made from.
const MOST_KINDS: usize = 12;

/// Faults of clients. What a fault of the servers does to clients, these do in smaller worlds, too.
const OF_CLIENTS: [Fault; 7] = [
    Fault::LostReplyApplied,
    Fault::LostReplyNeverApplied,
    Fault::LostReplyPending,
    Fault::ClientReset,
    Fault::SessionExpiry,
    Fault::SlowReactions,
    Fault::Priorities,
];

/// The most smaller runs that are returned.
const MOST_FOUND: usize = 4;

/// A world smaller than that of the violating run, or as large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct World {
    voters: u8,
    /// The observers and the servers that are to join: as many as in the run, which may need them.
    observers: u8,
    joiners: u8,
    clients: u8,
    rounds: u32,
}

/// Returns smaller runs that violate the property, the shortest first; none if no such run was found in time.
pub(super) fn smaller(search: &Search<'_>, run: Option<&RunReport>, size: Extent) -> Vec<Case> {
    let Some(run) = run else { return Vec::new() };
    let kinds = kinds(search, run);
    let worlds = worlds(search, run, size);
    for pass in 0.. {
        for world in &worlds {
            for (size, seeds) in SEEDS.into_iter().enumerate() {
                let sets = subsets(&kinds, size);
                let seeds = pass * seeds..(pass + 1) * seeds;
                let found = level(search, *world, &sets, seeds);
                if let Some((_, set, _)) = found.first() {
                    let set = sets[*set].clone();
                    return shortest(search, *world, &sets, found, &set);
                }
                if !search.has_time_for_seeds() {
                    return Vec::new();
                }
            }
        }
    }
    Vec::new()
}

/// Tries further seeds of this world and set of faults, and returns the shortest runs as cases.
fn shortest(
    search: &Search<'_>,
    world: World,
    sets: &[Vec<Fault>],
    found: Vec<Found>,
    set: &[Fault],
) -> Vec<Case> {
    let further = level(search, world, &[set.to_vec()], 0..FURTHER_SEEDS);
    let further = further.into_iter().map(|(steps, _, seed)| (steps, set.to_vec(), seed));
    let found = found.into_iter().map(|(steps, set, seed)| (steps, sets[set].clone(), seed));
    let mut all: Vec<(u64, Vec<Fault>, u64)> = found.chain(further).collect();
    all.sort_unstable();
    all.dedup();
    let case = |(_, set, seed): (u64, Vec<Fault>, u64)| {
        let scenario = in_world(search.scenario, world, &set);
        let report = search.run(&scenario, &Drawn::draw(&scenario, seed), true)?;
        let case = search.case_of(report);
        // The programs and monitors of a replay are made for the scenario as it is.
        search.replays(&case).then_some(case)
    };
    all.into_iter().filter_map(case).take(MOST_FOUND).collect()
}

/// A violating run: its number of steps, its set of faults, and its seed.
type Found = (u64, usize, u64);

/// Returns the kinds of faults to try: those of clients that the scenario has, and those that struck.
fn kinds(search: &Search<'_>, run: &RunReport) -> Vec<Fault> {
    let of_clients = OF_CLIENTS.into_iter().filter(|kind| search.scenario.faults.has(*kind));
    let struck = kinds_of(search.scenario, run);
    let others = struck.into_iter().filter(|kind| !OF_CLIENTS.contains(kind));
    of_clients.chain(others).take(MOST_KINDS).collect()
}

/// Returns the worlds to try, the smallest first; the last one is that of the run.
fn worlds(search: &Search<'_>, run: &RunReport, size: Extent) -> Vec<World> {
    let whole = Drawn::draw(search.scenario, run.seed).run;
    let fewest = search.scenario.clients.range().map_or(1, |(fewest, _)| fewest);
    let fewest = u8::try_from(fewest).unwrap_or(u8::MAX).max(1).min(size.clients);
    let (observers, joiners) = (whole.config.observers, whole.config.joiners);
    let most = size.servers.saturating_sub(observers + joiners).max(1);
    let mut worlds = Vec::new();
    // Groups list all voters: with fewer of them, no quorum may be left.
    let may_have_fewer = search.scenario.settings.servers.hierarchy.is_none();
    for voters in (1..=3).filter(|voters| may_have_fewer && *voters < most).chain([most]) {
        let few = fewest.max(2).min(size.clients);
        for (clients, rounds) in [
            (fewest, 1),
            (few, 1),
            (few, whole.rounds),
            (size.clients, 1),
            (size.clients, whole.rounds),
        ] {
            let world = World { voters, observers, joiners, clients, rounds };
            if !worlds.contains(&world) {
                worlds.push(world);
            }
        }
    }
    worlds
}

/// Returns all sets of this size.
fn subsets(kinds: &[Fault], size: usize) -> Vec<Vec<Fault>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let with = |(at, kind): (usize, &Fault)| {
        let rest = subsets(&kinds[at + 1..], size - 1);
        rest.into_iter().map(|set| [vec![*kind], set].concat()).collect::<Vec<_>>()
    };
    kinds.iter().enumerate().flat_map(with).collect()
}

/// Runs one world with each of these sets of faults under these seeds, on all threads. Returns the violating runs, the
/// shortest first.
fn level(search: &Search<'_>, world: World, sets: &[Vec<Fault>], seeds: Range<u64>) -> Vec<Found> {
    let scenarios: Vec<Scenario> =
        sets.iter().map(|set| in_world(search.scenario, world, set)).collect();
    let runs: Vec<(usize, u64)> =
        (0..sets.len()).flat_map(|set| seeds.clone().map(move |seed| (set, seed))).collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while search.has_time_for_seeds() {
            let Some((set, seed)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let drawn = Drawn::draw(&scenarios[*set], *seed);
            if let Some(report) = search.run(&scenarios[*set], &drawn, false) {
                let mut found = found.lock().expect("no thread panics while it holds the lock");
                found.push((report.steps, *set, *seed));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..search.how.jobs.max(1) {
            scope.spawn(work);
        }
    });
    let mut found = found.into_inner().expect("no thread panics while it holds the lock");
    found.sort_unstable();
    found
}

/// Returns the scenario in this world, with these kinds of faults in every seed.
fn in_world(scenario: &Scenario, world: World, kinds: &[Fault]) -> Scenario {
    let with = |set: FaultSet, kind: &Fault| {
        set.with_rate(*kind, scenario.faults.rate(*kind).in_every_seed())
    };
    Scenario {
        servers: Choice::from(u32::from(world.voters)),
        observers: Choice::from(u32::from(world.observers)),
        joiners: Choice::from(u32::from(world.joiners)),
        clients: Choice::from(u32::from(world.clients)),
        rounds: Choice::from(world.rounds),
        faults: kinds.iter().fold(FaultSet::NONE, with),
        ..scenario.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets_are_all_and_each_once() {
        let kinds = &Fault::ALL[..4];
        let sizes: Vec<usize> = (0..=5).map(|size| subsets(kinds, size).len()).collect();
        assert_eq!(sizes, [1, 4, 6, 4, 1, 0]);
        let pairs = subsets(kinds, 2);
        assert!(pairs.iter().all(|pair| pair[0] < pair[1]), "{pairs:?}");
    }
}
