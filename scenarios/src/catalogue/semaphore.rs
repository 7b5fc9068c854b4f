//! `semaphore`: clients share the permits of one semaphore, under all faults.
//!
//! In a sweep, there are one or two permits for two to four clients; some are impatient, some can be cancelled. In a
//! search, there is one permit less than clients, and each client gets one once.

use super::recipe::{self, calm_bound, explored_routine, routine};
use super::{Entry, Group, Mutant, Switches};
use vivarium_model::setup::Setup;
use vivarium_recipes::semaphore::{self, Mutants, SemaphoreWork, semaphore_worker};
use vivarium_sim::random::{Random, Seeds};
use vivarium_sim::{Explored, Run, Scenario};

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
    let programs = move |run: &Run| {
        let work = (0..run.clients()).map(|client| work(run, client, mutants));
        work.map(semaphore_worker).collect()
    };
    let lines = ["/semaphore/turns", "/semaphore/leases"];
    let setup = Setup::of([SEMAPHORE]).and_then(|setup| setup.containers(lines));
    Scenario {
        explored: Explored::Programs { setup: setup.expect("they are znodes") },
        ..recipe::scenario(&entry(), switches, programs, |run| {
            semaphore::monitors(SEMAPHORE, permits(run), calm_bound(run))
        })
    }
}

/// Returns the number of permits.
fn permits(run: &Run) -> u32 {
    if run.is_explored() {
        return u32::from(run.clients()).saturating_sub(1).max(1);
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("permits", 0);
    1 + random.below(2) as u32
}

/// Returns the work of a client: drawn from a stream of its own, or minimal in a search.
fn work(run: &Run, client: u8, mutants: Mutants) -> SemaphoreWork {
    let routine = match run.search {
        Some(search) => explored_routine(run, search),
        None => routine(run, &mut Seeds::new(run.seed).stream("semaphore work", client.into())),
    };
    SemaphoreWork { directory: SEMAPHORE.into(), permits: permits(run), routine, mutants }
}
