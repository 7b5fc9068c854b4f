//! The metrics of `mntr` and of the admin command `monitor`.

use super::json::Json;
use super::role::{BufferStats, Leading, Role};
use super::status::Status;

/// Returns the metrics by name without `zk_`: first the server's state, then the gauges, then the rest by name. A
/// metric of [`Status::metrics`] with the name of another one comes last and counts, as in a hash table.
pub(super) fn metrics(status: &Status) -> Vec<(String, Json)> {
    let mut metrics = state(status);
    metrics.extend(gauges(status));
    if let Some(peer) = status.quorum_peer() {
        metrics.push(("quorum_size", peer.voting_members().count().into()));
    }
    match &status.role {
        Role::Leader(leading) => metrics.extend(leader_gauges(leading)),
        Role::Follower { synced_observers: Some(observers) } => {
            metrics.push(("synced_observers", (*observers).into()));
        }
        _ => {}
    }
    let mut metrics: Vec<(String, Json)> =
        metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    metrics.retain(|(name, _)| !status.metrics.contains_key(name));
    metrics.extend(status.metrics.iter().map(|(name, value)| (name.clone(), (*value).into())));
    metrics
}

fn state(status: &Status) -> Vec<(&'static str, Json)> {
    let mut state = vec![
        ("version", status.version.as_str().into()),
        ("server_state", status.role.name().into()),
    ];
    if let Some(peer) = status.quorum_peer() {
        state.push(("peer_state", peer.state(&status.role).into()));
    }
    if let Role::Observer { learner_master } = status.role {
        state.push(("observer_master_id", learner_master.into()));
    }
    state
}

fn gauges(status: &Status) -> Vec<(&'static str, Json)> {
    let stats = &status.stats;
    let BufferStats { last, min, max } = stats.client_response;
    vec![
        ("avg_latency", stats.avg_latency.into()),
        ("max_latency", stats.max_latency.into()),
        ("min_latency", stats.min_latency.into()),
        ("packets_received", stats.packets_received.into()),
        ("packets_sent", stats.packets_sent.into()),
        ("num_alive_connections", status.connections.len().into()),
        ("outstanding_requests", stats.outstanding_requests.into()),
        ("uptime", stats.uptime.into()),
        ("znode_count", status.database.node_count.into()),
        ("watch_count", status.database.watch_count().into()),
        ("ephemerals_count", status.database.ephemerals_count().into()),
        ("approximate_data_size", status.database.approximate_data_size.into()),
        ("global_sessions", status.sessions.len().into()),
        ("local_sessions", 0_i64.into()),
        ("open_file_descriptor_count", stats.open_file_descriptor_count.into()),
        ("max_file_descriptor_count", stats.max_file_descriptor_count.into()),
        ("connection_drop_probability", 0.0.into()),
        ("last_client_response_size", last.into()),
        ("max_client_response_size", max.into()),
        ("min_client_response_size", min.into()),
        ("outstanding_tls_handshake", 0_i64.into()),
        ("auth_failed_count", stats.auth_failed_count.into()),
        ("non_mtls_remote_conn_count", 0_i64.into()),
        ("non_mtls_local_conn_count", 0_i64.into()),
    ]
}

fn leader_gauges(leading: &Leading) -> Vec<(&'static str, Json)> {
    let BufferStats { last, min, max } = leading.proposals;
    vec![
        ("learners", leading.learners.into()),
        ("synced_followers", leading.synced_followers.into()),
        ("synced_non_voting_followers", leading.synced_non_voting_followers.into()),
        ("synced_observers", leading.observers.len().into()),
        ("pending_syncs", leading.pending_syncs.into()),
        ("leader_uptime", leading.uptime.into()),
        ("last_proposal_size", last.into()),
        ("max_proposal_size", max.into()),
        ("min_proposal_size", min.into()),
    ]
}
