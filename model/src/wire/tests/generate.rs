//! Generators of packets of every kind that the wire format can represent.

use crate::vocabulary::acl::{Acl, AclList, Id, Permissions};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::op::{
    AddWatchMode, ClientInfo, CreateMode, Data, EventType, Op, OpResult, ReadOp, ReadResult,
    Request, Response, Version, WatchedEvent, WatcherType,
};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::reconfiguration::Reconfiguration;
use crate::vocabulary::stat::Stat;
use crate::vocabulary::time::Duration;
use crate::vocabulary::zxid::Zxid;
use crate::wire::Opcodes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;

fn few<T: std::fmt::Debug>(one: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    vec(one, 0..4)
}

fn path() -> impl Strategy<Value = Arc<str>> {
    ".{0,6}".prop_map(Arc::from)
}

/// Names in lexical order, as in responses.
fn names() -> impl Strategy<Value = Vec<Arc<str>>> {
    few(path()).prop_map(|mut names| {
        names.sort();
        names
    })
}

fn data() -> impl Strategy<Value = Data> {
    few(any::<u8>()).prop_map(Data::from)
}

fn zxid() -> impl Strategy<Value = Zxid> {
    any::<u64>().prop_map(Zxid)
}

fn span() -> impl Strategy<Value = Duration> {
    (0..=i32::MAX as u64).prop_map(Duration::from_millis)
}

/// `Is(-1)` is left out, because the wire format cannot distinguish it from `Any`.
fn version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::Any), (0..i32::MAX).prop_map(Version::Is)]
}

fn mode() -> impl Strategy<Value = CreateMode> {
    let ttl = || (0..1_u64 << 41).prop_map(Duration::from_millis);
    prop_oneof![
        Just(CreateMode::Persistent),
        Just(CreateMode::Ephemeral),
        Just(CreateMode::PersistentSequential),
        Just(CreateMode::EphemeralSequential),
        Just(CreateMode::Container),
        ttl().prop_map(CreateMode::PersistentWithTtl),
        ttl().prop_map(CreateMode::PersistentSequentialWithTtl),
    ]
}

fn acl() -> impl Strategy<Value = AclList> {
    let entry = (any::<i32>(), ".{0,4}", ".{0,4}").prop_map(|(permissions, scheme, id)| {
        Acl::new(Permissions(permissions), Id::new(scheme, id))
    });
    prop_oneof![Just(AclList::OPEN), few(entry).prop_map(AclList::new)]
}

fn stat() -> impl Strategy<Value = Stat> {
    let zxids = (zxid(), zxid(), zxid());
    let versions = (any::<i32>(), any::<i32>(), any::<i32>());
    let owner = option::of((1..=u64::MAX).prop_map(SessionId));
    let rest = (any::<u64>(), any::<u64>(), any::<u32>(), any::<u32>());
    (zxids, versions, owner, rest).prop_map(|(zxids, versions, ephemeral_owner, rest)| Stat {
        czxid: zxids.0,
        mzxid: zxids.1,
        pzxid: zxids.2,
        ctime: rest.0,
        mtime: rest.1,
        version: versions.0,
        cversion: versions.1,
        aversion: versions.2,
        ephemeral_owner,
        data_length: rest.2,
        num_children: rest.3,
    })
}

fn error() -> impl Strategy<Value = Error> {
    select(Error::CODES.map(|(error, _)| error).to_vec())
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (path(), data(), mode(), acl()).prop_map(|(path, data, mode, acl)| Op::Create {
            path,
            data,
            mode,
            acl
        }),
        (path(), version()).prop_map(|(path, version)| Op::Delete { path, version }),
        (path(), data(), version()).prop_map(|(path, data, version)| Op::SetData {
            path,
            data,
            version
        }),
        (path(), version()).prop_map(|(path, version)| Op::Check { path, version }),
    ]
}

fn read() -> impl Strategy<Value = ReadOp> {
    prop_oneof![
        path().prop_map(|path| ReadOp::GetData { path }),
        path().prop_map(|path| ReadOp::GetChildren { path }),
    ]
}

/// Every kind of request.
pub(super) fn request() -> impl Strategy<Value = Request> {
    let watch = || (path(), any::<bool>());
    let add = select(vec![AddWatchMode::Persistent, AddWatchMode::PersistentRecursive]);
    let kind = || {
        select(vec![
            WatcherType::Children,
            WatcherType::Data,
            WatcherType::Any,
            WatcherType::Persistent,
            WatcherType::PersistentRecursive,
        ])
    };
    prop_oneof![
        op().prop_map(Request::Write),
        few(op()).prop_map(Request::Multi),
        watch().prop_map(|(path, watch)| Request::Exists { path, watch }),
        watch().prop_map(|(path, watch)| Request::GetData { path, watch }),
        watch().prop_map(|(path, watch)| Request::GetChildren { path, watch }),
        path().prop_map(|path| Request::GetAcl { path }),
        (path(), acl(), version()).prop_map(|(path, acl, version)| Request::SetAcl {
            path,
            acl,
            version
        }),
        few(read()).prop_map(Request::MultiRead),
        path().prop_map(|path| Request::GetAllChildrenNumber { path }),
        path().prop_map(|prefix| Request::GetEphemerals { prefix }),
        Just(Request::WhoAmI),
        (path(), add).prop_map(|(path, mode)| Request::AddWatch { path, mode }),
        (path(), kind()).prop_map(|(path, kind)| Request::RemoveWatches { path, kind }),
        (path(), kind()).prop_map(|(path, kind)| Request::CheckWatches { path, kind }),
        path().prop_map(|path| Request::DeleteContainer { path }),
        path().prop_map(|path| Request::Sync { path }),
        Just(Request::CloseSession),
        reconfiguration().prop_map(Request::Reconfig),
    ]
}

fn reconfiguration() -> impl Strategy<Value = Reconfiguration> {
    let text = || option::of(path());
    let version = option::of((0..u64::MAX).prop_map(Zxid));
    (text(), text(), text(), version).prop_map(|(joining, leaving, members, version)| {
        Reconfiguration { joining, leaving, members, version }
    })
}

fn xid() -> impl Strategy<Value = Xid> {
    (0..=i32::MAX as u32).prop_map(Xid)
}

/// Every packet of a client except the first.
pub(super) fn client_packet() -> impl Strategy<Value = ClientPacket> {
    let paths = || few(path());
    let watches = (zxid(), paths(), paths(), paths(), paths(), paths()).prop_map(
        |(relative_zxid, data, exist, child, persistent, recursive)| ClientPacket::SetWatches {
            relative_zxid,
            data,
            exist,
            child,
            persistent,
            recursive,
        },
    );
    prop_oneof![
        8 => (xid(), request().prop_map(Arc::new))
            .prop_map(|(xid, request)| ClientPacket::Request { xid, request }),
        1 => (path(), data()).prop_map(|(scheme, auth)| ClientPacket::Auth { scheme, auth }),
        1 => Just(ClientPacket::Ping),
        1 => watches,
    ]
}

/// The first packet of a client.
pub(super) fn connect() -> impl Strategy<Value = ClientPacket> {
    let session = option::of((1..=u64::MAX).prop_map(SessionId));
    (zxid(), span(), session, any::<bool>()).prop_map(
        |(last_zxid_seen, timeout, session, read_only)| ClientPacket::Connect {
            last_zxid_seen,
            timeout,
            session,
            read_only,
        },
    )
}

/// The first packet of a server.
pub(super) fn connected() -> impl Strategy<Value = ServerPacket> {
    let timeout = (1..=i32::MAX as u64).prop_map(Duration::from_millis);
    let session = (1..=u64::MAX).prop_map(SessionId);
    prop_oneof![
        (session, timeout, any::<bool>()).prop_map(|(session, timeout, read_only)| {
            ServerPacket::Connected { session, timeout, read_only }
        }),
        Just(ServerPacket::Expired),
    ]
}

/// Every packet of a server that answers no request.
pub(super) fn unasked() -> impl Strategy<Value = ServerPacket> {
    let kind = select(vec![
        EventType::NodeCreated,
        EventType::NodeDeleted,
        EventType::NodeDataChanged,
        EventType::NodeChildrenChanged,
        EventType::DataWatchRemoved,
        EventType::ChildWatchRemoved,
        EventType::PersistentWatchRemoved,
    ]);
    let result = prop_oneof![Just(Ok(())), error().prop_map(Err)];
    prop_oneof![
        (kind, path(), zxid()).prop_map(|(kind, path, zxid)| {
            ServerPacket::Notification(WatchedEvent { kind, path, zxid })
        }),
        Just(ServerPacket::Pong),
        result.prop_map(|result| ServerPacket::Authenticated { result }),
        zxid().prop_map(|zxid| ServerPacket::WatchesSet { zxid }),
    ]
}

/// A request, its opcodes, and a reply that answers it.
pub(super) fn exchange() -> impl Strategy<Value = (Request, Opcodes, ServerPacket)> {
    let opcodes = select(vec![Opcodes::Newest, Opcodes::Plain]);
    (request(), opcodes).prop_flat_map(|(request, opcodes)| {
        let result = prop_oneof![
            4 => response(&request, opcodes).prop_map(Ok),
            1 => error().prop_map(Err),
        ];
        (xid(), zxid(), result).prop_map(move |(xid, zxid, result)| {
            (request.clone(), opcodes, ServerPacket::Reply { xid, zxid, result })
        })
    })
}

/// The Stat of a reply, which the older opcodes leave out.
fn told_stat(told: bool) -> BoxedStrategy<Stat> {
    if told { stat().boxed() } else { Just(Stat::default()).boxed() }
}

fn result(op: &Op, opcodes: Opcodes) -> BoxedStrategy<OpResult> {
    match op {
        Op::Create { mode, .. } => {
            let newer = *mode == CreateMode::Container || mode.ttl().is_some();
            (path(), told_stat(newer || opcodes == Opcodes::Newest))
                .prop_map(|(path, stat)| OpResult::Created(path, stat))
                .boxed()
        }
        Op::Delete { .. } => Just(OpResult::Deleted).boxed(),
        Op::SetData { .. } => stat().prop_map(OpResult::Set).boxed(),
        Op::Check { .. } => Just(OpResult::Checked).boxed(),
    }
}

fn response(request: &Request, opcodes: Opcodes) -> BoxedStrategy<Response> {
    match request {
        Request::Write(op) => result(op, opcodes).prop_map(Response::Written).boxed(),
        Request::Multi(ops) => {
            let done: Vec<_> = ops.iter().map(|op| result(op, opcodes)).collect();
            let failed = vec(option::of(error()).prop_map(OpResult::Failed), ops.len());
            prop_oneof![done, failed].prop_map(Response::Multi).boxed()
        }
        Request::Exists { .. } => stat().prop_map(Response::Exists).boxed(),
        Request::GetData { .. } => {
            (data(), stat()).prop_map(|(data, stat)| Response::Data(data, stat)).boxed()
        }
        Request::GetChildren { .. } => (names(), told_stat(opcodes == Opcodes::Newest))
            .prop_map(|(names, stat)| Response::Children(names, stat))
            .boxed(),
        Request::GetAcl { .. } => {
            (acl(), stat()).prop_map(|(acl, stat)| Response::Acl(acl, stat)).boxed()
        }
        Request::SetAcl { .. } => stat().prop_map(Response::AclSet).boxed(),
        Request::MultiRead(reads) => {
            let results: Vec<_> = reads.iter().map(read_result).collect();
            results.prop_map(Response::MultiRead).boxed()
        }
        Request::GetAllChildrenNumber { .. } => {
            any::<u32>().prop_map(Response::AllChildrenNumber).boxed()
        }
        Request::GetEphemerals { .. } => names().prop_map(Response::Ephemerals).boxed(),
        Request::WhoAmI => {
            few((path(), path()).prop_map(|(scheme, user)| ClientInfo { scheme, user }))
                .prop_map(Response::WhoAmI)
                .boxed()
        }
        Request::AddWatch { .. } | Request::RemoveWatches { .. } | Request::CheckWatches { .. } => {
            Just(Response::Watches).boxed()
        }
        Request::DeleteContainer { .. } => Just(Response::ContainerDeleted).boxed(),
        Request::Sync { .. } => Just(Response::Synced).boxed(),
        Request::CloseSession => Just(Response::Closed).boxed(),
        Request::Reconfig(_) => {
            (data(), stat()).prop_map(|(data, stat)| Response::Reconfigured(data, stat)).boxed()
        }
    }
}

fn read_result(read: &ReadOp) -> BoxedStrategy<ReadResult> {
    let failed = error().prop_map(ReadResult::Failed);
    match read {
        ReadOp::GetData { .. } => prop_oneof![
            (data(), stat()).prop_map(|(data, stat)| ReadResult::Data(data, stat)),
            failed,
        ]
        .boxed(),
        ReadOp::GetChildren { .. } => {
            prop_oneof![names().prop_map(ReadResult::Children), failed].boxed()
        }
    }
}
