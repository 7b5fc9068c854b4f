//! Every event and every observation has a sentence that a ZooKeeper user understands.

use super::{CONNECTION, SESSION, create, stat};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::event::{AtMaster, EpochFile, Event, SyncMode};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::{CallId, ClientId, LearnerConnection, ServerId, Xid};
use vivarium_model::observation::{Custom, Observed};
use vivarium_model::op::{
    Data, EventType, OpResult, Request, Response, SessionState, WatchedEvent,
};
use vivarium_model::path::ZnodePath;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::{Epoch, Zxid};

const SERVER: ServerId = ServerId(2);
const CLIENT: ClientId = ClientId(1);
const DIGEST: Fingerprint = Fingerprint(0);

fn zxid(counter: u32) -> Zxid {
    Zxid::new(Epoch(3), counter)
}

fn sentences(events: &[Event]) -> String {
    events.iter().map(Event::to_string).collect::<Vec<_>>().join("\n")
}

fn txn() -> Arc<Txn> {
    let path = ZnodePath::new("/locks/one").expect("a valid path");
    let body = TxnBody::Delete { path };
    Arc::new(Txn { zxid: zxid(7), session: SESSION, cxid: Xid(4), time: 0, body })
}

fn replied(request: Request, result: Result<Response, Error>) -> Event {
    Event::Replied {
        client: CLIENT,
        session: SESSION,
        connection: CONNECTION,
        xid: Xid(5),
        zxid: zxid(8),
        request: Arc::new(request),
        result,
    }
}

#[test]
fn the_ensemble() {
    let learner = LearnerConnection { learner: ServerId(1), slot: 0 };
    let at_master = |what| Event::AtMaster { master: SERVER, observer: learner, what };
    let events = [
        Event::Elected { server: SERVER, leader: SERVER, round: 4 },
        Event::Elected { server: ServerId(1), leader: SERVER, round: 4 },
        Event::LeftRole { server: SERVER, reason: "no quorum of synchronised followers" },
        Event::Followed { leader: SERVER, learner: ServerId(1), epoch: Epoch(3) },
        Event::Established { leader: SERVER, epoch: Epoch(3), last_zxid: zxid(0) },
        Event::Synchronising { leader: SERVER, learner, mode: SyncMode::Trunc },
        Event::AcksStalled { leader: SERVER, learner },
        at_master(AtMaster::Synchronises),
        at_master(AtMaster::SendsCached),
        at_master(AtMaster::TooFarBehind),
        at_master(AtMaster::EndsMeanwhile),
        at_master(AtMaster::Outlives),
        Event::Proposed { leader: SERVER, txn: txn() },
        Event::Committed { leader: SERVER, txn: txn() },
        Event::Applied { server: ServerId(1), txn: txn(), digest: DIGEST },
        Event::Serving { server: ServerId(1), zxid: zxid(7), digest: DIGEST },
        Event::Acked { server: ServerId(1), zxid: zxid(7), durable: zxid(7) },
        Event::AckedNewLeader {
            server: ServerId(1),
            epoch: Epoch(3),
            history: zxid(0),
            durable: zxid(0),
            current_epoch: Epoch(3),
        },
        Event::SnapshotTruncated {
            server: SERVER,
            label: zxid(7),
            before: zxid(9),
            after: zxid(2),
        },
        Event::EpochUndone {
            server: SERVER,
            file: EpochFile::AcceptedEpoch,
            written: Epoch(3),
            found: Epoch(2),
        },
        Event::Crashed { server: SERVER, lost: 0 },
        Event::Crashed { server: SERVER, lost: 1 },
        Event::Crashed { server: SERVER, lost: 2 },
        Event::Restarted { server: SERVER },
        Event::Exited { server: SERVER, reason: "a log newer than currentEpoch" },
    ];
    insta::assert_snapshot!(sentences(&events));
}

#[test]
fn clients() {
    let session =
        |session, server, state| Event::Session { client: CLIENT, session, server, state };
    let events = [
        Event::Sent {
            client: CLIENT,
            session: SESSION,
            connection: CONNECTION,
            xid: Xid(5),
            request: create(),
        },
        Event::Lost { client: CLIENT, session: SESSION, xid: Xid(5), request: create() },
        session(Some(SESSION), Some(SERVER), SessionState::SyncConnected),
        session(Some(SESSION), None, SessionState::SyncConnected),
        session(Some(SESSION), None, SessionState::Disconnected),
        session(None, None, SessionState::Disconnected),
        session(Some(SESSION), None, SessionState::Expired),
        session(Some(SESSION), None, SessionState::Closed),
        Event::Rearming {
            persistent: Vec::new(),
            recursive: vec!["/r".into()],
            client: CLIENT,
            session: SESSION,
            relative_zxid: zxid(6),
            data: vec!["/locks/one".into()],
            exist: Vec::new(),
            child: vec!["/locks".into()],
        },
        Event::Rearmed { client: CLIENT, session: SESSION, zxid: zxid(9) },
        Event::Notified {
            client: CLIENT,
            session: SESSION,
            event: WatchedEvent {
                kind: EventType::NodeDeleted,
                path: "/locks/one/x-0000000001".into(),
                zxid: zxid(7),
            },
        },
    ];
    insta::assert_snapshot!(sentences(&events));
}

#[test]
fn replies() {
    let stat = stat();
    let path = || -> Arc<str> { Arc::from("/a") };
    let exists = || Request::Exists { path: path(), watch: true };
    let multi = || Request::Multi(Vec::new());
    let created = OpResult::Created("/a-0000000003".into(), stat);
    let failed = vec![
        OpResult::Failed(None),
        OpResult::Failed(Some(Error::BadVersion)),
        OpResult::Failed(Some(Error::RuntimeInconsistency)),
    ];
    let events = [
        replied((*create()).clone(), Ok(Response::Written(created.clone()))),
        replied((*create()).clone(), Err(Error::NodeExists)),
        replied(exists(), Ok(Response::Exists(stat))),
        replied(exists(), Err(Error::NoNode)),
        replied(
            Request::GetData { path: path(), watch: false },
            Ok(Response::Data(Data::from(&b"x"[..]), stat)),
        ),
        replied(
            Request::GetChildren { path: path(), watch: false },
            Ok(Response::Children(vec!["b".into(), "c".into()], stat)),
        ),
        replied(
            multi(),
            Ok(Response::Multi(vec![
                created,
                OpResult::Deleted,
                OpResult::Set(stat),
                OpResult::Checked,
            ])),
        ),
        replied(multi(), Ok(Response::Multi(failed))),
        replied(Request::Sync { path: path() }, Ok(Response::Synced)),
        replied(Request::CloseSession, Ok(Response::Closed)),
    ];
    insta::assert_snapshot!(sentences(&events));
}

#[test]
fn programs() {
    let said = |session| Event::Observed {
        client: CLIENT,
        session,
        next_xid: Xid(1),
        observation: Observed::new(Custom::new("ready", &[])),
    };
    let write = |token, accepted| Event::ResourceWrite {
        client: CLIENT,
        resource: "account".into(),
        token,
        accepted,
    };
    let events = [
        said(Some(SESSION)),
        said(None),
        Event::Started { client: CLIENT },
        Event::Finished { client: CLIENT, result: Ok(()) },
        Event::Finished { client: CLIENT, result: Err("the counter is 3, not 4".into()) },
        Event::Panicked { client: CLIENT, message: "index out of bounds".into() },
        Event::Killed { client: CLIENT },
        Event::Paused { client: CLIENT },
        Event::Resumed { client: CLIENT },
        Event::Cancelled { client: CLIENT, call: CallId(2) },
        write(Some(zxid(7)), true),
        write(Some(zxid(7)), false),
        write(None, true),
    ];
    insta::assert_snapshot!(sentences(&events));
}

#[test]
fn observations() {
    let fields = [("amount", 12.into()), ("to", "savings".into()), ("final", true.into())];
    let said = Observed::new(Custom::new("transfer", &fields));
    insta::assert_snapshot!(format!("client 1 {said}"));
}
