//! `membership`: clients join a group, look at it and leave, under all faults.
//!
//! Each stays for so long that its view must have become current if nothing changes. In a search, each joins once, in a
//! directory that exists already.

use super::{Entry, Group, Mutant, Switches, recipe};
use std::sync::Arc;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::membership::{self, MemberWork, Mutants, member_worker};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Explored, Run, Scenario};

/// The group's directory.
const GROUP: &str = "/group";

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "membership",
        summary: "clients join a group, look at it and leave",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<membership::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let work = (1..=run.clients()).map(|client| work(run, client, mutants));
        work.map(member_worker).collect()
    };
    let monitors = |run: &Run| membership::monitors(GROUP, recipe::calm_bound(run));
    Scenario {
        // A round lasts for the longest time that a guaranteed update may take.
        progress_bound: Duration::from_secs(900),
        explored: Explored::Programs {
            setup: Setup::NONE.containers([GROUP]).expect("it is a znode"),
        },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

/// Returns the work of a client.
fn work(run: &Run, client: u8, mutants: Mutants) -> MemberWork {
    let id: Arc<str> = client.to_string().into();
    if let Some(search) = run.search {
        // A client that can be cancelled leaves tasks to the background, which end with the program.
        let cancel = search.cancels > 0;
        let (group, rounds, span) = (GROUP.into(), run.rounds, run.config.tick);
        let (stay, linger) = (span, span);
        return MemberWork { group, id, rounds, stay, cancel, linger, close: cancel, mutants };
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("member work", client.into());
    let bound = recipe::calm_bound(run);
    MemberWork {
        group: GROUP.into(),
        id,
        rounds: run.rounds,
        stay: match random.chance(Ratio::one_in(3)) {
            true => bound + run.config.tick,
            false => random.span(Duration::from_millis(200), Duration::from_secs(5)),
        },
        cancel: random.chance(Ratio::one_in(2)),
        linger: bound + run.config.tick,
        close: true,
        mutants,
    }
}
