//! `leader`: candidates elect a leader repeatedly, and observers follow, under all faults. (`election` is the election
//! of servers.)
//!
//! In a sweep, the last client may be an observer, and each of the others leads several times. In a search, each leads
//! once.

use super::recipe::{self, calm_bound, explored_routine, routine};
use super::{Entry, Group, Mutant, Switches};
use vivarium_model::handle::Program;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::election::{self, CandidateWork, Mutants, candidate, observer};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Explored, Run, Scenario};

/// The election's directory.
const ELECTION: &str = "/election";

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "leader",
        summary: "candidates elect a leader, and observers follow",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<election::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs =
        move |run: &Run| (0..run.clients()).map(|client| program(run, client, mutants)).collect();
    Scenario {
        explored: Explored::Programs {
            setup: Setup::NONE.containers([ELECTION]).expect("it is a znode"),
        },
        ..recipe::scenario(&entry(), switches, programs, |run| {
            election::monitors(ELECTION, calm_bound(run))
        })
    }
}

/// Returns the program of a client: drawn from a stream of its own, or minimal in a search.
fn program(run: &Run, client: u8, mutants: Mutants) -> Program {
    if let Some(search) = run.search {
        return candidate(CandidateWork {
            directory: ELECTION.into(),
            resource: None,
            routine: explored_routine(run, search),
            mutants,
        });
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("leader work", client.into());
    if client > 0 && client + 1 == run.clients() && random.chance(Ratio::one_in(2)) {
        return observer(ELECTION, random.span(Duration::from_secs(1), Duration::from_secs(20)));
    }
    candidate(CandidateWork {
        directory: ELECTION.into(),
        resource: Some("resource".into()),
        routine: routine(run, random),
        mutants,
    })
}
