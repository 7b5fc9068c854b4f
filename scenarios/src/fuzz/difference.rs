//! Where a search and what it is compared with differ.

use std::fmt;

/// Something that searches do not agree about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which search, in words.
    pub search: String,
    /// What it says otherwise than the search without reductions.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.search, self.what)
    }
}
