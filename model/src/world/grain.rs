//! The interface between the world and ZooKeeper with its client machines, at either grain.
//!
//! There are two grains. The *ensemble* ([`crate::ensemble`]) has servers, disks and links; the *service*
//! ([`crate::service`]) has one totally ordered log and the part of it that each session may have seen. Programs and
//! monitors cannot distinguish them.

use crate::client::ClientMachine;
use crate::ensemble::Ensemble;
use crate::program::host::Output;
use crate::program::machines::{ProgramState, Told};
use crate::vocabulary::config::Config;
use crate::vocabulary::effect::{Effects, Status};
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::ClientId;
use crate::vocabulary::outside::Outside;
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Time;
use std::sync::Arc;

/// ZooKeeper and its client machines as one cloneable value.
pub trait Grain: Clone {
    /// Prepares the first step.
    fn begin(&mut self, effects: &mut Effects);

    /// Returns the configuration of the run.
    fn config(&self) -> &Arc<Config>;

    /// Takes a step, if it can happen. The world handles [`Step::Input`] itself.
    fn apply(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Status;

    /// Does what a client outside of the run does, if it can.
    fn outside(&mut self, input: &Outside, effects: &mut Effects) -> Status;

    /// Takes a program's next input out of its inbox.
    ///
    /// # Errors
    /// The status of the step if there is no input to take now.
    fn take_input(&mut self, client: ClientId) -> Result<Told, Status>;

    /// Carries out one output of a program.
    fn output(&mut self, client: ClientId, output: Output, at: Time, effects: &mut Effects);

    /// Returns the fingerprint, from caches where they are valid.
    fn fingerprint(&self) -> Fingerprint;

    /// Returns the fingerprint computed without caches.
    fn recomputed_fingerprint(&self) -> Fingerprint;

    /// Returns the state of a client's program.
    fn program(&self, client: ClientId) -> ProgramState;

    /// Describes what a client's program waits for.
    fn waits_for(&self, client: ClientId) -> String;

    /// Returns a client machine.
    fn machine(&self, client: ClientId) -> &ClientMachine;
}

impl Grain for Ensemble {
    fn begin(&mut self, effects: &mut Effects) {
        Ensemble::begin(self, effects);
    }

    fn config(&self) -> &Arc<Config> {
        Ensemble::config(self)
    }

    fn apply(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Status {
        Ensemble::apply(self, at, step, effects)
    }

    fn outside(&mut self, input: &Outside, effects: &mut Effects) -> Status {
        Ensemble::outside(self, input, effects)
    }

    fn take_input(&mut self, client: ClientId) -> Result<Told, Status> {
        self.machines().take_input(client)
    }

    fn output(&mut self, client: ClientId, output: Output, at: Time, effects: &mut Effects) {
        self.machines().output(client, output, at, effects);
    }

    fn fingerprint(&self) -> Fingerprint {
        Ensemble::fingerprint(self)
    }

    fn recomputed_fingerprint(&self) -> Fingerprint {
        Ensemble::recomputed_fingerprint(self)
    }

    fn program(&self, client: ClientId) -> ProgramState {
        Ensemble::program(self, client)
    }

    fn waits_for(&self, client: ClientId) -> String {
        Ensemble::waits_for(self, client)
    }

    fn machine(&self, client: ClientId) -> &ClientMachine {
        Ensemble::machine(self, client)
    }
}
