//! `persistent-node`: a client keeps a znode in existence, others delete and overwrite it, under all faults.
//!
//! In a search, the first client keeps it once, the second deletes it, and a third overwrites it.

use super::{Entry, Group, Mutant, Switches, recipe};
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::persistent_node::{self, Mutants, PersistentWork, Role, persistent_worker};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Explored, Run, Scenario};

/// The znode's directory.
const DIRECTORY: &str = "/kept";

/// The znode.
const NODE: &str = "/kept/node";

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "persistent-node",
        summary: "a client keeps a znode there, and others disturb it",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<persistent_node::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let work = (1..=run.clients()).map(|client| work(run, client, mutants));
        work.map(persistent_worker).collect()
    };
    let monitors = |run: &Run| persistent_node::monitors(DIRECTORY, recipe::calm_bound(run));
    Scenario {
        // A round lasts for the longest time that a guaranteed update may take.
        progress_bound: Duration::from_secs(900),
        explored: Explored::Programs {
            setup: Setup::NONE.containers([DIRECTORY]).expect("it is a znode"),
        },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

/// Returns the work of a client.
fn work(run: &Run, client: u8, mutants: Mutants) -> PersistentWork {
    let role = match client {
        1 => Role::Keeper,
        2 => Role::Deletes,
        _ => Role::Overwrites,
    };
    let span = if role == Role::Keeper { run.config.tick } else { Duration::ZERO };
    let lean = PersistentWork {
        path: NODE.into(),
        role,
        rounds: run.rounds,
        span,
        cancel: run.search.is_some_and(|search| search.cancels > 0),
        linger: run.config.tick,
        close: false,
        mutants,
    };
    if run.is_explored() {
        return lean;
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("keeper work", client.into());
    let bound = recipe::calm_bound(run);
    let is_long = role == Role::Keeper && random.chance(Ratio::one_in(2));
    let short = random.span(Duration::from_millis(100), Duration::from_secs(5));
    PersistentWork {
        span: if is_long { bound + short } else { short },
        rounds: if role == Role::Keeper { run.rounds } else { 3 * run.rounds },
        cancel: random.chance(Ratio::one_in(2)),
        linger: bound + run.config.tick,
        close: true,
        ..lean
    }
}
