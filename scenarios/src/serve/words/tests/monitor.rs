//! The metrics of `mntr` and `monitor`.

use super::{VERSION, follower, leader, observer, read_only, standalone};
use crate::serve::words::{Command, Json, Metric, Role, Status, SyncMode, Word};

#[test]
fn mntr() {
    let status = standalone();
    insta::assert_snapshot!(Word::Mntr.answer(&status), @r"
    zk_version	3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC
    zk_server_state	standalone
    zk_avg_latency	1.75
    zk_max_latency	6
    zk_min_latency	0
    zk_packets_received	14
    zk_packets_sent	13
    zk_num_alive_connections	3
    zk_outstanding_requests	0
    zk_uptime	6994
    zk_znode_count	9
    zk_watch_count	5
    zk_ephemerals_count	3
    zk_approximate_data_size	66
    zk_global_sessions	2
    zk_local_sessions	0
    zk_open_file_descriptor_count	51
    zk_max_file_descriptor_count	20000
    zk_connection_drop_probability	0.0
    zk_last_client_response_size	43
    zk_max_client_response_size	84
    zk_min_client_response_size	16
    zk_outstanding_tls_handshake	0
    zk_auth_failed_count	0
    zk_non_mtls_remote_conn_count	0
    zk_non_mtls_local_conn_count	0
    ");
    let head =
        |status: &Status| Word::Mntr.answer(status).lines().take(4).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(head(&observer()), @r"
    zk_version	3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC
    zk_server_state	observer
    zk_peer_state	observing - broadcast
    zk_observer_master_id	3
    ");
    let mut follower = follower();
    follower.peer.as_mut().unwrap().sync_mode = SyncMode::Diff;
    assert!(
        Word::Mntr.answer(&follower).contains("\nzk_peer_state\tfollowing - broadcast - diff\n")
    );
}

/// Returns the names of the metrics that a standalone server does not have.
fn more_than_standalone(status: &Status) -> Vec<String> {
    let names = |text: &str| {
        text.lines().filter_map(|line| Some(line.split_once('\t')?.0.to_owned())).collect()
    };
    let common: Vec<String> = names(&Word::Mntr.answer(&standalone()));
    let mut names: Vec<String> = names(&Word::Mntr.answer(status));
    names.retain(|name| !common.contains(name));
    names
}

#[test]
fn mntr_of_an_ensemble_has_the_metrics_of_the_role() {
    assert_eq!(
        more_than_standalone(&leader()),
        [
            "zk_peer_state",
            "zk_quorum_size",
            "zk_learners",
            "zk_synced_followers",
            "zk_synced_non_voting_followers",
            "zk_synced_observers",
            "zk_pending_syncs",
            "zk_leader_uptime",
            "zk_last_proposal_size",
            "zk_max_proposal_size",
            "zk_min_proposal_size",
        ]
    );
    let mut status = follower();
    assert_eq!(more_than_standalone(&status), ["zk_peer_state", "zk_quorum_size"]);
    status.role = Role::Follower { synced_observers: Some(1) };
    assert_eq!(
        more_than_standalone(&status),
        ["zk_peer_state", "zk_quorum_size", "zk_synced_observers"]
    );
    assert_eq!(
        more_than_standalone(&observer()),
        ["zk_peer_state", "zk_observer_master_id", "zk_quorum_size"]
    );
    assert_eq!(more_than_standalone(&read_only()), [""; 0]);
}

#[test]
fn metrics_of_the_caller_come_last_and_replace_others() {
    let mut status = standalone();
    for (name, value) in [
        ("avg_readlatency", Metric::Decimal(1.2)),
        ("commit_count", Metric::Integer(7)),
        ("open_file_descriptor_count", Metric::Integer(52)),
    ] {
        status.metrics.insert(name.to_owned(), value);
    }
    let text = Word::Mntr.answer(&status);
    let end = "\nzk_avg_readlatency\t1.2\nzk_commit_count\t7\nzk_open_file_descriptor_count\t52\n";
    assert!(text.ends_with(end));
    assert_eq!(text.matches("open_file").count(), 1);
}

#[test]
fn monitor_has_the_metrics_of_mntr() {
    for status in [standalone(), leader(), follower(), observer(), read_only()] {
        let text = Word::Mntr.answer(&status);
        for (line, (name, value)) in text.lines().zip(Command::run("mntr", &status).fields) {
            let value = match value {
                Json::Text(text) => text,
                value => value.to_string(),
            };
            assert_eq!(line, format!("zk_{name}\t{value}"));
        }
    }
    let response = Command::run("monitor", &standalone());
    assert_eq!(response.to_json().get("version"), Some(&Json::from(VERSION)));
}
