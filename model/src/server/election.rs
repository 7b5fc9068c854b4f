//! Fast leader election (rule 5.3) as a machine: it takes notifications and timeouts, sends notifications, and
//! finally returns a decision.

use super::context::Context;
use super::part::Part;
use crate::vocabulary::config::{self, Config};
use crate::vocabulary::hierarchy::Hierarchy;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::packet::{Notification, PeerState, Vote};
use crate::vocabulary::quorum::{QuorumVerifier, Quorums};
use crate::vocabulary::release::{Bug, Bugs};
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::zxid::{Epoch, Zxid};
use std::collections::BTreeMap;

/// finalizeWait: the time that a candidate with a quorum waits for a better vote, and the first timeout without any
/// notification (rule 5.3).
pub(crate) const FINALIZE_WAIT: Duration = Duration::from_millis(200);

/// The longest timeout without any notification.
const NOTIFICATION_TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// One server's state in elections. It lives as long as the process: rounds are never persisted (rule 5.1.4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Election {
    id: ServerId,
    /// The logical clock.
    round: u32,
    /// The vote that this server proposes while LOOKING.
    proposal: Vote,
    /// The last decision and its round, sent to any server that is LOOKING.
    current: (Vote, u32),
    /// recvset: the votes of this round.
    received: BTreeMap<ServerId, Received>,
    /// outofelection: the votes of servers that follow or lead.
    established: BTreeMap<ServerId, Received>,
    /// True if a quorum agrees with the proposal, and the finalize timer is running.
    finalizing: bool,
    /// The present timeout without notifications.
    patience: Duration,
    /// The process's part in the configurations.
    pub(super) part: Part,
}

/// A vote as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Received {
    vote: Vote,
    round: u32,
    state: PeerState,
}

impl Received {
    /// Returns true if two votes agree: between servers that are not LOOKING only the leader and its epoch count;
    /// zxid and round may differ (rule 5.3.4, ZOOKEEPER-1732, 1805, 1818).
    fn agrees(&self, other: &Received, bugs: Bugs) -> bool {
        let is_looking = [self, other].iter().any(|it| it.state == PeerState::Looking);
        if is_looking || bugs.has(Bug::EstablishedVotesDiffer) {
            self.vote == other.vote && self.round == other.round
        } else {
            self.vote.leader == other.vote.leader && self.vote.peer_epoch == other.vote.peer_epoch
        }
    }
}

/// The result of an election: the leader and the round in which it was elected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The leader.
    pub leader: ServerId,
    /// The round.
    pub round: u32,
}

impl Election {
    /// Returns the state of a process that has not taken part in any election yet.
    pub(super) fn new(context: &Context<'_>) -> Election {
        let id = context.id;
        let nobody = Vote { peer_epoch: Epoch(0), zxid: Zxid::ZERO, leader: id };
        Election {
            id,
            round: 0,
            proposal: nobody,
            current: (nobody, 0),
            received: BTreeMap::new(),
            established: BTreeMap::new(),
            finalizing: false,
            patience: FINALIZE_WAIT,
            part: Part::at_start(id, context.configurations(), context.config),
        }
    }

    /// Returns the round, for reports.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Returns the present proposal.
    pub fn proposal(&self) -> Vote {
        self.proposal
    }

    /// Begins an election with this vote for itself (rule 5.3.1).
    pub fn look(&mut self, own: Vote, context: &mut Context<'_>) {
        if self.round == 0 && context.config.bugs.has(Bug::ObserversToldOldVotes) {
            // The present vote of a process that has not elected any leader yet.
            self.current.0 = own;
        }
        self.round += 1;
        self.part.is_designated = false;
        self.proposal = self.own_vote(own, context);
        self.received.clear();
        self.established.clear();
        self.finalizing = false;
        self.patience = FINALIZE_WAIT;
        context.arm(ServerTimer::Notification, self.patience);
        self.broadcast(context);
        self.consider_quorum(context);
    }

    /// Handles a notification (rules 5.2 and 5.3). `state` is this server's own state; `own` is its vote for itself.
    pub fn notification(
        &mut self,
        from: ServerId,
        notification: Notification,
        state: PeerState,
        own: Vote,
        context: &mut Context<'_>,
    ) -> Option<Decision> {
        let voters = context.configurations().voters();
        let answers = self.answers(&notification, context);
        if !voters.contains(from) {
            // A server that does not vote asks only while it is LOOKING (see [`Bug::ObserversAnswer`]).
            if notification.state == PeerState::Looking && answers
                || context.config.bugs.has(Bug::ObserversAnswer)
            {
                self.answer_observer(from, state, context);
            }
            return None;
        }
        if state != PeerState::Looking {
            // Rule 5.2.3: tell the LOOKING server which leader this one follows, with the round of that vote.
            if notification.state == PeerState::Looking && answers {
                let (vote, round) = self.current;
                self.mail(from, vote, round, state, context);
            }
            return None;
        }
        if notification.state == PeerState::Looking && notification.round < self.round && answers {
            // Rule 5.2.2: the sender lags behind; let it catch up.
            self.tell(from, context);
        }
        if self.finalizing {
            // A better vote reopens the election, whatever the sender's state; any other notification is dropped and
            // only prolongs the wait (rule 5.3.3).
            if !is_larger(notification.vote, self.proposal, context) {
                context.arm(ServerTimer::Finalize, FINALIZE_WAIT);
                return None;
            }
            self.finalizing = false;
            context.disarm(ServerTimer::Finalize);
        }
        context.arm(ServerTimer::Notification, self.patience);
        if !voters.contains(notification.vote.leader) {
            // Only a vote of a voter for a voter counts.
            self.round_without_vote(&notification, own, context);
            return None;
        }
        match notification.state {
            PeerState::Looking => {
                self.looking(from, notification, own, context);
                None
            }
            PeerState::Following | PeerState::Leading => self.settled(from, notification, context),
            // It observes in a configuration that this server does not know.
            PeerState::Observing => None,
        }
    }

    /// Returns true if this server answers. The vote of a server that does not vote serves nothing (see
    /// [`Bug::ObserversAnswer`]), but its configuration does if it is newer than the sender's: the sender may know no
    /// voter of the present one (rule 5.8.7).
    fn answers(&self, notification: &Notification, context: &Context<'_>) -> bool {
        let quorum = context.configurations().quorum;
        let is_older = |its: QuorumVerifier| its.version() < quorum.version();
        quorum.voters().contains(self.id)
            || notification.configuration.0.is_some_and(is_older)
            || context.config.bugs.has(Bug::ObserversAnswer)
    }

    /// Answers an observer at once, whatever it sent, and whatever this server's state is (rule 5.7.2).
    fn answer_observer(&self, observer: ServerId, state: PeerState, context: &mut Context<'_>) {
        let is_old = context.config.bugs.has(Bug::ObserversToldOldVotes);
        let vote = match state {
            PeerState::Looking if !is_old => self.proposal,
            _ => self.current.0,
        };
        self.mail(observer, vote, self.round, state, context);
    }

    /// Enters the later round of a LOOKING server whose vote names no leader: it takes over no vote of an earlier round, and a
    /// quorum of a configuration to come may need it (rule 5.8.7; see [`Bug::JoinerKeepsVote`]).
    fn round_without_vote(
        &mut self,
        notification: &Notification,
        own: Vote,
        context: &mut Context<'_>,
    ) {
        let ignores = context.config.bugs.has(Bug::JoinerKeepsVote);
        if notification.state != PeerState::Looking || notification.round <= self.round || ignores {
            return;
        }
        self.round = notification.round;
        self.received.clear();
        self.proposal = self.own_vote(own, context);
        self.broadcast(context);
        self.consider_quorum(context);
    }

    /// Handles the vote of another LOOKING server (rule 5.3.2).
    fn looking(
        &mut self,
        from: ServerId,
        notification: Notification,
        own: Vote,
        context: &mut Context<'_>,
    ) {
        let Notification { vote, round, state, .. } = notification;
        if round > self.round {
            self.round = round;
            self.received.clear();
            let own = self.own_vote(own, context);
            self.proposal = if is_larger(vote, own, context) { vote } else { own };
            self.broadcast(context);
        } else if round < self.round {
            return;
        } else if is_larger(vote, self.proposal, context) {
            self.proposal = vote;
            self.broadcast(context);
        }
        self.received.insert(from, Received { vote, round, state });
        self.consider_quorum(context);
    }

    /// Returns the vote for itself in this round: the server's history, or a random one. A server that its configuration does
    /// not let vote names no leader (rules 5.7.2 and 5.8.7). It has no history here either, so that it agrees to any leader:
    /// whatever is committed, voters of that configuration have. A voter without weight has none either, for the same reason
    /// (see [`Bug::JoinerKeepsVote`]).
    fn own_vote(&self, own: Vote, context: &Context<'_>) -> Vote {
        let quorum = context.configurations().quorum;
        let keeps = context.config.bugs.has(Bug::JoinerKeepsVote) && !self.part.observes();
        let vote = match context.config.election {
            config::Election::ByLot => Vote::by_lot(self.id, self.round),
            config::Election::Fast | config::Election::Oracle | config::Election::Any => own,
        };
        match quorum.voters().contains(self.id) {
            true if has_weight(self.id, context) || keeps => vote,
            false if keeps => Vote { leader: Vote::OF_OBSERVER.leader, ..vote },
            true => Vote { leader: self.id, ..Vote::OF_OBSERVER },
            false => Vote::OF_OBSERVER,
        }
    }

    /// Handles the vote of a server that follows or leads already.
    fn settled(
        &mut self,
        from: ServerId,
        notification: Notification,
        context: &Context<'_>,
    ) -> Option<Decision> {
        let (config, configurations) = (context.config, context.configurations());
        let Notification { vote, round, state, .. } = notification;
        // To follow an established leader takes no quorum of a configuration that may never be committed; to lead does.
        let leads = vote.leader == self.id;
        let quorums = match leads || config.bugs.has(Bug::UncommittedConfigKeepsOut) {
            true => configurations.quorums(),
            false => Quorums::of(configurations.quorum),
        };
        let said = Received { vote, round, state };
        if round == self.round {
            self.received.insert(from, said);
            if is_agreed(&self.received, &said, quorums, config.bugs)
                && self.leader_is_there(&self.received, vote.leader, round, config)
            {
                return Some(self.decide(vote, round));
            }
        }
        self.established.insert(from, said);
        if is_agreed(&self.established, &said, quorums, config.bugs)
            && self.leader_is_there(&self.established, vote.leader, round, config)
        {
            self.round = round;
            return Some(self.decide(vote, round));
        }
        None
    }

    /// checkLeader: another leader must have said itself that it leads; if this server is the leader, the round must
    /// be its own (ZOOKEEPER-1514).
    fn leader_is_there(
        &self,
        votes: &BTreeMap<ServerId, Received>,
        leader: ServerId,
        round: u32,
        config: &Config,
    ) -> bool {
        if config.bugs.has(Bug::PlantedLeaderNotAsked) {
            return true;
        }
        if leader == self.id {
            return self.round == round || config.bugs.has(Bug::LeaderOfAnotherRound);
        }
        votes.get(&leader).is_some_and(|said| said.state == PeerState::Leading)
    }

    /// Returns true if a quorum agrees and the server is waiting for a better vote.
    pub(crate) fn is_finalizing(&self) -> bool {
        self.finalizing
    }

    /// Handles the finalize timer: no better vote arrived.
    pub fn finalize(&mut self) -> Decision {
        assert!(self.finalizing, "{}: only a candidate with a quorum can be final", self.id);
        self.decide(self.proposal, self.round)
    }

    /// Handles the timeout without notifications: sends the vote again and doubles the timeout. (The transport also
    /// resends the last notification of each pair when it reconnects.)
    pub(crate) fn notification_timeout(&mut self, context: &mut Context<'_>) {
        self.broadcast(context);
        self.patience = (self.patience * 2).min(NOTIFICATION_TIMEOUT_MAX);
        context.arm(ServerTimer::Notification, self.patience);
    }

    /// Records that the server is established in this epoch, so that its notifications say so (rule 5.3.6,
    /// ZOOKEEPER-1732). Under the oracle there are no notifications.
    pub(crate) fn established_in(&mut self, epoch: Epoch, config: &Config) {
        if !config.election.is_oracle() && !config.bugs.has(Bug::EstablishedVotesDiffer) {
            self.current.0.peer_epoch = epoch;
        }
    }

    fn decide(&mut self, vote: Vote, round: u32) -> Decision {
        self.current = (vote, round);
        self.finalizing = false;
        Decision { leader: vote.leader, round }
    }

    /// Sends the proposal to every other voter, and a voter's to itself without the network.
    fn broadcast(&mut self, context: &mut Context<'_>) {
        let voters = context.configurations().voters();
        // A configuration may list a server that no machine is.
        let is_there = |to: &ServerId| to.0 <= context.config.servers;
        for to in voters.without(self.id).iter().filter(is_there) {
            self.tell(to, context);
        }
        if !voters.contains(self.id) {
            return;
        }
        let own = Received { vote: self.proposal, round: self.round, state: PeerState::Looking };
        self.received.insert(self.id, own);
    }

    fn tell(&self, to: ServerId, context: &mut Context<'_>) {
        self.mail(to, self.proposal, self.round, PeerState::Looking, context);
    }

    /// Sends a notification.
    fn mail(
        &self,
        to: ServerId,
        vote: Vote,
        round: u32,
        state: PeerState,
        context: &mut Context<'_>,
    ) {
        let configuration = context.attached_configuration();
        context.mail(to, Notification { vote, round, state, configuration });
    }

    /// Returns the leader of the present vote (`getCurrentVote`).
    pub(super) fn current_leader(&self) -> ServerId {
        self.current.0.leader
    }

    /// Votes for the leader that a reconfiguration designates, in no round and no epoch.
    pub(super) fn vote_for_designated(&mut self, leader: ServerId, zxid: Zxid) {
        self.current = (Vote { peer_epoch: Epoch(0), zxid, leader }, 0);
    }

    /// Votes for the leader that the oracle has elected. No server learns its zxid and its epoch.
    pub(super) fn elected_by_oracle(&mut self, leader: ServerId) {
        self.vote_for_designated(leader, Zxid::ZERO);
    }

    /// Returns the leader whom the server follows without an election, or who it is itself, and forgets that there is one
    /// (`updateServerState`).
    pub(super) fn take_designated(&mut self) -> Option<ServerId> {
        std::mem::take(&mut self.part.is_designated).then(|| self.current_leader())
    }

    /// Begins the rounds of a LOOKING server anew, with a vote for itself.
    pub(super) fn restart_looking(&mut self, own: Vote, context: &mut Context<'_>) {
        self.restart(context);
        self.current = (own, 0);
    }

    /// Begins the rounds anew: the new connections to other servers carry nothing of the old ones
    /// (`restartLeaderElection`).
    pub(super) fn restart(&mut self, context: &mut Context<'_>) {
        self.round = 0;
        context.network.forget_mail(self.id);
    }

    /// Begins the wait for a better vote if a quorum agrees with the proposal.
    fn consider_quorum(&mut self, context: &mut Context<'_>) {
        let own = Received { vote: self.proposal, round: self.round, state: PeerState::Looking };
        let quorums = context.configurations().quorums();
        if is_agreed(&self.received, &own, quorums, context.config.bugs) {
            self.finalizing = true;
            context.disarm(ServerTimer::Notification);
            context.arm(ServerTimer::Finalize, FINALIZE_WAIT);
        }
    }
}

/// Returns true if a server takes over `one` in place of `other` (`totalOrderPredicate`): the vote is larger (rule 5.1.2), and
/// its leader has weight (rule 5.8.11).
fn is_larger(one: Vote, other: Vote, context: &Context<'_>) -> bool {
    let config = context.config;
    if !has_weight(one.leader, context) {
        return false;
    }
    if config.bugs.has(Bug::PlantedElectionById) {
        return one.leader > other.leader;
    }
    one > other
        || config.bugs.has(Bug::EqualZxidsIgnoreEpoch)
            && one.zxid == other.zxid
            && one.leader > other.leader
}

/// Returns true unless the committed configuration says that the server's vote has no weight.
fn has_weight(leader: ServerId, context: &Context<'_>) -> bool {
    let quorum = context.configurations().quorum;
    let weight = |groups: Hierarchy| groups.group_of(leader).map(|_| groups.weight_of(leader));
    quorum.hierarchy().and_then(weight) != Some(0)
        || context.config.bugs.has(Bug::PlantedNoWeightLeads)
}

/// Returns true if a quorum of these votes, of each configuration, agrees with `with`.
fn is_agreed(
    votes: &BTreeMap<ServerId, Received>,
    with: &Received,
    quorums: Quorums,
    bugs: Bugs,
) -> bool {
    let agrees = |vote: &Received| vote.agrees(with, bugs);
    let agree = votes.iter().filter(|(_, vote)| agrees(vote)).map(|(server, _)| *server);
    quorums.contains_quorum(agree.collect())
}

/// The timers of an election, which its end disarms.
pub const TIMERS: [ServerTimer; 2] = [ServerTimer::Notification, ServerTimer::Finalize];
