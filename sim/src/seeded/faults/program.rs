//! Faults of programs, their machines and their sessions.

use super::{Order, a_while, clients, surviving};
use crate::random::{Random, Ratio};
use crate::run::look::Look;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::step::Step;

/// Expires the session of a random client at the leader.
pub(super) fn expire(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let sessions: Vec<SessionId> =
        clients(look).filter_map(|client| look.session(client)).collect();
    random
        .choose(&sessions)
        .map(|session| Order::Strike(Step::Expire(session)))
        .into_iter()
        .collect()
}

/// Kills a program's process; another replaces it after a while. Its requests may not have left the machine: in half
/// of the cases, its connection first loses the last packets in flight.
pub(super) fn crash(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let Some(client) = choose(random, look, |client| look.is_running(client)) else {
        return Vec::new();
    };
    let down_for = a_while(random, 10, 1_000);
    let loses_unsent = random.chance(Ratio::one_in(2));
    let mut orders = Vec::new();
    if loses_unsent && let Some(connection) = look.client_connection(client) {
        let (to_server, _) = look.under_way(connection);
        let to_server = surviving(random, to_server);
        orders.push(Order::Strike(Step::BreakClient { connection, to_server, to_client: 0 }));
    }
    orders.push(Order::Strike(Step::Kill(client)));
    orders.push(Order::Later(down_for, Step::Start(client)));
    orders
}

/// Pauses a client machine, perhaps for longer than its session's timeout.
pub(super) fn pause(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    let Some(client) = choose(random, look, |client| look.is_running(client)) else {
        return Vec::new();
    };
    let lasts = a_while(random, 10, 2_000);
    vec![Order::Strike(Step::Pause(client)), Order::Later(lasts, Step::Resume(client))]
}

/// Cancels the cancellable work of a random program.
pub(super) fn cancel(random: &mut Random, look: &dyn Look) -> Vec<Order> {
    choose(random, look, |client| look.can_cancel(client))
        .map(|client| Order::Strike(Step::Cancel(client)))
        .into_iter()
        .collect()
}

/// Returns a random client that `fits`; paused machines are left out.
fn choose(
    random: &mut Random,
    look: &dyn Look,
    fits: impl Fn(ClientId) -> bool,
) -> Option<ClientId> {
    let fitting: Vec<ClientId> =
        clients(look).filter(|client| fits(*client) && !look.is_paused(*client)).collect();
    random.choose(&fitting)
}
