//! The distribution of drawn actions. Excluded are requests that a real 3.8.0 does not survive or cannot process: a
//! `check` outside of a multi that passes (it gets no reply, and the server cannot read its log any more;
//! ZOOKEEPER-2623), a deleteContainer from a client (the server cannot parse it), and invalid quotas (a server crashes
//! on them). Paths, versions and identities are few, so that requests collide often.

use super::action::{Action, Part, SEATS, Seat, Watched};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;
use vivarium_model::acl::{Acl, AclList, Id, Permissions};
use vivarium_model::op::{
    AddWatchMode, CreateMode, Data, Op, ReadOp, Request, Version, WatcherType,
};
use vivarium_model::path::CONFIG;
use vivarium_model::reconfiguration::Reconfiguration;
use vivarium_model::server::access::generate_digest;
use vivarium_model::time::Duration;
use vivarium_model::wire::Opcodes;
use vivarium_model::zxid::Zxid;

/// The number of actions in a case.
pub(super) const CASE: usize = 80;

/// The super user's `user:password`.
pub(super) const SUPER: &str = "super:secret";

/// Draws an action of a case.
pub(super) fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        600 => asking(),
        24 => proving(),
        20 => (seat(), watched()).prop_map(|(seat, watched)| Action::Return { seat, watched }),
        8 => seat().prop_map(|seat| Action::Take { seat }),
    ]
}

/// Draws an action of a case in which sessions move between servers.
pub(super) fn moving(servers: u8) -> impl Strategy<Value = Action> {
    prop_oneof![
        10 => action(),
        1 => (seat(), 0..servers).prop_map(|(seat, server)| Action::Move { seat, server }),
    ]
}

/// Draws a change of the ensemble's members.
pub(super) fn reconfiguration(servers: u8) -> impl Strategy<Value = Action> {
    let part = select(&[Part::Participant, Part::Observer, Part::None][..]);
    (0..servers, part).prop_map(|(server, part)| Action::Reconfigure { server, part })
}

/// Draws groups and weights of the servers, or a majority.
pub(super) fn regrouping(servers: u8) -> impl Strategy<Value = Action> {
    let places = vec((1..=3_u8, 0..=2_u8), usize::from(servers));
    prop_oneof![3 => places, 1 => Just(Vec::new())].prop_map(|places| Action::Regroup { places })
}

/// Draws a read of the configuration.
pub(super) fn get_config() -> impl Strategy<Value = Action> {
    seat().prop_map(|seat| {
        let request = Request::GetData { path: Arc::from(CONFIG), watch: false };
        Action::Ask { seat, request, opcodes: Opcodes::Newest }
    })
}

/// Draws the kill of a server.
pub(super) fn kill() -> impl Strategy<Value = Action> {
    any::<bool>().prop_map(|leader| Action::Kill { leader })
}

/// Draws an expiry. It is rare because it takes a second of real time.
pub(super) fn expiry() -> impl Strategy<Value = Action> {
    path().prop_map(|path| Action::Expire { path })
}

fn seat() -> impl Strategy<Value = Seat> {
    (0..SEATS).prop_map(Seat)
}

fn asking() -> impl Strategy<Value = Action> {
    let opcodes = prop_oneof![3 => Just(Opcodes::Newest), 1 => Just(Opcodes::Plain)];
    (seat(), request(), opcodes).prop_map(|(seat, request, opcodes)| {
        // Only requests with two opcodes have a choice.
        let has_two = match &request {
            Request::GetChildren { .. } | Request::Multi(_) => true,
            Request::Write(Op::Create { mode, .. }) => {
                mode.ttl().is_none() && *mode != CreateMode::Container
            }
            _ => false,
        };
        let opcodes = if has_two { opcodes } else { Opcodes::Newest };
        Action::Ask { seat, request, opcodes }
    })
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        120 => create().prop_map(Request::Write),
        40 => delete().prop_map(Request::Write),
        50 => set_data().prop_map(Request::Write),
        1 => (path(), big_data()).prop_map(|(path, data)| {
            Request::Write(Op::SetData { path, data, version: Version::Any })
        }),
        40 => vec(op(), 0..5).prop_map(Request::Multi),
        40 => (path(), acl(), version())
            .prop_map(|(path, acl, version)| Request::SetAcl { path, acl, version }),
        40 => (any_path(), any::<bool>())
            .prop_map(|(path, watch)| Request::Exists { path, watch }),
        40 => (any_path(), any::<bool>())
            .prop_map(|(path, watch)| Request::GetData { path, watch }),
        40 => (any_path(), any::<bool>())
            .prop_map(|(path, watch)| Request::GetChildren { path, watch }),
        16 => any_path().prop_map(|path| Request::GetAcl { path }),
        12 => vec(read_op(), 0..4).prop_map(Request::MultiRead),
        10 => any_path().prop_map(|path| Request::GetAllChildrenNumber { path }),
        10 => prefix().prop_map(|prefix| Request::GetEphemerals { prefix }),
        6 => Just(Request::WhoAmI),
        6 => any_path().prop_map(|path| Request::Sync { path }),
        30 => (path(), select(&[AddWatchMode::Persistent, AddWatchMode::PersistentRecursive][..]))
            .prop_map(|(path, mode)| Request::AddWatch { path, mode }),
        20 => (path(), watcher_type())
            .prop_map(|(path, kind)| Request::RemoveWatches { path, kind }),
        20 => (path(), watcher_type())
            .prop_map(|(path, kind)| Request::CheckWatches { path, kind }),
        12 => Just(Request::CloseSession),
        4 => refused_reconfiguration().prop_map(Request::Reconfig),
    ]
}

/// Draws a change of members that names no server's address: most are refused, and none changes what a server does.
fn refused_reconfiguration() -> impl Strategy<Value = Reconfiguration> {
    let text = |words: &str| Some(Arc::from(words));
    let leaves_none = || Reconfiguration { leaving: text("60"), ..Reconfiguration::default() };
    let joins = |words| Reconfiguration { joining: text(words), ..Reconfiguration::default() };
    prop_oneof![
        Just(Reconfiguration::default()),
        Just(leaves_none()),
        Just(leaves_none().of_version(Zxid(7))),
        Just(Reconfiguration { leaving: text("x"), ..Reconfiguration::default() }),
        Just(joins("server.60=127.0.0.1:1:2")),
        Just(joins("server.60=none")),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => create(),
        2 => delete(),
        2 => set_data(),
        2 => (any_path(), version()).prop_map(|(path, version)| Op::Check { path, version }),
    ]
}

fn create() -> impl Strategy<Value = Op> {
    let acl = prop_oneof![7 => Just(AclList::OPEN), 3 => acl()];
    let path = prop_oneof![10 => any_path(), 4 => sequence_prefix(), 2 => quota_path()];
    (path, data(), mode(), acl)
        .prop_map(|(path, data, mode, acl)| quota(Op::Create { path, data, mode, acl }))
}

/// Replaces the data of quota znodes by a valid quota. A server that finds other data there answers every write below
/// with MarshallingError, or crashes when it applies one.
fn quota(op: Op) -> Op {
    let sane = |path: &str, data: &Data| {
        let count = data.first().map_or(3, |byte| byte % 8);
        let limits = match count % 4 {
            0 => format!("count={count},bytes=-1"),
            1 => format!("count=-1,bytes=-1=;countHardLimit={count}"),
            2 => format!("count=-1,bytes=-1=;byteHardLimit={count}"),
            _ => format!("count=1,bytes=1=;byteHardLimit={count};countHardLimit={count}"),
        };
        match path.ends_with("zookeeper_limits") {
            true => Data::from(limits.into_bytes()),
            false => Data::from(b"count=0,bytes=0".as_slice()),
        }
    };
    match op {
        Op::Create { path, data, .. } if path.starts_with("/zookeeper/quota/@") => {
            let data = sane(&path, &data);
            Op::Create { path, data, mode: CreateMode::Persistent, acl: AclList::OPEN }
        }
        Op::SetData { path, data, version } if path.starts_with("/zookeeper/quota/@") => {
            Op::SetData { data: sane(&path, &data), path, version }
        }
        op => op,
    }
}

fn delete() -> impl Strategy<Value = Op> {
    let path = prop_oneof![12 => any_path(), 3 => sequential(), 1 => quota_path()];
    (path, version()).prop_map(|(path, version)| Op::Delete { path, version })
}

fn set_data() -> impl Strategy<Value = Op> {
    let drawn = (any_path(), data(), version());
    drawn.prop_map(|(path, data, version)| quota(Op::SetData { path, data, version }))
}

fn read_op() -> impl Strategy<Value = ReadOp> {
    (any_path(), any::<bool>()).prop_map(|(path, data)| match data {
        true => ReadOp::GetData { path },
        false => ReadOp::GetChildren { path },
    })
}

/// Draws a path that may exist.
fn path() -> impl Strategy<Value = Arc<str>> {
    let paths = [
        "/", "/a", "/a", "/a", "/a", "/a/b", "/a/b", "/a/b/c", "/a/c", "/b", "/b/a", "/ab", "/e",
        "/e/f",
    ];
    select(paths.to_vec()).prop_map(Arc::from)
}

/// Draws a path of any kind, mostly one that may exist.
fn any_path() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![
        40 => path(),
        3 => sequential(),
        2 => refused(),
        1 => select(&["/!", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"][..])
            .prop_map(Arc::from),
        1 => quota_path(),
    ]
}

/// Draws a path of each class that `PathUtils.validatePath` refuses, and some that it accepts (rule 1.1).
fn refused() -> impl Strategy<Value = Arc<str>> {
    let paths = [
        "",
        "a",
        "a/b",
        "/a/",
        "//",
        "/a//b",
        "/.",
        "/..",
        "/a/.",
        "/a/./b",
        "/a/../b",
        "/a\u{1}",
        "/a\u{7f}",
        "/a\u{9f}",
        "/a\u{e000}",
        "/a\u{fff0}",
        "/a\u{1f600}",
        "/a.",
        "/.a",
        "/...",
        "/\u{e4}",
        "/a b",
        "/a\0",
        "\0",
    ];
    select(paths.to_vec()).prop_map(Arc::from)
}

fn sequence_prefix() -> impl Strategy<Value = Arc<str>> {
    select(&["/", "/a/", "/a/s-", "/s-", "/b/s-", "/e/s-"][..]).prop_map(Arc::from)
}

/// Draws a name that a sequential create may have given.
fn sequential() -> impl Strategy<Value = Arc<str>> {
    (select(&["/a/s-", "/s-", "/a/", "/"][..]), 0..6)
        .prop_map(|(prefix, number)| Arc::from(format!("{prefix}{number:010}")))
}

fn quota_path() -> impl Strategy<Value = Arc<str>> {
    let paths = [
        "/zookeeper/quota/@",
        "/zookeeper/quota/@/zookeeper_limits",
        "/zookeeper/quota/@/zookeeper_stats",
        "/zookeeper/quota/@/a",
        "/zookeeper/quota/@/a/zookeeper_limits",
        "/zookeeper/quota/@/a/zookeeper_stats",
    ];
    select(paths.to_vec()).prop_map(Arc::from)
}

fn prefix() -> impl Strategy<Value = Arc<str>> {
    select(&["", "/!", "/", "/a", "/a/", "/e", " "][..]).prop_map(Arc::from)
}

fn data() -> impl Strategy<Value = Data> {
    vec(any::<u8>(), 0..6).prop_map(Data::from)
}

/// Draws data of about the size of the largest packet (rule 1.11.1), so that the length of the path decides.
fn big_data() -> impl Strategy<Value = Data> {
    (1_048_500..1_048_600_usize).prop_map(|length| Data::from(vec![7; length]))
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![
        5 => Just(Version::Any),
        5 => (0..4).prop_map(Version::Is),
        1 => select(&[-2, i32::MIN, i32::MAX][..]).prop_map(Version::Is),
    ]
}

fn mode() -> impl Strategy<Value = CreateMode> {
    let ttl = prop_oneof![
        8 => Just(Duration::from_secs(3_600)),
        1 => Just(Duration::from_millis((1 << 40) - 1)),
        1 => Just(Duration::from_millis(1 << 40)),
        1 => Just(Duration::ZERO),
    ];
    let sequential = any::<bool>();
    prop_oneof![
        10 => Just(CreateMode::Persistent),
        6 => Just(CreateMode::Ephemeral),
        4 => Just(CreateMode::PersistentSequential),
        4 => Just(CreateMode::EphemeralSequential),
        2 => Just(CreateMode::Container),
        2 => (ttl, sequential).prop_map(|(ttl, sequential)| match sequential {
            false => CreateMode::PersistentWithTtl(ttl),
            true => CreateMode::PersistentSequentialWithTtl(ttl),
        }),
    ]
}

fn watcher_type() -> impl Strategy<Value = WatcherType> {
    prop_oneof![
        6 => select(&[WatcherType::Children, WatcherType::Data, WatcherType::Any][..]),
        1 => select(&[WatcherType::Persistent, WatcherType::PersistentRecursive][..]),
    ]
}

fn acl() -> impl Strategy<Value = AclList> {
    prop_oneof![
        3 => Just(AclList::OPEN),
        9 => vec(entry(), 0..4).prop_map(AclList::new),
    ]
}

fn entry() -> impl Strategy<Value = Acl> {
    let permissions = prop_oneof![4 => Just(Permissions::ALL), 6 => (0..40).prop_map(Permissions)];
    (permissions, id()).prop_map(|(permissions, id)| Acl::new(permissions, id))
}

fn id() -> impl Strategy<Value = Id> {
    prop_oneof![
        6 => Just(Id::ANYONE),
        3 => Just(Id::AUTH),
        4 => select(&["alice:1", "bob:2"][..])
            .prop_map(|user| Id::new("digest", generate_digest(user))),
        3 => select(&["127.0.0.1", "127.0.0.0/8", "10.0.0.0/8", "127.0.0.2"][..])
            .prop_map(|network| Id::new("ip", network)),
        1 => select(&[
            ("world", "somebody"), ("digest", "nobody"), ("digest", "a:b:c"), ("digest", "a:"), ("digest", ":b"),
            ("ip", "127.0.0"), ("ip", "127.0.0.1/33"), ("super", ""), ("x509", "CN=a"), ("", ""),
        ][..])
        .prop_map(|(scheme, id)| Id::new(scheme, id)),
    ]
}

fn proving() -> impl Strategy<Value = Action> {
    let proofs = [
        ("digest", "alice:1"),
        ("digest", "alice:1"),
        ("digest", "bob:2"),
        ("digest", "bob:2"),
        ("digest", "nobody"),
        ("digest", SUPER),
        ("ip", ""),
        ("kerberos", "alice"),
        ("world", ""),
    ];
    (seat(), select(proofs.to_vec())).prop_map(|(seat, (scheme, proof))| Action::Prove {
        seat,
        scheme,
        proof,
    })
}

fn watched() -> impl Strategy<Value = Watched> {
    let list = || vec(path(), 0..3);
    let lists = (0..6_u8, list(), list(), list(), list(), list());
    let some = lists.prop_map(|(behind, data, exist, child, persistent, recursive)| Watched {
        behind,
        data,
        exist,
        child,
        persistent,
        recursive,
    });
    let older = (0..6_u8, list(), list(), list()).prop_map(|(behind, data, exist, child)| {
        Watched { behind, data, exist, child, ..Watched::default() }
    });
    prop_oneof![2 => Just(Watched::default()), 2 => some, 2 => older]
}
