//! Programs that wait for the commands of a story.

use std::collections::BTreeMap;
use vivarium_model::host::{Host, Input, Operation, Outcome, Output};
use vivarium_model::id::{CallId, ClientId};
use vivarium_model::op::Request;

/// Programs that execute the console's commands. Each always awaits a cancellation, and the engine cancels it to wake
/// it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Puppets {
    pub(crate) orders: BTreeMap<ClientId, Vec<Operation>>,
    next_call: BTreeMap<ClientId, u32>,
}

impl Puppets {
    fn slot(&mut self, client: ClientId) -> CallId {
        let next = self.next_call.entry(client).or_default();
        *next += 1;
        CallId(*next)
    }
}

impl Host for Puppets {
    fn start(&mut self, _client: ClientId) {}

    fn feed(&mut self, client: ClientId, input: Input, outputs: &mut Vec<Output>) {
        let wakes =
            matches!(input, Input::Start | Input::Reply { outcome: Outcome::Cancelled, .. });
        if !wakes {
            return;
        }
        for mut operation in self.orders.remove(&client).unwrap_or_default() {
            if let Operation::Request { request, watch, .. } = &mut operation {
                let asks = matches!(
                    **request,
                    Request::Exists { watch: true, .. }
                        | Request::GetData { watch: true, .. }
                        | Request::GetChildren { watch: true, .. }
                );
                *watch = asks.then(|| self.slot(client));
            }
            outputs.push(Output::Submit { call: self.slot(client), operation });
        }
        let call = self.slot(client);
        outputs.push(Output::Submit { call, operation: Operation::Cancelled });
    }

    fn kill(&mut self, _client: ClientId) {}
}
