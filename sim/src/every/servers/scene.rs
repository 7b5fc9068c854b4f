//! A state of the search expanded into an ensemble, in which steps can be taken.

use std::collections::BTreeSet;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::ensemble::Ensemble;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::timer::{ServerTimer, Timer};

/// An ensemble and the armed timers of its elections.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) ensemble: Ensemble,
    /// Empty under the oracle. (All other timers are time limits, which are [`Step::Rejoin`] here, and pings, which are
    /// not modelled.)
    pub(super) timers: BTreeSet<Timer>,
}

impl Scene {
    /// Takes one step of the world.
    pub(super) fn take(&mut self, step: &Step, effects: &mut Effects) -> Status {
        effects.clear();
        let status = self.ensemble.apply(Time::ZERO, step, effects);
        if !self.ensemble.config().election.is_oracle() {
            self.keep_timers(step, effects);
        }
        status
    }

    /// Tracks which election timers are armed.
    pub(super) fn keep_timers(&mut self, step: &Step, effects: &Effects) {
        use vivarium_model::effect::Effect;
        if let Step::Fire(timer) = step {
            self.timers.remove(timer);
        }
        for effect in &effects.effects {
            match effect {
                Effect::Arm {
                    timer:
                        timer @ Timer::Server(
                            _,
                            ServerTimer::Notification
                            | ServerTimer::Finalize
                            | ServerTimer::ConnectLeader,
                        ),
                    ..
                } => {
                    self.timers.insert(*timer);
                }
                Effect::Disarm(timer) => {
                    self.timers.remove(timer);
                }
                _ => {}
            }
        }
    }
}
