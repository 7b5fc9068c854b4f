//! `LearnerHandler`: reads everything that a learner sends, from FOLLOWERINFO to the packets of broadcast, and passes
//! it on according to the handler's phase.

use super::Leading;
use super::discovery::LearnerInfo;
use super::state::{Handler, HandlerPhase};
use crate::network::Delivered;
use crate::server::context::{Context, Stays};
use crate::server::prep::Asker;
use crate::server::tracker::Owner;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{LearnerConnection, SessionId};
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::{LeaderPacket, LearnerPacket, ServerRequest};
use crate::vocabulary::zxid::Zxid;

impl Leading<'_> {
    /// Reads from a learner's connection; the first packet of a new connection begins a handler.
    pub(in crate::server) fn read_from_learner(
        &mut self,
        connection: LearnerConnection,
        delivered: Delivered<LearnerPacket>,
        context: &mut Context<'_>,
    ) -> Stays {
        match delivered {
            Delivered::Packet(packet) => self.learner_packet(connection, packet, context),
            Delivered::End { .. } if self.leader.handles(connection) => {
                self.drop_handler(connection, context);
                Ok(())
            }
            // It ended before the learner had sent anything, so there is no handler.
            Delivered::End { .. } => Ok(()),
        }
    }

    /// Returns true if a leader refuses the connection: an observer that has an observer master's port in place of the
    /// leader's, where no leader listens (rule 5.9.1).
    pub(in crate::server) fn refuses(
        &self,
        connection: LearnerConnection,
        delivered: &Delivered<LearnerPacket>,
        context: &Context<'_>,
    ) -> bool {
        let is_observer =
            matches!(delivered, Delivered::Packet(LearnerPacket::ObserverInfo { .. }));
        context.config.has_observer_masters() && is_observer && !self.leader.handles(connection)
    }

    /// Handles a packet in the handler of its connection.
    fn learner_packet(
        &mut self,
        connection: LearnerConnection,
        packet: LearnerPacket,
        context: &mut Context<'_>,
    ) -> Stays {
        let handler = self.leader.handlers.entry(connection).or_insert_with(|| {
            context.network.accept_learner(connection);
            Handler::begin(connection, context)
        });
        if handler.phase == HandlerPhase::Broadcast {
            handler.was_heard(connection, context);
        }
        match (&handler.phase, packet) {
            (
                HandlerPhase::AwaitingInfo,
                LearnerPacket::FollowerInfo { accepted_epoch, config_version },
            ) => {
                let info = LearnerInfo { accepted_epoch, config_version, observes: false };
                return self.follower_info(connection, info, context);
            }
            (
                HandlerPhase::AwaitingInfo,
                LearnerPacket::ObserverInfo { accepted_epoch, config_version },
            ) => {
                let info = LearnerInfo { accepted_epoch, config_version, observes: true };
                return self.follower_info(connection, info, context);
            }
            (
                HandlerPhase::AwaitingEpochAck,
                LearnerPacket::AckEpoch { current_epoch, last_zxid },
            ) => self.epoch_ack(connection, current_epoch, last_zxid, context),
            (HandlerPhase::AwaitingAck, LearnerPacket::Ack(zxid)) => {
                self.first_ack(connection, zxid, context);
            }
            // The handler reads nothing before its release. Only in older releases does a learner acknowledge proposals
            // before ([`crate::vocabulary::release::Bug::NewLeaderAckedBeforeFsync`]).
            (HandlerPhase::AwaitingStart, LearnerPacket::Ack(zxid)) => handler.early.0.push(zxid),
            // A ping changes nothing.
            (
                HandlerPhase::AwaitingAck | HandlerPhase::AwaitingStart,
                LearnerPacket::Ping { .. },
            ) => {}
            (HandlerPhase::Broadcast, packet) => {
                return self.broadcast_packet(connection, packet, context);
            }
            (phase, packet) => unreachable!("{}: {packet:?} in phase {phase:?}", context.id),
        }
        Ok(())
    }

    /// Reports the live sessions that a learner has listed to the monitors.
    fn tell_touched(&self, sessions: &[SessionId], context: &mut Context<'_>) {
        if self.leader.is_established() && !sessions.is_empty() {
            let (leader, sessions) = (context.id, sessions.to_vec());
            context.effects.event(Event::Touched { leader, sessions });
        }
    }

    /// Handles the acknowledgement of a proposal.
    pub(super) fn read_ack(
        &mut self,
        connection: LearnerConnection,
        zxid: Zxid,
        context: &mut Context<'_>,
    ) {
        let handler = self.leader.handler_mut(connection);
        // The learner has registered again since (see [`crate::vocabulary::release::Bug::AcksOutliveReconnect`]).
        if !handler.superseded {
            handler.sync_limit.acknowledged(zxid, connection, context);
            self.process_ack(connection.learner, zxid, context);
        }
    }

    /// Handles a packet of a learner in broadcast (rule 6.7.2), or of an observer whose master passes it on.
    fn broadcast_packet(
        &mut self,
        connection: LearnerConnection,
        packet: LearnerPacket,
        context: &mut Context<'_>,
    ) -> Stays {
        match packet {
            LearnerPacket::Relayed { observer, packet } => {
                let owner = Owner::Observer { master: connection, observer };
                self.packet_of_owner(connection, owner, *packet, context)
            }
            packet => self.packet_of_owner(connection, Owner::Learner(connection), packet, context),
        }
    }

    fn packet_of_owner(
        &mut self,
        connection: LearnerConnection,
        owner: Owner,
        packet: LearnerPacket,
        context: &mut Context<'_>,
    ) -> Stays {
        match packet {
            LearnerPacket::Ack(zxid) => self.read_ack(connection, zxid, context),
            LearnerPacket::Ping { touched } => {
                self.tell_touched(&touched, context);
                for session in touched {
                    self.touch(session, context);
                }
            }
            LearnerPacket::Request { session, xid, request, auth } => match request {
                ServerRequest::Client(request) if matches!(*request, Request::Sync { .. }) => {
                    if self.leader.is_established() {
                        let (leader, by_learner) = (context.id, true);
                        context.effects.event(Event::SyncRead { leader, session, xid, by_learner });
                    }
                    self.sync_for_learner(connection, session, xid, context);
                }
                request => {
                    self.commits.wake(context);
                    let local =
                        context.config.options.local_sessions && session.issuer() != context.id;
                    let asker = Asker { local, ..Asker::new(session, owner, auth) };
                    return self.prepare(&asker, xid, &request, context);
                }
            },
            LearnerPacket::Revalidate { session, connection: waiting } => {
                self.tell_touched(&[session], context);
                let timeout = self.revalidate(session, owner, context);
                let answer = LeaderPacket::Revalidated { session, connection: waiting, timeout };
                context.to_learner(connection, answer);
            }
            packet @ (LearnerPacket::FollowerInfo { .. }
            | LearnerPacket::ObserverInfo { .. }
            | LearnerPacket::AckEpoch { .. }
            | LearnerPacket::Relayed { .. }) => {
                unreachable!("{}: {packet:?} in broadcast", context.id)
            }
        }
        Ok(())
    }
}
