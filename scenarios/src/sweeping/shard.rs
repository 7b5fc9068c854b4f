//! Parts of a range of seeds, for several processes or machines.

use super::seeds::SeedRange;
use std::ops::Range;
use thiserror::Error;
use vivarium_reports::summary::{self, ScenarioReport};

/// Why a text is no shard, as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ShardError {
    /// The text is not two numbers.
    #[error("`{0}` is not a shard: write e.g. `3/8` for the third of eight")]
    NotAShard(String),
    /// There are no parts.
    #[error("`{0}` divides the seeds into no parts: write e.g. `3/8` for the third of eight")]
    NoParts(String),
    /// The number is not one of the parts.
    #[error("`{text}` is not among {count} shards: they have the numbers 1 to {count}")]
    Outside {
        /// The user's text.
        text: String,
        /// The number of shards.
        count: u64,
    },
}

/// One of several parts of a range of seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// The part's number, from 1 to `count`.
    index: u64,
    count: u64,
}

impl Shard {
    /// Parses `i/n`.
    ///
    /// # Errors
    /// Fails unless 1 <= i <= n.
    pub(crate) fn parse(text: &str) -> Result<Shard, ShardError> {
        let own = || text.to_string();
        let number = |digits: &str| digits.trim().parse::<u64>().ok();
        let parts = text.split_once('/');
        let parts = parts.and_then(|(index, count)| Some((number(index)?, number(count)?)));
        match parts {
            None => Err(ShardError::NotAShard(own())),
            Some((_, 0)) => Err(ShardError::NoParts(own())),
            Some((index, count)) if (1..=count).contains(&index) => Ok(Shard { index, count }),
            Some((_, count)) => Err(ShardError::Outside { text: own(), count }),
        }
    }

    /// Returns true for the first part, which also does what is to be done once.
    pub(crate) fn is_first(self) -> bool {
        self.index == 1
    }

    /// Returns the seeds of this part. All parts together have each seed of the range once, in their order, and their
    /// lengths differ by at most 1. A part is empty if there are more parts than seeds.
    pub(crate) fn part(self, whole: &SeedRange) -> Range<u64> {
        let (length, longer) = (whole.len() / self.count, whole.len() % self.count);
        // The first parts have one seed more. Neither sum exceeds the length of the range.
        let before = |parts: u64| parts * length + parts.min(longer);
        let first = whole.range().start;
        first + before(self.index - 1)..first + before(self.index)
    }

    /// Returns this shard of the range, for a report.
    pub(crate) fn of(self, whole: &SeedRange) -> summary::Shard {
        let Shard { index, count } = self;
        summary::Shard { index, count, first_seed: whole.range().start, seeds: whole.len() }
    }

    /// Makes the report on a sweep of `part(whole)` the report of this shard. It is not judged by marks, because other
    /// shards may reach them.
    pub(crate) fn stamp(self, whole: &SeedRange, report: &mut ScenarioReport) {
        let part = self.part(whole);
        report.first_seed = part.start;
        report.asked = part.end - part.start;
        report.shard = Some(self.of(whole));
        report.judge();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(first: u64, length: u64) -> SeedRange {
        SeedRange::parse(&format!("{first}..{}", first + length)).expect("it is not empty")
    }

    fn parts(whole: &SeedRange, count: u64) -> Vec<Range<u64>> {
        (1..=count).map(|index| Shard { index, count }.part(whole)).collect()
    }

    #[test]
    fn shards_as_users_write_them() {
        assert_eq!(Shard::parse("3/8"), Ok(Shard { index: 3, count: 8 }));
        assert_eq!(Shard::parse(" 1 / 1 "), Ok(Shard { index: 1, count: 1 }));
        let refused = |text: &str| Shard::parse(text).expect_err("it is no shard").to_string();
        assert_eq!(refused("0/8"), "`0/8` is not among 8 shards: they have the numbers 1 to 8");
        assert_eq!(refused("9/8"), "`9/8` is not among 8 shards: they have the numbers 1 to 8");
        let sentence =
            "`1/0` divides the seeds into no parts: write e.g. `3/8` for the third of eight";
        assert_eq!(refused("1/0"), sentence);
        for text in ["", "/", "3", "3/", "/8", "-1/8", "a/b", "1/2/3", "99999999999999999999/8"] {
            let sentence =
                format!("`{text}` is not a shard: write e.g. `3/8` for the third of eight");
            assert_eq!(refused(text), sentence);
        }
    }

    #[test]
    fn with_more_shards_than_seeds_the_last_are_empty() {
        assert_eq!(parts(&range(7, 2), 4), [7..8, 8..9, 9..9, 9..9]);
        let last = Shard { index: u64::MAX, count: u64::MAX };
        assert_eq!(last.part(&range(0, u64::MAX - 1)), u64::MAX - 1..u64::MAX - 1);
    }

    proptest! {
        #[test]
        fn shards_are_disjoint_and_cover_the_range(
            first in 0..u64::MAX / 2, length in 1..u64::MAX / 4, count in 1..300_u64,
        ) {
            for length in [length, length % 500 + 1] {
                let whole = range(first, length);
                let parts = parts(&whole, count);
                prop_assert_eq!(parts[0].start, whole.range().start);
                prop_assert_eq!(parts[parts.len() - 1].end, whole.range().end);
                prop_assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
                let lengths: Vec<u64> = parts.iter().map(|part| part.end - part.start).collect();
                prop_assert!(lengths[0] - lengths[lengths.len() - 1] <= 1);
            }
        }
    }
}
