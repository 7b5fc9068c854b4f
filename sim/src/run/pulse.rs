//! What runs are doing, for somebody outside who watches that each step comes to its end.
//!
//! A program that loops without awaiting never comes back, and nothing inside of its run can tell. Its run
//! stands at the step that told it something, for as long as anybody looks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vivarium_model::id::ClientId;
use vivarium_model::step::Step;

/// How many bits of a beat say whose program is told something; the others count steps.
const CLIENT_BITS: u32 = 16;

/// The runs that are under way.
#[derive(Debug, Default)]
pub struct Pulses(Mutex<Runs>);

#[derive(Debug, Default)]
struct Runs {
    begun: u64,
    running: BTreeMap<u64, (u64, Arc<AtomicU64>)>,
}

/// Where a run stands. Two that are equal are of the same run, at the same step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Beat {
    /// Which run it is, of those that were begun.
    run: u64,
    /// Its seed.
    pub seed: u64,
    /// How many steps it has begun.
    pub steps: u64,
    /// Whose program is told something in this step.
    pub client: Option<ClientId>,
}

impl Pulses {
    /// Where the runs stand that are under way.
    pub fn beats(&self) -> Vec<Beat> {
        let beat = |(run, (seed, beat)): (&u64, &(u64, Arc<AtomicU64>))| {
            let beat = beat.load(Ordering::Relaxed);
            let client = Some(ClientId(beat as u16)).filter(|client| client.0 > 0);
            Beat { run: *run, seed: *seed, steps: beat >> CLIENT_BITS, client }
        };
        self.lock().running.iter().map(beat).collect()
    }

    /// A run begins; it ends when what is returned is dropped.
    pub(crate) fn begin(self: &Arc<Pulses>, seed: u64) -> Pulse {
        let beat = Arc::default();
        let mut runs = self.lock();
        runs.begun += 1;
        let run = runs.begun;
        runs.running.insert(run, (seed, Arc::clone(&beat)));
        Pulse { run, beat, pulses: Arc::clone(self) }
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One run's.
#[derive(Debug)]
pub(crate) struct Pulse {
    run: u64,
    beat: Arc<AtomicU64>,
    pulses: Arc<Pulses>,
}

impl Pulse {
    /// A step begins.
    pub(crate) fn beat(&self, step: &Step) {
        let client = match step {
            Step::Input(client) | Step::Kill(client) => client.0,
            _ => 0,
        };
        // Nobody else writes.
        let steps = (self.beat.load(Ordering::Relaxed) >> CLIENT_BITS) + 1;
        self.beat.store(steps << CLIENT_BITS | u64::from(client), Ordering::Relaxed);
    }
}

impl Drop for Pulse {
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
        let pulses = Arc::new(Pulses::default());
        let (one, other) = (pulses.begin(7), pulses.begin(8));
        one.beat(&Step::Restart(ServerId(1)));
        one.beat(&Step::Input(ClientId(2)));
        let stands = |pulses: &Pulses| {
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
