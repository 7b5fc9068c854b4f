//! The actions of a state and their costs.

use super::Budget;
use super::scene::Scene;
use crate::budget::Account;
use std::fmt;
use vivarium_model::ensemble::Ensemble;
use vivarium_model::id::ServerId;
use vivarium_model::release::Bug;
use vivarium_model::step::{OldEpochs, Step, Tail, Unwritten};
use vivarium_model::timer::{ServerTimer, Timer};

/// The account of the budget that pays for an action; `None` if the action is free.
pub(super) type Charge = Option<Account>;

/// Whether there is enough left.
pub(super) fn can_be_paid(charge: Charge, left: &Budget) -> bool {
    charge.is_none_or(|account| left[account] > 0)
}

/// The condition under which a choice can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Free,
    /// When no free choice exists at all.
    Impatient,
    /// While proposals are left.
    Txn,
    /// While reconfigurations are left.
    Reconfig,
    /// While crashes are left.
    Crash,
    /// While breaks are left.
    Break,
    /// While timeouts are left.
    Timeout,
    /// While fsync errors are left.
    FsyncError,
}

impl Kind {
    pub(super) const ALL: [Kind; 8] = [
        Kind::Free,
        Kind::Impatient,
        Kind::Txn,
        Kind::Reconfig,
        Kind::Crash,
        Kind::Break,
        Kind::Timeout,
        Kind::FsyncError,
    ];

    /// The kinds that cost something.
    pub(super) const PAID: [Kind; 6] =
        [Kind::Txn, Kind::Reconfig, Kind::Crash, Kind::Timeout, Kind::Break, Kind::FsyncError];
}

/// Selects the faults that are not offered because other faults have the same effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeavingOut {
    /// Crashes in which other steps come between the crash and the restart.
    pub(super) starts: bool,
    /// Crashes of a leader that some of its packets survive.
    pub(super) mail: bool,
    /// The same for followers: a planted mistake.
    pub(super) followers_mail: bool,
    /// Breaks that no side notices yet.
    pub(super) breaks: bool,
    /// False if breaks that the learner notices first are left out.
    pub(super) noticed_by_learner: bool,
    /// False if breaks that the leader notices first are left out.
    pub(super) noticed_by_leader: bool,
}

/// A possible action of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) step: Step,
    /// A step that directly follows `step`.
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

/// Adds every choice of one kind that a server has, except elections, in a fixed order.
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
        Kind::Reconfig => {
            let charge = Some(Account::Reconfigs);
            let offered = ensemble.reconfiguration_by(server).into_iter();
            offers.extend(offered.map(|step| Offer { step, then: None, charge }));
        }
        Kind::Crash => {
            if ensemble.can(&Step::Crash { server, tail: Tail::LOST }) {
                crashes(ensemble, server, left_out, offers);
            }
        }
        Kind::Break => breaks(ensemble, server, left_out, offers),
        Kind::Timeout => {
            let (step, charge) = (Step::Rejoin(server), Some(Account::Timeouts));
            // A deserted leader leaves its role without a charge.
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

/// Adds fsync errors: with every part of the unsynced log that may survive, and every fate of the rest.
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

/// Returns true for a leader that must have noticed that its learners are gone: the ping round or initLimit ends its
/// role. (In real elections, learners that are gone cannot be distinguished from learners that are yet to come. There
/// the leader has to wait until nothing else can happen, or the budget pays.)
fn is_deserted(ensemble: &Ensemble, server: ServerId) -> bool {
    ensemble.config().election.is_oracle() && ensemble.misses_quorum(server)
}

/// Adds what happens when nothing else can: time limits end roles that do not serve, and elections start again.
fn out_of_patience(scene: &Scene, server: ServerId, offers: &mut Vec<Offer>) {
    let ensemble = &scene.ensemble;
    let is_waiting = !ensemble.is_serving(server) || ensemble.misses_quorum(server);
    if ensemble.can(&Step::Rejoin(server)) && is_waiting {
        offers.push(Offer::free(Step::Rejoin(server)));
    }
    if !ensemble.looking().is_empty() {
        offers.extend(timers(scene, server).map(|timer| Offer::free(Step::Fire(*timer))));
    }
}

/// Adds crashes: with every part of the unsynced log that may survive, and with and without snapshots, cuts and epoch
/// files that were not fsynced. (Every start ignores a half-written record, so it equals a missing one.)
///
/// With reductions, no packet of a leader survives its crash: a packet that survives can as well be read before the
/// crash, because the learner that reads it has nothing else to do and notices the crash only afterwards. (Some of a
/// learner's packets do survive, because its leader may read them after the learner has come back.) The server also
/// restarts immediately: until its election, a LOOKING server does nothing, like a server that is down.
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

/// Adds broken connections, with every number of packets that may still arrive. With reductions, the breaks belong to
/// the side that notices first; without, to the learner.
///
/// With reductions, one side notices immediately, and the packets that still arrive at that side arrived before. The
/// side that reaches the end of the stream first has read all that it will read by then, so the break can be postponed
/// until just then.
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
