//! The clock of a served ensemble: real time, faster or slower, or a time that stands still until it is moved on.

use std::time::{Duration, Instant};
use vivarium_model::time::Time;

/// Converts between the time of this machine and that of the ensemble.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    began: Instant,
    start: Time,
    /// How many times as fast as real time it goes; `None` if it stands still.
    speed: Option<f64>,
    /// How far it was moved on.
    moved: Duration,
}

impl Clock {
    /// Returns a clock that shows `start` now and goes `speed` times as fast as real time.
    pub(super) fn new(start: Time, speed: f64) -> Clock {
        let (speed, moved) = (Some(speed), Duration::ZERO);
        Clock { began: Instant::now(), start, speed, moved }
    }

    /// Returns a clock that shows `start` until it is moved on.
    pub(super) fn standing(start: Time) -> Clock {
        Clock { began: Instant::now(), start, speed: None, moved: Duration::ZERO }
    }

    /// Moves a clock on to a time that is not past.
    pub(super) fn move_to(&mut self, time: Time) {
        self.moved += time.since(self.now());
    }

    /// Returns the ensemble's time.
    pub(super) fn now(&self) -> Time {
        let passed = self.speed.map_or(Duration::ZERO, |speed| self.began.elapsed().mul_f64(speed));
        self.start + passed + self.moved
    }

    /// Returns the ensemble's time since its start.
    pub(super) fn elapsed(&self) -> Duration {
        self.now().since(self.start)
    }

    /// Returns when the clock shows this time, if it goes by itself.
    pub(super) fn when(&self, time: Time) -> Instant {
        self.began + self.real(time.since(self.start + self.moved))
    }

    /// Returns the real time that a span of the ensemble takes.
    pub(super) fn real(&self, span: Duration) -> Duration {
        // A year is far enough: longer spans overflow at low speeds.
        const FAR: f64 = 365.0 * 24.0 * 60.0 * 60.0;
        let speed = self.speed.unwrap_or(1.0);
        Duration::from_secs_f64((span.as_secs_f64() / speed).min(FAR))
    }
}
