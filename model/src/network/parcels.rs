//! Everything that is under way, for a reader of the run.

use super::Network;
use super::connection::{Connection, Pipe, occupied};
use crate::vocabulary::id::{ClientConnection, ClientId, LearnerConnection, Machine, ServerId};
use crate::vocabulary::parcel::{Parcel, Queue, Route};
use std::collections::BTreeMap;

/// Makes a parcel of a packet.
type Makes<T> = fn(T) -> Parcel;

impl Network {
    /// Returns what each reader has yet to read, ignoring cut links.
    pub fn under_way_everywhere(&self) -> BTreeMap<Route, Queue> {
        let mut routes = BTreeMap::new();
        for (at, links) in self.clients.iter().enumerate() {
            let client = ClientId::at(at);
            for (slot, open) in occupied(links) {
                let name = ClientConnection { client, slot };
                let routes_of = (Route::ToServer(name), Route::ToClient(name));
                let packets = (Parcel::ToServer as Makes<_>, Parcel::ToClient as Makes<_>);
                both(open, Machine::Client(client), routes_of, packets, &mut routes);
            }
        }
        for (at, links) in self.learners.iter().enumerate() {
            let learner = ServerId::at(at);
            for (slot, open) in occupied(links) {
                let name = LearnerConnection { learner, slot };
                let routes_of = (Route::ToLeader(name), Route::ToLearner(name));
                let packets = (Parcel::ToLeader as Makes<_>, Parcel::ToLearner as Makes<_>);
                both(open, Machine::Server(learner), routes_of, packets, &mut routes);
            }
        }
        self.notifications(&mut routes);
        routes
    }

    fn notifications(&self, routes: &mut BTreeMap<Route, Queue>) {
        for (from, boxes) in self.mail.iter().enumerate() {
            for (to, mailbox) in boxes.iter().enumerate() {
                let Some(notification) = mailbox.pending else { continue };
                let (from, to) = (ServerId::at(from), ServerId::at(to));
                let parcels = vec![Parcel::Vote(notification)];
                let queue = Queue { from: Machine::Server(from), to: Machine::Server(to), parcels };
                routes.insert(Route::Vote { from, to }, queue);
            }
        }
    }
}

/// Adds both directions of a connection.
fn both<Up: Clone, Down: Clone>(
    open: &Connection<Up, Down>,
    opener: Machine,
    (up, down): (Route, Route),
    (of_up, of_down): (Makes<Up>, Makes<Down>),
    routes: &mut BTreeMap<Route, Queue>,
) {
    let acceptor = Machine::Server(open.to);
    let to_read = open.has_for_acceptor().then(|| parcels(&open.up, of_up));
    if let Some(parcels) = to_read {
        routes.insert(up, Queue { from: opener, to: acceptor, parcels });
    }
    let to_read = open.has_for_opener().then(|| parcels(&open.down, of_down));
    if let Some(parcels) = to_read {
        routes.insert(down, Queue { from: acceptor, to: opener, parcels });
    }
}

fn parcels<T: Clone>(pipe: &Pipe<T>, parcel: Makes<T>) -> Vec<Parcel> {
    let end = pipe.ended.then_some(Parcel::End);
    pipe.packets.iter().cloned().map(parcel).chain(end).collect()
}
