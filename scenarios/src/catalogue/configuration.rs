//! `configuration`: one client publishes and removes a value, and all clients follow it, under all faults.
//!
//! Each follows for so long that it must have received the last value. In a search, the first client replaces the value
//! twice, once by recreating its znode, and the others follow.

use super::{Entry, Group, Mutant, Switches, recipe};
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::configuration::{
    self, ConfigurationWork, Mutants, Step, configuration_worker,
};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Explored, Run, Scenario};

/// The configuration's znode.
const PATH: &str = "/config";

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "configuration",
        summary: "a value is published, and all follow it",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<configuration::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let work = (1..=run.clients()).map(|client| work(run, client, mutants));
        work.map(configuration_worker).collect()
    };
    let monitors = |run: &Run| configuration::monitors(PATH, recipe::calm_bound(run));
    Scenario {
        rounds: Choice::from(1..=6),
        // A client follows for the longest time that a guaranteed update may take.
        progress_bound: Duration::from_secs(900),
        explored: Explored::Programs { setup: Setup::of([PATH]).expect("it is a znode") },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

/// Returns the work of a client.
fn work(run: &Run, client: u8, mutants: Mutants) -> ConfigurationWork {
    let path = PATH.into();
    if let Some(search) = run.search {
        let (steps, follow) = match client {
            1 => (vec![Step::Remove, Step::Publish], None),
            _ => (Vec::new(), Some(run.config.tick)),
        };
        let (pause, cancel) = (Duration::ZERO, search.cancels > 0);
        return ConfigurationWork { path, steps, pause, follow, cancel, close: false, mutants };
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("configuration work", client.into());
    let mut step = || match random.chance(Ratio::one_in(3)) {
        true => Step::Remove,
        false => Step::Publish,
    };
    let steps = match client {
        1 => (0..4 * run.rounds).map(|_| step()).collect(),
        _ => Vec::new(),
    };
    let bound = recipe::calm_bound(run);
    ConfigurationWork {
        path,
        steps,
        pause: random.span(Duration::ZERO, Duration::from_secs(2)),
        follow: Some(bound + random.span(Duration::ZERO, run.chaos)),
        cancel: random.chance(Ratio::one_in(2)),
        close: true,
        mutants,
    }
}
