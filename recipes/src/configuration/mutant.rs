//! The mutants of configuration: published and likely mistakes as named switches, off by default (recipe rule 3.21).
//!
//! Each switch is checked at exactly one place in the recipe, where the broken rule is implemented.

use crate::mutants::named;

named! {
    /// A published or likely mistake of a configuration's subscribers.
    pub enum Mutant ("mutant") {
        /// Values are distinguished by their versions (CURATOR-391). Breaks CF3.
        ConfigVersionNotMzxid =>
            "A value is taken for old by its version, which begins again when the znode is made anew \
             (CURATOR-391).",
        /// The watch is lost with the connection, and set again without reading what has changed (CURATOR-311, kazoo
        /// #29). Breaks CF3.
        ConfigNoRecheckOnReconnect =>
            "After a lost connection the value is not read again, only watched again (CURATOR-311, \
             kazoo #29).",
        /// A changed value is read before it is watched. Breaks CF3.
        ConfigWatchAfterRead =>
            "A changed value is read first and watched afterwards: a change in between is never delivered.",
    }
}

/// A set of the mutants of configuration.
pub type Mutants = crate::mutants::Mutants<Mutant>;
