//! Identifiers of servers, client machines, sessions, calls and connections.
//!
//! Ids of calls and connections are (owner, reused slot) and never allocation counters, so two states that differ
//! only in their past have the same hash.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};

/// A server's `myid`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServerId(pub u8);

impl ServerId {
    /// Returns the server's index in vectors with one entry per server.
    pub fn index(self) -> usize {
        usize::from(self.0) - 1
    }

    /// Returns the server at `index` of a vector with one entry per server.
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
    /// Adds a server. Ids go up to 64.
    pub fn insert(&mut self, server: ServerId) {
        self.0 |= 1 << server.index();
    }

    /// Removes a server.
    pub fn remove(&mut self, server: ServerId) {
        self.0 &= !(1 << server.index());
    }

    /// Returns true if the set contains `server`. No set contains server 0, the leader in the vote of a server that does not
    /// vote.
    pub fn contains(self, server: ServerId) -> bool {
        server.0 > 0 && self.0 & (1 << server.index()) != 0
    }

    /// Returns the number of servers in the set.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns true if the set has no servers.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns this set with `server` added.
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
///
/// Numbers above those of the configuration's machines belong to clients outside of the run
/// ([`Outside`](crate::vocabulary::outside::Outside)), one per connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClientId(pub u16);

/// Numbers up to 255 are hashed as one byte, so the hashes of cases recorded when ids were bytes stay valid.
impl Hash for ClientId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match u8::try_from(self.0) {
            Ok(number) => number.hash(state),
            Err(_) => self.0.hash(state),
        }
    }
}

impl ClientId {
    /// Returns the client's index in vectors with one entry per client machine.
    pub fn index(self) -> usize {
        usize::from(self.0) - 1
    }

    /// Returns the client machines of a configuration that has `count` of them, in order.
    pub fn first(count: u8) -> impl Iterator<Item = ClientId> + use<> {
        (1..=u16::from(count)).map(ClientId)
    }

    /// Returns the client at `index` of a vector with one entry per client machine.
    pub fn at(index: usize) -> ClientId {
        ClientId(u16::try_from(index + 1).expect("at most 65,535 clients"))
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}", self.0)
    }
}

/// A machine on the network: an end of a link, on one side of a partition.
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

/// A session id: the server that issued it, the number of that server's starts, and a counter. A real id has the time
/// since the server's boot in place of the number of starts (rule 2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename = "zookeeper.SessionId")] // SessionId::WRITTEN_AS
pub struct SessionId(pub u64);

impl SessionId {
    /// The type's name for serde. The prefix keeps it distinct from the names of users' types.
    pub(crate) const WRITTEN_AS: &'static str = "zookeeper.SessionId";

    /// Returns the id of the `number`th session that `server` issued since its `start`th start.
    pub fn new(server: ServerId, start: u16, number: u32) -> SessionId {
        SessionId(u64::from(server.0) << 56 | u64::from(start) << 32 | u64::from(number))
    }

    /// Returns the server that issued this session.
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
    /// Returns the next number; 1 follows 2^31-1.
    pub fn next(self) -> Xid {
        if self.0 >= 0x7fff_ffff { Xid(1) } else { Xid(self.0 + 1) }
    }
}

/// A program's pending call: a slot that is reused after the call was answered or abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallId(pub u32);

impl CallId {
    /// Stands for the oldest request to an outside resource whose call was abandoned.
    pub const ABANDONED: CallId = CallId(0xffff);
}

/// Hashes a number below 2^16 as two bytes: states and runs keep the hashes that they had when it was the limit.
impl Hash for CallId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match u16::try_from(self.0) {
            Ok(slot) => slot.hash(state),
            Err(_) => self.0.hash(state),
        }
    }
}

/// A TCP connection from a client machine to a server: owner and reused slot. A machine can have several: the one in
/// use, and old ones whose end the server has not noticed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientConnection {
    /// The machine that opened it.
    pub client: ClientId,
    /// The lowest slot that was free when the connection was opened.
    pub slot: u8,
}

impl fmt::Display for ClientConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} connection {}", self.client, self.slot)
    }
}

/// A TCP connection from a learner to the server that the learner considers the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LearnerConnection {
    /// The server that opened it.
    pub learner: ServerId,
    /// The lowest slot that was free when the connection was opened.
    pub slot: u8,
}

impl fmt::Display for LearnerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "learner {} connection {}", self.learner.0, self.slot)
    }
}
