//! All texts use ZooKeeper's words.

mod events;
mod packets;
mod programs;

use std::sync::Arc;
use vivarium_model::id::{ClientConnection, ClientId, SessionId};
use vivarium_model::op::{CreateMode, Op, Request};
use vivarium_model::stat::Stat;

const SESSION: SessionId = SessionId(0x0100_0001_0000_0002);
const CONNECTION: ClientConnection = ClientConnection { client: ClientId(1), slot: 0 };

fn create() -> Arc<Request> {
    let path = Arc::from("/locks/one/x-");
    let mode = CreateMode::EphemeralSequential;
    Arc::new(Request::Write(Op::create(path, [], mode)))
}

fn stat() -> Stat {
    Stat { version: 2, cversion: 6, ..Stat::default() }
}

fn lines<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join("\n")
}
