//! The state shared by the threads of a link: the packets seen, the packets held, and the open connections.

use super::quorum::Kind;
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use vivarium_model::zxid::Zxid;

/// The direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the learner to the leader.
    Up,
    /// From the leader to the learner.
    Down,
}

/// Selects the packets to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// All packets.
    All,
    /// The first packet of this kind, and all later ones.
    From(Kind),
    /// All packets after the next one of this kind.
    Behind(Kind),
}

/// A packet that reached the proxy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) direction: Direction,
    pub(super) kind: Kind,
    pub(super) zxid: Zxid,
    /// True once the proxy has forwarded the packet.
    pub(super) passed: bool,
}

/// A position in the list of packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(pub(super) usize);

/// The state shared by the threads of a link.
#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) down: Option<Hold>,
    pub(super) up: Option<Hold>,
    pub(super) delay: Duration,
    pub(super) refuses: bool,
    pub(super) closed: bool,
    pub(super) seen: Vec<Seen>,
    /// Both ends of the connections that may still be open, by number.
    pub(super) streams: BTreeMap<u64, [TcpStream; 2]>,
    /// The number of the next connection.
    pub(super) next: u64,
    /// Connections with smaller numbers have been cut.
    pub(super) alive_from: u64,
}

impl State {
    pub(super) fn hold(&mut self, direction: Direction) -> &mut Option<Hold> {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked leaves the state consistent, because every change here is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a packet arrived.
    pub(super) fn arrived(&self, direction: Direction, kind: Kind, zxid: Zxid) {
        // Pings arrive all the time and carry no information.
        if kind != Kind::Ping {
            self.lock().seen.push(Seen { direction, kind, zxid, passed: false });
            self.changed.notify_all();
        }
    }

    /// Records that a packet was forwarded.
    pub(super) fn passed(&self, direction: Direction, kind: Kind, zxid: Zxid) {
        let mut state = self.lock();
        let hold = state.hold(direction);
        if *hold == Some(Hold::Behind(kind)) {
            *hold = Some(Hold::All);
        }
        if kind != Kind::Ping {
            state.seen.push(Seen { direction, kind, zxid, passed: true });
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until a packet may be forwarded. Returns false if the connection with this number was cut meanwhile.
    pub(super) fn may_pass(&self, direction: Direction, kind: Option<Kind>, number: u64) -> bool {
        let mut state = self.lock();
        loop {
            if state.closed || number < state.alive_from {
                return false;
            }
            let holds = match *state.hold(direction) {
                None | Some(Hold::Behind(_)) => false,
                Some(Hold::All) => true,
                Some(Hold::From(held)) => kind == Some(held),
            };
            if !holds {
                return true;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the delay of packets.
    pub(super) fn delay(&self) -> Duration {
        self.lock().delay
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Registers a new connection and returns its number, unless connections are refused.
    pub(super) fn admit(&self, [one, other]: [&TcpStream; 2]) -> Option<u64> {
        let ends = [one.try_clone().ok()?, other.try_clone().ok()?];
        let mut state = self.lock();
        if state.refuses || state.closed {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.streams.insert(number, ends);
        Some(number)
    }

    /// Removes a connection that has ended.
    pub(super) fn ended(&self, number: u64) {
        self.lock().streams.remove(&number);
    }

    /// Returns true if new connections are refused.
    pub(super) fn refuses(&self) -> bool {
        self.lock().refuses
    }
}
