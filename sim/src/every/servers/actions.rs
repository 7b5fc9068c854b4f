//! What can happen in a state, and what it costs.

use super::Budget;
use super::scene::Scene;
use crate::budget::Account;
use std::fmt;
use vivarium_model::ensemble::Ensemble;
use vivarium_model::id::ServerId;
use vivarium_model::release::Bug;
use vivarium_model::step::{OldEpochs, Step, Tail, Unwritten};
use vivarium_model::timer::{ServerTimer, Timer};

/// The account of the budget from which an action takes one; `None` if it is free.
pub(super) type Charge = Option<Account>;

/// Whether there is enough left.
pub(super) fn can_be_paid(charge: Charge, left: &Budget) -> bool {
    charge.is_none_or(|account| left[account] > 0)
}

/// When a choice can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Always.
    Free,
    /// When nothing free can happen at all.
    Impatient,
    /// While there are proposals left.
    Txn,
    /// While there are crashes left.
    Crash,
    /// While there are breaks left.
    Break,
    /// While there are timeouts left.
    Timeout,
    /// While there are errors of fsync left.
    FsyncError,
}

impl Kind {
    pub(super) const ALL: [Kind; 7] = [
        Kind::Free,
        Kind::Impatient,
        Kind::Txn,
        Kind::Crash,
        Kind::Break,
        Kind::Timeout,
        Kind::FsyncError,
    ];

    /// Those that cost something.
    pub(super) const PAID: [Kind; 5] =
        [Kind::Txn, Kind::Crash, Kind::Timeout, Kind::Break, Kind::FsyncError];
}

/// Which faults need not be offered because others come to the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeavingOut {
    /// Those with something between a crash and the start after it.
    pub(super) starts: bool,
    /// A leader's crashes that packets of it survive.
    pub(super) mail: bool,
    /// The same for followers: a mistake.
    pub(super) followers_mail: bool,
    /// Breaks that nobody notices yet.
    pub(super) breaks: bool,
    /// Whether there are those that the learner notices first.
    pub(super) noticed_by_learner: bool,
    /// Whether there are those that the leader notices first.
    pub(super) noticed_by_leader: bool,
}

/// One thing that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// The step.
    pub(super) step: Step,
    /// A step that follows it at once.
    pub(super) then: Option<Step>,
    pub(super) charge: Charge,
}

impl Offer {
    pub(super) fn free(step: Step) -> Offer {
        Offer { step, then: None, charge: None }
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step)?;
        self.then.map_or(Ok(()), |then| write!(f, ", {then}"))
    }
}

/// Every choice of one kind that a server has, elections aside, in a fixed order.
pub(super) fn of(
    scene: &Scene,
    server: ServerId,
    kind: Kind,
    left_out: LeavingOut,
    offers: &mut Vec<Offer>,
) {
    let ensemble = &scene.ensemble;
    match kind {
        Kind::Free => free(scene, server, offers),
        Kind::Impatient => out_of_patience(scene, server, offers),
        Kind::Txn => {
            let (step, charge) = (Step::Propose(server), Some(Account::Txns));
            if ensemble.can(&step) {
                offers.push(Offer { step, then: None, charge });
            }
        }
        Kind::Crash => {
            if ensemble.can(&Step::Crash { server, tail: Tail::LOST }) {
                crashes(ensemble, server, left_out, offers);
            }
        }
        Kind::Break => breaks(ensemble, server, left_out, offers),
        Kind::Timeout => {
            let (step, charge) = (Step::Rejoin(server), Some(Account::Timeouts));
            // A leader that is deserted leaves its role for nothing.
            if ensemble.can(&step) && !is_deserted(ensemble, server) {
                offers.push(Offer { step, then: None, charge });
            }
        }
        Kind::FsyncError => {
            if ensemble.can(&Step::FsyncError { server, survive: 0, rest: Unwritten::Lost }) {
                fsync_errors(ensemble, server, offers);
            }
        }
    }
}

/// The fsync fails, with every part of the unsynced log, and whatever becomes of the rest.
fn fsync_errors(ensemble: &Ensemble, server: ServerId, offers: &mut Vec<Offer>) {
    let charge = Some(Account::FsyncErrors);
    let unsynced = ensemble.disk(server).unsynced() as u8;
    let mut offer = |survive, rest| {
        let step = Step::FsyncError { server, survive, rest };
        offers.push(Offer { step, then: None, charge });
    };
    (0..=unsynced).for_each(|survive| offer(survive, Unwritten::Lost));
    let bugs = ensemble.config().bugs;
    for (bug, rest) in [
        (Bug::TornRecordHidesLog, Unwritten::Torn),
        (Bug::FailedWriteComesLater, Unwritten::Buffered),
    ] {
        if bugs.has(bug) {
            (0..unsynced).for_each(|survive| offer(survive, rest));
        }
    }
}

fn free(scene: &Scene, server: ServerId, offers: &mut Vec<Offer>) {
    let ensemble = &scene.ensemble;
    let mut steps = Vec::new();
    ensemble.enabled(&[], &mut steps);
    let own = |step: &Step| ensemble.taker(step) == Some(server);
    offers.extend(steps.into_iter().filter(own).map(Offer::free));
    let fires = |timer: &&Timer| !matches!(timer, Timer::Server(_, ServerTimer::Notification));
    offers.extend(timers(scene, server).filter(fires).map(|timer| Offer::free(Step::Fire(*timer))));
    let (restart, rejoin) = (Step::Restart(server), Step::Rejoin(server));
    if ensemble.can(&restart) {
        offers.push(Offer::free(restart));
    }
    if ensemble.can(&rejoin) && is_deserted(ensemble, server) {
        offers.push(Offer::free(rejoin));
    }
}

fn timers(scene: &Scene, server: ServerId) -> impl Iterator<Item = &Timer> {
    let own = move |timer: &&Timer| matches!(timer, Timer::Server(of, _) if *of == server);
    scene.timers.iter().filter(own).filter(|timer| scene.ensemble.can(&Step::Fire(**timer)))
}

/// A leader whose learners are gone, as it must have noticed: the ping round ends its role, or
/// initLimit. (In the election of the code nobody can tell whether they are gone or yet to come, so
/// there it has to wait until nothing else happens, or to pay.)
fn is_deserted(ensemble: &Ensemble, server: ServerId) -> bool {
    ensemble.config().election.is_oracle() && is_alone(ensemble, server)
}

fn is_alone(ensemble: &Ensemble, server: ServerId) -> bool {
    ensemble.is_leading(server) && !ensemble.has_quorum(server)
}

/// Nothing happens: time limits end what has not come to serve, and elections begin anew.
fn out_of_patience(scene: &Scene, server: ServerId, offers: &mut Vec<Offer>) {
    let ensemble = &scene.ensemble;
    let is_waiting = !ensemble.is_serving(server) || is_alone(ensemble, server);
    if ensemble.can(&Step::Rejoin(server)) && is_waiting {
        offers.push(Offer::free(Step::Rejoin(server)));
    }
    if !ensemble.looking().is_empty() {
        offers.extend(timers(scene, server).map(|timer| Offer::free(Step::Fire(*timer))));
    }
}

/// Every part of the unsynced log that may be left, with and without snapshots, cuts and epoch files that were not fsynced
/// (a record half written is ignored by every start, so it is as good as one that is missing).
///
/// With reductions, no packet of a leader survives its crash: what does can as well be read before,
/// for a learner that reads it has nothing else to do and learns of the crash only behind it. (Of a
/// learner's packets some do: its leader may read them when the learner has come back already.) And
/// the server starts again at once: one that is LOOKING does nothing until it is elected, as one
/// that is down.
fn crashes(ensemble: &Ensemble, server: ServerId, left_out: LeavingOut, offers: &mut Vec<Offer>) {
    let disk = ensemble.disk(server);
    let unsynced = disk.unsynced() as u8;
    let may_lose_snapshots = disk.snapshots().iter().any(|snapshot| !snapshot.durable);
    let may_be_old = |epochs: &OldEpochs| {
        (!epochs.has_accepted() || disk.may_undo_accepted_epoch())
            && (!epochs.has_current() || disk.may_undo_current_epoch())
    };
    let old_epochs: Vec<OldEpochs> = OldEpochs::ALL.into_iter().filter(may_be_old).collect();
    let none_survive = left_out.mail && ensemble.is_leading(server) || left_out.followers_mail;
    let packets = if none_survive { 0 } else { ensemble.most_under_way(server) };
    for survive in 0..=unsynced {
        for (snapshots, cuts) in [(false, false), (true, false), (false, true), (true, true)] {
            if snapshots && !may_lose_snapshots || cuts && !disk.may_undo_cuts() {
                continue;
            }
            for (packets, epochs) in
                (0..=packets).flat_map(|packets| old_epochs.iter().map(move |old| (packets, *old)))
            {
                let tail = Tail { survive, torn: false, snapshots, cuts, epochs, packets };
                let then = left_out.starts.then_some(Step::Restart(server));
                let step = Step::Crash { server, tail };
                offers.push(Offer { step, then, charge: Some(Account::Crashes) });
            }
        }
    }
}

/// Every number of packets that may still arrive. With reductions these are choices of whoever notices
/// first, else of the learner.
///
/// With reductions, one side notices at once, and what still arrives there has arrived before:
/// whichever side comes to the end of the stream first has read all it will read by then, and the
/// break can be put off until just then.
fn breaks(ensemble: &Ensemble, server: ServerId, left_out: LeavingOut, offers: &mut Vec<Offer>) {
    for connection in ensemble.breakable_connections() {
        let (up, down) = ensemble.under_way_learner(connection);
        let mut push = |to_leader: usize, to_learner: usize, then| {
            let (to_leader, to_learner) = (to_leader as u8, to_learner as u8);
            let step = Step::BreakLearner { connection, to_leader, to_learner };
            offers.push(Offer { step, then, charge: Some(Account::Breaks) });
        };
        if !left_out.breaks && connection.learner == server {
            for to_leader in 0..=up {
                (0..=down).for_each(|to_learner| push(to_leader, to_learner, None));
            }
        }
        if !left_out.breaks {
            continue;
        }
        let learns = connection.learner == server && left_out.noticed_by_learner;
        if learns && ensemble.can_read(&Step::ToLearner(connection)) {
            (0..=up).for_each(|to_leader| push(to_leader, 0, Some(Step::ToLearner(connection))));
        }
        let leads = ensemble.leader_of(connection) == Some(server) && left_out.noticed_by_leader;
        if leads && ensemble.can_read(&Step::ToLeader(connection)) {
            (0..=down).for_each(|to_learner| push(0, to_learner, Some(Step::ToLeader(connection))));
        }
    }
}
