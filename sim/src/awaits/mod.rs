//! The awaits of programs, watched through a transport that passes every call on.
//!
//! A handle passes every call to its transport within a poll of the program. So a stack trace that is taken there shows
//! each `.await` from the handle's method up to the program itself. Traces cost time, so only walks and coverage take
//! any.

pub(crate) mod places;
mod tracing;

pub(crate) use tracing::traced;

use vivarium_model::error::Error;
use vivarium_model::handle::transport::{Subscription, Ticket};
use vivarium_model::host::Outcome;
use vivarium_model::id::ClientId;

/// What an await waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Awaited {
    /// The answer to a call, or an event of a watch.
    Answer(Ticket),
    /// A change of the session.
    Change(Subscription),
}

/// How an await ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// With what it waited for; an error that the servers answered is an answer.
    Answered,
    /// The connection was lost. Whether the request has an effect is unknown.
    Lost,
    /// The session had ended.
    Expired,
    /// The program dropped it: it was cancelled, or something else that it waited for came first.
    Dropped,
    /// The program's process was killed.
    Killed,
}

impl Fate {
    /// Every fate.
    pub const ALL: [Fate; 5] =
        [Fate::Answered, Fate::Lost, Fate::Expired, Fate::Dropped, Fate::Killed];

    fn of(outcome: &Outcome) -> Fate {
        let error = match outcome {
            Outcome::Response(Err(error))
            | Outcome::Watch(Err(error))
            | Outcome::AuthAdded(Err(error)) => error,
            _ => return Fate::Answered,
        };
        match error {
            Error::ConnectionLoss => Fate::Lost,
            Error::SessionExpired => Fate::Expired,
            _ => Fate::Answered,
        }
    }
}

/// Receives what happens to the awaits of programs.
pub(crate) trait Witness: Send + Sync {
    /// A client's process starts, for the first time or again. It awaits nothing of what the one before did.
    fn starts(&self, client: ClientId);

    /// A program awaits this, or awaits it again: at another place, perhaps. Called on the stack of the await.
    fn awaits(&self, client: ClientId, awaited: Awaited);

    /// An await ended. Called also for calls that were dropped before anything awaited them.
    fn ended(&self, client: ClientId, awaited: Awaited, fate: Fate);

    /// A client's process was killed; its awaits are about to be dropped.
    fn killed(&self, client: ClientId);
}
