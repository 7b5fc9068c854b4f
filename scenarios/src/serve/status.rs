//! What a served server knows about itself, for four-letter words.

use super::core::Core;
use super::counters::millis;
use super::words::{
    Address, Clock, Configuration, Database, Leading, LearnerType, Member, Peer as Membership,
    Release, Role, ServerStats, Session, Status, SyncMode, ZabState,
};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
use vivarium_model::id::{ServerId, SessionId};
use vivarium_model::server::{self, Server};
use vivarium_model::time::Duration;

/// The version that a served server reports. Clients derive from it what they may ask for.
const VERSION: &str = "3.9.5-vivarium, built on 2026-01-01 00:00 UTC";

/// The ports of servers among each other, which exist in texts only.
const QUORUM_PORT: u16 = 2888;
const ELECTION_PORT: u16 = 3888;

impl Core {
    /// Returns the state of a server.
    pub(super) fn status_of(&self, server: ServerId) -> Status {
        let ensemble = self.served.ensemble();
        let process = ensemble.server(server);
        let peers: Vec<_> = self.peers_of(server).collect();
        let clock = self.clock();
        let connections: Vec<_> = peers.iter().map(|peer| peer.status(clock)).collect();
        let received = connections.iter().map(|it| it.packets_received).sum();
        let sent = connections.iter().map(|it| it.packets_sent).sum();
        let outstanding_requests = connections.iter().map(|it| it.outstanding_requests).sum();
        let total = self.totals(server);
        let stats = ServerStats {
            min_latency: total.min(),
            avg_latency: total.mean(),
            max_latency: total.max(),
            packets_received: total.received().max(received),
            packets_sent: total.sent().max(sent),
            outstanding_requests,
            uptime: clock.elapsed,
            open_file_descriptor_count: -1,
            max_file_descriptor_count: -1,
            ..ServerStats::default()
        };
        Status {
            release: Release::V3_9_5,
            version: VERSION.to_owned(),
            serving: ensemble.is_serving(server),
            role: self.role(server),
            peer: (ensemble.config().servers > 1).then(|| self.membership(server)),
            clock,
            stats,
            connections,
            sessions: self.tracked(process),
            database: self.database(process),
            configuration: self.configuration(server),
            environment: vec![
                ("zookeeper.version".to_owned(), VERSION.to_owned()),
                ("host.name".to_owned(), "localhost".to_owned()),
                ("os.name".to_owned(), std::env::consts::OS.to_owned()),
            ],
            ..Status::default()
        }
    }

    /// Returns the time of the ensemble.
    pub(super) fn clock(&self) -> Clock {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { wall: millis(since), elapsed: millis(self.clock.elapsed()) }
    }

    fn role(&self, server: ServerId) -> Role {
        let ensemble = self.served.ensemble();
        if ensemble.config().servers == 1 {
            return Role::Standalone;
        }
        let Some(process) = ensemble.server(server) else { return Role::default() };
        match process.role() {
            server::Role::Leading(leader) => Role::Leader(Leading {
                learners: leader.connections().len() as u64,
                synced_followers: self.following(server),
                uptime: millis(self.clock.elapsed()),
                ..Leading::default()
            }),
            server::Role::Looking | server::Role::Following(_) => {
                Role::Follower { synced_observers: None }
            }
            server::Role::Observing(learner) => {
                Role::Observer { learner_master: i64::from(learner.leader().0) }
            }
        }
    }

    /// Returns the number of servers that serve as followers of this one.
    fn following(&self, leader: ServerId) -> u64 {
        let ensemble = self.served.ensemble();
        let follows = |server: &ServerId| {
            let connection = ensemble.learner_connection(*server);
            ensemble.is_serving(*server)
                && connection.and_then(|it| ensemble.leader_of(it)) == Some(leader)
        };
        ensemble.config().server_ids().filter(follows).count() as u64
    }

    fn membership(&self, server: ServerId) -> Membership {
        let config = self.served.ensemble().config();
        let leader = self.served.ensemble().leader();
        let at = |port: u16, server: ServerId| {
            vec![Address { host: "127.0.0.1".to_owned(), port: port + u16::from(server.0) }]
        };
        let member = |id: ServerId| Member {
            quorum: at(QUORUM_PORT, id),
            election: at(ELECTION_PORT, id),
            client: (id == server)
                .then(|| Address { host: "0.0.0.0".to_owned(), port: self.port(id) }),
            client_from_static: true,
            learner_type: LearnerType::Participant,
        };
        let is_serving = self.served.ensemble().is_serving(server);
        Membership {
            init_limit: i32::try_from(config.init_limit).unwrap_or(i32::MAX),
            sync_limit: i32::try_from(config.sync_limit).unwrap_or(i32::MAX),
            election_alg: 3,
            learner_type: LearnerType::Participant,
            members: config.server_ids().map(|id| (i64::from(id.0), member(id))).collect(),
            version: 0,
            zab_state: if is_serving { ZabState::Broadcast } else { ZabState::Election },
            sync_mode: SyncMode::None,
            leader_id: leader.map_or(-1, |leader| i64::from(leader.0)),
            leader_address: leader.map(|_| "127.0.0.1".to_owned()),
        }
    }

    fn tracked(&self, process: Option<&Server>) -> BTreeMap<i64, Session> {
        let sessions = process.into_iter().flat_map(|process| process.tree().sessions());
        let tick = self.served.ensemble().config().tick;
        let now = self.clock.elapsed();
        let session = |(id, timeout): (&SessionId, &Duration)| {
            let ticks = (now + *timeout).as_millis() / tick.as_millis().max(1) + 1;
            let expires = i64::try_from(ticks * tick.as_millis()).unwrap_or(i64::MAX);
            let timeout = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
            (id.0.cast_signed(), Session { timeout, expires })
        };
        sessions.map(session).collect()
    }

    fn database(&self, process: Option<&Server>) -> Database {
        let Some(process) = process else { return Database::default() };
        let tree = process.tree();
        let mut database = Database {
            last_processed_zxid: tree.last_processed().0.cast_signed(),
            ..Database::default()
        };
        for (path, node) in tree.nodes() {
            database.node_count += 1;
            database.approximate_data_size += (path.as_str().len() + node.data.len()) as u64;
        }
        for session in tree.sessions().keys() {
            let own = tree.ephemerals(*session).map(|path| path.as_str().to_owned());
            let own: std::collections::BTreeSet<String> = own.collect();
            if !own.is_empty() {
                database.ephemerals.insert(session.0.cast_signed(), own);
            }
        }
        for (path, connection) in process.watches().data_watches() {
            let session = self.session_of(connection).map_or(0, |session| session.0.cast_signed());
            database.data_watches.entry(session).or_default().insert(path.to_string());
        }
        database.child_watches = process.watches().child_watches().count() as u64;
        database
    }

    fn configuration(&self, server: ServerId) -> Configuration {
        let tick = self.served.ensemble().config().tick;
        let ticks = |count: u32| i32::try_from((tick * count).as_millis()).unwrap_or(i32::MAX);
        let standalone = self.served.ensemble().config().servers == 1;
        Configuration {
            client_port: self.port(server),
            data_dir: "/vivarium/version-2".to_owned(),
            data_log_dir: "/vivarium/version-2".to_owned(),
            tick_time: ticks(1),
            min_session_timeout: ticks(2),
            max_session_timeout: ticks(20),
            client_port_listen_backlog: -1,
            server_id: if standalone { 0 } else { server.0.into() },
            ..Configuration::default()
        }
    }
}
