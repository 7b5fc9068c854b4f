//! Fast leader election (rule 5.3), as a machine: notifications and timeouts in, notifications
//! and at last a decision out.

use super::context::Context;
use crate::vocabulary::config::{self, Config};
use crate::vocabulary::id::ServerId;
use crate::vocabulary::packet::{Notification, PeerState, Vote};
use crate::vocabulary::release::Bug;
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::zxid::Epoch;
use std::collections::BTreeMap;

/// finalizeWait: how long a candidate that has a quorum waits for a better vote, and the first
/// timeout without any notification (rule 5.3).
pub const FINALIZE_WAIT: Duration = Duration::from_millis(200);

/// The longest timeout without any notification.
const NOTIFICATION_TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// One server's part in elections. It lives as long as its process: rounds are never persisted
/// (rule 5.1.4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Election {
    id: ServerId,
    /// The logical clock.
    round: u32,
    /// What this server proposes while LOOKING.
    proposal: Vote,
    /// What it decided last, with the round of that decision; told to whoever is LOOKING.
    current: (Vote, u32),
    /// recvset: votes of this round.
    received: BTreeMap<ServerId, Received>,
    /// outofelection: votes of servers that follow or lead.
    established: BTreeMap<ServerId, Received>,
    /// A quorum agrees with the proposal; the finalize timer runs.
    finalizing: bool,
    /// The present notification timeout.
    patience: Duration,
}

/// A vote as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Received {
    vote: Vote,
    round: u32,
    state: PeerState,
}

impl Received {
    /// Whether two votes agree: between servers that are not LOOKING only the leader and its epoch
    /// count, zxid and round may differ (rule 5.3.4, ZOOKEEPER-1732, 1805, 1818).
    fn agrees(&self, other: &Received) -> bool {
        if self.state == PeerState::Looking || other.state == PeerState::Looking {
            self.vote == other.vote && self.round == other.round
        } else {
            self.vote.leader == other.vote.leader && self.vote.peer_epoch == other.vote.peer_epoch
        }
    }
}

/// An election's result: the leader and the round it was elected in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The leader.
    pub leader: ServerId,
    /// The round.
    pub round: u32,
}

impl Election {
    /// A process that has not taken part in any election yet.
    pub fn new(id: ServerId) -> Election {
        let nobody =
            Vote { peer_epoch: Epoch(0), zxid: crate::vocabulary::zxid::Zxid::ZERO, leader: id };
        Election {
            id,
            round: 0,
            proposal: nobody,
            current: (nobody, 0),
            received: BTreeMap::new(),
            established: BTreeMap::new(),
            finalizing: false,
            patience: FINALIZE_WAIT,
        }
    }

    /// The round, for people.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// The present proposal.
    pub fn proposal(&self) -> Vote {
        self.proposal
    }

    /// Starts to look for a leader with this vote for itself (rule 5.3.1).
    pub fn look(&mut self, own: Vote, context: &mut Context<'_>) {
        self.round += 1;
        self.proposal = self.own_vote(own, context.config);
        self.received.clear();
        self.established.clear();
        self.finalizing = false;
        self.patience = FINALIZE_WAIT;
        context.arm(ServerTimer::Notification, self.patience);
        self.broadcast(context);
        self.consider_quorum(context);
    }

    /// A notification arrives (rules 5.2 and 5.3). `state` is this server's own state; `own` is
    /// its vote for itself.
    pub fn notification(
        &mut self,
        from: ServerId,
        notification: Notification,
        state: PeerState,
        own: Vote,
        context: &mut Context<'_>,
    ) -> Option<Decision> {
        if state != PeerState::Looking {
            // Rule 5.2.3: tell the one that looks whom we follow, with the round of that vote.
            if notification.state == PeerState::Looking {
                let (vote, round) = self.current;
                context.mail(from, Notification { vote, round, state });
            }
            return None;
        }
        if notification.state == PeerState::Looking && notification.round < self.round {
            // Rule 5.2.2: it lags behind, let it catch up.
            self.tell(from, context);
        }
        if self.finalizing {
            // Whatever its sender's state, a better vote reopens the election; anything else is
            // dropped and only prolongs the wait (rule 5.3.3).
            if !is_larger(notification.vote, self.proposal, context.config) {
                context.arm(ServerTimer::Finalize, FINALIZE_WAIT);
                return None;
            }
            self.finalizing = false;
            context.disarm(ServerTimer::Finalize);
        }
        context.arm(ServerTimer::Notification, self.patience);
        match notification.state {
            PeerState::Looking => {
                self.looking(from, notification, own, context);
                None
            }
            PeerState::Following | PeerState::Leading => {
                self.settled(from, notification, context.config)
            }
        }
    }

    /// Another server is LOOKING as well (rule 5.3.2).
    fn looking(
        &mut self,
        from: ServerId,
        notification: Notification,
        own: Vote,
        context: &mut Context<'_>,
    ) {
        let Notification { vote, round, state } = notification;
        if round > self.round {
            self.round = round;
            self.received.clear();
            let own = self.own_vote(own, context.config);
            self.proposal = if is_larger(own, vote, context.config) { own } else { vote };
            self.broadcast(context);
        } else if round < self.round {
            return;
        } else if is_larger(vote, self.proposal, context.config) {
            self.proposal = vote;
            self.broadcast(context);
        }
        self.received.insert(from, Received { vote, round, state });
        self.consider_quorum(context);
    }

    /// The vote for itself in this round: what says how far its history goes, unless lots are drawn.
    fn own_vote(&self, own: Vote, config: &Config) -> Vote {
        match config.election {
            config::Election::ByLot => Vote::by_lot(self.id, self.round),
            config::Election::Fast | config::Election::Oracle | config::Election::Any => own,
        }
    }

    /// Another server follows or leads already.
    fn settled(
        &mut self,
        from: ServerId,
        notification: Notification,
        config: &Config,
    ) -> Option<Decision> {
        let Notification { vote, round, state } = notification;
        let said = Received { vote, round, state };
        if round == self.round {
            self.received.insert(from, said);
            if is_agreed(&self.received, &said, config)
                && self.leader_is_there(&self.received, vote.leader, round, config)
            {
                return Some(self.decide(vote, round));
            }
        }
        self.established.insert(from, said);
        if is_agreed(&self.established, &said, config)
            && self.leader_is_there(&self.established, vote.leader, round, config)
        {
            self.round = round;
            return Some(self.decide(vote, round));
        }
        None
    }

    /// checkLeader: another leader must have said itself that it leads; if it is me, the round must
    /// be mine (ZOOKEEPER-1514).
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
            return self.round == round;
        }
        votes.get(&leader).is_some_and(|said| said.state == PeerState::Leading)
    }

    /// Whether a quorum agrees, and the wait for a better vote runs.
    pub fn is_finalizing(&self) -> bool {
        self.finalizing
    }

    /// The finalize timer fired: nobody had a better vote.
    pub fn finalize(&mut self) -> Decision {
        assert!(self.finalizing, "{}: only a candidate with a quorum can be final", self.id);
        self.decide(self.proposal, self.round)
    }

    /// Nothing was heard: send the vote again, and be more patient next time. (The last
    /// notification of each pair is also sent again by the transport when it reconnects.)
    pub fn notification_timeout(&mut self, context: &mut Context<'_>) {
        self.broadcast(context);
        self.patience = (self.patience * 2).min(NOTIFICATION_TIMEOUT_MAX);
        context.arm(ServerTimer::Notification, self.patience);
    }

    /// The server is established in this epoch: whoever asks is told so (rule 5.3.6,
    /// ZOOKEEPER-1732). Under the
    /// oracle nobody asks.
    pub fn established_in(&mut self, epoch: Epoch, config: &Config) {
        if !config.election.is_oracle() {
            self.current.0.peer_epoch = epoch;
        }
    }

    fn decide(&mut self, vote: Vote, round: u32) -> Decision {
        self.current = (vote, round);
        self.finalizing = false;
        Decision { leader: vote.leader, round }
    }

    /// Sends the proposal to every other voter, and to oneself without the network.
    fn broadcast(&mut self, context: &mut Context<'_>) {
        for to in context.config.server_ids().filter(|to| *to != self.id) {
            self.tell(to, context);
        }
        let own = Received { vote: self.proposal, round: self.round, state: PeerState::Looking };
        self.received.insert(self.id, own);
    }

    fn tell(&self, to: ServerId, context: &mut Context<'_>) {
        let notification =
            Notification { vote: self.proposal, round: self.round, state: PeerState::Looking };
        context.mail(to, notification);
    }

    /// If a quorum agrees with the proposal, the wait for a better one begins.
    fn consider_quorum(&mut self, context: &mut Context<'_>) {
        let own = Received { vote: self.proposal, round: self.round, state: PeerState::Looking };
        if is_agreed(&self.received, &own, context.config) {
            self.finalizing = true;
            context.disarm(ServerTimer::Notification);
            context.arm(ServerTimer::Finalize, FINALIZE_WAIT);
        }
    }
}

/// Whether a vote is larger than another (rule 5.1.2).
fn is_larger(one: Vote, other: Vote, config: &Config) -> bool {
    match config.bugs.has(Bug::PlantedElectionById) {
        true => one.leader > other.leader,
        false => one > other,
    }
}

/// Whether a quorum of these votes agrees with one.
fn is_agreed(votes: &BTreeMap<ServerId, Received>, with: &Received, config: &Config) -> bool {
    let agree = votes.iter().filter(|(_, vote)| vote.agrees(with)).map(|(server, _)| *server);
    config.quorum_verifier().contains_quorum(agree.collect())
}

/// The timers of an election, to disarm when it is over.
pub const TIMERS: [ServerTimer; 2] = [ServerTimer::Notification, ServerTimer::Finalize];
