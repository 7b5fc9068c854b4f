//! Faults that break nothing: packets that take long, a disk that stands still.

use super::{Look, Order, a_while, clients, servers};
use crate::seeded::random::{Random, Ratio};
use vivarium_model::id::{Machine, ServerId};
use vivarium_model::time::Duration;

/// Everything that one machine sends takes much longer for a while.
pub(super) fn delay_burst(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let machines: Vec<Machine> =
        servers(look).map(Machine::Server).chain(clients(look).map(Machine::Client)).collect();
    let lasts = a_while(random, 100, 1_000);
    let by = random.span(Duration::from_millis(20), Duration::from_millis(500));
    let machine = random.choose(&machines);
    machine.map(|machine| Order::SlowDown { machine, lasts, by }).into_iter().collect()
}

/// A server's disk makes nothing durable for a while; every fifth time for so long that its leader hangs up on it
/// (rule 6.7.7).
pub(super) fn disk_stall(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let up: Vec<ServerId> = servers(look).filter(|server| look.is_up(*server)).collect();
    let lasts = if random.chance(Ratio::one_in(5)) {
        // It may still stand when the faults are over: not for too long.
        a_while(random, 1_000, 8_000).min(Duration::from_secs(8))
    } else {
        a_while(random, 20, 500)
    };
    random.choose(&up).map(|server| Order::Stall(server, lasts)).into_iter().collect()
}
