//! What can happen in a state, and what it costs.

use super::{Budget, State};
use crate::ensemble::Ensemble;
use crate::id::{ServerId, ServerSet};
use crate::server::{Role, Server};
use crate::step::{Step, Tail};
use crate::timer::{ServerTimer, Timer};
use std::fmt;

/// What an action takes from the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charge {
    /// Nothing.
    Free,
    /// A proposal.
    Txn,
    /// A crash.
    Crash,
    /// A broken connection.
    Break,
    /// A timeout.
    Timeout,
}

impl Charge {
    pub(super) fn pay(self, left: &mut Budget) {
        let account = match self {
            Charge::Free => return,
            Charge::Txn => &mut left.txns,
            Charge::Crash => &mut left.crashes,
            Charge::Break => &mut left.breaks,
            Charge::Timeout => &mut left.timeouts,
        };
        *account = account.checked_sub(1).expect("only what can be paid is offered");
    }
}

/// One thing that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    /// The step.
    pub step: Step,
    /// A step that follows it at once.
    pub then: Option<Step>,
    /// What it costs.
    pub charge: Charge,
}

impl Action {
    fn free(step: Step) -> Action {
        Action { step, then: None, charge: Charge::Free }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step)?;
        self.then.map_or(Ok(()), |then| write!(f, ", {then}"))
    }
}

/// Every action of a state, in a fixed order.
pub(super) fn of(state: &State, reductions: bool, actions: &mut Vec<Action>) {
    let ensemble = state.ensemble();
    let from = actions.len();
    let mut steps = Vec::new();
    ensemble.enabled(&[], &mut steps);
    actions.extend(steps.into_iter().map(Action::free));
    if ensemble.config().election.is_oracle() {
        elections(ensemble, reductions, actions);
    }
    let fires = |timer: &&Timer| !matches!(timer, Timer::Server(_, ServerTimer::Notification));
    actions.extend(state.timers.iter().filter(fires).map(|timer| Action::free(Step::Fire(*timer))));
    for server in ensemble.config().server_ids() {
        if !ensemble.is_up(server) {
            actions.push(Action::free(Step::Restart(server)));
        } else if is_deserted(ensemble, server) {
            actions.push(Action::free(Step::Rejoin(server)));
        }
    }
    if actions.len() == from {
        out_of_patience(state, actions);
    }
    proposals(state, actions);
    faults(state, reductions, actions);
}

/// Every quorum of LOOKING servers elects, and every LOOKING server can join a leader. A quorum
/// larger than it must be is one that the rest has joined, so with reductions only the smallest are
/// tried.
fn elections(ensemble: &Ensemble, reductions: bool, actions: &mut Vec<Action>) {
    let looking = ensemble.looking();
    if looking.is_empty() {
        return;
    }
    let members: Vec<ServerId> = looking.iter().collect();
    for chosen in 1..1_u32 << members.len() {
        let is_chosen = |(at, id): (usize, &ServerId)| (chosen >> at & 1 == 1).then_some(*id);
        let quorum: ServerSet = members.iter().enumerate().filter_map(is_chosen).collect();
        let is_smallest = !ensemble.config().is_quorum(quorum.len() - 1);
        if !ensemble.config().is_quorum(quorum.len()) || reductions && !is_smallest {
            continue;
        }
        let leader = ensemble.favourite(quorum).expect("they are up");
        let followers = quorum.iter().filter(|id| *id != leader).collect();
        actions.push(Action::free(Step::Elect { leader, followers }));
    }
    for leader in ensemble.config().server_ids().filter(|id| ensemble.can_be_joined(*id)) {
        for follower in looking.iter().filter(|id| would_be_heard(ensemble, leader, *id)) {
            let followers = ServerSet::default().with(follower);
            actions.push(Action::free(Step::Elect { leader, followers }));
        }
    }
}

/// Whether a leader would do anything about a follower but send it away: it does not, where it
/// ignores that the follower has accepted a newer epoch. To join it would change nothing, then.
fn would_be_heard(ensemble: &Ensemble, leader: ServerId, follower: ServerId) -> bool {
    let process = ensemble.server(leader).expect("it leads");
    let Role::Leading(leading) = process.role() else { return false };
    !leading.would_refuse(ensemble.disk(follower).accepted_epoch(), ensemble.config().bugs)
}

/// A leader whose learners are gone, as it must have noticed: the ping round ends its role, or
/// initLimit. (In the election of the code nobody can tell whether they are gone or yet to come, so
/// there it has to wait until nothing else happens, or to pay.)
fn is_deserted(ensemble: &Ensemble, server: ServerId) -> bool {
    ensemble.config().election.is_oracle() && is_alone(ensemble, server)
}

fn is_alone(ensemble: &Ensemble, server: ServerId) -> bool {
    ensemble.is_leading(server) && !ensemble.config().is_quorum(ensemble.supporters(server).len())
}

/// Nothing happens: time limits end what has not come to serve, and elections begin anew.
fn out_of_patience(state: &State, actions: &mut Vec<Action>) {
    let ensemble = state.ensemble();
    for server in ensemble.config().server_ids() {
        let Some(process) = ensemble.server(server) else { continue };
        let is_waiting = !process.is_serving() || is_alone(ensemble, server);
        if !process.is_looking() && is_waiting {
            actions.push(Action::free(Step::Rejoin(server)));
        }
    }
    if !ensemble.looking().is_empty() {
        actions.extend(state.timers.iter().map(|timer| Action::free(Step::Fire(*timer))));
    }
}

fn proposals(state: &State, actions: &mut Vec<Action>) {
    if state.left.txns == 0 {
        return;
    }
    let ensemble = state.ensemble();
    for server in ensemble.config().server_ids() {
        if ensemble.is_leading(server) && ensemble.is_serving(server) {
            let step = Step::Propose(server);
            actions.push(Action { step, then: None, charge: Charge::Txn });
        }
    }
}

fn faults(state: &State, reductions: bool, actions: &mut Vec<Action>) {
    let ensemble = state.ensemble();
    for server in ensemble.config().server_ids() {
        let Some(process) = ensemble.server(server) else { continue };
        if state.left.crashes > 0 {
            crashes(ensemble, server, reductions, actions);
        }
        if state.left.timeouts > 0 && may_time_out(ensemble, server, process) {
            let step = Step::Rejoin(server);
            actions.push(Action { step, then: None, charge: Charge::Timeout });
        }
    }
    if state.left.breaks > 0 {
        breaks(ensemble, reductions, actions);
    }
}

/// Whether it has a role to leave, and need not leave it for nothing already.
fn may_time_out(ensemble: &Ensemble, server: ServerId, process: &Server) -> bool {
    !process.is_looking() && !is_deserted(ensemble, server)
}

/// Every part of the unsynced log that may be left, with and without snapshots that were not fsynced
/// (a record half written is ignored by every start, so it is as good as one that is missing).
///
/// With reductions, no packet of a leader survives its crash: what does can as well be read before,
/// for a learner that reads it has nothing else to do and learns of the crash only behind it. (Of a
/// learner's packets some do: its leader may read them when the learner has come back already.) And
/// the server starts again at once: one that is LOOKING does nothing until it is elected, as one
/// that is down.
fn crashes(ensemble: &Ensemble, server: ServerId, reductions: bool, actions: &mut Vec<Action>) {
    let disk = ensemble.disk(server);
    let unsynced = disk.unsynced() as u8;
    let may_lose_snapshots = disk.snapshots().iter().any(|snapshot| !snapshot.durable);
    let none_survive = reductions && ensemble.is_leading(server);
    let packets = if none_survive { 0 } else { ensemble.most_under_way(server) };
    for survive in 0..=unsynced {
        for snapshots in [false, true] {
            if snapshots && !may_lose_snapshots {
                continue;
            }
            for packets in 0..=packets {
                let tail = Tail { survive, torn: false, snapshots, packets };
                let then = reductions.then_some(Step::Restart(server));
                let step = Step::Crash { server, tail };
                actions.push(Action { step, then, charge: Charge::Crash });
            }
        }
    }
}

/// Every number of packets that may still arrive.
///
/// With reductions, one side notices at once, and what still arrives there has arrived before:
/// whichever side comes to the end of the stream first has read all it will read by then, and the
/// break can be put off until just then.
fn breaks(ensemble: &Ensemble, reductions: bool, actions: &mut Vec<Action>) {
    for connection in ensemble.breakable_connections() {
        let (up, down) = ensemble.under_way_learner(connection);
        let mut push = |to_leader: usize, to_learner: usize, then| {
            let (to_leader, to_learner) = (to_leader as u8, to_learner as u8);
            let step = Step::BreakLearner { connection, to_leader, to_learner };
            actions.push(Action { step, then, charge: Charge::Break });
        };
        if !reductions {
            for to_leader in 0..=up {
                (0..=down).for_each(|to_learner| push(to_leader, to_learner, None));
            }
            continue;
        }
        if ensemble.can_read(Step::ToLearner(connection)) {
            (0..=up).for_each(|to_leader| push(to_leader, 0, Some(Step::ToLearner(connection))));
        }
        if ensemble.can_read(Step::ToLeader(connection)) {
            (0..=down).for_each(|to_learner| push(0, to_learner, Some(Step::ToLeader(connection))));
        }
    }
}
