//! Rule 5.8.3: the checks of a reconfiguration, in their order.

use super::*;
use crate::vocabulary::path::CONFIG;
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::reconfiguration::Reconfiguration;

const FOUR: &str = "server.4=d:1:2;3";

/// A leader of servers 1 to 3 at which nothing is wrong: server 4 has joined as a learner, and the client is the superuser's.
fn leader() -> Leader {
    let mut leader = Leader::with_znodes();
    leader.commit();
    leader.config.options.reconfig_enabled = true;
    leader.config.options.skip_acl = true;
    let quorum = QuorumVerifier::majority(3).with_version(Zxid::new(Epoch(1), 0));
    let configurations = Configurations::of(quorum);
    leader.view = Some(LeaderView { configurations, synced: ServerSet::first(4) });
    leader
}

fn asks(leader: &Leader, asked: Reconfiguration) -> TxnBody {
    leader.outcome(ALICE, Owner::Leader, Request::Reconfig(asked))
}

fn grow() -> Reconfiguration {
    Reconfiguration::incremental([FOUR], [])
}

#[test]
fn it_is_a_transaction_with_its_own_zxid_as_the_version() {
    let mut leader = leader();
    let body = leader.request(ALICE, Owner::Leader, Request::Reconfig(grow()));
    let TxnBody::Reconfig(next) = body else { panic!("{body:?}") };
    assert_eq!(next.version(), leader.prep.last_zxid());
    assert_eq!(next.voters(), ServerSet::first(4));
    let (path, record) = leader.prep.outstanding.find(&leader.tree, CONFIG).expect("it changes");
    assert_eq!((path.as_str(), record.version), (CONFIG, -1));
    leader.commit();
    let node = leader.tree.node(CONFIG).expect("it is there");
    assert_eq!(&*node.data, next.to_string().as_bytes());
    assert_eq!((node.version, node.mzxid), (-1, next.version()));
}

/// Each mistake is made together with all that are checked after it.
#[test]
fn the_first_failing_check_decides() {
    let mut leader = leader();
    let mistaken = Reconfiguration { version: Some(Zxid(77)), joining: Some("x".into()), ..grow() };
    leader.config.options.skip_acl = false;
    let view = leader.view.take().expect("it has one");
    let refused = |leader: &Leader, asked: &Reconfiguration, error| {
        assert_eq!(asks(leader, asked.clone()), TxnBody::Error(error));
    };
    leader.config.options.reconfig_enabled = false;
    refused(&leader, &mistaken, Error::ReconfigDisabled);
    leader.config.options.reconfig_enabled = true;
    let elsewhere = leader.outcome(NOBODY, Owner::Leader, Request::Reconfig(mistaken.clone()));
    assert_eq!(elsewhere, TxnBody::Error(Error::SessionExpired));
    refused(&leader, &mistaken, Error::Unimplemented);
    let last_seen = view.configurations.quorum.with_version(Zxid(9));
    let pending = Configurations { last_seen, ..view.configurations };
    let synced = ServerSet::default();
    leader.view = Some(LeaderView { configurations: pending, synced });
    refused(&leader, &mistaken, Error::ReconfigInProgress);
    leader.view = Some(LeaderView { synced, ..view });
    refused(&leader, &mistaken, Error::BadVersion);
    let version = Some(view.configurations.quorum.version());
    refused(&leader, &Reconfiguration { version, ..mistaken }, Error::BadArguments);
    refused(&leader, &Reconfiguration::incremental([], [2, 3]), Error::BadArguments);
    refused(&leader, &grow(), Error::NewConfigNoQuorum);
    leader.view = Some(view);
    refused(&leader, &grow(), Error::NoAuth);
    leader.config.options.skip_acl = true;
    assert!(asks(&leader, grow()).reconfigures());
}

#[test]
fn a_single_voter_is_accepted_where_standalone_servers_are_disabled() {
    let mut leader = leader();
    let asked = Reconfiguration::incremental([], [2, 3]);
    assert_eq!(asks(&leader, asked.clone()), TxnBody::Error(Error::BadArguments));
    leader.config.options.standalone_enabled = false;
    assert!(asks(&leader, asked).reconfigures());
    let none = Reconfiguration::incremental([], [1, 2, 3]);
    assert_eq!(asks(&leader, none), TxnBody::Error(Error::BadArguments));
}
