//! Marks and disruptions: counts of what a run has reached, and of what faults did to it.
//!
//! A property that holds means little if nothing happened that could violate it. So a scenario declares the marks
//! that its runs must reach, and a verdict lists those that no run reached. Marks are derived from events;
//! disruptions are counted by steps.

mod kinds;

pub use kinds::{Disruption, Mark};

use crate::property::View;
use crate::vocabulary::config::Config;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::{AtMaster, COUNTER_EXHAUSTED, Event, SyncMode, WRITE_FAILED};
use crate::vocabulary::id::{ClientId, ServerId, ServerSet, SessionId, Xid};
use crate::vocabulary::op::{EventType, Request, SessionState, WatchedEvent};
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::step::Step;
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Counts the disruptions among the steps of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisruptionCounter {
    counts: BTreeMap<Disruption, u64>,
}

impl DisruptionCounter {
    /// Returns a counter with all counts 0.
    pub fn new() -> DisruptionCounter {
        DisruptionCounter::default()
    }

    /// Counts a step that was done, if it is a disruption.
    pub fn step(&mut self, step: &Step) {
        if let Some(kind) = Disruption::of(step) {
            self.count(kind);
        }
    }

    /// Counts a disruption that is not a step.
    pub fn count(&mut self, kind: Disruption) {
        *self.counts.entry(kind).or_default() += 1;
    }

    /// Returns the number of disruptions of each kind; kinds that did not happen are absent.
    pub fn counts(&self) -> &BTreeMap<Disruption, u64> {
        &self.counts
    }
}

/// A create from its request until its outcome is settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Create {
    /// True if the connection broke before the reply was read.
    lost: bool,
    /// True if the session was connected again since, while the create was not committed.
    pending: bool,
    /// Whether the committed create succeeded; `None` before its commit.
    committed: Option<bool>,
}

/// Counts marks. It receives every event like a monitor, but never objects.
#[derive(Clone, Debug, Default)]
pub struct MarkCounter {
    /// The first id of an observer; `None` without observers.
    first_observer: Option<ServerId>,
    counts: BTreeMap<Mark, u64>,
    creates: BTreeMap<(SessionId, Xid), Create>,
    servers: BTreeMap<SessionId, ServerId>,
    leader: Option<ServerId>,
    newest_epoch: Option<Epoch>,
    dead: BTreeSet<ServerId>,
    first_configuration: QuorumVerifier,
    /// The version of the newest configuration that is committed, or was completed.
    newest_configuration: Zxid,
    /// The newest configuration that a server has activated.
    activated: QuorumVerifier,
    /// The followers of each leader that is not established.
    followed: BTreeMap<ServerId, ServerSet>,
    /// Servers elected while the previous leader was dead, and not yet established.
    successors: BTreeSet<ServerId>,
    /// For each client that is setting its watches again: the paths of its exist, child and data watches.
    rearming: BTreeMap<ClientId, [Vec<Arc<str>>; 3]>,
    /// The last zxid proposed and the last zxid committed by each leader.
    proposed: BTreeMap<ServerId, [Zxid; 2]>,
    /// Syncs that a leader read while it had an outstanding proposal.
    waiting: BTreeSet<(SessionId, Xid)>,
    /// The follower that has synchronised each observer last.
    masters: BTreeMap<ServerId, ServerId>,
    /// The timeout of each session, and the time of its last request.
    sessions: BTreeMap<SessionId, (Duration, Time)>,
}

impl MarkCounter {
    /// Returns a counter with all counts 0.
    pub fn new(config: &Config) -> MarkCounter {
        let first_observer = config.server_ids().find(|server| config.is_observer(*server));
        let first_configuration = config.quorum_verifier();
        let activated = first_configuration;
        MarkCounter { first_observer, first_configuration, activated, ..MarkCounter::default() }
    }

    fn is_observer(&self, server: ServerId) -> bool {
        self.first_observer.is_some_and(|first| first <= server)
    }

    /// Returns how often each mark was reached; marks that were not reached are absent.
    pub fn counts(&self) -> &BTreeMap<Mark, u64> {
        &self.counts
    }

    /// Updates the counts with one event.
    pub fn event(&mut self, view: View<'_>, event: &Event) {
        match event {
            Event::Synchronising { learner, mode: SyncMode::Diff, .. }
                if self.is_observer(learner.learner) =>
            {
                self.count(Mark::ObserverByDiff);
            }
            Event::Synchronising { learner, mode: SyncMode::Snap, .. }
                if self.is_observer(learner.learner) =>
            {
                self.count(Mark::ObserverBySnap);
            }
            Event::Synchronising { mode, .. } => self.count(match mode {
                SyncMode::Diff => Mark::SyncByDiff,
                SyncMode::Trunc => Mark::SyncByTrunc,
                SyncMode::Snap => Mark::SyncBySnap,
            }),
            Event::AtMaster { master, observer, what } => {
                self.at_master(*master, observer.learner, *what);
            }
            Event::AcksStalled { .. } => self.count(Mark::AcksStalled),
            Event::Reattached { .. } => self.count(Mark::SessionReattached),
            Event::Sent { session, xid, request, .. } => {
                if let Some((timeout, last)) = self.sessions.get_mut(session)
                    && view.at().since(std::mem::replace(last, view.at())) >= *timeout
                {
                    self.count(Mark::IdleSession);
                }
                if request.is_create() {
                    self.creates.insert((*session, *xid), Create::default());
                }
            }
            Event::Replied { session, xid, request, result, .. } => {
                if result.is_ok() && matches!(**request, Request::RemoveWatches { .. }) {
                    self.count(Mark::WatchRemoved);
                }
                match result {
                    Err(Error::NoAuth) => self.count(Mark::RefusedByAcl),
                    Err(Error::ReconfigInProgress) => self.count(Mark::ReconfigInProgress),
                    Err(Error::NewConfigNoQuorum) => self.count(Mark::NewConfigNoQuorum),
                    _ => {}
                }
                self.creates.remove(&(*session, *xid));
                if self.waiting.remove(&(*session, *xid)) {
                    self.count(Mark::SyncWaited);
                }
            }
            Event::Refused { session, xid, .. } => {
                self.creates.remove(&(*session, *xid));
            }
            Event::Lost { session, xid, .. } => {
                self.waiting.remove(&(*session, *xid));
                if let Some(create) = self.creates.get_mut(&(*session, *xid)) {
                    create.lost = true;
                }
            }
            Event::Committed { leader, txn } => {
                self.proposed.entry(*leader).or_default()[1] = txn.zxid;
                if let TxnBody::Reconfig(next) = txn.body {
                    self.reconfigured(next);
                }
                self.committed(txn);
                if let TxnBody::CreateSession { timeout } = txn.body
                    && !self.sessions.contains_key(&txn.session)
                {
                    self.sessions.insert(txn.session, (timeout, view.at()));
                    if view.history.tree().sessions().len() >= 10 {
                        self.count(Mark::ManySessions);
                    }
                }
            }
            Event::Proposed { leader, txn } => {
                self.proposed.entry(*leader).or_default()[0] = txn.zxid;
                if let TxnBody::FailedMulti(errors) = &txn.body
                    && errors
                        .first()
                        .is_some_and(|first| *first != errors.iter().flatten().next().copied())
                {
                    self.count(Mark::MultiRolledBack);
                }
            }
            Event::SyncRead { leader, session, xid, by_learner: true } => {
                if self
                    .proposed
                    .get(leader)
                    .is_some_and(|[proposed, committed]| proposed > committed)
                {
                    self.waiting.insert((*session, *xid));
                }
            }
            Event::Rearming { client, exist, child, data, persistent, recursive, .. } => {
                if !(persistent.is_empty() && recursive.is_empty()) {
                    self.count(Mark::StayingWatchSetAgain);
                }
                self.rearming.insert(*client, [exist.clone(), child.clone(), data.clone()]);
            }
            Event::Rearmed { client, .. } => _ = self.rearming.remove(client),
            Event::Notified { client, event, .. } => self.made_up(*client, event),
            Event::Session { session: Some(session), server, state, .. } => {
                self.session(*session, *server, *state);
            }
            Event::Activated { configuration, .. } => self.activated(*configuration),
            Event::Designated { server, leader } if server == leader => {
                self.count(Mark::LeaderDesignated);
            }
            _ => self.server(event),
        }
    }

    /// Ends the run: creates without a commit were never applied.
    pub fn finish(&mut self, _view: View<'_>) {
        for create in std::mem::take(&mut self.creates).into_values() {
            self.decide(create);
        }
    }

    fn reconfigured(&mut self, next: QuorumVerifier) {
        self.count(Mark::Reconfigured);
        self.newest_configuration = next.version();
        let first = self.first_configuration;
        if next.hierarchy().is_some() {
            self.count(Mark::GroupsConfigured);
        }
        if next.voters().iter().any(|server| !next.has_weight(server)) {
            self.count(Mark::VoterWithoutWeight);
        }
        if next.voters().iter().any(|server| !first.has_member(server)) {
            self.count(Mark::ServerJoined);
        }
        if !next.observers().intersection(first.voters()).is_empty() {
            self.count(Mark::VoterObserves);
        }
    }

    fn at_master(&mut self, master: ServerId, observer: ServerId, what: AtMaster) {
        if what == AtMaster::Synchronises {
            self.masters.insert(observer, master);
        }
        self.count(match what {
            AtMaster::Synchronises => Mark::ObserverOfFollower,
            AtMaster::SendsCached => Mark::InformedFromCache,
            AtMaster::TooFarBehind => Mark::ObserverTooFarBehind,
            AtMaster::EndsMeanwhile | AtMaster::Outlives => Mark::MasterEndedMeanwhile,
        });
    }

    fn activated(&mut self, configuration: QuorumVerifier) {
        let version = configuration.version();
        if version > self.activated.version() {
            self.activated = configuration;
        }
        if version > self.newest_configuration && !version.is_opening() {
            self.newest_configuration = version;
            self.count(Mark::ConfigurationCompleted);
        }
    }

    /// Counts a leader whose followers show that groups decide, and not a majority.
    fn led(&mut self, leader: ServerId, is_established: bool) {
        let Some(followers) = self.followed.remove(&leader) else { return };
        let voters = self.activated.voters();
        let has_majority = 2 * followers.with(leader).intersection(voters).len() > voters.len();
        match (is_established, has_majority) {
            (true, false) => self.count(Mark::LedByMinority),
            (false, true) => self.count(Mark::MajorityNotEnough),
            _ => {}
        }
    }

    fn server(&mut self, event: &Event) {
        match event {
            Event::Followed { leader, learner, .. } if self.activated.hierarchy().is_some() => {
                self.followed.entry(*leader).or_default().insert(*learner);
                return;
            }
            Event::LeftRole { server, .. } | Event::Crashed { server, .. } => {
                self.led(*server, false);
            }
            Event::Established { leader, .. } => self.led(*leader, true),
            _ => {}
        }
        match event {
            Event::Elected { leader, .. } => {
                let dead = self.leader.is_some_and(|previous| self.dead.contains(&previous));
                if dead && !self.dead.contains(leader) {
                    self.successors.insert(*leader);
                }
            }
            Event::Established { leader, epoch, .. } => {
                if self.newest_epoch.is_some_and(|newest| *epoch < newest) {
                    return self.count(Mark::LateLeader);
                }
                if self.successors.contains(leader) {
                    self.count(Mark::ElectionWithDeadLeader);
                }
                self.successors.clear();
                self.leader = Some(*leader);
                self.newest_epoch = Some(*epoch);
            }
            Event::LeftRole { reason: WRITE_FAILED, .. } => self.count(Mark::WriteFailed),
            Event::LeftRole { reason: COUNTER_EXHAUSTED, .. } => self.count(Mark::CounterExhausted),
            Event::Crashed { server, lost } => {
                self.dead.insert(*server);
                self.successors.remove(server);
                if *lost > 0 {
                    self.count(Mark::UnsyncedTailLost);
                }
            }
            Event::Exited { server, .. } => {
                self.dead.insert(*server);
                self.successors.remove(server);
                self.count(Mark::ServerExited);
            }
            Event::Restarted { server } => {
                self.dead.remove(server);
            }
            _ => {}
        }
    }

    fn committed(&mut self, txn: &Txn) {
        let key = (txn.session, txn.cxid);
        let Some(create) = self.creates.get_mut(&key) else { return };
        create.committed = Some(!matches!(txn.body, TxnBody::Error(_) | TxnBody::FailedMulti(_)));
        if create.pending {
            let create = *create;
            self.creates.remove(&key);
            self.decide(create);
        }
    }

    fn session(&mut self, session: SessionId, server: Option<ServerId>, state: SessionState) {
        match state {
            SessionState::SyncConnected | SessionState::ConnectedReadOnly => {
                let before = server.and_then(|server| self.servers.insert(session, server));
                if let (Some(server), Some(before)) = (server, before)
                    && server != before
                {
                    self.count(Mark::SessionMoved);
                    if self.is_observer(server) != self.is_observer(before) {
                        self.count(Mark::MovedToObserver);
                    }
                    let forwards = |at: ServerId| self.masters.get(&at).copied().unwrap_or(at);
                    if forwards(server) == forwards(before) {
                        self.count(Mark::MovedWithinMaster);
                    }
                }
                self.reattached(session);
            }
            SessionState::Disconnected => {}
            SessionState::Expired | SessionState::Closed | SessionState::AuthFailed => {
                if state == SessionState::Expired {
                    self.count(Mark::SessionExpired);
                }
                self.servers.remove(&session);
                for (_, create) in self.take_creates(session) {
                    self.decide(create);
                }
            }
        }
    }

    /// Handles a reconnect: the session's lost creates are committed already, or pending.
    fn reattached(&mut self, session: SessionId) {
        for (key, create) in self.take_creates(session) {
            match create {
                Create { lost: true, committed: Some(_), .. } => self.decide(create),
                Create { lost: true, committed: None, .. } => {
                    self.creates.insert(key, Create { pending: true, ..create });
                }
                Create { lost: false, .. } => {
                    self.creates.insert(key, create);
                }
            }
        }
    }

    /// Counts a notification that answers the client's SetWatches.
    fn made_up(&mut self, client: ClientId, event: &WatchedEvent) {
        let Some([exist, child, data]) = self.rearming.get(&client) else { return };
        let is_in = |paths: &[Arc<str>]| paths.contains(&event.path);
        let mark = match event.kind {
            EventType::NodeCreated if is_in(exist) => Mark::ExistWatchMadeUp,
            EventType::NodeChildrenChanged if is_in(child) => Mark::ChildWatchMadeUp,
            EventType::NodeDataChanged | EventType::NodeDeleted if is_in(data) => {
                Mark::DataWatchMadeUp
            }
            _ => return,
        };
        self.count(mark);
    }

    fn take_creates(&mut self, session: SessionId) -> Vec<((SessionId, Xid), Create)> {
        let range = (session, Xid(0))..=(session, Xid(u32::MAX));
        let keys: Vec<_> = self.creates.range(range).map(|(key, _)| *key).collect();
        keys.into_iter().filter_map(|key| self.creates.remove_entry(&key)).collect()
    }

    /// Counts a lost create whose outcome is settled.
    fn decide(&mut self, create: Create) {
        if !create.lost {
            return;
        }
        self.count(match create.committed {
            Some(true) if create.pending => Mark::LostReplyPending,
            Some(true) => Mark::LostReplyApplied,
            Some(false) | None => Mark::LostReplyNeverApplied,
        });
    }

    fn count(&mut self, mark: Mark) {
        *self.counts.entry(mark).or_default() += 1;
    }
}

#[cfg(test)]
mod tests;
