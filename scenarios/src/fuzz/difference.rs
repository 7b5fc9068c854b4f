//! A difference between a search and the search that it is compared with, or what a search is expected to find.

use std::fmt;
use vivarium_sim::every::Ending;

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

/// The results of the plain searches, which the search engine must reproduce.
pub(super) struct Expected<'a> {
    /// Whether something was withheld.
    pub(super) withheld: bool,
    /// Distinct states.
    pub(super) states: u64,
    /// A violation, if there is one.
    pub(super) bad: Option<&'a String>,
    /// Returns true for the violations of the plain searches.
    pub(super) is_known: &'a dyn Fn(&str) -> bool,
}

/// Returns how the ending of a search differs from what is expected.
pub(super) fn differs_from<A>(expected: &Expected<'_>, ending: Ending<A>) -> Option<String> {
    let Expected { withheld, states: counted, bad, is_known } = *expected;
    Some(match (ending, bad) {
        (Ending::Exhausted { states, .. }, None) if !withheld && states == counted => return None,
        (Ending::Bounded { states, .. }, None) if withheld && states == counted => return None,
        (Ending::Violated(found), _) => {
            let objection = found.objection.to_string();
            if is_known(&objection) {
                return None;
            }
            format!("violated by `{objection}`, which cannot be")
        }
        (Ending::Exhausted { states, .. } | Ending::Bounded { states, .. }, None) => {
            format!("{states} states, and {counted} when they were counted in turn")
        }
        (_, Some(bad)) => format!("not violated, though there is `{bad}`"),
    })
}
