//! What a number may be, and the sentence where it may not: the same on the command line and in a test.

use crate::scenario::Choice;
use std::time::Duration;

/// The most servers of an ensemble that is swept.
pub const MOST_SERVERS: u32 = 63;

/// The most client machines of a run.
pub const MOST_CLIENTS: u32 = 255;

/// Refuses a number outside of its bounds, both included. `said` is what its user wrote: a flag with its
/// value, or a call.
///
/// ```
/// use vivarium_sim::bounds::within;
///
/// assert_eq!(within("clients(3)", 3, 1, 255), Ok(()));
/// assert_eq!(within("clients(0)", 0, 1, 255), Err("`clients(0)`: give at least 1".to_string()));
/// ```
///
/// # Errors
/// One sentence.
pub fn within(said: &str, number: u64, least: u64, most: u64) -> Result<(), String> {
    if number < least {
        return Err(format!("`{said}`: give at least {least}"));
    }
    if number > most {
        return Err(format!("`{said}` is too many: give at most {most}"));
    }
    Ok(())
}

/// Refuses no time at all, where something must have time.
///
/// # Errors
/// One sentence.
pub fn some_time(said: &str, time: Duration) -> Result<(), String> {
    match time.is_zero() {
        true => Err(format!("`{said}({time:?})`: give more than no time")),
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
    within(&said, high.into(), least.into(), most.into())
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
