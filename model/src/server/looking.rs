//! A server that is LOOKING: it takes part in an election, and may serve reads meanwhile.

use super::clients::Clients;
use super::context::Context;
use super::database::Database;
use super::election::{Decision, Election};
use super::read_only::begin_grace;
use crate::vocabulary::packet::Vote;

/// What the code of a LOOKING server works with.
pub(super) struct Looking<'a> {
    pub(super) database: &'a Database,
    pub(super) election: &'a mut Election,
    pub(super) clients: &'a mut Clients,
}

impl Looking<'_> {
    /// Begins an election with this vote for itself. Under the oracle it only waits.
    pub(super) fn look(&mut self, own: Vote, context: &mut Context<'_>) {
        if !context.config.election.is_oracle() {
            begin_grace(context);
            self.election.look(own, context);
        }
    }

    /// Handles the timeout without notifications.
    pub(super) fn notification_timeout(&mut self, context: &mut Context<'_>) {
        self.election.notification_timeout(context);
    }

    /// Handles the finalize timer: no better vote arrived.
    pub(super) fn finalize(&mut self) -> Decision {
        self.election.finalize()
    }

    /// Begins to serve reads, after the server was LOOKING for long enough.
    pub(super) fn begin_read_only(&mut self, context: &mut Context<'_>) {
        self.clients.begin_read_only(self.database.tree.last_processed(), context);
    }
}
