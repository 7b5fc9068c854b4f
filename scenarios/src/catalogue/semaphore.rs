//! `semaphore`: clients share the permits of one semaphore while everything around them fails.
//!
//! In a sweep there are two permits, or one, for two to four clients; some are impatient, some can be
//! cancelled. In a search there is one permit less than clients, and each gets one once.

use super::lock::leak_bound;
use super::{Entry, Group, Mutant, Switches, recipe};
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::semaphore::{self, Mutants, SemaphoreWork, semaphore_worker};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Drawn, Explored, Scenario, Search};

/// The semaphore's directory.
const SEMAPHORE: &str = "/semaphore";

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "semaphore",
        summary: "clients share the permits of a semaphore",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<semaphore::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |drawn: &Drawn| {
        let work = (0..drawn.clients).map(|client| work(drawn, client, mutants));
        work.map(semaphore_worker).collect()
    };
    let there = ["/semaphore", "/semaphore/turns", "/semaphore/leases"];
    Scenario {
        explored: Explored::Programs { setup: Setup::of(there).expect("they are znodes") },
        ..recipe::scenario(&entry(), switches, programs, |drawn| {
            semaphore::monitors(SEMAPHORE, permits(drawn), leak_bound(drawn))
        })
    }
}

/// How many permits there are.
fn permits(drawn: &Drawn) -> u32 {
    if drawn.is_explored() {
        return u32::from(drawn.clients).saturating_sub(1).max(1);
    }
    let random: &mut Random = &mut Seeds::new(drawn.seed).stream("permits", 0);
    1 + random.below(2) as u32
}

/// What one client does: drawn from a stream of its own, or the least there is, for a search.
fn work(drawn: &Drawn, client: u8, mutants: Mutants) -> SemaphoreWork {
    let lean = SemaphoreWork { mutants, ..SemaphoreWork::lean(SEMAPHORE, permits(drawn)) };
    if let Some(search) = drawn.search {
        return explored_work(drawn, search, lean);
    }
    let random: &mut Random = &mut Seeds::new(drawn.seed).stream("semaphore work", client.into());
    let impatient = random.chance(Ratio::one_in(4));
    let patience = random.span(Duration::from_millis(200), Duration::from_secs(5));
    SemaphoreWork {
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
fn explored_work(drawn: &Drawn, search: Search, lean: SemaphoreWork) -> SemaphoreWork {
    // Who can be cancelled leaves duties to the background, which end with the program.
    let cancel = search.cancels;
    let linger = if cancel { drawn.config.tick } else { Duration::ZERO };
    SemaphoreWork { rounds: drawn.rounds, cancel, linger, close: cancel, ..lean }
}
