//! The footprint of a client's steps: the part of the common piece that they read.
//!
//! A search computes a client's steps once for each piece of the client and each footprint. Most steps read little of
//! the common piece: a program's input nothing, an answered read only the log from its server's prefix on. Two common
//! pieces with equal footprints offer the client the same steps. Their results are the same, too, except for steps that
//! read the end of the log ([`Service::reads_the_end`]).
//!
//! | Step | Reads |
//! |---|---|
//! | all | the client's own sessions: whether each is alive, expired or unknown, its timeout, and whether it has ephemerals |
//! | `Notify`, if the server accepted a session | the next transaction that fires one of its watches or ends the session |
//! | `Serve` of a read, a sync or SetWatches | the log from the server's prefix on |
//! | `Serve` of a re-attachment | the log from the client's last zxid on |
//! | `DeleteContainer`, which belongs to no client | everything, even to know whether it is possible |
//! | `Serve` of a write or a new session, `Late`, `CloseSession`, `Resource`, the expiry of a session that no process keeps alive | nothing to know that it is possible, and everything for its result |

use super::link::is_write;
use super::{Common, Service, Share};
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::{ClientId, SessionId};
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::step::Step;
use crate::vocabulary::zxid::Zxid;

/// How much of the common piece a client's steps read, in addition to the client's own sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Nothing.
    Sessions,
    /// The next transaction that its server notifies it of.
    Notice,
    /// The log from the last entry up to this zxid on.
    Log(Zxid),
}

/// The sessions of one client, as the common piece has them.
#[derive(Clone, Copy, Debug)]
pub struct OwnSessions {
    fingerprint: Fingerprint,
}

impl OwnSessions {
    /// Returns the fingerprint of the sessions.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

impl Share {
    /// Returns the fingerprint of all that [`Common::notice`] reads of this piece.
    pub fn listener(&self) -> Fingerprint {
        let link = &self.link;
        Fingerprint::of(&("listener", link.session, link.view, &link.watches))
    }

    /// Returns how much of the common piece the client's steps read.
    pub fn reads(&self) -> Reads {
        let link = &self.link;
        if !link.is_served() {
            return Reads::Sessions;
        }
        match link.to_server.front() {
            Some(ClientPacket::Connect { session: Some(_), last_zxid_seen, .. }) => {
                Reads::Log(*last_zxid_seen)
            }
            Some(ClientPacket::Request { request, .. }) if !is_write(request) => {
                Reads::Log(link.view)
            }
            Some(ClientPacket::SetWatches { .. }) => Reads::Log(link.view),
            _ if link.session.is_some() => Reads::Notice,
            _ => Reads::Sessions,
        }
    }
}

impl Service {
    /// Returns true if the result of this possible step depends on everything that clients share.
    pub fn reads_the_end(&self, client: ClientId, step: &Step) -> bool {
        match step {
            Step::Serve { .. } => match self.oldest_packet(client) {
                Some(ClientPacket::Request { request, .. }) => is_write(request),
                Some(ClientPacket::Connect { session, .. }) => session.is_none(),
                _ => false,
            },
            Step::Expire(session) => self.is_orphan(*session),
            Step::Late(_)
            | Step::CloseSession(_)
            | Step::DeleteContainer(_)
            | Step::Resource { .. } => true,
            _ => false,
        }
    }
}

impl Common {
    /// Returns the sessions of a client.
    pub fn sessions_of(&self, client: ClientId) -> OwnSessions {
        let tree = &self.log.last().tree;
        let has_ephemerals = |session: SessionId| tree.ephemerals(session).next().is_some();
        let own = self.prep.sessions().iter().filter(|(session, _)| session.client() == client);
        let own: Vec<_> = own
            .map(|(session, timeout)| {
                (session, timeout, self.is_alive(session), has_ephemerals(session))
            })
            .collect();
        OwnSessions { fingerprint: Fingerprint::of(&own) }
    }

    /// Returns true if the leader could delete a container or a TTL znode.
    pub fn has_reaped(&self) -> bool {
        self.log.last().tree.reaped().next().is_some()
    }

    /// Returns the fingerprint of the next transaction that a client's server notifies it of
    /// ([`Reads::Notice`]). Of the client's piece, it reads only what [`Share::listener`] covers.
    pub fn notice(&self, share: &Share) -> Fingerprint {
        let heard = share.link.next_heard(&self.log).and_then(|zxid| self.log.get(zxid));
        heard.map_or(Fingerprint::default(), |entry| entry.fired())
    }
}
