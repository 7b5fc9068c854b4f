//! The responses of admin commands.

use super::{follower, leader, observer, read_only, standalone};
use crate::serve::words::{COMMANDS, Command, Connection, Json, Reset, Status, links};

/// Returns the response as the admin server sends it.
fn sent(name: &str, status: &Status) -> String {
    Command::run(name, status).to_string()
}

/// Returns the response without `command` and `error`, if it is no error.
fn returned(name: &str, status: &Status) -> String {
    let response = Command::run(name, status);
    assert_eq!(response.error, None);
    Json::Object(response.fields).to_string()
}

#[test]
fn every_response_has_the_command_and_the_error() {
    let status = standalone();
    assert_eq!(sent("ruok", &status), "{\n  \"command\" : \"ruok\",\n  \"error\" : null\n}");
    insta::assert_snapshot!(sent("nonsense", &status), @r#"
    {
      "command" : "nonsense",
      "error" : "Unknown command: nonsense"
    }
    "#);
    insta::assert_snapshot!(sent("dirs", &Status { serving: false, ..status }), @r#"
    {
      "command" : "dirs",
      "error" : "This ZooKeeper instance is not currently serving requests"
    }
    "#);
    insta::assert_snapshot!(sent("leader", &standalone()), @r#"
    {
      "error" : "server is not initialized",
      "command" : "leader"
    }
    "#);
    for command in COMMANDS {
        let value: serde_json::Value =
            serde_json::from_str(&sent(command.name, &leader())).unwrap();
        assert_eq!(value["command"], command.name);
        assert!(value["error"].is_null());
    }
}

#[test]
fn a_server_without_a_leader_executes_four_commands() {
    let status = Status { serving: false, ..follower() };
    let executed =
        COMMANDS.iter().filter(|command| Command::run(command.name, &status).error.is_none());
    let executed: Vec<&str> = executed.map(|command| command.name).collect();
    assert_eq!(executed, ["environment", "get_trace_mask", "system_properties", "zabstate"]);
    assert_eq!(returned("zabstate", &status), "{\n  \"voting\" : false,\n  \"zabstate\" : \"\"\n}");
}

#[test]
fn aliases_name_the_same_command() {
    let status = standalone();
    assert_eq!(sent("config", &status), sent("configuration", &status));
    assert_eq!(sent("srvr", &status), sent("server_stats", &status));
    let reset = |name: &str| Command::named(name).unwrap().reset();
    assert_eq!(reset("crst"), Some(Reset::Connections));
    assert_eq!(reset("srst"), Some(Reset::Server));
    assert_eq!(reset("stats"), None);
}

#[test]
fn the_page_of_links_has_every_command() {
    let page = links("/commands");
    assert!(page.starts_with("<a href=\"/commands/configuration\">configuration</a>\n<br/>\n"));
    assert_eq!(page.lines().count(), 2 * COMMANDS.len());
}

#[test]
fn configuration() {
    insta::assert_snapshot!(sent("configuration", &standalone()), @r#"
    {
      "client_port" : 31810,
      "data_dir" : "/zk/data/version-2",
      "data_log_dir" : "/zk/log/version-2",
      "tick_time" : 2000,
      "max_client_cnxns" : 60,
      "min_session_timeout" : 4000,
      "max_session_timeout" : 40000,
      "server_id" : 0,
      "client_port_listen_backlog" : -1,
      "command" : "configuration",
      "error" : null
    }
    "#);
    insta::assert_snapshot!(returned("initial_configuration", &standalone()), @r#"
    {
      "initial_configuration" : "tickTime=2000\ndataDir=/zk/data\nclientPort=31810\n"
    }
    "#);
}

#[test]
fn connections() {
    let mut status = standalone();
    status.connections.remove(0);
    status.connections.truncate(1);
    insta::assert_snapshot!(sent("connections", &status), @r#"
    {
      "connections" : [ {
        "remote_socket_address" : "127.0.0.1:40888",
        "interest_ops" : 1,
        "outstanding_requests" : 0,
        "packets_received" : 5,
        "packets_sent" : 5,
        "session_id" : 72058637087342593,
        "last_operation" : "EXIS",
        "established" : 1795786284013,
        "session_timeout" : 6000,
        "last_cxid" : 4,
        "last_zxid" : 7,
        "last_response_time" : 15921102,
        "last_latency" : 0,
        "min_latency" : 0,
        "avg_latency" : 0,
        "max_latency" : 1
      } ],
      "secure_connections" : [ ],
      "command" : "connections",
      "error" : null
    }
    "#);
    status.connections[0] = Connection::new("[::1]:49072".parse().unwrap(), 1_795_786_370_042);
    insta::assert_snapshot!(returned("connections", &status), @r#"
    {
      "connections" : [ {
        "remote_socket_address" : "[0:0:0:0:0:0:0:1]:49072",
        "interest_ops" : 1,
        "outstanding_requests" : 0,
        "packets_received" : 0,
        "packets_sent" : 0,
        "session_id" : 0,
        "last_operation" : null,
        "established" : 1795786370042,
        "session_timeout" : 10000,
        "last_cxid" : 0,
        "last_zxid" : 0,
        "last_response_time" : 0,
        "last_latency" : 0,
        "min_latency" : 0,
        "avg_latency" : 0,
        "max_latency" : 0
      } ],
      "secure_connections" : [ ]
    }
    "#);
}

#[test]
fn dump() {
    insta::assert_snapshot!(sent("dump", &standalone()), @r#"
    {
      "expiry_time_to_session_ids" : {
        "15928000" : [ 72058637087342593 ],
        "15952000" : [ 72058637087342592 ]
      },
      "session_id_to_ephemeral_paths" : {
        "72058637087342592" : [ "/a/e1", "/a/e2" ],
        "72058637087342593" : [ "/b" ]
      },
      "command" : "dump",
      "error" : null
    }
    "#);
    let text = returned("dump", &follower());
    assert!(text.starts_with("{\n  \"expiry_time_to_session_ids\" : { },\n"));
}

#[test]
fn small_commands() {
    let status = standalone();
    insta::assert_snapshot!(returned("environment", &status), @r#"
    {
      "zookeeper.version" : "3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC",
      "host.name" : "localhost"
    }
    "#);
    insta::assert_snapshot!(returned("get_trace_mask", &status), @r#"
    {
      "tracemask" : 306
    }
    "#);
    insta::assert_snapshot!(returned("hash", &status), @r#"
    {
      "digests" : [ {
        "zxid" : 128,
        "digest" : 287540352075,
        "digest_version" : 2
      } ]
    }
    "#);
    insta::assert_snapshot!(returned("is_read_only", &read_only()), @r#"
    {
      "read_only" : true
    }
    "#);
    insta::assert_snapshot!(returned("last_snapshot", &status), @r#"
    {
      "zxid" : "0",
      "timestamp" : 1795786278
    }
    "#);
    insta::assert_snapshot!(returned("watch_summary", &status), @r#"
    {
      "num_connections" : 2,
      "num_paths" : 3,
      "num_total_watches" : 4
    }
    "#);
    insta::assert_snapshot!(returned("watches", &status), @r#"
    {
      "session_id_to_watched_paths" : {
        "72058637087342592" : [ "/a", "/b" ],
        "72058637087342593" : [ "/a", "/none" ]
      }
    }
    "#);
    insta::assert_snapshot!(returned("watches_by_path", &status), @r#"
    {
      "path_to_session_ids" : {
        "/a" : [ 72058637087342592, 72058637087342593 ],
        "/b" : [ 72058637087342592 ],
        "/none" : [ 72058637087342593 ]
      }
    }
    "#);
    insta::assert_snapshot!(returned("observers", &status), @r#"
    {
      "synced_observers" : 0,
      "observers" : [ ]
    }
    "#);
    insta::assert_snapshot!(returned("observers", &leader()), @r#"
    {
      "synced_observers" : 1,
      "observers" : [ {
        "remote_socket_address" : "/127.0.0.1:53502",
        "sid" : 4,
        "established" : 1795786296556,
        "queued_packets" : 0,
        "queued_packets_size" : -234,
        "packets_received" : 18,
        "packets_sent" : 29,
        "requests" : 3,
        "last_zxid" : 4294967308
      } ]
    }
    "#);
    insta::assert_snapshot!(returned("leader", &follower()), @r#"
    {
      "is_leader" : false,
      "leader_id" : 3,
      "leader_ip" : "127.0.0.1"
    }
    "#);
}

#[test]
fn a_server_without_a_snapshot_has_zxid_minus_one() {
    let mut status = standalone();
    status.database.last_snapshot = None;
    insta::assert_snapshot!(returned("last_snapshot", &status), @r#"
    {
      "zxid" : "ffffffffffffffff",
      "timestamp" : -1
    }
    "#);
}

#[test]
fn stats() {
    insta::assert_snapshot!(sent("server_stats", &leader()), @r#"
    {
      "version" : "3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC",
      "read_only" : false,
      "server_stats" : {
        "packets_sent" : 5,
        "packets_received" : 6,
        "fsync_threshold_exceed_count" : 0,
        "client_response_stats" : {
          "last_buffer_size" : 84,
          "min_buffer_size" : 23,
          "max_buffer_size" : 84
        },
        "provider_null" : false,
        "data_dir_size" : 67109517,
        "log_dir_size" : 67109517,
        "server_state" : "leader",
        "last_processed_zxid" : 4294967308,
        "outstanding_requests" : 0,
        "avg_latency" : 2.75,
        "max_latency" : 4,
        "min_latency" : 2,
        "num_alive_client_connections" : 1,
        "uptime" : 0,
        "auth_failed_count" : 0,
        "non_mtlsremote_conn_count" : 0,
        "non_mtlslocal_conn_count" : 0
      },
      "client_response" : {
        "last_buffer_size" : 84,
        "min_buffer_size" : 23,
        "max_buffer_size" : 84
      },
      "proposal_stats" : {
        "last_buffer_size" : 91,
        "min_buffer_size" : 48,
        "max_buffer_size" : 91
      },
      "node_count" : 13,
      "command" : "server_stats",
      "error" : null
    }
    "#);
    let stats = sent("stats", &leader());
    let more = stats.split_once("\"node_count\"").unwrap().1;
    insta::assert_snapshot!(more, @r#"
     : 13,
      "connections" : [ {
        "remote_socket_address" : "127.0.0.1:40930",
        "interest_ops" : 0,
        "outstanding_requests" : 0,
        "packets_received" : 1,
        "packets_sent" : 0
      } ],
      "secure_connections" : [ ],
      "command" : "stats",
      "error" : null
    }
    "#);
}

#[test]
fn voting_view_and_zab_state() {
    insta::assert_snapshot!(sent("voting_view", &leader()), @r#"
    {
      "current_config" : {
        "1" : {
          "server_addresses" : [ "127.0.0.1:31831" ],
          "election_addresses" : [ "127.0.0.1:31841" ],
          "client_address" : "",
          "learner_type" : "participant"
        },
        "2" : {
          "server_addresses" : [ "127.0.0.1:31832" ],
          "election_addresses" : [ "127.0.0.1:31842" ],
          "client_address" : "",
          "learner_type" : "participant"
        },
        "3" : {
          "server_addresses" : [ "127.0.0.1:31833" ],
          "election_addresses" : [ "127.0.0.1:31843" ],
          "client_address" : "0.0.0.0:31823",
          "learner_type" : "participant"
        }
      },
      "command" : "voting_view",
      "error" : null
    }
    "#);
    insta::assert_snapshot!(returned("voting_view", &standalone()), @r#"
    {
      "current_config" : { }
    }
    "#);
    insta::assert_snapshot!(sent("zabstate", &leader()), @r#"
    {
      "myid" : 3,
      "is_leader" : true,
      "quorum_address" : {
        "empty" : false,
        "all_addresses" : [ "127.0.0.1:31833" ],
        "all_reachable_addresses" : [ "127.0.0.1:31833" ],
        "one" : "127.0.0.1:31833",
        "reachable_address" : "127.0.0.1:31833",
        "wildcard_addresses" : [ "0.0.0.0:31833" ],
        "all_ports" : [ 31833 ],
        "all_host_strings" : [ "127.0.0.1" ],
        "all_reachable_addresses_or_all" : [ "127.0.0.1:31833" ],
        "reachable_or_one" : "127.0.0.1:31833"
      },
      "election_address" : {
        "empty" : false,
        "all_addresses" : [ "127.0.0.1:31843" ],
        "all_reachable_addresses" : [ "127.0.0.1:31843" ],
        "one" : "127.0.0.1:31843",
        "reachable_address" : "127.0.0.1:31843",
        "wildcard_addresses" : [ "0.0.0.0:31843" ],
        "all_ports" : [ 31843 ],
        "all_host_strings" : [ "127.0.0.1" ],
        "all_reachable_addresses_or_all" : [ "127.0.0.1:31843" ],
        "reachable_or_one" : "127.0.0.1:31843"
      },
      "client_address" : "0.0.0.0:31823",
      "voting" : true,
      "last_zxid" : "0x10000000c",
      "zab_epoch" : 1,
      "zab_counter" : 12,
      "zabstate" : "broadcast",
      "command" : "zabstate",
      "error" : null
    }
    "#);
    assert_eq!(Command::run("zabstate", &observer()).to_json().get("voting"), Some(&false.into()));
}
