//! The bridge between the grains: what happened to the clients of real servers is something that
//! the service grain could have done to them.
//!
//! The monitor keeps the service grain's own account of a run, with the service grain's own
//! machinery: its [`Log`], a [`Link`](crate::service::link::Link) for every connection, and
//! [`Prep`](crate::server::prep::Prep) for what a write comes to. Every event is then a step of that account, or
//! the run is one that the service grain does not have. The zxids in transactions, replies and
//! notifications say *which* step, so nothing is searched for.
//!
//! | Event | Step of the account | Objection |
//! |---|---|---|
//! | a transaction is committed | it takes its place at the log's end | nobody sent it, it was decided already, or it is not what `prep` decides at that place ([`commits`]) |
//! | a reply is read | the server went on to the reply's zxid, and answered there | it goes back, is not what the tree there says, is no transaction's result, overtakes an event or another reply ([`answers`]) |
//! | a notification is read | the server went on to the next transaction that fires a watch, or answered SetWatches at the notification's zxid | it is not the next event of this connection ([`answers`]) |
//! | an identity is proven, accepted, refused | requests that are sent later have it; watches that fire later go by it; the connection ends | none was sent that a server accepts, or refuses ([`answers`], [`sessions`]) |
//! | a session is accepted, lost, refused, given up | a connection begins or ends | the session was over, was not over, or is somebody else's ([`sessions`]) |
//!
//! Three liberties, each because nobody could tell:
//! * A transaction that failed takes a zxid and a place in the log here. It changes no tree.
//! * What servers do is ordered by the log and not by the clock. A follower behind, or a deposed
//!   leader, does late what the service grain's server did in time: what it shows is a prefix all
//!   the same. So the service grain's run is this one with some steps moved forward.
//! * A write that was under way when its connection broke may be committed even after the session
//!   is accepted again: then it was proposed before, as the service grain has it. What settles it is
//!   the log: once a later connection's write has its place there, it has none ([`commits`]).
//!
//! Of one thing the time is not known: when a server that says that it has accepted an identity had
//! learnt of it. What it applied just before, it may have kept back from the client.
//!
//! Two things are let pass only when a leader that fell explains them; [`Monitor::measured`] counts
//! them:
//! * A leader refuses a session, having proposed its closeSession, and falls with that proposal. The
//!   client's next session then begins before the old one is closed.
//! * A deposed leader that has not noticed accepts a session after its successor closed it, or
//!   refuses one that it does not know.

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

/// The monitor that compares a run with the service grain. It keeps as much of the log as somebody
/// can still be shown (with local sessions all of it), so it is for the simulator only.
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

/// What was compared, and what of it was anything but plain.
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
    /// An empty log, and no session yet.
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

    /// What was compared so far, by name, and how often.
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
        // Only where there are such things.
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

    /// The place in the log that a zxid stands for: that of its transaction or, if it opens the
    /// epoch of an established leader, the end of what was before.
    fn place(&self, zxid: Zxid) -> Option<&Arc<Entry>> {
        let entry = self.log.up_to(zxid);
        let opens = zxid.is_opening() && self.leaders.was_established(zxid.epoch());
        (entry.zxid() == zxid || opens).then_some(entry)
    }

    /// Nobody will be shown less than this: the least that the client of a living session has seen,
    /// and the beginning of each session that no client has yet. A local session has none (rule
    /// 2.6.1): its client can be shown whatever a server that is behind still stands at.
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
            // Nobody is left to be told anything.
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
            // Time goes by all of these, also by those that say nothing more.
            Event::LeftRole { .. } | Event::Established { .. } | Event::Proposed { .. } | Event::Committed { .. }
            | Event::Crashed { .. } | Event::Restarted { .. } | Event::Exited { .. } | Event::Sent { .. }
            | Event::Replied { .. } | Event::Lost { .. } | Event::Session { .. } | Event::Notified { .. }
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
        self.log = Log::beginning_with(config.setup.tree());
    }
}

#[cfg(test)]
mod tests;
