//! What the world asks of ZooKeeper and its client machines, at whichever grain they are modelled.
//!
//! There are two. The *ensemble* ([`crate::ensemble`]) has servers, disks and links; the *service*
//! ([`crate::service`]) has one totally ordered log and what each session may have seen of it.
//! Programs and monitors cannot tell which one they are over.

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
    /// Before the first step.
    fn begin(&mut self, effects: &mut Effects);

    /// How the run is configured.
    fn config(&self) -> &Arc<Config>;

    /// What a step does; [`Step::Input`] is the world's own affair.
    fn apply(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Status;

    /// Does what a client outside of the run does, if it can.
    fn outside(&mut self, input: &Outside, effects: &mut Effects) -> Status;

    /// Takes a program's next input out of its inbox.
    ///
    /// # Errors
    /// Why there is none to take now.
    fn take_input(&mut self, client: ClientId) -> Result<Told, Status>;

    /// Carries out one output of a program.
    fn output(&mut self, client: ClientId, output: Output, at: Time, effects: &mut Effects);

    /// The fingerprint, from caches where they are fresh.
    fn fingerprint(&self) -> Fingerprint;

    /// The fingerprint without any cache.
    fn recomputed_fingerprint(&self) -> Fingerprint;

    /// What a client's program is doing.
    fn program(&self, client: ClientId) -> ProgramState;

    /// In words: what a client's program waits for.
    fn waits_for(&self, client: ClientId) -> String;

    /// A client machine.
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
