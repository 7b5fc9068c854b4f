//! The kinds of events, and sets of kinds.

use crate::vocabulary::event::Event;

macro_rules! kinds {
    ($($kind:ident),* $(,)?) => {
        /// The kind of an [`Event`]: its variant without the fields.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "the variants of Event say what they are")]
        #[repr(u8)]
        pub enum EventKind {
            $($kind),*
        }

        impl EventKind {
            /// Every kind.
            pub const ALL: &[EventKind] = &[$(EventKind::$kind),*];
        }

        impl Event {
            /// Returns the kind of the event.
            pub fn kind(&self) -> EventKind {
                match self {
                    $(Event::$kind { .. } => EventKind::$kind),*
                }
            }
        }
    };
}

kinds! {
    Elected, LeftRole, Followed, Established, Synchronising, AcksStalled, Proposed, Committed, Applied, Serving,
    Acked, AckedNewLeader, SnapshotTruncated, EpochUndone, Crashed, Restarted, Exited, Heard, Reattached,
    TouchesForwarded, Touched, SyncRead, TakenForExpired, Mismatched, Sent, Replied, Lost, Session, Notified,
    Rearming, Authenticating, Authenticated, Rearmed, Observed, LearnsOfEnd, Started, Finished, Panicked, Killed,
    Paused, Resumed, Cancelled, ResourceWrite,
}

/// A set of kinds of events, with one bit for each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kinds(u64);

const _: () = assert!(EventKind::ALL.len() <= 64, "a set of kinds has a bit for each");

impl Kinds {
    /// The empty set.
    pub const NONE: Kinds = Kinds(0);

    /// The set of all kinds.
    pub const ALL: Kinds = Kinds::of(EventKind::ALL);

    /// Returns the set of these kinds.
    pub const fn of(kinds: &[EventKind]) -> Kinds {
        let mut set = Kinds::NONE;
        let mut at = 0;
        while at < kinds.len() {
            set = set.and(Kinds(1 << kinds[at] as u8));
            at += 1;
        }
        set
    }

    /// Returns the union of two sets.
    #[must_use]
    pub const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Returns true if the set contains this kind.
    pub const fn contains(self, kind: EventKind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_kinds_that_were_put_into_it() {
        let set = Kinds::of(&[EventKind::Elected, EventKind::ResourceWrite]);
        for kind in EventKind::ALL {
            let is_in = matches!(kind, EventKind::Elected | EventKind::ResourceWrite);
            assert_eq!(set.contains(*kind), is_in, "{kind:?}");
            assert!(Kinds::ALL.contains(*kind) && !Kinds::NONE.contains(*kind));
        }
    }
}
