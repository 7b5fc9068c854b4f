//! One connection: what a client sends as packets, and what it is to read as bytes.

use super::clock::Clock;
use super::counters::Counters;
use super::words;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use vivarium_model::id::{ClientConnection, ServerId, SessionId, Xid};
use vivarium_model::op::{Op, Request};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::time::Time;
use vivarium_model::wire::handshake::{decode_connect, encode_connected};
use vivarium_model::wire::reply::encode_server;
use vivarium_model::wire::request::decode_client;
use vivarium_model::wire::{Opcodes, Password, WireError};
use vivarium_model::zxid::Zxid;

/// The most bytes that wait to be written before the client's requests wait as well.
pub(super) const MOST_QUEUED: usize = 1024 * 1024;

/// The most requests without a reply before more of them wait.
pub(super) const MOST_OUTSTANDING: usize = 1_000;

/// A packet of a client.
pub(super) struct Received {
    pub(super) packet: ClientPacket,
}

/// A request without a reply.
struct Outstanding {
    /// The number that the request has in the run.
    xid: Xid,
    /// The number that the client has given it, which may be any.
    own: [u8; 4],
    request: Arc<Request>,
    opcodes: Opcodes,
    since: Instant,
}

/// One connection of a client.
pub(super) struct Peer {
    pub(super) connection: ClientConnection,
    pub(super) server: ServerId,
    out: RefCell<Vec<u8>>,
    outstanding: RefCell<VecDeque<Outstanding>>,
    /// The xids of SetWatches without an answer. Most clients send -8, but Apache's Java client numbers them as requests.
    rearming: RefCell<VecDeque<[u8; 4]>>,
    session: Cell<Option<SessionId>>,
    pub(super) counters: Counters,
    has_asked: Cell<bool>,
    /// True for a client before 3.4, whose handshake has no `readOnly`.
    is_old: Cell<bool>,
    is_answered: Cell<bool>,
    has_ended: Cell<bool>,
    last_zxid: Cell<Zxid>,
    /// With virtual time: how often the client pings, the last time that it was done for it, and the pings without an answer.
    timeout: Cell<Duration>,
    pinged: Cell<Time>,
    own_pings: Cell<u32>,
    pub(super) has_news: Notify,
}

impl Peer {
    pub(super) fn new(connection: ClientConnection, server: ServerId, counters: Counters) -> Peer {
        Peer {
            session: Cell::new(None),
            counters,
            connection,
            server,
            out: RefCell::default(),
            outstanding: RefCell::default(),
            rearming: RefCell::default(),
            has_asked: Cell::new(false),
            is_old: Cell::new(false),
            is_answered: Cell::new(false),
            has_ended: Cell::new(false),
            last_zxid: Cell::new(Zxid::ZERO),
            timeout: Cell::new(Duration::ZERO),
            pinged: Cell::new(Time::ZERO),
            own_pings: Cell::new(0),
            has_news: Notify::new(),
        }
    }

    /// Returns true if the next frame is a ConnectRequest.
    pub(super) fn awaits_connect(&self) -> bool {
        !self.has_asked.get()
    }

    /// Returns true if the ConnectRequest is not answered yet. Until then a server reads nothing more (`disableRecv` of
    /// `ServerCnxn`).
    pub(super) fn awaits_session(&self) -> bool {
        self.has_asked.get() && !self.is_answered.get() && !self.has_ended.get()
    }

    /// Reads a ConnectRequest.
    pub(super) fn connect(&self, frame: &[u8]) -> Result<(ClientPacket, Password), WireError> {
        self.counters.totals.receive();
        let decoded = decode_connect(frame)?;
        self.has_asked.set(true);
        self.is_old.set(ends_with_password(frame));
        Ok(decoded)
    }

    /// Reads any other frame. A request gets a number that no other request of the run has: some clients begin again with 1 on
    /// each connection, and then a write whose outcome is unknown has the number of another one in the same session.
    pub(super) fn read(
        &self,
        frame: &[u8],
        number: impl FnOnce() -> Xid,
    ) -> Result<Received, WireError> {
        self.counters.totals.receive();
        let own = *frame.first_chunk().unwrap_or(&[0; 4]);
        let (mut packet, opcodes) = match i32::from_be_bytes(own) {
            0.. => decode_client(frame)?,
            _ => decode_client(&[&[0; 4], &frame[4..]].concat())?,
        };
        if let ClientPacket::Request { xid, request } = &mut packet {
            let (request, since) = (Arc::clone(request), Instant::now());
            *xid = number();
            let asked = Outstanding { xid: *xid, own, request, opcodes, since };
            self.outstanding.borrow_mut().push_back(asked);
        }
        if let (ClientPacket::SetWatches { .. }, Some(xid)) = (&packet, frame.first_chunk()) {
            self.rearming.borrow_mut().push_back(*xid);
        }
        Ok(Received { packet })
    }

    /// Returns true if a request has no reply yet.
    pub(super) fn has_outstanding(&self) -> bool {
        !self.outstanding.borrow().is_empty()
    }

    /// Returns true if the client's requests are to wait until it has read more.
    pub(super) fn is_full(&self) -> bool {
        self.out.borrow().len() > MOST_QUEUED || self.outstanding.borrow().len() >= MOST_OUTSTANDING
    }

    /// Queues a packet for the client. Timeouts are converted to its own time.
    pub(super) fn write(
        &self,
        packet: &ServerPacket,
        clock: &Clock,
        password: impl FnOnce(SessionId) -> Password,
    ) {
        let frame = match packet {
            ServerPacket::Connected { session, timeout, read_only } => {
                self.is_answered.set(true);
                self.timeout.set(*timeout);
                self.pinged.set(clock.now());
                let (session, read_only) = (*session, *read_only);
                self.session.set(Some(session));
                self.counters.connected(*timeout);
                let timeout = clock.real(*timeout);
                let told = ServerPacket::Connected { session, timeout, read_only };
                self.handshake(&told, &password(session))
            }
            ServerPacket::Pong if self.own_pings.get() > 0 => {
                return self.own_pings.set(self.own_pings.get() - 1);
            }
            ServerPacket::Expired => self.handshake(packet, &Password::default()),
            ServerPacket::Reply { xid, zxid, .. } => {
                self.last_zxid.set(*zxid);
                let asked = self.answered(*xid).expect("a server answers what it was asked");
                let (cxid, last) = (i32::from_be_bytes(asked.own).into(), zxid.0.cast_signed());
                let latency = asked.since.elapsed();
                self.counters.replied(four_letters(&asked.request), cxid, last, latency);
                let mut frame = encode_server(packet, asked.opcodes, Some(&asked.request), *zxid);
                frame[..4].copy_from_slice(&asked.own);
                frame
            }
            packet => {
                let mut frame = encode_server(packet, Opcodes::Newest, None, self.last_zxid.get());
                if let ServerPacket::WatchesSet { .. } = packet
                    && let Some(xid) = self.rearming.borrow_mut().pop_front()
                {
                    frame[..4].copy_from_slice(&xid);
                }
                frame
            }
        };
        self.counters.totals.send();
        self.queue(&frame);
    }

    /// Returns when the client has to ping next: after a third of its timeout.
    pub(super) fn next_ping(&self) -> Option<Time> {
        let is_open = self.is_answered.get() && !self.has_ended.get();
        is_open.then(|| self.pinged.get() + self.timeout.get() / 3)
    }

    /// A ping is sent for the client, which does not read the answer.
    pub(super) fn ping_for_client(&self, now: Time) {
        self.pinged.set(now);
        self.own_pings.set(self.own_pings.get() + 1);
    }

    /// Returns a ConnectResponse as this client reads it.
    fn handshake(&self, packet: &ServerPacket, password: &Password) -> Vec<u8> {
        let mut frame = encode_connected(packet, password);
        if self.is_old.get() {
            frame.pop();
        }
        frame
    }

    /// Returns the session that the client has.
    pub(super) fn session(&self) -> Option<SessionId> {
        self.session.get()
    }

    /// Returns the connection as four-letter words show it.
    pub(super) fn status(&self, clock: words::Clock) -> words::Connection {
        self.counters.status(self.session(), self.outstanding.borrow().len(), clock)
    }

    /// Queues text without a length, as the answer to a four-letter word.
    pub(super) fn queue_text(&self, text: &str) {
        self.out.borrow_mut().extend_from_slice(text.as_bytes());
        self.end();
    }

    /// Takes the request that a reply answers. Requests before it have no reply.
    fn answered(&self, xid: Xid) -> Option<Outstanding> {
        let mut outstanding = self.outstanding.borrow_mut();
        let at = outstanding.iter().position(|asked| asked.xid == xid)?;
        outstanding.drain(..=at).next_back()
    }

    /// Queues a frame.
    pub(super) fn queue(&self, frame: &[u8]) {
        let length = u32::try_from(frame.len()).expect("a frame is shorter than 4 GiB");
        let mut out = self.out.borrow_mut();
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(frame);
        self.has_news.notify_one();
    }

    /// The server has closed the connection: what is queued is written before.
    pub(super) fn end(&self) {
        self.has_ended.set(true);
        self.has_news.notify_one();
    }

    /// Returns true if nothing more is to be written.
    pub(super) fn is_done(&self) -> bool {
        self.has_ended.get() && self.out.borrow().is_empty()
    }

    /// Gives what is queued to a writer, which returns how much it has written.
    pub(super) fn flush<E>(&self, write: impl Fn(&[u8]) -> Result<usize, E>) -> Result<(), E> {
        let mut out = self.out.borrow_mut();
        while !out.is_empty() {
            let written = write(&out)?;
            out.drain(..written);
        }
        Ok(())
    }

    pub(super) fn has_output(&self) -> bool {
        !self.out.borrow().is_empty()
    }
}

/// Returns true if a ConnectRequest has no field after the password: `readOnly` is missing.
fn ends_with_password(frame: &[u8]) -> bool {
    // A version, a zxid, a timeout and a session come before it.
    let length = frame.get(24..28).and_then(|bytes| bytes.first_chunk());
    length.is_some_and(|length| {
        usize::try_from(i32::from_be_bytes(*length).max(0)) == Ok(frame.len() - 28)
    })
}

/// Returns the name of a request as `cons` shows it (`Request.op2String` of ZooKeeper, in four letters).
fn four_letters(request: &Request) -> &'static str {
    match request {
        Request::Write(Op::Create { .. }) => "CREA",
        Request::Write(Op::Delete { .. }) | Request::DeleteContainer { .. } => "DELE",
        Request::Write(Op::SetData { .. }) => "SETD",
        Request::Write(Op::Check { .. }) => "CHEC",
        Request::Multi(_) | Request::MultiRead(_) => "MULT",
        Request::Exists { .. } => "EXIS",
        Request::GetData { .. } => "GETD",
        Request::GetChildren { .. } => "GETC",
        Request::GetAcl { .. } => "GETA",
        Request::SetAcl { .. } => "SETA",
        Request::GetAllChildrenNumber { .. } => "GETACN",
        Request::GetEphemerals { .. } => "GETE",
        Request::WhoAmI => "WHOA",
        Request::AddWatch { .. } => "ADDW",
        Request::RemoveWatches { .. } => "REMW",
        Request::CheckWatches { .. } => "CHEW",
        Request::Sync { .. } => "SYNC",
        Request::CloseSession => "CLOS",
        Request::Reconfig(_) => "RECO",
    }
}
