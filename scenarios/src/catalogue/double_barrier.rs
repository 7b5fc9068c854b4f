//! `double-barrier`: parties enter together and leave together, generation after generation.
//!
//! In some runs, a generation needs fewer parties than there are, and any of them may take part. Some parties are
//! impatient, some can be cancelled. A search has two parties per generation, however many clients there are, and the
//! directories of the first generation exist already.

use super::{Entry, Group, Mutant, Switches, recipe};
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::double_barrier::{self, DoubleBarrierWork, Mutants, double_barrier_worker};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Explored, Run, Scenario};

/// The double barrier's directory.
const BARRIER: &str = "/double";

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "double-barrier",
        summary: "parties enter together and leave together",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<double_barrier::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let work = (0..run.clients()).map(|client| work(run, client, mutants));
        work.map(double_barrier_worker).collect()
    };
    let monitors = |run: &Run| double_barrier::monitors(BARRIER, parties(run));
    let setup = Setup::NONE.containers([BARRIER]).and_then(|mut setup| {
        setup.add("/double/0")?;
        setup.add("/double/0/members")?;
        Ok(setup)
    });
    Scenario {
        explored: Explored::Programs { setup: setup.expect("they are znodes") },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

/// Returns how many parties a generation needs: at least two, at most all.
fn parties(run: &Run) -> usize {
    const SEARCHED: usize = 2;
    let all = usize::from(run.clients());
    if run.is_explored() {
        return all.min(SEARCHED);
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("parties", 0);
    if all > SEARCHED && random.chance(Ratio::one_in(3)) { all - 1 } else { all }
}

/// Returns the work of a client: drawn from a stream of its own, or minimal in a search.
fn work(run: &Run, client: u8, mutants: Mutants) -> DoubleBarrierWork {
    let party = char::from(b'a' + client).to_string();
    if let Some(search) = run.search {
        return DoubleBarrierWork {
            generations: run.rounds.into(),
            patience: (search.timers > 0).then_some(Duration::from_secs(1)),
            cancel: search.cancels > 0,
            // What is done in the background ends with the program.
            close: search.cancels > 0 || search.timers > 0,
            mutants,
            ..DoubleBarrierWork::lean(BARRIER, party, parties(run))
        };
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("double barrier", client.into());
    let impatient = random.chance(Ratio::one_in(4));
    let patience = random.span(Duration::from_millis(200), Duration::from_secs(8));
    let hasty = random.chance(Ratio::one_in(4));
    DoubleBarrierWork {
        generations: run.rounds.into(),
        hold: random.span(Duration::ZERO, Duration::from_secs(1)),
        guard_watch: random.chance(Ratio::one_in(2)),
        patience: impatient.then_some(patience),
        leave_patience: hasty.then_some(patience),
        cancel: random.chance(Ratio::one_in(2)),
        mutants,
        ..DoubleBarrierWork::new(BARRIER, party, parties(run))
    }
}
