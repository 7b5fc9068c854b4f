//! The bridge between the grains: clients of real servers observe only what the service grain allows.
//!
//! The monitor keeps the service grain's account of a run, with the service grain's own machinery: its [`Log`], a
//! [`Link`](crate::service::link::Link) for every connection, and [`Prep`](crate::server::prep::Prep) for the results
//! of writes. Every event of the run must be a step of that account; otherwise the service grain does not have the
//! run. The zxids in transactions, replies and notifications determine the step, so the monitor searches for nothing.
//!
//! | Event | Step of the account | Objection |
//! |---|---|---|
//! | a transaction is committed | the transaction is appended to the log | no client sent it, it was committed before, or it is not what `prep` decides at the log's end ([`commits`]) |
//! | a reply is read | the server applies up to the reply's zxid, and answers there | the zxid is lower than an earlier one, the result is not that of the tree or the transaction there, or the reply overtakes an event or another reply ([`answers`]) |
//! | a notification is read | the server applies the next transaction that fires a watch, or answers SetWatches at the notification's zxid | it is not the next event of this connection ([`answers`]) |
//! | an identity is proven, accepted, refused | requests that are sent later have it; watches that fire later are checked by it; the connection ends | the client sent no proof that a server accepts, or refuses ([`answers`], [`sessions`]) |
//! | a session is accepted, lost, refused, given up | a connection begins or ends | the session had ended, had not ended, or belongs to another client ([`sessions`]) |
//!
//! The account differs from the run in three ways that no client can observe:
//! * A failed transaction has a zxid and a place in the log here. It changes no tree.
//! * The log orders the servers' steps, not the clock. A lagging follower or a deposed leader does late what the
//!   service grain's server did in time, but still shows a prefix of the log. So the service grain's run is this one
//!   with some steps moved forward.
//! * A write that was in flight when its connection broke may be committed even after the session is accepted again;
//!   the service grain proposes it before. Once a write of a later connection is in the log, the older write can no
//!   longer be committed ([`commits`]).
//!
//! One time is unknown: when a server that says that it has accepted an identity learnt the identity. The server may
//! have withheld from the client what it applied just before.
//!
//! Two kinds of events are allowed only if a fallen leader explains them; [`Monitor::measured`] counts them:
//! * A leader refuses a session after it has proposed the closeSession, and falls with that proposal. The client's
//!   next session then begins before the old one is closed.
//! * A deposed leader that has not noticed its end accepts a session after its successor has closed it, or refuses a
//!   session that it does not know.

mod account;
mod answers;
mod commits;
mod counters;
mod sessions;

use crate::minds;
use crate::property::Saw;
use crate::property::{Declaration, Declared, LooksBack, Unhashed};
use crate::service::log::{Entry, Log};
use crate::vocabulary::config::Config;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientId, SessionId};
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::setup::Setup;
use crate::vocabulary::zxid::Zxid;
use account::{Account, Client, Leaders};
use counters::Counters;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The monitor that compares a run with the service grain. It keeps the part of the log that a client can still be
/// shown (with local sessions, the whole log), so it is for the simulator only.
#[derive(Clone, Debug, Hash)]
pub struct Bridge {
    config: Arc<Config>,
    log: Log,
    counters: Counters,
    sessions: BTreeMap<SessionId, Account>,
    clients: BTreeMap<ClientId, Client>,
    leaders: Leaders,
    counts: Unhashed<Counts>,
}

/// How often the monitor compared each kind of event, with the unusual ones counted separately.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    decided: u64,
    failed: u64,
    moved: u64,
    late: u64,
    pending: u64,
    outstanding: u64,
    reads: u64,
    stale: u64,
    fired: u64,
    made_up: u64,
    accepted: u64,
    accepted_after_close: u64,
    begun_before_close: u64,
    unknown: u64,
    local: u64,
    upgraded: u64,
    read_only: u64,
}

impl Hash for Log {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint(self.first().zxid()).hash(state);
    }
}

impl Default for Bridge {
    fn default() -> Bridge {
        Bridge::new()
    }
}

impl Bridge {
    /// Returns a monitor with an empty log and no session.
    pub fn new() -> Bridge {
        Bridge {
            config: Arc::new(Config::new(1, 0)),
            log: Log::beginning_with(Setup::NONE.tree()),
            counters: Counters::default(),
            sessions: BTreeMap::new(),
            clients: BTreeMap::new(),
            leaders: Leaders::default(),
            counts: Unhashed::default(),
        }
    }

    /// Returns the name of each kind of comparison, and how often the monitor made it.
    pub fn compared(&self) -> Vec<(&'static str, u64)> {
        let Counts { decided, failed, moved, late, pending, .. } = *self.counts;
        let Counts { reads, stale, fired, made_up, .. } = *self.counts;
        let Counts { accepted, accepted_after_close, begun_before_close, unknown, .. } =
            *self.counts;
        let Counts { outstanding, local, upgraded, read_only, .. } = *self.counts;
        [
            ("writes decided alike", decided),
            ("of these, failed alike", failed),
            ("writes refused because the session had moved", moved),
            ("lost writes committed after the loss", late),
            ("lost writes committed after the session was accepted again", pending),
            ("reads answered alike", reads),
            ("of these, below the log's end", stale),
            ("notifications of watches that fired", fired),
            ("notifications made up by SetWatches", made_up),
            ("sessions accepted", accepted),
            ("sessions accepted after their closeSession", accepted_after_close),
            ("sessions begun before the client's last one was closed", begun_before_close),
            ("connections of sessions older than what is remembered", unknown),
        ]
        .into_iter()
        // These are listed only if they occurred.
        .chain(
            [
                ("writes decided alike over what was outstanding", outstanding),
                ("local sessions begun", local),
                ("local sessions upgraded", upgraded),
                ("read-only connections", read_only),
            ]
            .into_iter()
            .filter(|(_, count)| *count > 0),
        )
        .collect()
    }

    /// Returns the entry of the log that a zxid refers to: the entry of its transaction or, if the zxid opens the
    /// epoch of an established leader, the last entry before it.
    fn place(&self, zxid: Zxid) -> Option<&Arc<Entry>> {
        let entry = self.log.up_to(zxid);
        let opens = zxid.is_opening() && self.leaders.was_established(zxid.epoch());
        (entry.zxid() == zxid || opens).then_some(entry)
    }

    /// Returns a zxid below which no client can be shown the log: the lowest of the zxids that clients of living
    /// sessions have seen, and of the createSessions of sessions without a client yet. With local sessions the bound
    /// is zero: a local session has no createSession (rule 2.6.1), so its client can be shown any prefix that a
    /// lagging server still has.
    fn floor(&self) -> Zxid {
        if self.config.options.local_sessions {
            return Zxid::ZERO;
        }
        let seen = self.clients.values().filter(|client| client.session.is_some());
        let seen = seen.map(|client| client.last_zxid);
        let begun = self.sessions.values().filter_map(Account::awaits_its_client_since);
        seen.chain(begun).min().unwrap_or(self.log.last().zxid())
    }

    fn step(&mut self, event: &Event) -> Result<(), Saw> {
        match event {
            Event::Committed { txn, .. } => self.committed(txn),
            Event::Sent { client, session, xid, request, .. } => {
                self.sent(*client, *session, *xid, request)
            }
            Event::Replied { client, session, xid, zxid, request, result, .. } => {
                let reply = answers::Reply { xid: *xid, zxid: *zxid, request, result };
                Ok(self.replied(*client, *session, &reply)?)
            }
            Event::Refused { client, session, xid, request } => {
                Ok(self.refused(*client, *session, *xid, request)?)
            }
            Event::Lost { client, session, xid, request } => {
                Ok(self.lost(*client, *session, *xid, request)?)
            }
            Event::Notified { client, session, event } => {
                Ok(self.notified(*client, *session, event)?)
            }
            Event::Rearming {
                client,
                session,
                relative_zxid,
                data,
                exist,
                child,
                persistent,
                recursive,
            } => {
                let packet = ClientPacket::SetWatches {
                    relative_zxid: *relative_zxid,
                    data: data.clone(),
                    exist: exist.clone(),
                    child: child.clone(),
                    persistent: persistent.clone(),
                    recursive: recursive.clone(),
                };
                Ok(self.rearming(*client, *session, *relative_zxid, packet)?)
            }
            Event::Authenticating { client, session, scheme, auth } => {
                Ok(self.authenticating(*client, *session, scheme, auth)?)
            }
            Event::Authenticated { client, session } => Ok(self.authenticated(*client, *session)?),
            Event::Rearmed { client, session, zxid } => Ok(self.rearmed(*client, *session, *zxid)?),
            Event::Session { client, session, server, state } => {
                Ok(self.session(*client, *session, *server, *state)?)
            }
            // The client's program is gone, so it reads nothing more.
            Event::Killed { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. } => {
                self.clients.remove(client);
                Ok(())
            }
            server => {
                self.server(server);
                Ok(())
            }
        }
    }
}

impl Declared for Bridge {
    const DECLARATION: Declaration<Self> =
        Declaration::in_sweeps("bridge", LooksBack::Whole, minds! { |this, view, event|
            // Each of these events advances the bridge's clock, even if it has no other effect.
            Event::LeftRole { .. } | Event::Established { .. } | Event::Proposed { .. } | Event::Committed { .. }
            | Event::Crashed { .. } | Event::Restarted { .. } | Event::Exited { .. } | Event::Sent { .. }
            | Event::Replied { .. } | Event::Lost { .. } | Event::Refused { .. } | Event::Session { .. } | Event::Notified { .. }
            | Event::Rearming { .. } | Event::Authenticating { .. } | Event::Authenticated { .. }
            | Event::Rearmed { .. } | Event::LearnsOfEnd { .. } | Event::Started { .. } | Event::Finished { .. }
            | Event::Panicked { .. } | Event::Killed { .. } | Event::Paused { .. } | Event::Resumed { .. }
            | Event::Cancelled { .. } => {
                this.leaders.tick();
                this.step(event).map_err(|saw| this.objection(saw))
            },
        })
        .begin(Self::begin);
}

impl Bridge {
    fn begin(&mut self, config: &Arc<Config>) {
        self.config = Arc::clone(config);
        self.log = Log::beginning_with(config.first_tree());
    }
}

#[cfg(test)]
mod tests;
