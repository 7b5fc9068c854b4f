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
    TouchesForwarded, Touched, SyncRead, TakenForExpired, Unexpected, Activated, Designated, AtMaster, Mismatched, Sent, Replied, Lost, Session, Notified,
    Rearming, Authenticating, Authenticated, Rearmed, Observed, LearnsOfEnd, Started, Finished, Panicked, Killed,
    Paused, Resumed, Cancelled, ResourceWrite, Refused,
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

    /// The kinds of events that clients and their programs cause, as they see them.
    pub const OF_CLIENTS: Kinds = Kinds::of(&[
        EventKind::Mismatched,
        EventKind::Sent,
        EventKind::Replied,
        EventKind::Lost,
        EventKind::Refused,
        EventKind::Session,
        EventKind::Notified,
        EventKind::Rearming,
        EventKind::Authenticating,
        EventKind::Authenticated,
        EventKind::Rearmed,
        EventKind::Observed,
        EventKind::LearnsOfEnd,
        EventKind::Started,
        EventKind::Finished,
        EventKind::Panicked,
        EventKind::Killed,
        EventKind::Paused,
        EventKind::Resumed,
        EventKind::Cancelled,
        EventKind::ResourceWrite,
    ]);

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

    /// Returns true if the other set contains all kinds of this one.
    pub const fn is_within(self, other: Kinds) -> bool {
        self.0 & !other.0 == 0
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
        assert!(set.is_within(set) && set.is_within(Kinds::ALL) && Kinds::NONE.is_within(set));
        assert!(!set.is_within(Kinds::OF_CLIENTS) && !Kinds::ALL.is_within(set));
    }

    /// The events of clients are the rest, once those of servers are left out.
    #[test]
    fn each_kind_is_of_servers_or_of_clients() {
        let of_clients = |kind: &&EventKind| Kinds::OF_CLIENTS.contains(**kind);
        let first = EventKind::ALL.iter().position(|kind| *kind == EventKind::Mismatched);
        let clients: Vec<EventKind> = EventKind::ALL.iter().filter(of_clients).copied().collect();
        assert_eq!(clients, EventKind::ALL[first.expect("a kind")..]);
    }
}
