//! All searches over servers give the same answer, and a mistake planted in a reduction is found.

use vivarium::fuzz::servers::{Budget, Case, Election, Flaw, TxnLogSync, Watched, compare, fuzz};
use vivarium::fuzz::{Compared, MOST_STATES};
use vivarium_model::file_system::Metadata;
use vivarium_model::release::Bug;

const STATES: usize = 600;

#[test]
fn all_searches_come_to_the_same() {
    let fuzzed = fuzz(1, 0..60, None, STATES, &|_| true);
    let told = fuzzed.difference.map(|(number, case, what)| format!("{number}: {what}\n{case}"));
    assert_eq!(told, None);
    assert!(fuzzed.compared > 10, "only {} cases were small enough", fuzzed.compared);
}

#[test]
fn planted_mistakes_are_found() {
    let soon = [
        Flaw::LeaderWritesThoughCrashing,
        Flaw::LeaderEpochThoughActivating,
        Flaw::PacketsThoughLeaving,
        Flaw::ProposalAtOnce,
        Flaw::FollowersPacketsAreLost,
    ];
    for flaw in soon {
        let fuzzed = fuzz(1, 0..100, Some(flaw), 3_000, &|_| true);
        assert!(fuzzed.difference.is_some(), "{flaw:?}");
    }
}

fn case(budget: Budget, watched: Watched) -> Case {
    let (bugs, snap_count) = (Vec::new(), None);
    let txn_log_sync = TxnLogSync::default();
    let commit_log_count = 500;
    Case {
        budget,
        election: Election::Oracle,
        bugs,
        snap_count,
        metadata: Metadata::Unordered,
        commit_log_count,
        txn_log_sync,
        watched,
    }
}

/// Asserts that all searches agree, and that they would not with this mistake.
fn needs(case: &Case, flaw: Flaw) {
    let agree = compare(case, None, MOST_STATES, 0);
    assert!(matches!(agree, Compared::Agree { .. }), "{agree:?}");
    let differ = compare(case, Some(flaw), MOST_STATES, 0);
    assert!(matches!(differ, Compared::Differ(_)), "{flaw:?}: {differ:?}");
}

/// A transaction that is committed by an acknowledgement from before a reconnection is durable only at the leader
/// until the follower has fsynced it; a property that counts disks can tell when.
#[test]
fn what_is_not_committed_becomes_durable_late() {
    let budget = Budget { servers: 2, txns: 1, timeouts: 1, ..Budget::default() };
    let bugs = vec![Bug::AcksOutliveReconnect];
    let case = Case { bugs, ..case(budget, Watched::States) };
    needs(&case, Flaw::DurableThoughUncommitted);
}

/// A learner that has crashed and registers again is synchronised with what its leader has applied by then.
#[test]
fn a_leader_may_apply_late_while_learners_can_register() {
    let bugs = vec![Bug::TruncCutsCommitted];
    let crash = Budget { servers: 2, txns: 1, crashes: 1, ..Budget::default() };
    needs(&Case { bugs, ..case(crash, Watched::States) }, Flaw::AppliesThoughRegistering);
}

/// A transaction that the first fsync committed is committed before later proposals become durable.
#[test]
fn an_fsync_may_come_before_the_next_append() {
    let budget = Budget { servers: 1, txns: 3, ..Budget::default() };
    needs(&case(budget, Watched::Commits), Flaw::AppendsThoughUnsynced);
}

/// A leader whose follower is gone, or a learner that would leave its role, writes first: no other order has to be
/// tried.
#[test]
fn nobody_leaves_a_role_with_a_write_under_way() {
    for (breaks, timeouts) in [(1, 0), (0, 1)] {
        let budget = Budget { servers: 2, txns: timeouts, breaks, timeouts, ..Budget::default() };
        let agree = compare(&case(budget, Watched::States), None, MOST_STATES, 0);
        assert!(matches!(agree, Compared::Agree { .. }), "{agree:?}");
    }
}

/// A leader forgets which servers it has counted on its way; otherwise equal states would differ.
#[test]
fn who_was_counted_first_makes_no_difference() {
    let budget = Budget { servers: 3, ..Budget::default() };
    let agree = compare(&case(budget, Watched::States), None, MOST_STATES, 0);
    assert!(matches!(agree, Compared::Agree { .. }), "{agree:?}");
}

/// The buffer's rest of a failed write precedes a transaction that was proposed without it, or with it: the zxids on
/// the two disks are equal, but the transactions are not, so the disks differ.
#[test]
fn transactions_of_one_zxid_that_say_different_things_are_two() {
    let budget = Budget { servers: 1, txns: 2, crashes: 2, fsync_errors: 1, ..Budget::default() };
    let bugs = vec![Bug::FailedWriteComesLater];
    let txn_log_sync = TxnLogSync::UpTo { percent: 33 };
    let case = Case { bugs, txn_log_sync, ..case(budget, Watched::States) };
    let agree = compare(&case, None, MOST_STATES, 718);
    assert!(matches!(agree, Compared::Agree { .. }), "{agree:?}");
}

/// A search that finds a violation after a crash does not restart the server: no start is compared.
#[test]
fn nothing_starts_behind_a_crash_that_is_objected_to() {
    let budget = Budget { servers: 1, txns: 2, crashes: 1, fsync_errors: 2, ..Budget::default() };
    let bugs = vec![Bug::FsyncErrorKeepsMemory, Bug::FailedWriteComesLater];
    let txn_log_sync = TxnLogSync::UpTo { percent: 33 };
    let case = Case { bugs, txn_log_sync, ..case(budget, Watched::States) };
    let agree = compare(&case, None, MOST_STATES, 2861);
    assert!(matches!(agree, Compared::Agree { .. }), "{agree:?}");
}

/// A background snapshot begins with an append, and its name is the last zxid applied by then.
#[test]
fn an_append_that_begins_a_snapshot_has_an_order() {
    let budget = Budget { servers: 1, txns: 3, ..Budget::default() };
    let case = Case { snap_count: Some(2), ..case(budget, Watched::States) };
    needs(&case, Flaw::AppendsThoughSnapshotDue);
}

/// A transaction that is applied before a background snapshot begins counts in its name.
#[test]
fn what_is_committed_is_applied_late_where_a_snapshot_can_begin() {
    let budget = Budget { servers: 2, txns: 2, ..Budget::default() };
    let case = Case { snap_count: Some(2), ..case(budget, Watched::Order) };
    needs(&case, Flaw::AppliesThoughSnapshots);
}

/// A snapshot that outlives its role contains what is applied by then.
#[test]
fn searches_come_to_the_same_where_a_snapshot_outlives_its_role() {
    let budget = Budget { servers: 2, txns: 2, timeouts: 1, ..Budget::default() };
    let bugs = vec![Bug::SnapshotOutlivesRole];
    let case = Case { bugs, snap_count: Some(2), ..case(budget, Watched::States) };
    let agree = compare(&case, None, 2 * MOST_STATES, 0);
    assert!(matches!(agree, Compared::Agree { .. }), "{agree:?}");
}
