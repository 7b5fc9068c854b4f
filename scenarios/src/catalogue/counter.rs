//! `counter`: clients increment a counter in one znode, under all faults.
//!
//! Each client adds a power of a thousand of its own, so that an addition too many does not compensate for a missing
//! one. Some add unconditionally and some give way to others; some can be cancelled. The znode keeps the ids of many
//! changes or only of one, so that the result of a change may be unknown. In a search, each client adds once: those
//! with an odd number unconditionally, the others give way.

use super::{Entry, Group, Mutant, Switches, recipe};
use vivarium_model::mark::Mark;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::counter::{self, CounterWork, Mutants, counter_worker};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Explored, Run, Scenario};

/// The counter's znode.
const COUNTER: &str = "/counter";

/// The marks that a sweep must reach: every possible result of a write whose reply was lost.
const MARKS: [Mark; 4] = [
    Mark::LostReplyApplied,
    Mark::LostReplyNeverApplied,
    Mark::LostReplyPending,
    Mark::SessionExpired,
];

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "counter",
        summary: "clients count in one znode",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<counter::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        (1..=run.clients()).map(|client| counter_worker(work(run, client, mutants))).collect()
    };
    let monitors = |_drawn: &Run| counter::monitors(COUNTER);
    Scenario {
        rounds: Choice::from(1..=6),
        marks: MARKS.to_vec(),
        explored: Explored::Programs { setup: Setup::of([COUNTER]).expect("it is a znode") },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

/// Returns the work of a client: drawn from a stream of its own, or minimal in a search.
fn work(run: &Run, client: u8, mutants: Mutants) -> CounterWork {
    let delta = 1_000_i64.pow(u32::from(client.min(6)) - 1);
    let work = CounterWork { rounds: run.rounds, delta, mutants, ..CounterWork::new(COUNTER) };
    if let Some(search) = run.search {
        return CounterWork { tries: client.is_multiple_of(2), cancel: search.cancels > 0, ..work };
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("counter work", client.into());
    let keeping = Seeds::new(run.seed).stream("counter", 0).chance(Ratio::one_in(3));
    CounterWork {
        tries: random.chance(Ratio::one_in(3)),
        cancel: random.chance(Ratio::one_in(3)),
        keeping: keeping.then_some(1),
        pause: random.span(Duration::ZERO, Duration::from_millis(800)),
        ..work
    }
}
