//! What a program learns about its sessions from an input.
//!
//! A program that gets SessionExpired, or is connected with another session, knows that the previous session is over.
//! Its client machine learns this earlier, and the servers earlier still.

use crate::program::host::{Input, Outcome};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Over;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::SessionState;

/// An input in a program's inbox.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Told {
    /// The input.
    pub input: Input,
    /// What the program knows after it has received the input.
    pub over: Option<Over>,
}

impl Told {
    /// Returns an input that concerns this session.
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

    /// Returns true if a program that does not react to the input may simply have no subscription.
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
