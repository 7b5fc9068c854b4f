//! Checks the bounds of numbers, with the same error message on the command line and in a test. The bounds of the
//! numbers of servers and clients are in [`vivarium_model::bounds`].

use crate::scenario::Choice;
use std::time::Duration;
use thiserror::Error;

/// A number out of bounds. `said` is what the user wrote.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum OutOfBounds {
    /// It is too small.
    #[error("`{said}`: give at least {least}")]
    TooFew {
        said: String,
        /// The smallest valid number.
        least: u64,
    },
    /// The number is too large.
    #[error("`{said}` is too many: give at most {most}")]
    TooMany {
        said: String,
        /// The largest valid number.
        most: u64,
    },
    /// The duration is zero where it must be positive.
    #[error("`{said}({time:?})`: give more than no time")]
    NoTime { said: String, time: Duration },
}

impl From<OutOfBounds> for String {
    fn from(error: OutOfBounds) -> String {
        error.to_string()
    }
}

/// Checks that a number is within its bounds, both included. `said` is what the user wrote: a flag with its value, or a
/// call.
///
/// ```
/// use vivarium_sim::bounds::within;
///
/// assert_eq!(within("clients(3)", 3, 1, 255), Ok(()));
/// let refused = within("clients(0)", 0, 1, 255).unwrap_err();
/// assert_eq!(refused.to_string(), "`clients(0)`: give at least 1");
/// ```
///
/// # Errors
/// Fails if the number is out of bounds.
pub fn within(said: &str, number: u64, least: u64, most: u64) -> Result<(), OutOfBounds> {
    let said = || said.to_string();
    if number < least {
        return Err(OutOfBounds::TooFew { said: said(), least });
    }
    if number > most {
        return Err(OutOfBounds::TooMany { said: said(), most });
    }
    Ok(())
}

/// Checks that a duration is positive.
///
/// # Errors
/// Fails if the duration is zero.
pub fn some_time(said: &str, time: Duration) -> Result<(), OutOfBounds> {
    match time.is_zero() {
        true => Err(OutOfBounds::NoTime { said: said.to_string(), time }),
        false => Ok(()),
    }
}

/// Checks that every number that a seed could pick is within these bounds.
///
/// # Errors
/// Returns one sentence about the first number out of bounds.
pub(crate) fn choice(name: &str, choice: &Choice, least: u32, most: u32) -> Result<(), String> {
    let Some((low, high)) = choice.range() else {
        return Err(format!("`{name}` has no number to pick: give at least one"));
    };
    let said = format!("{name}({choice})");
    within(&said, low.into(), least.into(), most.into())?;
    Ok(within(&said, high.into(), least.into(), most.into())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_that_a_seed_could_pick_is_within() {
        let refused = |choice| super::choice("clients", &choice, 1, 255).expect_err("refused");
        assert_eq!(refused(Choice::from(0)), "`clients(0)`: give at least 1");
        assert_eq!(refused(Choice::from(0..=3)), "`clients(0..=3)`: give at least 1");
        assert_eq!(refused(Choice::Between(3, 0)), "`clients(3..=0)`: give at least 1");
        let too_many = "`clients(1..=300)` is too many: give at most 255";
        assert_eq!(refused(Choice::from(1..=300)), too_many);
        assert_eq!(refused(Choice::OneOf(vec![3, 0])), "`clients(3 or 0)`: give at least 1");
        let nothing = "`clients` has no number to pick: give at least one";
        assert_eq!(refused(Choice::OneOf(Vec::new())), nothing);
        assert_eq!(super::choice("clients", &Choice::from(1..=255), 1, 255), Ok(()));
    }
}
