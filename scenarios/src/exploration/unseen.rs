//! Refuses defects that a search cannot find: its verdict "held" would be worthless.

use super::{Exploration, ExploreError, needs};
use vivarium_model::release::{Bug, Release};
use vivarium_model::words::plural;
use vivarium_reports::exploration::Dimension;
use vivarium_sim::budget::Account;
use vivarium_sim::{Explored, Scenario, Servers};

/// Checks that the search can find each of the servers' defects that are requested by name, and that there are servers
/// to have the defects of a release that is. (Which of these a search of servers is not known to show, its report says:
/// [`hidden`].)
///
/// # Errors
/// Fails with the first defect that the search cannot find.
pub(super) fn check(
    scenario: &Scenario,
    names: &[String],
    exploration: &Exploration,
) -> Result<(), ExploreError> {
    let why = |bug: Bug| match scenario.explored {
        Explored::Programs { .. } => {
            Some(format!("the service grain has no servers; {}", elsewhere(bug)))
        }
        Explored::Servers(smallest) => exploration.hides(bug, names, smallest),
        Explored::No(_) => None,
    };
    if let (Explored::Programs { .. }, Some(release)) =
        (&scenario.explored, names.iter().find(|name| Release::named(name).is_some()))
    {
        let why =
            "the service grain has no servers to have its defects; sweep it with that release";
        let scenario = scenario.name.clone();
        return Err(ExploreError::Unseen { bug: release.clone(), scenario, why: why.to_string() });
    }
    let named = Bug::ALL.into_iter().filter(|bug| names.iter().any(|name| name == bug.name()));
    let unseen = named.filter_map(|bug| Some((bug.name(), why(bug)?))).next();
    unseen.map_or(Ok(()), |(bug, why)| {
        Err(ExploreError::Unseen { bug: bug.to_string(), scenario: scenario.name.clone(), why })
    })
}

/// Returns the row of a report that names the scenario's defects which a search of servers is not known to show; `None`
/// if there are none.
pub(super) fn hidden(
    scenario: &Scenario,
    exploration: &Exploration,
    smallest: Servers,
) -> Option<Dimension> {
    let names: Vec<String> = scenario.bugs.iter().map(|bug| bug.name().to_string()).collect();
    let is_hidden = |bug: &Bug| exploration.hides(*bug, &names, smallest).is_some();
    let hidden: Vec<&str> = scenario.bugs.iter().filter(is_hidden).map(Bug::name).collect();
    (!hidden.is_empty()).then(|| {
        let (some, all) = (hidden.len(), plural(names.len(), "defect"));
        let list = hidden.join(", ");
        let says = format!("of {all}, {some} are not known to show in a search like this: {list}");
        Dimension::new("servers' defects", some < names.len(), says)
    })
}

/// Says what shows a defect of the servers, in place of a search of programs.
fn elsewhere(bug: Bug) -> &'static str {
    match bug {
        Bug::JoinerKeepsVote => {
            "explore `broadcast --servers 2 --reconfigs 1 --crashes 1` with that defect"
        }
        Bug::CounterWraps => "sweep `rollover` with that defect",
        Bug::UnloggedObserverVotes => "sweep `unlogged-observers` with that defect",
        bug if is_of_groups(bug) => "sweep `groups` with that defect",
        bug if is_among_servers(bug) => "sweep it with that defect, or explore `broadcast`",
        bug if Bug::OF_OBSERVERS.contains(&bug) => "sweep `observers` with that defect",
        bug if Bug::OF_OBSERVER_MASTERS.contains(&bug) => {
            "sweep `observer-masters` with that defect"
        }
        bug if Bug::OF_RECONFIGURATION.contains(&bug) => "sweep `reconfig` with that defect",
        _ => "sweep it with that defect",
    }
}

/// Returns true if the defect takes groups of servers, or a reconfiguration that changes several of them.
fn is_of_groups(bug: Bug) -> bool {
    matches!(bug, Bug::OldQuorumStillNeeded | Bug::PlantedNoWeightLeads)
}

/// Returns true if servers alone can show the defect.
fn is_among_servers(bug: Bug) -> bool {
    Bug::AMONG_SERVERS.contains(&bug) || Bug::PLANTED_GUARDS.contains(&bug)
}

/// Returns a scenario whose sweeps are known to show a defect that needs clients (`tests/sweeps/museum.rs`).
fn swept_in(bug: Bug) -> &'static str {
    match bug {
        Bug::AclByNumber
        | Bug::ContainerListIsOld
        | Bug::LongRecordUnreadable
        | Bug::OutstandingAclIsOld
        | Bug::PlantedContainersAtOnce
        | Bug::PlantedContainersStay
        | Bug::PlantedCreateAsksNoAcl
        | Bug::PlantedDeleteAcl
        | Bug::PlantedIdentitiesNotProvenAgain
        | Bug::PlantedIdentitiesReplaced
        | Bug::PlantedTtlSinceCreation
        | Bug::PlantedWholePathsTold => "access",
        Bug::PlantedHealthyHungUp
        | Bug::PlantedNewSessionsUnanswered
        | Bug::PlantedReadsWait
        | Bug::PlantedSlowPings
        | Bug::PlantedSyncForgotten
        | Bug::PlantedTimeoutTold => "calm",
        Bug::PlantedChildByCzxid
        | Bug::PlantedChildWatch
        | Bug::PlantedCloseOrder
        | Bug::PlantedDeletionMissesChildWatch
        | Bug::PlantedExistEvent
        | Bug::PlantedExistForgotten
        | Bug::PlantedLongerTimeout
        | Bug::PlantedVersion
        | Bug::RearmedByAge => "watches",
        Bug::PlantedScopeIgnored => "leader",
        _ => "churn",
    }
}

impl Exploration {
    /// Says, as a clause, why a search over servers with these bounds cannot find a defect or is not known to find
    /// it. Returns `None` if it finds the defect.
    fn hides(&self, bug: Bug, names: &[String], smallest: Servers) -> Option<String> {
        let ensemble = self.ensemble;
        let kind = match bug {
            Bug::PlantedLeaderNotCounted => {
                Some("every server comes back in it; sweep `churn` with it")
            }
            bug if Bug::OF_OBSERVER_MASTERS.contains(&bug) => {
                Some("no search has observer masters; sweep `observer-masters` with it")
            }
            Bug::UnloggedObserverVotes => {
                Some("every observer logs in it; sweep `unlogged-observers` with it")
            }
            bug if is_of_groups(bug) => {
                Some("it takes a change of several servers at once; sweep `groups` with it")
            }
            bug if Bug::OF_OBSERVERS.contains(&bug)
                && self.said(Account::Observers).unwrap_or(0) == 0 =>
            {
                Some("it takes observers; add `--observers 1`, or sweep `observers` with it")
            }
            Bug::JoinerKeepsVote if self.said(Account::Reconfigs).unwrap_or(0) == 0 => Some(
                "it takes a reconfiguration and a crash; add `--servers 2 --reconfigs 1 --crashes 1`",
            ),
            bug if Bug::OF_RECONFIGURATION.contains(&bug)
                && self.said(Account::Reconfigs).unwrap_or(0) == 0 =>
            {
                Some("it takes reconfigurations; add `--reconfigs 1`, or sweep `reconfig` with it")
            }
            Bug::PlantedInformedEarly
            | Bug::PlantedInformsForgotten
            | Bug::JoinerKeepsVote
            | Bug::PlantedOldQuorumEnough
            | Bug::PlantedNewLeaderOfOldQuorum => None,
            bug if Bug::OF_OBSERVERS.contains(&bug) => {
                Some("no search that ends is known to show it; sweep `observers` with it")
            }
            bug if Bug::OF_RECONFIGURATION.contains(&bug) => {
                Some("no search that ends is known to show it; sweep `reconfig` with it")
            }
            Bug::CounterWraps => {
                Some("no search exhausts the zxid counter; sweep `rollover` with it")
            }
            bug if Bug::REPAIRED_EARLY.contains(&bug) => {
                Some("no search that ends is known to show it; sweep `churn` with it")
            }
            bug if !is_among_servers(bug) => {
                let swept = swept_in(bug);
                return Some(format!(
                    "it takes clients, and here are servers alone; sweep `{swept}` with it"
                ));
            }
            bug if needs::takes_snapshots(bug)
                && ensemble.snap_count.is_none_or(|count| count > needs::MOST_SNAP_COUNT) =>
            {
                Some(
                    "it takes background snapshots after as few transactions as there can be; add `--snap-count 2`, or \
                     sweep `churn` or `lock` with it",
                )
            }
            // Those of older releases' synchronisations.
            bug if Bug::OF_SYNCHRONISATION.contains(&bug) => {
                Some("no search that ends is known to show it; sweep `churn` with it")
            }
            Bug::SnapKeepsOldLog | Bug::TruncUnsynced => {
                Some("no search that ends is known to show it; sweep `churn` with it")
            }
            Bug::GapsAreReplayed if names.len() == 1 => {
                Some("no log has a gap unless another defect leaves one; sweep `churn` with both")
            }
            Bug::TruncCutsCommitted | Bug::MissedWakeUp if ensemble.applies_at_once => {
                Some("to commit and to apply must be two steps; leave out `--coarse commit-apply`")
            }
            _ => None,
        };
        kind.map(str::to_string).or_else(|| {
            let (budget, election) =
                (self.budget_of_servers(smallest), ensemble.election_of(smallest));
            let flags = needs::missing(bug, budget, election)?;
            Some(format!("no search this small is known to show it; add `{flags}`"))
        })
    }
}
