//! Quotas at `prep`: rules 1.6 and 1.10.

use super::*;
use Error::{BadVersion, NoAuth, NodeExists, QuotaExceeded};

fn data(path: &str, text: &str) -> Op {
    Op::create(path, text.as_bytes(), CreateMode::Persistent)
}

fn set_text(path: &str, text: &str, version: Version) -> Op {
    Op::SetData { path: path.into(), data: Data::from(text.as_bytes()), version }
}

/// A leader with `/q` of four bytes and these limits.
fn limited(limits: &str) -> Leader {
    let mut leader = Leader::with_znodes();
    leader.config.options.enforce_quota = true;
    for op in [
        data("/q", "1234"),
        data("/zookeeper/quota/q", ""),
        data("/zookeeper/quota/q/zookeeper_limits", limits),
        data("/zookeeper/quota/q/zookeeper_stats", ""),
    ] {
        leader.write(ALICE, op).expect_created();
    }
    leader.commit();
    leader
}

fn statistics(leader: &Leader) -> String {
    let node = leader.tree.node("/zookeeper/quota/q/zookeeper_stats").expect("there");
    String::from_utf8_lossy(&node.data).into_owned()
}

fn ask(leader: &Leader, op: Op) -> TxnBody {
    leader.outcome(ALICE, Owner::Leader, Request::Write(op))
}

#[test]
fn a_hard_limit_of_znodes_refuses_one_more() {
    let mut leader = limited("count=-1,bytes=-1=;countHardLimit=2");
    assert_eq!(statistics(&leader), "count=1,bytes=4");
    leader.write(ALICE, data("/q/a", "1"));
    leader.commit();
    assert_eq!(statistics(&leader), "count=2,bytes=5");
    assert_eq!(ask(&leader, data("/q/b", "")), TxnBody::Error(QuotaExceeded));
    assert_eq!(ask(&leader, data("/q/a/b", "")), TxnBody::Error(QuotaExceeded));
    assert_eq!(ask(&leader, sequential("/q/b")), TxnBody::Error(QuotaExceeded));
    let multi = leader.outcome(ALICE, Owner::Leader, Request::Multi(vec![data("/q/b", "")]));
    assert_eq!(multi, TxnBody::FailedMulti(vec![Some(QuotaExceeded)]));
    // Bytes are unlimited, and so are znodes elsewhere; a delete makes room.
    assert_eq!(ask(&leader, set_text("/q/a", "123456789", Version::Any)).expect_version(), 1);
    assert_eq!(ask(&leader, data("/qq", "")).expect_created(), "/qq");
    leader.write(ALICE, remove("/q/a"));
    leader.commit();
    assert_eq!(ask(&leader, data("/q/b", "")).expect_created(), "/q/b");
}

#[test]
fn a_hard_limit_of_bytes_refuses_more_than_it() {
    let leader = limited("count=-1,bytes=-1=;byteHardLimit=6");
    assert_eq!(ask(&leader, data("/q/a", "12")).expect_created(), "/q/a");
    assert_eq!(ask(&leader, data("/q/a", "123")), TxnBody::Error(QuotaExceeded));
    assert_eq!(ask(&leader, set_text("/q", "123456", Version::Any)).expect_version(), 1);
    let longer = set_text("/q", "1234567", Version::Any);
    assert_eq!(ask(&leader, longer.clone()), TxnBody::Error(QuotaExceeded));
    assert_eq!(ask(&leader, persistent("/x")).expect_created(), "/x");

    // A change that adds nothing is accepted even beyond the limit.
    let leader = limited("count=-1,bytes=-1=;byteHardLimit=2");
    assert_eq!(ask(&leader, set_text("/q", "4321", Version::Any)).expect_version(), 1);
    assert_eq!(ask(&leader, set_text("/q", "123", Version::Any)), TxnBody::Error(QuotaExceeded));
    assert_eq!(ask(&leader, data("/q/a", "")).expect_created(), "/q/a");
}

#[test]
fn soft_limits_and_unenforced_limits_refuse_nothing() {
    let leader = limited("count=1,bytes=1");
    assert_eq!(ask(&leader, data("/q/a", "12")).expect_created(), "/q/a");
    let mut leader = limited("count=-1,bytes=-1=;byteHardLimit=1;countHardLimit=1");
    assert_eq!(ask(&leader, data("/q/a", "12")), TxnBody::Error(QuotaExceeded));
    leader.config.options.enforce_quota = false;
    assert_eq!(ask(&leader, data("/q/a", "12")).expect_created(), "/q/a");
}

/// Creates check the quota last; setData checks it before the version.
#[test]
fn the_order_of_checks() {
    let mut leader = limited("count=-1,bytes=-1=;byteHardLimit=4;countHardLimit=1");
    let longer = |version| set_text("/q", "12345", version);
    assert_eq!(ask(&leader, longer(Version::Is(7))), TxnBody::Error(QuotaExceeded));
    assert_eq!(ask(&leader, set_text("/q", "1", Version::Is(7))), TxnBody::Error(BadVersion));
    assert_eq!(ask(&leader, data("/q", "12345")), TxnBody::Error(NodeExists));
    let closed = for_all(Permissions::READ);
    leader.request(ALICE, Owner::Leader, set_acl("/q", closed, Version::Any));
    leader.commit();
    assert_eq!(ask(&leader, longer(Version::Any)), TxnBody::Error(NoAuth));
    assert_eq!(ask(&leader, data("/q/a", "12345")), TxnBody::Error(NoAuth));
}

/// Only applied znodes count, not those in flight; but the length that a setData replaces is that of the last one in
/// flight.
#[test]
fn znodes_in_flight_are_not_counted() {
    let mut leader = limited("count=-1,bytes=-1=;countHardLimit=2;byteHardLimit=6");
    for path in ["/q/a", "/q/b", "/q/c"] {
        leader.write(ALICE, data(path, "")).expect_created();
    }
    leader.commit();
    assert_eq!(statistics(&leader), "count=4,bytes=4");
    assert_eq!(ask(&leader, data("/q/d", "")), TxnBody::Error(QuotaExceeded));
    leader.write(ALICE, set_text("/q", "123456", Version::Any)).expect_version();
    let longer = set_text("/q", "12345678", Version::Any);
    assert_eq!(ask(&leader, longer.clone()).expect_version(), 2, "two bytes more than four");
    leader.commit();
    assert_eq!(ask(&leader, longer), TxnBody::Error(QuotaExceeded));
}
