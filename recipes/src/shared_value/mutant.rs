//! The mutants of a shared value: those of its two halves.

use crate::{cache, counter};

/// The mutants of both halves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mutants {
    /// How it is written.
    pub writing: counter::Mutants,
    /// How it is followed.
    pub following: cache::Mutants,
}

impl Mutants {
    /// Those of these names; names of anything else are left out.
    pub fn of_names(names: &[&str]) -> Mutants {
        let writing = counter::Mutants::of_names(names);
        Mutants { writing, following: cache::Mutants::of_names(names) }
    }
}
