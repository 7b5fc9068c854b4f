//! Candidates at the ensemble grain.

use super::{Candidate, Kind, faults, random_number};
use crate::recorded::due_timers::DueTimers;
use crate::seeded::timers::deadline;
use vivarium_model::ensemble::Ensemble;
use vivarium_model::host::Host;
use vivarium_model::id::{ServerId, ServerSet};
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::timer::{ServerTimer, Timer};
use vivarium_model::world::World;

/// Returns what is due, the armed timers, and the faults and their ends.
///
/// Time passes only when a timer fires that is not due before: every other step happens at the time of the last one.
/// Where there are no clients there is no clock.
pub(in crate::walked) fn of_ensemble<H: Host>(
    world: &World<H>,
    timers: &DueTimers,
    way: &[(Time, Step)],
) -> Vec<Candidate> {
    let ensemble = world.ensemble();
    let now = way.last().map_or(Time::ZERO, |(at, _)| *at);
    let mut all = Vec::new();
    let mut add = |kind, steps: Vec<Step>| {
        all.extend(steps.into_iter().map(|step| Candidate { kind, at: now, step }));
    };
    let mut due = Vec::new();
    ensemble.enabled(&[random_number(way)], &mut due);
    elections(ensemble, &mut due);
    proposals(ensemble, &mut due);
    add(Kind::Due, due);
    add(Kind::Due, next_outside(world, way).into_iter().collect());
    add(Kind::Timer, time_limits(ensemble));
    add(Kind::Mending, faults::ends(ensemble));
    add(Kind::Fault, faults::all(ensemble));
    all.extend(fired(ensemble, timers, now));
    all
}

/// Returns the armed timers, the one that is due first at the beginning.
fn fired(ensemble: &Ensemble, timers: &DueTimers, now: Time) -> Vec<Candidate> {
    let timed = ensemble.config().has_clients();
    let tick = ensemble.config().tick;
    let fires = |timer: Timer, due: Time| match timed {
        true => deadline(timer, due, tick),
        false => Time::ZERO,
    };
    let mut fired: Vec<Candidate> = timers
        .armed()
        .filter(|(timer, _)| timed || is_of_elections(*timer))
        .filter(|(timer, _)| ensemble.can(&Step::Fire(*timer)))
        .map(|(timer, due)| {
            let at = fires(timer, due).max(now);
            Candidate { kind: Kind::Timer, at, step: Step::Fire(timer) }
        })
        .collect();
    fired.sort_by_key(|candidate| candidate.at);
    fired
}

/// Returns true for the timers that drive an election. Where there is no clock there are no others: a time limit is a
/// [`Step::Rejoin`], and nothing is pinged.
fn is_of_elections(timer: Timer) -> bool {
    use ServerTimer::{ConnectLeader, Finalize, Notification};
    matches!(timer, Timer::Server(_, Notification | Finalize | ConnectLeader))
}

/// Returns the ends of roles by a time limit, where there is no clock: of a leader without a quorum, and of a server that
/// does not serve.
fn time_limits(ensemble: &Ensemble) -> Vec<Step> {
    if ensemble.config().has_clients() {
        return Vec::new();
    }
    let waits =
        |server: &ServerId| !ensemble.is_serving(*server) || ensemble.misses_quorum(*server);
    ensemble.config().server_ids().filter(waits).map(Step::Rejoin).collect()
}

/// Adds the elections of the oracle: every quorum of LOOKING servers elects one of them, and every LOOKING server joins
/// a leader.
fn elections(ensemble: &Ensemble, steps: &mut Vec<Step>) {
    if !ensemble.config().election.is_oracle() {
        return;
    }
    let looking: Vec<_> = ensemble.looking().iter().collect();
    let joins = looking.iter().map(|server| ServerSet::default().with(*server));
    let sets = 1..1_u64 << looking.len().min(MOST_LOOKING);
    let quorums = sets.map(|chosen| {
        let is_chosen = |at: &usize| chosen >> at & 1 == 1;
        (0..looking.len()).filter(is_chosen).map(|at| looking[at]).collect::<ServerSet>()
    });
    for electors in quorums.chain(joins) {
        for leader in ensemble.config().server_ids() {
            let elect = Step::Elect { leader, followers: electors.without(leader) };
            if ensemble.can(&elect) {
                steps.push(elect);
            }
        }
    }
}

/// The most LOOKING servers of whose subsets elections are listed. Searches have fewer servers.
const MOST_LOOKING: usize = 7;

/// Adds the proposals of leaders, reconfigurations among them, where there are no clients.
fn proposals(ensemble: &Ensemble, steps: &mut Vec<Step>) {
    if !ensemble.config().has_clients() {
        let servers = || ensemble.config().server_ids();
        steps.extend(servers().map(Step::Propose));
        steps.extend(servers().filter_map(|server| ensemble.reconfiguration_by(server)));
    }
}

/// Returns the next input from clients outside of the run.
fn next_outside<H: Host>(world: &World<H>, way: &[(Time, Step)]) -> Option<Step> {
    let taken = way.iter().filter_map(|(_, step)| match step {
        Step::Outside(number) => Some(*number),
        _ => None,
    });
    let next = taken.max().map_or(0, |last| last + 1);
    ((next as usize) < world.outside().len()).then_some(Step::Outside(next))
}
