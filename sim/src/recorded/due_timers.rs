//! When the armed timers of a replay are due.

use std::collections::BTreeMap;
use vivarium_model::effect::{Effect, Effects};
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::timer::Timer;

/// The time at which each armed timer is due.
#[derive(Debug, Default)]
pub(crate) struct DueTimers(BTreeMap<Timer, Time>);

impl DueTimers {
    /// Notes the timers that a step armed and disarmed.
    pub(crate) fn note(&mut self, at: Time, effects: &Effects) {
        for effect in &effects.effects {
            match *effect {
                Effect::Arm { timer, after, .. } => drop(self.0.insert(timer, at + after)),
                Effect::Disarm(timer) => drop(self.0.remove(&timer)),
                Effect::Due(_) | Effect::Random(..) | Effect::Unblocked(_) => {}
            }
        }
    }

    /// Forgets a timer that fires in this step.
    pub(crate) fn fires(&mut self, step: &Step) {
        if let Step::Fire(timer) = step {
            self.0.remove(timer);
        }
    }

    /// Returns the armed timers, each with the time at which it is due.
    pub(crate) fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        self.0.iter().map(|(timer, due)| (*timer, *due))
    }

    /// Returns true if the step is a timer that is not due yet.
    pub(crate) fn is_early(&self, at: Time, step: &Step) -> bool {
        match step {
            Step::Fire(timer) => self.0.get(timer).is_some_and(|due| at < *due),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::id::ServerId;
    use vivarium_model::time::Duration;
    use vivarium_model::timer::ServerTimer;

    #[test]
    fn a_timer_is_early_until_its_last_deadline() {
        let timer = Timer::Server(ServerId(1), ServerTimer::Ping);
        let (mut due, mut effects) = (DueTimers::default(), Effects::hashed());
        let arm = |after| Effect::Arm {
            timer,
            after: Duration::from_micros(after),
            spread: Duration::ZERO,
        };
        effects.effects = vec![arm(10)];
        due.note(Time(5), &effects);
        let fire = Step::Fire(timer);
        assert!(due.is_early(Time(14), &fire) && !due.is_early(Time(15), &fire));
        effects.effects = vec![arm(20)];
        due.note(Time(8), &effects);
        assert!(due.is_early(Time(27), &fire) && !due.is_early(Time(28), &fire));
        effects.effects = vec![Effect::Disarm(timer)];
        due.note(Time(9), &effects);
        assert!(!due.is_early(Time(9), &fire), "the world says that it is not armed");
        assert!(!due.is_early(Time(0), &Step::Append(ServerId(1))));
    }
}
