//! Virtual time. The model keeps no clock: an engine passes the time of a step as an argument. The explorer always
//! passes [`Time::ZERO`], so no hashed field may hold a time. The one exception is the reading of a program's clock,
//! which a search chooses ([`Step::Clock`](crate::vocabulary::step::Step::Clock)).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};
pub use std::time::Duration;

/// An instant of virtual time, in microseconds since the start of the run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(pub u64);

impl Time {
    /// The start of a run; the explorer knows no other time.
    pub const ZERO: Time = Time(0);

    /// Whole milliseconds, the unit of `ctime` and `mtime`.
    pub fn milliseconds(self) -> u64 {
        self.0 / 1_000
    }

    /// Returns the span since `earlier`, or zero if `earlier` is later than `self`.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0 + span.as_micros() as u64)
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}
