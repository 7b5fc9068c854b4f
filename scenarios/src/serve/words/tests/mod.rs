//! Words and commands against texts that real servers of release 3.8.0 have sent.
//!
//! Each status here is that of a server which was asked, with other paths and rounder session ids. The expected texts
//! are its answers, with sets in the order of their elements and with the counters of one moment.

mod commands;
mod formats;
mod generated;
mod monitor;
mod texts;

use super::{
    Address, BufferStats, Clock, Configuration, Connection, Database, Digest, Leading,
    LearnerHandler, LearnerType, Member, Peer, Role, ServerStats, Session, Snapshot, Status,
    SyncMode, ZabState,
};
use std::collections::{BTreeMap, BTreeSet};

const VERSION: &str = "3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC";

/// The sessions of the standalone server.
const FIRST: i64 = 0x0100_00f2_da97_0000;
const SECOND: i64 = 0x0100_00f2_da97_0001;

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

fn clock() -> Clock {
    Clock { wall: 1_795_786_284_950, elapsed: 15_922_000 }
}

fn connection(port: u16, established: i64, expires: i64) -> Connection {
    let remote = ([127, 0, 0, 1], port).into();
    Connection { expires: Some(expires), ..Connection::new(remote, established) }
}

/// The connection that asks.
fn asking() -> Connection {
    Connection {
        interest_ops: 0,
        packets_received: 1,
        ..connection(40930, 1_795_786_284_930, 15_940_000)
    }
}

/// A standalone server with two sessions, its connection from the client that asks included.
fn standalone() -> Status {
    let second = Connection {
        packets_received: 5,
        packets_sent: 5,
        session_id: SECOND,
        last_operation: Some("EXIS".to_owned()),
        session_timeout: 6_000,
        last_cxid: 4,
        last_zxid: 7,
        last_response_time: 15_921_102,
        max_latency: 1,
        ..connection(40888, 1_795_786_284_013, 15_930_000)
    };
    let first = Connection {
        packets_received: 7,
        packets_sent: 7,
        session_id: FIRST,
        last_operation: Some("GETC".to_owned()),
        session_timeout: 30_000,
        last_cxid: 6,
        last_zxid: 7,
        last_response_time: 15_921_106,
        last_latency: 3,
        avg_latency: 2,
        max_latency: 6,
        ..connection(38820, 1_795_786_283_997, 15_960_000)
    };
    Status {
        version: VERSION.to_owned(),
        serving: true,
        clock: clock(),
        stats: ServerStats {
            avg_latency: 1.75,
            max_latency: 6,
            packets_received: 14,
            packets_sent: 13,
            uptime: 6_994,
            client_response: BufferStats { last: 43, min: 16, max: 84 },
            open_file_descriptor_count: 51,
            max_file_descriptor_count: 20_000,
            ..ServerStats::default()
        },
        connections: vec![asking(), second, first],
        sessions: BTreeMap::from([
            (FIRST, Session { timeout: 30_000, expires: 15_952_000 }),
            (SECOND, Session { timeout: 6_000, expires: 15_928_000 }),
        ]),
        database: standalone_database(),
        configuration: Configuration {
            client_port: 31_810,
            data_dir: "/zk/data/version-2".to_owned(),
            data_log_dir: "/zk/log/version-2".to_owned(),
            initial_configuration: "tickTime=2000\ndataDir=/zk/data\nclientPort=31810\n".to_owned(),
            ..configuration()
        },
        environment: [("zookeeper.version", VERSION), ("host.name", "localhost")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        trace_mask: 306,
        ..Status::default()
    }
}

fn standalone_database() -> Database {
    Database {
        last_processed_zxid: 7,
        node_count: 9,
        approximate_data_size: 66,
        ephemerals: BTreeMap::from([(FIRST, set(&["/a/e1", "/a/e2"])), (SECOND, set(&["/b"]))]),
        data_watches: BTreeMap::from([
            (FIRST, set(&["/a", "/b"])),
            (SECOND, set(&["/a", "/none"])),
        ]),
        child_watches: 1,
        digests: vec![Digest { zxid: 128, version: 2, digest: 287_540_352_075 }],
        last_snapshot: Some(Snapshot { zxid: 0, timestamp: 1_795_786_278 }),
        data_dir_size: 457,
        data_log_dir_size: 67_108_880,
    }
}

fn configuration() -> Configuration {
    Configuration {
        tick_time: 2_000,
        max_client_cnxns: 60,
        min_session_timeout: 4_000,
        max_session_timeout: 40_000,
        client_port_listen_backlog: -1,
        ..Configuration::default()
    }
}

/// A server of an ensemble of three voters and an observer, whose leader is server 3.
fn member_of_ensemble(id: i64, role: Role) -> Status {
    let session = |id: i64| (id << 56) | 0xf3_20c3_0000;
    let sessions = (1..=4).map(session);
    let expires = Session { timeout: 30_000, expires: 15_976_000 };
    Status {
        version: VERSION.to_owned(),
        serving: true,
        role,
        peer: Some(peer(id)),
        clock: clock(),
        stats: ServerStats {
            min_latency: 2,
            avg_latency: 2.75,
            max_latency: 4,
            packets_received: 6,
            packets_sent: 5,
            client_response: BufferStats { last: 84, min: 23, max: 84 },
            ..ServerStats::default()
        },
        connections: vec![asking()],
        sessions: sessions.clone().map(|session| (session, expires)).collect(),
        database: Database {
            last_processed_zxid: 0x1_0000_000c,
            node_count: 13,
            approximate_data_size: 270,
            ephemerals: (1..)
                .zip(sessions)
                .map(|(n, id)| (id, set(&[&format!("/n{n}/e")])))
                .collect(),
            data_dir_size: 67_109_517,
            data_log_dir_size: 67_109_517,
            ..Database::default()
        },
        configuration: Configuration {
            client_port: 31_820 + u16::try_from(id).unwrap(),
            data_dir: "/zk/version-2".to_owned(),
            data_log_dir: "/zk/version-2".to_owned(),
            server_id: id,
            ..configuration()
        },
        ..Status::default()
    }
}

fn peer(id: i64) -> Peer {
    let kind = |id| if id == 4 { LearnerType::Observer } else { LearnerType::Participant };
    let member = |member: i64| {
        let port = 31_830 + u16::try_from(member).unwrap();
        let address = |host: &str, port| Address { host: host.to_owned(), port };
        Member {
            quorum: vec![address("127.0.0.1", port)],
            election: vec![address("127.0.0.1", port + 10)],
            client: (member == id).then(|| address("0.0.0.0", port - 10)),
            client_from_static: true,
            learner_type: kind(member),
        }
    };
    Peer {
        init_limit: 10,
        sync_limit: 5,
        election_alg: 3,
        learner_type: kind(id),
        members: (1..=4).map(|id| (id, member(id))).collect(),
        version: 0,
        zab_state: ZabState::Broadcast,
        sync_mode: SyncMode::None,
        leader_id: 3,
        leader_address: Some("127.0.0.1".to_owned()),
    }
}

fn leader() -> Status {
    let observer = LearnerHandler {
        remote: ([127, 0, 0, 1], 53_502).into(),
        sid: 4,
        established: 1_795_786_296_556,
        queued_packets: 0,
        queued_packets_size: -234,
        packets_received: 18,
        packets_sent: 29,
        requests: 3,
        last_zxid: 0x1_0000_000c,
    };
    let leading = Leading {
        learners: 3,
        synced_followers: 2,
        uptime: 13_981,
        proposals: BufferStats { last: 91, min: 48, max: 91 },
        observers: vec![observer],
        ..Leading::default()
    };
    member_of_ensemble(3, Role::Leader(leading))
}

fn follower() -> Status {
    member_of_ensemble(2, Role::Follower { synced_observers: None })
}

fn observer() -> Status {
    member_of_ensemble(4, Role::Observer { learner_master: 3 })
}

fn read_only() -> Status {
    let mut status = member_of_ensemble(2, Role::ReadOnly);
    status.stats = ServerStats { packets_received: 2, packets_sent: 1, ..ServerStats::default() };
    status
}
