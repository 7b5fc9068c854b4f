//! Read access to the service grain for a reader of the run.

use super::Service;
use super::link::LateWrite;
use crate::tree::DataTree;
use crate::vocabulary::id::{ClientId, SessionId};
use crate::vocabulary::parcel::Parcel;
use crate::vocabulary::txn::Txn;
use std::collections::VecDeque;
use std::sync::Arc;

impl Service {
    /// Returns the transactions that are kept, and the tree after the last one.
    pub(crate) fn log_and_tree(&self) -> (Vec<Arc<Txn>>, &DataTree) {
        let entries = self.log.after(crate::vocabulary::zxid::Zxid::ZERO);
        (entries.iter().filter_map(|entry| entry.txn.clone()).collect(), &self.log.last().tree)
    }

    /// Describes a client's connection, one fact per line.
    pub(crate) fn link_lines(&self, client: ClientId) -> Vec<String> {
        let link = &self.links.links[client.index()];
        if !link.open || link.session.is_none() {
            return Vec::new();
        }
        let mut lines = vec![format!("its server has applied the log up to {}", link.view)];
        if link.hung_up {
            lines.push("its server has closed the connection".to_owned());
        }
        for (path, _) in link.watches.data_watches() {
            lines.push(format!("its server has a data watch on {path}"));
        }
        for (path, _) in link.watches.child_watches() {
            lines.push(format!("its server has a child watch on {path}"));
        }
        lines
    }

    /// Returns what is under way on a client's connection: to the server, and to the client.
    pub(crate) fn parcels(&self, client: ClientId) -> (Vec<Parcel>, Vec<Parcel>) {
        let link = &self.links.links[client.index()];
        let end = (link.open && link.hung_up).then_some(Parcel::End);
        let up = link.to_server.iter().cloned().map(Parcel::ToServer).collect();
        let down = link.to_client.iter().cloned().map(Parcel::ToClient).chain(end).collect();
        (up, down)
    }

    /// Returns the writes of lost connections that may still arrive, with the clients that sent them.
    pub(crate) fn writes_under_way(
        &self,
    ) -> impl Iterator<Item = (SessionId, Option<ClientId>, &VecDeque<LateWrite>)> {
        self.links.late.iter().map(|(session, writes)| {
            let of = self.client_ids().find(|client| self.session(*client) == Some(*session));
            (*session, of, writes)
        })
    }
}
