//! The budgets that a search over servers needs to find a defect, found by experiment.
//!
//! Each row has the least budgets that are known to suffice. With one of them, or more, the search finds the defect
//! (the tests below); with one fault, transaction or server less, a search has visited all of its states and found
//! nothing. So a search with less than all of these budgets is refused: its "held" would be worthless.

use vivarium_model::config::Election;
use vivarium_model::release::Bug;
use vivarium_sim::budget::Account;
use vivarium_sim::budget::servers::Budget;

/// The least budgets that show a defect.
struct Needs {
    bug: Bug,
    /// The budgets that suffice for every kind of election. If several are equally near, the message names the first.
    least: &'static [Budget],
    /// Further budgets that suffice if any member of a quorum can be elected ([`Election::Any`]).
    if_any: &'static [Budget],
}

const fn of(servers: u8, txns: u8) -> Budget {
    Budget::new(servers, txns, 0)
}

#[rustfmt::skip]
const NEEDS: &[Needs] = &[
    row(Bug::RefuseNewerZxid, &[of(3, 0).crashes(1)]),
    row(Bug::TruncKeepsNewerSnapshot, &[of(3, 1).timeouts(2), of(3, 1).timeouts(1).crashes(1), of(3, 1).breaks(1).crashes(1), of(3, 1).timeouts(1).breaks(1)]),
    row(Bug::TruncKeepsRecordBeyond, &[of(2, 1).crashes(1), of(2, 1).breaks(1), of(2, 1).timeouts(1), of(2, 1).fsync_errors(1)]),
    row(Bug::InterruptedTruncKeepsTree, &[of(3, 1).breaks(2), of(3, 1).breaks(1).crashes(1), of(3, 1).crashes(2), of(3, 1).timeouts(1).crashes(1), of(3, 1).timeouts(1).breaks(1), of(3, 1).timeouts(2), of(3, 1).crashes(1).fsync_errors(1), of(3, 1).breaks(1).fsync_errors(1), of(3, 1).timeouts(1).fsync_errors(1)]),
    row(Bug::TruncSnapshotUnsynced, &[of(3, 1).crashes(1), of(3, 1).breaks(1), of(3, 1).timeouts(1), of(3, 1).fsync_errors(1)]),
    row(Bug::LeaderIgnoresNewerEpoch, &[of(3, 0).timeouts(2), of(3, 0).crashes(2), of(3, 0).breaks(2), of(3, 0).breaks(1).crashes(1), of(3, 0).timeouts(1).crashes(1), of(3, 0).timeouts(1).breaks(1), of(3, 1).crashes(1).fsync_errors(1), of(3, 1).breaks(1).fsync_errors(1), of(3, 1).timeouts(1).fsync_errors(1)]),
    row(Bug::AcksOutliveReconnect, &[of(2, 1).crashes(1), of(2, 1).breaks(1), of(2, 1).timeouts(1), of(2, 2).fsync_errors(1)]),
    row(Bug::FsyncErrorKeepsMemory, &[of(3, 1).fsync_errors(1), of(2, 2).crashes(1).fsync_errors(1), of(2, 2).breaks(1).fsync_errors(1), of(2, 2).timeouts(1).fsync_errors(1)]),
    row(Bug::TornRecordHidesLog, &[of(1, 2).fsync_errors(1), of(3, 1).fsync_errors(1), of(2, 1).crashes(1).fsync_errors(1), of(2, 1).breaks(1).fsync_errors(1), of(2, 1).timeouts(1).fsync_errors(1)]),
    row(Bug::FailedWriteComesLater, &[of(1, 2).fsync_errors(1)]),
    row(Bug::TruncCutsCommitted, &[of(2, 1).crashes(1), of(2, 1).breaks(1), of(2, 1).timeouts(1), of(2, 2).fsync_errors(1)]),
    row(Bug::SnapshotAheadOfLog, &[of(3, 3)]),
    row(Bug::SnapshotWrittenInPlace, &[of(1, 1)]),
    row(Bug::FirstSnapshotUnsynced, &[of(1, 1).crashes(1)]),
    row(Bug::SnapshotOutlivesRole, &[of(2, 2).timeouts(1), of(2, 2).breaks(1), of(3, 2).crashes(1), of(3, 2).fsync_errors(1)]),
    row(Bug::RenameUnsynced, &[of(1, 0).crashes(1)]),
    row(Bug::MissedWakeUp, &[of(2, 1)]),
    row(Bug::EpochFileNotCompleted, &[of(3, 1).crashes(1)]),
    row(Bug::PlantedInformedEarly, &[of(1, 1).observers(1)]),
    row(Bug::PlantedInformsForgotten, &[of(1, 1).observers(1)]),
    row(Bug::JoinerKeepsVote, &[of(2, 0).reconfigs(1).crashes(1)]),
    row(Bug::PlantedOldQuorumEnough, &[of(2, 0).reconfigs(1)]),
    row(Bug::PlantedNewLeaderOfOldQuorum, &[of(2, 0).reconfigs(1).crashes(1)]),
    guard(Bug::PlantedEpochWithoutQuorum, UPSET_OF_THREE),
    guard(Bug::PlantedAheadCounts, UPSET_OF_THREE),
    guard(Bug::PlantedHastyEpoch, UPSET_OF_THREE),
    row(Bug::PlantedAckedTwice, &[of(4, 0).breaks(1), of(4, 0).timeouts(1), of(4, 0).crashes(1)]),
];

/// One fault that leaves a write on too few servers, and one election of a server that lacks it.
const UPSET_OF_THREE: &[Budget] = &[
    of(3, 1).crashes(1).upsets(1),
    of(3, 1).breaks(1).upsets(1),
    of(3, 1).timeouts(1).upsets(1),
    of(3, 1).fsync_errors(1).upsets(1),
];

const fn row(bug: Bug, least: &'static [Budget]) -> Needs {
    Needs { bug, least, if_any: &[] }
}

const fn guard(bug: Bug, if_any: &'static [Budget]) -> Needs {
    Needs { bug, least: &[], if_any }
}

impl Needs {
    fn of(bug: Bug) -> Option<&'static Needs> {
        NEEDS.iter().find(|needs| needs.bug == bug)
    }

    fn with(&self, election: Election) -> impl Iterator<Item = &'static Budget> {
        let if_any = if election == Election::Any { self.if_any } else { &[] };
        self.least.iter().chain(if_any)
    }
}

/// The largest snapCount for which the budgets of the defects with background snapshots are known to suffice:
/// ZooKeeper's least value, or one more, whose half is the same.
pub(super) const MOST_SNAP_COUNT: u32 = 3;

/// Returns true if a defect shows only if servers take background snapshots.
pub(super) fn takes_snapshots(bug: Bug) -> bool {
    matches!(bug, Bug::SnapshotAheadOfLog | Bug::SnapshotOutlivesRole)
}

/// Returns the flags that must be added to a search with this budget and these elections before it is known to find a
/// defect. Returns `None` if the budget suffices, or if nothing is known about the defect.
pub(super) fn missing(bug: Bug, budget: Budget, election: Election) -> Option<String> {
    // A search with the code's elections does not end, and so does not report "held".
    if election == Election::Fast {
        return None;
    }
    let needs = Needs::of(bug)?;
    if needs.with(election).any(|least| lacks(budget, *least).is_empty()) {
        return None;
    }
    let nearest = |found: Election| {
        let all = needs.with(found).map(|least| lacks(budget, *least));
        all.min_by_key(|flags| flags.iter().map(|(_, has, needed)| needed - has).sum::<u8>())
    };
    let (election, flags) = match nearest(election) {
        Some(flags) => ("", flags),
        None => ("--election any ", nearest(Election::Any).expect("there is a way to find it")),
    };
    // One upset is the default if any server can be elected.
    let is_usual = |account: Account, needed: u8| {
        !election.is_empty() && account == Account::Upsets && needed == account.usual()
    };
    let flags = flags.iter().filter(|(account, _, needed)| !is_usual(*account, *needed));
    let flag = |(account, _, needed): &(Account, u8, u8)| format!("{} {needed}", account.flag());
    let flags: Vec<String> = flags.map(flag).collect();
    Some(format!("{election}{}", flags.join(" ")).trim_end().to_string())
}

/// Returns the accounts that are too small: the account, its number, and the number that is needed.
fn lacks(budget: Budget, least: Budget) -> Vec<(Account, u8, u8)> {
    let each = least.each().map(|(account, needed)| (account, budget[account], needed));
    each.filter(|(_, has, needed)| has < needed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::config::Config;
    use vivarium_model::property;
    use vivarium_model::release::Bugs;
    use vivarium_sim::every::servers::EnsembleModel;
    use vivarium_sim::every::{Ending, Options, Silent, Strategy, search};

    /// Returns each row's budgets, with the elections that they are for.
    fn all() -> impl Iterator<Item = (&'static Needs, Budget, Election)> {
        NEEDS.iter().flat_map(|needs| {
            let least = needs.least.iter().map(move |least| (needs, *least, Election::Oracle));
            least.chain(needs.if_any.iter().map(move |least| (needs, *least, Election::Any)))
        })
    }

    /// Returns each budget with one less of an account, and the account's flag.
    fn lesser(budget: Budget) -> impl Iterator<Item = (String, Budget)> {
        Budget::ACCOUNTS.into_iter().filter_map(move |account| {
            let mut less = budget;
            less[account] = less[account].checked_sub(1)?;
            (less.servers > 0).then_some((account.flag(), less))
        })
    }

    fn is_found(bug: Bug, budget: Budget, election: Election) -> bool {
        let mut config = Config::new(budget.servers, 0);
        config.bugs = Bugs::NONE.with(bug);
        if takes_snapshots(bug) {
            config.snap_count = MOST_SNAP_COUNT;
        }
        let monitors = property::servers();
        let model = EnsembleModel::new(config, budget, election, true, monitors);
        match search(&model, &Options::new(Strategy::BreadthFirst), &Silent).ending {
            Ending::Violated(_) => true,
            Ending::Exhausted { .. } => false,
            ending => panic!("{bug} with {budget:?}: {ending:?}"),
        }
    }

    #[test]
    fn every_defect_among_servers_has_a_row_or_a_reason() {
        for bug in Bug::AMONG_SERVERS.into_iter().chain(Bug::PLANTED_GUARDS) {
            // No budget shows these, or none that a search is known to complete.
            let is_refused =
                matches!(bug, Bug::GapsAreReplayed | Bug::SnapKeepsOldLog | Bug::TruncUnsynced)
                    || Bug::OF_SYNCHRONISATION.contains(&bug);
            assert_eq!(Needs::of(bug).is_some(), !is_refused, "{bug}");
        }
    }

    #[test]
    fn with_less_the_flags_are_named_and_with_that_much_nothing_is_missing() {
        for (needs, least, election) in all() {
            let bug = needs.bug;
            assert_eq!(missing(bug, least, election), None, "{bug} with {least:?}");
            for (flag, less) in lesser(least) {
                let enough = |other: &Budget| lacks(less, *other).is_empty();
                if needs.with(election).any(enough) {
                    panic!("{bug}: {least:?} is more than it takes");
                }
                let flags = missing(bug, less, election).expect("it is less than it takes");
                let is_named = flags.contains(&flag) || needs.with(election).count() > 1;
                assert!(is_named && flags.starts_with("--"), "{bug} without a {flag}: {flags}");
            }
        }
        let three = of(3, 1).crashes(1).upsets(1);
        let oracle = |bug, budget| missing(bug, budget, Election::Oracle);
        assert_eq!(
            oracle(Bug::PlantedAheadCounts, of(3, 1).crashes(1)).as_deref(),
            Some("--election any")
        );
        let sentence =
            missing(Bug::PlantedAheadCounts, Budget { upsets: 0, ..three }, Election::Any);
        assert_eq!(sentence.as_deref(), Some("--upsets 1"));
        let two = oracle(Bug::TornRecordHidesLog, of(3, 0).crashes(1));
        assert_eq!(two.as_deref(), Some("--txns 1 --fsync-errors 1"));
    }

    /// These searches take hundreds of thousands of states: `.ci/run` runs them with the release build.
    const LONG: [Bug; 4] = [
        Bug::TruncKeepsNewerSnapshot,
        Bug::InterruptedTruncKeepsTree,
        Bug::SnapshotAheadOfLog,
        Bug::JoinerKeepsVote,
    ];

    #[test]
    fn with_exactly_that_much_it_is_found() {
        assert_found(|bug| !LONG.contains(&bug));
    }

    #[test]
    #[ignore = "up to eleven million states: .ci/run does these searches with the release build"]
    fn with_exactly_that_much_the_rest_is_found() {
        assert_found(|bug| LONG.contains(&bug));
    }

    /// Tries one budget for each defect: the others are similar.
    fn assert_found(of: impl Fn(Bug) -> bool) {
        for needs in NEEDS.iter().filter(|needs| of(needs.bug)) {
            let oracle = needs.least.first().map(|least| (least, Election::Oracle));
            let any = needs.if_any.first().map(|least| (least, Election::Any));
            let (least, election) = oracle.or(any).expect("there is a way to find it");
            assert!(is_found(needs.bug, *least, election), "{} with {least:?}", needs.bug);
        }
    }

    #[test]
    fn with_less_a_search_of_one_or_two_servers_finds_nothing() {
        for (needs, least, election) in all().filter(|(_, least, _)| least.servers <= 2) {
            assert!(is_found(needs.bug, least, election), "{} with {least:?}", needs.bug);
            for (flag, less) in lesser(least) {
                let found = is_found(needs.bug, less, election);
                assert!(!found, "{} with {least:?}, one less of {flag}", needs.bug);
            }
        }
    }
}
