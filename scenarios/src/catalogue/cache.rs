//! `node-cache`, `children-cache` and `tree-cache`: clients create, write, delete and recreate znodes, and all have a
//! copy of them, under all faults.
//!
//! Each client changes something before it opens its cache, and something while the cache is open, in the same session.
//! It keeps the cache open long enough that the copy must have become current. In a search, the first client changes
//! something, and the others have caches.

use super::{Entry, Group, Mutant, Switches, recipe};
use std::sync::Arc;
use vivarium_model::mark::Mark;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::cache::{
    self, CacheWork, Extent, Mutant as CacheMutant, Mutants, Step, cache_worker,
};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Explored, Run, Scenario};

/// The znode that the caches copy.
const ROOT: &str = "/cache";

/// The children of [`ROOT`].
const CHILDREN: [&str; 3] = ["/cache/a", "/cache/b", "/cache/c"];

/// The grandchildren of [`ROOT`].
const GRANDCHILDREN: [&str; 3] = ["/cache/a/x", "/cache/a/y", "/cache/b/x"];

/// The mutants of the cache of a single znode.
const OF_NODE: [CacheMutant; 6] = [
    CacheMutant::CacheVersionNotMzxid,
    CacheMutant::CacheNoRecheckOnReconnect,
    CacheMutant::CacheWatchConsumed,
    CacheMutant::CacheWatchAfterRead,
    CacheMutant::CacheStopsAtNoNode,
    CacheMutant::CacheBelievesLaggard,
];

/// The mutants of the cache of a list of children.
const OF_CHILDREN: [CacheMutant; 6] = [
    CacheMutant::CacheNoRecheckOnReconnect,
    CacheMutant::InitCountsVanished,
    CacheMutant::FailOnVanishedPeer,
    CacheMutant::CacheInitializedEarly,
    CacheMutant::CacheAddsWithoutData,
    CacheMutant::CacheKeepsVanished,
];

/// The mutants of the cache of a subtree.
const OF_TREE: [CacheMutant; 6] = [
    CacheMutant::CacheVersionNotMzxid,
    CacheMutant::CacheStopsAtNoNode,
    CacheMutant::FailOnVanishedPeer,
    CacheMutant::CacheKeepsVanished,
    CacheMutant::CacheForgetsDescendants,
    CacheMutant::CacheChildBeforeParent,
];

/// The marks that a sweep must reach: otherwise half of a cache's purpose was not tested.
const MARKS: [Mark; 1] = [Mark::SessionExpired];

fn listed(mutants: &[CacheMutant]) -> Vec<Mutant> {
    let row = |mutant: &CacheMutant| Mutant { name: mutant.name(), summary: mutant.summary() };
    mutants.iter().map(row).collect()
}

/// The entry for a copy of one znode.
pub(super) fn node() -> Entry {
    Entry {
        name: "node-cache",
        summary: "clients cache a znode that others change",
        group: Group::Recipe,
        seeds: 500,
        mutants: listed(&OF_NODE),
        build: |switches| build(&node(), switches, Extent::Node),
    }
}

/// The entry for a copy of the children.
pub(super) fn children() -> Entry {
    Entry {
        name: "children-cache",
        summary: "clients cache children that others change",
        group: Group::Recipe,
        seeds: 500,
        mutants: listed(&OF_CHILDREN),
        build: |switches| build(&children(), switches, Extent::Children),
    }
}

/// The entry for a copy of a subtree.
pub(super) fn tree() -> Entry {
    Entry {
        name: "tree-cache",
        summary: "clients cache a subtree that others change",
        group: Group::Recipe,
        seeds: 500,
        mutants: listed(&OF_TREE),
        build: |switches| build(&tree(), switches, Extent::Tree),
    }
}

fn build(entry: &Entry, switches: &Switches, extent: Extent) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let work = (1..=run.clients()).map(|client| work(run, client, extent, mutants));
        work.map(cache_worker).collect()
    };
    let monitors = |run: &Run| cache::monitors(ROOT, recipe::calm_bound(run));
    let children: &[&str] = match extent {
        Extent::Node => &[],
        Extent::Children | Extent::Tree => &[CHILDREN[0]],
    };
    let setup = Setup::NONE.containers([ROOT]).and_then(|mut setup| {
        children.iter().try_for_each(|child| setup.add(child))?;
        Ok(setup)
    });
    Scenario {
        rounds: Choice::from(1..=6),
        marks: MARKS.to_vec(),
        // A client keeps its cache for the longest time that a guaranteed update may take.
        progress_bound: Duration::from_secs(900),
        explored: Explored::Programs { setup: setup.expect("these are znodes") },
        ..recipe::scenario(entry, switches, programs, monitors)
    }
}

/// Returns the work of a client.
fn work(run: &Run, client: u8, extent: Extent, mutants: Mutants) -> CacheWork {
    if let Some(search) = run.search {
        let (before, follow) = match client {
            1 => (searched(extent), None),
            _ => (Vec::new(), Some(run.config.tick)),
        };
        return CacheWork {
            root: ROOT.into(),
            extent,
            before,
            beside: Vec::new(),
            pause: Duration::ZERO,
            follow,
            cancel: search.cancels > 0,
            close: false,
            mutants,
        };
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("cache work", client.into());
    let mut steps = |count: u32| (0..count).map(|_| step(random, extent)).collect::<Vec<_>>();
    let (before, beside) = (steps(2 * run.rounds), steps(2 * run.rounds));
    let bound = recipe::calm_bound(run);
    CacheWork {
        root: ROOT.into(),
        extent,
        before,
        beside,
        pause: random.span(Duration::ZERO, Duration::from_secs(2)),
        follow: Some(bound + random.span(Duration::ZERO, run.chaos)),
        cancel: random.chance(Ratio::one_in(2)),
        close: true,
        mutants,
    }
}

/// Returns the few changes of a search.
fn searched(extent: Extent) -> Vec<Step> {
    let [root, a, b]: [Arc<str>; 3] = [ROOT, CHILDREN[0], CHILDREN[1]].map(Arc::from);
    match extent {
        Extent::Node => vec![Step::Delete(Arc::clone(&root)), Step::Create(root)],
        Extent::Children => vec![Step::Delete(a), Step::Create(b)],
        Extent::Tree => {
            vec![Step::DeleteAll(Arc::clone(&root)), Step::Create(root), Step::Create(a)]
        }
    }
}

/// Returns one change of a sweep.
fn step(random: &mut Random, extent: Extent) -> Step {
    let mut any = |paths: &[&str]| Arc::from(*random.pick(paths));
    let path = match extent {
        Extent::Node => any(&[ROOT]),
        Extent::Children => any(&[&[ROOT][..], &CHILDREN, &CHILDREN].concat()),
        Extent::Tree => any(&[&[ROOT][..], &CHILDREN, &GRANDCHILDREN].concat()),
    };
    match random.below(10) {
        0..=3 => Step::Create(path),
        4 => Step::CreateEphemeral(path),
        5..=6 => Step::Set(path),
        7 => Step::Replace(path),
        8 => Step::Delete(path),
        _ => Step::DeleteAll(path),
    }
}
