//! Every row of semantics 1.6 and 1.4, and the rules of 1.7, 2.4 and 2.5.

use super::*;
use crate::id::{LearnerConnection, ServerId};
use crate::time::Duration;
use crate::tree::Znode;
use std::collections::VecDeque;

const ALICE: SessionId = SessionId(0xa);
const BOB: SessionId = SessionId(0xb);
const NOBODY: SessionId = SessionId(0xff);
const TIMEOUT: Duration = Duration::from_secs(6);
const OTHER_WAY: Owner = Owner::Learner(LearnerConnection { learner: ServerId(2), slot: 0 });

/// A leader's `prep` and tree; what is proposed waits in flight until it is committed.
struct Leader {
    tree: DataTree,
    prep: Prep,
    in_flight: VecDeque<Arc<Txn>>,
}

impl Leader {
    fn new(tree: DataTree) -> Leader {
        let prep = Prep::new(Epoch(1), &tree);
        Leader { tree, prep, in_flight: VecDeque::new() }
    }

    /// With sessions Alice and Bob, `/v` of version 2, and below `/p`: `/p/c`, and `/p/e` of Alice.
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
        let txn = self.prep.request(&self.tree, session, owner, xid, request, at).expect("a zxid");
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

    /// Applies all that is in flight.
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

    /// What a write would become, without doing it.
    fn outcome(&self, session: SessionId, owner: Owner, request: Request) -> TxnBody {
        let request = ServerRequest::Client(Arc::new(request));
        let mut prep = self.prep.clone();
        let txn = prep.request(&self.tree, session, owner, Xid(1), &request, Time::ZERO);
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
    Op::Create { path: path.into(), data: Data::from([1]), mode }
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

/// A tree with one znode more, as `change` makes it.
fn loaded(path: &str, change: impl FnOnce(&mut Znode)) -> DataTree {
    let mut tree = DataTree::new();
    tree.load_session(ALICE, TIMEOUT);
    let mut node = Znode::clone(tree.node("/zookeeper").expect("there from the start"));
    change(&mut node);
    tree.load_node(ZnodePath::new(path).expect("valid"), Arc::new(node));
    tree
}

mod order_of_checks {
    use super::*;
    use Error::{BadArguments, BadVersion, NoChildrenForEphemerals, NoNode, NodeExists, NotEmpty};

    /// Each operation fails as said: of two reasons the one that is checked first.
    fn assert_fails(leader: &Leader, rows: &[(&str, Op, Error)]) {
        for (why, op, error) in rows {
            let alone = leader.outcome(ALICE, Owner::Leader, Request::Write(op.clone()));
            if !matches!(op, Op::Check { .. }) {
                assert_eq!(alone, TxnBody::Error(*error), "{op}: {why}");
            }
            let multi = leader.outcome(ALICE, Owner::Leader, Request::Multi(vec![op.clone()]));
            assert_eq!(multi, TxnBody::FailedMulti(vec![Some(*error)]), "multi [{op}]: {why}");
        }
    }

    #[test]
    fn create() {
        let mut leader = Leader::with_znodes();
        assert_fails(
            &leader,
            &[
                ("no slash", persistent("a"), BadArguments),
                ("empty", persistent(""), BadArguments),
                ("NUL comes before the parent", persistent("/none/\0"), BadArguments),
                ("the parent is looked up as the text says", persistent("a/b"), NoNode),
                ("the parent comes before the rest of the path", persistent("/none/."), NoNode),
                ("also for a trailing slash", persistent("/none/"), NoNode),
                ("the parent would be `/p/`", persistent("/p//a"), NoNode),
                ("trailing slash", persistent("/p/"), BadArguments),
                ("below the root", persistent("//a"), BadArguments),
                ("a dot", persistent("/p/."), BadArguments),
                ("the path comes before the ephemeral parent", persistent("/p/e/.."), BadArguments),
                ("exists", persistent("/p/c"), NodeExists),
                ("the root exists", persistent("/"), NodeExists),
                ("ephemeral parent", persistent("/p/e/x"), NoChildrenForEphemerals),
                ("ephemeral parent, sequential", sequential("/p/e/x"), NoChildrenForEphemerals),
            ],
        );
        // Only a tree that has diverged can show that NodeExists comes before the last check.
        let node = Arc::clone(leader.tree.node("/p/c").expect("there"));
        leader.tree.load_node(ZnodePath::new("/p/e/x").expect("valid"), node);
        assert_fails(&leader, &[("exists first", persistent("/p/e/x"), NodeExists)]);
    }

    #[test]
    fn delete() {
        let leader = Leader::with_znodes();
        assert_fails(
            &leader,
            &[
                ("no slash", remove("a"), BadArguments),
                ("NUL", remove("/a\0"), BadArguments),
                ("special", remove("/"), BadArguments),
                ("special", remove("/zookeeper"), BadArguments),
                ("special", remove("/zookeeper/quota"), BadArguments),
                ("special", remove("/zookeeper/config"), BadArguments),
                ("no parent", remove("/none/x"), NoNode),
                ("no znode", remove("/p/none"), NoNode),
                ("paths are hardly checked", remove("/p/"), NoNode),
                ("paths are hardly checked", remove("p"), BadArguments),
                (
                    "the version comes before the children",
                    super::delete("/p", Version::Is(7)),
                    BadVersion,
                ),
                ("children", super::delete("/p", Version::Is(0)), NotEmpty),
                ("version", super::delete("/v", Version::Is(1)), BadVersion),
            ],
        );
    }

    #[test]
    fn set_data_and_check() {
        let leader = Leader::with_znodes();
        for op in [set, check] {
            assert_fails(
                &leader,
                &[
                    ("the path comes first", op("/none/", Version::Any), BadArguments),
                    ("no slash", op("none", Version::Any), BadArguments),
                    ("empty", op("", Version::Any), BadArguments),
                    ("no znode", op("/none", Version::Is(7)), NoNode),
                    ("version", op("/v", Version::Is(1)), BadVersion),
                ],
            );
        }
    }

    #[test]
    fn the_session_comes_before_all_else() {
        let leader = Leader::with_znodes();
        let hopeless = [
            persistent("a"),
            ephemeral("a"),
            remove("a"),
            set("a", Version::Any),
            check("a", Version::Any),
        ];
        for op in hopeless {
            let ask =
                |session, owner| leader.outcome(session, owner, Request::Multi(vec![op.clone()]));
            let expired = TxnBody::FailedMulti(vec![Some(Error::SessionExpired)]);
            assert_eq!(ask(NOBODY, Owner::Leader), expired, "{op}");
            assert_eq!(ask(ALICE, OTHER_WAY), TxnBody::Error(Error::SessionMoved), "{op}");
            assert_eq!(ask(ALICE, Owner::Leader), TxnBody::FailedMulti(vec![Some(BadArguments)]));
        }
        let alone = Request::Write(persistent("a"));
        let expired = leader.outcome(NOBODY, Owner::Leader, alone.clone());
        assert_eq!(expired, TxnBody::Error(Error::SessionExpired));
        assert_eq!(leader.outcome(ALICE, OTHER_WAY, alone), TxnBody::Error(Error::SessionMoved));
    }

    #[test]
    fn a_check_alone_is_no_request() {
        let leader = Leader::with_znodes();
        let body = leader.outcome(ALICE, Owner::Leader, Request::Write(check("/v", Version::Any)));
        assert_eq!(body, TxnBody::Error(Error::Unimplemented));
    }
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

    /// The counter turns negative in flight, but trees take it only forwards (semantics 1.3 †): once
    /// all is applied, it stands at its largest value again.
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

mod multis {
    use super::*;

    #[test]
    fn later_operations_see_earlier_ones_under_one_zxid() {
        let mut leader = Leader::with_znodes();
        let zxid = leader.prep.last_zxid();
        let body = leader.multi([
            persistent("/m"),
            sequential("/m/"),
            set("/m", Version::Is(0)),
            check("/m", Version::Is(1)),
            remove("/m/0000000000"),
            remove("/m"),
            persistent("/m"),
        ]);
        assert_eq!(
            body.to_string(),
            "multi [create /m, create /m/0000000000, setData /m v1, check /m, \
             delete /m/0000000000, delete /m, create /m]"
        );
        leader.commit();
        assert_eq!(leader.tree.last_processed(), Zxid(zxid.0 + 1));
        assert_eq!(leader.tree.node("/m").expect("there").version, 0);
        assert_eq!(leader.multi([]), TxnBody::Multi(vec![]));
    }

    #[test]
    fn a_failure_names_its_place_and_leaves_nothing() {
        let mut leader = Leader::with_znodes();
        leader.write(ALICE, set("/v", Version::Is(2)));
        let before = leader.prep.outstanding.clone();
        let body = leader.multi([
            set("/v", Version::Is(3)),
            persistent("/m"),
            persistent("/m/x"),
            remove("/p/c"),
            check("/v", Version::Is(3)),
            remove("/v"),
            remove("/p"),
        ]);
        let later = Some(Error::RuntimeInconsistency);
        let codes = vec![None, None, None, None, Some(Error::BadVersion), later, later];
        assert_eq!(body, TxnBody::FailedMulti(codes));
        assert_eq!(leader.prep.outstanding, before);
        // The change of /v that was in flight before the multi counts as before.
        assert_eq!(leader.write(ALICE, set("/v", Version::Is(3))).expect_version(), 4);
        assert_eq!(leader.write(ALICE, persistent("/m/x")), TxnBody::Error(Error::NoNode));
        assert_eq!(leader.write(ALICE, persistent("/p/c")), TxnBody::Error(Error::NodeExists));
    }

    /// HEAD forgets the delete here: it keeps what stood at the paths that the multi asked for, and
    /// the sequential create's final path is none of them.
    #[test]
    fn rolling_back_restores_a_delete_at_a_sequential_name() {
        let mut leader = Leader::with_znodes();
        leader.write(ALICE, persistent("/p/0000000003"));
        leader.commit();
        leader.write(ALICE, remove("/p/0000000003"));
        assert!(matches!(
            leader.multi([sequential("/p/"), remove("/none")]),
            TxnBody::FailedMulti(codes) if codes == [None, Some(Error::NoNode)]
        ));
        assert_eq!(leader.write(ALICE, remove("/p/0000000003")), TxnBody::Error(Error::NoNode));
        assert_eq!(leader.write(ALICE, sequential("/p/")).expect_created(), "/p/0000000003");
    }
}

mod sessions {
    use super::*;

    #[test]
    fn creating_one_tracks_it_for_the_way_by_which_it_came() {
        let mut leader = Leader::with_znodes();
        let request = ServerRequest::CreateSession { timeout: TIMEOUT };
        let txn = leader.server_request(NOBODY, OTHER_WAY, &request);
        assert_eq!(txn.body, TxnBody::CreateSession { timeout: TIMEOUT });
        assert_eq!((txn.session, txn.cxid, txn.time), (NOBODY, Xid(9), 1234));
        // Requests can follow before it is applied.
        let op = Request::Write(persistent("/x"));
        assert_eq!(leader.request(NOBODY, OTHER_WAY, op.clone()).expect_created(), "/x");
        assert_eq!(leader.request(NOBODY, Owner::Leader, op), TxnBody::Error(Error::SessionMoved));
        leader.commit();
        assert!(leader.tree.sessions().contains_key(&NOBODY));
    }

    #[test]
    fn closing_lists_the_ephemerals_as_they_will_be() {
        let mut leader = Leader::with_znodes();
        leader.write(ALICE, ephemeral("/kept"));
        leader.write(ALICE, ephemeral("/gone"));
        leader.write(BOB, remove("/gone"));
        leader.write(BOB, remove("/p/e"));
        leader.write(BOB, ephemeral("/p/e"));
        leader.multi([ephemeral("/failed"), remove("/none")]);
        leader.multi([ephemeral("/p/m"), ephemeral("/p/n"), remove("/p/n")]);
        assert_eq!(leader.close(ALICE), ["/kept", "/p/m"]);
        leader.commit();
        assert_eq!(leader.tree.ephemerals(ALICE).count(), 0);
        assert_eq!(leader.close(BOB), ["/p/e"]);
    }

    #[test]
    fn a_closing_session_is_refused_until_and_after_its_end() {
        let mut leader = Leader::with_znodes();
        assert_eq!(leader.close(ALICE), ["/p/e"]);
        let expired = TxnBody::Error(Error::SessionExpired);
        assert_eq!(leader.write(ALICE, persistent("/x")), expired);
        let multi = leader.multi([persistent("/x"), persistent("/y")]);
        let codes = [Some(Error::SessionExpired), Some(Error::RuntimeInconsistency)];
        assert_eq!(multi, TxnBody::FailedMulti(codes.to_vec()));
        let again = ServerRequest::CreateSession { timeout: TIMEOUT };
        assert_eq!(leader.server_request(ALICE, Owner::Leader, &again).body, expired);
        assert_eq!(leader.close(ALICE), [""; 0], "closing twice is harmless");
        assert_eq!(leader.prep.sessions().iter().count(), 2);
        leader.commit();
        assert_eq!(leader.prep.sessions().iter().collect::<Vec<_>>(), [(BOB, TIMEOUT)]);
        assert_eq!(leader.write(ALICE, persistent("/x")), expired);
    }

    /// Others' requests see the deletions of a closeSession in flight: HEAD answers the last one with
    /// NotEmpty.
    #[test]
    fn the_deletions_of_a_close_count_at_once() {
        let mut leader = Leader::with_znodes();
        leader.write(BOB, remove("/p/c"));
        leader.close(ALICE);
        assert_eq!(leader.write(BOB, set("/p/e", Version::Any)), TxnBody::Error(Error::NoNode));
        assert_eq!(leader.write(BOB, remove("/p")).to_string(), "delete /p");
        leader.commit();
        assert!(leader.tree.node("/p").is_none());
    }

    #[test]
    fn a_close_is_checked_for_neither_session_nor_owner() {
        let mut leader = Leader::with_znodes();
        assert_eq!(leader.close(NOBODY), [""; 0]);
        let body = leader.request(ALICE, OTHER_WAY, Request::CloseSession);
        assert_eq!(closed(&body), ["/p/e"]);
    }

    #[test]
    fn expiry_closes_once() {
        let mut leader = Leader::with_znodes();
        let at = Time(2_000_000);
        let Expiry::Proposed(txn) = leader.prep.expire(&leader.tree, ALICE, at) else {
            panic!("the session is alive");
        };
        assert_eq!((txn.session, txn.cxid, txn.time), (ALICE, Xid(0), 2000));
        assert_eq!(txn.zxid, leader.prep.last_zxid());
        assert_eq!(closed(&txn.body), ["/p/e"]);
        let zxid = leader.prep.last_zxid();
        assert_eq!(leader.prep.expire(&leader.tree, ALICE, at), Expiry::Nothing);
        assert_eq!(leader.prep.expire(&leader.tree, NOBODY, at), Expiry::Nothing);
        assert_eq!(leader.prep.last_zxid(), zxid);
    }

    #[test]
    fn a_moved_session_answers_its_new_way_only() {
        let mut leader = Leader::with_znodes();
        let op = || Request::Write(set("/v", Version::Any));
        assert_eq!(leader.prep.sessions_mut().revalidate(ALICE, OTHER_WAY), Some(TIMEOUT));
        assert_eq!(leader.request(ALICE, Owner::Leader, op()), TxnBody::Error(Error::SessionMoved));
        assert_eq!(leader.request(ALICE, OTHER_WAY, op()).expect_version(), 3);
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
        assert_eq!(prep.request(tree, ALICE, Owner::Leader, Xid(1), &request, Time::ZERO), None);
        assert_eq!(prep.expire(tree, ALICE, Time::ZERO), Expiry::Exhausted);
        assert_eq!(*prep, before);
    }

    #[test]
    #[should_panic(expected = "needs no transaction")]
    fn reads_never_come_here() {
        let leader = Leader::with_znodes();
        leader.outcome(ALICE, Owner::Leader, Request::Sync { path: "/".into() });
    }
}
