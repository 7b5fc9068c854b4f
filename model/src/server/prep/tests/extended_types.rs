//! Containers and TTL znodes at `prep`: rule 1.5.

use super::*;
use crate::tree::EphemeralType;
use Error::{BadArguments, BadVersion, NoNode, NotEmpty, SessionExpired, Unimplemented};

fn ttl(milliseconds: u64) -> CreateMode {
    CreateMode::PersistentWithTtl(Duration::from_millis(milliseconds))
}

const LONGEST: u64 = (1 << 40) - 1;

fn with_ttls() -> Leader {
    let mut leader = Leader::with_znodes();
    leader.config.options.extended_types = true;
    leader
}

fn ask(leader: &Leader, request: Request) -> TxnBody {
    leader.outcome(ALICE, Owner::Leader, request)
}

#[test]
fn a_ttl_is_refused_where_the_extended_types_are_off() {
    let leader = Leader::with_znodes();
    for mode in [ttl(0), ttl(1), CreateMode::PersistentSequentialWithTtl(Duration::from_secs(1))] {
        // This is checked before its range, the session and everything else.
        for session in [ALICE, NOBODY] {
            let body = leader.outcome(session, OTHER_WAY, Request::Write(create("a", mode)));
            assert_eq!(body, TxnBody::Error(Unimplemented), "{mode:?}");
        }
        let multi = ask(&leader, Request::Multi(vec![persistent("/x"), create("/y", mode)]));
        assert_eq!(multi, TxnBody::FailedMulti(vec![None, Some(Unimplemented)]));
    }
    let container = create("/x", CreateMode::Container);
    assert_eq!(ask(&leader, Request::Write(container)).expect_created(), "/x", "no extended type");
}

#[test]
fn a_ttl_out_of_range_is_refused_before_the_session_is_asked() {
    let leader = with_ttls();
    for milliseconds in [0, LONGEST + 1] {
        for (session, owner) in
            [(ALICE, Owner::Leader), (NOBODY, Owner::Leader), (ALICE, OTHER_WAY)]
        {
            let request = Request::Write(create("/none/x", ttl(milliseconds)));
            assert_eq!(leader.outcome(session, owner, request), TxnBody::Error(BadArguments));
        }
    }
    for milliseconds in [1, LONGEST] {
        let request = || Request::Write(create("/x", ttl(milliseconds)));
        let expired = leader.outcome(NOBODY, Owner::Leader, request());
        assert_eq!(expired, TxnBody::Error(SessionExpired));
        let TxnBody::Create { ephemeral_type, .. } = ask(&leader, request()) else {
            panic!("{milliseconds} ms are a time to live");
        };
        let expected = EphemeralType::Ttl(Duration::from_millis(milliseconds));
        assert_eq!(ephemeral_type, expected);
    }
}

#[test]
fn every_mode_makes_its_own_kind_of_znode() {
    let mut leader = with_ttls();
    let time = Duration::from_secs(3);
    for (mode, path, expected) in [
        (CreateMode::Container, "/k", EphemeralType::Container),
        (CreateMode::PersistentWithTtl(time), "/k", EphemeralType::Ttl(time)),
        (CreateMode::PersistentSequentialWithTtl(time), "/k0000000002", EphemeralType::Ttl(time)),
        (CreateMode::Ephemeral, "/k", EphemeralType::Normal(ALICE)),
        (CreateMode::Persistent, "/k", EphemeralType::Void),
    ] {
        let body = ask(&leader, Request::Write(create("/k", mode)));
        assert_eq!(body.expect_created(), path);
        assert!(
            matches!(body, TxnBody::Create { ephemeral_type, .. } if ephemeral_type == expected)
        );
    }
    // Unlike ephemerals they can have children, and belong to no session.
    leader.multi([
        create("/c", CreateMode::Container),
        persistent("/c/x"),
        create("/t", CreateMode::PersistentWithTtl(time)),
        ephemeral("/t/x"),
    ]);
    assert_eq!(leader.close(ALICE), ["/p/e", "/t/x"]);
    leader.commit();
    let reaped: Vec<String> = leader.tree.reaped().map(ToString::to_string).collect();
    assert_eq!(reaped, ["/c", "/t"]);
    let stat = leader.tree.stat("/c").expect("there");
    assert_eq!(stat.ephemeral_owner, None, "the mark is hidden from clients");
}

#[test]
fn an_empty_container_is_deleted() {
    let mut leader = with_ttls();
    leader.multi([
        create("/c", CreateMode::Container),
        persistent("/c/x"),
        create("/t", ttl(LONGEST)),
    ]);
    leader.commit();
    for (path, error) in [
        ("c", BadArguments),
        ("/", BadArguments),
        ("/zookeeper/quota", BadArguments),
        ("/c\0", BadArguments),
        ("/none", NoNode),
        ("/none/x", NoNode),
        ("/c", NotEmpty),
        ("/p/e", BadVersion),
    ] {
        assert_eq!(ask(&leader, delete_container(path)), TxnBody::Error(error), "{path}");
    }
    // The children are counted in their future state. Neither the time to live nor the kind of znode is checked
    // again, as long as no session owns it.
    leader.write(ALICE, remove("/c/x"));
    for path in ["/c", "/t", "/v"] {
        assert_eq!(
            ask(&leader, delete_container(path)).to_string(),
            format!("deleteContainer {path}")
        );
    }
    leader.request(NOBODY, Owner::Leader, delete_container("/c"));
    assert_eq!(ask(&leader, Request::Write(remove("/c"))), TxnBody::Error(NoNode));
    leader.commit();
    assert!(leader.tree.node("/c").is_none());
    assert_eq!(leader.tree.reaped().count(), 1);
}

/// The request comes from the leader itself, for session 0: neither the session nor DELETE on the parent is checked.
#[test]
fn a_container_is_deleted_without_session_and_permission() {
    let mut leader = Leader::with_znodes();
    leader.write(ALICE, create("/p/k", CreateMode::Container));
    let closed = for_all(Permissions::READ);
    leader.request(ALICE, Owner::Leader, set_acl("/p", closed, Version::Any));
    assert_eq!(ask(&leader, Request::Write(remove("/p/k"))), TxnBody::Error(Error::NoAuth));
    let body = leader.outcome(SessionId(0), OTHER_WAY, delete_container("/p/k"));
    assert_eq!(body.to_string(), "deleteContainer /p/k");
}

/// A deletion by the container manager reduces the parent's children like any other.
#[test]
fn the_parent_counts_one_child_less_at_once() {
    let mut leader = Leader::with_znodes();
    leader.multi([persistent("/q"), create("/q/k", CreateMode::Container)]);
    assert_eq!(ask(&leader, Request::Write(remove("/q"))), TxnBody::Error(NotEmpty));
    leader.request(SessionId(0), Owner::Leader, delete_container("/q/k"));
    assert_eq!(leader.write(ALICE, remove("/q")).to_string(), "delete /q");
    leader.commit();
    assert!(leader.tree.node("/q").is_none());
}
