//! Sets of defects.

use super::Bug;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// A set of [`Bug`]s. Its serialised form is the list of names, so records stay valid when bugs are added.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Bugs(u128);

const _: () = assert!(Bug::ALL.len() <= u128::BITS as usize, "a bit for each bug");

impl Bugs {
    /// No bug: every rule in its repaired form.
    pub const NONE: Bugs = Bugs(0);

    /// Returns this set with one more bug.
    pub fn with(self, bug: Bug) -> Bugs {
        Bugs(self.0 | 1 << bug as u32)
    }

    /// Returns this set without one bug.
    #[must_use]
    pub fn without(self, bug: Bug) -> Bugs {
        Bugs(self.0 & !(1 << bug as u32))
    }

    /// Returns the bugs of either set.
    #[must_use]
    pub fn and(self, others: Bugs) -> Bugs {
        Bugs(self.0 | others.0)
    }

    /// Returns true if the set contains `bug`.
    pub fn has(self, bug: Bug) -> bool {
        self.0 & (1 << bug as u32) != 0
    }

    /// The bugs of the set, in the order of [`Bug::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Bug> {
        Bug::ALL.into_iter().filter(move |bug| self.has(*bug))
    }
}

impl FromIterator<Bug> for Bugs {
    fn from_iter<I: IntoIterator<Item = Bug>>(bugs: I) -> Bugs {
        bugs.into_iter().fold(Bugs::NONE, Bugs::with)
    }
}

impl fmt::Debug for Bugs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for Bugs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Bugs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bugs, D::Error> {
        Vec::<Bug>::deserialize(deserializer).map(Bugs::from_iter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_written_down_by_name() {
        for bug in Bug::ALL {
            let set = Bugs::NONE.with(bug);
            let json = serde_json::to_string(&set).expect("a list");
            assert_eq!(json, format!("[\"{bug}\"]"));
            assert_eq!(serde_json::from_str::<Bugs>(&json).expect("the same"), set);
        }
        let all: Bugs = Bug::ALL.into_iter().collect();
        let json = serde_json::to_string(&all).expect("a list");
        assert_eq!(serde_json::from_str::<Bugs>(&json).expect("the same"), all);
        assert_eq!(serde_json::to_string(&Bugs::NONE).expect("a list"), "[]");
        assert!(serde_json::from_str::<Bugs>(r#"["NoSuchBug"]"#).is_err());
        assert!(serde_json::from_str::<Bugs>("4").is_err(), "positions mean nothing");
    }
}
