//! Variations of the values in a program's inputs: random numbers, session ids and times of znodes.

use super::renaming::{Renaming, random_number};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::host::{Input, Message, Outcome};
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::op::{
    ClientInfo, Data, OpResult, ReadResult, Response, SessionChange, WatchedEvent,
};
use vivarium_model::session_order::SessionOrder;
use vivarium_model::stat::Stat;
use vivarium_model::zxid::Zxid;

/// A kind of value in a program's inputs for which a search uses only one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Valued {
    /// The results of draws ([`vivarium_model::handle::ZooKeeper::random`]).
    RandomNumbers,
    /// Session ids.
    SessionIds,
    /// `ctime` and `mtime` of a [`Stat`].
    ZnodeTimes,
}

impl Valued {
    /// All kinds.
    pub const ALL: [Valued; 3] = [Valued::RandomNumbers, Valued::SessionIds, Valued::ZnodeTimes];
}

/// The number of sessions and of random numbers per client that are recognised in inputs.
const KNOWN: u32 = 256;

/// A replacement for the values in a history.
pub(super) struct Variation {
    pub(super) renaming: Renaming,
    times: Times,
}

/// The times of znodes' changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    /// All times are 0, as in the search.
    Zero,
    /// Each time is ten seconds after the time of the previous transaction.
    Up,
    /// Each time is ten seconds before the time of the previous transaction, as if each leader's clock were behind that
    /// of its predecessor.
    Down,
}

impl Variation {
    /// Creates a variation of these kinds of values; `number` selects one of several.
    pub(super) fn of(
        valued: &[Valued],
        clients: u8,
        order: &SessionOrder,
        number: u32,
    ) -> Variation {
        let mut numbers = BTreeMap::new();
        let has = |kind| valued.contains(&kind);
        // The last order is the reverse of the first, as far as the orders can be reversed.
        let last = SessionOrder::nth(clients, SessionOrder::count(clients) - 1);
        let other = if last == *order { SessionOrder::default() } else { last };
        for client in ClientId::first(clients) {
            for known in 0..KNOWN {
                if has(Valued::SessionIds) {
                    let session = order.session(client, known + 1).0;
                    // With a larger session number too, for programs that compute with it.
                    numbers.insert(session, other.session(client, known + 1 + number).0);
                }
                if has(Valued::RandomNumbers) {
                    let here = random_number(client, known.into());
                    numbers.insert(here, other_number(here, client, number));
                }
            }
        }
        let times = match has(Valued::ZnodeTimes) {
            false => Times::Zero,
            true if number.is_multiple_of(2) => Times::Up,
            true => Times::Down,
        };
        Variation { renaming: Renaming::to(numbers), times }
    }

    /// Returns the same input with other values.
    pub(super) fn told(&self, input: &Input) -> Input {
        match input {
            Input::Start => Input::Start,
            Input::Session(SessionChange { state, session }) => {
                let session = session.map(|session| self.session(session));
                Input::Session(SessionChange { state: *state, session })
            }
            Input::Reply { call, outcome } => {
                Input::Reply { call: *call, outcome: self.outcome(outcome) }
            }
            Input::Event { call, event } => Input::Event { call: *call, event: self.event(event) },
        }
    }

    fn outcome(&self, outcome: &Outcome) -> Outcome {
        match outcome {
            Outcome::Response(Ok(response)) => Outcome::Response(Ok(self.response(response))),
            Outcome::Watch(Ok(event)) => Outcome::Watch(Ok(self.event(event))),
            Outcome::Connected(session) => Outcome::Connected(self.session(*session)),
            Outcome::Random(number) => Outcome::Random(self.renaming.number(*number)),
            Outcome::Message(Message { from, body }) => {
                Outcome::Message(Message { from: *from, body: self.bytes(body) })
            }
            Outcome::Response(Err(_))
            | Outcome::Watch(Err(_))
            | Outcome::Closed
            | Outcome::Elapsed
            | Outcome::Now(_)
            | Outcome::Cancelled
            | Outcome::Resource(_)
            | Outcome::AuthAdded(_) => outcome.clone(),
        }
    }

    fn response(&self, response: &Response) -> Response {
        match response {
            Response::Written(result) => Response::Written(self.result(result)),
            Response::Multi(results) => {
                Response::Multi(results.iter().map(|result| self.result(result)).collect())
            }
            Response::Exists(stat) => Response::Exists(self.stat(stat)),
            Response::Data(data, stat) => Response::Data(self.data(data), self.stat(stat)),
            Response::Children(names, stat) => {
                Response::Children(self.sorted(names), self.stat(stat))
            }
            Response::Reconfigured(text, stat) => {
                Response::Reconfigured(text.clone(), self.stat(stat))
            }
            Response::Acl(acl, stat) => Response::Acl(acl.clone(), self.stat(stat)),
            Response::AclSet(stat) => Response::AclSet(self.stat(stat)),
            Response::MultiRead(results) => {
                Response::MultiRead(results.iter().map(|result| self.read(result)).collect())
            }
            Response::Ephemerals(paths) => Response::Ephemerals(self.sorted(paths)),
            Response::WhoAmI(clients) => {
                let known =
                    |it: &ClientInfo| ClientInfo { user: self.text(&it.user), ..it.clone() };
                Response::WhoAmI(clients.iter().map(known).collect())
            }
            Response::AllChildrenNumber(_)
            | Response::Watches
            | Response::ContainerDeleted
            | Response::Synced
            | Response::Closed => response.clone(),
        }
    }

    fn result(&self, result: &OpResult) -> OpResult {
        match result {
            OpResult::Created(path, stat) => OpResult::Created(self.text(path), self.stat(stat)),
            OpResult::Set(stat) => OpResult::Set(self.stat(stat)),
            OpResult::Deleted | OpResult::Checked | OpResult::Failed(_) => result.clone(),
        }
    }

    fn read(&self, result: &ReadResult) -> ReadResult {
        match result {
            ReadResult::Data(data, stat) => ReadResult::Data(self.data(data), self.stat(stat)),
            ReadResult::Children(names) => ReadResult::Children(self.sorted(names)),
            ReadResult::Failed(_) => result.clone(),
        }
    }

    fn stat(&self, stat: &Stat) -> Stat {
        let time = |zxid: Zxid, now: u64| match self.times {
            Times::Zero => now,
            Times::Up => 10_000 * u64::from(zxid.counter()),
            Times::Down => 10_000 * u64::from(u32::MAX - zxid.counter()),
        };
        Stat {
            ctime: time(stat.czxid, stat.ctime),
            mtime: time(stat.mzxid, stat.mtime),
            ephemeral_owner: stat.ephemeral_owner.map(|owner| self.session(owner)),
            ..*stat
        }
    }

    fn event(&self, event: &WatchedEvent) -> WatchedEvent {
        WatchedEvent { path: self.text(&event.path), ..event.clone() }
    }

    fn session(&self, session: SessionId) -> SessionId {
        SessionId(self.renaming.number(session.0))
    }

    fn sorted(&self, names: &[Arc<str>]) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = names.iter().map(|name| self.text(name)).collect();
        names.sort();
        names
    }

    fn text(&self, text: &Arc<str>) -> Arc<str> {
        match may_hold_a_value(text.as_bytes()) {
            true => self.renaming.text(text).into(),
            false => Arc::clone(text),
        }
    }

    fn data(&self, data: &Data) -> Data {
        match data.len() >= 8 {
            true => self.renaming.bytes(data).into(),
            false => data.clone(),
        }
    }

    fn bytes(&self, bytes: &Arc<[u8]>) -> Arc<[u8]> {
        match bytes.len() >= 8 {
            true => self.renaming.bytes(bytes).into(),
            false => Arc::clone(bytes),
        }
    }
}

/// Returns another random number. Variation 0 has other low bits, so it is odd if the original is even; in variations
/// with odd numbers, the highest bit is not set, as it is in the original. All have the same number of hexadecimal
/// digits.
fn other_number(here: u64, client: ClientId, number: u32) -> u64 {
    let other = Fingerprint::of(&("another number", here, client, number)).0 as u64;
    let low = if number == 0 { !here & 0xf } else { other & 0xf };
    let high = if number.is_multiple_of(2) { 1 << 63 } else { 1 << 60 };
    high | other & ((1 << 60) - 16) | low
}

/// Returns true if a text has as many digits in a row as the shortest of these values, in decimal or hexadecimal.
fn may_hold_a_value(text: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_hexdigit()).any(|word| word.len() >= 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search numbers creates in blocks of 65,536, so even a few of them reach a large zxid.
    #[test]
    fn times_fall_up_to_the_last_zxid() {
        let falling = Variation::of(&[Valued::ZnodeTimes], 1, &SessionOrder::default(), 1);
        let ctime = |counter: u32| {
            let czxid = Zxid(1 << 32 | u64::from(counter));
            falling.stat(&Stat { czxid, ..Stat::default() }).ctime
        };
        assert!(ctime(1) > ctime(1 << 20) && ctime(1 << 20) > ctime(u32::MAX));
    }
}
