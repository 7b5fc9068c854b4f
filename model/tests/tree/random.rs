//! Random requests to a leader, and the transactions that it makes of them.

use proptest::prelude::*;
use proptest::strategy::Union;
use std::collections::VecDeque;
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::id::{LearnerConnection, ServerId, SessionId, Xid};
use vivarium_model::op::{CreateMode, Data, Op, Request, Version};
use vivarium_model::packet::ServerRequest;
use vivarium_model::server::prep::{Asker, Expiry, Prep};
use vivarium_model::server::tracker::Owner;
use vivarium_model::time::{Duration, Time};
use vivarium_model::tree::{DataTree, EphemeralType};
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Epoch;

/// What happens at the leader. Sessions are seats: a seat whose session has ended can get a new one.
#[derive(Clone, Debug)]
pub enum Action {
    Request { seat: usize, moved: bool, request: Arc<Request> },
    Expire { seat: usize },
    Begin { seat: usize },
    Reattach { seat: usize },
}

const SEATS: usize = 3;

/// So few paths that requests meet each other; one of the names makes the order of paths differ from
/// that of the tree: `/a` < `/a-` < `/a/b`.
fn path() -> impl Strategy<Value = Arc<str>> {
    let paths = ["/a", "/a-", "/a/b", "/a/a-", "/a/b/a", "/a-/b", "/a/b/", "/"];
    let weights = [5, 2, 4, 1, 2, 1, 1, 1];
    let weighted = |(path, weight): (&str, u32)| (weight, Just(Arc::from(path)));
    Union::new_weighted(paths.into_iter().zip(weights).map(weighted).collect())
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![4 => Just(Version::Any), 1 => (-1..3).prop_map(Version::Is)]
}

fn op() -> impl Strategy<Value = Op> {
    let data = || prop::collection::vec(any::<u8>(), 0..3).prop_map(Data::from);
    let mode = prop_oneof![
        4 => Just(CreateMode::Persistent),
        2 => Just(CreateMode::Ephemeral),
        1 => Just(CreateMode::PersistentSequential),
        1 => Just(CreateMode::EphemeralSequential),
    ];
    prop_oneof![
        5 => (path(), data(), mode).prop_map(|(path, data, mode)| Op::create(path, data, mode)),
        4 => (path(), version()).prop_map(|(path, version)| Op::Delete { path, version }),
        2 => (path(), data(), version())
            .prop_map(|(path, data, version)| Op::SetData { path, data, version }),
        1 => (path(), version()).prop_map(|(path, version)| Op::Check { path, version }),
    ]
}

fn request() -> impl Strategy<Value = Arc<Request>> {
    let request = prop_oneof![
        16 => op().prop_map(Request::Write),
        3 => prop::collection::vec(op(), 0..5).prop_map(Request::Multi),
        1 => Just(Request::CloseSession),
    ];
    request.prop_map(Arc::new)
}

fn action() -> impl Strategy<Value = Action> {
    let seat = || 0..SEATS;
    prop_oneof![
        20 => (seat(), prop::bool::weighted(0.05), request())
            .prop_map(|(seat, moved, request)| Action::Request { seat, moved, request }),
        1 => seat().prop_map(|seat| Action::Expire { seat }),
        2 => seat().prop_map(|seat| Action::Begin { seat }),
        1 => seat().prop_map(|seat| Action::Reattach { seat }),
    ]
}

pub fn actions() -> impl Strategy<Value = Vec<Action>> {
    prop::collection::vec(action(), 1..120)
}

/// A leader with a tree that stays up to `lag` transactions behind.
struct Leader {
    tree: DataTree,
    prep: Prep,
    in_flight: VecDeque<Arc<Txn>>,
    lag: usize,
    made: Vec<Arc<Txn>>,
    seats: [SessionId; SEATS],
    sessions: u32,
}

/// The transactions that a new leader makes of these actions when its tree stays up to `lag` of
/// them behind.
pub fn lead(actions: &[Action], lag: usize) -> Vec<Arc<Txn>> {
    let tree = DataTree::new();
    let prep = Prep::new(Epoch(1), &tree);
    let (in_flight, made) = (VecDeque::new(), Vec::new());
    let seats = [SessionId(0); SEATS];
    let mut leader = Leader { tree, prep, in_flight, lag, made, seats, sessions: 0 };
    for seat in 0..SEATS {
        leader.begin(seat);
    }
    for (at, action) in actions.iter().enumerate() {
        leader.act(action, Time(at as u64 * 1_700));
    }
    leader.made
}

impl Leader {
    fn act(&mut self, action: &Action, at: Time) {
        match action {
            Action::Request { seat, moved, request } => {
                let owner = if *moved { elsewhere() } else { Owner::Leader };
                let request = ServerRequest::Client(Arc::clone(request));
                self.request(*seat, owner, &request, at);
            }
            Action::Expire { seat } => match self.prep.expire(&self.tree, self.seats[*seat], at) {
                Expiry::Proposed(txn) => self.propose(txn),
                Expiry::Nothing => {}
                Expiry::Exhausted => unreachable!("a short run"),
            },
            Action::Begin { seat } => {
                if self.prep.sessions().touch(self.seats[*seat]).is_none() {
                    self.begin(*seat);
                }
            }
            Action::Reattach { seat } => {
                self.prep.sessions_mut().revalidate(self.seats[*seat], Owner::Leader);
            }
        }
    }

    fn begin(&mut self, seat: usize) {
        self.sessions += 1;
        self.seats[seat] = SessionId::new(ServerId(1), 1, self.sessions);
        let timeout = Duration::from_secs(4 + u64::from(self.sessions));
        self.request(seat, Owner::Leader, &ServerRequest::CreateSession { timeout }, Time::ZERO);
    }

    fn request(&mut self, seat: usize, owner: Owner, request: &ServerRequest, at: Time) {
        let session = self.seats[seat];
        let asker = Asker::new(session, owner, Arc::from([]));
        let config = Config::new(1, 0);
        let txn = self.prep.request(&self.tree, &asker, Xid(1), request, &config, at);
        self.propose(txn.expect("a short run"));
    }

    fn propose(&mut self, txn: Arc<Txn>) {
        self.in_flight.push_back(Arc::clone(&txn));
        self.made.push(txn);
        while self.in_flight.len() > self.lag {
            let txn = self.in_flight.pop_front().expect("just counted");
            self.tree.apply(&txn);
            self.prep.applied(&txn);
        }
    }
}

fn elsewhere() -> Owner {
    Owner::Learner(LearnerConnection { learner: ServerId(2), slot: 0 })
}

/// Every kind of transaction, by the names that [`kind`] gives.
pub const KINDS: [&str; 18] = [
    "Create",
    "Create ephemeral",
    "Delete",
    "SetData",
    "Multi",
    "FailedMulti",
    "CreateSession",
    "CloseSession of 0",
    "CloseSession of some",
    "Error BadArguments",
    "Error BadVersion",
    "Error NoChildrenForEphemerals",
    "Error NoNode",
    "Error NodeExists",
    "Error NotEmpty",
    "Error SessionExpired",
    "Error SessionMoved",
    "Error Unimplemented",
];

pub fn kind(body: &TxnBody) -> String {
    let kind = match body {
        TxnBody::Create { ephemeral_type: EphemeralType::Normal(_), .. } => "Create ephemeral",
        TxnBody::Create { .. } => "Create",
        TxnBody::Delete { .. } => "Delete",
        TxnBody::SetData { .. } => "SetData",
        TxnBody::SetAcl { .. } => "SetAcl",
        TxnBody::DeleteContainer { .. } => "DeleteContainer",
        TxnBody::Check { .. } => "Check",
        TxnBody::Multi(_) => "Multi",
        TxnBody::FailedMulti(_) => "FailedMulti",
        TxnBody::CreateSession { .. } => "CreateSession",
        TxnBody::CloseSession { ephemerals } if ephemerals.is_empty() => "CloseSession of 0",
        TxnBody::CloseSession { .. } => "CloseSession of some",
        TxnBody::Error(error) => return format!("Error {error:?}"),
    };
    kind.to_owned()
}
