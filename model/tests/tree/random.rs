//! Random requests to a leader, and the transactions that the leader makes of them.

use proptest::prelude::*;
use proptest::strategy::Union;
use std::collections::VecDeque;
use std::sync::Arc;
use vivarium_model::acl::{Acl, AclList, Id, Permissions};
use vivarium_model::config::Config;
use vivarium_model::id::{LearnerConnection, ServerId, SessionId, Xid};
use vivarium_model::op::{CreateMode, Data, Op, Request, Version};
use vivarium_model::packet::ServerRequest;
use vivarium_model::server::prep::{Asker, Expiry, Prep, Run};
use vivarium_model::server::tracker::Owner;
use vivarium_model::time::{Duration, Time};
use vivarium_model::tree::{DataTree, EphemeralType};
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Epoch;

/// An action at the leader. Sessions are seats: a seat whose session has ended can get a new one.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Request {
        seat: usize,
        moved: bool,
        who: Who,
        request: Arc<Request>,
    },
    Expire {
        seat: usize,
    },
    Begin {
        seat: usize,
    },
    Reattach {
        seat: usize,
    },
    /// The container manager deletes a znode, for the leader itself.
    Reap {
        path: Arc<str>,
    },
    /// A path gets a quota, as by ZooKeeper's command line: limits, then statistics.
    Limit {
        subject: &'static str,
        limits: String,
    },
}

const SEATS: usize = 3;

/// The identities that a connection has proven.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Who {
    Nobody,
    User,
    Super,
}

impl Who {
    pub(crate) fn auth(self) -> Arc<[Id]> {
        let ip = Id::new("ip", "10.1.2.3");
        match self {
            Who::Nobody => Arc::from([ip]),
            Who::User => Arc::from([user(), ip]),
            Who::Super => Arc::from([ip, Id::new("super", "")]),
        }
    }
}

fn user() -> Id {
    Id::new("digest", "user:hash")
}

/// Few paths, so that requests conflict; one of the names makes the order of paths differ from that of the tree: `/a`
/// < `/a-` < `/a/b`. Paths with a quota are before and after their quota.
fn path() -> impl Strategy<Value = Arc<str>> {
    let paths = [
        ("/a", 5),
        ("/a-", 2),
        ("/a/b", 4),
        ("/a/a-", 1),
        ("/a/b/a", 2),
        ("/a-/b", 1),
        ("/a/b/", 1),
        ("/zz", 3),
        ("/zz/a", 2),
        ("/zookeeper/quota/a/zookeeper_limits", 1),
        ("/zookeeper/quota/zz/zookeeper_stats", 1),
        ("/", 1),
    ];
    let weighted = |(path, weight): (&str, u32)| (weight, Just(Arc::from(path)));
    Union::new_weighted(paths.into_iter().map(weighted).collect())
}

/// Paths that get a quota; one of them is inside another.
fn subject() -> impl Strategy<Value = &'static str> {
    prop_oneof![2 => Just("/a"), 1 => Just("/a/b"), 4 => Just("/zz")]
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![4 => Just(Version::Any), 1 => (-1..3).prop_map(Version::Is)]
}

fn acl() -> impl Strategy<Value = AclList> {
    let all = Permissions::ALL;
    let for_all = Acl::new(Permissions::CREATE | Permissions::READ, Id::ANYONE);
    let of_user = Acl::new(all, user());
    let lists = [
        (20, AclList::OPEN),
        (2, AclList::read_unsafe()),
        (2, AclList::creator_all()),
        (2, AclList::new([of_user.clone(), for_all.clone(), of_user.clone()])),
        (2, AclList::new([of_user])),
        (1, AclList::new([for_all, Acl::new(Permissions::DELETE, Id::new("ip", "10.0.0.0/8"))])),
        (1, AclList::new([])),
    ];
    Union::new_weighted(lists.into_iter().map(|(weight, acl)| (weight, Just(acl))).collect())
}

fn mode() -> impl Strategy<Value = CreateMode> {
    let ttl = |seconds| Duration::from_secs(seconds);
    prop_oneof![
        8 => Just(CreateMode::Persistent),
        4 => Just(CreateMode::Ephemeral),
        2 => Just(CreateMode::PersistentSequential),
        2 => Just(CreateMode::EphemeralSequential),
        2 => Just(CreateMode::Container),
        2 => (0_u64..9).prop_map(move |time| CreateMode::PersistentWithTtl(ttl(time))),
        1 => (1_u64..9).prop_map(move |time| CreateMode::PersistentSequentialWithTtl(ttl(time))),
    ]
}

fn data() -> impl Strategy<Value = Data> {
    prop::collection::vec(any::<u8>(), 0..3).prop_map(Data::from)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        10 => (path(), data(), mode(), acl())
            .prop_map(|(path, data, mode, acl)| Op::Create { path, data, mode, acl }),
        8 => (path(), version()).prop_map(|(path, version)| Op::Delete { path, version }),
        4 => (path(), data(), version())
            .prop_map(|(path, data, version)| Op::SetData { path, data, version }),
        2 => (path(), version()).prop_map(|(path, version)| Op::Check { path, version }),
    ]
}

fn request() -> impl Strategy<Value = Arc<Request>> {
    let request = prop_oneof![
        16 => op().prop_map(Request::Write),
        3 => prop::collection::vec(op(), 0..5).prop_map(Request::Multi),
        2 => (path(), acl(), version())
            .prop_map(|(path, acl, version)| Request::SetAcl { path, acl, version }),
        1 => Just(Request::CloseSession),
    ];
    request.prop_map(Arc::new)
}

fn action() -> impl Strategy<Value = Action> {
    let seat = || 0..SEATS;
    let who = prop_oneof![3 => Just(Who::Nobody), 4 => Just(Who::User), 1 => Just(Who::Super)];
    prop_oneof![
        20 => (seat(), prop::bool::weighted(0.05), who, request())
            .prop_map(|(seat, moved, who, request)| Action::Request { seat, moved, who, request }),
        1 => seat().prop_map(|seat| Action::Expire { seat }),
        2 => seat().prop_map(|seat| Action::Begin { seat }),
        1 => seat().prop_map(|seat| Action::Reattach { seat }),
        1 => path().prop_map(|path| Action::Reap { path }),
        3 => (subject(), limits()).prop_map(|(subject, limits)| Action::Limit { subject, limits }),
    ]
}

fn limits() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("count=9,bytes=9".to_owned()),
        (0..4).prop_map(|count| format!("count=-1,bytes=-1=;countHardLimit={count}")),
        (0..4).prop_map(|bytes| format!("count=-1,bytes=-1=;byteHardLimit={bytes}")),
    ]
}

/// Up to this number of actions.
pub(crate) fn actions_below(limit: usize) -> impl Strategy<Value = Vec<Action>> {
    prop::collection::vec(action(), 1..limit)
}

pub(crate) fn actions() -> impl Strategy<Value = Vec<Action>> {
    actions_below(120)
}

/// A leader whose tree lags by up to `lag` transactions.
struct Leader {
    tree: DataTree,
    prep: Prep,
    in_flight: VecDeque<Arc<Txn>>,
    lag: usize,
    config: Config,
    made: Vec<Arc<Txn>>,
    seats: [SessionId; SEATS],
    sessions: u32,
}

/// Returns the transactions that a new leader makes of these actions, with quotas enforced.
pub(crate) fn lead(actions: &[Action]) -> Vec<Arc<Txn>> {
    lead_lagging(actions, 0, true)
}

/// Returns the transactions that a new leader makes of these actions while its tree lags by up to `lag` of them.
pub(crate) fn lead_lagging(actions: &[Action], lag: usize, enforce_quota: bool) -> Vec<Arc<Txn>> {
    let mut config = Config::new(1, 0);
    config.options.extended_types = true;
    config.options.enforce_quota = enforce_quota;
    let tree = DataTree::new();
    let prep = Prep::new(Epoch(1), &tree);
    let (in_flight, made) = (VecDeque::new(), Vec::new());
    let seats = [SessionId(0); SEATS];
    let mut leader = Leader { tree, prep, in_flight, lag, config, made, seats, sessions: 0 };
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
            Action::Request { seat, moved, who, request } => {
                let owner = if *moved { elsewhere() } else { Owner::Leader };
                let asker = Asker::new(self.seats[*seat], owner, who.auth());
                self.request(&asker, &ServerRequest::Client(Arc::clone(request)), at);
            }
            Action::Reap { path } => {
                let request = Request::DeleteContainer { path: Arc::clone(path) };
                self.request(&Asker::nobody(), &ServerRequest::Client(Arc::new(request)), at);
            }
            Action::Limit { subject, limits } => self.limit(subject, limits, at),
            Action::Expire { seat } => {
                match self.prep.expire(&self.tree, self.seats[*seat], &self.config, at) {
                    Expiry::Proposed(txn) => self.propose(txn),
                    Expiry::Nothing => {}
                    Expiry::Exhausted => unreachable!("a short run"),
                }
            }
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

    fn limit(&mut self, subject: &str, limits: &str, at: Time) {
        let mut path = "/zookeeper/quota".to_owned();
        let mut znodes = Vec::new();
        for name in subject.split('/').skip(1) {
            path = format!("{path}/{name}");
            znodes.push((path.clone(), ""));
        }
        znodes.push((format!("{path}/zookeeper_limits"), limits));
        znodes.push((format!("{path}/zookeeper_stats"), "count=-1,bytes=-1"));
        for (path, data) in znodes {
            let op = Op::create(path, data.as_bytes(), CreateMode::Persistent);
            let request = ServerRequest::Client(Arc::new(Request::Write(op)));
            let asker = Asker::new(self.seats[0], Owner::Leader, Who::Super.auth());
            self.request(&asker, &request, at);
        }
    }

    fn begin(&mut self, seat: usize) {
        self.sessions += 1;
        self.seats[seat] = SessionId::new(ServerId(1), 1, self.sessions);
        let timeout = Duration::from_secs(4 + u64::from(self.sessions));
        let asker = Asker::new(self.seats[seat], Owner::Leader, Arc::from([]));
        self.request(&asker, &ServerRequest::CreateSession { timeout }, Time::ZERO);
    }

    fn request(&mut self, asker: &Asker, request: &ServerRequest, at: Time) {
        let txn = self.prep.request(
            &self.tree,
            asker,
            Xid(1),
            request,
            &Run { config: &self.config, view: None, at },
        );
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

/// Every kind of transaction, by the names that [`kind`] returns.
pub(crate) const KINDS: [&str; 26] = [
    "Create",
    "Create TTL",
    "Create container",
    "Create ephemeral",
    "Create statistics",
    "Delete",
    "DeleteContainer",
    "SetAcl",
    "SetData",
    "Multi",
    "FailedMulti",
    "CreateSession",
    "CloseSession of 0",
    "CloseSession of some",
    "Error BadArguments",
    "Error BadVersion",
    "Error InvalidAcl",
    "Error NoAuth",
    "Error NoChildrenForEphemerals",
    "Error NoNode",
    "Error NodeExists",
    "Error NotEmpty",
    "Error QuotaExceeded",
    "Error SessionExpired",
    "Error SessionMoved",
    "Error Unimplemented",
];

pub(crate) fn kind(body: &TxnBody) -> String {
    let kind = match body {
        TxnBody::Create { path, .. } if path.ends_with("zookeeper_stats") => "Create statistics",
        TxnBody::Create { ephemeral_type: EphemeralType::Normal(_), .. } => "Create ephemeral",
        TxnBody::Create { ephemeral_type: EphemeralType::Container, .. } => "Create container",
        TxnBody::Create { ephemeral_type: EphemeralType::Ttl(_), .. } => "Create TTL",
        TxnBody::Create { .. } => "Create",
        TxnBody::Delete { .. } => "Delete",
        TxnBody::SetData { .. } => "SetData",
        TxnBody::SetAcl { .. } => "SetAcl",
        TxnBody::DeleteContainer { .. } => "DeleteContainer",
        TxnBody::Check { .. } => "Check",
        TxnBody::Multi(_) => "Multi",
        TxnBody::FailedMulti(_) => "FailedMulti",
        TxnBody::CreateSession { .. } => "CreateSession",
        TxnBody::Reconfig(_) => "Reconfig",
        TxnBody::CloseSession { ephemerals } if ephemerals.is_empty() => "CloseSession of 0",
        TxnBody::CloseSession { .. } => "CloseSession of some",
        TxnBody::Error(error) => return format!("Error {error:?}"),
    };
    kind.to_owned()
}
