//! What is demanded of every run beside its monitors, whoever chooses the steps: that programs end well,
//! that they end, and that the model's own assertions hold.

use std::panic::{AssertUnwindSafe, catch_unwind};
use vivarium_model::event::Event;
use vivarium_model::grain::Grain;
use vivarium_model::history::History;
use vivarium_model::host::Host;
use vivarium_model::machines::ProgramState;
use vivarium_model::property::{Failure, Objection};
use vivarium_model::service::Service;
use vivarium_model::words::panic_message;
use vivarium_model::world::World;

/// The property that a program neither panics nor returns an error.
pub const PROGRAM: &str = "program";

/// The property that everything gets done once nothing hinders it: a healed ensemble in a bounded time, and
/// in a search whenever nothing can happen any more.
pub const PROGRESS: &str = "progress";

/// The property that no assertion of the model fails, nor one of a monitor. (Panics of programs end in their
/// hosts.)
pub const ASSERTION: &str = "assertion";

/// Whether a program has failed by this event.
///
/// # Errors
/// It has.
pub fn ends_well(event: &Event) -> Result<(), Objection> {
    let (client, failure) = match event {
        Event::Finished { client, result: Err(why) } => (client, Failure::Returned(why.clone())),
        Event::Panicked { client, message } => (client, Failure::Panicked(message.clone())),
        _ => return Ok(()),
    };
    Err(Objection::failed(PROGRAM, &format!("the program of {client}"), failure))
}

/// No process is left that keeps a session alive, and there was time enough to expire each.
///
/// # Errors
/// Which session lives on.
pub fn sessions_are_over(history: &History, when: &str) -> Result<(), Objection> {
    let Some((session, timeout)) = history.tree().sessions().first_key_value() else {
        return Ok(());
    };
    let saw = format!(
        "{when}: the session {session} (timeout {timeout:?}) is still open, though no program is left that keeps \
         it alive"
    );
    Err(Objection::new(PROGRESS, saw))
}

/// Nothing can happen any more at the service grain: is everybody done but services?
///
/// # Errors
/// Who waits for what.
pub fn all_have_finished<H: Host>(world: &World<H, Service>) -> Result<(), Objection> {
    let service = world.grain();
    let waiting: Vec<String> = service
        .client_ids()
        .filter(|client| service.program(*client) != ProgramState::Finished)
        .filter(|client| !service.config().clients[client.index()].serves)
        .map(|client| format!("{client} waits for {}", world.waits_for(client)))
        .collect();
    if waiting.is_empty() {
        return Ok(());
    }
    let saw = format!("nothing can happen any more, but {}", waiting.join("; "));
    Err(Objection::new(PROGRESS, saw))
}

/// Runs code of the model or of monitors; a failed assertion is an objection: it has steps that lead there
/// and can be replayed.
///
/// # Errors
/// The panic's message.
pub fn asserted<T>(what: impl FnOnce() -> T) -> Result<T, Objection> {
    catch_unwind(AssertUnwindSafe(what))
        .map_err(|payload| Objection::new(ASSERTION, panic_message(&*payload)))
}
