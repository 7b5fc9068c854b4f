//! Words and commands of arbitrary statuses.

use crate::serve::words::{
    Address, BufferStats, COMMANDS, Clock, Command, Configuration, Connection, Database, Digest,
    Leading, LearnerHandler, LearnerType, Member, Metric, Peer, Release, Role, ServerStats,
    Session, Snapshot, Status, SyncMode, Word, ZabState,
};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// Draws values of a status, extreme ones often.
struct Draw(Rng);

impl Draw {
    fn long(&mut self) -> i64 {
        let any = self.0.i64(..);
        self.one(&[0, 1, -1, 1_000, 1_795_786_290_950, i64::MIN, i64::MAX, any])
    }

    fn count(&mut self) -> u64 {
        let any = self.0.u64(..);
        self.one(&[0, 1, 17, u64::MAX, any])
    }

    fn int(&mut self) -> i32 {
        self.one(&[0, -1, 3, 30_000, i32::MIN, i32::MAX])
    }

    fn port(&mut self) -> u16 {
        self.0.u16(..)
    }

    fn decimal(&mut self) -> f64 {
        self.one(&[0.0, -0.5, 1.75, 1e7, 1e-4, 1e300, f64::NAN, f64::INFINITY])
    }

    fn text(&mut self) -> String {
        self.one(&["", "/a", "/a b/é", "\"\\", "x\u{1}", "error", "command", "::1"]).to_owned()
    }

    fn one<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.0.usize(..values.len())].clone()
    }

    fn some<T>(&mut self, draw: impl Fn(&mut Draw) -> T) -> Option<T> {
        self.0.bool().then(|| draw(self))
    }

    fn list<T, C: FromIterator<T>>(&mut self, draw: impl Fn(&mut Draw) -> T) -> C {
        (0..self.0.usize(..5)).map(|_| draw(self)).collect()
    }

    fn paths(&mut self) -> BTreeMap<i64, BTreeSet<String>> {
        self.list(|draw| (draw.long(), draw.list(Draw::text)))
    }

    fn sizes(&mut self) -> BufferStats {
        BufferStats { last: self.int(), min: self.int(), max: self.int() }
    }

    fn connection(&mut self) -> Connection {
        let ip = self.one(&["127.0.0.1", "::1", "fe80::2"]).parse().unwrap();
        let remote = std::net::SocketAddr::new(ip, self.port());
        Connection {
            interest_ops: self.0.u32(..),
            outstanding_requests: self.count(),
            packets_received: self.count(),
            session_id: self.long(),
            last_operation: self.some(Draw::text),
            session_timeout: self.int(),
            last_cxid: self.long(),
            last_zxid: self.long(),
            last_response_time: self.long(),
            max_latency: self.long(),
            expires: self.some(Draw::long),
            ..Connection::new(remote, self.long())
        }
    }

    fn database(&mut self) -> Database {
        Database {
            last_processed_zxid: self.long(),
            node_count: self.count(),
            approximate_data_size: self.count(),
            ephemerals: self.paths(),
            data_watches: self.paths(),
            child_watches: self.count(),
            digests: self.list(|draw| Digest {
                zxid: draw.long(),
                version: draw.int(),
                digest: draw.long(),
            }),
            last_snapshot: self.some(|draw| Snapshot { zxid: draw.long(), timestamp: draw.long() }),
            data_dir_size: self.count(),
            data_log_dir_size: self.count(),
        }
    }

    fn role(&mut self) -> Role {
        match self.0.u8(..5) {
            0 => Role::Standalone,
            1 => Role::Follower { synced_observers: self.some(Draw::count) },
            2 => Role::Observer { learner_master: self.long() },
            3 => Role::ReadOnly,
            _ => Role::Leader(Leading {
                learners: self.count(),
                pending_syncs: self.count(),
                uptime: self.long(),
                proposals: self.sizes(),
                observers: self.list(Draw::learner),
                ..Leading::default()
            }),
        }
    }

    fn learner(&mut self) -> LearnerHandler {
        LearnerHandler {
            remote: self.connection().remote,
            sid: self.long(),
            established: self.long(),
            queued_packets: self.count(),
            queued_packets_size: self.long(),
            packets_received: self.count(),
            packets_sent: self.count(),
            requests: self.count(),
            last_zxid: self.long(),
        }
    }

    fn address(&mut self) -> Address {
        Address { host: self.text(), port: self.port() }
    }

    fn learner_type(&mut self) -> LearnerType {
        self.one(&[LearnerType::Participant, LearnerType::Observer])
    }

    fn peer(&mut self) -> Peer {
        let member = |draw: &mut Draw| Member {
            quorum: draw.list(Draw::address),
            election: draw.list(Draw::address),
            client: draw.some(Draw::address),
            client_from_static: draw.0.bool(),
            learner_type: draw.learner_type(),
        };
        let states = [
            ZabState::Election,
            ZabState::Discovery,
            ZabState::Synchronization,
            ZabState::Broadcast,
        ];
        Peer {
            learner_type: self.learner_type(),
            members: self.list(|draw| (draw.one(&[0, 1, 2, i64::MAX]), member(draw))),
            version: self.long(),
            zab_state: self.one(&states),
            sync_mode: self.one(&[SyncMode::None, SyncMode::Diff, SyncMode::Snap, SyncMode::Trunc]),
            leader_address: self.some(Draw::text),
            ..Peer::default()
        }
    }

    fn status(&mut self) -> Status {
        let text = |draw: &mut Draw| (draw.text(), draw.text());
        Status {
            release: self.one(&[Release::V3_8_0, Release::V3_9_5]),
            version: self.text(),
            serving: self.0.u8(..8) > 0,
            role: self.role(),
            peer: self.some(Draw::peer),
            clock: Clock { wall: self.long(), elapsed: self.long() },
            stats: ServerStats {
                avg_latency: self.decimal(),
                max_latency: self.long(),
                packets_received: self.count(),
                client_response: self.sizes(),
                ..ServerStats::default()
            },
            connections: self.list(Draw::connection),
            sessions: self
                .list(|draw| (draw.long(), Session { timeout: draw.int(), expires: draw.long() })),
            database: self.database(),
            configuration: Configuration {
                secure_client_port: self.some(Draw::port),
                data_dir: self.text(),
                server_id: self.one(&[0, 1, 2, 3]),
                initial_configuration: self.text(),
                ..Configuration::default()
            },
            environment: self.list::<_, BTreeMap<_, _>>(text).into_iter().collect(),
            system_properties: self.list(text),
            trace_mask: self.long(),
            metrics: self.list(|draw| {
                let name = draw.one(&["commit_count", "avg_latency", "avg_fsynctime", "version"]);
                let metrics = [Metric::Integer(draw.long()), Metric::Decimal(draw.decimal())];
                (name.to_owned(), draw.one(&metrics))
            }),
        }
    }
}

#[test]
fn any_status_has_answers() {
    let mut draw = Draw(Rng::with_seed(0));
    for _ in 0..3_000 {
        let status = draw.status();
        for word in Word::all() {
            let text = word.answer(&status);
            if word == Word::Mntr && status.serving {
                metrics_are_lines(&text);
            }
        }
        for command in COMMANDS {
            let response = Command::run(command.name, &status);
            let value: serde_json::Value = serde_json::from_str(&response.to_string()).unwrap();
            assert!(value.get("command").is_some() && value.get("error").is_some());
            assert!(serde_json::to_value(response.to_json()).unwrap().is_object());
        }
    }
}

/// Asserts that each line is `zk_key`, a tab and a value, with each key once, and that all but those of the server's
/// state are numbers.
fn metrics_are_lines(text: &str) {
    let mut keys = BTreeSet::new();
    for line in text.lines() {
        let (key, value) = line.split_once('\t').unwrap();
        let name = key.strip_prefix("zk_").unwrap();
        assert!(keys.insert(name.to_owned()), "{name} twice");
        assert!(name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_'));
        if !["version", "server_state", "peer_state"].contains(&name) {
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
}
