//! What a driver drives: all that the simulator asks of a world, in one place.

use crate::faults::Look;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::history::History;
use vivarium_model::id::{ClientId, ServerId};
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// A world under a driver.
pub(crate) trait Subject: Look {
    /// Before the first step: what is due from the start.
    fn begin(&mut self, effects: &mut Effects);

    /// Takes a step.
    ///
    /// # Errors
    /// A monitor's objection.
    fn apply(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Result<Status, Objection>;

    /// After the last step.
    ///
    /// # Errors
    /// A monitor's objection.
    fn end(&mut self, at: Time) -> Result<(), Objection>;

    /// The committed history.
    fn history(&self) -> &History;

    /// Whether a server serves clients.
    fn is_serving(&self, server: ServerId) -> bool;

    /// In words: what a client's program waits for.
    fn waits_for(&self, client: ClientId) -> String;

    /// In words: what a server is doing.
    fn state_of(&self, server: ServerId) -> String;
}
