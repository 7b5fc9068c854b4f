//! What monitors count and measure without judging it, for reports.

use crate::vocabulary::time::Duration;
use std::fmt;

/// Something counted or measured, with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// What: for people, such as `zombie overlaps`.
    pub name: &'static str,
    /// How much.
    pub value: Measured,
}

/// How much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// How often; of several runs the sum.
    Count(u64),
    /// The greatest number of something; of several runs the greatest.
    Most(u64),
    /// How long together; of several runs the sum.
    Total(Duration),
    /// The longest time of something; of several runs the longest.
    Longest(Duration),
}

impl Measure {
    /// How often.
    pub fn count(name: &'static str, count: u64) -> Measure {
        Measure { name, value: Measured::Count(count) }
    }

    /// The greatest number.
    pub fn most(name: &'static str, most: u64) -> Measure {
        Measure { name, value: Measured::Most(most) }
    }

    /// How long together.
    pub fn total(name: &'static str, total: Duration) -> Measure {
        Measure { name, value: Measured::Total(total) }
    }

    /// The longest time.
    pub fn longest(name: &'static str, longest: Duration) -> Measure {
        Measure { name, value: Measured::Longest(longest) }
    }

    /// Adds what was measured elsewhere: to the measure of the same name and kind, or as another one.
    pub fn add_all(sum: &mut Vec<Measure>, measures: &[Measure]) {
        for measure in measures {
            let same = |known: &&mut Measure| {
                known.name == measure.name && known.value.with(measure.value).is_some()
            };
            match sum.iter_mut().find(same) {
                Some(known) => known.value = known.value.with(measure.value).unwrap_or(known.value),
                None => sum.push(*measure),
            }
        }
    }
}

impl Measured {
    /// Both together; `None` where they are not of one kind.
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
