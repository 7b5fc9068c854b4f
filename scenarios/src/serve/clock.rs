//! The clock of a served ensemble: real time, faster or slower.

use std::time::{Duration, Instant};
use vivarium_model::time::Time;

/// Converts between the time of this machine and that of the ensemble.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    began: Instant,
    start: Time,
    speed: f64,
}

impl Clock {
    /// Returns a clock that shows `start` now and goes `speed` times as fast as real time.
    pub(super) fn new(start: Time, speed: f64) -> Clock {
        Clock { began: Instant::now(), start, speed }
    }

    /// Returns the ensemble's time.
    pub(super) fn now(&self) -> Time {
        self.start + self.began.elapsed().mul_f64(self.speed)
    }

    /// Returns the ensemble's time since its start.
    pub(super) fn elapsed(&self) -> Duration {
        self.now().since(self.start)
    }

    /// Returns when the clock shows this time.
    pub(super) fn when(&self, time: Time) -> Instant {
        self.began + self.real(time.since(self.start))
    }

    /// Returns the real time that a span of the ensemble takes.
    pub(super) fn real(&self, span: Duration) -> Duration {
        // A year is far enough: longer spans overflow at low speeds.
        const FAR: f64 = 365.0 * 24.0 * 60.0 * 60.0;
        Duration::from_secs_f64((span.as_secs_f64() / self.speed).min(FAR))
    }
}
