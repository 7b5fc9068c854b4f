//! Counts and times that monitors measure for reports, without judging them.

use crate::vocabulary::time::Duration;
use std::borrow::Cow;
use std::fmt;

/// A count or a time, with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// The name for people, such as `zombie overlaps`. A measure that was read from a report owns its name.
    pub name: Cow<'static, str>,
    /// The measured value.
    pub value: Measured,
}

/// A measured value, and how the values of several runs are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// A number of occurrences; several runs are added.
    Count(u64),
    /// A greatest number; the greatest of several runs counts.
    Most(u64),
    /// A total time; several runs are added.
    Total(Duration),
    /// A longest time; the longest of several runs counts.
    Longest(Duration),
}

impl Measure {
    /// Returns a number of occurrences.
    pub fn count(name: &'static str, count: u64) -> Measure {
        Measure { name: name.into(), value: Measured::Count(count) }
    }

    /// Returns a greatest number.
    pub fn most(name: &'static str, most: u64) -> Measure {
        Measure { name: name.into(), value: Measured::Most(most) }
    }

    /// Returns a total time.
    pub fn total(name: &'static str, total: Duration) -> Measure {
        Measure { name: name.into(), value: Measured::Total(total) }
    }

    /// Returns a longest time.
    pub fn longest(name: &'static str, longest: Duration) -> Measure {
        Measure { name: name.into(), value: Measured::Longest(longest) }
    }

    /// Merges each measure into the one in `sum` with the same name and kind, or appends it if there is none.
    pub fn add_all(sum: &mut Vec<Measure>, measures: &[Measure]) {
        for measure in measures {
            let same = |known: &&mut Measure| {
                known.name == measure.name && known.value.with(measure.value).is_some()
            };
            match sum.iter_mut().find(same) {
                Some(known) => known.value = known.value.with(measure.value).unwrap_or(known.value),
                None => sum.push(measure.clone()),
            }
        }
    }
}

impl Measured {
    /// Returns the combined value of two runs, or `None` if the kinds differ.
    fn with(self, other: Measured) -> Option<Measured> {
        Some(match (self, other) {
            (Measured::Count(one), Measured::Count(two)) => {
                Measured::Count(one.saturating_add(two))
            }
            (Measured::Most(one), Measured::Most(two)) => Measured::Most(one.max(two)),
            (Measured::Total(one), Measured::Total(two)) => Measured::Total(one + two),
            (Measured::Longest(one), Measured::Longest(two)) => Measured::Longest(one.max(two)),
            _ => return None,
        })
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measured::Count(number) | Measured::Most(number) => number.fmt(f),
            Measured::Total(span) | Measured::Longest(span) => write!(f, "{span:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_of_several_runs_come_to_one_by_name_and_kind() {
        let span = Duration::from_millis;
        let mut sum = Vec::new();
        for (number, time) in [(2, 30), (5, 10), (3, 20)] {
            let of_run = [
                Measure::count("a", number),
                Measure::most("a", number),
                Measure::total("b", span(time)),
                Measure::longest("b", span(time)),
            ];
            Measure::add_all(&mut sum, &of_run);
        }
        let expected = [
            Measure::count("a", 10),
            Measure::most("a", 5),
            Measure::total("b", span(60)),
            Measure::longest("b", span(30)),
        ];
        assert_eq!(sum, expected);
    }
}
