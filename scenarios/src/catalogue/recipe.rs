//! The common part of recipes' scenarios: a small ensemble, every fault, and ZooKeeper's own properties besides the
//! recipe's.

use super::{Entry, Group, Switches, some_observers};
use std::sync::Arc;
use vivarium_model::handle::Program;
use vivarium_model::property::AskedOfServers;
use vivarium_model::property::{self, Livelock, Monitor};
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::contention::Routine;
use vivarium_sim::budget::programs::Budget;
use vivarium_sim::random::{Random, Ratio};
use vivarium_sim::scenario::script::Script;
use vivarium_sim::{Choice, Explored, FaultSet, Limits, Run, Scenario, Settings};

/// How often a program of a recipe may receive the same answer without news: it watches, and asks again only for a
/// reason.
const AGAIN: u32 = 32;

/// Builds the scenario of a recipe: three servers, two to four clients, up to three rounds, every fault. The recipe's
/// entry changes what is special.
///
/// `monitors` are the recipe's own. A sweep also checks ZooKeeper's own properties; a search of programs takes them as
/// given.
pub(super) fn scenario(
    entry: &Entry,
    switches: &Switches,
    programs: impl Fn(&Run) -> Vec<Program> + Send + Sync + 'static,
    monitors: impl Fn(&Run) -> Vec<Box<dyn Monitor>> + Send + Sync + 'static,
) -> Scenario {
    Scenario {
        name: entry.name.to_string(),
        summary: entry.summary.to_string(),
        servers: Choice::from(3),
        observers: match entry.group {
            Group::Published => Choice::from(0),
            Group::ZooKeeper | Group::Recipe => some_observers(),
        },
        joiners: Choice::from(0),
        clients: Choice::from(2..=4),
        rounds: Choice::from(1..=3),
        limits: Limits::Varied,
        setup: Setup::NONE,
        settings: Settings::default(),
        programs: Arc::new(programs),
        monitors: Arc::new(move |run| {
            let own = monitors(run);
            if run.is_explored() {
                return own;
            }
            let livelock: Box<dyn Monitor> = Box::new(Livelock::within(AGAIN));
            property::zookeeper().into_iter().chain([livelock]).chain(own).collect()
        }),
        of_servers: AskedOfServers::ALL,
        awaits_expiry: true,
        marks: Vec::new(),
        script: Script::default(),
        faults: FaultSet::all(),
        bugs: switches.bugs,
        chaos: Duration::from_secs(20),
        progress_bound: Duration::from_secs(120),
        explored: Explored::Programs { setup: Setup::NONE },
    }
}

/// Draws the routine of one of several contenders in a sweep: how long it holds, how patient it is, and a stay that is
/// long enough to show what it leaves behind.
pub(super) fn routine(run: &Run, random: &mut Random) -> Routine {
    let impatient = random.chance(Ratio::one_in(4));
    let patience = random.span(Duration::from_millis(200), Duration::from_secs(5));
    Routine {
        rounds: run.rounds,
        patience: impatient.then_some(patience),
        hold: random.span(Duration::ZERO, Duration::from_millis(400)),
        cancel: random.chance(Ratio::one_in(2)),
        linger: calm_bound(run) + run.config.tick,
        close: true,
    }
}

/// Returns its routine in a search: a client that can be cancelled leaves tasks to the background, and ends after them.
pub(super) fn explored_routine(run: &Run, search: Budget) -> Routine {
    Routine {
        rounds: run.rounds,
        cancel: search.cancels > 0,
        linger: if search.cancels > 0 { run.config.tick } else { Duration::ZERO },
        close: search.cancels > 0,
        ..Routine::ONCE
    }
}

/// The most answers that a program awaits one after the other in reaction to a change, while the connection lasts.
const REACTIONS: u32 = 6;

/// Returns how long a client must have been connected without a disturbance before a recipe's guarantee must be
/// fulfilled. A server that is cut off from its leader keeps its clients for up to syncLimit ticks; a pause is not seen
/// as a disconnection until it ends; and a slow program is slow in each of its reactions.
pub(super) fn calm_bound(run: &Run) -> Duration {
    let config = &run.config;
    let timeouts = config.clients.iter().map(|client| config.negotiate(client.session_timeout));
    let cut_off = config.tick * config.sync_limit;
    2 * timeouts.max().unwrap_or_default().max(cut_off) + REACTIONS * run.longest_reaction
}
