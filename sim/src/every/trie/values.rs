//! Whether programs go by values that a search does not vary: which random number a draw gives, which of two session
//! ids is the larger, and at what time a znode was changed.
//!
//! A search gives each of these one value. That is enough for a program that only copies and compares them for
//! equality. So histories are told again with other values wherever they stand in what the program is told, inside of
//! paths and data too, from the program's beginning on, through all of its rounds. A program that does not do the same
//! under the same change of values goes by them, and the first sentence that says so is kept. It is no verdict: who
//! asked searches again, with these values as a choice, or says that the search is inconclusive.
//!
//! That a program did the same along some histories with some values is no proof. A search says how many were told
//! again.

use super::node::Origin;
use super::renaming::{Renaming, does_the_same, random_number};
use super::replay::{difference, parted};
use super::{Node, NodeId, Trie, lock};
use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::handle::Process;
use vivarium_model::host::{Input, Message, Operation, Outcome, Output};
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::op::{
    ClientInfo, Data, Op, OpResult, ReadOp, ReadResult, Request, Response, SessionChange,
    WatchedEvent,
};
use vivarium_model::session_order::SessionOrder;
use vivarium_model::stat::Stat;
use vivarium_model::time::Duration;
use vivarium_model::zxid::Zxid;

/// Something that programs are told and that a search gives one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Valued {
    /// What a draw gives ([`vivarium_model::handle::ZooKeeper::random`]).
    RandomNumbers,
    /// Session ids.
    SessionIds,
    /// `ctime` and `mtime` of a [`Stat`].
    ZnodeTimes,
}

impl Valued {
    /// All of them.
    pub const ALL: [Valued; 3] = [Valued::RandomNumbers, Valued::SessionIds, Valued::ZnodeTimes];
}

/// All histories are told again while a trie has no more nodes than this, and then one in [`RARITY`].
const ALL_OF: u32 = 4_096;
const RARITY: u128 = 16;

/// Draws are told again with so many other numbers, as long as no more than [`DRAWS`] of them were.
const NUMBERS: u32 = 32;
const DRAWS: u64 = 256;

/// So many differences are held against what the program does when it is told the same so often.
const CONTROLLED: u64 = 32;
const CONTROLS: usize = 32;

/// So many sessions and random numbers of a client are known by their look.
const KNOWN: u32 = 256;

/// What is told otherwise, and what came of it.
pub(super) struct Others {
    clients: u8,
    order: SessionOrder,
    valued: Vec<Valued>,
    /// Made when they are needed: with all kinds of values changed, and with each alone.
    all: OnceLock<[Variation; 2]>,
    each: OnceLock<Vec<(Valued, Variation)>>,
    draws: OnceLock<Vec<Variation>>,
    drawn: AtomicU64,
    controlled: AtomicU64,
    told_again: AtomicU64,
    asked: AtomicU64,
    goes_by: Mutex<BTreeMap<Valued, String>>,
}

/// What histories were told again with other values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldAgain {
    /// How many histories were.
    pub histories: u64,
    /// How many there are that have a value in them.
    pub of: u64,
    /// Which values a program goes by: what it did, as a sentence.
    pub goes_by: BTreeMap<Valued, String>,
}

/// Other values for those that a history has.
struct Variation {
    renaming: Renaming,
    times: Times,
}

/// When znodes were changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    /// At 0, as in the search.
    Zero,
    /// Ten seconds after the transaction before.
    Up,
    /// Ten seconds before it: the leader's clock is behind that of its predecessor.
    Down,
}

impl Variation {
    /// The values of these kinds are others; `number` says which.
    fn of(valued: &[Valued], clients: u8, order: &SessionOrder, number: u32) -> Variation {
        let mut numbers = BTreeMap::new();
        let has = |kind| valued.contains(&kind);
        let orders = SessionOrder::all(clients);
        // The last order is the reverse of the first, as far as four kinds of order have one.
        let other =
            &orders[(orders.len() * (number as usize + 1)).saturating_sub(1) % orders.len()];
        let other = if other == order { &orders[0] } else { other };
        for client in (1..=clients).map(ClientId) {
            for known in 0..KNOWN {
                if has(Valued::SessionIds) {
                    let session = order.session(client, known + 1).0;
                    // A larger number too, for those who count.
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

    /// The same input with other values.
    fn told(&self, input: &Input) -> Input {
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
                Outcome::Message(Message { from: *from, body: self.data(body) })
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
            false => Arc::clone(data),
        }
    }
}

/// Another random number. The first is odd where the one here is even, and differs in the next bits too; in every other
/// one the highest bit is not set, as it is here. All have as many hexadecimal digits.
fn other_number(here: u64, client: ClientId, number: u32) -> u64 {
    let other = Fingerprint::of(&("another number", here, client, number)).0 as u64;
    let low = if number == 0 { !here & 0xf } else { other & 0xf };
    let high = if number.is_multiple_of(2) { 1 << 63 } else { 1 << 60 };
    high | other & ((1 << 60) - 16) | low
}

/// Whether a text has as many digits in a row as the shortest of these values, in decimal or hexadecimal.
fn may_hold_a_value(text: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_hexdigit()).any(|word| word.len() >= 15)
}

fn is_a_reading(input: &Input) -> bool {
    matches!(input, Input::Reply { outcome: Outcome::Now(_), .. })
}

/// Whether a program begins and drops the same calls, and goes on or ends in both.
fn is_alike(here: &[Output], there: &[Output]) -> bool {
    let alike = |(here, there): (&Output, &Output)| match (here, there) {
        (Output::Submit { call, operation }, Output::Submit { call: other, operation: theirs }) => {
            call == other && are_answered_alike(operation, theirs)
        }
        (Output::Abandon { call }, Output::Abandon { call: other }) => call == other,
        _ => discriminant(here) == discriminant(there),
    };
    here.len() == there.len() && here.iter().zip(there).all(alike)
}

/// Whether the answer to one can be an answer to the other.
fn are_answered_alike(one: &Operation, other: &Operation) -> bool {
    let (
        Operation::Request { request: one, watch: first, .. },
        Operation::Request { request: other, watch: second, .. },
    ) = (one, other)
    else {
        return discriminant(one) == discriminant(other);
    };
    let alike = |(one, other): (&Op, &Op)| discriminant(one) == discriminant(other);
    let same = match (&**one, &**other) {
        (Request::Write(one), Request::Write(other)) => alike((one, other)),
        (Request::Multi(one), Request::Multi(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(alike)
        }
        (Request::MultiRead(one), Request::MultiRead(other)) => {
            let alike = |(one, other)| discriminant::<ReadOp>(one) == discriminant(other);
            one.len() == other.len() && one.iter().zip(other).all(alike)
        }
        (one, other) => discriminant(one) == discriminant(other),
    };
    same && first == second
}

fn forget_span(output: &mut Output) {
    if let Output::Submit { operation: Operation::Sleep(span), .. } = output {
        *span = Duration::ZERO;
    }
}

impl Others {
    fn all(&self) -> &[Variation; 2] {
        self.all.get_or_init(|| {
            [0, 1].map(|number| Variation::of(&self.valued, self.clients, &self.order, number))
        })
    }

    fn each(&self) -> &[(Valued, Variation)] {
        self.each.get_or_init(|| {
            let variations =
                self.valued.iter().flat_map(|kind| [0, 1].map(|number| (*kind, number)));
            let of =
                |(kind, number)| (kind, Variation::of(&[kind], self.clients, &self.order, number));
            variations.map(of).collect()
        })
    }

    fn draws(&self) -> &[Variation] {
        self.draws.get_or_init(|| {
            let of =
                |number| Variation::of(&[Valued::RandomNumbers], self.clients, &self.order, number);
            (2..2 + NUMBERS).map(of).collect()
        })
    }
}

/// A history from a program's beginning, and what the program does behind it.
struct History<'a> {
    client: ClientId,
    /// Each input, and what the program did.
    turns: Vec<(&'a Input, &'a [Output])>,
}

impl Trie {
    /// From now on, what programs do is held against what they do when these are others. `order` is that of the
    /// session ids here.
    pub fn tell_others(&self, order: SessionOrder, valued: Vec<Valued>) {
        let clients = u8::try_from(self.clients()).expect("a search has few clients");
        let _ = self.others.set(Others {
            clients,
            order,
            valued,
            all: OnceLock::new(),
            each: OnceLock::new(),
            draws: OnceLock::new(),
            drawn: AtomicU64::new(0),
            controlled: AtomicU64::new(0),
            told_again: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            goes_by: Mutex::default(),
        });
    }

    /// What came of telling histories again.
    pub fn told_again(&self) -> ToldAgain {
        self.others.get().map_or_else(ToldAgain::default, |others| ToldAgain {
            histories: others.told_again.load(Ordering::Relaxed),
            of: others.asked.load(Ordering::Relaxed),
            goes_by: lock(&others.goes_by).clone(),
        })
    }

    /// Tells a history with one input more again, with other values. `Err` is the sentence that tells that the program
    /// goes by something other than its handle.
    pub(super) fn check_values(
        &self,
        from: &Node,
        input: &Input,
        outputs: &[Output],
    ) -> Result<(), String> {
        let Some(others) = self.others.get() else { return Ok(()) };
        others.asked.fetch_add(1, Ordering::Relaxed);
        let is_chosen = self.nodes.len() <= ALL_OF
            || Fingerprint::of(&(from.fingerprint, input)).0.is_multiple_of(RARITY);
        if !is_chosen || lock(&others.goes_by).len() == others.valued.len() {
            return Ok(());
        }
        let Some(edges) = self.edges_from_root(from) else { return Ok(()) };
        let turns = edges.iter().map(|edge| (&edge.input, &*edge.outputs));
        let turns = turns.chain([(input, outputs)]).collect();
        let history = History { client: from.client, turns };
        others.told_again.fetch_add(1, Ordering::Relaxed);
        if others.all().iter().any(|variation| self.parts(variation, &history).is_some()) {
            self.control(others, &history)?;
            self.attribute(others, &history);
        }
        let is_draw = matches!(input, Input::Reply { outcome: Outcome::Random(_), .. })
            && others.valued.contains(&Valued::RandomNumbers)
            && others.drawn.fetch_add(1, Ordering::Relaxed) < DRAWS;
        let draws = if is_draw { others.draws() } else { &[] };
        if let Some(sentence) = draws.iter().find_map(|other| self.parts(other, &history)) {
            self.control(others, &history)?;
            lock(&others.goes_by).entry(Valued::RandomNumbers).or_insert(sentence);
        }
        Ok(())
    }

    /// A program that did something else with other values is told the same ones, again and again, the first times that
    /// this happens: if it does not always do the same, it is not the values that it goes by.
    fn control(&self, others: &Others, history: &History<'_>) -> Result<(), String> {
        match others.controlled.fetch_add(1, Ordering::Relaxed) < CONTROLLED {
            true => (0..CONTROLS).try_for_each(|_| self.same_again(history)),
            false => Ok(()),
        }
    }

    fn same_again(&self, history: &History<'_>) -> Result<(), String> {
        let mut process = Process::new(history.client, &self.lane(history.client).program);
        for (number, (input, outputs)) in (1..).zip(&history.turns) {
            let mut done = Vec::new();
            process.feed((*input).clone(), &mut done);
            if done != **outputs {
                let (input, outputs) = ((*input).clone(), outputs.to_vec().into());
                let edge = super::Edge::new(input, outputs, false, self.root(history.client));
                return Err(difference(history.client, number, &edge, &done));
            }
        }
        Ok(())
    }

    /// Which values it was that made the difference: those that make one alone, or all together.
    fn attribute(&self, others: &Others, history: &History<'_>) {
        let mut found = BTreeMap::new();
        for (kind, variation) in others.each() {
            if let Some(sentence) = self.parts(variation, history) {
                found.entry(*kind).or_insert(sentence);
            }
        }
        if found.is_empty() {
            let all = others.all().iter().find_map(|variation| self.parts(variation, history));
            let sentence = all.unwrap_or_else(|| "it does not always do the same".to_string());
            found.extend(others.valued.iter().map(|kind| (*kind, sentence.clone())));
        }
        let mut goes_by = lock(&others.goes_by);
        found.into_iter().for_each(|(kind, sentence)| _ = goes_by.entry(kind).or_insert(sentence));
    }

    /// What is different when the history is told with other values, as a sentence; `None` if nothing is.
    fn parts(&self, variation: &Variation, history: &History<'_>) -> Option<String> {
        let History { client, turns } = history;
        let told: Vec<Input> = turns.iter().map(|(input, _)| variation.told(input)).collect();
        if told.iter().zip(turns).all(|(told, (input, _))| told == *input) {
            return None;
        }
        let mut process = Process::new(*client, &self.lane(*client).program);
        let (mut done, mut has_read) = (Vec::new(), false);
        for (at, (told, (input, outputs))) in told.iter().zip(turns).enumerate() {
            done.clear();
            process.feed(told.clone(), &mut done);
            has_read |= is_a_reading(input);
            // A program that does something else waits for something else: it cannot be told the rest. What it says in
            // between was compared when that was new.
            let same = match at + 1 == turns.len() {
                true => self.is_same(variation, *client, outputs, &mut done, has_read),
                false => is_alike(outputs, &done),
            };
            if !same {
                let (here, there) = parted(outputs, &done);
                return Some(format!(
                    "told \"{input}\", {client}'s program {here}, and told other values {there}"
                ));
            }
        }
        None
    }

    /// Whether the program did the same with other values.
    fn is_same(
        &self,
        variation: &Variation,
        client: ClientId,
        outputs: &[Output],
        done: &mut [Output],
        has_read: bool,
    ) -> bool {
        let mut here = outputs.to_vec();
        if !has_read {
            // How long a sleep takes is nothing that a search, or a program without a clock, could tell.
            here.iter_mut().chain(&mut *done).for_each(forget_span);
        }
        *done == *here || does_the_same(&variation.renaming, client, &here, done).unwrap_or(false)
    }

    /// All edges from the program's beginning to a node; `None` where they are not known.
    fn edges_from_root(&self, node: &Node) -> Option<Vec<Arc<super::Edge>>> {
        let mut parts = Vec::new();
        let mut way = self.way(node);
        loop {
            let start = self.node(way.start);
            parts.push(way.edges);
            if !matches!(start.origin, Origin::Round(_)) {
                break;
            }
            way = self.first_arrival(start.client, start.id)?;
        }
        Some(parts.into_iter().rev().flatten().collect())
    }

    /// The way on which a program first came to the beginning of a round.
    fn first_arrival(&self, client: ClientId, round: NodeId) -> Option<super::replay::Way> {
        let lap = lock(&self.lane(client).rounds).first(round)?;
        Some(self.lap(&lap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search numbers creates in blocks of 65,536, so few of them come to a large zxid.
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
