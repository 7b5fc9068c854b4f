//! The mutants of group membership: published and likely mistakes as named switches, off by default (recipe rule 3.21).
//!
//! Each switch is checked at exactly one place in the recipe, where the broken rule is implemented.

use crate::mutants::named;

named! {
    /// A published or likely mistake of a group membership.
    pub enum Mutant ("mutant") {
        /// A member adopts a znode of the same id that belongs to another session, and the znode vanishes with that
        /// session (read in Curator's `PersistentNode`; zkconfig #26). Breaks GM1.
        GroupAdoptsOtherSession =>
            "A znode that an earlier session has left is taken for one's own, and vanishes with that \
             session (zkconfig #26).",
        /// A member whose session has ended continues in the next one without a znode (read in kazoo's `Party`). Breaks
        /// GM2.
        GroupDoesNotRejoin =>
            "A member whose session has ended does not join again in the next one (read in kazoo's Party).",
        /// A viewer adds itself to its view, even if it is no member (read in Curator's `GroupMember`). Breaks GM3.
        GroupInsertsItself =>
            "A member's view holds itself, whether it is there or not (read in Curator's GroupMember).",
        /// A cancelled attempt to join leaves its znode behind. Breaks GM4.
        GroupLeakOnCancel =>
            "A cancelled attempt to join does not delete its znode (as CURATOR-79 for locks).",
        /// The watch is lost with the connection, and set again without reading what has changed (CURATOR-311, kazoo
        /// #29). Breaks GM5.
        GroupNoRecheckOnReconnect =>
            "After a lost connection the view is not read again, only watched again (CURATOR-311, \
             kazoo #29).",
    }
}

/// A set of the mutants of group membership.
pub type Mutants = crate::mutants::Mutants<Mutant>;
