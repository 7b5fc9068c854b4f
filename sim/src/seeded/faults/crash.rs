//! Servers that die: one of them, or all at once by a power loss. And servers that only leave their
//! role, or whose disk refuses a write.

use super::{Look, Order, a_while, servers, surviving, victim};
use crate::seeded::random::{Random, Ratio};
use vivarium_model::id::ServerId;
use vivarium_model::step::{OldEpochs, Step, Tail, Unwritten};
use vivarium_model::time::Duration;

/// One server's process dies and starts again after a while. What it had not fsynced mostly
/// survives in part. A crash that would leave no quorum passes three times out of four: runs that
/// stand still teach little.
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

/// The power fails for all servers at once, and comes back for each after a while of its own.
pub(super) fn all(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let up = servers(look).filter(|server| look.is_up(*server));
    up.flat_map(|server| crash(random, look, server)).collect()
}

/// A server leaves its role without dying.
pub(super) fn rejoin(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    victim(random, look).map(|server| Order::Strike(Step::Rejoin(server))).into_iter().collect()
}

/// Every server leaves its role once or twice within a second, so that elections, discoveries and
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

/// A crash at once, or every other time one after the disk has stood still for a moment: between an
/// append and its fsync there is hardly ever time for a crash, and that is where it hurts.
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

/// The disk of a server stands still for a moment, so that there is something to fsync; then it fails.
pub(super) fn fsync_error(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let victim = victim(random, look);
    let stall = random.span(Duration::from_millis(5), Duration::from_millis(500));
    let fails = failed_write(random);
    victim.map(|server| fails_after(stall, server, fails)).unwrap_or_default()
}

/// What a write that fails leaves on the disk: how many of the unsynced transactions, and what becomes of the rest.
pub(super) fn failed_write(random: &mut Random) -> (u8, Unwritten) {
    let rest = *random.pick(&[Unwritten::Lost, Unwritten::Torn, Unwritten::Buffered]);
    (surviving(random, 3), rest)
}

/// A server's disk stands still until its write or fsync fails. Nothing happens if there is none by then. Where it was
/// a snapshot the process has exited, and starts again.
pub(super) fn fails_after(
    stall: Duration,
    server: ServerId,
    (survive, rest): (u8, Unwritten),
) -> Vec<Order> {
    vec![
        // What waits for the disk must not come first.
        Order::Stall(server, stall + Duration::from_micros(1)),
        Order::Later(stall, Step::FsyncError { server, survive, rest }),
        Order::Later(stall + Duration::from_millis(500), Step::Restart(server)),
    ]
}

/// What the disk still holds of the unsynced transactions, however many there will be: none, some,
/// or some and a torn one; and how many of the packets sent had left the machine.
pub(super) fn tail(random: &mut Random) -> Tail {
    let survive = surviving(random, 3);
    let torn = random.chance(Ratio::one_in(2));
    let snapshots = random.chance(Ratio::one_in(2));
    let packets = surviving(random, 4);
    let metadata = random.below(8);
    let epochs = OldEpochs::ALL[(metadata % 4) as usize];
    Tail { survive, torn, snapshots, cuts: metadata < 4, epochs, packets }
}

/// The tail of a log with so many unsynced transactions: what does not exist neither survives nor
/// is torn.
pub(crate) fn clipped(tail: Tail, unsynced: usize) -> Tail {
    let survive = usize::from(tail.survive).min(unsynced) as u8;
    Tail { survive, torn: tail.torn && usize::from(survive) < unsynced, ..tail }
}
