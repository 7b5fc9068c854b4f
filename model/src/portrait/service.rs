//! The service grain: one server that stands for all of ZooKeeper, and client machines with what their servers have
//! shown them.

use super::ensemble::of_client;
use super::{Condition, Portrait, condition, log_lines};
use crate::service::Service;
use crate::vocabulary::id::{ClientId, Machine, ServerId};
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::parcel::{Parcel, Queue, Route};
use crate::vocabulary::step::Step;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All of ZooKeeper.
const ZOOKEEPER: Machine = Machine::Server(ServerId(1));

impl Portrait for Service {
    fn machines(&self) -> Vec<Machine> {
        [ZOOKEEPER].into_iter().chain(self.client_ids().map(Machine::Client)).collect()
    }

    fn places(&self, step: &Step) -> Vec<Machine> {
        match *step {
            Step::ToClient(connection) => vec![Machine::Client(connection.client)],
            Step::BreakClient { connection, .. } => {
                vec![Machine::Client(connection.client), ZOOKEEPER]
            }
            _ => vec![of_client(step).map_or(ZOOKEEPER, Machine::Client)],
        }
    }

    fn lines(&self, machine: Machine) -> Vec<String> {
        match machine {
            Machine::Server(_) => self.zookeeper_lines(),
            Machine::Client(client) => {
                let mut lines = self.clients[client.index()].lines();
                lines.extend(self.link_lines(client));
                lines
            }
        }
    }

    fn is_waiting(&self, client: ClientId) -> bool {
        self.clients[client.index()].is_waiting()
    }

    fn conditions(&self, machine: Machine) -> Vec<Condition> {
        let Machine::Client(client) = machine else { return Vec::new() };
        let node = &self.clients[client.index()];
        let condition = condition::of_client(&node.machine).map(|condition| match condition {
            Condition::Connected { .. } => Condition::Connected { server: None },
            other => other,
        });
        condition.into_iter().collect()
    }

    fn under_way(&self) -> BTreeMap<Route, Queue> {
        let mut routes = BTreeMap::new();
        for client in self.client_ids() {
            let (up, down) = self.parcels(client);
            let (name, machine) = (self.connection(client), Machine::Client(client));
            let up = Queue { from: machine, to: ZOOKEEPER, parcels: up };
            let down = Queue { from: ZOOKEEPER, to: machine, parcels: down };
            routes.insert(Route::ToServer(name), up);
            routes.insert(Route::ToClient(name), down);
            self.clients[client.index()].messages(client, &mut routes);
        }
        for (session, client, writes) in self.writes_under_way() {
            let parcel = |(xid, request, _): &crate::service::link::LateWrite| {
                let request = Arc::clone(request);
                Parcel::ToServer(ClientPacket::Request { xid: *xid, request })
            };
            let parcels = writes.iter().map(parcel).collect();
            let from = Machine::Client(client.unwrap_or(ClientId(1)));
            routes.insert(Route::Late(session), Queue { from, to: ZOOKEEPER, parcels });
        }
        routes.retain(|_, queue| !queue.parcels.is_empty());
        routes
    }
}

impl Service {
    fn zookeeper_lines(&self) -> Vec<String> {
        let (txns, tree) = self.log_and_tree();
        let mut lines = vec![format!("last zxid {}", tree.last_processed())];
        tree.lines(&mut lines);
        for session in tree.sessions().keys().filter(|session| self.is_closing(**session)) {
            lines.push(format!("session {session} has expired, and is not closed yet"));
        }
        log_lines(&txns, 0, &mut lines);
        lines
    }
}
