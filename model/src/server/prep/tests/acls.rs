//! ACLs at `prep`: rules 1.6 and 1.9. Permissions are checked on the right znode, after the right checks, and against
//! the ACLs after everything proposed is applied.

use super::*;
use crate::vocabulary::release::Release;
use Error::{
    BadArguments, BadVersion, InvalidAcl, NoAuth, NoNode, NodeExists, NotEmpty, SessionExpired,
};

const ALL_BUT_CREATE: Permissions = Permissions(31 - 4);
const ALL_BUT_DELETE: Permissions = Permissions(31 - 8);
const ALL_BUT_WRITE: Permissions = Permissions(31 - 2);
const ALL_BUT_ADMIN: Permissions = Permissions(31 - 16);
const ALL_BUT_READ: Permissions = Permissions(31 - 1);

fn user() -> Id {
    Id::new("digest", "user:hash")
}

/// A leader with `/d`, which has this ACL, and its child `/d/c` with the open ACL.
fn leader_with(acl: AclList) -> Leader {
    let mut leader = Leader::with_znodes();
    leader.write(ALICE, persistent("/d"));
    leader.write(ALICE, persistent("/d/c"));
    leader.request(ALICE, Owner::Leader, set_acl("/d", acl, Version::Any));
    leader.commit();
    leader
}

fn create_with(path: &str, acl: AclList) -> Op {
    Op::Create { path: path.into(), data: Data::from([]), mode: CreateMode::Persistent, acl }
}

fn single(op: Op) -> Request {
    Request::Write(op)
}

#[track_caller]
fn assert_fails(leader: &Leader, why: &str, request: Request, error: Error) {
    let text = request.to_string();
    let body = leader.outcome(ALICE, Owner::Leader, request);
    assert_eq!(body, TxnBody::Error(error), "{text}: {why}");
}

#[test]
fn a_create_needs_create_on_the_parent() {
    let leader = leader_with(for_all(ALL_BUT_CREATE));
    let none = AclList::new([]);
    let rows = [
        ("the path comes before its ACL", create_with("a", none.clone()), BadArguments),
        ("the ACL comes before the parent", create_with("/none/x", none.clone()), InvalidAcl),
        ("the ACL comes before the permission", create_with("/d/x", none), InvalidAcl),
        ("the parent comes before its permission", persistent("/none/x"), NoNode),
        ("a permission is missing", persistent("/d/x"), NoAuth),
        ("the permission comes before the rest of the path", persistent("/d/."), NoAuth),
        ("the permission comes before what is there", persistent("/d/c"), NoAuth),
        ("the znode's own ACL is not asked", persistent("/d/c/x"), NodeExists),
    ];
    for (why, op, error) in rows {
        if error != NodeExists {
            assert_fails(&leader, why, single(op), error);
        } else {
            assert_eq!(leader.outcome(ALICE, Owner::Leader, single(op)).expect_created(), "/d/c/x");
        }
    }
    // Permissions of others do not help, and no other permission is needed.
    let mut leader = leader_with(for_all(Permissions::CREATE));
    assert_eq!(leader.write(ALICE, persistent("/d/x")).expect_created(), "/d/x");
}

#[test]
fn a_delete_needs_delete_on_the_parent() {
    let leader = leader_with(for_all(ALL_BUT_DELETE));
    let wrong = Version::Is(7);
    let rows = [
        ("the permission comes before the znode", remove("/d/none"), NoAuth),
        ("the permission comes before the version", delete("/d/c", wrong), NoAuth),
        ("the parent comes before its permission", remove("/none/x"), NoNode),
        ("the znode's own ACL is not asked", remove("/d"), NotEmpty),
    ];
    for (why, op, error) in rows {
        assert_fails(&leader, why, single(op), error);
    }
    let mut leader = leader_with(for_all(Permissions::DELETE));
    assert_eq!(leader.write(ALICE, remove("/d/c")).to_string(), "delete /d/c");
}

#[test]
fn before_3_6_a_delete_finds_the_znode_before_it_asks() {
    let mut leader = leader_with(for_all(ALL_BUT_DELETE));
    for (release, error) in [(Release::V3_5_10, NoNode), (Release::V3_6_3, NoAuth)] {
        leader.config.options.operations_of = release;
        assert_fails(&leader, "in this order", single(remove("/d/none")), error);
        assert_fails(&leader, "it is there", single(remove("/d/c")), NoAuth);
    }
}

#[test]
fn a_set_data_needs_write() {
    let leader = leader_with(for_all(ALL_BUT_WRITE));
    assert_fails(&leader, "write is missing", single(set("/d", Version::Any)), NoAuth);
    let wrong = single(set("/d", Version::Is(7)));
    assert_fails(&leader, "the permission comes before the version", wrong, NoAuth);
    let none = single(set("/none", Version::Any));
    assert_fails(&leader, "the znode comes before its permission", none, NoNode);
    let mut leader = leader_with(for_all(Permissions::WRITE));
    assert_eq!(leader.write(ALICE, set("/d", Version::Any)).expect_version(), 1);
}

#[test]
fn a_check_needs_read() {
    let leader = leader_with(for_all(ALL_BUT_READ));
    let ask = |leader: &Leader, op| leader.outcome(ALICE, Owner::Leader, Request::Multi(vec![op]));
    let failed = |error| TxnBody::FailedMulti(vec![Some(error)]);
    assert_eq!(ask(&leader, check("/d", Version::Is(7))), failed(NoAuth));
    assert_eq!(ask(&leader, check("/none", Version::Is(7))), failed(NoNode));
    let leader = leader_with(for_all(Permissions::READ));
    assert_eq!(ask(&leader, check("/d", Version::Any)).to_string(), "multi [check /d]");
    assert_eq!(ask(&leader, check("/d", Version::Is(7))), failed(BadVersion));
}

#[test]
fn a_set_acl_needs_admin() {
    let leader = leader_with(for_all(ALL_BUT_ADMIN));
    let (open, none, wrong) = (AclList::OPEN, AclList::new([]), Version::Is(7));
    let rows = [
        ("the path comes before the ACL", set_acl("/d/", none.clone(), wrong), BadArguments),
        ("no slash", set_acl("d", none.clone(), wrong), BadArguments),
        ("the ACL comes before the znode", set_acl("/none", none.clone(), wrong), InvalidAcl),
        ("the ACL comes before the permission", set_acl("/d", none.clone(), wrong), InvalidAcl),
        ("the znode comes before its permission", set_acl("/none", open.clone(), wrong), NoNode),
        ("the permission comes before the version", set_acl("/d", open.clone(), wrong), NoAuth),
        (
            "the version of the data is another",
            set_acl("/v", open.clone(), Version::Is(2)),
            BadVersion,
        ),
    ];
    for (why, request, error) in rows {
        assert_fails(&leader, why, request, error);
    }
    let hopeless = set_acl("d", none, wrong);
    let expired = leader.outcome(NOBODY, Owner::Leader, hopeless.clone());
    assert_eq!(expired, TxnBody::Error(SessionExpired), "the session comes before all else");
    assert_eq!(leader.outcome(ALICE, OTHER_WAY, hopeless), TxnBody::Error(Error::SessionMoved));

    let mut leader = leader_with(for_all(Permissions::ADMIN));
    let body = leader.request(ALICE, Owner::Leader, set_acl("/d", open, Version::Is(1)));
    assert_eq!(body.expect_version(), 2);
    leader.commit();
    let node = leader.tree.node("/d").expect("there");
    assert_eq!((node.aversion, node.version, &node.acl), (2, 0, &AclList::OPEN));
}

#[test]
fn stored_acls_are_fixed_up() {
    let mut leader = Leader::with_znodes();
    let request = set_acl("/v", AclList::creator_all(), Version::Any);
    assert_fails(&leader, "nothing was proven", request.clone(), InvalidAcl);
    let op = create_with("/x", AclList::creator_all());
    assert_fails(&leader, "nothing was proven", single(op.clone()), InvalidAcl);
    leader.auth = Arc::from([user()]);
    leader.write(ALICE, op);
    leader.request(ALICE, Owner::Leader, request);
    leader.commit();
    let expected = AclList::new([Acl::new(Permissions::ALL, user())]);
    for path in ["/x", "/v"] {
        assert_eq!(leader.tree.node(path).expect("there").acl, expected, "{path}");
    }
}

/// The identities that arrive with the request decide, at the leader.
#[test]
fn identities_open_what_is_closed_to_others() {
    let mut leader = leader_with(AclList::new([Acl::new(Permissions::ALL, user())]));
    let ask = |leader: &Leader| leader.outcome(ALICE, Owner::Leader, single(persistent("/d/x")));
    assert_eq!(ask(&leader), TxnBody::Error(NoAuth));
    leader.config.options.skip_acl = true;
    assert_eq!(ask(&leader).expect_created(), "/d/x");
    leader.config.options.skip_acl = false;
    for (id, may) in [
        (user(), true),
        (Id::new("super", ""), true),
        (Id::new("digest", "user:other"), false),
        (Id::new("ip", "user:hash"), false),
    ] {
        leader.auth = Arc::from([id.clone()]);
        let expected = if may { "create /d/x" } else { "error NoAuth" };
        assert_eq!(ask(&leader).to_string(), expected, "{id}");
    }
}

/// HEAD keeps the old list until the setACL is applied ([`Bug::OutstandingAclIsOld`]).
#[test]
fn an_acl_under_way_counts_at_once() {
    for is_old in [false, true] {
        let mut leader = Leader::with_znodes();
        if is_old {
            leader.config.bugs = leader.config.bugs.with(Bug::OutstandingAclIsOld);
        }
        let acl = for_all(ALL_BUT_WRITE);
        let body = leader.request(ALICE, Owner::Leader, set_acl("/v", acl, Version::Is(0)));
        assert_eq!(body.expect_version(), 1);
        let again = set_acl("/v", AclList::OPEN, Version::Is(0));
        assert_fails(&leader, "the aversion always counts at once", again, BadVersion);
        let ask =
            |leader: &Leader| leader.outcome(BOB, Owner::Leader, single(set("/v", Version::Any)));
        let at_once = ask(&leader).to_string();
        assert_eq!(at_once, if is_old { "setData /v v3" } else { "error NoAuth" });
        leader.commit();
        assert_eq!(ask(&leader), TxnBody::Error(NoAuth));
    }
}

/// A later write copies the old list (`ChangeRecord.duplicate`): in HEAD it applies until no change of the znode is
/// outstanding, however long ago the setACL was applied ([`Bug::OutstandingAclIsOld`]).
#[test]
fn an_old_acl_applies_while_a_later_change_is_outstanding() {
    let mut leader = Leader::with_znodes();
    leader.config.bugs = leader.config.bugs.with(Bug::OutstandingAclIsOld);
    let write = |leader: &mut Leader| {
        leader.request(BOB, Owner::Leader, single(set("/v", Version::Any))).to_string()
    };
    leader.request(ALICE, Owner::Leader, set_acl("/v", for_all(ALL_BUT_WRITE), Version::Is(0)));
    assert_eq!(write(&mut leader), "setData /v v3");
    for version in 4..8 {
        // The setACL, then one write after the other; one more is always outstanding.
        leader.commit_one();
        assert_eq!(write(&mut leader), format!("setData /v v{version}"));
    }
    leader.commit();
    assert_eq!(write(&mut leader), "error NoAuth");
}

/// The ACL of a znode that is being created applies as well, also in a multi; a failed multi takes it back.
#[test]
fn a_multi_asks_the_acls_of_its_own_creates() {
    let mut leader = Leader::with_znodes();
    let body = leader.multi([create_with("/m", for_all(ALL_BUT_CREATE)), persistent("/m/x")]);
    assert_eq!(body, TxnBody::FailedMulti(vec![None, Some(NoAuth)]));
    let closed = for_all(ALL_BUT_CREATE);
    leader.request(ALICE, Owner::Leader, set_acl("/p", closed, Version::Any));
    let body = leader.multi([set("/p", Version::Any), persistent("/p/x"), remove("/v")]);
    let later = Some(Error::RuntimeInconsistency);
    assert_eq!(body, TxnBody::FailedMulti(vec![None, Some(NoAuth), later]));
    assert_fails(&leader, "it is still closed", single(persistent("/p/x")), NoAuth);
}
