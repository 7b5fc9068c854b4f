//! Faults that break nothing: slow packets and stalled disks.

use super::{Order, a_while, clients, servers};
use crate::random::{Random, Ratio};
use crate::run::look::Look;
use vivarium_model::id::{Machine, ServerId};
use vivarium_model::time::Duration;

/// Slows down everything that one machine sends, for a while.
pub(super) fn delay_burst(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let machines: Vec<Machine> =
        servers(look).map(Machine::Server).chain(clients(look).map(Machine::Client)).collect();
    let lasts = a_while(random, 100, 1_000);
    let by = random.span(Duration::from_millis(20), Duration::from_millis(500));
    let machine = random.choose(&machines);
    machine.map(|machine| Order::SlowDown { machine, lasts, by }).into_iter().collect()
}

/// Stalls a server's disk for a while; in every fifth case for so long that its leader closes the connection (rule
/// 6.7.7).
pub(super) fn disk_stall(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let up: Vec<ServerId> = servers(look).filter(|server| look.is_up(*server)).collect();
    let lasts = if random.chance(Ratio::one_in(5)) {
        // The stall may outlast the faults, so it must not be too long.
        a_while(random, 1_000, 8_000).min(Duration::from_secs(8))
    } else {
        a_while(random, 20, 500)
    };
    random.choose(&up).map(|server| Order::Stall(server, lasts)).into_iter().collect()
}
