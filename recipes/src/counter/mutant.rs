//! The counter's mutants: published mistakes as named switches, off by default (recipe rule 3.4).
//!
//! Each is asked for at exactly one place in the recipe, where the rule that it breaks is kept.

use crate::mutants::named;

named! {
    /// A published mistake of a counter.
    pub enum Mutant ("mutant") {
        /// A write whose reply was lost and whose version is gone is taken for somebody else's success, and
        /// the sum is made anew over it (Curator `DistributedAtomicLong`, kazoo `Counter`). Breaks C1.
        NonIdempotentCas =>
            "A write whose reply was lost is made anew over its own result, so that it counts \
             twice (Curator DistributedAtomicLong, kazoo Counter).",
        /// A conditional write that was applied and whose reply was lost is reported as refused (Curator
        /// `SharedCount.trySetCount`). Breaks C1.
        CasFalseNegative =>
            "A conditional write that was applied is reported as refused, since its copy finds \
             the version gone (Curator SharedCount.trySetCount).",
        /// Writes whatever the version is, and so over what others have added since the read (the plain
        /// lost update, as in a `setData` with -1). Breaks C1.
        NoVersion =>
            "Writes without a version, over what others have added since it read \
             (a lost update).",
    }
}

/// A set of the counter's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;
