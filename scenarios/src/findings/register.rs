//! The list of findings, those that cost most first.

use super::{
    Finding, Search, Switch, acks_outlive_reconnect, fsync_error_keeps_memory,
    interrupted_trunc_keeps_tree, leader_ignores_newer_epoch, outstanding_acl_is_old, programs,
    refuse_newer_zxid, sequence_counter_stays, sync_at_leader, trunc_keeps_newer_snapshot,
    trunc_keeps_record_beyond,
};
use vivarium_model::release::Bug;
use vivarium_sim::Fault;

/// All findings.
pub const FINDINGS: &[Finding] = &[
    Finding {
        name: "acks-outlive-reconnect",
        switch: Switch::Bug(Bug::AcksOutliveReconnect),
        loses: "A write that was answered is gone on every server after one of three has failed.",
        tracker: None,
        search: TWO_SERVERS,
        control: "the link does not break",
        needs_strace: true,
        reproduction: acks_outlive_reconnect::reproduce,
    },
    Finding {
        name: "trunc-keeps-record-beyond",
        switch: Switch::Bug(Bug::TruncKeepsRecordBeyond),
        loses: "One server shows a znode, for good, whose create was never committed.",
        tracker: None,
        search: TWO_SERVERS,
        control: "server 3 has the last committed write in its log",
        needs_strace: false,
        reproduction: trunc_keeps_record_beyond::reproduce,
    },
    Finding {
        name: "trunc-keeps-newer-snapshot",
        switch: Switch::Bug(Bug::TruncKeepsNewerSnapshot),
        loses: "One server shows a znode, for good, whose create was never committed.",
        tracker: Some(4837),
        search: Search::Swept { scenario: "churn", from: 300, to: 1_000 },
        control: "server 3 is not elected in between",
        needs_strace: false,
        reproduction: trunc_keeps_newer_snapshot::reproduce,
    },
    Finding {
        name: "interrupted-trunc-keeps-tree",
        switch: Switch::Bug(Bug::InterruptedTruncKeepsTree),
        loses: "A write that was answered is missing on one server, which serves.",
        tracker: Some(5094),
        search: Search::Swept { scenario: "churn", from: 1_300, to: 3_000 },
        control: "the link does not break a second time",
        needs_strace: false,
        reproduction: interrupted_trunc_keeps_tree::reproduce,
    },
    Finding {
        name: "outstanding-acl-is-old",
        switch: Switch::Bug(Bug::OutstandingAclIsOld),
        loses: "A client whose right was taken away goes on writing, after that was answered.",
        tracker: None,
        search: Search::Tested { test: programs::revoked_writer, seeds: 200 },
        control: "the client has no write under way when its right is taken away",
        needs_strace: false,
        reproduction: outstanding_acl_is_old::reproduce,
    },
    Finding {
        name: "fsync-error-keeps-memory",
        switch: Switch::Bug(Bug::FsyncErrorKeepsMemory),
        loses: "A write that was answered is missing on one server, which serves, after its disk was full.",
        tracker: Some(4882),
        search: Search::Explored {
            scenario: "broadcast",
            words: "--servers 3 --txns 1 --crashes 0 --fsync-errors 1",
            budget: |three| three.servers(3).txns(1).crashes(0).fsync_errors(1),
        },
        control: "the log file is made late, and is made",
        needs_strace: true,
        reproduction: fsync_error_keeps_memory::reproduce,
    },
    Finding {
        name: "refuse-newer-zxid",
        switch: Switch::Bug(Bug::RefuseNewerZxid),
        loses: "A server that was killed while it joined never starts again by itself.",
        tracker: Some(2354),
        search: Search::Explored {
            scenario: "broadcast",
            words: "--servers 3 --txns 1 --crashes 1",
            budget: |three| three.servers(3).txns(1).crashes(1),
        },
        control: "server 1 is killed a moment later, with its epoch written",
        needs_strace: true,
        reproduction: refuse_newer_zxid::reproduce,
    },
    Finding {
        name: "leader-ignores-newer-epoch",
        switch: Switch::Bug(Bug::LeaderIgnoresNewerEpoch),
        loses: "A healthy server stays out for as long as the leader leads, and the ensemble is one failure short.",
        tracker: None,
        search: Search::Explored {
            scenario: "broadcast",
            words: "--servers 3 --txns 0 --crashes 2",
            budget: |three| three.servers(3).txns(0).crashes(2),
        },
        control: "the server has accepted no other epoch",
        needs_strace: false,
        reproduction: leader_ignores_newer_epoch::reproduce,
    },
    Finding {
        name: "sequence-counter-stays",
        switch: Switch::Fault(Fault::CounterWrap),
        loses: "Two clients hold one lock at once when 2147483647 znodes have been created below it.",
        tracker: None,
        search: Search::Tested { test: programs::numbered_locks, seeds: 200 },
        control: "the counter is not near its end",
        needs_strace: false,
        reproduction: sequence_counter_stays::reproduce,
    },
    Finding {
        name: "sync-at-leader",
        switch: Switch::Mutant("RecoverBySync"),
        loses: "With one property set, a session does not see its own create behind a sync, and waits for itself at a lock.",
        tracker: Some(3690),
        search: Search::Explored { scenario: "lock", words: "--lost 1", budget: |two| two.lost(1) },
        control: "the property is not set, as by default: the session's requests wait",
        needs_strace: false,
        reproduction: sync_at_leader::reproduce,
    },
];

/// One write, and one crash.
const TWO_SERVERS: Search = Search::Explored {
    scenario: "broadcast",
    words: "--servers 2 --txns 1 --crashes 1",
    budget: |two| two.servers(2).txns(1).crashes(1),
};
