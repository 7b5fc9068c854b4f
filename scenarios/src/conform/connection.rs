//! A blocking connection to a real server, which sends and receives the model's packets.

use super::ConformError;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use vivarium_model::id::Xid;
use vivarium_model::op::Request;
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::wire::handshake::{decode_connected, encode_connect};
use vivarium_model::wire::reply::{answered, decode_server};
use vivarium_model::wire::request::encode_client;
use vivarium_model::wire::{Opcodes, Password};

/// How long a server may be silent before it receives a ping.
const NUDGE: Duration = Duration::from_secs(1);

/// What was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A packet.
    Packet(ServerPacket),
    /// The server closed the connection.
    End,
    /// Nothing arrived within the given time.
    Nothing,
}

/// A TCP connection to a server. Dropping it closes the connection without closing the session.
#[derive(Debug)]
pub struct Connection {
    address: SocketAddr,
    stream: TcpStream,
    password: Password,
    /// Pings sent to a silent server, whose answers are ignored.
    nudges: u32,
    /// The number of packets that arrived only after such a ping.
    kept_back: u64,
    /// Received bytes that are not yet a whole frame.
    buffer: Vec<u8>,
    /// Requests without a reply, oldest first: the order in which a server answers.
    pending: VecDeque<(Xid, Arc<Request>, Opcodes)>,
}

impl Connection {
    /// Connects and performs the handshake. The answer is [`ServerPacket::Connected`] or [`ServerPacket::Expired`], or
    /// [`Received::End`] if the server closed the connection instead (because it lags behind the client or does not
    /// serve). `password` is that of the session to reattach.
    ///
    /// # Panics
    ///
    /// Panics if `connect` is not [`ClientPacket::Connect`].
    pub fn connect(
        address: SocketAddr,
        connect: &ClientPacket,
        password: &Password,
        patience: Duration,
    ) -> Result<(Connection, Received), ConformError> {
        let open = || {
            let stream = TcpStream::connect_timeout(&address, patience)?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        let stream = open().map_err(|source| ConformError::Connect { address, source })?;
        let mut connection = Connection {
            address,
            stream,
            password: *password,
            nudges: 0,
            kept_back: 0,
            buffer: Vec::new(),
            pending: VecDeque::new(),
        };
        connection.send_frame(&encode_connect(connect, password))?;
        let answer = match connection.nudged_frame(patience)? {
            Frame::Whole(frame) => {
                let (packet, password) =
                    decode_connected(&frame).map_err(|source| connection.not_understood(source))?;
                connection.password = password;
                Received::Packet(packet)
            }
            Frame::End => Received::End,
            Frame::Nothing => return Err(ConformError::NoHandshake { address, patience }),
        };
        Ok((connection, answer))
    }

    /// Returns the password of the session, to reattach it elsewhere.
    pub fn password(&self) -> Password {
        self.password
    }

    /// Returns the server's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a packet. If the server has closed the connection, only `receive` reports this.
    ///
    /// # Panics
    ///
    /// Panics on [`ClientPacket::Connect`].
    pub fn send(&mut self, packet: &ClientPacket, opcodes: Opcodes) -> Result<(), ConformError> {
        if let ClientPacket::Request { xid, request } = packet {
            self.pending.push_back((*xid, Arc::clone(request), opcodes));
        }
        self.send_frame(&encode_client(packet, opcodes))
    }

    /// Waits at most `patience` for the next packet.
    pub fn receive(&mut self, patience: Duration) -> Result<Received, ConformError> {
        let nudges = self.nudges;
        loop {
            match self.receive_one(patience)? {
                Received::Packet(ServerPacket::Pong) if self.nudges > 0 => self.nudges -= 1,
                received => {
                    // The pong follows this packet, because the server answers a session in order.
                    if self.nudges > nudges && matches!(received, Received::Packet(_)) {
                        self.kept_back += 1;
                    }
                    return Ok(received);
                }
            }
        }
    }

    /// Returns the number of answers since the last call that the server sent only after a ping.
    pub(super) fn take_kept_back(&mut self) -> u64 {
        std::mem::take(&mut self.kept_back)
    }

    fn receive_one(&mut self, patience: Duration) -> Result<Received, ConformError> {
        let frame = match self.nudged_frame(patience)? {
            Frame::Whole(frame) => frame,
            Frame::End => return Ok(Received::End),
            Frame::Nothing => return Ok(Received::Nothing),
        };
        let xid = answered(&frame).map_err(|source| self.not_understood(source))?;
        let place = self.pending.iter().position(|(pending, ..)| Some(*pending) == xid);
        let asked = place.and_then(|place| self.pending.remove(place));
        let opcodes = asked.as_ref().map_or(Opcodes::Newest, |(_, _, opcodes)| *opcodes);
        let request = asked.as_ref().map(|(_, request, _)| &**request);
        let packet = decode_server(&frame, opcodes, request)
            .map_err(|source| self.not_understood(source))?;
        Ok(Received::Packet(packet))
    }

    /// Closes the connection without closing the session, and waits until the server has noticed. When an older
    /// connection of a session ends, a server forgets which connection the session has
    /// (`NIOServerCnxnFactory.removeCnxn`). So a client that reconnects immediately may find both connections alive.
    pub fn hang_up(mut self, patience: Duration) {
        let silenced = self.stream.shutdown(Shutdown::Write);
        while silenced.is_ok() {
            match self.receive_frame(patience) {
                Ok(Frame::Whole(_)) => {}
                Ok(Frame::End | Frame::Nothing) | Err(_) => return,
            }
        }
    }

    fn not_understood(&self, source: vivarium_model::wire::WireError) -> ConformError {
        ConformError::NotUnderstood { address: self.address, source }
    }

    fn lost(&self, source: io::Error) -> ConformError {
        ConformError::Connect { address: self.address, source }
    }

    fn send_frame(&mut self, frame: &[u8]) -> Result<(), ConformError> {
        let length = i32::try_from(frame.len()).expect("a frame is below two gigabytes");
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend(frame);
        match self.stream.write_all(&bytes) {
            // Packets that the server sent before it closed the connection are still to be received.
            Err(error) if is_end(&error) => Ok(()),
            other => other.map_err(|source| self.lost(source)),
        }
    }

    /// Receives a frame; sends a ping to a server that is silent for long. A server of 3.6.0 to 3.8.0 can leave an
    /// answer unsent until another packet arrives on the connection, because its CommitProcessor misses a wake-up
    /// (ZOOKEEPER-4537, repaired in 3.8.1). This was observed in ensembles, about once in a few thousand answers.
    fn nudged_frame(&mut self, patience: Duration) -> Result<Frame, ConformError> {
        if patience <= NUDGE {
            return self.receive_frame(patience);
        }
        match self.receive_frame(NUDGE)? {
            Frame::Nothing => {
                self.nudges += 1;
                self.send_frame(&encode_client(&ClientPacket::Ping, Opcodes::Newest))?;
                self.receive_frame(patience - NUDGE)
            }
            frame => Ok(frame),
        }
    }

    fn receive_frame(&mut self, patience: Duration) -> Result<Frame, ConformError> {
        let end = Instant::now() + patience;
        loop {
            if let Some(frame) = self.whole_frame() {
                return Ok(Frame::Whole(frame));
            }
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Ok(Frame::Nothing);
            }
            self.stream.set_read_timeout(Some(rest)).map_err(|source| self.lost(source))?;
            let mut piece = [0; 8192];
            match self.stream.read(&mut piece) {
                Ok(0) => return Ok(Frame::End),
                Ok(length) => self.buffer.extend(&piece[..length]),
                Err(error) if is_end(&error) => return Ok(Frame::End),
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(self.lost(error)),
            }
        }
    }

    /// Removes the first frame from the buffer, if it is complete.
    fn whole_frame(&mut self) -> Option<Vec<u8>> {
        let (length, rest) = self.buffer.split_first_chunk::<4>()?;
        let frame = rest.get(..u32::from_be_bytes(*length) as usize)?.to_vec();
        self.buffer.drain(..4 + frame.len());
        Some(frame)
    }
}

enum Frame {
    Whole(Vec<u8>),
    End,
    Nothing,
}

/// Returns true if the error means that the other side has closed the connection.
fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
    )
}

/// Returns true if the error means that there is nothing to read yet.
fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
