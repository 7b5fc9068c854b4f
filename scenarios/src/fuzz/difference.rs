//! A difference between a search and the search that it is compared with.

use std::fmt;

/// A disagreement between searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The search, in words.
    pub search: String,
    /// How it differs from the search without reductions.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.search, self.what)
    }
}
