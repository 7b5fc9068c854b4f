//! Connections that break and lose the last packets in flight, a different number in each direction. There is no
//! other loss in ZooKeeper's world: TCP delivers a prefix.

use super::{Order, clients, servers, surviving};
use crate::random::Random;
use crate::run::look::Look;
use vivarium_model::id::{ClientConnection, LearnerConnection};
use vivarium_model::step::Step;

/// Breaks the connection of a random client.
pub(super) fn reset_client(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let connections: Vec<ClientConnection> =
        clients(look).filter_map(|client| look.client_connection(client)).collect();
    let Some(connection) = random.choose(&connections) else {
        return Vec::new();
    };
    let (to_server, to_client) = look.under_way(connection);
    vec![Order::Strike(Step::BreakClient {
        connection,
        to_server: surviving(random, to_server),
        to_client: surviving(random, to_client),
    })]
}

/// Breaks the connection of a random learner to its leader.
pub(super) fn reset_learner(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let connections: Vec<LearnerConnection> =
        servers(look).filter_map(|server| look.learner_connection(server)).collect();
    let Some(connection) = random.choose(&connections) else {
        return Vec::new();
    };
    let (to_leader, to_learner) = look.under_way_learner(connection);
    vec![Order::Strike(Step::BreakLearner {
        connection,
        to_leader: surviving(random, to_leader),
        to_learner: surviving(random, to_learner),
    })]
}
