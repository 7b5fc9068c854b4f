//! Multis at `prep`: rule 1.7.

use super::*;
use crate::vocabulary::release::{Bugs, Release};

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
fn a_multi_with_an_unknown_operation_cannot_be_read() {
    let mut leader = Leader::with_znodes();
    let container = Op::create("/m", [], CreateMode::Container);
    let ops = [persistent("/n"), container];
    leader.config.options.operations_of = Release::V3_4_14;
    assert_eq!(leader.multi(ops.clone()), TxnBody::Error(Error::MarshallingError));
    assert!(leader.prep.outstanding.is_empty(), "nothing of it is outstanding");
    leader.config.options.operations_of = Release::V3_5_10;
    assert!(matches!(leader.multi(ops), TxnBody::Multi(parts) if parts.len() == 2));
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
    // A change of /v that was in flight before the multi is still there.
    assert_eq!(leader.write(ALICE, set("/v", Version::Is(3))).expect_version(), 4);
    assert_eq!(leader.write(ALICE, persistent("/m/x")), TxnBody::Error(Error::NoNode));
    assert_eq!(leader.write(ALICE, persistent("/p/c")), TxnBody::Error(Error::NodeExists));
}

/// HEAD forgets the delete here: it saves the records of the paths that the multi named, and the final path of the
/// sequential create is not among them.
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

/// An operation for each of three identities makes it longer than the request (rule 1.11.2).
#[test]
fn one_that_no_server_could_read_is_refused_and_leaves_nothing() {
    let mut leader = Leader::with_znodes();
    leader.config.options.max_buffer = 64;
    leader.auth = ["one", "two", "three"].map(|user| Id::new("digest", user)).into();
    let acl = AclList::new(vec![Acl::new(Permissions::ALL, Id::AUTH)]);
    let create = |number| Op::Create {
        path: format!("/znode{number}").into(),
        data: Data::from([]),
        mode: CreateMode::Persistent,
        acl: acl.clone(),
    };
    let fits: Vec<Op> = (0..8).map(create).collect();
    assert!(matches!(leader.multi(fits), TxnBody::Multi(parts) if parts.len() == 8));
    let before = leader.prep.outstanding.clone();
    let wide: Vec<Op> = (8..22).map(create).collect();
    let refused = leader.multi(wide.clone());
    assert!(
        matches!(&refused, TxnBody::FailedMulti(codes)
            if codes.len() == 14 && codes[0] == Some(Error::MarshallingError)),
        "{refused:?}"
    );
    assert_eq!(leader.prep.outstanding, before);
    leader.config.bugs = Bugs::NONE.with(Bug::LongRecordUnreadable);
    assert!(matches!(leader.multi(wide), TxnBody::Multi(parts) if parts.len() == 14));
}

#[test]
fn a_single_operation_with_very_many_identities_is_refused_as_well() {
    let mut leader = Leader::with_znodes();
    leader.config.options.max_buffer = 64;
    leader.auth = (0..100).map(|user| Id::new("digest", format!("user{user}"))).collect();
    let before = leader.prep.outstanding.clone();
    let mut create = || {
        let acl = AclList::new(vec![Acl::new(Permissions::ALL, Id::AUTH)]);
        let (path, data, mode) = ("/wide".into(), Data::from([]), CreateMode::Persistent);
        leader.write(ALICE, Op::Create { path, data, mode, acl })
    };
    assert_eq!(create(), TxnBody::Error(Error::MarshallingError));
    assert_eq!(create(), TxnBody::Error(Error::MarshallingError), "it does not stand");
    assert_eq!(leader.prep.outstanding, before);
}
