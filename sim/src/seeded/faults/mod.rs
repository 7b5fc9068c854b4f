//! The effect of each kind of fault, with one file per place that it affects.
//!
//! A fault looks at the world, selects a victim and gives [`Order`]s: the steps of the fault itself, which happen
//! immediately, and the steps that end it, which happen later. It changes nothing directly. All its draws come from
//! the random stream of its occurrence, so their number affects nothing else.

pub(crate) mod ambush;
mod connection;
mod crash;
pub(crate) mod lost_reply;
mod partition;
mod program;
pub(crate) mod scripted;
mod slow;

use crate::random::{Random, Ratio};
use crate::run::look::Look;
use crate::scenario::faults::Fault;
use vivarium_model::id::{ClientId, Machine, ServerId};
use vivarium_model::step::Step;
use vivarium_model::time::Duration;

pub(crate) use crash::{clipped, tail};

/// An action that a fault requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The fault itself, now.
    Strike(Step),
    /// The end of a fault, or a delayed fault (dropped if the chaos is over by then).
    Later(Duration, Step),
    /// A server's disk makes nothing durable for this time.
    Stall(ServerId, Duration),
    /// The packets of a machine take longer for a while.
    SlowDown {
        /// The machine, as sender and receiver.
        machine: Machine,
        /// How long this lasts.
        lasts: Duration,
        /// The additional time of each packet.
        by: Duration,
    },
    /// The leader's handler takes longer for each piece that it streams to a learner, for a while.
    SlowStream {
        learner: ServerId,
        /// How long this lasts.
        lasts: Duration,
        /// The additional time of each piece.
        by: Duration,
    },
}

/// Returns the orders of a fault whose turn has come.
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
    ClientId::first(look.clients())
}

/// Returns a random server that is up; in half of the cases the leader, whose loss has the most effect.
fn victim(random: &mut Random, look: &dyn Look) -> Option<ServerId> {
    let leader = look.leader().filter(|leader| look.is_up(*leader));
    let prefer_leader = random.chance(Ratio::one_in(2));
    let up: Vec<ServerId> = servers(look).filter(|server| look.is_up(*server)).collect();
    let any = random.choose(&up);
    if prefer_leader { leader.or(any) } else { any }
}

/// Draws how many of `count` items survive when the rest is lost: none, all but the last, or any number.
fn surviving(random: &mut Random, count: usize) -> u8 {
    let count = u64::try_from(count).unwrap_or(u64::MAX).min(u64::from(u8::MAX));
    let survive = match random.below(4) {
        0 => 0,
        1 => count.saturating_sub(1),
        _ => random.between(0, count),
    };
    survive as u8
}

/// Returns a span between `least` and several times `mean`, both in milliseconds.
fn a_while(random: &mut Random, least: u64, mean: u64) -> Duration {
    let least = Duration::from_millis(least);
    least + random.exponential_span(Duration::from_millis(mean))
}

#[cfg(test)]
mod tests;
