//! Crashes of servers: of one, or of all by a power loss. Also servers that only leave their role, and disks that
//! fail a write.

use super::{Order, a_while, servers, surviving, victim};
use crate::random::{Random, Ratio};
use crate::run::look::Look;
use vivarium_model::id::ServerId;
use vivarium_model::step::{OldEpochs, Step, Tail, Unwritten};
use vivarium_model::time::Duration;

/// Crashes one server and restarts it after a while. Its unsynced data mostly survives in part. A crash that would
/// leave no quorum is skipped three times out of four, because a run without progress shows little.
pub(super) fn one(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let victim = victim(random, look);
    let spare_quorum = !random.chance(Ratio::one_in(4));
    let Some(server) = victim else {
        return Vec::new();
    };
    let left = servers(look).filter(|id| look.is_up(*id) && *id != server).collect();
    if spare_quorum && !look.quorum_verifier().contains_quorum(left) && look.servers() > 2 {
        return Vec::new();
    }
    crash(random, look, server)
}

/// Crashes all servers at the same time; each restarts after a delay of its own.
pub(super) fn all(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let up = servers(look).filter(|server| look.is_up(*server));
    up.flat_map(|server| crash(random, look, server)).collect()
}

/// Makes a server leave its role without a crash.
pub(super) fn rejoin(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    victim(random, look).map(|server| Order::Strike(Step::Rejoin(server))).into_iter().collect()
}

/// Makes every server leave its role once or twice within a second, so that elections, discoveries and
/// synchronisations of several leaders overlap.
pub(super) fn rejoin_storm(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let mut orders: Vec<Order> = rejoin(random, look);
    for server in servers(look) {
        for _ in 0..random.between(1, 2) {
            let after = random.span(Duration::ZERO, Duration::from_secs(1));
            orders.push(Order::Later(after, Step::Rejoin(server)));
        }
    }
    orders
}

/// Crashes a server immediately or, in half of the cases, after its disk was stalled for a moment: otherwise there is
/// rarely time for a crash between an append and its fsync, which is the critical moment.
fn crash(random: &mut Random, look: &dyn Look, server: ServerId) -> Vec<Order> {
    let stalls_first = random.chance(Ratio::one_in(2));
    let stall = random.span(Duration::from_millis(5), Duration::from_millis(500));
    let down_for = a_while(random, 20, 1_000);
    let tail = tail(random);
    let crash = Step::Crash { server, tail: clipped(tail, look.unsynced(server)) };
    if stalls_first {
        vec![
            Order::Stall(server, stall),
            Order::Later(stall, Step::Crash { server, tail }),
            Order::Later(stall + down_for, Step::Restart(server)),
        ]
    } else {
        vec![Order::Strike(crash), Order::Later(down_for, Step::Restart(server))]
    }
}

/// Stalls the disk of a server for a moment, so that there is something to fsync, and then fails it.
pub(super) fn fsync_error(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let victim = victim(random, look);
    let stall = random.span(Duration::from_millis(5), Duration::from_millis(500));
    let fails = failed_write(random);
    victim.map(|server| fails_after(stall, server, fails)).unwrap_or_default()
}

/// Draws what a failed write leaves on the disk: the number of unsynced transactions that survive, and what happens
/// to the others.
pub(super) fn failed_write(random: &mut Random) -> (u8, Unwritten) {
    let rest = *random.pick(&[Unwritten::Lost, Unwritten::Torn, Unwritten::Buffered]);
    (surviving(random, 3), rest)
}

/// Stalls a server's disk until its write or fsync fails. No effect if there is none by then. If it was the write of
/// a snapshot, the process has exited, and restarts.
pub(super) fn fails_after(
    stall: Duration,
    server: ServerId,
    (survive, rest): (u8, Unwritten),
) -> Vec<Order> {
    vec![
        // Steps that wait for the disk must not happen first.
        Order::Stall(server, stall + Duration::from_micros(1)),
        Order::Later(stall, Step::FsyncError { server, survive, rest }),
        Order::Later(stall + Duration::from_millis(500), Step::Restart(server)),
    ]
}

/// Draws what the disk still has of the unsynced transactions, whatever their number: none, some, or some and a torn
/// one; and how many of the sent packets had left the machine.
pub(crate) fn tail(random: &mut Random) -> Tail {
    let survive = surviving(random, 3);
    let torn = random.chance(Ratio::one_in(2));
    let snapshots = random.chance(Ratio::one_in(2));
    let packets = surviving(random, 4);
    let metadata = random.below(8);
    let epochs = OldEpochs::ALL[(metadata % 4) as usize];
    Tail { survive, torn, snapshots, cuts: metadata < 4, epochs, packets }
}

/// Clips the tail to a log with this many unsynced transactions: a transaction that does not exist neither survives
/// nor is torn.
pub(crate) fn clipped(tail: Tail, unsynced: usize) -> Tail {
    let survive = usize::from(tail.survive).min(unsynced) as u8;
    Tail { survive, torn: tail.torn && usize::from(survive) < unsynced, ..tail }
}
