//! Faults that happen when the caller asks for them.

use super::Served;
use crate::seeded::faults::{clipped, tail};
use crate::seeded::heap::Due;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;
use vivarium_model::id::{ClientConnection, Machine, ServerId, SessionId, Xid};
use vivarium_model::op::Request;
use vivarium_model::outside::Outside;
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::step::{Step, Tail, Unwritten};
use vivarium_model::time::Duration;

/// Why a fault did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// There is no server of this number.
    #[error("there is no server {0}")]
    NoServer(u8),
    /// The server is down.
    #[error("server {0} is down")]
    Down(u8),
    /// The server is up.
    #[error("server {0} is up")]
    Up(u8),
    /// The server is paused.
    #[error("server {0} is paused")]
    Paused(u8),
    /// The server is not paused.
    #[error("server {0} is not paused")]
    NotPaused(u8),
    /// No leader can expire a session.
    #[error("no server leads")]
    NoLeader,
    /// There is no such session.
    #[error("there is no session {0}")]
    NoSession(SessionId),
}

/// What becomes of a request whose reply is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostReply {
    /// It is carried out, and its reply is lost.
    Applied,
    /// The connection is lost before a server reads it.
    Never,
    /// The connection is lost while the request is under way; it is carried out later.
    Pending,
}

/// The next reply to lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The connection; the session's present one.
    pub connection: ClientConnection,
    /// The name of the request, such as `create`, or `None` for any request.
    pub request: Option<String>,
    /// The znode, or `None` for any.
    pub path: Option<String>,
    /// What becomes of the request.
    pub lost: LostReply,
}

impl Reply {
    fn is_of(&self, connection: ClientConnection, request: &Request) -> bool {
        let has_name = |name: &String| request.name() == *name;
        let has_path = |path: &String| {
            let mut found = false;
            request.each_path(|of| found |= **of == **path);
            found
        };
        self.connection == connection
            && self.request.as_ref().is_none_or(has_name)
            && self.path.as_ref().is_none_or(has_path)
    }
}

/// The replies that are to be lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    next: Vec<Reply>,
    /// Replies to requests that a server has read.
    applied: Vec<(ClientConnection, Xid)>,
}

impl Losses {
    /// Takes the loss that this packet meets.
    pub(super) fn for_packet(
        &mut self,
        connection: ClientConnection,
        packet: &ClientPacket,
    ) -> Option<Reply> {
        let ClientPacket::Request { request, .. } = packet else { return None };
        let at = self.next.iter().position(|reply| reply.is_of(connection, request))?;
        Some(self.next.remove(at))
    }
}

/// The faults that last.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    /// The paused servers, each with what waits for it.
    pub(super) paused: BTreeMap<ServerId, Vec<Due>>,
    /// By server, how much longer its disk takes.
    pub(super) slow_disks: BTreeMap<ServerId, Duration>,
    /// The servers whose next write fails.
    pub(super) full_disks: BTreeSet<ServerId>,
    pub(super) lost: Losses,
    crashes: u64,
}

impl Standing {
    /// Returns how much longer a step takes.
    pub(super) fn slower(&self, step: &Step) -> Duration {
        let server = match step {
            Step::Append(server)
            | Step::Fsync(server)
            | Step::Write(server)
            | Step::Snapshot(server) => server,
            _ => return Duration::ZERO,
        };
        self.slow_disks.get(server).copied().unwrap_or_default()
    }
}

/// How long a pending request waits before it is carried out.
const PENDING: Duration = Duration::from_millis(500);

impl Served {
    fn server(&self, server: ServerId) -> Result<(), Refused> {
        let is_known = self.ensemble().config().server_ids().any(|id| id == server);
        is_known.then_some(()).ok_or(Refused::NoServer(server.0))
    }

    fn up(&self, server: ServerId) -> Result<(), Refused> {
        self.server(server)?;
        self.ensemble().is_up(server).then_some(()).ok_or(Refused::Down(server.0))
    }

    /// Ends a server's process; the files keep all that was written.
    ///
    /// # Errors
    /// If the server does not exist or is down.
    pub fn crash(&mut self, server: ServerId) -> Result<(), Refused> {
        self.up(server)?;
        self.resume_if_paused(server);
        let tail = Tail { survive: u8::MAX, snapshots: true, packets: u8::MAX, ..Tail::LOST };
        self.take(Due::Step(Step::Crash { server, tail }));
        Ok(())
    }

    /// Ends a server's machine: of what was not yet fsynced, a part that the seed decides survives.
    ///
    /// # Errors
    /// If the server does not exist or is down.
    pub fn power_loss(&mut self, server: ServerId) -> Result<(), Refused> {
        self.up(server)?;
        self.resume_if_paused(server);
        self.faults.crashes += 1;
        let mut random = self.seeds.stream("power loss", self.faults.crashes);
        let tail = clipped(tail(&mut random), self.ensemble().unsynced(server));
        self.take(Due::Step(Step::Crash { server, tail }));
        Ok(())
    }

    /// Starts a server that is down.
    ///
    /// # Errors
    /// If the server does not exist or is up.
    pub fn restart(&mut self, server: ServerId) -> Result<(), Refused> {
        self.server(server)?;
        if self.ensemble().is_up(server) {
            return Err(Refused::Up(server.0));
        }
        self.take(Due::Step(Step::Restart(server)));
        Ok(())
    }

    /// Stops a server's process without ending it, as SIGSTOP does: its connections stay open and silent.
    ///
    /// # Errors
    /// If the server does not exist, is down or is paused.
    pub fn pause(&mut self, server: ServerId) -> Result<(), Refused> {
        self.up(server)?;
        if self.faults.paused.contains_key(&server) {
            return Err(Refused::Paused(server.0));
        }
        self.faults.paused.insert(server, Vec::new());
        Ok(())
    }

    /// Lets a paused server go on.
    ///
    /// # Errors
    /// If the server does not exist or is not paused.
    pub fn resume(&mut self, server: ServerId) -> Result<(), Refused> {
        self.server(server)?;
        if !self.resume_if_paused(server) {
            return Err(Refused::NotPaused(server.0));
        }
        Ok(())
    }

    fn resume_if_paused(&mut self, server: ServerId) -> bool {
        let Some(waiting) = self.faults.paused.remove(&server) else { return false };
        let now = self.now();
        for due in waiting {
            match due {
                // The timer was disarmed when it fired.
                Due::Timer(timer) => self.heap.arm(timer, Duration::ZERO),
                due => self.heap.push(now, due),
            }
        }
        true
    }

    /// Cuts the network between all servers of different groups, in both directions. A server in no group is cut off from
    /// all.
    ///
    /// # Errors
    /// If a server does not exist.
    pub fn partition(&mut self, groups: &[Vec<ServerId>]) -> Result<(), Refused> {
        groups.iter().flatten().try_for_each(|server| self.server(*server))?;
        let group_of = |server: &ServerId| groups.iter().position(|group| group.contains(server));
        let servers: Vec<ServerId> = self.ensemble().config().server_ids().collect();
        for from in &servers {
            for to in servers.iter().filter(|to| *to != from) {
                if group_of(from).is_none() || group_of(from) != group_of(to) {
                    self.cut(*from, *to);
                }
            }
        }
        Ok(())
    }

    /// Cuts the network from one server to another, and not back.
    ///
    /// # Errors
    /// If a server does not exist.
    pub fn partition_one_way(&mut self, from: ServerId, to: ServerId) -> Result<(), Refused> {
        self.server(from)?;
        self.server(to)?;
        self.cut(from, to);
        Ok(())
    }

    fn cut(&mut self, from: ServerId, to: ServerId) {
        let (from, to) = (Machine::Server(from), Machine::Server(to));
        if from != to && !self.ensemble().is_cut(from, to) {
            self.take(Due::Step(Step::Cut { from, to }));
        }
    }

    /// Ends all partitions, pauses, slow and full disks.
    pub fn heal(&mut self) {
        let servers: Vec<ServerId> = self.ensemble().config().server_ids().collect();
        for from in servers.iter().map(|server| Machine::Server(*server)) {
            for to in servers.iter().map(|server| Machine::Server(*server)) {
                if self.ensemble().is_cut(from, to) {
                    self.take(Due::Step(Step::Heal { from, to }));
                }
            }
        }
        self.faults.slow_disks.clear();
        self.faults.full_disks.clear();
        for server in servers {
            self.resume_if_paused(server);
        }
    }

    /// Ends everything that [`heal`](Served::heal) ends, and starts the servers that are down.
    pub fn recover(&mut self) {
        self.heal();
        self.faults.lost = Losses::default();
        let servers: Vec<ServerId> = self.ensemble().config().server_ids().collect();
        for server in servers {
            if !self.ensemble().is_up(server) {
                self.take(Due::Step(Step::Restart(server)));
            }
        }
    }

    /// Makes each operation of a server's disk take longer; zero ends that.
    ///
    /// # Errors
    /// If the server does not exist.
    pub fn slow_disk(&mut self, server: ServerId, by: Duration) -> Result<(), Refused> {
        self.server(server)?;
        match by.is_zero() {
            true => drop(self.faults.slow_disks.remove(&server)),
            false => drop(self.faults.slow_disks.insert(server, by)),
        }
        Ok(())
    }

    /// Lets the next fsync of a server fail, as on a full disk: what is not yet fsynced is lost, and the server leaves its
    /// role.
    ///
    /// # Errors
    /// If the server does not exist or is down.
    pub fn disk_full(&mut self, server: ServerId) -> Result<(), Refused> {
        self.up(server)?;
        self.faults.full_disks.insert(server);
        Ok(())
    }

    /// Fails the fsync that is due, if the server's disk is full. Returns true if it has.
    pub(super) fn fails(&mut self, server: ServerId) -> bool {
        let fails = Step::FsyncError { server, survive: 0, rest: Unwritten::Lost };
        self.faults.full_disks.contains(&server)
            && self.take(Due::Step(fails))
            && self.faults.full_disks.remove(&server)
    }

    /// Lets the leader expire a session.
    ///
    /// # Errors
    /// If no server leads, or the leader does not know the session.
    pub fn expire(&mut self, session: SessionId) -> Result<(), Refused> {
        self.ensemble().leader().ok_or(Refused::NoLeader)?;
        let is_possible = self.ensemble().can(&Step::Expire(session));
        (is_possible && self.take(Due::Step(Step::Expire(session))))
            .then_some(())
            .ok_or(Refused::NoSession(session))
    }

    /// Breaks a client's connection: what has been sent on it arrives at the server, and nothing at the client.
    pub fn disconnect(&mut self, connection: ClientConnection) {
        let (to_server, to_client) = (u8::MAX, 0);
        self.take(Due::Step(Step::BreakClient { connection, to_server, to_client }));
    }

    /// Loses the reply to the next request that fits.
    pub fn lose_next(&mut self, reply: Reply) {
        self.faults.lost.next.push(reply);
    }

    /// Sends a request whose reply is to be lost.
    pub(super) fn lose(
        &mut self,
        reply: Reply,
        connection: ClientConnection,
        packet: ClientPacket,
    ) {
        let ClientPacket::Request { xid, .. } = packet else { return };
        match reply.lost {
            LostReply::Never => self.disconnect(connection),
            LostReply::Applied => {
                self.faults.lost.applied.push((connection, xid));
                self.outside(Outside::Sends { connection, packet });
            }
            LostReply::Pending => {
                let now = self.now();
                for server in self.ensemble().config().server_ids() {
                    self.latencies.stall(server, now + PENDING);
                }
                self.outside(Outside::Sends { connection, packet });
                self.run(now);
                self.disconnect(connection);
            }
        }
    }

    /// Breaks the connection if the reply that its client would read next is to be lost. Returns true if it has.
    pub(super) fn loses(&mut self, connection: ClientConnection) -> bool {
        let Some(ServerPacket::Reply { xid, .. }) = self.ensemble().next_for_client(connection)
        else {
            return false;
        };
        let lost = (connection, *xid);
        let before = self.faults.lost.applied.len();
        self.faults.lost.applied.retain(|applied| *applied != lost);
        if self.faults.lost.applied.len() == before {
            return false;
        }
        self.disconnect(connection);
        true
    }
}
