//! A follower as an observer master (rule 5.9): its start after the synchronisation, its observers, and what it forwards for
//! their clients.

use super::Following;
use crate::network::Delivered;
use crate::server::context::{Context, Leave};
use crate::server::observer_master::{Answer, Hosted, ObserverMaster, Stored};
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientConnection, LearnerConnection, ServerId, SessionId, Xid};
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::{LeaderPacket, LearnerPacket, ServerRequest};
use crate::vocabulary::quorum::Attached;
use crate::vocabulary::release::Bug;
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ServerTimer;
use crate::vocabulary::txn::Txn;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

impl Following<'_> {
    /// Starts the observer master, once the follower is synchronised (rule 5.9.2).
    pub(super) fn begin_master(&mut self, context: &mut Context<'_>) {
        if self.observes || !context.config.has_observer_masters() {
            return;
        }
        let master = ObserverMaster::begin(&self.learner.pending, self.commits, context);
        self.learner.master = Attached(Some(Box::new(master)));
        context.arm(ServerTimer::Ping, context.config.tick / 2);
    }

    /// Passes a PROPOSAL on to the observer master.
    pub(super) fn master_proposed(&mut self, txn: &Arc<Txn>) {
        if let Some(master) = &mut self.learner.master.0 {
            master.proposed(Arc::clone(txn));
        }
    }

    /// Passes a commit on to the observer master, after the follower's own (rule 5.9.5).
    pub(super) fn master_committed(
        &mut self,
        zxid: Zxid,
        designated: Option<ServerId>,
        context: &mut Context<'_>,
    ) -> Result<(), Leave> {
        match &mut self.learner.master.0 {
            Some(master) => master.committed(zxid, designated, context),
            None => Ok(()),
        }
    }

    /// Reads from the connection of an observer; OBSERVERINFO begins a handler. Anything else at the beginning, or a follower
    /// that is no observer master, refuses the connection (rule 5.9.3).
    pub(in crate::server) fn read_from_observer(
        &mut self,
        connection: LearnerConnection,
        delivered: Delivered<LearnerPacket>,
        context: &mut Context<'_>,
    ) {
        let Some(master) = self.learner.master.0.as_mut() else {
            context.network.close_by_leader(connection, context.effects);
            return;
        };
        let Some((hosted, cache)) = master.hosted(connection) else {
            self.host(connection, &delivered, context);
            return;
        };
        let Delivered::Packet(packet) = delivered else {
            master.drop_handler(connection, context);
            return;
        };
        let stored = Stored { database: self.database, commits: self.commits };
        match hosted.read(connection, packet, cache, &stored, context) {
            Answer::Done => {}
            Answer::Ends => master.drop_handler(connection, context),
            Answer::Passes(packet) => self.pass_on(connection, packet, context),
        }
    }

    /// Begins a handler, unless the observer has activated a later configuration (rule 5.8.9).
    fn host(
        &mut self,
        connection: LearnerConnection,
        delivered: &Delivered<LearnerPacket>,
        context: &mut Context<'_>,
    ) {
        let version = context.configurations().quorum.version();
        match (delivered, self.learner.master.0.as_mut()) {
            (
                Delivered::Packet(LearnerPacket::ObserverInfo { config_version, .. }),
                Some(master),
            ) if config_version.0.is_none_or(|activated| activated <= version) => {
                master.host(connection, Hosted::begin(connection, context));
            }
            _ => context.network.close_by_leader(connection, context.effects),
        }
    }

    /// Handles a packet of an observer that serves clients: a request, a revalidation or a report of active sessions (rules
    /// 5.9.6, 5.9.7 and 5.9.8).
    fn pass_on(
        &mut self,
        observer: LearnerConnection,
        packet: LearnerPacket,
        context: &mut Context<'_>,
    ) {
        let master = self.learner.master.0.as_mut().expect("it has a handler of the observer");
        match packet {
            LearnerPacket::Ping { touched } => {
                touched.into_iter().for_each(|session| self.touch_of_observer(session, context));
            }
            LearnerPacket::Request { session, xid, request, auth } => {
                self.commits.wake(context);
                match &request {
                    ServerRequest::Client(asked) if matches!(**asked, Request::Sync { .. }) => {
                        master.forwards_sync(observer, session, xid);
                        self.clients.hold_sync(session, xid);
                    }
                    _ => self.clients.hold(session, xid),
                }
                let request = LearnerPacket::Request { session, xid, request, auth };
                self.relay(observer, request, context);
            }
            LearnerPacket::Revalidate { session, connection: client } => {
                master.forwards_revalidation(observer, session, client);
                self.relay(observer, packet, context);
            }
            packet => unreachable!("{}: {packet:?} of an observer that serves", context.id),
        }
    }

    /// Sends a packet of an observer to the leader. All releases send it as the follower's own (see
    /// [`Bug::MasterIsOneOwner`]).
    fn relay(&self, observer: LearnerConnection, packet: LearnerPacket, context: &mut Context<'_>) {
        let packet = match context.config.bugs.has(Bug::MasterIsOneOwner) {
            true => packet,
            false => LearnerPacket::Relayed { observer, packet: Box::new(packet) },
        };
        context.to_leader(self.learner.connected(), packet);
    }

    /// Handles the leader's answer to a revalidation, for an observer or for a client of the follower itself (rule 5.9.8).
    pub(super) fn revalidated(
        &mut self,
        session: SessionId,
        client: ClientConnection,
        timeout: Option<Duration>,
        context: &mut Context<'_>,
    ) {
        let Some(master) = &mut self.learner.master.0 else {
            self.clients.revalidated(session, client, timeout, context);
            return;
        };
        if let Some(pending) = master.revalidated(session) {
            if let Some(observer) = pending.observer {
                let connection = pending.client;
                let answer = LeaderPacket::Revalidated { session, connection, timeout };
                context.to_learner(observer, answer);
            }
            if timeout.is_some() {
                self.touch_of_observer(session, context);
            }
        } else if let Some(client) = self.clients.sessions.get(&session).copied() {
            // A follower knows by the session which of its clients waits.
            self.clients.revalidated(session, client, timeout, context);
        }
    }

    /// Records a sign of life of an observer's session, which the follower reports with its own (rule 5.9.8).
    fn touch_of_observer(&mut self, session: SessionId, context: &mut Context<'_>) {
        self.learner.touch(session);
        context.effects.event(Event::Heard { server: context.id, session });
    }

    /// Passes the leader's SYNC on to the observer that waits for it.
    pub(super) fn master_synced(
        &mut self,
        session: SessionId,
        xid: Xid,
        context: &mut Context<'_>,
    ) {
        if let Some(master) = &mut self.learner.master.0 {
            master.synced(session, xid, context);
        }
    }

    /// Closes the connection of an observer that was silent for too long.
    pub(in crate::server) fn drop_observer(
        &mut self,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        let master = self.learner.master.0.as_mut().expect("it has a handler of the observer");
        master.drop_handler(connection, context);
    }

    /// Streams the next piece to an observer.
    pub(in crate::server) fn stream_to_observer(
        &mut self,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        let master = self.learner.master.0.as_mut().expect("it has a handler of the observer");
        let (hosted, _) = master.hosted(connection).expect("it has something to stream");
        hosted.stream_next(connection, self.database, context);
    }

    /// Runs a ping round of the observer master.
    pub(in crate::server) fn ping_observers(&mut self, context: &mut Context<'_>) {
        let master = self.learner.master.0.as_mut().expect("only an observer master pings");
        master.ping_round(context);
        context.arm(ServerTimer::Ping, context.config.tick / 2);
    }
}
