//! What a step of a server can access besides the server's own memory, and two types used throughout its code: a
//! pending disk operation, and the reason for leaving a role.

use super::disk::{Disk, Truncated};
use crate::network::Network;
use crate::vocabulary::config::Config;
use crate::vocabulary::effect::{Effect, Effects};
use crate::vocabulary::event::Event;
use crate::vocabulary::file_system::Writing;
use crate::vocabulary::fingerprint::Tracked;
use crate::vocabulary::id::{ClientConnection, LearnerConnection, ServerId};
use crate::vocabulary::packet::{LeaderPacket, LearnerPacket, Notification, ServerPacket};
use crate::vocabulary::release::Bug;
use crate::vocabulary::step::Step;
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::timer::{ServerTimer, Timer};
use crate::vocabulary::zxid::Zxid;

/// What a step of a server can access besides the server's own memory.
pub struct Context<'a> {
    /// The time of the step; always [`Time::ZERO`] in the explorer.
    pub at: Time,
    /// The server that takes the step.
    pub id: ServerId,
    /// The run's configuration.
    pub config: &'a Config,
    /// The network, for sending.
    pub network: &'a mut Network,
    /// The server's own disk.
    pub disk: &'a mut Tracked<Disk>,
    /// The collector of the step's effects.
    pub effects: &'a mut Effects,
}

impl Context<'_> {
    /// Sends to the leader.
    pub fn to_leader(&mut self, connection: LearnerConnection, packet: LearnerPacket) {
        if let LearnerPacket::Ping { touched } = &packet {
            let sessions = touched.clone();
            self.effects.event(Event::TouchesForwarded { learner: connection, sessions });
        }
        self.network.send_to_leader(connection, packet, self.effects);
    }

    /// Sends to a learner.
    pub fn to_learner(&mut self, connection: LearnerConnection, packet: LeaderPacket) {
        self.network.send_to_learner(connection, packet, self.effects);
    }

    /// Sends to a client.
    pub fn to_client(&mut self, connection: ClientConnection, packet: ServerPacket) {
        self.network.send_to_client(connection, packet, self.effects);
    }

    /// Sends an election notification.
    pub fn mail(&mut self, to: ServerId, notification: Notification) {
        self.network.mail(self.id, to, notification, self.effects);
    }

    /// Opens a snapshot's file for writing (rule 6.9.11).
    pub(super) fn open_snapshot(&mut self, label: Zxid) {
        if !self.config.bugs.has(Bug::SnapshotWrittenInPlace)
            || self.disk.snapshots().iter().all(|snapshot| snapshot.label != label)
        {
            return;
        }
        let truncated = self.disk.make_mut().open_snapshot(label, self.config.bugs);
        if let Some(Truncated { before, after }) = truncated {
            let server = self.id;
            self.effects.event(Event::SnapshotTruncated { server, label, before, after });
        }
    }

    /// Arms one of this server's timers.
    pub fn arm(&mut self, timer: ServerTimer, after: Duration) {
        self.effects.arm(Timer::Server(self.id, timer), after);
    }

    /// Arms one of this server's timers; the engine draws when it fires, within this time.
    pub(super) fn arm_within(&mut self, timer: ServerTimer, spread: Duration) {
        let (timer, after) = (Timer::Server(self.id, timer), Duration::ZERO);
        self.effects.push(Effect::Arm { timer, after, spread });
    }

    /// Disarms one of this server's timers.
    pub fn disarm(&mut self, timer: ServerTimer) {
        self.effects.disarm(Timer::Server(self.id, timer));
    }
}

/// Why a process exits in the middle of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// A snapshot could not be written: exit code 10, `TXNLOG_ERROR_TAKING_SNAPSHOT` (rule 6.9.11). The next start
    /// may have enough space again.
    SnapshotNotWritten,
    /// The database could not be loaded from the disk, for this reason; a start will fail in the same way.
    NotLoaded(&'static str),
}

/// The state of the packet thread's disk operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PacketThread {
    pub(super) writing: Option<Writing>,
    /// Set if the process ends with this step; its other state does not matter then.
    pub(super) exit: Option<Exit>,
}

impl PacketThread {
    /// Begins a disk operation; the packet thread waits for it.
    pub(super) fn write(&mut self, writing: Writing, context: &mut Context<'_>) {
        self.hold(writing);
        context.effects.due(Step::Write(context.id));
    }

    /// Begins to wait; the caller makes [`Step::Write`] due when the wait may end.
    pub(super) fn hold(&mut self, writing: Writing) {
        debug_assert!(self.writing.is_none(), "one write at a time");
        self.writing = Some(writing);
    }
}

/// The server must leave its role, for this reason. (In ZooKeeper, an exception or a `shutdown` that ends the role's
/// main loop.) It is an error type, so that callers stop with `?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leave(pub(super) &'static str);

/// `Err` if the server must leave its role.
pub(super) type Stays = Result<(), Leave>;
