//! The counter's mutants: published mistakes as named switches, off by default (recipe rule 3.4).
//!
//! Each switch is checked at exactly one place in the recipe, where the broken rule is implemented.

use crate::mutants::named;

named! {
    /// A published mistake of a counter.
    pub enum Mutant ("mutant") {
        /// A write whose reply was lost and whose version has changed is treated as another client's success, and the
        /// sum is computed again from the new value (Curator `DistributedAtomicLong`, kazoo `Counter`). Breaks C1.
        NonIdempotentCas =>
            "A write whose reply was lost is made anew over its own result, so that it counts \
             twice (Curator DistributedAtomicLong, kazoo Counter).",
        /// A conditional write that was applied and whose reply was lost is reported as refused (Curator
        /// `SharedCount.trySetCount`). Breaks C1.
        CasFalseNegative =>
            "A conditional write that was applied is reported as refused, since its copy finds \
             the version gone (Curator SharedCount.trySetCount).",
        /// Writes with any version, and so overwrites what others have added since the read (a plain lost update, like
        /// a `setData` with -1). Breaks C1.
        NoVersion =>
            "Writes without a version, over what others have added since it read \
             (a lost update).",
    }
}

/// A set of the counter's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
