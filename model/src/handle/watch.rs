//! What a program may await beside its calls: a watch, and changes of its session.

use super::transport::{Subscription, Ticket, Transport, Unseen};
use crate::error::Error;
use crate::host::Outcome;
use crate::op::{SessionState, WatchedEvent};
use crate::zxid::Zxid;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// A watch that was left by a read (semantics 3). It fires once. Dropping it forgets it: the
/// server's side stays, but its event is no input any more.
#[must_use = "a dropped watch never fires"]
pub struct Watch {
    transport: Arc<dyn Transport>,
    ticket: Option<Ticket>,
    /// Whether the zxid of the event is kept back.
    timeless: bool,
}

impl Watch {
    pub(super) fn new(transport: Arc<dyn Transport>, ticket: Ticket) -> Watch {
        Watch { transport, ticket: Some(ticket), timeless: false }
    }

    /// The same watch, whose event will not tell its zxid.
    pub(super) fn timeless(mut self) -> Watch {
        if let Some(ticket) = self.ticket {
            self.transport.keep_back(ticket, Unseen::Content);
        }
        self.timeless = true;
        self
    }

    /// Waits until the watch fires. Dropping the returned future loses nothing: the next call goes
    /// on waiting.
    ///
    /// # Errors
    /// `SessionExpired` when the session ended first: the watch will never fire.
    ///
    /// # Panics
    /// When the watch has fired already: a watch is one-shot, and a loop around a used one is a
    /// mistake of the program.
    pub async fn changed(&mut self) -> Result<WatchedEvent, Error> {
        let ticket =
            self.ticket.expect("this watch has fired already: read again to set a new one");
        let outcome = poll_fn(|context| self.transport.poll(ticket, context.waker())).await;
        self.ticket = None;
        match outcome {
            Outcome::Watch(Ok(event)) if self.timeless => {
                Ok(WatchedEvent { zxid: Zxid::ZERO, ..event })
            }
            Outcome::Watch(result) => result,
            other => unreachable!("a watch was answered with {other:?}"),
        }
    }

    /// Whether [`Watch::changed`] has returned.
    pub fn has_fired(&self) -> bool {
        self.ticket.is_none()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.transport.abandon(ticket);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("has_fired", &self.has_fired()).finish_non_exhaustive()
    }
}

/// Every change of the session's state since the subscription, in order, none left out.
pub struct SessionEvents {
    transport: Arc<dyn Transport>,
    subscription: Subscription,
}

impl SessionEvents {
    pub(super) fn new(transport: Arc<dyn Transport>) -> SessionEvents {
        let subscription = transport.subscribe();
        SessionEvents { transport, subscription }
    }

    /// Waits for the next change. A change that has happened already is returned at once. Dropping
    /// the returned future loses nothing.
    pub async fn next(&mut self) -> SessionState {
        poll_fn(|context| self.transport.poll_session(self.subscription, context.waker())).await
    }

    /// The next change that has happened already, without waiting.
    pub fn try_next(&mut self) -> Option<SessionState> {
        match self.transport.poll_session(self.subscription, std::task::Waker::noop()) {
            Poll::Ready(state) => Some(state),
            Poll::Pending => None,
        }
    }
}

impl Drop for SessionEvents {
    fn drop(&mut self) {
        self.transport.unsubscribe(self.subscription);
    }
}

impl fmt::Debug for SessionEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionEvents").finish_non_exhaustive()
    }
}
