//! Parses seeds as users write them: numbers, and ranges of numbers.

use std::fmt;
use std::ops::Range;
use thiserror::Error;

/// The largest seed: ranges exclude their end, which must fit into 64 bits.
pub const MAX_SEED: u64 = u64::MAX - 1;

/// Why a text is no seed or no range of seeds, as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SeedError {
    /// The text is empty.
    #[error("{what} is empty: write a number, such as `42` or `0x2a`")]
    Nothing {
        /// The expected kind of text.
        what: &'static str,
    },
    /// The text is not a number.
    #[error("`{text}` is not a seed: write a number, such as `42` or `0x2a`")]
    NotANumber {
        /// The user's text.
        text: String,
    },
    /// The number is above [`MAX_SEED`].
    #[error("`{text}` is too large for a seed: the largest is {MAX_SEED}")]
    TooLarge {
        /// The user's text.
        text: String,
    },
    /// The range ends before it begins.
    #[error("the seed range `{text}` is reversed: did you mean `{end}..{start}`?")]
    Reversed {
        /// The user's text.
        text: String,
        /// The start of the range.
        start: u64,
        /// The end of the range.
        end: u64,
    },
    /// The range contains no seed.
    #[error(
        "the seed range `{text}` is empty, because its end is not part of it: \
         did you mean `{start}..{}`?", start.saturating_add(1)
    )]
    EmptyRange {
        /// The user's text.
        text: String,
        /// The start of the range, which is also its end.
        start: u64,
    },
    /// The count is 0.
    #[error("`{text}` seeds are none at all: run at least 1")]
    NoSeeds {
        /// The user's text.
        text: String,
    },
    /// The range lacks an end, or has too many.
    #[error("`{text}` is not a seed range: write a count, such as `1000`, or `A..B`")]
    NotARange {
        /// The user's text.
        text: String,
    },
}

/// Parses one seed: decimal, hexadecimal with `0x`, or a commit hash of 40 digits. The first 64 bits of a commit hash
/// are taken, so that a CI job can use its commit as the seed. Underscores may group digits.
///
/// # Errors
/// Fails if the text is no such number.
pub(crate) fn parse_seed(text: &str) -> Result<u64, SeedError> {
    let digits = text.trim().replace('_', "");
    if digits.is_empty() {
        return Err(SeedError::Nothing { what: "the seed" });
    }
    let all = |digits: &str, radix: u32| digits.chars().all(|digit| digit.is_digit(radix));
    let (digits, radix) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if digits.len() == 40 && all(&digits, 16) => (&digits[..16], 16),
        None => (digits.as_str(), 10),
    };
    if digits.is_empty() || !all(digits, radix) {
        return Err(SeedError::NotANumber { text: text.to_string() });
    }
    match u64::from_str_radix(digits, radix) {
        Ok(seed) if seed <= MAX_SEED => Ok(seed),
        _ => Err(SeedError::TooLarge { text: text.to_string() }),
    }
}

/// A range of seeds for a sweep; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedRange(Range<u64>);

impl SeedRange {
    /// Creates the range of the seeds from 0 up to `count`, exclusive.
    ///
    /// # Errors
    /// Fails if `count` is 0 or too large.
    pub fn count(count: u64) -> Result<SeedRange, SeedError> {
        match count {
            0 => Err(SeedError::NoSeeds { text: count.to_string() }),
            1..=MAX_SEED => Ok(SeedRange(0..count)),
            _ => Err(SeedError::TooLarge { text: count.to_string() }),
        }
    }

    /// Creates the range of one seed.
    ///
    /// # Panics
    /// Panics if the seed is above [`MAX_SEED`].
    pub fn only(seed: u64) -> SeedRange {
        assert!(seed <= MAX_SEED, "the largest seed is {MAX_SEED}");
        SeedRange(seed..seed + 1)
    }

    /// Returns a range as one of seeds, or `None` if it is empty.
    pub(crate) fn of(range: Range<u64>) -> Option<SeedRange> {
        (!range.is_empty()).then_some(SeedRange(range))
    }

    /// Parses a count (`1000`: seeds 0 to 999) or a range (`1000..2000`, its end excluded).
    ///
    /// # Errors
    /// Fails if the text is neither, or if the range contains no seed.
    pub fn parse(text: &str) -> Result<SeedRange, SeedError> {
        let own = || text.to_string();
        if text.trim().is_empty() {
            return Err(SeedError::Nothing { what: "the seed range" });
        }
        let Some((start, end)) = text.split_once("..") else {
            return match parse_seed(text)? {
                0 => Err(SeedError::NoSeeds { text: own() }),
                count => SeedRange::count(count),
            };
        };
        if start.trim().is_empty() || end.trim().is_empty() || end.contains(['.', '=']) {
            return Err(SeedError::NotARange { text: own() });
        }
        let (start, end) = (parse_seed(start)?, parse_seed(end)?);
        match start.cmp(&end) {
            std::cmp::Ordering::Less => Ok(SeedRange(start..end)),
            std::cmp::Ordering::Equal => Err(SeedError::EmptyRange { text: own(), start }),
            std::cmp::Ordering::Greater => Err(SeedError::Reversed { text: own(), start, end }),
        }
    }

    /// Returns the seeds.
    pub fn range(&self) -> Range<u64> {
        self.0.clone()
    }

    /// Returns the number of seeds.
    pub fn len(&self) -> u64 {
        self.0.end - self.0.start
    }

    /// Always false: there is at least one seed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for SeedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.0.start, self.0.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        SeedRange::parse(text).expect_err("it should be refused").to_string()
    }

    #[test]
    fn seeds_in_every_notation() {
        assert_eq!(parse_seed("42"), Ok(42));
        assert_eq!(parse_seed("0x2A"), Ok(42));
        assert_eq!(parse_seed(" 1_000 "), Ok(1_000));
        assert_eq!(parse_seed("18446744073709551614"), Ok(MAX_SEED));
        let commit = "00000000000000ffdeadbeefdeadbeefdeadbeef";
        assert_eq!(parse_seed(commit), Ok(255));
    }

    #[test]
    fn what_is_no_seed() {
        let refused = |text| parse_seed(text).expect_err("it should be refused").to_string();
        let no_seed = "is not a seed: write a number, such as `42` or `0x2a`";
        assert_eq!(refused(""), "the seed is empty: write a number, such as `42` or `0x2a`");
        for text in ["x", "0x", "-5", "+5", "1.5", "0xg", "4 2", "ff"] {
            assert_eq!(refused(text), format!("`{text}` {no_seed}"));
        }
        let large = "is too large for a seed: the largest is 18446744073709551614";
        for text in ["18446744073709551615", "0x10000000000000000"] {
            assert_eq!(refused(text), format!("`{text}` {large}"));
        }
    }

    #[test]
    fn counts_and_ranges() {
        assert_eq!(SeedRange::parse("3").map(|seeds| seeds.range()), Ok(0..3));
        assert_eq!(SeedRange::parse("3..0x10").map(|seeds| seeds.range()), Ok(3..16));
        assert_eq!(SeedRange::parse("0..1").map(|seeds| seeds.len()), Ok(1));
        assert_eq!(SeedRange::only(7).range(), 7..8);
        assert_eq!(SeedRange::only(MAX_SEED).len(), 1);
        assert_eq!(SeedRange::count(7).map(|seeds| seeds.range()), Ok(0..7));
    }

    #[test]
    fn what_is_no_range() {
        let empty = "the seed range is empty: write a number, such as `42` or `0x2a`";
        assert_eq!(refused(" "), empty);
        assert_eq!(refused("0"), "`0` seeds are none at all: run at least 1");
        let none = SeedRange::count(0).map_err(|error| error.to_string());
        assert_eq!(none.expect_err("none"), refused("0"));
        assert!(SeedRange::count(u64::MAX).is_err());
        assert_eq!(
            refused("5..5"),
            "the seed range `5..5` is empty, because its end is not part of it: \
             did you mean `5..6`?"
        );
        assert_eq!(refused("9..3"), "the seed range `9..3` is reversed: did you mean `3..9`?");
        for text in ["..", "1..", "..9", "1...9", "1..=9", "1..2..3"] {
            let sentence = "is not a seed range: write a count, such as `1000`, or `A..B`";
            assert_eq!(refused(text), format!("`{text}` {sentence}"));
        }
        assert!(refused("1..many").starts_with("`many` is not a seed"));
    }
}
