//! Connections that learners open to their leader.

use super::Network;
use super::connection::{Connection, break_both, occupied};
use crate::vocabulary::effect::Effects;
use crate::vocabulary::id::{LearnerConnection, ServerId, ServerSet};
use crate::vocabulary::packet::{Delivered, LeaderPacket, LearnerPacket};
use crate::vocabulary::step::Step;

impl Network {
    /// Opens a connection of a learner.
    pub(crate) fn open_learner(&mut self, learner: ServerId, to: ServerId) -> LearnerConnection {
        let slot = self.learners[learner.index()].make_mut().open(to);
        LearnerConnection { learner, slot }
    }

    /// Returns the server that a learner's connection leads to.
    pub fn leader_of(&self, connection: LearnerConnection) -> Option<ServerId> {
        self.learners[connection.learner.index()].get(connection.slot).map(|open| open.to)
    }

    /// Sends a packet from a learner. No effect if the connection has ended.
    pub(crate) fn send_to_leader(
        &mut self,
        connection: LearnerConnection,
        packet: LearnerPacket,
        effects: &mut Effects,
    ) {
        let links = self.learners[connection.learner.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.opener_open && open.acceptor_open && !open.up.ended {
            effects.absorb(&packet);
            open.up.packets.push_back(packet);
            effects.due(Step::ToLeader(connection));
        }
    }

    /// Sends a packet from the leader to a learner. No effect if the connection has ended.
    pub(crate) fn send_to_learner(
        &mut self,
        connection: LearnerConnection,
        packet: LeaderPacket,
        effects: &mut Effects,
    ) {
        let links = self.learners[connection.learner.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.acceptor_open && open.opener_open && !open.down.ended {
            effects.absorb(&packet);
            open.down.packets.push_back(packet);
            effects.due(Step::ToLearner(connection));
        }
    }

    /// Accepts a connection at the leader.
    pub(crate) fn accept_learner(&mut self, connection: LearnerConnection) {
        if let Some(open) =
            self.learners[connection.learner.index()].make_mut().get_mut(connection.slot)
        {
            open.accepted = true;
        }
    }

    /// Reads from a learner's connection at the leader.
    pub fn read_from_learner(
        &mut self,
        connection: LearnerConnection,
    ) -> Option<Delivered<LearnerPacket>> {
        let links = self.learners[connection.learner.index()].make_mut();
        let delivered = links.get_mut(connection.slot)?.read_up();
        links.tidy(connection.slot);
        delivered
    }

    /// Reads from a connection at the learner.
    pub(crate) fn read_from_leader(
        &mut self,
        connection: LearnerConnection,
    ) -> Option<Delivered<LeaderPacket>> {
        let links = self.learners[connection.learner.index()].make_mut();
        let delivered = links.get_mut(connection.slot)?.read_down();
        links.tidy(connection.slot);
        delivered
    }

    /// Closes the learner's end of a connection.
    pub(crate) fn close_by_learner(
        &mut self,
        connection: LearnerConnection,
        effects: &mut Effects,
    ) {
        let links = self.learners[connection.learner.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.opener_open && open.close_opener() {
            effects.due(Step::ToLeader(connection));
        }
        links.tidy(connection.slot);
    }

    /// Closes the leader's end of a connection.
    pub(crate) fn close_by_leader(&mut self, connection: LearnerConnection, effects: &mut Effects) {
        let links = self.learners[connection.learner.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return };
        if open.acceptor_open && open.close_acceptor() {
            effects.due(Step::ToLearner(connection));
        }
        links.tidy(connection.slot);
    }

    /// Returns the learners with a connection whose end at `server` is open.
    pub(crate) fn supporters_of(&self, server: ServerId) -> ServerSet {
        let is_open_there = |open: &Connection<_, _>| open.to == server && open.acceptor_open;
        let learners = self.learners.iter().enumerate();
        let connected =
            learners.filter(|(_, links)| occupied(links).any(|(_, open)| is_open_there(open)));
        connected.map(|(at, _)| ServerId::at(at)).collect()
    }

    /// Returns every connection of learners whose end at `server` is open.
    pub(crate) fn learners_of(&self, server: ServerId) -> Vec<LearnerConnection> {
        let mut found = Vec::new();
        for (at, links) in self.learners.iter().enumerate() {
            for (slot, open) in links.slots.iter().enumerate() {
                if open.as_ref().is_some_and(|open| open.to == server && open.acceptor_open) {
                    found.push(LearnerConnection { learner: ServerId::at(at), slot: slot as u8 });
                }
            }
        }
        found
    }

    /// Returns true if a learner's connection can still break.
    pub(crate) fn is_breakable_learner(&self, connection: LearnerConnection) -> bool {
        let open = self.learners[connection.learner.index()].get(connection.slot);
        open.is_some_and(|open| open.is_breakable())
    }

    /// Returns every connection of learners that can still break, in a fixed order.
    pub(crate) fn breakable(&self) -> impl Iterator<Item = LearnerConnection> {
        self.learners.iter().enumerate().flat_map(|(at, links)| {
            let whole = occupied(links).filter(|(_, open)| open.is_breakable());
            whole.map(move |(slot, _)| LearnerConnection { learner: ServerId::at(at), slot })
        })
    }

    /// Returns true if any learner's connection is open at `server`.
    pub(crate) fn has_learners(&self, server: ServerId) -> bool {
        let is_open_there = |open: &Connection<_, _>| open.to == server && open.acceptor_open;
        self.learners.iter().any(|links| occupied(links).any(|(_, open)| is_open_there(open)))
    }

    /// Moves a learner's connections to the lowest slots, oldest first, so that their numbers do not depend on how
    /// many there have been. Returns the old and new names of those that moved, in the order in which they must be
    /// renamed.
    pub fn renumber(&mut self, learner: ServerId) -> Vec<(LearnerConnection, LearnerConnection)> {
        if self.learners[learner.index()].is_compact() {
            return Vec::new();
        }
        let name = |slot| LearnerConnection { learner, slot };
        let moved = self.learners[learner.index()].make_mut().compact();
        moved.into_iter().map(|(from, to)| (name(from), name(to))).collect()
    }

    /// Returns the number of packets in flight: to the leader, and to the learner.
    pub fn under_way_learner(&self, connection: LearnerConnection) -> (usize, usize) {
        self.learners[connection.learner.index()]
            .get(connection.slot)
            .map_or((0, 0), |open| (open.up.packets.len(), open.down.packets.len()))
    }

    /// Breaks a learner's connection, like [`Network::break_client`].
    pub(crate) fn break_learner(
        &mut self,
        connection: LearnerConnection,
        to_leader: u8,
        to_learner: u8,
        effects: &mut Effects,
    ) -> bool {
        let links = self.learners[connection.learner.index()].make_mut();
        let Some(open) = links.get_mut(connection.slot) else { return false };
        let Some((up, down)) = break_both(open, to_leader, to_learner) else { return false };
        if up {
            effects.due(Step::ToLeader(connection));
        }
        if down {
            effects.due(Step::ToLearner(connection));
        }
        true
    }
}
