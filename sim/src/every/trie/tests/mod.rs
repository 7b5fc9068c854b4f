//! Tests that programs in a trie behave as plain processes do, and that programs that are no function of their inputs
//! are detected.

mod dependent;
mod forgetting;
mod rounds;
mod sharing;
mod walks;

use super::{NodeState, Trie};
use crate::every::memo::Memo;
use std::future::Future;
use std::sync::Arc;
use vivarium_model::handle::{Program, Round, ZooKeeper, program, rounds};
use vivarium_model::host::{Host, Input, Operation, Outcome, Output};
use vivarium_model::id::{CallId, ClientId};
use vivarium_model::observation::{Custom, Observed};
use vivarium_model::time::Duration;

const ONE: ClientId = ClientId(1);
const TWO: ClientId = ClientId(2);

/// Creates a host of these programs, all started and fed their first input.
fn begun(programs: Vec<Program>) -> Memo {
    let clients = programs.len();
    let mut memo = Memo::new(Arc::new(Trie::new(programs)));
    for client in (0..clients).map(ClientId::at) {
        memo.start(client);
        feed(&mut memo, client, Input::Start);
    }
    memo
}

/// Creates a host of one program.
fn alone<P, F>(main: P) -> Memo
where
    P: Fn(ZooKeeper) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    begun(vec![program(main)])
}

fn feed(memo: &mut Memo, client: ClientId, input: Input) -> Vec<Output> {
    let mut outputs = Vec::new();
    memo.feed(client, input, &mut outputs);
    outputs
}

fn reply(memo: &mut Memo, call: u32, outcome: Outcome) -> Vec<Output> {
    feed(memo, ONE, answered(call, outcome))
}

fn answered(call: u32, outcome: Outcome) -> Input {
    Input::Reply { call: CallId(call), outcome }
}

fn state(memo: &Memo) -> &NodeState {
    memo.node(ONE).expect("it has started").state()
}

fn nodes(memo: &Memo) -> u64 {
    memo.trie().statistics().nodes
}

fn said(text: &str) -> Output {
    Output::Observe(Observed::new(Custom::new(text, &[])))
}

fn submit(call: u32, operation: Operation) -> Output {
    Output::Submit { call: CallId(call), operation }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
