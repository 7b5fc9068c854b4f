//! Defects that a search cannot come upon. It would say "held" of them, and that would say nothing.

use super::{Ensemble, Exploration, ExploreError};
use vivarium_model::release::Bug;
use vivarium_sim::{Explored, Scenario};

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
        Explored::Programs { .. } => Some(
            "the service grain has no servers, and so none of their defects; sweep it with that, or explore \
             `broadcast`",
        ),
        Explored::Servers(_) => exploration.ensemble.hides(bug),
        Explored::No(_) => None,
    };
    let named = Bug::ALL.into_iter().filter(|bug| names.iter().any(|name| name == bug.name()));
    let unseen = named.filter_map(|bug| Some((bug.name(), why(bug)?))).next();
    unseen.map_or(Ok(()), |(bug, why)| {
        Err(ExploreError::Unseen { bug, scenario: scenario.name.clone(), why })
    })
}

impl Ensemble {
    /// Why a search over servers with these bounds cannot come upon a defect, as a clause; `None` if it can.
    fn hides(&self, bug: Bug) -> Option<&'static str> {
        if bug == Bug::PlantedLeaderNotCounted {
            return Some("every server comes back in it; sweep `churn` with it");
        }
        if !Bug::AMONG_SERVERS.contains(&bug) {
            return Some(
                "it takes clients, and here are servers alone; sweep `churn` or `lock` with it",
            );
        }
        match bug {
            Bug::SnapshotAheadOfLog => {
                Some("it takes no background snapshots; sweep `churn` or `lock` with it")
            }
            Bug::TruncCutsCommitted if self.applies_at_once => {
                Some("to commit and to apply must be two steps; leave out `--coarse commit-apply`")
            }
            Bug::FsyncErrorKeepsMemory if self.fsync_errors.unwrap_or(0) == 0 => {
                Some("no fsync fails in it; add `--fsync-errors 1`")
            }
            _ => None,
        }
    }
}
