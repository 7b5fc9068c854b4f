//! The service grain in pieces: one for each client, and one for what all share.
//!
//! What a client does depends on its own piece and on the common one, and changes no others (but for
//! messages between programs). So a search that has seen a client act in one state knows what it
//! does in all others with the same two pieces.

use super::link::{LateWrite, Link};
use super::log::Log;
use super::{Links, Service};
use crate::program::machines::{ClientNode, ProgramState, Resources};
use crate::server::prep::Prep;
use crate::vocabulary::config::Config;
use crate::vocabulary::fingerprint::{Fingerprint, Tracked};
use crate::vocabulary::id::{ClientId, SessionId};
use crate::vocabulary::zxid::Zxid;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// All that is one client's.
#[derive(Clone, Debug)]
pub struct Share {
    node: Tracked<ClientNode>,
    link: Tracked<Link>,
    /// Of its lost connections.
    late: BTreeMap<SessionId, VecDeque<LateWrite>>,
    /// How many sessions it has begun.
    sessions: u32,
}

/// What all clients share.
#[derive(Clone, Debug)]
pub struct Common {
    config: Arc<Config>,
    log: Log,
    prep: Tracked<Prep>,
    resources: Resources,
}

impl Share {
    /// What tells it from others of the same client.
    pub fn fingerprint(&self) -> Fingerprint {
        let (node, link) = (self.node.fingerprint(), self.link.fingerprint());
        Fingerprint::of(&(node, link, &self.late, self.sessions))
    }

    /// No server will ever again show this client less of the log than this, if no connection is lost
    /// and no session expires (any more); `None` where none will show it anything that is there already.
    ///
    /// A new session begins at the log's end then. But a server still closes the connections of a session
    /// that has come to its end. What is under way to the client is lost with that, and a server that has
    /// not heard of the end takes the client back at what the client has seen.
    pub fn floor(&self, common: &Common) -> Option<Zxid> {
        let (machine, link) = (&self.node.machine, &self.link);
        if self.has_finished() {
            return None;
        }
        let returns = machine.session().filter(|_| machine.state().is_alive());
        let seen = returns.map(|_| machine.last_zxid());
        let shown = (link.open && link.session.is_some()).then_some(link.view);
        let has_ended = returns.is_some_and(|session| !common.is_alive(session));
        // Who closes the session itself does not come back for it.
        match (seen, shown) {
            (Some(seen), Some(shown)) if has_ended && !machine.is_closing() => {
                Some(seen.min(shown))
            }
            _ => shown.or(seen),
        }
    }

    /// Whether the client's program has finished: no server shows it anything any more.
    pub fn has_finished(&self) -> bool {
        self.node.program == ProgramState::Finished
    }
}

impl Common {
    /// The fingerprint of all but the log.
    pub fn rest(&self) -> Fingerprint {
        Fingerprint::of(&(self.prep.fingerprint(), &self.resources))
    }

    /// The log's fingerprint, from where it can still be seen.
    pub fn log(&self, floor: Zxid) -> Fingerprint {
        self.log.fingerprint(floor)
    }

    /// The fingerprint of all transactions, as monitors can tell them.
    pub fn told(&self) -> Fingerprint {
        self.log.told()
    }

    /// Whether the leader takes a session for alive.
    fn is_alive(&self, session: SessionId) -> bool {
        self.prep.sessions().touch(session).is_some()
    }

    /// The end of the log.
    pub fn last(&self) -> Zxid {
        self.log.last().zxid()
    }
}

impl Service {
    /// What all clients share.
    pub fn common(&self) -> Common {
        Common {
            config: Arc::clone(&self.config),
            log: self.log.clone(),
            prep: self.prep.clone(),
            resources: self.resources.clone(),
        }
    }

    /// What is one client's.
    pub fn share(&self, client: ClientId) -> Share {
        let late = self.links.late.iter().filter(|(session, _)| session.client() == client);
        Share {
            node: self.clients[client.index()].clone(),
            link: self.links.links[client.index()].clone(),
            late: late.map(|(session, writes)| (*session, writes.clone())).collect(),
            sessions: self.links.sessions[client.index()],
        }
    }

    /// Whether what all clients share is the same for sure.
    pub fn has_same_common(&self, other: &Service) -> bool {
        self.log.is_shared_with(&other.log)
            && self.prep.is_shared_with(&other.prep)
            && self.resources == other.resources
    }

    /// Whether what is one client's is the same for sure.
    pub fn has_same_share(&self, other: &Service, client: ClientId) -> bool {
        let at = client.index();
        self.clients[at].is_shared_with(&other.clients[at])
            && self.links.links[at].is_shared_with(&other.links.links[at])
            && self.links.sessions[at] == other.links.sessions[at]
            && self.links.late == other.links.late
    }

    /// Put together again; the shares in the order of their clients.
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
