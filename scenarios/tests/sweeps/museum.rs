//! The museum: every known defect of the servers and every wrong version of a recipe is found, the case of each shows
//! the same, and the repaired ones hold over the same seeds. A checker that cannot fail proves nothing.
//!
//! Rare defects take one run in a thousand to show, which is too much for a test. So each sweep begins at a seed that
//! is known to show the defect, and normally ends there. When the model changes, runs change too: then the sweep
//! continues for as long as it takes, up to a bound of at least five times the mean distance between two hits
//! (measured over 20,000 seeds of `churn`). The test is slower then, and a new first seed makes it fast again.

use crate::entry;
use crate::subjects::missing;
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};
use std::process::Command;
use vivarium::catalogue::{Entry, Switches, catalogue};
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::property::Objection;
use vivarium_model::release::{Bug, Release};
use vivarium_sim::demands::PROGRESS;
use vivarium_sim::{
    HostKind, RunOptions, RunReport, SweepOptions, SweepReport, check_determinism, replay, sweep,
};

/// One exhibit: the mistake, the violated property, and the seeds.
struct Exhibit {
    scenario: &'static str,
    switch: &'static str,
    /// The beginning of the violated property's name.
    property: &'static str,
    /// A seed that is known to show the mistake.
    from: u64,
    /// The number of seeds within which the mistake must show.
    within: u64,
}

const fn exhibit(
    scenario: &'static str,
    switch: &'static str,
    property: &'static str,
    from: u64,
    within: u64,
) -> Exhibit {
    Exhibit { scenario, switch, property, from, within }
}

const MUSEUM: &[Exhibit] = &[
    exhibit("lock", "NoGuid", "lock M", 0, 200),
    exhibit("lock", "RecoverWithoutSync", "lock M6", 0, 400),
    exhibit("lock", "RecoverBySync", "lock M6", 0, 800),
    exhibit("lock", "LeakOnCancel", "lock M5", 0, 400),
    exhibit("lock", "ExistsNullSleeps", "progress", 0, 800),
    exhibit("lock", "RecreateOnBlip", "lock M6", 0, 800),
    exhibit("lock", "ReleaseGivesUp", "lock M5", 0, 800),
    exhibit("lock", "BeliefSurvivesExpiry", "lock M2", 0, 400),
    exhibit("lock", "IntOrderAtWrap", "lock M1", 0, 200),
    exhibit("lock", "WatchDirectory", "herd HM1", 0, 200),
    exhibit("lock", "RecoverWrongName", "lock M", 0, 200),
    exhibit("lock", "NoBackgroundCleanup", "lock M5", 0, 200),
    exhibit("lock", "LeakOnErrorAfterCreate", "lock M5", 0, 400),
    exhibit("lock", "BestEffortCleanup", "lock M5", 0, 800),
    exhibit("lock", "CleanupWrongPath", "lock M5", 0, 200),
    exhibit("lock", "OrderByName", "lock M1", 0, 50),
    exhibit("lock", "ResetOnMissingPredecessor", "lock M8", 0, 200),
    exhibit("lock", "FailOnVanishedPeer", "lock M5", 0, 200),
    exhibit("lock", "ParentGoneGivesUp", "progress", 0, 50),
    exhibit("lock", "BodyAfterRelease", "lock M2", 0, 50),
    exhibit("lock", "LossBeforeCallback", "lock M2", 0, 800),
    exhibit("rwlock", "ReaderSeesNoWriter", "read-write lock RW1", 0, 200),
    exhibit("rwlock", "ReaderWaitsForHigherWriter", "progress", 0, 200),
    exhibit("rwlock", "WriterIgnoresReaders", "read-write lock RW1", 0, 200),
    exhibit("rwlock", "DowngradeFreshSequence", "read-write lock RW1", 0, 200),
    exhibit("leader", "WatchSuccessor", "herd HM1", 14, 400),
    exhibit("leader", "OfficeOutlivesCandidacy", "election E6", 0, 200),
    exhibit("leader", "RequeueLost", "progress", 0, 400),
    exhibit("semaphore", "CountThenCreate", "semaphore SM1", 0, 200),
    exhibit("semaphore", "LeaseLeakOnCancel", "lock M5", 0, 400),
    exhibit("semaphore", "SessionStraddle", "lock M2", 0, 400),
    exhibit("semaphore", "InnerLockLeak", "lock M5", 0, 200),
    exhibit("multilock", "CallersOrder", "progress", 0, 200),
    exhibit("multilock", "LocksOfTwoSessions", "lock M2", 200, 400),
    exhibit("revocable-lock", "RevokeInitialIgnored", "revocable lock RV1", 600, 1_000),
    exhibit("revocable-lock", "RevokeReadBeforeCreate", "revocable lock RV1", 0, 200),
    exhibit("revocable-lock", "RevokeNotRearmed", "revocable lock RV1", 0, 400),
    exhibit("revocable-lock", "RevokeNoteOverwrites", "revocable lock RV1", 0, 400),
    exhibit("revocable-lock", "RevokeReleaseBlind", "revocable lock RV1", 0, 200),
    exhibit("revocable-lock", "RevokeFirstByName", "revocable lock RV3", 0, 200),
    exhibit("revocable-lock", "RevokeBadVersionMeansAsked", "revocable lock RV5", 0, 400),
    exhibit("revocable-lock", "RevokeWithoutConsent", "revocable lock RV2", 0, 200),
    exhibit("revocable-lock-by-force", "RevokeWhoeverHolds", "revocable lock RV2", 0, 200),
    exhibit("revocable-lock-by-force", "RevokeWithoutGrace", "revocable lock RV4", 0, 200),
    exhibit("barrier", "BarrierInvertedRecheck", "barrier B1", 0, 100),
    exhibit("barrier", "EventTypeFilterNoRearm", "progress", 0, 100),
    exhibit("barrier", "NoSyncBeforeRead", "barrier B1", 0, 400),
    exhibit("double-barrier", "ReadyExistsIgnored", "progress", 0, 100),
    exhibit("double-barrier", "DbEqualsN", "progress", 0, 400),
    exhibit("double-barrier", "DbRecount", "progress", 0, 100),
    exhibit("double-barrier", "DbReadyLeftover", "double barrier DB1", 0, 100),
    exhibit("double-barrier", "DbTimeoutLeavesNode", "double barrier DB", 0, 400),
    exhibit("double-barrier", "DbAnyWakeOpens", "double barrier DB1", 0, 100),
    exhibit("double-barrier", "DbReadyCounts", "progress", 0, 100),
    exhibit("double-barrier", "DbLeaveUnconditional", "double barrier DB2", 0, 400),
    exhibit("double-barrier", "DbNeverCloses", "double barrier DB3", 0, 2_000),
    exhibit("double-barrier", "DbLeaveSpins", "double barrier DB5", 0, 400),
    exhibit("counter", "NonIdempotentCas", "counter C1", 0, 200),
    exhibit("counter", "CasFalseNegative", "counter C1", 0, 200),
    exhibit("counter", "NoVersion", "counter C1", 0, 200),
    exhibit("queue", "NoNodeMeansOther", "queue Q1", 0, 200),
    exhibit("queue", "BlindCreateRetry", "queue Q4", 0, 200),
    exhibit("queue", "QueueEphemeralItems", "queue Q1", 0, 200),
    exhibit("queue", "QueueNoClaim", "queue Q2", 0, 200),
    exhibit("queue", "QueueUnpadded", "progress", 0, 200),
    exhibit("queue", "ParentReapedUnderWatch", "progress", 0, 200),
    exhibit("queue", "NoRecheckOnReconnect", "progress", 0, 400),
    exhibit("queue", "RootExistsEscapes", "program", 0, 200),
    exhibit("priority-queue", "StalePriorityList", "queue P1", 0, 400),
    exhibit("priority-queue", "PriorityUnpadded", "queue P1", 0, 200),
    exhibit("ack-queue", "MultiResultIgnored", "ack-queue LQ3", 0, 800),
    exhibit("ack-queue", "NodeExistsMeansOther", "progress", 0, 400),
    exhibit("ack-queue", "NoFenceForConsumer", "ack-queue LQ4", 0, 800),
    exhibit("ack-queue", "RequeueFromOldName", "ack-queue LQ5", 0, 200),
    exhibit("ack-queue", "AckAcrossSessions", "ack-queue LQ1", 0, 400),
    exhibit("ack-queue", "ClaimLeakOnCancel", "progress", 0, 400),
    exhibit("ack-queue", "BlindDeleteOnDrop", "ack-queue LQ1", 17_380, 20),
    exhibit("ack-queue", "ClaimNotEphemeral", "progress", 0, 200),
    exhibit("ack-queue", "NoLookAfterClaim", "ack-queue LQ2", 0, 200),
    exhibit("delay-queue", "WakeMeansDue", "delay-queue DQ1", 0, 200),
    exhibit("delay-queue", "NoTimer", "progress", 0, 400),
    exhibit("two-phase-commit", "TwoPcMutableVote", "two-phase commit TP4 write-once votes", 0, 50),
    exhibit("two-phase-commit", "TwoPcPrefilledVote", "two-phase commit TP2 validity", 2, 50),
    exhibit("two-phase-commit", "TwoPcChildByChild", "two-phase commit TP2 validity", 0, 50),
    exhibit("two-phase-commit", "TwoPcDecisionIgnored", "two-phase commit TP1 agreement", 0, 50),
    exhibit("two-phase-commit", "TwoPcDecisionOverwritten", "two-phase commit TP3 finality", 0, 50),
    exhibit("two-phase-commit", "TwoPcLostReplyIsAbort", "progress", 0, 50),
    exhibit("two-phase-commit", "TwoPcWatchAfterRead", "progress", 200, 500),
    exhibit(
        "two-phase-commit-coordinator",
        "TwoPcMutableVote",
        "two-phase commit TP4 write-once votes",
        0,
        50,
    ),
    exhibit(
        "two-phase-commit-coordinator",
        "TwoPcPrefilledVote",
        "two-phase commit TP2 validity",
        0,
        50,
    ),
    exhibit(
        "two-phase-commit-coordinator",
        "TwoPcDecisionIgnored",
        "two-phase commit TP1 agreement",
        0,
        50,
    ),
    exhibit(
        "two-phase-commit-coordinator",
        "TwoPcDecisionOverwritten",
        "two-phase commit TP3 finality",
        0,
        50,
    ),
    exhibit(
        "two-phase-commit-coordinator",
        "TwoPcLostReplyIsAbort",
        "two-phase commit TP2 validity",
        0,
        50,
    ),
    exhibit("two-phase-commit-coordinator", "TwoPcWatchAfterRead", "progress", 0, 50),
    exhibit("two-phase-commit-detection", "TwoPcEphemeralVote", "progress", 0, 50),
    exhibit(
        "two-phase-commit-detection",
        "TwoPcUnilateralAbort",
        "two-phase commit TP1 agreement",
        0,
        50,
    ),
    exhibit(
        "two-phase-commit-detection",
        "TwoPcDecisionIgnored",
        "two-phase commit TP1 agreement",
        0,
        50,
    ),
    exhibit(
        "two-phase-commit-detection",
        "TwoPcDecisionOverwritten",
        "two-phase commit TP3 finality",
        0,
        50,
    ),
    exhibit("membership", "GroupAdoptsOtherSession", "group membership GM1 own znode", 0, 50),
    exhibit("membership", "GroupDoesNotRejoin", "group membership GM2 rejoined", 0, 50),
    exhibit("membership", "GroupInsertsItself", "group membership GM3 real views", 0, 50),
    exhibit("membership", "GroupLeakOnCancel", "group membership GM4 exact", 1_383, 4_000),
    exhibit("partitioner", "ChangeDuringAcquireLost", "partitioner PT2", 0, 200),
    exhibit("partitioner", "UnequalSets", "partitioner PT2", 0, 200),
    exhibit("partitioner", "ReleaseBeforeStop", "partitioner PT3", 0, 200),
    exhibit("partitioner", "StopWithoutRelease", "partitioner PT2", 0, 200),
    exhibit("partitioner", "ShareWithoutLock", "partitioner PT", 0, 200),
    exhibit("partitioner", "OwnOrder", "partitioner PT2", 0, 200),
    exhibit("configuration", "ConfigVersionNotMzxid", "configuration CF3 up to date", 0, 50),
    exhibit(
        "configuration",
        "ConfigNoRecheckOnReconnect",
        "configuration CF3 up to date",
        650,
        2_000,
    ),
    exhibit("configuration", "ConfigWatchAfterRead", "configuration CF3 up to date", 0, 50),
    exhibit("node-cache", "CacheVersionNotMzxid", "cache CA", 0, 50),
    exhibit("node-cache", "CacheNoRecheckOnReconnect", "cache CA1", 100, 300),
    exhibit("node-cache", "CacheWatchConsumed", "cache CA1", 0, 50),
    exhibit("node-cache", "CacheWatchAfterRead", "cache CA1", 0, 400),
    exhibit("node-cache", "CacheStopsAtNoNode", "cache CA1", 0, 50),
    exhibit("node-cache", "CacheBelievesLaggard", "cache CA4", 0, 100),
    exhibit("children-cache", "CacheNoRecheckOnReconnect", "cache CA1", 0, 200),
    exhibit("children-cache", "InitCountsVanished", "cache CA4 initialized", 170, 1_000),
    exhibit("children-cache", "FailOnVanishedPeer", "program", 0, 50),
    exhibit("children-cache", "CacheInitializedEarly", "cache CA4 complete", 0, 50),
    exhibit("children-cache", "CacheAddsWithoutData", "cache CA6", 0, 50),
    exhibit("children-cache", "CacheKeepsVanished", "cache CA", 0, 100),
    exhibit("tree-cache", "CacheVersionNotMzxid", "cache CA", 0, 50),
    exhibit("tree-cache", "CacheStopsAtNoNode", "cache CA1", 0, 50),
    exhibit("tree-cache", "FailOnVanishedPeer", "program", 0, 50),
    exhibit("tree-cache", "CacheKeepsVanished", "cache CA", 0, 200),
    exhibit("tree-cache", "CacheForgetsDescendants", "cache CA2", 0, 50),
    exhibit("shared-value", "NonIdempotentCas", "shared value SV1", 0, 200),
    exhibit("shared-value", "CasFalseNegative", "shared value SV1", 0, 200),
    exhibit("shared-value", "NoVersion", "shared value SV", 0, 200),
    exhibit("shared-value", "CacheNoRecheckOnReconnect", "cache CA1", 0, 400),
    exhibit("names", "NameExistsMeansOther", "name service NS1 truth", 0, 50),
    exhibit("names", "NameOverwritten", "name service NS2 own address", 0, 50),
    exhibit("persistent-node", "PersistentNotRecreated", "persistent node PN1 to PN3 kept", 0, 50),
    exhibit(
        "persistent-node",
        "PersistentDataNotRestored",
        "persistent node PN1 to PN3 kept",
        0,
        50,
    ),
    exhibit("churn", "RefuseNewerZxid", "progress", 125, 500),
    exhibit("churn", "TruncKeepsNewerSnapshot", "S5", 150, 1_000),
    exhibit("churn", "TruncKeepsRecordBeyond", "S5", 350, 1_400),
    exhibit("churn", "SnapKeepsOldLog", "S5", 292, 1_500),
    exhibit("churn", "InterruptedTruncKeepsTree", "S12", 61_000, 50),
    exhibit("churn", "TruncSnapshotUnsynced", "S12", 200, 1_200),
    exhibit("churn", "TruncUnsynced", "S6", 0, 1_000),
    exhibit("churn", "SnapshotAheadOfLog", "S6", 37, 200),
    exhibit("churn", "SnapshotWrittenInPlace", "S3", 0, 20),
    exhibit("churn", "SnapshotWrittenInPlace", "S19", 7, 50),
    exhibit("churn", "FirstSnapshotUnsynced", "progress", 0, 50),
    exhibit("churn", "RenameUnsynced", "S20", 0, 20),
    exhibit("churn", "ApplyOutlivesRole", "S5", 0, 100),
    exhibit("watches", "ApplyOutlivesRole", "H7", 500, 600),
    exhibit("churn", "SnapshotOutlivesRole", "S6", 0, 200),
    exhibit("churn", "TruncCutsCommitted", "S6", 2925, 15_000),
    exhibit("churn", "FsyncErrorKeepsMemory", "S12", 81, 2_000),
    exhibit("churn", "TornRecordHidesLog", "S12", 20, 2_000),
    exhibit("churn", "FailedWriteComesLater", "S6", 312, 6_000),
    exhibit("churn", "SyncOvertakesCommits", "H6", 0, 100),
    exhibit("churn", "PlantedDeafLeader", "S14", 0, 20),
    exhibit("churn", "PlantedRevalidateKeepsTimer", "S14", 0, 50),
    exhibit("churn", "PlantedTouchesKept", "S14", 0, 20),
    exhibit("churn", "PlantedInheritedSessionsStay", "progress", 0, 50),
    exhibit("churn", "PlantedWrongXid", "H13", 0, 20),
    exhibit("churn", "PlantedLeaderNotCounted", "progress", 0, 50),
    exhibit("churn", "PlantedLocalSync", "H6", 0, 20),
    exhibit("churn", "PlantedHastySync", "H6", 0, 50),
    exhibit("churn", "PlantedRequestsNotHeld", "H6", 0, 2_000),
    exhibit("churn", "PlantedClosingSessionWrites", "bridge", 0, 400),
    exhibit("churn", "PlantedOwnerStays", "H14", 0, 50),
    exhibit("calm", "PlantedNewSessionsUnanswered", "L", 0, 200),
    exhibit("calm", "PlantedSyncForgotten", "L3", 1, 200),
    exhibit("calm", "PlantedReadsWait", "L", 0, 200),
    exhibit("calm", "PlantedHealthyHungUp", "L7", 0, 200),
    exhibit("calm", "PlantedSlowPings", "L9", 0, 200),
    exhibit("calm", "PlantedTimeoutTold", "S15", 0, 50),
    exhibit("churn", "PlantedAckBeforeFsync", "S3", 0, 400),
    exhibit("churn", "PlantedLeaderAckBeforeFsync", "S3", 0, 400),
    exhibit("churn", "PlantedElectionById", "S17", 0, 200),
    exhibit("churn", "PlantedLeaderNotAsked", "S17", 0, 2_000),
    exhibit("churn", "PlantedEpochWithoutQuorum", "S3", 0, 400),
    exhibit("churn", "PlantedAheadCounts", "S3", 0, 400),
    exhibit("churn", "PlantedHastyEpoch", "S3", 500, 600),
    exhibit("churn", "PlantedAckedTwice", "S16", 150, 200),
    exhibit("churn", "PlantedWatchesNotSetAgain", "H15", 0, 20),
    exhibit("churn", "PlantedZxidOutlivesSession", "H15", 0, 20),
    exhibit("watches", "PlantedDeletionMissesChildWatch", "H15", 0, 20),
    exhibit("churn", "PlantedNewestFailsFirst", "H15", 100, 400),
    exhibit("leader", "PlantedScopeIgnored", "H15", 200, 200),
    exhibit("churn", "PlantedLatePings", "H16", 0, 20),
    exhibit("watches", "PlantedLongerTimeout", "S15", 0, 50),
    exhibit("churn", "PlantedOldConnectionStays", "bridge", 0, 400),
    exhibit("access", "PlantedCreateAsksNoAcl", "H17", 0, 50),
    exhibit("access", "PlantedIdentitiesReplaced", "H17", 0, 50),
    exhibit("access", "PlantedIdentitiesNotProvenAgain", "H15", 0, 50),
    exhibit("access", "PlantedDeleteAcl", "H17", 0, 50),
    exhibit("access", "PlantedContainersAtOnce", "S18", 0, 50),
    exhibit("access", "PlantedTtlSinceCreation", "S18", 0, 400),
    exhibit("access", "PlantedContainersStay", "S18", 0, 50),
    exhibit("access", "ContainerListIsOld", "S18", 40, 400),
    exhibit("access", "AclByNumber", "S6", 200, 400),
    exhibit("access", "LongRecordUnreadable", "progress", 0, 100),
    exhibit("access", "OutstandingAclIsOld", "H17", 40, 400),
    exhibit("access", "PlantedWholePathsTold", "H15", 0, 50),
    exhibit("watches", "PlantedExistForgotten", "H7", 0, 50),
    exhibit("watches", "PlantedChildByCzxid", "H7", 0, 50),
    exhibit("watches", "PlantedExistEvent", "H7", 0, 20),
    exhibit("watches", "PlantedChildWatch", "H7", 0, 20),
    exhibit("watches", "PlantedCloseOrder", "H7", 0, 50),
    exhibit("churn", "PlantedPzxid", "S5", 0, 20),
    exhibit("churn", "PlantedSequence", "H10", 0, 20),
    exhibit("watches", "PlantedVersion", "program", 0, 20),
    exhibit("churn", "PlantedMultiResults", "program", 0, 20),
    exhibit("churn", "PlantedEphemeralParent", "H4", 0, 50),
    exhibit("lock", "SnapshotAheadOfLog", "S6", 440, 2_000),
];

fn look(entry: &Entry, switches: &Switches, seeds: Range<u64>) -> SweepReport {
    let which = SweepOptions { seeds, jobs: 2, keep_going: false };
    let options = RunOptions { host: HostKind::Direct, ..RunOptions::default() };
    sweep(&(entry.build)(switches), &which, &options, &mut |_totals| ControlFlow::Continue(()))
}

/// Returns the run of the first violation among these seeds.
fn find(entry: &Entry, switches: &Switches, seeds: Range<u64>) -> Option<RunReport> {
    look(entry, switches, seeds).first_violation
}

/// Returns the objection of a replay of the run's case.
fn from_its_case(entry: &Entry, switches: &Switches, run: &RunReport) -> Option<Objection> {
    let options = RunOptions { host: HostKind::Direct, keep_steps: true, trace_last: 0 };
    let scenario = (entry.build)(switches);
    let run = vivarium_sim::run(&scenario, run.seed, &options);
    let case = Case {
        version: Case::VERSION,
        scenario: scenario.name.clone(),
        grain: GrainKind::Ensemble,
        parameters: run.parameters,
        seed: Some(run.seed),
        bugs: Vec::new(),
        config: run.config,
        outside: Vec::new(),
        steps: run.recorded,
        hash: run.hash,
        violation: run.violation.map(|violation| violation.objection),
    };
    let again = replay(&scenario, &case, &options).expect("a sound case");
    let Case { scenario, steps, .. } = &case;
    assert!(
        again.same,
        "{scenario}, seed {:?}: {} of {}",
        run.seed,
        again.skipped.len(),
        steps.len()
    );
    again.report.violation.map(|violation| violation.objection)
}

fn assert_holds(entry: &Entry, seeds: Range<u64>) {
    if let Some(run) = find(entry, &Switches::default(), seeds) {
        let violation = run.violation.expect("it is a violation");
        panic!(
            "{} with everything repaired, seed {}: {}",
            entry.name, run.seed, violation.objection
        );
    }
}

/// Mutants that no sweep of some hundred seeds shows. `vivarium mutants` finds them by searches; it reports that
/// nothing finds `PersistentAdopts`, because the effects of that mutant repair themselves.
const SEARCHED: [&str; 7] = [
    "AdoptDeadSessionNode",
    "CacheChildBeforeParent",
    "GroupNoRecheckOnReconnect",
    "LateDeleteReusedName",
    "NoOwnerCheckOnGrant",
    "PersistentAdopts",
    "PersistentCloseWithoutSettle",
];

#[test]
fn every_defect_and_every_mutant_has_its_place() {
    for entry in catalogue() {
        let shown = |exhibit: &&Exhibit| exhibit.scenario == entry.name;
        let shown: BTreeSet<&str> = MUSEUM.iter().filter(shown).map(|each| each.switch).collect();
        for mutant in entry.mutants.iter().filter(|mutant| !SEARCHED.contains(&mutant.name)) {
            assert!(shown.contains(mutant.name), "{} of {} is missing", mutant.name, entry.name);
        }
    }
    let switches: BTreeSet<&str> = MUSEUM.iter().map(|exhibit| exhibit.switch).collect();
    // A server that is shut out by a leader that ignores its newer epoch recovers as soon as that leader falls, and
    // healing makes this likely: 4,000 seeds of `churn` did not show it. An ack that outlives a reconnect does harm
    // only if two crashes follow each other immediately. Searches show both (`sim/tests/servers.rs`). No monitor
    // states the rule that one of the planted deviations breaks. And differences of other releases are no defects:
    // the comparison with a real server shows them.
    let not_shown = [Bug::LeaderIgnoresNewerEpoch, Bug::AcksOutliveReconnect, Bug::PlantedCversion];
    let to_show = |bug: &Bug| !not_shown.contains(bug) && !Bug::OF_3_8_0.contains(bug);
    for bug in Bug::ALL.into_iter().filter(to_show) {
        assert!(switches.contains(bug.name()), "{bug} is missing");
    }
}

/// A search of servers alone refuses a defect that needs clients, and names a sweep that shows it.
#[test]
fn where_a_search_sends_its_user_a_defect_is_shown() {
    let clients = |bug: &Bug| {
        !Bug::AMONG_SERVERS.contains(bug)
            && !Bug::PLANTED_GUARDS.contains(bug)
            && !Bug::OF_3_8_0.contains(bug)
            && *bug != Bug::PlantedCversion
    };
    for bug in Bug::ALL.into_iter().filter(clients) {
        let arguments = ["explore", "broadcast", "--bug", bug.name()];
        let asked = Command::new(env!("CARGO_BIN_EXE_vivarium")).args(arguments).output();
        let said = String::from_utf8(asked.expect("it runs").stderr).expect("messages are text");
        let shows = |exhibit: &&Exhibit| {
            exhibit.switch == bug.name()
                && said.contains(&format!("sweep `{}` with it", exhibit.scenario))
        };
        assert!(MUSEUM.iter().any(|exhibit| shows(&exhibit)), "{bug}: {said}");
    }
}

#[test]
fn every_exhibit_is_found_and_the_repaired_version_holds_over_the_same_seeds() {
    let mut missed = Vec::new();
    for exhibit in MUSEUM {
        let Exhibit { scenario, switch, property, from, within } = *exhibit;
        let entry = entry(scenario);
        let names = [switch.to_string()];
        let switches = entry.switches(&names).expect("it is a switch of the scenario");
        let Some(run) = find(&entry, &switches, from..from + within) else {
            let seeds = format!("{from}..{}", from + within);
            missed.push(format!("{scenario} with {switch} held over seeds {seeds}"));
            continue;
        };
        let objection = run.violation.clone().expect("it is a violation").objection;
        if !objection.to_string().starts_with(property) {
            missed.push(format!("{scenario} with {switch}, seed {}: {objection}", run.seed));
        }
        // A run without progress is told by the states of all machines, a phantom with the difference of two trees, and
        // what a client machine should have done with two inputs of its program.
        let is_list =
            property == PROGRESS || property.starts_with("S5") || property.starts_with("H15");
        let missing = if is_list { Vec::new() } else { missing(&objection) };
        if !missing.is_empty() {
            let missing = missing.join(", ");
            missed.push(format!("{scenario} with {switch}, {objection}: {missing} not carried"));
        }
        let again = from_its_case(&entry, &switches, &run);
        if again.as_ref().map(|it| &it.property) != Some(&objection.property) {
            missed.push(format!("the case of {scenario} with {switch}, {objection}: {again:?}"));
        }
        assert_holds(&entry, from..run.seed + 1);
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn what_is_repaired_holds_where_head_does_not() {
    let churn = entry("churn");
    let head = Switches { bugs: Release::Head.bugs(), ..Switches::default() };
    let run = find(&churn, &head, 0..200).expect("HEAD breaks a promise within 200 seeds");
    assert_holds(&churn, 0..run.seed + 100);
    assert_holds(&entry("lock"), 0..300);
}

/// A SNAP is durable and covers the gap before it, until snapshots that are not durable replace it.
#[test]
fn a_gap_that_only_snapshots_cover_which_a_crash_can_take() {
    let churn = entry("churn");
    let bugs = [Bug::SnapKeepsOldLog, Bug::SnapshotAheadOfLog];
    let bugs = bugs.into_iter().fold(Release::Repaired.bugs(), |bugs, bug| bugs.with(bug));
    let switches = Switches { bugs, ..Switches::default() };
    let run = find(&churn, &switches, 0..50).expect("it shows in almost every second run");
    let saw = run.violation.expect("it is a violation").objection.to_string();
    assert!(saw.starts_with("S7 contiguous log: on the disk of server"), "{saw}");
}

/// A violation at the end of a run has other words in the replay of its recording: it is still the same run.
#[test]
fn a_run_that_ends_in_a_violation_is_the_same_from_its_recording() {
    let lock = entry("lock");
    let names = ["ExistsNullSleeps".to_string()];
    let switches = lock.switches(&names).expect("it is a switch of the lock");
    let first = find(&lock, &switches, 0..2_000).expect("it is found within 800 seeds elsewhere");
    let scenario = (lock.build)(&switches);
    let run = check_determinism(&scenario, first.seed, &[HostKind::Madsim, HostKind::Direct]);
    let run = run.unwrap_or_else(|difference| panic!("{difference}"));
    let saw = run.violation.expect("it is a violation").objection.to_string();
    assert!(saw.starts_with("progress"), "{saw}");
}

#[test]
fn a_server_that_refuses_to_start_is_named_with_its_reason() {
    let churn = entry("churn");
    let switches = Switches {
        bugs: Release::Repaired.bugs().with(Bug::RefuseNewerZxid),
        ..Switches::default()
    };
    let run = find(&churn, &switches, 70..70 + 1_000).expect("a server refuses to start");
    let saw = run.violation.expect("it is a violation").objection.to_string();
    let reason = "down, its process gave up because the current epoch is older than the last zxid";
    assert!(saw.starts_with("progress") && saw.contains(reason), "{saw}");
}
