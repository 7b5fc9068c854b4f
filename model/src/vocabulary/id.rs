//! Names of the things in a world: servers, client machines, sessions, calls and connections.
//!
//! Ids of calls and connections are (owner, reused slot) and never allocation counters, so that two
//! states which differ only in how they were reached still hash alike.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A server's `myid`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServerId(pub u8);

impl ServerId {
    /// Position in vectors with one entry per server.
    pub fn index(self) -> usize {
        usize::from(self.0) - 1
    }

    /// The server at `index` of such a vector.
    pub fn at(index: usize) -> ServerId {
        ServerId(u8::try_from(index + 1).expect("at most 255 servers"))
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server {}", self.0)
    }
}

/// A set of servers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ServerSet(u64);

impl ServerSet {
    /// Adds a server (ids up to 64).
    pub fn insert(&mut self, server: ServerId) {
        self.0 |= 1 << server.index();
    }

    /// Takes a server out.
    pub fn remove(&mut self, server: ServerId) {
        self.0 &= !(1 << server.index());
    }

    /// Whether a server is in it.
    pub fn contains(self, server: ServerId) -> bool {
        self.0 & (1 << server.index()) != 0
    }

    /// How many.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// This set with one server more.
    #[must_use]
    pub fn with(mut self, server: ServerId) -> ServerSet {
        self.insert(server);
        self
    }

    /// Servers 1 to `servers` (up to 64).
    pub fn first(servers: u8) -> ServerSet {
        ServerSet(u64::MAX.checked_shr(64 - u32::from(servers)).unwrap_or(0))
    }

    /// This set with one server less.
    #[must_use]
    pub fn without(mut self, server: ServerId) -> ServerSet {
        self.remove(server);
        self
    }

    /// The servers in both.
    #[must_use]
    pub fn intersection(self, other: ServerSet) -> ServerSet {
        ServerSet(self.0 & other.0)
    }

    /// The servers in this set, but not in the other one.
    #[must_use]
    pub fn difference(self, other: ServerSet) -> ServerSet {
        ServerSet(self.0 & !other.0)
    }

    /// The servers in it, in the order of their ids.
    pub fn iter(self) -> impl Iterator<Item = ServerId> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let at = (left != 0).then_some(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(ServerId::at(at))
        })
    }
}

impl FromIterator<ServerId> for ServerSet {
    fn from_iter<T: IntoIterator<Item = ServerId>>(servers: T) -> ServerSet {
        servers.into_iter().fold(ServerSet::default(), ServerSet::with)
    }
}

impl fmt::Display for ServerSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.iter().map(|server| server.0.to_string()).collect();
        write!(f, "servers {}", names.join(" and "))
    }
}

/// A client machine and the one program that runs on it, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientId(pub u8);

impl ClientId {
    /// Position in vectors with one entry per client machine.
    pub fn index(self) -> usize {
        usize::from(self.0) - 1
    }

    /// The client at `index` of such a vector.
    pub fn at(index: usize) -> ClientId {
        ClientId(u8::try_from(index + 1).expect("at most 255 clients"))
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}", self.0)
    }
}

/// A machine on the network: what a link joins and a partition separates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Machine {
    /// A member of the ensemble.
    Server(ServerId),
    /// A client machine.
    Client(ClientId),
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Machine::Server(server) => server.fmt(f),
            Machine::Client(client) => client.fmt(f),
        }
    }
}

/// A session id: the server that issued it, how often that server had started, and its counter
/// (rule 2.2.1; the real id has elapsed boot time where this has the number of starts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename = "zookeeper.SessionId")] // SessionId::WRITTEN_AS
pub struct SessionId(pub u64);

impl SessionId {
    /// What it is called where it is written: no type of a user's has that name.
    pub(crate) const WRITTEN_AS: &'static str = "zookeeper.SessionId";

    /// The `number`th session issued by `server` in its `start`th life.
    pub fn new(server: ServerId, start: u16, number: u32) -> SessionId {
        SessionId(u64::from(server.0) << 56 | u64::from(start) << 32 | u64::from(number))
    }

    /// The server that issued it.
    pub fn issuer(self) -> ServerId {
        ServerId((self.0 >> 56) as u8)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x}", self.0)
    }
}

/// A request's number on its session, from 1 (rule 2.8.5). The server calls it `cxid`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Xid(pub u32);

impl Xid {
    /// The number after this one; 2^31-1 is followed by 1.
    pub fn next(self) -> Xid {
        if self.0 >= 0x7fff_ffff { Xid(1) } else { Xid(self.0 + 1) }
    }
}

/// A program's pending call: a slot that is used again once the call is answered or abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallId(pub u16);

/// A TCP connection from a client machine to a server: owner and reused slot. A machine can have
/// several at once: the one in use, and old ones whose server has not noticed their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientConnection {
    /// The machine that opened it.
    pub client: ClientId,
    /// Lowest slot that was free when it was opened.
    pub slot: u8,
}

impl fmt::Display for ClientConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} connection {}", self.client, self.slot)
    }
}

/// A TCP connection from a learner to the server it takes for the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LearnerConnection {
    /// The server that opened it.
    pub learner: ServerId,
    /// Lowest slot that was free when it was opened.
    pub slot: u8,
}

impl fmt::Display for LearnerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "learner {} connection {}", self.learner.0, self.slot)
    }
}
