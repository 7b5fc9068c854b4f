//! `published-revocable-…`: the revocable lock as ZooKeeper's recipes page and a translation describe it. The first
//! client owns the lock, the others ask for it. No fault is needed.

use super::recipe::{self, calm_bound, explored_routine, routine};
use super::{Entry, Group, Switches};
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::contention::Routine;
use vivarium_recipes::published::revocable_lock::{Text, published_owner};
use vivarium_recipes::revocable_lock::{
    self, Force, Mutants, RevocableWork, Turn, revocable_lock_worker,
};
use vivarium_sim::random::Seeds;
use vivarium_sim::{Choice, Explored, FaultSet, Run, Scenario};

/// The lock's directory.
const LOCK: &str = "/revocable";

/// The version that ignores what its first read returns.
pub(super) fn page() -> Entry {
    Entry {
        name: "published-revocable-page",
        summary: "the recipes page's revocable lock, whose owner does not look at what it reads first",
        group: Group::Published,
        seeds: 1_000,
        mutants: Vec::new(),
        build: |switches| build(&page(), switches, Text::Page),
    }
}

/// The version whose first read comes before the create.
pub(super) fn translation() -> Entry {
    Entry {
        name: "published-revocable-translation",
        summary: "a translation's revocable lock, whose owner reads its znode before it creates it",
        group: Group::Published,
        seeds: 1_000,
        mutants: Vec::new(),
        build: |switches| build(&translation(), switches, Text::Translation),
    }
}

fn build(entry: &Entry, switches: &Switches, text: Text) -> Scenario {
    let programs = move |run: &Run| {
        let owner = std::iter::once(published_owner(LOCK, text, hold(run)));
        owner
            .chain((1..run.clients()).map(|client| revocable_lock_worker(asks(run, client))))
            .collect()
    };
    let setup = || Setup::of([LOCK]).expect("it is a znode");
    Scenario {
        rounds: Choice::from(1..=4),
        setup: setup(),
        faults: FaultSet::INTERLEAVINGS,
        progress_bound: Duration::from_secs(900),
        explored: Explored::Programs { setup: setup() },
        ..recipe::scenario(entry, switches, programs, |run| {
            revocable_lock::monitors(LOCK, Force::None, calm_bound(run))
        })
    }
}

/// Returns how long the owner holds the lock: long enough to be notified.
fn hold(run: &Run) -> Duration {
    calm_bound(run) + run.config.tick
}

fn asks(run: &Run, client: u8) -> RevocableWork {
    let random = &mut Seeds::new(run.seed).stream("published revocable", client.into());
    let routine = match run.search {
        Some(search) => explored_routine(run, search),
        None => Routine { patience: None, cancel: false, ..routine(run, random) },
    };
    RevocableWork {
        directory: LOCK.into(),
        turns: vec![Turn::Ask; run.rounds as usize],
        note: false,
        grace: Duration::ZERO,
        resource: None,
        routine,
        mutants: Mutants::NONE,
    }
}
