//! Every row of rules 1.6.2 and 1.4, and rules 1.7, 2.4 and 2.5.

mod acls;
mod extended_types;
mod multis;
mod order_of_checks;
mod quotas;
mod reconfig;
mod sessions;

use super::*;
use crate::tree::Znode;
use crate::vocabulary::acl::{Acl, Permissions};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{LearnerConnection, ServerId};
use crate::vocabulary::op::{Data, Op, Version};
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::release::Bug;
use crate::vocabulary::time::Duration;
use std::collections::VecDeque;

const ALICE: SessionId = SessionId(0xa);
const BOB: SessionId = SessionId(0xb);
const NOBODY: SessionId = SessionId(0xff);
const TIMEOUT: Duration = Duration::from_secs(6);
const OTHER_WAY: Owner = Owner::Learner(LearnerConnection { learner: ServerId(2), slot: 0 });

/// A leader's `prep` and tree; proposals stay in flight until they are committed.
struct Leader {
    tree: DataTree,
    prep: Prep,
    in_flight: VecDeque<Arc<Txn>>,
    /// No quota or TTL applies unless a test sets one.
    config: Config,
    /// The identities of every connection.
    auth: Arc<[Id]>,
    /// What the leader knows of its ensemble, where that can be reconfigured.
    view: Option<LeaderView>,
}

impl Leader {
    fn new(tree: DataTree) -> Leader {
        let prep = Prep::new(Epoch(1), &tree);
        let (config, auth) = (Config::new(1, 0), Arc::from([]));
        Leader { tree, prep, in_flight: VecDeque::new(), config, auth, view: None }
    }

    /// A leader with sessions Alice and Bob, `/v` of version 2, and below `/p`: `/p/c`, and `/p/e` of Alice.
    fn with_znodes() -> Leader {
        let mut tree = DataTree::new();
        tree.load_session(ALICE, TIMEOUT);
        tree.load_session(BOB, TIMEOUT);
        let mut leader = Leader::new(tree);
        for op in [persistent("/p"), persistent("/p/c"), ephemeral("/p/e"), persistent("/v")] {
            leader.write(ALICE, op).expect_created();
        }
        leader.write(ALICE, set("/v", Version::Any));
        leader.write(ALICE, set("/v", Version::Is(1)));
        leader.commit();
        leader
    }

    fn server_request(
        &mut self,
        session: SessionId,
        owner: Owner,
        request: &ServerRequest,
    ) -> Arc<Txn> {
        let (xid, at) = (Xid(9), Time(1_234_567));
        let asker = Asker::new(session, owner, Arc::clone(&self.auth));
        let run = Run { config: &self.config, view: self.view, at };
        let txn = self.prep.request(&self.tree, &asker, xid, request, &run);
        let txn = txn.expect("a zxid");
        self.in_flight.push_back(Arc::clone(&txn));
        txn
    }

    fn request(&mut self, session: SessionId, owner: Owner, request: Request) -> TxnBody {
        let request = ServerRequest::Client(Arc::new(request));
        self.server_request(session, owner, &request).body.clone()
    }

    fn write(&mut self, session: SessionId, op: Op) -> TxnBody {
        self.request(session, Owner::Leader, Request::Write(op))
    }

    fn multi(&mut self, ops: impl IntoIterator<Item = Op>) -> TxnBody {
        self.request(ALICE, Owner::Leader, Request::Multi(ops.into_iter().collect()))
    }

    fn close(&mut self, session: SessionId) -> Vec<String> {
        closed(&self.request(session, Owner::Leader, Request::CloseSession))
    }

    /// Applies everything in flight.
    fn commit(&mut self) {
        while !self.in_flight.is_empty() {
            self.commit_one();
        }
        assert!(self.prep.outstanding.is_empty());
    }

    fn commit_one(&mut self) {
        let txn = self.in_flight.pop_front().expect("something is in flight");
        self.tree.apply(&txn);
        self.prep.applied(&txn);
    }

    /// Returns the transaction that a write would become, without making it.
    fn outcome(&self, session: SessionId, owner: Owner, request: Request) -> TxnBody {
        let request = ServerRequest::Client(Arc::new(request));
        let mut prep = self.prep.clone();
        let asker = Asker::new(session, owner, Arc::clone(&self.auth));
        let run = Run { config: &self.config, view: self.view, at: Time::ZERO };
        let txn = prep.request(&self.tree, &asker, Xid(1), &request, &run);
        let txn = txn.expect("a zxid");
        if let TxnBody::Error(_) | TxnBody::FailedMulti(_) = txn.body {
            assert_eq!(prep.outstanding, self.prep.outstanding, "a failed request changes nothing");
        }
        assert_eq!(prep.last_zxid(), self.prep.last_zxid().next().expect("a zxid"));
        txn.body.clone()
    }
}

impl TxnBody {
    fn expect_created(&self) -> &str {
        match self {
            TxnBody::Create { path, .. } => path,
            other => panic!("not a create: {other}"),
        }
    }

    fn expect_version(&self) -> i32 {
        match self {
            TxnBody::SetData { version, .. } => *version,
            TxnBody::SetAcl { aversion, .. } => *aversion,
            other => panic!("not a setData: {other}"),
        }
    }
}

fn closed(body: &TxnBody) -> Vec<String> {
    match body {
        TxnBody::CloseSession { ephemerals } => {
            ephemerals.iter().map(ToString::to_string).collect()
        }
        other => panic!("not a closeSession: {other}"),
    }
}

fn create(path: &str, mode: CreateMode) -> Op {
    Op::create(path, [1], mode)
}

fn persistent(path: &str) -> Op {
    create(path, CreateMode::Persistent)
}

fn ephemeral(path: &str) -> Op {
    create(path, CreateMode::Ephemeral)
}

fn sequential(path: &str) -> Op {
    create(path, CreateMode::PersistentSequential)
}

fn delete(path: &str, version: Version) -> Op {
    Op::Delete { path: path.into(), version }
}

fn remove(path: &str) -> Op {
    delete(path, Version::Any)
}

fn set(path: &str, version: Version) -> Op {
    Op::SetData { path: path.into(), data: Data::from([2]), version }
}

fn check(path: &str, version: Version) -> Op {
    Op::Check { path: path.into(), version }
}

fn set_acl(path: &str, acl: AclList, version: Version) -> Request {
    Request::SetAcl { path: path.into(), acl, version }
}

fn delete_container(path: &str) -> Request {
    Request::DeleteContainer { path: path.into() }
}

/// An ACL with one entry, for any client.
fn for_all(permissions: Permissions) -> AclList {
    AclList::new([Acl::new(permissions, Id::ANYONE)])
}

/// A tree with one more znode, modified by `change`.
fn loaded(path: &str, change: impl FnOnce(&mut Znode)) -> DataTree {
    let mut tree = DataTree::new();
    tree.load_session(ALICE, TIMEOUT);
    let mut node = Znode::clone(tree.node("/zookeeper").expect("there from the start"));
    change(&mut node);
    tree.load_node(ZnodePath::new(path).expect("valid"), Arc::new(node));
    tree
}

mod versions {
    use super::*;

    #[test]
    fn the_expected_version_is_that_after_all_proposals_in_flight() {
        let mut leader = Leader::with_znodes();
        assert_eq!(leader.write(ALICE, set("/v", Version::Is(2))).expect_version(), 3);
        assert_eq!(leader.write(BOB, set("/v", Version::Is(2))), TxnBody::Error(Error::BadVersion));
        assert_eq!(leader.write(BOB, set("/v", Version::Is(3))).expect_version(), 4);
        leader.commit();
        assert_eq!(leader.tree.node("/v").expect("there").version, 4);
    }

    #[test]
    fn minus_one_expects_nothing_and_is_never_reached() {
        for (current, next) in [(7, 8), (-3, -2), (-2, 0), (i32::MAX, i32::MIN)] {
            let mut leader = Leader::new(loaded("/v", |node| node.version = current));
            assert_eq!(leader.write(ALICE, set("/v", Version::Is(-1))).expect_version(), next);
            let mut leader = Leader::new(loaded("/v", |node| node.version = current));
            assert_eq!(leader.write(ALICE, set("/v", Version::Is(current))).expect_version(), next);
            let mut leader = Leader::new(loaded("/v", |node| node.aversion = current));
            let request = set_acl("/v", AclList::OPEN, Version::Is(current));
            assert_eq!(leader.request(ALICE, Owner::Leader, request).expect_version(), next);
        }
    }

    /// ZOOKEEPER-4743: afterwards no request can expect the znode's version.
    #[test]
    fn minus_one_is_reached_by_releases_that_did_not_know() {
        for (current, next) in [(-3, -2), (-2, -1), (-1, 0)] {
            let mut leader = Leader::new(loaded("/v", |node| {
                node.version = current;
                node.aversion = current;
            }));
            leader.config.bugs = leader.config.bugs.with(Bug::VersionBecomesMinusOne);
            assert_eq!(leader.write(ALICE, set("/v", Version::Any)).expect_version(), next);
            let request = set_acl("/v", AclList::OPEN, Version::Any);
            assert_eq!(leader.request(ALICE, Owner::Leader, request).expect_version(), next);
        }
    }
}

mod sequence_numbers {
    use super::*;

    #[test]
    fn come_from_one_counter_of_all_creations_in_flight_or_applied() {
        for lagging in [true, false] {
            let mut leader = Leader::with_znodes();
            let mut next = |op: Op| {
                let path = leader.write(ALICE, op).expect_created().to_owned();
                if !lagging {
                    leader.commit();
                }
                path
            };
            next(persistent("/q"));
            assert_eq!(next(sequential("/q/a-")), "/q/a-0000000000");
            assert_eq!(next(sequential("/q/b-")), "/q/b-0000000001");
            assert_eq!(next(persistent("/q/plain")), "/q/plain");
            assert_eq!(next(create("/q/e-", CreateMode::EphemeralSequential)), "/q/e-0000000003");
            assert_eq!(next(sequential("/q/")), "/q/0000000004");
            assert_eq!(next(sequential("/q/.")), "/q/.0000000005");
        }
    }

    #[test]
    fn are_not_taken_back_by_deletions() {
        for lagging in [true, false] {
            let mut leader = Leader::with_znodes();
            leader.write(ALICE, remove("/p/c"));
            if !lagging {
                leader.commit();
            }
            assert_eq!(leader.write(ALICE, sequential("/p/")).expect_created(), "/p/0000000002");
        }
    }

    #[test]
    fn are_not_used_up_by_failures_though_zxids_are() {
        let mut leader = Leader::with_znodes();
        let zxid = leader.prep.last_zxid();
        assert_eq!(leader.write(ALICE, persistent("/p/c")), TxnBody::Error(Error::NodeExists));
        let failed = [sequential("/p/"), sequential("/p/"), remove("/none")];
        leader.multi(failed);
        assert_eq!(leader.write(ALICE, sequential("/p/")).expect_created(), "/p/0000000002");
        assert_eq!(leader.prep.last_zxid(), Zxid(zxid.0 + 3));
        leader.commit();
        assert_eq!(leader.tree.last_processed(), Zxid(zxid.0 + 3));
    }

    /// The counter becomes negative in flight, but trees only increase it (rule 1.4.3): after everything is applied,
    /// it has its largest value again.
    #[test]
    fn wrap_to_negative() {
        let mut leader = Leader::new(loaded("/q", |node| node.cversion = i32::MAX));
        assert_eq!(leader.write(ALICE, sequential("/q/s")).expect_created(), "/q/s2147483647");
        assert_eq!(leader.write(ALICE, sequential("/q/s")).expect_created(), "/q/s-2147483648");
        assert_eq!(leader.write(ALICE, sequential("/q/s")).expect_created(), "/q/s-2147483647");
        leader.commit();
        assert_eq!(leader.tree.children_count("/q"), 3);
        assert_eq!(leader.write(ALICE, sequential("/q/s")), TxnBody::Error(Error::NodeExists));
        assert_eq!(leader.write(ALICE, sequential("/q/t")).expect_created(), "/q/t2147483647");

        let mut leader = Leader::new(loaded("/q", |node| node.cversion = -5));
        assert_eq!(leader.write(ALICE, sequential("/q/s")).expect_created(), "/q/s-000000005");
    }

    #[test]
    fn can_meet_a_znode_of_that_name() {
        let mut leader = Leader::with_znodes();
        leader.write(ALICE, persistent("/p/0000000003"));
        assert_eq!(leader.write(ALICE, sequential("/p/")), TxnBody::Error(Error::NodeExists));
    }
}

mod zxids {
    use super::*;

    #[test]
    fn an_epoch_begins_with_counter_one() {
        let mut leader = Leader::new(loaded("/v", |_| {}));
        assert_eq!(leader.prep.last_zxid(), Zxid::new(Epoch(1), 0));
        leader.write(ALICE, persistent("a"));
        assert_eq!(leader.prep.last_zxid(), Zxid::new(Epoch(1), 1));
    }

    #[test]
    fn the_last_counter_is_never_proposed() {
        let mut leader = Leader::with_znodes();
        leader.prep.last_zxid = Zxid::new(Epoch(1), u32::MAX - 2);
        leader.write(ALICE, persistent("/x"));
        assert_eq!(leader.prep.last_zxid(), Zxid::new(Epoch(1), u32::MAX - 1));
        let before = leader.prep.clone();
        let request = ServerRequest::Client(Arc::new(Request::CloseSession));
        let (prep, tree) = (&mut leader.prep, &leader.tree);
        let asker = Asker::new(ALICE, Owner::Leader, Arc::from([]));
        let run = Run { config: &leader.config, view: None, at: Time::ZERO };
        let none = prep.request(tree, &asker, Xid(1), &request, &run);
        assert_eq!(none, None);
        assert_eq!(prep.expire(tree, ALICE, run.config, Time::ZERO), Expiry::Exhausted);
        assert_eq!(*prep, before);
    }

    #[test]
    #[should_panic(expected = "needs no transaction")]
    fn reads_never_come_here() {
        let leader = Leader::with_znodes();
        leader.outcome(ALICE, Owner::Leader, Request::Sync { path: "/".into() });
    }
}
