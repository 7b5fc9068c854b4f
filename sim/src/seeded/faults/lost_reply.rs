//! Lost replies to writes (of any kind, closeSession included), in three variants. The client gets ConnectionLoss in
//! each, and cannot distinguish them:
//!
//! 1. *never applied*: the connection breaks with the request in flight;
//! 2. *applied*: the write was applied, and the connection breaks with the reply in flight;
//! 3. *still pending*: the leader has proposed the write, no quorum has logged it yet, and the session has already
//!    re-attached, perhaps to a server that lags. For this variant the disks of the other servers are stalled.
//!
//! Random faults rarely hit these windows of a millisecond, so the fault selects each sent write with some
//! probability and then waits for the right moment.

use super::{Order, clients, servers};
use crate::random::{Random, Ratio, Seeds};
use crate::run::look::Look;
use crate::scenario::faults::{Await, Fault, purpose};
use vivarium_model::event::Event;
use vivarium_model::id::{ClientConnection, ClientId, SessionId, Xid};
use vivarium_model::step::Step;
use vivarium_model::time::Duration;
use vivarium_model::txn::Txn;

/// A selected request that the fault has not hit yet.
type Picked = Option<(SessionId, Xid)>;

/// One variant in one run.
#[derive(Clone, Debug)]
struct Trap {
    kind: Fault,
    ratio: Ratio,
    random: Random,
    /// The selected request of each client.
    picked: Vec<Picked>,
}

/// The faults of a run that wait for writes.
#[derive(Clone, Debug)]
pub(crate) struct LostReplies {
    traps: Vec<Trap>,
}

impl LostReplies {
    /// Returns those that the plan contains.
    pub(crate) fn new(ambushes: &[(Fault, Ratio)], clients: usize, seeds: &Seeds) -> LostReplies {
        let trap = |(kind, ratio): &(Fault, Ratio)| Trap {
            kind: *kind,
            ratio: *ratio,
            random: seeds.stream(&purpose(*kind), 1),
            picked: vec![None; clients],
        };
        let on_writes = |(kind, _): &&(Fault, Ratio)| kind.awaits() == Some(Await::Write);
        LostReplies { traps: ambushes.iter().filter(on_writes).map(trap).collect() }
    }

    /// Handles the event at index `at` of a step. The orders given are carried out right after the step.
    pub(crate) fn event(
        &mut self,
        events: &[Event],
        at: usize,
        look: &dyn Look,
        orders: &mut Vec<(Fault, Order)>,
    ) {
        match &events[at] {
            Event::Sent { client, session, connection, xid, request } if request.is_update() => {
                let sent_after = sent_on(*connection, &events[at + 1..]);
                for trap in &mut self.traps {
                    if trap.random.chance(trap.ratio) {
                        let request = (*client, *session, *xid);
                        trap.pick(request, *connection, sent_after, look, orders);
                    }
                }
            }
            event => self.goes_on(event, look, orders),
        }
    }

    /// Returns what a script can order: each variant, for the requests that the script names.
    pub(crate) fn of_a_script(clients: usize, seeds: &Seeds) -> LostReplies {
        let all = [Fault::LostReplyApplied, Fault::LostReplyNeverApplied, Fault::LostReplyPending];
        let trap = |kind| Trap {
            kind,
            // A script names its requests.
            ratio: Ratio::NEVER,
            random: seeds.stream("script", kind as u64),
            picked: vec![None; clients],
        };
        LostReplies { traps: all.into_iter().map(trap).collect() }
    }

    /// Loses the reply to the update that the event at index `at` of a step sends. Returns false if it sends none.
    pub(crate) fn order(
        &mut self,
        kind: Fault,
        events: &[Event],
        at: usize,
        look: &dyn Look,
        orders: &mut Vec<(Fault, Order)>,
    ) -> bool {
        let Event::Sent { client, session, connection, xid, request } = &events[at] else {
            return false;
        };
        if !request.is_update() {
            return false;
        }
        let sent_after = sent_on(*connection, &events[at + 1..]);
        for trap in self.traps.iter_mut().filter(|trap| trap.kind == kind) {
            trap.pick((*client, *session, *xid), *connection, sent_after, look, orders);
        }
        true
    }

    /// Handles what becomes of the selected requests.
    pub(crate) fn goes_on(
        &mut self,
        event: &Event,
        look: &dyn Look,
        orders: &mut Vec<(Fault, Order)>,
    ) {
        match event {
            Event::Proposed { txn, .. } => {
                self.sprung(Fault::LostReplyPending, txn, look, |trap, connection| {
                    trap.hold_back(connection, look, orders);
                });
            }
            Event::Applied { server, txn, .. } => {
                self.sprung(Fault::LostReplyApplied, txn, look, |trap, connection| {
                    // Other servers send no reply, so the trap stays set.
                    if look.attached_to(connection.client) == Some(*server) {
                        orders.push((trap.kind, break_now(connection, look, 0)));
                        trap.picked[connection.client.index()] = None;
                    }
                });
            }
            _ => {}
        }
    }

    /// Calls `act` if `txn` is what a trap of this kind waits for, and its client's connection is alive.
    fn sprung(
        &mut self,
        kind: Fault,
        txn: &Txn,
        look: &dyn Look,
        mut act: impl FnMut(&mut Trap, ClientConnection),
    ) {
        for trap in self.traps.iter_mut().filter(|trap| trap.kind == kind) {
            let awaited = Some((txn.session, txn.cxid));
            for client in clients(look) {
                if trap.picked[client.index()] == awaited
                    && let Some(connection) = look.client_connection(client)
                {
                    act(trap, connection);
                }
            }
        }
    }
}

impl Trap {
    /// Selects a write that was just sent.
    fn pick(
        &mut self,
        (client, session, xid): (ClientId, SessionId, Xid),
        connection: ClientConnection,
        sent_after: usize,
        look: &dyn Look,
        orders: &mut Vec<(Fault, Order)>,
    ) {
        if self.kind == Fault::LostReplyNeverApplied {
            orders.push((self.kind, break_now(connection, look, sent_after + 1)));
        } else {
            self.picked[client.index()] = Some((session, xid));
        }
    }

    /// Delays a selected write that was just proposed: no other server makes it durable for a while, and meanwhile
    /// the client must find another connection.
    fn hold_back(
        &mut self,
        connection: ClientConnection,
        look: &dyn Look,
        orders: &mut Vec<(Fault, Order)>,
    ) {
        // A client waits up to a second before it tries again (rule 2.8.2).
        let lasts = self.random.span(Duration::from_millis(200), Duration::from_millis(2_500));
        for server in servers(look).filter(|server| Some(*server) != look.leader()) {
            orders.push((self.kind, Order::Stall(server, lasts)));
        }
        orders.push((self.kind, break_now(connection, look, 0)));
        self.picked[connection.client.index()] = None;
    }
}

/// Breaks a connection: all replies in flight are lost, and the last `unsent` requests.
pub(super) fn break_now(connection: ClientConnection, look: &dyn Look, unsent: usize) -> Order {
    let (to_server, _) = look.under_way(connection);
    let to_server = to_server.saturating_sub(unsent).min(usize::from(u8::MAX)) as u8;
    Order::Strike(Step::BreakClient { connection, to_server, to_client: 0 })
}

/// Returns the number of requests that these events sent on a connection.
fn sent_on(connection: ClientConnection, events: &[Event]) -> usize {
    let on_it =
        |event: &&Event| matches!(event, Event::Sent { connection: on, .. } if *on == connection);
    events.iter().filter(on_it).count()
}
