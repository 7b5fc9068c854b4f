//! What a number may be, and the sentence where it may not: the same on the command line and in a test. How
//! many servers and clients there may be is said in [`vivarium_model::bounds`].

use crate::scenario::Choice;
use std::time::Duration;
use thiserror::Error;

/// A number makes no sense. `said` is what its user wrote.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum OutOfBounds {
    /// It is too small.
    #[error("`{said}`: give at least {least}")]
    TooFew {
        /// A flag with its value, or a call.
        said: String,
        /// The smallest that makes sense.
        least: u64,
    },
    /// It is too large.
    #[error("`{said}` is too many: give at most {most}")]
    TooMany {
        /// A flag with its value, or a call.
        said: String,
        /// The largest that is taken.
        most: u64,
    },
    /// It is no time at all, where something must have time.
    #[error("`{said}({time:?})`: give more than no time")]
    NoTime {
        said: String,
        /// What it was given.
        time: Duration,
    },
}

impl From<OutOfBounds> for String {
    fn from(error: OutOfBounds) -> String {
        error.to_string()
    }
}

/// Refuses a number outside of its bounds, both included. `said` is what its user wrote: a flag with its
/// value, or a call.
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
/// It is outside.
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

/// Refuses no time at all, where something must have time.
///
/// # Errors
/// It is no time.
pub fn some_time(said: &str, time: Duration) -> Result<(), OutOfBounds> {
    match time.is_zero() {
        true => Err(OutOfBounds::NoTime { said: said.to_string(), time }),
        false => Ok(()),
    }
}

/// Refuses a choice of numbers if a seed could pick one outside of these bounds.
///
/// # Errors
/// One sentence.
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
