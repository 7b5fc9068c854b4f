//! A TCP connection: a pipe in each direction and the state of both ends. Also the connections that one machine has
//! opened, by slot.

use crate::vocabulary::id::ServerId;
use crate::vocabulary::packet::Delivered;
use std::collections::VecDeque;

/// One direction of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pipe<T> {
    pub(super) packets: VecDeque<T>,
    /// True if the end of the stream follows the packets.
    pub(super) ended: bool,
}

impl<T> Pipe<T> {
    pub(super) fn new() -> Pipe<T> {
        Pipe { packets: VecDeque::new(), ended: false }
    }

    pub(super) fn has_something(&self) -> bool {
        self.ended || !self.packets.is_empty()
    }

    /// Returns what a reader would read next, or `None` if it would wait.
    pub(super) fn peek(&self) -> Option<Next<'_, T>> {
        let packet = self.packets.front().map(Next::Packet);
        packet.or(self.ended.then_some(Next::End))
    }
}

/// The next item that a reader would read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'a, T> {
    /// A packet.
    Packet(&'a T),
    /// The end of the stream.
    End,
}

/// A connection: `Up` flows from the machine that opened it, `Down` towards it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Connection<Up, Down> {
    pub(super) to: ServerId,
    pub(super) up: Pipe<Up>,
    pub(super) down: Pipe<Down>,
    pub(super) opener_open: bool,
    pub(super) acceptor_open: bool,
    pub(super) accepted: bool,
}

impl<Up, Down> Connection<Up, Down> {
    pub(super) fn new(to: ServerId) -> Connection<Up, Down> {
        Connection {
            to,
            up: Pipe::new(),
            down: Pipe::new(),
            opener_open: true,
            acceptor_open: true,
            accepted: false,
        }
    }

    /// Returns true if the acceptor has something to read.
    pub(super) fn has_for_acceptor(&self) -> bool {
        self.acceptor_open && self.up.has_something()
    }

    /// Returns true if the opener has something to read.
    pub(super) fn has_for_opener(&self) -> bool {
        self.opener_open && self.down.has_something()
    }

    /// Returns true unless the connection is broken or closed in both directions, so that a break could lose
    /// something.
    pub(super) fn is_breakable(&self) -> bool {
        !(self.up.ended && self.down.ended)
    }

    pub(super) fn read_up(&mut self) -> Option<Delivered<Up>> {
        if !self.acceptor_open {
            return None;
        }
        if let Some(packet) = self.up.packets.pop_front() {
            return Some(Delivered::Packet(packet));
        }
        if self.up.ended {
            self.close_acceptor();
            return Some(Delivered::End { accepted: self.accepted });
        }
        None
    }

    pub(super) fn read_down(&mut self) -> Option<Delivered<Down>> {
        if !self.opener_open {
            return None;
        }
        if let Some(packet) = self.down.packets.pop_front() {
            return Some(Delivered::Packet(packet));
        }
        if self.down.ended {
            self.close_opener();
            return Some(Delivered::End { accepted: self.accepted });
        }
        None
    }

    /// Closes the opener's end. Returns true if the acceptor now has an end of stream to read that it did not have
    /// before.
    pub(super) fn close_opener(&mut self) -> bool {
        self.opener_open = false;
        self.down.packets.clear();
        !std::mem::replace(&mut self.up.ended, true) && self.acceptor_open
    }

    /// Closes the acceptor's end. Returns true if the opener now has an end of stream to read that it did not have
    /// before.
    pub(super) fn close_acceptor(&mut self) -> bool {
        self.acceptor_open = false;
        self.up.packets.clear();
        !std::mem::replace(&mut self.down.ended, true) && self.opener_open
    }

    /// Returns true if both ends are closed, so that no machine can observe the connection any more.
    pub(super) fn is_over(&self) -> bool {
        !self.opener_open && !self.acceptor_open
    }
}

/// The connections that one machine has opened, by slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opened<Up, Down> {
    pub(super) slots: Vec<Option<Connection<Up, Down>>>,
    /// The slot at which the search for a free one begins. Slots are used in turn, not lowest first: otherwise the
    /// number would depend on whether the other side has closed already, and steps of different machines would not
    /// commute.
    pub(super) next: u8,
}

/// Number of slots that a machine uses in turn. It takes others only if all of these are occupied.
const SLOTS: u8 = 8;

impl<Up: Clone, Down: Clone> Opened<Up, Down> {
    pub(super) fn new() -> Opened<Up, Down> {
        Opened { slots: Vec::new(), next: 0 }
    }

    pub(super) fn open(&mut self, to: ServerId) -> u8 {
        let free = |slot: &u8| self.slots.get(usize::from(*slot)).is_none_or(Option::is_none);
        let in_turn = (0..SLOTS).map(|step| (self.next + step) % SLOTS).find(free);
        let slot = in_turn.or_else(|| (SLOTS..=u8::MAX).find(free)).expect("a free slot");
        if self.slots.len() <= usize::from(slot) {
            self.slots.resize(usize::from(slot) + 1, None);
        }
        self.slots[usize::from(slot)] = Some(Connection::new(to));
        self.next = slot.wrapping_add(1) % SLOTS;
        slot
    }

    pub(super) fn get(&self, slot: u8) -> Option<&Connection<Up, Down>> {
        self.slots.get(usize::from(slot))?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: u8) -> Option<&mut Connection<Up, Down>> {
        self.slots.get_mut(usize::from(slot))?.as_mut()
    }

    /// Returns true if a connection is open at both ends and not broken.
    pub fn is_whole(&self, slot: u8) -> bool {
        self.get(slot).is_some_and(|open| {
            open.opener_open && open.acceptor_open && !open.up.ended && !open.down.ended
        })
    }

    /// Returns what the machine that opened a connection would read next.
    pub fn next_for_opener(&self, slot: u8) -> Option<Next<'_, Down>> {
        let open = self.get(slot)?;
        if open.opener_open { open.down.peek() } else { None }
    }

    /// Returns what the machine at the other end of a connection would read next.
    pub fn next_for_acceptor(&self, slot: u8) -> Option<Next<'_, Up>> {
        let open = self.get(slot)?;
        if open.acceptor_open { open.up.peek() } else { None }
    }

    /// Frees the slot of a connection that no machine can observe any more.
    pub(super) fn tidy(&mut self, slot: u8) {
        if self.get(slot).is_some_and(Connection::is_over) {
            self.slots[usize::from(slot)] = None;
        }
    }
}

impl<Up, Down> Opened<Up, Down> {
    /// Returns the servers that connections lead to, and whether there is more than one connection.
    pub fn targets(&self) -> (crate::vocabulary::id::ServerSet, bool) {
        let several = self.slots.iter().flatten().count() > 1;
        (self.slots.iter().flatten().map(|open| open.to).collect(), several)
    }

    /// Returns true if exactly the lowest slots are occupied, and the next slot in turn follows them.
    pub(super) fn is_compact(&self) -> bool {
        usize::from(self.next) == self.slots.len() && self.slots.iter().all(Option::is_some)
    }

    /// Moves connections to the lowest slots and returns the old and new slot of each one moved. If this is called
    /// after every step of a machine, the order of slots is the order of age.
    pub(super) fn compact(&mut self) -> Vec<(u8, u8)> {
        let taken = self.slots.iter().enumerate().filter(|(_, open)| open.is_some());
        let moved = taken.enumerate().filter(|(to, (from, _))| to != from);
        let moved = moved.map(|(to, (from, _))| (from as u8, to as u8)).collect();
        self.slots.retain(Option::is_some);
        self.next = self.slots.len() as u8;
        moved
    }
}

pub(super) fn occupied<Up, Down>(
    links: &Opened<Up, Down>,
) -> impl Iterator<Item = (u8, &Connection<Up, Down>)> {
    let slots = links.slots.iter().enumerate();
    slots.filter_map(|(slot, open)| open.as_ref().map(|open| (slot as u8, open)))
}

/// Breaks both directions, and returns for each whether its reader gets an end of stream that was not there before.
/// Returns `None` if both directions were broken or closed already.
pub(super) fn break_both<Up, Down>(
    open: &mut Connection<Up, Down>,
    up: u8,
    down: u8,
) -> Option<(bool, bool)> {
    if !open.is_breakable() {
        return None;
    }
    open.up.packets.truncate(usize::from(up));
    open.down.packets.truncate(usize::from(down));
    let up = !std::mem::replace(&mut open.up.ended, true) && open.acceptor_open;
    let down = !std::mem::replace(&mut open.down.ended, true) && open.opener_open;
    Some((up, down))
}
