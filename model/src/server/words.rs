//! The text of a server's disk operations.

use super::Writing;
use std::fmt::{self, Display};

/// Formats what was written, as the object of a sentence.
impl Display for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Writing::LeadSnapshot => "a snapshot, before it leads",
            Writing::AcceptedEpoch => "acceptedEpoch",
            Writing::CurrentEpochTmp => "currentEpoch.tmp",
            Writing::CurrentEpoch => "currentEpoch (renamed from currentEpoch.tmp)",
            Writing::SyncSnapshot => "a snapshot of the synchronisation",
            Writing::SyncAppend => "a transaction of the synchronisation to its log",
            Writing::SyncFsync => "the synchronisation's transactions through to the disk (fsync)",
        })
    }
}
