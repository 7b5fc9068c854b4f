//! Handlers of observers that have outlived their master's role (rule 5.9.10; [`Bug::HandlersOutliveMaster`]).
//!
//! Such a handler continues to synchronise its observer from the database, whatever the server's role is by then. What it
//! reads after that has no effect, because the request processors of its role have ended. It sends no PING, so the
//! observer leaves it after syncLimit ticks.
//!
//! [`Bug::HandlersOutliveMaster`]: crate::vocabulary::release::Bug::HandlersOutliveMaster

use super::cache::Cache;
use super::hosted::{Answer, Hosted, Stored};
use crate::network::Delivered;
use crate::server::context::Context;
use crate::server::database::Database;
use crate::vocabulary::id::LearnerConnection;
use crate::vocabulary::packet::LearnerPacket;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// The handlers of a server that have outlived their roles, each with what its master has kept. Without any, a state is
/// hashed as if there were no such field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::server) struct LeftHandlers(BTreeMap<LearnerConnection, (Hosted, Cache)>);

impl Hash for LeftHandlers {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if !self.0.is_empty() {
            self.0.hash(state);
        }
    }
}

impl LeftHandlers {
    /// Keeps a handler beyond its role.
    pub(super) fn keep(&mut self, connection: LearnerConnection, hosted: Hosted, cache: Cache) {
        self.0.insert(connection, (hosted, cache));
    }

    /// Returns true if this connection has such a handler.
    pub(in crate::server) fn has(&self, connection: LearnerConnection) -> bool {
        self.0.contains_key(&connection)
    }

    /// Returns the connections of these handlers.
    pub(in crate::server) fn connections(&self) -> impl Iterator<Item = LearnerConnection> {
        self.0.keys().copied()
    }

    /// Returns true if the handler of this connection has something to stream.
    pub(in crate::server) fn can_stream(&self, connection: LearnerConnection) -> bool {
        self.0.get(&connection).is_some_and(|(hosted, _)| hosted.can_stream())
    }

    /// Reads from the connection of such a handler.
    pub(in crate::server) fn read(
        &mut self,
        connection: LearnerConnection,
        delivered: Delivered<LearnerPacket>,
        stored: &Stored<'_>,
        context: &mut Context<'_>,
    ) {
        let (hosted, cache) = self.0.get_mut(&connection).expect("it has a handler");
        let Delivered::Packet(packet) = delivered else {
            self.end(connection, context);
            return;
        };
        match hosted.read(connection, packet, cache, stored, context) {
            Answer::Done | Answer::Passes(_) => {}
            Answer::Ends => self.end(connection, context),
        }
    }

    /// Streams the next piece of a synchronisation.
    pub(in crate::server) fn stream_next(
        &mut self,
        connection: LearnerConnection,
        database: &Database,
        context: &mut Context<'_>,
    ) {
        let (hosted, _) = self.0.get_mut(&connection).expect("it has a handler");
        hosted.stream_next(connection, database, context);
    }

    /// Ends a handler.
    pub(in crate::server) fn end(
        &mut self,
        connection: LearnerConnection,
        context: &mut Context<'_>,
    ) {
        let (hosted, _) = self.0.remove(&connection).expect("it has a handler");
        hosted.end(connection, context);
    }

    /// Ends all handlers, with the process.
    pub(in crate::server) fn end_all(&mut self, context: &mut Context<'_>) {
        for (connection, (hosted, _)) in std::mem::take(&mut self.0) {
            hosted.end(connection, context);
        }
    }
}
