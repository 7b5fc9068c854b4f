//! One TCP connection: a pipe in each direction and who still has its end open; and the connections
//! that one machine has opened, by slot.

use crate::vocabulary::id::ServerId;
use crate::vocabulary::packet::Delivered;
use std::collections::VecDeque;

/// One direction of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pipe<T> {
    pub(super) packets: VecDeque<T>,
    /// The end of the stream comes behind the packets.
    pub(super) ended: bool,
}

impl<T> Pipe<T> {
    pub(super) fn new() -> Pipe<T> {
        Pipe { packets: VecDeque::new(), ended: false }
    }

    pub(super) fn has_something(&self) -> bool {
        self.ended || !self.packets.is_empty()
    }

    /// What a reader would find, `None` where it would wait.
    pub(super) fn peek(&self) -> Option<Next<'_, T>> {
        let packet = self.packets.front().map(Next::Packet);
        packet.or(self.ended.then_some(Next::End))
    }
}

/// What a reader would find.
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

    /// Whether the acceptor would find something to read.
    pub(super) fn has_for_acceptor(&self) -> bool {
        self.acceptor_open && self.up.has_something()
    }

    /// Whether the opener would.
    pub(super) fn has_for_opener(&self) -> bool {
        self.opener_open && self.down.has_something()
    }

    /// Whether it has something to lose: it is not broken or closed in both directions already.
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

    /// The opener closes its end. Returns whether the acceptor now has an end of stream to read that
    /// it had not before.
    pub(super) fn close_opener(&mut self) -> bool {
        self.opener_open = false;
        self.down.packets.clear();
        !std::mem::replace(&mut self.up.ended, true) && self.acceptor_open
    }

    /// The acceptor closes its end, likewise.
    pub(super) fn close_acceptor(&mut self) -> bool {
        self.acceptor_open = false;
        self.up.packets.clear();
        !std::mem::replace(&mut self.down.ended, true) && self.opener_open
    }

    /// Both ends are closed: nobody can tell that it was there.
    pub(super) fn is_over(&self) -> bool {
        !self.opener_open && !self.acceptor_open
    }
}

/// The connections that one machine opened, by slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opened<Up, Down> {
    pub(super) slots: Vec<Option<Connection<Up, Down>>>,
    /// Where the search for a free slot begins. Slots are taken in turn, and not the lowest free
    /// one, so that the number does not depend on whether the other side has closed yet: steps of
    /// different machines must commute.
    pub(super) next: u8,
}

/// How many slots a machine uses in turn before it would take any free one.
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
        self.next = (slot + 1) % SLOTS;
        slot
    }

    pub(super) fn get(&self, slot: u8) -> Option<&Connection<Up, Down>> {
        self.slots.get(usize::from(slot))?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: u8) -> Option<&mut Connection<Up, Down>> {
        self.slots.get_mut(usize::from(slot))?.as_mut()
    }

    /// Whether a connection is open at both ends and not broken.
    pub fn is_whole(&self, slot: u8) -> bool {
        self.get(slot).is_some_and(|open| {
            open.opener_open && open.acceptor_open && !open.up.ended && !open.down.ended
        })
    }

    /// What the machine that opened a connection would read.
    pub fn next_for_opener(&self, slot: u8) -> Option<Next<'_, Down>> {
        let open = self.get(slot)?;
        if open.opener_open { open.down.peek() } else { None }
    }

    /// What the machine at the other end of a connection would read.
    pub fn next_for_acceptor(&self, slot: u8) -> Option<Next<'_, Up>> {
        let open = self.get(slot)?;
        if open.acceptor_open { open.up.peek() } else { None }
    }

    /// Frees the slot if nobody can tell that the connection was there.
    pub(super) fn tidy(&mut self, slot: u8) {
        if self.get(slot).is_some_and(Connection::is_over) {
            self.slots[usize::from(slot)] = None;
        }
    }
}

impl<Up, Down> Opened<Up, Down> {
    /// The servers that connections lead to, and whether there are several connections.
    pub fn targets(&self) -> (crate::vocabulary::id::ServerSet, bool) {
        let several = self.slots.iter().flatten().count() > 1;
        (self.slots.iter().flatten().map(|open| open.to).collect(), several)
    }

    /// Whether the lowest slots are taken and no others, and the next in turn is the one after them.
    pub(super) fn is_compact(&self) -> bool {
        usize::from(self.next) == self.slots.len() && self.slots.iter().all(Option::is_some)
    }

    /// Makes it so; old and new slot of each connection that moved. Only for machines of which this
    /// is asked after every step: then the order of slots is the order of age.
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

/// Breaks both directions; tells for each whether its reader gets an end that was not there before.
/// `None`: it is broken or closed in both directions already, and loses nothing more.
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
