//! What each kind of fault does when its turn comes: one file per place that it strikes.
//!
//! A fault looks at the world, picks a victim and gives [`Order`]s: the steps that are the fault
//! itself, which happen at once, and those that end it, which happen later. It changes nothing by
//! itself. All draws come from the occurrence's own stream, so how many it needs is nobody else's
//! business.

pub(crate) mod ambush;
mod connection;
mod crash;
mod kind;
pub(crate) mod lost_reply;
mod partition;
mod program;
mod rate;
mod set;
mod slow;

use crate::seeded::random::{Random, Ratio};
use vivarium_model::id::{
    ClientConnection, ClientId, LearnerConnection, Machine, ServerId, SessionId,
};
use vivarium_model::quorum::QuorumVerifier;
use vivarium_model::step::Step;
use vivarium_model::time::Duration;

pub(crate) use crash::clipped;
pub use kind::Fault;
pub(crate) use kind::{Await, purpose};
pub use rate::Rate;
pub use set::FaultSet;

/// What a fault can see of the world.
pub(crate) trait Look {
    /// How many servers there are.
    fn servers(&self) -> u8;
    /// Which sets of servers are quorums.
    fn quorum_verifier(&self) -> QuorumVerifier;
    /// How many client machines there are.
    fn clients(&self) -> u8;
    /// Whether a server's process runs.
    fn is_up(&self, server: ServerId) -> bool;
    /// The established leader.
    fn leader(&self) -> Option<ServerId>;
    /// A client's connection in use.
    fn client_connection(&self, client: ClientId) -> Option<ClientConnection>;
    /// The server of that connection.
    fn attached_to(&self, client: ClientId) -> Option<ServerId>;
    /// A learner's connection to its leader.
    fn learner_connection(&self, server: ServerId) -> Option<LearnerConnection>;
    /// Packets under way (to the server, to the client).
    fn under_way(&self, connection: ClientConnection) -> (usize, usize);
    /// Packets under way (to the leader, to the learner).
    fn under_way_learner(&self, connection: LearnerConnection) -> (usize, usize);
    /// Transactions that a server has appended and not fsynced.
    fn unsynced(&self, server: ServerId) -> usize;
    /// A client's session.
    fn session(&self, client: ClientId) -> Option<SessionId>;
    /// Whether nothing passes from one machine to another.
    fn is_cut(&self, from: Machine, to: Machine) -> bool;
    /// Whether a client's program has started and not ended.
    fn is_running(&self, client: ClientId) -> bool;
    /// Whether a client machine stands still.
    fn is_paused(&self, client: ClientId) -> bool;
    /// Whether a client's program waits for a cancellation.
    fn can_cancel(&self, client: ClientId) -> bool;
}

/// What a fault wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The fault itself, now.
    Strike(Step),
    /// Its end, or a fault that takes a run-up (forgotten if the chaos is over by then).
    Later(Duration, Step),
    /// A server's disk makes nothing durable for so long.
    Stall(ServerId, Duration),
    /// A machine's packets take so much longer (`by`) for a while (`lasts`).
    SlowDown {
        /// Which machine sends and receives slowly.
        machine: Machine,
        /// For how long.
        lasts: Duration,
        /// How much longer a packet takes.
        by: Duration,
    },
    /// The leader's handler takes so much longer (`by`) over each piece that it streams to a
    /// learner, for a while (`lasts`).
    SlowStream {
        /// To which learner.
        learner: ServerId,
        /// For how long.
        lasts: Duration,
        /// How much longer a piece takes.
        by: Duration,
    },
}

/// A fault's turn has come.
pub(crate) fn strike(kind: Fault, random: &mut Random, look: &dyn Look) -> Vec<Order> {
    match kind {
        Fault::Crash => crash::one(random, look),
        Fault::PowerLoss => crash::all(random, look),
        Fault::Rejoin => crash::rejoin(random, look),
        Fault::ClientReset => connection::reset_client(random, look),
        Fault::LearnerReset => connection::reset_learner(random, look),
        Fault::Partition => partition::symmetric(random, look),
        Fault::OneWayPartition => partition::one_way(random, look),
        Fault::DelayBurst => slow::delay_burst(random, look),
        Fault::DiskStall => slow::disk_stall(random, look),
        Fault::FsyncError => crash::fsync_error(random, look),
        Fault::SessionExpiry => program::expire(random, look),
        Fault::ProgramCrash => program::crash(random, look),
        Fault::Pause => program::pause(random, look),
        Fault::Cancellation => program::cancel(random, look),
        Fault::RejoinStorm => crash::rejoin_storm(random, look),
        Fault::LostReplyApplied
        | Fault::LostReplyNeverApplied
        | Fault::LostReplyPending
        | Fault::SyncCrash
        | Fault::SyncBreak
        | Fault::SyncFsyncError
        | Fault::SlowSync
        | Fault::ElectionCrash
        | Fault::LoneLeader
        | Fault::LoneFsyncError
        | Fault::SlowReactions
        | Fault::Priorities
        | Fault::CounterWrap
        | Fault::ContainerDeletion
        | Fault::LeftDown
        | Fault::LeftCutOff
        | Fault::ElectionByLot
        | Fault::OneServer
        | Fault::LateRetransmission => unreachable!("{kind} takes no turns"),
    }
}

fn servers(look: &dyn Look) -> impl Iterator<Item = ServerId> {
    (1..=look.servers()).map(ServerId)
}

fn clients(look: &dyn Look) -> impl Iterator<Item = ClientId> {
    (1..=look.clients()).map(ClientId)
}

/// One of the servers that are up; every other time the leader, whose loss matters most.
fn victim(random: &mut Random, look: &dyn Look) -> Option<ServerId> {
    let leader = look.leader().filter(|leader| look.is_up(*leader));
    let prefer_leader = random.chance(Ratio::one_in(2));
    let up: Vec<ServerId> = servers(look).filter(|server| look.is_up(*server)).collect();
    let any = random.choose(&up);
    if prefer_leader { leader.or(any) } else { any }
}

/// How many of `count` things in a row are left when the rest is lost: none, all but the last, or
/// any number of them.
fn surviving(random: &mut Random, count: usize) -> u8 {
    let count = u64::try_from(count).unwrap_or(u64::MAX).min(u64::from(u8::MAX));
    let survive = match random.below(4) {
        0 => 0,
        1 => count.saturating_sub(1),
        _ => random.between(0, count),
    };
    survive as u8
}

/// A span between `least` and several times `mean`.
fn a_while(random: &mut Random, least: u64, mean: u64) -> Duration {
    let least = Duration::from_millis(least);
    least + random.exponential_span(Duration::from_millis(mean))
}

#[cfg(test)]
mod tests;
