//! What the threads of a link share: which packets came by, which are held, and the open connections.

use super::quorum::Kind;
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use vivarium_model::zxid::Zxid;

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the learner to the leader.
    Up,
    /// From the leader to the learner.
    Down,
}

/// Which packets are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// Every one.
    All,
    /// From the first of this kind on.
    From(Kind),
    /// What comes behind the next one of this kind.
    Behind(Kind),
}

/// A packet that came by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) direction: Direction,
    pub(super) kind: Kind,
    pub(super) zxid: Zxid,
    /// Whether it was handed on, or only arrived here.
    pub(super) passed: bool,
}

/// A place in the list of all packets that came by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(pub(super) usize);

/// What the threads of a link share.
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
    /// Both ends of the connections that may still live, by their numbers.
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
        // A thread that panicked left nothing half done: every change here is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a packet came.
    pub(super) fn arrived(&self, direction: Direction, kind: Kind, zxid: Zxid) {
        // Pings come all the time and tell nothing.
        if kind != Kind::Ping {
            self.lock().seen.push(Seen { direction, kind, zxid, passed: false });
            self.changed.notify_all();
        }
    }

    /// Notes that a packet was handed on.
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

    /// Waits until a packet may go on; false when the connection of that number was cut meanwhile.
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

    /// For how long packets are under way.
    pub(super) fn delay(&self) -> Duration {
        self.lock().delay
    }

    /// Whether the link was closed.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Takes a new connection in, unless there shall be none, and gives it a number.
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

    /// Forgets a connection that has ended.
    pub(super) fn ended(&self, number: u64) {
        self.lock().streams.remove(&number);
    }

    /// Whether connections are refused.
    pub(super) fn refuses(&self) -> bool {
        self.lock().refuses
    }
}
