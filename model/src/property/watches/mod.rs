//! H7: no watch is forgotten, and no event is invented.
//!
//! A one-shot watch is notified of the first change after the zxid at which it was set, a persistent one of each
//! change, with the right event type. The client reads the event before anything that shows a later tree (rules
//! 3.1.2, 3.2.1, 3.2.3). After a reconnect, each of the client's watches is set again, or the client has read the
//! event that it missed (rule 3.4.1).
//!
//! The monitor states independently, from the committed transactions ([`changes`]), which events a transaction fires
//! and which ones SetWatches must generate. It does not use the servers' tables of watches, while
//! [`Bridge`](super::Bridge) does.
//!
//! Not judged: events of a read-only server (rule 2.7.1), whose tree need not be a committed one; events of znodes
//! that some clients may not read, which a server may withhold (rule 3.1.4); and, with the behaviour of 3.8.0, where
//! watches of one path interfere (rule 3.1.5), connections that have set persistent watches or removed any.

mod changes;
mod connection;

use super::{Declaration, Declared, LooksBack, Objection};
use crate::minds;
use crate::property::Saw;
use crate::vocabulary::config::Config;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::ClientId;
use crate::vocabulary::op::{Request, Response, SessionState};
use crate::vocabulary::release::Bug;
use crate::vocabulary::zxid::Zxid;
use changes::Changes;
use connection::{Kind, Lists, Watches};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The monitor of H7. Only sweeps ask it, since it remembers every change.
#[derive(Clone, Debug, Default, Hash)]
pub struct KeptWatches {
    changes: Changes,
    /// The watches of each client that is connected to a server with a quorum and is judged.
    connected: BTreeMap<ClientId, Watches>,
    /// True if watches of one path interfere with each other (rule 3.1.5).
    as_3_8_0: bool,
}

impl KeptWatches {
    /// Returns a monitor that knows no watch.
    pub fn new() -> KeptWatches {
        KeptWatches::default()
    }

    fn session(&mut self, client: ClientId, state: SessionState) {
        if state == SessionState::SyncConnected {
            self.connected.insert(client, Watches::default());
        } else {
            self.connected.remove(&client);
        }
    }

    fn replied(
        &mut self,
        client: ClientId,
        zxid: Zxid,
        request: &Request,
        result: &Result<Response, Error>,
    ) -> Result<(), Saw> {
        let Some(watches) = self.connected.get_mut(&client) else { return Ok(()) };
        watches.shown(zxid)?;
        let (kind, path) = match (request, result) {
            (Request::GetData { path, watch: true }, Ok(_)) => (Kind::Data, path),
            (Request::Exists { path, watch: true }, Ok(_) | Err(Error::NoNode)) => {
                (Kind::Data, path)
            }
            (Request::GetChildren { path, watch: true }, Ok(_)) => (Kind::Child, path),
            (Request::AddWatch { .. } | Request::RemoveWatches { .. }, _) if self.as_3_8_0 => {
                self.connected.remove(&client);
                return Ok(());
            }
            (Request::AddWatch { path, mode }, Ok(_)) => (Kind::of(*mode), path),
            (Request::RemoveWatches { path, kind }, Ok(_)) => {
                watches.removed(*kind, path, zxid);
                return Ok(());
            }
            _ => return Ok(()),
        };
        watches.set(kind, path, zxid, &self.changes);
        Ok(())
    }

    fn rearming(&mut self, client: ClientId, lists: Lists) {
        if self.as_3_8_0 && !(lists.persistent.is_empty() && lists.recursive.is_empty()) {
            self.connected.remove(&client);
        }
        if let Some(watches) = self.connected.get_mut(&client) {
            watches.rearming(lists);
        }
    }
}

impl Declared for KeptWatches {
    const DECLARATION: Declaration<Self> =
        Declaration::in_sweeps("H7 watches are kept", LooksBack::Tip, minds! { |this, view, event|
            Committed(txn) => {
                for (path, change) in this.changes.committed(txn) {
                    this.connected.values_mut().for_each(|it| it.committed(&path, &change));
                }
            },
            Event::Session { client, state, .. } => this.session(*client, *state),
            Event::Killed { client } => {
                this.connected.remove(client);
            },
            Event::Replied { client, zxid, request, result, .. } => {
                let judged = this.replied(*client, *zxid, request, result);
                judged.map_err(|saw| this.saw(*client, saw))
            },
            Event::Notified { client, event, .. } => {
                let watches = this.connected.get_mut(client);
                let judged = watches.map_or(Ok(()), |watches| watches.notified(event));
                judged.map_err(|saw| this.saw(*client, saw))
            },
            Event::Rearming { client, relative_zxid, data, exist, child, persistent, recursive, .. } => {
                let lists = Lists {
                    relative_zxid: *relative_zxid,
                    data: data.clone(),
                    exist: exist.clone(),
                    child: child.clone(),
                    persistent: persistent.clone(),
                    recursive: recursive.clone(),
                };
                this.rearming(*client, lists);
            },
            Event::Rearmed { client, zxid, .. } => {
                let watches = this.connected.get_mut(client);
                let judged = watches.map_or(Ok(()), |watches| watches.rearmed(*zxid, &this.changes));
                judged.map_err(|saw| this.saw(*client, saw))
            },
        })
        .begin(Self::begin);
}

impl KeptWatches {
    fn begin(&mut self, config: &Arc<Config>) {
        self.changes = Changes::beginning_with(config);
        self.as_3_8_0 = config.bugs.has(Bug::OneWatchModePerPath)
            || config.bugs.has(Bug::RecursiveWatchIsChildWatch);
    }

    fn saw(&self, client: ClientId, saw: Saw) -> Objection {
        self.objection(saw.within(|saw| format!("{client} {saw}.")))
    }
}

#[cfg(test)]
mod tests;
