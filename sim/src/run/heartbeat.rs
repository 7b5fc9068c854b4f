//! Reports which step each run is in, so that a watchdog outside of the runs can check that each step ends.
//!
//! A program that loops without awaiting never returns from its poll, and nothing inside of its run can detect this.
//! Its run then stays at the step that fed the input to this program.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vivarium_model::id::ClientId;
use vivarium_model::step::Step;

/// The number of low bits of a beat that hold the client whose program receives an input; the other bits count steps.
const CLIENT_BITS: u32 = 16;

/// The runs in progress.
#[derive(Debug, Default)]
pub struct Heartbeats(Mutex<Runs>);

#[derive(Debug, Default)]
struct Runs {
    begun: u64,
    running: BTreeMap<u64, (u64, Arc<AtomicU64>)>,
}

/// The position of a run. Equal beats are of the same run at the same step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Beat {
    /// The run's number, in the order in which runs began.
    run: u64,
    /// The run's seed.
    pub seed: u64,
    /// The number of steps that have begun.
    pub steps: u64,
    /// The client whose program receives an input, or is killed, in this step.
    pub client: Option<ClientId>,
}

impl Heartbeats {
    /// Returns the positions of the runs in progress.
    pub fn beats(&self) -> Vec<Beat> {
        let beat = |(run, (seed, beat)): (&u64, &(u64, Arc<AtomicU64>))| {
            let beat = beat.load(Ordering::Relaxed);
            let client = Some(ClientId(beat as u16)).filter(|client| client.0 > 0);
            Beat { run: *run, seed: *seed, steps: beat >> CLIENT_BITS, client }
        };
        self.lock().running.iter().map(beat).collect()
    }

    /// Registers a run. The run ends when the returned value is dropped.
    pub(crate) fn begin(self: &Arc<Heartbeats>, seed: u64) -> Heartbeat {
        let beat = Arc::default();
        let mut runs = self.lock();
        runs.begun += 1;
        let run = runs.begun;
        runs.running.insert(run, (seed, Arc::clone(&beat)));
        Heartbeat { run, beat, pulses: Arc::clone(self) }
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registers one run as long as it lives, and publishes the run's position.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    run: u64,
    beat: Arc<AtomicU64>,
    pulses: Arc<Heartbeats>,
}

impl Heartbeat {
    /// Records that a step begins.
    pub(crate) fn beat(&self, step: &Step) {
        let client = match step {
            Step::Input(client) | Step::Kill(client) => client.0,
            _ => 0,
        };
        // Only this run writes its beat, so the load and the store need not be one atomic operation.
        let steps = (self.beat.load(Ordering::Relaxed) >> CLIENT_BITS) + 1;
        self.beat.store(steps << CLIENT_BITS | u64::from(client), Ordering::Relaxed);
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.pulses.lock().running.remove(&self.run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::id::ServerId;

    #[test]
    fn a_run_stands_where_its_last_step_began_until_it_ends() {
        let pulses = Arc::new(Heartbeats::default());
        let (one, other) = (pulses.begin(7), pulses.begin(8));
        one.beat(&Step::Restart(ServerId(1)));
        one.beat(&Step::Input(ClientId(2)));
        let stands = |pulses: &Heartbeats| {
            let beats = pulses.beats().into_iter();
            beats.map(|beat| (beat.seed, beat.steps, beat.client)).collect::<Vec<_>>()
        };
        assert_eq!(stands(&pulses), [(7, 2, Some(ClientId(2))), (8, 0, None)]);
        let before = pulses.beats();
        assert_eq!(pulses.beats(), before);
        one.beat(&Step::Input(ClientId(2)));
        assert_ne!(pulses.beats()[0], before[0]);
        drop(one);
        assert_eq!(stands(&pulses), [(8, 0, None)]);
        drop(other);
        assert!(pulses.beats().is_empty());
    }
}
