//! The task of one connection: bytes in, bytes out.

use super::core::Shared;
use super::peer::{Peer, Received};
use super::words::Word;
use std::io;
use std::rc::Rc;
use tokio::net::TcpStream;
use vivarium_model::id::ServerId;
use vivarium_model::packet::ServerPacket;
use vivarium_model::wire::reply::encode_refusal;
use vivarium_model::wire::request::unknown_operation;
use vivarium_model::wire::{Password, WireError};

/// The largest frame of a client (`jute.maxbuffer`).
const LARGEST: usize = 0x000f_ffff;

/// ZooKeeper's code of the error for an operation that is not known.
const UNIMPLEMENTED: i32 = -6;

/// The most that is read at once.
const READ: usize = 64 * 1024;

/// Serves a connection until one side ends it.
pub(super) async fn serve(core: Shared, stream: TcpStream, server: ServerId) {
    let _ = stream.set_nodelay(true);
    // A server that has just gone down refuses: dropping the stream does.
    let Ok(remote) = stream.peer_addr() else { return };
    let Some(peer) = core.borrow_mut().open(server, remote) else { return };
    let connection = Connection { core, stream, peer, read: Vec::new() };
    connection.run().await;
}

struct Connection {
    core: Shared,
    stream: TcpStream,
    peer: Rc<Peer>,
    /// What was read and is not yet a whole frame.
    read: Vec<u8>,
}

/// Why a connection ends.
enum Ends {
    /// The client or the network has ended it.
    Lost,
    /// The client has sent what is no frame.
    NoFrame,
    /// The server has ended it, and everything is written.
    Done,
}

impl From<io::Error> for Ends {
    fn from(_: io::Error) -> Ends {
        Ends::Lost
    }
}

impl From<WireError> for Ends {
    fn from(_: WireError) -> Ends {
        Ends::NoFrame
    }
}

impl Connection {
    async fn run(mut self) {
        while self.step().await.is_ok() {}
        self.core.borrow_mut().close(self.peer.connection);
    }

    async fn step(&mut self) -> Result<(), Ends> {
        self.flush()?;
        if self.peer.is_done() {
            return Err(Ends::Done);
        }
        let has_output = self.peer.has_output();
        // Frames wait for the session, or for the replies before a refusal; then no more is read.
        let most = if self.peer.awaits_session() { READ } else { LARGEST + READ };
        let is_full = self.peer.is_full() || self.read.len() > most;
        tokio::select! {
            writable = self.stream.writable(), if has_output => writable?,
            () = self.peer.has_news.notified() => self.take_frames()?,
            readable = self.stream.readable(), if !is_full => {
                readable?;
                self.receive()?;
            }
        }
        Ok(())
    }

    fn flush(&self) -> Result<(), Ends> {
        match self.peer.flush(|bytes| self.stream.try_write(bytes)) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn receive(&mut self) -> Result<(), Ends> {
        let mut buffer = [0; READ];
        let read = match self.stream.try_read(&mut buffer) {
            Ok(0) => return Err(Ends::Lost),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        self.read.extend_from_slice(&buffer[..read]);
        self.take_frames()
    }

    /// Takes the frames that are whole.
    fn take_frames(&mut self) -> Result<(), Ends> {
        let mut packets = Vec::new();
        let mut at = 0;
        let ended = loop {
            match self.take_frame(&mut at, &mut packets) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                // What came before is still carried out.
                Err(ends) => break Err(ends),
            }
        };
        self.read.drain(..at);
        if !packets.is_empty() {
            self.core.borrow_mut().send(self.peer.connection, packets);
        }
        ended
    }

    /// Takes the next frame. Returns false if it has not arrived.
    fn take_frame(&self, at: &mut usize, packets: &mut Vec<Received>) -> Result<bool, Ends> {
        if self.peer.awaits_session() {
            return Ok(false);
        }
        let rest = &self.read[*at..];
        let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Ok(false) };
        let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| Ends::NoFrame)?;
        if self.peer.awaits_connect()
            && let Some(word) = self.read.first_chunk().and_then(|word| Word::from_bytes(*word))
        {
            // Nothing after the word is read.
            *at = self.read.len();
            self.core.borrow_mut().answer_word(&self.peer, word);
            return Ok(false);
        }
        if length > LARGEST {
            return Err(Ends::NoFrame);
        }
        let Some(frame) = rest.get(..length) else { return Ok(false) };
        *at += 4 + length;
        if self.peer.awaits_connect() {
            packets.extend(self.connect(frame)?);
        } else {
            match self.peer.read(frame, || self.core.borrow_mut().next_number()) {
                Ok(received) => packets.push(received),
                // The replies to earlier requests come first.
                Err(_) if !packets.is_empty() || self.peer.has_outstanding() => {
                    *at -= 4 + length;
                    return Ok(false);
                }
                Err(error) => self.refuse(frame, error)?,
            }
        }
        Ok(true)
    }

    /// Answers an operation that is not known, and ends the connection after the answer.
    fn refuse(&self, frame: &[u8], error: WireError) -> Result<(), Ends> {
        let (xid, _) = unknown_operation(frame, &error).ok_or(Ends::NoFrame)?;
        self.peer.queue(&encode_refusal(xid, UNIMPLEMENTED));
        self.peer.end();
        Ok(())
    }

    /// Reads a ConnectRequest. One with a wrong password is answered as for a session that is over.
    fn connect(&self, frame: &[u8]) -> Result<Option<Received>, Ends> {
        let (packet, secret) = self.peer.connect(frame)?;
        if self.core.borrow().is_elsewhere(&packet, self.peer.server) {
            return Err(Ends::Lost);
        }
        if self.core.borrow().admits(&packet, &secret) {
            return Ok(Some(Received { packet }));
        }
        let core = self.core.borrow();
        self.peer.write(&ServerPacket::Expired, &core.clock, |_| Password::default());
        self.peer.end();
        Ok(None)
    }
}
