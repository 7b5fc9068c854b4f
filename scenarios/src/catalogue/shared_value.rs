//! `shared-value`: clients write one value and follow it, under all faults.
//!
//! Some write only over the value that they received last, some over any; some can be cancelled. The znode keeps the
//! ids of many writes or only of one, so that the result of a write may be unknown. Each client follows for so long
//! that it must have received the last value. In a search, each client writes once: those with an odd number over the
//! value that they have read, the others over any value; then the last client follows.

use super::{Entry, Group, Mutant, Switches, recipe};
use vivarium_model::mark::Mark;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::shared_value::{self, Mutants, SharedValueWork, shared_value_worker};
use vivarium_recipes::{cache, counter};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Explored, Run, Scenario};

/// The value's znode.
const PATH: &str = "/shared";

/// The marks that a sweep must reach: every possible result of a write whose reply was lost.
const MARKS: [Mark; 4] = [
    Mark::LostReplyApplied,
    Mark::LostReplyNeverApplied,
    Mark::LostReplyPending,
    Mark::SessionExpired,
];

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    let following = cache::Mutant::CacheNoRecheckOnReconnect;
    let following = Mutant { name: following.name(), summary: following.summary() };
    let writing = Mutant::all_of::<counter::Mutant>().into_iter();
    Entry {
        name: "shared-value",
        summary: "clients write one value, and all follow it",
        group: Group::Recipe,
        seeds: 500,
        mutants: writing.chain([following]).collect(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let work = (1..=run.clients()).map(|client| work(run, client, mutants));
        work.map(shared_value_worker).collect()
    };
    let monitors = |run: &Run| shared_value::monitors(PATH, recipe::calm_bound(run));
    Scenario {
        rounds: Choice::from(1..=6),
        marks: MARKS.to_vec(),
        // A client follows for the longest time that a guaranteed update may take.
        progress_bound: Duration::from_secs(900),
        explored: Explored::Programs { setup: Setup::of([PATH]).expect("it is a znode") },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

/// Returns the work of a client.
fn work(run: &Run, client: u8, mutants: Mutants) -> SharedValueWork {
    if let Some(search) = run.search {
        let is_last = client == run.clients();
        return SharedValueWork {
            path: PATH.into(),
            rounds: run.rounds,
            tries: client % 2 == 1,
            pause: Duration::ZERO,
            follow: is_last.then_some(run.config.tick),
            cancel: search.cancels > 0,
            keeping: None,
            close: false,
            mutants,
        };
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("shared value work", client.into());
    let keeping = Seeds::new(run.seed).stream("shared value", 0).chance(Ratio::one_in(3));
    let bound = recipe::calm_bound(run);
    SharedValueWork {
        path: PATH.into(),
        rounds: run.rounds,
        tries: random.chance(Ratio::one_in(2)),
        pause: random.span(Duration::ZERO, Duration::from_millis(1_500)),
        follow: Some(bound + random.span(Duration::ZERO, run.chaos)),
        cancel: random.chance(Ratio::one_in(3)),
        keeping: keeping.then_some(1),
        close: true,
        mutants,
    }
}
