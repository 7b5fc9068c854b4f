//! Follows packets from step to step, by what is under way before and after each.
//!
//! A route is first in first out, and loses only a suffix of what is under way. So what the step read is the first
//! parcel of its route, what both states begin with is still under way, and the rest was lost or sent.

use std::collections::{BTreeMap, VecDeque};
use vivarium_model::id::Machine;
use vivarium_model::parcel::{Parcel, Queue, Route};

/// A packet, or the end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The sender.
    pub from: Machine,
    /// The position of the frame in which it was sent.
    pub sent: usize,
    /// The receiver.
    pub to: Machine,
    /// The position of the frame in which it was read or lost. `None` if the run ended before.
    pub ended: Option<usize>,
    /// True if it was lost.
    pub lost: bool,
    /// The packet in words.
    pub words: String,
    /// True if it only keeps a connection alive.
    pub ping: bool,
}

/// A parcel under way, and the position of its packet.
type Open = (usize, Parcel);

/// All packets of a run so far.
#[derive(Default)]
pub(super) struct Packets {
    pub(super) all: Vec<Packet>,
    open: BTreeMap<Route, VecDeque<Open>>,
    /// What the present step lost.
    lost: Vec<Open>,
}

impl Packets {
    /// Notes that a step read the first parcel of a route. Returns false if none was under way.
    pub(super) fn read(&mut self, route: Route, frame: usize) -> bool {
        let first = self.open.get_mut(&route).and_then(VecDeque::pop_front);
        if let Some((packet, _)) = first {
            self.all[packet].ended = Some(frame);
        }
        first.is_some()
    }

    /// Compares what was under way with what is under way after a step. `renumbers` says that connections may have
    /// new numbers.
    pub(super) fn after(&mut self, frame: usize, now: &BTreeMap<Route, Queue>, renumbers: bool) {
        self.lost.clear();
        if renumbers {
            self.renumber(frame, now);
        }
        let before: Vec<Route> = self.open.keys().copied().collect();
        for route in before.into_iter().filter(|route| !now.contains_key(route)) {
            self.keep(route, 0, frame);
            self.open.remove(&route);
        }
        for (route, queue) in now {
            let open = self.open.entry(*route).or_default();
            let both = open.iter().zip(&queue.parcels);
            let kept = both.take_while(|((_, was), is)| was == *is).count();
            self.keep(*route, kept, frame);
            for parcel in &queue.parcels[kept..] {
                let packet = self.late(*route, parcel);
                let packet = packet.unwrap_or_else(|| self.sent(queue, parcel, frame));
                let open = self.open.get_mut(route).expect("it was just entered");
                open.push_back((packet, parcel.clone()));
            }
        }
    }

    /// Loses all parcels of a route but the first ones.
    fn keep(&mut self, route: Route, kept: usize, frame: usize) {
        let Some(open) = self.open.get_mut(&route) else { return };
        let lost = open.split_off(kept);
        self.lose(lost, frame);
    }

    fn lose(&mut self, open: VecDeque<Open>, frame: usize) {
        for (packet, parcel) in open {
            self.all[packet].ended = Some(frame);
            self.all[packet].lost = true;
            self.lost.push((packet, parcel));
        }
    }

    fn sent(&mut self, queue: &Queue, parcel: &Parcel, frame: usize) -> usize {
        self.all.push(Packet {
            from: queue.from,
            sent: frame,
            to: queue.to,
            ended: None,
            lost: false,
            words: parcel.to_string(),
            ping: parcel.is_ping(),
        });
        self.all.len() - 1
    }

    /// Returns the packet of a write that this step has taken from its lost connection, and that may still arrive.
    fn late(&mut self, route: Route, parcel: &Parcel) -> Option<usize> {
        let Route::Late(_) = route else { return None };
        let at = self.lost.iter().position(|(_, lost)| lost == parcel)?;
        let (packet, _) = self.lost.remove(at);
        self.all[packet].ended = None;
        self.all[packet].lost = false;
        Some(packet)
    }

    /// Follows connections of learners to their new numbers. Only their parcels tell which is which.
    fn renumber(&mut self, frame: usize, now: &BTreeMap<Route, Queue>) {
        let mut taken: BTreeMap<Route, VecDeque<Open>> = BTreeMap::new();
        for (route, open) in std::mem::take(&mut self.open) {
            let Some((first, _)) = open.front() else { continue };
            let (from, to) = (self.all[*first].from, self.all[*first].to);
            let is_it = |(other, queue): &(&Route, &Queue)| {
                let is_free = !taken.contains_key(other);
                let is_same = std::mem::discriminant(*other) == std::mem::discriminant(&route);
                is_free
                    && is_same
                    && (queue.from, queue.to) == (from, to)
                    && queue.parcels.first() == open.front().map(|(_, parcel)| parcel)
            };
            let same = now.get_key_value(&route).filter(is_it);
            let found = same.or_else(|| now.iter().find(is_it)).map(|(route, _)| *route);
            match found {
                Some(route) => _ = taken.insert(route, open),
                None => self.lose(open, frame),
            }
        }
        self.open = taken;
    }
}
