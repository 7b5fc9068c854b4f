//! What an input tells a program of its sessions.
//!
//! A program that was answered SessionExpired, or connected by another session, knows that the session before is over,
//! whatever it makes of that. Its client machine learns of it earlier, and servers before that.

use crate::program::host::{Input, Outcome};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Over;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::SessionState;

/// An input that waits for its program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Told {
    /// The input.
    pub input: Input,
    /// What the program knows when it has taken it.
    pub over: Option<Over>,
}

impl Told {
    /// An input that is about this session.
    pub(super) fn of(input: Input, session: Option<SessionId>) -> Told {
        let over = match &input {
            Input::Reply { outcome: Outcome::Connected(session), .. } => {
                Some(Over::AllBut(*session))
            }
            input if says_end(input) => session.map(Over::Session),
            _ => None,
        };
        Told { input, over }
    }

    /// Whether a program that does nothing at once may not have listened.
    pub(crate) fn is_for_listeners(&self) -> bool {
        matches!(self.input, Input::Session(_))
    }
}

fn says_end(input: &Input) -> bool {
    match input {
        Input::Reply { outcome, .. } => matches!(
            outcome,
            Outcome::Response(Err(Error::SessionExpired))
                | Outcome::Watch(Err(Error::SessionExpired))
                | Outcome::AuthAdded(Err(Error::SessionExpired))
        ),
        Input::Session(change) => {
            matches!(change.state, SessionState::Expired | SessionState::Closed)
        }
        Input::Start | Input::Event { .. } => false,
    }
}
