//! The handler of one observer at its observer master: a `LearnerHandler` that waits for no quorum (rule 5.9.3).

use super::cache::Cache;
use crate::server::commit_processor::CommitProcessor;
use crate::server::context::Context;
use crate::server::database::Database;
use crate::server::leader::{Handler, HandlerPhase, sync_plan};
use crate::vocabulary::event::{AtMaster, Event};
use crate::vocabulary::id::LearnerConnection;
use crate::vocabulary::packet::{LeaderPacket, LearnerPacket};
use crate::vocabulary::release::Bug;
use crate::vocabulary::zxid::{Epoch, Zxid};

/// The handler of one observer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::server) struct Hosted {
    pub(super) handler: Handler,
    /// The epoch of LEADERINFO and NEWLEADER: the master's current one when the observer registered.
    epoch: Epoch,
}

/// What a master synchronises an observer from: its database, and what it has committed and not applied.
pub(in crate::server) struct Stored<'a> {
    pub(in crate::server) database: &'a Database,
    pub(in crate::server) commits: &'a CommitProcessor,
}

/// What remains to be done for a packet that a handler has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::server) enum Answer {
    /// Nothing is left to do.
    Done,
    /// The handler ends.
    Ends,
    /// A packet of an observer that serves: a request, a revalidation or a report of active sessions.
    Passes(LearnerPacket),
}

impl Hosted {
    /// Begins with OBSERVERINFO: answers with the current epoch of the master, and waits for no other server (rule 5.9.3).
    pub(in crate::server) fn begin(
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) -> Hosted {
        context.network.accept_learner(connection);
        let (mut handler, epoch) = (Handler::default(), context.disk.current_epoch());
        handler.enter(HandlerPhase::AwaitingEpochAck, connection, context);
        context.to_learner(connection, LeaderPacket::LeaderInfo { epoch });
        Hosted { handler, epoch }
    }

    /// Reads a packet of the observer.
    pub(in crate::server) fn read(
        &mut self,
        connection: LearnerConnection,
        packet: LearnerPacket,
        cache: &Cache,
        stored: &Stored<'_>,
        context: &mut Context<'_>,
    ) -> Answer {
        if self.handler.phase == HandlerPhase::Broadcast {
            self.handler.was_heard(connection, context);
        }
        match (&self.handler.phase, packet) {
            (HandlerPhase::AwaitingEpochAck, LearnerPacket::AckEpoch { last_zxid, .. }) => {
                return self.synchronise(connection, last_zxid, cache, stored, context);
            }
            (HandlerPhase::AwaitingAck, LearnerPacket::Ack(_)) => {
                self.handler.enter(HandlerPhase::Broadcast, connection, context);
                let committed = context.attached_configuration();
                context.to_learner(connection, LeaderPacket::UpToDate(committed));
            }
            (HandlerPhase::AwaitingAck, LearnerPacket::Ping { .. }) => {}
            // That of UPTODATE; an observer acknowledges nothing else.
            (HandlerPhase::Broadcast, LearnerPacket::Ack(_)) => {}
            (HandlerPhase::Broadcast, packet) => return Answer::Passes(packet),
            (phase, packet) => unreachable!("{}: {packet:?} in phase {phase:?}", context.id),
        }
        Answer::Done
    }

    /// Begins to synchronise the observer from the master's own database; what the master has sent to its observers since
    /// follows, if it still has all of that (rules 5.9.4 and 5.9.5).
    fn synchronise(
        &mut self,
        connection: LearnerConnection,
        last_zxid: Zxid,
        cache: &Cache,
        stored: &Stored<'_>,
        context: &mut Context<'_>,
    ) -> Answer {
        let Stored { database, commits } = *stored;
        // All releases go by what is applied alone.
        let none = CommitProcessor::default();
        let omits = context.config.bugs.has(Bug::MasterOmitsCommitted);
        let commits = if omits { &none } else { commits };
        let plan = sync_plan::of(last_zxid, database, commits, context.disk, context.config);
        let tell = |what, context: &mut Context<'_>| {
            let (master, observer) = (context.id, connection);
            context.effects.event(Event::AtMaster { master, observer, what });
        };
        let Ok(later) = cache.after(plan.sent) else {
            tell(AtMaster::TooFarBehind, context);
            return Answer::Ends;
        };
        tell(AtMaster::Synchronises, context);
        self.handler.begin_sending(connection, plan, context);
        if !later.is_empty() {
            tell(AtMaster::SendsCached, context);
        }
        for packet in later {
            self.handler.send(connection, packet, context);
        }
        Answer::Done
    }

    /// Streams the next piece of the synchronisation.
    pub(in crate::server) fn stream_next(
        &mut self,
        connection: LearnerConnection,
        database: &Database,
        context: &mut Context<'_>,
    ) {
        self.handler.stream_next(connection, self.epoch, &database.tree, context);
    }

    /// Sends a committed transaction, if the handler is one of `activeObservers`.
    pub(super) fn inform(
        &mut self,
        connection: LearnerConnection,
        packet: &LeaderPacket,
        context: &mut Context<'_>,
    ) {
        if self.is_active() {
            self.handler.send(connection, packet.clone(), context);
        }
    }

    /// Sends a PING, unless the sending thread has not started yet.
    pub(super) fn ping(&self, connection: LearnerConnection, context: &mut Context<'_>) {
        if self.is_active() && !self.can_stream() {
            context.to_learner(connection, LeaderPacket::Ping);
        }
    }

    /// Returns true if the observer is one of `activeObservers`: it is synchronised, or is being.
    pub(super) fn is_active(&self) -> bool {
        self.handler.is_forwarding()
    }

    /// Returns true if there is a piece of a SNAP, or queued packets, to send.
    pub(super) fn can_stream(&self) -> bool {
        matches!(self.handler.phase, HandlerPhase::Streaming(_))
    }

    /// Ends the handler: closes the connection.
    pub(super) fn end(&self, connection: LearnerConnection, context: &mut Context<'_>) {
        context.network.close_by_leader(connection, context.effects);
        self.handler.stop_timers(connection, context);
    }
}
