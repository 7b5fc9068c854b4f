//! The packets that a client machine reads, and the duties that follow.

use super::{Account, Stage, Taken};
use crate::program::host::{Input, Outcome};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::op::{Request, Response, SessionState, WatchedEvent};
use crate::vocabulary::packet::ServerPacket;
use crate::vocabulary::zxid::Zxid;
use std::mem::take;
use std::sync::Arc;

use super::super::watches::Watch;

impl Account {
    pub(in crate::property::client) fn read(&mut self, packet: &ServerPacket) {
        match (self.stage, packet) {
            (Stage::Connecting, ServerPacket::Connected { session, read_only, .. }) => {
                self.established(*session, *read_only);
            }
            (Stage::Connecting, ServerPacket::Expired) => {
                self.duties.hang_up = true;
                self.over(SessionState::Expired);
            }
            (Stage::Connected, ServerPacket::Reply { xid, zxid, result }) => {
                self.replied(*xid, *zxid, result);
            }
            (Stage::Connected, ServerPacket::Notification(event)) => self.notified(event),
            (Stage::Connected, ServerPacket::WatchesSet { zxid }) => {
                self.seen = self.seen.max(*zxid);
            }
            (Stage::Connected, ServerPacket::Authenticated { result: Err(_) }) => {
                self.duties.hang_up = true;
                self.over(SessionState::AuthFailed);
            }
            (
                Stage::Connected,
                ServerPacket::Pong | ServerPacket::Authenticated { result: Ok(()) },
            ) => {}
            _ => self.mismatched(),
        }
    }

    /// Hangs up after a packet that no server sends which keeps to the protocol.
    fn mismatched(&mut self) {
        self.duties.hang_up = true;
        self.lost();
    }

    pub(super) fn established(&mut self, session: SessionId, read_only: bool) {
        self.stage = Stage::Connected;
        self.session = Some(session);
        self.is_known |= !read_only;
        self.owe_state(match read_only {
            true => SessionState::ConnectedReadOnly,
            false => SessionState::SyncConnected,
        });
        if !self.closing {
            for call in take(&mut self.connects) {
                self.owe(Input::Reply { call, outcome: Outcome::Connected(session) });
            }
        }
        self.duties.auths = self.identities.iter().cloned().collect();
        let lists = self.watches.lists();
        let any = lists.iter().any(|paths| !paths.is_empty());
        self.duties.watches = any.then_some((self.seen, lists));
    }

    pub(super) fn replied(&mut self, xid: Xid, zxid: Zxid, result: &Result<Response, Error>) {
        if self.requests.front().is_none_or(|oldest| oldest.xid != Some(xid)) {
            return self.mismatched();
        }
        let taken = self.requests.pop_front().expect("it was just looked at");
        self.sent -= 1;
        if zxid > Zxid::ZERO {
            self.seen = zxid;
        }
        let closes = *taken.request == Request::CloseSession;
        self.finish(taken, result);
        if closes {
            self.duties.hang_up = true;
            self.over(SessionState::Closed);
        }
    }

    pub(super) fn notified(&mut self, event: &WatchedEvent) {
        let own = WatchedEvent { path: self.prefix.own(&event.path), ..event.clone() };
        let mut nearest = None;
        for (distance, input) in self.watches.fire(event, &own) {
            if nearest != Some(distance) {
                self.next_turn();
                nearest = Some(distance);
            }
            self.owed.push_back((self.turn, self.now, input));
        }
    }

    /// Finishes a request: sets its watch, removes watches if it asks to, and answers its call.
    pub(super) fn finish(&mut self, taken: Taken, result: &Result<Response, Error>) {
        let Taken { request, call, watch, local, .. } = taken;
        if let Some(watch) = watch.and_then(|watch| Watch::set_by(&request, result, watch)) {
            self.watches.set(watch);
        }
        let result = match &*request {
            Request::RemoveWatches { path, kind } if !self.watches.has(path, *kind) => {
                Err(Error::NoWatcher)
            }
            Request::RemoveWatches { path, kind } if result.is_ok() || local => {
                let turn = self.next_turn();
                let path_told = self.prefix.own(path);
                for (call, kind) in self.watches.remove(path, *kind) {
                    let path = Arc::clone(&path_told);
                    let event = WatchedEvent { kind, path, zxid: Zxid::ZERO };
                    let input = Input::Reply { call, outcome: Outcome::Watch(Ok(event)) };
                    self.owed.push_back((turn, self.now, input));
                }
                Ok(Response::Watches)
            }
            _ => self.prefix.result(result),
        };
        if let Some(call) = call {
            self.answer(call, result);
        }
    }
}
