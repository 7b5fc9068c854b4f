//! What others have published about finding the same defects with model checkers.

use serde::Serialize;
use vivarium_model::release::Bug;

/// The effort until a model checker has found a defect: the first violation of a breadth-first search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Published {
    /// The defect.
    #[serde(skip)]
    pub bug: Bug,
    /// The time in seconds, on the machine of the source.
    pub seconds: u32,
    /// The distinct states.
    pub states: u64,
    /// The length of the violating run, in actions of the source's specification.
    pub depth: u32,
    /// The work that reports the numbers.
    pub source: &'static str,
}

/// TLC with 16 workers on two processors EPYC 7642; three servers.
const REMIX: &str = "Ouyang et al., Multi-Grained Specifications, EuroSys 2025, table 4";

/// TLC on six cores of 3.0 GHz; three servers, two transactions, four crashes, four partitions.
const TEST_SPECIFICATION: &str = "TLA+ test specifications of ZooKeeper, Disalg-ICS-NJU";

const fn row(bug: Bug, seconds: u32, depth: u32, states: u64, source: &'static str) -> Published {
    Published { bug, seconds, states, depth, source }
}

/// The published efforts.
pub const PUBLISHED: &[Published] = &[
    row(Bug::DiffAckedUnlogged, 42, 14, 286_286, TEST_SPECIFICATION),
    row(Bug::TailNotApplied, 12, 10, 6_347, TEST_SPECIFICATION),
    row(Bug::EpochBeforeLog, 17, 21, 208_018, REMIX),
    row(Bug::NewLeaderAckedBeforeFsync, 109, 21, 2_880_498, REMIX),
    row(Bug::ProposalsAckedFirst, 10, 12, 67_418, REMIX),
    row(Bug::PendingClearedAtNewLeader, 9, 20, 14_264, REMIX),
    row(Bug::LogThreadOutlivesRole, 11, 13, 73_293, REMIX),
];
