//! The oracle's election, and what else a server does without under it.
//!
//! [`crate::vocabulary::step::Step::Elect`] gives a quorum of LOOKING servers its leader: the largest of
//! (currentEpoch, lastZxid, id) among them, which is what fast leader election computes once the
//! votes of these servers have reached each other in one round (rule 5.3.3). Every quorum of
//! LOOKING servers can be the one whose votes met, so every leader that an election with prompt
//! notifications can have is tried. A LOOKING server can also join a leader of whom a quorum says
//! that it leads (rule 5.3.4, FOLLOWING and LEADING votes).
//!
//! What fast leader election can produce beyond that: a server that decides on votes of an older
//! stint of a member of its quorum, so that it leads or follows alone. Such a server finds no
//! quorum, or no leader, and is LOOKING again after its time limits; a search reaches the same by a
//! server that leaves its role, which takes one of its timeouts. Two things are out of reach: a
//! leader that is not the largest of its quorum (a vote overtaken by a crash), and the delays of
//! elections themselves. The election as in the code is searched apart ([`Election::Fast`]); and
//! [`Election::Any`] lets every member of a quorum be elected, which is more than votes can come to: ZAB does
//! not rest on them (rule 6.3.3).
//!
//! Under the oracle nothing may depend on how often something was tried before, or equal states
//! would be kept apart: rounds and votes stay as they were at the start, attempts to connect are
//! not counted (a server whose connection is refused is LOOKING at once and can be elected into the
//! same place again), starts are not counted (they only make session ids, and there are no clients),
//! and a learner's connections are numbered anew as soon as older ones are gone.
//!
//! [`Election::Fast`]: crate::vocabulary::config::Election::Fast
//! [`Election::Any`]: crate::vocabulary::config::Election::Any

use super::election::Decision;
use super::{Context, Role, Server};
use crate::vocabulary::config::{self, Config};
use crate::vocabulary::id::{LearnerConnection, ServerId, ServerSet};
use crate::vocabulary::packet::Vote;
use crate::vocabulary::zxid::Epoch;

/// What an election by the oracle makes of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elected {
    /// It has the largest vote of its quorum.
    Largest,
    /// It has not, but those that are not ahead of it, by (currentEpoch, zxid), are a quorum by themselves.
    Backed,
    /// An upset: it needs somebody who is ahead of it.
    Upset,
}

/// Whether a quorum of LOOKING servers can elect one of them, and as what: only the one with the largest vote,
/// or, under [`Election::Any`](crate::vocabulary::config::Election::Any), every one. `vote` is a LOOKING server's for itself.
pub fn elected_by(
    config: &Config,
    servers: ServerSet,
    leader: ServerId,
    vote: impl Fn(ServerId) -> Option<Vote>,
) -> Option<Elected> {
    let verifier = config.quorum_verifier();
    if !verifier.contains_quorum(servers) || !servers.contains(leader) {
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
        false if verifier.contains_quorum(not_ahead) => Elected::Backed,
        false => Elected::Upset,
    };
    let may = elected == Elected::Largest || config.election == config::Election::Any;
    may.then_some(elected)
}

impl Server {
    /// Whether it is in an election.
    pub fn is_looking(&self) -> bool {
        matches!(self.role, Role::Looking)
    }

    /// The round of its election, in the election of the code.
    pub fn round(&self) -> u32 {
        self.election.round()
    }

    /// What it tells others while it looks, in the election of the code.
    pub fn proposal(&self) -> Vote {
        self.election.proposal()
    }

    /// Whether a quorum has its proposal, and it waits for a better vote (rule 5.3.3).
    pub fn waits_for_better(&self) -> bool {
        self.is_looking() && self.election.is_finalizing()
    }

    /// The vote for itself: (current epoch, the *tree's* last zxid, id) (rule 5.1.3).
    pub fn vote(&self, current_epoch: Epoch) -> Vote {
        Vote {
            peer_epoch: current_epoch,
            zxid: self.database.tree.last_processed(),
            leader: self.id,
        }
    }

    /// The oracle has spoken: leads, or follows.
    pub(crate) fn elected(&mut self, leader: ServerId, context: &mut Context<'_>) {
        self.take_role(Decision { leader, round: 0 }, context);
    }

    /// Which start of this server it is. Only the ids of sessions tell: where there can be none, no
    /// two states shall differ in it.
    pub(super) fn count_start(context: &mut Context<'_>) -> u16 {
        let nobody = context.config.clients.is_empty();
        if context.config.election.is_oracle() && nobody {
            0
        } else {
            context.disk.make_mut().count_start()
        }
    }

    /// Whether it reads from this learner's connection.
    pub(crate) fn handles(&self, connection: LearnerConnection) -> bool {
        matches!(&self.role, Role::Leading(leader) if leader.handles(connection))
    }

    /// A connection has a new number.
    pub(crate) fn rename_connection(&mut self, from: LearnerConnection, to: LearnerConnection) {
        match &mut self.role {
            Role::Looking => {}
            Role::Following(learner) => learner.rename_connection(from, to),
            Role::Leading(leader) => leader.rename_connection(from, to),
        }
    }
}
