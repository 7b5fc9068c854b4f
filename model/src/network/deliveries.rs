//! The deliveries that are possible, ignoring cut links.

use super::Network;
use super::connection::occupied;
use crate::vocabulary::id::{ClientConnection, ClientId, LearnerConnection, ServerId};
use crate::vocabulary::step::Step;

impl Network {
    /// Returns true if the reader of a learner's or leader's delivery has its end open.
    pub(crate) fn has_reader(&self, step: &Step) -> bool {
        let learner = |connection: &LearnerConnection| {
            self.learners[connection.learner.index()].get(connection.slot)
        };
        match step {
            Step::ToLeader(connection) => learner(connection).is_some_and(|it| it.acceptor_open),
            Step::ToLearner(connection) => learner(connection).is_some_and(|it| it.opener_open),
            _ => unreachable!("{step}: this is asked of learners' connections only"),
        }
    }

    /// Returns true if the reader of a delivery has something to read, ignoring cut links.
    pub(crate) fn has_delivery(&self, step: &Step) -> bool {
        let client = |connection: &ClientConnection| {
            self.links_of(connection.client).and_then(|links| links.get(connection.slot))
        };
        let learner = |connection: &LearnerConnection| {
            self.learners[connection.learner.index()].get(connection.slot)
        };
        match step {
            Step::ToServer(connection) => {
                client(connection).is_some_and(|it| it.has_for_acceptor())
            }
            Step::ToClient(connection) => client(connection).is_some_and(|it| it.has_for_opener()),
            Step::ToLeader(connection) => {
                learner(connection).is_some_and(|it| it.has_for_acceptor())
            }
            Step::ToLearner(connection) => {
                learner(connection).is_some_and(|it| it.has_for_opener())
            }
            Step::Vote { from, to } => self.has_mail(*from, *to),
            _ => unreachable!("{step} delivers nothing"),
        }
    }

    /// Appends every delivery that is possible now, ignoring cut links.
    pub fn deliveries(&self, steps: &mut Vec<Step>) {
        for (at, links) in self.clients.iter().enumerate() {
            for (slot, open) in occupied(links) {
                let connection = ClientConnection { client: ClientId::at(at), slot };
                if open.has_for_acceptor() {
                    steps.push(Step::ToServer(connection));
                }
                if open.has_for_opener() {
                    steps.push(Step::ToClient(connection));
                }
            }
        }
        for (at, links) in self.learners.iter().enumerate() {
            for (slot, open) in occupied(links) {
                let connection = LearnerConnection { learner: ServerId::at(at), slot };
                if open.has_for_acceptor() {
                    steps.push(Step::ToLeader(connection));
                }
                if open.has_for_opener() {
                    steps.push(Step::ToLearner(connection));
                }
            }
        }
        for (from, boxes) in self.mail.iter().enumerate() {
            for (to, mailbox) in boxes.iter().enumerate() {
                if mailbox.pending.is_some() {
                    steps.push(Step::Vote { from: ServerId::at(from), to: ServerId::at(to) });
                }
            }
        }
    }
}
