//! Behaviour that the monitor accepts, and behaviour that it objects to.

use super::*;
use crate::property::testing::{
    CLIENT, ONE, SESSION, Trial, exists, get_data, path, replied, sent, session, set_data_request,
    z,
};
use crate::vocabulary::acl::{Acl, AclList, Id, Permissions};
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{ClientInfo, CreateMode, Data, Op, Response, Version};
use crate::vocabulary::znode::EphemeralType;

/// The id in ACLs of the user who proves `ann:a`.
const ANN: &str = "ann:i9V/d2HTT0sehGWzvQcFNipywIQ=";

/// Returns a trial in which `/a` belongs to ann, any client may read `/b`, and [`SESSION`] is connected.
fn trial() -> Trial<AccessDecisions> {
    let mut trial = Trial::new(AccessDecisions::new());
    trial.monitor.begin(&Arc::new(Config::new(3, 2)));
    trial.commit(z(1, 1), 0, create("/a", anns()));
    trial.commit(z(1, 2), 0, create("/b", AclList::read_unsafe()));
    trial.accepts(session(SessionState::SyncConnected, Some(ONE)));
    trial
}

fn anns() -> AclList {
    let digest = crate::server::access::generate_digest("ann:a");
    AclList::new([Acl::new(Permissions::ALL, Id::new("digest", digest))])
}

fn create(name: &str, acl: AclList) -> TxnBody {
    let (path, data) = (path(name), Data::from([]));
    let ephemeral_type = EphemeralType::Void;
    TxnBody::Create { path, data, ephemeral_type, acl, parent_cversion: 1 }
}

fn create_with(name: &str, acl: AclList) -> Request {
    let (path, data) = (Arc::from(name), Data::from([]));
    Request::Write(Op::Create { path, data, mode: CreateMode::Persistent, acl })
}

fn proves(proof: &str) -> Event {
    Event::Authenticating {
        client: CLIENT,
        session: SESSION,
        scheme: Arc::from("digest"),
        auth: Data::from(proof.as_bytes()),
    }
}

fn set_data(name: &str) -> TxnBody {
    TxnBody::SetData { path: path(name), data: Data::from(*b"x"), version: 1 }
}

/// Returns the objection to a transaction that is committed for request 1.
fn at_commit(trial: &mut Trial<AccessDecisions>, request: Request, body: TxnBody) -> String {
    trial.accepts(sent(1, request));
    trial.objects(crate::property::testing::committed(crate::property::testing::txn(
        z(1, 3),
        1,
        body,
    )))
}

#[test]
fn a_write_that_the_acl_refuses() {
    assert_eq!(
        at_commit(&mut trial(), set_data_request("/a", "x"), set_data("/a")),
        format!(
            "H17 access is as ACLs grant it: 1:3 setData /a v1 by 0x10: its connection lacks w on \
             /a, whose ACL is {}.",
            anns()
        )
    );
    let delete = || TxnBody::Delete { path: path("/a/c") };
    let request = Request::Write(Op::delete("/a/c", Version::Any));
    let saw = at_commit(&mut trial(), request, delete());
    assert!(saw.contains("lacks d on /a,"), "{saw}");
    let created = create("/a/c", AclList::OPEN);
    let saw = at_commit(&mut trial(), create_with("/a/c", AclList::OPEN), created);
    assert!(saw.contains("lacks c on /a,"), "{saw}");
    let request =
        Request::SetAcl { path: Arc::from("/a"), acl: AclList::OPEN, version: Version::Any };
    let body = TxnBody::SetAcl { path: path("/a"), acl: AclList::OPEN, aversion: 1 };
    let saw = at_commit(&mut trial(), request, body);
    assert!(saw.contains("lacks a on /a,"), "{saw}");
}

#[test]
fn a_refusal_of_what_is_granted() {
    let refused = || TxnBody::Error(Error::NoAuth);
    let mut ann = trial();
    ann.accepts(proves("ann:a"));
    let saw = at_commit(&mut ann, set_data_request("/a", "x"), refused());
    assert!(saw.contains("though its connection has w on /a"), "{saw}");
    let saw = at_commit(&mut trial(), set_data_request("/c", "x"), refused());
    assert!(saw.contains("although /c does not exist"), "{saw}");
    // The client sent the proof after the request.
    let mut late = trial();
    late.accepts(sent(1, set_data_request("/a", "x")));
    late.accepts(proves("ann:a"));
    late.commit(z(1, 3), 1, refused());
}

#[test]
fn what_is_told_before_the_acl_is_asked() {
    for error in [Error::BadVersion, Error::NoNode] {
        let saw = at_commit(&mut trial(), set_data_request("/a", "x"), TxnBody::Error(error));
        assert!(saw.contains("in place of NoAuth"), "{saw}");
    }
    let mut trial = trial();
    trial.accepts(sent(1, set_data_request("/a", "x")));
    trial.commit(z(1, 3), 1, TxnBody::Error(Error::SessionExpired));
}

#[test]
fn the_acl_that_is_stored() {
    let mut ann = trial();
    ann.accepts(proves("ann:a"));
    let mut right = ann.clone();
    right.accepts(sent(1, create_with("/c", AclList::creator_all())));
    right.commit(z(1, 3), 1, create("/c", anns()));
    let wrong = create("/c", AclList::OPEN);
    let saw = at_commit(&mut ann, create_with("/c", AclList::creator_all()), wrong);
    assert!(saw.contains("is stored as [world:anyone:cdrwa]"), "{saw}");
    let saw = at_commit(
        &mut trial(),
        create_with("/c", AclList::creator_all()),
        create("/c", AclList::OPEN),
    );
    assert!(saw.contains("which a server must refuse with InvalidACL"), "{saw}");
    let invalid = TxnBody::Error(Error::InvalidAcl);
    let saw = at_commit(&mut trial(), create_with("/c", AclList::OPEN), invalid);
    assert!(saw.contains("though its ACL is valid"), "{saw}");
}

#[test]
fn each_operation_of_a_multi_sees_those_before_it() {
    let ops = || {
        let create = Op::Create {
            path: Arc::from("/c"),
            data: Data::from([]),
            mode: CreateMode::Persistent,
            acl: AclList::read_unsafe(),
        };
        vec![create, Op::set_data("/c", *b"x", Version::Any)]
    };
    let parts = vec![create("/c", AclList::read_unsafe()), set_data("/c")];
    let saw = at_commit(&mut trial(), Request::Multi(ops()), TxnBody::Multi(parts));
    assert!(saw.contains("lacks w on /c"), "{saw}");
    let mut trial = trial();
    trial.accepts(sent(1, Request::Multi(ops())));
    let mut other = trial.clone();
    trial.commit(z(1, 3), 1, TxnBody::FailedMulti(vec![None, Some(Error::NoAuth)]));
    let failed = TxnBody::FailedMulti(vec![None, Some(Error::BadVersion)]);
    let saw = at_commit(&mut other, Request::Multi(ops()), failed);
    assert!(saw.contains("in place of NoAuth"), "{saw}");
}

#[test]
fn a_read_that_the_acl_refuses() {
    let stat = |trial: &Trial<AccessDecisions>| trial.history.tree().stat("/a").expect("created");
    let ask =
        |trial: &mut Trial<AccessDecisions>, request: Request| trial.accepts(sent(1, request));
    let mut reader = trial();
    ask(&mut reader, exists("/a"));
    let told = Ok(Response::Exists(stat(&reader)));
    let saw = reader.clone_and_object(replied(1, z(1, 2), exists("/a"), told));
    assert!(saw.contains("though its connection may not read /a"), "{saw}");
    reader.accepts(replied(1, z(1, 2), exists("/a"), Err(Error::NoAuth)));
    let mut ann = trial();
    ann.accepts(proves("ann:a"));
    ask(&mut ann, get_data("/a"));
    let saw = ann.clone_and_object(replied(1, z(1, 2), get_data("/a"), Err(Error::NoAuth)));
    assert!(saw.contains("though its connection may read /a"), "{saw}");
    // An older tree does not have the znode, so no ACL can refuse the read.
    let saw = ann.objects(replied(1, z(1, 0), get_data("/a"), Err(Error::NoAuth)));
    assert!(saw.contains("although /a does not exist"), "{saw}");
}

#[test]
fn hashes_are_for_those_who_may_set_the_acl() {
    let mut trial = trial();
    let digest = Acl::new(Permissions::ALL, Id::new("digest", ANN));
    let acl = AclList::new([digest, Acl::new(Permissions::READ, Id::ANYONE)]);
    trial.commit(z(1, 3), 0, create("/c", acl.clone()));
    let request = || Request::GetAcl { path: Arc::from("/c") };
    let stat = trial.history.tree().stat("/c").expect("created");
    trial.accepts(sent(1, request()));
    let told = Ok(Response::Acl(acl, stat));
    let saw = trial.objects(replied(1, z(1, 3), request(), told));
    assert!(saw.contains("getACL returned"), "{saw}");
}

#[test]
fn identities_are_added() {
    let info =
        |scheme: &str, user: &str| ClientInfo { scheme: Arc::from(scheme), user: Arc::from(user) };
    let mut trial = trial();
    trial.accepts(proves("ann:a"));
    trial.accepts(proves("bob:b"));
    trial.accepts(sent(1, Request::WhoAmI));
    let told = |users: &[(&str, &str)]| {
        let told = users.iter().map(|(scheme, user)| info(scheme, user)).collect();
        replied(1, z(1, 2), Request::WhoAmI, Ok(Response::WhoAmI(told)))
    };
    let saw = trial.clone_and_object(told(&[("ip", "127.0.0.1"), ("digest", "bob")]));
    assert!(saw.contains("instead of"), "{saw}");
    trial.accepts(told(&[("digest", "bob"), ("ip", "127.0.0.1"), ("digest", "ann")]));
}

#[test]
fn a_new_connection_has_proven_nothing() {
    let mut trial = trial();
    trial.accepts(proves("ann:a"));
    trial.accepts(session(SessionState::Disconnected, None));
    trial.accepts(session(SessionState::SyncConnected, Some(ONE)));
    let saw = at_commit(&mut trial, set_data_request("/a", "x"), set_data("/a"));
    assert!(saw.contains("lacks w on /a"), "{saw}");
}

#[test]
fn an_event_of_what_may_not_be_read() {
    let event = |path: &str, zxid| Event::Notified {
        client: CLIENT,
        session: SESSION,
        event: WatchedEvent { kind: EventType::NodeDataChanged, path: Arc::from(path), zxid },
    };
    let mut trial = trial();
    trial.commit(z(1, 3), 0, set_data("/a"));
    let saw = trial.clone_and_object(event("/a", z(1, 3)));
    assert!(saw.contains("which it may not read"), "{saw}");
    trial.accepts(event("/b", z(1, 3)));
    // Events that answer SetWatches are subject to no ACL.
    let mut back = trial.clone();
    back.accepts(Event::Rearming {
        client: CLIENT,
        session: SESSION,
        relative_zxid: z(1, 2),
        data: Vec::new(),
        exist: Vec::new(),
        child: Vec::new(),
        persistent: Vec::new(),
        recursive: Vec::new(),
    });
    back.accepts(event("/a", z(1, 3)));
    back.accepts(Event::Rearmed { client: CLIENT, session: SESSION, zxid: z(1, 3) });
    back.objects(event("/a", z(1, 3)));
    trial.accepts(proves("ann:a"));
    trial.accepts(event("/a", z(1, 3)));
}
