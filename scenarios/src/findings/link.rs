//! The link from one learner to one leader: a proxy that reads quorum packets and can hold, delay and cut them. The
//! notifications of elections pass through one of their own, where servers know each other by names.
//!
//! Packets stay in order: if one is held, all later ones in the same direction wait too.

use super::error::FindingError;
use super::link_state::{Mark, Seen, Shared};
use super::quorum::{Content, Kind};
use super::relay;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use vivarium_model::id::ServerId;
use vivarium_model::zxid::Zxid;

pub(super) use super::link_state::{Direction, Hold};

/// A packet to wait for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    pub(super) direction: Direction,
    pub(super) kind: Kind,
    /// `None` for any zxid.
    pub(super) zxid: Option<Zxid>,
    /// True if the proxy must have forwarded the packet.
    pub(super) passed: bool,
}

/// A packet to a learner.
pub(super) fn down(kind: Kind, zxid: Option<Zxid>) -> Awaited {
    Awaited { direction: Direction::Down, kind, zxid, passed: true }
}

/// A packet to a leader.
pub(super) fn up(kind: Kind, zxid: Option<Zxid>) -> Awaited {
    Awaited { direction: Direction::Up, kind, zxid, passed: true }
}

/// The proxy of one learner for one leader. Dropping it cuts the link.
#[derive(Debug)]
pub(super) struct Link {
    learner: ServerId,
    leader: ServerId,
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Link {
    /// Opens a proxy at an address of its own for the port `target` of the leader.
    pub(super) fn open(
        learner: ServerId,
        leader: ServerId,
        address: SocketAddr,
        target: SocketAddr,
        content: Content,
    ) -> Result<Link, FindingError> {
        let failed = "a proxy could not be opened";
        let listener = TcpListener::bind(address).map_err(FindingError::machine(failed))?;
        let shared: Arc<Shared> = Arc::default();
        let accepting = Arc::clone(&shared);
        thread::spawn(move || relay::accept(&listener, target, content, &accepting));
        Ok(Link { learner, leader, address, shared })
    }

    /// Returns the learner.
    pub(super) fn learner(&self) -> ServerId {
        self.learner
    }

    /// Returns the server whose port it leads to.
    pub(super) fn leader(&self) -> ServerId {
        self.leader
    }

    /// Holds packets from now on, instead of those held in that direction before.
    pub(super) fn hold(&self, direction: Direction, hold: Hold) {
        *self.shared.lock().hold(direction) = Some(hold);
        self.shared.changed.notify_all();
    }

    /// Lets all packets pass again.
    pub(super) fn release(&self) {
        self.release_only(Direction::Up);
        self.release_only(Direction::Down);
    }

    /// Lets all packets of one direction pass again.
    pub(super) fn release_only(&self, direction: Direction) {
        *self.shared.lock().hold(direction) = None;
        self.shared.changed.notify_all();
    }

    /// Breaks the connection, and loses all packets under way. The learner can connect again.
    pub(super) fn cut(&self) {
        let mut state = self.shared.lock();
        state.alive_from = state.next;
        let streams = std::mem::take(&mut state.streams);
        drop(state);
        self.shared.changed.notify_all();
        for stream in streams.into_values().flatten() {
            // An error means that it has ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Sets whether new connections are refused.
    pub(super) fn refuse(&self, refuses: bool) {
        self.shared.lock().refuses = refuses;
    }

    /// Sets the delay of each packet from now on.
    pub(super) fn delay(&self, delay: Duration) {
        self.shared.lock().delay = delay;
    }

    /// Returns the present position in the list of packets.
    pub(super) fn mark(&self) -> Mark {
        Mark(self.shared.lock().seen.len())
    }

    /// Returns the position before the first packet.
    pub(super) fn beginning(&self) -> Mark {
        Mark(0)
    }

    /// Returns the packets since a position.
    pub(super) fn since(&self, mark: Mark) -> Vec<Seen> {
        self.shared.lock().seen[mark.0..].to_vec()
    }

    /// Returns how the learner was last synchronised: DIFF, TRUNC or SNAP, with its zxid.
    pub(super) fn synchronised(&self) -> Option<(Kind, Zxid)> {
        let of_synchronisation = |seen: &&Seen| {
            seen.passed && matches!(seen.kind, Kind::Diff | Kind::Trunc | Kind::Snap)
        };
        let state = self.shared.lock();
        state.seen.iter().rfind(of_synchronisation).map(|seen| (seen.kind, seen.zxid))
    }

    /// Waits for a packet.
    pub(super) fn wait(
        &self,
        awaited: Awaited,
        mark: Mark,
        patience: Duration,
    ) -> Result<(), FindingError> {
        let Awaited { direction, kind, zxid, passed } = awaited;
        let fits = |seen: &Seen| {
            (seen.direction, seen.kind) == (direction, kind)
                && (seen.passed || !passed)
                && zxid.is_none_or(|zxid| seen.zxid == zxid)
        };
        let end = Instant::now() + patience;
        let mut state = self.shared.lock();
        while !state.seen[mark.0..].iter().any(fits) {
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                let last = state.seen[mark.0..].iter().rfind(|seen| seen.direction == direction);
                return Err(self.not_seen(awaited, last, patience));
            }
            let waited = self.shared.changed.wait_timeout(state, rest);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    fn not_seen(&self, awaited: Awaited, last: Option<&Seen>, patience: Duration) -> FindingError {
        let (from, to) = match awaited.direction {
            Direction::Up => (self.learner, self.leader),
            Direction::Down => (self.leader, self.learner),
        };
        let zxid = awaited.zxid.map_or(String::new(), |zxid| format!(" {zxid}"));
        let last = match last {
            None => "nothing came".to_owned(),
            Some(seen) => format!("the last was {} {}", seen.kind, seen.zxid),
        };
        let what = format!("{}{zxid} from {from} to {to} ({last})", awaited.kind);
        FindingError::NotSeen { what, patience }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.cut();
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_millis(100));
    }
}
