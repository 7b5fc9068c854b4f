//! A client of both servers: a connection to the real server and its twin in the model.

use super::ConformError;
use super::connection::{Connection, Received};
use super::heard::{Base, Heard};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use vivarium_model::id::{ClientConnection, ServerId, SessionId, Xid};
use vivarium_model::network::Delivered;
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::wire::{Opcodes, Password};
use vivarium_model::zxid::Zxid;
use vivarium_sim::replica::Replica;

/// How long an answer may take that the model says must come.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait for packets that the model says cannot come.
const HUSH: Duration = Duration::from_millis(300);

/// What one client received from both servers, in order.
#[derive(Clone, Debug, Default)]
pub struct Both {
    /// From the real server.
    pub real: Vec<Heard>,
    /// From the model.
    pub model: Vec<Heard>,
    /// The number of answers that the real server sent only after a ping (ZOOKEEPER-4537).
    pub kept_back: u64,
}

impl Both {
    /// Returns true if neither sent anything.
    pub fn is_empty(&self) -> bool {
        self.real.is_empty() && self.model.is_empty()
    }

    /// Appends later packets.
    pub fn extend(&mut self, later: Both) {
        self.real.extend(later.real);
        self.model.extend(later.model);
    }
}

/// A session at both servers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    /// The id at the real server.
    pub real: SessionId,
    /// The id in the model.
    pub model: SessionId,
    /// The password of the real session.
    pub password: Password,
}

/// An open connection to both servers.
#[derive(Debug)]
pub(super) struct Link {
    real: Connection,
    model: ClientConnection,
    /// The opcodes of the last packet.
    opcodes: Opcodes,
    /// The last zxids seen: of the real server, of the model.
    seen: (Zxid, Zxid),
    /// Whether either server has closed the connection.
    ended: bool,
}

/// The parameters of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// The address of the real server.
    pub address: SocketAddr,
    /// The model's twin of that server.
    pub server: ServerId,
    /// The session to reattach; `None` for a new session.
    pub session: Option<Session>,
    /// The last zxids seen: of the real server, of the model.
    pub seen: (Zxid, Zxid),
    /// The requested timeout.
    pub timeout: Duration,
    /// How long a real server may keep closing the connection because it lags behind the client.
    pub patience: Duration,
}

/// What ends a wait for packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The reply to this request.
    Reply(Xid),
    /// The answer to `addAuth`.
    Authenticated,
    /// The answer to SetWatches.
    WatchesSet,
    /// The answer to a ping.
    Pong,
    /// The end of the connection.
    End,
}

impl Until {
    fn is(self, heard: &Heard) -> bool {
        match (self, heard) {
            (_, Heard::End | Heard::Silence | Heard::Garbled(_)) => true,
            (Until::Reply(asked), Heard::Packet(ServerPacket::Reply { xid, .. })) => *xid == asked,
            (Until::Authenticated, Heard::Packet(ServerPacket::Authenticated { .. }))
            | (Until::WatchesSet, Heard::Packet(ServerPacket::WatchesSet { .. }))
            | (Until::Pong, Heard::Packet(ServerPacket::Pong)) => true,
            _ => false,
        }
    }
}

/// The beginnings of the case in the numbers of both servers.
#[derive(Clone, Debug, Default)]
pub(super) struct Bases {
    /// The beginning at the real server.
    pub real: Base,
    /// The beginning in the model.
    pub model: Base,
}

impl Link {
    /// Connects to both. Returns the answers, and the link and the session if both accepted.
    ///
    /// # Errors
    /// Fails if the real server cannot be used at all.
    pub(super) fn open(
        arrival: &Arrival,
        replica: &mut Replica,
        bases: &mut Bases,
    ) -> Result<(Both, Option<(Link, Session)>), ConformError> {
        let Arrival { address, server, session, seen, timeout, patience } = *arrival;
        let connect = |session, last_zxid_seen| ClientPacket::Connect {
            last_zxid_seen,
            timeout,
            session,
            read_only: false,
        };
        let password = session.map_or(Password::default(), |session| session.password);
        let to_real = connect(session.map(|session| session.real), seen.0);
        // A server that lags behind the client closes the connection; it will catch up soon.
        let end = Instant::now() + patience;
        let (real, answer) = loop {
            let tried = Connection::connect(address, &to_real, &password, PATIENCE)?;
            if tried.1 != Received::End || Instant::now() > end {
                break tried;
            }
            wait(Duration::from_millis(20));
        };
        let model = replica.open(server);
        replica.send(model, connect(session.map(|session| session.model), seen.1));
        let modelled = replica.receive(model);

        let real_session = match &answer {
            Received::Packet(ServerPacket::Connected { session, .. }) => Some(*session),
            _ => None,
        };
        let model_session = match &modelled {
            Some(Delivered::Packet(ServerPacket::Connected { session, .. })) => Some(*session),
            _ => None,
        };
        let sessions = real_session.zip(model_session);
        if let Some((real, model)) = sessions.filter(|_| session.is_none()) {
            bases.real.sessions.push(real);
            bases.model.sessions.push(model);
        }
        let both =
            Both {
                real: vec![heard_from_real(answer, &bases.real, Opcodes::Newest)],
                model: vec![modelled.map_or(Heard::Silence, |it| {
                    heard_from_model(it, &bases.model, Opcodes::Newest)
                })],
                kept_back: 0,
            };
        let open = sessions.map(|(its, modelled)| {
            let session = Session { real: its, model: modelled, password: real.password() };
            (Link { real, model, opcodes: Opcodes::Newest, seen, ended: false }, session)
        });
        Ok((both, open))
    }

    /// Sends a packet to both servers.
    ///
    /// # Errors
    /// Fails if the real server cannot be used at all.
    pub(super) fn send(
        &mut self,
        replica: &mut Replica,
        packet: ClientPacket,
        opcodes: Opcodes,
    ) -> Result<(), ConformError> {
        self.opcodes = opcodes;
        self.real.send(&packet, opcodes)?;
        replica.send(self.model, packet);
        Ok(())
    }

    /// Sends a different packet to each server.
    ///
    /// # Errors
    /// Fails if the real server cannot be used at all.
    pub(super) fn send_each(
        &mut self,
        replica: &mut Replica,
        (to_real, to_model): (ClientPacket, ClientPacket),
    ) -> Result<(), ConformError> {
        self.opcodes = Opcodes::Newest;
        self.real.send(&to_real, Opcodes::Newest)?;
        replica.send(self.model, to_model);
        Ok(())
    }

    /// Receives from both servers up to `until`. Reads from the real server until it has sent everything that the model
    /// has sent.
    ///
    /// # Errors
    /// Fails if the real server cannot be used at all.
    pub(super) fn listen(
        &mut self,
        replica: &mut Replica,
        until: Until,
        bases: &Bases,
    ) -> Result<Both, ConformError> {
        let mut both = Both::default();
        while let Some(delivered) = replica.receive(self.model) {
            if let Delivered::Packet(packet) = &delivered {
                self.seen.1 = self.seen.1.max(seen(packet).unwrap_or_default());
            }
            both.model.push(heard_from_model(delivered, &bases.model, self.opcodes));
            if both.model.last() == Some(&Heard::End) {
                break;
            }
        }
        if !both.model.iter().any(|heard| until.is(heard)) {
            both.model.push(Heard::Silence);
        }
        let closes = both.model.last() == Some(&Heard::End);
        let answers = both.model.last() != Some(&Heard::Silence);
        let patience = if answers { PATIENCE } else { HUSH };
        loop {
            let received = match self.real.receive(patience) {
                Ok(received) => received,
                Err(ConformError::NotUnderstood { source, .. }) => {
                    both.real.push(Heard::Garbled(source.to_string()));
                    break;
                }
                Err(error) => return Err(error),
            };
            if let Received::Packet(packet) = &received {
                self.seen.0 = self.seen.0.max(seen(packet).unwrap_or_default());
            }
            let heard = heard_from_real(received, &bases.real, self.opcodes);
            let answered = until.is(&heard);
            let over = matches!(heard, Heard::End | Heard::Silence | Heard::Garbled(_));
            both.real.push(heard);
            if over || (answered && !closes) {
                break;
            }
        }
        self.ended = both.real.last() == Some(&Heard::End) || closes;
        both.kept_back = self.real.take_kept_back();
        Ok(both)
    }

    /// Returns true if the client has a packet in the model.
    pub(super) fn has_news(&self, replica: &Replica) -> bool {
        replica.has_packet(self.model)
    }

    /// Returns the last zxids seen: of the real server, of the model.
    pub(super) fn seen(&self) -> (Zxid, Zxid) {
        self.seen
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Closes the connection to both without closing the session.
    pub(super) fn hang_up(self, replica: &mut Replica) {
        self.real.hang_up(PATIENCE);
        replica.close(self.model);
    }
}

/// Returns the zxid of a packet that a client counts as seen (rule 2.8.6).
fn seen(packet: &ServerPacket) -> Option<Zxid> {
    match packet {
        ServerPacket::Reply { zxid, .. } | ServerPacket::WatchesSet { zxid } => Some(*zxid),
        _ => None,
    }
}

fn heard_from_real(received: Received, base: &Base, opcodes: Opcodes) -> Heard {
    match received {
        Received::Packet(packet) => base.heard(packet, opcodes),
        Received::End => Heard::End,
        Received::Nothing => Heard::Silence,
    }
}

fn heard_from_model(delivered: Delivered<ServerPacket>, base: &Base, opcodes: Opcodes) -> Heard {
    match delivered {
        Delivered::Packet(packet) => base.heard(packet, opcodes),
        Delivered::End { .. } => Heard::End,
    }
}

/// Sleeps for this span of real time.
pub(super) fn wait(span: Duration) {
    let end = Instant::now() + span;
    while let Some(rest) = end.checked_duration_since(Instant::now()) {
        std::thread::sleep(rest);
    }
}
