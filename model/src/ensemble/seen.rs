//! What clients outside of the run send and read, as the events that a client machine would report: the monitors of clients
//! (H*) judge by them what servers have answered to a client of any language.
//!
//! A packet counts as read when the client's end of the connection has received it. What the client itself has to do is taken
//! from its packets: the watches that it sets again, the identities that it proves. A client that does not keep to the
//! protocol is no evidence against servers, so these are not judged:
//!
//! * a session whose client re-attached it with a smaller zxid than it had read (rule 2.1.2), sent anything before its
//!   ConnectRequest was answered, or sent a second one: no event of it is reported any more ([`Seen::unjudged`] counts such
//!   sessions);
//! * what a connection reads after its session has re-attached by another one.

use crate::vocabulary::effect::Effects;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientConnection, ClientId, ServerId, SessionId, Xid};
use crate::vocabulary::op::{Request, SessionState};
use crate::vocabulary::packet::{self, ClientPacket, Delivered, ServerPacket};
use crate::vocabulary::zxid::Zxid;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// What clients outside have sent and read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    connections: BTreeMap<ClientConnection, Connection>,
    /// For each session, the largest zxid that its client has read.
    read: BTreeMap<SessionId, Zxid>,
    unjudged: BTreeSet<SessionId>,
}

/// One connection, from its ConnectRequest on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Connection {
    server: ServerId,
    /// The session that the client asked for, later the one that it has.
    session: Option<SessionId>,
    is_connected: bool,
    /// False if the client has not kept to the protocol.
    is_judged: bool,
    /// Requests without a reply.
    in_flight: VecDeque<(Xid, Arc<Request>)>,
}

impl Seen {
    /// Returns the number of sessions that are not judged any more.
    pub(super) fn unjudged(&self) -> usize {
        self.unjudged.len()
    }

    /// Takes a packet that a client sends.
    pub(super) fn sends(
        &mut self,
        connection: ClientConnection,
        server: ServerId,
        packet: &ClientPacket,
        effects: &mut Effects,
    ) {
        let seen = self.connections.get_mut(&connection);
        match (packet, seen) {
            (ClientPacket::Connect { session, last_zxid_seen, .. }, None) => {
                self.connects(connection, server, *session, *last_zxid_seen, effects);
            }
            // A server reads nothing before a ConnectRequest.
            (_, None) => {}
            (_, Some(seen)) if !seen.is_judged => {}
            (ClientPacket::Connect { .. }, Some(_)) => self.breaks_protocol(connection, effects),
            (packet, Some(seen)) => match seen.session.filter(|_| seen.is_connected) {
                None => self.breaks_protocol(connection, effects),
                Some(session) => seen.sent(connection, session, packet, effects),
            },
        }
    }

    /// The client does not keep to the protocol: nothing of its session is judged any more.
    fn breaks_protocol(&mut self, connection: ClientConnection, effects: &mut Effects) {
        let Some(seen) = self.connections.get(&connection) else { return };
        let (server, session) = (seen.server, seen.session);
        self.ends(connection, effects);
        self.leaves_unjudged(session);
        let in_flight = VecDeque::new();
        let seen = Connection { server, session, is_connected: false, is_judged: false, in_flight };
        self.connections.insert(connection, seen);
    }

    fn leaves_unjudged(&mut self, session: Option<SessionId>) {
        if let Some(session) = session {
            self.unjudged.insert(session);
            self.read.remove(&session);
        }
    }

    fn connects(
        &mut self,
        connection: ClientConnection,
        server: ServerId,
        session: Option<SessionId>,
        last_zxid_seen: Zxid,
        effects: &mut Effects,
    ) {
        if let Some(session) = session {
            let is_of =
                |(_, seen): &(&ClientConnection, &Connection)| seen.session == Some(session);
            let others: Vec<ClientConnection> =
                self.connections.iter().filter(is_of).map(|(connection, _)| *connection).collect();
            others.into_iter().for_each(|other| self.ends(other, effects));
            if self.read.get(&session).is_some_and(|read| last_zxid_seen < *read) {
                self.leaves_unjudged(Some(session));
            }
            if self.unjudged.contains(&session) {
                return;
            }
        }
        let in_flight = VecDeque::new();
        let seen = Connection { server, session, is_connected: false, is_judged: true, in_flight };
        self.connections.insert(connection, seen);
    }

    /// Takes what a client has read: a packet or the end of its connection.
    pub(super) fn reads(
        &mut self,
        connection: ClientConnection,
        delivered: &Delivered<ServerPacket>,
        effects: &mut Effects,
    ) {
        let packet = match delivered {
            Delivered::End { .. } => return self.ends(connection, effects),
            Delivered::Packet(packet) => packet,
        };
        let Some(seen) = self.connections.get_mut(&connection) else { return };
        if !seen.is_judged {
            if let ServerPacket::Connected { session, .. } = packet {
                self.leaves_unjudged(Some(*session));
            }
            return;
        }
        let client = connection.client;
        let Some(session) = seen.session.filter(|_| seen.is_connected) else {
            return self.answered(connection, packet, effects);
        };
        match packet {
            ServerPacket::Reply { xid, zxid, result } => {
                if seen.in_flight.front().is_none_or(|(oldest, _)| oldest != xid) {
                    return self.mismatched(connection, packet, effects);
                }
                let (xid, request) = seen.in_flight.pop_front().expect("its number was compared");
                let is_close = *request == Request::CloseSession;
                let (zxid, result) = (*zxid, result.clone());
                if packet::is_refused(zxid, &result) {
                    effects.event(Event::Refused { client, session, xid, request });
                    return;
                }
                effects.event(Event::Replied {
                    client,
                    session,
                    connection,
                    xid,
                    zxid,
                    request,
                    result,
                });
                self.has_read(session, zxid);
                if is_close {
                    self.is_over(connection, SessionState::Closed, None, effects);
                }
            }
            ServerPacket::Notification(event) => {
                effects.event(Event::Notified { client, session, event: event.clone() });
            }
            ServerPacket::Pong => {}
            ServerPacket::Authenticated { result: Ok(()) } => {
                effects.event(Event::Authenticated { client, session });
            }
            // The server closes the connection, and the session goes on. Apache's client gives it up then; others re-attach.
            ServerPacket::Authenticated { result: Err(_) } => self.ends(connection, effects),
            ServerPacket::WatchesSet { zxid } => {
                effects.event(Event::Rearmed { client, session, zxid: *zxid });
                self.has_read(session, *zxid);
            }
            ServerPacket::Connected { .. } | ServerPacket::Expired => {
                self.mismatched(connection, packet, effects);
            }
        }
    }

    /// Takes the answer to a ConnectRequest.
    fn answered(
        &mut self,
        connection: ClientConnection,
        packet: &ServerPacket,
        effects: &mut Effects,
    ) {
        let Some(seen) = self.connections.get_mut(&connection) else { return };
        match packet {
            ServerPacket::Connected { session, read_only, .. } => {
                (seen.session, seen.is_connected) = (Some(*session), true);
                let state = match read_only {
                    true => SessionState::ConnectedReadOnly,
                    false => SessionState::SyncConnected,
                };
                effects.event(state_of(connection.client, *session, Some(seen.server), state));
            }
            ServerPacket::Expired if seen.session.is_some() => {
                let server = seen.server;
                self.is_over(connection, SessionState::Expired, Some(server), effects);
            }
            packet => self.mismatched(connection, packet, effects),
        }
    }

    fn has_read(&mut self, session: SessionId, zxid: Zxid) {
        let read = self.read.entry(session).or_default();
        *read = zxid.max(*read);
    }

    /// The client hangs up, or has read the end of its connection.
    pub(super) fn ends(&mut self, connection: ClientConnection, effects: &mut Effects) {
        let Some(seen) = self.connections.remove(&connection) else { return };
        let Some(session) = seen.session.filter(|_| seen.is_connected) else { return };
        seen.loses(connection.client, session, effects);
        effects.event(state_of(connection.client, session, None, SessionState::Disconnected));
    }

    /// The session has ended for its client.
    fn is_over(
        &mut self,
        connection: ClientConnection,
        state: SessionState,
        server: Option<ServerId>,
        effects: &mut Effects,
    ) {
        let Some(seen) = self.connections.remove(&connection) else { return };
        let Some(session) = seen.session else { return };
        self.read.remove(&session);
        seen.loses(connection.client, session, effects);
        effects.event(state_of(connection.client, session, server, state));
    }

    /// The server has sent what no server may send here. Nothing more of the connection is judged.
    fn mismatched(
        &mut self,
        connection: ClientConnection,
        packet: &ServerPacket,
        effects: &mut Effects,
    ) {
        let Some(seen) = self.connections.get(&connection) else { return };
        effects.event(Event::Mismatched {
            client: connection.client,
            session: seen.session,
            connection,
            packet: packet.clone(),
            awaited: seen.in_flight.front().map(|(oldest, _)| *oldest),
        });
        self.ends(connection, effects);
    }
}

impl Connection {
    /// Reports a packet that was sent in a session.
    fn sent(
        &mut self,
        connection: ClientConnection,
        session: SessionId,
        packet: &ClientPacket,
        effects: &mut Effects,
    ) {
        let client = connection.client;
        match packet.clone() {
            ClientPacket::Request { xid, request } => {
                self.in_flight.push_back((xid, Arc::clone(&request)));
                effects.event(Event::Sent { client, session, connection, xid, request });
            }
            ClientPacket::Auth { scheme, auth } => {
                effects.event(Event::Authenticating { client, session, scheme, auth });
            }
            ClientPacket::SetWatches {
                relative_zxid,
                data,
                exist,
                child,
                persistent,
                recursive,
            } => effects.event(Event::Rearming {
                client,
                session,
                relative_zxid,
                data,
                exist,
                child,
                persistent,
                recursive,
            }),
            ClientPacket::Ping => {}
            ClientPacket::Connect { .. } => unreachable!("it is sent in no session"),
        }
    }

    /// Reports the requests that will not be answered.
    fn loses(self, client: ClientId, session: SessionId, effects: &mut Effects) {
        for (xid, request) in self.in_flight {
            effects.event(Event::Lost { client, session, xid, request });
        }
    }
}

fn state_of(
    client: ClientId,
    session: SessionId,
    server: Option<ServerId>,
    state: SessionState,
) -> Event {
    Event::Session { client, session: Some(session), server, state }
}
