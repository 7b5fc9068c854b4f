//! The oracle's election, and the other simplifications of a server under it.
//!
//! [`crate::vocabulary::step::Step::Elect`] gives a quorum of LOOKING servers its leader: the largest of
//! (currentEpoch, lastZxid, id) among them. Fast leader election computes the same once the votes of these servers
//! have reached each other in one round (rule 5.3.3). Every quorum of LOOKING servers can be the one whose votes met,
//! so a search tries every leader that an election with prompt notifications can have. A LOOKING server can also join
//! a leader if a quorum says that it leads (rule 5.3.4, FOLLOWING and LEADING votes).
//!
//! Fast leader election can produce more: a server can decide on outdated votes of a member of its quorum, and then
//! lead or follow alone. Such a server finds no quorum, or no leader, and is LOOKING again after its timeouts; a
//! search reaches the same state by a server that leaves its role, which uses one of its timeouts. Two things are out
//! of reach: a leader that is not the largest of its quorum (a vote overtaken by a crash), and the delays of
//! elections. The real election is searched separately ([`Election::Fast`]). And [`Election::Any`] lets every member
//! of a quorum be elected, which is more than votes can produce, because ZAB does not depend on them (rule 6.3.3).
//!
//! Where the configuration can change, each of these servers first activates the newest configuration among them, as one
//! does that reads a vote (rule 5.8.7), and then needs the quorums of its own two configurations. A third thing is out of
//! reach there: a server that activates a configuration of a vote, and then elects without that voter.
//!
//! Under the oracle, no state may depend on the number of earlier attempts, or equal states would be distinguished.
//! Rounds and votes keep their initial values. Attempts to connect are not counted (a server whose connection is
//! refused is LOOKING immediately and can be elected into the same place again). Starts are not counted (they only
//! make session ids, and there are no clients). And a learner's connections are renumbered as soon as older ones are
//! gone.
//!
//! [`Election::Fast`]: crate::vocabulary::config::Election::Fast
//! [`Election::Any`]: crate::vocabulary::config::Election::Any

use super::election::Decision;
use super::{Context, Role, Server};
use crate::vocabulary::config::{self, Config};
use crate::vocabulary::id::{LearnerConnection, ServerId, ServerSet};
use crate::vocabulary::packet::Vote;
use crate::vocabulary::quorum::{QuorumVerifier, Quorums};
use crate::vocabulary::zxid::Epoch;

/// The result of an oracle's election for the elected server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elected {
    /// The server has the largest vote of its quorum.
    Largest,
    /// The server has not, but the servers that are not ahead of it by (currentEpoch, zxid) are a quorum.
    Backed,
    /// An upset: the server needs the vote of a server that is ahead of it.
    Upset,
}

/// Returns the result if this quorum of LOOKING servers can elect `leader`. That is only the server with the largest
/// vote or, under [`Election::Any`](crate::vocabulary::config::Election::Any), any server. `quorums` are those that the
/// leader needs; `vote` returns a LOOKING server's vote for itself.
pub fn elected_by(
    config: &Config,
    quorums: Quorums,
    servers: ServerSet,
    leader: ServerId,
    vote: impl Fn(ServerId) -> Option<Vote>,
) -> Option<Elected> {
    if !quorums.contains_quorum(servers) {
        return None;
    }
    // Observers may be among the servers that follow; their votes count for nothing (rule 5.7.2). Votes name only voters of
    // the committed configuration (rule 5.8.7), and those with weight (rule 5.8.11).
    let has_weight = |server: &ServerId| quorums.committed.has_weight(*server);
    let servers: ServerSet = servers.iter().filter(has_weight).collect();
    if !servers.contains(leader) {
        return None;
    }
    let own = vote(leader)?;
    let (mut best, mut not_ahead) = (own, ServerSet::default());
    for server in servers.iter() {
        let other = vote(server)?;
        best = best.max(other);
        if (other.peer_epoch, other.zxid) <= (own.peer_epoch, own.zxid) {
            not_ahead.insert(server);
        }
    }
    let elected = match best == own {
        true => Elected::Largest,
        false if quorums.contains_quorum(not_ahead) => Elected::Backed,
        false => Elected::Upset,
    };
    let may = elected == Elected::Largest || config.election == config::Election::Any;
    may.then_some(elected)
}

impl Server {
    /// Returns true if the server is in an election.
    pub fn is_looking(&self) -> bool {
        matches!(self.role, Role::Looking)
    }

    /// Returns true if it observes, or would after its election.
    pub(crate) fn observes(&self) -> bool {
        self.election.part.observes()
    }

    /// Returns the round of its election, without the oracle.
    pub fn round(&self) -> u32 {
        self.election.round()
    }

    /// Returns its proposal in an election without the oracle.
    pub fn proposal(&self) -> Vote {
        self.election.proposal()
    }

    /// Returns true if a quorum agrees with its proposal and it waits for a better vote (rule 5.3.3).
    pub(crate) fn waits_for_better(&self) -> bool {
        self.is_looking() && self.election.is_finalizing()
    }

    /// Returns its vote for itself: (current epoch, the *tree's* last zxid, id) (rule 5.1.3).
    pub fn vote(&self, current_epoch: Epoch) -> Vote {
        Vote {
            peer_epoch: current_epoch,
            zxid: self.database.tree.last_processed(),
            leader: self.id,
        }
    }

    /// Takes the role that the oracle's election assigns, and before that the newest configuration among the servers that
    /// took part: a LOOKING server reads it in their notifications (rule 5.8.7).
    pub(crate) fn elected(
        &mut self,
        leader: ServerId,
        newest: QuorumVerifier,
        context: &mut Context<'_>,
    ) {
        if context.config.options.reconfig_enabled {
            let Server { election, database, .. } = self;
            if newest.version() > context.configurations().quorum.version() {
                let _major = election.process_reconfig(newest, None, false, database, context);
            }
            election.part.is_designated = false;
            election.elected_by_oracle(leader);
        }
        self.take_role(Decision { leader, round: 0 }, context);
    }

    /// Returns the number of this start. Only session ids depend on it, so it stays 0 where there are none, to avoid
    /// distinguishing states.
    pub(super) fn count_start(context: &mut Context<'_>) -> u16 {
        if context.config.election.is_oracle() && !context.config.has_clients() {
            0
        } else {
            let starts = context.disk.make_mut().count_start();
            starts.wrapping_add(context.config.earlier_starts)
        }
    }

    /// Returns true if it reads from this learner's connection.
    pub(crate) fn handles(&self, connection: LearnerConnection) -> bool {
        matches!(&self.role, Role::Leading(leader) if leader.handles(connection))
    }

    /// Renames a connection.
    pub(crate) fn rename_connection(&mut self, from: LearnerConnection, to: LearnerConnection) {
        match &mut self.role {
            Role::Looking => {}
            Role::Following(learner) | Role::Observing(learner) => {
                learner.rename_connection(from, to);
            }
            Role::Leading(leader) => leader.rename_connection(from, to),
        }
    }
}
