//! A grain as a reader of a run sees it: its machines, the state of each machine as lines of text, and the packets
//! under way.
//!
//! Reports compare these before and after each step. A line states one fact, and its text stays the same while the
//! fact does. No engine decides anything by them.

mod condition;
mod ensemble;
mod service;

pub use condition::Condition;

use crate::vocabulary::id::{ClientId, Machine};
use crate::vocabulary::parcel::{Queue, Route};
use crate::vocabulary::step::Step;
use crate::world::grain::Grain;
use std::collections::BTreeMap;

/// A grain that can be shown to a reader.
pub trait Portrait: Grain {
    /// Returns all machines, servers first. The service grain has one server, which stands for all of ZooKeeper.
    fn machines(&self) -> Vec<Machine>;

    /// Returns the machines that a step happens on. The first one takes the step. Empty for a step of no machine.
    fn places(&self, step: &Step) -> Vec<Machine>;

    /// Describes the state of a machine. The world knows what a client's program waits for
    /// ([`World::waits_for`](crate::world::World::waits_for)).
    fn lines(&self, machine: Machine) -> Vec<String>;

    /// Returns true if a client's program runs and has no input to take.
    fn is_waiting(&self, client: ClientId) -> bool;

    /// Returns what a machine is in, in a fixed order.
    fn conditions(&self, machine: Machine) -> Vec<Condition>;

    /// Returns what is under way between machines, by the way that it takes. No queue is empty.
    fn under_way(&self) -> BTreeMap<Route, Queue>;
}

/// The transactions of a log that are shown, in addition to those that are not durable: the last ones.
const LOG_ROOM: usize = 20;

/// Describes a log whose last `unsynced` transactions are not durable.
fn log_lines(
    log: &[std::sync::Arc<crate::vocabulary::txn::Txn>],
    unsynced: usize,
    lines: &mut Vec<String>,
) {
    let durable = log.len() - unsynced;
    let from = durable.saturating_sub(LOG_ROOM);
    if from > 0 {
        lines.push(format!("log: {from} earlier transactions"));
    }
    for (at, txn) in log.iter().enumerate().skip(from) {
        let durable = if at < durable { "" } else { " (not yet durable)" };
        lines.push(format!("log: {txn}{durable}"));
    }
}
