//! Servers that die: one of them, or all at once by a power loss. And servers that only leave their
//! role.

use super::{Look, Order, a_while, servers, surviving, victim};
use crate::random::{Random, Ratio};
use vivarium_model::id::ServerId;
use vivarium_model::step::{Step, Tail};

/// One server's process dies and starts again after a while. What it had not fsynced mostly
/// survives in part. A crash that would leave no majority passes three times out of four: runs that
/// stand still teach little.
pub(super) fn one(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let victim = victim(random, look);
    let spare_majority = !random.chance(Ratio::one_in(4));
    let Some(server) = victim else {
        return Vec::new();
    };
    let left = servers(look).filter(|id| look.is_up(*id) && *id != server).count();
    if spare_majority && 2 * left <= usize::from(look.servers()) && look.servers() > 2 {
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

fn crash(random: &mut Random, look: &dyn Look, server: ServerId) -> Vec<Order> {
    let tail = tail(random, look.unsynced(server));
    let down_for = a_while(random, 20, 1_000);
    vec![Order::Strike(Step::Crash { server, tail }), Order::Later(down_for, Step::Restart(server))]
}

/// What the disk still holds of `unsynced` transactions: nothing, some, or some and a torn one; and
/// how many of the packets sent (a few) had left the machine.
fn tail(random: &mut Random, unsynced: usize) -> Tail {
    let survive = surviving(random, unsynced);
    let torn = random.chance(Ratio::one_in(2)) && usize::from(survive) < unsynced;
    let snapshots = random.chance(Ratio::one_in(2));
    Tail { survive, torn, snapshots, packets: surviving(random, 4) }
}
