//! Partitions: links between some machines are cut for a while. Packets are not lost but wait; the machines' own
//! timeouts have further effects.

use super::{Order, a_while, clients, servers};
use crate::random::{Random, Ratio};
use crate::run::look::Look;
use vivarium_model::id::Machine;
use vivarium_model::step::Step;
use vivarium_model::time::Duration;

/// Cuts two sides off from each other.
pub(super) fn symmetric(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let (inside, outside) = sides(random, look);
    let lasts = a_while(random, 50, 1_500);
    let mut orders = Vec::new();
    cut(&inside, &outside, lasts, look, &mut orders);
    cut(&outside, &inside, lasts, look, &mut orders);
    in_order(orders)
}

/// Cuts one direction between two sides.
pub(super) fn one_way(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let (inside, outside) = sides(random, look);
    let lasts = a_while(random, 50, 1_500);
    let outward = random.chance(Ratio::one_in(2));
    let (from, to) = if outward { (inside, outside) } else { (outside, inside) };
    let mut orders = Vec::new();
    cut(&from, &to, lasts, look, &mut orders);
    in_order(orders)
}

/// Draws the two sides. Mostly one is a minority of the servers, often the leader alone, with or without some of the
/// clients; sometimes it is one client, and the other some of the servers.
fn sides(random: &mut Random, look: &dyn Look) -> (Vec<Machine>, Vec<Machine>) {
    let mut all: Vec<Machine> = servers(look).map(Machine::Server).collect();
    let every_client: Vec<Machine> = clients(look).map(Machine::Client).collect();
    random.shuffle(&mut all);
    let minority = (all.len().saturating_sub(1) / 2).max(1);
    match random.below(4) {
        0 if !every_client.is_empty() => {
            let client = random.choose(&every_client).into_iter().collect();
            all.truncate(random.between(1, all.len() as u64) as usize);
            return (client, all);
        }
        1 | 2 => {
            let leader = look.leader().map(Machine::Server);
            if let Some(at) = all.iter().position(|machine| Some(*machine) == leader) {
                all.swap(0, at);
            }
        }
        _ => {}
    }
    let cut_off = random.between(1, minority as u64) as usize;
    let mut outside = all.split_off(cut_off);
    let mut inside = all;
    for client in every_client {
        // On either side, or on none, where it reaches both.
        match random.below(3) {
            0 => inside.push(client),
            1 => outside.push(client),
            _ => {}
        }
    }
    (inside, outside)
}

/// Cuts the links that are not cut already, so that the end of this partition does not heal another one.
fn cut(
    from: &[Machine],
    to: &[Machine],
    lasts: Duration,
    look: &dyn Look,
    orders: &mut Vec<Order>,
) {
    let among_clients = |from: &Machine, to: &Machine| {
        matches!((from, to), (Machine::Client(_), Machine::Client(_)))
    };
    for &from in from {
        for &to in to {
            if !among_clients(&from, &to) && !look.is_cut(from, to) {
                orders.push(Order::Strike(Step::Cut { from, to }));
                orders.push(Order::Later(lasts, Step::Heal { from, to }));
            }
        }
    }
}

/// Sorts all cuts before all ends, which is easier to read in a trace.
fn in_order(mut orders: Vec<Order>) -> Vec<Order> {
    orders.sort_by_key(|order| matches!(order, Order::Later(..)));
    orders
}
