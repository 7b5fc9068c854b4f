//! The museum: known defects of ZooKeeper's servers and wrong versions of recipes, each with the seeds or the search
//! that show it. `vivarium museum` prints it, `vivarium museum --check` and the tests go through all of it: what cannot
//! fail proves nothing.
//!
//! Rare defects take one run in a thousand to show, which is too much for a check. So each sweep begins at a seed that
//! is known to show the defect, and normally ends there. When the model changes, runs change too: then the sweep
//! continues for as long as it takes, up to a bound of at least five times the mean distance between two violating seeds
//! (measured over 20,000 seeds of `churn`). It is slower then, and a new first seed makes it fast again.
//!
//! [`page()`] says of each release what its defects can lose: from the table of releases, `losses`, the findings and
//! `harmed`.

mod exhibits;
mod harmed;
mod losses;
mod page;
mod published;
mod show;

pub use exhibits::MUSEUM;
pub use harmed::{HARMED, Harm};
pub use page::page;
pub use published::{PUBLISHED, Published};
pub use show::{Budget, Missed, Shown, show};

use crate::exploration::Exploration;
use std::fmt;
use vivarium_model::release::{Bug, CHANGES, Change};

/// One exhibit: the mistake, the violated property, and how it is found.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// The scenario.
    pub scenario: &'static str,
    /// The switch of the mistake: a defect of the servers, or a mutant of the scenario.
    pub switch: &'static str,
    /// The beginning of the violated property's name.
    pub property: &'static str,
    /// The engine, and what it may spend.
    pub by: By,
}

/// The engine that finds an exhibit, and what it may spend.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// A sweep.
    Sweep {
        /// A seed that is known to show the mistake.
        from: u64,
        /// The number of seeds within which the mistake must show.
        within: u64,
    },
    /// A search.
    Search {
        /// The budget of faults.
        budget: fn(Exploration) -> Exploration,
    },
}

impl Exhibit {
    /// Returns the defect of the servers; `None` for a mutant of a recipe.
    pub fn bug(&self) -> Option<Bug> {
        Bug::ALL.into_iter().find(|bug| bug.name() == self.switch)
    }

    /// Returns which releases have the defect; `None` if none has it.
    pub fn change(&self) -> Option<&'static Change> {
        let bug = self.bug()?;
        CHANGES.iter().find(|change| change.bug == bug)
    }

    /// Returns what others have published about finding the defect.
    pub fn published(&self) -> Option<&'static Published> {
        let bug = self.bug()?;
        PUBLISHED.iter().find(|published| published.bug == bug)
    }

    /// Returns the command that shows it again: the replay of this seed, or the search.
    pub fn again(&self, seed: Option<u64>) -> String {
        let Exhibit { scenario, switch, .. } = self;
        match (self.by, seed) {
            (By::Search { budget }, _) => {
                let flags = budget(Exploration::new()).flags();
                format!("vivarium explore {scenario} {flags} --bug {switch}")
            }
            (By::Sweep { .. }, Some(seed)) => {
                format!("vivarium replay {scenario} --seed {seed} --bug {switch}")
            }
            (By::Sweep { from, within }, None) => {
                let to = from + within;
                format!("vivarium run {scenario} --seeds {from}..{to} --bug {switch}")
            }
        }
    }

    /// Returns true if this is the name of its switch, or the number of its issue (`4643` or `ZOOKEEPER-4643`).
    pub fn is_named(&self, name: &str) -> bool {
        let number = name.strip_prefix("ZOOKEEPER-").unwrap_or(name).parse().ok();
        let tracker = self.change().and_then(|change| change.tracker);
        self.switch == name || number.is_some() && number == tracker
    }
}

impl By {
    /// Returns the name of the engine.
    pub fn engine(&self) -> &'static str {
        match self {
            By::Sweep { .. } => "sweep",
            By::Search { .. } => "search",
        }
    }
}

impl fmt::Display for Exhibit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {}", self.scenario, self.switch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exhibit_is_named_by_its_switch_or_its_issue() {
        let of = |name: &str| MUSEUM.iter().filter(|it| it.is_named(name)).collect::<Vec<_>>();
        for name in ["EpochBeforeLog", "4643", "ZOOKEEPER-4643"] {
            let [exhibit] = of(name)[..] else { panic!("{name} is one exhibit") };
            assert_eq!(exhibit.switch, "EpochBeforeLog");
        }
        assert_eq!(of("NoGuid").len(), 1);
        assert!(of("").is_empty() && of("NoGid").is_empty() && of("1").is_empty());
    }

    #[test]
    fn what_others_have_published_is_of_an_exhibit() {
        for published in PUBLISHED {
            let shown = MUSEUM.iter().any(|it| it.bug() == Some(published.bug));
            assert!(shown, "{}", published.bug);
        }
    }
}
