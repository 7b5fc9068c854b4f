//! The length of a transaction's record in a real server's log agrees with the model (rule 1.11.2). Skipped with a
//! message if ZooKeeper or Java is not installed.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use vivarium::conform::{Connection, Installation, Options, RealServer, Received};
use vivarium_model::acl::{Acl, AclList, Id, Permissions};
use vivarium_model::error::Error;
use vivarium_model::id::Xid;
use vivarium_model::op::{CreateMode, Op, Request, Version};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::path::ZnodePath;
use vivarium_model::tree::EphemeralType;
use vivarium_model::txn::TxnBody;
use vivarium_model::wire::txn::record_length;
use vivarium_model::wire::{Opcodes, Password};
use vivarium_model::zxid::Zxid;

const PATIENCE: Duration = Duration::from_secs(30);

/// Two entries, with ids of different lengths.
fn acl() -> AclList {
    AclList::new(vec![
        Acl::new(Permissions::ALL, Id::ANYONE),
        Acl::new(Permissions::READ, Id::new("digest", "ann:i9V/d2HTT0sehGWzvQcFNipywIQ=")),
    ])
}

fn create(path: &str, data: &str, mode: CreateMode, acl: AclList) -> Op {
    Op::Create { path: Arc::from(path), data: data.as_bytes().into(), mode, acl }
}

fn created(path: &str, data: &str, ephemeral_type: EphemeralType, acl: AclList) -> TxnBody {
    let (path, data) = (znode(path), data.as_bytes().into());
    TxnBody::Create { path, data, ephemeral_type, acl, parent_cversion: 1 }
}

fn znode(path: &str) -> ZnodePath {
    ZnodePath::new(path.to_owned()).expect("a path")
}

/// Returns requests, and the transactions that they become.
fn requests() -> Vec<(Request, TxnBody)> {
    let ttl = Duration::from_secs(1_000);
    let any = Version::Any;
    let open = || AclList::OPEN;
    let void = EphemeralType::Void;
    let set = Request::SetAcl { path: "/a".into(), acl: acl(), version: any };
    let set_data =
        |path: &str| Op::SetData { path: path.into(), data: (*b"longer").into(), version: any };
    let was_set = TxnBody::SetData { path: znode("/a"), data: (*b"longer").into(), version: 1 };
    vec![
        (
            Request::Write(create("/a", "data", CreateMode::Persistent, open())),
            created("/a", "data", void, open()),
        ),
        (
            Request::Write(create("/acl", "", CreateMode::PersistentSequential, acl())),
            created("/acl0123456789", "", void, acl()),
        ),
        (
            Request::Write(create("/container", "c", CreateMode::Container, open())),
            created("/container", "c", EphemeralType::Container, open()),
        ),
        (
            Request::Write(create("/ttl", "t", CreateMode::PersistentWithTtl(ttl), open())),
            created("/ttl", "t", EphemeralType::Ttl(ttl), open()),
        ),
        (
            Request::Write(create("/ephemeral", "", CreateMode::Ephemeral, open())),
            created("/ephemeral", "", void, open()),
        ),
        (Request::Write(set_data("/a")), was_set.clone()),
        (set, TxnBody::SetAcl { path: znode("/a"), acl: acl(), aversion: 1 }),
        (Request::Write(Op::delete("/none", any)), TxnBody::Error(Error::NoNode)),
        (Request::Write(Op::delete("/ttl", any)), TxnBody::Delete { path: znode("/ttl") }),
        (
            Request::Multi(vec![
                create("/m", "x", CreateMode::Persistent, acl()),
                Op::check("/a", any),
                set_data("/a"),
                Op::delete("/m", any),
            ]),
            TxnBody::Multi(vec![
                created("/m", "x", void, acl()),
                TxnBody::Check { path: znode("/a") },
                was_set,
                TxnBody::Delete { path: znode("/m") },
            ]),
        ),
        (
            Request::Multi(vec![set_data("/none"), set_data("/a")]),
            TxnBody::FailedMulti(vec![Some(Error::NoNode), Some(Error::RuntimeInconsistency)]),
        ),
        (
            Request::Write(create("/another", "", CreateMode::Ephemeral, open())),
            created("/another", "", void, open()),
        ),
        (
            Request::CloseSession,
            TxnBody::CloseSession { ephemerals: vec![znode("/ephemeral"), znode("/another")] },
        ),
    ]
}

/// Returns the lengths of the records in a log, in order. A file has a header of 16 bytes; each record is preceded by
/// a checksum of 8 bytes and its length, and followed by one byte; zeros are preallocated space.
fn lengths(data: &Path) -> Vec<usize> {
    let files = fs::read_dir(data.join("version-2")).expect("the files of a server");
    let mut logs = files.map(|file| file.expect("a file").path()).filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log."))
    });
    let log = fs::read(logs.next().expect("a log")).expect("its bytes");
    assert!(logs.next().is_none(), "a server that has logged little has one log");
    let mut rest = &log[16..];
    let mut lengths = Vec::new();
    while let Some(frame) = rest.get(..12) {
        let length = u32::from_be_bytes(frame[8..].try_into().expect("four bytes")) as usize;
        if length == 0 {
            break;
        }
        lengths.push(length);
        rest = &rest[12 + length + 1..];
    }
    lengths
}

#[test]
fn records_are_as_long_as_the_model_says() {
    let installation = match Installation::find() {
        Ok(installation) => installation,
        Err(error) => return println!("skipped: {error}"),
    };
    let options = Options {
        java_arguments: vec!["-Dzookeeper.extendedTypesEnabled=true".to_owned()],
        ..Options::default()
    };
    let server = RealServer::start_with(&installation, &options).expect("a server");
    let connect = ClientPacket::Connect {
        last_zxid_seen: Zxid::ZERO,
        timeout: PATIENCE,
        session: None,
        read_only: false,
    };
    let (mut connection, _) =
        Connection::connect(server.address(), &connect, &Password::default(), PATIENCE)
            .expect("a handshake");
    let mut expected = vec![record_length(&TxnBody::CreateSession { timeout: PATIENCE })];
    for (at, (request, body)) in (1..).zip(requests()) {
        let packet = ClientPacket::Request { xid: Xid(at), request: Arc::new(request) };
        connection.send(&packet, Opcodes::Newest).expect("a connection");
        let received = connection.receive(PATIENCE).expect("a packet");
        assert!(
            matches!(received, Received::Packet(ServerPacket::Reply { .. })),
            "{received:?} is no reply"
        );
        expected.push(record_length(&body));
    }
    assert_eq!(lengths(&server.data()), expected);
}
