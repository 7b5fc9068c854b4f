//! The mutants of a shared value: those of the counter and of the cache that it consists of.

use crate::{cache, counter};

/// The mutants of writing and following.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mutants {
    /// The mutants of writing.
    pub writing: counter::Mutants,
    /// The mutants of following.
    pub following: cache::Mutants,
}

impl Mutants {
    /// Parses the mutants of these names; ignores unknown names.
    pub fn of_names(names: &[&str]) -> Mutants {
        let writing = counter::Mutants::of_names(names);
        Mutants { writing, following: cache::Mutants::of_names(names) }
    }
}
