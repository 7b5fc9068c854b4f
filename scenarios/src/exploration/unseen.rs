//! Defects that a search cannot come upon. It would say "held" of them, and that would say nothing.

use super::{Ensemble, Exploration, ExploreError};
use vivarium_model::release::Bug;
use vivarium_sim::{Explored, Scenario, Servers};

/// Whether the search can come upon each of the servers' defects that are asked for by name. (What a release has
/// is not asked for one by one: the report says what is left out.)
///
/// # Errors
/// The first that it cannot.
pub(super) fn check(
    scenario: &Scenario,
    names: &[String],
    exploration: &Exploration,
) -> Result<(), ExploreError> {
    let why = |bug: Bug| match scenario.explored {
        Explored::Programs { .. } if Bug::AMONG_SERVERS.contains(&bug) => Some(
            "the service grain has no servers; sweep it with that defect, or explore `broadcast`",
        ),
        Explored::Programs { .. } => {
            Some("the service grain has no servers; sweep it with that defect")
        }
        Explored::Servers(smallest) => exploration.ensemble.hides(bug, smallest),
        Explored::No(_) => None,
    };
    let named = Bug::ALL.into_iter().filter(|bug| names.iter().any(|name| name == bug.name()));
    let unseen = named.filter_map(|bug| Some((bug.name(), why(bug)?))).next();
    unseen.map_or(Ok(()), |(bug, why)| {
        Err(ExploreError::Unseen { bug, scenario: scenario.name.clone(), why })
    })
}

impl Ensemble {
    /// Why a search over servers with these bounds cannot come upon a defect, as a clause. `None` if it may: how
    /// much of each fault that takes is not asked here.
    fn hides(&self, bug: Bug, smallest: Servers) -> Option<&'static str> {
        if bug == Bug::PlantedLeaderNotCounted {
            return Some("every server comes back in it; sweep `churn` with it");
        }
        if !Bug::AMONG_SERVERS.contains(&bug) {
            return Some(
                "it takes clients, and here are servers alone; sweep `churn` or `lock` with it",
            );
        }
        if self.servers.unwrap_or(smallest.servers) == 1 {
            return Some("it takes a learner; add `--servers 3`");
        }
        // Epochs alone go wrong without a transaction; all else is about what a log holds.
        let of_epochs = matches!(bug, Bug::RefuseNewerZxid | Bug::LeaderIgnoresNewerEpoch);
        if self.txns.unwrap_or(smallest.txns) == 0 && !of_epochs {
            return Some("it takes a transaction; add `--txns 1`");
        }
        match bug {
            Bug::SnapshotAheadOfLog => {
                Some("it takes no background snapshots; sweep `churn` or `lock` with it")
            }
            Bug::TruncCutsCommitted | Bug::MissedWakeUp if self.applies_at_once => {
                Some("to commit and to apply must be two steps; leave out `--coarse commit-apply`")
            }
            Bug::FsyncErrorKeepsMemory | Bug::TornRecordHidesLog | Bug::FailedWriteComesLater
                if self.fsync_errors.unwrap_or(0) == 0 =>
            {
                Some("no fsync fails in it; add `--fsync-errors 1`")
            }
            _ => None,
        }
    }
}
