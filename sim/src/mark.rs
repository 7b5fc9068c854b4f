//! Placeholder until the model's own marks are merged.
#![allow(missing_docs)]
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    Crash,
    PowerLoss,
    Rejoin,
    ClientReset,
    LearnerReset,
    Partition,
    OneWayPartition,
    DelayBurst,
    DiskStall,
    SessionExpiry,
    ProgramCrash,
    Pause,
    Cancel,
    LostReplyApplied,
    LostReplyNeverApplied,
    LostReplyPending,
}

impl FaultKind {
    pub const ALL: [FaultKind; 16] = [
        FaultKind::Crash,
        FaultKind::PowerLoss,
        FaultKind::Rejoin,
        FaultKind::ClientReset,
        FaultKind::LearnerReset,
        FaultKind::Partition,
        FaultKind::OneWayPartition,
        FaultKind::DelayBurst,
        FaultKind::DiskStall,
        FaultKind::SessionExpiry,
        FaultKind::ProgramCrash,
        FaultKind::Pause,
        FaultKind::Cancel,
        FaultKind::LostReplyApplied,
        FaultKind::LostReplyNeverApplied,
        FaultKind::LostReplyPending,
    ];
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    SyncedByDiff,
}
