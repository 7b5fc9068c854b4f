//! The service grain in pieces: one for each client, and one that all share.
//!
//! A client's steps depend on its own piece and the common one, and change no others (except for messages between
//! programs). So if a search has seen a client's steps in one state, it knows them in all other states with the same
//! two pieces.

use super::link::{LateWrite, Link};
use super::log::Log;
use super::{Links, Service};
use crate::client::ClientState;
use crate::program::machines::{ClientNode, ProgramState, Resources};
use crate::server::prep::Prep;
use crate::tree::DataTree;
use crate::vocabulary::config::Config;
use crate::vocabulary::fingerprint::{Fingerprint, Tracked};
use crate::vocabulary::id::{ClientId, SessionId};
use crate::vocabulary::zxid::Zxid;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The piece of one client.
#[derive(Clone, Debug)]
pub struct Share {
    pub(super) node: Tracked<ClientNode>,
    pub(super) link: Tracked<Link>,
    /// Late writes of its lost connections.
    pub(super) late: BTreeMap<SessionId, VecDeque<LateWrite>>,
    /// Number of sessions it has begun.
    sessions: u32,
}

/// The piece that all clients share.
#[derive(Clone, Debug)]
pub struct Common {
    config: Arc<Config>,
    pub(super) log: Log,
    pub(super) prep: Tracked<Prep>,
    resources: Resources,
}

/// What a client's piece says of the earliest part of the log that the client can still observe.
#[derive(Clone, Copy, Debug, Default)]
pub struct Floor {
    /// The last zxid that the client has seen in a session to which it can return.
    seen: Option<Zxid>,
    /// The prefix that the client's server has applied.
    shown: Option<Zxid>,
    /// The session to which the client returns if its server closes the connection.
    returns: Option<SessionId>,
}

impl Floor {
    /// Returns the zxid below which no server will show this client the log again, provided that no connection is
    /// lost and no session expires from now on. `None` means that no server will show it any existing entry.
    ///
    /// Under that condition, a new session begins at the end of the log. But a server still closes the connections of
    /// a session that has ended. Packets in flight to the client are then lost, and a server that has not applied the
    /// end accepts the client again at the client's last zxid.
    pub fn at(&self, common: &Common) -> Option<Zxid> {
        let has_ended = || self.returns.is_some_and(|session| !common.is_alive(session));
        match (self.seen, self.shown) {
            (Some(seen), Some(shown)) if seen < shown && has_ended() => Some(seen),
            (seen, shown) => shown.or(seen),
        }
    }
}

impl Share {
    /// Returns the fingerprint, which distinguishes it from other pieces of the same client.
    pub fn fingerprint(&self) -> Fingerprint {
        let (node, link) = (self.node.fingerprint(), self.link.fingerprint());
        Fingerprint::of(&(node, link, &self.late, self.sessions))
    }

    /// Returns what this piece says of the earliest part of the log that its client can still observe.
    pub fn floor(&self) -> Floor {
        let (machine, link) = (&self.node.machine, &self.link);
        if self.has_finished() {
            return Floor::default();
        }
        let returns = machine.session().filter(|_| machine.state().is_alive());
        Floor {
            seen: returns.map(|_| machine.last_zxid()),
            shown: (link.open && link.session.is_some()).then_some(link.view),
            // A client that closes its session itself does not come back for it.
            returns: returns.filter(|_| !machine.is_closing()),
        }
    }

    /// Returns a number that the client's steps raise, as long as no fault happens. A search uses it to prove that it met
    /// no cycle; where a step lowers it, or leaves it as it is, nothing is proven.
    ///
    /// It counts sessions, the requests of the present one, the connection's state, and the transactions that the
    /// client's server has applied. Whatever is on its way lowers it, a packet by more before the server has read it than
    /// after. The number takes 80 bits.
    pub fn progress(&self) -> i128 {
        const SESSION: i128 = 1 << 70;
        const REQUEST: i128 = 1 << 45;
        const CONNECTION: i128 = 1 << 41;
        const TRANSACTION: i128 = 1 << 8;
        let (machine, link) = (&self.node.machine, &self.link);
        let is_over = match machine.state() {
            ClientState::Expired | ClientState::Closed | ClientState::AuthFailed => true,
            _ => self.has_finished(),
        };
        let here = match machine.state() {
            _ if is_over => SESSION / 2,
            ClientState::NotStarted => 0,
            state => {
                let has_none = machine.session().is_none() && link.session.is_none();
                let next = if has_none && self.sessions > 0 { SESSION / 4 * 3 } else { 0 };
                let requests = i128::from(machine.next_xid().0) * REQUEST;
                let connection = match (link.after_end, link.open, link.session) {
                    (false, false, _) => 1,
                    (false, true, None) => 2,
                    (false, true, Some(_)) => 3 + i128::from(state.is_connected()),
                    (true, false, _) => 5,
                    (true, true, _) => 6,
                };
                let applied = i128::from(link.view.counter()) * TRANSACTION;
                next + requests + connection * CONNECTION + applied
            }
        };
        let late: usize = self.late.values().map(VecDeque::len).sum();
        let on_their_way = 4 * link.to_server.len() + link.to_client.len() + late + self.node.due();
        i128::from(self.sessions) * SESSION + here - on_their_way as i128
    }

    /// Returns true if the client's program has finished, so that it observes nothing any more.
    pub fn has_finished(&self) -> bool {
        self.node.program == ProgramState::Finished
    }
}

impl Common {
    /// Returns the fingerprint of everything except the log.
    pub fn rest(&self) -> Fingerprint {
        Fingerprint::of(&(self.prep.fingerprint(), &self.resources))
    }

    /// Returns the fingerprint of the part of the log that can still be observed.
    pub fn log(&self, floor: Zxid) -> Fingerprint {
        self.log.fingerprint(floor)
    }

    /// Returns the fingerprint of all transactions as monitors see them.
    pub fn told(&self) -> Fingerprint {
        self.log.told()
    }

    /// Returns true if the leader considers a session alive.
    pub(super) fn is_alive(&self, session: SessionId) -> bool {
        self.prep.sessions().touch(session).is_some()
    }

    /// Returns the tree at the end of the log.
    pub fn tree(&self) -> &Arc<DataTree> {
        &self.log.last().tree
    }

    /// Returns a number that transactions and expiries raise, as [`Share::progress`] does for the steps of a client.
    pub fn progress(&self) -> i128 {
        let sessions = self.prep.sessions().iter();
        let alive = sessions.filter(|(session, _)| self.is_alive(*session)).count();
        (i128::from(self.prep.last_zxid().counter()) << 10) - alive as i128
    }

    /// Returns the zxid at the end of the log.
    pub fn last(&self) -> Zxid {
        self.log.last().zxid()
    }
}

impl Service {
    /// Returns the common piece.
    pub fn common(&self) -> Common {
        Common {
            config: Arc::clone(&self.config),
            log: self.log.clone(),
            prep: self.prep.clone(),
            resources: self.resources.clone(),
        }
    }

    /// Returns the piece of one client.
    pub fn share(&self, client: ClientId) -> Share {
        let late = self.links.late.iter().filter(|(session, _)| session.client() == client);
        Share {
            node: self.clients[client.index()].clone(),
            link: self.links.links[client.index()].clone(),
            late: late.map(|(session, writes)| (*session, writes.clone())).collect(),
            sessions: self.links.sessions[client.index()],
        }
    }

    /// Returns true if the common pieces are certainly equal. They may be equal otherwise, too.
    pub fn has_same_common(&self, other: &Service) -> bool {
        self.log.is_shared_with(&other.log)
            && self.prep.is_shared_with(&other.prep)
            && self.resources == other.resources
    }

    /// Returns true if the pieces of this client are certainly equal. They may be equal otherwise, too.
    pub fn has_same_share(&self, other: &Service, client: ClientId) -> bool {
        let at = client.index();
        self.clients[at].is_shared_with(&other.clients[at])
            && self.links.links[at].is_shared_with(&other.links.links[at])
            && self.links.sessions[at] == other.links.sessions[at]
            && self.links.late == other.links.late
    }

    /// Reassembles a service from its pieces; the shares must be in the order of their clients.
    pub fn of_pieces<'a>(
        common: &Common,
        shares: impl Iterator<Item = &'a Share> + Clone,
    ) -> Service {
        let late = shares.clone().flat_map(|share| share.late.clone());
        Service {
            config: Arc::clone(&common.config),
            log: common.log.clone(),
            number: None,
            prep: common.prep.clone(),
            resources: common.resources.clone(),
            clients: shares.clone().map(|share| share.node.clone()).collect(),
            links: Links {
                config: Arc::clone(&common.config),
                links: shares.clone().map(|share| share.link.clone()).collect(),
                late: late.collect(),
                sessions: shares.map(|share| share.sessions).collect(),
            },
        }
    }
}
