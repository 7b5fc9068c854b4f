//! The frequency of a kind of fault.

use super::Fault;
use crate::random::Ratio;
use crate::scenario::bounds::within;

/// The most turns in a run, a fault every 20 milliseconds; a higher number is an error.
const MOST_TURNS: u64 = 1_000;

/// The frequency of a kind of fault: the share of the seeds that have it, and how often it strikes in each of those.
///
/// Whatever a rate does not specify has its default. A number that is invalid for its kind is refused before a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    share: Option<Ratio>,
    often: Often,
}

/// How often a fault strikes in a seed that has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Often {
    /// Each seed draws the frequency.
    #[default]
    Drawn,
    /// The average number of turns in a run.
    Turns(u32),
    /// The fault strikes once in this many opportunities, on average.
    OneIn(u32),
    /// Each seed draws the frequency, and the fault strikes this many times as often.
    Times(u32),
}

impl Rate {
    /// The default: the usual share of the seeds, with a frequency that each of them draws.
    pub(crate) const USUAL: Rate = Rate { share: None, often: Often::Drawn };

    /// Every seed has the fault.
    pub const ALWAYS: Rate = Rate::in_seeds(1, 1);

    /// A share of `times` in `of` seeds has the fault, on average.
    #[must_use]
    pub const fn in_seeds(times: u32, of: u32) -> Rate {
        Rate { share: Some(Ratio { times, of }), often: Often::Drawn }
    }

    /// Sets the average number of turns over the whole time of faults. For kinds that strike at random times, such as
    /// [`Fault::Crash`] or [`Fault::SessionExpiry`].
    #[must_use]
    pub const fn turns(mut self, turns: u32) -> Rate {
        self.often = Often::Turns(turns);
        self
    }

    /// Makes the fault strike once in this many opportunities, on average. For kinds that wait for an event: a lost
    /// reply for a write, [`Fault::SyncCrash`] for a synchronisation, [`Fault::ElectionCrash`] for an election,
    /// [`Fault::LoneLeader`] for a proposal.
    #[must_use]
    pub const fn one_in(mut self, of: u32) -> Rate {
        self.often = Often::OneIn(of);
        self
    }

    /// Makes the fault strike this many times as often as the seed draws. A rate that says how often it strikes is left as
    /// it is.
    #[must_use]
    pub const fn times(mut self, times: u32) -> Rate {
        if let Often::Drawn = self.often {
            self.often = Often::Times(if times == 0 { 1 } else { times });
        }
        self
    }

    /// Returns how many times as often as drawn the fault strikes.
    pub(crate) fn said_times(self) -> u32 {
        if let Often::Times(times) = self.often { times } else { 1 }
    }

    /// Returns this rate for a fault of every seed.
    pub(crate) fn in_every_seed(self) -> Rate {
        Rate { share: Rate::ALWAYS.share, ..self }
    }

    /// Returns the share of the seeds that have the fault.
    pub(crate) fn share(self, kind: Fault) -> Ratio {
        self.share.unwrap_or(Ratio::one_in(kind.usual_share()))
    }

    /// Returns the share of the seeds, if the rate specifies it.
    pub(crate) fn said_share(self) -> Option<Ratio> {
        self.share
    }

    /// Returns the number of turns in a run, if the rate specifies it.
    pub(crate) fn said_turns(self) -> Option<u32> {
        if let Often::Turns(turns) = self.often { Some(turns) } else { None }
    }

    /// Returns the number of opportunities per strike, if the rate specifies it.
    pub(crate) fn said_one_in(self) -> Option<u32> {
        if let Often::OneIn(of) = self.often { Some(of) } else { None }
    }

    /// Checks that the rate is valid for this kind.
    ///
    /// # Errors
    /// One sentence that says what is invalid.
    pub(crate) fn check(self, kind: Fault) -> Result<(), String> {
        if let Some(Ratio { times, of }) = self.share {
            let said = format!("in_seeds({times}, {of})");
            within(&said, of.into(), 1, u32::MAX.into())?;
            if times == 0 {
                return Err(format!("`{said}`: leave {kind} out of the faults instead"));
            }
            within(&said, times.into(), 1, of.into())?;
        }
        let fits = match self.often {
            Often::Drawn => return Ok(()),
            Often::Times(times) => {
                within(&format!("times({times})"), times.into(), 1, MOST_TURNS)?;
                !kind.holds_throughout()
            }
            Often::Turns(turns) => {
                within(&format!("turns({turns})"), turns.into(), 1, MOST_TURNS)?;
                kind.takes_turns()
            }
            Often::OneIn(of) => {
                within(&format!("one_in({of})"), of.into(), 1, u32::MAX.into())?;
                kind.awaits().is_some()
            }
        };
        if fits { Ok(()) } else { Err(misfit(self.often, kind)) }
    }
}

fn misfit(often: Often, kind: Fault) -> String {
    let (said, instead) = match often {
        Often::OneIn(of) => (format!("one_in({of})"), "turns(..)"),
        Often::Turns(turns) => (format!("turns({turns})"), "one_in(..)"),
        // Whatever strikes at all can strike more often.
        Often::Times(times) => (format!("times({times})"), "in_seeds(..)"),
        Often::Drawn => unreachable!("it fits every kind"),
    };
    match kind.awaits() {
        _ if kind.holds_throughout() => {
            format!("`{said}`: {kind} lasts throughout a run; set only the share of seeds")
        }
        Some(awaited) => {
            format!("`{said}`: {kind} strikes a share of all {awaited}: use `{instead}`")
        }
        None => {
            format!("`{said}`: {kind} strikes at random times: use `{instead}`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: Fault, rate: Rate) -> String {
        rate.check(kind).expect_err("it is refused")
    }

    #[test]
    fn invalid_rates_are_refused_with_a_sentence() {
        insta::assert_snapshot!(refused(Fault::Crash, Rate::in_seeds(3, 2)),
            @"`in_seeds(3, 2)` is too many: give at most 2");
        insta::assert_snapshot!(refused(Fault::Crash, Rate::in_seeds(1, 0)),
            @"`in_seeds(1, 0)`: give at least 1");
        insta::assert_snapshot!(refused(Fault::Crash, Rate::in_seeds(0, 2)),
            @"`in_seeds(0, 2)`: leave crash out of the faults instead");
        insta::assert_snapshot!(refused(Fault::Crash, Rate::ALWAYS.turns(0)),
            @"`turns(0)`: give at least 1");
        insta::assert_snapshot!(refused(Fault::Crash, Rate::ALWAYS.turns(1_001)),
            @"`turns(1001)` is too many: give at most 1000");
        insta::assert_snapshot!(refused(Fault::SyncCrash, Rate::ALWAYS.one_in(0)),
            @"`one_in(0)`: give at least 1");
        insta::assert_snapshot!(refused(Fault::Crash, Rate::ALWAYS.one_in(4)),
            @"`one_in(4)`: crash strikes at random times: use `turns(..)`");
        insta::assert_snapshot!(refused(Fault::LostReplyApplied, Rate::ALWAYS.turns(4)),
            @"`turns(4)`: lost reply, applied strikes a share of all writes: use `one_in(..)`");
        insta::assert_snapshot!(refused(Fault::Priorities, Rate::USUAL.turns(4)),
            @"`turns(4)`: priorities lasts throughout a run; set only the share of seeds");
    }

    #[test]
    fn valid_rates_are_accepted() {
        for kind in Fault::ALL {
            for rate in [Rate::USUAL, Rate::ALWAYS, Rate::in_seeds(1, 7)] {
                assert_eq!(rate.check(kind), Ok(()), "{kind}");
                let often = [rate.turns(1), rate.one_in(1)].map(|rate| rate.check(kind).is_ok());
                let expected = if kind.holds_throughout() { 0 } else { 1 };
                assert_eq!(often.into_iter().filter(|ok| *ok).count(), expected, "{kind}");
            }
        }
    }
}
