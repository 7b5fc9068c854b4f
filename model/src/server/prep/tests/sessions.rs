//! Sessions at `prep`: rules 1.6.1, 2.4 and 2.5.

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

/// Requests of other sessions see the deletions of a closeSession in flight; HEAD answers the last one with NotEmpty.
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
    let Expiry::Proposed(txn) = leader.prep.expire(&leader.tree, ALICE, &leader.config, at) else {
        panic!("the session is alive");
    };
    assert_eq!((txn.session, txn.cxid, txn.time), (ALICE, Xid(0), 2000));
    assert_eq!(txn.zxid, leader.prep.last_zxid());
    assert_eq!(closed(&txn.body), ["/p/e"]);
    let zxid = leader.prep.last_zxid();
    assert_eq!(leader.prep.expire(&leader.tree, ALICE, &leader.config, at), Expiry::Nothing);
    assert_eq!(leader.prep.expire(&leader.tree, NOBODY, &leader.config, at), Expiry::Nothing);
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
