//! The texts of four-letter words.

use super::{FIRST, follower, leader, observer, read_only, standalone};
use crate::serve::words::{Release, Reset, Status, Whitelist, Word};

const NOT_SERVING: &str = "This ZooKeeper instance is not currently serving requests\n";

/// Returns the answer to the word with these letters.
fn answer(word: &str, status: &Status) -> String {
    let letters: [u8; 4] = word.as_bytes().try_into().unwrap();
    Word::from_bytes(letters).unwrap().answer(status)
}

#[test]
fn words_have_their_letters() {
    assert!(
        Word::all()
            .all(|word| Word::from_bytes(word.name().as_bytes().try_into().unwrap()) == Some(word))
    );
    assert_eq!(Word::from_bytes([0, 0, 0, 45]), None);
    assert_eq!(Word::from_bytes(*b"RUOK"), None);
}

#[test]
fn short_answers() {
    let status = standalone();
    assert_eq!(answer("ruok", &status), "imok");
    assert_eq!(answer("isro", &status), "rw");
    assert_eq!(answer("isro", &read_only()), "ro");
    assert_eq!(answer("gtmk", &status), "306");
    assert_eq!(answer("stmk", &status), "306");
    assert_eq!(answer("srst", &status), "Server stats reset.\n");
    assert_eq!(answer("crst", &status), "Connection stats reset.\n");
    assert_eq!(answer("hash", &status), "80: 287540352075\n");
    assert_eq!(Word::Srst.reset(), Some(Reset::Server));
    assert_eq!(Word::Crst.reset(), Some(Reset::Connections));
    assert_eq!(Word::Stat.reset(), None);
}

/// Snapshots do not compare the ends of texts.
#[test]
fn texts_end_as_those_of_a_real_server() {
    let status = standalone();
    for (word, end) in [
        ("stat", "\nNode count: 9\n"),
        ("srvr", "\nNode count: 9\n"),
        ("conf", "\nserverId=0\n"),
        ("dump", "sessionId: 0x10000f2da970000\n"),
        ("envi", "\nhost.name=localhost\n"),
        ("mntr", "\t0\n"),
        ("wchc", "\t/none\n\n"),
        ("wchp", "\t0x10000f2da970001\n\n"),
    ] {
        assert!(answer(word, &status).ends_with(end), "{word}");
    }
    assert!(answer("srvr", &leader()).ends_with("\nProposal sizes last/min/max: 91/48/91\n"));
    assert!(answer("conf", &leader()).ends_with("\nversion=0"));
    assert!(answer("conf", &read_only()).ends_with("\npeerType=0\n"));
}

#[test]
fn a_server_without_a_leader_refuses_most_words() {
    let status = Status { serving: false, ..follower() };
    for word in Word::all() {
        let expected = match word {
            Word::Ruok => "imok",
            Word::Isro => "null",
            Word::Gtmk | Word::Stmk => "0",
            Word::Envi => "Environment:\n",
            Word::Hash => NOT_SERVING.trim_end(),
            _ => NOT_SERVING,
        };
        assert_eq!(word.answer(&status), expected, "{}", word.name());
    }
}

#[test]
fn only_srvr_is_executed_without_a_whitelist() {
    let status = standalone();
    let default = Whitelist::default();
    assert!(Word::all().all(|word| default.allows(word) == (word == Word::Srvr)));
    assert_eq!(
        default.answer(Word::Ruok, &status),
        "ruok is not executed because it is not in the whitelist.\n"
    );
    let some = Whitelist::new(" cons,hash , nope", true);
    let executed: Vec<&str> =
        Word::all().filter(|word| some.allows(*word)).map(Word::name).collect();
    assert_eq!(executed, ["cons", "hash", "isro", "srvr"]);
    assert!(Word::all().all(|word| Whitelist::new("ruok, *", false).allows(word)));
    assert_eq!(some.answer(Word::Isro, &status), "rw");
}

#[test]
fn stat_and_srvr() {
    let status = standalone();
    insta::assert_snapshot!(answer("stat", &status), @r"
    Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC
    Clients:
     /127.0.0.1:40930[0](queued=0,recved=1,sent=0)
     /127.0.0.1:40888[1](queued=0,recved=5,sent=5)
     /127.0.0.1:38820[1](queued=0,recved=7,sent=7)

    Latency min/avg/max: 0/1.75/6
    Received: 14
    Sent: 13
    Connections: 3
    Outstanding: 0
    Zxid: 0x7
    Mode: standalone
    Node count: 9
    ");
    let mut lines: Vec<String> = answer("stat", &status).lines().map(str::to_owned).collect();
    lines.drain(1..6);
    assert_eq!(answer("srvr", &status).lines().collect::<Vec<_>>(), lines);
    insta::assert_snapshot!(answer("srvr", &leader()), @r"
    Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC
    Latency min/avg/max: 2/2.75/4
    Received: 6
    Sent: 5
    Connections: 1
    Outstanding: 0
    Zxid: 0x10000000c
    Mode: leader
    Node count: 13
    Proposal sizes last/min/max: 91/48/91
    ");
    insta::assert_snapshot!(answer("stat", &read_only()), @r"
    Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC
    READ-ONLY mode; serving only read-only clients
    Clients:
     /127.0.0.1:40930[0](queued=0,recved=1,sent=0)

    Latency min/avg/max: 0/0.0/0
    Received: 2
    Sent: 1
    Connections: 1
    Outstanding: 0
    Zxid: 0x10000000c
    Mode: read-only
    Node count: 13
    ");
}

#[test]
fn cons() {
    let mut status = standalone();
    let asking = " /127.0.0.1:40930[0](queued=0,recved=1,sent=0)\n";
    let second = " /127.0.0.1:40888[1](queued=0,recved=5,sent=5,sid=0x10000f2da970001,lop=EXIS,\
        est=1795786284013,to=6000,lcxid=0x4,lzxid=0x7,lresp=15921102,llat=0,minlat=0,avglat=0,maxlat=1)\n";
    let first = " /127.0.0.1:38820[1](queued=0,recved=7,sent=7,sid=0x10000f2da970000,lop=GETC,\
        est=1795786283997,to=30000,lcxid=0x6,lzxid=0x7,lresp=15921106,llat=3,minlat=0,avglat=2,maxlat=6)\n";
    assert_eq!(answer("cons", &status), format!("{asking}{second}{first}\n"));

    let connection = &mut status.connections[2];
    connection.reset();
    connection.remote = "[::1]:38820".parse().unwrap();
    let reset = " /[0:0:0:0:0:0:0:1]:38820[1](queued=0,recved=0,sent=0,sid=0x10000f2da970000,lop=NA,\
        est=1795786283997,to=30000,lzxid=0xffffffffffffffff,lresp=0,llat=0,minlat=0,avglat=0,maxlat=0)\n";
    assert_eq!(answer("cons", &status), format!("{asking}{second}{reset}\n"));
    status.connections.clear();
    assert_eq!(answer("cons", &status), "\n");
}

#[test]
fn dump() {
    insta::assert_snapshot!(answer("dump", &standalone()), @r"
    SessionTracker dump:
    Session Sets (2)/(2):
    1 expire at Fri Nov 27 13:31:30 UTC 2026:
    	0x10000f2da970001
    1 expire at Fri Nov 27 13:31:54 UTC 2026:
    	0x10000f2da970000
    ephemeral nodes dump:
    Sessions with Ephemerals (2):
    0x10000f2da970000:
    	/a/e1
    	/a/e2
    0x10000f2da970001:
    	/b
    Connections dump:
    Connections Sets (3)/(3):
    1 expire at Fri Nov 27 13:31:32 UTC 2026:
    	ip: /127.0.0.1:40888 sessionId: 0x10000f2da970001
    1 expire at Fri Nov 27 13:31:42 UTC 2026:
    	ip: /127.0.0.1:40930 sessionId: 0x0
    1 expire at Fri Nov 27 13:32:02 UTC 2026:
    	ip: /127.0.0.1:38820 sessionId: 0x10000f2da970000
    ");
    insta::assert_snapshot!(answer("dump", &leader()), @r"
    SessionTracker dump:
    Session Sets (1)/(4):
    4 expire at Fri Nov 27 13:32:18 UTC 2026:
    	0x10000f320c30000
    	0x20000f320c30000
    	0x30000f320c30000
    	0x40000f320c30000
    ephemeral nodes dump:
    Sessions with Ephemerals (4):
    0x10000f320c30000:
    	/n1/e
    0x20000f320c30000:
    	/n2/e
    0x30000f320c30000:
    	/n3/e
    0x40000f320c30000:
    	/n4/e
    Connections dump:
    Connections Sets (1)/(1):
    1 expire at Fri Nov 27 13:31:42 UTC 2026:
    	ip: /127.0.0.1:40930 sessionId: 0x0
    ");
    insta::assert_snapshot!(answer("dump", &follower()), @r"
    SessionTracker dump:
    Global Sessions(4):
    0x10000f320c30000	30000ms
    0x20000f320c30000	30000ms
    0x30000f320c30000	30000ms
    0x40000f320c30000	30000ms
    ephemeral nodes dump:
    Sessions with Ephemerals (4):
    0x10000f320c30000:
    	/n1/e
    0x20000f320c30000:
    	/n2/e
    0x30000f320c30000:
    	/n3/e
    0x40000f320c30000:
    	/n4/e
    Connections dump:
    Connections Sets (1)/(1):
    1 expire at Fri Nov 27 13:31:42 UTC 2026:
    	ip: /127.0.0.1:40930 sessionId: 0x0
    ");
    assert_eq!(answer("dump", &observer()), answer("dump", &follower()));
    assert_eq!(answer("dump", &read_only()), answer("dump", &follower()));
}

#[test]
fn watches() {
    let mut status = standalone();
    assert_eq!(answer("wchs", &status), "2 connections watching 3 paths\nTotal watches:4\n");
    insta::assert_snapshot!(answer("wchc", &status), @r"
    0x10000f2da970000
    	/a
    	/b
    0x10000f2da970001
    	/a
    	/none
    ");
    insta::assert_snapshot!(answer("wchp", &status), @r"
    /a
    	0x10000f2da970000
    	0x10000f2da970001
    /b
    	0x10000f2da970000
    /none
    	0x10000f2da970001
    ");
    status.database.data_watches.entry(FIRST).or_default().clear();
    assert_eq!(answer("wchs", &status), "2 connections watching 2 paths\nTotal watches:2\n");
    status.database.data_watches.clear();
    assert_eq!(answer("wchs", &status), "0 connections watching 0 paths\nTotal watches:0\n");
    assert_eq!(answer("wchc", &status), "\n");
}

#[test]
fn conf_and_dirs() {
    let mut status = standalone();
    insta::assert_snapshot!(answer("conf", &status), @r"
    clientPort=31810
    secureClientPort=-1
    dataDir=/zk/data/version-2
    dataDirSize=67108880
    dataLogDir=/zk/log/version-2
    dataLogSize=457
    tickTime=2000
    maxClientCnxns=60
    minSessionTimeout=4000
    maxSessionTimeout=40000
    clientPortListenBacklog=-1
    serverId=0
    ");
    assert_eq!(answer("dirs", &status), "datadir_size: 67108880\nlogdir_size: 457\n");
    status.release = Release::V3_9_5;
    assert_eq!(answer("dirs", &status), "datadir_size: 457\nlogdir_size: 67108880\n");
    assert!(answer("conf", &status).contains("\ndataDirSize=457\n"));
}

#[test]
fn conf_of_an_ensemble() {
    insta::assert_snapshot!(answer("conf", &leader()), @r"
    clientPort=31823
    secureClientPort=-1
    dataDir=/zk/version-2
    dataDirSize=67109517
    dataLogDir=/zk/version-2
    dataLogSize=67109517
    tickTime=2000
    maxClientCnxns=60
    minSessionTimeout=4000
    maxSessionTimeout=40000
    clientPortListenBacklog=-1
    serverId=3
    initLimit=10
    syncLimit=5
    electionAlg=3
    electionPort=31843
    quorumPort=31833
    peerType=0
    membership: 
    server.1=127.0.0.1:31831:31841:participant
    server.2=127.0.0.1:31832:31842:participant
    server.3=127.0.0.1:31833:31843:participant
    server.4=127.0.0.1:31834:31844:observer
    version=0
    ");
    let quorum = |text: &str| text.split_once("serverId").unwrap().1.to_owned();
    insta::assert_snapshot!(quorum(&answer("conf", &observer())), @r"
    =4
    initLimit=10
    syncLimit=5
    electionAlg=3
    electionPort=31844
    quorumPort=31834
    peerType=1
    membership: 
    server.1=127.0.0.1:31831:31841:participant
    server.2=127.0.0.1:31832:31842:participant
    server.3=127.0.0.1:31833:31843:participant
    server.4=127.0.0.1:31834:31844:observer
    version=0
    ");
    insta::assert_snapshot!(quorum(&answer("conf", &read_only())), @r"
    =2
    initLimit=10
    syncLimit=5
    electionAlg=3
    electionPort=31842
    quorumPort=31832
    peerType=0
    ");
    let mut dynamic = leader();
    for member in dynamic.peer.as_mut().unwrap().members.values_mut() {
        member.client_from_static = false;
    }
    let line = "\nserver.3=127.0.0.1:31833:31843:participant;0.0.0.0:31823\n";
    assert!(answer("conf", &dynamic).contains(line));
}

#[test]
fn envi() {
    insta::assert_snapshot!(answer("envi", &standalone()), @r"
    Environment:
    zookeeper.version=3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC
    host.name=localhost
    ");
}
