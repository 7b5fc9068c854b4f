//! The fields that each command of the admin server returns.

use super::java::{SocketAddress, host_and_port};
use super::json::Json;
use super::peer::{Address, Member, Peer};
use super::role::{BufferStats, LearnerHandler, Role};
use super::status::Status;
use super::{Connection, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Named values in the order in which a response has them.
pub(super) type Fields = Vec<(String, Json)>;

/// Names values.
fn fields<const N: usize>(fields: [(&str, Json); N]) -> Fields {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub(super) fn nothing(_: &Status) -> Fields {
    Fields::new()
}

pub(super) fn configuration(status: &Status) -> Fields {
    let configuration = &status.configuration;
    fields([
        ("client_port", u32::from(configuration.client_port).into()),
        ("data_dir", configuration.data_dir.as_str().into()),
        ("data_log_dir", configuration.data_log_dir.as_str().into()),
        ("tick_time", configuration.tick_time.into()),
        ("max_client_cnxns", configuration.max_client_cnxns.into()),
        ("min_session_timeout", configuration.min_session_timeout.into()),
        ("max_session_timeout", configuration.max_session_timeout.into()),
        ("server_id", configuration.server_id.into()),
        ("client_port_listen_backlog", configuration.client_port_listen_backlog.into()),
    ])
}

pub(super) fn connections(status: &Status) -> Fields {
    connections_in(status, false)
}

fn connections_in(status: &Status, brief: bool) -> Fields {
    let connections = status.connections.iter();
    fields([
        (
            "connections",
            connections.map(|connection| self::connection(connection, brief)).collect(),
        ),
        ("secure_connections", Json::List(Vec::new())),
    ])
}

fn connection(connection: &Connection, brief: bool) -> Json {
    let mut info = fields([
        ("remote_socket_address", host_and_port(connection.remote).into()),
        ("interest_ops", connection.interest_ops.into()),
        ("outstanding_requests", connection.outstanding_requests.into()),
        ("packets_received", connection.packets_received.into()),
        ("packets_sent", connection.packets_sent.into()),
    ]);
    if !brief {
        info.extend(fields([
            ("session_id", connection.session_id.into()),
            ("last_operation", connection.last_operation.as_deref().map_or(Json::Null, Json::from)),
            ("established", connection.established.into()),
            ("session_timeout", connection.session_timeout.into()),
            ("last_cxid", connection.last_cxid.into()),
            ("last_zxid", connection.last_zxid.into()),
            ("last_response_time", connection.last_response_time.into()),
            ("last_latency", connection.last_latency.into()),
            ("min_latency", connection.min_latency.into()),
            ("avg_latency", connection.avg_latency.into()),
            ("max_latency", connection.max_latency.into()),
        ]));
    }
    Json::Object(info)
}

pub(super) fn directories(status: &Status) -> Fields {
    let (data_dir_size, log_dir_size) = status.reported_sizes();
    fields([("datadir_size", data_dir_size.into()), ("logdir_size", log_dir_size.into())])
}

pub(super) fn dump(status: &Status) -> Fields {
    let mut expiries = BTreeMap::<i64, Vec<i64>>::new();
    if !status.role.is_learner() {
        for (id, session) in &status.sessions {
            expiries.entry(session.expires).or_default().push(*id);
        }
    }
    let ephemerals = &status.database.ephemerals;
    fields([
        ("expiry_time_to_session_ids", keyed(expiries)),
        ("session_id_to_ephemeral_paths", keyed(texts(ephemerals))),
    ])
}

/// Returns an object from keys to lists.
fn keyed<K: fmt::Display, V: Into<Json>>(lists: impl IntoIterator<Item = (K, Vec<V>)>) -> Json {
    let lists = lists.into_iter();
    Json::Object(lists.map(|(key, list)| (key.to_string(), list.into_iter().collect())).collect())
}

fn texts<'a>(
    lists: impl IntoIterator<Item = (&'a i64, &'a BTreeSet<String>)>,
) -> impl Iterator<Item = (i64, Vec<&'a str>)> {
    lists.into_iter().map(|(key, texts)| (*key, texts.iter().map(String::as_str).collect()))
}

pub(super) fn environment(status: &Status) -> Fields {
    let entries = status.environment.iter();
    entries.map(|(key, value)| (key.clone(), value.as_str().into())).collect()
}

pub(super) fn trace_mask(status: &Status) -> Fields {
    fields([("tracemask", status.trace_mask.into())])
}

pub(super) fn digests(status: &Status) -> Fields {
    let digests = status.database.digests.iter().map(|digest| {
        Json::object([
            ("zxid", digest.zxid.into()),
            ("digest", digest.digest.into()),
            ("digest_version", digest.version.into()),
        ])
    });
    fields([("digests", digests.collect())])
}

pub(super) fn initial_configuration(status: &Status) -> Fields {
    let text = status.configuration.initial_configuration.as_str();
    fields([("initial_configuration", text.into())])
}

pub(super) fn is_read_only(status: &Status) -> Fields {
    fields([("read_only", read_only(status))])
}

fn read_only(status: &Status) -> Json {
    matches!(status.role, Role::ReadOnly).into()
}

pub(super) fn last_snapshot(status: &Status) -> Fields {
    let none = Snapshot { zxid: -1, timestamp: -1 };
    let snapshot = status.database.last_snapshot.unwrap_or(none);
    fields([
        ("zxid", format!("{:x}", snapshot.zxid).into()),
        ("timestamp", snapshot.timestamp.into()),
    ])
}

pub(super) fn leader(status: &Status) -> Fields {
    match status.quorum_peer() {
        Some(peer) => fields([
            ("is_leader", is_leader(status)),
            ("leader_id", peer.leader_id.into()),
            ("leader_ip", peer.leader_address.as_deref().unwrap_or_default().into()),
        ]),
        None => fields([("error", "server is not initialized".into())]),
    }
}

fn is_leader(status: &Status) -> Json {
    matches!(status.role, Role::Leader(_)).into()
}

pub(super) fn observers(status: &Status) -> Fields {
    let (number, list) = match &status.role {
        Role::Leader(leading) => {
            (leading.observers.len().into(), leading.observers.iter().map(learner).collect())
        }
        Role::Follower { synced_observers } => {
            (synced_observers.unwrap_or(0).into(), Json::List(Vec::new()))
        }
        _ => (Json::Integer(0), Json::List(Vec::new())),
    };
    fields([("synced_observers", number), ("observers", list)])
}

fn learner(learner: &LearnerHandler) -> Json {
    Json::object([
        ("remote_socket_address", SocketAddress(learner.remote).to_string().into()),
        ("sid", learner.sid.into()),
        ("established", learner.established.into()),
        ("queued_packets", learner.queued_packets.into()),
        ("queued_packets_size", learner.queued_packets_size.into()),
        ("packets_received", learner.packets_received.into()),
        ("packets_sent", learner.packets_sent.into()),
        ("requests", learner.requests.into()),
        ("last_zxid", learner.last_zxid.into()),
    ])
}

pub(super) fn server_stats(status: &Status) -> Fields {
    let mut stats = fields([
        ("version", status.version.as_str().into()),
        ("read_only", read_only(status)),
        ("server_stats", counters(status)),
        ("client_response", buffers(status.stats.client_response)),
    ]);
    if let Role::Leader(leading) = &status.role {
        stats.push(("proposal_stats".to_owned(), buffers(leading.proposals)));
    }
    stats.push(("node_count".to_owned(), status.database.node_count.into()));
    stats
}

/// Returns the counters of the server. The order of these fields differs between runs of a real server.
fn counters(status: &Status) -> Json {
    let stats = &status.stats;
    let (data_dir_size, log_dir_size) = status.reported_sizes();
    Json::object([
        ("packets_sent", stats.packets_sent.into()),
        ("packets_received", stats.packets_received.into()),
        ("fsync_threshold_exceed_count", stats.fsync_threshold_exceed_count.into()),
        ("client_response_stats", buffers(stats.client_response)),
        ("provider_null", false.into()),
        ("data_dir_size", data_dir_size.into()),
        ("log_dir_size", log_dir_size.into()),
        ("server_state", status.role.name().into()),
        ("last_processed_zxid", status.database.last_processed_zxid.into()),
        ("outstanding_requests", stats.outstanding_requests.into()),
        ("avg_latency", stats.avg_latency.into()),
        ("max_latency", stats.max_latency.into()),
        ("min_latency", stats.min_latency.into()),
        ("num_alive_client_connections", status.connections.len().into()),
        ("uptime", stats.uptime.into()),
        ("auth_failed_count", stats.auth_failed_count.into()),
        ("non_mtlsremote_conn_count", 0_i64.into()),
        ("non_mtlslocal_conn_count", 0_i64.into()),
    ])
}

fn buffers(stats: BufferStats) -> Json {
    Json::object([
        ("last_buffer_size", stats.last.into()),
        ("min_buffer_size", stats.min.into()),
        ("max_buffer_size", stats.max.into()),
    ])
}

pub(super) fn stats(status: &Status) -> Fields {
    let mut stats = server_stats(status);
    stats.extend(connections_in(status, true));
    stats
}

pub(super) fn system_properties(status: &Status) -> Fields {
    let properties = status.system_properties.iter();
    properties.map(|(key, value)| (key.clone(), value.as_str().into())).collect()
}

pub(super) fn voting_view(status: &Status) -> Fields {
    let peer = status.quorum_peer();
    let members = peer.into_iter().flat_map(Peer::voting_members);
    let members = members.map(|(id, member)| (id.to_string(), voter(member)));
    fields([("current_config", Json::Object(members.collect()))])
}

fn voter(member: &Member) -> Json {
    let texts = |addresses: &[Address]| addresses.iter().map(Address::to_string).collect();
    Json::object([
        ("server_addresses", texts(&member.quorum)),
        ("election_addresses", texts(&member.election)),
        ("client_address", member.client.as_ref().map_or(String::new(), Address::to_string).into()),
        ("learner_type", member.learner_type.name().into()),
    ])
}

pub(super) fn watch_summary(status: &Status) -> Fields {
    let database = &status.database;
    fields([
        ("num_connections", database.data_watches.len().into()),
        ("num_paths", database.watches_by_path().len().into()),
        ("num_total_watches", database.data_watch_count().into()),
    ])
}

pub(super) fn watches(status: &Status) -> Fields {
    fields([("session_id_to_watched_paths", keyed(texts(&status.database.data_watches)))])
}

pub(super) fn watches_by_path(status: &Status) -> Fields {
    let by_path = status.database.watches_by_path().into_iter();
    let by_path = by_path.map(|(path, sessions)| (path, Vec::from_iter(sessions)));
    fields([("path_to_session_ids", keyed(by_path))])
}

pub(super) fn zab_state(status: &Status) -> Fields {
    let Some(peer) = status.quorum_peer().filter(|_| status.serving) else {
        return fields([("voting", false.into()), ("zabstate", "".into())]);
    };
    let id = status.configuration.server_id;
    let member = peer.members.get(&id).cloned().unwrap_or_default();
    let zxid = status.database.last_processed_zxid;
    fields([
        ("myid", id.into()),
        ("is_leader", is_leader(status)),
        ("quorum_address", addresses(&member.quorum)),
        ("election_address", addresses(&member.election)),
        ("client_address", member.client.map_or(Json::Null, |address| address.to_string().into())),
        ("voting", peer.voting_members().any(|(voter, _)| voter == id).into()),
        ("last_zxid", format!("0x{zxid:x}").into()),
        ("zab_epoch", (zxid >> 32).into()),
        ("zab_counter", (zxid & 0xffff_ffff).into()),
        ("zabstate", peer.zab_state.name().into()),
    ])
}

/// Returns the addresses of a member as the views that a server prints of them. Each address counts as reachable.
fn addresses(addresses: &[Address]) -> Json {
    let all: Json = addresses.iter().map(Address::to_string).collect();
    let one = addresses.first().map_or(Json::Null, |address| address.to_string().into());
    let wildcards = addresses.iter().map(|address| format!("0.0.0.0:{}", address.port));
    Json::object([
        ("empty", addresses.is_empty().into()),
        ("all_addresses", all.clone()),
        ("all_reachable_addresses", all.clone()),
        ("one", one.clone()),
        ("reachable_address", one.clone()),
        ("wildcard_addresses", wildcards.collect()),
        ("all_ports", addresses.iter().map(|address| u32::from(address.port)).collect()),
        ("all_host_strings", addresses.iter().map(|address| address.host.as_str()).collect()),
        ("all_reachable_addresses_or_all", all),
        ("reachable_or_one", one),
    ])
}
