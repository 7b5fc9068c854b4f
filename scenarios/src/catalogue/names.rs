//! `names`: clients bind the same names, move them, and give them up, under all faults.
//!
//! In a search, each client binds one name, the same for all, in a directory that exists already.

use super::{Entry, Group, Mutant, Switches, recipe};
use std::sync::Arc;
use vivarium_model::setup::Setup;
use vivarium_recipes::names::{self, Mutants, NameWork, name_worker};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Explored, Run, Scenario};

/// The names' directory.
const NAMES: &str = "/names";

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "names",
        summary: "clients bind, move and give up the same names",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<names::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let work = (1..=run.clients()).map(|client| work(run, client, mutants));
        work.map(name_worker).collect()
    };
    let monitors = |_drawn: &Run| names::monitors(NAMES);
    Scenario {
        rounds: Choice::from(1..=8),
        explored: Explored::Programs {
            setup: Setup::NONE.containers([NAMES]).expect("it is a znode"),
        },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

/// Returns the work of a client.
fn work(run: &Run, client: u8, mutants: Mutants) -> NameWork {
    let random: &mut Random = &mut Seeds::new(run.seed).stream("name work", client.into());
    let mut name = || -> Arc<str> {
        let is_first = run.is_explored() || random.chance(Ratio::one_in(2));
        if is_first { "a".into() } else { "b".into() }
    };
    let names = (0..run.rounds).map(|_| name()).collect();
    NameWork {
        directory: NAMES.into(),
        names,
        address: format!("host{client}").into(),
        moves: run.is_explored() || random.chance(Ratio::one_in(2)),
        close: !run.is_explored(),
        mutants,
    }
}
