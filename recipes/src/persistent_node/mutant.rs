//! The mutants of the persistent node: published and likely mistakes as named switches, off by default (recipe rule 3.17).

use crate::mutants::named;

named! {
    /// A published or likely mistake of a persistent node: a named switch, off by default (recipe rule 3.17), which is
    /// checked at the one place in the recipe where the broken rule is implemented.
    pub enum Mutant ("mutant") {
        /// The keeper adopts a znode of another session (read in Curator's `PersistentNode`). Breaks no property that
        /// is checked: the keeper recreates the znode after that session has ended.
        PersistentAdopts =>
            "A znode that another session has left is taken for one's own, and vanishes with that \
             session (read in Curator's PersistentNode); no property is violated, since the keeper makes it anew then.",
        /// The znode is not created again after another client has deleted it. Breaks PN1.
        PersistentNotRecreated =>
            "The znode is not created again after another client has deleted it.",
        /// Data written by others is not restored (CURATOR-154, CURATOR-241). Breaks PN3.
        PersistentDataNotRestored =>
            "Data that another client has written is not restored (CURATOR-154, CURATOR-241).",
        /// A close looks for the znode without settling a create in flight. Breaks PN2.
        PersistentCloseWithoutSettle =>
            "A close looks for the znode and misses a create that is still pending, which then stays.",
    }
}

/// A set of the mutants of the persistent node.
pub type Mutants = crate::mutants::Mutants<Mutant>;
