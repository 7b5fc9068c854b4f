//! Demands on every run besides its monitors, in the simulator and in a search: programs end without an error, programs
//! end at all, and the model's own assertions hold.

use std::panic::{AssertUnwindSafe, catch_unwind};
use vivarium_model::event::Event;
use vivarium_model::grain::Grain;
use vivarium_model::history::History;
use vivarium_model::host::Host;
use vivarium_model::id::ClientId;
use vivarium_model::machines::ProgramState;
use vivarium_model::property::{Failure, Objection};
use vivarium_model::service::Service;
use vivarium_model::words::panic_message;
use vivarium_model::world::World;

/// The property that a program neither panics nor returns an error.
pub const PROGRAM: &str = "program";

/// The property that all programs finish once nothing hinders them: within a bounded time after a simulated ensemble
/// has healed, and in a search in each state without a further step.
pub const PROGRESS: &str = "progress";

/// The property that no assertion of the model or of a monitor fails. (Hosts catch the panics of programs.)
pub const ASSERTION: &str = "assertion";

/// Checks that this event is not the failure of a program.
///
/// # Errors
/// Returns the objection if the program returned an error or panicked.
pub(crate) fn ends_well(event: &Event) -> Result<(), Objection> {
    let (client, failure) = match event {
        Event::Finished { client, result: Err(why) } => (client, Failure::Returned(why.clone())),
        Event::Panicked { client, message } => (client, Failure::Panicked(message.clone())),
        _ => return Ok(()),
    };
    let subject = format!("the program of {client}");
    Err(Objection::failed(PROGRAM, &subject, failure).about(*client))
}

/// Checks that no session is open. The caller has ended all processes that could keep a session alive, and has waited
/// long enough for each session to expire.
///
/// # Errors
/// Returns an objection that names a session that is still open.
pub(crate) fn sessions_are_over(history: &History, when: &str) -> Result<(), Objection> {
    let Some((session, timeout)) = history.tree().sessions().first_key_value() else {
        return Ok(());
    };
    let saw = format!(
        "{when}: session {session} (timeout {timeout:?}) is still open, although no running program keeps it \
         alive"
    );
    Err(Objection::new(PROGRESS, saw).about(*session))
}

/// Checks that all programs except services have finished, in a state of the service grain without a further step.
///
/// # Errors
/// Returns an objection that says what each unfinished program waits for.
pub(crate) fn all_have_finished<H: Host>(world: &World<H, Service>) -> Result<(), Objection> {
    let service = world.grain();
    let unfinished: Vec<ClientId> = service
        .client_ids()
        .filter(|client| service.program(*client) != ProgramState::Finished)
        .filter(|client| !service.config().clients[client.index()].serves)
        .collect();
    if unfinished.is_empty() {
        return Ok(());
    }
    let waits = |client: &ClientId| format!("{client} waits for {}", world.waits_for(*client));
    let waiting: Vec<String> = unfinished.iter().map(waits).collect();
    let saw = format!("nothing can happen any more, but {}", waiting.join("; "));
    Err(unfinished.into_iter().fold(Objection::new(PROGRESS, saw), Objection::about))
}

/// Runs code of the model or of monitors, and turns a panic into an objection: the steps to it can be replayed.
///
/// # Errors
/// Returns an objection with the panic's message.
pub(crate) fn asserted<T>(what: impl FnOnce() -> T) -> Result<T, Objection> {
    catch_unwind(AssertUnwindSafe(what))
        .map_err(|payload| Objection::new(ASSERTION, panic_message(&*payload)))
}
