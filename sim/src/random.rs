//! Random numbers that never change: one ChaCha8 stream per (seed, purpose, entity).
//!
//! A seed selects the key; the purpose and the entity select the stream. So a new draw in one place does not shift
//! the others, and disabling a fault changes the rest of its run little.
//!
//! The samplers are implemented here, because those of `rand` give different numbers from release to release. Each
//! takes exactly one number from its stream, whatever it returns: no rejection, no floats. The resulting bias is
//! below `bound / 2^64`.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::fmt;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::time::Duration;

/// All random streams of one seed.
#[derive(Clone, Debug)]
pub struct Seeds {
    key: ChaCha8Rng,
}

impl Seeds {
    /// Returns the streams of `seed`.
    pub fn new(seed: u64) -> Seeds {
        Seeds { key: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// Returns the stream for one purpose and one entity (the index of a server or client, or the number of an
    /// occurrence).
    pub fn stream(&self, purpose: &str, entity: u64) -> Random {
        let mut stream = self.key.clone();
        stream.set_stream(Fingerprint::of(&(purpose, entity)).0 as u64);
        Random { stream }
    }
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    stream: ChaCha8Rng,
}

impl Random {
    /// Returns the next number, all 64 bits.
    pub fn number(&mut self) -> u64 {
        self.stream.next_u64()
    }

    /// Returns a number below `bound`, by widening multiplication; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number from `low` to `high`, both included.
    ///
    /// # Panics
    /// If `low > high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "an empty range: {low} to {high}");
        match (high - low).checked_add(1) {
            Some(bound) => low + self.below(bound),
            None => self.number(),
        }
    }

    /// Returns a span from `low` to `high`, in whole microseconds.
    pub fn span(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_micros(self.between(low.as_micros() as u64, high.as_micros() as u64))
    }

    /// Draws whether an event of this probability happens.
    pub fn chance(&mut self, ratio: Ratio) -> bool {
        self.below(u64::from(ratio.of)) < u64::from(ratio.times)
    }

    /// Returns a number with this mean, distributed nearly exponentially: `-log2` of a uniform number with its
    /// fraction interpolated, times 2/3 to preserve the mean. At most 43 times the mean.
    pub(crate) fn exponential(&mut self, mean: u64) -> u64 {
        let uniform = self.number();
        let zeros = uniform.leading_zeros().min(63);
        // The bits after the first one, as a fraction of 2^32.
        let fraction = (uniform << zeros << 1) >> 32;
        let logarithm = (u64::from(zeros + 1) << 32) - fraction;
        ((u128::from(logarithm) * u128::from(mean) * 2 / 3) >> 32) as u64
    }

    /// Returns a span with this mean, distributed nearly exponentially.
    pub(crate) fn exponential_span(&mut self, mean: Duration) -> Duration {
        Duration::from_micros(self.exponential(mean.as_micros() as u64))
    }

    /// Returns a number from `low` to `high`, both included; all orders of magnitude are about equally likely.
    ///
    /// # Panics
    /// If `low` is 0 or larger than `high`.
    pub(crate) fn magnitude(&mut self, low: u64, high: u64) -> u64 {
        assert!(0 < low && low <= high, "no orders of magnitude: {low} to {high}");
        let ratio = high / low;
        let doublings = ratio.ilog2();
        // The logarithm of the ratio and its inverse, both interpolated, as fixed-point numbers with 32 binary
        // places.
        let fraction = ((u128::from(ratio) << 32) >> doublings) - (1 << 32);
        let logarithm = (u128::from(doublings) << 32) + fraction;
        let exponent = (u128::from(self.number()) * (logarithm + 1)) >> 64;
        let mantissa = (1_u128 << 32) + (exponent & 0xffff_ffff);
        (((u128::from(low) * mantissa) << (exponent >> 32)) >> 32) as u64
    }

    /// Returns a span from `low` to `high`; all orders of magnitude are about equally likely.
    pub(crate) fn magnitude_span(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_micros(self.magnitude(low.as_micros() as u64, high.as_micros() as u64))
    }

    /// Returns one of these items; `None` if there are none (a number is taken nevertheless).
    pub fn choose<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        let at = self.below(items.len() as u64);
        items.get(at as usize).copied()
    }

    /// Returns one of these items, of which there must be at least one.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// Shuffles the items (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.between(0, last as u64) as usize);
        }
    }
}

/// A probability as a ratio of whole numbers, so that no float influences a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// The numerator.
    pub times: u32,
    /// The denominator.
    pub of: u32,
}

impl Ratio {
    /// Probability 0.
    pub(crate) const NEVER: Ratio = Ratio { times: 0, of: 1 };

    /// Probability 1/`of`.
    pub const fn one_in(of: u32) -> Ratio {
        Ratio { times: 1, of }
    }

    /// This many times the probability, at most 1.
    pub(crate) const fn often(self, times: u32) -> Ratio {
        let times = self.times.saturating_mul(times);
        Ratio { times: if times > self.of { self.of } else { times }, of: self.of }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.times, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn random() -> Random {
        Seeds::new(42).stream("test", 7)
    }

    fn several<T>(mut draw: impl FnMut(&mut Random) -> T) -> Vec<T> {
        let mut random = random();
        (0..8).map(|_| draw(&mut random)).collect()
    }

    /// Seeds in bug reports and in users' tests depend on these numbers.
    #[test]
    fn samplers_give_known_answers() {
        insta::assert_debug_snapshot!(several(Random::number)[..3], @r"
        [
            464296004197622675,
            8681630155733372287,
            11506140091737954934,
        ]
        ");
        insta::assert_compact_debug_snapshot!(several(|random| random.below(10)), @"[0, 4, 6, 4, 5, 0, 4, 4]");
        insta::assert_compact_debug_snapshot!(several(|random| random.between(5, 7)), @"[5, 6, 6, 6, 6, 5, 6, 6]");
        insta::assert_compact_debug_snapshot!(several(|random| random.exponential(1000)), @"[3592, 744, 501, 727, 617, 3444, 706, 701]");
        let third = Ratio { times: 1, of: 3 };
        insta::assert_compact_debug_snapshot!(several(|random| random.chance(third)), @"[true, false, false, false, false, true, false, false]");
        insta::assert_compact_debug_snapshot!(several(|random| random.choose(&['a', 'b', 'c']).unwrap()), @"['a', 'b', 'b', 'b', 'b', 'a', 'b', 'b']");
        let mut deck = [1, 2, 3, 4, 5, 6];
        random().shuffle(&mut deck);
        insta::assert_compact_debug_snapshot!(deck, @"[6, 4, 2, 5, 3, 1]");
    }

    #[test]
    fn streams_differ_by_seed_purpose_and_entity() {
        let first =
            |seed: u64, purpose: &str, entity| Seeds::new(seed).stream(purpose, entity).number();
        let one = first(1, "disk", 1);
        assert_eq!(one, first(1, "disk", 1));
        assert_ne!(one, first(2, "disk", 1));
        assert_ne!(one, first(1, "network", 1));
        assert_ne!(one, first(1, "disk", 2));
    }

    #[test]
    fn every_sampler_takes_one_number() {
        let mut reference = random();
        let draws: [fn(&mut Random) -> u64; 7] = [
            |random| random.below(0),
            |random| random.between(3, 3),
            |random| random.between(0, u64::MAX),
            |random| random.chance(Ratio::NEVER).into(),
            |random| random.exponential(0),
            |random| random.magnitude(1, 9),
            |random| random.choose::<u64>(&[]).unwrap_or(0),
        ];
        for draw in draws {
            let mut one = reference.clone();
            draw(&mut one);
            reference.number();
            assert_eq!(one.clone().number(), reference.clone().number());
        }
    }

    #[test]
    fn the_exponential_keeps_its_mean_and_shape() {
        let mut random = random();
        let drawn: Vec<u64> = (0..100_000).map(|_| random.exponential(1_000)).collect();
        let mean = drawn.iter().sum::<u64>() / drawn.len() as u64;
        assert!((980..1_020).contains(&mean), "mean {mean}");
        // Of an exponential distribution 36.8 % lies above the mean and 5 % above three means.
        let above = |limit| drawn.iter().filter(|&&number| number > limit).count();
        assert!((33_000..40_000).contains(&above(1_000)), "{}", above(1_000));
        assert!((3_000..7_000).contains(&above(3_000)), "{}", above(3_000));
    }

    #[test]
    fn every_order_of_magnitude_is_as_likely() {
        let mut random = random();
        let drawn: Vec<u64> = (0..30_000).map(|_| random.magnitude(7, 7_000)).collect();
        for low in [7, 70, 700] {
            let within = drawn.iter().filter(|&&number| (low..10 * low).contains(&number)).count();
            assert!((9_000..11_000).contains(&within), "{within} from {low}");
        }
    }

    proptest! {
        #[test]
        fn magnitudes_are_kept(seed: u64, low in 1..u64::MAX, width: u64) {
            let high = low.saturating_add(width);
            let drawn = Seeds::new(seed).stream("magnitude", 0).magnitude(low, high);
            prop_assert!((low..=high).contains(&drawn));
        }

        #[test]
        fn ranges_are_kept(seed: u64, low: u64, width: u64) {
            let high = low.saturating_add(width);
            let drawn = Seeds::new(seed).stream("range", 0).between(low, high);
            prop_assert!((low..=high).contains(&drawn));
        }

        #[test]
        fn a_shuffle_keeps_what_there_is(seed: u64, mut items: Vec<u8>) {
            let mut sorted = items.clone();
            Seeds::new(seed).stream("shuffle", 0).shuffle(&mut items);
            items.sort_unstable();
            sorted.sort_unstable();
            prop_assert_eq!(items, sorted);
        }
    }
}
