//! Packets and notifications.

use super::{CONNECTION, SESSION, create, lines, stat};
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::acl::AclList;
use vivarium_model::error::Error;
use vivarium_model::id::{LearnerConnection, ServerId, Xid};
use vivarium_model::network::Delivered;
use vivarium_model::op::{Data, EventType, Op, OpResult, Request, Response, Version, WatchedEvent};
use vivarium_model::packet::{
    ClientPacket, LeaderPacket, LearnerPacket, Notification, PeerState, ServerPacket,
    ServerRequest, Vote,
};
use vivarium_model::path::ZnodePath;
use vivarium_model::quorum::Attached;
use vivarium_model::tree::{EphemeralType, Znode};
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::{Epoch, Zxid};

const TIMEOUT: Duration = Duration::from_secs(4);

fn zxid(counter: u32) -> Zxid {
    Zxid::new(Epoch(1), counter)
}

fn znode() -> Znode {
    Znode {
        data: Data::from([]),
        czxid: zxid(1),
        mzxid: zxid(1),
        pzxid: zxid(1),
        ctime: 0,
        mtime: 0,
        version: 0,
        cversion: 0,
        aversion: 0,
        ephemeral_type: EphemeralType::Void,
        acl: AclList::OPEN,
    }
}

#[test]
fn the_client_protocol() {
    let connect = |session| ClientPacket::Connect {
        last_zxid_seen: zxid(5),
        timeout: TIMEOUT,
        session,
        read_only: false,
    };
    let packets = [
        connect(None),
        connect(Some(SESSION)),
        ClientPacket::Request { xid: Xid(7), request: create() },
        ClientPacket::Ping,
        ClientPacket::Auth { scheme: "digest".into(), auth: Data::from(*b"user:secret") },
        ClientPacket::SetWatches {
            persistent: vec!["/p".into()],
            recursive: vec!["/r".into()],
            relative_zxid: zxid(5),
            data: vec!["/a".into(), "/b".into()],
            exist: Vec::new(),
            child: (0..40).map(|at| format!("/member-{at:010}").into()).collect(),
        },
    ];
    insta::assert_snapshot!(lines(packets));
    let reply = |result| ServerPacket::Reply { xid: Xid(7), zxid: zxid(9), result };
    let packets = [
        ServerPacket::Connected { session: SESSION, timeout: TIMEOUT, read_only: false },
        ServerPacket::Connected { session: SESSION, timeout: TIMEOUT, read_only: true },
        ServerPacket::Authenticated { result: Ok(()) },
        ServerPacket::Authenticated { result: Err(Error::AuthFailed) },
        ServerPacket::Expired,
        reply(Ok(Response::Written(OpResult::Created("/a-0000000003".into(), stat())))),
        reply(Err(Error::NoNode)),
        ServerPacket::Notification(WatchedEvent {
            kind: EventType::NodeDeleted,
            path: "/a".into(),
            zxid: zxid(9),
        }),
        ServerPacket::Pong,
        ServerPacket::WatchesSet { zxid: zxid(9) },
    ];
    insta::assert_snapshot!(lines(packets));
}

#[test]
fn the_quorum_protocol() {
    let auth: Arc<[_]> = Arc::from([]);
    let request = |request| LearnerPacket::Request {
        session: SESSION,
        xid: Xid(7),
        request,
        auth: Arc::clone(&auth),
    };
    let set = Op::SetData { path: "/a".into(), data: Data::from([]), version: Version::Is(3) };
    let packets = [
        LearnerPacket::FollowerInfo { accepted_epoch: Epoch(0), config_version: Attached(None) },
        LearnerPacket::AckEpoch { current_epoch: Some(Epoch(1)), last_zxid: zxid(4) },
        LearnerPacket::AckEpoch { current_epoch: None, last_zxid: zxid(4) },
        LearnerPacket::Ack(zxid(5)),
        LearnerPacket::Ping { touched: Vec::new() },
        LearnerPacket::Ping { touched: vec![SESSION] },
        request(ServerRequest::Client(Arc::new(Request::Write(set)))),
        request(ServerRequest::CreateSession { timeout: TIMEOUT }),
        LearnerPacket::Revalidate { session: SESSION, connection: CONNECTION },
        LearnerPacket::Relayed {
            observer: LearnerConnection { learner: ServerId(4), slot: 0 },
            packet: Box::new(LearnerPacket::Revalidate {
                session: SESSION,
                connection: CONNECTION,
            }),
        },
    ];
    insta::assert_snapshot!(lines(packets));
    let path = || ZnodePath::new("/a").expect("a valid path");
    let body = TxnBody::Delete { path: path() };
    let revalidated =
        |timeout| LeaderPacket::Revalidated { session: SESSION, connection: CONNECTION, timeout };
    let packets = [
        LeaderPacket::LeaderInfo { epoch: Epoch(2) },
        LeaderPacket::Diff(zxid(5)),
        LeaderPacket::Trunc(zxid(5)),
        LeaderPacket::Snap(zxid(5)),
        LeaderPacket::SnapSessions(vec![(SESSION, TIMEOUT)]),
        LeaderPacket::SnapNodes(vec![(path(), Arc::new(znode()))]),
        LeaderPacket::SnapEnd,
        LeaderPacket::Proposal(Arc::new(Txn {
            zxid: zxid(5),
            session: SESSION,
            cxid: Xid(7),
            time: 0,
            body,
        })),
        LeaderPacket::Commit(zxid(5)),
        LeaderPacket::NewLeader(Epoch(2), Attached(None)),
        LeaderPacket::UpToDate(Attached(None)),
        LeaderPacket::Ping,
        revalidated(Some(TIMEOUT)),
        revalidated(None),
        LeaderPacket::Synced { session: SESSION, xid: Xid(7) },
    ];
    insta::assert_snapshot!(lines(packets));
}

#[test]
fn elections_and_ends() {
    let vote = Vote { peer_epoch: Epoch(1), zxid: zxid(4), leader: ServerId(3) };
    let states = [PeerState::Looking, PeerState::Following, PeerState::Leading];
    let told =
        states.map(|state| Notification { vote, round: 2, state, configuration: Attached(None) });
    insta::assert_snapshot!(lines(told));
    let ends = [
        Delivered::Packet(LeaderPacket::UpToDate(Attached(None))),
        Delivered::End { accepted: true },
        Delivered::End { accepted: false },
    ];
    insta::assert_snapshot!(lines(ends));
}
