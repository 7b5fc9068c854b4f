//! A session at a real server, with pipelined requests, answers by xid, and moves to other servers.

use super::error::FindingError;
use crate::conform::{Connection, Received};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use vivarium_model::error::Error;
use vivarium_model::id::{SessionId, Xid};
use vivarium_model::op::{CreateMode, Op, Request, Response};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::wire::{Opcodes, Password};
use vivarium_model::zxid::Zxid;

/// Longer than any answer of a working server takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Longer than any run keeps a session waiting.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A server's answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// The write's own zxid, or the server's last one.
    pub(super) zxid: Zxid,
    pub(super) result: Result<Response, Error>,
    /// The instant at which it was read.
    pub(super) at: Instant,
}

impl Answer {
    pub(super) fn words(&self) -> String {
        match &self.result {
            Ok(_) => format!("done, zxid {}", self.zxid),
            Err(error) => format!("refused with {error}"),
        }
    }
}

/// A session and its connection. Dropping it closes the connection without closing the session.
#[derive(Debug)]
pub(super) struct Session {
    connection: Connection,
    id: SessionId,
    last: Xid,
    last_zxid: Zxid,
    answers: BTreeMap<Xid, Answer>,
    ended: bool,
}

impl Session {
    /// Begins a session at a server, which may take a moment until it serves.
    pub(super) fn begin(address: SocketAddr) -> Result<Session, FindingError> {
        Session::attach(address, None)
    }

    /// Closes the connection, and continues the session at another server.
    pub(super) fn move_to(self, address: SocketAddr) -> Result<Session, FindingError> {
        let (id, zxid, last) = (self.id, self.last_zxid, self.last);
        let password = self.connection.password();
        drop(self.connection);
        Session::attach(address, Some((id, password, zxid, last)))
    }

    fn attach(
        address: SocketAddr,
        old: Option<(SessionId, Password, Zxid, Xid)>,
    ) -> Result<Session, FindingError> {
        let (session, password, last_zxid_seen, last) = match old {
            Some((id, password, zxid, last)) => (Some(id), password, zxid, last),
            None => (None, Password::default(), Zxid::ZERO, Xid(0)),
        };
        let connect =
            ClientPacket::Connect { last_zxid_seen, timeout: TIMEOUT, session, read_only: false };
        let begun = Instant::now();
        loop {
            match Connection::connect(address, &connect, &password, PATIENCE) {
                Ok((connection, Received::Packet(ServerPacket::Connected { session, .. }))) => {
                    return Ok(Session {
                        connection,
                        id: session,
                        last,
                        last_zxid: last_zxid_seen,
                        answers: BTreeMap::new(),
                        ended: false,
                    });
                }
                Ok((_, Received::Packet(_))) => {
                    return Err(FindingError::Otherwise("a session was over too early".to_owned()));
                }
                Err(error) if begun.elapsed() > PATIENCE => return Err(error.into()),
                Ok(_) if begun.elapsed() > PATIENCE => {
                    let what = format!("a session at {address}");
                    return Err(FindingError::NotSeen { what, patience: PATIENCE });
                }
                Ok(_) | Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Sends a request without waiting. Creates use `create` and not `create2`, which 3.4 does not support.
    pub(super) fn send(&mut self, request: Request) -> Result<Xid, FindingError> {
        self.last = self.last.next();
        let packet = ClientPacket::Request { xid: self.last, request: Arc::new(request) };
        self.connection.send(&packet, Opcodes::Plain)?;
        Ok(self.last)
    }

    /// Waits for the answer to a request. Returns `None` if there is none in time, or if the server has closed the
    /// connection.
    pub(super) fn answer(
        &mut self,
        xid: Xid,
        patience: Duration,
    ) -> Result<Option<Answer>, FindingError> {
        let end = Instant::now() + patience;
        while !self.answers.contains_key(&xid) && !self.ended {
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                break;
            }
            self.read(rest)?;
        }
        Ok(self.answers.get(&xid).cloned())
    }

    /// Reads once, waiting at most `patience`.
    fn read(&mut self, patience: Duration) -> Result<(), FindingError> {
        match self.connection.receive(patience)? {
            Received::Packet(ServerPacket::Reply { xid, zxid, result }) => {
                self.last_zxid = self.last_zxid.max(zxid);
                self.answers.insert(xid, Answer { zxid, result, at: Instant::now() });
            }
            Received::End => self.ended = true,
            Received::Packet(_) | Received::Nothing => {}
        }
        Ok(())
    }

    /// Returns all answers so far.
    pub(super) fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.answers.values()
    }

    /// Sends a request and waits for the answer.
    pub(super) fn ask(&mut self, request: Request) -> Result<Answer, FindingError> {
        let what = format!("the answer to {request}");
        let xid = self.send(request)?;
        let answer = self.answer(xid, PATIENCE)?;
        answer.ok_or(FindingError::NotSeen { what, patience: PATIENCE })
    }

    /// Creates a persistent znode, which must succeed. Returns its zxid.
    pub(super) fn create(&mut self, path: &str) -> Result<Zxid, FindingError> {
        let answer = self.ask(create(path))?;
        match answer.result {
            Ok(_) => Ok(answer.zxid),
            Err(error) => {
                Err(FindingError::Otherwise(format!("create {path} was refused: {error}")))
            }
        }
    }

    /// Returns true if the server has a znode, after it has caught up with the leader.
    pub(super) fn has(&mut self, path: &str) -> Result<bool, FindingError> {
        self.ask(Request::Sync { path: "/".into() })?;
        match self.ask(Request::Exists { path: path.into(), watch: false })?.result {
            Ok(_) => Ok(true),
            Err(Error::NoNode) => Ok(false),
            Err(error) => {
                Err(FindingError::Otherwise(format!("exists {path} was refused: {error}")))
            }
        }
    }

    /// Returns the children in an answer.
    pub(super) fn names(answer: &Answer) -> Option<Vec<String>> {
        match &answer.result {
            Ok(Response::Children(names, _)) => {
                Some(names.iter().map(|name| name.to_string()).collect())
            }
            _ => None,
        }
    }
}

/// Returns the request that creates a persistent znode without data.
pub(super) fn create(path: &str) -> Request {
    Request::Write(Op::create(path, *b"", CreateMode::Persistent))
}
