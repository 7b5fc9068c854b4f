//! The kinds of faults of a scenario, with the frequency of each.

use super::Fault;
use super::rate::Rate;

/// A set of kinds of faults, each with its default frequency or with a [`Rate`].
///
/// ```
/// use vivarium_sim::{Fault, FaultSet, Rate};
///
/// const FAULTS: FaultSet = FaultSet::ALL
///     .without(Fault::PowerLoss)
///     .with_rate(Fault::SessionExpiry, Rate::ALWAYS.turns(5))
///     .with_rate(Fault::LostReplyApplied, Rate::ALWAYS.one_in(4))
///     .with_rate(Fault::Crash, Rate::in_seeds(1, 10));
/// assert!(FAULTS.has(Fault::Crash) && !FAULTS.has(Fault::PowerLoss));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultSet {
    kinds: u64,
    /// By kind; [`Rate::USUAL`] for kinds that are not in the set.
    rates: [Rate; Fault::ALL.len()],
}

impl FaultSet {
    /// No faults.
    pub const NONE: FaultSet = FaultSet { kinds: 0, rates: [Rate::USUAL; Fault::ALL.len()] };

    /// Every kind.
    pub const ALL: FaultSet = FaultSet { kinds: (1 << Fault::ALL.len()) - 1, ..FaultSet::NONE };

    /// The kinds that break nothing and only delay some programs and packets: slow reactions and priorities.
    pub const INTERLEAVINGS: FaultSet =
        FaultSet::NONE.with(Fault::SlowReactions).with(Fault::Priorities);

    /// Every kind.
    pub fn all() -> FaultSet {
        FaultSet::ALL
    }

    /// Returns this set with one more kind.
    #[must_use]
    pub const fn with(mut self, kind: Fault) -> FaultSet {
        self.kinds |= 1 << kind as u32;
        self
    }

    /// Returns this set with a kind and its rate.
    #[must_use]
    pub const fn with_rate(self, kind: Fault, rate: Rate) -> FaultSet {
        let mut set = self.with(kind);
        set.rates[kind as usize] = rate;
        set
    }

    /// Returns this set with a kind that strikes four times as often as by default, in the seeds that have it.
    #[must_use]
    pub const fn more_often(self, kind: Fault) -> FaultSet {
        self.with_rate(kind, self.rate(kind).times(4))
    }

    /// Returns this set without one kind and its rate.
    #[must_use]
    pub const fn without(mut self, kind: Fault) -> FaultSet {
        self.kinds &= !(1 << kind as u32);
        self.rates[kind as usize] = Rate::USUAL;
        self
    }

    /// Returns true if the set contains `kind`.
    pub const fn has(self, kind: Fault) -> bool {
        self.kinds & (1 << kind as u32) != 0
    }

    /// Returns the rate of a kind.
    pub const fn rate(self, kind: Fault) -> Rate {
        self.rates[kind as usize]
    }

    /// The kinds in the set, in the order of [`Fault::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Fault> {
        Fault::ALL.into_iter().filter(move |kind| self.has(*kind))
    }

    /// Checks that every rate is valid.
    ///
    /// # Errors
    /// One sentence about the first invalid rate.
    pub(crate) fn check(self) -> Result<(), String> {
        self.iter().try_for_each(|kind| self.rate(kind).check(kind))
    }
}

impl Default for FaultSet {
    fn default() -> FaultSet {
        FaultSet::NONE
    }
}

impl FromIterator<Fault> for FaultSet {
    fn from_iter<I: IntoIterator<Item = Fault>>(kinds: I) -> FaultSet {
        kinds.into_iter().fold(FaultSet::NONE, FaultSet::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_sets_hold_what_was_put_in() {
        let [first, second, ..] = Fault::ALL;
        let set = FaultSet::NONE.with(first).with(second).without(first);
        assert_eq!(set.iter().collect::<Vec<_>>(), [second]);
        assert_eq!(FaultSet::ALL.iter().count(), Fault::ALL.len());
        assert_eq!(Fault::ALL.into_iter().collect::<FaultSet>(), FaultSet::ALL);
        assert!(!FaultSet::ALL.without(first).has(first));
        for (at, kind) in Fault::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at, "{kind} has the place of another");
        }
    }

    #[test]
    fn a_rate_is_that_of_its_kind_and_goes_with_it() {
        let often = Rate::ALWAYS.turns(9);
        let set = FaultSet::NONE.with_rate(Fault::Pause, often);
        assert!(set.has(Fault::Pause));
        for kind in Fault::ALL {
            assert_eq!(set.rate(kind) == often, kind == Fault::Pause, "{kind}");
        }
        assert_eq!(set.with(Fault::Pause), set, "it is there already");
        assert_eq!(set.without(Fault::Pause), FaultSet::NONE);
    }
}
